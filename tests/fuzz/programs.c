/* Artefacts of the networks in models.c on several targets. */
#include "fuzz.h"
#include "realize/realize.h"
#include "sim/sim.h"
#include "sim/strategy_file.h"
#include <string.h>

static const char weights_alone[] =
    "{\"intaglio_hardware\": 1, \"name\": \"weights\", \"float\": true, \"dtypes\": {\"w\": "
    "{\"storage\": \"s8\", \"bits\": [2, 8]}}, \"float_weights\": {\"dtypes\": [\"w\"], "
    "\"per_channel\": true}}";

/* target: a name, or a description. */
static void add_program(itg_strbuf *out, int network, const char *target, int32_t weight_bits)
{
    static float elements[2 * 72];
    static char name[] = "data.npy";
    itg_strbuf bytes = {0};
    itg_hardware *hw = NULL;
    itg_stats *stats = NULL;
    itg_strategy_file *file = NULL;
    itg_annotated *a = NULL;
    itg_program *p = NULL;
    itg_preprocess plain = itg_preprocess_default();
    itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, weight_bits, 8, ITG_THRESHOLD_MSE,
                                   ITG_THRESHOLD_MAX,           0,           0};
    itg_error err = {0};
    REQUIRE(fuzz_model(network, &bytes));
    itg_model *model = fuzz_prepare(bytes.text, bytes.length);
    REQUIRE(model != NULL);
    itg_dataset data = {.dtype = ITG_F32,
                        .shape = model->values[model->inputs[0]].shape,
                        .data = elements,
                        .path = name};
    data.shape.dims[0] = 2;
    for (int i = 0; i < 144; i++)
        elements[i] = (float)(i % 17) / 8 - 1;
    REQUIRE((*target == '{' ? itg_hardware_parse(target, strlen(target), "text", &hw, NULL)
                            : itg_hardware_load(target, &hw, NULL)) == ITG_OK &&
            itg_calibrate_model(model, &data, &plain, 1, &stats, &err) == ITG_OK);
    REQUIRE(itg_uniform_strategy(model, hw, &plain, stats, &data, &options, &file, &err) == ITG_OK);
    REQUIRE(itg_annotate_strategy(model, file, &a, &err) == ITG_OK &&
            itg_realize_program(a, NULL, &p, &err) == ITG_OK);
    const char *path = fuzz_file((const uint8_t *)"", 0);
    REQUIRE(itg_artefact_write(p,
                               (const itg_metadata[]){{"intaglio.engine", "1"}, {"key", "value"}},
                               2, path, &err) == ITG_OK);
    fuzz_slurp(path, out);
    itg_program_destroy(p);
    itg_annotated_destroy(a);
    itg_strategy_close(file);
    itg_stats_destroy(stats);
    itg_hardware_destroy(hw);
    itg_graph_destroy(model);
    itg_strbuf_deinit(&bytes);
}

bool fuzz_program(int index, itg_strbuf *out)
{
    static const struct {
        int network;
        const char *target;
        int32_t weight_bits;
    } programs[] = {{0, "x86-vnni", 7},   {0, "cortex-m", 7}, {1, "x86-vnni", 7},
                    {3, "x86-vnni", 7},   {4, "cortex-m", 7}, {0, "fpga", 1},
                    {0, weights_alone, 5}};
    if (index >= (int)(sizeof programs / sizeof *programs)) return false;
    add_program(out, programs[index].network, programs[index].target, programs[index].weight_bits);
    return true;
}
