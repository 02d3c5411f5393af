/* The table of keys as a JSON Schema (draft 2020-12). What depends on other keys (only with some
 * arithmetic, names that must be defined) stands in the descriptions: load.c and check.c refuse it.
 */
#include "keys.h"
#include <inttypes.h>

typedef void (*write_fn)(const itg_hw_key *key, itg_strbuf *out);

static void write_object(const itg_hw_object *object, itg_strbuf *out);

static void write_format(const itg_hw_key *key, itg_strbuf *out)
{
    itg_strbuf_format(out, "\"const\": %" PRId64, key->min);
}

static void write_bool(const itg_hw_key *key, itg_strbuf *out)
{
    itg_strbuf_add(out, "\"type\": \"boolean\"");
    if (key->need == ITG_HW_OPTIONAL)
        itg_strbuf_format(out, ", \"default\": %s", key->preset ? "true" : "false");
}

static void write_int(const itg_hw_key *key, itg_strbuf *out)
{
    itg_strbuf_format(out, "\"type\": \"integer\", \"minimum\": %" PRId64 ", \"maximum\": %" PRId64,
                      key->min, key->max);
    if (key->need == ITG_HW_OPTIONAL)
        itg_strbuf_format(out, ", \"default\": %" PRId64, key->preset);
}

static void write_rate(const itg_hw_key *key, itg_strbuf *out)
{
    itg_strbuf_format(out,
                      "\"type\": \"number\", \"exclusiveMinimum\": 0, \"maximum\": 1e12, "
                      "\"default\": %" PRId64,
                      key->preset);
}

static void write_text(const itg_hw_key *key, itg_strbuf *out)
{
    itg_strbuf_format(out,
                      "\"type\": \"string\", \"minLength\": %" PRId64 ", \"maxLength\": %" PRId64,
                      key->min, key->max);
}

static void write_choice(const itg_hw_key *key, itg_strbuf *out)
{
    itg_strbuf_add(out, "\"enum\": [");
    for (const itg_hw_choice *c = key->choices; c->name; c++)
        itg_strbuf_format(out, "%s\"%s\"", c == key->choices ? "" : ", ", c->name);
    itg_strbuf_add(out, "]");
    if (key->need == ITG_HW_OPTIONAL)
        itg_strbuf_format(out, ", \"default\": \"%s\"",
                          itg_hw_choice_name(key->choices, (int)key->preset));
}

static void write_range(const itg_hw_key *key, itg_strbuf *out)
{
    itg_strbuf_format(
        out,
        "\"type\": \"array\", \"items\": {\"type\": \"integer\", \"minimum\": %" PRId64
        ", \"maximum\": %" PRId64 "}, \"minItems\": 2, \"maxItems\": 2",
        key->min, key->max);
}

static void write_name_list(const itg_hw_key *key, itg_strbuf *out)
{
    (void)key;
    itg_strbuf_add(out, "\"type\": \"array\", \"items\": {\"type\": \"string\"}, \"minItems\": 1, "
                        "\"uniqueItems\": true");
}

static void write_name(const itg_hw_key *key, itg_strbuf *out)
{
    (void)key;
    itg_strbuf_add(out, "\"type\": \"string\"");
}

static void write_nested(const itg_hw_key *key, itg_strbuf *out)
{
    write_object(key->object, out);
}

static void write_map(const itg_hw_key *key, itg_strbuf *out)
{
    itg_strbuf_format(out,
                      "\"type\": \"object\", \"maxProperties\": %" PRId64
                      ", \"propertyNames\": {\"minLength\": 1, \"maxLength\": 31}, "
                      "\"additionalProperties\": {",
                      key->max);
    write_object(key->object, out);
    itg_strbuf_add(out, "}");
}

/* The operators that `wanted` accepts, as an enum, behind `more`. */
static void write_op_enum(bool (*wanted)(itg_op), const char *more, itg_strbuf *out)
{
    const char *comma = *more ? ", " : "";
    itg_strbuf_format(out, "{\"enum\": [%s", more);
    for (int op = 0; op < ITG_OP_COUNT; op++) {
        if (!wanted((itg_op)op)) continue;
        itg_strbuf_format(out, "%s\"%s\"", comma, itg_op_name((itg_op)op));
        comma = ", ";
    }
    itg_strbuf_add(out, "]}");
}

static bool is_fusable(itg_op op)
{
    return itg_hw_can_fuse_into(op, ITG_OP_RELU);
}
static bool is_clamp(itg_op op)
{
    return itg_op_is(op, ITG_IS_CLAMP);
}
static bool has_arithmetic(itg_op op)
{
    return itg_hw_legal_forms(op) != 0;
}

static void write_fuse(const itg_hw_key *key, itg_strbuf *out)
{
    itg_strbuf_format(out,
                      "\"type\": \"array\", \"maxItems\": %" PRId64
                      ", \"items\": {\"type\": \"array\", \"prefixItems\": [",
                      key->max);
    write_op_enum(is_fusable, "", out);
    itg_strbuf_add(out, ", ");
    write_op_enum(is_clamp, "", out);
    itg_strbuf_add(out, "], \"minItems\": 2, \"maxItems\": 2}");
}

static void write_spec_list(const itg_hw_key *key, itg_strbuf *out)
{
    (void)key;
    itg_strbuf_add(out, "\"$ref\": \"#/$defs/specs\"");
}

static void write_operators(const itg_hw_key *key, itg_strbuf *out)
{
    itg_strbuf_add(out, "\"type\": \"object\", \"propertyNames\": ");
    write_op_enum(has_arithmetic, "\"" ITG_HW_UNIVARIATE "\"", out);
    itg_strbuf_add(out,
                   ", \"additionalProperties\": {\"anyOf\": [{\"$ref\": \"#/$defs/specs\"}, {");
    write_object(key->object, out);
    itg_strbuf_add(out, "}]}");
}

static void write_list(const itg_hw_key *key, itg_strbuf *out)
{
    itg_strbuf_format(out, "\"type\": \"array\", \"maxItems\": %" PRId64 ", \"items\": {",
                      key->max);
    write_object(key->object, out);
    itg_strbuf_add(out, "}");
}

static const write_fn writers[ITG_HW_KIND_COUNT] = {
    [ITG_HW_FORMAT] = write_format,
    [ITG_HW_BOOL] = write_bool,
    [ITG_HW_OPTIONAL_BOOL] = write_bool,
    [ITG_HW_INT] = write_int,
    [ITG_HW_BYTES] = write_int,
    [ITG_HW_RATE] = write_rate,
    [ITG_HW_TEXT] = write_text,
    [ITG_HW_CHOICE] = write_choice,
    [ITG_HW_ROUNDINGS] = write_choice,
    [ITG_HW_RANGE] = write_range,
    [ITG_HW_DTYPE_MASK] = write_name_list,
    [ITG_HW_REQUANT_INDEX] = write_name,
    [ITG_HW_OBJECT] = write_nested,
    [ITG_HW_DTYPE_MAP] = write_map,
    [ITG_HW_REQUANT_MAP] = write_map,
    [ITG_HW_FUSE_PAIRS] = write_fuse,
    [ITG_HW_OPERATOR_MAP] = write_operators,
    [ITG_HW_SPEC_LIST] = write_spec_list,
    [ITG_HW_OVERRIDE_LIST] = write_list,
};

/* "only with a, b": the selector's values beside which the key has a meaning. */
static void write_only(const itg_hw_object *object, const itg_hw_key *key, itg_strbuf *text)
{
    if (key->only == 0) return;
    const itg_hw_key *selector = itg_hw_find_key(object, object->selector);
    const char *comma = " Only with ";
    for (const itg_hw_choice *c = selector->choices; c->name; c++)
        if ((key->only >> c->value) & 1u) {
            itg_strbuf_format(text, "%s%s", comma, c->name);
            comma = ", ";
        }
    itg_strbuf_add(text, ".");
}

static void write_key(const itg_hw_object *object, const itg_hw_key *key, itg_strbuf *out)
{
    itg_strbuf text = {0};
    itg_strbuf_add(&text, key->help);
    write_only(object, key, &text);
    itg_strbuf_format(out, "\n\"%s\": {\"description\": ", key->name);
    itg_strbuf_json_string(out, text.text ? text.text : "");
    if (!itg_strbuf_ok(&text)) out->failed = true;
    itg_strbuf_deinit(&text);
    itg_strbuf_add(out, ", ");
    writers[key->kind](key, out);
    itg_strbuf_add(out, "}");
}

/* The members of an object's schema, without the braces around them. */
static void write_object(const itg_hw_object *object, itg_strbuf *out)
{
    itg_strbuf_add(out, "\"type\": \"object\", \"additionalProperties\": false, \"required\": [");
    const char *comma = "";
    for (int32_t i = 0; i < object->key_count; i++) {
        if (object->keys[i].need != ITG_HW_REQUIRED) continue;
        itg_strbuf_format(out, "%s\"%s\"", comma, object->keys[i].name);
        comma = ", ";
    }
    itg_strbuf_add(out, "], \"properties\": {");
    for (int32_t i = 0; i < object->key_count; i++) {
        if (i > 0) itg_strbuf_add(out, ",");
        write_key(object, &object->keys[i], out);
    }
    itg_strbuf_add(out, "}");
}

void itg_hardware_schema(itg_strbuf *out)
{
    itg_strbuf_add(out, "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
                        "\"title\": \"Intaglio hardware description\",\n\"$defs\": {\"specs\": ");
    itg_strbuf_format(out, "{\"type\": \"array\", \"minItems\": 1, \"maxItems\": %d, \"items\": {",
                      ITG_HW_MAX_SPECS);
    write_object(&itg_hw_spec_keys, out);
    itg_strbuf_add(out, "}}},\n");
    write_object(&itg_hw_file_keys, out);
    itg_strbuf_add(out, "}\n");
}

itg_status itg_hardware_schema_text(char **out, itg_error *err)
{
    itg_strbuf text = {0};
    itg_hardware_schema(&text);
    if (!itg_strbuf_ok(&text)) {
        itg_strbuf_deinit(&text);
        return itg_fail(err, ITG_NO_MEMORY, "out of memory");
    }
    *out = text.text; /* the builder's memory is malloc's */
    return ITG_OK;
}
