#include "cli/metric.h"
#include "cli/common.h"

/* Whether --metric may name the metric: no costs, no user metrics, none that only search knows. */
static bool can_judge(itg_metric metric)
{
    return !itg_metric_is_cost(metric) && itg_metric_about(metric)->needs != ITG_NEEDS_USER &&
           metric != ITG_METRIC_EXPECTED_TOP1 && metric != ITG_METRIC_TOP1_BOUND &&
           metric != ITG_METRIC_DISTORTION && metric != ITG_METRIC_ACCURACY;
}

const char *itg_cli_metric_choice(int index)
{
    for (int m = 0; m < ITG_METRIC_ALL; m++)
        if (can_judge((itg_metric)m) && index-- == 0) return itg_metric_about((itg_metric)m)->name;
    return NULL;
}

itg_metric itg_cli_metric_named(const itg_cli_args *args)
{
    itg_metric metric = ITG_METRIC_ACCURACY;
    if (itg_cli_names_top_metric(args)) return ITG_METRIC_USER1;
    if (args->given[ITG_CLI_OPT_METRIC])
        (void)itg_metric_from_name(args->values[ITG_CLI_OPT_METRIC].text, &metric);
    return metric;
}

int itg_cli_metric_name_check(const itg_cli_args *args)
{
    char names[256] = "";
    if (!args->given[ITG_CLI_OPT_METRIC]) return ITG_CLI_OK;
    for (int i = 0; itg_cli_metric_choice(i); i++)
        itg_cli_append(names, sizeof names, "%s%s", i > 0 ? ", " : "", itg_cli_metric_choice(i));
    if (!itg_cli_names_top_metric(args) && !can_judge(itg_cli_metric_named(args)))
        return itg_cli_fail_usage(args->command, "--metric %.64s: expected one of %s, or topK",
                                  args->values[ITG_CLI_OPT_METRIC].text, names);
    if (args->given[ITG_CLI_OPT_METRIC_COMMAND])
        return itg_cli_fail_usage(args->command,
                                  "--metric and --metric-command are two: give one of them");
    return ITG_CLI_OK;
}

itg_status itg_cli_metric_known(const itg_cli_args *args, const itg_score *score, const char *name,
                                bool has_labels, itg_error *err)
{
    itg_metric metric = itg_cli_metric_named(args);
    if (!args->given[ITG_CLI_OPT_METRIC] || itg_score_knows(score, metric)) return ITG_OK;
    return itg_fail(err, ITG_BAD_ARGUMENT,
                    "--metric %s is not known of %.200s on this data%s: docs/metrics.md says what "
                    "it takes",
                    args->values[ITG_CLI_OPT_METRIC].text, name,
                    has_labels ? "" : ", which has no labels");
}

itg_metric itg_cli_metric_judging(const itg_cli_args *args, const itg_score *score)
{
    if (args->given[ITG_CLI_OPT_METRIC]) return itg_cli_metric_named(args);
    if (itg_score_knows(score, ITG_METRIC_USER1)) return ITG_METRIC_USER1;
    if (itg_score_knows(score, ITG_METRIC_TOP1)) return ITG_METRIC_TOP1;
    return itg_score_knows(score, ITG_METRIC_AGREEMENT) ? ITG_METRIC_AGREEMENT : ITG_METRIC_SQNR;
}

static const char *reason(const itg_cli_args *args, itg_metric metric)
{
    return args->given[ITG_CLI_OPT_METRIC]  ? "as --metric says"
           : metric == ITG_METRIC_USER1     ? "as --metric-command gives it"
           : metric == ITG_METRIC_TOP1      ? "the labels are classes"
           : metric == ITG_METRIC_AGREEMENT ? "with the float network: no labels are classes"
                                            : "the network is no classifier";
}

void itg_cli_print_metric(const itg_cli_args *args, const itg_score *score)
{
    itg_metric metric = itg_cli_metric_judging(args, score);
    itg_cli_print_line("metric", "%s (%s)", itg_score_about(score, metric).words,
                       reason(args, metric));
}
