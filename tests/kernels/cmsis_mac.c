/* Convolutions and fully connected layers. Each runs twice: with its true accumulator bound, and
 * with one that asks for 64-bit sums; both must give the published output. */
#include "cmsis_run.h"
#include <stdlib.h>
#include <string.h>
#include "kernels/accel.h"

typedef struct layer {
    itg_window window;
    bool depthwise, is_matmul;
    int64_t depth; /* weights of one output */
    int64_t batches, in_size, out_size;
    itg_dtype storage;
    itg_int_operand x, weights;
    const void *input;
    int64_t *bias;
    itg_requant *requant;
    int64_t requant_count;
    itg_epilogue out;
    int64_t bound;
} layer;

static int64_t at(const case_array *a, int64_t i)
{
    return itg_load(a->dtype, a->data, i);
}

/* Weights as one int8 each: packed int4 (low nibble first) where there are half as many bytes.
 * NULL: neither. */
static int8_t *unpack_weights(const case_array *w, int64_t count)
{
    bool whole = w->count == count, packed = !whole && w->count == (count + 1) / 2;
    if (w->dtype != ITG_S8 || (!whole && !packed)) return NULL;
    int8_t *out = malloc((size_t)count + 1);
    for (int64_t i = 0; out && i < count; i++) {
        int byte = (int)at(w, packed ? i / 2 : i);
        int nibble = ((byte >> (i % 2 ? 4 : 0)) & 15) ^ 8;
        out[i] = (int8_t)(packed ? nibble - 8 : byte);
    }
    return out;
}

/* The largest |bias| + sum of |w| * largest |x - zero_point| over the outputs. */
static int64_t accumulator_bound(const layer *t)
{
    int64_t below = t->x.zero_point - t->x.qmin, above = t->x.qmax - t->x.zero_point, most = 0;
    int64_t reach = below > above ? below : above;
    for (int64_t k = 0; k < t->window.out_channels; k++) {
        int64_t sum = t->bias ? llabs(t->bias[k]) : 0;
        for (int64_t i = 0; i < t->depth; i++) {
            int64_t w = itg_load(ITG_S8, t->weights.data, k * t->depth + i) - t->weights.zero_point;
            sum += llabs(w) * reach;
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static bool fill_constants(const cmsis_case *c, layer *t, bool reduced)
{
    const case_array *m = case_find(c, "output_mult"), *s = case_find(c, "output_shift");
    const case_array *bias = case_find(c, c->array_prefix ? "bias" : "biases");
    int64_t n = t->window.out_channels;
    t->requant_count = m && s ? n : 1;
    if (m && s && (m->count < n || s->count < n)) return false;
    t->requant = malloc((size_t)t->requant_count * sizeof *t->requant);
    if (!t->requant) return false;
    for (int64_t k = 0; k < t->requant_count; k++) {
        int64_t multiplier = m && s ? at(m, k) : case_int(c, "output_multiplier", 0);
        int64_t shift = m && s ? at(s, k) : case_int(c, "output_shift", 0);
        t->requant[k] =
            reduced ? case_requant_s64(multiplier, shift) : case_requant(multiplier, shift);
    }
    if (!bias || bias->count < n) return bias == NULL;
    t->bias = malloc((size_t)n * sizeof *t->bias);
    for (int64_t k = 0; t->bias && k < n; k++)
        t->bias[k] = at(bias, k);
    return t->bias != NULL;
}

static bool prepare(const cmsis_case *c, layer *t, bool reduced)
{
    int64_t lo = itg_dtype_min(t->storage), hi = itg_dtype_max(t->storage);
    t->x = (itg_int_operand){t->storage, NULL, -case_int(c, "input_offset", 0), lo, hi};
    t->weights.storage = ITG_S8;
    t->weights.zero_point = -case_int(c, "filter_offset", 0);
    t->weights.qmin = -128;
    t->weights.qmax = 127;
    if (!fill_constants(c, t, reduced)) return false;
    t->bound = accumulator_bound(t);
    t->out = (itg_epilogue){.storage = t->storage,
                            .requant = t->requant,
                            .requant_count = (int32_t)t->requant_count,
                            .zero_point = case_int(c, "output_offset", 0),
                            .lo = case_int(c, "out_activation_min", lo),
                            .hi = case_int(c, "out_activation_max", hi)};
    return true;
}

/* All images, whose channels are last in the data already, by one kernel set. */
static bool run_layer(const layer *t, const itg_accel_kernels *kernels, const void *input,
                      const itg_mac_options *mac, void *got)
{
    const itg_window matrix = itg_accel_matmul_window(t->batches, t->window.out_channels, t->depth);
    const itg_accel_problem p = {.window = t->is_matmul ? matrix : t->window,
                                 .x = t->x,
                                 .w = t->weights,
                                 .mac = *mac,
                                 .out = &t->out,
                                 .out_count = 1};
    const int64_t samples = t->is_matmul ? 1 : t->batches;
    const size_t bytes = itg_accel_packed_bytes(kernels, &p);
    itg_arena *arena = itg_arena_create(0);
    itg_accel_layer *made = NULL;
    void *packed = arena ? itg_arena_alloc(arena, bytes + 1) : NULL, *scratch = NULL;
    if (packed && bytes > 0) itg_accel_pack(kernels, &p, packed);
    if (packed && itg_accel_layer_create(kernels, &p, packed, arena, &made, NULL) == ITG_OK)
        scratch = itg_arena_alloc(arena, itg_accel_scratch(made, samples));
    if (scratch) itg_accel_run(made, input, &got, samples, scratch);
    itg_arena_destroy(arena);
    return scratch != NULL;
}

/* By every kernel set that this machine has. */
static case_verdict run_once(const cmsis_case *c, const layer *t, int64_t bound, char *reason)
{
    const itg_mac_options mac = {{64, ITG_OVERFLOW_WRAP}, false, bound, t->bias, NULL};
    int64_t count = t->batches * t->out_size;
    void *got = malloc((size_t)count * itg_dtype_size(t->storage) + 1);
    case_verdict verdict = got ? CASE_PASSED : case_fail(reason, "no memory");
    for (int i = 0; itg_accel_set(i) && verdict == CASE_PASSED; i++) {
        const itg_accel_kernels *kernels = NULL;
        if (itg_accel_choose(itg_accel_set(i), &kernels, NULL) != ITG_OK) continue;
        verdict = run_layer(t, kernels, t->input, &mac, got) ? case_compare(c, got, count, reason)
                                                             : case_fail(reason, "no memory");
    }
    free(got);
    return verdict;
}

static case_verdict run_form(const cmsis_case *c, layer *t, bool reduced, char *reason)
{
    case_verdict verdict = CASE_FAILED;
    if (!prepare(c, t, reduced)) {
        verdict = case_fail(reason, "constants are missing or too few");
    } else {
        verdict = run_once(c, t, t->bound, reason);
        if (verdict == CASE_PASSED) verdict = run_once(c, t, t->bound + ((int64_t)1 << 40), reason);
    }
    free(t->bias);
    free(t->requant);
    t->bias = NULL;
    t->requant = NULL;
    return verdict;
}

/* The published test for 16-bit activations says nowhere in its data which form it is when the bias
 * is left out: one of the two must reproduce every element. A bias of 64 bits means the 16-bit
 * multiplier, one of 32 bits the form of int8. */
static case_verdict run_forms(const cmsis_case *c, layer *t, char *reason)
{
    const case_array *bias = case_find(c, "biases"), *input = case_find(c, "input");
    if (input->dtype == ITG_S8) return run_form(c, t, false, reason);
    if (bias) return run_form(c, t, bias->dtype == ITG_S64, reason);
    if (run_form(c, t, false, reason) == CASE_PASSED) return CASE_PASSED;
    return run_form(c, t, true, reason);
}

static itg_window window_of(const cmsis_case *c)
{
    itg_window w;
    memset(&w, 0, sizeof w);
    w.channels = case_int(c, "in_ch", 0);
    w.out_channels = case_int(c, "out_ch", 0);
    w.height = case_int(c, "input_h", 0);
    w.width = case_int(c, "input_w", 0);
    w.out_height = case_int(c, "output_h", 0);
    w.out_width = case_int(c, "output_w", 0);
    w.kernel[0] = case_int(c, "filter_y", 0);
    w.kernel[1] = case_int(c, "filter_x", 0);
    w.stride[0] = case_int(c, "stride_y", 1);
    w.stride[1] = case_int(c, "stride_x", 1);
    w.dilation[0] = case_int(c, "dilation_y", 1);
    w.dilation[1] = case_int(c, "dilation_x", 1);
    w.pad_top = case_int(c, "pad_y", 0);
    w.pad_left = case_int(c, "pad_x", 0);
    w.group = 1;
    return w;
}

/* plain: weights as published, OHWI (HWC for depthwise); freed here. */
static case_verdict run_window(const cmsis_case *c, layer *t, int64_t filter_channels,
                               int8_t *plain, char *reason)
{
    const itg_window *w = &t->window;
    const int64_t taps = w->kernel[0] * w->kernel[1];
    if (!plain) return case_fail(reason, "the weights' size is odd");
    void *oihw = t->depthwise ? swap_inner(ITG_S8, plain, 1, taps, w->out_channels)
                              : swap_inner(ITG_S8, plain, w->out_channels, taps, filter_channels);
    t->weights.data = oihw;
    case_verdict verdict = oihw ? run_forms(c, t, reason) : case_fail(reason, "no memory");
    free(plain);
    free(oihw);
    return verdict;
}

/* Everything but the weights; false: the geometry is incomplete, or the input's size is another. */
static bool read_geometry(const cmsis_case *c, const case_array *input, bool depthwise, layer *t,
                          int64_t *filter_channels)
{
    itg_window *w = &t->window;
    memset(t, 0, sizeof *t);
    *w = window_of(c);
    t->storage = input->dtype;
    t->depthwise = depthwise;
    *filter_channels = t->depthwise ? 1 : case_int(c, "filter_ch", w->channels);
    if (w->channels < 1 || w->out_channels < 1 || w->kernel[0] < 1 || w->kernel[1] < 1 ||
        *filter_channels < 1 || w->channels % *filter_channels != 0)
        return false;
    w->group = w->channels / *filter_channels;
    t->depth = w->kernel[0] * w->kernel[1] * *filter_channels;
    t->batches = case_int(c, "input_batches", 1);
    t->in_size = w->channels * w->height * w->width;
    t->out_size = w->out_channels * w->out_height * w->out_width;
    t->input = input->data;
    return input->count == t->batches * t->in_size;
}

case_verdict run_convolution(const cmsis_case *c, char *reason)
{
    layer t;
    int64_t filter_channels;
    if (!read_geometry(c, case_find(c, "input"), case_has(c, "ch_mult"), &t, &filter_channels))
        return case_fail(reason, "the geometry is incomplete, or the input's size is odd");
    int8_t *plain = unpack_weights(case_find(c, "weights"), t.window.out_channels * t.depth);
    return run_window(c, &t, filter_channels, plain, reason);
}

/* ---- transposed convolutions ---- */

static void reverse_taps(int8_t *weights, int64_t outputs, int64_t taps, int64_t channels)
{
    for (int64_t k = 0; k < outputs; k++)
        for (int64_t a = 0, b = taps - 1; a < b; a++, b--)
            for (int64_t i = 0; i < channels; i++) {
                int8_t *from = &weights[(k * taps + a) * channels + i];
                int8_t *to = &weights[(k * taps + b) * channels + i];
                const int8_t kept = *from;
                *from = *to;
                *to = kept;
            }
}

/* NHWC images whose pixels lie stride apart, the zero point between them; w becomes the window of
 * the convolution over them. NULL: no memory, or too large. */
static void *spread(const layer *t, const itg_int_operand *x, itg_window *w)
{
    const int64_t height = (w->height - 1) * w->stride[0] + 1,
                  width = (w->width - 1) * w->stride[1] + 1;
    const int64_t pixels = t->batches * height * width, channels = w->channels;
    void *out = pixels < 1 << 24 ? malloc((size_t)(pixels * channels) * 2 + 1) : NULL;
    for (int64_t i = 0; out && i < pixels; i++) {
        const int64_t column = i % width, row = i / width % height, image = i / width / height;
        const bool is_pixel = row % w->stride[0] == 0 && column % w->stride[1] == 0;
        const int64_t from =
            ((image * w->height + row / w->stride[0]) * w->width + column / w->stride[1]) *
            channels;
        for (int64_t k = 0; k < channels; k++)
            itg_store(x->storage, out, i * channels + k,
                      is_pixel ? itg_load(x->storage, t->input, from + k) : x->zero_point);
    }
    w->height = height;
    w->width = width;
    for (int i = 0; i < 2; i++)
        w->stride[i] = 1;
    w->pad_top = w->kernel[0] - 1 - w->pad_top;
    w->pad_left = w->kernel[1] - 1 - w->pad_left;
    return out;
}

/* As the convolution that it is: of the spread pixels, with the taps in reverse. */
case_verdict run_transposed(const cmsis_case *c, char *reason)
{
    const case_array *input = case_find(c, "input");
    const itg_int_operand x = {input->dtype, NULL, -case_int(c, "input_offset", 0), 0, 0};
    layer t;
    int64_t channels;
    if (!read_geometry(c, input, case_has(c, "ch_mult"), &t, &channels) || t.depthwise ||
        t.window.height < 1 || t.window.width < 1 || t.window.stride[0] < 1 ||
        t.window.stride[1] < 1)
        return case_fail(reason, "the geometry is incomplete, or the input's size is odd");
    void *pixels = spread(&t, &x, &t.window);
    int8_t *plain = unpack_weights(case_find(c, "weights"), t.window.out_channels * t.depth);
    if (plain) reverse_taps(plain, t.window.out_channels, t.depth / channels, channels);
    t.input = pixels;
    case_verdict verdict = CASE_FAILED;
    if (pixels)
        verdict = run_window(c, &t, channels, plain, reason);
    else
        case_fail(reason, "no memory");
    if (!pixels) free(plain);
    free(pixels);
    return verdict;
}

static layer matrix_of(const cmsis_case *c, const case_array *input, int64_t depth, int64_t outputs)
{
    layer t;
    memset(&t, 0, sizeof t);
    t.is_matmul = true;
    t.input = input->data;
    t.storage = input->dtype;
    t.depth = depth;
    t.window.out_channels = t.out_size = outputs;
    t.batches = case_int(c, "input_batches", 1);
    return t;
}

case_verdict run_fully_connected(const cmsis_case *c, char *reason)
{
    const case_array *input = case_find(c, "input"), *weights = case_find(c, "weights");
    layer t = matrix_of(c, input, case_int(c, "accumulation_depth", 0), case_int(c, "out_ch", 0));
    if (t.depth < 1 || t.out_size < 1 || input->count != t.batches * t.depth)
        return case_fail(reason, "the input's size is odd");
    int8_t *plain = unpack_weights(weights, t.out_size * t.depth);
    if (!plain) return case_fail(reason, "the weights' size is odd");
    t.weights.data = plain;
    /* the 16-bit fully connected layer knows the reduced multiplier alone */
    bool reduced = input->dtype == ITG_S16 && !case_find(c, "biases");
    case_verdict verdict = reduced ? run_form(c, &t, true, reason) : run_forms(c, &t, reason);
    free(plain);
    return verdict;
}

/* ---- a layer of a network ---- */

void *layer_codes(const cmsis_case *c, layer_kind kind, const case_array *input, int64_t zero,
                  int64_t *count)
{
    layer t;
    int64_t channels = 0;
    bool legal = true;
    if (kind == LAYER_FULLY_CONNECTED)
        t = matrix_of(c, input, input->count, case_int(c, "output_w", 0));
    else
        legal = read_geometry(c, input, kind == LAYER_DEPTHWISE, &t, &channels);
    const int64_t taps = t.window.kernel[0] * t.window.kernel[1], outputs = t.window.out_channels;
    int8_t *plain = legal ? unpack_weights(case_find(c, "weights"), outputs * t.depth) : NULL;
    void *oihw = !plain || t.is_matmul ? plain
                 : t.depthwise         ? swap_inner(ITG_S8, plain, 1, taps, outputs)
                                       : swap_inner(ITG_S8, plain, outputs, taps, channels);
    t.weights.data = oihw;
    *count = t.batches * t.out_size;
    void *got = oihw && prepare(c, &t, false) ? malloc((size_t)*count + 1) : NULL;
    t.out.zero_point = zero;
    const itg_mac_options mac = {{32, ITG_OVERFLOW_WRAP}, false, t.bound, t.bias, NULL};
    const itg_accel_kernels *kernels = NULL;
    if (got && (itg_accel_choose(NULL, &kernels, NULL) != ITG_OK ||
                !run_layer(&t, kernels, t.input, &mac, got))) {
        free(got);
        got = NULL;
    }
    if (oihw != plain) free(oihw);
    free(plain);
    free(t.bias);
    free(t.requant);
    return got;
}
