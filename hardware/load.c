/* JSON text -> description, by the table in keys.c. An object is read in three steps: no unknown
 * keys; presets into every field; then the stated keys in the table's order (names are defined
 * before they are used). */
#include "keys.h"
#include <stdlib.h>
#include <string.h>

typedef struct loader {
    const itg_json *json;
    itg_hardware *hw;
    itg_op op; /* the operator whose specs are being read */
} loader;

typedef itg_status (*read_fn)(loader *l, const itg_hw_key *key, const itg_json_value *v,
                              void *field, itg_error *err);

static itg_status read_object(loader *l, const itg_hw_object *object, const itg_json_value *v,
                              void *out, itg_error *err);

static itg_status bad(const loader *l, const itg_json_value *v, itg_error *err,
                      const char *expected)
{
    return itg_json_fail(l->json, v, err, ITG_BAD_FILE, "expected %s", expected);
}

/* ---- simple kinds ---- */

static itg_status read_format(loader *l, const itg_hw_key *key, const itg_json_value *v,
                              void *field, itg_error *err)
{
    (void)field;
    int64_t version;
    return itg_json_get_int(l->json, v, key->min, key->max, &version, err);
}

static itg_status read_bool(loader *l, const itg_hw_key *key, const itg_json_value *v, void *field,
                            itg_error *err)
{
    (void)key;
    return itg_json_get_bool(l->json, v, field, err);
}

static itg_status read_optional_bool(loader *l, const itg_hw_key *key, const itg_json_value *v,
                                     void *field, itg_error *err)
{
    (void)key;
    bool *stated = field;
    itg_status status = itg_json_get_bool(l->json, v, stated + 1, err);
    if (status == ITG_OK) *stated = true;
    return status;
}

static itg_status read_int(loader *l, const itg_hw_key *key, const itg_json_value *v, void *field,
                           itg_error *err)
{
    int64_t x;
    itg_status status = itg_json_get_int(l->json, v, key->min, key->max, &x, err);
    if (status == ITG_OK) *(int32_t *)field = (int32_t)x;
    return status;
}

static itg_status read_bytes(loader *l, const itg_hw_key *key, const itg_json_value *v, void *field,
                             itg_error *err)
{
    return itg_json_get_int(l->json, v, key->min, key->max, field, err);
}

static itg_status read_rate(loader *l, const itg_hw_key *key, const itg_json_value *v, void *field,
                            itg_error *err)
{
    (void)key;
    double x;
    itg_status status = itg_json_get_number(l->json, v, &x, err);
    if (status != ITG_OK) return status;
    if (!(x > 0 && x <= 1e12)) return bad(l, v, err, "a number above 0, at most 1e12");
    *(double *)field = x;
    return ITG_OK;
}

static itg_status read_text(loader *l, const itg_hw_key *key, const itg_json_value *v, void *field,
                            itg_error *err)
{
    const char *text;
    itg_status status = itg_json_get_string(l->json, v, &text, err);
    if (status != ITG_OK) return status;
    size_t length = strlen(text);
    if (length < (size_t)key->min || length > (size_t)key->max)
        return itg_json_fail(l->json, v, err, ITG_BAD_FILE, "expected a string of %d..%d bytes",
                             (int)key->min, (int)key->max);
    memcpy(field, text, length + 1);
    return ITG_OK;
}

static itg_status get_choice(const loader *l, const itg_hw_key *key, const itg_json_value *v,
                             int *out, itg_error *err)
{
    const char *name;
    itg_status status = itg_json_get_string(l->json, v, &name, err);
    if (status != ITG_OK) return status;
    const itg_hw_choice *choice = itg_hw_find_choice(key->choices, name);
    if (choice) {
        *out = choice->value;
        return ITG_OK;
    }
    itg_strbuf list = {0};
    for (choice = key->choices; choice->name; choice++)
        itg_strbuf_format(&list, "%s'%s'", choice == key->choices ? "" : ", ", choice->name);
    status = itg_json_fail(l->json, v, err, ITG_BAD_FILE, "expected one of %s; got '%s'",
                           list.text ? list.text : "?", name);
    itg_strbuf_deinit(&list);
    return status;
}

static itg_status read_choice(loader *l, const itg_hw_key *key, const itg_json_value *v,
                              void *field, itg_error *err)
{
    int value = 0;
    itg_status status = get_choice(l, key, v, &value, err);
    if (status == ITG_OK) memcpy(field, &value, sizeof value);
    return status;
}

static itg_status read_roundings(loader *l, const itg_hw_key *key, const itg_json_value *v,
                                 void *field, itg_error *err)
{
    int value = 0;
    itg_status status = get_choice(l, key, v, &value, err);
    for (size_t i = 0; status == ITG_OK && i < 3; i++)
        memcpy((char *)field + i * sizeof value, &value, sizeof value);
    return status;
}

static itg_status read_range(loader *l, const itg_hw_key *key, const itg_json_value *v, void *field,
                             itg_error *err)
{
    if (itg_json_typeof(v) != ITG_JSON_ARRAY || itg_json_length(v) != 2)
        return bad(l, v, err, "[lowest, highest]");
    int64_t low, high;
    itg_status status = itg_json_get_int(l->json, itg_json_at(v, 0), key->min, key->max, &low, err);
    if (status == ITG_OK)
        status = itg_json_get_int(l->json, itg_json_at(v, 1), low, key->max, &high, err);
    if (status != ITG_OK) return status;
    int32_t *range = field;
    range[0] = (int32_t)low;
    range[1] = (int32_t)high;
    return ITG_OK;
}

static itg_status read_nested(loader *l, const itg_hw_key *key, const itg_json_value *v,
                              void *field, itg_error *err)
{
    return read_object(l, key->object, v, field, err);
}

/* ---- names defined in the file ---- */

static itg_status read_dtype_mask(loader *l, const itg_hw_key *key, const itg_json_value *v,
                                  void *field, itg_error *err)
{
    (void)key;
    if (itg_json_typeof(v) != ITG_JSON_ARRAY || itg_json_length(v) == 0)
        return bad(l, v, err, "a list of at least one name in 'dtypes'");
    uint32_t mask = 0;
    for (size_t n = 0; n < itg_json_length(v); n++) {
        const char *name;
        itg_status status = itg_json_get_string(l->json, itg_json_at(v, n), &name, err);
        if (status != ITG_OK) return status;
        int32_t i = 0;
        while (i < l->hw->dtype_count && strcmp(l->hw->dtypes[i].name, name) != 0)
            i++;
        if (i == l->hw->dtype_count || ((mask >> i) & 1u))
            return itg_json_fail(l->json, itg_json_at(v, n), err, ITG_BAD_FILE,
                                 "expected a name in 'dtypes', each once; got '%s'", name);
        mask |= 1u << i;
    }
    *(uint32_t *)field = mask;
    return ITG_OK;
}

static itg_status read_requant_index(loader *l, const itg_hw_key *key, const itg_json_value *v,
                                     void *field, itg_error *err)
{
    (void)key;
    const char *name;
    itg_status status = itg_json_get_string(l->json, v, &name, err);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < l->hw->requant_count; i++)
        if (strcmp(l->hw->requants[i].name, name) == 0) {
            *(int32_t *)field = i;
            return ITG_OK;
        }
    return itg_json_fail(l->json, v, err, ITG_BAD_FILE,
                         "expected a name in the top-level 'requantize'; got '%s'", name);
}

/* A map's key as the name of what is defined, and that the map has at most `most` entries. */
static itg_status check_map(const loader *l, const itg_json_value *v, int64_t most, itg_error *err)
{
    if (itg_json_typeof(v) != ITG_JSON_OBJECT) return bad(l, v, err, "an object");
    if (itg_json_length(v) > (size_t)most)
        return itg_json_fail(l->json, v, err, ITG_LIMIT, "expected at most %d entries", (int)most);
    for (size_t i = 0; i < itg_json_length(v); i++) {
        size_t length = strlen(itg_json_key_at(v, i));
        if (length == 0 || length > 31)
            return bad(l, itg_json_at(v, i), err, "a name of 1..31 bytes as its key");
    }
    return ITG_OK;
}

static itg_status read_dtypes(loader *l, const itg_hw_key *key, const itg_json_value *v,
                              void *field, itg_error *err)
{
    (void)field;
    itg_status status = check_map(l, v, key->max, err);
    for (size_t i = 0; status == ITG_OK && i < itg_json_length(v); i++) {
        itg_hw_dtype *dtype = &l->hw->dtypes[i];
        const itg_json_value *member = itg_json_at(v, i);
        status = read_object(l, key->object, member, dtype, err);
        if (status == ITG_OK) status = itg_hw_check_dtype(l->json, member, dtype, err);
        memcpy(dtype->name, itg_json_key_at(v, i), strlen(itg_json_key_at(v, i)) + 1);
        l->hw->dtype_count = (int32_t)i + 1;
    }
    return status;
}

static itg_status read_requants(loader *l, const itg_hw_key *key, const itg_json_value *v,
                                void *field, itg_error *err)
{
    (void)field;
    itg_status status = check_map(l, v, key->max, err);
    for (size_t i = 0; status == ITG_OK && i < itg_json_length(v); i++) {
        itg_hw_requant *requant = &l->hw->requants[i];
        const itg_json_value *member = itg_json_at(v, i);
        status = read_object(l, key->object, member, &requant->spec, err);
        if (status == ITG_OK)
            status = itg_hw_check_requant(l->json, member, l->hw, &requant->spec, err);
        memcpy(requant->name, itg_json_key_at(v, i), strlen(itg_json_key_at(v, i)) + 1);
        l->hw->requant_count = (int32_t)i + 1;
    }
    return status;
}

/* ---- operators ---- */

static itg_status get_op(const loader *l, const itg_json_value *v, itg_op *out, itg_error *err)
{
    const char *name;
    itg_status status = itg_json_get_string(l->json, v, &name, err);
    if (status == ITG_OK && !itg_op_from_name(name, out))
        status =
            itg_json_fail(l->json, v, err, ITG_BAD_FILE, "expected an operator; got '%s'", name);
    return status;
}

static itg_status read_fuse(loader *l, const itg_hw_key *key, const itg_json_value *v, void *field,
                            itg_error *err)
{
    (void)field;
    if (itg_json_typeof(v) != ITG_JSON_ARRAY || itg_json_length(v) > (size_t)key->max)
        return itg_json_fail(l->json, v, err, ITG_BAD_FILE, "expected a list of at most %d pairs",
                             (int)key->max);
    for (size_t i = 0; i < itg_json_length(v); i++) {
        const itg_json_value *pair = itg_json_at(v, i);
        if (itg_json_typeof(pair) != ITG_JSON_ARRAY || itg_json_length(pair) != 2)
            return bad(l, pair, err, "a pair of operators, such as [\"Conv\", \"Relu\"]");
        itg_op producer, activation;
        itg_status status = get_op(l, itg_json_at(pair, 0), &producer, err);
        if (status == ITG_OK) status = get_op(l, itg_json_at(pair, 1), &activation, err);
        if (status != ITG_OK) return status;
        if (!itg_hw_can_fuse_into(producer, activation))
            return bad(l, pair, err,
                       "an operator that requantizes (Conv, Gemm, MatMul, Add, Sub, Mul...), then "
                       "Relu or Clip");
        l->hw->fuse[producer][activation] = true;
    }
    return ITG_OK;
}

static itg_status read_specs(loader *l, const itg_hw_key *key, const itg_json_value *v, void *field,
                             itg_error *err)
{
    itg_hw_spec *specs = field;
    itg_hw_op *op = &l->hw->ops[l->op];
    size_t count = itg_json_length(v);
    if (itg_json_typeof(v) != ITG_JSON_ARRAY || count < 1 || count > (size_t)key->max)
        return itg_json_fail(l->json, v, err, ITG_BAD_FILE, "expected a list of 1..%d specs",
                             (int)key->max);
    for (size_t i = 0; i < count; i++) {
        const itg_json_value *member = itg_json_at(v, i);
        itg_hw_spec *spec = &specs[i];
        itg_status status = read_object(l, key->object, member, spec, err);
        if (status != ITG_OK) return status;
        if (spec->split.join_bits == 0) spec->split.join_bits = spec->acc.bits;
        if (!(spec->split.join_cycles > 0)) spec->split.join_cycles = 1 / spec->macs_per_cycle;
        int32_t widest = itg_hw_bias_limit(spec);
        if (spec->bias_bits == 0) spec->bias_bits = widest < 32 ? widest : 32;
        status = itg_hw_check_spec(l->json, member, l->hw, l->op, spec, err);
        if (status != ITG_OK) return status;
        op->spec_count = (int32_t)i + 1;
    }
    return ITG_OK;
}

static itg_status read_operator(loader *l, const itg_hw_key *key, const itg_json_value *v,
                                itg_op name, itg_error *err)
{
    itg_hw_op *op = &l->hw->ops[name];
    l->op = name;
    if (itg_json_typeof(v) != ITG_JSON_ARRAY) return read_object(l, key->object, v, op, err);
    return read_specs(l, itg_hw_find_key(key->object, "specs"), v, op->specs, err);
}

/* The entry holds for every univariate operator that has none of its own. */
static itg_status read_univariate(loader *l, const itg_hw_key *key, const itg_json_value *all,
                                  const itg_json_value *v, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int op = 0; op < ITG_OP_COUNT && status == ITG_OK; op++)
        if (itg_op_is((itg_op)op, ITG_IS_UNIVARIATE) &&
            !itg_json_find(all, itg_op_name((itg_op)op)))
            status = read_operator(l, key, v, (itg_op)op, err);
    return status;
}

static itg_status read_operators(loader *l, const itg_hw_key *key, const itg_json_value *v,
                                 void *field, itg_error *err)
{
    itg_status status = ITG_OK;
    (void)field;
    if (itg_json_typeof(v) != ITG_JSON_OBJECT) return bad(l, v, err, "an object");
    for (size_t i = 0; i < itg_json_length(v) && status == ITG_OK; i++) {
        const itg_json_value *member = itg_json_at(v, i);
        const char *name = itg_json_key_at(v, i);
        itg_op op;
        if (strcmp(name, ITG_HW_UNIVARIATE) == 0) {
            status = read_univariate(l, key, v, member, err);
            continue;
        }
        if (!itg_op_from_name(name, &op))
            return itg_json_fail(l->json, member, err, ITG_BAD_FILE,
                                 "expected the name of an ONNX operator as key, or 'univariate'; "
                                 "got '%s'",
                                 name);
        if (itg_hw_legal_forms(op) == 0)
            return itg_json_fail(l->json, member, err, ITG_BAD_FILE,
                                 "expected no entry: %s has no integer arithmetic here", name);
        status = read_operator(l, key, member, op, err);
    }
    return status;
}

static itg_status read_overrides(loader *l, const itg_hw_key *key, const itg_json_value *v,
                                 void *field, itg_error *err)
{
    (void)field;
    size_t count = itg_json_length(v);
    if (itg_json_typeof(v) != ITG_JSON_ARRAY || count > (size_t)key->max)
        return itg_json_fail(l->json, v, err, ITG_BAD_FILE,
                             "expected a list of at most %d overrides", (int)key->max);
    if (count == 0) return ITG_OK;
    l->hw->overrides = calloc(count, sizeof *l->hw->overrides);
    if (!l->hw->overrides) return itg_fail(err, ITG_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) {
        itg_status status =
            read_object(l, key->object, itg_json_at(v, i), &l->hw->overrides[i], err);
        if (status != ITG_OK) return status;
        l->hw->override_count = (int32_t)i + 1;
    }
    return ITG_OK;
}

/* ---- objects ---- */

static const read_fn readers[ITG_HW_KIND_COUNT] = {
    [ITG_HW_FORMAT] = read_format,
    [ITG_HW_BOOL] = read_bool,
    [ITG_HW_OPTIONAL_BOOL] = read_optional_bool,
    [ITG_HW_INT] = read_int,
    [ITG_HW_BYTES] = read_bytes,
    [ITG_HW_RATE] = read_rate,
    [ITG_HW_TEXT] = read_text,
    [ITG_HW_CHOICE] = read_choice,
    [ITG_HW_ROUNDINGS] = read_roundings,
    [ITG_HW_RANGE] = read_range,
    [ITG_HW_DTYPE_MASK] = read_dtype_mask,
    [ITG_HW_REQUANT_INDEX] = read_requant_index,
    [ITG_HW_OBJECT] = read_nested,
    [ITG_HW_DTYPE_MAP] = read_dtypes,
    [ITG_HW_REQUANT_MAP] = read_requants,
    [ITG_HW_FUSE_PAIRS] = read_fuse,
    [ITG_HW_OPERATOR_MAP] = read_operators,
    [ITG_HW_SPEC_LIST] = read_specs,
    [ITG_HW_OVERRIDE_LIST] = read_overrides,
};

/* Fields of kinds that are not here are zero in a zeroed struct, as their preset is. */
static void apply_presets(const itg_hw_object *object, void *out)
{
    for (int32_t i = 0; i < object->key_count; i++) {
        const itg_hw_key *key = &object->keys[i];
        char *field = (char *)out + key->offset;
        int32_t small = (int32_t)key->preset;
        double rate = (double)key->preset;
        switch (key->kind) {
        case ITG_HW_BOOL:
            *(bool *)field = key->preset != 0;
            break;
        case ITG_HW_INT:
        case ITG_HW_REQUANT_INDEX:
        case ITG_HW_CHOICE:
            memcpy(field, &small, sizeof small);
            break;
        case ITG_HW_RATE:
            memcpy(field, &rate, sizeof rate);
            break;
        case ITG_HW_OBJECT:
            apply_presets(key->object, field);
            break;
        default:
            break;
        }
    }
}

static itg_status check_keys(const loader *l, const itg_hw_object *object, const itg_json_value *v,
                             itg_error *err)
{
    const char *names[ITG_HW_MAX_KEYS] = {NULL};
    for (int32_t i = 0; i < object->key_count; i++)
        names[i] = object->keys[i].name;
    itg_status status = itg_json_allow_keys(l->json, v, names, err);
    for (int32_t i = 0; status == ITG_OK && i < object->key_count; i++)
        if (object->keys[i].need == ITG_HW_REQUIRED && !itg_json_find(v, names[i]))
            status = itg_json_fail(l->json, v, err, ITG_BAD_FILE, "expected key '%s'", names[i]);
    return status;
}

/* A key that the object's arithmetic or form does not use is refused: it would say something that
 * is not done. */
static itg_status check_selected(const loader *l, const itg_hw_object *object,
                                 const itg_json_value *v, const void *out, itg_error *err)
{
    if (!object->selector) return ITG_OK;
    const itg_hw_key *selector = itg_hw_find_key(object, object->selector);
    int value = 0;
    memcpy(&value, (const char *)out + selector->offset, sizeof value);
    for (int32_t i = 0; i < object->key_count; i++) {
        const itg_hw_key *key = &object->keys[i];
        const itg_json_value *member = itg_json_find(v, key->name);
        if (member && key->only && !((key->only >> value) & 1u))
            return itg_json_fail(l->json, member, err, ITG_BAD_FILE,
                                 "expected no key '%s' beside '%s': \"%s\"", key->name,
                                 selector->name, itg_hw_choice_name(selector->choices, value));
    }
    return ITG_OK;
}

static itg_status read_object(loader *l, const itg_hw_object *object, const itg_json_value *v,
                              void *out, itg_error *err)
{
    if (itg_json_typeof(v) != ITG_JSON_OBJECT)
        return itg_json_fail(l->json, v, err, ITG_BAD_FILE, "expected an object (%s)",
                             object->title);
    itg_status status = check_keys(l, object, v, err);
    if (status != ITG_OK) return status;
    apply_presets(object, out);
    for (int32_t i = 0; i < object->key_count; i++) {
        const itg_hw_key *key = &object->keys[i];
        const itg_json_value *member = itg_json_find(v, key->name);
        if (!member) continue;
        status = readers[key->kind](l, key, member, (char *)out + key->offset, err);
        if (status != ITG_OK) return status;
    }
    return check_selected(l, object, v, out, err);
}

itg_status itg_hardware_parse(const char *text, size_t bytes, const char *source,
                              itg_hardware **out, itg_error *err)
{
    if (bytes > ITG_HW_MAX_FILE_BYTES)
        return itg_fail(err, ITG_LIMIT, "%s: expected at most %zu bytes, got %zu", source,
                        ITG_HW_MAX_FILE_BYTES, bytes);
    itg_json *json = NULL;
    itg_hardware *hw = NULL;
    itg_status status = itg_json_parse(text, bytes, source, &json, err);
    if (status != ITG_OK) goto cleanup;
    hw = calloc(1, sizeof *hw);
    /* Reprinted: the same description has the same hash, whatever its white space, and out of a
     * strategy file too. */
    itg_strbuf canonical = {0};
    itg_json_print(itg_json_root(json), &canonical);
    if (!hw || !itg_strbuf_ok(&canonical) || !canonical.text) {
        itg_strbuf_deinit(&canonical);
        status = itg_fail(err, ITG_NO_MEMORY, "out of memory");
        goto cleanup;
    }
    hw->json = canonical.text;
    if (canonical.length > ITG_HW_MAX_FILE_BYTES) { /* strategies and logs could not be read */
        status = itg_fail(err, ITG_LIMIT, "%s: has %zu bytes as it is kept; at most %zu are",
                          source, canonical.length, ITG_HW_MAX_FILE_BYTES);
        goto cleanup;
    }
    itg_sha256_of(canonical.text, canonical.length, hw->hash);
    loader l = {json, hw, ITG_OP_COUNT};
    status = read_object(&l, &itg_hw_file_keys, itg_json_root(json), hw, err);
    if (status == ITG_OK) status = itg_hw_check_file(json, hw, err);
    if (status == ITG_OK) {
        *out = hw;
        hw = NULL;
    }
cleanup:
    itg_hardware_destroy(hw);
    itg_json_destroy(json);
    return status;
}

void itg_hardware_destroy(itg_hardware *hw)
{
    if (!hw) return;
    free(hw->overrides);
    free(hw->json);
    free(hw);
}
