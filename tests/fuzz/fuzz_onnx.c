/* ONNX files: read, imported, prepared, printed, hashed, looked at for a target, and run in float
 * where that is little work. */
#include "fuzz.h"
#include "sim/sim.h"

enum { MOST_WORK = 2000000 };

static itg_hardware *hardware(void)
{
    static itg_hardware *hw;
    if (!hw) REQUIRE(itg_hardware_load("x86-vnni", &hw, NULL) == ITG_OK);
    return hw;
}

static void run_float(const itg_graph *g)
{
    itg_float_exec *exec = NULL;
    itg_error err = {0};
    if (itg_float_exec_create(g, ITG_FLOAT_REFERENCE, &exec, &err) != ITG_OK) return;
    (void)itg_float_exec_run(exec, &err);
    itg_float_exec_destroy(exec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    itg_graph *g = fuzz_prepare(data, bytes);
    itg_strbuf text = {0};
    itg_choice_space *space = NULL;
    itg_space_options options = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
    unsigned char hash[32];
    if (!g) return 0;
    REQUIRE(itg_graph_verify(g, NULL) == ITG_OK);
    itg_graph_print(g, &text);
    itg_graph_hash(g, hash);
    itg_strbuf_deinit(&text);
    if (itg_choice_space_create(hardware(), g, &options, &space, NULL) == ITG_OK)
        itg_choice_space_destroy(space);
    if (fuzz_work(g) <= MOST_WORK) run_float(g);
    itg_graph_destroy(g);
    return 0;
}

bool fuzz_seed(int index, itg_strbuf *out)
{
    return fuzz_model(index, out);
}
