/* intaglio explain: shows where the loss of a strategy comes from and which changes reduce it. */
#include "cli/commands.h"
#include "cli/explanation.h"
#include <stdio.h>

enum { SHOWN = 20 };

typedef struct work {
    const itg_cli_args *args;
    itg_model *model;
    itg_strategy_file *file;
    itg_cli_data data;
    itg_dataset *calibration;
    itg_explanation *e;
} work;

static itg_status open_all(work *w, itg_error *err)
{
    const itg_cli_args *args = w->args;
    const itg_cli_value *values = args->values;
    int64_t limit = args->given[ITG_CLI_OPT_LIMIT] ? values[ITG_CLI_OPT_LIMIT].integer
                                                   : (int64_t)ITG_CLI_EXPLAINED_SAMPLES;
    char text[ITG_CLI_DATA_TEXT];
    itg_status status =
        itg_cli_model_open(args, args->arguments[0], args->arguments[1], &w->model, err);
    if (status == ITG_OK) status = itg_strategy_open(w->model, args->arguments[1], &w->file, err);
    if (status == ITG_OK)
        status =
            itg_cli_data_open_files(itg_cli_model_input(w->model), values[ITG_CLI_OPT_DATA].text,
                                    values[ITG_CLI_OPT_LABELS].text, limit, &w->data, err);
    if (status == ITG_OK && args->given[ITG_CLI_OPT_CALIB])
        status = itg_data_open(
            itg_cli_data_text(itg_cli_model_input(w->model), values[ITG_CLI_OPT_CALIB].text, text),
            itg_cli_calibration_limit(args, w->model), &w->calibration, err);
    if (status == ITG_OK) itg_cli_preprocess(args, itg_strategy_preprocess(w->file));
    return status;
}

static itg_status explain(work *w, itg_error *err)
{
    const itg_cli_value *values = w->args->values;
    const char *path = values[ITG_CLI_OPT_APPLY].text;
    itg_status status = open_all(w, err);
    if (status != ITG_OK) return status;
    status =
        itg_cli_explain_strategy(w->args, w->model, w->file, &w->data, w->calibration, &w->e, err);
    if (status == ITG_OK && path) status = itg_explanation_apply(w->e, w->file, err);
    if (status == ITG_OK && path) status = itg_strategy_save(w->file, w->model, path, err);
    return status;
}

/* ---- JSON ---- */

static int print_json(const work *w)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "model", itg_model_name(w->model));
    itg_json_put_text(&json, "hardware", itg_hardware_name(itg_strategy_hardware(w->file)));
    itg_json_put_text(&json, "strategy", w->args->arguments[1]);
    itg_cli_json_explanation(&json, w->e);
    itg_json_put_text(&json, "output", w->args->values[ITG_CLI_OPT_APPLY].text);
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

/* ---- text ---- */

/* Prints the words and frees them. */
static void print_words(itg_strbuf *words)
{
    if (itg_strbuf_ok(words) && words->text) fputs(words->text, stdout);
    itg_strbuf_deinit(words);
}

static int print_effects(const work *w)
{
    const int32_t count = itg_explanation_count(w->e);
    itg_cli_table table;
    itg_strbuf words = {0};
    itg_cli_effects_table(&table, w->e, SHOWN, false);
    int status = itg_cli_table_print(&table);
    if (count > SHOWN) printf("  and %d more\n", (int)(count - SHOWN));
    puts("");
    itg_cli_explanation_words(w->e, &words);
    print_words(&words);
    return status;
}

static void print_gain(const char *change, const itg_score *before, const itg_score *after)
{
    itg_strbuf words = {0};
    itg_cli_gain_words(&words, change, before, after);
    itg_strbuf_add(&words, "\n");
    print_words(&words);
}

/* Prints the changes that also help together, and their effect. */
static void print_kept(const work *w)
{
    const itg_explanation_info *info = itg_explanation_about(w->e);
    char text[400];
    for (int32_t i = 0; i < itg_explanation_count(w->e); i++) {
        const itg_effect_report *r = itg_explanation_at(w->e, i);
        if (r->is_applied)
            printf("  %s: %s\n", itg_cli_effect_place(r, text, sizeof text), r->change);
    }
    print_gain("with them", &info->score, &info->changed);
}

static void print_changes(const work *w)
{
    const itg_explanation_info *info = itg_explanation_about(w->e);
    const char *path = w->args->values[ITG_CLI_OPT_APPLY].text;
    char text[400];
    puts("");
    for (int32_t i = 0; i < itg_explanation_count(w->e); i++) {
        const itg_effect_report *r = itg_explanation_at(w->e, i);
        if (r->tried == 0) continue;
        printf("%s: %.2f %% of the loss, %s; ", itg_cli_effect_place(r, text, sizeof text),
               100 * r->share, itg_effect_name(r->effect));
        if (!r->change) {
            printf("none of %d changes lessens the loss\n", (int)r->tried);
            continue;
        }
        print_gain(r->change, &info->score, &r->changed);
    }
    if (info->applied > 0) {
        puts("\nKept together:");
        print_kept(w);
    }
    if (info->applied > 0 && path) itg_cli_print_line("strategy", "%s", path);
}

static int print_text(const work *w)
{
    const itg_explanation_info *info = itg_explanation_about(w->e);
    printf("%s on %s, %lld sample%s\n", itg_model_name(w->model),
           itg_hardware_name(itg_strategy_hardware(w->file)), (long long)info->samples,
           itg_plural(info->samples));
    itg_cli_print_score(&info->score);
    puts("");
    int status = print_effects(w);
    print_changes(w);
    if (!info->complete) fputs("intaglio: interrupted; this is what was known by then\n", stderr);
    return status;
}

static int run(const itg_cli_args *args)
{
    work w = {.args = args};
    itg_error err = {0};
    int result;
    if (explain(&w, &err) != ITG_OK)
        result = itg_cli_fail_error(&err);
    else
        result = args->given[ITG_CLI_OPT_JSON] ? print_json(&w) : print_text(&w);
    itg_explanation_destroy(w.e);
    itg_data_close(w.calibration);
    itg_cli_data_close(&w.data);
    itg_strategy_close(w.file);
    itg_model_close(w.model);
    return result;
}

const itg_cli_command itg_cli_explain = {
    .name = "explain",
    .summary = "Says where the loss of a quantized network comes from, and what lessens it",
    .usage = "MODEL STRATEGY --data X [--labels Y] [--apply OUT.json] [--json] [...]",
    .details =
        "The loss is the distortion of the outputs against the float network. Each effect "
        "(clipping "
        "and rounding\n"
        "of an edge, requantization and overflow of a layer) is measured by taking it away while "
        "all "
        "else computes\n"
        "as in the program. Changes are evaluated before they are printed. --limit is 256 where it "
        "is not given.",
    .min_arguments = 2,
    .max_arguments = 2,
    .arguments = {"MODEL", "STRATEGY"},
    .required = {ITG_CLI_OPT_DATA},
    .required_count = 1,
    .options = {ITG_CLI_OPT_DATA, ITG_CLI_OPT_LABELS, ITG_CLI_OPT_LIMIT, ITG_CLI_OPT_CALIB,
                ITG_CLI_OPT_CALIB_LIMIT, ITG_CLI_PREPROCESS, ITG_CLI_OPT_APPLY, ITG_CLI_OPT_QUIET},
    .run = run,
};
