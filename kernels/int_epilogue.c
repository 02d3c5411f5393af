/* Converts native results to the codes (or floats) of an output. */
#include "kernels/int_parts.h"
#include "kernels/requant_span.h"
#include "kernels/rounding.h"

static float to_float(int64_t acc, int64_t channel, const itg_epilogue *out)
{
    float v = (float)acc;
    if (out->dequant_count > 0) v *= out->dequant[channel % out->dequant_count];
    return v < out->float_lo ? out->float_lo : v > out->float_hi ? out->float_hi : v;
}

/* For codes that may not fit 32 bits (U32, S64 storage). */
static int64_t to_code(int64_t acc, int64_t channel, const itg_epilogue *out)
{
    if (out->requant_count > 0)
        acc = itg_requant_apply(&out->requant[channel % out->requant_count], acc);
    int64_t sum;
    if (__builtin_add_overflow(acc, out->zero_point, &sum)) sum = acc < 0 ? INT64_MIN : INT64_MAX;
    return itg_clamp(sum, out->lo, out->hi);
}

static void span(const int64_t *acc, int64_t n, int64_t first, int64_t channel, int64_t step,
                 const itg_epilogue *out)
{
    int32_t q[ITG_SPAN];
    const int64_t count = out->requant_count, run = step == 0 || count == 1 ? n : 1;
    for (int64_t i = 0; i < n; i += run)
        itg_requant_span64(&out->requant[(channel + i * step) % count], acc + i, run,
                           out->zero_point, out->lo, out->hi, q + i);
    itg_store_row(out->storage, out->out, first, n, q);
}

void itg_epilogue_row64(const int64_t *acc, int64_t n, int64_t first, int64_t channel, int64_t step,
                        const itg_epilogue *out)
{
    if (out->storage == ITG_F32) {
        float *f = (float *)out->out + first;
        for (int64_t i = 0; i < n; i++)
            f[i] = to_float(acc[i], channel + i * step, out);
    } else if (out->requant_count > 0 && itg_span_holds(out->zero_point, out->lo, out->hi)) {
        for (int64_t i = 0; i < n; i += ITG_SPAN) {
            int64_t length = n - i < ITG_SPAN ? n - i : ITG_SPAN;
            span(acc + i, length, first + i, channel + i * step, step, out);
        }
    } else {
        for (int64_t i = 0; i < n; i++)
            itg_store(out->storage, out->out, first + i, to_code(acc[i], channel + i * step, out));
    }
}

void itg_int_epilogue(const int64_t *acc, int64_t n, int64_t channel_stride,
                      const itg_epilogue *out)
{
    if (channel_stride <= 1) {
        itg_epilogue_row64(acc, n, 0, 0, channel_stride == 1, out);
        return;
    }
    for (int64_t i = 0, channel = 0; i < n; i += channel_stride, channel++) {
        int64_t length = n - i < channel_stride ? n - i : channel_stride;
        itg_epilogue_row64(acc + i, length, i, channel, 0, out);
    }
}

/* As itg_quantize_mean_f32, for limits of at most 2^22. NaN gives 0. */
ITG_CLONES static void codes_of_means(const float *mean, int64_t n, float scale, float zero,
                                      float low, float high, int32_t *q)
{
    for (int64_t i = 0; i < n; i++) {
        const float scaled = mean[i] / scale, sum = scaled + zero;
        q[i] = itg_nearest_f32(sum == sum ? sum : 0.0F, low, high);
    }
}

void itg_mean_epilogue(const float *mean, int64_t n, float scale_out, const itg_epilogue *out)
{
    const int64_t limit = (int64_t)1 << 22;
    int32_t q[ITG_SPAN];
    const bool exact = out->storage != ITG_F32 && out->lo >= -limit && out->hi <= limit;
    for (int64_t i = 0; exact && i < n; i += ITG_SPAN) {
        const int64_t length = n - i < ITG_SPAN ? n - i : ITG_SPAN;
        codes_of_means(mean + i, length, scale_out, (float)out->zero_point, (float)out->lo,
                       (float)out->hi, q);
        itg_store_row(out->storage, out->out, i, length, q);
    }
    for (int64_t i = 0; !exact && i < n; i++) {
        if (out->storage == ITG_F32)
            ((float *)out->out)[i] = mean[i] < out->float_lo   ? out->float_lo
                                     : mean[i] > out->float_hi ? out->float_hi
                                                               : mean[i];
        else
            itg_store(out->storage, out->out, i,
                      itg_quantize_mean_f32(mean[i], scale_out, out->zero_point, out->lo, out->hi));
    }
}
