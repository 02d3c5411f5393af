/* intaglio runs show: everything the log knows of one run. */
#include "cli/goal.h"
#include "cli/runs.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct shown {
    const itg_cli_args *args;
    itg_cli_logged run;
    itg_goal kept; /* the goal, with the hardware's limits */
    itg_trial *trials;
    int64_t count, feasible;
    double seconds;
    int64_t *steps; /* trials at which the best so far improved, in order */
    int64_t step_count;
    bool floor_known;
    itg_run_choices *choices; /* of the best trial; NULL: there is none */
} shown;

/* ---- how the best came about ---- */

/* Ties as the engine has them (docs/decisions.md), but for the bits that decide last. */

static double cost_of(const itg_goal *goal, const itg_score *score)
{
    double largest = 0;
    if (!itg_goal_maximizes_quality(goal)) return score->value[itg_goal_objective(goal)];
    for (int i = 0; i < ITG_METRIC_COUNT; i++) {
        double limit = itg_goal_limit(goal, (itg_metric)i), cost = score->value[i];
        if (limit > 0 && cost / limit > largest) largest = cost / limit;
    }
    return largest;
}

static bool is_better(const itg_goal *goal, const itg_score *a, const itg_score *b)
{
    double cost = cost_of(goal, a) - cost_of(goal, b);
    double quality = itg_goal_quality(goal, b) - itg_goal_quality(goal, a);
    double first = itg_goal_maximizes_quality(goal) ? quality : cost;
    double second = itg_goal_maximizes_quality(goal) ? cost : quality;
    if (first < 0 || first > 0) return first < 0;
    for (int32_t i = 1; i < goal->objective_count; i++) {
        itg_metric m = goal->objectives[i];
        double next = itg_metric_is_cost(m) ? a->value[m] - b->value[m] : quality;
        if (next < 0 || next > 0) return next < 0;
    }
    if (second < 0 || second > 0) return second < 0;
    return a->value[ITG_METRIC_DISTORTION] < b->value[ITG_METRIC_DISTORTION];
}

/* The float network on the search samples, as far as the floor needs it. False: it does, and the
 * log does not know it. */
static bool floats_of(const shown *s, itg_score *out)
{
    const itg_run_record *r = s->run.record;
    const itg_goal *goal = &s->run.options.goal;
    bool labelled = false;
    for (int64_t i = 0; i < s->count && !labelled; i++)
        labelled = itg_score_knows(&s->trials[i].score, ITG_METRIC_TOP1);
    *out = itg_score_unknown();
    out->value[ITG_METRIC_AGREEMENT] = 1;
    if (r->known[ITG_RESULT_SEARCH_FLOAT]) *out = r->result[ITG_RESULT_SEARCH_FLOAT];
    bool needed = itg_goal_drop(goal) >= 0 && (labelled || !itg_goal_counts_classes(goal));
    return s->run.has_goal && (r->known[ITG_RESULT_SEARCH_FLOAT] || !needed);
}

static bool find_steps(shown *s)
{
    const itg_trial *best = NULL;
    itg_score floats;
    s->steps = malloc(sizeof *s->steps * ((size_t)s->count + 2));
    if (!s->steps) return false;
    s->floor_known = floats_of(s, &floats);
    for (int64_t i = 0; i < s->count; i++) {
        const itg_trial *t = &s->trials[i];
        s->feasible += t->feasible;
        s->seconds += t->seconds;
        if (t->score.stopped_at > 0) continue; /* it was no better */
        if (!s->floor_known || !t->feasible || !itg_goal_is_met(&s->kept, &floats, &t->score))
            continue;
        if (best && !is_better(&s->kept, &t->score, &best->score)) continue;
        best = t;
        s->steps[s->step_count++] = i;
    }
    /* equal in all that was looked at, fewer bits in all */
    int64_t last = s->run.record->best_trial;
    if (s->run.record->goal_met && last >= 0 && last < s->count && s->step_count > 0 &&
        s->steps[s->step_count - 1] != last)
        s->steps[s->step_count++] = last;
    return true;
}

/* ---- reading ---- */

static itg_status read_run(shown *s, itg_run_log *log, int64_t run, itg_error *err)
{
    itg_status status = itg_cli_logged_read(log, run, &s->run, err);
    if (status == ITG_OK) s->kept = itg_cli_logged_goal(&s->run);
    if (status == ITG_OK) status = itg_run_log_load_trials(log, run, &s->trials, &s->count, err);
    if (status == ITG_OK && !find_steps(s))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    if (status != ITG_OK) return status;
    int64_t best = s->run.record->best_trial;
    if (best < 0 || best >= s->count) return ITG_OK;
    return itg_run_choices_read(s->run.record, &s->trials[best], &s->choices, err);
}

static void close_run(shown *s)
{
    itg_run_choices_destroy(s->choices);
    free(s->steps);
    itg_run_log_free_trials(s->trials, s->count);
    itg_cli_logged_close(&s->run);
}

/* ---- JSON ---- */

/* Of a trial that was stopped early only a bound of its quality is known: a share, or dB. */
static void json_stop(itg_json_writer *json, const itg_goal *goal, const itg_score *score)
{
    double unit = itg_goal_counts_classes(goal) ? 1 : 100;
    if (score->stopped_at > 0) {
        itg_json_put_int(json, "stopped_at", score->stopped_at);
        itg_json_put_number(json, "quality_at_most", unit * itg_goal_quality(goal, score));
    } else {
        itg_json_put_null(json, "stopped_at");
    }
    itg_cli_json_score(json, score);
}

static void json_trial(itg_json_writer *json, const itg_goal *goal, const itg_trial *t)
{
    itg_json_begin(json, NULL, '{');
    itg_json_put_int(json, "number", t->index);
    itg_json_put_int(json, "round", t->round);
    itg_json_begin(json, "point", '[');
    for (int32_t i = 0; i < t->dim_count; i++)
        itg_json_put_int(json, NULL, t->point[i]);
    itg_json_end(json, ']');
    itg_json_put_bool(json, "feasible", t->feasible);
    itg_json_put_text(json, "error", t->error);
    itg_json_put_number(json, "seconds", t->seconds);
    if (t->feasible) json_stop(json, goal, &t->score);
    itg_json_end(json, '}');
}

static void json_choice(itg_json_writer *json, const itg_run_choice *c)
{
    itg_json_begin(json, NULL, '{');
    itg_json_put_text(json, "kind", c->kind);
    itg_json_put_text(json, "value", c->value);
    itg_json_begin(json, "edges", '[');
    for (int32_t i = 0; i < c->edge_count; i++)
        itg_json_put_text(json, NULL, c->edges[i]);
    itg_json_end(json, ']');
    itg_json_end(json, '}');
}

static void json_documents(itg_json_writer *json, const itg_run_record *r)
{
    itg_json_put_text(json, "options", r->info.options_json);
    itg_json_put_text(json, "preprocess", r->info.preprocess_json);
    itg_json_put_text(json, "hardware_description", r->info.hardware_json);
    itg_json_put_text(json, "space", r->info.space_json);
    itg_json_put_text(json, "strategy", r->strategy_json);
}

static int show_json(const shown *s)
{
    itg_json_writer json = {0};
    itg_cli_json_logged_begin(&json, NULL, &s->run);
    itg_json_put_int(&json, "feasible_trials", s->feasible);
    itg_json_put_number(&json, "seconds", s->seconds);
    itg_json_begin(&json, "improvements", '[');
    for (int64_t i = 0; i < s->step_count; i++)
        json_trial(&json, &s->run.options.goal, &s->trials[s->steps[i]]);
    itg_json_end(&json, ']');
    itg_json_begin(&json, "choices", '[');
    for (int32_t i = 0; s->choices && i < itg_run_choices_count(s->choices); i++)
        json_choice(&json, itg_run_choices_at(s->choices, i));
    itg_json_end(&json, ']');
    json_documents(&json, s->run.record);
    if (s->args->given[ITG_CLI_OPT_RUNS_TRIALS]) {
        itg_json_begin(&json, "trial_list", '[');
        for (int64_t i = 0; i < s->count; i++)
            json_trial(&json, &s->run.options.goal, &s->trials[i]);
        itg_json_end(&json, ']');
    }
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

/* ---- text: inputs ---- */

static void pair(itg_cli_table *table, const char *name, const char *value)
{
    itg_cli_table_texts(table, name, value, NULL);
}

static void data_pair(itg_cli_table *table, const char *name, const itg_run_data *data,
                      const char *absent)
{
    char hex[ITG_CLI_HEX], count[32];
    if (!data->name) {
        pair(table, name, absent);
        return;
    }
    itg_cli_table_cell(table, "%s", name);
    itg_cli_table_cell(table, "%s, %s sample%s, %s", data->name,
                       itg_cli_count_text((long long)data->samples, count),
                       itg_plural(data->samples), itg_sha256_hex(data->hash, hex));
}

static int print_inputs(const shown *s)
{
    const itg_run_record *r = s->run.record;
    const itg_run_info *i = &r->info;
    char text[256], hex[ITG_CLI_HEX];
    bool labelled = i->labels.name || itg_score_knows(&r->result[ITG_RESULT_BEST], ITG_METRIC_TOP1);
    itg_cli_table table;
    itg_cli_table_init(&table, "ll");
    itg_cli_table_cell(&table, "model");
    itg_cli_table_cell(&table, "%s, %s", i->model_name, itg_sha256_hex(i->model_hash, hex));
    pair(&table, "hardware", i->hardware_name);
    data_pair(&table, "data", &i->data, "");
    data_pair(&table, "labels", &i->labels, "none, or not known");
    data_pair(&table, "hold-out", &i->holdout, "set aside from the data, by the seed");
    if (i->holdout.name) data_pair(&table, "its labels", &i->holdout_labels, "none, or not known");
    itg_cli_table_cell(&table, "searcher");
    itg_cli_table_cell(&table, "%s, seed %" PRIu64, i->searcher, i->seed);
    if (s->run.has_goal) itg_cli_goal_words(&s->run.options.goal, labelled, text, sizeof text);
    pair(&table, "goal", s->run.has_goal ? text : "not known");
    pair(&table, "options", i->options_json);
    pair(&table, "preprocessing", i->preprocess_json);
    itg_cli_table_cell(&table, "engine");
    itg_cli_table_cell(&table, "%s, started %s UTC", i->engine_version,
                       itg_cli_when(i->started, text, sizeof text));
    itg_cli_table_cell(&table, "state");
    bool holds = false, known = itg_cli_logged_held(&s->run, &holds);
    itg_cli_table_cell(&table, "%s%s", itg_cli_state(&s->run, text, sizeof text),
                       !r->ended ? ": running, or killed ('search --resume' goes on with it)"
                       : !r->goal_met || (known && !holds) ? ""
                       : known ? ", goal met on the search samples and on the hold-out"
                               : ", goal met");
    return itg_cli_table_print(&table);
}

/* ---- text: results ---- */

/* Of the best, and of what it is compared with. */
static const itg_metric columns[] = {ITG_METRIC_AGREEMENT,
                                     ITG_METRIC_WEIGHT_BYTES,
                                     ITG_METRIC_PARAMETER_BYTES,
                                     ITG_METRIC_AVERAGE_WEIGHT_BITS,
                                     ITG_METRIC_BOPS,
                                     ITG_METRIC_CYCLES,
                                     ITG_METRIC_PEAK_ACTIVATION_BYTES};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void result_row(itg_cli_table *table, const itg_cli_logged *run, itg_run_result which)
{
    const itg_goal *goal = &run->options.goal;
    const itg_score *score = &run->record->result[which];
    char text[64];
    double lo = 0, hi = 0, quality = itg_goal_quality(goal, score);
    if (!run->record->known[which]) return;
    itg_cli_table_texts(table, itg_cli_result_name(which),
                        itg_cli_quality_text(goal, score, text, sizeof text), NULL);
    if (itg_goal_counts_classes(goal) && quality >= 0 && score->samples > 0) {
        itg_cli_interval(quality, score->samples, &lo, &hi);
        itg_cli_table_cell(table, "%.2f to %.2f", 100 * lo, 100 * hi);
    } else {
        itg_cli_table_cell(table, "-");
    }
    itg_cli_metric_cells(table, columns, COLUMNS, score);
}

static int print_results(const itg_cli_logged *run)
{
    const itg_run_record *r = run->record;
    const itg_goal *goal = &run->options.goal;
    const itg_score *any =
        r->known[ITG_RESULT_FLOAT] ? &r->result[ITG_RESULT_FLOAT] : &r->result[ITG_RESULT_BEST];
    char count[32];
    itg_cli_table table;
    if (!r->known[ITG_RESULT_FLOAT] && !r->known[ITG_RESULT_BEST]) return ITG_CLI_OK;
    printf("\nResults on the hold-out, %s sample%s:\n\n",
           itg_cli_count_text((long long)any->samples, count), itg_plural(any->samples));
    itg_cli_table_init(&table, "lrrrrrrrrr");
    itg_cli_table_texts(&table, "",
                        itg_cli_quality_name(goal, itg_score_knows(any, ITG_METRIC_TOP1)),
                        "95 % interval", NULL);
    itg_cli_metric_titles(&table, columns, COLUMNS);
    for (int i = 0; i <= ITG_RESULT_BEST; i++)
        result_row(&table, run, (itg_run_result)i);
    return itg_cli_table_print(&table);
}

/* ---- text: trials ---- */

static const itg_metric trial_columns[] = {ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_BOPS,
                                           ITG_METRIC_CYCLES};
enum { TRIAL_COLUMNS = sizeof trial_columns / sizeof *trial_columns };

static void trial_titles(itg_cli_table *table)
{
    itg_cli_table_init(table, "rrrrrrl");
    itg_cli_table_texts(table, "trial", "quality", NULL);
    itg_cli_metric_titles(table, trial_columns, TRIAL_COLUMNS);
    itg_cli_table_texts(table, "seconds", "", NULL);
}

static void trial_row(itg_cli_table *table, const itg_goal *goal, const itg_trial *t,
                      const char *note)
{
    char text[64];
    const itg_score *score = &t->score;
    itg_cli_table_cell(table, "%s", itg_cli_count_text((long long)t->index, text));
    itg_cli_table_cell(table, "%s%s", t->feasible && score->stopped_at > 0 ? "<= " : "",
                       itg_cli_quality_text(goal, score, text, sizeof text));
    itg_cli_metric_cells(table, trial_columns, TRIAL_COLUMNS, score);
    itg_cli_table_cell(table, "%.3f", t->seconds);
    itg_cli_table_cell(table, "%s", note);
}

static int print_steps(const shown *s)
{
    itg_cli_table table;
    if (!s->floor_known) {
        puts("How the best came about is not known: the run has not ended, or an older version "
             "wrote it.");
        return ITG_CLI_OK;
    }
    if (s->step_count == 0) {
        puts("No trial met the goal.");
        return ITG_CLI_OK;
    }
    puts("Each trial that was the best so far (quality on the search samples):\n");
    trial_titles(&table);
    for (int64_t i = 0; i < s->step_count; i++)
        trial_row(&table, &s->run.options.goal, &s->trials[s->steps[i]],
                  s->trials[s->steps[i]].index == s->run.record->best_trial ? "best" : "");
    return itg_cli_table_print(&table);
}

static int print_all_trials(const shown *s)
{
    itg_cli_table table;
    puts("\nAll trials (quality on the search samples):\n");
    trial_titles(&table);
    for (int64_t i = 0; i < s->count; i++) {
        const itg_trial *t = &s->trials[i];
        char stopped[64];
        snprintf(stopped, sizeof stopped, "stopped after %lld sample%s",
                 (long long)t->score.stopped_at, itg_plural(t->score.stopped_at));
        trial_row(&table, &s->run.options.goal, t,
                  !t->feasible                            ? t->error ? t->error : "not possible"
                  : t->index == s->run.record->best_trial ? "best"
                  : t->score.stopped_at > 0               ? stopped
                                                          : "");
    }
    return itg_cli_table_print(&table);
}

static int print_trials(const shown *s)
{
    const itg_run_record *r = s->run.record;
    char count[32], feasible[32], kinds[96];
    printf("\n%s trial%s%s; %s of them could be realized; %.1f s of evaluation.\n",
           itg_cli_count_text((long long)s->count, count), itg_plural(s->count),
           itg_cli_trial_kinds(r->duplicates, r->raced, kinds, sizeof kinds),
           itg_cli_count_text((long long)s->feasible, feasible), s->seconds);
    int status = s->count > 0 ? print_steps(s) : ITG_CLI_OK;
    if (status == ITG_CLI_OK && s->args->given[ITG_CLI_OPT_RUNS_TRIALS] && s->count > 0)
        status = print_all_trials(s);
    return status;
}

/* ---- text: the best strategy ---- */

static int print_choices(const shown *s)
{
    itg_cli_table table;
    if (!s->choices || itg_run_choices_count(s->choices) == 0) return ITG_CLI_OK;
    printf("\nWhat trial %lld chose, group by group (edges of a group must agree):\n\n",
           (long long)s->run.record->best_trial);
    itg_cli_table_init(&table, "lrl");
    itg_cli_table_texts(&table, "choice", "value", "value -> node.slot", NULL);
    for (int32_t i = 0; i < itg_run_choices_count(s->choices); i++) {
        const itg_run_choice *c = itg_run_choices_at(s->choices, i);
        itg_cli_table_texts(&table, c->kind, c->value, NULL);
        if (c->edge_count > 1)
            itg_cli_table_cell(&table, "%s and %d more", c->edges[0], (int)c->edge_count - 1);
        else
            itg_cli_table_cell(&table, "%s", c->edge_count > 0 ? c->edges[0] : "");
    }
    return itg_cli_table_print(&table);
}

static int show_text(const shown *s)
{
    printf("Run %lld of %s\n\n", (long long)s->run.record->run,
           s->args->values[ITG_CLI_OPT_RUNS_DB].text);
    int status = print_inputs(s);
    if (status == ITG_CLI_OK) status = print_results(&s->run);
    if (status == ITG_CLI_OK) status = print_trials(s);
    if (status == ITG_CLI_OK) status = print_choices(s);
    return status;
}

int itg_cli_runs_show(const itg_cli_args *args, itg_run_log *log)
{
    shown s = {.args = args};
    itg_error err = {0};
    int64_t run = 0;
    int status = itg_cli_run_number(args, 1, &run);
    if (status != ITG_CLI_OK) return status;
    if (read_run(&s, log, run, &err) != ITG_OK)
        status = itg_cli_fail_error(&err);
    else
        status = args->given[ITG_CLI_OPT_JSON] ? show_json(&s) : show_text(&s);
    close_run(&s);
    return status;
}
