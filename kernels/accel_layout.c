/* Transposition of matrices of elements, in blocks that fit the first cache. */
#include "kernels/accel.h"
#include "kernels/clones.h"

enum { BLOCK = 32 };

/* Images have three rows, which are interleaved by vectors. */
#define TRANSPOSE(name, type)                                                                      \
    ITG_CLONES                                                                                     \
    static void name##_three(const type *restrict in, int64_t columns, type *restrict out)         \
    {                                                                                              \
        for (int64_t c = 0; c < columns; c++) {                                                    \
            out[3 * c] = in[c];                                                                    \
            out[3 * c + 1] = in[columns + c];                                                      \
            out[3 * c + 2] = in[2 * columns + c];                                                  \
        }                                                                                          \
    }                                                                                              \
    static void name(const void *in, int64_t rows, int64_t columns, void *out)                     \
    {                                                                                              \
        const type *from = in;                                                                     \
        type *to = out;                                                                            \
        if (rows == 3) {                                                                           \
            name##_three(from, columns, to);                                                       \
            return;                                                                                \
        }                                                                                          \
        for (int64_t r0 = 0; r0 < rows; r0 += BLOCK)                                               \
            for (int64_t c0 = 0; c0 < columns; c0 += BLOCK) {                                      \
                int64_t r1 = rows - r0 < BLOCK ? rows : r0 + BLOCK;                                \
                int64_t c1 = columns - c0 < BLOCK ? columns : c0 + BLOCK;                          \
                for (int64_t c = c0; c < c1; c++)                                                  \
                    for (int64_t r = r0; r < r1; r++)                                              \
                        to[c * rows + r] = from[r * columns + c];                                  \
            }                                                                                      \
    }
TRANSPOSE(transpose8, uint8_t)
TRANSPOSE(transpose16, uint16_t)
TRANSPOSE(transpose32, uint32_t)
TRANSPOSE(transpose64, uint64_t)

/* Transposes n matrices [rows][columns]. */
static void transpose_all(itg_dtype dtype, int64_t n, int64_t rows, int64_t columns, const void *in,
                          void *out)
{
    const size_t size = itg_dtype_size(dtype), matrix = (size_t)(rows * columns) * size;
    for (int64_t i = 0; i < n; i++) {
        const unsigned char *from = (const unsigned char *)in + (size_t)i * matrix;
        unsigned char *to = (unsigned char *)out + (size_t)i * matrix;
        if (size == 1)
            transpose8(from, rows, columns, to);
        else if (size == 2)
            transpose16(from, rows, columns, to);
        else if (size == 4)
            transpose32(from, rows, columns, to);
        else
            transpose64(from, rows, columns, to);
    }
}

void itg_to_channels_last(itg_dtype dtype, int64_t n, int64_t channels, int64_t pixels,
                          const void *in, void *out)
{
    transpose_all(dtype, n, channels, pixels, in, out);
}

void itg_to_channels_first(itg_dtype dtype, int64_t n, int64_t channels, int64_t pixels,
                           const void *in, void *out)
{
    transpose_all(dtype, n, pixels, channels, in, out);
}
