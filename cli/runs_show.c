/* intaglio runs show: prints everything that the log has about one run. */
#include "cli/goal.h"
#include "cli/runs.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

/* Writes the bound on the quality of a trial that was stopped early: a share, or dB. */
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
    if (*t->worker) itg_json_put_text(json, "worker", t->worker);
    if (t->feasible) json_stop(json, goal, &t->score);
    itg_json_end(json, '}');
}

/* Writes the trials by worker, if other machines computed any. */
static void json_workers(itg_json_writer *json, const itg_cli_shown *s)
{
    itg_cli_by_worker list;
    if (!itg_cli_by_worker_of(s->trials, s->count, &list)) return;
    if (list.count > 0) itg_json_begin(json, "workers", '[');
    for (int32_t i = 0; i < list.count; i++) {
        itg_json_begin(json, NULL, '{');
        itg_json_put_text(json, "name", list.shares[i].worker);
        itg_json_put_int(json, "trials", list.shares[i].trials);
        itg_json_put_number(json, "seconds", list.shares[i].seconds);
        itg_json_end(json, '}');
    }
    if (list.count > 0) itg_json_end(json, ']');
    free(list.shares);
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

void itg_cli_shown_json(itg_json_writer *json, const itg_cli_shown *s, bool trials)
{
    itg_cli_json_logged_begin(json, NULL, &s->run);
    itg_json_put_int(json, "feasible_trials", s->feasible);
    itg_json_put_number(json, "seconds", s->seconds);
    itg_json_begin(json, "improvements", '[');
    for (int64_t i = 0; i < s->step_count; i++)
        json_trial(json, &s->run.options.goal, &s->trials[s->steps[i]]);
    itg_json_end(json, ']');
    itg_json_begin(json, "choices", '[');
    for (int32_t i = 0; s->choices && i < itg_run_choices_count(s->choices); i++)
        json_choice(json, itg_run_choices_at(s->choices, i));
    itg_json_end(json, ']');
    json_documents(json, s->run.record);
    json_workers(json, s);
    if (trials) {
        itg_json_begin(json, "trial_list", '[');
        for (int64_t i = 0; i < s->count; i++)
            json_trial(json, &s->run.options.goal, &s->trials[i]);
        itg_json_end(json, ']');
    }
    itg_json_end(json, '}');
}

static int show_json(const itg_cli_shown *s)
{
    itg_json_writer json = {0};
    itg_cli_shown_json(&json, s, s->args->given[ITG_CLI_OPT_RUNS_TRIALS]);
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

void itg_cli_shown_inputs(itg_cli_table *table, const itg_cli_shown *s)
{
    const itg_run_record *r = s->run.record;
    const itg_run_info *i = &r->info;
    char text[256], hex[ITG_CLI_HEX];
    bool labelled = i->labels.name || itg_score_knows(&r->result[ITG_RESULT_BEST], ITG_METRIC_TOP1);
    itg_cli_table_init(table, "ll");
    itg_cli_table_cell(table, "model");
    itg_cli_table_cell(table, "%s, %s", i->model_name, itg_sha256_hex(i->model_hash, hex));
    pair(table, "hardware", i->hardware_name);
    data_pair(table, "data", &i->data, "");
    data_pair(table, "labels", &i->labels, "none, or not known");
    data_pair(table, "hold-out", &i->holdout, "set aside from the data, by the seed");
    if (i->holdout.name) data_pair(table, "its labels", &i->holdout_labels, "none, or not known");
    itg_cli_table_cell(table, "searcher");
    itg_cli_table_cell(table, "%s, seed %" PRIu64, i->searcher, i->seed);
    if (s->run.has_goal) itg_cli_goal_words(&s->run.options.goal, labelled, text, sizeof text);
    pair(table, "goal", s->run.has_goal ? text : "not known");
    pair(table, "options", i->options_json);
    pair(table, "preprocessing", i->preprocess_json);
    itg_cli_table_cell(table, "engine");
    itg_cli_table_cell(table, "%s, started %s UTC", i->engine_version,
                       itg_cli_when(i->started, text, sizeof text));
    itg_cli_table_cell(table, "state");
    bool holds = false, known = itg_cli_logged_held(&s->run, &holds);
    itg_cli_table_cell(table, "%s%s", itg_cli_state(&s->run, text, sizeof text),
                       !r->ended ? ": running, or killed ('search --resume' goes on with it)"
                       : !r->goal_met || (known && !holds) ? ""
                       : known ? ", goal met on the search samples and on the hold-out"
                               : ", goal met");
    if (r->selection.samples == 0 || !s->run.has_goal) return;
    pair(table, "chosen",
         itg_cli_selection_words(&s->run.options, &r->selection, text, sizeof text));
    if (r->selection.wanted > 0)
        pair(table, "",
             itg_cli_selection_wanted(&s->run.options, &r->selection, text, sizeof text));
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

void itg_cli_shown_results(itg_cli_table *table, const itg_cli_logged *run)
{
    const itg_run_record *r = run->record;
    itg_cli_table_init(table, "lrrrrrrrrr");
    itg_cli_table_texts(
        table, "",
        itg_cli_quality_name(&run->options.goal,
                             itg_score_knows(itg_cli_any_result(r), ITG_METRIC_TOP1)),
        "95 % interval", NULL);
    itg_cli_metric_titles(table, columns, COLUMNS);
    for (int i = 0; i <= ITG_RESULT_BEST; i++)
        result_row(table, run, (itg_run_result)i);
}

const itg_score *itg_cli_any_result(const itg_run_record *r)
{
    return r->known[ITG_RESULT_FLOAT]  ? &r->result[ITG_RESULT_FLOAT]
           : r->known[ITG_RESULT_BEST] ? &r->result[ITG_RESULT_BEST]
                                       : NULL;
}

static int print_results(const itg_cli_logged *run)
{
    const itg_score *any = itg_cli_any_result(run->record);
    char count[32];
    itg_cli_table table;
    if (!any) return ITG_CLI_OK;
    printf("\nResults on the hold-out, %s sample%s:\n\n",
           itg_cli_count_text((long long)any->samples, count), itg_plural(any->samples));
    itg_cli_shown_results(&table, run);
    return itg_cli_table_print(&table);
}

/* ---- text: trials ---- */

static const itg_metric trial_columns[] = {ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_BOPS,
                                           ITG_METRIC_CYCLES};
enum { TRIAL_COLUMNS = sizeof trial_columns / sizeof *trial_columns };

void itg_cli_shown_trial_titles(itg_cli_table *table)
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

void itg_cli_shown_steps(itg_cli_table *table, const itg_cli_shown *s)
{
    itg_cli_shown_trial_titles(table);
    for (int64_t i = 0; i < s->step_count; i++)
        trial_row(table, &s->run.options.goal, &s->trials[s->steps[i]],
                  s->trials[s->steps[i]].index == s->run.record->best_trial ? "best" : "");
}

static int print_steps(const itg_cli_shown *s)
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
    itg_cli_shown_steps(&table, s);
    return itg_cli_table_print(&table);
}

void itg_cli_shown_trial(itg_cli_table *table, const itg_cli_shown *s, const itg_trial *t)
{
    char stopped[64];
    snprintf(stopped, sizeof stopped, "stopped after %lld sample%s", (long long)t->score.stopped_at,
             itg_plural(t->score.stopped_at));
    trial_row(table, &s->run.options.goal, t,
              !t->feasible                            ? t->error ? t->error : "not possible"
              : t->index == s->run.record->best_trial ? "best"
              : t->score.stopped_at > 0               ? stopped
                                                      : "");
}

static int print_all_trials(const itg_cli_shown *s)
{
    itg_cli_table table;
    puts("\nAll trials (quality on the search samples):\n");
    itg_cli_shown_trial_titles(&table);
    for (int64_t i = 0; i < s->count; i++)
        itg_cli_shown_trial(&table, s, &s->trials[i]);
    return itg_cli_table_print(&table);
}

static int print_trials(const itg_cli_shown *s)
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

static int print_workers(const itg_cli_shown *s)
{
    itg_cli_by_worker list;
    itg_cli_table table;
    char text[32];
    if (!itg_cli_by_worker_of(s->trials, s->count, &list)) return ITG_CLI_OK;
    if (list.count == 0) {
        free(list.shares);
        return ITG_CLI_OK;
    }
    puts("\nTrials by worker:\n");
    itg_cli_table_init(&table, "lrr");
    itg_cli_table_texts(&table, "worker", "trials", "seconds", NULL);
    for (int32_t i = 0; i < list.count; i++) {
        const itg_cli_worker_share *share = &list.shares[i];
        itg_cli_table_cell(&table, "%s", share->worker);
        itg_cli_table_cell(&table, "%s", itg_cli_count_text((long long)share->trials, text));
        itg_cli_table_cell(&table, "%.3f", share->seconds);
    }
    free(list.shares);
    return itg_cli_table_print(&table);
}

/* ---- text: the best strategy ---- */

void itg_cli_shown_choices(itg_cli_table *table, const itg_cli_shown *s)
{
    itg_cli_table_init(table, "lrl");
    itg_cli_table_texts(table, "choice", "value", "value -> node.slot", NULL);
    for (int32_t i = 0; i < itg_run_choices_count(s->choices); i++) {
        const itg_run_choice *c = itg_run_choices_at(s->choices, i);
        itg_cli_table_texts(table, c->kind, c->value, NULL);
        if (c->edge_count > 1)
            itg_cli_table_cell(table, "%s and %d more", c->edges[0], (int)c->edge_count - 1);
        else
            itg_cli_table_cell(table, "%s", c->edge_count > 0 ? c->edges[0] : "");
    }
}

static int print_choices(const itg_cli_shown *s)
{
    itg_cli_table table;
    if (!s->choices || itg_run_choices_count(s->choices) == 0) return ITG_CLI_OK;
    printf("\nWhat trial %lld chose, group by group (edges of a group must agree):\n\n",
           (long long)s->run.record->best_trial);
    itg_cli_shown_choices(&table, s);
    return itg_cli_table_print(&table);
}

static int show_text(const itg_cli_shown *s)
{
    printf("Run %lld of %s\n\n", (long long)s->run.record->run,
           s->args->values[ITG_CLI_OPT_RUNS_DB].text);
    itg_cli_table table;
    itg_cli_shown_inputs(&table, s);
    int status = itg_cli_table_print(&table);
    if (status == ITG_CLI_OK) status = print_results(&s->run);
    if (status == ITG_CLI_OK) status = print_trials(s);
    if (status == ITG_CLI_OK) status = print_workers(s);
    if (status == ITG_CLI_OK) status = print_choices(s);
    return status;
}

int itg_cli_runs_show(const itg_cli_args *args, itg_run_log *log)
{
    itg_cli_shown s = {.args = args};
    itg_error err = {0};
    int64_t run = 0;
    int status = itg_cli_run_number(args, 1, &run);
    if (status != ITG_CLI_OK) return status;
    if (args->given[ITG_CLI_OPT_WATCH] && itg_cli_runs_watch(args, log, run, &err) != ITG_OK)
        return itg_cli_fail_error(&err);
    if (itg_cli_shown_read(&s, log, run, &err) != ITG_OK)
        status = itg_cli_fail_error(&err);
    else
        status = args->given[ITG_CLI_OPT_JSON] ? show_json(&s) : show_text(&s);
    itg_cli_shown_close(&s);
    return status;
}
