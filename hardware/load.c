/* Parses JSON into a description, by the table in keys.c. An object is read in three steps: it
 * checks for unknown keys, presets every field, and reads the stated keys in the table's order
 * (names are defined before they are used). */
#include "keys.h"

#include <stdlib.h>
#include <string.h>

typedef struct loader {
    const itg_json *json;
    itg_hardware *hw;
    itg_op op; /* the operator whose specs are being read */
    itg_error *err;
} loader;

/* A key, its value, and the field that takes it. */
typedef struct slot {
    const itg_hw_key *key;
    const itg_json_value *v;
    void *field;
} slot;

static itg_status read_object(loader *l, const itg_hw_object *object, const itg_json_value *v,
                              void *out);

static itg_status bad(const loader *l, const itg_json_value *v, const char *format, ...)
    ITG_PRINTF(3, 4);
static itg_status bad(const loader *l, const itg_json_value *v, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return itg_json_fail(l->json, v, l->err, ITG_BAD_FILE, "expected %s", text);
}

/* ---- simple kinds ---- */

static itg_status read_rate(loader *l, slot s)
{
    double x;
    itg_status status = itg_json_get_number(l->json, s.v, &x, l->err);
    if (status != ITG_OK) return status;
    if (!(x > 0 && x <= 1e12)) return bad(l, s.v, "a number above 0, at most 1e12");
    *(double *)s.field = x;
    return ITG_OK;
}

static itg_status read_text(loader *l, slot s)
{
    const char *text;
    itg_status status = itg_json_get_string(l->json, s.v, &text, l->err);
    if (status != ITG_OK) return status;
    size_t length = strlen(text);
    if (length < (size_t)s.key->min || length > (size_t)s.key->max)
        return bad(l, s.v, "a string of %d..%d bytes", (int)s.key->min, (int)s.key->max);
    memcpy(s.field, text, length + 1);
    return ITG_OK;
}

/* Reads one of the key's choices into `count` adjacent fields. */
static itg_status read_choice(loader *l, slot s, size_t count)
{
    const char *name;
    itg_status status = itg_json_get_string(l->json, s.v, &name, l->err);
    if (status != ITG_OK) return status;
    const itg_hw_choice *choice = itg_hw_find_choice(s.key->choices, name);
    for (size_t i = 0; choice && i < count; i++)
        memcpy((char *)s.field + i * sizeof(int), &choice->value, sizeof(int));
    if (choice) return ITG_OK;
    itg_strbuf list = {0};
    for (choice = s.key->choices; choice->name; choice++)
        itg_strbuf_format(&list, "%s'%s'", choice == s.key->choices ? "" : ", ", choice->name);
    status = bad(l, s.v, "one of %s; got '%s'", list.text ? list.text : "?", name);
    itg_strbuf_deinit(&list);
    return status;
}

static itg_status read_range(loader *l, slot s)
{
    const int64_t most = s.key->max;
    if (itg_json_typeof(s.v) != ITG_JSON_ARRAY || itg_json_length(s.v) != 2)
        return bad(l, s.v, "[lowest, highest]");
    int64_t low, high;
    itg_status status =
        itg_json_get_int(l->json, itg_json_at(s.v, 0), s.key->min, most, &low, l->err);
    if (status == ITG_OK)
        status = itg_json_get_int(l->json, itg_json_at(s.v, 1), low, most, &high, l->err);
    if (status != ITG_OK) return status;
    int32_t *range = s.field;
    range[0] = (int32_t)low;
    range[1] = (int32_t)high;
    return ITG_OK;
}

/* ---- names defined in the file ---- */

static itg_status read_dtype_mask(loader *l, slot s)
{
    if (itg_json_typeof(s.v) != ITG_JSON_ARRAY || itg_json_length(s.v) == 0)
        return bad(l, s.v, "a list of at least one name in 'dtypes'");
    uint32_t mask = 0;
    for (size_t n = 0; n < itg_json_length(s.v); n++) {
        const char *name;
        itg_status status = itg_json_get_string(l->json, itg_json_at(s.v, n), &name, l->err);
        if (status != ITG_OK) return status;
        int32_t i = 0;
        while (i < l->hw->dtype_count && strcmp(l->hw->dtypes[i].name, name) != 0)
            i++;
        if (i == l->hw->dtype_count || ((mask >> i) & 1u))
            return bad(l, itg_json_at(s.v, n), "a name in 'dtypes', each once; got '%s'", name);
        mask |= 1u << i;
    }
    *(uint32_t *)s.field = mask;
    return ITG_OK;
}

static itg_status read_requant_index(loader *l, slot s)
{
    const char *name;
    itg_status status = itg_json_get_string(l->json, s.v, &name, l->err);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < l->hw->requant_count; i++)
        if (strcmp(l->hw->requants[i].name, name) == 0) {
            *(int32_t *)s.field = i;
            return ITG_OK;
        }
    return bad(l, s.v, "a name in the top-level 'requantize'; got '%s'", name);
}

/* Reads dtypes or requantizations: each member has a name of 1 to 31 bytes. */
static itg_status read_map(loader *l, slot s)
{
    const bool dtypes = s.key->kind == ITG_HW_DTYPE_MAP;
    itg_status status = ITG_OK;
    if (itg_json_typeof(s.v) != ITG_JSON_OBJECT) return bad(l, s.v, "an object");
    if (itg_json_length(s.v) > (size_t)s.key->max)
        return itg_json_fail(l->json, s.v, l->err, ITG_LIMIT, "expected at most %d entries",
                             (int)s.key->max);
    for (size_t i = 0; i < itg_json_length(s.v) && status == ITG_OK; i++) {
        const itg_json_value *member = itg_json_at(s.v, i);
        itg_hw_dtype *dtype = dtypes ? &l->hw->dtypes[i] : NULL;
        itg_hw_requant *requant = dtypes ? NULL : &l->hw->requants[i];
        size_t length = strlen(itg_json_key_at(s.v, i));
        if (length == 0 || length > 31) return bad(l, member, "a name of 1..31 bytes as its key");
        memcpy(dtypes ? dtype->name : requant->name, itg_json_key_at(s.v, i), length + 1);
        status =
            read_object(l, s.key->object, member, dtypes ? (void *)dtype : (void *)&requant->spec);
        if (status == ITG_OK)
            status = dtypes ? itg_hw_check_dtype(l->json, member, dtype, l->err)
                            : itg_hw_check_requant(l->json, member, l->hw, &requant->spec, l->err);
        *(dtypes ? &l->hw->dtype_count : &l->hw->requant_count) = (int32_t)i + 1;
    }
    return status;
}

/* ---- operators ---- */

static itg_status get_op(const loader *l, const itg_json_value *v, itg_op *out)
{
    const char *name;
    itg_status status = itg_json_get_string(l->json, v, &name, l->err);
    if (status == ITG_OK && !itg_op_from_name(name, out))
        status = bad(l, v, "an operator; got '%s'", name);
    return status;
}

static itg_status read_fuse(loader *l, slot s)
{
    if (itg_json_typeof(s.v) != ITG_JSON_ARRAY || itg_json_length(s.v) > (size_t)s.key->max)
        return bad(l, s.v, "a list of at most %d pairs", (int)s.key->max);
    for (size_t i = 0; i < itg_json_length(s.v); i++) {
        const itg_json_value *pair = itg_json_at(s.v, i);
        if (itg_json_typeof(pair) != ITG_JSON_ARRAY || itg_json_length(pair) != 2)
            return bad(l, pair, "a pair of operators, such as [\"Conv\", \"Relu\"]");
        itg_op producer, activation;
        itg_status status = get_op(l, itg_json_at(pair, 0), &producer);
        if (status == ITG_OK) status = get_op(l, itg_json_at(pair, 1), &activation);
        if (status != ITG_OK) return status;
        if (!itg_hw_can_fuse_into(producer, activation))
            return bad(l, pair,
                       "an operator that requantizes (Conv, Gemm, MatMul, Add, Sub, Mul...), then "
                       "Relu or Clip");
        l->hw->fuse[producer][activation] = true;
    }
    return ITG_OK;
}

static itg_status read_specs(loader *l, slot s)
{
    itg_hw_spec *specs = s.field;
    size_t count = itg_json_length(s.v);
    if (itg_json_typeof(s.v) != ITG_JSON_ARRAY || count < 1 || count > (size_t)s.key->max)
        return bad(l, s.v, "a list of 1..%d specs", (int)s.key->max);
    for (size_t i = 0; i < count; i++) {
        const itg_json_value *member = itg_json_at(s.v, i);
        itg_hw_spec *spec = &specs[i];
        itg_status status = read_object(l, s.key->object, member, spec);
        if (status != ITG_OK) return status;
        if (spec->split.join_bits == 0) spec->split.join_bits = spec->acc.bits;
        if (!(spec->split.join_cycles > 0)) spec->split.join_cycles = 1 / spec->macs_per_cycle;
        if (!(spec->depthwise_macs_per_cycle > 0))
            spec->depthwise_macs_per_cycle = spec->macs_per_cycle;
        int32_t widest = itg_hw_bias_limit(spec);
        if (spec->bias_bits == 0) spec->bias_bits = widest < 32 ? widest : 32;
        status = itg_hw_check_spec(l->json, member, l->hw, l->op, spec, l->err);
        if (status != ITG_OK) return status;
        l->hw->ops[l->op].spec_count = (int32_t)i + 1;
    }
    return ITG_OK;
}

static itg_status read_operator(loader *l, const itg_hw_object *object, const itg_json_value *v,
                                itg_op name)
{
    itg_hw_op *op = &l->hw->ops[name];
    l->op = name;
    if (itg_json_typeof(v) != ITG_JSON_ARRAY) return read_object(l, object, v, op);
    return read_specs(l, (slot){itg_hw_find_key(object, "specs"), v, op->specs});
}

/* Reads the entry for every univariate operator without an entry of its own. */
static itg_status read_univariate(loader *l, slot s, const itg_json_value *member)
{
    itg_status status = ITG_OK;
    for (int op = 0; op < ITG_OP_COUNT && status == ITG_OK; op++)
        if (itg_op_is((itg_op)op, ITG_IS_UNIVARIATE) &&
            !itg_json_find(s.v, itg_op_name((itg_op)op)))
            status = read_operator(l, s.key->object, member, (itg_op)op);
    return status;
}

static itg_status read_operators(loader *l, slot s)
{
    itg_status status = ITG_OK;
    if (itg_json_typeof(s.v) != ITG_JSON_OBJECT) return bad(l, s.v, "an object");
    for (size_t i = 0; i < itg_json_length(s.v) && status == ITG_OK; i++) {
        const itg_json_value *member = itg_json_at(s.v, i);
        const char *name = itg_json_key_at(s.v, i);
        itg_op op;
        if (strcmp(name, ITG_HW_UNIVARIATE) == 0) {
            status = read_univariate(l, s, member);
            continue;
        }
        if (!itg_op_from_name(name, &op))
            return bad(l, member, "the name of an ONNX operator as key, or 'univariate'; got '%s'",
                       name);
        if (itg_hw_legal_forms(op) == 0)
            return bad(l, member, "no entry: %s has no integer arithmetic here", name);
        status = read_operator(l, s.key->object, member, op);
    }
    return status;
}

static itg_status read_overrides(loader *l, slot s)
{
    size_t count = itg_json_length(s.v);
    if (itg_json_typeof(s.v) != ITG_JSON_ARRAY || count > (size_t)s.key->max)
        return bad(l, s.v, "a list of at most %d overrides", (int)s.key->max);
    if (count == 0) return ITG_OK;
    l->hw->overrides = calloc(count, sizeof *l->hw->overrides);
    if (!l->hw->overrides) return itg_no_memory(l->err);
    for (size_t i = 0; i < count; i++) {
        itg_status status =
            read_object(l, s.key->object, itg_json_at(s.v, i), &l->hw->overrides[i]);
        if (status != ITG_OK) return status;
        l->hw->override_count = (int32_t)i + 1;
    }
    return ITG_OK;
}

/* ---- objects ---- */

static itg_status read_value(loader *l, slot s)
{
    itg_status status = ITG_OK;
    int64_t x = 0;
    bool *stated = s.field;
    switch (s.key->kind) {
    case ITG_HW_FORMAT:
    case ITG_HW_INT:
    case ITG_HW_BYTES:
        status = itg_json_get_int(l->json, s.v, s.key->min, s.key->max, &x, l->err);
        if (status == ITG_OK && s.key->kind == ITG_HW_INT) *(int32_t *)s.field = (int32_t)x;
        if (status == ITG_OK && s.key->kind == ITG_HW_BYTES) *(int64_t *)s.field = x;
        return status;
    case ITG_HW_BOOL:
        return itg_json_get_bool(l->json, s.v, stated, l->err);
    case ITG_HW_OPTIONAL_BOOL:
        status = itg_json_get_bool(l->json, s.v, stated + 1, l->err);
        if (status == ITG_OK) *stated = true;
        return status;
    case ITG_HW_RATE:
        return read_rate(l, s);
    case ITG_HW_TEXT:
        return read_text(l, s);
    case ITG_HW_CHOICE:
        return read_choice(l, s, 1);
    case ITG_HW_ROUNDINGS:
        return read_choice(l, s, 3);
    case ITG_HW_RANGE:
        return read_range(l, s);
    case ITG_HW_DTYPE_MASK:
        return read_dtype_mask(l, s);
    case ITG_HW_REQUANT_INDEX:
        return read_requant_index(l, s);
    case ITG_HW_OBJECT:
        return read_object(l, s.key->object, s.v, s.field);
    case ITG_HW_DTYPE_MAP:
    case ITG_HW_REQUANT_MAP:
        return read_map(l, s);
    case ITG_HW_FUSE_PAIRS:
        return read_fuse(l, s);
    case ITG_HW_OPERATOR_MAP:
        return read_operators(l, s);
    case ITG_HW_SPEC_LIST:
        return read_specs(l, s);
    default:
        return read_overrides(l, s);
    }
}

/* Fields of other kinds have the preset zero, which a zeroed struct holds. */
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

static itg_status check_keys(const loader *l, const itg_hw_object *object, const itg_json_value *v)
{
    const char *names[ITG_HW_MAX_KEYS] = {NULL};
    for (int32_t i = 0; i < object->key_count; i++)
        names[i] = object->keys[i].name;
    itg_status status = itg_json_allow_keys(l->json, v, names, l->err);
    for (int32_t i = 0; status == ITG_OK && i < object->key_count; i++)
        if (object->keys[i].need == ITG_HW_REQUIRED && !itg_json_find(v, names[i]))
            status = bad(l, v, "key '%s'", names[i]);
    return status;
}

/* Refuses a key that has no effect with the object's arithmetic or form. */
static itg_status check_selected(const loader *l, const itg_hw_object *object,
                                 const itg_json_value *v, const void *out)
{
    if (!object->selector) return ITG_OK;
    const itg_hw_key *selector = itg_hw_find_key(object, object->selector);
    int value = 0;
    memcpy(&value, (const char *)out + selector->offset, sizeof value);
    for (int32_t i = 0; i < object->key_count; i++) {
        const itg_hw_key *key = &object->keys[i];
        const itg_json_value *member = itg_json_find(v, key->name);
        if (member && key->only && !((key->only >> value) & 1u))
            return bad(l, member, "no key '%s' beside '%s': \"%s\"", key->name, selector->name,
                       itg_hw_choice_name(selector->choices, value));
    }
    return ITG_OK;
}

static itg_status read_object(loader *l, const itg_hw_object *object, const itg_json_value *v,
                              void *out)
{
    if (itg_json_typeof(v) != ITG_JSON_OBJECT) return bad(l, v, "an object (%s)", object->title);
    itg_status status = check_keys(l, object, v);
    if (status != ITG_OK) return status;
    apply_presets(object, out);
    for (int32_t i = 0; i < object->key_count; i++) {
        const itg_hw_key *key = &object->keys[i];
        const itg_json_value *member = itg_json_find(v, key->name);
        if (!member) continue;
        status = read_value(l, (slot){key, member, (char *)out + key->offset});
        if (status != ITG_OK) return status;
    }
    return check_selected(l, object, v, out);
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
    /* The text is reprinted, so that a description has the same hash with other white space and
     * within a strategy file. */
    itg_strbuf canonical = {0};
    itg_json_print(itg_json_root(json), &canonical);
    if (!hw || !itg_strbuf_ok(&canonical) || !canonical.text) {
        itg_strbuf_deinit(&canonical);
        status = itg_no_memory(err);
        goto cleanup;
    }
    hw->json = canonical.text;
    if (canonical.length > ITG_HW_MAX_FILE_BYTES) { /* strategies and logs could not be read */
        status = itg_fail(err, ITG_LIMIT, "%s: has %zu bytes as it is kept; at most %zu are",
                          source, canonical.length, ITG_HW_MAX_FILE_BYTES);
        goto cleanup;
    }
    itg_sha256_of(canonical.text, canonical.length, hw->hash);
    loader l = {json, hw, ITG_OP_COUNT, err};
    status = read_object(&l, &itg_hw_file_keys, itg_json_root(json), hw);
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
