/* Relaxed graphs: with nothing taken away the program's bits, with everything the float network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "sim/evaluate.h"
#include "sim/relax.h"

enum { SAMPLES = 24 };

typedef struct relax_case {
    itg_model *model;
    itg_dataset *data;
    itg_preprocess preprocess;
    itg_reference reference;
    itg_stats *stats;
} relax_case;

static relax_case open_case(void)
{
    relax_case c = {.preprocess = itg_preprocess_default()};
    itg_evaluation floats = {0};
    c.preprocess.scale = 1.0f / 255;
    assert_int_equal(itg_model_open("examples/digits.onnx", NULL, &c.model, NULL), ITG_OK);
    assert_int_equal(itg_data_open("examples/digits_test_images.npy", SAMPLES, &c.data, NULL),
                     ITG_OK);
    assert_int_equal(itg_calibrate_model(c.model, c.data, &c.preprocess, 1, &c.stats, NULL),
                     ITG_OK);
    const itg_backend backend = itg_backend_float(c.model, ITG_FLOAT_REFERENCE);
    const itg_evaluate_options o = {
        .data = c.data, .preprocess = &c.preprocess, .keep = &c.reference};
    assert_int_equal(itg_evaluate(&backend, &o, &floats, NULL), ITG_OK);
    itg_evaluation_deinit(&floats);
    return c;
}

static void close_case(relax_case *c)
{
    itg_reference_deinit(&c->reference);
    itg_stats_destroy(c->stats);
    itg_data_close(c->data);
    itg_model_close(c->model);
}

static itg_evaluation evaluate(const relax_case *c, const itg_annotated *a)
{
    const itg_backend backend = itg_backend_sim(a);
    const itg_evaluate_options o = {
        .data = c->data, .preprocess = &c->preprocess, .reference = &c->reference};
    itg_evaluation out = {0};
    itg_error err = {0};
    if (itg_evaluate(&backend, &o, &out, &err) != ITG_OK) fail_msg("%s", err.message);
    return out;
}

/* The graph with nothing or everything taken away. */
static itg_evaluation relaxed(const relax_case *c, const itg_annotated *a, const itg_strategy *s,
                              bool all)
{
    static bool flags[1000];
    static double reach[1000];
    itg_sites sites = {0};
    itg_annotated *made = NULL;
    itg_error err = {0};
    assert_int_equal(itg_sites_create(a, &sites, NULL), ITG_OK);
    assert_true(sites.count > 0 && sites.count < 1000 && c->model->value_count < 1000);
    for (int i = 0; i < 1000; i++) {
        flags[i] = all;
        reach[i] = 1000;
    }
    const itg_relaxation r = {flags, flags, flags, flags, reach};
    if (itg_relax(a, s, &sites, &r, &made, &err) != ITG_OK) fail_msg("%s", err.message);
    itg_evaluation out = evaluate(c, made);
    itg_annotated_destroy(made);
    itg_sites_deinit(&sites);
    return out;
}

/* Whether the target runs the network with these bits. */
static bool check(const relax_case *c, const char *target, int32_t bits)
{
    const itg_uniform_options o = {ITG_UNIFORM_OPTIONS_VERSION, bits, bits, ITG_THRESHOLD_MSE,
                                   ITG_THRESHOLD_MSE,           0,    0};
    itg_hardware *hw = NULL;
    itg_strategy *s = NULL;
    itg_annotated *a = NULL;
    assert_int_equal(itg_hardware_load(target, &hw, NULL), ITG_OK);
    if (!hw->all_float && itg_strategy_uniform(c->model, hw, c->stats, &o, &s, NULL) == ITG_OK &&
        itg_annotate(c->model, hw, s, &a, NULL) == ITG_OK) {
        itg_evaluation program = evaluate(c, a), same = relaxed(c, a, s, false),
                       all = relaxed(c, a, s, true);
        assert_memory_equal(program.digest, same.digest, sizeof same.digest);
        if (!(all.distortion < 1e-6))
            fail_msg("%s at %d bits: %g without any effect", target, (int)bits, all.distortion);
        itg_evaluation_deinit(&program);
        itg_evaluation_deinit(&same);
        itg_evaluation_deinit(&all);
    }
    bool runs = a != NULL;
    itg_annotated_destroy(a);
    itg_strategy_destroy(s);
    itg_hardware_destroy(hw);
    return runs;
}

static void every_target(void **state)
{
    relax_case c = open_case();
    int checked = 0;
    (void)state;
    for (int i = 0; i < itg_hardware_builtin_count(); i++) {
        checked += check(&c, itg_hardware_builtin_name(i), 8);
        checked += check(&c, itg_hardware_builtin_name(i), 3);
    }
    assert_true(checked > itg_hardware_builtin_count());
    close_case(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_target)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
