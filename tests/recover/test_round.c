/* Codes of small channels against all codes there are. */
#include "recover/round.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { N = 4, CHANNELS = 2 };

typedef struct problem {
    double h[N * N], v[CHANNELS][N], c[CHANNELS][N], e[CHANNELS][N], up[CHANNELS][N],
        down[CHANNELS][N];
    int32_t order[N], q[CHANNELS][N], best[CHANNELS * N];
    itg_round_channel channels[CHANNELS];
    itg_round round;
} problem;

static void make(problem *p, uint64_t seed, int64_t channels, int32_t lo, int32_t hi,
                 bool power_of_two)
{
    itg_rng rng;
    double a[N * N];
    itg_rng_init(&rng, seed);
    memset(p, 0, sizeof *p);
    for (int i = 0; i < N * N; i++)
        a[i] = itg_rng_unit(&rng) * 2 - 0.5; /* inputs that go together */
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            p->h[i * N + j] = i == j ? 0.05 : 0;
            for (int k = 0; k < N; k++)
                p->h[i * N + j] += a[i * N + k] * a[j * N + k];
        }
    for (int i = 0; i < N; i++)
        p->order[i] = i;
    for (int64_t ch = 0; ch < channels; ch++) {
        for (int i = 0; i < N; i++)
            p->v[ch][i] = itg_rng_unit(&rng) * 2 - 1;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                p->c[ch][i] += p->h[i * N + j] * p->v[ch][j];
        p->channels[ch] = (itg_round_channel){p->h,     p->order, p->v[ch],  p->c[ch],
                                              p->q[ch], p->e[ch], p->up[ch], p->down[ch]};
    }
    p->round = (itg_round){.channels = p->channels,
                           .count = channels,
                           .n = N,
                           .lo = lo,
                           .hi = hi,
                           .step = 1,
                           .power_of_two = power_of_two,
                           .best = p->best};
}

/* (v - s q) H (v - s q)', by definition. */
static double error_of(const problem *p, int64_t ch, const int32_t *q, double s)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += (p->v[ch][i] - s * q[i]) * p->h[i * N + j] * (p->v[ch][j] - s * q[j]);
    return sum;
}

/* The least error of one channel over all codes at scale s. */
static double least_error(const problem *p, int64_t ch, double s)
{
    int32_t count = (p->round.hi - p->round.lo) / p->round.step + 1, total = 1, q[N];
    double least = DBL_MAX;
    for (int i = 0; i < N; i++)
        total *= count;
    for (int32_t k = 0; k < total; k++) {
        for (int32_t i = 0, rest = k; i < N; i++, rest /= count)
            q[i] = p->round.lo + rest % count * p->round.step;
        double e = error_of(p, ch, q, s);
        if (e < least) least = e;
    }
    return least;
}

static double total_error(const problem *p)
{
    double sum = 0;
    for (int64_t ch = 0; ch < p->round.count; ch++)
        sum += error_of(p, ch, p->q[ch], (double)p->round.scale);
    return sum;
}

static double zero_error(const problem *p)
{
    static const int32_t zeros[N];
    double sum = 0;
    for (int64_t ch = 0; ch < p->round.count; ch++)
        sum += error_of(p, ch, zeros, 1);
    return sum;
}

static double nearest_error(problem *p)
{
    double sum = 0, most = 0;
    for (int i = 0; i < N; i++) {
        double a = p->v[0][i] > 0 ? p->v[0][i] : -p->v[0][i];
        if (a > most) most = a;
    }
    double s = most / p->round.hi;
    int32_t q[N];
    for (int i = 0; i < N; i++) {
        double x = p->v[0][i] / s;
        q[i] = (int32_t)(x < 0 ? x - 0.5 : x + 0.5);
    }
    sum += error_of(p, 0, q, s);
    return sum;
}

/* The energy that is reported is the error, less that of zeros; the codes are in their range; at
 * the scale that was found hardly any others are better. */
static void codes_are_near_the_best(void **state)
{
    (void)state;
    int best = 0, cases = 300;
    double found = 0, nearest = 0;
    for (int i = 0; i < cases; i++) {
        problem p;
        make(&p, (uint64_t)i, 1, -2, 1, false);
        itg_round_search(&p.round, 1);
        assert_false(p.round.zero);
        for (int k = 0; k < N; k++)
            assert_true(p.q[0][k] >= -2 && p.q[0][k] <= 1);
        double e = total_error(&p), energy = itg_round_energy(&p.round) + zero_error(&p);
        assert_true(energy - e < 1e-9 && e - energy < 1e-9);
        double least = least_error(&p, 0, (double)p.round.scale);
        assert_true(least <= e + 1e-12);
        best += e <= least + 1e-9;
        found += e;
        nearest += nearest_error(&p);
    }
    assert_true(best > cases * 9 / 10);
    assert_true(found < nearest / 3);
}

/* The same of signs. */
static void signs_are_near_the_best(void **state)
{
    (void)state;
    int best = 0, cases = 300;
    double found = 0, nearest = 0;
    for (int i = 0; i < cases; i++) {
        problem p;
        double mean = 0;
        int32_t signs[N];
        make(&p, (uint64_t)i, 1, -1, 1, i % 2 == 1);
        p.round.step = 2;
        itg_round_search(&p.round, 1);
        assert_false(p.round.zero);
        const double e = total_error(&p), energy = itg_round_energy(&p.round) + zero_error(&p);
        assert_true(energy - e < 1e-9 && e - energy < 1e-9);
        const double least = least_error(&p, 0, (double)p.round.scale);
        assert_true(least <= e + 1e-12);
        for (int n = 0; n < N; n++) {
            assert_true(p.q[0][n] == -1 || p.q[0][n] == 1);
            signs[n] = p.v[0][n] < 0 ? -1 : 1;
            mean += fabs(p.v[0][n]) / N;
        }
        best += e <= least + 1e-9;
        found += e;
        nearest += error_of(&p, 0, signs, mean);
    }
    assert_true(best > cases * 9 / 10);
    assert_true(found < nearest);
}

static void fixed_scale(void **state)
{
    (void)state;
    double found = 0, least = 0;
    for (uint64_t i = 0; i < 50; i++) {
        problem p;
        make(&p, i, 1, -3, 3, false);
        p.round.scale = 0.25f;
        itg_round_codes(&p.round, 1);
        assert_true(p.round.scale == 0.25f);
        found += total_error(&p);
        least += least_error(&p, 0, 0.25);
    }
    assert_true(found <= least * 1.1);
}

static void shared_scale(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 50; i++) {
        problem p;
        make(&p, i, CHANNELS, -8, 7, false);
        itg_round_search(&p.round, 1);
        assert_false(p.round.zero);
        double apart = 0;
        for (int64_t ch = 0; ch < CHANNELS; ch++)
            apart += least_error(&p, ch, (double)p.round.scale);
        assert_true(total_error(&p) <= apart * 1.5 + 1e-9);
    }
}

static void powers_of_two(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 50; i++) {
        problem p;
        make(&p, i, CHANNELS, -8, 7, true);
        itg_round_search(&p.round, 1);
        assert_false(p.round.zero);
        uint32_t bits;
        memcpy(&bits, &p.round.scale, sizeof bits);
        assert_int_equal(bits & 0x7fffff, 0);
        for (double s = 0.5; s > 0.01; s /= 2) { /* others of the scales that are tried */
            problem other = p;
            for (int64_t ch = 0; ch < CHANNELS; ch++) {
                other.channels[ch].q = other.q[ch];
                other.channels[ch].e = other.e[ch];
                other.channels[ch].up = other.up[ch];
                other.channels[ch].down = other.down[ch];
            }
            other.round.channels = other.channels;
            other.round.scale = (float)s;
            itg_round_codes(&other.round, 1);
            assert_true(total_error(&p) <= total_error(&other) * 1.6 + 1e-9);
        }
    }
}

static void point_into(problem *p)
{
    for (int64_t ch = 0; ch < CHANNELS; ch++)
        p->channels[ch] = (itg_round_channel){p->h,     p->order, p->v[ch],  p->c[ch],
                                              p->q[ch], p->e[ch], p->up[ch], p->down[ch]};
    p->round.channels = p->channels;
    p->round.best = p->best;
}

/* What problems give does not depend on the others that they go on together with. */
static void together_as_alone(void **state)
{
    enum { COUNT = 5 };
    problem alone[COUNT], all[COUNT];
    itg_round rounds[COUNT];
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        for (uint64_t k = 0; k < COUNT; k++) {
            make(&alone[k], seed * COUNT + k, CHANNELS, -4, 3, seed % 4 == 3);
            if (k == 2) { /* all zeros among others */
                memset(alone[k].v, 0, sizeof alone[k].v);
                memset(alone[k].c, 0, sizeof alone[k].c);
            }
            all[k] = alone[k];
            point_into(&all[k]);
            rounds[k] = all[k].round;
            itg_round_search(&alone[k].round, 1);
        }
        itg_round_search(rounds, COUNT);
        for (int k = 0; k < COUNT; k++) {
            assert_int_equal(rounds[k].zero, k == 2);
            assert_int_equal(alone[k].round.zero, k == 2);
            if (k == 2) continue;
            assert_true(rounds[k].scale == alone[k].round.scale);
            assert_memory_equal(all[k].q, alone[k].q, sizeof alone[k].q);
            assert_memory_equal(all[k].e, alone[k].e, sizeof alone[k].e);
        }
    }
}

static bool is_stopped(void *context)
{
    return --*(int *)context < 0;
}

static void stops(void **state)
{
    (void)state;
    int left = 3;
    const itg_stop stop = {is_stopped, &left};
    problem p;
    make(&p, 5, CHANNELS, -4, 3, false);
    p.round.stop = &stop;
    itg_round_search(&p.round, 1);
    assert_true(p.round.stopped);
    assert_int_equal(left, -1); /* it is asked no more */
}

/* ---- large channels ---- */

enum { LARGE_N = 1024, SHAPES = 3 };

/* Sums of so many uniform numbers, to a power: flat, bell-shaped, with outliers. */
static double weight_of(itg_rng *rng, int shape)
{
    double sum = 0;
    for (int i = 0; i < (shape == 0 ? 1 : 6); i++)
        sum += itg_rng_unit(rng) * 2 - 1;
    return shape == 2 ? sum * sum * sum : sum;
}

/* The error where H is 1: of the nearest codes, with the scale that suits them. */
static double grid_error(const double *v, int32_t lo, int32_t hi, double scale)
{
    double vv = 0, vq = 0, qq = 0;
    for (int i = 0; i < LARGE_N; i++) {
        const double x = v[i] / scale, q = x < lo ? lo : x > hi ? hi : nearbyint(x);
        vv += v[i] * v[i];
        vq += v[i] * q;
        qq += q * q;
    }
    return qq > 0 ? vv - vq * vq / qq : vv;
}

static double least_grid_error(const double *v, int32_t lo, int32_t hi)
{
    double most = 0, least = DBL_MAX;
    for (int i = 0; i < LARGE_N; i++)
        most = fmax(most, fmax(v[i] / hi, v[i] / lo));
    for (int k = 100; k >= 30; k--)
        least = fmin(least, grid_error(v, lo, hi, most * k / 100));
    return least;
}

/* Not all scales are tried, but the best ones are found. */
static void large_channels(void **state)
{
    static double h[LARGE_N * LARGE_N], v[SHAPES][LARGE_N], e[SHAPES][LARGE_N], up[SHAPES][LARGE_N],
        down[SHAPES][LARGE_N];
    static int32_t order[LARGE_N], q[SHAPES][LARGE_N], best[SHAPES][LARGE_N];
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 11);
    for (int i = 0; i < LARGE_N; i++) {
        h[i * LARGE_N + i] = 1;
        order[i] = i;
        for (int k = 0; k < SHAPES; k++)
            v[k][i] = weight_of(&rng, k);
    }
    for (int32_t hi = 1; hi <= 7; hi = 2 * hi + 1) {
        itg_round_channel channels[SHAPES];
        itg_round rounds[SHAPES];
        for (int k = 0; k < SHAPES; k++) {
            channels[k] = (itg_round_channel){h, order, v[k], v[k], q[k], e[k], up[k], down[k]};
            rounds[k] = (itg_round){.channels = &channels[k],
                                    .count = 1,
                                    .n = LARGE_N,
                                    .lo = -hi - 1,
                                    .hi = hi,
                                    .step = 1,
                                    .best = best[k]};
        }
        itg_round_search(rounds, SHAPES);
        for (int k = 0; k < SHAPES; k++) {
            double error = 0;
            for (int i = 0; i < LARGE_N; i++) {
                const double x = v[k][i] - (double)rounds[k].scale * q[k][i];
                error += x * x;
            }
            assert_true(error < 1.02 * least_grid_error(v[k], -hi - 1, hi));
        }
    }
}

static void nothing_to_round(void **state)
{
    (void)state;
    problem p;
    make(&p, 1, 1, -2, 1, false);
    memset(p.v, 0, sizeof p.v);
    memset(p.c, 0, sizeof p.c);
    itg_round_search(&p.round, 1);
    assert_true(p.round.zero);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(codes_are_near_the_best),
                                       cmocka_unit_test(signs_are_near_the_best),
                                       cmocka_unit_test(fixed_scale),
                                       cmocka_unit_test(shared_scale),
                                       cmocka_unit_test(powers_of_two),
                                       cmocka_unit_test(large_channels),
                                       cmocka_unit_test(nothing_to_round),
                                       cmocka_unit_test(together_as_alone),
                                       cmocka_unit_test(stops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
