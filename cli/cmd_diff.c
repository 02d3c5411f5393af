/* intaglio diff: compares two strategies or programs of one model by edge and by layer. */
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/table.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDES = 2 };

typedef struct comparison {
    const itg_cli_args *args;
    itg_model *model; /* NULL: not given */
    itg_summary *summary[SIDES];
    const itg_summary_info *info[SIDES];
    itg_score score[SIDES]; /* quality: as recorded, or (--data) now */
    bool has_costs;         /* both */
    int32_t edges, layers;  /* that differ */
} comparison;

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* ---- what differs ---- */

/* Whether two quantizers' scales differ. A property that only one side knows is no difference. */
static bool scales_differ(const itg_summary_edge *a, const itg_summary_edge *b)
{
    if (a->sign == NULL || b->sign == NULL) return false;
    return !same_text(a->sign, b->sign) || a->zero_point != b->zero_point ||
           !same_text(a->scales, b->scales);
}

/* Without the model, a strategy's codes are known as a whole. */
static bool codes_differ(const itg_summary_edge *a, const itg_summary_edge *b)
{
    return (a->codes == NULL) != (b->codes == NULL) ||
           ((a->sign == NULL) == (b->sign == NULL) && !same_text(a->codes, b->codes));
}

const char *itg_cli_names(const char *first, const char *const names[ITG_CLI_NAMES],
                          char out[ITG_CLI_NAMES_SIZE])
{
    size_t at = 0;
    out[0] = '\0';
    for (int i = 0; i < ITG_CLI_NAMES; i++)
        if (names[i])
            at += (size_t)snprintf(out + at, ITG_CLI_NAMES_SIZE - at, "%s%s", at > 0 ? ", " : first,
                                   names[i]);
    return out;
}

/* What is other besides width and threshold: "other scale, codes"; "": nothing. */
static const char *differing(const itg_summary_edge *a, const itg_summary_edge *b,
                             char out[ITG_CLI_NAMES_SIZE])
{
    const char *const names[ITG_CLI_NAMES] = {
        scales_differ(a, b) ? "scale" : NULL,
        same_text(a->zero_points, b->zero_points) ? NULL : "zero points",
        codes_differ(a, b) ? "codes" : NULL, same_text(a->bias, b->bias) ? NULL : "bias"};
    return itg_cli_names("other ", names, out);
}

static bool thresholds_differ(const itg_summary_edge *a, const itg_summary_edge *b)
{
    return !same_text(a->method, b->method) || !same_text(a->thresholds, b->thresholds);
}

static bool edges_differ(const itg_summary_edge *a, const itg_summary_edge *b)
{
    char names[ITG_CLI_NAMES_SIZE];
    return a->bits != b->bits || thresholds_differ(a, b) || differing(a, b, names)[0] != '\0';
}

static bool layers_differ(const itg_summary_layer *a, const itg_summary_layer *b)
{
    return !same_text(a->form, b->form) || a->accumulator_bits != b->accumulator_bits ||
           a->weight_bytes != b->weight_bytes || a->bops != b->bops || a->cycles != b->cycles ||
           a->parts != b->parts;
}

static const itg_summary_edge *edge(const comparison *c, int side, int32_t i)
{
    return itg_summary_edge_at(c->summary[side], i);
}

static const itg_summary_layer *layer(const comparison *c, int side, int32_t i)
{
    return itg_summary_layer_at(c->summary[side], i);
}

/* Checks that both lists match; those of one prepared graph are in the same order. */
static itg_status check_lists(const comparison *c, itg_error *err)
{
    const itg_summary_info *a = c->info[0], *b = c->info[1];
    bool same = a->edge_count == b->edge_count;
    for (int32_t i = 0; same && i < a->edge_count; i++) {
        const itg_summary_edge *x = edge(c, 0, i), *y = edge(c, 1, i);
        same = same_text(x->value, y->value) && same_text(x->node, y->node) && x->slot == y->slot;
    }
    if (c->has_costs) same = same && a->layer_count == b->layer_count;
    for (int32_t i = 0; same && c->has_costs && i < a->layer_count; i++)
        same = same_text(layer(c, 0, i)->node, layer(c, 1, i)->node);
    return same ? ITG_OK
                : itg_fail(err, ITG_MISMATCH, "%s and %s: their edges are not those of one model",
                           c->args->arguments[0], c->args->arguments[1]);
}

static itg_status check_models(const comparison *c, itg_error *err)
{
    if (!same_text(c->info[0]->model_hash, c->info[1]->model_hash))
        return itg_fail(err, ITG_MISMATCH,
                        "%s and %s were made from different models: there is nothing to compare",
                        c->args->arguments[0], c->args->arguments[1]);
    if (!same_text(c->info[0]->graph_hash, c->info[1]->graph_hash))
        return itg_fail(err, ITG_MISMATCH,
                        "%s and %s were made from different preparations of one model",
                        c->args->arguments[0], c->args->arguments[1]);
    return check_lists(c, err);
}

/* ---- quality now ---- */

static itg_status evaluate(comparison *c, int side, itg_error *err)
{
    const char *path = c->args->arguments[side];
    int threads = (int)c->args->values[ITG_CLI_OPT_THREADS].integer;
    itg_cli_data data = {0};
    itg_program *program = NULL;
    itg_strategy_file *file = NULL;
    itg_score score = {0};
    if (!c->info[side]->is_program && c->model == NULL)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s: to run a strategy takes its --model", path);
    itg_status status = c->info[side]->is_program ? itg_program_open(path, &program, err) : ITG_OK;
    if (status == ITG_OK)
        status = itg_cli_data_open(
            c->args, program ? itg_cli_program_input(program) : itg_cli_model_input(c->model),
            &data, err);
    if (status == ITG_OK && program) {
        const itg_run_options options = {ITG_RUN_OPTIONS_VERSION, .labels = data.labels,
                                         .threads = threads};
        status = itg_program_run(program, data.samples, &options, &score, err);
    } else if (status == ITG_OK) {
        status = itg_strategy_open(c->model, path, &file, err);
        const itg_simulate_options options = {ITG_SIMULATE_OPTIONS_VERSION, .labels = data.labels,
                                              .threads = threads};
        if (status == ITG_OK)
            status = itg_simulate(c->model, file, data.samples, &options, &score, err);
    }
    if (status == ITG_OK) {
        for (int m = 0; m < ITG_METRIC_COUNT; m++)
            if (!itg_metric_is_cost((itg_metric)m)) c->score[side].value[m] = score.value[m];
        memcpy(c->score[side].user, score.user, sizeof score.user);
        c->score[side].samples = score.samples;
        memcpy(c->score[side].digest, score.digest, sizeof score.digest);
    }
    itg_program_destroy(program);
    itg_strategy_close(file);
    itg_cli_data_close(&data);
    return status;
}

/* Returns the first argument that is a strategy file; NULL if both are programs. */
static const char *strategy_among(const comparison *c)
{
    itg_model_options ignored;
    for (int i = 0; i < SIDES; i++)
        if (itg_strategy_model_options(c->args->arguments[i], &ignored, NULL) == ITG_OK)
            return c->args->arguments[i];
    return NULL;
}

static itg_status compare(comparison *c, itg_error *err)
{
    const char *model = c->args->values[ITG_CLI_OPT_DIFF_MODEL].text;
    const char *strategy = strategy_among(c);
    itg_status status =
        model != NULL ? itg_cli_model_open(c->args, model, strategy, &c->model, err) : ITG_OK;
    for (int i = 0; i < SIDES && status == ITG_OK; i++) {
        status = itg_summary_open(c->args->arguments[i], c->model, &c->summary[i], err);
        if (status != ITG_OK) break;
        c->info[i] = itg_summary_info_of(c->summary[i]);
        c->score[i] = c->info[i]->score;
    }
    if (status != ITG_OK) return status;
    c->has_costs = c->info[0]->has_costs && c->info[1]->has_costs;
    status = check_models(c, err);
    for (int i = 0; i < SIDES && status == ITG_OK && c->args->given[ITG_CLI_OPT_DATA]; i++)
        status = evaluate(c, i, err);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < c->info[0]->edge_count; i++)
        c->edges += edges_differ(edge(c, 0, i), edge(c, 1, i));
    for (int32_t i = 0; c->has_costs && i < c->info[0]->layer_count; i++)
        c->layers += layers_differ(layer(c, 0, i), layer(c, 1, i));
    return ITG_OK;
}

static bool same_hardware(const comparison *c)
{
    return same_text(c->info[0]->hardware_hash, c->info[1]->hardware_hash);
}

/* ---- JSON ---- */

void itg_cli_json_summary_edge(itg_json_writer *json, const char *key, const itg_summary_edge *e)
{
    itg_json_begin(json, key, '{');
    itg_json_put_int(json, "bits", e->bits);
    if (e->sign != NULL) {
        itg_json_put_text(json, "sign", e->sign);
        itg_json_put_int(json, "zero_point", e->zero_point);
        itg_json_put_number(json, "scale", e->scale);
        itg_json_put_text(json, "scales", e->scales);
    }
    if (e->bits > 0) {
        itg_json_put_text(json, "method", e->method);
        itg_json_put_number(json, "lo", e->lo);
        itg_json_put_number(json, "hi", e->hi);
        itg_json_put_text(json, "thresholds", e->thresholds);
        if (e->zero_points) itg_json_put_text(json, "zero_points", e->zero_points);
        if (e->codes) itg_json_put_text(json, "codes", e->codes);
        if (e->bias) itg_json_put_text(json, "bias", e->bias);
    }
    itg_json_end(json, '}');
}

void itg_cli_json_summary_layer(itg_json_writer *json, const char *key, const itg_summary_layer *l)
{
    itg_json_begin(json, key, '{');
    itg_json_put_text(json, "form", l->form);
    itg_json_put_int(json, "accumulator_bits", l->accumulator_bits);
    itg_json_put_int(json, "weight_bytes", l->weight_bytes);
    itg_json_put_int(json, "macs", l->macs);
    itg_json_put_int(json, "parts", l->parts);
    itg_json_put_int(json, "joins", l->joins);
    itg_json_put_number(json, "bops", l->bops);
    itg_json_put_number(json, "cycles", l->cycles);
    itg_json_end(json, '}');
}

static void json_side(itg_json_writer *json, const comparison *c, int side)
{
    static const char *const keys[SIDES] = {"a", "b"};
    const itg_summary_info *info = c->info[side];
    const itg_score *score = &c->score[side];
    itg_json_begin(json, keys[side], '{');
    itg_json_put_text(json, "file", c->args->arguments[side]);
    itg_json_put_text(json, "kind", info->is_program ? "program" : "strategy");
    itg_json_put_text(json, "hardware", info->hardware);
    itg_cli_json_metrics(json, "", score, ITG_CLI_METRICS);
    itg_cli_json_known(json, "samples", score->samples > 0 ? (double)score->samples : -1);
    itg_json_end(json, '}');
}

static void json_lists(itg_json_writer *json, const comparison *c, bool all)
{
    itg_json_begin(json, "edges", '[');
    for (int32_t i = 0; i < c->info[0]->edge_count; i++) {
        const itg_summary_edge *a = edge(c, 0, i), *b = edge(c, 1, i);
        if (!all && !edges_differ(a, b)) continue;
        itg_json_begin(json, NULL, '{');
        itg_json_put_text(json, "value", a->value);
        itg_json_put_text(json, "node", a->node);
        itg_json_put_int(json, "slot", a->slot);
        itg_cli_json_summary_edge(json, "a", a);
        itg_cli_json_summary_edge(json, "b", b);
        itg_json_end(json, '}');
    }
    itg_json_end(json, ']');
    itg_json_begin(json, "layers", '[');
    for (int32_t i = 0; c->has_costs && i < c->info[0]->layer_count; i++) {
        const itg_summary_layer *a = layer(c, 0, i), *b = layer(c, 1, i);
        if (!all && !layers_differ(a, b)) continue;
        itg_json_begin(json, NULL, '{');
        itg_json_put_text(json, "node", a->node);
        itg_json_put_text(json, "op", a->op);
        itg_cli_json_summary_layer(json, "a", a);
        itg_cli_json_summary_layer(json, "b", b);
        itg_json_end(json, '}');
    }
    itg_json_end(json, ']');
}

static int print_json(const comparison *c)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_bool(&json, "same", c->edges == 0 && c->layers == 0 && same_hardware(c));
    itg_json_put_bool(&json, "same_hardware", same_hardware(c));
    itg_json_put_int(&json, "edges_that_differ", c->edges);
    itg_json_put_int(&json, "layers_that_differ", c->layers);
    for (int side = 0; side < SIDES; side++)
        json_side(&json, c, side);
    json_lists(&json, c, c->args->given[ITG_CLI_OPT_DIFF_ALL]);
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

/* ---- text ---- */

static int print_totals(const comparison *c)
{
    const itg_score *a = &c->score[0], *b = &c->score[1];
    char text[32];
    itg_cli_table table;
    itg_cli_table_init(&table, "lrrr");
    itg_cli_table_texts(&table, "", "A", "B", "", NULL);
    for (int m = 0; m < ITG_METRIC_ALL; m++) {
        double x = itg_score_get(a, (itg_metric)m), y = itg_score_get(b, (itg_metric)m);
        if (m != ITG_METRIC_ACCURACY && m != ITG_METRIC_DISTORTION && !(isnan(x) && isnan(y)))
            itg_cli_metric_row(&table, (itg_metric)m, a, b);
    }
    if (a->samples > 0 && b->samples > 0) {
        itg_cli_table_texts(&table, "samples", itg_cli_count_text((long long)a->samples, text),
                            NULL);
        itg_cli_table_texts(&table, itg_cli_count_text((long long)b->samples, text), "", NULL);
    }
    return itg_cli_table_print(&table);
}

void itg_cli_type_cell(itg_cli_table *table, const itg_summary_edge *e)
{
    if (e->bits == 0)
        itg_cli_table_cell(table, "-");
    else
        itg_cli_table_cell(table, "%d%s%s", (int)e->bits, e->sign ? " " : "",
                           e->sign ? e->sign : "");
}

void itg_cli_threshold_cell(itg_cli_table *table, const itg_summary_edge *e)
{
    if (e->bits == 0 || e->method == NULL)
        itg_cli_table_cell(table, "-");
    else
        itg_cli_table_cell(table, "%s %.4g..%.4g", e->method, e->lo, e->hi);
}

static int print_edges(const comparison *c, bool all)
{
    itg_cli_table table;
    int32_t shown = 0;
    itg_cli_table_init(&table, "llllll");
    itg_cli_table_texts(&table, "edge", "bits A", "bits B", "threshold A", "threshold B", "", NULL);
    for (int32_t i = 0; i < c->info[0]->edge_count; i++) {
        const itg_summary_edge *a = edge(c, 0, i), *b = edge(c, 1, i);
        bool differ = edges_differ(a, b);
        if (!differ && (!all || (a->bits == 0 && b->bits == 0))) continue;
        shown++;
        if (a->node)
            itg_cli_table_cell(&table, "%s -> %s.%d", a->value, a->node, (int)a->slot);
        else
            itg_cli_table_cell(&table, "%s (output)", a->value);
        itg_cli_type_cell(&table, a);
        itg_cli_type_cell(&table, b);
        itg_cli_threshold_cell(&table, a);
        itg_cli_threshold_cell(&table, b);
        char names[ITG_CLI_NAMES_SIZE];
        itg_cli_table_cell(&table, "%s", differ ? differing(a, b, names) : "same");
    }
    printf("\n%d of %d edge%s differ\n", (int)c->edges, (int)c->info[0]->edge_count,
           itg_plural(c->info[0]->edge_count));
    if (shown > 0) return itg_cli_table_print(&table);
    itg_cli_table_deinit(&table);
    return ITG_CLI_OK;
}

static void pair_cell(itg_cli_table *table, double a, double b)
{
    char text[2][32];
    itg_cli_count_text((long long)(a + 0.5), text[0]);
    itg_cli_count_text((long long)(b + 0.5), text[1]);
    if (a == b)
        itg_cli_table_cell(table, "%s", text[0]);
    else
        itg_cli_table_cell(table, "%s -> %s", text[0], text[1]);
}

static void layer_row(itg_cli_table *table, const itg_summary_layer *a, const itg_summary_layer *b,
                      bool split)
{
    itg_cli_table_texts(table, a->node, a->op, NULL);
    pair_cell(table, (double)a->weight_bytes, (double)b->weight_bytes);
    pair_cell(table, (double)a->macs, (double)b->macs);
    pair_cell(table, a->bops, b->bops);
    if (split) pair_cell(table, (double)a->parts, (double)b->parts);
    if (split) pair_cell(table, (double)a->joins, (double)b->joins);
    pair_cell(table, a->cycles, b->cycles);
    if (same_text(a->form, b->form) && a->accumulator_bits == b->accumulator_bits)
        itg_cli_table_cell(table, "%s", a->form);
    else
        itg_cli_table_cell(table, "%s, %d bits -> %s, %d bits", a->form, (int)a->accumulator_bits,
                           b->form, (int)b->accumulator_bits);
}

/* Prints the layers. Parts and joins have columns only if a sum is split on either side. */
static int print_layers(const comparison *c, bool all)
{
    itg_cli_table table;
    int32_t shown = 0;
    bool split = false;
    for (int side = 0; side < SIDES; side++)
        for (int32_t i = 0; i < c->info[side]->layer_count; i++)
            split |= layer(c, side, i)->parts > 0;
    itg_cli_table_init(&table, split ? "llrrrrrrl" : "llrrrrl");
    itg_cli_table_texts(&table, "layer", "operator", "weight bytes", "MACs", "bit operations",
                        NULL);
    if (split) itg_cli_table_texts(&table, "parts", "joins", NULL);
    itg_cli_table_texts(&table, "cycles", "form", NULL);
    for (int32_t i = 0; i < c->info[0]->layer_count; i++) {
        const itg_summary_layer *a = layer(c, 0, i), *b = layer(c, 1, i);
        if (!all && !layers_differ(a, b)) continue;
        shown++;
        layer_row(&table, a, b, split);
    }
    printf("\n%d of %d layer%s differ\n", (int)c->layers, (int)c->info[0]->layer_count,
           itg_plural(c->info[0]->layer_count));
    if (shown > 0) return itg_cli_table_print(&table);
    itg_cli_table_deinit(&table);
    return ITG_CLI_OK;
}

static int print_text(const comparison *c)
{
    static const char *const names[SIDES] = {"A", "B"};
    bool all = c->args->given[ITG_CLI_OPT_DIFF_ALL];
    for (int i = 0; i < SIDES; i++)
        itg_cli_print_line(names[i], "%s, a %s for %s", c->args->arguments[i],
                           c->info[i]->is_program ? "program" : "strategy", c->info[i]->hardware);
    if (!same_hardware(c))
        printf("ATTENTION: the hardware descriptions differ; costs compare only as numbers.\n");
    printf("\n");
    int result = print_totals(c);
    if (result == ITG_CLI_OK) result = print_edges(c, all);
    if (result == ITG_CLI_OK && c->has_costs) result = print_layers(c, all);
    if (!c->has_costs) printf("\nCosts of strategies are known with --model alone.\n");
    return result;
}

static int run(const itg_cli_args *args)
{
    comparison c = {.args = args};
    itg_error err = {0};
    int result;
    if (compare(&c, &err) != ITG_OK)
        result = itg_cli_fail_error(&err);
    else
        result = args->given[ITG_CLI_OPT_JSON] ? print_json(&c) : print_text(&c);
    for (int i = 0; i < SIDES; i++)
        itg_summary_destroy(c.summary[i]);
    itg_model_close(c.model);
    return result;
}

const itg_cli_command itg_cli_diff = {
    .name = "diff",
    .summary = "Compares two strategies or programs of one model",
    .usage = "A B [--model M] [--data X [--labels Y]] [--all]",
    .details =
        "A and B are strategy files or integer programs, in any mix. Shows each edge and layer "
        "on which they\ndiffer, with bytes, MACs, bit operations and cycles, and the quality "
        "that they recorded, or (--data)\nhave now.",
    .min_arguments = 2,
    .max_arguments = 2,
    .arguments = {"A", "B"},
    .options = {ITG_CLI_OPT_DIFF_MODEL, ITG_CLI_OPT_DATA, ITG_CLI_OPT_LABELS, ITG_CLI_OPT_LIMIT,
                ITG_CLI_OPT_DIFF_ALL},
    .run = run,
};
