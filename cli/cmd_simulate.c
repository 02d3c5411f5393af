/* intaglio simulate: simulates a strategy on a data set. The strategy is read from a file or made
 * with uniform widths. */
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/memory.h"
#include "cli/metric.h"
#include "cli/metric_command.h"
#include "cli/table.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* State of one call. `file` is made from strategy options or read from a strategy file. */
typedef struct work {
    const itg_cli_args *args;
    itg_model *model;
    itg_hardware *hw;
    itg_stats *stats;
    itg_strategy_file *file;
    itg_cli_data data;
    itg_cli_metric *metric;
    itg_score score;
    double *distortion; /* of each output; NULL: there is one alone */
    char *graph;        /* --print */
} work;

/* Options that a strategy file fixes. The first ones also apply to a float network. */
enum { NETWORK_OPTIONS = 4 };
static const itg_cli_option strategy_options[] = {ITG_CLI_OPT_HW,
                                                  ITG_CLI_OPT_INPUT_SHAPE,
                                                  ITG_CLI_OPT_OUTPUTS,
                                                  ITG_CLI_OPT_KEEP_SOFTMAX,
                                                  ITG_CLI_OPT_CALIB,
                                                  ITG_CLI_OPT_CALIB_LIMIT,
                                                  ITG_CLI_OPT_WEIGHT_WIDTH,
                                                  ITG_CLI_OPT_ACTIVATION_WIDTH,
                                                  ITG_CLI_OPT_INPUT_WIDTH,
                                                  ITG_CLI_OPT_OUTPUT_WIDTH,
                                                  ITG_CLI_OPT_FLOAT_KERNELS,
                                                  ITG_CLI_OPT_THRESHOLD,
                                                  ITG_CLI_OPT_WEIGHT_THRESHOLD,
                                                  ITG_CLI_OPT_RECOVER,
                                                  ITG_CLI_OPT_RECOVER_SECONDS,
                                                  ITG_CLI_OPT_NO_EQUALIZE};

/* Checks which options go together. */
static int check_options(const itg_cli_args *args)
{
    bool uniform = args->given[ITG_CLI_OPT_UNIFORM];
    if (uniform && args->argument_count == 2)
        return itg_cli_fail_usage(args->command,
                                  "--uniform makes a strategy, and %s is one: give one of them",
                                  args->arguments[1]);
    if (!uniform && args->argument_count == 1 && args->given[ITG_CLI_OPT_HW])
        return ITG_CLI_OK; /* of a float target, as is seen when it is loaded */
    if (!uniform && args->argument_count == 1)
        return itg_cli_fail_usage(args->command,
                                  "a strategy is missing: a file, or --uniform BITS");
    if (uniform && !args->given[ITG_CLI_OPT_HW])
        return itg_cli_fail_usage(args->command, "--hw T is missing: the hardware to quantize for");
    for (size_t i = 0; !uniform && i < sizeof strategy_options / sizeof *strategy_options; i++)
        if (args->given[strategy_options[i]])
            return itg_cli_fail_usage(args->command,
                                      "--%s goes with --uniform; a strategy file says it itself",
                                      itg_cli_option_spec(strategy_options[i])->name);
    return ITG_CLI_OK;
}

static void note(const itg_cli_args *args, itg_cli_option option)
{
    if (args->given[option])
        fprintf(stderr, "intaglio: note: --%s has no effect on a float target\n",
                itg_cli_option_spec(option)->name);
}

/* Notes options without effect: with a float target the float network runs, not quantized. */
static void note_no_effect(const itg_cli_args *args)
{
    for (size_t i = NETWORK_OPTIONS; i < sizeof strategy_options / sizeof *strategy_options; i++)
        note(args, strategy_options[i]);
    note(args, ITG_CLI_OPT_DEFINITION);
}

/* Loads the hardware that a strategy is made for. Returns an exit status. */
static int load_hardware(work *w)
{
    const itg_cli_args *args = w->args;
    itg_error err = {0};
    if (itg_hardware_load(args->values[ITG_CLI_OPT_HW].text, &w->hw, &err) != ITG_OK)
        return itg_cli_fail_error(&err);
    int result = ITG_CLI_OK;
    if (itg_hardware_all_float(w->hw))
        note_no_effect(args);
    else if (!args->given[ITG_CLI_OPT_UNIFORM])
        result = itg_cli_fail_usage(
            args->command, "a strategy is missing: a file, or --uniform BITS (or --hw float)");
    else if (!args->given[ITG_CLI_OPT_CALIB])
        result = itg_cli_fail_usage(
            args->command, "--calib C is missing: samples to find the ranges of values on");
    if (result != ITG_CLI_OK) itg_hardware_destroy(w->hw);
    return result;
}

static itg_status calibrate(work *w, const itg_preprocess *p, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    const itg_calibrate_options options = {ITG_CALIBRATE_OPTIONS_VERSION,
                                           .kernels = values[ITG_CLI_OPT_FLOAT_KERNELS].kernels,
                                           .threads = (int)values[ITG_CLI_OPT_THREADS].integer};
    itg_data_stream *stream = NULL;
    char text[ITG_CLI_DATA_TEXT];
    itg_status status = itg_data_stream_open(
        itg_cli_data_text(itg_cli_model_input(w->model), values[ITG_CLI_OPT_CALIB].text, text),
        itg_cli_calibration_limit(w->args, w->model), &stream, err);
    if (status != ITG_OK) return status;
    itg_cli_note_kernels(options.kernels);
    status = itg_calibrate_stream(w->model, stream, p, &options, &w->stats, err);
    itg_data_stream_close(stream);
    return status;
}

/* Notes widths that were requested but that the hardware does not have. */
static void note_widths(const itg_strategy_file *file, const char *what, bool weights,
                        int32_t asked)
{
    itg_bits_range got = itg_strategy_bits(file, weights);
    if (got.min == 0 || (got.min == asked && got.max == asked)) return;
    fprintf(stderr, "intaglio: note: %s of %d bits were asked for; the hardware gives %d", what,
            asked, got.min);
    if (got.max != got.min) fprintf(stderr, " to %d", got.max);
    fputc('\n', stderr);
}

/* ---- codes of weights ---- */

/* The time limit, and the progress so far. */
typedef struct pace {
    double end; /* by itg_cli_now; 0: no limit */
    int32_t done, layers;
    atomic_bool ended;
} pace;

static bool is_enough(void *context)
{
    pace *p = context;
    if (itg_cli_is_interrupted() || (p->end > 0 && itg_cli_now() >= p->end)) p->ended = true;
    return p->ended;
}

static void show_layer(void *context, int32_t layer, int32_t layers)
{
    pace *p = context;
    p->done = layer;
    p->layers = layers;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rintaglio: codes of weights, layer %d of %d", layer + 1, layers);
}

static void note_codes(const pace *p, itg_recover_mode mode, bool taken)
{
    if (p->layers > 0 && isatty(STDERR_FILENO)) fputc('\n', stderr);
    if (p->ended)
        fprintf(stderr,
                "intaglio: note: %d of %d layers had their codes chosen; the others keep the "
                "nearest ones\n",
                p->done, p->layers);
    else if (mode == ITG_RECOVER_AUTO && p->layers > 0 && !taken)
        fputs("intaglio: note: chosen codes bring the outputs no nearer to the float network's: "
              "the nearest codes stay\n",
              stderr);
}

static itg_status recover(work *w, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    pace p = {.end = w->args->given[ITG_CLI_OPT_RECOVER_SECONDS]
                         ? itg_cli_now() + values[ITG_CLI_OPT_RECOVER_SECONDS].number
                         : 0};
    itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION,
                                   .mode = values[ITG_CLI_OPT_RECOVER].recover,
                                   .threads = (int)values[ITG_CLI_OPT_THREADS].integer,
                                   .enough = is_enough,
                                   .progress = show_layer,
                                   .context = &p};
    itg_dataset *data = NULL;
    bool taken = false;
    char text[ITG_CLI_DATA_TEXT];
    itg_cli_catch_interrupts();
    options.most_samples = itg_cli_calibration_limit(w->args, w->model);
    itg_status status = itg_data_open(
        itg_cli_data_text(itg_cli_model_input(w->model), values[ITG_CLI_OPT_CALIB].text, text),
        options.most_samples + itg_compared_samples(options.most_samples), &data, err);
    options.data = data;
    if (status == ITG_OK) status = itg_strategy_recover(w->file, w->model, &options, &taken, err);
    if (status == ITG_OK) note_codes(&p, options.mode, taken);
    itg_data_close(data);
    return status;
}

static int32_t width_or(const itg_cli_args *args, itg_cli_option option, int32_t otherwise)
{
    return args->given[option] ? (int32_t)args->values[option].integer : otherwise;
}

static itg_status make_strategy(work *w, itg_error *err)
{
    const itg_cli_args *args = w->args;
    const itg_cli_value *values = args->values;
    int32_t bits = (int32_t)values[ITG_CLI_OPT_UNIFORM].integer;
    itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION,
                                   .weight_bits = width_or(args, ITG_CLI_OPT_WEIGHT_WIDTH, bits),
                                   .activation_bits =
                                       width_or(args, ITG_CLI_OPT_ACTIVATION_WIDTH, bits),
                                   .input_bits = width_or(args, ITG_CLI_OPT_INPUT_WIDTH, 0),
                                   .output_bits = width_or(args, ITG_CLI_OPT_OUTPUT_WIDTH, 0),
                                   .activation_method = values[ITG_CLI_OPT_THRESHOLD].threshold,
                                   .weight_method = values[ITG_CLI_OPT_WEIGHT_THRESHOLD].threshold};
    itg_preprocess p = itg_preprocess_default();
    itg_cli_preprocess(args, &p);
    itg_status status = itg_hardware_all_float(w->hw) ? ITG_OK : calibrate(w, &p, err);
    if (status != ITG_OK) return status;
    status = itg_uniform_strategy(w->model, w->hw, &p, w->stats, NULL, &options, &w->file, err);
    if (status == ITG_OK && !itg_hardware_all_float(w->hw)) status = recover(w, err);
    if (status != ITG_OK) return status;
    itg_cli_note_hardware(w->hw, w->model, values[ITG_CLI_OPT_HW].text);
    note_widths(w->file, "weights", true, options.weight_bits);
    if (options.input_bits == 0 && options.output_bits == 0)
        note_widths(w->file, "activations", false, options.activation_bits);
    return ITG_OK;
}

static itg_status open_strategy(work *w, itg_error *err)
{
    itg_status status = itg_strategy_open(w->model, w->args->arguments[1], &w->file, err);
    if (status == ITG_OK) itg_cli_preprocess(w->args, itg_strategy_preprocess(w->file));
    return status;
}

static itg_status print_graph(work *w, itg_error *err)
{
    itg_annotated *annotated = NULL;
    if (itg_hardware_all_float(itg_strategy_hardware(w->file)))
        return itg_model_print(w->model, &w->graph, err);
    itg_status status = itg_annotate_strategy(w->model, w->file, &annotated, err);
    if (status == ITG_OK) status = itg_annotated_text(annotated, &w->graph, err);
    itg_annotated_destroy(annotated);
    return status;
}

/* Computes the distortion of each output if there are several. */
static itg_status make_distortions(work *w, itg_error *err)
{
    int32_t count = itg_model_output_count(w->model);
    if (count < 2) return ITG_OK;
    w->distortion = calloc((size_t)count, sizeof *w->distortion);
    return w->distortion ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for %d outputs", count);
}

static itg_status simulate(work *w, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    const char *path = values[ITG_CLI_OPT_OUT_STRATEGY].text;
    const char *strategy = w->args->argument_count == 2 ? w->args->arguments[1] : NULL;
    itg_status status =
        itg_cli_model_open(w->args, w->args->arguments[0], strategy, &w->model, err);
    if (status == ITG_OK)
        status = itg_cli_data_open(w->args, itg_cli_model_input(w->model), &w->data, err);
    if (status == ITG_OK) status = w->hw ? make_strategy(w, err) : open_strategy(w, err);
    itg_split_info split = status == ITG_OK ? itg_strategy_split(w->file) : (itg_split_info){0};
    if (status == ITG_OK) status = itg_cli_data_part(w->args, &split, &w->data, err);
    if (status == ITG_OK && w->args->given[ITG_CLI_OPT_PRINT]) status = print_graph(w, err);
    if (status == ITG_OK) status = itg_cli_metric_open(w->args, w->model, NULL, &w->metric, err);
    bool measures[ITG_METRIC_ALL] = {false};
    measures[itg_cli_metric_named(w->args)] = true;
    if (status == ITG_OK) status = make_distortions(w, err);
    const itg_simulate_options options = {ITG_SIMULATE_OPTIONS_VERSION,
                                          .output_distortion = w->distortion,
                                          .labels = w->data.labels,
                                          .user = itg_cli_metric_users(w->metric),
                                          .measures = measures,
                                          .with_agreement = true,
                                          .threads = (int)values[ITG_CLI_OPT_THREADS].integer,
                                          .definition = w->args->given[ITG_CLI_OPT_DEFINITION]};
    if (status == ITG_OK)
        status = itg_simulate(w->model, w->file, w->data.samples, &options, &w->score, err);
    if (status == ITG_OK) status = itg_cli_metric_failure(w->metric, err);
    if (status == ITG_OK)
        status = itg_cli_metric_known(w->args, &w->score, itg_model_name(w->model),
                                      w->data.labels != NULL, err);
    if (status == ITG_OK && path) status = itg_strategy_save(w->file, w->model, path, err);
    return status;
}

/* ---- results ---- */

/* Writes member "outputs": the SQNR of each; null if not known, "exact" if infinite. */
static void json_outputs(itg_json_writer *json, const work *w)
{
    if (!w->distortion) return;
    itg_json_begin(json, "outputs", '[');
    for (int32_t i = 0; i < itg_model_output_count(w->model); i++) {
        itg_json_begin(json, NULL, '{');
        itg_json_put_text(json, "name", itg_model_output_name(w->model, i));
        itg_json_put_number(json, "sqnr_db", itg_sqnr_of(w->distortion[i]));
        itg_json_put_bool(json, "exact", w->distortion[i] == 0);
        itg_json_end(json, '}');
    }
    itg_json_end(json, ']');
}

/* Prints the outputs in a table, which replaces control characters in names from files. */
static int print_outputs(const work *w)
{
    itg_cli_table table;
    if (!w->distortion) return ITG_CLI_OK;
    putchar('\n');
    itg_cli_table_init(&table, "lr");
    itg_cli_table_texts(&table, "output", "SQNR", NULL);
    for (int32_t i = 0; i < itg_model_output_count(w->model); i++) {
        double db = itg_sqnr_of(w->distortion[i]);
        itg_cli_table_cell(&table, "%s", itg_model_output_name(w->model, i));
        itg_cli_table_cell(&table, isnan(db) ? "-" : isinf(db) ? "exact" : "%.2f dB", db);
    }
    return itg_cli_table_print(&table);
}

/* Returns what ran. */
static const char *runner(const work *w)
{
    if (itg_hardware_all_float(itg_strategy_hardware(w->file))) return "float network";
    return w->args->given[ITG_CLI_OPT_DEFINITION] ? "definition" : "executor";
}

static int print_json(const work *w, const char *path)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "model", itg_model_name(w->model));
    itg_json_put_text(&json, "hardware", itg_hardware_name(itg_strategy_hardware(w->file)));
    itg_json_put_text(&json, "strategy",
                      path                           ? path
                      : w->args->argument_count == 2 ? w->args->arguments[1]
                                                     : NULL);
    itg_json_put_text(&json, "run_by", runner(w));
    itg_json_put_text(&json, "judged_by",
                      itg_score_about(&w->score, itg_cli_metric_judging(w->args, &w->score)).name);
    itg_cli_json_score(&json, &w->score);
    json_outputs(&json, w);
    itg_cli_json_memory(&json, itg_strategy_hardware(w->file), &w->score);
    if (w->graph) itg_json_put_text(&json, "graph", w->graph);
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

static int print_text(const work *w, const char *path)
{
    if (w->graph) printf("%s\n", w->graph);
    printf("%s on %s, %lld sample%s, by the %s\n", itg_model_name(w->model),
           itg_hardware_name(itg_strategy_hardware(w->file)), (long long)w->score.samples,
           itg_plural(w->score.samples), runner(w));
    itg_cli_print_metric(w->args, &w->score);
    itg_cli_print_score(&w->score);
    if (path) itg_cli_print_line("strategy", "%s", path);
    itg_cli_print_changes(w->model);
    return print_outputs(w);
}

static void deinit(work *w)
{
    itg_free(w->graph);
    free(w->distortion);
    itg_cli_metric_close(w->metric);
    itg_strategy_close(w->file);
    itg_stats_destroy(w->stats);
    itg_cli_data_close(&w->data);
    itg_hardware_destroy(w->hw);
    itg_model_close(w->model);
}

static int run(const itg_cli_args *args)
{
    work w = {.args = args};
    itg_error err = {0};
    const char *path = args->values[ITG_CLI_OPT_OUT_STRATEGY].text;
    int result = check_options(args);
    if (result == ITG_CLI_OK) result = itg_cli_metric_check(args);
    if (result == ITG_CLI_OK) result = itg_cli_metric_name_check(args);
    if (result != ITG_CLI_OK) return result;
    if (args->argument_count == 1) result = load_hardware(&w);
    if (result != ITG_CLI_OK) return result;
    if (simulate(&w, &err) != ITG_OK)
        result = itg_cli_fail_error(&err);
    else
        result = args->given[ITG_CLI_OPT_JSON] ? print_json(&w, path) : print_text(&w, path);
    if (result == ITG_CLI_OK) itg_cli_warn_memory(itg_strategy_hardware(w.file), &w.score);
    deinit(&w);
    return result;
}

const itg_cli_command itg_cli_simulate = {
    .name = "simulate",
    .summary = "Runs a quantized network on samples, and compares it with the float one",
    .usage =
        "MODEL --uniform BITS --hw T --calib C --data X [--labels Y] [-o strategy.json] [...]\n"
        "MODEL STRATEGY --data X [--labels Y] [...]\n"
        "MODEL --hw float --data X [--labels Y]",
    .details = "The result is the deployed program's own, bit for bit: 'intaglio run' gives the "
               "same digest. The\n"
               "executor runs the program that 'realize' would write; --definition shows that it "
               "does what\n"
               "docs/arithmetic.md states. With --hw float the float network itself runs. "
               "Preprocessing is kept in\n"
               "the strategy; where a strategy is read, the options given here replace what it "
               "says.",
    .min_arguments = 1,
    .max_arguments = 2,
    .arguments = {"MODEL", "STRATEGY"},
    .required = {ITG_CLI_OPT_DATA},
    .required_count = 1,
    .options = {ITG_CLI_OPT_UNIFORM,
                ITG_CLI_OPT_WEIGHT_WIDTH,
                ITG_CLI_OPT_ACTIVATION_WIDTH,
                ITG_CLI_OPT_INPUT_WIDTH,
                ITG_CLI_OPT_OUTPUT_WIDTH,
                ITG_CLI_OPT_HW,
                ITG_CLI_OPT_CALIB,
                ITG_CLI_OPT_CALIB_LIMIT,
                ITG_CLI_OPT_FLOAT_KERNELS,
                ITG_CLI_OPT_THRESHOLD,
                ITG_CLI_OPT_WEIGHT_THRESHOLD,
                ITG_CLI_OPT_RECOVER,
                ITG_CLI_OPT_RECOVER_SECONDS,
                ITG_CLI_OPT_DEFINITION,
                ITG_CLI_OPT_DATA,
                ITG_CLI_OPT_LABELS,
                ITG_CLI_OPT_LIMIT,
                ITG_CLI_PREPROCESS,
                ITG_CLI_OPT_OUT_STRATEGY,
                ITG_CLI_OPT_INPUT_SHAPE,
                ITG_CLI_OPT_OUTPUTS,
                ITG_CLI_OPT_KEEP_SOFTMAX,
                ITG_CLI_OPT_NO_EQUALIZE,
                ITG_CLI_OPT_PRINT,
                ITG_CLI_OPT_PART,
                ITG_CLI_OPT_METRIC,
                ITG_CLI_METRIC},
    .run = run,
};
