/* intaglio realize: a strategy becomes an integer program with bounds. */
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/table.h"
#include <inttypes.h>
#include <stdio.h>

typedef struct work {
    const itg_cli_args *args;
    itg_model *model;
    itg_strategy_file *file;
    itg_annotated *annotated;
    itg_program *program;
    int64_t activation_bytes;
    char *text;        /* --print */
    char *certificate; /* its file */
} work;

static itg_status realize(work *w, itg_error *err)
{
    const itg_cli_args *args = w->args;
    itg_realize_options options = {.allow_overflow = args->given[ITG_CLI_OPT_ALLOW_OVERFLOW]};
    itg_status status = itg_model_open(args->arguments[0], &w->model, err);
    if (status == ITG_OK) status = itg_strategy_open(w->model, args->arguments[1], &w->file, err);
    if (status == ITG_OK) status = itg_annotate_strategy(w->model, w->file, &w->annotated, err);
    if (status == ITG_OK) status = itg_realize_program(w->annotated, &options, &w->program, err);
    if (status == ITG_OK)
        status = itg_program_activation_bytes(w->program, &w->activation_bytes, err);
    if (status == ITG_OK && args->given[ITG_CLI_OPT_PRINT])
        status = itg_program_text(w->program, &w->text, err);
    if (status == ITG_OK)
        status = itg_program_save(w->program, w->model, w->file,
                                  args->values[ITG_CLI_OPT_OUT_PROGRAM].text, err);
    if (status == ITG_OK)
        status = itg_certify(args->values[ITG_CLI_OPT_OUT_PROGRAM].text, w->certificate, err);
    return status;
}

/* ---- results ---- */

static int print_json(const work *w)
{
    itg_cli_json json = {0};
    int32_t count = 0;
    const itg_bound *bounds = itg_program_bounds(w->program, &count);
    itg_cli_json_begin(&json, NULL, '{');
    itg_cli_json_text(&json, "model", itg_model_name(w->model));
    itg_cli_json_text(&json, "hardware", itg_hardware_name(itg_strategy_hardware(w->file)));
    itg_cli_json_text(&json, "strategy", w->args->arguments[1]);
    itg_cli_json_text(&json, "program", w->args->values[ITG_CLI_OPT_OUT_PROGRAM].text);
    itg_cli_json_integer(&json, "peak_activation_bytes", w->activation_bytes);
    itg_cli_json_text(&json, "certificate", w->certificate);
    itg_cli_json_integer(&json, "instance_bytes", (int64_t)itg_program_instance_bytes(w->program));
    itg_cli_json_islands(&json, w->program);
    itg_cli_json_begin(&json, "bounds", '[');
    for (int32_t i = 0; i < count; i++) {
        itg_cli_json_begin(&json, NULL, '{');
        itg_cli_json_text(&json, "node", itg_program_bound_name(w->program, i));
        itg_cli_json_integer(&json, "lo", bounds[i].lo);
        itg_cli_json_integer(&json, "hi", bounds[i].hi);
        itg_cli_json_integer(&json, "accumulator_bits", bounds[i].acc.bits);
        itg_cli_json_bool(&json, "fits", bounds[i].fits);
        itg_cli_json_end(&json, '}');
    }
    itg_cli_json_end(&json, ']');
    if (w->text) itg_cli_json_text(&json, "text", w->text);
    itg_cli_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

/* The accumulators that might overflow; the program was asked for all the same. */
static int print_overflows(const itg_program *program, const itg_bound *bounds, int32_t count)
{
    itg_cli_table table;
    int32_t over = 0;
    itg_cli_table_init(&table, "lrrl");
    for (int32_t i = 0; i < count; i++) {
        if (bounds[i].fits) continue;
        over++;
        itg_cli_table_cell(&table, "%s", itg_program_bound_name(program, i));
        itg_cli_table_cell(&table, "%" PRId64, bounds[i].lo);
        itg_cli_table_cell(&table, "%" PRId64, bounds[i].hi);
        itg_cli_table_cell(&table, "in %d bits", (int)bounds[i].acc.bits);
    }
    if (over > 0)
        printf("Accumulators that may overflow, as --allow-overflow lets them (node, interval):\n");
    return itg_cli_table_print(&table);
}

static int print_text(const work *w)
{
    char bytes[32];
    int32_t count = 0, fitting = 0;
    const itg_bound *bounds = itg_program_bounds(w->program, &count);
    if (w->text) printf("%s\n", w->text);
    for (int32_t i = 0; i < count; i++)
        fitting += bounds[i].fits;
    printf("%s for %s\n", itg_model_name(w->model),
           itg_hardware_name(itg_strategy_hardware(w->file)));
    itg_cli_print_line("program", "%s", w->args->values[ITG_CLI_OPT_OUT_PROGRAM].text);
    itg_cli_print_line("certificate", "%s", w->certificate);
    itg_cli_print_line("bounds", "%d of %d accumulators proven not to overflow", (int)fitting,
                       (int)count);
    itg_cli_print_line("activations", "%s bytes at their peak",
                       itg_cli_count_text((long long)w->activation_bytes, bytes));
    itg_cli_print_line(
        "memory", "%s bytes an instance",
        itg_cli_count_text((long long)itg_program_instance_bytes(w->program), bytes));
    itg_cli_print_islands(w->program);
    itg_cli_print_softmax(w->model);
    return print_overflows(w->program, bounds, count);
}

/* The certificate must not take the place of what is read. */
static int check_certificate(const work *w)
{
    for (int i = 0; i < w->args->argument_count; i++)
        if (itg_cli_is_same_file(w->certificate, w->args->arguments[i]))
            return itg_cli_fail_usage(w->args->command, "the certificate %s would overwrite %s",
                                      w->certificate, w->args->command->arguments[i]);
    return ITG_CLI_OK;
}

static int run(const itg_cli_args *args)
{
    work w = {.args = args,
              .certificate = itg_certificate_path(args->values[ITG_CLI_OPT_OUT_PROGRAM].text)};
    itg_error err = {0};
    int result =
        w.certificate != NULL ? check_certificate(&w) : itg_cli_fail("no memory for a file name");
    if (result == ITG_CLI_OK && realize(&w, &err) != ITG_OK)
        result = itg_cli_fail_error(&err);
    else if (result == ITG_CLI_OK)
        result = args->given[ITG_CLI_OPT_JSON] ? print_json(&w) : print_text(&w);
    itg_free(w.certificate);
    itg_free(w.text);
    itg_program_destroy(w.program);
    itg_annotated_destroy(w.annotated);
    itg_strategy_close(w.file);
    itg_model_close(w.model);
    return result;
}

const itg_cli_command itg_cli_realize = {
    .name = "realize",
    .summary = "Turns a model and a strategy into an integer program, and proves its bounds",
    .usage = "MODEL STRATEGY -o FILE [--allow-overflow] [--print]",
    .details = "FILE is an ONNX file with operators of its own, complete in itself: 'intaglio run' "
               "needs nothing else.\nFILE.cert.json is its certificate, for 'intaglio verify'.\n"
               "An accumulator that might overflow is refused, unless --allow-overflow is given.",
    .min_arguments = 2,
    .max_arguments = 2,
    .arguments = {"MODEL", "STRATEGY"},
    .required = {ITG_CLI_OPT_OUT_PROGRAM},
    .required_count = 1,
    .options = {ITG_CLI_OPT_OUT_PROGRAM, ITG_CLI_OPT_ALLOW_OVERFLOW, ITG_CLI_OPT_PRINT},
    .option_count = 3,
    .run = run,
};
