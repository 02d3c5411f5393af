/* Writes the page of a strategy or a program: a drawing, the costs of layers, and the edges. */
#include "cli/explanation.h"
#include "cli/report_network.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const itg_summary_edge *network_report_edge(const network_report *n, int32_t i)
{
    return itg_summary_edge_at(n->summary, i);
}

const itg_summary_layer *network_report_layer(const network_report *n, int32_t i)
{
    return itg_summary_layer_at(n->summary, i);
}

/* ---- reading ---- */

static itg_status read_reports(network_report *n, itg_error *err)
{
    const itg_inspection *inspection = n->inspected.inspection;
    n->reports = calloc((size_t)n->info->edge_count + 1, sizeof *n->reports);
    if (!n->reports) return itg_fail(err, ITG_NO_MEMORY, "no memory for the edges");
    for (int32_t i = 0; inspection && i < itg_inspection_count(inspection); i++) {
        const itg_edge_report *e = itg_inspection_edge(inspection, i);
        n->reports[e->index] = e;
        if (!n->worst && e->bits > 0 && network_report_edge(n, e->index)->elements == 0)
            n->worst = e;
    }
    return ITG_OK;
}

/* Reads the memory plan of the program, or of the strategy's program. A float network has none,
 * which is not a failure. */
static itg_status read_memory(network_report *n, itg_error *err)
{
    itg_realize_options how = ITG_REALIZE_OPTIONS_INIT;
    itg_program *program = NULL;
    how.allow_overflow = true;
    itg_status status = n->info->is_program
                            ? itg_program_open(n->path, &program, err)
                            : itg_realize_program(n->inspected.annotated, &how, &program, err);
    if (status == ITG_OK) status = itg_program_memory(program, &n->memory, err);
    itg_program_destroy(program);
    return status == ITG_UNSUPPORTED || status == ITG_INFEASIBLE ? ITG_OK : status;
}

/* Explains the loss on the given samples, or on the first of them. */
static itg_status explain(network_report *n, itg_error *err)
{
    const itg_cli_args *args = n->args;
    const itg_cli_value *values = args->values;
    itg_cli_data data = {0};
    itg_status status =
        itg_cli_data_open_files(itg_cli_model_input(n->inspected.model),
                                values[ITG_CLI_OPT_DATA].text, values[ITG_CLI_OPT_LABELS].text,
                                args->given[ITG_CLI_OPT_LIMIT] ? values[ITG_CLI_OPT_LIMIT].integer
                                                               : (int64_t)ITG_CLI_EXPLAINED_SAMPLES,
                                &data, err);
    if (status == ITG_OK)
        status = itg_cli_explain_strategy(args, n->inspected.model, n->inspected.file, &data, NULL,
                                          &n->explanation, err);
    itg_cli_data_close(&data);
    return status;
}

static itg_status read_all(network_report *n, itg_error *err)
{
    const bool with_model = n->args->argument_count == 2;
    n->inspected.args = n->args;
    n->path = n->args->arguments[with_model];
    itg_status status = with_model ? itg_cli_inspect_open(&n->inspected, err) : ITG_OK;
    if (status == ITG_OK) status = itg_summary_open(n->path, n->inspected.model, &n->summary, err);
    if (status != ITG_OK) return status;
    n->info = itg_summary_info_of(n->summary);
    if (!n->info->has_costs)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "%.300s: a strategy takes its model: intaglio report MODEL STRATEGY",
                        n->path);
    status = read_memory(n, err);
    if (status == ITG_OK && n->args->given[ITG_CLI_OPT_EXPLAIN]) status = explain(n, err);
    return status == ITG_OK ? read_reports(n, err) : status;
}

static void close_all(network_report *n)
{
    free((void *)n->reports);
    itg_memory_plan_destroy(n->memory);
    itg_explanation_destroy(n->explanation);
    itg_summary_destroy(n->summary);
    itg_cli_inspect_close(&n->inspected);
}

/* ---- layers ---- */

static double bytes_of(const itg_summary_layer *l)
{
    return (double)l->weight_bytes;
}

static double cycles_of(const itg_summary_layer *l)
{
    return l->cycles;
}

/* Adds a bar plot of the layers with a cost. */
static void put_cost_plot(const network_report *n, const char *words, itg_unit unit,
                          double (*cost)(const itg_summary_layer *))
{
    itg_axis x = {.title = "layer", .lo = -0.5, .hi = n->info->layer_count - 0.5, .scale = 1}, y;
    double most = 0;
    char title[96], text[NETWORK_REPORT_WORDS], number[32];
    itg_plot plot;
    for (int32_t i = 0; i < n->info->layer_count; i++)
        most = fmax(most, cost(network_report_layer(n, i)));
    if (!(most > 0) || n->info->layer_count > NETWORK_REPORT_LAYERS) return;
    y = itg_report_axis(words, unit, most, title);
    y.lo = 0;
    y.hi = 1.04 * most;
    snprintf(text, sizeof text, "Plot: %s of each layer", words);
    itg_plot_begin(&plot, n->page, text, x, y);
    for (int32_t i = 0; i < n->info->layer_count; i++) {
        const double value = cost(network_report_layer(n, i));
        if (!(value > 0)) continue;
        snprintf(text, sizeof text, "%.200s: %s %s", network_report_layer(n, i)->node,
                 itg_cli_amount(value, number), words);
        itg_plot_bar(&plot, i, value, true, text);
    }
    itg_plot_end(&plot);
}

static void layer_row(itg_cli_table *table, int32_t index, const itg_summary_layer *l)
{
    char text[32];
    itg_cli_table_cell(table, "%d", (int)index);
    itg_cli_table_texts(table, l->node, l->op, l->form, NULL);
    itg_cli_table_cell(table, l->accumulator_bits > 0 ? "%d" : "-", (int)l->accumulator_bits);
    itg_cli_table_cell(table, "%s", itg_cli_count_text((long long)l->macs, text));
    itg_cli_table_cell(table, "%s", itg_cli_count_text((long long)l->weight_bytes, text));
    itg_cli_table_cell(table, "%s", itg_cli_amount(l->bops, text));
    itg_cli_table_cell(table, "%s", itg_cli_amount(l->cycles, text));
}

static void put_layers(const network_report *n)
{
    itg_cli_table table;
    itg_page_section(n->page, "costs", "Costs by layer", "By the description of the hardware.");
    put_cost_plot(n, "weight bytes", ITG_UNIT_BYTES, bytes_of);
    put_cost_plot(n, "cycles", ITG_UNIT_COUNT, cycles_of);
    itg_page_details(n->page, "All layers");
    itg_cli_table_init(&table, "rlllrrrrr");
    itg_cli_table_texts(&table, "layer", "node", "operator", "runs as", "accumulator bits", "MACs",
                        "weight bytes", "bit operations", "cycles", NULL);
    for (int32_t i = 0; i < n->info->layer_count; i++)
        layer_row(&table, i, network_report_layer(n, i));
    itg_report_table(n->page, &table, "Costs by layer", true);
    itg_page_details_end(n->page);
    itg_page_section_end(n->page);
}

/* ---- edges ---- */

/* What the strategy gives a weight besides its width and threshold. */
static void given_cell(itg_cli_table *table, const itg_summary_edge *e)
{
    const char *const names[ITG_CLI_NAMES] = {e->zero_points ? "zero points" : NULL,
                                              e->codes ? "codes" : NULL, e->bias ? "bias" : NULL};
    char text[ITG_CLI_NAMES_SIZE];
    itg_cli_table_cell(table, "%s", itg_cli_names("", names, text));
}

static void put_edges(const network_report *n)
{
    char words[128], count[32];
    int32_t quantized = 0;
    itg_cli_table table;
    itg_cli_table_init(&table, "lllll");
    itg_cli_table_texts(&table, "value", "node.slot", "bits", "threshold", "also given", NULL);
    for (int32_t i = 0; i < n->info->edge_count; i++) {
        const itg_summary_edge *e = network_report_edge(n, i);
        quantized += e->bits > 0;
        itg_cli_table_cell(&table, "%s", e->value);
        if (e->node)
            itg_cli_table_cell(&table, "%s.%d", e->node, (int)e->slot);
        else
            itg_cli_table_cell(&table, "(output)");
        itg_cli_type_cell(&table, e);
        itg_cli_threshold_cell(&table, e);
        given_cell(&table, e);
    }
    snprintf(words, sizeof words, "%d of %s edge%s are quantized.", (int)quantized,
             itg_cli_count_text((long long)n->info->edge_count, count),
             itg_plural(n->info->edge_count));
    itg_page_section(n->page, "edges", "Edges", words);
    itg_page_details(n->page, "All edges");
    itg_report_table(n->page, &table, "Edges", true);
    itg_page_details_end(n->page);
    itg_page_section_end(n->page);
}

static void put_inspection(const network_report *n)
{
    char words[160], count[32];
    itg_cli_table table;
    if (!n->inspected.inspection) return;
    const int64_t samples = itg_data_samples(n->inspected.data.samples);
    snprintf(words, sizeof words,
             "Simulated on %s sample%s, and compared with the float network; what loses most "
             "stands first.",
             itg_cli_count_text((long long)samples, count), itg_plural(samples));
    itg_page_section(n->page, "departure", "Where it departs from float", words);
    itg_page_details(n->page, "All edges");
    itg_cli_inspection_table(&table, n->inspected.inspection);
    itg_report_table(n->page, &table, "Edges compared with the float network", true);
    itg_page_details_end(n->page);
    itg_page_section_end(n->page);
}

/* ---- the page ---- */

static void put_totals(const network_report *n)
{
    itg_page_figures(n->page);
    for (int m = 0; m < ITG_METRIC_COUNT; m++) {
        const itg_metric_info *about = itg_metric_about((itg_metric)m);
        const double value = itg_score_get(&n->info->score, (itg_metric)m);
        char text[32];
        if (isnan(value) || m == ITG_METRIC_ACCURACY || m == ITG_METRIC_DISTORTION ||
            m >= ITG_METRIC_USER1)
            continue;
        itg_page_figure(n->page, about->words, itg_cli_unit_text(about->unit, value, text),
                        itg_metric_is_cost((itg_metric)m) ? "" : "as it was recorded");
    }
    itg_page_figures_end(n->page);
}

static void json_edge(itg_json_writer *json, const itg_summary_edge *e)
{
    itg_json_begin(json, NULL, '{');
    itg_json_put_text(json, "value", e->value);
    itg_json_put_text(json, "node", e->node);
    itg_json_put_int(json, "slot", e->slot);
    itg_json_put_text(json, "producer", e->producer);
    itg_json_put_int(json, "elements", e->elements);
    itg_cli_json_summary_edge(json, "quantizer", e);
    itg_json_end(json, '}');
}

static void put_data(const network_report *n)
{
    itg_json_writer json = {0};
    itg_json_begin(&json, NULL, '{');
    itg_json_put_text(&json, "file", n->path);
    itg_json_put_text(&json, "kind", n->info->is_program ? "program" : "strategy");
    itg_json_put_text(&json, "model_hash", n->info->model_hash);
    itg_json_put_text(&json, "hardware", n->info->hardware);
    itg_cli_json_metrics(&json, "", &n->info->score, ITG_CLI_METRICS);
    itg_json_begin(&json, "layers", '[');
    for (int32_t i = 0; i < n->info->layer_count; i++) {
        itg_json_begin(&json, NULL, '{');
        itg_json_put_text(&json, "node", network_report_layer(n, i)->node);
        itg_json_put_text(&json, "op", network_report_layer(n, i)->op);
        itg_cli_json_summary_layer(&json, "costs", network_report_layer(n, i));
        itg_json_end(&json, '}');
    }
    itg_json_end(&json, ']');
    itg_json_begin(&json, "edges", '[');
    for (int32_t i = 0; i < n->info->edge_count; i++)
        json_edge(&json, network_report_edge(n, i));
    itg_json_end(&json, ']');
    if (n->memory) itg_report_memory_json(&json, n->memory);
    if (n->explanation) {
        itg_json_begin(&json, "explanation", '{');
        itg_cli_json_explanation(&json, n->explanation);
        itg_json_end(&json, '}');
    }
    if (n->inspected.inspection) {
        itg_report_histograms_json(&json, n->inspected.inspection);
        itg_cli_json_inspection(&json, "inspection", n->inspected.inspection);
    }
    itg_json_end(&json, '}');
    itg_report_block(n->page, "network", &json);
}

static void put_inputs(const network_report *n)
{
    itg_cli_table table;
    itg_cli_table_init(&table, "ll");
    itg_cli_table_texts(&table, n->info->is_program ? "program" : "strategy", n->path, NULL);
    itg_cli_table_texts(&table, "model",
                        n->inspected.model ? itg_model_name(n->inspected.model) : "not given",
                        NULL);
    itg_cli_table_texts(&table, "its SHA-256", n->info->model_hash, "hardware", n->info->hardware,
                        "its SHA-256", n->info->hardware_hash, NULL);
    if (n->args->given[ITG_CLI_OPT_DATA])
        itg_cli_table_texts(&table, "data", n->args->values[ITG_CLI_OPT_DATA].text, NULL);
    itg_cli_table_texts(&table, "engine of this report", itg_engine_version(), NULL);
    itg_page_section(n->page, "files", "What it is made of", NULL);
    itg_report_table(n->page, &table, "Files", false);
    itg_page_section_end(n->page);
}

static void put_page(const network_report *n)
{
    char title[160];
    snprintf(title, sizeof title, "%.90s on %.40s", itg_cli_base_name(n->path), n->info->hardware);
    itg_page_begin(n->page, title,
                   n->info->is_program ? "An integer program." : "A strategy of quantization.");
    put_totals(n);
    network_report_drawing(n);
    put_layers(n);
    if (n->memory) itg_report_memory(n->page, n->memory);
    if (n->explanation) itg_report_explanation(n->page, n->explanation);
    put_inspection(n);
    if (n->inspected.inspection) itg_report_histograms(n->page, n->inspected.inspection);
    put_edges(n);
    put_inputs(n);
    put_data(n);
}

itg_status itg_report_network(const itg_cli_args *args, itg_page *page, itg_error *err)
{
    network_report n = {.page = page, .args = args};
    itg_status status = read_all(&n, err);
    if (status == ITG_OK) put_page(&n);
    close_all(&n);
    return status;
}
