/* Tiles by AMX int8: 32 x 32 sums in four tile registers, exact modulo 2^32 (no step saturates).
 * The instructions are inline assembly, because gcc 12's intrinsics do not tell the compiler which
 * memory they read. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* syscall */
#endif
#include "kernels/accel_parts.h"

#if defined(ITG_ACCEL_X86)
#include <cpuid.h>
#include <string.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__clang__)
#define AMX __attribute__((target("amx-tile,amx-int8")))
#else
#define AMX
#endif

/* Palette 1: every register 16 rows of 64 bytes. */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

AMX static void begin(void)
{
    tile_config config;
    memset(&config, 0, sizeof config);
    config.palette = 1;
    for (int i = 0; i < 8; i++) {
        config.row_bytes[i] = 64;
        config.rows[i] = 16;
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(config));
}

AMX static void end(void)
{
    __asm__ volatile("tilerelease" : : : "memory");
}

#define ZERO(c) __asm__ volatile("tilezero %%tmm" #c : : :)
#define LOAD(r, base, stride)                                                                      \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #r : : "r"(base), "r"(stride) : "memory")
#define STORE(r, base, stride)                                                                     \
    __asm__ volatile("tilestored %%tmm" #r ", (%0,%1,1)" : : "r"(base), "r"(stride) : "memory")
/* c += unsigned a * signed b */
#define MULTIPLY(c, a, b) __asm__ volatile("tdpbusd %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : :)

enum { HALF = 16, C_STRIDE = ITG_TILE_COLUMNS * 4, B_STRIDE = 64 };

/* Sums by 2 x 2 registers: sums 0 1 / 2 3, rows 4 5, columns 6 7. */
AMX static void tile_2x2(const itg_accel_tile *t)
{
    const int64_t a_stride = t->a_stride, b_stride = B_STRIDE, c_stride = C_STRIDE;
    const int8_t *b = t->b, *b1 = t->b + t->b_stride;
    ZERO(0);
    ZERO(1);
    ZERO(2);
    ZERO(3);
    for (int64_t k = 0; k < t->steps; k++, b += ITG_STEP_BYTES, b1 += ITG_STEP_BYTES) {
        const uint8_t *a = t->a + t->offset[k];
        LOAD(4, a, a_stride);
        LOAD(6, b, b_stride);
        MULTIPLY(0, 4, 6);
        LOAD(7, b1, b_stride);
        MULTIPLY(1, 4, 7);
        LOAD(5, a + HALF * a_stride, a_stride);
        MULTIPLY(2, 5, 6);
        MULTIPLY(3, 5, 7);
    }
    STORE(0, t->c, c_stride);
    STORE(1, t->c + HALF, c_stride);
    STORE(2, t->c + HALF * ITG_TILE_COLUMNS, c_stride);
    STORE(3, t->c + HALF * ITG_TILE_COLUMNS + HALF, c_stride);
}

AMX static void tile_2x1(const itg_accel_tile *t)
{
    const int64_t a_stride = t->a_stride, b_stride = B_STRIDE, c_stride = C_STRIDE;
    const int8_t *b = t->b;
    ZERO(0);
    ZERO(2);
    for (int64_t k = 0; k < t->steps; k++, b += ITG_STEP_BYTES) {
        const uint8_t *a = t->a + t->offset[k];
        LOAD(6, b, b_stride);
        LOAD(4, a, a_stride);
        MULTIPLY(0, 4, 6);
        LOAD(5, a + HALF * a_stride, a_stride);
        MULTIPLY(2, 5, 6);
    }
    STORE(0, t->c, c_stride);
    STORE(2, t->c + HALF * ITG_TILE_COLUMNS, c_stride);
}

AMX static void tile_1x2(const itg_accel_tile *t)
{
    const int64_t a_stride = t->a_stride, b_stride = B_STRIDE, c_stride = C_STRIDE;
    const int8_t *b = t->b, *b1 = t->b + t->b_stride;
    ZERO(0);
    ZERO(1);
    for (int64_t k = 0; k < t->steps; k++, b += ITG_STEP_BYTES, b1 += ITG_STEP_BYTES) {
        const uint8_t *a = t->a + t->offset[k];
        LOAD(4, a, a_stride);
        LOAD(6, b, b_stride);
        MULTIPLY(0, 4, 6);
        LOAD(7, b1, b_stride);
        MULTIPLY(1, 4, 7);
    }
    STORE(0, t->c, c_stride);
    STORE(1, t->c + HALF, c_stride);
}

AMX static void tile_1x1(const itg_accel_tile *t)
{
    const int64_t a_stride = t->a_stride, b_stride = B_STRIDE, c_stride = C_STRIDE;
    const int8_t *b = t->b;
    ZERO(0);
    for (int64_t k = 0; k < t->steps; k++, b += ITG_STEP_BYTES) {
        LOAD(4, t->a + t->offset[k], a_stride);
        LOAD(6, b, b_stride);
        MULTIPLY(0, 4, 6);
    }
    STORE(0, t->c, c_stride);
}

static void tile_block(const itg_accel_tile *t)
{
    if (t->rows > HALF)
        (t->panels > 1 ? tile_2x2 : tile_2x1)(t);
    else
        (t->panels > 1 ? tile_1x2 : tile_1x1)(t);
}

static void tile(const itg_accel_tile *t)
{
    itg_accel_by_blocks(t, tile_block);
}

AMX static int64_t peak(int64_t rounds)
{
    ZERO(0);
    ZERO(1);
    ZERO(2);
    ZERO(3);
    ZERO(4);
    ZERO(5);
    ZERO(6);
    ZERO(7);
    for (int64_t i = 0; i < rounds; i++) {
        MULTIPLY(0, 4, 6);
        MULTIPLY(1, 4, 7);
        MULTIPLY(2, 5, 6);
        MULTIPLY(3, 5, 7);
    }
    return rounds * 4 * HALF * HALF * ITG_STEP_DEPTH;
}

/* Whether the processor has AMX and the system permits its use. */
static bool usable(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18, TILE_BIT = 24, INT8_BIT = 25 };
    unsigned a, b, c, d;
    if (!itg_accel_has_vnni() || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    if (!(d >> TILE_BIT & 1) || !(d >> INT8_BIT & 1)) return false;
#if defined(__linux__) && defined(SYS_arch_prctl)
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
    return false;
#endif
}

const itg_accel_kernels itg_accel_amx = {
    .name = "amx",
    .granule = ITG_STEP_DEPTH,
    .step_cycles = 1,
    .usable = usable,
    .begin = begin,
    .end = end,
    .tile = tile,
    .depthwise = itg_depthwise_vnni,
    .parts = true,
    .lanes = itg_lanes_avx512,
    .sum_bytes = itg_sum_bytes_vbmi,
    .look_up = itg_look_up_vbmi,
    .peak = peak,
};
#endif
