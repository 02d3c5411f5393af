/* Shared by the integer kernels, private to kernels/: rows of codes and of epilogues. */
#ifndef ITG_INT_PARTS_H
#define ITG_INT_PARTS_H
#include "kernels/int_ops.h"

/* A size for malloc; SIZE_MAX, which malloc refuses, if size_t cannot hold it. */
static inline size_t itg_scratch_bytes(int64_t bytes)
{
    return (uint64_t)bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

static inline bool itg_is_byte(itg_dtype storage)
{
    return storage == ITG_S8 || storage == ITG_U8;
}

/* ---- int_storage.c ---- */
/* out[i] = code[first + i * stride] - zero_point, any integer storage */
void itg_widen_row(const itg_int_operand *x, int64_t first, int64_t count, int64_t stride,
                   int64_t *out);
/* storage[first + i] = q[i] */
void itg_store_row(itg_dtype storage, void *data, int64_t first, int64_t n, const int32_t *q);

/* ---- int_epilogue.c ---- */
/* out[first + i] from acc[i]; channel of i is channel + i * step, step 0 or 1. */
void itg_epilogue_row64(const int64_t *acc, int64_t n, int64_t first, int64_t channel, int64_t step,
                        const itg_epilogue *out);
#endif
