/* The nth allocation fails: the kernel says so, leaks nothing, and works the next time. malloc is
 * wrapped by the linker. */
#include "float_cases.h"

static int allocations_left = -1; /* -1: no limit */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    if (allocations_left == 0) return NULL;
    if (allocations_left > 0) --allocations_left;
    return __real_malloc(size);
}

/* Runs with 0, 1, 2... allowed allocations until it succeeds; it must have failed at least once. */
static void exhaust(itg_op op, const itg_attrs *attrs, const itg_tensor *in, int count,
                    itg_tensor *out)
{
    itg_status status = ITG_NO_MEMORY;
    for (int allowed = 0; status != ITG_OK; ++allowed) {
        itg_error err = {ITG_OK, ""};
        allocations_left = allowed;
        status = itg_float_eval(op, attrs, in, count, out, 1, &err);
        allocations_left = -1;
        assert_true(status == ITG_OK ? allowed > 0 : status == ITG_NO_MEMORY);
        assert_true(allowed < 10);
    }
}

static void every_temporary_may_be_refused(void **state)
{
    float data[64] = {0}, result[64];
    itg_attrs attrs = attributes();
    (void)state;
    attrs.kernel[0] = attrs.kernel[1] = 2;
    const itg_tensor conv[2] = {view(ITG_F32, data, DIMS(1, 2, 3, 3)),
                                view(ITG_F32, data, DIMS(2, 2, 2, 2))};
    itg_tensor out = view(ITG_F32, result, DIMS(1, 2, 2, 2));
    exhaust(ITG_OP_CONV, &attrs, conv, 2, &out);
    exhaust(ITG_OP_AVERAGE_POOL, &attrs, conv, 1, &out);
    const itg_tensor matrices[2] = {view(ITG_F32, data, DIMS(4, 4)),
                                    view(ITG_F32, data, DIMS(4, 4))};
    itg_tensor product = view(ITG_F32, result, DIMS(4, 4));
    exhaust(ITG_OP_GEMM, &attrs, matrices, 2, &product);
    exhaust(ITG_OP_MATMUL, &attrs, matrices, 2, &product);
    exhaust(ITG_OP_SOFTMAX, &attrs, matrices, 1, &product);
    itg_tensor sum = view(ITG_F32, result, DIMS(1));
    exhaust(ITG_OP_REDUCE_SUM, &attrs, matrices, 1, &sum);
    const itg_tensor layer[3] = {matrices[0], view(ITG_F32, data, DIMS(4)),
                                 view(ITG_F32, data, DIMS(4))};
    attrs.axis = 1;
    exhaust(ITG_OP_LAYER_NORMALIZATION, &attrs, layer, 3, &product);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_temporary_may_be_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
