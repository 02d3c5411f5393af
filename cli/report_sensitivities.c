/* Writes the section of a report that shows what single choices lose: those of the run, or of the
 * newest run of `intaglio sensitivity` on the same model and hardware. */
#include "cli/goal.h"
#include "cli/report.h"
#include "cli/sensitivities.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 256 };

typedef struct survey {
    const itg_run_record *record;
    itg_cli_sensitivities found;
} survey;

static int32_t count_groups(const survey *s)
{
    int32_t count = 0;
    for (int64_t i = 0; i < s->found.count; i++)
        if (s->found.rows[i].group >= count) count = s->found.rows[i].group + 1;
    return count;
}

static void put_plot(itg_page *page, const survey *s)
{
    const itg_axis x = {.title = "group of edges, in the order of the network",
                        .lo = 0.5,
                        .hi = count_groups(s) + 0.5,
                        .scale = 1};
    itg_axis y = itg_axis_empty("SQNR lost, dB", 1);
    char words[WORDS];
    itg_plot plot;
    itg_axis_hold(&y, 0);
    for (int64_t i = 0; i < s->found.count; i++)
        itg_axis_hold(&y, itg_cli_lost_db(&s->found, s->found.rows[i].trial));
    itg_axis_round_up(&y);
    itg_plot_begin(&plot, page, "Plot: dB that each width of each group loses alone", x, y);
    for (int64_t i = 0; i < s->found.count; i++) {
        const itg_cli_loss *r = &s->found.rows[i];
        const double lost = itg_cli_lost_db(&s->found, r->trial);
        if (!r->width || !isfinite(lost)) continue;
        snprintf(words, sizeof words, "%.150s at %.10s bits%s%.20s: %.1f dB lost",
                 itg_cli_loss_group(r)->edges[0], r->width->value, r->method ? ", " : "",
                 r->method ? r->method->value : "", lost);
        itg_plot_mark(&plot, ITG_MARK_DOT, r->group + 1, lost, words);
    }
    itg_plot_end(&plot);
}

static void put_section(itg_page *page, const survey *s)
{
    char words[WORDS];
    itg_cli_table table;
    snprintf(words, sizeof words,
             "Run %lld of the log: each choice alone, all others at the widest; what loses most "
             "stands first in the table.",
             (long long)s->record->run);
    itg_page_section(page, "sensitivities", "What single choices lose", words);
    if (s->found.widest && s->found.widest->feasible) put_plot(page, s);
    itg_page_details(page, "All choices");
    itg_cli_sensitivities_table(&table, &s->found, false);
    itg_report_table(page, &table, "What single choices lose", true);
    itg_page_details_end(page);
    itg_page_section_end(page);
}

static itg_status put_run(itg_page *page, itg_run_log *log, const itg_cli_logged *run,
                          itg_error *err)
{
    itg_trial *trials = NULL;
    const itg_trial **borrowed = NULL;
    int64_t count = 0;
    survey s = {.record = run->record};
    itg_status status = itg_run_log_load_trials(log, run->record->run, &trials, &count, err);
    if (status == ITG_OK && !(borrowed = calloc((size_t)count + 1, sizeof *borrowed)))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the trials");
    for (int64_t i = 0; status == ITG_OK && i < count; i++)
        borrowed[i] = &trials[i];
    if (status == ITG_OK)
        status = itg_cli_sensitivities_read(&s.found, run->record, &run->options.goal, borrowed,
                                            count, err);
    if (status == ITG_OK && s.found.count > 0) put_section(page, &s);
    itg_cli_sensitivities_close(&s.found);
    free((void *)borrowed);
    itg_run_log_free_trials(trials, count);
    return status;
}

/* Whether a run has sensitivities of the model and the hardware of another one. */
static bool is_of(const itg_cli_logged *run, const itg_run_info *of)
{
    const itg_run_info *info = &run->record->info;
    return run->has_goal && strcmp(info->searcher, "sensitivity") == 0 &&
           memcmp(info->model_hash, of->model_hash, sizeof info->model_hash) == 0 &&
           strcmp(info->hardware_json, of->hardware_json) == 0;
}

itg_status itg_report_sensitivities(itg_page *page, itg_run_log *log, const itg_run_record *of,
                                    itg_error *err)
{
    itg_cli_logged *runs = NULL;
    int64_t count = 0, chosen = -1;
    itg_status status = itg_cli_logged_all(log, &runs, &count, err);
    for (int64_t i = 0; i < count && (chosen < 0 || runs[chosen].record->run != of->run); i++)
        if (is_of(&runs[i], &of->info)) chosen = i;
    if (chosen >= 0) status = put_run(page, log, &runs[chosen], err);
    itg_cli_logged_free(runs, count);
    return status;
}
