/* What a search found, as JSON and as text. */
#include "cli/cmd_search.h"
#include "cli/table.h"
#include <stdio.h>

static bool is_float(const itg_score *score)
{
    return score->weight_bytes < 0;
}

/* ---- JSON ---- */

/* Quality on the hold-out; search_*: on the search samples. */
static void json_scores(itg_cli_json *json, const char *key, const itg_score *holdout,
                        const itg_score *search, int64_t trial)
{
    char digest[ITG_CLI_HEX];
    itg_cli_json_begin(json, key, '{');
    if (trial >= 0) itg_cli_json_integer(json, "trial", trial);
    itg_cli_json_integer(json, "samples", holdout->samples);
    itg_cli_json_known_number(json, "top1", holdout->top1);
    itg_cli_json_interval(json, "top1_interval", holdout->top1, holdout->samples);
    itg_cli_json_known_number(json, "agreement", holdout->agreement);
    itg_cli_json_costs(json, holdout);
    itg_cli_json_text(json, "holdout_digest", itg_cli_hex(holdout->digest, digest));
    itg_cli_json_integer(json, "search_samples", search->samples);
    itg_cli_json_known_number(json, "search_top1", search->top1);
    itg_cli_json_known_number(json, "search_agreement", search->agreement);
    itg_cli_json_text(json, "digest", itg_cli_hex(search->digest, digest));
    itg_cli_json_end(json, '}');
}

int itg_cli_search_json(const itg_cli_search_work *w)
{
    const itg_search_result *r = w->result;
    const itg_trial *best = itg_search_best(r);
    const itg_cli_value *values = w->args->values;
    itg_cli_json json = {0};
    itg_cli_json_begin(&json, NULL, '{');
    itg_cli_json_text(&json, "model", itg_model_name(w->model));
    itg_cli_json_text(&json, "hardware", itg_hardware_name(w->hw));
    itg_cli_json_text(&json, "searcher", w->options.searcher);
    itg_cli_json_unsigned(&json, "seed", w->options.seed);
    itg_cli_json_integer(&json, "trials", itg_search_trial_count(r));
    itg_cli_json_number(&json, "seconds", w->seconds);
    itg_cli_json_text(&json, "stop_reason", itg_search_stop_reason(r));
    itg_cli_json_text(&json, "strategy", best ? values[ITG_CLI_OPT_OUT_STRATEGY].text : NULL);
    itg_cli_json_text(&json, "db", values[ITG_CLI_OPT_DB].text);
    itg_cli_json_known_integer(&json, "run", w->recorder ? itg_cli_recorder_run(w->recorder) : -1);
    json_scores(&json, "float", itg_search_float(r, true), itg_search_float(r, false), -1);
    json_scores(&json, "uniform8", itg_search_uniform8(r, true), itg_search_uniform8(r, false), -1);
    if (best)
        json_scores(&json, "best", itg_search_best_holdout(r), &best->score, best->index);
    else
        itg_cli_json_null(&json, "best");
    itg_cli_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

/* ---- text ---- */

static void share_cell(itg_cli_table *table, double share)
{
    if (share < 0)
        itg_cli_table_cell(table, "-");
    else
        itg_cli_table_cell(table, "%.2f %%", 100 * share);
}

static void count_cell(itg_cli_table *table, double value, bool known)
{
    char text[32];
    itg_cli_table_cell(table, "%s", known ? itg_cli_count_text((long long)value, text) : "-");
}

static void row(itg_cli_table *table, const char *name, const itg_score *holdout,
                const itg_score *search)
{
    bool known = !is_float(holdout), labelled = holdout->top1 >= 0,
         search_labelled = search->top1 >= 0;
    itg_cli_table_cell(table, "%s", name);
    share_cell(table, labelled ? holdout->top1 : holdout->agreement);
    share_cell(table, search_labelled ? search->top1 : search->agreement);
    count_cell(table, (double)holdout->weight_bytes, known);
    count_cell(table, (double)holdout->parameter_bytes, known);
    itg_cli_table_cell(table, known ? "%.2f" : "float", holdout->average_weight_bits);
    count_cell(table, holdout->bops, known);
}

static int print_table(const itg_search_result *r, const itg_trial *best)
{
    itg_cli_table table;
    bool labelled = itg_search_float(r, true)->top1 >= 0;
    const char *const titles[] = {"",
                                  labelled ? "top-1 on hold-out" : "agreement on hold-out",
                                  "on search samples",
                                  "weight bytes",
                                  "parameter bytes",
                                  "weight bits",
                                  "bit operations"};
    itg_cli_table_init(&table, "lrrrrrr");
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        itg_cli_table_cell(&table, "%s", titles[i]);
    row(&table, "float", itg_search_float(r, true), itg_search_float(r, false));
    row(&table, "uniform 8", itg_search_uniform8(r, true), itg_search_uniform8(r, false));
    if (best) row(&table, "best", itg_search_best_holdout(r), &best->score);
    return itg_cli_table_print(&table);
}

static void print_best(const itg_cli_search_work *w, const itg_trial *best)
{
    const itg_score *s = itg_search_best_holdout(w->result);
    char digest[ITG_CLI_HEX];
    double lo, hi;
    itg_cli_print_line("best", "trial %lld", (long long)best->index);
    if (s->top1 >= 0) {
        itg_cli_interval(s->top1, s->samples, &lo, &hi);
        itg_cli_print_line("its top-1",
                           "%.2f %% on %lld hold-out samples (95 %% interval %.2f to %.2f)",
                           100 * s->top1, (long long)s->samples, 100 * lo, 100 * hi);
    }
    itg_cli_print_line("its digest", "%s on the hold-out", itg_cli_hex(s->digest, digest));
    if (w->args->given[ITG_CLI_OPT_OUT_STRATEGY])
        itg_cli_print_line("strategy", "%s", w->args->values[ITG_CLI_OPT_OUT_STRATEGY].text);
}

int itg_cli_search_text(const itg_cli_search_work *w)
{
    const itg_trial *best = itg_search_best(w->result);
    printf("%s on %s: %lld trials in %.1f s, seed %llu, stopped: %s\n\n", itg_model_name(w->model),
           itg_hardware_name(w->hw), (long long)itg_search_trial_count(w->result), w->seconds,
           (unsigned long long)w->options.seed, itg_search_stop_reason(w->result));
    int status = print_table(w->result, best);
    putchar('\n');
    if (best) print_best(w, best);
    if (w->recorder)
        itg_cli_print_line("log", "run %lld of %s", (long long)itg_cli_recorder_run(w->recorder),
                           w->args->values[ITG_CLI_OPT_DB].text);
    return status;
}
