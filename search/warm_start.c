/* Starts of a search: the point of a strategy, or of a model that quantizes itself. */
#include "search/warm_start.h"
#include "base/json_take.h"
#include "search/point_space.h"
#include "search/points.h"
#include "sim/strategy_file.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLES 4 /* the choices that do not fit, as a sentence */

struct itg_search_start {
    int32_t *point;
    int32_t dim_count;
    unsigned char hash[32];
    char *misfits; /* NULL: none */
};

void itg_search_start_destroy(itg_search_start *start)
{
    if (!start) return;
    free(start->point);
    free(start->misfits);
    free(start);
}

const unsigned char *itg_search_start_hash(const itg_search_start *start)
{
    return start->hash;
}

const int32_t *itg_search_start_point(const itg_search_start *start, int32_t *dim_count)
{
    *dim_count = start->dim_count;
    return start->point;
}

const char *itg_search_start_misfits(const itg_search_start *start)
{
    return start->misfits ? start->misfits : "";
}

static itg_search_start *create(int32_t dim_count)
{
    itg_search_start *s = calloc(1, sizeof *s);
    if (s) s->point = calloc((size_t)dim_count + 1, sizeof *s->point);
    if (s && s->point) {
        s->dim_count = dim_count;
        return s;
    }
    itg_search_start_destroy(s);
    return NULL;
}

/* ---- what is wanted of an edge ---- */

/* The source of a start: a strategy, or a graph whose file quantizes values. */
typedef struct source {
    const itg_strategy *strategy;
    const itg_graph *quantized;
} source;

static int32_t quantized_bits(const itg_graph *q, const itg_graph *g, const itg_edge_ref *edge)
{
    itg_id value = ITG_NONE;
    if (edge->node == ITG_NONE) {
        if (edge->slot < q->output_count) value = q->outputs[edge->slot];
    } else {
        const itg_id node = itg_graph_find_node(q, g->nodes[edge->node].name);
        if (node != ITG_NONE && edge->slot < q->nodes[node].input_count)
            value = q->nodes[node].inputs[edge->slot];
    }
    return value != ITG_NONE && q->values[value].stated ? q->values[value].stated->bits : 0;
}

/* The width of the widest edge of a group, and its first edge with a width, which may be none; 0:
 * no edge has a width. */
static int32_t wanted_of(const source *from, const itg_point_space *p,
                         const itg_choice_group *group, const itg_edge_choice **first)
{
    int32_t widest = 0;
    *first = NULL;
    for (int32_t i = 0; i < group->edge_count; i++) {
        const int32_t e = group->edges[i];
        const itg_edge_choice *choice = from->strategy ? &from->strategy->edges[e] : NULL;
        const int32_t bits =
            choice ? choice->bits : quantized_bits(from->quantized, p->graph, &p->groups->edges[e]);
        if (bits > 0 && choice && !*first) *first = choice;
        if (bits > widest) widest = bits;
    }
    return widest;
}

/* ---- a point ---- */

typedef struct mapping {
    const itg_point_space *p;
    itg_search_start *start;
    itg_strbuf examples;
    int32_t misfits, found; /* groups that the source states and that do not fit */
} mapping;

static void note_misfit(mapping *m, const itg_choice_group *group, const char *wanted,
                        const char *taken)
{
    const itg_edge_ref *edge = &m->p->groups->edges[group->edges[0]];
    const itg_graph *g = m->p->graph;
    if (m->misfits++ >= EXAMPLES) return;
    itg_strbuf_format(&m->examples, "%s%.80s -> %.80s.%d has %s, here %s",
                      m->misfits > 1 ? "; " : "", g->values[edge->value].name,
                      edge->node == ITG_NONE ? "output" : g->nodes[edge->node].name, edge->slot,
                      wanted, taken);
}

/* The index of the first width of the group that is at least as wide; the last if there is none. */
static int32_t place_of(const itg_choice_group *group, int32_t bits)
{
    int32_t l = 0;
    while (l + 1 < group->bits_count && group->bits[l] < bits)
        l++;
    return l;
}

static void map_width(mapping *m, int32_t dim, const itg_choice_group *group, int32_t wanted)
{
    char asked[32], given[32];
    const int32_t bits = group->bits[place_of(group, wanted > 0 ? wanted : INT32_MAX)];
    if (dim >= 0) m->start->point[dim] = bits;
    if (wanted > 0) m->found++;
    if (bits == wanted) return;
    if (wanted > 0)
        snprintf(asked, sizeof asked, "%d bits", (int)wanted);
    else
        snprintf(asked, sizeof asked, "no width");
    snprintf(given, sizeof given, "%d", (int)bits);
    note_misfit(m, group, asked, given);
}

static void map_way(mapping *m, int32_t dim, const itg_choice_group *group,
                    const itg_edge_choice *wanted)
{
    m->start->point[dim] = 0;
    if (!wanted) return;
    int32_t way = itg_point_space_way(m->p, dim, wanted->method, wanted->passed_over);
    if (way < 0) {
        note_misfit(m, group, itg_threshold_name(wanted->method),
                    itg_threshold_name(group->is_weight ? m->p->weight_methods[0]
                                                        : m->p->activation_methods[0]));
        return;
    }
    m->start->point[dim] = way;
}

static int32_t dim_of(const itg_point_space *p, int32_t group, bool ordered)
{
    for (int32_t d = 0; d < p->space.dim_count; d++)
        if (p->dim_group[d] == group && p->dims[d].ordered == ordered) return d;
    return -1;
}

static itg_status tell_misfits(mapping *m, itg_error *err)
{
    itg_strbuf text = {0};
    if (m->misfits > 0)
        itg_strbuf_format(&text,
                          "the start: %d of %d choices do not fit, and take the next wider width, "
                          "or the first method: %s%s",
                          (int)m->misfits, (int)m->p->groups->group_count,
                          m->examples.text ? m->examples.text : "",
                          m->misfits > EXAMPLES ? "; ..." : "");
    bool failed = text.failed || m->examples.failed;
    itg_strbuf_deinit(&m->examples);
    if (failed) {
        itg_strbuf_deinit(&text);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for a search's start");
    }
    m->start->misfits = text.text;
    return ITG_OK;
}

static itg_status map(const itg_point_space *p, const source *from, itg_search_start **out,
                      int32_t *found, itg_error *err)
{
    mapping m = {.p = p, .start = create(p->space.dim_count)};
    if (!m.start) return itg_fail(err, ITG_NO_MEMORY, "no memory for a search's start");
    for (int32_t i = 0; i < p->groups->group_count; i++) {
        const itg_choice_group *group = &p->groups->groups[i];
        const int32_t way_dim = dim_of(p, i, false);
        const itg_edge_choice *first;
        map_width(&m, dim_of(p, i, true), group, wanted_of(from, p, group, &first));
        if (way_dim >= 0) map_way(&m, way_dim, group, first);
    }
    itg_status status = tell_misfits(&m, err);
    *found = m.found;
    if (status == ITG_OK)
        *out = m.start;
    else
        itg_search_start_destroy(m.start);
    return status;
}

/* Maps the source to the search's space. Fails if it belongs to another network. */
static itg_status make(const itg_model *model, const itg_hardware *hw,
                       const itg_search_options *options, const source *from,
                       itg_search_start **out, itg_error *err)
{
    itg_point_space *p = NULL;
    itg_search_start *start = NULL;
    int32_t found = 0;
    itg_status status = itg_point_space_create(hw, model, options, &p, err);
    if (status == ITG_OK && from->strategy && from->strategy->edge_count != p->groups->edge_count)
        status = itg_fail(err, ITG_MISMATCH, "the start: the strategy has %d edges, %s has %d",
                          from->strategy->edge_count, model->name, p->groups->edge_count);
    if (status == ITG_OK) status = map(p, from, &start, &found, err);
    if (status == ITG_OK && from->quantized && found == 0)
        status = itg_fail(err, ITG_BAD_ARGUMENT,
                          "the start: %s quantizes none of the inputs of %s's nodes (found by the "
                          "nodes' names): expected a QDQ model of the same network",
                          from->quantized->name, model->name);
    itg_point_space_destroy(p);
    if (status == ITG_OK)
        *out = start;
    else
        itg_search_start_destroy(start);
    return status;
}

itg_status itg_search_start_strategy(const itg_model *model, const itg_hardware *hw,
                                     const itg_search_options *options,
                                     const itg_strategy_file *file, itg_search_start **out,
                                     itg_error *err)
{
    itg_search_start *start = NULL;
    itg_status status =
        make(model, hw, options, &(source){.strategy = file->strategy}, &start, err);
    if (status == ITG_OK) status = itg_strategy_file_hash(file, model, start->hash, err);
    if (status == ITG_OK)
        *out = start;
    else
        itg_search_start_destroy(start);
    return status;
}

itg_status itg_search_start_quantized(const itg_model *model, const itg_hardware *hw,
                                      const itg_search_options *options, const itg_model *quantized,
                                      itg_search_start **out, itg_error *err)
{
    itg_status status = make(model, hw, options, &(source){.quantized = quantized}, out, err);
    if (status == ITG_OK) memcpy((*out)->hash, quantized->source_hash, sizeof(*out)->hash);
    return status;
}

/* ---- levels ---- */

static bool find_levels(const itg_search_space *space, const int32_t *point, int32_t *levels)
{
    for (int32_t d = 0; d < space->dim_count; d++) {
        levels[d] = itg_dim_level(&space->dims[d], point[d]);
        if (levels[d] < 0) return false;
    }
    return true;
}

itg_status itg_warm_start_levels(const itg_search_start *start, const itg_search_space *space,
                                 int32_t **out, itg_error *err)
{
    int32_t *levels = calloc((size_t)space->dim_count + 1, sizeof *levels);
    if (!levels) return itg_fail(err, ITG_NO_MEMORY, "no memory for a search's start");
    if (start->dim_count == space->dim_count && find_levels(space, start->point, levels)) {
        *out = levels;
        return ITG_OK;
    }
    free(levels);
    return itg_fail(err, ITG_BAD_ARGUMENT,
                    "the start is no point of this search: it was made with other options, or for "
                    "another model or hardware");
}

/* ---- earlier trials ---- */

itg_status itg_warm_start_past(const itg_search_past *past, const itg_objective *objective,
                               itg_told **out, int64_t *count, itg_error *err)
{
    const itg_search_space *space = objective->space;
    const size_t dims = (size_t)space->dim_count;
    const itg_metric quality = itg_goal_quality_metric(&objective->goal);
    itg_told *told =
        malloc(((size_t)past->count + 1) * (sizeof *told + (dims + 2) * sizeof(int32_t)));
    int32_t *levels = told ? (int32_t *)(told + past->count + 1) : NULL;
    if (!told) return itg_fail(err, ITG_NO_MEMORY, "no memory for earlier trials");
    *count = 0;
    for (int64_t i = 0; i < past->count; i++) {
        const itg_trial *t = &past->trials[i];
        if (t->dim_count != space->dim_count || !find_levels(space, t->point, levels)) {
            free(told);
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "earlier trial %lld is no point of this search: options, model or "
                            "hardware differ",
                            (long long)i);
        }
        if (t->feasible && (t->score.stopped_at > 0 || isnan(itg_score_get(&t->score, quality))))
            continue;
        told[*count] = (itg_told){levels, itg_objective_outcome(objective, t)};
        levels += dims;
        ++*count;
    }
    *out = told;
    return ITG_OK;
}

/* ---- text ---- */

void itg_warm_start_write(itg_json_writer *w, const itg_search_start *start)
{
    if (!start) {
        itg_json_put_null(w, ITG_WARM_START_KEY);
        return;
    }
    itg_json_begin(w, ITG_WARM_START_KEY, '{');
    itg_json_put_hash(w, "hash", start->hash);
    itg_json_begin(w, "point", '[');
    for (int32_t d = 0; d < start->dim_count; d++)
        itg_json_put_int(w, NULL, start->point[d]);
    itg_json_end(w, ']');
    itg_json_end(w, '}');
}

static void read(itg_json_taker *t, const itg_json_value *v, itg_search_start **out)
{
    static const char *const keys[] = {"hash", "point", NULL};
    const itg_json_value *point = itg_json_find(v, "point");
    itg_json_take_keys(t, v, keys);
    if (t->status != ITG_OK) return;
    if (!point || itg_json_typeof(point) != ITG_JSON_ARRAY || itg_json_length(point) > INT32_MAX) {
        itg_json_refuse(t, v, ITG_BAD_FILE, "expected \"point\": a list of numbers");
        return;
    }
    itg_search_start *start = create((int32_t)itg_json_length(point));
    if (!start) {
        t->status = itg_fail(t->err, ITG_NO_MEMORY, "no memory for a search's start");
        return;
    }
    itg_json_take_hash(t, v, "hash", start->hash);
    for (int32_t d = 0; d < start->dim_count; d++)
        start->point[d] = (int32_t)itg_json_int_of(t, itg_json_at(point, (size_t)d), 0, 64);
    *out = start;
}

itg_status itg_search_start_from_text(const char *text, const char *from, itg_search_start **out,
                                      itg_error *err)
{
    itg_json *json = NULL;
    itg_search_start *start = NULL;
    itg_status status = itg_json_parse(text, strlen(text), from, &json, err);
    if (status != ITG_OK) return status;
    itg_json_taker t = {json, err, ITG_OK};
    const itg_json_value *v = itg_json_find(itg_json_root(json), ITG_WARM_START_KEY);
    if (v && itg_json_typeof(v) == ITG_JSON_OBJECT)
        read(&t, v, &start);
    else if (v && itg_json_typeof(v) != ITG_JSON_NULL)
        itg_json_refuse(&t, v, ITG_BAD_FILE, "expected an object: where the search begins");
    itg_json_destroy(json);
    if (t.status == ITG_OK)
        *out = start;
    else
        itg_search_start_destroy(start);
    return t.status;
}
