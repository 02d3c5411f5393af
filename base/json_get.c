/* Typed reads of values, and errors that name the place of a value. */
#include "base/json_tree.h"
#include "base/json_scan.h"
#include <inttypes.h>
#include <string.h>

/* A text in a buffer of fixed size; excess is cut off. */
typedef struct place {
    char *buffer;
    size_t size, length;
} place;

static void append(place *out, const char *text)
{
    for (; *text && out->length + 1 < out->size; text++)
        out->buffer[out->length++] = *text;
    if (out->size > 0) out->buffer[out->length] = '\0';
}

/* Whether a key can stand in a path without brackets and quotes. */
static bool is_plain(const char *key)
{
    if (*key == '\0') return false;
    for (; *key; key++) {
        unsigned char c = (unsigned char)*key;
        if (c <= ' ' || c == '.' || c == '[' || c == ']' || c == '"' || c == 0x7F) return false;
    }
    return true;
}

static void append_step(place *out, const itg_json_value *value)
{
    const char *key = value->node->string;
    if (!key) {
        char index[32];
        snprintf(index, sizeof index, "[%td]", value - value->parent->children);
        append(out, index);
    } else if (is_plain(key)) {
        if (out->length > 0) append(out, ".");
        append(out, key);
    } else {
        append(out, "[\"");
        append(out, key);
        append(out, "\"]");
    }
}

const char *itg_json_path(const itg_json *json, const itg_json_value *value, char *buffer,
                          size_t size)
{
    (void)json;
    const itg_json_value *chain[ITG_JSON_MAX_DEPTH + 1];
    size_t steps = 0;
    for (; value && value->parent; value = value->parent)
        chain[steps++] = value;
    place out = {buffer, size, 0};
    append(&out, "");
    while (steps > 0)
        append_step(&out, chain[--steps]);
    return buffer;
}

itg_status itg_json_fail(const itg_json *json, const itg_json_value *v, itg_error *err,
                         itg_status code, const char *format, ...)
{
    char path[200], message[400];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(message, sizeof message, format, arguments) < 0) message[0] = '\0';
    va_end(arguments);
    itg_json_path(json, v, path, sizeof path);
    return itg_fail(err, code, "%s: %s%s%s", json->source, path, path[0] ? ": " : "", message);
}

static const char *const type_names[] = {
    [ITG_JSON_NULL] = "null",       [ITG_JSON_BOOL] = "true or false",
    [ITG_JSON_NUMBER] = "a number", [ITG_JSON_STRING] = "a string",
    [ITG_JSON_ARRAY] = "an array",  [ITG_JSON_OBJECT] = "an object",
};

/* Describes v for "expected X, got ...": a short scalar's text, else its type. */
static const char *describe(const itg_json_value *v, char *buffer, size_t size)
{
    if (cJSON_IsNumber(v->node))
        snprintf(buffer, size, "%.17g", v->node->valuedouble);
    else if (cJSON_IsBool(v->node))
        snprintf(buffer, size, "%s", cJSON_IsTrue(v->node) ? "true" : "false");
    else if (cJSON_IsString(v->node) && strlen(v->node->valuestring) <= 40)
        snprintf(buffer, size, "\"%s\"", v->node->valuestring);
    else
        snprintf(buffer, size, "%s", type_names[itg_json_typeof(v)]);
    return buffer;
}

static itg_status fail_expected(const itg_json *json, const itg_json_value *v, const char *expected,
                                itg_error *err)
{
    char got[64];
    return itg_json_fail(json, v, err, ITG_BAD_FILE, "expected %s, got %s", expected,
                         describe(v, got, sizeof got));
}

static itg_status check_type(const itg_json *json, const itg_json_value *v, itg_json_type type,
                             itg_error *err)
{
    return itg_json_typeof(v) == type ? ITG_OK : fail_expected(json, v, type_names[type], err);
}

itg_status itg_json_get_int(const itg_json *json, const itg_json_value *v, int64_t min, int64_t max,
                            int64_t *out, itg_error *err)
{
    bool is_integer = false;
    int64_t value = 0;
    if (cJSON_IsNumber(v->node)) {
        double number = v->node->valuedouble;
        if (number >= -0x1p53 && number <= 0x1p53) {
            value = (int64_t)number;
            is_integer = (double)value == number;
        }
    }
    if (!is_integer || value < min || value > max) {
        char expected[96];
        snprintf(expected, sizeof expected, "an integer from %" PRId64 " to %" PRId64, min, max);
        return fail_expected(json, v, expected, err);
    }
    *out = value;
    return ITG_OK;
}

itg_status itg_json_get_number(const itg_json *json, const itg_json_value *v, double *out,
                               itg_error *err)
{
    itg_status status = check_type(json, v, ITG_JSON_NUMBER, err);
    if (status == ITG_OK) *out = v->node->valuedouble;
    return status;
}

itg_status itg_json_get_bool(const itg_json *json, const itg_json_value *v, bool *out,
                             itg_error *err)
{
    itg_status status = check_type(json, v, ITG_JSON_BOOL, err);
    if (status == ITG_OK) *out = cJSON_IsTrue(v->node);
    return status;
}

itg_status itg_json_get_string(const itg_json *json, const itg_json_value *v, const char **out,
                               itg_error *err)
{
    itg_status status = check_type(json, v, ITG_JSON_STRING, err);
    if (status == ITG_OK) *out = v->node->valuestring;
    return status;
}

itg_status itg_json_need(const itg_json *json, const itg_json_value *object, const char *key,
                         itg_json_type type, const itg_json_value **out, itg_error *err)
{
    itg_status status = check_type(json, object, ITG_JSON_OBJECT, err);
    if (status != ITG_OK) return status;
    const itg_json_value *member = itg_json_find(object, key);
    if (!member)
        return itg_json_fail(json, object, err, ITG_BAD_FILE, "missing key '%s', expected %s", key,
                             type_names[type]);
    status = check_type(json, member, type, err);
    if (status == ITG_OK) *out = member;
    return status;
}

static bool is_listed(const char *key, const char *const *keys)
{
    for (; *keys; keys++) {
        if (strcmp(key, *keys) == 0) return true;
    }
    return false;
}

itg_status itg_json_allow_keys(const itg_json *json, const itg_json_value *object,
                               const char *const *keys, itg_error *err)
{
    itg_status status = check_type(json, object, ITG_JSON_OBJECT, err);
    if (status != ITG_OK) return status;
    for (size_t i = 0; i < object->length; i++) {
        const char *key = object->children[i].node->string;
        if (is_listed(key, keys)) continue;
        char list[320];
        place out = {list, sizeof list, 0};
        append(&out, "");
        for (const char *const *name = keys; *name; name++) {
            if (name != keys) append(&out, ", ");
            append(&out, *name);
        }
        return itg_json_fail(json, object, err, ITG_BAD_FILE,
                             "unknown key '%.60s'; expected one of %s", key, list);
    }
    return ITG_OK;
}
