/* intaglio check: lists the nodes of a model and how a target executes each of them. */
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/memory.h"
#include "cli/table.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- sums over the nodes ---- */

typedef struct summary {
    int32_t nodes, placed[4]; /* by itg_placement */
    int64_t macs, integer_macs, weights;
} summary;

static summary summarize(const itg_check *check)
{
    summary s = {.nodes = itg_check_count(check)};
    for (int32_t i = 0; i < s.nodes; i++) {
        const itg_node_report *r = itg_check_node(check, i);
        s.placed[r->placement]++;
        s.macs += r->macs;
        s.weights += r->weight_elements;
        if (r->placement == ITG_PLACE_INTEGER) s.integer_macs += r->macs;
    }
    return s;
}

static const char *placement_name(itg_placement placement)
{
    static const char *const names[] = {"integer", "fused", "float", "refused"};
    return names[placement];
}

/* Costs of 8 bits everywhere and, if the target has limits, of the narrowest widths. */
typedef struct outlook {
    bool stated;
    itg_score eight, narrowest;
    char no_c[512]; /* why realize --emit c will refuse it; "": it will not, or not known */
} outlook;

static itg_status look_ahead(const itg_model *model, const itg_hardware *hw, outlook *out,
                             itg_error *err)
{
    *out = (outlook){.stated = itg_hardware_limit(hw, ITG_METRIC_PARAMETER_BYTES) > 0 ||
                               itg_hardware_limit(hw, ITG_METRIC_PEAK_ACTIVATION_BYTES) > 0};
    if (itg_hardware_all_float(hw)) return ITG_OK;
    itg_status status = itg_check_costs(model, hw, 8, &out->eight, out->no_c, err);
    if (status != ITG_OK || !out->stated) return status;
    return itg_check_costs(model, hw, 2, &out->narrowest, NULL, err);
}

static bool exceeds(const itg_hardware *hw, const itg_score *score)
{
    return itg_cli_memory_exceeded(hw, score, ITG_METRIC_PARAMETER_BYTES) ||
           itg_cli_memory_exceeded(hw, score, ITG_METRIC_PEAK_ACTIVATION_BYTES);
}

/* ---- text ---- */

static void print_model(const itg_model *model)
{
    char shape[128];
    for (int32_t i = 0; i < itg_model_input_count(model); i++)
        itg_cli_print_line("input", "%s %s %s", itg_model_input_name(model, i),
                           itg_model_input_type(model, i),
                           itg_cli_shape(itg_model_input_shape(model, i), shape, sizeof shape));
    for (int32_t i = 0; i < itg_model_output_count(model); i++)
        itg_cli_print_line("output", "%s %s %s", itg_model_output_name(model, i),
                           itg_model_output_type(model, i),
                           itg_cli_shape(itg_model_output_shape(model, i), shape, sizeof shape));
}

static void print_summary(const itg_hardware *hw, const summary *s, const outlook *o)
{
    char macs[32], weights[32];
    int32_t integer = s->placed[ITG_PLACE_INTEGER] + s->placed[ITG_PLACE_FUSED];
    printf("%s: %d of %d node%s in integers (%d fused)", itg_hardware_name(hw), (int)integer,
           (int)s->nodes, itg_plural(s->nodes), (int)s->placed[ITG_PLACE_FUSED]);
    if (s->placed[ITG_PLACE_FLOAT]) printf(", %d in float", (int)s->placed[ITG_PLACE_FLOAT]);
    if (s->placed[ITG_PLACE_REFUSED]) printf(", %d REFUSED", (int)s->placed[ITG_PLACE_REFUSED]);
    printf("; %.2f %% of %s multiply-accumulates in integers; %s weights",
           s->macs > 0 ? 100.0 * (double)s->integer_macs / (double)s->macs : 0.0,
           itg_cli_count_text(s->macs, macs), itg_cli_count_text(s->weights, weights));
    if (o->stated && exceeds(hw, &o->eight))
        printf("; does NOT fit its memory at 8 bits%s",
               exceeds(hw, &o->narrowest) ? ", nor at the narrowest widths" : "");
    putchar('\n');
}

static int print_nodes(const itg_check *check)
{
    itg_cli_table table;
    char macs[32];
    itg_cli_table_init(&table, "llrl");
    itg_cli_table_texts(&table, "node", "operator", "MACs", "runs as", NULL);
    for (int32_t i = 0; i < itg_check_count(check); i++) {
        const itg_node_report *r = itg_check_node(check, i);
        bool fused = r->placement == ITG_PLACE_FUSED;
        itg_cli_table_texts(&table, r->name, r->op,
                            r->macs > 0 ? itg_cli_count_text(r->macs, macs) : "", NULL);
        itg_cli_table_cell(&table, "%s%s%s", fused && r->reason ? "" : placement_name(r->placement),
                           r->reason && !fused ? ": " : "", r->reason ? r->reason : "");
    }
    return itg_cli_table_print(&table);
}

/* ---- JSON ---- */

static void json_model(itg_json_writer *json, const itg_model *model)
{
    itg_json_put_text(json, "model", itg_model_name(model));
    itg_json_put_hash(json, "model_hash", itg_model_hash(model));
    itg_json_put_bool(json, "narrowed", itg_model_narrowed(model));
    itg_json_put_bool(json, "left_labels_out", itg_model_left_labels_out(model));
    itg_json_put_bool(json, "dropped_softmax", itg_model_dropped_softmax(model));
    for (int out = 0; out < 2; out++) {
        int32_t count = out ? itg_model_output_count(model) : itg_model_input_count(model);
        itg_json_begin(json, out ? "outputs" : "inputs", '[');
        for (int32_t i = 0; i < count; i++) {
            const itg_shape *shape =
                out ? itg_model_output_shape(model, i) : itg_model_input_shape(model, i);
            itg_json_begin(json, NULL, '{');
            itg_json_put_text(json, "name",
                              out ? itg_model_output_name(model, i)
                                  : itg_model_input_name(model, i));
            itg_json_put_text(json, "type",
                              out ? itg_model_output_type(model, i)
                                  : itg_model_input_type(model, i));
            itg_json_begin(json, "shape", '[');
            for (int32_t d = 0; d < shape->rank; d++)
                itg_json_put_int(json, NULL, shape->dims[d]);
            itg_json_end(json, ']');
            itg_json_end(json, '}');
        }
        itg_json_end(json, ']');
    }
}

static void json_costs(itg_json_writer *json, const char *key, const itg_hardware *hw,
                       const itg_score *score)
{
    itg_json_begin(json, key, '{');
    itg_cli_json_metrics(json, "", score, ITG_CLI_COSTS);
    itg_cli_json_memory(json, hw, score);
    itg_json_end(json, '}');
}

static void json_check(itg_json_writer *json, const itg_hardware *hw, const itg_check *check,
                       const outlook *o)
{
    summary s = summarize(check);
    itg_json_put_text(json, "hardware", itg_hardware_name(hw));
    if (o->stated) {
        json_costs(json, "at_8_bits", hw, &o->eight);
        json_costs(json, "at_narrowest_bits", hw, &o->narrowest);
    }
    for (int p = 0; p < 4; p++)
        itg_json_put_int(json, placement_name((itg_placement)p), s.placed[p]);
    itg_json_put_int(json, "macs", s.macs);
    itg_json_put_int(json, "integer_macs", s.integer_macs);
    itg_json_put_int(json, "weights", s.weights);
    itg_json_begin(json, "nodes", '[');
    for (int32_t i = 0; i < s.nodes; i++) {
        const itg_node_report *r = itg_check_node(check, i);
        itg_json_begin(json, NULL, '{');
        itg_json_put_text(json, "name", r->name);
        itg_json_put_text(json, "op", r->op);
        itg_json_put_text(json, "placement", placement_name(r->placement));
        itg_json_put_text(json, "reason", r->reason);
        itg_json_put_int(json, "macs", r->macs);
        itg_json_put_int(json, "weights", r->weight_elements);
        itg_json_end(json, '}');
    }
    itg_json_end(json, ']');
}

/* ---- what other commands will refuse ---- */

/* Writes one warning: what does not work, and why. */
static void warn(itg_json_writer *json, const char *format, ...)
{
    char text[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (json)
        itg_json_put_text(json, NULL, text);
    else
        itg_cli_print_line("warning", "%s", text);
}

static void warn_inputs(const itg_model *model, itg_json_writer *json)
{
    int32_t count = itg_model_input_count(model);
    for (int32_t i = 0; i < count; i++)
        if (strcmp(itg_model_input_type(model, i), "f32") != 0)
            warn(json, "input %s is %s: it is not quantized, and takes no --scale, --mean or --std",
                 itg_model_input_name(model, i), itg_model_input_type(model, i));
}

/* model alone, and with one target. */
static void warn_all(const itg_model *model, const itg_check *check, const outlook *o,
                     itg_json_writer *json)
{
    int32_t refused = check ? summarize(check).placed[ITG_PLACE_REFUSED] : 0;
    if (json) itg_json_begin(json, "warnings", '[');
    warn_inputs(model, json);
    if (refused > 0)
        warn(json, "simulate, search and realize will fail: the target refuses %d node%s",
             (int)refused, itg_plural(refused));
    if (o && *o->no_c) warn(json, "realize --emit c will refuse it: %s", o->no_c);
    if (json) itg_json_end(json, ']');
}

/* ---- a model that cannot be opened ---- */

static int print_refusals(const char *path, const itg_refusals *refusals)
{
    itg_cli_table table;
    printf("%s cannot be imported; all that keeps it from that:\n\n", path);
    itg_cli_table_init(&table, "lrlll");
    itg_cli_table_texts(&table, "what", "times", "first", "why", "what would help", NULL);
    for (int32_t i = 0; i < itg_refusals_count(refusals); i++) {
        const itg_refusal *r = itg_refusals_at(refusals, i);
        itg_cli_table_cell(&table, "%s", r->what);
        itg_cli_table_cell(&table, "%lld", (long long)r->count);
        itg_cli_table_texts(&table, r->first, r->why, r->help ? r->help : "", NULL);
    }
    int result = itg_cli_table_print(&table);
    if (itg_refusals_others(refusals) > 0)
        printf("and %lld more of other kinds\n", (long long)itg_refusals_others(refusals));
    return result;
}

static int json_refusals(const char *path, const itg_refusals *refusals)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "model", path);
    itg_json_begin(&json, "refused", '[');
    for (int32_t i = 0; i < itg_refusals_count(refusals); i++) {
        const itg_refusal *r = itg_refusals_at(refusals, i);
        itg_json_begin(&json, NULL, '{');
        itg_json_put_text(&json, "what", r->what);
        itg_json_put_int(&json, "times", r->count);
        itg_json_put_text(&json, "first", r->first);
        itg_json_put_text(&json, "why", r->why);
        itg_json_put_text(&json, "help", r->help);
        itg_json_end(&json, '}');
    }
    itg_json_end(&json, ']');
    itg_json_put_int(&json, "others", itg_refusals_others(refusals));
    itg_json_end(&json, '}');
    return itg_cli_json_print(&json);
}

/* Prints everything that is not supported, then the error as every other command prints it. */
static int fail_to_open(const itg_cli_args *args, const itg_error *failure)
{
    const char *path = args->arguments[0];
    itg_refusals *refusals = NULL;
    const itg_model_options options = itg_cli_model_options(args);
    itg_error err = {0};
    int result = ITG_CLI_OK;
    if (failure->code == ITG_UNSUPPORTED &&
        itg_model_survey(path, &options, &refusals, &err) == ITG_OK &&
        itg_refusals_count(refusals) > 0)
        result = args->given[ITG_CLI_OPT_JSON] ? json_refusals(path, refusals)
                                               : print_refusals(path, refusals);
    itg_refusals_destroy(refusals);
    return result == ITG_CLI_OK ? itg_cli_fail_error(failure) : result;
}

/* ---- the command ---- */

/* Prints one target in full. */
static int check_target(const itg_model *model, const itg_hardware *hw, itg_json_writer *json)
{
    itg_check *check = NULL;
    itg_error err = {0};
    int result = ITG_CLI_OK;
    outlook o;
    itg_status status = itg_check_model(model, hw, &check, &err);
    if (status == ITG_OK) status = look_ahead(model, hw, &o, &err);
    if (status != ITG_OK) {
        itg_check_destroy(check);
        return itg_cli_fail_error(&err);
    }
    if (json) {
        json_check(json, hw, check, &o);
        warn_all(model, check, &o, json);
    } else {
        summary s = summarize(check);
        putchar('\n');
        result = print_nodes(check);
        putchar('\n');
        print_summary(hw, &s, &o);
        if (o.stated) {
            itg_cli_print_memory("at 8 bits", hw, &o.eight);
            itg_cli_print_memory("narrowest", hw, &o.narrowest);
        }
        warn_all(model, check, &o, NULL);
    }
    itg_check_destroy(check);
    return result;
}

/* Prints all built-in targets, one line each. */
static int check_all(const itg_model *model, itg_json_writer *json)
{
    itg_error err = {0};
    itg_status status = ITG_OK;
    if (json)
        itg_json_begin(json, "targets", '[');
    else
        putchar('\n');
    for (int i = 0; i < itg_hardware_builtin_count() && status == ITG_OK; i++) {
        itg_hardware *hw = NULL;
        itg_check *check = NULL;
        outlook o;
        status = itg_hardware_load(itg_hardware_builtin_name(i), &hw, &err);
        if (status == ITG_OK) status = itg_check_model(model, hw, &check, &err);
        if (status == ITG_OK) status = look_ahead(model, hw, &o, &err);
        if (status == ITG_OK && json) {
            itg_json_begin(json, NULL, '{');
            json_check(json, hw, check, &o);
            itg_json_end(json, '}');
        } else if (status == ITG_OK && !itg_hardware_all_float(hw)) {
            summary s = summarize(check);
            print_summary(hw, &s, &o);
        }
        itg_check_destroy(check);
        itg_hardware_destroy(hw);
    }
    if (json) itg_json_end(json, ']');
    if (status == ITG_OK) warn_all(model, NULL, NULL, json);
    if (status == ITG_OK && !json) puts("\nNode by node, with the reasons: --hw TARGET");
    return status == ITG_OK ? ITG_CLI_OK : itg_cli_fail_error(&err);
}

static int print_graph(const itg_model *model, itg_json_writer *json)
{
    char *text = NULL;
    itg_error err = {0};
    if (itg_model_print(model, &text, &err) != ITG_OK) return itg_cli_fail_error(&err);
    if (json)
        itg_json_put_text(json, "graph", text);
    else
        printf("\n%s", text);
    itg_free(text);
    return ITG_CLI_OK;
}

static int report(const itg_cli_args *args, const itg_model *model, const itg_hardware *hw)
{
    itg_json_writer object = {0}, *json = args->given[ITG_CLI_OPT_JSON] ? &object : NULL;
    if (json) {
        itg_json_begin(json, NULL, '{');
        json_model(json, model);
    } else {
        printf("%s\n", itg_model_name(model));
        print_model(model);
        itg_cli_print_changes(model);
    }
    int result = hw ? check_target(model, hw, json) : check_all(model, json);
    if (result == ITG_CLI_OK && args->given[ITG_CLI_OPT_PRINT]) result = print_graph(model, json);
    if (result == ITG_CLI_OK && json) {
        itg_json_end(json, '}');
        result = itg_cli_json_print(json);
    }
    itg_strbuf_deinit(&object.text);
    return result;
}

static int run(const itg_cli_args *args)
{
    itg_model *model = NULL;
    itg_hardware *hw = NULL;
    itg_error err = {0};
    const char *target = args->values[ITG_CLI_OPT_HW].text;
    itg_status status = target ? itg_hardware_load(target, &hw, &err) : ITG_OK;
    bool loaded = status == ITG_OK;
    if (loaded) status = itg_cli_model_open(args, args->arguments[0], NULL, &model, &err);
    if (status == ITG_OK && hw) itg_cli_note_hardware(hw, model, target);
    int result = status == ITG_OK ? report(args, model, hw)
                 : loaded         ? fail_to_open(args, &err)
                                  : itg_cli_fail_error(&err);
    itg_model_close(model);
    itg_hardware_destroy(hw);
    return result;
}

const itg_cli_command itg_cli_check = {
    .name = "check",
    .summary = "Tells which nodes of a model run as integers, which stay float, and why",
    .usage = "MODEL [--hw T] [--print]",
    .details =
        "Shows the network as it is prepared: batch 1, constants folded, batch "
        "normalization folded. Without\n"
        "--hw every built-in target gets one line. A model that cannot be imported gets a list "
        "of all that\n"
        "keeps it from that, with counts and what would help. Warnings say what simulate, "
        "search, run and\n"
        "realize will refuse, and whether a target's memory is exceeded, as far as can be "
        "known without data.",
    .min_arguments = 1,
    .max_arguments = 1,
    .arguments = {"MODEL"},
    .options = {ITG_CLI_OPT_HW, ITG_CLI_OPT_INPUT_SHAPE, ITG_CLI_OPT_OUTPUTS,
                ITG_CLI_OPT_KEEP_SOFTMAX, ITG_CLI_OPT_NO_EQUALIZE, ITG_CLI_OPT_PRINT},
    .run = run,
};
