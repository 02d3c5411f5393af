// A user of the installed shared library, in C++: model, data and labels from memory, a metric of
// its own, a search with progress, the program's outputs in a buffer. What is owned closes itself.
#include <intaglio/explain.h>
#include <intaglio/intaglio.h>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <vector>

template <auto close> struct closer {
    template <typename T> void operator()(T *object) const { close(object); }
};

// Calls make with what it fills and the error; throws its sentence.
template <typename T, auto close, typename Make> std::unique_ptr<T, closer<close>> made(Make make)
{
    T *out = nullptr;
    itg_error err = {};
    if (make(&out, &err) != ITG_OK) throw std::runtime_error(err.message);
    return std::unique_ptr<T, closer<close>>(out);
}

// The mean distance of the first class from what the labels say.
static double distance(void *, const itg_outputs *o)
{
    double sum = 0;
    for (int64_t i = 0; i < o->samples; i++)
        sum += std::fabs(static_cast<const float *>(o->outputs[0].data)[10 * i] -
                         static_cast<const float *>(o->labels->data)[i]);
    return sum / static_cast<double>(o->samples);
}

int main(int argc, char **argv)
try {
    std::ifstream file(argc == 2 ? argv[1] : "", std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<float> images(200 * 256), targets(200, 0.5F);
    std::vector<uint8_t> codes;
    for (std::size_t i = 0; i < images.size(); i++)
        images[i] = static_cast<float>(i * 7919 % 256) / 255;
    const itg_tensor array = {ITG_F32, {4, {200, 1, 16, 16}}, images.data()};
    const itg_tensor wanted = {ITG_F32, {1, {200}}, targets.data()};
    const itg_preprocess p = itg_preprocess_default();
    auto model = made<itg_model, itg_model_close>([&](auto out, auto err) {
        return itg_model_open_memory(bytes.data(), bytes.size(), "digits", nullptr, out, err);
    });
    auto data = made<itg_dataset, itg_data_close>(
        [&](auto out, auto err) { return itg_data_from_memory(&array, "images", out, err); });
    auto labels = made<itg_dataset, itg_data_close>(
        [&](auto out, auto err) { return itg_data_from_memory(&wanted, "targets", out, err); });
    auto hw = made<itg_hardware, itg_hardware_destroy>(
        [&](auto out, auto err) { return itg_hardware_load("x86-vnni", out, err); });
    int trials = 0;
    itg_search_options options = ITG_SEARCH_OPTIONS_INIT;
    options.trials = 8;
    options.goal.user[0] = {{"distance", ITG_UNIT_RATIO, false}, distance, nullptr};
    itg_goal_constrain(&options.goal, ITG_METRIC_USER1, 0.5, true);
    itg_search_hooks hooks = ITG_SEARCH_HOOKS_INIT;
    hooks.context = &trials;
    hooks.progress = [](void *count, auto, auto, auto) { ++*static_cast<int *>(count); };
    const itg_search_data samples = {data.get(), labels.get(), nullptr, nullptr};
    auto result = made<itg_search_result, itg_search_result_destroy>([&](auto out, auto err) {
        return itg_search(model.get(), hw.get(), &p, &samples, &options, &hooks, out, err);
    });
    auto annotated = made<itg_annotated, itg_annotated_destroy>([&](auto out, auto err) {
        return itg_annotate_strategy(model.get(), itg_search_strategy(result.get()), out, err);
    });
    auto program = made<itg_program, itg_program_destroy>(
        [&](auto out, auto err) { return itg_realize_program(annotated.get(), nullptr, out, err); });
    itg_run_options run = ITG_RUN_OPTIONS_INIT;
    run.preprocess = &p;
    run.context = &codes;
    run.outputs = [](void *to, int64_t, const itg_tensor *outputs, int32_t, itg_error *) {
        auto *all = static_cast<std::vector<uint8_t> *>(to);
        const auto *sample = static_cast<const uint8_t *>(outputs[0].data);
        all->insert(all->end(), sample, sample + 10);
        return ITG_OK;
    };
    itg_score score;
    itg_error err = {};
    if (itg_program_run(program.get(), data.get(), &run, &score, &err) != ITG_OK)
        throw std::runtime_error(err.message);
    std::printf("distance: %d trials, %s, %zu codes\n", trials,
                itg_search_goal_met(result.get()) ? "met" : "not met", codes.size());
} catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}
