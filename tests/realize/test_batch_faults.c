/* The nth allocation fails, for every n until none does: plans and batches say so and leave nothing
 * behind; runs go on, and only keep less, unless they multiply two computed operands. */
#include "random_program.h"
#include "realize/batch.h"
#include "tests/faults.h"

typedef struct subject {
    itg_program *p;
    const itg_accel_kernels *kernels;
} subject;

static itg_cache *cache_of(size_t bytes)
{
    itg_cache *cache = NULL;
    assert_int_equal(itg_cache_create(bytes, &cache, NULL), ITG_OK);
    return cache;
}

/* True: no allocation failed. */
static bool spared(itg_status status, const itg_error *err, const void *out)
{
    bool is_spared = calls_left >= 0;
    calls_left = -1;
    assert_int_equal(status, is_spared ? ITG_OK : ITG_NO_MEMORY);
    if (!is_spared) assert_int_equal(err->code, ITG_NO_MEMORY);
    assert_int_equal(out != NULL, is_spared);
    return is_spared;
}

static bool plans(const subject *s, itg_cache *weights, int left)
{
    itg_batch_options options = {.kernels = s->kernels, .block = 3, .weights = weights};
    itg_batch_plan *plan = NULL;
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = itg_batch_plan_create(s->p, &options, &plan, &err);
    if (weights != NULL && status == ITG_OK) { /* a cache that cannot grow keeps less */
        bool is_spared = calls_left >= 0;
        calls_left = -1;
        itg_batch_plan_destroy(plan);
        return is_spared;
    }
    bool done = spared(status, &err, plan);
    itg_batch_plan_destroy(plan);
    return done;
}

static bool makes_batches(const itg_batch_plan *plan, int left)
{
    itg_batch *b = NULL;
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = itg_batch_create(plan, &b, &err);
    bool done = spared(status, &err, b);
    itg_batch_destroy(b);
    return done;
}

static bool caches(int left)
{
    itg_cache *cache = NULL;
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = itg_cache_create(100, &cache, &err);
    bool done = spared(status, &err, cache);
    itg_cache_destroy(cache);
    return done;
}

static itg_status fill(void *context, int32_t index, int64_t sample, void *to, itg_error *err)
{
    const itg_program *p = context;
    float *x = to;
    (void)err;
    for (int64_t i = 0; i < p->values[p->inputs[index]].elements; i++)
        x[i] = (float)((i * 7 + sample) % 11) - 5;
    return ITG_OK;
}

static bool runs(const subject *s, itg_batch *b, int left)
{
    itg_cache *activations = cache_of(1 << 20);
    itg_batch_io io = {fill, s->p, activations, true, NULL};
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = itg_batch_run(b, &(itg_block){1, 0, 3}, &io, &err);
    bool done = calls_left >= 0;
    calls_left = -1;
    if (!done && status == ITG_NO_MEMORY) { /* of a product of computed operands */
        itg_cache_destroy(activations);
        return false;
    }
    assert_int_equal(status, ITG_OK);
    itg_tensor y = itg_batch_output(b, 0, 2);
    single *plain = fx_instance(s->p);
    fill(s->p, 0, 2, single_input(plain, 0), NULL);
    fx_run(plain);
    itg_tensor z = single_output(plain, 0);
    assert_memory_equal(y.data, z.data, itg_tensor_bytes(&z));
    single_destroy(plain);
    /* What is held goes back before its cache does. */
    io.activations = NULL;
    assert_int_equal(itg_batch_run(b, &(itg_block){1, 0, 1}, &io, &err), ITG_OK);
    itg_cache_destroy(activations);
    return done;
}

static void check(uint64_t seed, const itg_accel_kernels *kernels)
{
    subject s = {random_program(seed), kernels};
    itg_cache *weights = cache_of(1000);
    int n = 0;
    while (!plans(&s, NULL, n))
        n++;
    assert_true(n > 3);
    for (n = 0; !plans(&s, weights, n);)
        n++;
    itg_batch_options options = {.kernels = kernels, .block = 3, .weights = weights};
    itg_batch_plan *plan = NULL;
    itg_batch *b = NULL;
    assert_int_equal(itg_batch_plan_create(s.p, &options, &plan, NULL), ITG_OK);
    for (n = 0; !makes_batches(plan, n);)
        n++;
    assert_true(n > 3);
    assert_int_equal(itg_batch_create(plan, &b, NULL), ITG_OK);
    for (n = 0; !runs(&s, b, n);)
        n++;
    itg_batch_destroy(b);
    itg_batch_plan_destroy(plan);
    itg_cache_destroy(weights);
    itg_program_destroy(s.p);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    const itg_accel_kernels *kernels = NULL, *reference = NULL;
    assert_int_equal(itg_accel_choose(NULL, &kernels, NULL), ITG_OK);
    assert_int_equal(itg_accel_choose("reference", &reference, NULL), ITG_OK);
    int n = 0;
    while (!caches(n))
        n++;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        check(seed, reference);
        check(seed, kernels);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
