/* intaglio report: one HTML file for people. */
#include "cli/commands.h"
#include "cli/report.h"
#include <stdio.h>
#include <string.h>

void itg_report_table(itg_page *page, itg_cli_table *table, const char *label, bool titled)
{
    page->text.failed |= table->failed;
    itg_page_table(page, label, table->alignment, titled, table->cells, table->count);
    itg_cli_table_deinit(table);
}

itg_axis itg_report_axis(const char *words, itg_unit unit, double largest, char title[96])
{
    static const char *const bytes[] = {"", ", kB", ", MB", ", GB"};
    static const char *const counts[] = {"", ", thousands", ", millions", ", billions"};
    const bool of_bytes = unit == ITG_UNIT_BYTES;
    double scale = unit == ITG_UNIT_SHARE ? 100 : 1;
    int power = 0;
    if (of_bytes || unit == ITG_UNIT_COUNT)
        for (; power < 3 && largest * scale >= 1e4; power++)
            scale /= 1000;
    snprintf(title, 96, "%.80s%s", words,
             unit == ITG_UNIT_SHARE      ? ", %"
             : unit == ITG_UNIT_DECIBELS ? ", dB"
             : of_bytes                  ? bytes[power]
                                         : counts[power]);
    return itg_axis_empty(title, scale);
}

static int print_done(const itg_cli_args *args, const char *path, size_t bytes)
{
    char count[32];
    if (!args->given[ITG_CLI_OPT_JSON]) {
        printf("The report is in %s, %s bytes.\n", path,
               itg_cli_count_text((long long)bytes, count));
        return ITG_CLI_OK;
    }
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "file", path);
    itg_json_put_int(&json, "bytes", (int64_t)bytes);
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

static int run(const itg_cli_args *args)
{
    const char *path = args->values[ITG_CLI_OPT_OUT_REPORT].text;
    itg_page page = {0};
    itg_error err = {0};
    int64_t number = 0;
    size_t bytes = 0;
    if (args->values[ITG_CLI_OPT_PARETO].costs.count >= ITG_MOST_OBJECTIVES)
        return itg_cli_fail_usage(args->command, "--pareto takes at most %d costs",
                                  ITG_MOST_OBJECTIVES - 1);
    int result = itg_cli_run_number(args, 0, &number);
    if (result != ITG_CLI_OK) return result;
    itg_status status = itg_report_run(args, number, &page, &err);
    if (status == ITG_OK) status = itg_page_save(&page, path, &bytes, &err);
    itg_page_deinit(&page);
    return status == ITG_OK ? print_done(args, path, bytes) : itg_cli_fail_error(&err);
}

const itg_cli_command itg_cli_report = {
    .name = "report",
    .summary = "Writes what is known of a search as one HTML file, to look at and to pass on",
    .usage = "RUN -o report.html [--db runs.db] [--pareto COST[,COST]]",
    .details =
        "Of a run of the database: its results, the course of the search, the front of its trials "
        "with intervals,\nand what its best chose. Each plot has a table beside it. The file needs "
        "no other file and no network,\nand runs no script; the figures are in it as JSON too, as "
        "'runs show --json --trials' and 'runs front\n--json' print them.",
    .min_arguments = 1,
    .max_arguments = 1,
    .arguments = {"RUN"},
    .required = {ITG_CLI_OPT_OUT_REPORT},
    .required_count = 1,
    .options = {ITG_CLI_OPT_OUT_REPORT, ITG_CLI_OPT_RUNS_DB, ITG_CLI_OPT_PARETO},
    .run = run,
};
