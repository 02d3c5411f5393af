/* Elementwise operators, pools, movement; and which case is which, known by its keys and arrays. */
#include "cmsis_run.h"
#include <stdlib.h>
#include <string.h>
#include "kernels/float_ops.h"
#include "kernels/int_ops.h"
#include "kernels/requant.h"

case_verdict case_fail(char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, REASON_BYTES, format, args);
    va_end(args);
    return CASE_FAILED;
}

case_verdict case_skip(char *reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, REASON_BYTES, format, args);
    va_end(args);
    return CASE_SKIPPED;
}

case_verdict case_compare(const cmsis_case *c, const void *got, int64_t count, char *reason)
{
    const case_array *ref = case_find(c, "output_ref");
    if (ref->count != count)
        return case_fail(reason, "%lld outputs made, %lld published", (long long)count,
                         (long long)ref->count);
    for (int64_t i = 0; i < count; i++) {
        int64_t mine = itg_load(ref->dtype, got, i), theirs = itg_load(ref->dtype, ref->data, i);
        if (mine != theirs)
            return case_fail(reason, "output %lld is %lld, published is %lld", (long long)i,
                             (long long)mine, (long long)theirs);
    }
    return CASE_PASSED;
}

itg_requant case_requant(int64_t multiplier, int64_t shift)
{
    itg_requant r;
    memset(&r, 0, sizeof r);
    int32_t e = (int32_t)shift;
    if (e > 0) r.stage[r.stage_count++] = (itg_requant_stage){1, -e, ITG_ROUND_HALF_UP};
    r.stage[r.stage_count++] = (itg_requant_stage){multiplier, 31, ITG_ROUND_HALF_UP};
    if (e < 0) r.stage[r.stage_count++] = (itg_requant_stage){1, -e, ITG_ROUND_HALF_AWAY};
    return r;
}

itg_requant case_requant_s64(int64_t multiplier, int64_t shift)
{
    itg_requant r;
    memset(&r, 0, sizeof r);
    int64_t reduced = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
    r.stage[r.stage_count++] =
        (itg_requant_stage){reduced, (int32_t)(15 - shift), ITG_ROUND_HALF_UP};
    return r;
}

void *swap_inner(itg_dtype dtype, const void *data, int64_t d0, int64_t d1, int64_t d2)
{
    void *out = malloc((size_t)(d0 * d1 * d2) * itg_dtype_size(dtype) + 1);
    for (int64_t i = 0; out && i < d0; i++)
        for (int64_t j = 0; j < d1; j++)
            for (int64_t k = 0; k < d2; k++)
                itg_store(dtype, out, (i * d2 + k) * d1 + j,
                          itg_load(dtype, data, (i * d1 + j) * d2 + k));
    return out;
}

/* ---- add, mul ---- */

case_verdict run_elementwise(const cmsis_case *c, char *reason)
{
    const case_array *a = case_find(c, "input1"), *b = case_find(c, "input2");
    if (a->dtype != b->dtype || a->count != b->count)
        return case_fail(reason, "the inputs differ in type or size");
    int64_t lo = itg_dtype_min(a->dtype), hi = itg_dtype_max(a->dtype);
    const itg_int_operand x = {a->dtype, a->data, -case_int(c, "input1_offset", 0), lo, hi};
    const itg_int_operand y = {b->dtype, b->data, -case_int(c, "input2_offset", 0), lo, hi};
    const itg_broadcast shape = {{1, {a->count}}, {1}, {1}};
    itg_int_binary k = {.form = ITG_BINARY_PRODUCT, .sign = 1, .acc = {32, ITG_OVERFLOW_WRAP}};
    if (case_has(c, "left_shift")) {
        k.form = ITG_BINARY_RESCALE;
        k.left_shift = (int32_t)case_int(c, "left_shift", 0);
        k.ra = case_requant(case_int(c, "input1_mult", 0), case_int(c, "input1_shift", 0));
        k.rb = case_requant(case_int(c, "input2_mult", 0), case_int(c, "input2_shift", 0));
    }
    const itg_requant r =
        case_requant(case_int(c, "output_mult", 0), case_int(c, "output_shift", 0));
    void *got = malloc((size_t)a->count * itg_dtype_size(a->dtype) + 1);
    if (!got) return case_fail(reason, "no memory");
    const itg_epilogue out = {.storage = a->dtype,
                              .out = got,
                              .requant = &r,
                              .requant_count = 1,
                              .zero_point = case_int(c, "output_offset", 0),
                              .lo = case_int(c, "out_activation_min", lo),
                              .hi = case_int(c, "out_activation_max", hi)};
    itg_int_binary_run(&k, &shape, &x, &y, &out, 1);
    case_verdict verdict = case_compare(c, got, a->count, reason);
    free(got);
    return verdict;
}

/* ---- maximum, minimum: codes of one quantizer, compared as they are ---- */

static itg_tensor widened(const case_array *a, itg_shape shape)
{
    itg_tensor t = {ITG_S32, shape, malloc((size_t)a->count * sizeof(int32_t) + 1)};
    for (int64_t i = 0; t.data && i < a->count; i++)
        itg_store(ITG_S32, t.data, i, itg_load(a->dtype, a->data, i));
    return t;
}

static itg_shape shape_of(const cmsis_case *c, const char *which)
{
    static const char *const names[4] = {"batch", "height", "width", "channel"};
    itg_shape shape = {4, {0}};
    for (int i = 0; i < 4; i++) {
        char key[64];
        if (strcmp(which, "output") == 0)
            snprintf(key, sizeof key, "output_%s", names[i]);
        else
            snprintf(key, sizeof key, "%s_%s", names[i], which);
        shape.dims[i] = case_int(c, key, 0);
    }
    return shape;
}

case_verdict run_extreme(const cmsis_case *c, char *reason)
{
    const case_array *a = case_find(c, "input_tensor_1"), *b = case_find(c, "input_tensor_2");
    const case_array *ref = case_find(c, "output_ref");
    bool most = strcmp(case_text(c, "layer_type"), "maximum") == 0;
    itg_tensor in[2] = {widened(a, shape_of(c, "1")), widened(b, shape_of(c, "2"))};
    itg_tensor out = widened(ref, shape_of(c, "output"));
    void *got = malloc((size_t)ref->count * itg_dtype_size(ref->dtype) + 1);
    int64_t na = 0, nb = 0, n = 0;
    case_verdict verdict = CASE_FAILED;
    itg_error err = {0};
    itg_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    if (!in[0].data || !in[1].data || !out.data || !got) {
        case_fail(reason, "no memory");
    } else if (!itg_shape_elements(&in[0].shape, &na) || !itg_shape_elements(&in[1].shape, &nb) ||
               !itg_shape_elements(&out.shape, &n) || na != a->count || nb != b->count ||
               n != ref->count) {
        case_fail(reason, "shapes and sizes differ");
    } else {
        memset(out.data, 0, (size_t)n * sizeof(int32_t));
        if (itg_float_eval(most ? ITG_OP_MAX : ITG_OP_MIN, &attrs, in, 2, &out, 1, &err) !=
            ITG_OK) {
            case_fail(reason, "%.200s", err.message);
        } else {
            int64_t lo = case_int(c, "activation_min", -128),
                    hi = case_int(c, "activation_max", 127);
            for (int64_t i = 0; i < n; i++)
                itg_store(ref->dtype, got, i, itg_clamp(itg_load(ITG_S32, out.data, i), lo, hi));
            verdict = case_compare(c, got, n, reason);
        }
    }
    free(in[0].data);
    free(in[1].data);
    free(out.data);
    free(got);
    return verdict;
}

/* ---- pools: the data does not say whether it is the mean or the maximum, so one of them must
 * match everywhere ---- */

/* As many images as the reference has results of: the headers state their number under several
 * names, which do not always agree, and an input may hold more than is read. */
static case_verdict count_images(const cmsis_case *c, const itg_window *w, int64_t *out,
                                 char *reason)
{
    const case_array *input = case_find(c, "input"), *ref = case_find(c, "output_ref");
    int64_t in_size = w->channels * w->height * w->width;
    int64_t out_size = w->channels * w->out_height * w->out_width;
    if (in_size < 1 || out_size < 1 || ref->count % out_size != 0)
        return case_fail(reason, "%lld results are no whole images of %lld", (long long)ref->count,
                         (long long)out_size);
    *out = ref->count / out_size;
    if (input->count >= *out * in_size) return CASE_PASSED;
    return case_fail(reason, "%lld images of %lld elements are wanted, the input has %lld",
                     (long long)*out, (long long)in_size, (long long)input->count);
}

/* Pixel (p, q) of all channels: the mean of the window, half away from zero, or its maximum, which
 * comes for the whole row with its first pixel. sum: room for a row of the image. */
static void pool_pixel(const itg_window *w, const itg_int_operand *x, int64_t p, int64_t q,
                       bool mean, int32_t *sum, void *out)
{
    if (!mean) {
        if (q == 0) itg_int_pool_max(w, x, p, sum, out);
        return;
    }
    const int64_t valid = itg_int_pool_sum(w, x, p, q, sum);
    for (int64_t c = 0; c < w->channels; c++)
        itg_store(x->storage, out, c,
                  valid > 0 ? itg_round_divide(sum[c], valid, ITG_ROUND_HALF_AWAY) : 0);
}

static case_verdict pool_images(const cmsis_case *c, const itg_window *w, int64_t batches,
                                bool mean, void *got, char *reason)
{
    const case_array *input = case_find(c, "input");
    const int64_t pixels = w->out_height * w->out_width, out_size = w->channels * pixels;
    const int64_t least = itg_dtype_min(input->dtype), largest = itg_dtype_max(input->dtype);
    const int64_t lo = case_int(c, "activation_min", least),
                  hi = case_int(c, "activation_max", largest);
    const size_t size = itg_dtype_size(input->dtype);
    int32_t *sum = malloc((size_t)(w->width * w->channels) * sizeof *sum + 1);
    if (!sum) return case_fail(reason, "no memory");
    for (int64_t i = 0; i < batches * pixels; i++) {
        const int64_t image = i / pixels * w->channels * w->height * w->width;
        const itg_int_operand x = {input->dtype, (char *)input->data + (size_t)image * size, 0,
                                   least, largest};
        pool_pixel(w, &x, i % pixels / w->out_width, i % w->out_width, mean, sum,
                   (char *)got + (size_t)(i * w->channels) * size);
    }
    for (int64_t i = 0; i < batches * out_size; i++)
        itg_store(input->dtype, got, i, itg_clamp(itg_load(input->dtype, got, i), lo, hi));
    free(sum);
    return case_compare(c, got, batches * out_size, reason);
}

case_verdict run_pool(const cmsis_case *c, char *reason)
{
    const itg_window w = {.channels = case_int(c, "input_c", 0),
                          .height = case_int(c, "input_h", 0),
                          .width = case_int(c, "input_w", 0),
                          .out_channels = case_int(c, "output_c", 0),
                          .out_height = case_int(c, "output_h", 0),
                          .out_width = case_int(c, "output_w", 0),
                          .kernel = {case_int(c, "filter_h", 0), case_int(c, "filter_w", 0)},
                          .stride = {case_int(c, "stride_h", 1), case_int(c, "stride_w", 1)},
                          .dilation = {1, 1},
                          .pad_top = case_int(c, "padding_h", 0),
                          .pad_left = case_int(c, "padding_w", 0),
                          .group = 1};
    int64_t images = 0;
    if (count_images(c, &w, &images, reason) != CASE_PASSED) return CASE_FAILED;
    void *got = malloc((size_t)case_find(c, "output_ref")->count * 8 + 1);
    if (!got) return case_fail(reason, "no memory");
    case_verdict verdict = pool_images(c, &w, images, true, got, reason);
    if (verdict != CASE_PASSED) {
        char other[REASON_BYTES];
        verdict = pool_images(c, &w, images, false, got, other);
        if (verdict != CASE_PASSED)
            verdict = case_fail(reason, "neither mean nor maximum: %.200s", other);
    }
    free(got);
    return verdict;
}

/* ---- movement ---- */

static case_verdict move(const cmsis_case *c, itg_op op, const itg_attrs *attrs, itg_shape in,
                         itg_shape out, const void *fill, char *reason)
{
    const case_array *input = case_find(c, "input");
    int64_t n = 0, m = 0;
    if (!itg_shape_elements(&in, &n) || !itg_shape_elements(&out, &m) || n != input->count)
        return case_fail(reason, "shape and size differ");
    void *got = malloc((size_t)m * itg_dtype_size(input->dtype) + 1);
    if (!got) return case_fail(reason, "no memory");
    const itg_tensor x = {input->dtype, in, input->data};
    itg_tensor y = {input->dtype, out, got};
    itg_error err = {0};
    case_verdict verdict;
    if (itg_move_eval(op, attrs, &x, 1, &y, 1, fill, &err) != ITG_OK)
        verdict = case_fail(reason, "%.200s", err.message);
    else
        verdict = case_compare(c, got, m, reason);
    free(got);
    return verdict;
}

case_verdict run_pad(const cmsis_case *c, char *reason)
{
    static const char axes[4] = {'n', 'h', 'w', 'c'};
    const case_array *input = case_find(c, "input");
    itg_shape in = {4, {0}}, out = {4, {0}};
    itg_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    for (int i = 0; i < 4; i++) {
        char key[32];
        snprintf(key, sizeof key, "input_%c", axes[i]);
        in.dims[i] = case_int(c, key, 0);
        snprintf(key, sizeof key, "pre_pad_%c", axes[i]);
        attrs.pads_begin[i] = case_int(c, key, 0);
        snprintf(key, sizeof key, "post_pad_%c", axes[i]);
        out.dims[i] = in.dims[i] + attrs.pads_begin[i] + case_int(c, key, 0);
    }
    int64_t fill = 0;
    itg_store(input->dtype, &fill, 0, case_int(c, "pad_value", 0));
    return move(c, ITG_OP_PAD, &attrs, in, out, &fill, reason);
}

/* Does the transposition of `in` by perm give the reference? Written apart from the kernel, to find
 * the shape. */
static bool is_transposition(const cmsis_case *c, const itg_shape *in, const int64_t *perm)
{
    const case_array *input = case_find(c, "input"), *ref = case_find(c, "output_ref");
    int64_t stride[ITG_MAX_RANK], step = 1;
    for (int d = in->rank - 1; d >= 0; d--)
        stride[d] = step, step *= in->dims[d];
    for (int64_t i = 0; i < ref->count; i++) {
        int64_t rest = i, from = 0;
        for (int d = in->rank - 1; d >= 0; d--) {
            from += rest % in->dims[perm[d]] * stride[perm[d]];
            rest /= in->dims[perm[d]];
        }
        if (itg_load(input->dtype, input->data, from) != itg_load(ref->dtype, ref->data, i))
            return false;
    }
    return true;
}

static bool next_permutation(int64_t *p, int n)
{
    int i = n - 2, j = n - 1;
    while (i >= 0 && p[i] > p[i + 1])
        i--;
    if (i < 0) return false;
    while (p[j] < p[i])
        j--;
    int64_t t = p[i];
    p[i] = p[j], p[j] = t;
    for (int a = i + 1, b = n - 1; a < b; a++, b--)
        t = p[a], p[a] = p[b], p[b] = t;
    return true;
}

/* Tries every shape of the size and every permutation; true when found. */
static bool find_transposition(const cmsis_case *c, itg_shape *in, int32_t d, int64_t rest,
                               int64_t *perm)
{
    if (d == in->rank - 1) {
        in->dims[d] = rest;
        for (int i = 0; i < in->rank; i++)
            perm[i] = i;
        do {
            if (is_transposition(c, in, perm)) return true;
        } while (next_permutation(perm, in->rank));
        return false;
    }
    for (in->dims[d] = 1; in->dims[d] <= rest; in->dims[d]++)
        if (rest % in->dims[d] == 0 && find_transposition(c, in, d + 1, rest / in->dims[d], perm))
            return true;
    return false;
}

/* The shapes of these cases stand in macros that the extraction lost: they are found again from
 * input and output, which only a transposition can relate. */
case_verdict run_transpose(const cmsis_case *c, char *reason)
{
    const case_array *input = case_find(c, "input"), *ref = case_find(c, "output_ref");
    itg_shape in = {(int32_t)case_int(c, "perm_size", 0), {0}}, out;
    itg_attrs attrs;
    memset(&attrs, 0, sizeof attrs);
    if (in.rank < 1 || in.rank > 4 || input->count != ref->count || input->count > 1 << 20)
        return case_fail(reason, "rank or size out of range");
    if (!find_transposition(c, &in, 0, input->count, attrs.perm))
        return case_fail(reason, "no shape and permutation relate input and output");
    out.rank = in.rank;
    for (int i = 0; i < in.rank; i++)
        out.dims[i] = in.dims[attrs.perm[i]];
    return move(c, ITG_OP_TRANSPOSE, &attrs, in, out, NULL, reason);
}

/* ---- which case is it? ---- */

case_verdict case_run(const cmsis_case *c, char *reason)
{
    bool input = case_find(c, "input") != NULL, ref = case_find(c, "output_ref") != NULL;
    bool weights = input && case_find(c, "weights") != NULL;
    const char *type = case_text(c, "layer_type");
    if (!ref) return case_skip(reason, "no output_ref");
    if (input && case_has(c, "diff_min"))
        return run_softmax(
            c, case_find(c, "input"), case_int(c, "num_rows", 0), case_int(c, "row_size", 0),
            softmax_scale(case_int(c, "input_mult", 0), case_int(c, "input_left_shift", 0)),
            reason);
    if (weights && case_has(c, "pad_x_with_offset")) return run_transposed(c, reason);
    if (case_find(c, "weights_feature") || case_find(c, "weights_time"))
        return case_skip(reason, "SVDF is no operator here");
    if (case_find(c, "input1") && case_find(c, "input2")) return run_elementwise(c, reason);
    if (strcmp(type, "maximum") == 0 || strcmp(type, "minimum") == 0) return run_extreme(c, reason);
    if (weights && case_has(c, "filter_x")) return run_convolution(c, reason);
    if (weights && case_has(c, "accumulation_depth")) return run_fully_connected(c, reason);
    if (input && case_has(c, "pre_pad_n")) return run_pad(c, reason);
    if (input && case_has(c, "perm_size")) return run_transpose(c, reason);
    if (input && case_has(c, "filter_w") && case_has(c, "output_w")) return run_pool(c, reason);
    if (input && case_find(c, "layer_1_conv_2d_weights")) return run_network(c, reason);
    return case_skip(reason, "no operator is known by these keys and arrays (first array: %.80s)",
                     c->array_count > 0 ? c->arrays[0].name : "none");
}
