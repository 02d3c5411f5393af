#include "recover/gradient_rules.h"
#include "kernels/clones.h"
#include "kernels/float_ops.h"
#include "realize/geometry.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An element of an input in a map: 1 + element, in the upper bits the input. 0: none. */
#define MAP_INPUT 40
#define MAP_ELEMENT ((INT64_C(1) << MAP_INPUT) - 1)
#define DIFFERENCE 0x1p-10 /* of a univariate function's argument, relative */

ITG_CLONES static void recover_add_multiple(float *y, const float *x, float a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

ITG_CLONES static void recover_add_product(float *y, const float *a, const float *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += a[i] * b[i];
}

ITG_CLONES static void recover_add_where_positive(float *y, const float *x, const float *g,
                                                  int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += x[i] > 0 ? g[i] : 0;
}

static double step_at(double x)
{
    return DIFFERENCE * (fabs(x) > 1 ? fabs(x) : 1);
}

/* The slopes of Clip as univariate() has them, whose differences need no call. */
ITG_CLONES static void recover_clip_slopes(float *slope, const float *x, double lo, double hi,
                                           int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double at = (double)x[i], h = step_at(at);
        double up = at + h, down = at - h;
        up = up > lo ? up : lo;
        up = up < hi ? up : hi;
        down = down > lo ? down : lo;
        down = down < hi ? down : hi;
        slope[i] = (float)((up - down) / (2 * h));
    }
}

static int64_t elements_of(const itg_shape *shape)
{
    int64_t n = 0;
    (void)itg_shape_elements(shape, &n);
    return n;
}

static const itg_value *input_of(const itg_graph *g, const itg_node *n, int32_t i)
{
    return i < n->input_count && n->inputs[i] != ITG_NONE ? &g->values[n->inputs[i]] : NULL;
}

static bool varies(const itg_graph *g, const itg_node *n, int32_t i)
{
    const itg_value *v = input_of(g, n, i);
    return v && !v->data;
}

/* ---- univariate operators ---- */

/* The slopes of a function at x, by differences; 0 where they are not finite. */
static void find_slopes(const itg_node *node, const float *x, int64_t n, float *slope)
{
    enum { MANY = 256 };
    double up[MANY], down[MANY];
    for (int64_t first = 0; first < n; first += MANY, x += MANY, slope += MANY) {
        const int64_t count = n - first < MANY ? n - first : MANY;
        for (int64_t i = 0; i < count; i++) {
            const double at = (double)x[i], h = step_at(at);
            up[i] = at + h;
            down[i] = at - h;
        }
        itg_univariate_all(node->op, &node->attrs, count, up);
        itg_univariate_all(node->op, &node->attrs, count, down);
        for (int64_t i = 0; i < count; i++) {
            slope[i] = (float)((up[i] - down[i]) / (2 * step_at((double)x[i])));
            if (!isfinite(slope[i])) slope[i] = 0;
        }
    }
}

static void univariate(const itg_rule_call *c)
{
    const int64_t n = elements_of(&c->x[0].shape);
    if (c->gx[0] && c->is_first) find_slopes(c->node, c->x[0].data, n, c->kept);
    if (c->gx[0]) recover_add_product(c->gx[0], c->gy[0], c->kept, n);
}

static void relu(const itg_rule_call *c)
{
    if (c->gx[0])
        recover_add_where_positive(c->gx[0], c->x[0].data, c->gy[0], elements_of(&c->x[0].shape));
}

static void clip(const itg_rule_call *c)
{
    const itg_attrs *t = &c->node->attrs;
    const int64_t n = elements_of(&c->x[0].shape);
    if (c->gx[0] && c->is_first)
        recover_clip_slopes(c->kept, c->x[0].data, (double)t->min, (double)t->max, n);
    if (c->gx[0]) recover_add_product(c->gx[0], c->gy[0], c->kept, n);
}

/* ---- moves, sums and products of two operands, means: by maps ---- */

/* map: for each element of the outputs, one after the other, what it is a copy of. NULL: the first
 * input, in the same order. */
static void move(const itg_rule_call *c)
{
    const int64_t *map = c->rule->map;
    for (int32_t k = 0; k < c->node->output_count; k++) {
        if (c->node->outputs[k] == ITG_NONE) continue;
        int64_t n = elements_of(&c->y[k].shape);
        if (!map && c->gx[0]) recover_add_multiple(c->gx[0], c->gy[k], 1, n);
        for (int64_t i = 0; map && i < n; i++, map++) {
            float *gx = *map ? c->gx[*map >> MAP_INPUT] : NULL;
            if (gx) gx[(*map & MAP_ELEMENT) - 1] += c->gy[k][i];
        }
    }
}

/* map, map_b: for each element of the output, 1 + the operands' elements; NULL: the same. */
static void binary(const itg_rule_call *c)
{
    const itg_op op = c->node->op;
    const float *a = c->x[0].data, *b = c->x[1].data;
    int64_t n = elements_of(&c->y[0].shape);
    if (op == ITG_OP_ADD && !c->rule->map && !c->rule->map_b) {
        for (int k = 0; k < 2; k++)
            if (c->gx[k]) recover_add_multiple(c->gx[k], c->gy[0], 1, n);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t j = c->rule->map ? c->rule->map[i] - 1 : i,
                k = c->rule->map_b ? c->rule->map_b[i] - 1 : i;
        float g = c->gy[0][i], quotient = op == ITG_OP_DIV ? 1 / b[k] : 1;
        float to_a = op == ITG_OP_MUL ? b[k] : quotient;
        float to_b = op == ITG_OP_ADD   ? 1
                     : op == ITG_OP_SUB ? -1
                     : op == ITG_OP_MUL ? a[j]
                                        : -a[j] * quotient * quotient;
        if (c->gx[0]) c->gx[0][j] += g * to_a;
        if (c->gx[1]) c->gx[1][k] += g * to_b;
    }
}

/* map: for each element of the input, 1 + that of the output; NULL: the same. */
static void mean(const itg_rule_call *c)
{
    int64_t n = elements_of(&c->x[0].shape), sums = elements_of(&c->y[0].shape);
    float weight = c->node->op == ITG_OP_REDUCE_SUM ? 1 : (float)sums / (float)n;
    for (int64_t i = 0; i < n && c->gx[0]; i++)
        c->gx[0][i] += c->gy[0][c->rule->map ? c->rule->map[i] - 1 : i] * weight;
}

/* ---- along an axis ---- */

static void softmax(const itg_rule_call *c)
{
    const itg_shape *s = &c->x[0].shape;
    int32_t axis = (int32_t)c->node->attrs.axis;
    int64_t n = s->dims[axis], inner = itg_dims_product(s, axis + 1, s->rank),
            outer = itg_dims_product(s, 0, axis);
    const float *y = c->y[0].data;
    for (int64_t r = 0; r < outer * inner && c->gx[0]; r++) {
        int64_t first = r / inner * n * inner + r % inner;
        double sum = 0;
        for (int64_t i = first; i < first + n * inner; i += inner)
            sum += (double)y[i] * (double)c->gy[0][i];
        for (int64_t i = first; i < first + n * inner; i += inner)
            c->gx[0][i] += (float)((double)y[i] * ((double)c->gy[0][i] - sum));
    }
}

static void normalize_row(const itg_rule_call *c, const float *x, const float *gy, float *gx,
                          int64_t n)
{
    const float *scale = c->x[1].data;
    const int64_t scales = elements_of(&c->x[1].shape);
    double sum = 0, squares = 0, g = 0, gx_sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i];
    double middle = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += ((double)x[i] - middle) * ((double)x[i] - middle);
    double deviation = sqrt(squares / (double)n + (double)c->node->attrs.epsilon);
    for (int64_t i = 0; i < n; i++) {
        double own = (double)gy[i] * (double)scale[i % scales];
        g += own;
        gx_sum += own * ((double)x[i] - middle) / deviation;
    }
    for (int64_t i = 0; i < n; i++) {
        double own = (double)gy[i] * (double)scale[i % scales],
               z = ((double)x[i] - middle) / deviation;
        gx[i] += (float)((own - g / (double)n - z * gx_sum / (double)n) / deviation);
    }
}

static void layer_normalization(const itg_rule_call *c)
{
    const itg_shape *s = &c->x[0].shape;
    int32_t axis = (int32_t)c->node->attrs.axis;
    int64_t n = itg_dims_product(s, axis, s->rank), rows = itg_dims_product(s, 0, axis);
    for (int64_t r = 0; r < rows && c->gx[0]; r++)
        normalize_row(c, (const float *)c->x[0].data + r * n, c->gy[0] + r * n, c->gx[0] + r * n,
                      n);
}

/* ---- pools ---- */

static void pool_plane(const itg_window *w, bool pads, const float *gy, float *gx)
{
    for (int64_t p = 0; p < w->out_height; p++)
        for (int64_t q = 0; q < w->out_width; q++) {
            const int64_t top = p * w->stride[0] - w->pad_top,
                          left = q * w->stride[1] - w->pad_left;
            const itg_taps rows = itg_valid_taps(top, w->dilation[0], w->kernel[0], w->height),
                           columns = itg_valid_taps(left, w->dilation[1], w->kernel[1], w->width);
            const int64_t count = pads ? w->kernel[0] * w->kernel[1]
                                       : (rows.end - rows.begin) * (columns.end - columns.begin);
            const float share = gy[p * w->out_width + q] / (float)count;
            for (int64_t r = rows.begin; r < rows.end; r++)
                for (int64_t s = columns.begin; s < columns.end; s++)
                    gx[(top + r * w->dilation[0]) * w->width + left + s * w->dilation[1]] += share;
        }
}

/* Averages only. A maximum's gradient knows one value of a window, and small errors change which:
 * with it, codes before max pools became worse. */
static void pool(const itg_rule_call *c)
{
    itg_window_view v = itg_window_of(c->node->op, &c->node->attrs, &c->x[0].shape, &c->y[0].shape);
    int64_t area = v.w.height * v.w.width, out = v.w.out_height * v.w.out_width;
    for (int64_t i = 0; i < v.batch * v.w.channels && c->gx[0]; i++)
        pool_plane(&v.w, c->node->attrs.count_include_pad, c->gy[0] + i * out, c->gx[0] + i * area);
}

/* ---- products ---- */

/* a [m][k], b [k][n], or [n][k] if trans: gradients of both from that of the product. */
typedef struct matrices {
    int64_t batches, m, n, k;
    bool trans, one_b;
} matrices;

static bool matrices_of(const itg_graph *g, const itg_node *node, matrices *out)
{
    const itg_shape *a = &input_of(g, node, 0)->shape, *b = &input_of(g, node, 1)->shape;
    const itg_attrs *t = &node->attrs;
    if (a->rank < 1 || b->rank < 2 || varies(g, node, 2)) return false;
    if (node->op == ITG_OP_GEMM && (t->trans_a || t->alpha != 1.0f)) return false;
    matrices m = {.batches = 1, .trans = t->trans_b, .one_b = b->rank == 2};
    m.k = a->dims[a->rank - 1];
    m.n = b->dims[b->rank - (m.trans ? 2 : 1)];
    m.m = itg_dims_product(a, 0, a->rank - 1);
    if (!m.one_b) {
        if (a->rank != b->rank) return false;
        for (int32_t i = 0; i < a->rank - 2; i++)
            if (a->dims[i] != b->dims[i]) return false;
        m.batches = itg_dims_product(a, 0, a->rank - 2);
        m.m = a->dims[a->rank - 2];
    }
    *out = m;
    return true;
}

static void matrix_a(const matrices *s, const float *gy, const float *b, float *ga)
{
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++) {
            float g = gy[i * s->n + j];
            if (g == 0) continue;
            if (s->trans)
                recover_add_multiple(ga + i * s->k, b + j * s->k, g, s->k);
            else
                for (int64_t k = 0; k < s->k; k++)
                    ga[i * s->k + k] += g * b[k * s->n + j];
        }
}

static void matrix_b(const matrices *s, const float *gy, const float *a, float *gb)
{
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t u = 0; u < (s->trans ? s->n : s->k); u++) {
            if (s->trans)
                recover_add_multiple(gb + u * s->k, a + i * s->k, gy[i * s->n + u], s->k);
            else
                recover_add_multiple(gb + u * s->n, gy + i * s->n, a[i * s->k + u], s->n);
        }
}

/* b is constant, [n][k] by now. */
static void matrix_by_weights(const itg_rule_call *c, const matrices *s, const float *b)
{
    const itg_attrs attrs = itg_attrs_default(ITG_OP_MATMUL);
    const itg_tensor inputs[2] = {{ITG_F32, {2, {s->m, s->n}}, c->gy[0]},
                                  {ITG_F32, {2, {s->n, s->k}}, (void *)(uintptr_t)b}};
    itg_tensor output = {ITG_F32, {2, {s->m, s->k}}, c->scratch};
    *c->status = itg_float_eval(ITG_OP_MATMUL, &attrs, inputs, 2, &output, 1, c->err);
    if (*c->status == ITG_OK) recover_add_multiple(c->gx[0], c->scratch, 1, s->m * s->k);
}

static void matrix(const itg_rule_call *c)
{
    matrices s;
    if (!matrices_of(c->graph, c->node, &s)) return;
    const float *a = c->x[0].data, *b = c->x[1].data;
    if (c->rule->scratch > 0) {
        if (c->gx[0]) matrix_by_weights(c, &s, c->rule->weights ? c->rule->weights : b);
        return;
    }
    for (int64_t i = 0; i < s.batches; i++) {
        const float *gy = c->gy[0] + i * s.m * s.n;
        if (c->gx[0]) matrix_a(&s, gy, b + i * s.k * s.n, c->gx[0] + i * s.m * s.k);
        if (c->gx[1]) matrix_b(&s, gy, a + i * s.m * s.k, c->gx[1] + i * s.k * s.n);
    }
}

/* x [rows][columns] becomes y [columns][rows]. */
static void transpose(const float *x, int64_t rows, int64_t columns, float *y)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            y[j * rows + i] = x[i * columns + j];
}

/* Of one dimension of a Conv: the inputs a, a + stride, ... are read by every step-th tap only. As
 * many inputs as `count`; input i of them is read by tap last - k * step for output i + shift + k *
 * dilation. */
typedef struct phase {
    int64_t count, taps, last, step, shift, dilation;
} phase;

static phase phase_of(const itg_window *w, int d, int64_t a)
{
    const int64_t stride = w->stride[d], pad = d == 0 ? w->pad_top : w->pad_left,
                  size = d == 0 ? w->height : w->width;
    phase p = {.count = size > a ? (size - a + stride - 1) / stride : 0, .step = 1, .dilation = 1};
    for (int64_t r = w->kernel[d] - 1; r >= 0; r--) {
        const int64_t from = a + pad - r * w->dilation[d];
        if (from % stride != 0) continue;
        if (p.taps == 0) {
            p.last = r;
            p.shift = from / stride;
        } else if (p.taps == 1) {
            p.step = p.last - r;
            p.dilation = from / stride - p.shift;
        }
        p.taps++;
    }
    return p;
}

/* Adds the gradient of the inputs of a phase in each dimension: a convolution, too, of the output's
 * gradient with turned weights. */
static itg_status add_phase(const itg_rule_call *c, const itg_window *w, const phase p[2],
                            const float *weights, const float *gy, float *gx)
{
    itg_attrs attrs = c->node->attrs;
    for (int d = 0; d < 2; d++) {
        attrs.kernel[d] = p[d].taps;
        attrs.dilation[d] = p[d].dilation;
        attrs.stride[d] = 1;
        attrs.pad[d] = -p[d].shift;
        attrs.pad[d + 2] = 0; /* the output's shape is given */
    }
    const int64_t in = w->out_channels / w->group;
    const itg_tensor inputs[2] = {
        {ITG_F32, {4, {1, w->out_channels, w->out_height, w->out_width}}, (void *)(uintptr_t)gy},
        {ITG_F32, {4, {w->channels, in, p[0].taps, p[1].taps}}, (void *)(uintptr_t)weights}};
    itg_tensor output = {ITG_F32, {4, {1, w->channels, p[0].count, p[1].count}}, c->scratch};
    itg_status status = itg_float_eval(ITG_OP_CONV, &attrs, inputs, 2, &output, 1, c->err);
    for (int64_t i = 0; i < w->channels * p[0].count && status == ITG_OK; i++) {
        float *to = gx + (i / p[0].count * w->height + i % p[0].count * w->stride[0]) * w->width;
        const float *from = c->scratch + i * p[1].count;
        if (w->stride[1] == 1) recover_add_multiple(to, from, 1, p[1].count);
        for (int64_t j = 0; w->stride[1] > 1 && j < p[1].count; j++)
            to[j * w->stride[1]] += from[j];
    }
    return status;
}

static void conv(const itg_rule_call *c)
{
    itg_window_view v = itg_window_of(c->node->op, &c->node->attrs, &c->x[0].shape, &c->y[0].shape);
    const itg_window *w = &v.w;
    const int64_t in = w->channels * w->height * w->width,
                  out = w->out_channels * w->out_height * w->out_width;
    for (int64_t n = 0; n < v.batch && c->gx[0]; n++) {
        const float *weights = c->rule->weights;
        for (int64_t i = 0; i < w->stride[0] * w->stride[1] && *c->status == ITG_OK; i++) {
            const int64_t a = i / w->stride[1], b = i % w->stride[1];
            const phase p[2] = {phase_of(w, 0, a), phase_of(w, 1, b)};
            if (p[0].taps * p[1].taps * p[0].count * p[1].count > 0)
                *c->status = add_phase(c, w, p, weights, c->gy[0] + n * out,
                                       c->gx[0] + n * in + a * w->width + b);
            weights += w->channels * (w->out_channels / w->group) * p[0].taps * p[1].taps;
        }
    }
}

/* ---- preparation ---- */

static int64_t *new_elements(int64_t count, int64_t base)
{
    int64_t *map = calloc((size_t)count + 1, sizeof *map);
    for (int64_t i = 0; map && i < count; i++)
        map[i] = base + i + 1;
    return map;
}

/* Sets *map [elements of to]: 1 + the element of `from` that broadcasts there; NULL: the same. */
static itg_status map_broadcast(const itg_shape *from, const itg_shape *to, int64_t **map,
                                itg_error *err)
{
    int64_t stride[ITG_MAX_RANK], n = elements_of(to);
    if (elements_of(from) == n) return ITG_OK;
    itg_broadcast_strides(from, to, stride);
    *map = calloc((size_t)n + 1, sizeof **map);
    if (!*map) return itg_fail(err, ITG_NO_MEMORY, "no memory for gradients");
    for (int64_t i = 0; i < n; i++)
        (*map)[i] = 1 + itg_strided_offset(to->rank, to->dims, stride, i);
    return ITG_OK;
}

/* The output's shape with the reduced axes, which are all stated by now, as ones. */
static itg_shape kept_shape(const itg_graph *g, const itg_node *n)
{
    itg_shape s = input_of(g, n, 0)->shape;
    const itg_attrs *t = &n->attrs;
    bool pool = n->op == ITG_OP_GLOBAL_AVERAGE_POOL;
    for (int32_t d = 2; d < s.rank && pool; d++)
        s.dims[d] = 1;
    for (int32_t i = 0; i < t->axes_count && !pool; i++)
        s.dims[t->axes[i]] = 1;
    return s;
}

static bool is_identity(const int64_t *map, int64_t count)
{
    int64_t i = 0;
    while (i < count && map[i] == i + 1)
        i++;
    return i == count;
}

/* Moves numbers of elements in place of elements. */
static itg_status map_move(const itg_graph *g, const itg_node *n, int64_t **map, itg_error *err)
{
    itg_tensor *x = calloc((size_t)n->input_count + 1, sizeof *x);
    itg_tensor *y = calloc((size_t)n->output_count + 1, sizeof *y);
    int64_t count = 0, none = 0;
    bool ok = x && y;
    for (int32_t k = 0; k < n->output_count; k++)
        if (n->outputs[k] != ITG_NONE) count += elements_of(&g->values[n->outputs[k]].shape);
    *map = calloc((size_t)count + 1, sizeof **map);
    count = 0;
    for (int32_t k = 0; ok && *map && k < n->output_count; k++) {
        if (n->outputs[k] == ITG_NONE) continue;
        const itg_shape *s = &g->values[n->outputs[k]].shape;
        y[k] = (itg_tensor){ITG_S64, *s, *map + count};
        count += elements_of(s);
    }
    const bool all = n->op == ITG_OP_CONCAT;
    for (int32_t i = 0; ok && i < n->input_count; i++) {
        const itg_value *v = input_of(g, n, i);
        if (!v) continue;
        x[i] = (itg_tensor){v->dtype, v->shape, (void *)(uintptr_t)v->data};
        if (i > 0 && !all) continue;
        x[i].dtype = ITG_S64;
        x[i].data = v->data ? calloc((size_t)elements_of(&v->shape) + 1, sizeof **map)
                            : new_elements(elements_of(&v->shape), (int64_t)i << MAP_INPUT);
        ok = x[i].data;
    }
    itg_status status = ok && *map ? itg_move_eval(n->op, &n->attrs, x, n->input_count, y,
                                                   n->output_count, &none, err)
                                   : itg_fail(err, ITG_NO_MEMORY, "no memory for gradients");
    for (int32_t i = 0; x && i < n->input_count; i++)
        if (i == 0 || all) free(x[i].data);
    free(x);
    free(y);
    if (status == ITG_OK && n->output_count == 1 && is_identity(*map, count)) {
        free(*map);
        *map = NULL;
    }
    return status;
}

/* Of a Conv: for each phase [in channels][out channels of the group][taps][taps]. */
static void turn_weights(const itg_window *w, const float *x, float *out)
{
    const int64_t in = w->channels / w->group, rows = w->out_channels / w->group;
    for (int64_t i = 0; i < w->stride[0] * w->stride[1]; i++) {
        const phase p = phase_of(w, 0, i / w->stride[1]), q = phase_of(w, 1, i % w->stride[1]);
        for (int64_t c = 0; c < w->channels; c++)
            for (int64_t k = 0; k < rows; k++)
                for (int64_t t = 0; t < p.taps * q.taps; t++) {
                    const int64_t row = c / in * rows + k, down = p.last - t / q.taps * p.step,
                                  right = q.last - t % q.taps * q.step;
                    *out++ = x[((row * in + c % in) * w->kernel[0] + down) * w->kernel[1] + right];
                }
    }
}

static itg_status transpose_weights(const itg_graph *g, const itg_node *n, itg_rule *rule,
                                    itg_error *err)
{
    const itg_value *v = input_of(g, n, 1);
    const float *w = v->data;
    if (!w || v->dtype != ITG_F32) return ITG_OK;
    rule->weights = malloc((size_t)elements_of(&v->shape) * sizeof *w + 1);
    if (!rule->weights) return itg_fail(err, ITG_NO_MEMORY, "no memory for gradients");
    const int64_t *d = v->shape.dims;
    if (n->op != ITG_OP_CONV) {
        transpose(w, d[0], d[1], rule->weights);
        return ITG_OK;
    }
    const itg_window_view view =
        itg_window_of(n->op, &n->attrs, &input_of(g, n, 0)->shape, &g->values[n->outputs[0]].shape);
    turn_weights(&view.w, w, rule->weights);
    rule->scratch = view.w.channels * phase_of(&view.w, 0, 0).count * phase_of(&view.w, 1, 0).count;
    return ITG_OK;
}

static itg_rule_fn rule_of(const itg_graph *g, const itg_node *n)
{
    matrices m;
    switch (n->op) {
    case ITG_OP_CONV:
        return varies(g, n, 1) || varies(g, n, 2) ? NULL : conv;
    case ITG_OP_GEMM:
    case ITG_OP_MATMUL:
        return matrices_of(g, n, &m) ? matrix : NULL;
    case ITG_OP_ADD:
    case ITG_OP_SUB:
    case ITG_OP_MUL:
    case ITG_OP_DIV:
        return binary;
    case ITG_OP_RELU:
        return relu;
    case ITG_OP_CLIP:
        return clip;
    case ITG_OP_AVERAGE_POOL:
        return pool;
    case ITG_OP_GLOBAL_AVERAGE_POOL:
    case ITG_OP_REDUCE_MEAN:
    case ITG_OP_REDUCE_SUM:
        return mean;
    case ITG_OP_SOFTMAX:
        return softmax;
    case ITG_OP_LAYER_NORMALIZATION:
        return varies(g, n, 1) || varies(g, n, 2) ? NULL : layer_normalization;
    default:
        return itg_op_is(n->op, ITG_IS_MOVE)         ? move
               : itg_op_is(n->op, ITG_IS_UNIVARIATE) ? univariate
                                                     : NULL;
    }
}

itg_status itg_rule_prepare(const itg_graph *g, const itg_node *n, itg_rule *out, itg_error *err)
{
    itg_status status = ITG_OK;
    *out = (itg_rule){.fn = rule_of(g, n)};
    for (int32_t i = 0; i < n->input_count; i++)
        if (varies(g, n, i) && g->values[n->inputs[i]].dtype != ITG_F32) out->fn = NULL;
    if (out->fn == move) {
        status = map_move(g, n, &out->map, err);
        if (status == ITG_BAD_ARGUMENT) { /* such as Dropout's mask */
            out->fn = NULL;
            status = ITG_OK;
        }
    }
    if (out->fn == binary) {
        const itg_shape *y = &g->values[n->outputs[0]].shape;
        status = map_broadcast(&input_of(g, n, 0)->shape, y, &out->map, err);
        if (status == ITG_OK)
            status = map_broadcast(&input_of(g, n, 1)->shape, y, &out->map_b, err);
    }
    if (out->fn == mean) {
        itg_shape kept = kept_shape(g, n);
        status = map_broadcast(&kept, &input_of(g, n, 0)->shape, &out->map, err);
    }
    if (out->fn == univariate || out->fn == clip)
        out->kept = elements_of(&input_of(g, n, 0)->shape);
    if (out->fn == matrix && !varies(g, n, 1) && input_of(g, n, 1)->shape.rank == 2)
        out->scratch = elements_of(&input_of(g, n, 0)->shape);
    if (out->fn == conv ||
        (out->fn == matrix && !n->attrs.trans_b && input_of(g, n, 1)->shape.rank == 2))
        status = transpose_weights(g, n, out, err);
    return status;
}

void itg_rule_deinit(itg_rule *rule)
{
    free(rule->map);
    free(rule->map_b);
    free(rule->weights);
    *rule = (itg_rule){0};
}
