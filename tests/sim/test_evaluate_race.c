/* Evaluations that may stop early: at the sample that decides, whatever the threads and blocks are;
 * and samples in another order. */
#include "tests/labels.h"
#include "cli/passive.h"
#include "case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sim/evaluate.h"

enum { SAMPLES = 150, ELEMENTS = 4, MOST = 64 };

/* ---- a backend: three codes ---- */

typedef struct instance {
    int64_t block;
    int16_t codes[MOST][3];
} instance;

static itg_status create(const void *context, void **out, itg_error *err)
{
    instance *made = calloc(1, sizeof *made);
    (void)err;
    assert_non_null(made);
    made->block = *(const int64_t *)context;
    *out = made;
    return ITG_OK;
}

static void destroy(void *made)
{
    free(made);
}

static void compute(const float *x, int16_t *codes)
{
    for (int i = 0; i < 3; i++)
        codes[i] = (int16_t)(x[i] * 100);
}

static itg_status run_block(void *made, const itg_sample_source *source, int64_t first,
                            int64_t count, itg_error *err)
{
    instance *r = made;
    assert_true(count <= r->block && first % r->block == 0);
    for (int64_t k = 0; k < count; k++) {
        float x[ELEMENTS];
        assert_int_equal(source->fill(source->context, 0, first + k, x, err), ITG_OK);
        compute(x, r->codes[k]);
    }
    return ITG_OK;
}

static itg_tensor block_output(const void *made, int32_t index, int64_t k)
{
    const instance *r = made;
    assert_int_equal(index, 0);
    return (itg_tensor){ITG_S16, {2, {1, 3}}, (void *)(uintptr_t)r->codes[k]};
}

static const float scale = 0.0125f;
static const itg_quantizer quantizer_of_codes = {.bits = 16,
                                                 .is_signed = true,
                                                 .storage = ITG_S16,
                                                 .qmin = -32768,
                                                 .qmax = 32767,
                                                 .axis = -1,
                                                 .scale_count = 1,
                                                 .scale = &scale};

static const itg_quantizer *quantizer(const void *context, int32_t index)
{
    (void)context;
    (void)index;
    return &quantizer_of_codes;
}

static itg_tensor input(const void *context, int32_t index, const char **name)
{
    static const char *const names[] = {"x", "y"};
    (void)context;
    *name = names[index];
    return (itg_tensor){ITG_F32, {2, {1, ELEMENTS}}, NULL};
}

static itg_backend backend_of(const int64_t *block)
{
    return (itg_backend){.context = block,
                         .inputs = {NULL, 1, input},
                         .output_count = 1,
                         .create = create,
                         .destroy = destroy,
                         .quantizer = quantizer,
                         .block = *block,
                         .run = run_block,
                         .output = block_output};
}

/* ---- what to run, and what must come of it ---- */

typedef struct task {
    float elements[SAMPLES * ELEMENTS], values[SAMPLES * 3];
    int64_t labels[SAMPLES], others[SAMPLES], order[SAMPLES];
    char path[16];
    itg_dataset data;
    itg_preprocess preprocess;
    itg_reference reference;
    double power;
    itg_evaluation complete;
} task;

static const int64_t blocks[] = {1, 3, 16, 64};
static const int threads[] = {1, 2, 4};

static itg_evaluation evaluate(const task *t, itg_evaluate_options options, int64_t block)
{
    itg_backend backend = backend_of(&block);
    itg_evaluation out = {0};
    itg_error err = {0};
    options.data = &t->data;
    options.preprocess = &t->preprocess;
    const itg_dataset labels = labels_of(t->labels, t->data.shape.dims[0]);
    options.labels = &labels;
    options.float_classes = t->others;
    options.reference = &t->reference;
    if (itg_evaluate(&backend, &options, &out, &err) != ITG_OK) fail_msg("%s", err.message);
    return out;
}

static void make(task *t, uint64_t seed)
{
    itg_rng rng;
    itg_rng_init(&rng, seed);
    *t = (task){.path = "data.npy", .preprocess = itg_preprocess_default()};
    for (int i = 0; i < SAMPLES * ELEMENTS; i++)
        t->elements[i] = (float)random_real(&rng, -1, 1);
    for (int i = 0; i < SAMPLES * 3; i++)
        t->values[i] = (float)random_real(&rng, -1, 1);
    for (int64_t i = 0; i < SAMPLES; i++) {
        int64_t k = (int64_t)itg_rng_below(&rng, (uint64_t)i + 1);
        t->order[i] = t->order[k];
        t->order[k] = i;
        t->labels[i] = (int64_t)itg_rng_below(&rng, 3);
    }
    t->data = (itg_dataset){
        .dtype = ITG_F32, .shape = {2, {SAMPLES, ELEMENTS}}, .data = t->elements, .path = t->path};
    t->power = 7;
    t->reference = (itg_reference){.samples = SAMPLES,
                                   .elements = 3,
                                   .output_count = 1,
                                   .power = &t->power,
                                   .values = t->values};
    t->complete = evaluate(t, (itg_evaluate_options){.threads = 1}, 1);
    assert_int_equal(t->complete.stopped_at, 0);
    for (int64_t i = 0; i < SAMPLES; i++) {
        if (itg_rng_below(&rng, 4) > 0) t->labels[i] = t->complete.classes[i];
        t->others[i] = itg_rng_below(&rng, 3) > 0 ? t->complete.classes[i] : t->labels[i];
    }
    itg_evaluation_deinit(&t->complete);
    t->complete = evaluate(t, (itg_evaluate_options){.threads = 1}, 1);
}

/* Samples after which so many cannot be reached; SAMPLES: never before all of them were seen. */
static int64_t deciding(const task *t, const int64_t *wanted, int64_t least, const int64_t *order,
                        int64_t *most)
{
    int64_t missed = 0, seen = 0;
    do {
        int64_t sample = order ? order[seen] : seen;
        missed += t->complete.classes[sample] != wanted[sample];
        seen++;
    } while (seen < SAMPLES && missed <= SAMPLES - least);
    *most = SAMPLES - missed;
    return seen;
}

static void check_stopped(const task *t, const itg_evaluation *out, const int64_t *order)
{
    const unsigned char none[32] = {0};
    assert_true(isnan(out->distortion));
    assert_memory_equal(out->digest, none, sizeof none);
    for (int64_t i = 0; i < SAMPLES; i++) {
        int64_t sample = order ? order[i] : i;
        assert_int_equal(out->classes[sample],
                         i < out->stopped_at ? t->complete.classes[sample] : -1);
    }
}

static void check_complete(const task *t, const itg_evaluation *out)
{
    assert_int_equal(out->stopped_at, 0);
    assert_int_equal(out->hits[ITG_METRIC_TOP1], t->complete.hits[ITG_METRIC_TOP1]);
    assert_int_equal(out->hits[ITG_METRIC_AGREEMENT], t->complete.hits[ITG_METRIC_AGREEMENT]);
    assert_true(out->distortion == t->complete.distortion);
    assert_memory_equal(out->digest, t->complete.digest, 32);
    assert_memory_equal(out->classes, t->complete.classes, sizeof(int64_t) * SAMPLES);
}

static void check(const task *t, itg_evaluate_options options, int64_t at, int64_t most)
{
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
            options.threads = threads[k];
            itg_evaluation out = evaluate(t, options, blocks[b]);
            assert_int_equal(out.samples, SAMPLES);
            if (at == SAMPLES) {
                check_complete(t, &out);
            } else {
                assert_int_equal(out.stopped_at, at);
                assert_int_equal(options.least_hits[ITG_METRIC_TOP1]
                                     ? out.hits[ITG_METRIC_TOP1]
                                     : out.hits[ITG_METRIC_AGREEMENT],
                                 most);
                check_stopped(t, &out, options.order);
            }
            itg_evaluation_deinit(&out);
        }
}

/* ---- the tests ---- */

static void it_stops_at_the_sample_that_decides(void **state)
{
    (void)state;
    static task t;
    for (uint64_t seed = 0; seed < 3; seed++) {
        make(&t, seed);
        int64_t correct = t.complete.hits[ITG_METRIC_TOP1], most = 0;
        assert_true(correct > SAMPLES / 2 && correct < SAMPLES - 10);
        const int64_t least[] = {1,           correct - 1, correct,    correct + 1,
                                 correct + 2, SAMPLES,     SAMPLES + 1};
        for (size_t i = 0; i < sizeof least / sizeof *least; i++)
            for (int ordered = 0; ordered < 2; ordered++) {
                const int64_t *order = ordered ? t.order : NULL;
                itg_evaluate_options options = {.least_hits[ITG_METRIC_TOP1] = least[i],
                                                .order = order};
                int64_t at = deciding(&t, t.labels, least[i], order, &most);
                assert_true((least[i] <= correct) <= (at == SAMPLES));
                check(&t, options, at, most);
            }
        itg_evaluation_deinit(&t.complete);
    }
}

static void agreement_decides_as_well(void **state)
{
    (void)state;
    static task t;
    int64_t most = 0;
    make(&t, 7);
    for (int64_t least = t.complete.hits[ITG_METRIC_AGREEMENT] - 2;
         least < t.complete.hits[ITG_METRIC_AGREEMENT] + 12; least++) {
        int64_t at = deciding(&t, t.others, least, NULL, &most);
        check(&t, (itg_evaluate_options){.least_hits[ITG_METRIC_AGREEMENT] = least}, at, most);
    }
    itg_evaluation_deinit(&t.complete);
}

static void what_cannot_matter_at_all_is_known_after_one_sample(void **state)
{
    (void)state;
    static task t;
    make(&t, 9);
    itg_evaluation out = evaluate(
        &t, (itg_evaluate_options){.threads = 2, .least_hits[ITG_METRIC_TOP1] = SAMPLES + 1}, 16);
    assert_int_equal(out.stopped_at, 1);
    assert_true(out.hits[ITG_METRIC_TOP1] >= SAMPLES - 1);
    itg_evaluation_deinit(&out);
    itg_evaluation_deinit(&t.complete);
}

/* The least that the distortion can be grows with each sample, up to what it is. */
static void distortion_decides_as_well(void **state)
{
    (void)state;
    static task t;
    make(&t, 11);
    double last = 0;
    for (int i = 0; i < 40; i++) {
        double most = t.complete.distortion * i / 39;
        itg_evaluation first = {0};
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
            for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
                itg_evaluation out = evaluate(
                    &t, (itg_evaluate_options){.threads = threads[k], .most_distortion = &most},
                    blocks[b]);
                if (b == 0 && k == 0) first = out;
                assert_int_equal(out.stopped_at, first.stopped_at);
                assert_true(out.distortion == first.distortion);
                if (out.stopped_at == 0) check_complete(&t, &out);
                if (out.stopped_at > 0)
                    assert_true(out.distortion > most && out.distortion <= t.complete.distortion);
                if (b + k > 0) itg_evaluation_deinit(&out);
            }
        assert_true((first.stopped_at == 0) == (i == 39));
        assert_true(first.distortion >= last);
        if (i == 0) assert_int_equal(first.stopped_at, 1);
        last = first.distortion;
        itg_evaluation_deinit(&first);
    }
    itg_evaluation_deinit(&t.complete);
}

/* The first `count` samples of an order as a task of their own. */
static task first_of(const task *t, const int64_t *order, int64_t count)
{
    task first = *t;
    for (int64_t i = 0; i < count; i++) {
        const int64_t sample = order ? order[i] : i;
        memcpy(first.elements + i * ELEMENTS, t->elements + sample * ELEMENTS,
               ELEMENTS * sizeof *t->elements);
        memcpy(first.values + i * 3, t->values + sample * 3, 3 * sizeof *t->values);
        first.labels[i] = t->labels[sample];
        first.others[i] = t->others[sample];
    }
    first.data.shape.dims[0] = first.reference.samples = count;
    return first;
}

static void enough_samples_give_a_distortion_for_all(void **state)
{
    (void)state;
    static task t, first;
    static const int64_t enough[] = {1, 15, 16, 17, SAMPLES / 2, SAMPLES - 1, SAMPLES, 0};
    make(&t, 13);
    for (size_t i = 0; i < sizeof enough / sizeof *enough; i++)
        for (int ordered = 0; ordered < 2; ordered++) {
            const int64_t *order = ordered ? t.order : NULL;
            const int64_t n = enough[i] > 0 ? enough[i] : SAMPLES;
            first = first_of(&t, order, n);
            first.data.data = first.elements;
            first.reference.values = first.values;
            itg_evaluation alone = evaluate(&first, (itg_evaluate_options){.threads = 1}, 1);
            for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
                for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
                    itg_evaluation out =
                        evaluate(&t,
                                 (itg_evaluate_options){
                                     .threads = threads[k], .enough = enough[i], .order = order},
                                 blocks[b]);
                    if (n == SAMPLES) {
                        check_complete(&t, &out);
                        itg_evaluation_deinit(&out);
                        continue;
                    }
                    assert_int_equal(out.stopped_at, n);
                    assert_true(out.distortion == (double)SAMPLES / (double)n * alone.distortion);
                    assert_int_equal(out.hits[ITG_METRIC_TOP1],
                                     SAMPLES - n + alone.hits[ITG_METRIC_TOP1]);
                    for (int64_t s = 0; s < SAMPLES; s++)
                        assert_int_equal(out.classes[order ? order[s] : s],
                                         s < n ? alone.classes[s] : -1);
                    itg_evaluation_deinit(&out);
                }
            itg_evaluation_deinit(&alone);
        }
    itg_evaluation_deinit(&t.complete);
}

/* Sums of losses after each sample, in an order; the last place: of all. */
static void sum_losses(const task *t, const itg_expectation *e, const int64_t *order,
                       uint64_t sums[SAMPLES])
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < SAMPLES; i++) {
        int64_t sample = order ? order[i] : i;
        sum += e->loss[sample * 3 + t->complete.classes[sample]];
        sums[i] = sum;
    }
}

static void what_is_expected_decides_as_well(void **state)
{
    (void)state;
    static task t;
    static uint32_t loss[SAMPLES * 3];
    uint64_t sums[SAMPLES];
    itg_rng rng;
    make(&t, 31);
    itg_rng_init(&rng, 31);
    for (int i = 0; i < SAMPLES * 3; i++)
        loss[i] = (uint32_t)itg_rng_below(&rng, 1 << 20);
    const itg_expectation e = {SAMPLES, 3, loss, 0.8, 1, true};
    for (int i = 0; i < 20; i++) {
        const int64_t *order = i % 2 ? t.order : NULL;
        sum_losses(&t, &e, order, sums);
        double least = 0.8 - (0.8 - itg_expected_top1(&e, sums[SAMPLES - 1])) * i / 18;
        int64_t at = 0;
        while (at < SAMPLES && itg_expected_top1(&e, sums[at]) >= least)
            at++;
        itg_evaluate_options options = {
            .order = order, .expected = &e, .least_expected = least, .threads = threads[i % 3]};
        itg_evaluation out = evaluate(&t, options, blocks[i % 4]);
        assert_int_equal(out.stopped_at, at + 1 < SAMPLES ? at + 1 : 0);
        assert_true(out.lost == sums[out.stopped_at ? at : SAMPLES - 1]);
        if (out.stopped_at == 0) check_complete(&t, &out);
        itg_score score = itg_score_unknown();
        itg_score_quality(&out, &score);
        assert_true(score.value[ITG_METRIC_EXPECTED_TOP1] == itg_expected_top1(&e, out.lost));
        assert_true(score.value[ITG_METRIC_TOP1_BOUND] ==
                    (out.stopped_at > 0 ? score.value[ITG_METRIC_EXPECTED_TOP1]
                                        : itg_expected_bound(&e, out.lost, out.lost_squares)));
        itg_evaluation_deinit(&out);
    }
    itg_evaluation_deinit(&t.complete);
}

/* Digest, distortion and classes are those of the samples as they are. */
static void another_order_changes_no_result(void **state)
{
    (void)state;
    static task t;
    for (uint64_t seed = 20; seed < 24; seed++) {
        make(&t, seed);
        check(&t, (itg_evaluate_options){.order = t.order}, SAMPLES, 0);
        itg_evaluation_deinit(&t.complete);
    }
}

int main(int argc, char **argv)
{
    itg_be_passive(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_stops_at_the_sample_that_decides),
        cmocka_unit_test(agreement_decides_as_well),
        cmocka_unit_test(distortion_decides_as_well),
        cmocka_unit_test(enough_samples_give_a_distortion_for_all),
        cmocka_unit_test(what_is_expected_decides_as_well),
        cmocka_unit_test(what_cannot_matter_at_all_is_known_after_one_sample),
        cmocka_unit_test(another_order_changes_no_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
