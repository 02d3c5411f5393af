/* Conv, Gemm, MatMul by definition. acc = bias + sum (x - zx) * w in exact integers: in doubles if
 * a bound proves every partial sum below 2^53, else in 64-bit integers; one addition at a time if a
 * saturating accumulator may overflow. */
#include "sim/simulate.h"
#include <string.h>

#define EXACT_DOUBLE 9007199254740992.0 /* 2^53 */
#define TILE 128                        /* output positions at a time */

/* All operators as one product: out[k][p] = bias[k] + sum_d w[k][d] * x[d][p]. */
typedef struct product {
    const itg_node_note *note;
    const double *w; /* row k at w + k * w_row, element d at d * w_step */
    int64_t w_row, w_step, depth, rows, positions;
    double w_zero; /* zero point of w, for two activations */
    int64_t *acc;  /* out[k][p] at acc + k * acc_row + p * acc_step */
    int64_t acc_row, acc_step, first_channel;
    bool exact_double, sequential;
} product;

static double largest(const double *values, int64_t n, double zero)
{
    double best = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = values[i] - zero;
        if (v < 0) v = -v;
        if (v > best) best = v;
    }
    return best;
}

static int64_t bias_of(const product *p, int64_t row)
{
    return p->note->bias ? p->note->bias[p->first_channel + row] : 0;
}

static int64_t add_saturating(int64_t a, int64_t b, int64_t lo, int64_t hi)
{
    if (b > 0 && a > hi - b) return hi;
    if (b < 0 && a < lo - b) return lo;
    return a + b;
}

/* Computes `n` columns of one tile, from position `first` on. x: [depth][TILE]. */
static void tile_double(itg_sim *s, const product *p, const double *x, int64_t first, int64_t n)
{
    double sum[TILE];
    int64_t lanes = (n + 7) & ~(int64_t)7; /* a multiple of 8, as TILE is, vectorizes */
    for (int64_t k = 0; k < p->rows; k++) {
        const double *w = p->w + k * p->w_row;
        double start = (double)bias_of(p, k);
        for (int64_t i = 0; i < lanes; i++)
            sum[i] = start;
        for (int64_t d = 0; d < p->depth; d++) {
            double factor = w[d * p->w_step] - p->w_zero;
            const double *row = x + d * TILE;
            for (int64_t i = 0; i < lanes; i++)
                sum[i] += factor * row[i];
        }
        for (int64_t i = 0; i < n; i++)
            p->acc[k * p->acc_row + (first + i) * p->acc_step] =
                sim_fit(s, p->note, (int64_t)sum[i]);
    }
}

static void tile_integer(itg_sim *s, const product *p, const double *x, int64_t first, int64_t n)
{
    int64_t lo = itg_accumulator_min(p->note->acc), hi = itg_accumulator_max(p->note->acc);
    for (int64_t k = 0; k < p->rows; k++) {
        for (int64_t i = 0; i < n; i++) {
            int64_t sum = p->sequential ? itg_clamp(bias_of(p, k), lo, hi) : bias_of(p, k);
            bool clipped = false;
            for (int64_t d = 0; d < p->depth; d++) {
                int64_t term = (int64_t)(p->w[k * p->w_row + d * p->w_step] - p->w_zero) *
                               (int64_t)x[d * TILE + i];
                clipped |= p->sequential && (term > 0 ? sum > hi - term : sum < lo - term);
                sum = p->sequential ? add_saturating(sum, term, lo, hi)
                                    : (int64_t)((uint64_t)sum + (uint64_t)term);
            }
            s->overflowed += clipped;
            p->acc[k * p->acc_row + (first + i) * p->acc_step] =
                p->sequential ? sum : sim_fit(s, p->note, sum);
        }
    }
}

/* Sums the terms [from, to) of a channel, exactly: parts have at most ITG_HW_MAX_SPLIT_BITS. */
static void tile_part(const product *p, const double *w, const double *x, int64_t from, int64_t to,
                      double sum[TILE], int64_t lanes)
{
    for (int64_t i = 0; i < lanes; i++)
        sum[i] = 0;
    for (int64_t d = from; d < to; d++) {
        double factor = w[d * p->w_step] - p->w_zero;
        const double *row = x + d * TILE;
        for (int64_t i = 0; i < lanes; i++)
            sum[i] += factor * row[i];
    }
}

/* Computes a tile whose sums are split into parts. */
static void tile_split(const product *p, const double *x, int64_t first, int64_t n)
{
    const itg_sum_split *split = &p->note->split;
    int64_t lanes = (n + 7) & ~(int64_t)7;
    for (int64_t k = 0; k < p->rows; k++) {
        const double *w = p->w + k * p->w_row;
        int32_t shift = (int32_t)split->shift[split->shift_count == 1 ? 0 : p->first_channel + k];
        bool exact = shift == 0 && p->exact_double;
        int64_t joined[TILE], from = 0;
        double sum[TILE], whole[TILE] = {0}; /* whole: sum of the parts that are not shifted */
        for (int64_t i = 0; i < n; i++)
            joined[i] = itg_round_shift_product(bias_of(p, k), 1, shift, split->rounding);
        for (int32_t part = 0; part < split->part_count; from = split->end[part++]) {
            tile_part(p, w, x, from, split->end[part], sum, lanes);
            for (int64_t i = 0; i < lanes && exact; i++)
                whole[i] += sum[i];
            for (int64_t i = 0; i < n && !exact; i++)
                joined[i] += itg_round_shift_product((int64_t)sum[i], 1, shift, split->rounding);
        }
        for (int64_t i = 0; i < n; i++)
            p->acc[k * p->acc_row + (first + i) * p->acc_step] = joined[i] + (int64_t)whole[i];
    }
}

static void run_tile(itg_sim *s, const product *p, const double *x, int64_t first, int64_t n)
{
    if (p->note->split.part_count > 0)
        tile_split(p, x, first, n);
    else if (p->exact_double && !p->sequential)
        tile_double(s, p, x, first, n);
    else
        tile_integer(s, p, x, first, n);
}

/* Chooses the arithmetic by a bound of every partial sum. */
static void choose_arithmetic(product *p, double x_largest, double w_largest, int64_t bias_count)
{
    double bound = (double)p->depth * x_largest * w_largest;
    double bias = 0;
    for (int64_t k = 0; p->note->bias && k < bias_count; k++) {
        double b = (double)p->note->bias[k];
        if (b < 0) b = -b;
        if (b > bias) bias = b;
    }
    p->exact_double = bound + bias < EXACT_DOUBLE;
    p->sequential = p->note->acc.overflow == ITG_OVERFLOW_SATURATE &&
                    bound + bias >= (double)itg_accumulator_max(p->note->acc);
}

/* ---- convolution ---- */

typedef struct window {
    const itg_attrs *at;
    int64_t height, width, out_width, channels; /* channels: of one group */
    const double *x;                            /* first channel of the group */
    double zero;
} window;

/* Gathers column d of the tile: channel, kernel row and kernel column ascending; padding is 0. */
static void gather_columns(const window *w, int64_t depth, int64_t first, int64_t n,
                           double *columns)
{
    int64_t area = w->at->kernel[0] * w->at->kernel[1];
    for (int64_t d = 0; d < depth; d++) {
        int64_t c = d / area, r = (d % area) / w->at->kernel[1], t = d % w->at->kernel[1];
        for (int64_t i = 0; i < TILE; i++) {
            int64_t p = first + i, y, x;
            columns[d * TILE + i] = 0;
            if (i >= n) continue;
            y = p / w->out_width * w->at->stride[0] - w->at->pad[0] + r * w->at->dilation[0];
            x = p % w->out_width * w->at->stride[1] - w->at->pad[1] + t * w->at->dilation[1];
            if (y < 0 || y >= w->height || x < 0 || x >= w->width) continue;
            columns[d * TILE + i] = w->x[(c * w->height + y) * w->width + x] - w->zero;
        }
    }
}

/* Computes one group of one image, with codes at x and sums at acc. */
static void run_group(itg_sim *s, itg_id n, int64_t g, const double *x, int64_t *acc)
{
    const itg_node *node = &s->a->graph->nodes[n];
    const itg_shape *in = sim_shape(s, node->inputs[0]), *w = sim_shape(s, node->inputs[1]),
                    *out = sim_shape(s, node->outputs[0]);
    const itg_quantizer *xq = &sim_input_encoding(s, n, 0)->q,
                        *wq = &sim_input_encoding(s, n, 1)->q;
    bool flat = in->rank == 3; /* 1-D: height 1 */
    int64_t positions = (flat ? 1 : out->dims[2]) * out->dims[out->rank - 1];
    int64_t rows = w->dims[0] / node->attrs.group;
    int64_t depth = w->dims[1] * node->attrs.kernel[0] * node->attrs.kernel[1];
    product p = {.note = &s->a->nodes[n],
                 .w = sim_input_codes(s, n, 1) + g * rows * depth,
                 .w_row = depth,
                 .w_step = 1,
                 .depth = depth,
                 .rows = rows,
                 .positions = positions,
                 .w_zero = wq->zero_point,
                 .acc = acc,
                 .acc_row = positions,
                 .acc_step = 1,
                 .first_channel = g * rows};
    window win = {&node->attrs,
                  flat ? 1 : in->dims[2],
                  in->dims[in->rank - 1],
                  out->dims[out->rank - 1],
                  w->dims[1],
                  x,
                  xq->zero_point};
    choose_arithmetic(
        &p, largest((double[]){(double)xq->qmin, (double)xq->qmax}, 2, xq->zero_point),
        largest((double[]){(double)wq->qmin, (double)wq->qmax}, 2, wq->zero_point), w->dims[0]);
    for (int64_t first = 0; first < positions; first += TILE) {
        int64_t count = positions - first < TILE ? positions - first : TILE;
        gather_columns(&win, depth, first, count, s->columns);
        run_tile(s, &p, s->columns, first, count);
    }
}

/* Runs all images of the tensor; the groups of an image are adjacent. */
static void run_conv(itg_sim *s, itg_id n)
{
    const itg_node *node = &s->a->graph->nodes[n];
    const itg_shape *out = sim_shape(s, node->outputs[0]);
    int64_t groups = node->attrs.group, runs = sim_shape(s, node->inputs[0])->dims[0] * groups;
    int64_t read = s->values[node->inputs[0]].elements / (runs > 0 ? runs : 1),
            written = s->values[node->outputs[0]].elements / (runs > 0 ? runs : 1);
    int64_t positions = out->dims[out->rank - 1] * (out->rank == 3 ? 1 : out->dims[2]);
    const double *x = sim_input_codes(s, n, 0);
    for (int64_t i = 0; i < runs; i++)
        run_group(s, n, i % groups, x + i * read, s->acc + i * written);
    sim_epilogue(s, n, positions, NULL);
}

/* ---- matrices ---- */

/* Computes one [M,K] x [K,N] product; rows of `p` are the N columns, positions the M rows. */
static void run_matrix(itg_sim *s, product *p, const double *a, double a_zero)
{
    for (int64_t first = 0; first < p->positions; first += TILE) {
        int64_t count = p->positions - first < TILE ? p->positions - first : TILE;
        for (int64_t d = 0; d < p->depth; d++)
            for (int64_t i = 0; i < TILE; i++)
                s->columns[d * TILE + i] = i < count ? a[(first + i) * p->depth + d] - a_zero : 0;
        run_tile(s, p, s->columns, first, count);
    }
}

/* Computes a dot product for each column of a single row, in lanes (exact, so in any order). */
static void run_vector(itg_sim *s, const product *p, const double *a, double a_zero)
{
    for (int64_t d = 0; d < p->depth; d++)
        s->columns[d] = a[d] - a_zero;
    for (int64_t k = 0; k < p->rows; k++) {
        double lanes[8] = {0};
        const double *w = p->w + k * p->w_row;
        int64_t d = 0;
        for (; p->w_step == 1 && d + 8 <= p->depth; d += 8)
            for (int64_t i = 0; i < 8; i++)
                lanes[i] += (w[d + i] - p->w_zero) * s->columns[d + i];
        for (; d < p->depth; d++)
            lanes[0] += (w[d * p->w_step] - p->w_zero) * s->columns[d];
        double sum = (double)bias_of(p, k);
        for (int64_t i = 0; i < 8; i++)
            sum += lanes[i];
        p->acc[k * p->acc_row] = sim_fit(s, p->note, (int64_t)sum);
    }
}

/* Returns the offset of batch b's matrix in an operand whose leading dims broadcast. */
static int64_t matrix_offset(const itg_shape *out, const itg_shape *operand, int64_t b)
{
    int64_t offset = 0, step = 1;
    if (operand->rank >= 2)
        step = operand->dims[operand->rank - 1] * operand->dims[operand->rank - 2];
    for (int32_t d = out->rank - 3; d >= 0; d--) {
        int32_t own = d - (out->rank - operand->rank);
        int64_t i = b % out->dims[d];
        b /= out->dims[d];
        if (own < 0) continue;
        if (operand->dims[own] != 1) offset += i * step;
        step *= operand->dims[own];
    }
    return offset;
}

static void run_matmul(itg_sim *s, itg_id n)
{
    const itg_node *node = &s->a->graph->nodes[n];
    const itg_shape *as = sim_shape(s, node->inputs[0]), *bs = sim_shape(s, node->inputs[1]),
                    *out = sim_shape(s, node->outputs[0]);
    const itg_quantizer *aq = &sim_input_encoding(s, n, 0)->q,
                        *bq = &sim_input_encoding(s, n, 1)->q;
    bool gemm = node->op == ITG_OP_GEMM;
    int64_t depth = as->dims[as->rank - 1], columns = gemm ? bs->dims[0] : bs->dims[bs->rank - 1];
    int64_t rows = as->rank >= 2 ? as->dims[as->rank - 2] : 1,
            batches = s->values[node->outputs[0]].elements / (rows * columns);
    const double *a = sim_input_codes(s, n, 0), *b = sim_input_codes(s, n, 1);
    for (int64_t i = 0; i < batches; i++) {
        const double *am = a + (gemm ? 0 : matrix_offset(out, as, i)),
                     *bm = b + (gemm ? 0 : matrix_offset(out, bs, i));
        product p = {.note = &s->a->nodes[n],
                     .w = bm,
                     .w_row = gemm ? depth : 1,
                     .w_step = gemm ? 1 : columns,
                     .depth = depth,
                     .rows = columns,
                     .positions = rows,
                     .w_zero = bq->zero_point,
                     .acc = s->acc + i * rows * columns,
                     .acc_row = 1,
                     .acc_step = columns};
        choose_arithmetic(
            &p, largest((double[]){(double)aq->qmin, (double)aq->qmax}, 2, aq->zero_point),
            largest((double[]){(double)bq->qmin, (double)bq->qmax}, 2, bq->zero_point),
            s->a->nodes[n].bias_count);
        if (rows == 1 && p.exact_double && !p.sequential && p.note->split.part_count == 0)
            run_vector(s, &p, am, aq->zero_point);
        else
            run_matrix(s, &p, am, aq->zero_point);
    }
    sim_epilogue(s, n, 1, NULL);
}

size_t sim_mac_scratch(const itg_annotated *a, itg_id node)
{
    const itg_node *n = &a->graph->nodes[node];
    const itg_shape *x = &a->graph->values[n->inputs[0]].shape,
                    *w = &a->graph->values[n->inputs[1]].shape;
    int64_t depth = n->op == ITG_OP_CONV ? w->dims[1] * n->attrs.kernel[0] * n->attrs.kernel[1]
                                         : x->dims[x->rank - 1];
    return (size_t)(depth + 1) * TILE;
}

void sim_mac(itg_sim *s, itg_id node)
{
    if (s->a->graph->nodes[node].op == ITG_OP_CONV)
        run_conv(s, node);
    else
        run_matmul(s, node);
}
