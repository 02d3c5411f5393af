/* intaglio inspect: shows, by edge, where a quantized network differs from the float one. */
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/inspect.h"
#include <math.h>
#include <stdio.h>

typedef itg_cli_inspected work;

itg_status itg_cli_inspect_open(itg_cli_inspected *w, itg_error *err)
{
    const itg_cli_args *args = w->args;
    itg_status status =
        itg_cli_model_open(args, args->arguments[0], args->arguments[1], &w->model, err);
    if (status == ITG_OK) status = itg_strategy_open(w->model, args->arguments[1], &w->file, err);
    if (status == ITG_OK && args->given[ITG_CLI_OPT_DATA])
        status = itg_cli_data_open(args, itg_cli_model_input(w->model), &w->data, err);
    if (status != ITG_OK) return status;
    itg_cli_preprocess(args, itg_strategy_preprocess(w->file));
    status = itg_annotate_strategy(w->model, w->file, &w->annotated, err);
    if (status == ITG_OK && w->data.samples)
        status = itg_inspect(w->model, w->file, w->annotated, w->data.samples,
                             (int)args->values[ITG_CLI_OPT_THREADS].integer, &w->inspection, err);
    return status;
}

void itg_cli_inspect_close(itg_cli_inspected *w)
{
    itg_inspection_destroy(w->inspection);
    itg_annotated_destroy(w->annotated);
    itg_cli_data_close(&w->data);
    itg_strategy_close(w->file);
    itg_model_close(w->model);
}

/* ---- results ---- */

static void json_side(itg_json_writer *json, const char *key, double min, double max, double mean,
                      double std)
{
    itg_json_begin(json, key, '{');
    itg_json_put_number(json, "min", min);
    itg_json_put_number(json, "max", max);
    itg_json_put_number(json, "mean", mean);
    itg_json_put_number(json, "std", std);
    itg_json_end(json, '}');
}

static void json_edge(itg_json_writer *json, const itg_edge_report *e)
{
    itg_json_begin(json, NULL, '{');
    itg_json_put_int(json, "edge", e->index);
    itg_json_put_text(json, "value", e->value);
    itg_json_put_text(json, "node", e->node);
    itg_json_put_int(json, "slot", e->slot);
    itg_json_put_int(json, "bits", e->bits);
    itg_json_put_number(json, "sqnr_db", e->sqnr_db);
    itg_json_put_bool(json, "exact", e->sqnr_db > 0 && isinf(e->sqnr_db));
    itg_json_put_number(json, "saturated", e->saturated);
    itg_json_put_number(json, "overflowed", e->overflowed);
    json_side(json, "float", e->float_min, e->float_max, e->float_mean, e->float_std);
    json_side(json, "simulated", e->sim_min, e->sim_max, e->sim_mean, e->sim_std);
    itg_json_end(json, '}');
}

void itg_cli_json_inspection(itg_json_writer *json, const char *key,
                             const itg_inspection *inspection)
{
    itg_json_begin(json, key, '[');
    for (int32_t i = 0; i < itg_inspection_count(inspection); i++)
        json_edge(json, itg_inspection_edge(inspection, i));
    itg_json_end(json, ']');
}

static int print_json(const work *w)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "model", itg_model_name(w->model));
    itg_json_put_text(&json, "hardware", itg_hardware_name(itg_strategy_hardware(w->file)));
    itg_json_put_text(&json, "strategy", w->args->arguments[1]);
    itg_json_put_int(&json, "samples", itg_data_samples(w->data.samples));
    itg_cli_json_inspection(&json, "edges", w->inspection);
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

static void text_edge(itg_cli_table *table, const itg_edge_report *e)
{
    const double numbers[] = {e->float_min, e->float_max, e->float_mean, e->float_std,
                              e->sim_min,   e->sim_max,   e->sim_mean,   e->sim_std};
    itg_cli_table_cell(table, "%s -> %s", e->value, e->node ? e->node : "(output)");
    itg_cli_table_cell(table, "%d", (int)e->bits);
    if (isinf(e->sqnr_db))
        itg_cli_table_cell(table, "%s", e->sqnr_db > 0 ? "exact" : "-inf");
    else
        itg_cli_table_cell(table, "%.1f", e->sqnr_db);
    itg_cli_table_cell(table, "%.3f", 100 * e->saturated);
    itg_cli_table_cell(table, "%.3f", 100 * e->overflowed);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        itg_cli_table_cell(table, "%.4g", numbers[i]);
}

void itg_cli_inspection_table(itg_cli_table *table, const itg_inspection *inspection)
{
    itg_cli_table_init(table, "lrrrrrrrrrrrr");
    itg_cli_table_texts(table, "value -> node", "bits", "SQNR dB", "saturated %", "overflow %",
                        "float min", "max", "mean", "std", "sim. min", "max", "mean", "std", NULL);
    for (int32_t i = 0; i < itg_inspection_count(inspection); i++)
        text_edge(table, itg_inspection_edge(inspection, i));
}

static int print_text(const work *w)
{
    itg_cli_table table;
    printf("%s on %s, %lld sample%s; the edges that lose most stand first\n\n",
           itg_model_name(w->model), itg_hardware_name(itg_strategy_hardware(w->file)),
           (long long)itg_data_samples(w->data.samples),
           itg_plural(itg_data_samples(w->data.samples)));
    itg_cli_inspection_table(&table, w->inspection);
    return itg_cli_table_print(&table);
}

static int run(const itg_cli_args *args)
{
    work w = {.args = args};
    itg_error err = {0};
    int result;
    if (itg_cli_inspect_open(&w, &err) != ITG_OK)
        result = itg_cli_fail_error(&err);
    else
        result = args->given[ITG_CLI_OPT_JSON] ? print_json(&w) : print_text(&w);
    itg_cli_inspect_close(&w);
    return result;
}

const itg_cli_command itg_cli_inspect = {
    .name = "inspect",
    .summary = "Compares the quantized network with the float one, edge by edge",
    .usage = "MODEL STRATEGY --data X [--limit N]",
    .details = "SQNR is the power of the float values over that of the error; 'exact' (in JSON: "
               "null, and exact true)\n"
               "means no error at all. Saturated: shares of codes cut off by the edge's range; "
               "overflow: of accumulators.",
    .min_arguments = 2,
    .max_arguments = 2,
    .arguments = {"MODEL", "STRATEGY"},
    .required = {ITG_CLI_OPT_DATA},
    .required_count = 1,
    .options = {ITG_CLI_OPT_DATA, ITG_CLI_OPT_LIMIT, ITG_CLI_PREPROCESS},
    .run = run,
};
