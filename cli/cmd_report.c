/* intaglio report: writes a report as one HTML file. */
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

void itg_report_figure(itg_page *page, const char *name, const char *value, const char *below)
{
    itg_page_markup(page, "<div>");
    itg_page_element(page, "dt", name);
    itg_page_markup(page, "<dd>");
    itg_page_text(page, value);
    itg_page_element(page, "small", below);
    itg_page_markup(page, "</dd></div>\n");
}

void itg_report_block(itg_page *page, const char *id, itg_json_writer *json)
{
    page->text.failed |= !itg_strbuf_ok(&json->text);
    if (itg_strbuf_ok(&json->text)) itg_page_json(page, id, json->text.text);
    itg_strbuf_deinit(&json->text);
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

/* ---- the command ---- */

/* Refuses options that do not apply: runs take no data, networks no database. */
static int check_options(const itg_cli_args *args, bool is_run)
{
    static const itg_cli_option of_runs[] = {ITG_CLI_OPT_RUNS_DB, ITG_CLI_OPT_PARETO},
                                of_networks[] = {ITG_CLI_OPT_DATA, ITG_CLI_OPT_LIMIT};
    for (int i = 0; i < 2; i++) {
        itg_cli_option wrong = is_run ? of_networks[i] : of_runs[i];
        if (args->given[wrong])
            return itg_cli_fail_usage(args->command, "a report of a %s does not take --%s",
                                      is_run ? "run" : "network", itg_cli_option_spec(wrong)->name);
    }
    if (args->given[ITG_CLI_OPT_DATA] && args->argument_count < 2)
        return itg_cli_fail_usage(args->command, "--data takes MODEL and STRATEGY");
    if (args->values[ITG_CLI_OPT_PARETO].costs.count >= ITG_MOST_OBJECTIVES)
        return itg_cli_fail_usage(args->command, "--pareto takes at most %d costs",
                                  ITG_MOST_OBJECTIVES - 1);
    return ITG_CLI_OK;
}

static int write_page(const itg_cli_args *args, int64_t run)
{
    const char *path = args->values[ITG_CLI_OPT_OUT_REPORT].text;
    itg_page page = {0};
    itg_error err = {0};
    size_t bytes = 0;
    itg_status status =
        run > 0 ? itg_report_run(args, run, &page, &err) : itg_report_network(args, &page, &err);
    if (status == ITG_OK) status = itg_page_save(&page, path, &bytes, &err);
    itg_page_deinit(&page);
    return status == ITG_OK ? print_done(args, path, bytes) : itg_cli_fail_error(&err);
}

static int run(const itg_cli_args *args)
{
    const char *first = args->arguments[0];
    const bool is_run = args->argument_count == 1 && first[strspn(first, "0123456789")] == '\0';
    int64_t number = 0;
    int result = check_options(args, is_run);
    if (result == ITG_CLI_OK && is_run) result = itg_cli_run_number(args, 0, &number);
    return result == ITG_CLI_OK ? write_page(args, number) : result;
}

const itg_cli_command itg_cli_report = {
    .name = "report",
    .summary = "Writes what is known of a search, a strategy or a program as one HTML file",
    .usage = "RUN -o report.html [--db runs.db] [--pareto COST[,COST]]\n"
             "MODEL STRATEGY -o report.html [--data X] [--limit N]\n"
             "PROGRAM -o report.html",
    .details =
        "Of a run of the database: its results, the course of the search, the front of its trials "
        "with intervals,\nand what its best chose. Of a strategy or a program: the network drawn "
        "with bits and bytes, costs by\nlayer, all edges; with --data also SQNR and ranges of each "
        "edge, as 'inspect' has them. Each plot has a\ntable beside it. The file needs no other "
        "file and no network, and runs no script; its figures are in it\nas JSON, too "
        "(docs/report.md).",
    .min_arguments = 1,
    .max_arguments = 2,
    .arguments = {"RUN, PROGRAM or MODEL", "STRATEGY"},
    .required = {ITG_CLI_OPT_OUT_REPORT},
    .required_count = 1,
    .options = {ITG_CLI_OPT_OUT_REPORT, ITG_CLI_OPT_RUNS_DB, ITG_CLI_OPT_PARETO, ITG_CLI_OPT_DATA,
                ITG_CLI_OPT_LIMIT, ITG_CLI_PREPROCESS},
    .run = run,
};
