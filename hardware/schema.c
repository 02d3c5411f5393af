/* Writes the table of keys as a JSON Schema (draft 2020-12). Rules that depend on other keys (keys
 * for some arithmetic only, names that must be defined) are in the descriptions; load.c and check.c
 * enforce them. */
#include "keys.h"
#include <inttypes.h>
#include <string.h>

static void write_object(const itg_hw_object *object, itg_strbuf *out);

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

/* Writes the operators that `wanted` accepts as a list of strings; `comma` precedes the first. */
static void write_ops(bool (*wanted)(itg_op), const char *comma, itg_strbuf *out)
{
    for (int op = 0; op < ITG_OP_COUNT; op++) {
        if (!wanted((itg_op)op)) continue;
        itg_strbuf_format(out, "%s\"%s\"", comma, itg_op_name((itg_op)op));
        comma = ", ";
    }
}

static void write_choices(const itg_hw_choice *choices, itg_strbuf *out)
{
    for (const itg_hw_choice *c = choices; c->name; c++)
        itg_strbuf_format(out, "%s\"%s\"", c == choices ? "" : ", ", c->name);
}

/* The schema of each kind of value. Marks are replaced by data of the key: @m, @M the minimum and
 * the maximum, @o the members of its object, @c its choices; and for operators: @f those that fuse,
 * @r the clamps, @a those with integer arithmetic. */
static const char *const schemas[ITG_HW_KIND_COUNT] = {
    [ITG_HW_FORMAT] = "\"const\": @m",
    [ITG_HW_BOOL] = "\"type\": \"boolean\"",
    [ITG_HW_OPTIONAL_BOOL] = "\"type\": \"boolean\"",
    [ITG_HW_INT] = "\"type\": \"integer\", \"minimum\": @m, \"maximum\": @M",
    [ITG_HW_BYTES] = "\"type\": \"integer\", \"minimum\": @m, \"maximum\": @M",
    [ITG_HW_RATE] = "\"type\": \"number\", \"exclusiveMinimum\": 0, \"maximum\": 1e12",
    [ITG_HW_TEXT] = "\"type\": \"string\", \"minLength\": @m, \"maxLength\": @M",
    [ITG_HW_CHOICE] = "\"enum\": [@c]",
    [ITG_HW_ROUNDINGS] = "\"enum\": [@c]",
    [ITG_HW_RANGE] = "\"type\": \"array\", \"items\": {\"type\": \"integer\", \"minimum\": @m, "
                     "\"maximum\": @M}, \"minItems\": 2, \"maxItems\": 2",
    [ITG_HW_DTYPE_MASK] = "\"type\": \"array\", \"items\": {\"type\": \"string\"}, "
                          "\"minItems\": 1, \"uniqueItems\": true",
    [ITG_HW_REQUANT_INDEX] = "\"type\": \"string\"",
    [ITG_HW_OBJECT] = "@o",
    [ITG_HW_DTYPE_MAP] = "\"type\": \"object\", \"maxProperties\": @M, \"propertyNames\": "
                         "{\"minLength\": 1, \"maxLength\": 31}, "
                         "\"additionalProperties\": {@o}",
    [ITG_HW_REQUANT_MAP] = "\"type\": \"object\", \"maxProperties\": @M, \"propertyNames\": "
                           "{\"minLength\": 1, \"maxLength\": 31}, "
                           "\"additionalProperties\": {@o}",
    [ITG_HW_FUSE_PAIRS] = "\"type\": \"array\", \"maxItems\": @M, \"items\": {\"type\": "
                          "\"array\", \"prefixItems\": [{\"enum\": [@f]}, {\"enum\": "
                          "[@r]}], \"minItems\": 2, \"maxItems\": 2}",
    [ITG_HW_OPERATOR_MAP] =
        "\"type\": \"object\", \"propertyNames\": {\"enum\": [\"" ITG_HW_UNIVARIATE
        "\"@a]}, \"additionalProperties\": {\"anyOf\": [{\"$ref\": "
        "\"#/$defs/specs\"}, {@o}]}",
    [ITG_HW_SPEC_LIST] = "\"$ref\": \"#/$defs/specs\"",
    [ITG_HW_OVERRIDE_LIST] = "\"type\": \"array\", \"maxItems\": @M, \"items\": {@o}",
};

static void write_mark(const itg_hw_key *key, char mark, itg_strbuf *out)
{
    switch (mark) {
    case 'm':
    case 'M':
        itg_strbuf_format(out, "%" PRId64, mark == 'm' ? key->min : key->max);
        break;
    case 'o':
        write_object(key->object, out);
        break;
    case 'c':
        write_choices(key->choices, out);
        break;
    case 'f':
        write_ops(is_fusable, "", out);
        break;
    case 'r':
        write_ops(is_clamp, "", out);
        break;
    default:
        write_ops(has_arithmetic, ", ", out);
    }
}

static void write_default(const itg_hw_key *key, itg_strbuf *out)
{
    if (key->kind != ITG_HW_RATE && key->need != ITG_HW_OPTIONAL) return;
    if (key->kind == ITG_HW_RATE || key->kind == ITG_HW_INT || key->kind == ITG_HW_BYTES)
        itg_strbuf_format(out, ", \"default\": %" PRId64, key->preset);
    else if (key->kind == ITG_HW_BOOL)
        itg_strbuf_format(out, ", \"default\": %s", key->preset ? "true" : "false");
    else if (key->kind == ITG_HW_CHOICE)
        itg_strbuf_format(out, ", \"default\": \"%s\"",
                          itg_hw_choice_name(key->choices, (int)key->preset));
}

static void write_value(const itg_hw_key *key, itg_strbuf *out)
{
    const char *at = schemas[key->kind], *mark;
    for (; (mark = strchr(at, '@')) != NULL; at = mark + 2) {
        itg_strbuf_bytes(out, at, (size_t)(mark - at));
        write_mark(key, mark[1], out);
    }
    itg_strbuf_add(out, at);
    write_default(key, out);
}

/* Writes the selector's values with which the key is allowed: " Only with a, b". */
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
    write_value(key, out);
    itg_strbuf_add(out, "}");
}

/* Writes the members of an object's schema without the braces. */
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

static void write_schema(itg_strbuf *out)
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
    write_schema(&text);
    if (!itg_strbuf_ok(&text)) {
        itg_strbuf_deinit(&text);
        return itg_no_memory(err);
    }
    *out = text.text; /* was allocated by malloc */
    return ITG_OK;
}
