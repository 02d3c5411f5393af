#include "search/evaluator.h"
#include "search/portrait.h"
#include "sim/evaluate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void itg_portrait_fingerprint(const double *values, int64_t count, char out[17])
{
    unsigned char hash[32], bytes[8];
    char hex[65];
    itg_sha256 h;
    itg_sha256_init(&h);
    for (int64_t i = 0; i < count; i++) {
        itg_copy_little_endian(bytes, &values[i], 1, sizeof bytes);
        itg_sha256_update(&h, bytes, sizeof bytes);
    }
    itg_sha256_final(&h, hash);
    itg_sha256_hex(hash, hex);
    memcpy(out, hex, 16);
    out[16] = '\0';
}

void itg_portrait_text(itg_strbuf *out, const char *key, const char *text)
{
    itg_strbuf_format(out, ", \"%s\": ", key);
    if (text == NULL)
        itg_strbuf_add(out, "null");
    else
        itg_strbuf_json_string(out, text);
}

void itg_portrait_threshold(itg_strbuf *out, const char *method, const double *values,
                            int64_t count, bool is_range)
{
    char mark[17];
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        if (values[i] > most) most = values[i];
    itg_portrait_fingerprint(values, count, mark);
    itg_portrait_text(out, "method", method);
    itg_strbuf_format(out, ", \"lo\": %.17g, \"hi\": %.17g", is_range ? values[0] : -most,
                      is_range ? values[1] : most);
    itg_portrait_text(out, "thresholds", mark);
}

static itg_status write_quantizer(const itg_quantizer *q, itg_strbuf *out, itg_error *err)
{
    char mark[17];
    double most = 0, *scales = malloc(((size_t)q->scale_count + 1) * sizeof *scales);
    if (scales == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory for a portrait");
    for (int32_t i = 0; i < q->scale_count; i++) {
        scales[i] = (double)q->scale[i];
        if (scales[i] > most) most = scales[i];
    }
    itg_portrait_fingerprint(scales, q->scale_count, mark);
    free(scales);
    itg_portrait_text(out, "sign", q->is_signed ? "signed" : "unsigned");
    itg_strbuf_format(out, ", \"zero_point\": %d, \"scale\": %.17g", (int)q->zero_point, most);
    itg_portrait_text(out, "scales", mark);
    return ITG_OK;
}

static itg_status write_edge(const itg_annotated *a, const itg_strategy *s, int32_t e,
                             itg_strbuf *out, itg_error *err)
{
    const itg_edge *edge = &a->edges[e];
    const itg_edge_choice *choice = &s->edges[e];
    const double range[2] = {choice->lo, choice->hi};
    bool is_range = choice->channel_count == 0;
    itg_status status = ITG_OK;
    itg_strbuf_add(out, e > 0 ? ",\n {\"value\": " : "\n {\"value\": ");
    itg_strbuf_json_string(out, a->graph->values[edge->value].name);
    itg_portrait_text(out, "node",
                      edge->node == ITG_NONE ? NULL : a->graph->nodes[edge->node].name);
    itg_strbuf_format(out, ", \"slot\": %d, \"bits\": %d", (int)edge->slot, (int)choice->bits);
    if (choice->bits > 0) {
        if (edge->kind == ITG_EDGE_QUANT)
            status = write_quantizer(&a->values[edge->value].versions[edge->version].q, out, err);
        itg_portrait_threshold(out, itg_threshold_name(choice->method),
                               is_range ? range : choice->channel,
                               is_range ? 2 : choice->channel_count, is_range);
    }
    itg_strbuf_add(out, "}");
    return status;
}

static void write_layer(const itg_annotated *a, const itg_hardware *hw, itg_id n, itg_strbuf *out)
{
    const itg_node_note *note = &a->nodes[n];
    itg_node_cost cost = itg_cost_of_node(hw, a, n);
    itg_strbuf_add(out, n > 0 ? ",\n {\"node\": " : "\n {\"node\": ");
    itg_strbuf_json_string(out, a->graph->nodes[n].name);
    itg_portrait_text(out, "op", itg_op_name(a->graph->nodes[n].op));
    itg_portrait_text(out, "form", itg_form_name(note->form));
    itg_strbuf_format(
        out,
        ", \"accumulator_bits\": %d, \"weight_bytes\": %lld, \"macs\": %.17g, "
        "\"bops\": %.17g, \"cycles\": %.17g",
        note->form == ITG_FORM_FLOAT || note->form == ITG_FORM_FUSED ? 0 : (int)note->acc.bits,
        (long long)cost.weight_bytes, (double)cost.macs, (double)cost.bops, cost.cycles);
    if (cost.parts > 0)
        itg_strbuf_format(out, ", \"parts\": %lld, \"joins\": %.17g", (long long)cost.parts,
                          (double)cost.joins);
    itg_strbuf_add(out, "}");
}

/* Members for what is known: costs, or all else. */
static void write_metrics(const itg_score *score, bool costs, const char *join, itg_strbuf *out)
{
    for (int m = 0; m < ITG_METRIC_COUNT; m++) {
        const itg_metric_info *about = itg_metric_about((itg_metric)m);
        if (!isfinite(score->value[m]) || (about->needs == ITG_NEEDS_PROGRAM) != costs) continue;
        itg_strbuf_format(out, "%s\"%s\": %.17g", join, about->name, score->value[m]);
        join = ", ";
    }
    itg_strbuf_add(out, "}");
}

/* Quality as it is known, or as the file that was read recorded it. */
static void write_results(const itg_strategy_file *file, itg_strbuf *out)
{
    const itg_score *r = file->results.samples > 0 ? &file->results : &file->recorded;
    if (r->samples == 0) return;
    itg_strbuf_format(out, ",\n\"results\": {\"samples\": %lld", (long long)r->samples);
    write_metrics(r, false, ", ", out);
}

static void write_head(const itg_strategy_file *file, const itg_score *score, itg_strbuf *out)
{
    char model[65], graph[65], hardware[65];
    unsigned char hash[32];
    itg_sha256 h;
    itg_sha256_init(&h);
    itg_sha256_update(&h, file->hardware->json, strlen(file->hardware->json));
    itg_sha256_final(&h, hash);
    itg_sha256_hex(hash, hardware);
    itg_sha256_hex(file->strategy->model_hash, model);
    itg_sha256_hex(file->strategy->graph_hash, graph);
    itg_strbuf_format(out, "{\"model_hash\": \"%s\"", model);
    itg_portrait_text(out, "graph_hash", graph);
    itg_portrait_text(out, "hardware", file->hardware->name);
    itg_portrait_text(out, "hardware_hash", hardware);
    itg_strbuf_add(out, ",\n\"costs\": {");
    write_metrics(score, true, "", out);
}

itg_status itg_portrait_write(const itg_annotated *a, const itg_program *program,
                              const itg_strategy_file *file, itg_strbuf *out, itg_error *err)
{
    itg_score score = itg_score_unknown();
    itg_status status = itg_program_costs(file->hardware, a, program, &score, err);
    if (status != ITG_OK) return status;
    write_head(file, &score, out);
    write_results(file, out);
    itg_strbuf_add(out, ",\n\"edges\": [");
    for (int32_t e = 0; e < a->edge_count && status == ITG_OK; e++)
        status = write_edge(a, file->strategy, e, out, err);
    itg_strbuf_add(out, "\n],\n\"layers\": [");
    for (itg_id n = 0; n < a->graph->node_count; n++)
        write_layer(a, file->hardware, n, out);
    itg_strbuf_add(out, "\n]}\n");
    if (status == ITG_OK && !itg_strbuf_ok(out))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for a portrait");
    return status;
}
