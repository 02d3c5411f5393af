/* --fail-if-worse: compares the best of a search with that of an earlier run of the log. */
#include "cli/cmd_search.h"
#include "cli/goal.h"
#include <stdio.h>

static itg_status check_mark(const itg_cli_search_work *w, itg_error *err)
{
    const itg_run_record *r = w->mark.record;
    const itg_cli_logged now = {.options = w->options, .has_goal = true};
    char goal[256];
    if (!r->known[ITG_RESULT_BEST] || !r->goal_met)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "--fail-if-worse %lld: that run did not meet its goal: nothing is worse",
                        (long long)r->run);
    if (w->mark.has_goal && itg_cli_same_goal(&w->mark, &now)) return ITG_OK;
    return itg_fail(err, ITG_BAD_ARGUMENT,
                    "--fail-if-worse %lld: that run has another goal (%.200s), so the two do not "
                    "compare",
                    (long long)r->run, itg_cli_short_goal(&w->mark, goal, sizeof goal));
}

itg_status itg_cli_search_read_mark(itg_cli_search_work *w, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    itg_run_log *log = NULL;
    if (!w->args->given[ITG_CLI_OPT_FAIL_IF_WORSE]) return ITG_OK;
    itg_status status = itg_run_log_open_reader(values[ITG_CLI_OPT_DB].text, &log, err);
    if (status == ITG_OK)
        status = itg_cli_logged_read(log, values[ITG_CLI_OPT_FAIL_IF_WORSE].integer, &w->mark, err);
    itg_run_log_close(log, NULL);
    return status == ITG_OK ? check_mark(w, err) : status;
}

int itg_cli_search_judge(const itg_cli_search_work *w, int status)
{
    const itg_run_record *mark = w->mark.record;
    char before[128], after[128];
    bool of_quality = false;
    if (!mark || status == ITG_CLI_FAILURE) return status;
    const itg_score *best = itg_search_best_holdout(w->result);
    if (!best)
        return itg_cli_fail("the best was not tried on the hold-out: whether it is worse than run "
                            "%lld is not known",
                            (long long)mark->run);
    itg_run_record record = {.goal_met = true, .known[ITG_RESULT_BEST] = true};
    record.result[ITG_RESULT_BEST] = *best;
    const itg_cli_logged now = {.record = &record, .options = w->options, .has_goal = true};
    if (!itg_cli_is_worse(&now, &w->mark, &of_quality)) return status;
    itg_cli_goal_figures(&w->options.goal, &mark->result[ITG_RESULT_BEST], before, sizeof before);
    itg_cli_goal_figures(&w->options.goal, best, after, sizeof after);
    itg_cli_fail("worse than run %lld in %s: %s, before %s", (long long)mark->run,
                 of_quality ? "quality" : "what is minimized", after, before);
    return ITG_CLI_WORSE;
}
