/* The transforms of accel_winograd.c, compiled once per vector width. The including file defines
 * the macros of accel_product.h and the vector operations below; names that end in 16 work on
 * 16-bit lanes, the others on 32-bit lanes. */
#include "kernels/accel_parts.h"

enum { WIDE = ITG_WINOGRAD_COLUMNS + 2, WORDS = 2 * LANES };

/* ---- inputs: B' d ---- */
INLINE void inputs_of_4(const VECTOR d[6], VECTOR v[6])
{
    const VECTOR d42 = SUB16(d[4], d[2]), d13 = SUB16(d[1], d[3]), twice = ADD16(d13, d13);
    const VECTOR even = SUB16(d[4], SHL16(d[2], 2)), odd = SUB16(d[3], SHL16(d[1], 2));
    v[0] = ADD16(SHL16(SUB16(d[0], d[2]), 2), d42);
    v[1] = ADD16(even, odd);
    v[2] = SUB16(even, odd);
    v[3] = SUB16(d42, twice);
    v[4] = ADD16(d42, twice);
    v[5] = ADD16(SHL16(d13, 2), SUB16(d[5], d[3]));
}

INLINE void inputs_of_2(const VECTOR d[4], VECTOR v[4])
{
    v[0] = SUB16(d[0], d[2]);
    v[1] = ADD16(d[1], d[2]);
    v[2] = SUB16(d[2], d[1]);
    v[3] = SUB16(d[1], d[3]);
}

/* `rows`: a constant. */
INLINE void transform_input(const itg_winograd_input *a, const int rows)
{
    const NARROW flip = FLIP(a->flip ? -128 : 0);
    for (int64_t c = 0; c < a->channels; c += WORDS) {
        const int64_t left = a->channels - c;
        VECTOR t[6][WIDE];
        ITG_UNROLL
        for (int j = 0; j < WIDE; j++) {
            VECTOR d[6], v[6];
            ITG_UNROLL
            for (int i = 0; i < rows + 2; i++)
                d[i] = CODES(a->pixel[i * WIDE + j] + c, left, flip);
            if (rows == 4)
                inputs_of_4(d, v);
            else
                inputs_of_2(d, v);
            ITG_UNROLL
            for (int i = 0; i < rows + 2; i++)
                t[i][j] = v[i];
        }
        ITG_UNROLL
        for (int i = 0; i < rows + 2; i++) {
            VECTOR v[WIDE];
            inputs_of_4(t[i], v);
            ITG_UNROLL
            for (int j = 0; j < WIDE; j++)
                STORE16(a->v + (i * WIDE + j) * a->stride + c, v[j], left + (left & 1));
        }
    }
}

TARGET static void input_of_4(const itg_winograd_input *a)
{
    transform_input(a, 4);
}

TARGET static void input_of_2(const itg_winograd_input *a)
{
    transform_input(a, 2);
}

static void input(const itg_winograd_input *a)
{
    (a->rows == 4 ? input_of_4 : input_of_2)(a);
}

/* ---- outputs: A' m, times 24 (2) ---- */
INLINE void outputs_of_4(const VECTOR m[6], VECTOR y[4])
{
    const VECTOR a = ADD(m[1], m[2]), c = SUB(m[1], m[2]);
    const VECTOR b = ADD(m[3], m[4]), e = SUB(m[3], m[4]), twice = ADD(e, e);
    y[0] = ADD(m[0], SUB(b, SHL(a, 2)));
    y[1] = SUB(twice, SHL(c, 2));
    y[2] = SHL(SUB(b, a), 2);
    y[3] = SHL(ADD(SUB(twice, c), m[5]), 2);
}

INLINE void outputs_of_2(const VECTOR m[4], VECTOR y[2])
{
    y[0] = ADD(m[0], ADD(m[1], m[2]));
    y[1] = SUB(SUB(m[1], m[2]), m[3]);
}

INLINE void transform_output(const itg_winograd_output *a, const int rows)
{
    /* 3 * inverse = 1 (9 * inverse = 1) modulo 2^32 */
    const VECTOR inverse = SET(rows == 4 ? 0x38e38e39U : 0xaaaaaaabU);
    for (int64_t c = 0; c < a->panels * ITG_PANEL_COLUMNS; c += LANES) {
        VECTOR t[4][WIDE];
        ITG_UNROLL
        for (int j = 0; j < WIDE; j++) {
            VECTOR m[6], y[4];
            ITG_UNROLL
            for (int i = 0; i < rows + 2; i++)
                m[i] = LOAD(a->m + (i * WIDE + j) * a->stride + c);
            if (rows == 4)
                outputs_of_4(m, y);
            else
                outputs_of_2(m, y);
            ITG_UNROLL
            for (int i = 0; i < rows; i++)
                t[i][j] = y[i];
        }
        ITG_UNROLL
        for (int i = 0; i < rows; i++) {
            VECTOR y[ITG_WINOGRAD_COLUMNS];
            outputs_of_4(t[i], y);
            ITG_UNROLL
            for (int j = 0; j < ITG_WINOGRAD_COLUMNS; j++)
                STORE(a->out[i * ITG_WINOGRAD_COLUMNS + j] + c,
                      SAR(MULTIPLY(y[j], inverse), rows == 4 ? 6 : 4));
        }
    }
}

TARGET static void output_of_4(const itg_winograd_output *a)
{
    transform_output(a, 4);
}

TARGET static void output_of_2(const itg_winograd_output *a)
{
    transform_output(a, 2);
}

static void output(const itg_winograd_output *a)
{
    (a->rows == 4 ? output_of_4 : output_of_2)(a);
}
