#include "bench/bench.h"
#include <stdio.h>
#include <string.h>

typedef struct work {
    const bench_network *n;
    itg_model *model;
    itg_hardware *hw, *float_hw;
    itg_dataset *data, *calibration;
    itg_stats *stats;
    itg_strategy_file *strategy, *float_strategy;
    itg_annotated *annotated;
    itg_program *program;
    itg_score score; /* of the last run */
} work;

static itg_uniform_options eight_bits(void)
{
    return (itg_uniform_options){.weight_bits = 8,
                                 .activation_bits = 8,
                                 .activation_method = itg_threshold_default(),
                                 .weight_method = itg_threshold_default()};
}

static itg_status make_strategy(work *t, itg_error *err)
{
    const bench_network *n = t->n;
    itg_uniform_options options = eight_bits();
    itg_preprocess p = itg_preprocess_default();
    p.scale = n->scale;
    itg_status status = itg_hardware_load(n->hardware, &t->hw, err);
    if (status == ITG_OK) status = itg_data_open(n->calibration, 200, &t->calibration, err);
    if (status == ITG_OK)
        status = itg_calibrate_model(t->model, t->calibration, &p, n->threads, &t->stats, err);
    if (status == ITG_OK)
        status = itg_uniform_strategy(t->model, t->hw, &p, t->stats, t->calibration, &options,
                                      &t->strategy, err);
    return status;
}

static itg_status prepare(work *t, itg_error *err)
{
    const bench_network *n = t->n;
    itg_uniform_options options = eight_bits();
    itg_realize_options realize = {0};
    itg_status status = itg_model_open(n->model, &t->model, err);
    if (status == ITG_OK) status = itg_data_open(n->data, n->limit, &t->data, err);
    if (status == ITG_OK)
        status = n->strategy ? itg_strategy_open(t->model, n->strategy, &t->strategy, err)
                             : make_strategy(t, err);
    if (status == ITG_OK) status = itg_annotate_strategy(t->model, t->strategy, &t->annotated, err);
    if (status == ITG_OK) status = itg_realize_program(t->annotated, &realize, &t->program, err);
    if (status == ITG_OK) status = itg_hardware_load("float", &t->float_hw, err);
    if (status == ITG_OK)
        status = itg_uniform_strategy(t->model, t->float_hw, itg_strategy_preprocess(t->strategy),
                                      NULL, NULL, &options, &t->float_strategy, err);
    return status;
}

static itg_status run_program(void *context, itg_error *err)
{
    work *t = context;
    return itg_program_run(t->program, itg_strategy_preprocess(t->strategy), t->data, NULL,
                           t->n->threads, NULL, &t->score, err);
}

static itg_status run_simulation(void *context, itg_error *err)
{
    work *t = context;
    return itg_simulate(t->model, t->strategy, t->data, NULL, false, t->n->threads, &t->score, err);
}

static itg_status run_float(void *context, itg_error *err)
{
    work *t = context;
    return itg_simulate(t->model, t->float_strategy, t->data, NULL, false, t->n->threads, &t->score,
                        err);
}

static itg_status verify(work *t, itg_error *err)
{
    unsigned char digest[32];
    itg_status status = run_program(t, err);
    if (status != ITG_OK) return status;
    memcpy(digest, t->score.digest, sizeof digest);
    status = run_simulation(t, err);
    if (status != ITG_OK) return status;
    printf("  verified: the executor and the simulation ");
    if (memcmp(digest, t->score.digest, sizeof digest) != 0) {
        printf("DIFFER\n");
        if (err)
            snprintf(err->message, sizeof err->message,
                     "%s: the executor's digest is not the simulation's", t->n->model);
        return ITG_FAILURE;
    }
    printf("give digest ");
    for (int i = 0; i < 8; i++)
        printf("%02x", (unsigned)digest[i]);
    printf("...\n");
    return ITG_OK;
}

static void deinit(work *t)
{
    itg_program_destroy(t->program);
    itg_annotated_destroy(t->annotated);
    itg_strategy_close(t->float_strategy);
    itg_strategy_close(t->strategy);
    itg_stats_destroy(t->stats);
    itg_data_close(t->calibration);
    itg_data_close(t->data);
    itg_hardware_destroy(t->float_hw);
    itg_hardware_destroy(t->hw);
    itg_model_close(t->model);
}

itg_status bench_network_run(const bench_network *n, itg_error *err)
{
    work t = {.n = n};
    itg_status status = prepare(&t, err);
    if (status == ITG_OK) {
        printf("\nnetwork %s on %s, %s: %lld samples\n", itg_model_name(t.model),
               itg_hardware_name(itg_strategy_hardware(t.strategy)),
               n->strategy ? n->strategy : "8 bits", (long long)itg_data_samples(t.data));
        status = verify(&t, err);
    }
    if (status == ITG_OK) {
        bench_contender contenders[] = {{"integer executor", run_program, &t},
                                        {"simulation", run_simulation, &t},
                                        {"float execution", run_float, &t}};
        bench_contest contest = {.contenders = contenders,
                                 .count = 3,
                                 .repeats = n->repeats,
                                 .work = (double)itg_data_samples(t.data),
                                 .unit = "samples"};
        status = bench_run(&contest, err);
    }
    deinit(&t);
    return status;
}
