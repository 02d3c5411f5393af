/* The expected top-1: probabilities that are fitted to labels, what other classes cost, its bound.
 */
#include "cli/passive.h"
#include "case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sim/expected.h"

enum { SAMPLES = 4000, CLASSES = 4 };
static const double temperature = 12.5;

typedef struct drawn {
    double p[SAMPLES][CLASSES]; /* of which the labels are drawn */
    float values[SAMPLES * CLASSES];
    int64_t labels[SAMPLES], own[SAMPLES];
    itg_reference reference;
} drawn;

static int64_t largest(const double *p)
{
    int64_t best = 0;
    for (int64_t i = 1; i < CLASSES; i++)
        if (p[i] > p[best]) best = i;
    return best;
}

/* Outputs whose softmax over the temperature is right. */
static void draw(drawn *d, uint64_t seed)
{
    itg_rng rng;
    itg_rng_init(&rng, seed);
    for (int s = 0; s < SAMPLES; s++) {
        double sum = 0, left = random_real(&rng, 0, 1);
        for (int i = 0; i < CLASSES; i++) {
            double logit = random_real(&rng, -3, 3);
            d->values[s * CLASSES + i] = (float)(logit * temperature);
            d->p[s][i] = exp(logit);
            sum += d->p[s][i];
        }
        d->labels[s] = CLASSES - 1;
        for (int i = CLASSES - 1; i >= 0; i--) {
            d->p[s][i] /= sum;
            left -= d->p[s][i];
            if (left >= 0) d->labels[s] = i > 0 ? i - 1 : 0;
        }
        d->own[s] = largest(d->p[s]);
    }
    d->reference = (itg_reference){
        .samples = SAMPLES, .elements = CLASSES, .output_count = 1, .values = d->values};
}

static itg_expectation made_of(const drawn *d, double confidence)
{
    itg_expectation e = {0};
    itg_error err = {0};
    if (itg_expectation_make(&d->reference, d->own, d->labels, confidence, &e, &err) != ITG_OK)
        fail_msg("%s", err.message);
    return e;
}

static void probabilities_are_those_of_the_labels(void **state)
{
    (void)state;
    static drawn d;
    draw(&d, 1);
    itg_expectation e = made_of(&d, 0.95);
    double far = 0;
    assert_int_equal(e.samples, SAMPLES);
    assert_int_equal(e.classes, CLASSES);
    for (int s = 0; s < SAMPLES; s++)
        for (int i = 0; i < CLASSES; i++) {
            double loss = d.p[s][d.own[s]] - d.p[s][i];
            far = fmax(far, fabs((double)e.loss[s * CLASSES + i] / ITG_LOSS_ONE - loss));
        }
    assert_true(far < 0.02); /* of 4,000 labels, the temperature is known to some per cent */
    itg_expectation_deinit(&e);
}

/* Counted and expected drop of a network that often takes the second class where it is close. */
static void what_is_expected_is_what_is_counted_on_average(void **state)
{
    (void)state;
    static drawn d;
    double apart = 0, squares = 0;
    enum { SETS = 30 };
    for (uint64_t seed = 0; seed < SETS; seed++) {
        draw(&d, 100 + seed);
        itg_expectation e = made_of(&d, 0.95);
        uint64_t lost = 0, lost_squares = 0;
        int64_t correct = 0;
        for (int s = 0; s < SAMPLES; s++) {
            double rest[CLASSES];
            memcpy(rest, d.p[s], sizeof rest);
            rest[d.own[s]] = 0;
            int64_t second = largest(rest),
                    taken = d.p[s][d.own[s]] - d.p[s][second] < 0.2 ? second : d.own[s];
            uint64_t loss = e.loss[s * CLASSES + taken];
            lost += loss;
            lost_squares += loss * loss;
            correct += taken == d.labels[s];
        }
        double counted = (double)correct / SAMPLES, expected = itg_expected_top1(&e, lost);
        double mean = (double)lost / ITG_LOSS_ONE / SAMPLES;
        double error = sqrt(
            ((double)lost_squares / ITG_LOSS_ONE / ITG_LOSS_ONE / SAMPLES - mean * mean) / SAMPLES);
        assert_true(fabs(e.top1 - mean - expected) < 1e-12);
        const double bound = itg_expected_bound(&e, lost, lost_squares);
        const double model = 0.4 * mean; /* what probabilities may say wrong */
        assert_true(fabs(expected - 1.6448536 * sqrt(error * error + model * model) - bound) <
                    0.3 / SAMPLES);
        assert_true(error < 0.002 && mean > 0.01);
        apart += counted - expected;
        squares += (counted - expected) * (counted - expected);
        itg_expectation_deinit(&e);
    }
    double deviation = sqrt(squares / SETS);
    assert_true(fabs(apart / SETS) < 3 * deviation / sqrt(SETS));
    assert_true(deviation > 0.004); /* of counting: the expectation is known much better */
}

static void confidence_sets_how_far_the_bound_is(void **state)
{
    (void)state;
    static drawn d;
    static const struct {
        double confidence, deviations;
    } normal[] = {{0.5, 0}, {0.8413447461, 1}, {0.95, 1.6448536270}, {0.9986501020, 3}};
    draw(&d, 3);
    for (size_t i = 0; i < sizeof normal / sizeof *normal; i++) {
        itg_expectation e = made_of(&d, normal[i].confidence);
        assert_true(fabs(e.deviations - normal[i].deviations) < 1e-6);
        double none = e.top1 - itg_expected_bound(&e, 0, 0); /* half a sample, and its deviation */
        assert_true(fabs(none - 0.5 * (1 + normal[i].deviations) / SAMPLES) < 0.001 / SAMPLES);
        assert_true(itg_expectation_supports(&e, none + 1e-9));
        assert_false(itg_expectation_supports(&e, none / 2));
        itg_expectation_deinit(&e);
    }
}

/* Probabilities may lie above top-1, and all be lost. */
static void nothing_is_worse_than_nothing(void **state)
{
    (void)state;
    const itg_expectation e = {.samples = 10, .classes = 2, .top1 = 0.7, .deviations = 1.6};
    const uint64_t most = 10 * (uint64_t)ITG_LOSS_ONE;
    assert_true(itg_expected_top1(&e, most) == 0 && itg_expected_top1(&e, most / 2) > 0.19);
    assert_true(itg_expected_bound(&e, most, most << 20) == 0);
}

static void a_network_that_is_always_right_loses_all_that_changes(void **state)
{
    (void)state;
    static drawn d;
    draw(&d, 4);
    memcpy(d.labels, d.own, sizeof d.labels);
    itg_expectation e = made_of(&d, 0.95);
    assert_true(e.top1 == 1);
    for (int s = 0; s < SAMPLES; s++)
        for (int i = 0; i < CLASSES; i++)
            assert_int_equal(e.loss[s * CLASSES + i], i == d.own[s] ? 0 : ITG_LOSS_ONE);
    itg_expectation_deinit(&e);
}

static void labels_that_do_not_fit_give_no_expectation(void **state)
{
    (void)state;
    static drawn d;
    draw(&d, 5);
    for (int s = 0; s < SAMPLES; s++) { /* the least likely one */
        for (int i = 0; i < CLASSES; i++)
            d.p[s][i] = -d.p[s][i];
        d.labels[s] = largest(d.p[s]);
    }
    itg_expectation e = made_of(&d, 0.95);
    assert_int_equal(e.samples, 0);
    draw(&d, 6);
    for (int s = 0; s < SAMPLES; s++) { /* sure and right, or unsure and always wrong */
        float *x = &d.values[s * CLASSES];
        memset(x, 0, sizeof *x * CLASSES);
        x[0] = s % 2 ? 100 : 1;
        d.own[s] = 0;
        d.labels[s] = s % 2 ? 0 : 1;
    }
    e = made_of(&d, 0.95);
    assert_int_equal(e.samples, 0);
    d.reference.values = NULL; /* too many to be kept */
    e = made_of(&d, 0.95);
    assert_int_equal(e.samples, 0);
}

int main(int argc, char **argv)
{
    itg_be_passive(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_are_those_of_the_labels),
        cmocka_unit_test(what_is_expected_is_what_is_counted_on_average),
        cmocka_unit_test(confidence_sets_how_far_the_bound_is),
        cmocka_unit_test(nothing_is_worse_than_nothing),
        cmocka_unit_test(a_network_that_is_always_right_loses_all_that_changes),
        cmocka_unit_test(labels_that_do_not_fit_give_no_expectation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
