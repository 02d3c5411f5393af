/* Pools, means and ArgMax by definition. Results are in s->acc, window counts in s->count. */
#include "sim/simulate.h"

typedef struct pool {
    const itg_attrs *at;
    int64_t channels, height, width, out_height, out_width;
    const double *x;
    const itg_node_note *note;
} pool;

static pool make_pool(const itg_sim *s, itg_id n, itg_attrs *whole)
{
    const itg_node *node = &s->a->graph->nodes[n];
    const itg_shape *in = sim_shape(s, node->inputs[0]), *out = sim_shape(s, node->outputs[0]);
    bool flat = in->rank == 3;
    pool p = {&node->attrs,
              in->dims[0] * in->dims[1],
              flat ? 1 : in->dims[2],
              in->dims[in->rank - 1],
              flat ? 1 : out->dims[2],
              out->dims[out->rank - 1],
              sim_input_codes(s, n, 0),
              &s->a->nodes[n]};
    if (node->op == ITG_OP_GLOBAL_AVERAGE_POOL || node->op == ITG_OP_GLOBAL_MAX_POOL) {
        for (int32_t d = 3; d < in->rank - 1; d++)
            p.height *= in->dims[d]; /* all spatial dimensions but the last count as height */
        *whole = (itg_attrs){.kernel = {p.height, p.width}, .stride = {1, 1}, .dilation = {1, 1}};
        p.at = whole;
        p.out_height = p.out_width = 1;
    }
    return p;
}

typedef struct window_sum {
    int64_t sum, largest;
    int64_t inside, padded; /* elements inside the input; inside the padded input */
    bool clipped;           /* a saturating accumulator overflowed */
} window_sum;

/* Adds a term and saturates if the accumulator does. Sums of at most ITG_MAX_ELEMENTS codes of 33
 * bits fit 64. */
static int64_t add_term(const itg_node_note *note, int64_t sum, int64_t term, bool *clipped)
{
    sum += term;
    if (note->form == ITG_FORM_KEEP || note->acc.overflow != ITG_OVERFLOW_SATURATE) return sum;
    int64_t fitted = itg_accumulator_fit(note->acc, sum);
    *clipped |= fitted != sum;
    return fitted;
}

static window_sum window_at(const pool *p, int64_t c, int64_t oy, int64_t ox, int64_t zero)
{
    window_sum w = {.largest = INT64_MIN};
    for (int64_t r = 0; r < p->at->kernel[0]; r++) {
        for (int64_t t = 0; t < p->at->kernel[1]; t++) {
            int64_t y = oy * p->at->stride[0] - p->at->pad[0] + r * p->at->dilation[0];
            int64_t x = ox * p->at->stride[1] - p->at->pad[1] + t * p->at->dilation[1];
            w.padded += y < p->height + p->at->pad[2] && x < p->width + p->at->pad[3];
            if (y < 0 || y >= p->height || x < 0 || x >= p->width) continue;
            int64_t v = (int64_t)p->x[(c * p->height + y) * p->width + x];
            w.inside++;
            w.sum = add_term(p->note, w.sum, v - zero, &w.clipped);
            if (v > w.largest) w.largest = v;
        }
    }
    return w;
}

void sim_max_pool(itg_sim *s, itg_id n)
{
    itg_attrs whole;
    pool p = make_pool(s, n, &whole);
    int64_t i = 0;
    for (int64_t c = 0; c < p.channels; c++)
        for (int64_t y = 0; y < p.out_height; y++)
            for (int64_t x = 0; x < p.out_width; x++)
                s->acc[i++] = window_at(&p, c, y, x, 0).largest;
}

static void store_mean(itg_sim *s, itg_id n, int64_t i, int64_t sum, int64_t count, bool clipped)
{
    const itg_node_note *note = &s->a->nodes[n];
    const itg_quantizer *q = &sim_input_encoding(s, n, 0)->q;
    if (count < 1) count = 1;
    s->count[i] = (int32_t)count;
    if (note->form == ITG_FORM_KEEP)
        s->acc[i] = itg_clamp(itg_round_divide(sum, count, note->rounding), q->qmin, q->qmax);
    else
        s->acc[i] = sim_fit(s, note, sum);
    s->overflowed += clipped;
}

/* Computes ReduceMean over any axes: each output element sums the inputs that map to it. */
static void reduce_mean(itg_sim *s, itg_id n, int64_t zero)
{
    const itg_node *node = &s->a->graph->nodes[n];
    const itg_shape *in = sim_shape(s, node->inputs[0]);
    const double *x = sim_input_codes(s, n, 0);
    int64_t elements = s->values[node->inputs[0]].elements,
            results = s->values[node->outputs[0]].elements;
    bool reduced[ITG_MAX_RANK] = {false};
    int64_t *sums = s->acc;
    int32_t *clipped = s->count; /* store_mean overwrites them */
    for (int32_t i = 0; i < node->attrs.axes_count; i++)
        reduced[node->attrs.axes[i]] = true;
    for (int32_t d = 0; node->attrs.axes_count == 0 && d < in->rank; d++)
        reduced[d] = true;
    for (int64_t i = 0; i < results; i++)
        sums[i] = clipped[i] = 0;
    for (int64_t i = 0; i < elements; i++) {
        int64_t rest = i, target = 0, step = 1;
        for (int32_t d = in->rank - 1; d >= 0; d--) {
            if (!reduced[d]) {
                target += rest % in->dims[d] * step;
                step *= in->dims[d];
            }
            rest /= in->dims[d];
        }
        bool left = false;
        sums[target] = add_term(&s->a->nodes[n], sums[target], (int64_t)x[i] - zero, &left);
        clipped[target] |= left;
    }
    for (int64_t i = 0; i < results; i++)
        store_mean(s, n, i, sums[i], elements / results, clipped[i]);
}

void sim_mean(itg_sim *s, itg_id n)
{
    const itg_node *node = &s->a->graph->nodes[n];
    /* The keep form averages raw codes; the others average distances from the zero point. */
    int64_t zero =
        s->a->nodes[n].form == ITG_FORM_KEEP ? 0 : sim_input_encoding(s, n, 0)->q.zero_point;
    if (node->op == ITG_OP_REDUCE_MEAN) {
        reduce_mean(s, n, zero);
        return;
    }
    itg_attrs whole;
    pool p = make_pool(s, n, &whole);
    int64_t padding = sim_input_encoding(s, n, 0)->q.zero_point - zero;
    int64_t i = 0;
    for (int64_t c = 0; c < p.channels; c++) {
        for (int64_t y = 0; y < p.out_height; y++) {
            for (int64_t x = 0; x < p.out_width; x++, i++) {
                window_sum w = window_at(&p, c, y, x, zero);
                int64_t count = p.at->count_include_pad ? w.padded : w.inside;
                if (count < 1) count = 1;
                /* Padding is the real 0: the zero point among codes, 0 among distances. */
                store_mean(s, n, i, w.sum + (count - w.inside) * padding, count, w.clipped);
            }
        }
    }
}

/* Returns the mean of one window: terms dequantized, added in row-major order and divided, in
 * float32. */
static float window_mean_f32(const pool *p, const itg_quantizer *q, int64_t c, int64_t oy,
                             int64_t ox)
{
    float sum = 0;
    int64_t inside = 0, padded = 0;
    for (int64_t k = 0; k < p->at->kernel[0] * p->at->kernel[1]; k++) {
        int64_t y =
            oy * p->at->stride[0] - p->at->pad[0] + k / p->at->kernel[1] * p->at->dilation[0];
        int64_t x =
            ox * p->at->stride[1] - p->at->pad[1] + k % p->at->kernel[1] * p->at->dilation[1];
        padded += y < p->height + p->at->pad[2] && x < p->width + p->at->pad[3];
        if (y < 0 || y >= p->height || x < 0 || x >= p->width) continue;
        float term = itg_dequantize_f32((int64_t)p->x[(c * p->height + y) * p->width + x],
                                        q->scale[0], q->zero_point);
        inside++;
        sum += term;
    }
    int64_t count = p->at->count_include_pad ? padded : inside;
    return sum / (float)(count < 1 ? 1 : count);
}

static void store_f32(itg_sim *s, itg_id n, const itg_encoding *v, sim_buffer *out, int64_t i,
                      float mean)
{
    itg_id activation = s->a->nodes[n].activation;
    if (v->is_float) {
        out->real[i] = sim_activate(s, activation, mean);
        return;
    }
    int64_t wide =
        itg_quantize_mean_f32(mean, v->q.scale[0], v->q.zero_point, INT32_MIN, INT32_MAX);
    out->events.saturated += sim_saturates(s, activation, v, wide);
    out->codes[i] = (double)itg_clamp(wide, v->clamp_lo, v->clamp_hi);
}

void sim_mean_f32(itg_sim *s, itg_id n)
{
    itg_attrs whole;
    pool p = make_pool(s, n, &whole);
    const itg_quantizer *q = &sim_input_encoding(s, n, 0)->q;
    itg_id value = s->a->nodes[n].out_value;
    const itg_value_note *note = &s->a->values[value];
    int64_t plane = p.out_height * p.out_width;
    for (int32_t k = 0; k < note->encoding_count; k++)
        s->values[value].buffers[k].events =
            (itg_edge_events){.elements = s->values[value].elements};
    for (int64_t i = 0; i < p.channels * plane; i++) {
        float mean = window_mean_f32(&p, q, i / plane, i % plane / p.out_width, i % p.out_width);
        for (int32_t k = 0; k < note->encoding_count; k++)
            store_f32(s, n, &note->encodings[k], &s->values[value].buffers[k], i, mean);
    }
}

void sim_arg_max(itg_sim *s, itg_id n)
{
    const itg_node *node = &s->a->graph->nodes[n];
    const itg_shape *in = sim_shape(s, node->inputs[0]);
    const double *x = sim_input_codes(s, n, 0);
    int64_t *out = s->values[node->outputs[0]].native;
    int64_t extent = in->dims[node->attrs.axis], inner = 1;
    for (int64_t d = node->attrs.axis + 1; d < in->rank; d++)
        inner *= in->dims[d];
    for (int64_t i = 0; i < s->values[node->outputs[0]].elements; i++) {
        const double *first = x + i / inner * extent * inner + i % inner;
        int64_t best = 0;
        for (int64_t k = 1; k < extent; k++)
            if (first[k * inner] > first[best * inner] ||
                (node->attrs.select_last_index && first[k * inner] == first[best * inner]))
                best = k;
        out[i] = best;
    }
}
