/* Runs an explanation with progress, and makes its table, words and JSON. */
#include "cli/explanation.h"
#include "cli/interrupt.h"
#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* ---- running ---- */

typedef struct showing {
    bool quiet, on_terminal, has_line;
} showing;

static bool asked(void *context)
{
    (void)context;
    return itg_cli_is_interrupted();
}

/* Prints one line that is redrawn on a terminal; elsewhere one line at the start of each part. */
static void show_progress(void *context, const char *what, int32_t done, int32_t planned)
{
    showing *s = context;
    if (s->quiet) return;
    if (s->on_terminal)
        fprintf(stderr, "\r%s: %d of %d   ", what, (int)done, (int)planned);
    else if (done == 0)
        fprintf(stderr, "%s: %d to evaluate\n", what, (int)planned);
    s->has_line = s->on_terminal;
}

itg_status itg_cli_explain_strategy(const itg_cli_args *args, const itg_model *model,
                                    const itg_strategy_file *file, const itg_cli_data *data,
                                    const itg_dataset *calibration, itg_explanation **out,
                                    itg_error *err)
{
    showing shown = {args->given[ITG_CLI_OPT_QUIET], isatty(STDERR_FILENO) == 1, false};
    const itg_explain_options options = {
        ITG_EXPLAIN_OPTIONS_VERSION, .labels = data->labels,
        .calibration = calibration,  .threads = (int)args->values[ITG_CLI_OPT_THREADS].integer,
        .stop = {asked, NULL},       .progress = show_progress,
        .progress_context = &shown};
    itg_cli_catch_interrupts();
    itg_status status = itg_explain(model, file, data->samples, &options, out, err);
    if (shown.has_line) fputc('\n', stderr);
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

void itg_cli_json_explanation(itg_json_writer *json, const itg_explanation *e)
{
    const itg_explanation_info *info = itg_explanation_about(e);
    itg_json_put_int(json, "samples", info->samples);
    itg_json_put_bool(json, "complete", info->complete);
    json_score(json, "score", &info->score, ITG_CLI_METRICS);
    itg_json_put_int(json, "measured", info->measured);
    itg_json_put_number(json, "sum", info->sum);
    itg_json_put_number(json, "interaction", 1 - info->sum);
    json_bisection(json, info);
    itg_json_begin(json, "effects", '[');
    for (int32_t i = 0; i < itg_explanation_count(e); i++)
        json_effect(json, itg_explanation_at(e, i));
    itg_json_end(json, ']');
    itg_json_put_int(json, "applied", info->applied);
    json_score(json, "changed", &info->changed, ITG_CLI_METRICS);
}

/* ---- words ---- */

const char *itg_cli_effect_place(const itg_effect_report *r, char *text, size_t size)
{
    char more[32] = "";
    if (r->edges > 1) snprintf(more, sizeof more, " and %d more", (int)r->edges - 1);
    if (r->value)
        snprintf(text, size, "%s -> %s%s", r->value, r->node ? r->node : "(output)", more);
    else
        snprintf(text, size, "%s", r->node);
    return text;
}

/* Writes the costs that differ, or that none does. */
static void costs_words(itg_strbuf *out, const itg_score *before, const itg_score *after)
{
    static const itg_metric costs[] = {ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_PARAMETER_BYTES,
                                       ITG_METRIC_BOPS, ITG_METRIC_CYCLES,
                                       ITG_METRIC_PEAK_ACTIVATION_BYTES};
    bool differs = false;
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        double change = after->value[costs[i]] - before->value[costs[i]];
        if (!(change < 0) && !(change > 0)) continue;
        itg_strbuf_format(out, ", %+.0f %s", change, itg_metric_about(costs[i])->words);
        differs = true;
    }
    if (!differs) itg_strbuf_add(out, ", at no cost");
}

void itg_cli_gain_words(itg_strbuf *out, const char *change, const itg_score *before,
                        const itg_score *after)
{
    char a[32], b[32];
    itg_strbuf_format(
        out, "%s: SQNR %s to %s", change,
        itg_cli_unit_text(ITG_UNIT_DECIBELS, itg_score_get(before, ITG_METRIC_SQNR), a),
        itg_cli_unit_text(ITG_UNIT_DECIBELS, itg_score_get(after, ITG_METRIC_SQNR), b));
    if (itg_score_knows(before, ITG_METRIC_TOP1))
        itg_strbuf_format(out, ", top-1 %+.2f points",
                          100 * (after->value[ITG_METRIC_TOP1] - before->value[ITG_METRIC_TOP1]));
    costs_words(out, before, after);
}

static void bisection_words(itg_strbuf *out, const itg_explanation_info *info)
{
    if (!info->first_bad) return;
    if (!*info->first_bad) {
        itg_strbuf_format(out, "Half of the loss is there with quantized inputs alone: %.2f %%.\n",
                          100 * info->bad_share);
        return;
    }
    itg_strbuf_format(
        out,
        "With the nodes up to %s quantized %.2f %% of the loss is there, before it %.2f %% (%d "
        "probes, %s).\n",
        info->first_bad, 100 * info->bad_share, 100 * info->good_share, (int)info->probes,
        info->is_monotone ? "the loss rises with the nodes"
                          : "but the loss does not rise with every node");
}

void itg_cli_explanation_words(const itg_explanation *e, itg_strbuf *out)
{
    const itg_explanation_info *info = itg_explanation_about(e);
    const int32_t count = itg_explanation_count(e);
    if (info->measured < count)
        itg_strbuf_format(out,
                          "All %d effects were measured on the first samples, and the %d largest "
                          "then on all.\n\n",
                          (int)count, (int)info->measured);
    itg_strbuf_format(out,
                      "The effects sum to %.2f %% of the loss; interaction of several: %.2f %%.\n",
                      100 * info->sum, 100 * (1 - info->sum));
    if (info->sum < 0)
        itg_strbuf_add(out, "Below zero: codes of weights were fitted to make up for other errors "
                            "(--recover), so that most effects are worse to lack than to have.\n");
    bisection_words(out, info);
}

/* ---- the table ---- */

static void sqnr_cell(itg_cli_table *table, const itg_score *score)
{
    char text[32];
    itg_cli_table_cell(
        table, "%s",
        itg_cli_unit_text(ITG_UNIT_DECIBELS, itg_score_get(score, ITG_METRIC_SQNR), text));
}

static void effect_cells(itg_cli_table *table, const itg_effect_report *r)
{
    char text[400];
    itg_cli_table_cell(table, "%.2f", 100 * r->share);
    itg_cli_table_cell(table, "%s", itg_effect_name(r->effect));
    itg_cli_table_cell(table, "%s", itg_cli_effect_place(r, text, sizeof text));
    if (r->bits > 0)
        itg_cli_table_cell(table, "%d", (int)r->bits);
    else
        itg_cli_table_cell(table, "%s", "");
    sqnr_cell(table, &r->without);
    itg_cli_table_cell(table, "%lld", (long long)r->samples);
}

/* What would lessen the effect, verified; "" if nothing was looked for. */
static void change_cell(itg_cli_table *table, const itg_effect_report *r, const itg_score *before)
{
    itg_strbuf words = {0};
    if (r->change) itg_cli_gain_words(&words, r->change, before, &r->changed);
    if (r->change && r->is_applied) itg_strbuf_add(&words, "; also with those above");
    if (!r->change && r->tried > 0)
        itg_strbuf_format(&words, "none of %d lessens the loss", (int)r->tried);
    table->failed |= !itg_strbuf_ok(&words);
    itg_cli_table_cell(table, "%s", words.text ? words.text : "");
    itg_strbuf_deinit(&words);
}

void itg_cli_effects_table(itg_cli_table *table, const itg_explanation *e, int32_t most,
                           bool with_changes)
{
    itg_cli_table_init(table, with_changes ? "rllrrrl" : "rllrrr");
    itg_cli_table_texts(table, "share %", "effect", "where", "bits", "SQNR without", "samples",
                        with_changes ? "change" : NULL, NULL);
    for (int32_t i = 0; i < most && i < itg_explanation_count(e); i++) {
        const itg_effect_report *r = itg_explanation_at(e, i);
        if (r->samples == 0) break;
        effect_cells(table, r);
        if (with_changes) change_cell(table, r, &itg_explanation_about(e)->score);
    }
}
