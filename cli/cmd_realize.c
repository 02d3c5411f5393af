/* intaglio realize: turns a strategy into an integer program with proven bounds. */
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/memory.h"
#include "cli/realize_qdq.h"
#include "cli/staging.h"
#include "cli/table.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct work {
    const itg_cli_args *args;
    itg_model *model;
    itg_strategy_file *file;
    itg_annotated *annotated; /* NULL: not needed any more */
    itg_program *program;
    itg_program *tiled; /* the one that is written; NULL: `program` */
    itg_score costs;
    itg_tiling tiling;
    itg_hardware *target; /* that a program says; a strategy has its own */
    bool c, qdq;          /* C source, a QDQ model: not the program */
    bool misused;         /* the command's words made it fail */
    itg_qdq_report *report;
    itg_preprocess preprocess;
    itg_cli_data data; /* of the self-test */
    itg_emit_sizes sizes;
    char *text;        /* --print */
    char *certificate; /* its file */
} work;

static itg_status realize(work *w, itg_error *err)
{
    const itg_cli_args *args = w->args;
    itg_realize_options options = {ITG_REALIZE_OPTIONS_VERSION,
                                   .allow_overflow = args->given[ITG_CLI_OPT_ALLOW_OVERFLOW]};
    itg_status status =
        itg_cli_model_open(args, args->arguments[0], args->arguments[1], &w->model, err);
    if (status == ITG_OK) status = itg_strategy_open(w->model, args->arguments[1], &w->file, err);
    if (status == ITG_OK) status = itg_annotate_strategy(w->model, w->file, &w->annotated, err);
    if (status == ITG_OK) status = itg_realize_program(w->annotated, &options, &w->program, err);
    if (status == ITG_OK)
        status = itg_strategy_costs(w->file, w->annotated, w->program, &w->costs, err);
    if (status == ITG_OK) w->preprocess = *itg_strategy_preprocess(w->file);
    if (!w->qdq) { /* the codes that it keeps take the room of a program */
        itg_annotated_destroy(w->annotated);
        w->annotated = NULL;
    }
    return status;
}

static itg_status open_program(work *w, itg_error *err)
{
    itg_status status = itg_program_open(w->args->arguments[0], &w->program, err);
    if (status == ITG_OK) status = itg_program_target(w->program, &w->target, &w->costs, err);
    return status == ITG_OK ? itg_program_preprocess(w->program, &w->preprocess, err) : status;
}

/* Returns the hardware that the program or the strategy names; NULL if there is none. */
static const itg_hardware *target_of(const work *w)
{
    return w->file ? itg_strategy_hardware(w->file) : w->target;
}

/* Makes the program fit so many bytes of RAM. */
static itg_status tile_to(work *w, double most, itg_error *err)
{
    itg_status status = itg_program_tile(w->program, most < 1e15 ? (int64_t)most : INT64_MAX,
                                         &w->tiling, &w->tiled, err);
    if (status == ITG_OK)
        w->costs.value[ITG_METRIC_PEAK_ACTIVATION_BYTES] = (double)w->tiling.bytes;
    return status;
}

/* Makes the program fit --max-ram or, where it can, the RAM of the hardware: a search counts with
 * that. */
static itg_status tile(work *w, itg_error *err)
{
    const itg_hardware *hw = target_of(w);
    itg_error why = {0};
    if (w->args->given[ITG_CLI_OPT_MAX_RAM])
        return tile_to(w, w->args->values[ITG_CLI_OPT_MAX_RAM].number, err);
    if (w->qdq || !hw || !itg_cli_memory_exceeded(hw, &w->costs, ITG_METRIC_PEAK_ACTIVATION_BYTES))
        return ITG_OK;
    const double most = itg_hardware_limit(hw, ITG_METRIC_PEAK_ACTIVATION_BYTES);
    itg_status status = tile_to(w, most, &why);
    return status == ITG_NO_MEMORY ? itg_fail(err, status, "%s", why.message) : ITG_OK;
}

static const itg_program *written(const work *w)
{
    return w->tiled ? w->tiled : w->program;
}

/* The source's files: their names, and what messages call them. */
enum { SOURCE_FILES = 6 };
static const char *const source_files[SOURCE_FILES][2] = {
    {".c", "the C source"},
    {".h", "the C header"},
    {"_selftest.c", "the self-test"},
    {".itg", "the program"},
    {".itg.cert.json", "the program's certificate"},
    {".cert.json", "the source's certificate"}};

/* Writes the source, its program and both certificates to the temporary folder. */
static itg_status emit_staged(work *w, const itg_cli_staging *staging, itg_error *err)
{
    itg_emit_options options = {
        ITG_EMIT_OPTIONS_VERSION, .name = w->args->values[ITG_CLI_OPT_EMIT_NAME].text,
        .samples = (int32_t)w->args->values[ITG_CLI_OPT_EMIT_SAMPLES].integer,
        .data = w->data.samples, .preprocess = &w->preprocess};
    char program[sizeof w->sizes.name + 4];
    itg_status status = itg_emit_c(written(w), &options, staging->folder, &w->sizes, err);
    if (status != ITG_OK) return status;
    snprintf(program, sizeof program, "%s.itg", w->sizes.name);
    char *path = itg_cli_staged(staging, program);
    status = path ? itg_cli_write_program(written(w), w->model, w->file, path, err)
                  : itg_fail(err, ITG_NO_MEMORY, "no memory for a file name");
    if (status == ITG_OK) status = itg_certify_source(staging->folder, w->sizes.name, err);
    itg_free(path);
    return status;
}

/* Checks the names, which are known only now, and moves the files into place. */
static itg_status finish(work *w, const itg_cli_staging *staging, itg_error *err)
{
    char names[SOURCE_FILES][sizeof w->sizes.name + 16], paths[SOURCE_FILES][4096];
    const char *list[SOURCE_FILES];
    itg_cli_file files[SOURCE_FILES];
    for (int i = 0; i < SOURCE_FILES; i++) {
        snprintf(names[i], sizeof names[i], "%s%s", w->sizes.name, source_files[i][0]);
        if (snprintf(paths[i], sizeof paths[i], "%s%s", staging->place, names[i]) >=
            (int)sizeof paths[i])
            return itg_fail(err, ITG_LIMIT, "%.200s...: the name is too long", staging->place);
        files[i] = (itg_cli_file){paths[i], source_files[i][1], true};
        list[i] = names[i];
    }
    itg_status status = itg_cli_keep_apart(w->args, files, SOURCE_FILES, err);
    w->misused = status == ITG_BAD_ARGUMENT;
    return status == ITG_OK ? itg_cli_staging_finish(staging, list, SOURCE_FILES, err) : status;
}

static itg_status emit_into(work *w, const char *folder, itg_error *err)
{
    itg_cli_staging staging = {0};
    char *inside = malloc(strlen(folder) + 2);
    if (!inside) return itg_fail(err, ITG_NO_MEMORY, "no memory for a file name");
    sprintf(inside, "%s/", folder);
    itg_status status = itg_cli_staging_open(inside, &staging, err);
    if (status == ITG_OK) status = emit_staged(w, &staging, err);
    if (status == ITG_OK) status = finish(w, &staging, err);
    itg_cli_staging_close(&staging, err);
    free(inside);
    return status;
}

static itg_status emit(work *w, itg_error *err)
{
    const itg_cli_args *args = w->args;
    const char *folder = args->values[ITG_CLI_OPT_OUT_PROGRAM].text;
    itg_status status = ITG_OK;
    if (args->given[ITG_CLI_OPT_DATA])
        status = itg_cli_data_open(args, itg_cli_program_input(written(w)), &w->data, err);
    if (status != ITG_OK) return status;
    itg_cli_preprocess(args, &w->preprocess);
    bool made = mkdir(folder, 0777) == 0;
    if (!made && errno != EEXIST)
        return itg_fail(err, ITG_IO, "%s: cannot make the folder: %s", folder, strerror(errno));
    status = emit_into(w, folder, err);
    if (status != ITG_OK && made) (void)rmdir(folder);
    return status;
}

static itg_status work_all(work *w, itg_error *err)
{
    const itg_cli_args *args = w->args;
    const char *path = args->values[ITG_CLI_OPT_OUT_PROGRAM].text;
    itg_status status = args->argument_count == 1 ? open_program(w, err) : realize(w, err);
    if (status == ITG_OK) status = tile(w, err);
    if (status == ITG_OK && args->given[ITG_CLI_OPT_PRINT])
        status = itg_program_text(written(w), &w->text, err);
    if (status == ITG_OK && w->c) return emit(w, err);
    if (status == ITG_OK && w->qdq)
        return itg_emit_qdq(w->annotated, w->model, w->file, path, &w->report, err);
    return status == ITG_OK ? itg_cli_write_program(written(w), w->model, w->file, path, err)
                            : status;
}

/* ---- results ---- */

static void json_written(const work *w, itg_json_writer *json)
{
    const char *path = w->args->values[ITG_CLI_OPT_OUT_PROGRAM].text;
    itg_json_put_text(json, w->c ? "folder" : w->qdq ? "qdq" : "program", path);
    if (w->qdq) {
        itg_cli_json_qdq(json, w->report);
        return;
    }
    if (!w->c) {
        itg_json_put_number(json, "peak_activation_bytes",
                            w->costs.value[ITG_METRIC_PEAK_ACTIVATION_BYTES]);
        itg_json_put_text(json, "certificate", w->certificate);
        return;
    }
    itg_json_put_text(json, "name", w->sizes.name);
    itg_json_put_int(json, "macs", w->sizes.macs);
    itg_json_put_int(json, "weight_bytes", w->sizes.weight_bytes);
    itg_json_put_int(json, "constant_bytes", w->sizes.constant_bytes);
    itg_json_put_int(json, "arena_bytes", w->sizes.arena_bytes);
}

static int print_json(const work *w)
{
    itg_json_writer json = {0};
    int32_t count = 0;
    const itg_bound *bounds = itg_program_bounds(written(w), &count);
    itg_json_begin(&json, NULL, '{');
    if (w->model) {
        itg_json_put_text(&json, "model", itg_model_name(w->model));
        itg_json_put_text(&json, "hardware", itg_hardware_name(itg_strategy_hardware(w->file)));
        itg_json_put_text(&json, "strategy", w->args->arguments[1]);
    }
    json_written(w, &json);
    if (w->tiled) {
        itg_json_begin(&json, "tiling", '{');
        itg_json_put_bool(&json, "by_products", w->tiling.by_products);
        itg_json_put_int(&json, "layers", w->tiling.layers);
        itg_json_put_int(&json, "stripes", w->tiling.stripes);
        itg_json_put_int(&json, "whole_bytes", w->tiling.whole_bytes);
        itg_json_put_int(&json, "whole_macs", w->tiling.whole_macs);
        itg_json_put_int(&json, "macs", w->tiling.macs);
        itg_json_end(&json, '}');
    }
    if (target_of(w)) itg_cli_json_memory(&json, target_of(w), &w->costs);
    itg_cli_json_islands(&json, w->program);
    itg_json_begin(&json, "bounds", '[');
    for (int32_t i = 0; i < count; i++) {
        itg_json_begin(&json, NULL, '{');
        itg_json_put_text(&json, "node", itg_program_bound_name(written(w), i));
        itg_json_put_int(&json, "lo", bounds[i].lo);
        itg_json_put_int(&json, "hi", bounds[i].hi);
        itg_json_put_int(&json, "accumulator_bits", bounds[i].acc.bits);
        itg_json_put_bool(&json, "fits", bounds[i].fits);
        itg_json_end(&json, '}');
    }
    itg_json_end(&json, ']');
    if (w->text) itg_json_put_text(&json, "text", w->text);
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

/* Prints the accumulators that might overflow; the user allowed them. */
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

static void print_tiling(const itg_tiling *t)
{
    char a[32];
    const double whole = t->whole_macs > 0 ? (double)t->whole_macs : 1;
    if (t->by_products)
        itg_cli_print_line("products", "of recurrent inputs step by step, for %s bytes less RAM",
                           itg_cli_count_text(t->whole_bytes - t->bytes, a));
    if (t->stripes < 2) return;
    itg_cli_print_line(
        "stripes", "%d of %d layers, for %s bytes less RAM and %+.1f %% multiply-accumulates",
        (int)t->stripes, (int)t->layers, itg_cli_count_text(t->whole_bytes - t->bytes, a),
        100 * (double)(t->macs - t->whole_macs) / whole);
}

static int print_source(const work *w)
{
    char a[32], b[32];
    const char *folder = w->args->values[ITG_CLI_OPT_OUT_PROGRAM].text;
    itg_cli_print_line("source", "%s/%s.h, %s.c, %s_selftest.c", folder, w->sizes.name,
                       w->sizes.name, w->sizes.name);
    itg_cli_print_line("certificate", "%s/%s.cert.json, of %s.itg beside it", folder, w->sizes.name,
                       w->sizes.name);
    itg_cli_print_line("flash", "%s bytes of weights, %s of other constants, and the code",
                       itg_cli_count_text(w->sizes.weight_bytes, a),
                       itg_cli_count_text(w->sizes.constant_bytes, b));
    itg_cli_print_line("RAM", "%s bytes, and the stack",
                       itg_cli_count_text(w->sizes.arena_bytes, a));
    itg_cli_print_line("work", "%s multiply-accumulates", itg_cli_count_text(w->sizes.macs, a));
    print_tiling(&w->tiling);
    return ITG_CLI_OK;
}

static int print_text(const work *w)
{
    char bytes[32];
    int32_t count = 0, fitting = 0;
    const itg_bound *bounds = itg_program_bounds(written(w), &count);
    if (w->text) printf("%s\n", w->text);
    for (int32_t i = 0; i < count; i++)
        fitting += bounds[i].fits;
    if (w->model)
        printf("%s for %s\n", itg_model_name(w->model),
               itg_hardware_name(itg_strategy_hardware(w->file)));
    if (w->c) return print_source(w);
    if (w->qdq) {
        itg_cli_print_qdq(w->report, w->args->values[ITG_CLI_OPT_OUT_PROGRAM].text);
        itg_cli_print_islands(w->program);
        itg_cli_print_changes(w->model);
        return ITG_CLI_OK;
    }
    itg_cli_print_line("program", "%s", w->args->values[ITG_CLI_OPT_OUT_PROGRAM].text);
    itg_cli_print_line("certificate", "%s", w->certificate);
    itg_cli_print_line("bounds", "%d of %d accumulator%s proven not to overflow", (int)fitting,
                       (int)count, itg_plural(count));
    itg_cli_print_line(
        "RAM", "%s bytes on the target",
        itg_cli_count_text((long long)w->costs.value[ITG_METRIC_PEAK_ACTIVATION_BYTES], bytes));
    print_tiling(&w->tiling);
    itg_cli_print_islands(w->program);
    itg_cli_print_changes(w->model);
    return print_overflows(written(w), bounds, count);
}

static int check_usage(work *w)
{
    const itg_cli_args *args = w->args;
    const char *what = args->values[ITG_CLI_OPT_EMIT].text;
    w->c = strcmp(what, "c") == 0;
    w->qdq = strcmp(what, "qdq") == 0;
    if (!w->c && !w->qdq && strcmp(what, "program") != 0)
        return itg_cli_fail_usage(args->command, "--emit %s: expected program, c or qdq", what);
    if (!w->c && args->argument_count == 1)
        return itg_cli_fail_usage(args->command, "STRATEGY is missing (a program alone: --emit c)");
    static const itg_cli_option of_source[] = {ITG_CLI_OPT_EMIT_NAME, ITG_CLI_OPT_EMIT_SAMPLES,
                                               ITG_CLI_OPT_DATA, ITG_CLI_OPT_LIMIT};
    for (size_t i = 0; !w->c && i < sizeof of_source / sizeof *of_source; i++)
        if (args->given[of_source[i]])
            return itg_cli_fail_usage(args->command, "--%s goes with --emit c",
                                      itg_cli_option_spec(of_source[i])->name);
    if (w->qdq && args->given[ITG_CLI_OPT_MAX_RAM])
        return itg_cli_fail_usage(args->command, "--max-ram does not go with --emit qdq");
    if (args->given[ITG_CLI_OPT_LIMIT] && !args->given[ITG_CLI_OPT_DATA])
        return itg_cli_fail_usage(args->command, "--limit goes with --data");
    if (args->argument_count == 1 && args->given[ITG_CLI_OPT_ALLOW_OVERFLOW])
        return itg_cli_fail_usage(args->command,
                                  "--allow-overflow goes with STRATEGY: a program is as it is");
    if (w->certificate == NULL) return itg_cli_fail("no memory for a file name");
    const itg_cli_file certificate = {w->certificate, "the certificate", true};
    return itg_cli_check_files(args, &certificate, !w->c && !w->qdq);
}

static int run(const itg_cli_args *args)
{
    work w = {.args = args,
              .preprocess = itg_preprocess_default(),
              .certificate = itg_certificate_path(args->values[ITG_CLI_OPT_OUT_PROGRAM].text)};
    itg_error err = {0};
    int result = check_usage(&w);
    if (result == ITG_CLI_OK && work_all(&w, &err) != ITG_OK)
        result = w.misused ? itg_cli_fail_usage(args->command, "%s", err.message)
                           : itg_cli_fail_error(&err);
    else if (result == ITG_CLI_OK)
        result = args->given[ITG_CLI_OPT_JSON] ? print_json(&w) : print_text(&w);
    if (result == ITG_CLI_OK && target_of(&w)) itg_cli_warn_memory(target_of(&w), &w.costs);
    itg_qdq_report_destroy(w.report);
    itg_cli_data_close(&w.data);
    itg_free(w.certificate);
    itg_free(w.text);
    itg_program_destroy(w.tiled);
    itg_program_destroy(w.program);
    itg_hardware_destroy(w.target);
    itg_annotated_destroy(w.annotated);
    itg_strategy_close(w.file);
    itg_model_close(w.model);
    return result;
}

const itg_cli_command itg_cli_realize = {
    .name = "realize",
    .summary = "Turns a model and a strategy into an integer program, and proves its bounds",
    .usage = "MODEL STRATEGY -o FILE [--max-ram B] [--allow-overflow] [--print]\n"
             "MODEL STRATEGY --emit qdq -o FILE [--allow-overflow] [--print]\n"
             "MODEL STRATEGY --emit c -o DIR [--name NAME] [--data X] [--samples N] [...]\n"
             "PROGRAM --emit c -o DIR [--name NAME] [--max-ram B] [--data X] [...]",
    .details =
        "FILE is an ONNX file with operators of its own, complete in itself: 'intaglio run' needs "
        "nothing else.\nFILE.cert.json is its certificate, for 'intaglio verify'.\n"
        "An accumulator that might overflow is refused, unless --allow-overflow is given.\n"
        "\n"
        "--emit c writes freestanding C99 into DIR: NAME.h, NAME.c and NAME_selftest.c, of a model "
        "and its\n"
        "strategy or of a program that stands already. Weights keep their bit width; no floating "
        "point, no\n"
        "heap, no library. The self-test prints the digest that this engine gives for its "
        "samples.\n"
        "\n"
        "--max-ram computes as many of the first layers as it takes by stripes of rows: the same "
        "codes in less\n"
        "memory, and more work.\n"
        "\n"
        "--emit qdq writes a model of standard ONNX operators with QuantizeLinear and "
        "DequantizeLinear, for\n"
        "ONNX Runtime and others that run such models, and lists the nodes where their arithmetic "
        "differs.",
    .min_arguments = 1,
    .max_arguments = 2,
    .arguments = {"MODEL", "STRATEGY"},
    .required = {ITG_CLI_OPT_OUT_PROGRAM},
    .required_count = 1,
    .options = {ITG_CLI_OPT_OUT_PROGRAM, ITG_CLI_OPT_ALLOW_OVERFLOW, ITG_CLI_OPT_PRINT,
                ITG_CLI_OPT_EMIT, ITG_CLI_OPT_EMIT_NAME, ITG_CLI_OPT_EMIT_SAMPLES, ITG_CLI_OPT_DATA,
                ITG_CLI_OPT_LIMIT, ITG_CLI_OPT_MAX_RAM, ITG_CLI_PREPROCESS},
    .run = run,
};
