/* What stands in a run's JSON documents, as plain structs: the edges of its strategy, the choices
 * of a trial. The log takes these documents as they come, so nothing in them is believed. */
#include "logs/store.h"
#include "base/json.h"
#include <stdlib.h>
#include <string.h>

static itg_status no_memory(itg_error *err)
{
    return itg_fail(err, ITG_NO_MEMORY, "no memory for the details of a run");
}

static itg_status parse(const itg_run_record *record, const char *text, const char *what,
                        itg_json **out, itg_error *err)
{
    char source[512];
    snprintf(source, sizeof source, "%.400s: run %lld: its %s", record->log ? record->log : "log",
             (long long)record->run, what);
    return itg_json_parse(text, strlen(text), source, out, err);
}

/* Text that outlives the document; NULL: no memory. */
static itg_status keep_text(itg_arena *arena, const itg_json *json, const itg_json_value *v,
                            const char **out, itg_error *err)
{
    const char *text = NULL;
    itg_status status = itg_json_get_string(json, v, &text, err);
    if (status != ITG_OK) return status;
    *out = itg_arena_strdup(arena, text);
    return *out ? ITG_OK : no_memory(err);
}

/* ---- the edges of a strategy ---- */

struct itg_run_edges {
    itg_arena *arena;
    itg_run_edge *edges;
    int32_t count;
};

typedef struct strategy_lists {
    const itg_json_value *edges, *bits, *thresholds;
} strategy_lists;

static itg_status find_lists(const itg_json *json, strategy_lists *out, itg_error *err)
{
    const itg_json_value *root = itg_json_root(json), *strategy = NULL;
    itg_status status = itg_json_typeof(root) == ITG_JSON_OBJECT
                            ? itg_json_need(json, root, "strategy", ITG_JSON_OBJECT, &strategy, err)
                            : itg_json_fail(json, root, err, ITG_BAD_FILE, "expected a strategy");
    if (status == ITG_OK)
        status = itg_json_need(json, root, "edges", ITG_JSON_ARRAY, &out->edges, err);
    if (status == ITG_OK)
        status = itg_json_need(json, strategy, "bits", ITG_JSON_ARRAY, &out->bits, err);
    if (status == ITG_OK)
        status = itg_json_need(json, strategy, "thresholds", ITG_JSON_ARRAY, &out->thresholds, err);
    if (status == ITG_OK && (itg_json_length(out->edges) != itg_json_length(out->bits) ||
                             itg_json_length(out->edges) != itg_json_length(out->thresholds)))
        status = itg_json_fail(json, out->edges, err, ITG_BAD_FILE,
                               "expected as many edges as bits and thresholds");
    return status;
}

static itg_status read_edge(itg_arena *arena, const itg_json *json, const itg_json_value *v,
                            itg_run_edge *out, itg_error *err)
{
    const itg_json_value *value = NULL, *slot = NULL;
    const itg_json_value *node = itg_json_find(v, "node");
    int64_t number = 0;
    itg_status status = itg_json_typeof(v) == ITG_JSON_OBJECT
                            ? itg_json_need(json, v, "value", ITG_JSON_STRING, &value, err)
                            : itg_json_fail(json, v, err, ITG_BAD_FILE, "expected an edge");
    if (status == ITG_OK) status = keep_text(arena, json, value, &out->value, err);
    if (status == ITG_OK && node && itg_json_typeof(node) != ITG_JSON_NULL)
        status = keep_text(arena, json, node, &out->node, err);
    if (status == ITG_OK) status = itg_json_need(json, v, "slot", ITG_JSON_NUMBER, &slot, err);
    if (status == ITG_OK) status = itg_json_get_int(json, slot, 0, INT32_MAX, &number, err);
    out->slot = (int32_t)number;
    return status;
}

static itg_status read_quantizer(itg_arena *arena, const itg_json *json, const itg_json_value *bits,
                                 const itg_json_value *threshold, itg_run_edge *out, itg_error *err)
{
    const itg_json_value *method = itg_json_find(threshold, "method");
    int64_t number = 0;
    itg_status status = itg_json_get_int(json, bits, 0, 64, &number, err);
    out->bits = (int32_t)number;
    return status == ITG_OK && method ? keep_text(arena, json, method, &out->method, err) : status;
}

static itg_status read_edges(const itg_json *json, itg_run_edges *out, itg_error *err)
{
    strategy_lists lists;
    itg_status status = find_lists(json, &lists, err);
    if (status != ITG_OK) return status;
    size_t count = itg_json_length(lists.edges);
    out->edges = itg_arena_array(out->arena, count + 1, sizeof *out->edges);
    if (!out->edges) return no_memory(err);
    for (size_t i = 0; i < count && status == ITG_OK; i++) {
        itg_run_edge *edge = &out->edges[i];
        status = read_edge(out->arena, json, itg_json_at(lists.edges, i), edge, err);
        if (status == ITG_OK)
            status = read_quantizer(out->arena, json, itg_json_at(lists.bits, i),
                                    itg_json_at(lists.thresholds, i), edge, err);
    }
    out->count = (int32_t)count;
    return status;
}

itg_status itg_run_edges_read(const itg_run_record *record, itg_run_edges **out, itg_error *err)
{
    itg_json *json = NULL;
    itg_run_edges *edges = calloc(1, sizeof *edges);
    if (edges) edges->arena = itg_arena_create(0);
    itg_status status = edges && edges->arena ? ITG_OK : no_memory(err);
    if (status == ITG_OK && record->strategy_json)
        status = parse(record, record->strategy_json, "strategy", &json, err);
    if (status == ITG_OK && json) status = read_edges(json, edges, err);
    itg_json_destroy(json);
    if (status == ITG_OK)
        *out = edges;
    else
        itg_run_edges_destroy(edges);
    return status;
}

void itg_run_edges_destroy(itg_run_edges *edges)
{
    if (!edges) return;
    itg_arena_destroy(edges->arena);
    free(edges);
}

int32_t itg_run_edges_count(const itg_run_edges *edges)
{
    return edges->count;
}

const itg_run_edge *itg_run_edges_at(const itg_run_edges *edges, int32_t index)
{
    return index >= 0 && index < edges->count ? &edges->edges[index] : NULL;
}

itg_status itg_run_strategy_save(const itg_run_record *record, const char *path, itg_error *err)
{
    if (!record->strategy_json)
        return itg_fail(err, ITG_BAD_ARGUMENT, "run %lld holds no strategy",
                        (long long)record->run);
    return itg_file_write(path, record->strategy_json, strlen(record->strategy_json), err);
}

/* ---- the choices of a trial ---- */

struct itg_run_choices {
    itg_arena *arena;
    itg_run_choice *choices;
    int32_t count;
};

static itg_status read_names(itg_arena *arena, const itg_json *json, const itg_json_value *dim,
                             itg_run_choice *out, itg_error *err)
{
    const itg_json_value *list = NULL;
    itg_status status = itg_json_need(json, dim, "edges", ITG_JSON_ARRAY, &list, err);
    if (status != ITG_OK) return status;
    size_t count = itg_json_length(list);
    const char **names = itg_arena_array(arena, count + 1, sizeof *names);
    if (!names) return no_memory(err);
    for (size_t i = 0; i < count && status == ITG_OK; i++)
        status = keep_text(arena, json, itg_json_at(list, i), &names[i], err);
    out->edges = names;
    out->edge_count = (int32_t)count;
    return status;
}

/* A width stands in the point itself, a method by its index in the dimension's values. */
static itg_status read_choice(itg_arena *arena, const itg_json *json, const itg_json_value *dim,
                              int32_t chosen, itg_run_choice *out, itg_error *err)
{
    const itg_json_value *kind = NULL, *values = NULL;
    itg_status status = itg_json_typeof(dim) == ITG_JSON_OBJECT
                            ? itg_json_need(json, dim, "kind", ITG_JSON_STRING, &kind, err)
                            : itg_json_fail(json, dim, err, ITG_BAD_FILE, "expected a dimension");
    if (status == ITG_OK) status = keep_text(arena, json, kind, &out->kind, err);
    if (status == ITG_OK) status = itg_json_need(json, dim, "values", ITG_JSON_ARRAY, &values, err);
    if (status == ITG_OK) status = read_names(arena, json, dim, out, err);
    if (status != ITG_OK) return status;
    if (strcmp(out->kind, "threshold") != 0) {
        out->value = itg_arena_format(arena, "%d", (int)chosen);
        return out->value ? ITG_OK : no_memory(err);
    }
    const itg_json_value *method = itg_json_at(values, (size_t)chosen);
    return method ? keep_text(arena, json, method, &out->value, err)
                  : itg_json_fail(json, values, err, ITG_BAD_FILE, "there is no value number %d",
                                  (int)chosen);
}

static itg_status read_choices(const itg_json *json, const itg_trial *trial, itg_run_choices *out,
                               itg_error *err)
{
    const itg_json_value *root = itg_json_root(json);
    itg_status status = ITG_OK;
    if (itg_json_typeof(root) != ITG_JSON_ARRAY ||
        itg_json_length(root) != (size_t)trial->dim_count)
        return itg_json_fail(json, root, err, ITG_BAD_FILE, "expected a list of %d dimensions",
                             (int)trial->dim_count);
    out->choices = itg_arena_array(out->arena, (size_t)trial->dim_count + 1, sizeof *out->choices);
    if (!out->choices) return no_memory(err);
    for (int32_t i = 0; i < trial->dim_count && status == ITG_OK; i++)
        status = read_choice(out->arena, json, itg_json_at(root, (size_t)i), trial->point[i],
                             &out->choices[i], err);
    out->count = trial->dim_count;
    return status;
}

itg_status itg_run_choices_read(const itg_run_record *record, const itg_trial *trial,
                                itg_run_choices **out, itg_error *err)
{
    itg_json *json = NULL;
    itg_run_choices *choices = calloc(1, sizeof *choices);
    if (choices) choices->arena = itg_arena_create(0);
    itg_status status = choices && choices->arena ? ITG_OK : no_memory(err);
    if (status == ITG_OK && record->info.space_json)
        status = parse(record, record->info.space_json, "space", &json, err);
    if (status == ITG_OK && json) status = read_choices(json, trial, choices, err);
    itg_json_destroy(json);
    if (status == ITG_OK)
        *out = choices;
    else
        itg_run_choices_destroy(choices);
    return status;
}

void itg_run_choices_destroy(itg_run_choices *choices)
{
    if (!choices) return;
    itg_arena_destroy(choices->arena);
    free(choices);
}

int32_t itg_run_choices_count(const itg_run_choices *choices)
{
    return choices->count;
}

const itg_run_choice *itg_run_choices_at(const itg_run_choices *choices, int32_t index)
{
    return index >= 0 && index < choices->count ? &choices->choices[index] : NULL;
}
