/* intaglio hw: prints the built-in hardware descriptions and the schema that all follow, and
 * measures the speeds of one on this machine. */
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/common.h"
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

/* ---- measure ---- */

/* What the measured description says of the network, at 8 bits. */
static itg_status say(const char *text, const itg_model *model, double *nanoseconds, itg_error *err)
{
    itg_hardware *hw = NULL;
    itg_score score;
    itg_status status =
        itg_hardware_parse(text, strlen(text), "the measured description", &hw, err);
    if (status == ITG_OK) status = itg_check_costs(model, hw, 8, &score, NULL, err);
    if (status == ITG_OK) *nanoseconds = score.value[ITG_METRIC_CYCLES];
    itg_hardware_destroy(hw);
    return status;
}

static int report_measured(const itg_cli_args *args, const char *file, double measured, double said)
{
    if (args->given[ITG_CLI_OPT_JSON]) {
        itg_json_writer json = {0};
        itg_json_begin(&json, NULL, '{');
        itg_json_put_text(&json, "hardware", file);
        itg_json_put_number(&json, "nanoseconds", measured);
        itg_json_put_number(&json, "described_nanoseconds", said);
        itg_json_end(&json, '}');
        int result = itg_cli_json_print(&json);
        itg_strbuf_deinit(&json.text);
        return result;
    }
    printf("%s: a cycle is a nanosecond of one thread of this machine\n"
           "  a sample at 8 bits took %.1f us, and takes %.1f us by the description\n",
           file, measured / 1000, said / 1000);
    return ITG_CLI_OK;
}

static int measure(const itg_cli_args *args)
{
    const char *target = args->arguments[1], *file = args->values[ITG_CLI_OPT_OUT_HW].text;
    itg_hardware *hw = NULL;
    itg_model *model = NULL;
    char *text = NULL;
    double measured = 0, said = 0;
    itg_error err = {0};
    itg_status status = itg_hardware_load(target, &hw, &err);
    if (status == ITG_OK) status = itg_cli_model_open(args, args->arguments[2], NULL, &model, &err);
    if (status == ITG_OK) status = itg_hardware_measure(hw, model, &text, &measured, &err);
    if (status == ITG_OK) status = say(text, model, &said, &err);
    if (status == ITG_OK && file) status = itg_file_write(file, text, strlen(text), &err);
    int result = ITG_CLI_OK;
    if (status != ITG_OK)
        result = itg_cli_fail_error(&err);
    else if (file)
        result = report_measured(args, file, measured, said);
    else
        print_text(text);
    itg_free(text);
    itg_model_close(model);
    itg_hardware_destroy(hw);
    return result;
}

/* ---- the command ---- */

typedef struct action {
    const char *name;
    int arguments; /* besides the name */
    const char *missing;
} action;
static const action actions[] = {
    {"list", 0, NULL},
    {"show", 1, "T is missing: the target to show"},
    {"schema", 0, NULL},
    {"measure", 2, "T and MODEL are needed: what to describe, and the network that is timed"},
};
enum { ACTIONS = sizeof actions / sizeof *actions };

static const char *action_name(void *context, int index)
{
    (void)context;
    return actions[index].name;
}

/* An option that only 'measure' has a use for; NULL: none is given. */
static const char *option_of_measure(const itg_cli_args *args)
{
    static const struct {
        itg_cli_option id;
        const char *name;
    } options[] = {{ITG_CLI_OPT_OUT_HW, "--output"},
                   {ITG_CLI_OPT_INPUT_SHAPE, "--input-shape"},
                   {ITG_CLI_OPT_OUTPUTS, "--outputs"},
                   {ITG_CLI_OPT_KEEP_SOFTMAX, "--keep-softmax"},
                   {ITG_CLI_OPT_NO_EQUALIZE, "--no-equalize"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (args->given[options[i].id]) return options[i].name;
    return NULL;
}

static int perform(const itg_cli_args *args, const action *a)
{
    const int given = args->argument_count - 1;
    const char *option = a->arguments == 2 ? NULL : option_of_measure(args);
    if (option)
        return itg_cli_fail_usage(args->command, "%s belongs to 'measure', not to '%s'", option,
                                  a->name);
    if (given < a->arguments) return itg_cli_fail_usage(args->command, "%s", a->missing);
    if (given > a->arguments)
        return itg_cli_fail_usage(args->command, "unexpected argument '%.60s'",
                                  args->arguments[1 + a->arguments]);
    if (a->arguments == 2) return measure(args);
    if (a->arguments == 1) return show_target(args->arguments[1]);
    return a == &actions[0] ? list_targets(args->given[ITG_CLI_OPT_JSON]) : show_schema();
}

static int run(const itg_cli_args *args)
{
    const char *name = args->arguments[0];
    for (int i = 0; i < ACTIONS; i++)
        if (strcmp(name, actions[i].name) == 0) return perform(args, &actions[i]);
    const char *near = itg_nearest_name(name, ACTIONS, action_name, NULL);
    if (near)
        return itg_cli_fail_usage(args->command, "unknown action '%.60s'; did you mean '%s'?", name,
                                  near);
    return itg_cli_fail_usage(
        args->command, "unknown action '%.60s'; expected 'list', 'show', 'schema' or 'measure'",
        name);
}

const itg_cli_command itg_cli_hw = {
    .name = "hw",
    .summary = "Lists, shows and measures hardware targets, or prints the schema of descriptions",
    .usage = "list\nshow T\nschema\nmeasure T MODEL [-o FILE]",
    .details = "A target is a JSON file; 'show' and 'schema' print JSON as it is, with or without "
               "--json.\n"
               "docs/adding-a-target.md explains every key.\n"
               "'measure' times this machine's kernels on the network, and writes T's description "
               "with these speeds:\n"
               "a cycle is then a nanosecond of one thread. Without -o it prints the description.",
    .min_arguments = 1,
    .max_arguments = 3,
    .arguments = {"list, show, schema or measure", "T", "MODEL"},
    .options = {ITG_CLI_OPT_OUT_HW, ITG_CLI_OPT_INPUT_SHAPE, ITG_CLI_OPT_OUTPUTS,
                ITG_CLI_OPT_KEEP_SOFTMAX, ITG_CLI_OPT_NO_EQUALIZE},
    .run = run,
};
