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
    static const struct {
        itg_cli_option option;
        bool of_runs;
    } options[] = {{ITG_CLI_OPT_RUNS_DB, true},  {ITG_CLI_OPT_PARETO, true},
                   {ITG_CLI_OPT_PEERS, true},    {ITG_CLI_OPT_DATA, false},
                   {ITG_CLI_OPT_LIMIT, false},   {ITG_CLI_OPT_LABELS, false},
                   {ITG_CLI_OPT_EXPLAIN, false}, {ITG_CLI_OPT_QUIET, false}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (args->given[options[i].option] && options[i].of_runs != is_run)
            return itg_cli_fail_usage(args->command, "a report of a %s does not take --%s",
                                      is_run ? "run" : "network",
                                      itg_cli_option_spec(options[i].option)->name);
    if (args->given[ITG_CLI_OPT_DATA] && args->argument_count < 2)
        return itg_cli_fail_usage(args->command, "--data takes MODEL and STRATEGY");
    if (args->given[ITG_CLI_OPT_EXPLAIN] && !args->given[ITG_CLI_OPT_DATA])
        return itg_cli_fail_usage(args->command, "--explain takes --data");
    if (args->given[ITG_CLI_OPT_LABELS] && !args->given[ITG_CLI_OPT_EXPLAIN])
        return itg_cli_fail_usage(args->command, "--labels takes --explain");
    if (args->values[ITG_CLI_OPT_PARETO].costs.count >= ITG_MOST_OBJECTIVES)
        return itg_cli_fail_usage(args->command, "--pareto takes at most %d costs",
                                  ITG_MOST_OBJECTIVES - 1);
    return ITG_CLI_OK;
}

/* The form that is asked for, or that the file's name ends with. */
static itg_page_form form_of(const itg_cli_args *args)
{
    const char *path = args->values[ITG_CLI_OPT_OUT_REPORT].text, *end = strrchr(path, '.');
    int form = args->values[ITG_CLI_OPT_FORMAT].choice;
    if (args->given[ITG_CLI_OPT_FORMAT]) return (itg_page_form)form;
    for (form = 0; end && form < ITG_PAGE_FORMS; form++)
        if (strcmp(end + 1, itg_page_form_name((itg_page_form)form)) == 0)
            return (itg_page_form)form;
    return ITG_PAGE_HTML;
}

static int write_page(const itg_cli_args *args, int64_t run)
{
    const char *path = args->values[ITG_CLI_OPT_OUT_REPORT].text;
    itg_page page = {.form = form_of(args), .part = args->values[ITG_CLI_OPT_REPORT_PART].text};
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
    .usage = "RUN -o report.html [--db runs.db] [--pareto COST[,COST]] [--peers F.csv] [...]\n"
             "MODEL STRATEGY -o report.html [--data X] [--limit N] [--explain [--labels Y]] [...]\n"
             "PROGRAM -o report.html [--part NAME] [--format html|md|csv|svg]",
    .details =
        "Of a run of the database: its results, the course of the search, the front of its trials "
        "with intervals,\nwhat its best chose, and what 'intaglio sensitivity' has in the same "
        "database on its model and hardware.\nOf a strategy or a program: the network drawn with "
        "bits and bytes, costs by layer, RAM over time, all\nedges; with --data also SQNR, ranges "
        "and histograms of each edge, with --explain where the loss comes from.\nEach plot has a "
        "table beside it. The file needs no other file and no network, and runs no script; its\n"
        "figures are in it as JSON, too. --part and --format take one part out of it "
        "(docs/report.md).",
    .min_arguments = 1,
    .max_arguments = 2,
    .arguments = {"RUN, PROGRAM or MODEL", "STRATEGY"},
    .required = {ITG_CLI_OPT_OUT_REPORT},
    .required_count = 1,
    .options = {ITG_CLI_OPT_OUT_REPORT, ITG_CLI_OPT_FORMAT, ITG_CLI_OPT_REPORT_PART,
                ITG_CLI_OPT_RUNS_DB, ITG_CLI_OPT_PARETO, ITG_CLI_OPT_PEERS, ITG_CLI_OPT_DATA,
                ITG_CLI_OPT_LIMIT, ITG_CLI_OPT_EXPLAIN, ITG_CLI_OPT_LABELS, ITG_CLI_PREPROCESS,
                ITG_CLI_OPT_QUIET},
    .run = run,
};
