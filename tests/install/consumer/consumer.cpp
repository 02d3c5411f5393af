// A user of the installed shared library, in C++. What is owned closes itself.
#include <intaglio/intaglio.h>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

template <typename T, void (*close)(T *)> struct owned {
    T *object = nullptr;
    ~owned() { close(object); }
    T **operator&() { return &object; }
    operator T *() const { return object; }
};
static itg_error err;

static void check(itg_status status)
{
    if (status != ITG_OK) throw std::runtime_error(err.message);
}

// The share of samples whose first output is above 0.
static double above(void *, const itg_outputs *o)
{
    double count = 0;
    for (int64_t i = 0; i < o->samples; i++)
        count += static_cast<const float *>(o->outputs[0].data)[10 * i] > 0;
    return count / static_cast<double>(o->samples);
}

int main(int argc, char **argv)
try {
    std::ifstream file(argc == 2 ? argv[1] : "", std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<float> images(200 * 256);
    std::vector<uint8_t> codes(200 * 10);
    for (std::size_t i = 0; i < images.size(); i++)
        images[i] = static_cast<float>(i * 7919 % 256) / 255;
    const itg_tensor array = {ITG_F32, {4, {200, 1, 16, 16}}, images.data()};
    const itg_preprocess p = itg_preprocess_default();
    owned<itg_model, itg_model_close> model;
    owned<itg_dataset, itg_data_close> data;
    owned<itg_hardware, itg_hardware_destroy> hw;
    owned<itg_search_result, itg_search_result_destroy> found;
    owned<itg_program, itg_program_destroy> program;
    check(itg_model_open_memory(bytes.data(), bytes.size(), "digits", nullptr, &model, &err));
    check(itg_hardware_load("x86-vnni", &hw, &err));
    check(itg_data_from_memory(&array, "images", &data, &err));
    itg_search_options options = ITG_SEARCH_OPTIONS_INIT;
    options.trials = 8;
    options.goal.user[0] = {{"above", ITG_UNIT_RATIO, true}, above, nullptr};
    itg_goal_constrain(&options.goal, ITG_METRIC_USER1, 0.5, true);
    int trials = 0;
    itg_search_hooks hooks = ITG_SEARCH_HOOKS_INIT;
    hooks.context = &trials;
    hooks.progress = [](void *count, auto, auto, auto) { ++*static_cast<int *>(count); };
    const itg_search_data samples = {data, nullptr, nullptr, nullptr};
    check(itg_search(model, hw, &p, &samples, &options, &hooks, &found, &err));
    check(itg_realize_strategy(model, itg_search_strategy(found), nullptr, &program, &err));
    itg_run_options run = ITG_RUN_OPTIONS_INIT;
    run.preprocess = &p;
    run.buffer = codes.data();
    run.buffer_bytes = codes.size();
    itg_score score;
    check(itg_program_run(program, data, &run, &score, &err));
    std::printf("above: %d trials, %s, code %d\n", trials,
                itg_search_goal_met(found) ? "met" : "not met", codes[0]);
} catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
