/* Turns 32-bit sums into byte codes with NEON, sixteen columns at once. accel_fuse.c explains why
 * the fused constants give the codes that the stages define. The portable lanes do everything else.
 */
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_NEON)
#include "kernels/rounding.h"
#include <arm_neon.h>
#include <string.h>

enum { LANES = 4, VECTORS = 4, WIDTH = LANES * VECTORS };

/* Constants of four channels. Shifts are negative: to the right. */
typedef struct channels {
    int32x4_t bias, multiplier, last;
    int64x2_t addend[2], product[2];
    int32x4_t rest; /* of the last rounding, of negative sums; that of others is zero */
    float32x4_t ratio;
} channels;

/* How sums become codes. Loops specialized for one form pass it as a constant. */
typedef struct form {
    bool ratio, doubling, last;
} form;

typedef struct clamps {
    int16x8_t low, high, zero;
    bool is_signed;
} clamps;

static inline int64x2_t right(const int32_t *shift, int64_t channel)
{
    return vnegq_s64(vmovl_s32(vld1_s32(shift + channel)));
}

static inline void load_stages(channels *c, const itg_lanes *l, int64_t channel)
{
    const int32x4_t none = vdupq_n_s32(0);
    c->multiplier = vld1q_s32(l->multiplier + channel);
    for (int i = 0; i < 2; i++) {
        c->addend[i] = vld1q_s64(l->addend + channel + 2 * i);
        c->product[i] = right(l->shift[1], channel + 2 * i);
    }
    c->last = c->rest = none;
    if (!l->shift[2]) return;
    const int32x4_t last = vld1q_s32(l->shift[2] + channel);
    const int32x4_t keep = vreinterpretq_s32_u32(vcgtq_s32(last, none));
    c->rest = ITG_ROUND_REST(l->rounding[2], none, keep, none, vdupq_n_s32(-1));
    c->last = vnegq_s32(last);
}

static inline void load_channels(channels *c, const itg_lanes_args *a, int64_t column, bool ratio)
{
    const itg_lanes *l = a->lanes;
    c->bias = vld1q_s32(a->bias32 + column);
    if (ratio)
        c->ratio = vld1q_f32(l->ratio + a->channel + column);
    else
        load_stages(c, l, a->channel + column);
}

static inline clamps clamps_of(const itg_lanes *l)
{
    return (clamps){vdupq_n_s16((int16_t)l->e.lo), vdupq_n_s16((int16_t)l->e.hi),
                    vdupq_n_s16((int16_t)l->e.zero_point), l->e.storage == ITG_S8};
}

/* Four codes before the clamp, including the zero point unless RATIO. */
static inline int32x4_t codes(const channels *c, const int32_t *acc, form f)
{
    const int32x4_t v = vaddq_s32(vld1q_s32(acc), c->bias);
    if (f.ratio) return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(v), c->ratio));
    const int64x2_t low = vmlal_s32(c->addend[0], vget_low_s32(v), vget_low_s32(c->multiplier));
    const int64x2_t high = vmlal_high_s32(c->addend[1], v, c->multiplier);
    int32x4_t q = f.doubling ? vshrn_high_n_s64(vshrn_n_s64(low, 31), high, 31)
                             : vuzp1q_s32(vreinterpretq_s32_s64(vshlq_s64(low, c->product[0])),
                                          vreinterpretq_s32_s64(vshlq_s64(high, c->product[1])));
    if (!f.last) return q;
    q = vaddq_s32(q, vandq_s32(vshrq_n_s32(v, 31), c->rest));
    return vshlq_s32(q, c->last);
}

static inline int16x8_t sixteen_bits(const clamps *c, int32x4_t v0, int32x4_t v1, form f)
{
    int16x8_t v = vqmovn_high_s32(vqmovn_s32(v0), v1); /* saturates, as the clamp would */
    if (f.ratio) v = vqaddq_s16(v, c->zero);
    return vminq_s16(vmaxq_s16(v, c->low), c->high);
}

static inline uint8x16_t bytes(const clamps *c, const int32x4_t v[VECTORS], form f)
{
    const int16x8_t low = sixteen_bits(c, v[0], v[1], f), high = sixteen_bits(c, v[2], v[3], f);
    if (c->is_signed) return vreinterpretq_u8_s8(vqmovn_high_s16(vqmovn_s16(low), high));
    return vqmovun_high_s16(vqmovun_s16(low), high);
}

/* Handles up to sixteen columns of all rows. */
static inline __attribute__((always_inline)) void columns(const itg_lanes_args *a, int64_t column,
                                                          const form f)
{
    const int64_t left = a->columns - column < WIDTH ? a->columns - column : WIDTH;
    const clamps limits = clamps_of(a->lanes);
    channels c[VECTORS];
    for (int i = 0; i < VECTORS; i++)
        load_channels(&c[i], a, column + i * LANES, f.ratio);
    for (int64_t r = 0; r < a->rows; r++) {
        const int32_t *acc = a->acc32 + r * a->acc_stride + column;
        unsigned char *out = a->out + r * a->out_stride + column, spare[WIDTH];
        int32x4_t v[VECTORS];
        for (int i = 0; i < VECTORS; i++)
            v[i] = codes(&c[i], acc + i * LANES, f);
        vst1q_u8(left == WIDTH ? out : spare, bytes(&limits, v, f));
        if (left < WIDTH) memcpy(out, spare, (size_t)left);
    }
}

static void ratios(const itg_lanes_args *a, int64_t column)
{
    columns(a, column, (form){.ratio = true});
}

static void doublings(const itg_lanes_args *a, int64_t column)
{
    columns(a, column, (form){.doubling = true});
}

static void shifted_doublings(const itg_lanes_args *a, int64_t column)
{
    columns(a, column, (form){.doubling = true, .last = true});
}

static void stages(const itg_lanes_args *a, int64_t column)
{
    columns(a, column, (form){.last = true});
}

void itg_lanes_neon(const itg_lanes_args *a)
{
    const itg_lanes *l = a->lanes;
    const bool ratio = l->kind == ITG_LANES_RATIO && l->tame;
    const bool fused = l->kind == ITG_LANES_STAGES && l->addend && !l->left && !l->shift[0];
    if (!a->acc32 || a->fit != 0 || !l->bytes || (!ratio && !fused)) {
        itg_lanes_portable(a);
        return;
    }
    for (int64_t column = 0; column < a->columns; column += WIDTH)
        (ratio          ? ratios
         : !l->doubling ? stages
         : l->shift[2]  ? shifted_doublings
                        : doublings)(a, column);
}
#endif
