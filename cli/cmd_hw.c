/* intaglio hw: prints the built-in hardware descriptions and the schema that all follow. */
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/json_out.h"
#include "cli/table.h"
#include <stdio.h>
#include <string.h>

static void list_target(itg_json_writer *json, itg_cli_table *table, const itg_hardware *hw)
{
    itg_json_begin(json, NULL, '{');
    itg_json_put_text(json, "name", itg_hardware_name(hw));
    itg_json_put_text(json, "description", itg_hardware_description(hw));
    itg_json_put_bool(json, "all_float", itg_hardware_all_float(hw));
    itg_json_end(json, '}');
    itg_cli_table_texts(table, itg_hardware_name(hw), itg_hardware_description(hw), NULL);
}

static int list_targets(bool as_json)
{
    itg_json_writer json = {0};
    itg_cli_table table;
    itg_error err = {0};
    itg_status status = ITG_OK;
    itg_cli_table_init(&table, "ll");
    itg_json_begin(&json, NULL, '{');
    itg_json_begin(&json, "targets", '[');
    for (int i = 0; i < itg_hardware_builtin_count() && status == ITG_OK; i++) {
        itg_hardware *hw = NULL;
        status = itg_hardware_load(itg_hardware_builtin_name(i), &hw, &err);
        if (status == ITG_OK) list_target(&json, &table, hw);
        itg_hardware_destroy(hw);
    }
    itg_json_end(&json, ']');
    itg_json_end(&json, '}');
    int result = ITG_CLI_OK;
    if (status != ITG_OK)
        result = itg_cli_fail_error(&err);
    else
        result = as_json ? itg_cli_json_print(&json) : itg_cli_table_print(&table);
    itg_strbuf_deinit(&json.text);
    itg_cli_table_deinit(&table);
    return result;
}

static void print_text(const char *text)
{
    size_t length = strlen(text);
    fputs(text, stdout);
    if (length == 0 || text[length - 1] != '\n') putchar('\n');
}

/* Prints the source file of a built-in target; any other target as it was parsed. */
static int show_target(const char *name)
{
    itg_hardware *hw = NULL;
    itg_error err = {0};
    if (itg_hardware_load(name, &hw, &err) != ITG_OK) return itg_cli_fail_error(&err);
    const char *text = itg_hardware_json(hw);
    for (int i = 0; i < itg_hardware_builtin_count(); i++)
        if (strcmp(itg_hardware_builtin_name(i), name) == 0) text = itg_hardware_builtin_json(i);
    print_text(text);
    itg_hardware_destroy(hw);
    return ITG_CLI_OK;
}

static int show_schema(void)
{
    char *text = NULL;
    itg_error err = {0};
    if (itg_hardware_schema_text(&text, &err) != ITG_OK) return itg_cli_fail_error(&err);
    print_text(text);
    itg_free(text);
    return ITG_CLI_OK;
}

static const char *action_name(void *context, int index)
{
    (void)context;
    static const char *const names[] = {"list", "show", "schema"};
    return names[index];
}

static int run(const itg_cli_args *args)
{
    const char *action = args->arguments[0];
    bool shows = strcmp(action, "show") == 0;
    if (shows && args->argument_count < 2)
        return itg_cli_fail_usage(args->command, "T is missing: the target to show");
    if (!shows && args->argument_count > 1)
        return itg_cli_fail_usage(args->command, "unexpected argument '%.60s'", args->arguments[1]);
    if (shows) return show_target(args->arguments[1]);
    if (strcmp(action, "list") == 0) return list_targets(args->given[ITG_CLI_OPT_JSON]);
    if (strcmp(action, "schema") == 0) return show_schema();
    const char *near = itg_nearest_name(action, 3, action_name, NULL);
    if (near)
        return itg_cli_fail_usage(args->command, "unknown action '%.60s'; did you mean '%s'?",
                                  action, near);
    return itg_cli_fail_usage(
        args->command, "unknown action '%.60s'; expected 'list', 'show' or 'schema'", action);
}

const itg_cli_command itg_cli_hw = {
    .name = "hw",
    .summary =
        "Lists the built-in hardware targets, shows one, or prints the schema of descriptions",
    .usage = "list\nshow T\nschema",
    .details = "A target is a JSON file; 'show' and 'schema' print JSON as it is, with or without "
               "--json.\n"
               "docs/adding-a-target.md explains every key.",
    .min_arguments = 1,
    .max_arguments = 2,
    .arguments = {"list, show or schema", "T"},
    .run = run,
};
