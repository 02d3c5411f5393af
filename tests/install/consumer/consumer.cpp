// A user of the installed shared library, in C++: what is owned closes itself; two programs of one
// model, run on data in memory.
#include <intaglio/intaglio.h>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <vector>

template <auto close> struct closer {
    template <typename T> void operator()(T *object) const { close(object); }
};
template <typename T, auto close> using owned = std::unique_ptr<T, closer<close>>;

// Calls make with what it fills and the error; throws its sentence.
template <typename T, auto close, typename Make> owned<T, close> made(Make make)
{
    T *out = nullptr;
    itg_error err = {};
    if (make(&out, &err) != ITG_OK) throw std::runtime_error(err.message);
    return owned<T, close>(out);
}

static void check(itg_status status, const itg_error &err)
{
    if (status != ITG_OK) throw std::runtime_error(err.message);
}

static void run(const char *path)
{
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    std::vector<float> images(100 * 256);
    for (std::size_t i = 0; i < images.size(); i++)
        images[i] = static_cast<float>(i * 7919 % 256) / 255;
    const itg_tensor array = {ITG_F32, {4, {100, 1, 16, 16}}, images.data()};
    const itg_preprocess none = itg_preprocess_default();
    auto model = made<itg_model, itg_model_close>([&](auto out, auto err) {
        return itg_model_open_memory(bytes.data(), bytes.size(), "digits", nullptr, out, err);
    });
    auto data = made<itg_dataset, itg_data_close>(
        [&](auto out, auto err) { return itg_data_from_memory(&array, "images", out, err); });
    auto hw = made<itg_hardware, itg_hardware_destroy>(
        [&](auto out, auto err) { return itg_hardware_load("x86-vnni", out, err); });
    auto stats = made<itg_stats, itg_stats_destroy>([&](auto out, auto err) {
        return itg_calibrate_model(model.get(), data.get(), &none, 1, out, err);
    });
    for (int bits : {8, 4}) {
        const itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, bits, 8, itg_threshold_default(),
                                             itg_threshold_default()};
        itg_error err = {};
        itg_score simulated, ran;
        auto strategy = made<itg_strategy_file, itg_strategy_close>([&](auto out, auto e) {
            return itg_uniform_strategy(model.get(), hw.get(), &none, stats.get(), data.get(),
                                        &options, out, e);
        });
        auto annotated = made<itg_annotated, itg_annotated_destroy>([&](auto out, auto e) {
            return itg_annotate_strategy(model.get(), strategy.get(), out, e);
        });
        auto program = made<itg_program, itg_program_destroy>(
            [&](auto out, auto e) { return itg_realize_program(annotated.get(), nullptr, out, e); });
        check(itg_simulate(model.get(), strategy.get(), data.get(), nullptr, &simulated, &err),
              err);
        const itg_run_options as_saved = ITG_RUN_OPTIONS_INIT;
        check(itg_program_run(program.get(), data.get(), &as_saved, &ran, &err), err);
        if (!std::equal(std::begin(ran.digest), std::end(ran.digest), simulated.digest))
            throw std::runtime_error("simulation and program differ");
        std::printf("%d bits: %lld samples, equal digests\n", bits,
                    static_cast<long long>(ran.samples));
    }
}

int main(int argc, char **argv)
{
    try {
        run(argc == 2 ? argv[1] : "");
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
