/* Hardware descriptions; an accepted one is put to use: widths, strategy and simulation of a small
 * network. */
#include "fuzz.h"
#include "sim/sim.h"
#include "sim/strategy_file.h"
#include <stdlib.h>
#include <string.h>

typedef struct world {
    itg_graph *g;
    itg_stats *stats;
} world;

static float elements[4 * 2 * 6 * 6];
static char name[] = "data.npy";

static world *network(void)
{
    static world w;
    itg_strbuf bytes = {0};
    itg_preprocess p = itg_preprocess_default();
    itg_dataset data = {
        .dtype = ITG_F32, .shape = {4, {4, 2, 6, 6}}, .data = elements, .path = name};
    if (w.g) return &w;
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        elements[i] = (float)(i % 17) / 8 - 1;
    REQUIRE(fuzz_model(0, &bytes));
    w.g = fuzz_prepare(bytes.text, bytes.length);
    REQUIRE(w.g && itg_calibrate_model(w.g, &data, &p, 1, &w.stats, NULL) == ITG_OK);
    itg_strbuf_deinit(&bytes);
    return &w;
}

static void simulate(const itg_annotated *a)
{
    itg_sim *sim = NULL;
    itg_error err = {0};
    REQUIRE(itg_sim_create(a, &sim, &err) == ITG_OK);
    memcpy(itg_sim_input(sim, 0), elements, sizeof(float) * 72);
    REQUIRE(itg_sim_run(sim, &err) == ITG_OK);
    itg_sim_destroy(sim);
}

static void use(const itg_hardware *hw)
{
    world *w = network();
    itg_model *model = w->g;
    itg_preprocess p = itg_preprocess_default();
    itg_strategy_file *file = NULL;
    itg_annotated *a = NULL;
    itg_cost cost;
    itg_error err = {0};
    itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, 8, 8, ITG_THRESHOLD_MAX,
                                   ITG_THRESHOLD_MAX,           0, 0};
    if (itg_uniform_strategy(model, hw, &p, w->stats, NULL, &options, &file, &err) == ITG_OK &&
        itg_annotate_strategy(model, file, &a, &err) == ITG_OK) {
        REQUIRE(itg_cost_of(hw, a, &cost) == ITG_OK);
        simulate(a);
    }
    itg_annotated_destroy(a);
    itg_strategy_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    itg_hardware *hw = NULL;
    itg_error err = {0};
    itg_status status = itg_hardware_parse((const char *)data, bytes, "fuzz.json", &hw, &err);
    if (status != ITG_OK) {
        REQUIRE(err.code == status && strncmp(err.message, "fuzz.json", 9) == 0);
        return 0;
    }
    use(hw);
    itg_hardware_destroy(hw);
    return 0;
}

bool fuzz_seed(int index, itg_strbuf *out)
{
    static const char small[] =
        "{\"intaglio_hardware\": 1, \"name\": \"chip\", \"description\": \"for fuzzing\", "
        "\"float\": true, \"power_of_two_scales\": false,"
        "\"dtypes\": {\"a\": {\"storage\": \"s8\", \"bits\": [2, 8], \"zero_point\": true}, \"b\": "
        "{\"storage\": \"s32\", \"bits\": [2, 32]}, \"w\": {\"storage\": \"s8\", \"bits\": [1, 8], "
        "\"full_range\": true}},"
        "\"requantize\": {\"r\": {\"form\": \"stages\", \"multiplier_bits\": 16, "
        "\"multiply_shift\": 15, \"pre_shift_bits\": 24, \"rounding\": \"half_even\", "
        "\"max_shift\": 40},"
        "\"p\": {\"form\": \"preshift\", \"multiplier_bits\": 20, \"pre_shift_bits\": 20, "
        "\"rounding\": \"half_up\"}},"
        "\"fuse\": [[\"Conv\", \"Relu\"], [\"Add\", \"Clip\"]],"
        "\"operators\": {\"Conv\": [{\"arithmetic\": \"mac\", \"inputs\": [\"a\", \"b\"], "
        "\"weights\": [\"w\"], \"outputs\": [\"a\", \"b\"], \"accumulator\": {\"bits\": 24, "
        "\"overflow\": \"saturate\"}, \"per_channel\": true, \"bias_bits\": 20, \"requantize\": "
        "\"r\"}],"
        "\"Gemm\": [{\"arithmetic\": \"mac\", \"inputs\": [\"a\"], \"weights\": [\"w\"], "
        "\"outputs\": [\"b\"], \"accumulator\": {\"bits\": 40}, \"requantize\": \"p\"}],"
        "\"Add\": {\"follow\": true, \"specs\": [{\"arithmetic\": \"rescale\", \"inputs\": "
        "[\"a\"], \"outputs\": [\"a\"], \"left_shift\": 20, \"requantize\": \"r\"}]},"
        "\"MaxPool\": [{\"arithmetic\": \"keep_scale\", \"inputs\": [\"a\"]}], "
        "\"GlobalAveragePool\": [{\"arithmetic\": \"keep_scale\", \"inputs\": [\"a\"], "
        "\"rounding\": \"floor\"}]},"
        "\"float_weights\": {\"dtypes\": [\"w\"], \"per_channel\": true},"
        "\"model_inputs\": [\"a\"], \"output_bits\": [8, 16], \"memory\": {\"flash_bytes\": 1000, "
        "\"ram_bytes\": 500},"
        "\"overrides\": [{\"node\": \"conv*\", \"weight_bits\": [4, 8]}]}";
    if (index == 0)
        itg_strbuf_add(out, small);
    else if (index <= itg_hardware_builtin_count())
        itg_strbuf_add(out, itg_hardware_builtin_json(index - 1));
    return index <= itg_hardware_builtin_count();
}
