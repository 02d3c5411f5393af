/* Reads a run's JSON documents into structs: the edges of its strategy, the choices of a trial. The
 * log stores these documents unchecked, so they are not trusted. */
#include "base/json_take.h"
#include "logs/store.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct itg_run_edges {
    itg_arena *arena; /* owns it all, this struct too */
    itg_run_edge *edges;
    int32_t count;
};

struct itg_run_choices {
    itg_arena *arena; /* owns it all, this struct too */
    itg_run_choice *choices;
    int32_t count;
};

typedef struct reader {
    itg_json_taker t;
    itg_arena *arena;
} reader;

static void no_memory(reader *r)
{
    if (r->t.status == ITG_OK)
        r->t.status = itg_fail(r->t.err, ITG_NO_MEMORY, "no memory for the details of a run");
}

/* Creates an arena and parses the document, if there is one. */
static reader open_document(const itg_run_record *record, const char *text, const char *what,
                            itg_json **json, itg_error *err)
{
    char source[512];
    reader r = {{NULL, err, ITG_OK}, itg_arena_create(0)};
    if (!r.arena) no_memory(&r);
    if (!r.arena || !text) return r;
    snprintf(source, sizeof source, "%.400s: run %lld: its %s", record->log ? record->log : "log",
             (long long)record->run, what);
    r.t.status = itg_json_parse(text, strlen(text), source, json, err);
    r.t.json = *json;
    return r;
}

static void *list_of(reader *r, size_t count, size_t size)
{
    void *list = r->t.status == ITG_OK ? itg_arena_array(r->arena, count + 1, size) : NULL;
    if (!list) no_memory(r);
    return list;
}

/* Copies text that must outlive the document; NULL stays NULL. */
static const char *keep(reader *r, const char *text)
{
    const char *kept = text ? itg_arena_strdup(r->arena, text) : NULL;
    if (text && !kept) no_memory(r);
    return kept;
}

/* ---- the edges of a strategy ---- */

static void read_edge(reader *r, const itg_json_value *from, const itg_json_value *bits,
                      const itg_json_value *threshold, itg_run_edge *out)
{
    const itg_json_value *method = itg_json_find(threshold, "method");
    if (itg_json_typeof(from) != ITG_JSON_OBJECT)
        itg_json_refuse(&r->t, from, ITG_BAD_FILE, "expected an edge");
    out->value = keep(r, itg_json_take_text(&r->t, from, "value"));
    out->node = keep(r, itg_json_take_optional(&r->t, from, "node"));
    out->slot = (int32_t)itg_json_take_int(&r->t, from, "slot", 0, INT32_MAX);
    out->bits = (int32_t)itg_json_int_of(&r->t, bits, 0, 64);
    if (method) out->method = keep(r, itg_json_text_of(&r->t, method));
}

static void read_edges(reader *r, itg_run_edges *out)
{
    const itg_json_value *root = itg_json_root(r->t.json);
    if (itg_json_typeof(root) != ITG_JSON_OBJECT)
        itg_json_refuse(&r->t, root, ITG_BAD_FILE, "expected a strategy");
    const itg_json_value *strategy = itg_json_take(&r->t, root, "strategy", ITG_JSON_OBJECT);
    const itg_json_value *edges = itg_json_take(&r->t, root, "edges", ITG_JSON_ARRAY);
    const itg_json_value *bits = itg_json_take(&r->t, strategy, "bits", ITG_JSON_ARRAY);
    const itg_json_value *thresholds = itg_json_take(&r->t, strategy, "thresholds", ITG_JSON_ARRAY);
    if (r->t.status != ITG_OK) return;
    size_t count = itg_json_length(edges);
    if (count != itg_json_length(bits) || count != itg_json_length(thresholds))
        itg_json_refuse(&r->t, edges, ITG_BAD_FILE,
                        "expected as many edges as bits and thresholds");
    out->edges = list_of(r, count, sizeof *out->edges);
    out->count = (int32_t)count;
    for (size_t i = 0; i < count && r->t.status == ITG_OK; i++)
        read_edge(r, itg_json_at(edges, i), itg_json_at(bits, i), itg_json_at(thresholds, i),
                  &out->edges[i]);
}

itg_status itg_run_edges_read(const itg_run_record *record, itg_run_edges **out, itg_error *err)
{
    itg_json *json = NULL;
    reader r = open_document(record, record->strategy_json, "strategy", &json, err);
    itg_run_edges *edges = list_of(&r, 1, sizeof *edges);
    if (edges) edges->arena = r.arena;
    if (edges && json) read_edges(&r, edges);
    itg_json_destroy(json);
    if (r.t.status == ITG_OK)
        *out = edges;
    else
        itg_arena_destroy(r.arena);
    return r.t.status;
}

void itg_run_edges_destroy(itg_run_edges *edges)
{
    if (edges) itg_arena_destroy(edges->arena);
}

int32_t itg_run_edges_count(const itg_run_edges *edges)
{
    return edges->count;
}

const itg_run_edge *itg_run_edges_at(const itg_run_edges *edges, int32_t index)
{
    return index >= 0 && index < edges->count ? &edges->edges[index] : NULL;
}

/* Writes the codes to a file named by their hash, as the strategy says (docs/strategy-file.md). */
static itg_status save_codes(const itg_run_record *record, const char *path, itg_error *err)
{
    unsigned char hash[32];
    char name[72];
    size_t bytes = 0;
    unsigned char *codes = itg_hex_bytes(record->codes, &bytes);
    if (!codes)
        return itg_fail(err, ITG_BAD_FILE, "%s: run %lld: its codes are damaged", record->log,
                        (long long)record->run);
    itg_sha256_of(codes, bytes, hash);
    snprintf(name, sizeof name, "%s.codes", itg_sha256_hex(hash, (char[65]){0}));
    char *to = itg_path_beside(path, name);
    itg_status status = to ? itg_file_write(to, codes, bytes, err)
                           : itg_fail(err, ITG_NO_MEMORY, "no memory for %s", name);
    free(to);
    free(codes);
    return status;
}

itg_status itg_run_strategy_save(const itg_run_record *record, const char *path, itg_error *err)
{
    if (!record->strategy_json)
        return itg_fail(err, ITG_BAD_ARGUMENT, "run %lld holds no strategy",
                        (long long)record->run);
    itg_status status = record->codes ? save_codes(record, path, err) : ITG_OK;
    if (status != ITG_OK) return status;
    return itg_file_write(path, record->strategy_json, strlen(record->strategy_json), err);
}

/* ---- the choices of a trial ---- */

/* The point holds a width itself, but a method as an index into the dimension's values. */
static void read_choice(reader *r, const itg_json_value *dim, int32_t chosen, itg_run_choice *out)
{
    if (itg_json_typeof(dim) != ITG_JSON_OBJECT)
        itg_json_refuse(&r->t, dim, ITG_BAD_FILE, "expected a dimension");
    out->kind = keep(r, itg_json_take_text(&r->t, dim, "kind"));
    const itg_json_value *values = itg_json_take(&r->t, dim, "values", ITG_JSON_ARRAY);
    const itg_json_value *list = itg_json_take(&r->t, dim, "edges", ITG_JSON_ARRAY);
    size_t count = list ? itg_json_length(list) : 0;
    const char **names = list_of(r, count, sizeof *names);
    for (size_t i = 0; i < count && names; i++)
        names[i] = keep(r, itg_json_text_of(&r->t, itg_json_at(list, i)));
    out->edges = names;
    out->edge_count = (int32_t)count;
    if (r->t.status != ITG_OK) return;
    if (strcmp(out->kind, "threshold") != 0) {
        out->value = itg_arena_format(r->arena, "%d", (int)chosen);
        if (!out->value) no_memory(r);
        return;
    }
    const itg_json_value *method = itg_json_at(values, (size_t)chosen);
    if (!method)
        itg_json_refuse(&r->t, values, ITG_BAD_FILE, "there is no value number %d", (int)chosen);
    out->value = keep(r, itg_json_text_of(&r->t, method));
}

static void read_choices(reader *r, const itg_trial *trial, itg_run_choices *out)
{
    const itg_json_value *root = itg_json_root(r->t.json);
    size_t count = (size_t)trial->dim_count;
    if (itg_json_typeof(root) != ITG_JSON_ARRAY || itg_json_length(root) != count)
        itg_json_refuse(&r->t, root, ITG_BAD_FILE, "expected a list of %d dimensions",
                        (int)trial->dim_count);
    out->choices = list_of(r, count, sizeof *out->choices);
    out->count = trial->dim_count;
    for (size_t i = 0; i < count && r->t.status == ITG_OK; i++)
        read_choice(r, itg_json_at(root, i), trial->point[i], &out->choices[i]);
}

itg_status itg_run_choices_read(const itg_run_record *record, const itg_trial *trial,
                                itg_run_choices **out, itg_error *err)
{
    itg_json *json = NULL;
    reader r = open_document(record, record->info.space_json, "space", &json, err);
    itg_run_choices *choices = list_of(&r, 1, sizeof *choices);
    if (choices) choices->arena = r.arena;
    if (choices && json) read_choices(&r, trial, choices);
    itg_json_destroy(json);
    if (r.t.status == ITG_OK)
        *out = choices;
    else
        itg_arena_destroy(r.arena);
    return r.t.status;
}

void itg_run_choices_destroy(itg_run_choices *choices)
{
    if (choices) itg_arena_destroy(choices->arena);
}

int32_t itg_run_choices_count(const itg_run_choices *choices)
{
    return choices->count;
}

const itg_run_choice *itg_run_choices_at(const itg_run_choices *choices, int32_t index)
{
    return index >= 0 && index < choices->count ? &choices->choices[index] : NULL;
}
