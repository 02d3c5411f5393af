/* Computes quantizers from ranges (docs/arithmetic.md 2.2). */
#include "sim/annotate.h"
#include "kernels/constants.h"
#include "kernels/math.h"
#include <math.h>

#define SCALE_MIN 0x1p-64f
#define SCALE_MAX 0x1p+64f

/* The smallest power of two p with p * divisor >= range; 0 for an empty range. */
static double power_of_two_scale(double range, double divisor)
{
    int exponent = 0;
    if (!(range > 0)) return 0;
    double mantissa = itg_frexp(range / divisor, &exponent); /* [0.5, 1) * 2^exponent */
    if (!(mantissa > 0)) return 0; /* the quotient underflows, so the range counts as empty */
    if (mantissa == 0.5) exponent--;
    double scale = itg_ldexp(1.0, exponent);
    return scale * divisor >= range ? scale : scale * 2;
}

static float range_scale(double range, double divisor, bool power_of_two, double power_divisor)
{
    double scale = power_of_two ? power_of_two_scale(range, power_divisor) : range / divisor;
    return (float)scale;
}

double itg_symmetric_steps(int32_t bits, bool power_of_two)
{
    const double steps = itg_ldexp(1.0, bits - 1);
    return power_of_two || bits == 1 ? steps : steps - 1;
}

double itg_weight_steps(int32_t bits, bool has_zero_point, bool power_of_two)
{
    return has_zero_point ? (itg_ldexp(1.0, bits) - 1) / 2
                          : itg_symmetric_steps(bits, power_of_two);
}

double itg_asymmetric_range(int32_t bits, double lo, double hi, uint8_t *zero)
{
    const double most = itg_ldexp(1.0, bits) - 1;
    *zero = 0;
    if (!(hi - lo > 0)) return 0;
    const double z = itg_round_half_even(-lo / ((hi - lo) / most));
    *zero = (uint8_t)(z > most ? most : z);
    return (hi - lo) / 2;
}

static bool scale_is_empty(float scale)
{
    return !(scale >= SCALE_MIN);
}

float annotate_weight_scale(const itg_quantizer *q, double t, bool power_of_two)
{
    const bool has_zero_points = itg_has_zero_points(q);
    float scale = range_scale(t, itg_weight_steps(q->bits, has_zero_points, false), power_of_two,
                              itg_weight_steps(q->bits, has_zero_points, true));
    return scale_is_empty(scale) ? 0.0f : scale;
}

static void set_codes(const itg_hw_dtype *dtype, int32_t bits, itg_quantizer *q)
{
    bool is_signed = itg_dtype_min(dtype->storage) < 0;
    int64_t steps = (int64_t)1 << (bits - 1);
    q->bits = bits;
    q->is_signed = is_signed;
    q->storage = dtype->storage;
    q->axis = -1;
    q->scale_count = 1;
    if (bits == 1) {
        q->qmin = -1;
        q->qmax = 1;
    } else if (!is_signed) {
        q->qmin = 0;
        q->qmax = 2 * steps - 1;
    } else {
        q->qmax = steps - 1;
        q->qmin = dtype->zero_point || dtype->full_range ? -steps : -(steps - 1);
    }
}

itg_quantizer annotate_asymmetric_weights(int32_t bits)
{
    const int64_t most = ((int64_t)1 << bits) - 1;
    return (itg_quantizer){.bits = bits,
                           .is_signed = true,
                           .storage = bits < 8 ? ITG_S8 : ITG_S16,
                           .qmin = -most,
                           .qmax = most,
                           .axis = -1,
                           .scale_count = 1};
}

itg_status annotate_range_quantizer(const itg_hw_dtype *dtype, int32_t bits, double lo, double hi,
                                    bool power_of_two, float *scale, itg_quantizer *out,
                                    itg_error *err)
{
    itg_quantizer q = {0};
    set_codes(dtype, bits, &q);
    lo = lo < 0 ? lo : 0;
    hi = hi > 0 ? hi : 0;
    if (dtype->zero_point) {
        double n = (double)(q.qmax - q.qmin);
        *scale = range_scale(hi - lo, n, power_of_two, n);
    } else if (q.is_signed) {
        *scale = range_scale(-lo > hi ? -lo : hi, itg_symmetric_steps(bits, false), power_of_two,
                             itg_symmetric_steps(bits, true));
    } else {
        *scale = range_scale(hi, (double)q.qmax, power_of_two, (double)q.qmax);
    }
    if (!(*scale <= SCALE_MAX))
        return itg_fail(err, ITG_INFEASIBLE, "the range [%g, %g] is too wide to quantize", lo, hi);
    if (scale_is_empty(*scale)) {
        *scale = 1.0f;
        q.zero_point = (int32_t)itg_clamp(0, q.qmin, q.qmax);
    } else if (dtype->zero_point) {
        double z = itg_round_half_even((double)q.qmin - lo / (double)*scale);
        q.zero_point = (int32_t)(z < (double)q.qmin   ? q.qmin
                                 : z > (double)q.qmax ? q.qmax
                                                      : (int64_t)z);
    }
    q.scale = scale;
    *out = q;
    return ITG_OK;
}

/* Returns the code of a real bound; an infinite bound gives the end of the range. */
static int64_t bound_code(const itg_quantizer *q, float bound)
{
    if (isinf(bound)) return bound < 0 ? q->qmin : q->qmax;
    double code = itg_round_half_even((double)bound / (double)q->scale[0]) + (double)q->zero_point;
    if (code <= (double)q->qmin) return q->qmin;
    return code >= (double)q->qmax ? q->qmax : (int64_t)code;
}

void annotate_clamp(const itg_graph *g, itg_id activation, itg_encoding *encoding)
{
    const itg_quantizer *q = &encoding->q;
    encoding->clamp_lo = q->qmin;
    encoding->clamp_hi = q->qmax;
    if (activation == ITG_NONE) return;
    const itg_node *node = &g->nodes[activation];
    if (node->op == ITG_OP_RELU) {
        encoding->clamp_lo = itg_clamp(q->zero_point, q->qmin, q->qmax);
    } else if (node->op == ITG_OP_CLIP) {
        encoding->clamp_lo = bound_code(q, node->attrs.min);
        encoding->clamp_hi = bound_code(q, node->attrs.max);
        if (encoding->clamp_hi < encoding->clamp_lo) encoding->clamp_hi = encoding->clamp_lo;
    }
}
