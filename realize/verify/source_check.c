/* What an array of the C source says it was made from, and whether it is that. */
#include "realize/verify/source.h"
#include <stdlib.h>
#include <string.h>

itg_status itg_source_check_init(itg_source_check *c, itg_view *v, itg_error *err)
{
    *c = (itg_source_check){.view = v};
    c->seen = calloc((size_t)v->file->initializer_count + 1, sizeof *c->seen);
    return c->seen != NULL ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory to read C source");
}

void itg_source_check_deinit(itg_source_check *c)
{
    free(c->groups);
    free(c->seen);
    *c = (itg_source_check){0};
}

static const itg_tensor *constant(itg_source_check *c, int32_t node, int32_t slot)
{
    itg_view *v = c->view;
    if (node < 0 || node >= v->file->node_count || slot < 0 || slot > 1 << 16) return NULL;
    v->node = node;
    const itg_view_value *value = itg_view_input(v, slot);
    v->node = -1;
    if (value == NULL || value->constant == NULL) return NULL;
    c->seen[value->index] = true;
    return value->constant;
}

static void differs(itg_source_check *c, const itg_source_array *a, int64_t at)
{
    itg_view_problem(c->view, "array '%.80s' of the C source: number %lld is not that of %.80s",
                     a->name, (long long)at, a->from);
}

/* ---- plain numbers ---- */

static void check_values(itg_source_check *c, const itg_source_array *a, int32_t node, int32_t slot)
{
    const itg_tensor *t = constant(c, node, slot);
    int64_t elements = 0;
    bool there = t != NULL && itg_shape_elements(&t->shape, &elements);
    if (!there || (a->count != elements && a->count != 1)) {
        itg_view_problem(c->view, "array '%.80s' of the C source: %lld numbers for %lld of %.80s",
                         a->name, (long long)a->count, (long long)elements, a->from);
        return;
    }
    for (int64_t i = 0; i < elements; i++)
        if (a->values[a->count == 1 ? 0 : i] != itg_view_code(t, i)) {
            differs(c, a, i);
            return;
        }
}

static void check_split(itg_source_check *c, const itg_source_array *a, int32_t node)
{
    int64_t count = 0;
    const int64_t *shift = NULL;
    itg_view *v = c->view;
    if (node >= 0 && node < v->file->node_count) {
        v->node = node;
        shift = itg_view_ints(v, "", "split_shift", &count);
        v->node = -1;
    }
    bool same = shift != NULL && (a->count == count || a->count == 1);
    for (int64_t i = 0; i < count && same; i++)
        same = a->values[a->count == 1 ? 0 : i] == shift[i];
    if (!same) differs(c, a, 0);
}

/* ---- packed codes ---- */

/* Code i of `total`, b bits each, as docs/emit-c.md packs them. */
static int64_t unpacked(const itg_source_array *a, int64_t total, int64_t bits, int64_t i)
{
    const int64_t whole = total / 8 * 8;
    int64_t code = 0, from = 0;
    if (i >= whole) {
        for (int64_t b = 0; b < bits; b++) {
            int64_t at = (i - whole) * bits + b;
            code |= (a->values[whole / 8 * bits + at / 8] >> (at % 8) & 1) << b;
        }
        return code;
    }
    for (int64_t done = 0, width; done < bits; done += width) {
        width = bits - done >= 8 ? 8 : bits - done >= 4 ? 4 : bits - done >= 2 ? 2 : 1;
        const int64_t bytes = whole / 8 * width, mask = ((int64_t)1 << width) - 1;
        code |= (a->values[from + i % bytes] >> (i / bytes * width) & mask) << done;
        from += bytes;
    }
    return code;
}

/* Which element of the tensor stands at place i; -1: no such order. */
static int64_t element(const itg_shape *s, char order, int64_t i)
{
    if (order == 'n') return i;
    if (s->rank < 2) return -1;
    if (order == 't') { /* the last two axes exchanged */
        int64_t rows = s->dims[s->rank - 2], columns = s->dims[s->rank - 1];
        int64_t matrix = i / (rows * columns), rest = i % (rows * columns);
        return matrix * rows * columns + rest % rows * columns + rest / rows;
    }
    int64_t filters = s->dims[0], channels = s->dims[1], taps = 1;
    for (int32_t d = 2; d < s->rank; d++)
        taps *= s->dims[d];
    if (order == 'd') return channels == 1 ? i % filters * taps + i / filters : -1;
    if (order != 'r') return -1;
    int64_t k = i / (channels * taps), rest = i % (channels * taps);
    return k * channels * taps + rest % channels * taps + rest / channels;
}

static int64_t stated_bits(itg_source_check *c, int32_t node, int32_t slot)
{
    char name[32];
    if (node < 0 || node >= c->view->file->node_count) return 0;
    snprintf(name, sizeof name, "x%d_bits", (int)slot);
    c->view->node = node;
    int64_t bits = itg_view_int(c->view, "", name);
    c->view->node = -1;
    return bits;
}

static void check_packed(itg_source_check *c, const itg_source_array *a, int32_t node, int32_t slot,
                         int64_t bits, char order)
{
    const itg_tensor *t = constant(c, node, slot);
    int64_t elements = 0;
    bool there = t != NULL && itg_shape_elements(&t->shape, &elements) && elements < 1 << 28;
    if (!there || bits < 1 || bits > 32 || bits != stated_bits(c, node, slot) ||
        a->count != (elements * bits + 7) / 8 || element(&t->shape, order, 0) < 0) {
        itg_view_problem(c->view, "array '%.80s' of the C source does not hold %.80s", a->name,
                         a->from);
        return;
    }
    const int64_t least = itg_dtype_min(t->dtype) < 0 ? -((int64_t)1 << (bits - 1)) : 0;
    for (int64_t i = 0; i < a->count; i++)
        if (a->values[i] < 0 || a->values[i] > 255) {
            differs(c, a, i);
            return;
        }
    for (int64_t i = 0; i < elements; i++)
        if (unpacked(a, elements, bits, i) + least !=
            itg_view_code(t, element(&t->shape, order, i))) {
            differs(c, a, i);
            return;
        }
    if (elements * bits % 8 != 0 && a->values[a->count - 1] >> (elements * bits % 8) != 0)
        differs(c, a, a->count); /* the bits behind the last code */
}

/* ---- requantization ---- */

static itg_source_group *group_of(itg_source_check *c, int32_t node, const char *prefix)
{
    int32_t i = c->group_count;
    for (; i > 0 && c->groups[i - 1].node == node; i--)
        if (strcmp(c->groups[i - 1].prefix, prefix) == 0) return &c->groups[i - 1];
    if (i > 0 && c->groups[i - 1].node > node) return NULL; /* layers are in the nodes' order */
    if (c->group_count == c->group_capacity) {
        int32_t capacity = c->group_capacity * 2 + 16;
        itg_source_group *grown = realloc(c->groups, (size_t)capacity * sizeof *grown);
        if (grown == NULL) {
            c->view->failed = true;
            return NULL;
        }
        c->groups = grown;
        c->group_capacity = capacity;
    }
    itg_source_group *g = &c->groups[c->group_count++];
    *g = (itg_source_group){.node = node, .first = -1};
    snprintf(g->prefix, sizeof g->prefix, "%s", prefix);
    return g;
}

static void add_part(itg_source_check *c, const itg_source_array *a, int32_t node,
                     const char *prefix, const char *part, int64_t first, int64_t last,
                     int64_t fixed)
{
    static const char *const names[ITG_SOURCE_PARTS] = {"left", "pre", "multiplier", "shift",
                                                        "post"};
    int k = 0;
    while (k < ITG_SOURCE_PARTS && strcmp(part, names[k]) != 0)
        k++;
    itg_source_group *g = k < ITG_SOURCE_PARTS && node >= 0 && node < c->view->file->node_count
                              ? group_of(c, node, prefix)
                              : NULL;
    bool is_new = g != NULL && g->first < 0;
    if (is_new) {
        g->first = first;
        g->last = last;
        g->fixed = fixed;
    }
    if (g == NULL || first < 0 || g->first != first || g->last != last || g->fixed != fixed ||
        g->count[k] != 0 || (a->count != 1 && a->count != last - first + 1)) {
        itg_view_problem(c->view, "array '%.80s' of the C source is no part of %.80s", a->name,
                         a->from);
        return;
    }
    g->part[k] = a->values;
    g->count[k] = a->count;
}

/* ---- all ---- */

void itg_source_check_array(itg_source_check *c, const itg_source_array *a)
{
    int node, slot, bits, fixed;
    long long first, last;
    char order, prefix[24], part[16];
    const char *from = a->from;
    if (strcmp(from, "positions */") == 0 || strcmp(from, "output */") == 0)
        return; /* by the file's hash */
    if (sscanf(from, "node %9d input %9d, %2d bits, order %c */", &node, &slot, &bits, &order) == 4)
        check_packed(c, a, node, slot, bits, order);
    else if (sscanf(from, "node %9d input %9d, value%1[s]", &node, &slot, part) == 3)
        check_values(c, a, node, slot);
    else if (sscanf(from, "node %9d split_shift, value%1[s]", &node, part) == 2)
        check_split(c, a, node);
    else if (sscanf(from, "node %9d %23[a-z0-9_], %15[a-z] of sets %18lld to %18lld, shift %2d",
                    &node, prefix, part, &first, &last, &fixed) == 6)
        add_part(c, a, node, prefix, part, first, last, fixed);
    else
        itg_view_problem(c->view, "array '%.80s' of the C source is from '%.80s'", a->name, from);
}

static bool has_group(const itg_source_check *c, int32_t node, const char *prefix)
{
    int32_t lo = 0, hi = c->group_count;
    while (lo < hi) {
        int32_t middle = lo + (hi - lo) / 2;
        if (c->groups[middle].node < node)
            lo = middle + 1;
        else
            hi = middle;
    }
    for (; lo < c->group_count && c->groups[lo].node == node; lo++)
        if (strcmp(c->groups[lo].prefix, prefix) == 0) return true;
    return false;
}

static void look_for_group(itg_source_check *c, const char *prefix)
{
    if (!has_group(c, c->view->node, prefix)) itg_source_check_no_group(c->view, prefix);
}

/* Constants that are computed with, but for biases of zeros alone: each has an array. */
static void look_for_inputs(itg_source_check *c)
{
    itg_view *v = c->view;
    const itg_onnx_node *node = itg_view_node(v);
    const char *type = node->op_type;
    if (strcmp(type, "IntGather") == 0) return; /* indices are positions */
    for (int32_t i = 0; i < node->input_count; i++) {
        const itg_view_value *value = itg_view_input(v, i);
        int64_t elements = 0;
        if (value == NULL || value->constant == NULL || c->seen[value->index]) continue;
        bool zero = i == 2, known = itg_shape_elements(&value->shape, &elements);
        for (int64_t k = 0; k < elements && zero; k++)
            zero = itg_view_code(value->constant, k) == 0;
        if (!zero || !known) itg_view_problem(v, "the C source has no array for input %d", (int)i);
    }
}

void itg_source_check_rest(itg_source_check *c)
{
    itg_view *v = c->view;
    for (int32_t i = 0; i < c->group_count; i++)
        itg_source_check_group(v, &c->groups[i]);
    for (v->node = 0; v->node < v->file->node_count; v->node++) {
        const itg_onnx_node *node = itg_view_node(v);
        if (strcmp(node->op_type, "Quantize") == 0 || strcmp(node->op_type, "Dequantize") == 0)
            continue;
        look_for_inputs(c);
        for (int32_t k = 0; k < node->output_count; k++) {
            char prefix[32];
            snprintf(prefix, sizeof prefix, "y%d_requant", (int)k);
            look_for_group(c, prefix);
        }
        if (itg_onnx_attr_find(node, "operand0_stages") == NULL) continue;
        look_for_group(c, "operand0");
        look_for_group(c, "operand1");
    }
    v->node = -1;
}
