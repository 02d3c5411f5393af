/* intaglio init: looks at a folder, tries the common preprocessings against the labels, and writes
 * intaglio.toml. */
#include "base/base.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/project.h"
#include "cli/table.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_NAMES = 4096, TRIED_SAMPLES = 256, LAYOUTS = 3 };

/* Common preprocessings: the values of --bgr, --scale, --mean and --std; NULL: option not given. */
static const struct preset {
    const char *name;
    bool bgr;
    const char *scale, *mean, *std;
} presets[] = {
    {"as it is", false, NULL, NULL, NULL},
    {"0..1", false, "1/255", NULL, NULL},
    {"-1..1", false, "1/255", "0.5", "0.5"},
    {"ImageNet, as PyTorch", false, "1/255", "0.485,0.456,0.406", "0.229,0.224,0.225"},
    {"ImageNet, as Caffe", true, NULL, "103.939,116.779,123.68", NULL},
};
enum { PRESETS = sizeof presets / sizeof *presets, TOLD = PRESETS };
static const char *const layouts[LAYOUTS] = {NULL, "nchw", "nhwc"};

typedef struct work {
    const itg_cli_args *args;
    char *names[MOST_NAMES]; /* of the folder, sorted */
    int count;
    const char *model_path, *data, *labels; /* labels NULL: none */
    itg_model *model;
    itg_cli_data opened;
    struct preset told; /* by the model's metadata; name NULL: it tells nothing */
    int preset, layout; /* the best, TOLD: that one; -1: none runs, or nothing judges them */
    double best;
    const char *metric;
    itg_cli_table table;
} work;

/* ---- the folder ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static itg_status list(work *w, itg_error *err)
{
    DIR *dir = opendir(".");
    if (!dir) return itg_fail(err, ITG_IO, "this folder cannot be read: %s", strerror(errno));
    for (struct dirent *e; w->count < MOST_NAMES && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.' && (w->names[w->count] = strdup(e->d_name)) != NULL) w->count++;
    closedir(dir);
    qsort(w->names, (size_t)w->count, sizeof *w->names, compare_names);
    return ITG_OK;
}

static itg_status find_model(work *w, itg_error *err)
{
    if (w->args->argument_count > 0) w->model_path = w->args->arguments[0];
    for (int i = 0; i < w->count && w->args->argument_count == 0; i++) {
        if (!itg_cli_ends_with(w->names[i], ".onnx")) continue;
        if (w->model_path)
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "'%.200s' and '%.200s' are two models: say which, as in intaglio init "
                            "%.200s",
                            w->model_path, w->names[i], w->model_path);
        w->model_path = w->names[i];
    }
    if (!w->model_path)
        return itg_fail(err, ITG_BAD_ARGUMENT, "this folder holds no .onnx file: name the model");
    return itg_model_open(w->model_path, NULL, &w->model, err);
}

static int64_t samples_of(const work *w, const char *name)
{
    char text[ITG_CLI_DATA_TEXT];
    itg_data_stream *stream = NULL;
    if (itg_data_stream_open(itg_cli_data_text(itg_cli_model_input(w->model), name, text), 0,
                             &stream, NULL) != ITG_OK)
        return 0;
    int64_t samples = itg_data_stream_samples(stream);
    itg_data_stream_close(stream);
    return samples;
}

static size_t common_length(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* ---- what the model tells ---- */

/* Reads what ONNX's metadata says of images (docs/MetadataProps.md of the specification), and what
 * exporters of Ultralytics' networks do, whose samples are 0..1. */
static void read_told(work *w)
{
    static const struct {
        const char *value;
        int preset;
    } ranges[] = {{"NominalRange_0_255", 0}, {"Normalized_0_1", 1}, {"Normalized_1_1", 2}};
    const char *range = itg_model_metadata(w->model, "Image.NominalPixelRange"),
               *format = itg_model_metadata(w->model, "Image.BitmapPixelFormat"),
               *author = itg_model_metadata(w->model, "author");
    if (!range && author && strcmp(author, "Ultralytics") == 0) range = "Normalized_0_1";
    for (size_t i = 0; range && i < sizeof ranges / sizeof *ranges; i++)
        if (strcmp(range, ranges[i].value) == 0) w->told = presets[ranges[i].preset];
    if (w->told.name && format) w->told.bgr = strncmp(format, "Bgr", 3) == 0;
    if (w->told.name) w->told.name = "as the model's metadata says";
}

/* ---- trying ---- */

static const struct preset *preset_at(const work *w, int preset)
{
    return preset == TOLD ? &w->told : &presets[preset];
}

static bool preset_of(const work *w, int preset, int layout, itg_preprocess *out)
{
    const struct preset *p = preset_at(w, preset);
    int32_t one = 0;
    *out = itg_preprocess_default();
    out->bgr = p->bgr;
    if (p->scale && itg_preprocess_parse_list(p->scale, &out->scale, 1, &one, NULL) != ITG_OK)
        return false;
    if (p->mean && itg_preprocess_parse_list(p->mean, out->mean, ITG_MAX_CHANNELS, &out->mean_count,
                                             NULL) != ITG_OK)
        return false;
    if (p->std && itg_preprocess_parse_list(p->std, out->std, ITG_MAX_CHANNELS, &out->std_count,
                                            NULL) != ITG_OK)
        return false;
    out->layout = layout == 1   ? ITG_SAMPLES_NCHW
                  : layout == 2 ? ITG_SAMPLES_NHWC
                                : ITG_SAMPLES_SAME;
    return true;
}

/* Computes the float network's score on the data. Fails if samples, labels or options do not fit.
 */
static itg_status evaluate(const work *w, const itg_preprocess *p, const itg_cli_data *data,
                           itg_score *out, itg_error *err)
{
    itg_hardware *hw = NULL;
    itg_strategy_file *file = NULL;
    itg_uniform_options uniform = ITG_UNIFORM_OPTIONS_INIT;
    const itg_simulate_options options = {ITG_SIMULATE_OPTIONS_VERSION, .labels = data->labels,
                                          .threads =
                                              (int)w->args->values[ITG_CLI_OPT_THREADS].integer};
    uniform.weight_bits = uniform.activation_bits = 8;
    uniform.activation_method = uniform.weight_method = itg_threshold_default();
    itg_status status = itg_hardware_load("float", &hw, err);
    if (status == ITG_OK)
        status = itg_uniform_strategy(w->model, hw, p, NULL, NULL, &uniform, &file, err);
    if (status == ITG_OK) status = itg_simulate(w->model, file, data->samples, &options, out, err);
    itg_strategy_close(file);
    itg_hardware_destroy(hw);
    return status;
}

/* Whether the first samples of these files run through the network. */
static bool fits(const work *w, const char *data, const char *labels)
{
    itg_cli_data opened = {0};
    itg_score score;
    itg_preprocess p;
    bool fit = false;
    if (itg_cli_data_open_files(itg_cli_model_input(w->model), data, labels, 2, &opened, NULL) !=
        ITG_OK)
        return false;
    for (int layout = 0; layout < LAYOUTS && !fit; layout++)
        fit = preset_of(w, 0, layout, &p) && evaluate(w, &p, &opened, &score, NULL) == ITG_OK;
    itg_cli_data_close(&opened);
    return fit;
}

/* Chooses the file with the most samples that the network accepts, the first by name among equals.
 * Chooses the labels with the same count and the longest common prefix in the name; a folder of
 * images has its own. */
static itg_status find_data(work *w, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    int64_t most = 0;
    w->data = values[ITG_CLI_OPT_DATA].text;
    w->labels = values[ITG_CLI_OPT_LABELS].text;
    for (int i = 0; i < w->count && !values[ITG_CLI_OPT_DATA].text; i++) {
        int64_t samples = samples_of(w, w->names[i]);
        if (samples <= most || !fits(w, w->names[i], NULL)) continue;
        most = samples;
        w->data = w->names[i];
    }
    if (!w->data)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "nothing in this folder is data that %.200s takes: name it by --data",
                        w->model_path);
    if (!most) most = samples_of(w, w->data);
    if (w->labels) return ITG_OK;
    if (itg_cli_is_folder(w->data) && fits(w, w->data, w->data)) {
        w->labels = w->data;
        return ITG_OK;
    }
    for (int i = 0; i < w->count; i++) {
        const char *name = w->names[i];
        if (strcmp(name, w->data) == 0 || samples_of(w, name) != most) continue;
        if (w->labels && common_length(name, w->data) <= common_length(w->labels, w->data))
            continue;
        if (fits(w, w->data, name)) w->labels = name;
    }
    return ITG_OK;
}

static void try_preset(work *w, int preset, int layout)
{
    itg_preprocess p;
    itg_score score;
    if (!preset_of(w, preset, layout, &p)) return;
    if (evaluate(w, &p, &w->opened, &score, NULL) != ITG_OK) return;
    const bool classes = itg_score_knows(&score, ITG_METRIC_TOP1);
    const bool targets = itg_score_knows(&score, ITG_METRIC_MSE);
    if (!classes && !targets) return;
    const double value = score.value[classes ? ITG_METRIC_TOP1 : ITG_METRIC_MSE];
    w->metric = classes ? "top-1" : "mean squared error";
    itg_cli_table_texts(&w->table, preset_at(w, preset)->name,
                        layouts[layout] ? layouts[layout] : "", NULL);
    itg_cli_table_cell(&w->table, classes ? "%.2f %%" : "%g", classes ? 100 * value : value);
    if (w->preset >= 0 && (classes ? value <= w->best : value >= w->best)) return;
    w->preset = preset;
    w->layout = layout;
    w->best = value;
}

static itg_status try_all(work *w, itg_error *err)
{
    itg_status status = itg_cli_data_open_files(itg_cli_model_input(w->model), w->data, w->labels,
                                                TRIED_SAMPLES, &w->opened, err);
    itg_cli_table_init(&w->table, "llr");
    itg_cli_table_texts(&w->table, "preprocessing", "layout", "quality", NULL);
    for (int layout = 0; layout < LAYOUTS && status == ITG_OK && w->labels; layout++) {
        if (w->told.name) try_preset(w, TOLD, layout); /* the first among equals */
        for (int preset = 0; preset < PRESETS; preset++)
            try_preset(w, preset, layout);
    }
    if (w->preset < 0 && w->told.name) w->preset = TOLD;
    return status;
}

/* ---- the file ---- */

static void put_key(itg_strbuf *out, const char *key, const char *value)
{
    if (!value) return;
    itg_strbuf_format(out, "%s = \"", key);
    for (; *value; value++)
        itg_strbuf_format(out, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
    itg_strbuf_add(out, "\"\n");
}

static itg_status write_project(const work *w, itg_error *err)
{
    itg_strbuf text = {0};
    itg_strbuf_add(&text, "# Defaults of intaglio's commands in this folder; the command line "
                          "wins.\n# A table such as [search] holds those of one command.\n");
    put_key(&text, "model", w->model_path);
    put_key(&text, "data", w->data);
    put_key(&text, "labels", w->labels);
    put_key(&text, "hw", w->args->values[ITG_CLI_OPT_HW].text);
    if (w->preset >= 0) {
        const struct preset *p = preset_at(w, w->preset);
        itg_strbuf_format(&text, "# %s%s\n", p->name, w->metric ? ": the best of those tried" : "");
        if (p->bgr) itg_strbuf_add(&text, "bgr = true\n");
        put_key(&text, "scale", p->scale);
        put_key(&text, "mean", p->mean);
        put_key(&text, "std", p->std);
        put_key(&text, "layout", layouts[w->layout]);
    }
    itg_status status = itg_strbuf_ok(&text)
                            ? itg_file_write(ITG_CLI_PROJECT, text.text, text.length, err)
                            : itg_no_memory(err);
    if (status == ITG_OK) printf("\n%s:\n%s", ITG_CLI_PROJECT, text.text);
    itg_strbuf_deinit(&text);
    return status;
}

static itg_status detect(work *w, itg_error *err)
{
    if (access(ITG_CLI_PROJECT, F_OK) == 0)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s is there already: remove it first",
                        ITG_CLI_PROJECT);
    itg_status status = list(w, err);
    if (status == ITG_OK) status = find_model(w, err);
    if (status == ITG_OK) read_told(w);
    if (status == ITG_OK) status = find_data(w, err);
    if (status == ITG_OK) status = try_all(w, err);
    if (status != ITG_OK) return status;
    itg_cli_print_line("model", "%s", w->model_path);
    itg_cli_print_line("data", "%s", w->data);
    itg_cli_print_line("labels", "%s", w->labels ? w->labels : "none found: say --labels");
    if (w->metric) {
        printf("\nThe float network on the first samples (%s):\n", w->metric);
        itg_cli_table_print(&w->table);
    } else {
        itg_cli_print_line("preprocessing", "%s",
                           w->told.name ? w->told.name : "not known: nothing to judge it by");
    }
    return write_project(w, err);
}

static int run(const itg_cli_args *args)
{
    work w = {.args = args, .preset = -1};
    itg_error err = {0};
    itg_status status = detect(&w, &err);
    itg_cli_table_deinit(&w.table);
    itg_cli_data_close(&w.opened);
    itg_model_close(w.model);
    for (int i = 0; i < w.count; i++)
        free(w.names[i]);
    return status == ITG_OK ? ITG_CLI_OK : itg_cli_fail_error(&err);
}

const itg_cli_command itg_cli_init = {
    .name = "init",
    .summary =
        "Finds model, data, labels and preprocessing in this folder and writes intaglio.toml",
    .usage = "[MODEL] [--data X] [--labels Y] [--hw T]",
    .details = "What is not named is looked for in this folder: the only .onnx file, the largest "
               "data that it takes,\nlabels of as many samples whose name begins alike. The common "
               "preprocessings are tried with the\nfloat network on the first samples; the best "
               "against the labels is taken, and the table is shown.\nWithout labels it is what "
               "the model's metadata says, if anything.\nCommands that are called in "
               "this folder take the values of intaglio.toml where their own words do\nnot say "
               "otherwise (docs/command-line.md).",
    .max_arguments = 1,
    .arguments = {"[MODEL]"},
    .options = {ITG_CLI_OPT_DATA, ITG_CLI_OPT_LABELS, ITG_CLI_OPT_HW},
    .run = run,
};
