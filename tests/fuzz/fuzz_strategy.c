/* Strategy files of one small network; an accepted one is written again, annotated and simulated.
 */
#include "fuzz.h"
#include "sim/sim.h"
#include "sim/strategy_file.h"
#include <string.h>

static float elements[4 * 2 * 6 * 6];
static char name[] = "data.npy";

static itg_graph *network(void)
{
    static itg_graph *g;
    itg_strbuf bytes = {0};
    if (g) return g;
    REQUIRE(fuzz_model(0, &bytes));
    g = fuzz_prepare(bytes.text, bytes.length);
    REQUIRE(g != NULL);
    itg_strbuf_deinit(&bytes);
    return g;
}

static void use(const itg_strategy_file *file)
{
    itg_strbuf text = {0};
    itg_annotated *a = NULL;
    itg_sim *sim = NULL;
    itg_error err = {0};
    REQUIRE(itg_strategy_file_text(file, network(), &text, &err) == ITG_OK);
    itg_strbuf_deinit(&text);
    if (itg_annotate(network(), file->hardware, file->strategy, &a, &err) != ITG_OK) return;
    REQUIRE(itg_sim_create(a, &sim, &err) == ITG_OK);
    memcpy(itg_sim_input(sim, 0), elements, sizeof(float) * 72);
    REQUIRE(itg_sim_run(sim, &err) == ITG_OK);
    itg_sim_destroy(sim);
    itg_annotated_destroy(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    itg_strategy_file *file = NULL;
    itg_error err = {0};
    itg_graph *g = network();
    const char *path = fuzz_file(data, bytes);
    itg_status status = itg_strategy_open(g, path, &file, &err);
    if (status != ITG_OK) {
        REQUIRE(err.code == status && strncmp(err.message, path, strlen(path)) == 0);
        return 0;
    }
    use(file);
    itg_strategy_close(file);
    return 0;
}

bool fuzz_seed(int index, itg_strbuf *out)
{
    static const char *const targets[] = {"x86-vnni", "cortex-m",
                                          "tests/independent/hardware/choices.json"};
    itg_model *model = network();
    itg_hardware *hw = NULL;
    itg_stats *stats = NULL;
    itg_strategy_file *file = NULL;
    itg_preprocess p = itg_preprocess_default();
    itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, 8 - index, 8, ITG_THRESHOLD_MSE,
                                   ITG_THRESHOLD_MAX,           0,         0};
    itg_dataset data = {
        .dtype = ITG_F32, .shape = {4, {4, 2, 6, 6}}, .data = elements, .path = name};
    itg_error err = {0};
    if (index > 2) return false;
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        elements[i] = (float)(i % 17) / 8 - 1;
    p.mean_count = 2;
    p.std_count = 1;
    p.std[0] = 0.5f;
    REQUIRE(itg_hardware_load(targets[index], &hw, NULL) == ITG_OK &&
            itg_calibrate_model(model, &data, &p, 1, &stats, &err) == ITG_OK);
    REQUIRE(itg_uniform_strategy(model, hw, &p, stats, &data, &options, &file, &err) == ITG_OK);
    for (int32_t e = 0; e < file->strategy->edge_count && index == 2; e++)
        if (file->strategy->edges[e].bits > 0) file->strategy->edges[e].passed_over = 1;
    REQUIRE(itg_strategy_file_text(file, model, out, &err) == ITG_OK);
    itg_strategy_close(file);
    itg_stats_destroy(stats);
    itg_hardware_destroy(hw);
    return true;
}
