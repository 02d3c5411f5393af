/* intaglio run: executes an integer program on a data set. */
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/metric.h"
#include "cli/metric_command.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct work {
    const itg_cli_args *args;
    itg_program *program;
    itg_cli_data data;
    itg_cli_metric *metric;
    itg_score score;
    bool misused; /* the command's words made it fail */
} work;

/* Checks the files of all outputs except the first, which is --output, against all other files. */
static itg_status check_outputs(work *w, itg_error *err)
{
    const char *path = w->args->values[ITG_CLI_OPT_OUT_NPY].text;
    int count = path ? (int)itg_program_output_count(w->program) - 1 : 0;
    if (count < 1) return ITG_OK;
    itg_cli_file *files = calloc((size_t)count, sizeof *files);
    if (!files) return itg_fail(err, ITG_NO_MEMORY, "no memory for file names");
    for (int i = 0; i < count; i++)
        files[i] = (itg_cli_file){itg_program_npy_path(path, i + 1), "the output", true};
    itg_status status = itg_cli_keep_apart(w->args, files, count, err);
    w->misused = status == ITG_BAD_ARGUMENT;
    for (int i = 0; i < count; i++)
        itg_free((void *)(uintptr_t)files[i].path);
    free(files);
    return status;
}

/* Refuses metrics that need the float network, which a program alone does not have. Returns an exit
 * status. */
static int check_metric(const itg_cli_args *args)
{
    const itg_metric_info *about = itg_metric_about(itg_cli_metric_named(args));
    const bool compares = about->needs == ITG_NEEDS_FLOATS || about->needs == ITG_NEEDS_OUTPUTS ||
                          about->needs == ITG_NEEDS_CLASSES;
    int result = itg_cli_metric_check(args);
    if (result == ITG_CLI_OK) result = itg_cli_metric_name_check(args);
    if (result != ITG_CLI_OK || !args->given[ITG_CLI_OPT_METRIC] || !compares) return result;
    return itg_cli_fail_usage(args->command,
                              "--metric %s compares with the float network, which a program does "
                              "not have: 'intaglio simulate' gives it",
                              about->name);
}

static itg_status run_program(work *w, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    itg_preprocess p = itg_preprocess_default();
    w->misused = w->args->given[ITG_CLI_OPT_DEQUANTIZE] && !values[ITG_CLI_OPT_OUT_NPY].text;
    if (w->misused)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "--dequantize is about the file of -o, which is missing");
    itg_status status = itg_program_open(w->args->arguments[0], &w->program, err);
    if (status == ITG_OK) status = check_outputs(w, err);
    if (status == ITG_OK) status = itg_program_preprocess(w->program, &p, err);
    itg_split_info split = status == ITG_OK ? itg_program_split(w->program) : (itg_split_info){0};
    if (status == ITG_OK)
        status = itg_cli_data_open(w->args, itg_cli_program_input(w->program), &w->data, err);
    if (status == ITG_OK) status = itg_cli_data_part(w->args, &split, &w->data, err);
    if (status == ITG_OK) status = itg_cli_metric_open(w->args, NULL, w->program, &w->metric, err);
    if (status != ITG_OK) return status;
    itg_cli_preprocess(w->args, &p);
    bool measures[ITG_METRIC_ALL] = {false};
    measures[itg_cli_metric_named(w->args)] = true;
    const itg_run_options options = {ITG_RUN_OPTIONS_VERSION,
                                     .preprocess = &p,
                                     .labels = w->data.labels,
                                     .user = itg_cli_metric_users(w->metric),
                                     .threads = (int)values[ITG_CLI_OPT_THREADS].integer,
                                     .block = values[ITG_CLI_OPT_BLOCK].integer,
                                     .npy_path = values[ITG_CLI_OPT_OUT_NPY].text,
                                     .measures = measures,
                                     .dequantize = w->args->given[ITG_CLI_OPT_DEQUANTIZE]};
    status = itg_program_run(w->program, w->data.samples, &options, &w->score, err);
    if (status == ITG_OK) status = itg_cli_metric_failure(w->metric, err);
    return status == ITG_OK ? itg_cli_metric_known(w->args, &w->score, w->args->arguments[0],
                                                   w->data.labels != NULL, err)
                            : status;
}

/* Prints how to read the codes of each output. */
static void print_outputs(const work *w)
{
    for (int32_t i = 0; i < itg_program_output_count(w->program); i++) {
        const itg_output_info o = itg_program_output(w->program, i);
        char shape[128];
        itg_shape_text(o.shape, shape, sizeof shape);
        if (o.bits > 0)
            itg_cli_print_line("output", "%s, %s %s: real = %.9g * (code %c %d)", o.name, o.type,
                               shape, (double)o.scale, o.zero_point < 0 ? '+' : '-',
                               abs((int)o.zero_point));
        else
            itg_cli_print_line("output", "%s, %s %s", o.name, o.type, shape);
    }
}

static void put_outputs(itg_json_writer *json, const itg_program *program)
{
    itg_json_begin(json, "outputs", '[');
    for (int32_t i = 0; i < itg_program_output_count(program); i++) {
        const itg_output_info o = itg_program_output(program, i);
        itg_json_begin(json, NULL, '{');
        itg_json_put_text(json, "name", o.name);
        itg_json_put_text(json, "type", o.type);
        if (o.bits > 0) {
            itg_json_put_int(json, "bits", o.bits);
            itg_json_put_number(json, "scale", (double)o.scale);
            itg_json_put_int(json, "zero_point", o.zero_point);
        }
        itg_json_end(json, '}');
    }
    itg_json_end(json, ']');
}

static int print_json(const work *w)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "program", w->args->arguments[0]);
    itg_json_put_text(&json, "output", w->args->values[ITG_CLI_OPT_OUT_NPY].text);
    itg_json_put_int(&json, "samples", w->score.samples);
    itg_cli_json_quality(&json, &w->score);
    itg_cli_json_metrics(&json, "", &w->score, ITG_CLI_COSTS);
    put_outputs(&json, w->program);
    itg_cli_json_islands(&json, w->program);
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

static int print_text(const work *w)
{
    const char *path = w->args->values[ITG_CLI_OPT_OUT_NPY].text;
    printf("%s, %lld sample%s\n", w->args->arguments[0], (long long)w->score.samples,
           itg_plural(w->score.samples));
    if (w->args->given[ITG_CLI_OPT_METRIC]) itg_cli_print_metric(w->args, &w->score);
    itg_cli_print_score(&w->score);
    print_outputs(w);
    if (path) itg_cli_print_line("outputs", "%s", path);
    itg_cli_print_islands(w->program);
    return ITG_CLI_OK;
}

static int run(const itg_cli_args *args)
{
    work w = {.args = args};
    itg_error err = {0};
    int result = check_metric(args);
    if (result != ITG_CLI_OK) return result;
    if (run_program(&w, &err) != ITG_OK)
        result = w.misused ? itg_cli_fail_usage(args->command, "%s", err.message)
                           : itg_cli_fail_error(&err);
    else
        result = args->given[ITG_CLI_OPT_JSON] ? print_json(&w) : print_text(&w);
    itg_cli_metric_close(w.metric);
    itg_program_destroy(w.program);
    itg_cli_data_close(&w.data);
    return result;
}

const itg_cli_command itg_cli_run = {
    .name = "run",
    .summary = "Runs an integer program over a data set",
    .usage = "FILE --data X [--labels Y] [-o out.npy [--dequantize]]",
    .details = "FILE is what 'intaglio realize' wrote. Its preprocessing is the strategy's; the "
               "options given here\n"
               "replace what it says. The digest is SHA-256 over all outputs as stored.",
    .min_arguments = 1,
    .max_arguments = 1,
    .arguments = {"FILE"},
    .required = {ITG_CLI_OPT_DATA},
    .required_count = 1,
    .options = {ITG_CLI_OPT_DATA, ITG_CLI_OPT_LABELS, ITG_CLI_OPT_LIMIT, ITG_CLI_PREPROCESS,
                ITG_CLI_OPT_OUT_NPY, ITG_CLI_OPT_DEQUANTIZE, ITG_CLI_OPT_PART, ITG_CLI_OPT_BLOCK,
                ITG_CLI_OPT_METRIC, ITG_CLI_METRIC},
    .run = run,
};
