/* The JSON Schema, by a validator of the keywords that it uses (JSON Schema 2020-12, validation
 * vocabulary). */
#include "helpers.h"
#include "base/json.h"
#include <stdlib.h>

static const itg_json_value *root; /* of the schema, for $ref */

static bool valid(const itg_json_value *schema, const itg_json_value *v);

static double number_of(const itg_json *json, const itg_json_value *v)
{
    double x = 0;
    assert_int_equal(itg_json_get_number(json, v, &x, NULL), ITG_OK);
    return x;
}

static const itg_json *schema_json, *data_json;

static const char *text_of(const itg_json *json, const itg_json_value *v)
{
    const char *text = NULL;
    assert_int_equal(itg_json_get_string(json, v, &text, NULL), ITG_OK);
    return text;
}

static bool has_type(const char *type, const itg_json_value *v)
{
    itg_json_type t = itg_json_typeof(v);
    int64_t whole;
    if (strcmp(type, "integer") == 0)
        return t == ITG_JSON_NUMBER &&
               itg_json_get_int(data_json, v, INT64_MIN, INT64_MAX, &whole, NULL) == ITG_OK;
    const char *name = t == ITG_JSON_OBJECT   ? "object"
                       : t == ITG_JSON_ARRAY  ? "array"
                       : t == ITG_JSON_STRING ? "string"
                       : t == ITG_JSON_NUMBER ? "number"
                       : t == ITG_JSON_BOOL   ? "boolean"
                                              : "null";
    return strcmp(type, name) == 0;
}

static bool equal(const itg_json_value *wanted, const itg_json_value *v)
{
    if (itg_json_typeof(wanted) != itg_json_typeof(v)) return false;
    if (itg_json_typeof(v) == ITG_JSON_STRING)
        return strcmp(text_of(schema_json, wanted), text_of(data_json, v)) == 0;
    assert_int_equal(itg_json_typeof(v), ITG_JSON_NUMBER);
    return number_of(schema_json, wanted) == number_of(data_json, v);
}

static bool any_of(const itg_json_value *list, const itg_json_value *v,
                   bool (*test)(const itg_json_value *, const itg_json_value *))
{
    for (size_t i = 0; i < itg_json_length(list); i++)
        if (test(itg_json_at(list, i), v)) return true;
    return false;
}

static bool valid_array(const itg_json_value *schema, const itg_json_value *v)
{
    const itg_json_value *prefix = itg_json_find(schema, "prefixItems");
    const itg_json_value *items = itg_json_find(schema, "items");
    size_t fixed = prefix ? itg_json_length(prefix) : 0;
    for (size_t i = 0; i < itg_json_length(v); i++) {
        const itg_json_value *rule = i < fixed ? itg_json_at(prefix, i) : items;
        if (rule && !valid(rule, itg_json_at(v, i))) return false;
        if (!itg_json_find(schema, "uniqueItems")) continue;
        for (size_t k = 0; k < i; k++)
            if (strcmp(text_of(data_json, itg_json_at(v, i)),
                       text_of(data_json, itg_json_at(v, k))) == 0)
                return false;
    }
    return true;
}

static bool name_is_valid(const itg_json_value *rule, const char *name)
{
    const itg_json_value *list = itg_json_find(rule, "enum");
    const itg_json_value *min = itg_json_find(rule, "minLength"),
                         *max = itg_json_find(rule, "maxLength");
    double length = (double)strlen(name);
    bool listed = list == NULL;
    for (size_t i = 0; list && i < itg_json_length(list); i++)
        listed = listed || strcmp(text_of(schema_json, itg_json_at(list, i)), name) == 0;
    return listed && (!min || length >= number_of(schema_json, min)) &&
           (!max || length <= number_of(schema_json, max));
}

static bool valid_object(const itg_json_value *schema, const itg_json_value *v)
{
    const itg_json_value *required = itg_json_find(schema, "required");
    const itg_json_value *properties = itg_json_find(schema, "properties");
    const itg_json_value *rest = itg_json_find(schema, "additionalProperties");
    const itg_json_value *names = itg_json_find(schema, "propertyNames");
    for (size_t i = 0; required && i < itg_json_length(required); i++)
        if (!itg_json_find(v, text_of(schema_json, itg_json_at(required, i)))) return false;
    for (size_t i = 0; i < itg_json_length(v); i++) {
        const char *key = itg_json_key_at(v, i);
        if (names && !name_is_valid(names, key)) return false;
        const itg_json_value *rule = properties ? itg_json_find(properties, key) : NULL;
        if (!rule) rule = rest;
        if (!rule) continue;
        if (itg_json_typeof(rule) == ITG_JSON_BOOL) return false; /* only `false` is written */
        if (!valid(rule, itg_json_at(v, i))) return false;
    }
    return true;
}

/* One keyword against the value; keywords that describe, or that belong to another one, hold. */
static bool keyword_holds(const char *keyword, const itg_json_value *rule, const itg_json_value *v)
{
    static const char *const others[] = {"description", "default",       "title",
                                         "$schema",     "$defs",         "items",
                                         "prefixItems", "uniqueItems",   "required",
                                         "properties",  "propertyNames", "additionalProperties"};
    bool number = itg_json_typeof(v) == ITG_JSON_NUMBER,
         text = itg_json_typeof(v) == ITG_JSON_STRING;
    double size = text ? (double)strlen(text_of(data_json, v)) : (double)itg_json_length(v);
    if (strcmp(keyword, "type") == 0) return has_type(text_of(schema_json, rule), v);
    if (strcmp(keyword, "const") == 0) return equal(rule, v);
    if (strcmp(keyword, "enum") == 0) return any_of(rule, v, equal);
    if (strcmp(keyword, "anyOf") == 0) return any_of(rule, v, valid);
    if (strcmp(keyword, "$ref") == 0) {
        assert_string_equal(text_of(schema_json, rule), "#/$defs/specs");
        return valid(itg_json_find(itg_json_find(root, "$defs"), "specs"), v);
    }
    if (strcmp(keyword, "minimum") == 0)
        return !number || number_of(data_json, v) >= number_of(schema_json, rule);
    if (strcmp(keyword, "maximum") == 0)
        return !number || number_of(data_json, v) <= number_of(schema_json, rule);
    if (strcmp(keyword, "exclusiveMinimum") == 0)
        return !number || number_of(data_json, v) > number_of(schema_json, rule);
    if (strcmp(keyword, "minLength") == 0) return !text || size >= number_of(schema_json, rule);
    if (strcmp(keyword, "maxLength") == 0) return !text || size <= number_of(schema_json, rule);
    if (strcmp(keyword, "minItems") == 0) return text || size >= number_of(schema_json, rule);
    if (strcmp(keyword, "maxItems") == 0 || strcmp(keyword, "maxProperties") == 0)
        return text || size <= number_of(schema_json, rule);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(keyword, others[i]) == 0) return true;
    fail_msg("the schema uses '%s'", keyword);
    return false;
}

static bool valid(const itg_json_value *schema, const itg_json_value *v)
{
    for (size_t i = 0; i < itg_json_length(schema); i++)
        if (!keyword_holds(itg_json_key_at(schema, i), itg_json_at(schema, i), v)) return false;
    if (itg_json_typeof(v) == ITG_JSON_ARRAY) return valid_array(schema, v);
    return itg_json_typeof(v) != ITG_JSON_OBJECT || valid_object(schema, v);
}

static itg_json *parse_text(const char *text, const char *name)
{
    itg_json *json = NULL;
    itg_error err = {0};
    if (itg_json_parse(text, strlen(text), name, &json, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return json;
}

static bool schema_accepts(const char *text)
{
    itg_json *json = parse_text(text, "description");
    data_json = json;
    bool accepted = valid(root, itg_json_root(json));
    itg_json_destroy(json);
    return accepted;
}

static int make_schema(void **state)
{
    char *text = NULL;
    assert_int_equal(itg_hardware_schema_text(&text, NULL), ITG_OK);
    itg_json *json = parse_text(text, "schema");
    free(text);
    schema_json = json;
    root = itg_json_root(json);
    *state = json;
    return 0;
}

static int free_schema(void **state)
{
    itg_json_destroy(*state);
    return 0;
}

static void good_descriptions_are_accepted(void **state)
{
    (void)state;
    assert_true(schema_accepts(chip));
    for (int i = 0; i < itg_hardware_builtin_count(); i++)
        assert_true(schema_accepts(itg_hardware_builtin_json(i)));
}

static void bad_descriptions_are_refused_where_one_key_shows_it(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < bad_description_count; i++) {
        const bad_description *bad = &bad_descriptions[i];
        char *text = replaced(chip, bad->from, bad->to);
        bool refused = !schema_accepts(text);
        if (refused != bad->schema_refuses)
            print_error("'%s' -> '%s': refused %d\n", bad->from, bad->to, (int)refused);
        wrong += refused != bad->schema_refuses;
        free(text);
    }
    assert_int_equal(wrong, 0);
}

static void every_operator_with_arithmetic_is_a_property_name(void **state)
{
    (void)state;
    const itg_json_value *operators = itg_json_find(itg_json_find(root, "properties"), "operators");
    const itg_json_value *names = itg_json_find(operators, "propertyNames");
    assert_true(name_is_valid(names, "Conv") && name_is_valid(names, "Pad"));
    assert_true(name_is_valid(names, "univariate"));
    assert_false(name_is_valid(names, "LogSoftmax") || name_is_valid(names, "Shape"));
}

/* Calls check on every key of every object in the schema. */
static void walk_keys(const itg_json_value *schema, void (*check)(const char *, const char *),
                      const char *page)
{
    const itg_json_value *properties =
        itg_json_typeof(schema) == ITG_JSON_OBJECT ? itg_json_find(schema, "properties") : NULL;
    for (size_t i = 0; properties && i < itg_json_length(properties); i++)
        check(itg_json_key_at(properties, i), page);
    for (size_t i = 0; i < itg_json_length(schema); i++)
        walk_keys(itg_json_at(schema, i), check, page);
}

static int keys_seen;

static void is_documented(const char *key, const char *page)
{
    itg_strbuf row = {0};
    itg_strbuf_format(&row, "\n| `%s` |", key);
    if (!strstr(page, row.text)) fail_msg("docs/adding-a-target.md has no row for '%s'", key);
    itg_strbuf_deinit(&row);
    keys_seen++;
}

static void every_key_has_a_row_in_the_documentation(void **state)
{
    (void)state;
    char *page = read_text("docs/adding-a-target.md");
    keys_seen = 0;
    walk_keys(root, is_documented, page);
    assert_in_range(keys_seen, 40, 70);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_descriptions_are_accepted),
        cmocka_unit_test(bad_descriptions_are_refused_where_one_key_shows_it),
        cmocka_unit_test(every_operator_with_arithmetic_is_a_property_name),
        cmocka_unit_test(every_key_has_a_row_in_the_documentation),
    };
    return cmocka_run_group_tests(tests, make_schema, free_schema);
}
