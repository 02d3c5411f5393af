#include "cli/common.h"
#include "cli/table.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

void itg_cli_append(char *out, size_t size, const char *format, ...)
{
    size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + used, size - used, format, arguments);
    va_end(arguments);
}

const char *itg_cli_shape(const itg_shape *shape, char *buffer, size_t size)
{
    snprintf(buffer, size, "[");
    for (int32_t i = 0; i < shape->rank; i++)
        itg_cli_append(buffer, size, "%s%" PRId64, i > 0 ? "," : "", shape->dims[i]);
    itg_cli_append(buffer, size, "]");
    return buffer;
}

bool itg_cli_ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

bool itg_cli_is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* ---- data ---- */

const itg_shape *itg_cli_model_input(const itg_model *model)
{
    return model && itg_model_input_count(model) == 1 ? itg_model_input_shape(model, 0) : NULL;
}

const itg_shape *itg_cli_program_input(const itg_program *program)
{
    return program && itg_program_input_count(program) == 1 ? itg_program_input_shape(program, 0)
                                                            : NULL;
}

const char *itg_cli_data_text(const itg_shape *input, const char *text,
                              char buffer[ITG_CLI_DATA_TEXT])
{
    if (!input || input->rank != 4 || strlen(text) > ITG_CLI_DATA_TEXT - 64 ||
        !itg_cli_is_folder(text))
        return text;
    for (int32_t i = 1; i < 4; i++)
        if (input->dims[i] < 1) return text;
    snprintf(buffer, ITG_CLI_DATA_TEXT, "%s:%" PRId64 "x%" PRId64 "x%" PRId64, text, input->dims[1],
             input->dims[2], input->dims[3]);
    return buffer;
}

itg_status itg_cli_data_open_files(const itg_shape *input, const char *data, const char *labels,
                                   int64_t limit, itg_cli_data *out, itg_error *err)
{
    itg_cli_data opened = {0};
    char sized[ITG_CLI_DATA_TEXT], classes[ITG_CLI_DATA_TEXT];
    data = itg_cli_data_text(input, data, sized);
    if (labels && itg_cli_is_folder(labels)) {
        snprintf(classes, sizeof classes, "%s:classes", labels);
        labels = classes;
    }
    itg_status status = itg_data_open(data, limit, &opened.samples, err);
    if (status == ITG_OK && labels) status = itg_data_open(labels, limit, &opened.labels, err);
    if (status == ITG_OK)
        *out = opened;
    else
        itg_cli_data_close(&opened);
    return status;
}

itg_model_options itg_cli_model_options(const itg_cli_args *args)
{
    const itg_cli_value *values = args->values;
    itg_model_options options = {ITG_MODEL_OPTIONS_VERSION,
                                 .no_equalize = args->given[ITG_CLI_OPT_NO_EQUALIZE],
                                 .keep_softmax = args->given[ITG_CLI_OPT_KEEP_SOFTMAX]};
    snprintf(options.input_shapes, ITG_MODEL_TEXT, "%s",
             values[ITG_CLI_OPT_INPUT_SHAPE].model_text);
    snprintf(options.outputs, ITG_MODEL_TEXT, "%s", values[ITG_CLI_OPT_OUTPUTS].model_text);
    return options;
}

itg_status itg_cli_model_open(const itg_cli_args *args, const char *path, const char *strategy,
                              itg_model **out, itg_error *err)
{
    itg_model_options options = itg_cli_model_options(args);
    itg_status status = strategy ? itg_strategy_model_options(strategy, &options, err) : ITG_OK;
    if (status == ITG_OK) status = itg_model_open(path, &options, out, err);
    if (status != ITG_OK) return status;
    status = itg_cli_keep_data_files(args, *out, err);
    if (status == ITG_OK) return ITG_OK;
    itg_model_close(*out);
    *out = NULL;
    return status;
}

int64_t itg_cli_calibration_limit(const itg_cli_args *args, const itg_model *model)
{
    return args->given[ITG_CLI_OPT_CALIB_LIMIT] ? args->values[ITG_CLI_OPT_CALIB_LIMIT].integer
                                                : itg_default_samples(model);
}

itg_status itg_cli_data_open(const itg_cli_args *args, const itg_shape *input, itg_cli_data *out,
                             itg_error *err)
{
    return itg_cli_data_open_files(input, args->values[ITG_CLI_OPT_DATA].text,
                                   args->values[ITG_CLI_OPT_LABELS].text,
                                   args->values[ITG_CLI_OPT_LIMIT].integer, out, err);
}

itg_status itg_cli_data_part(const itg_cli_args *args, const itg_split_info *split,
                             itg_cli_data *data, itg_error *err)
{
    itg_error why = {0};
    itg_cli_data part = {0};
    if (!args->given[ITG_CLI_OPT_PART]) return ITG_OK;
    itg_split_part which = args->values[ITG_CLI_OPT_PART].part;
    itg_status status = itg_data_part(data->samples, split, which, &part.samples, &why);
    if (status == ITG_OK && data->labels)
        status = itg_data_part(data->labels, split, which, &part.labels, &why);
    if (status != ITG_OK)
        return itg_fail(err, status, "%.200s: %s", args->arguments[args->argument_count - 1],
                        why.message);
    itg_cli_data_close(data);
    *data = part;
    return ITG_OK;
}

void itg_cli_data_close(itg_cli_data *data)
{
    itg_data_close(data->samples);
    itg_data_close(data->labels);
    *data = (itg_cli_data){0};
}

static void take_list(const itg_cli_args *args, itg_cli_option option, float *values,
                      int32_t *count)
{
    const itg_cli_value *value = &args->values[option];
    if (!args->given[option]) return;
    memcpy(values, value->numbers.values, sizeof(float) * (size_t)value->numbers.count);
    *count = value->numbers.count;
}

void itg_cli_preprocess(const itg_cli_args *args, itg_preprocess *p)
{
    if (args->given[ITG_CLI_OPT_BGR]) p->bgr = true;
    if (args->given[ITG_CLI_OPT_NHWC]) p->layout = ITG_SAMPLES_NCHW;
    if (args->given[ITG_CLI_OPT_LAYOUT]) p->layout = args->values[ITG_CLI_OPT_LAYOUT].layout;
    if (args->given[ITG_CLI_OPT_ALLOW_NONFINITE]) p->allow_nonfinite = true;
    if (args->given[ITG_CLI_OPT_SCALE])
        p->scale = args->values[ITG_CLI_OPT_SCALE].numbers.values[0];
    take_list(args, ITG_CLI_OPT_MEAN, p->mean, &p->mean_count);
    take_list(args, ITG_CLI_OPT_STD, p->std, &p->std_count);
    if (args->given[ITG_CLI_OPT_PREPROCESS])
        snprintf(p->inputs, sizeof p->inputs, "%s", args->values[ITG_CLI_OPT_PREPROCESS].text);
}

/* ---- scores ---- */

void itg_cli_interval(double share, int64_t samples, double *lo, double *hi)
{
    const double z = 1.959963984540054, n = (double)samples;
    double middle = (share + z * z / (2 * n)) / (1 + z * z / n);
    double half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
    *lo = middle - half;
    *hi = middle + half;
}

double itg_cli_float_bytes(const itg_score *quantized)
{
    double bits = quantized->value[ITG_METRIC_AVERAGE_WEIGHT_BITS];
    double elements = quantized->value[ITG_METRIC_WEIGHT_BYTES] * 8 / bits;
    return bits > 0 && elements >= 0 ? 4 * floor(elements + 0.5) : (double)NAN;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

itg_cli_drop itg_cli_drop_of(const itg_score *floats, const itg_score *score)
{
    itg_cli_drop d;
    if (!itg_score_knows(floats, ITG_METRIC_TOP1) || !itg_score_knows(score, ITG_METRIC_TOP1)) {
        d.drop = d.lo = d.hi = NAN;
        if (!itg_score_knows(score, ITG_METRIC_AGREEMENT)) return d;
        d.drop = 1 - score->value[ITG_METRIC_AGREEMENT];
        itg_cli_interval(d.drop, score->samples, &d.lo, &d.hi);
        return d;
    }
    const double z = 1.959963984540054, n = (double)score->samples + 2;
    double p = floats->value[ITG_METRIC_TOP1], q = score->value[ITG_METRIC_TOP1];
    double differing = least(p, 1 - q) + least(q, 1 - p);
    if (score->value[ITG_METRIC_AGREEMENT] >= 0)
        differing = least(differing, 1 - score->value[ITG_METRIC_AGREEMENT]);
    double pairs = differing * (double)score->samples + 1; /* half a pair added to each kind */
    double middle = (p - q) * (double)score->samples / n;
    double half = z * sqrt((pairs - middle * middle * n) / n / n);
    d.drop = p - q;
    d.lo = middle - half;
    d.hi = middle + half;
    return d;
}

void itg_cli_json_interval(itg_json_writer *json, const char *key, double share, int64_t samples)
{
    double lo, hi;
    if (!(share >= 0) || samples <= 0) {
        itg_json_put_null(json, key);
        return;
    }
    itg_cli_interval(share, samples, &lo, &hi);
    itg_cli_json_pair(json, key, lo, hi);
}

void itg_cli_json_quality(itg_json_writer *json, const itg_score *score)
{
    for (int m = 0; m < ITG_METRIC_COUNT; m++) {
        const itg_metric_info about = itg_score_about(score, (itg_metric)m);
        if (!itg_metric_is_cost((itg_metric)m) && !isnan(score->value[m]))
            itg_json_put_number(json, about.name, score->value[m]);
    }
    if (itg_score_knows(score, ITG_METRIC_TOP1))
        itg_cli_json_interval(json, "interval", score->value[ITG_METRIC_TOP1], score->samples);
    itg_json_put_hash(json, "digest", score->digest);
}

void itg_cli_json_score(itg_json_writer *json, const itg_score *score)
{
    char digest[ITG_CLI_HEX];
    bool stopped = score->stopped_at > 0;
    itg_json_put_int(json, "samples", score->samples);
    itg_cli_json_metrics(json, "", score, ITG_CLI_METRICS);
    itg_cli_json_interval(json, "interval", stopped ? (double)NAN : score->value[ITG_METRIC_TOP1],
                          score->samples);
    itg_json_put_text(json, "digest", stopped ? NULL : itg_sha256_hex(score->digest, digest));
}

void itg_cli_json_islands(itg_json_writer *json, const itg_program *program)
{
    itg_json_begin(json, "float_islands", '[');
    for (int32_t i = 0; i < itg_program_float_island_count(program); i++)
        itg_json_put_text(json, NULL, itg_program_float_island(program, i));
    itg_json_end(json, ']');
}

void itg_cli_print_islands(const itg_program *program)
{
    enum { SHOWN = 8 };
    int32_t count = itg_program_float_island_count(program);
    for (int32_t i = 0; i < count && i < SHOWN; i++)
        itg_cli_print_line(i == 0 ? "in float" : "", "%s", itg_program_float_island(program, i));
    if (count > SHOWN)
        itg_cli_print_line("", "and %d more; --json lists all", (int)(count - SHOWN));
}

void itg_cli_print_line(const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("  %-12s ", name);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

const char *itg_cli_trial_kinds(int64_t duplicates, int64_t raced, char *out, size_t size)
{
    char count[32];
    *out = '\0';
    if (duplicates > 0)
        itg_cli_append(out, size, ", %s duplicate%s",
                       itg_cli_count_text((long long)duplicates, count), itg_plural(duplicates));
    if (raced > 0)
        itg_cli_append(out, size, ", %s stopped early",
                       itg_cli_count_text((long long)raced, count));
    return out;
}

static void print_costs(const itg_score *score)
{
    char text[32];
    const char *name = "costs";
    for (int m = 0; m < ITG_METRIC_COUNT; m++) {
        const itg_metric_info about = itg_score_about(score, (itg_metric)m);
        if (!itg_metric_is_cost((itg_metric)m) || isnan(score->value[m])) continue;
        itg_cli_print_line(name, "%s %s", itg_cli_unit_text(about.unit, score->value[m], text),
                           about.words);
        name = "";
    }
}

void itg_cli_print_score(const itg_score *score)
{
    char text[ITG_CLI_HEX];
    double lo, hi;
    for (int m = 0; m < ITG_METRIC_COUNT; m++) {
        const itg_metric_info about = itg_score_about(score, (itg_metric)m);
        double value = score->value[m];
        if (isnan(value)) continue;
        itg_cli_interval(value, score->samples, &lo, &hi);
        if (about.unit == ITG_UNIT_SHARE && about.needs != ITG_NEEDS_USER &&
            !itg_metric_is_of_set((itg_metric)m))
            itg_cli_print_line(about.words, "%.2f %%   (95 %% interval %.2f to %.2f)", 100 * value,
                               100 * lo, 100 * hi);
        else if (m == ITG_METRIC_DISTORTION && value <= 0)
            itg_cli_print_line("SQNR", "exact: the outputs are the float network's");
        else if (m == ITG_METRIC_DISTORTION)
            itg_cli_print_line(
                "SQNR", "%s   of the outputs, against the float network's",
                itg_cli_unit_text(ITG_UNIT_DECIBELS, itg_score_get(score, ITG_METRIC_SQNR), text));
        else if (!itg_metric_is_cost((itg_metric)m))
            itg_cli_print_line(about.words, "%s", itg_cli_unit_text(about.unit, value, text));
    }
    print_costs(score);
    itg_cli_print_line("digest", "%s", itg_sha256_hex(score->digest, text));
}

void itg_cli_print_changes(const itg_model *model)
{
    if (itg_model_quantized(model))
        puts("The file quantizes it already: ranges are kept for the same widths, and nothing is "
             "rounded\n"
             "before --hw says how.");
    if (itg_model_narrowed(model)) puts("Its float64 numbers were rounded to float32.");
    if (itg_model_left_labels_out(model))
        puts("Its output of class labels was left out: the scores are judged (--outputs NAME keeps "
             "it).");
    if (itg_model_dropped_softmax(model))
        puts("The trailing Softmax was left off: the outputs are logits.");
}

double itg_cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void itg_cli_note_hardware(const itg_hardware *hw, const itg_model *model, const char *file)
{
    char *notes = NULL;
    if (itg_hardware_notes_text(hw, model, &notes, NULL) != ITG_OK) return;
    for (const char *line = notes; *line; line += strcspn(line, "\n") + 1)
        fprintf(stderr, "intaglio: note: %s: %.*s\n", file, (int)strcspn(line, "\n"), line);
    itg_free(notes);
}

void itg_cli_note_kernels(itg_float_kernels kernels)
{
    if (kernels != ITG_FLOAT_REFERENCE)
        fprintf(stderr,
                "intaglio: note: the float network runs by %s: statistics, and what follows from "
                "them, repeat on this machine only\n",
                itg_float_kernels_name(kernels));
}
