/* Writes the page of a run: the tables of 'runs show' and 'runs front', and plots of them. */
#include "cli/report_run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIALS = 2000 }; /* of more trials, some are drawn */

/* ---- reading ---- */

/* Chooses all trials or, if there are many, every k-th, and all that were the best so far or are on
 * the front. */
static itg_status choose_drawn(run_report *s, itg_error *err)
{
    const itg_cli_shown *shown = &s->shown;
    const int64_t stride = shown->count / MOST_TRIALS + 1;
    s->drawn = calloc((size_t)shown->count + 1, sizeof *s->drawn);
    if (!s->drawn) return itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    for (int64_t i = 0; i < shown->count; i += stride)
        s->drawn[i] = true;
    for (int64_t i = 0; i < shown->step_count; i++)
        s->drawn[shown->steps[i]] = true;
    for (int32_t i = 0; i < s->front.front_count; i++)
        s->drawn[s->front.places[i]] = true;
    for (int64_t i = 0; i < shown->count; i++)
        s->drawn_count += s->drawn[i];
    return ITG_OK;
}

/* Points of others, in the quality and the first cost of the front. */
static itg_status read_peers(run_report *s, itg_error *err)
{
    const itg_cli_args *args = s->shown.args;
    const itg_goal *goal = &s->shown.run.options.goal;
    if (!args->given[ITG_CLI_OPT_PEERS]) return ITG_OK;
    if (!s->shown.run.has_goal)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "run %lld: its goal is not known, so --peers has "
                        "nothing to stand beside",
                        (long long)s->shown.run.record->run);
    const itg_metric quality = s->shown.labelled && itg_goal_counts_classes(goal)
                                   ? ITG_METRIC_TOP1
                                   : itg_goal_quality_metric(goal);
    const itg_metric_info about = itg_goal_about(goal, quality);
    return itg_peers_read(args->values[ITG_CLI_OPT_PEERS].text,
                          itg_metric_about(s->front.goal.objectives[0]), &about, &s->peers, err);
}

static itg_status read_all(run_report *s, itg_run_log *log, int64_t run, itg_error *err)
{
    itg_status status = itg_cli_shown_read(&s->shown, log, run, err);
    if (status != ITG_OK) return status;
    s->front = (itg_cli_front){.args = s->shown.args,
                               .run = &s->shown.run,
                               .trials = s->shown.trials,
                               .count = s->shown.count};
    s->quality = itg_cli_quality_name(&s->shown.run.options.goal, s->shown.labelled);
    if (s->shown.run.has_goal) status = itg_cli_front_find(&s->front, err);
    if (status == ITG_OK) status = read_peers(s, err);
    return status == ITG_OK ? choose_drawn(s, err) : status;
}

static void close_all(run_report *s)
{
    free(s->drawn);
    itg_peers_free(&s->peers);
    itg_cli_front_close(&s->front);
    itg_cli_shown_close(&s->shown);
}

/* ---- the best ---- */

static void put_choice_plot(const run_report *s)
{
    const int32_t count = itg_run_choices_count(s->shown.choices);
    char words[RUN_REPORT_WORDS];
    itg_plot plot;
    itg_axis x = {.title = "group of edges, in the order of the network", .scale = 1},
             y = {.title = "bits", .scale = 1};
    int32_t place = 0;
    for (int32_t i = 0; i < count; i++) {
        const itg_run_choice *c = itg_run_choices_at(s->shown.choices, i);
        if (strcmp(c->kind, "bits") == 0) x.hi++, y.hi = fmax(y.hi, atof(c->value));
    }
    if (!(y.hi > 0)) return;
    x.lo = 0.5;
    x.hi += 0.5;
    itg_plot_begin(&plot, s->page, "Plot: bits of each group of edges", x, y);
    for (int32_t i = 0; i < count; i++) {
        const itg_run_choice *c = itg_run_choices_at(s->shown.choices, i);
        if (strcmp(c->kind, "bits") != 0) continue;
        snprintf(words, sizeof words, "%s bits: %.150s", c->value,
                 c->edge_count > 0 ? c->edges[0] : "");
        itg_plot_bar(&plot, ++place, atof(c->value), atof(c->value) < y.hi, words);
    }
    itg_plot_end(&plot);
}

static void put_choices(const run_report *s)
{
    char words[RUN_REPORT_WORDS];
    itg_cli_table table;
    if (!s->shown.choices || itg_run_choices_count(s->shown.choices) == 0) return;
    snprintf(words, sizeof words, "Trial %lld, group by group: edges of a group must agree.",
             (long long)s->shown.run.record->best_trial);
    itg_page_section(s->page, "choices", "What the best chose", words);
    put_choice_plot(s);
    itg_page_details(s->page, "All choices");
    itg_cli_shown_choices(&table, &s->shown);
    itg_report_table(s->page, &table, "Choices of the best trial", true);
    itg_page_details_end(s->page);
    itg_page_section_end(s->page);
}

/* ---- results, inputs ---- */

static void put_cost_figure(const run_report *s)
{
    const itg_run_record *r = s->shown.run.record;
    const itg_metric_info *cost = itg_metric_about(s->cost);
    const double value = itg_score_get(&r->result[ITG_RESULT_BEST], s->cost),
                 uniform = itg_score_get(&r->result[ITG_RESULT_UNIFORM8], s->cost);
    char text[32], below[64] = "uniform 8 bits is not known";
    if (uniform > 0)
        snprintf(below, sizeof below, "%.1f %% of uniform 8 bits", 100 * value / uniform);
    itg_page_figure(s->page, cost->words, itg_cli_unit_text(cost->unit, value, text), below);
}

static void put_quality_figure(const run_report *s)
{
    const itg_run_record *r = s->shown.run.record;
    char text[64], name[96], number[64], below[96];
    snprintf(name, sizeof name, "%s on the hold-out", s->quality);
    snprintf(below, sizeof below, "float %s",
             itg_cli_quality_text(run_report_goal(s), &r->result[ITG_RESULT_FLOAT], number,
                                  sizeof number));
    itg_page_figure(
        s->page, name,
        itg_cli_quality_text(run_report_goal(s), &r->result[ITG_RESULT_BEST], text, sizeof text),
        r->known[ITG_RESULT_FLOAT] ? below : "");
}

static void put_figures(const run_report *s)
{
    const itg_run_record *r = s->shown.run.record;
    char state[64], count[32], words[64];
    bool holds = false, known = itg_cli_logged_held(&s->shown.run, &holds);
    itg_page_figures(s->page);
    if (s->shown.run.has_goal && r->known[ITG_RESULT_BEST]) {
        put_cost_figure(s);
        put_quality_figure(s);
        itg_page_figure(s->page, "goal", r->goal_met && (!known || holds) ? "met" : "missed",
                        !r->goal_met ? "on the search samples"
                        : !known     ? "on the search samples"
                        : holds      ? "on the search samples and the hold-out"
                                     : "on the hold-out");
    }
    snprintf(words, sizeof words, "%s", itg_cli_state(&s->shown.run, state, sizeof state));
    itg_page_figure(s->page, "trials", itg_cli_count_text((long long)s->shown.count, count), words);
    itg_page_figures_end(s->page);
}

static void put_results(const run_report *s)
{
    const itg_score *any = itg_cli_any_result(s->shown.run.record);
    char words[96], count[32];
    itg_cli_table table;
    if (!any) return;
    snprintf(words, sizeof words, "On the hold-out, %s sample%s.",
             itg_cli_count_text((long long)any->samples, count), itg_plural(any->samples));
    itg_page_section(s->page, "results", "Results", words);
    itg_cli_shown_results(&table, &s->shown.run);
    itg_report_table(s->page, &table, "Results on the hold-out", true);
    itg_page_section_end(s->page);
}

static void put_inputs(const run_report *s)
{
    itg_cli_table table;
    itg_page_section(s->page, "inputs", "What was searched",
                     "Files with their SHA-256: the same inputs, options and seed give the same "
                     "trials again.");
    itg_cli_shown_inputs(&table, &s->shown);
    itg_report_table(s->page, &table, "Inputs and options", false);
    itg_page_section_end(s->page);
}

/* ---- the page ---- */

/* Appends a word of a command line, with quotes if a shell needs them. */
static void put_word(itg_strbuf *line, const char *word)
{
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:,@%";
    if (*word && word[strspn(word, plain)] == '\0') {
        itg_strbuf_add(line, word);
        return;
    }
    itg_strbuf_add(line, "'");
    for (; *word; word++)
        itg_strbuf_format(line, *word == '\'' ? "'\\''" : "%c", *word);
    itg_strbuf_add(line, "'");
}

/* Adds a command. action: the words after "intaglio runs ", without names. */
static void put_command(const run_report *s, const char *action)
{
    itg_strbuf line = {0};
    itg_strbuf_format(&line, "intaglio runs %s --db ", action);
    put_word(&line, s->shown.args->values[ITG_CLI_OPT_RUNS_DB].text);
    s->page->text.failed |= !itg_strbuf_ok(&line);
    if (itg_strbuf_ok(&line)) itg_page_typed(s->page, line.text);
    itg_strbuf_deinit(&line);
}

static void put_commands(const run_report *s)
{
    const itg_run_record *r = s->shown.run.record;
    const long long run = r->run;
    char action[96];
    itg_page_section(s->page, "commands", "Going on from here",
                     "The same figures as text, and the strategy that 'intaglio realize' takes.");
    snprintf(action, sizeof action, "show %lld --trials", run);
    put_command(s, action);
    snprintf(action, sizeof action, "front %lld", run);
    put_command(s, action);
    snprintf(action, sizeof action, "best %lld --trial %lld -o strategy.json", run,
             (long long)r->best_trial);
    if (r->best_trial >= 0) put_command(s, action);
    itg_page_section_end(s->page);
}

static void put_data(const run_report *s)
{
    itg_json_writer run = {0}, front = {0};
    itg_cli_shown_json(&run, &s->shown, s->drawn_count == s->shown.count);
    itg_report_block(s->page, "run", &run);
    if (!s->shown.run.has_goal) return;
    itg_cli_front_json(&front, &s->front);
    itg_report_block(s->page, "front", &front);
}

static itg_status put_page(run_report *s, itg_run_log *log, itg_error *err)
{
    const itg_run_info *info = &s->shown.run.record->info;
    char title[160], goal[256] = "Its goal is not known.";
    snprintf(title, sizeof title, "%.90s on %.40s", itg_cli_base_name(info->model_name),
             info->hardware_name);
    if (s->shown.run.has_goal)
        itg_cli_goal_words(run_report_goal(s), strcmp(s->quality, "top-1") == 0, goal, sizeof goal);
    if (goal[0] >= 'a' && goal[0] <= 'z') goal[0] = (char)(goal[0] - 'a' + 'A');
    itg_page_begin(s->page, title, goal);
    s->cost = itg_goal_maximizes_quality(run_report_goal(s))
                  ? s->front.goal.objectives[0]
                  : itg_goal_objective(run_report_goal(s));
    put_figures(s);
    put_results(s);
    run_report_course(s);
    run_report_steps(s);
    s->cost = s->front.goal.objectives[0];
    run_report_front(s);
    run_report_peers(s);
    put_choices(s);
    itg_status status = itg_report_sensitivities(s->page, log, s->shown.run.record, err);
    put_inputs(s);
    put_commands(s);
    put_data(s);
    return status;
}

static itg_status fill(run_report *s, const char *path, int64_t run, itg_error *err)
{
    itg_run_log *log = NULL;
    itg_status status = itg_run_log_open_reader(path, &log, err);
    if (status != ITG_OK) return status;
    status = read_all(s, log, run, err);
    if (status == ITG_OK) status = put_page(s, log, err);
    itg_status closed = itg_run_log_close(log, status == ITG_OK ? err : NULL);
    return status == ITG_OK ? closed : status;
}

itg_status itg_report_run(const itg_cli_args *args, int64_t run, itg_page *page, itg_error *err)
{
    run_report s = {.page = page, .shown.args = args};
    itg_status status = fill(&s, args->values[ITG_CLI_OPT_RUNS_DB].text, run, err);
    close_all(&s);
    return status;
}
