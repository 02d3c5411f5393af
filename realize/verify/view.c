#include "realize/verify/view.h"
#include "base/packed.h"
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(((const itg_view_value *)a)->name, ((const itg_view_value *)b)->name);
}

void itg_view_problem(itg_view *v, const char *format, ...)
{
    char text[400];
    if (v->problem_count++ >= ITG_VIEW_MAX_PROBLEMS) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *kept = v->node < 0 ? itg_arena_strdup(v->arena, text)
                             : itg_arena_format(v->arena, "node '%s': %s",
                                                v->file->nodes[v->node].name, text);
    if (kept == NULL) v->failed = true;
    v->problems[v->problem_count - 1] = kept;
}

void *itg_view_array(itg_view *v, int64_t count, size_t size)
{
    void *memory = count < 0 || (uint64_t)count >= SIZE_MAX
                       ? NULL
                       : itg_arena_array(v->arena, (size_t)count + 1, size);
    if (memory == NULL) v->failed = true;
    return memory;
}

/* ---- attributes ---- */

const itg_onnx_node *itg_view_node(const itg_view *v)
{
    return &v->file->nodes[v->node];
}

static const itg_onnx_attr *find_in(const itg_onnx_node *node, const char *prefix, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "%s%s", prefix, name);
    return itg_onnx_attr_find(node, text);
}

static int64_t int_in(const itg_onnx_node *node, const char *prefix, const char *name)
{
    const itg_onnx_attr *a = find_in(node, prefix, name);
    return a != NULL && a->type == ITG_ATTR_INT ? a->i : 0;
}

static const int64_t *ints_in(const itg_onnx_node *node, const char *prefix, const char *name,
                              int64_t *count)
{
    const itg_onnx_attr *a = find_in(node, prefix, name);
    bool is_list = a != NULL && a->type == ITG_ATTR_INTS;
    *count = is_list ? a->count : 0;
    return is_list ? a->ints : NULL;
}

int64_t itg_view_int(const itg_view *v, const char *prefix, const char *name)
{
    return int_in(itg_view_node(v), prefix, name);
}

const int64_t *itg_view_ints(const itg_view *v, const char *prefix, const char *name,
                             int64_t *count)
{
    return ints_in(itg_view_node(v), prefix, name, count);
}

const float *itg_view_floats(const itg_view *v, const char *prefix, const char *name,
                             int64_t *count)
{
    const itg_onnx_attr *a = find_in(itg_view_node(v), prefix, name);
    bool is_list = a != NULL && a->type == ITG_ATTR_FLOATS;
    *count = is_list ? a->count : 0;
    return is_list ? a->floats : NULL;
}

const char *itg_view_text(const itg_view *v, const char *prefix, const char *name)
{
    const itg_onnx_attr *a = find_in(itg_view_node(v), prefix, name);
    return a != NULL && a->type == ITG_ATTR_STRING ? a->s : "";
}

bool itg_view_rounding(itg_view *v, const char *name, itg_rounding *out)
{
    static const char *const names[ITG_ROUNDING_COUNT] = {"half_even", "half_up", "half_away",
                                                          "floor"};
    const char *text = itg_view_text(v, "", name);
    for (int i = 0; i < ITG_ROUNDING_COUNT; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (itg_rounding)i;
            return true;
        }
    itg_view_problem(v, "%s: '%s' is no rounding", name, text);
    return false;
}

/* ---- tensors ---- */

/* Reads a shape, as y0_shape. */
static bool shape_in(const itg_onnx_node *node, const char *prefix, itg_shape *out)
{
    int64_t count, elements;
    const int64_t *dims = ints_in(node, prefix, "shape", &count);
    if (count > ITG_MAX_RANK) return false;
    memset(out, 0, sizeof *out);
    out->rank = (int32_t)count;
    if (count > 0) memcpy(out->dims, dims, (size_t)count * sizeof *dims);
    return itg_shape_elements(out, &elements) && elements > 0;
}

static bool output_shape(const itg_onnx_node *node, int32_t index, itg_shape *out)
{
    char prefix[24];
    snprintf(prefix, sizeof prefix, "y%d_", (int)index);
    return shape_in(node, prefix, out);
}

static void add_value(itg_view *v, itg_view_value value)
{
    v->values[v->count++] = value;
}

static void add_outputs(itg_view *v, int32_t index)
{
    const itg_onnx_node *node = &v->file->nodes[index];
    v->node = index;
    for (int32_t k = 0; k < node->output_count; k++) {
        itg_view_value value = {.name = node->outputs[k], .producer = index, .index = k};
        if (!output_shape(node, k, &value.shape))
            itg_view_problem(v, "output %d has no shape", (int)k);
        add_value(v, value);
    }
    v->node = -1;
}

static itg_view_value *find(const itg_view *v, const char *name)
{
    itg_view_value key = {.name = name};
    return bsearch(&key, v->values, (size_t)v->count, sizeof key, by_name);
}

/* Unpacks codes with the type and shape of `t`; NULL: a problem was recorded. */
static void *unpacked(itg_view *v, const itg_tensor *from, const itg_tensor *t, int64_t bits)
{
    int64_t elements = 0;
    bool good = itg_dtype_is_integer(t->dtype) && itg_dtype_size(t->dtype) <= 4 && bits >= 1 &&
                bits < (int64_t)(8 * itg_dtype_size(t->dtype)) && from->dtype == ITG_U8 &&
                from->shape.rank == 1 && itg_shape_elements(&t->shape, &elements) &&
                from->shape.dims[0] == itg_packed_bytes(elements, (int32_t)bits) &&
                itg_packed_ends(from->data, (int32_t)bits, elements);
    if (!good) {
        itg_view_problem(v, "no packed codes of %lld bits for type and shape", (long long)bits);
        return NULL;
    }
    void *codes = itg_view_array(v, elements, itg_dtype_size(t->dtype));
    if (codes != NULL)
        itg_packed_unpack(from->data, (int32_t)bits, itg_dtype_min(t->dtype) < 0, elements,
                          itg_dtype_size(t->dtype), codes);
    return codes;
}

/* Replaces a constant by its codes if the node at v->node states that it is packed. */
static void unpack(itg_view *v, int32_t slot)
{
    const itg_onnx_node *node = itg_view_node(v);
    char prefix[24];
    snprintf(prefix, sizeof prefix, "x%d_", (int)slot);
    const itg_onnx_attr *type = find_in(node, prefix, "dtype");
    itg_view_value *value = type != NULL ? find(v, node->inputs[slot]) : NULL;
    itg_tensor *t = value != NULL ? itg_view_array(v, 1, sizeof *t) : NULL;
    if (t == NULL) return;
    if (value->constant == NULL || type->type != ITG_ATTR_STRING ||
        !itg_dtype_from_name(type->s, &t->dtype) || !shape_in(node, prefix, &t->shape)) {
        itg_view_problem(v, "%sdtype, %sshape: no type of a constant", prefix, prefix);
    } else if (value->unpacked) {
        if (value->constant->dtype != t->dtype || !itg_shape_equal(&value->shape, &t->shape))
            itg_view_problem(v, "%sdtype, %sshape: another node states others", prefix, prefix);
    } else {
        t->data = unpacked(v, value->constant, t, int_in(node, prefix, "bits"));
        if (t->data == NULL) return;
        value->constant = t;
        value->shape = t->shape;
        value->unpacked = true;
    }
}

itg_status itg_view_init(itg_view *v, const itg_onnx_file *file, itg_error *err)
{
    memset(v, 0, sizeof *v);
    v->file = file;
    v->node = -1;
    v->arena = itg_arena_create(0);
    if (v->arena == NULL) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory", file->source);
    int64_t most = (int64_t)file->input_count + file->initializer_count;
    for (int32_t i = 0; i < file->node_count; i++)
        most += file->nodes[i].output_count;
    v->values = itg_view_array(v, most, sizeof *v->values);
    v->problems = itg_view_array(v, ITG_VIEW_MAX_PROBLEMS, sizeof *v->problems);
    if (v->failed) return itg_fail(err, ITG_NO_MEMORY, "%s: no memory to look at it", file->source);
    for (int32_t i = 0; i < file->input_count; i++)
        add_value(
            v, (itg_view_value){file->inputs[i].name, -1, i, NULL, file->inputs[i].shape, false});
    for (int32_t i = 0; i < file->initializer_count; i++) {
        const itg_onnx_initializer *c = &file->initializers[i];
        add_value(v, (itg_view_value){c->name, -1, i, &c->tensor, c->tensor.shape, false});
    }
    for (int32_t i = 0; i < file->node_count; i++)
        add_outputs(v, i);
    qsort(v->values, (size_t)v->count, sizeof *v->values, by_name);
    for (int32_t i = 1; i < v->count; i++)
        if (strcmp(v->values[i - 1].name, v->values[i].name) == 0)
            itg_view_problem(v, "tensor '%s' is made twice", v->values[i].name);
    for (v->node = 0; v->node < file->node_count; v->node++)
        for (int32_t i = 0; i < file->nodes[v->node].input_count; i++)
            unpack(v, i);
    v->node = -1;
    return ITG_OK;
}

void itg_view_deinit(itg_view *v)
{
    itg_arena_destroy(v->arena);
    memset(v, 0, sizeof *v);
}

const itg_view_value *itg_view_input(itg_view *v, int32_t slot)
{
    const itg_onnx_node *node = itg_view_node(v);
    if (slot >= node->input_count || node->inputs[slot][0] == '\0') return NULL;
    const itg_view_value *value = find(v, node->inputs[slot]);
    if (value != NULL && value->producer < v->node) return value;
    itg_view_problem(v, "input '%s' is never made before", node->inputs[slot]);
    return NULL;
}

const itg_shape *itg_view_output_shape(itg_view *v, int32_t index)
{
    static const itg_shape none;
    const itg_onnx_node *node = itg_view_node(v);
    const itg_view_value *value = index < node->output_count ? find(v, node->outputs[index]) : NULL;
    return value != NULL ? &value->shape : &none;
}

/* ---- codes ---- */

static bool codes_of(itg_view *v, const itg_onnx_node *node, char side, int32_t index,
                     itg_dtype storage, itg_view_codes *out)
{
    char prefix[24];
    snprintf(prefix, sizeof prefix, "%c%d_", side, (int)index);
    if (find_in(node, prefix, "scale") == NULL) return false;
    itg_view_codes q = {int_in(node, prefix, "qmin"), int_in(node, prefix, "qmax"),
                        int_in(node, prefix, "zero_point")};
    int64_t bits = int_in(node, prefix, "bits");
    bool known = itg_dtype_is_integer(storage) && storage != ITG_S64 && bits >= 1 && bits <= 32;
    /* Weights with zero points: each channel has 2^bits of the codes. */
    const int64_t span = known ? (INT64_C(1) << bits) - 1 : 0;
    const bool zero_points =
        side == 'x' && bits >= 2 && bits <= 8 && q.zero == 0 && q.qmin == -span && q.qmax == span;
    if (!known || q.qmin >= q.qmax || q.qmin > q.zero || q.zero > q.qmax ||
        q.qmin < itg_dtype_min(storage) || q.qmax > itg_dtype_max(storage) ||
        (q.qmax - q.qmin > (bits == 1 ? 2 : span) && !zero_points)) {
        itg_view_problem(v, "%squantizer: codes [%lld,%lld] around %lld do not fit %lld bits in %s",
                         prefix, (long long)q.qmin, (long long)q.qmax, (long long)q.zero,
                         (long long)bits, itg_dtype_name(storage));
        return false;
    }
    *out = q;
    return true;
}

static bool output_codes(itg_view *v, const itg_onnx_node *node, int32_t index, itg_view_codes *out)
{
    char prefix[24];
    itg_dtype dtype;
    snprintf(prefix, sizeof prefix, "y%d_", (int)index);
    const itg_onnx_attr *a = find_in(node, prefix, "dtype");
    if (a == NULL || a->type != ITG_ATTR_STRING || !itg_dtype_from_name(a->s, &dtype)) {
        itg_view_problem(v, "%sdtype is no type", prefix);
        return false;
    }
    return codes_of(v, node, 'y', index, dtype, out);
}

bool itg_view_output_codes(itg_view *v, int32_t index, itg_view_codes *out)
{
    return output_codes(v, itg_view_node(v), index, out);
}

bool itg_view_input_codes(itg_view *v, int32_t slot, itg_view_codes *out)
{
    const itg_view_value *value = itg_view_input(v, slot);
    if (value == NULL) return false;
    if (value->producer >= 0)
        return output_codes(v, &v->file->nodes[value->producer], value->index, out);
    if (value->constant == NULL) return false;
    return codes_of(v, itg_view_node(v), 'x', slot, value->constant->dtype, out);
}
