/* intaglio explain: shows where the loss of a strategy comes from and which changes reduce it. */
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/table.h"
#include <intaglio/explain.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { LIMIT = 256, SHOWN = 20 };

typedef struct work {
    const itg_cli_args *args;
    itg_model *model;
    itg_strategy_file *file;
    itg_cli_data data;
    itg_dataset *calibration;
    itg_explanation *e;
    bool on_terminal, has_line;
} work;

static bool asked(void *context)
{
    (void)context;
    return itg_cli_is_interrupted();
}

/* Prints one line that is redrawn on a terminal; elsewhere one line at the start of each part. */
static void show_progress(void *context, const char *what, int32_t done, int32_t planned)
{
    work *w = context;
    if (w->args->given[ITG_CLI_OPT_QUIET]) return;
    if (w->on_terminal)
        fprintf(stderr, "\r%s: %d of %d   ", what, (int)done, (int)planned);
    else if (done == 0)
        fprintf(stderr, "%s: %d to evaluate\n", what, (int)planned);
    w->has_line = w->on_terminal;
}

static itg_status open_all(work *w, itg_error *err)
{
    const itg_cli_args *args = w->args;
    const itg_cli_value *values = args->values;
    int64_t limit =
        args->given[ITG_CLI_OPT_LIMIT] ? values[ITG_CLI_OPT_LIMIT].integer : (int64_t)LIMIT;
    char text[ITG_CLI_DATA_TEXT];
    itg_status status =
        itg_cli_model_open(args, args->arguments[0], args->arguments[1], &w->model, err);
    if (status == ITG_OK) status = itg_strategy_open(w->model, args->arguments[1], &w->file, err);
    if (status == ITG_OK)
        status =
            itg_cli_data_open_files(itg_cli_model_input(w->model), values[ITG_CLI_OPT_DATA].text,
                                    values[ITG_CLI_OPT_LABELS].text, limit, &w->data, err);
    if (status == ITG_OK && args->given[ITG_CLI_OPT_CALIB])
        status = itg_data_open(
            itg_cli_data_text(itg_cli_model_input(w->model), values[ITG_CLI_OPT_CALIB].text, text),
            values[ITG_CLI_OPT_CALIB_LIMIT].integer, &w->calibration, err);
    if (status == ITG_OK) itg_cli_preprocess(args, itg_strategy_preprocess(w->file));
    return status;
}

static itg_status explain(work *w, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    const char *path = values[ITG_CLI_OPT_APPLY].text;
    itg_status status = open_all(w, err);
    if (status != ITG_OK) return status;
    const itg_explain_options options = {
        ITG_EXPLAIN_OPTIONS_VERSION,   .labels = w->data.labels,
        .calibration = w->calibration, .threads = (int)values[ITG_CLI_OPT_THREADS].integer,
        .stop = {asked, NULL},         .progress = show_progress,
        .progress_context = w};
    w->on_terminal = isatty(STDERR_FILENO) == 1;
    itg_cli_catch_interrupts();
    status = itg_explain(w->model, w->file, w->data.samples, &options, &w->e, err);
    if (w->has_line) fputc('\n', stderr);
    if (status == ITG_OK && path) status = itg_explanation_apply(w->e, w->file, err);
    if (status == ITG_OK && path) status = itg_strategy_save(w->file, w->model, path, err);
    return status;
}

/* ---- JSON ---- */

static void json_score(itg_json_writer *json, const char *key, const itg_score *score, int kinds)
{
    itg_json_begin(json, key, '{');
    itg_cli_json_metrics(json, "", score, kinds);
    itg_json_end(json, '}');
}

static void json_effect(itg_json_writer *json, const itg_effect_report *r)
{
    itg_json_begin(json, NULL, '{');
    itg_json_put_text(json, "effect", itg_effect_name(r->effect));
    itg_json_put_text(json, "value", r->value);
    itg_json_put_text(json, "node", r->node);
    itg_json_put_int(json, "edge", r->edge);
    itg_json_put_int(json, "edges", r->edges);
    itg_json_put_int(json, "bits", r->bits);
    itg_json_put_bool(json, "weight", r->is_weight);
    itg_json_put_int(json, "samples", r->samples);
    if (r->samples > 0) {
        itg_json_put_number(json, "share", r->share);
        json_score(json, "without", &r->without, ITG_CLI_QUALITIES);
    }
    itg_json_put_int(json, "tried", r->tried);
    itg_json_put_text(json, "change", r->change);
    if (r->change) {
        json_score(json, "changed", &r->changed, ITG_CLI_METRICS);
        itg_json_put_bool(json, "applied", r->is_applied);
    }
    itg_json_end(json, '}');
}

static void json_bisection(itg_json_writer *json, const itg_explanation_info *info)
{
    itg_json_begin(json, "bisection", '{');
    itg_json_put_text(json, "last_good", info->last_good);
    itg_json_put_text(json, "first_bad", info->first_bad);
    itg_json_put_number(json, "good_share", info->good_share);
    itg_json_put_number(json, "bad_share", info->bad_share);
    itg_json_put_int(json, "probes", info->probes);
    itg_json_put_bool(json, "monotone", info->is_monotone);
    itg_json_end(json, '}');
}

static int print_json(const work *w)
{
    const itg_explanation_info *info = itg_explanation_about(w->e);
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "model", itg_model_name(w->model));
    itg_json_put_text(&json, "hardware", itg_hardware_name(itg_strategy_hardware(w->file)));
    itg_json_put_text(&json, "strategy", w->args->arguments[1]);
    itg_json_put_int(&json, "samples", info->samples);
    itg_json_put_bool(&json, "complete", info->complete);
    json_score(&json, "score", &info->score, ITG_CLI_METRICS);
    itg_json_put_int(&json, "measured", info->measured);
    itg_json_put_number(&json, "sum", info->sum);
    itg_json_put_number(&json, "interaction", 1 - info->sum);
    json_bisection(&json, info);
    itg_json_begin(&json, "effects", '[');
    for (int32_t i = 0; i < itg_explanation_count(w->e); i++)
        json_effect(&json, itg_explanation_at(w->e, i));
    itg_json_end(&json, ']');
    itg_json_put_int(&json, "applied", info->applied);
    json_score(&json, "changed", &info->changed, ITG_CLI_METRICS);
    itg_json_put_text(&json, "output", w->args->values[ITG_CLI_OPT_APPLY].text);
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

/* ---- text ---- */

static const char *place_of(const itg_effect_report *r, char *text, size_t size)
{
    char more[32] = "";
    if (r->edges > 1) snprintf(more, sizeof more, " and %d more", (int)r->edges - 1);
    if (r->value)
        snprintf(text, size, "%s -> %s%s", r->value, r->node ? r->node : "(output)", more);
    else
        snprintf(text, size, "%s", r->node);
    return text;
}

static void sqnr_cell(itg_cli_table *table, const itg_score *score)
{
    char text[32];
    itg_cli_table_cell(
        table, "%s",
        itg_cli_unit_text(ITG_UNIT_DECIBELS, itg_score_get(score, ITG_METRIC_SQNR), text));
}

static int print_effects(const work *w)
{
    const itg_explanation_info *info = itg_explanation_about(w->e);
    int32_t count = itg_explanation_count(w->e), shown = count < SHOWN ? count : SHOWN;
    char text[400];
    itg_cli_table table;
    itg_cli_table_init(&table, "rllrrr");
    itg_cli_table_texts(&table, "share %", "effect", "where", "bits", "SQNR without", "samples",
                        NULL);
    for (int32_t i = 0; i < shown; i++) {
        const itg_effect_report *r = itg_explanation_at(w->e, i);
        if (r->samples == 0) break;
        itg_cli_table_cell(&table, "%.2f", 100 * r->share);
        itg_cli_table_cell(&table, "%s", itg_effect_name(r->effect));
        itg_cli_table_cell(&table, "%s", place_of(r, text, sizeof text));
        if (r->bits > 0)
            itg_cli_table_cell(&table, "%d", (int)r->bits);
        else
            itg_cli_table_cell(&table, "%s", "");
        sqnr_cell(&table, &r->without);
        itg_cli_table_cell(&table, "%lld", (long long)r->samples);
    }
    int status = itg_cli_table_print(&table);
    if (count > shown) printf("  and %d more\n", (int)(count - shown));
    if (info->measured < count)
        printf("\nAll %d effects were measured on the first samples, and the %d largest then on "
               "all.\n",
               (int)count, (int)info->measured);
    printf("\nThe effects sum to %.2f %% of the loss; interaction of several: %.2f %%.\n",
           100 * info->sum, 100 * (1 - info->sum));
    return status;
}

static void print_bisection(const itg_explanation_info *info)
{
    if (!info->first_bad) return;
    if (!*info->first_bad) {
        printf("Half of the loss is there with quantized inputs alone: %.2f %%.\n",
               100 * info->bad_share);
        return;
    }
    printf("With the nodes up to %s quantized %.2f %% of the loss is there, before it %.2f %% "
           "(%d probes, %s).\n",
           info->first_bad, 100 * info->bad_share, 100 * info->good_share, (int)info->probes,
           info->is_monotone ? "the loss rises with the nodes"
                             : "but the loss does not rise with every node");
}

/* Prints the costs that differ, or that none does. */
static void print_costs(const itg_score *before, const itg_score *after)
{
    static const itg_metric costs[] = {ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_PARAMETER_BYTES,
                                       ITG_METRIC_BOPS, ITG_METRIC_CYCLES,
                                       ITG_METRIC_PEAK_ACTIVATION_BYTES};
    bool differs = false;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        double change = after->value[costs[i]] - before->value[costs[i]];
        if (!(change < 0) && !(change > 0)) continue;
        printf(", %+.0f %s", change, itg_metric_about(costs[i])->words);
        differs = true;
    }
    puts(differs ? "" : ", at no cost");
}

static void print_gain(const char *change, const itg_score *before, const itg_score *after)
{
    char a[32], b[32];
    printf("%s: SQNR %s to %s", change,
           itg_cli_unit_text(ITG_UNIT_DECIBELS, itg_score_get(before, ITG_METRIC_SQNR), a),
           itg_cli_unit_text(ITG_UNIT_DECIBELS, itg_score_get(after, ITG_METRIC_SQNR), b));
    if (itg_score_knows(before, ITG_METRIC_TOP1))
        printf(", top-1 %+.2f points",
               100 * (after->value[ITG_METRIC_TOP1] - before->value[ITG_METRIC_TOP1]));
    print_costs(before, after);
}

/* Prints the changes that also help together, and their effect. */
static void print_kept(const work *w)
{
    const itg_explanation_info *info = itg_explanation_about(w->e);
    char text[400];
    for (int32_t i = 0; i < itg_explanation_count(w->e); i++) {
        const itg_effect_report *r = itg_explanation_at(w->e, i);
        if (r->is_applied) printf("  %s: %s\n", place_of(r, text, sizeof text), r->change);
    }
    print_gain("with them", &info->score, &info->changed);
}

static void print_changes(const work *w)
{
    const itg_explanation_info *info = itg_explanation_about(w->e);
    const char *path = w->args->values[ITG_CLI_OPT_APPLY].text;
    char text[400];
    puts("");
    for (int32_t i = 0; i < itg_explanation_count(w->e); i++) {
        const itg_effect_report *r = itg_explanation_at(w->e, i);
        if (r->tried == 0) continue;
        printf("%s: %.2f %% of the loss, %s; ", place_of(r, text, sizeof text), 100 * r->share,
               itg_effect_name(r->effect));
        if (!r->change) {
            printf("none of %d changes lessens the loss\n", (int)r->tried);
            continue;
        }
        print_gain(r->change, &info->score, &r->changed);
    }
    if (info->applied > 0) {
        puts("\nKept together:");
        print_kept(w);
    }
    if (info->applied > 0 && path) itg_cli_print_line("strategy", "%s", path);
}

static int print_text(const work *w)
{
    const itg_explanation_info *info = itg_explanation_about(w->e);
    printf("%s on %s, %lld sample%s\n", itg_model_name(w->model),
           itg_hardware_name(itg_strategy_hardware(w->file)), (long long)info->samples,
           itg_plural(info->samples));
    itg_cli_print_score(&info->score);
    puts("");
    int status = print_effects(w);
    print_bisection(info);
    print_changes(w);
    if (!info->complete) fputs("intaglio: interrupted; this is what was known by then\n", stderr);
    return status;
}

static int run(const itg_cli_args *args)
{
    work w = {.args = args};
    itg_error err = {0};
    int result;
    if (explain(&w, &err) != ITG_OK)
        result = itg_cli_fail_error(&err);
    else
        result = args->given[ITG_CLI_OPT_JSON] ? print_json(&w) : print_text(&w);
    itg_explanation_destroy(w.e);
    itg_data_close(w.calibration);
    itg_cli_data_close(&w.data);
    itg_strategy_close(w.file);
    itg_model_close(w.model);
    return result;
}

const itg_cli_command itg_cli_explain = {
    .name = "explain",
    .summary = "Says where the loss of a quantized network comes from, and what lessens it",
    .usage = "MODEL STRATEGY --data X [--labels Y] [--apply OUT.json] [--json] [...]",
    .details =
        "The loss is the distortion of the outputs against the float network. Each effect "
        "(clipping "
        "and rounding\n"
        "of an edge, requantization and overflow of a layer) is measured by taking it away while "
        "all "
        "else computes\n"
        "as in the program. Changes are evaluated before they are printed. --limit is 256 where it "
        "is not given.",
    .min_arguments = 2,
    .max_arguments = 2,
    .arguments = {"MODEL", "STRATEGY"},
    .required = {ITG_CLI_OPT_DATA},
    .required_count = 1,
    .options = {ITG_CLI_OPT_DATA, ITG_CLI_OPT_LABELS, ITG_CLI_OPT_LIMIT, ITG_CLI_OPT_CALIB,
                ITG_CLI_OPT_CALIB_LIMIT, ITG_CLI_PREPROCESS, ITG_CLI_OPT_APPLY, ITG_CLI_OPT_QUIET},
    .run = run,
};
