/* Builds a document in three steps: the strict scan (json_scan.c), cJSON's tree, and an index over
 * it. The index finds elements by number and members by key without walking lists, and detects
 * duplicate keys. */
#include "base/json_tree.h"
#include "base/json_scan.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int compare_keys(const void *a, const void *b)
{
    const itg_json_value *const *left = a, *const *right = b;
    return strcmp((*left)->node->string, (*right)->node->string);
}

/* Counts the keys before target's in the text; true when target is found. */
static bool count_keys_before(const cJSON *parent, const cJSON *target, size_t *count)
{
    for (const cJSON *child = parent->child; child; child = child->next) {
        if (child == target) return true;
        if (cJSON_IsObject(parent)) ++*count;
        if (count_keys_before(child, target, count)) return true;
    }
    return false;
}

typedef struct builder {
    itg_json *json;
    const char *text;
    size_t bytes;
    size_t next; /* first free value of the index */
    itg_error *err;
} builder;

static itg_status fail_duplicate(const builder *b, const itg_json_value *first,
                                 const itg_json_value *second)
{
    const cJSON *later = first > second ? first->node : second->node;
    size_t rank = 0;
    char message[160];
    (void)count_keys_before(b->json->tree, later, &rank);
    snprintf(message, sizeof message, "duplicate key '%.100s'", later->string);
    return itg_json_fail_at_key(b->text, b->bytes, b->json->source, rank, b->err, message);
}

/* Appends value's children to the index. */
static itg_status index_children(builder *b, itg_json_value *value)
{
    itg_json *json = b->json;
    size_t first = b->next;
    for (const cJSON *child = value->node->child; child; child = child->next) {
        assert(b->next < json->count);
        json->values[b->next].node = child;
        json->values[b->next].parent = value;
        json->sorted[b->next] = &json->values[b->next];
        b->next++;
    }
    value->length = b->next - first;
    if (value->length == 0) return ITG_OK;
    value->children = json->values + first;
    if (!cJSON_IsObject(value->node)) return ITG_OK;
    const itg_json_value **by_key = json->sorted + first;
    qsort(by_key, value->length, sizeof *by_key, compare_keys);
    value->by_key = by_key;
    for (size_t i = 1; i < value->length; i++) {
        if (compare_keys(&by_key[i - 1], &by_key[i]) == 0)
            return fail_duplicate(b, by_key[i - 1], by_key[i]);
    }
    return ITG_OK;
}

static itg_status build_index(itg_json *json, const char *text, size_t bytes, itg_error *err)
{
    builder b = {.json = json, .text = text, .bytes = bytes, .next = 1, .err = err};
    json->values[0].node = json->tree;
    for (size_t i = 0; i < b.next; i++) {
        itg_status status = index_children(&b, &json->values[i]);
        if (status != ITG_OK) return status;
    }
    assert(b.next == json->count);
    return ITG_OK;
}

static char *copy_text(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    if (copy) memcpy(copy, text, bytes);
    return copy;
}

itg_status itg_json_parse(const char *text, size_t bytes, const char *source, itg_json **out,
                          itg_error *err)
{
    size_t values;
    itg_status status = itg_json_scan(text, bytes, source, &values, err);
    if (status != ITG_OK) return status;
    itg_json *json = calloc(1, sizeof *json);
    if (!json) goto no_memory;
    json->count = values;
    json->source = copy_text(source);
    json->values = calloc(values, sizeof *json->values);
    json->sorted = calloc(values, sizeof *json->sorted);
    if (!json->source || !json->values || !json->sorted) goto no_memory;
    /* cJSON accepts everything that the scan accepts, so only memory can be missing. */
    json->tree = cJSON_ParseWithLength(text, bytes);
    if (!json->tree) goto no_memory;
    status = build_index(json, text, bytes, err);
    if (status != ITG_OK) goto cleanup;
    *out = json;
    return ITG_OK;
no_memory:
    status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory to read it", source);
cleanup:
    itg_json_destroy(json);
    return status;
}

itg_status itg_json_read(const char *path, size_t max_bytes, itg_json **out, itg_error *err)
{
    unsigned char *text;
    size_t bytes;
    itg_status status = itg_file_read(path, max_bytes, &text, &bytes, err);
    if (status != ITG_OK) return status;
    status = itg_json_parse((const char *)text, bytes, path, out, err);
    free(text);
    return status;
}

void itg_json_destroy(itg_json *json)
{
    if (!json) return;
    cJSON_Delete(json->tree);
    free(json->values);
    free(json->sorted);
    free(json->source);
    free(json);
}

const itg_json_value *itg_json_root(const itg_json *json)
{
    return &json->values[0];
}

itg_json_type itg_json_typeof(const itg_json_value *value)
{
    const cJSON *node = value->node;
    if (cJSON_IsBool(node)) return ITG_JSON_BOOL;
    if (cJSON_IsNumber(node)) return ITG_JSON_NUMBER;
    if (cJSON_IsString(node)) return ITG_JSON_STRING;
    if (cJSON_IsArray(node)) return ITG_JSON_ARRAY;
    if (cJSON_IsObject(node)) return ITG_JSON_OBJECT;
    return ITG_JSON_NULL;
}

size_t itg_json_length(const itg_json_value *value)
{
    return value->length;
}

const itg_json_value *itg_json_at(const itg_json_value *array, size_t index)
{
    return index < array->length ? &array->children[index] : NULL;
}

const char *itg_json_key_at(const itg_json_value *object, size_t index)
{
    return index < object->length ? object->children[index].node->string : NULL;
}

const itg_json_value *itg_json_find(const itg_json_value *object, const char *key)
{
    if (!object->by_key) return NULL;
    size_t low = 0, high = object->length;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(object->by_key[middle]->node->string, key);
        if (order == 0) return object->by_key[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}
