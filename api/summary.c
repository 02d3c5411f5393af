/* Summaries made from a strategy in memory, or opened from files (intaglio.h). */
#include "api/summary.h"
#include "base/packed.h"
#include "realize/realize.h"
#include "search/engine.h"
#include "search/evaluator.h"
#include <stdlib.h>
#include <string.h>

static itg_status no_memory(itg_error *err)
{
    return itg_fail(err, ITG_NO_MEMORY, "no memory for a summary");
}

itg_status itg_summary_create(int32_t edges, int32_t layers, itg_summary **out, itg_error *err)
{
    itg_arena *arena = itg_arena_create(0);
    itg_summary *s = arena ? itg_arena_alloc(arena, sizeof *s) : NULL;
    if (s) {
        s->edges = itg_arena_array(arena, (size_t)edges + 1, sizeof *s->edges);
        s->layers = itg_arena_array(arena, (size_t)layers + 1, sizeof *s->layers);
    }
    if (!s || !s->edges || !s->layers) {
        itg_arena_destroy(arena);
        return no_memory(err);
    }
    s->arena = arena;
    s->info.score = itg_score_unknown();
    s->info.edge_count = edges;
    s->info.layer_count = layers;
    *out = s;
    return ITG_OK;
}

void itg_summary_destroy(itg_summary *summary)
{
    if (summary) itg_arena_destroy(summary->arena);
}

const itg_summary_info *itg_summary_info_of(const itg_summary *summary)
{
    return &summary->info;
}
const itg_summary_edge *itg_summary_edge_at(const itg_summary *summary, int32_t index)
{
    return &summary->edges[index];
}
const itg_summary_layer *itg_summary_layer_at(const itg_summary *summary, int32_t index)
{
    return &summary->layers[index];
}

/* ---- parts of an entry ---- */

itg_status itg_summary_text(itg_summary *s, const char *text, const char **out, itg_error *err)
{
    *out = text ? itg_arena_strdup(s->arena, text) : NULL;
    return text && !*out ? no_memory(err) : ITG_OK;
}

static itg_status add_hash(itg_summary *s, const unsigned char hash[32], const char **out,
                           itg_error *err)
{
    char hex[65];
    itg_sha256_hex(hash, hex);
    return itg_summary_text(s, hex, out, err);
}

itg_status itg_summary_hardware(itg_summary *s, const itg_hardware *hw, itg_error *err)
{
    itg_status status = itg_summary_text(s, hw->name, &s->info.hardware, err);
    return status == ITG_OK ? add_hash(s, hw->hash, &s->info.hardware_hash, err) : status;
}

static itg_status add_digits(itg_summary *s, itg_sha256 *h, const char **out, itg_error *err)
{
    unsigned char hash[32];
    char hex[65];
    itg_sha256_final(h, hash);
    itg_sha256_hex(hash, hex);
    hex[16] = '\0';
    return itg_summary_text(s, hex, out, err);
}

itg_status itg_summary_hash(itg_summary *s, const double *values, int64_t count, const char **out,
                            itg_error *err)
{
    unsigned char bytes[8];
    itg_sha256 h;
    itg_sha256_init(&h);
    for (int64_t i = 0; i < count; i++) {
        itg_copy_little_endian(bytes, &values[i], 1, sizeof bytes);
        itg_sha256_update(&h, bytes, sizeof bytes);
    }
    return add_digits(s, &h, out, err);
}

static double largest(const double *values, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        if (values[i] > most) most = values[i];
    return most;
}

itg_status itg_summary_threshold(itg_summary *s, itg_summary_edge *edge, const char *method,
                                 int64_t passed_over, const double *values, int64_t count,
                                 bool is_range, itg_error *err)
{
    char way[80];
    snprintf(way, sizeof way, passed_over > 0 ? "%s:%lld" : "%s", method, (long long)passed_over);
    edge->hi = is_range ? values[1] : largest(values, count);
    edge->lo = is_range ? values[0] : -edge->hi;
    itg_status status = itg_summary_text(s, way, &edge->method, err);
    return status == ITG_OK ? itg_summary_hash(s, values, count, &edge->thresholds, err) : status;
}

/* ---- of an annotated graph ---- */

static itg_status add_quantizer(itg_summary *s, const itg_quantizer *q, itg_summary_edge *edge,
                                itg_error *err)
{
    double *scales = malloc(((size_t)q->scale_count + 1) * sizeof *scales);
    if (!scales) return no_memory(err);
    for (int32_t i = 0; i < q->scale_count; i++)
        scales[i] = (double)q->scale[i];
    edge->sign = q->is_signed ? "signed" : "unsigned";
    edge->zero_point = q->zero_point;
    edge->scale = largest(scales, q->scale_count);
    itg_status status = itg_summary_hash(s, scales, q->scale_count, &edge->scales, err);
    free(scales);
    return status;
}

/* What a weight's entry has besides its thresholds. */
static itg_status add_own(itg_summary *s, const itg_edge_choice *choice, itg_summary_edge *edge,
                          itg_error *err)
{
    const int32_t zeros = choice->zero ? choice->channel_count : 0, biases = choice->bias_count;
    double *values = malloc(((size_t)(zeros > biases ? zeros : biases) + 1) * sizeof *values);
    itg_status status = values ? ITG_OK : no_memory(err);
    for (int32_t i = 0; i < zeros && values; i++)
        values[i] = choice->zero[i];
    if (status == ITG_OK && zeros > 0)
        status = itg_summary_hash(s, values, zeros, &edge->zero_points, err);
    for (int32_t i = 0; i < biases && values; i++)
        values[i] = (double)choice->bias[i];
    if (status == ITG_OK && biases > 0)
        status = itg_summary_hash(s, values, biases, &edge->bias, err);
    free(values);
    if (status != ITG_OK || !choice->codes) return status;
    itg_sha256 h;
    itg_sha256_init(&h);
    itg_sha256_update(&h, choice->codes,
                      (size_t)itg_packed_bytes(choice->code_count, choice->bits));
    return add_digits(s, &h, &edge->codes, err);
}

static const char *node_name(const itg_graph *graph, itg_id node)
{
    return node == ITG_NONE ? NULL : graph->nodes[node].name;
}

static itg_status add_edge(itg_summary *s, const itg_annotated *a, const itg_edge_choice *choice,
                           int32_t index, itg_error *err)
{
    const itg_edge *edge = &a->edges[index];
    itg_summary_edge *to = &s->edges[index];
    const double range[2] = {choice->lo, choice->hi};
    const itg_value *value = &a->graph->values[edge->value];
    bool is_range = choice->channel_count == 0;
    to->slot = edge->slot;
    to->bits = choice->bits;
    if (value->data) (void)itg_shape_elements(&value->shape, &to->elements);
    itg_status status = itg_summary_text(s, value->name, &to->value, err);
    if (status == ITG_OK)
        status = itg_summary_text(s, node_name(a->graph, edge->node), &to->node, err);
    if (status == ITG_OK)
        status = itg_summary_text(s, node_name(a->graph, value->producer), &to->producer, err);
    if (status != ITG_OK || choice->bits == 0) return status;
    if (edge->kind == ITG_EDGE_QUANT)
        status = add_quantizer(s, &a->values[edge->value].encodings[edge->encoding].q, to, err);
    if (status == ITG_OK) status = add_own(s, choice, to, err);
    return status == ITG_OK
               ? itg_summary_threshold(s, to, itg_threshold_name(choice->method),
                                       choice->passed_over, is_range ? range : choice->channel,
                                       is_range ? 2 : choice->channel_count, is_range, err)
               : status;
}

static itg_status add_layer(itg_summary *s, const itg_annotated *a, const itg_hardware *hw,
                            itg_id n, itg_error *err)
{
    const itg_node_note *note = &a->nodes[n];
    const itg_node_cost cost = itg_cost_of_node(hw, a, n);
    bool sums = note->form != ITG_FORM_FLOAT && note->form != ITG_FORM_FUSED;
    s->layers[n] = (itg_summary_layer){.op = itg_op_name(a->graph->nodes[n].op),
                                       .form = itg_form_name(note->form),
                                       .accumulator_bits = sums ? note->acc.bits : 0,
                                       .weight_bytes = cost.weight_bytes,
                                       .macs = cost.macs,
                                       .parts = cost.parts,
                                       .joins = cost.joins,
                                       .bops = (double)cost.bops,
                                       .cycles = cost.cycles};
    return itg_summary_text(s, a->graph->nodes[n].name, &s->layers[n].node, err);
}

itg_status itg_summary_make(const itg_annotated *a, const itg_program *program,
                            const itg_strategy_file *file, itg_summary **out, itg_error *err)
{
    itg_summary *s = NULL;
    itg_status status = itg_summary_create(a->edge_count, a->graph->node_count, &s, err);
    if (status != ITG_OK) return status;
    s->info.has_costs = true;
    /* Quality as it is known, or as the strategy file recorded it. */
    s->info.score = file->results.samples > 0 ? file->results : file->recorded;
    status = itg_program_costs(file->hardware, a, program, &s->info.score, err);
    if (status == ITG_OK)
        status = add_hash(s, file->strategy->model_hash, &s->info.model_hash, err);
    if (status == ITG_OK)
        status = add_hash(s, file->strategy->graph_hash, &s->info.graph_hash, err);
    if (status == ITG_OK) status = itg_summary_hardware(s, file->hardware, err);
    for (int32_t e = 0; e < a->edge_count && status == ITG_OK; e++)
        status = add_edge(s, a, &file->strategy->edges[e], e, err);
    for (itg_id n = 0; n < a->graph->node_count && status == ITG_OK; n++)
        status = add_layer(s, a, file->hardware, n, err);
    if (status == ITG_OK)
        *out = s;
    else
        itg_summary_destroy(s);
    return status;
}

/* ---- opening ---- */

static itg_status annotate(const char *path, const itg_model *model, itg_summary **out,
                           itg_error *err)
{
    itg_strategy_file *file = NULL;
    itg_annotated *a = NULL;
    itg_status status = itg_strategy_open(model, path, &file, err);
    if (status == ITG_OK) status = itg_annotate_strategy(model, file, &a, err);
    if (status == ITG_OK) status = itg_summary_make(a, NULL, file, out, err);
    itg_annotated_destroy(a);
    itg_strategy_close(file);
    return status;
}

static itg_status open_strategy(const char *path, const itg_model *model, const char *bytes,
                                size_t count, itg_summary **out, itg_error *err)
{
    itg_json *json = NULL;
    itg_status status = itg_json_parse(bytes, count, path, &json, err);
    if (status == ITG_OK)
        status = model ? annotate(path, model, out, err) : itg_summary_of_strategy(json, out, err);
    itg_json_destroy(json);
    return status;
}

static itg_status open_program(const char *path, const itg_model *model, itg_summary **out,
                               itg_error *err)
{
    itg_program *program = NULL;
    itg_summary *s = NULL;
    char hex[65];
    itg_status status = itg_program_open(path, &program, err);
    if (status != ITG_OK) return status;
    const char *kept = itg_program_metadata(program, ITG_SUMMARY_KEY);
    status = kept ? itg_summary_read(kept, strlen(kept), path, &s, err)
                  : itg_fail(err, ITG_UNSUPPORTED,
                             "%s: it does not hold what it was made from; realize it again", path);
    itg_program_destroy(program);
    if (status != ITG_OK) return status;
    s->info.is_program = true;
    if (model) itg_sha256_hex(itg_model_hash(model), hex);
    if (model && strcmp(hex, s->info.model_hash) != 0) {
        itg_summary_destroy(s);
        return itg_fail(err, ITG_MISMATCH, "%s: it was made from another model than %s", path,
                        itg_model_name(model));
    }
    *out = s;
    return ITG_OK;
}

itg_status itg_summary_open(const char *path, const itg_model *model, itg_summary **out,
                            itg_error *err)
{
    unsigned char *bytes = NULL;
    size_t count = 0, at = 0;
    itg_status status = itg_file_read(path, (size_t)1 << 30, &bytes, &count, err);
    if (status != ITG_OK) return status;
    while (at < count && bytes[at] != '\0' && strchr(" \t\r\n", bytes[at]))
        at++;
    status = at < count && bytes[at] == '{'
                 ? open_strategy(path, model, (const char *)bytes, count, out, err)
                 : open_program(path, model, out, err);
    free(bytes);
    return status;
}
