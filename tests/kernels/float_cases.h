/* What the tests of float kernels share: tensors, random numbers, default attributes, one-line
 * evaluation. */
#ifndef ITG_TEST_FLOAT_CASES_H
#define ITG_TEST_FLOAT_CASES_H
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "kernels/float_ops.h"
#include "tests/guarded_heap.h"

#define DIMS(...)                                                                                  \
    ((const int64_t[]){__VA_ARGS__}), (int)(sizeof((const int64_t[]){__VA_ARGS__}) / 8)

static inline itg_tensor view(itg_dtype dtype, void *data, const int64_t *dims, int rank)
{
    itg_tensor t = {dtype, {rank, {0}}, data};
    for (int d = 0; d < rank; ++d)
        t.shape.dims[d] = dims[d];
    return t;
}

static inline int64_t count_of(const itg_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->shape.rank; ++d)
        n *= t->shape.dims[d];
    return n;
}

/* A heap tensor of exactly its size, so that each stray access is seen. Freed by drop(). */
static inline itg_tensor make(itg_dtype dtype, const int64_t *dims, int rank)
{
    itg_tensor t = view(dtype, NULL, dims, rank);
    t.data = guarded_alloc((size_t)count_of(&t) * itg_dtype_size(dtype));
    memset(t.data, 0, (size_t)count_of(&t) * itg_dtype_size(dtype));
    return t;
}

static inline void drop(itg_tensor *t)
{
    guarded_free(t->data);
    t->data = NULL;
}

static inline void fill_random(itg_tensor *t, itg_rng *rng, float range)
{
    float *x = t->data;
    for (int64_t i = 0; i < count_of(t); ++i)
        x[i] = (float)(itg_rng_unit(rng) - 0.5) * 2.0f * range;
}

static inline int64_t between(itg_rng *rng, int64_t least, int64_t most)
{
    return least + (int64_t)itg_rng_below(rng, (uint64_t)(most - least + 1));
}

static inline itg_attrs attributes(void)
{
    itg_attrs a;
    memset(&a, 0, sizeof a);
    a.kernel[0] = a.kernel[1] = a.stride[0] = a.stride[1] = a.dilation[0] = a.dilation[1] = 1;
    a.group = 1;
    a.alpha = a.beta = 1.0f;
    a.min = -INFINITY;
    a.max = INFINITY;
    return a;
}

static inline void run(itg_op op, const itg_attrs *a, const itg_tensor *in, int in_count,
                       itg_tensor *out)
{
    itg_error err = {ITG_OK, ""};
    const itg_status status = itg_float_eval(op, a, in, in_count, out, 1, &err);
    if (status != ITG_OK) fail_msg("%s", err.message);
}

static inline void assert_same_bits(const itg_tensor *got, const itg_tensor *want)
{
    assert_memory_equal(got->data, want->data,
                        (size_t)count_of(want) * itg_dtype_size(want->dtype));
}

/* |got - want| <= tolerance * (1 + |want|), elementwise against doubles. */
static inline void assert_near(const float *got, const double *want, int64_t n, double tolerance)
{
    for (int64_t i = 0; i < n; ++i)
        if (!(fabs((double)got[i] - want[i]) <= tolerance * (1.0 + fabs(want[i]))))
            fail_msg("element %lld is %g, not %g", (long long)i, (double)got[i], want[i]);
}
#endif
