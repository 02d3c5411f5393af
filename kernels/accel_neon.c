/* What every processor of aarch64 can run: tiles by smull, whose products of bytes fit 16 bits, and
 * sadalp, which adds pairs of them to sums of 32 bits; depthwise tiles. And which of the
 * instructions that only some have are there. */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE /* sysctlbyname, which POSIX alone hides */
#endif
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_NEON)
#include "kernels/accel_neon.h"
#include <string.h>
#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

/* ---- the processor ---- */

#if defined(__linux__)
/* Bits of the auxiliary vector, as <asm/hwcap.h> of Linux has them; older ones lack the names. */
enum { HWCAP_DOTPROD = 1 << 20, HWCAP2_INT8 = 1 << 13 };

bool itg_accel_has_dotprod(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_DOTPROD) != 0;
}

bool itg_accel_has_i8mm(void)
{
    return (getauxval(AT_HWCAP2) & HWCAP2_INT8) != 0;
}
#elif defined(__APPLE__)
static bool has(const char *feature)
{
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(feature, &value, &size, NULL, 0) == 0 && value != 0;
}

bool itg_accel_has_dotprod(void)
{
    return has("hw.optional.arm.FEAT_DotProd");
}

bool itg_accel_has_i8mm(void)
{
    return has("hw.optional.arm.FEAT_I8MM");
}
#else
bool itg_accel_has_dotprod(void)
{
    return false;
}

bool itg_accel_has_i8mm(void)
{
    return false;
}
#endif

static bool always(void)
{
    return true;
}

/* ---- tiles ---- */

enum { ROWS = 2, QUAD = 4 };

/* Four inputs less 128, four times. */
static inline int8x16_t four_codes(const uint8_t *a)
{
    uint32_t codes;
    memcpy(&codes, a, sizeof codes);
    return vreinterpretq_s8_u32(vdupq_n_u32(codes ^ 0x80808080));
}

static inline __attribute__((always_inline)) void block(const itg_accel_tile *t, int64_t row,
                                                        int64_t panel, const itg_neon_row *offsets,
                                                        const int rows)
{
    const int64_t depth = itg_accel_run_depth(t);
    itg_neon_pairs sum[ROWS];
    for (int r = 0; r < rows; r++)
        sum[r] = itg_neon_no_pairs();
    for (int64_t k = 0; k < t->steps; k += t->run_steps) {
        const uint8_t *a = t->a + row * t->a_stride + t->offset[k];
        const int8_t *b = t->b + panel * t->b_stride + k * ITG_STEP_BYTES;
        for (int64_t d = 0; d < depth; d += QUAD, b += ITG_NEON_QUAD_BYTES) {
            int8x16_t x[ROWS];
            for (int r = 0; r < rows; r++)
                x[r] = four_codes(a + r * t->a_stride + d);
            for (int i = 0; i < ITG_NEON_VECTORS; i++) {
                const int8x16_t w = vld1q_s8(b + 16 * i);
                for (int r = 0; r < rows; r++) {
                    int32x4_t *to = &sum[r].at[2 * i];
                    to[0] = vpadalq_s16(to[0], vmull_s8(vget_low_s8(w), vget_low_s8(x[r])));
                    to[1] = vpadalq_s16(to[1], vmull_high_s8(w, x[r]));
                }
            }
        }
    }
    for (int r = 0; r < rows; r++) {
        itg_neon_row total = itg_neon_join(&sum[r]);
        for (int i = 0; i < ITG_NEON_VECTORS; i++)
            total.at[i] = vaddq_s32(total.at[i], offsets->at[i]);
        itg_neon_store(t, row + r, panel, &total);
    }
}

static void tile(const itg_accel_tile *t)
{
    for (int64_t p = 0; p < t->panels; p++) {
        const itg_neon_row offsets = itg_neon_offsets(t, p);
        int64_t row = 0;
        for (; t->rows - row >= ROWS; row += ROWS)
            block(t, row, p, &offsets, ROWS);
        for (; row < t->rows; row++)
            block(t, row, p, &offsets, 1);
    }
}

/* ---- depthwise ---- */

enum { DEPTHWISE_ROWS = 4, CHANNELS = 16 };

/* Adds one tap of sixteen channels to a row's sums. */
static inline void add_tap(itg_neon_row *sum, const uint8_t *x, int16x8_t low, int16x8_t high)
{
    const uint8x16_t codes = vld1q_u8(x);
    const int16x8_t first = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(codes)));
    const int16x8_t second = vreinterpretq_s16_u16(vmovl_high_u8(codes));
    sum->at[0] = vmlal_s16(sum->at[0], vget_low_s16(first), vget_low_s16(low));
    sum->at[1] = vmlal_high_s16(sum->at[1], first, low);
    sum->at[2] = vmlal_s16(sum->at[2], vget_low_s16(second), vget_low_s16(high));
    sum->at[3] = vmlal_high_s16(sum->at[3], second, high);
}

/* Sums sixteen channels, from `channel` on, of `rows` rows, a constant, and goes to the next. */
static inline __attribute__((always_inline)) void depthwise_block(const itg_accel_tile *t,
                                                                  itg_accel_row *next, int64_t row,
                                                                  int64_t channel, const int rows)
{
    itg_neon_row sum[DEPTHWISE_ROWS];
    const uint8_t *a[DEPTHWISE_ROWS];
    const int8_t *b = t->b + channel * ITG_DEPTHWISE_TAPS;
    for (int r = 0; r < rows; r++) {
        a[r] = next->a + channel;
        itg_accel_next_row(t, next);
        for (int i = 0; i < ITG_NEON_VECTORS; i++)
            sum[r].at[i] = vdupq_n_s32(0);
    }
    for (int64_t k = 0; k < t->steps; k++, b += ITG_DEPTHWISE_STEP_BYTES) {
        const int64_t *offset = t->offset + k * ITG_DEPTHWISE_TAPS;
        const int8x16x4_t weights = vld4q_s8(b); /* a vector for each tap */
        for (int tap = 0; tap < ITG_DEPTHWISE_TAPS; tap++) {
            const int16x8_t low = vmovl_s8(vget_low_s8(weights.val[tap]));
            const int16x8_t high = vmovl_high_s8(weights.val[tap]);
            for (int r = 0; r < rows; r++)
                add_tap(&sum[r], a[r] + offset[tap], low, high);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < ITG_NEON_VECTORS; i++)
            vst1q_s32(t->c + (row + r) * ITG_DEPTHWISE_COLUMNS + channel + 4 * i, sum[r].at[i]);
}

void itg_depthwise_neon(const itg_accel_tile *t)
{
    for (int64_t channel = 0; channel < ITG_DEPTHWISE_COLUMNS; channel += CHANNELS) {
        itg_accel_row next = {t->a, t->left};
        int64_t row = 0;
        for (; t->rows - row >= DEPTHWISE_ROWS; row += DEPTHWISE_ROWS)
            depthwise_block(t, &next, row, channel, DEPTHWISE_ROWS);
        for (; row < t->rows; row++)
            depthwise_block(t, &next, row, channel, 1);
    }
}

const itg_accel_kernels itg_accel_neon = {
    .name = "neon",
    .granule = QUAD,
    .step_cycles = 64,
    .usable = always,
    .tile = tile,
    .depthwise = itg_depthwise_neon,
    .lanes = itg_lanes_neon,
};
#endif
