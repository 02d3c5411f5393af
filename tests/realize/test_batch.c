/* Blocks give what single samples give with the reference kernels, in every bit: random programs,
 * all kernel sets, block sizes, with and without reuse. */
#include "random_program.h"
#include "networks.h"
#include "realize/batch.h"
#include "tests/slow.h"
#include <stdlib.h>

enum { SAMPLES = 20, PROGRAMS = ITG_IS_SLOW ? 75 : 300, RARER_PROGRAMS = ITG_IS_SLOW ? 20 : 60 };

/* Samples and what the program makes of each. */
typedef struct expected {
    itg_program *p;
    int64_t elements[4];
    float *x[4];          /* [SAMPLES][elements] of each input */
    unsigned char *y[16]; /* [SAMPLES][bytes] of each output */
    size_t bytes[16];
} expected;

static expected expect(itg_program *p, uint64_t seed)
{
    expected e = {.p = p};
    single *instance = fx_instance(p);
    itg_rng rng;
    itg_rng_init(&rng, seed);
    assert_true(p->input_count <= 4 && p->output_count <= 16);
    for (int32_t i = 0; i < p->input_count; i++) {
        e.elements[i] = p->values[p->inputs[i]].elements;
        e.x[i] = malloc((size_t)(e.elements[i] * SAMPLES) * sizeof(float));
        for (int64_t k = 0; k < e.elements[i] * SAMPLES; k++)
            e.x[i][k] = (float)(itg_rng_unit(&rng) * 40 - 20);
    }
    for (int32_t i = 0; i < p->output_count; i++) {
        itg_tensor t = single_output(instance, i);
        e.bytes[i] = itg_tensor_bytes(&t);
        e.y[i] = malloc(e.bytes[i] * SAMPLES);
    }
    for (int64_t k = 0; k < SAMPLES; k++) {
        for (int32_t i = 0; i < p->input_count; i++)
            memcpy(single_input(instance, i), e.x[i] + k * e.elements[i],
                   (size_t)e.elements[i] * sizeof(float));
        fx_run(instance);
        for (int32_t i = 0; i < p->output_count; i++)
            memcpy(e.y[i] + (size_t)k * e.bytes[i], single_output(instance, i).data, e.bytes[i]);
    }
    single_destroy(instance);
    return e;
}

static void expect_end(expected *e)
{
    for (int32_t i = 0; i < e->p->input_count; i++)
        free(e->x[i]);
    for (int32_t i = 0; i < e->p->output_count; i++)
        free(e->y[i]);
    itg_program_destroy(e->p);
}

static itg_status fill(void *context, int32_t index, int64_t sample, void *to, itg_error *err)
{
    (void)err;
    const expected *e = context;
    memcpy(to, e->x[index] + sample * e->elements[index],
           (size_t)e->elements[index] * sizeof(float));
    return ITG_OK;
}

static void check_outputs(const expected *e, const itg_batch *b, int64_t first, int64_t count,
                          const itg_batch_plan *plan, const char *what)
{
    for (int64_t k = 0; k < count; k++)
        for (int32_t i = 0; i < e->p->output_count; i++) {
            itg_tensor t = itg_batch_output(b, i, k);
            assert_int_equal(itg_tensor_bytes(&t), e->bytes[i]);
            if (memcmp(t.data, e->y[i] + (size_t)(first + k) * e->bytes[i], e->bytes[i]) == 0)
                continue;
            itg_strbuf text = {0};
            itg_program_print(e->p, &text);
            itg_batch_plan_print(plan, &text);
            printf("%s", text.text);
            itg_strbuf_deinit(&text);
            fail_msg("%s: output %d of sample %lld differs", what, i, (long long)(first + k));
        }
}

/* All samples through one batch. */
static void run_all(const expected *e, const itg_batch_plan *plan, itg_batch *b,
                    itg_cache *activations, const char *what)
{
    itg_batch_io io = {fill, (void *)(uintptr_t)e, activations, activations != NULL, NULL};
    int64_t block = itg_batch_plan_block(plan);
    itg_error err = {0};
    for (int64_t first = 0; first < SAMPLES; first += block) {
        int64_t count = SAMPLES - first < block ? SAMPLES - first : block;
        if (itg_batch_run(b, &(itg_block){7, first, count}, &io, &err) != ITG_OK)
            fail_msg("%s: %s", what, err.message);
        check_outputs(e, b, first, count, plan, what);
    }
}

static itg_batch_plan *plan_in_parts(const itg_program *p, const itg_accel_kernels *kernels,
                                     int64_t block, size_t part_bytes, itg_cache *weights)
{
    itg_batch_plan *plan = NULL;
    itg_error err = {0};
    itg_batch_options options = {kernels, block, weights, part_bytes};
    if (itg_batch_plan_create(p, &options, &plan, &err) != ITG_OK) fail_msg("%s", err.message);
    return plan;
}

static itg_batch_plan *plan_of(const itg_program *p, const itg_accel_kernels *kernels,
                               int64_t block, itg_cache *weights)
{
    return plan_in_parts(p, kernels, block, 0, weights);
}

static itg_batch *batch_of(const itg_batch_plan *plan)
{
    itg_batch *b = NULL;
    assert_int_equal(itg_batch_create(plan, &b, NULL), ITG_OK);
    return b;
}

static itg_cache *cache_of(size_t bytes)
{
    itg_cache *cache = NULL;
    assert_int_equal(itg_cache_create(bytes, &cache, NULL), ITG_OK);
    return cache;
}

static void check_kernels(const expected *e, const itg_accel_kernels *kernels, itg_cache *weights,
                          itg_rng *rng, const char *what)
{
    static const int64_t blocks[] = {1, 3, 16, 64};
    for (int i = 0; i < 4; i++) {
        const size_t part = (size_t)itg_rng_below(rng, 3) * (1 + (size_t)itg_rng_below(rng, 4000));
        itg_batch_plan *plan = plan_in_parts(e->p, kernels, blocks[i], part, weights);
        itg_batch *b = batch_of(plan);
        run_all(e, plan, b, NULL, what);
        itg_cache *cache = cache_of(itg_rng_below(rng, 3) * itg_rng_below(rng, 20000));
        for (int turn = 0; turn < 3; turn++)
            run_all(e, plan, b, cache, what);
        itg_batch_destroy(b);
        itg_batch_plan_destroy(plan);
        itg_cache_destroy(cache);
    }
}

/* Every set that this machine has. */
static void check_program(itg_program *p, uint64_t seed, itg_cache *weights)
{
    expected e = expect(p, seed);
    itg_rng rng;
    char what[80];
    itg_rng_init(&rng, seed);
    for (int i = 0; itg_accel_set(i) != NULL; i++) {
        const itg_accel_kernels *kernels = NULL;
        if (itg_accel_choose(itg_accel_set(i), &kernels, NULL) != ITG_OK) continue;
        snprintf(what, sizeof what, "seed %llu, %s", (unsigned long long)seed, itg_accel_set(i));
        check_kernels(&e, kernels, weights, &rng, what);
    }
    expect_end(&e);
}

static void random_programs_agree(void **state)
{
    (void)state;
    itg_cache *weights = cache_of(1 << 20);
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
        check_program(random_program(seed), seed, weights);
    itg_cache_stats stats = itg_cache_statistics(weights);
    assert_true(stats.bytes <= 1 << 20);
    itg_cache_destroy(weights);
}

static void programs_of_rarer_forms_agree(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RARER_PROGRAMS; seed++)
        check_program(random_form_program(seed), seed, NULL);
}

static void fixtures_agree(void **state)
{
    (void)state;
    static const network networks[] = NETWORKS;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        fixture f = networks[i]();
        itg_program *p = fx_program(&f);
        fx_end(&f);
        check_program(p, 500 + i, NULL);
    }
}

static void broadcast_float_sums_keep_their_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        check_program(broadcast_sum_program(seed), seed, NULL);
}

/* ---- reuse ---- */

static const itg_accel_kernels *best(void)
{
    const itg_accel_kernels *kernels = NULL;
    assert_int_equal(itg_accel_choose(NULL, &kernels, NULL), ITG_OK);
    return kernels;
}

static void a_second_run_computes_nothing(void **state)
{
    (void)state;
    expected e = expect(random_program(3), 3);
    itg_batch_plan *plan = plan_of(e.p, best(), 16, NULL);
    itg_batch *b = batch_of(plan);
    itg_cache *cache = cache_of(1 << 24);
    run_all(&e, plan, b, cache, "first");
    itg_batch_counts first = itg_batch_statistics(b);
    assert_true(first.computed > 0 && first.kept > 0);
    run_all(&e, plan, b, cache, "second");
    itg_batch_counts second = itg_batch_statistics(b);
    assert_int_equal(second.computed, first.computed);
    assert_true(second.fetched > first.fetched);
    itg_batch_destroy(b);
    itg_batch_plan_destroy(plan);
    itg_cache_destroy(cache);
    expect_end(&e);
}

/* Another source, another first sample: nothing is shared, though the program is the same. */
static void other_samples_share_nothing(void **state)
{
    (void)state;
    expected e = expect(random_program(3), 3);
    itg_batch_plan *plan = plan_of(e.p, best(), 4, NULL);
    itg_batch *b = batch_of(plan);
    itg_cache *cache = cache_of(1 << 24);
    itg_batch_io io = {fill, &e, cache, true, NULL};
    const itg_block blocks[] = {{7, 0, 4}, {8, 0, 4}, {7, 4, 4}, {7, 0, 3}};
    int64_t computed = 0;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(itg_batch_run(b, &blocks[i], &io, NULL), ITG_OK);
        check_outputs(&e, b, blocks[i].first, blocks[i].count, plan, "block");
        itg_batch_counts now = itg_batch_statistics(b);
        if (i == 0) computed = now.computed;
        assert_int_equal(now.computed, computed * (i + 1));
        assert_int_equal(now.fetched, 0);
    }
    itg_batch_destroy(b);
    itg_batch_plan_destroy(plan);
    itg_cache_destroy(cache);
    expect_end(&e);
}

/* Programs that share their beginning, one constant apart: what lies before it is not computed
 * again, what lies behind it is. */
static itg_program *one_weight_apart(uint64_t seed, int64_t change)
{
    itg_program *p = random_program(seed);
    for (int32_t i = p->step_count - 1; i >= 0; i--) {
        const itg_step *s = &p->steps[i];
        if (s->kind != ITG_STEP_MATMUL) continue;
        itg_pvalue *w = &p->values[s->inputs[1]];
        itg_store(w->dtype, (void *)(uintptr_t)w->data, 0, w->q.qmin + change);
        return p;
    }
    return p;
}

static void a_changed_weight_changes_what_is_behind_it(void **state)
{
    (void)state;
    itg_cache *cache = cache_of(1 << 24);
    int64_t all = 0;
    for (int64_t change = 0; change < 2; change++) {
        expected e = expect(one_weight_apart(3, change), 3);
        itg_batch_plan *plan = plan_of(e.p, best(), 32, NULL);
        itg_batch *b = batch_of(plan);
        run_all(&e, plan, b, cache, "changed weight");
        itg_batch_counts counts = itg_batch_statistics(b);
        if (change == 0) all = counts.computed;
        if (change == 1) assert_true(counts.computed < all && counts.fetched > 0);
        if (change == 1) assert_true(counts.computed >= 1);
        itg_batch_destroy(b);
        itg_batch_plan_destroy(plan);
        expect_end(&e);
    }
    itg_cache_destroy(cache);
}

/* ---- threads ---- */

typedef struct shared {
    const expected *e;
    const itg_batch_plan *plan;
    itg_cache *cache;
    itg_batch *batches[4];
} shared;

static itg_status run_turn(void *context, int worker, int64_t item, itg_error *err)
{
    shared *s = context;
    int64_t block = itg_batch_plan_block(s->plan), blocks = (SAMPLES + block - 1) / block;
    int64_t first = item % blocks * block;
    int64_t count = SAMPLES - first < block ? SAMPLES - first : block;
    itg_batch_io io = {fill, (void *)(uintptr_t)s->e, s->cache, true, NULL};
    itg_status status = itg_batch_run(s->batches[worker], &(itg_block){7, first, count}, &io, err);
    if (status == ITG_OK) check_outputs(s->e, s->batches[worker], first, count, s->plan, "threads");
    return status;
}

static void threads_share_plan_and_caches(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        expected e = expect(random_program(seed), seed);
        itg_cache *weights = cache_of(1000), *cache = cache_of(30000);
        itg_batch_plan *plan = plan_of(e.p, best(), 3, weights);
        shared s = {&e, plan, cache, {0}};
        for (int i = 0; i < 4; i++)
            s.batches[i] = batch_of(plan);
        assert_int_equal(itg_parallel_for(4, 60, run_turn, &s, NULL), ITG_OK);
        for (int i = 0; i < 4; i++)
            itg_batch_destroy(s.batches[i]);
        itg_batch_plan_destroy(plan);
        itg_cache_destroy(cache);
        itg_cache_destroy(weights);
        expect_end(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_agree),
        cmocka_unit_test(programs_of_rarer_forms_agree),
        cmocka_unit_test(fixtures_agree),
        cmocka_unit_test(broadcast_float_sums_keep_their_order),
        cmocka_unit_test(a_second_run_computes_nothing),
        cmocka_unit_test(other_samples_share_nothing),
        cmocka_unit_test(a_changed_weight_changes_what_is_behind_it),
        cmocka_unit_test(threads_share_plan_and_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
