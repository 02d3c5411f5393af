/* Whole searches of a small network: the same on every thread count and after every interruption,
 * blind to hold-out labels, honest where a goal is not met. */
#include "tests/labels.h"
#include "cli/passive.h"
#include "wanted.h"
#include "network.h"
#include "realize/tile.h"
#include "search/search.h"
#include "tests/slow.h"
#include <setjmp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MOST 64
#define DIMS 32

/* Everything a search leaves but what the clock says. */
typedef struct record {
    int64_t count;
    int32_t points[MOST][DIMS];
    itg_trial trials[MOST];
    char errors[MOST][512];
    itg_trial best;
    int32_t best_point[DIMS];
    bool has_best, goal_met, has_hago;
    int32_t front_count;
    int64_t front[MOST];
    itg_score scores[7]; /* float, uniform 8, hago on both sets; the best on the hold-out */
    char limited_by[512], stop_reason[32];
    char *strategy;
} record;

static itg_status keep_trial(void *context, const itg_trial *trial, itg_error *err)
{
    record *r = context;
    (void)err;
    assert_true(r->count < MOST && trial->dim_count <= DIMS);
    assert_true(trial->index < MOST);
    itg_trial *kept = &r->trials[trial->index];
    *kept = *trial;
    kept->point = memcpy(r->points[trial->index], trial->point,
                         sizeof *trial->point * (size_t)trial->dim_count);
    if (trial->error) {
        snprintf(r->errors[trial->index], sizeof r->errors[0], "%s", trial->error);
        kept->error = r->errors[trial->index];
    }
    r->count++;
    return ITG_OK;
}

static void keep_score(const itg_score *score, itg_score *out)
{
    if (score) *out = *score;
}

static bool asked_to_stop(void *context)
{
    return ++*(int *)context > 2;
}

/* What the search says of memory is what the program needs that its strategy becomes: by stripes
 * where it exceeds the limit. */
static void check_memory(const small_network *n, const itg_search_options *o,
                         const itg_strategy_file *file, int64_t peak)
{
    const itg_goal goal = itg_goal_on(&o->goal, itg_strategy_hardware(file));
    const int64_t most = (int64_t)itg_goal_limit(&goal, ITG_METRIC_PEAK_ACTIVATION_BYTES);
    itg_annotated *annotated = NULL;
    itg_program *program = NULL;
    itg_stripes stripes;
    itg_tiling tiling;
    int64_t bytes = -1;
    assert_int_equal(itg_annotate_strategy(n->model, file, &annotated, NULL), ITG_OK);
    assert_int_equal(itg_realize_program(annotated, NULL, &program, NULL), ITG_OK);
    assert_int_equal(itg_program_ram_bytes(program, &bytes, NULL), ITG_OK);
    if (most > 0 && bytes > most) {
        int tries = 0;
        const itg_stop stop = {asked_to_stop, &tries};
        const itg_status chosen = itg_stripes_choose(program, most, NULL, &stripes, &tiling, NULL);
        assert_true(chosen == ITG_OK || chosen == ITG_UNSUPPORTED); /* float nodes have none */
        if (chosen == ITG_OK) bytes = tiling.bytes;
        const itg_status stopped =
            itg_stripes_choose(program, most, &stop, &stripes, &tiling, NULL);
        assert_int_equal(stopped, tries > 2 ? ITG_CANCELLED : chosen);
        assert_true(tries <= 3);
    }
    assert_int_equal(bytes, peak);
    itg_program_destroy(program);
    itg_annotated_destroy(annotated);
}

static void keep_result(const small_network *n, const itg_search_options *o,
                        itg_search_result *result, record *r)
{
    const itg_trial *best = itg_search_best(result);
    r->has_best = best != NULL;
    if (best) {
        r->best = *best;
        check_memory(n, o, itg_search_strategy(result),
                     (int64_t)best->score.value[ITG_METRIC_PEAK_ACTIVATION_BYTES]);
        memcpy(r->best_point, best->point, sizeof *best->point * (size_t)best->dim_count);
        assert_int_equal(
            itg_strategy_text(itg_search_strategy(result), n->model, &r->strategy, NULL), ITG_OK);
    }
    for (int i = 0; i < 2; i++) {
        keep_score(itg_search_float(result, i), &r->scores[i]);
        keep_score(itg_search_uniform8(result, i), &r->scores[2 + i]);
        keep_score(itg_search_hago(result, i), &r->scores[4 + i]);
    }
    keep_score(itg_search_best_holdout(result), &r->scores[6]);
    r->has_hago = itg_search_hago(result, false) != NULL;
    r->goal_met = itg_search_goal_met(result);
    r->front_count = itg_search_front_count(result);
    for (int32_t i = 0; i < r->front_count; i++)
        r->front[i] = itg_search_front_at(result, i)->index;
    snprintf(r->limited_by, sizeof r->limited_by, "%s", itg_search_limited_by(result));
    snprintf(r->stop_reason, sizeof r->stop_reason, "%s", itg_search_stop_reason(result));
}

static itg_status try_search(const small_network *n, const itg_search_data *data,
                             const itg_search_options *o, record *r, itg_error *err)
{
    itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = r, .trial = keep_trial};
    itg_search_result *result = NULL;
    free(r->strategy);
    memset(r, 0, sizeof *r);
    itg_status status = itg_search(n->model, n->hw, &n->preprocess, data, o, &hooks, &result, err);
    if (status != ITG_OK) return status;
    assert_int_equal(itg_search_trial_count(result), r->count + o->replay_count);
    keep_result(n, o, result, r);
    itg_search_result_destroy(result);
    return ITG_OK;
}

static void search_with(const small_network *n, const itg_search_data *data,
                        const itg_search_options *o, record *r)
{
    itg_error err = {0};
    if (try_search(n, data, o, r, &err) != ITG_OK) fail_msg("%s: %s", o->searcher, err.message);
}

static void search(const small_network *n, const itg_search_options *o, record *r)
{
    itg_search_data data = small_network_data(n);
    search_with(n, &data, o, r);
}

/* ---- stopping ---- */

typedef struct stopping {
    int64_t asked, from;   /* times; from that one on the answer is yes */
    int64_t before_trials; /* times before the first trial was finished */
    int64_t trials;
    bool hurries;
} stopping;

static bool stops(void *context)
{
    stopping *s = context;
    return ++s->asked >= s->from;
}

static bool hurries(void *context)
{
    const stopping *s = context;
    return s->hurries && s->asked >= s->from;
}

static itg_status count_trial(void *context, const itg_trial *trial, itg_error *err)
{
    stopping *s = context;
    (void)trial;
    (void)err;
    if (s->trials++ == 0) s->before_trials = s->asked;
    return ITG_OK;
}

static itg_status search_until(const small_network *n, stopping *s, itg_search_result **out)
{
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION,
                            .recover = ITG_RECOVER_NONE,
                            .searcher = "random",
                            .goal = goal_of((aim){.max_drop = 0.05}),
                            .trials = 60,
                            .calibration_samples = 16,
                            .search_samples = 16,
                            .threads = 1};
    itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = s, .trial = count_trial,
                              .cancelled = stops, .hurry = hurries};
    itg_search_data data = small_network_data(n);
    itg_error err = {0};
    itg_status status = itg_search(n->model, n->hw, &n->preprocess, &data, &o, &hooks, out, &err);
    if (status == ITG_CANCELLED) assert_non_null(strstr(err.message, "before the first trial"));
    return status;
}

/* Every stage asks before each piece of its work, and none goes on after a yes. */
static void a_search_stops_wherever_it_is_asked_to(void **state)
{
    small_network made, *n = &made;
    (void)state;
    small_network_make(1, "cortex-m", 120, n);
    stopping whole = {.from = INT64_MAX};
    itg_search_result *result = NULL;
    int kinds[2] = {0, 0};
    assert_int_equal(search_until(n, &whole, &result), ITG_OK);
    itg_search_result_destroy(result);
    assert_true(whole.before_trials > 16 + 3); /* samples to calibrate on, and the scores */
    for (int64_t from = 1; from < whole.asked; from += 1 + from / 4) {
        stopping s = {.from = from, .hurries = true};
        result = NULL;
        itg_status status = search_until(n, &s, &result);
        assert_true(status == (s.trials > 0 || result ? ITG_OK : ITG_CANCELLED));
        assert_true(s.asked < from + 4);
        kinds[status == ITG_OK]++;
        if (status != ITG_OK) continue;
        assert_string_equal(itg_search_stop_reason(result), "cancelled");
        assert_true(itg_search_trial_count(result) == s.trials && s.trials < 60);
        if (itg_search_best(result)) {
            assert_non_null(itg_search_strategy(result));
            assert_null(itg_search_best_holdout(result));
        }
        itg_search_result_destroy(result);
    }
    assert_true(kinds[0] > 3 && kinds[1] > 0);
    small_network_end(n);
}

static void check_same_trial(const itg_trial *a, const itg_trial *b)
{
    assert_int_equal(a->index, b->index);
    assert_int_equal(a->round, b->round);
    assert_int_equal(a->dim_count, b->dim_count);
    assert_memory_equal(a->point, b->point, sizeof *a->point * (size_t)a->dim_count);
    assert_int_equal(a->feasible, b->feasible);
    assert_memory_equal(&a->score, &b->score, sizeof a->score);
    assert_true((a->error == NULL) == (b->error == NULL));
    if (a->error) assert_string_equal(a->error, b->error);
}

/* first: b's trials begin there. */
static void check_same(const record *a, const record *b, int64_t first)
{
    assert_int_equal(a->count, first + b->count);
    for (int64_t i = first; i < a->count; i++)
        check_same_trial(&a->trials[i], &b->trials[i]);
    assert_int_equal(a->has_best, b->has_best);
    assert_int_equal(a->goal_met, b->goal_met);
    assert_int_equal(a->has_hago, b->has_hago);
    assert_memory_equal(a->scores, b->scores, sizeof a->scores);
    assert_string_equal(a->limited_by, b->limited_by);
    assert_string_equal(a->stop_reason, b->stop_reason);
    if (!a->has_best) return;
    assert_int_equal(a->best.index, b->best.index);
    assert_memory_equal(a->best_point, b->best_point, sizeof a->best_point);
    assert_memory_equal(&a->best.score, &b->best.score, sizeof a->best.score);
    assert_string_equal(a->strategy, b->strategy);
}

/* ---- goals ---- */

static void fill_methods(itg_search_options *o)
{
    o->weight_methods.values[0] = o->activation_methods.values[0] = ITG_THRESHOLD_MSE;
    o->weight_methods.values[1] = o->activation_methods.values[1] = ITG_THRESHOLD_MAX;
    o->activation_methods.values[2] = ITG_THRESHOLD_PERCENTILE;
    o->weight_methods.count = 2;
    o->activation_methods.count = 3;
}

/* Goals of every kind, by a seed: costs, floors, limits that are met, and some that are not. */
static itg_search_options random_options(const record *full, uint64_t seed)
{
    itg_rng rng;
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION, .recover = ITG_RECOVER_NONE, .trials = 30,
                            .seed = seed, .threads = 1};
    itg_rng_init(&rng, seed);
    aim w = {.maximize_quality = itg_rng_below(&rng, 3) == 0};
    w.minimize = (itg_metric)itg_rng_below(&rng, 5);
    w.max_drop = w.maximize_quality && itg_rng_below(&rng, 2) ? -1 : 0.15 * itg_rng_unit(&rng);
    for (int k = 0; k < 5; k++)
        if (w.maximize_quality ? k == 0 || itg_rng_below(&rng, 2) : itg_rng_below(&rng, 3) == 0)
            w.limits[k] = full->scores[2].value[k] * (0.2 + itg_rng_unit(&rng));
    o.goal = goal_of(w);
    if (itg_rng_below(&rng, 2)) fill_methods(&o);
    if (itg_rng_below(&rng, 2)) o.patience = 10 + (int64_t)itg_rng_below(&rng, 20);
    o.hago_baseline = itg_rng_below(&rng, 4) == 0;
    return o;
}

/* exhaustive takes small spaces alone. */
static void narrow(itg_search_options *o)
{
    if (strcmp(o->searcher, "exhaustive") != 0) return;
    o->weight_bits = (itg_bits_range){4, 6};
    o->activation_bits = (itg_bits_range){7, 8};
    o->weight_methods.count = o->activation_methods.count = 0;
}

static itg_search_options plain(const char *searcher)
{
    itg_search_options o = {ITG_SEARCH_OPTIONS_VERSION,
                            .recover = ITG_RECOVER_NONE,
                            .goal = goal_of((aim){.max_drop = 0.05}),
                            .trials = 30,
                            .seed = 1,
                            .threads = 1};
    snprintf(o.searcher, sizeof o.searcher, "%s", searcher);
    return o;
}

/* ---- tests ---- */

/* Each of them, also those that were stopped early; the best is what the search returned. */
static void every_trial_gives_its_strategy_again(void **state)
{
    static record r;
    small_network n;
    itg_error err = {0};
    (void)state;
    small_network_make(2, "cortex-m", 48, &n);
    itg_search_options o = plain("random");
    itg_search_data data = small_network_data(&n);
    itg_search_result *result = NULL;
    int64_t raced = 0, feasible = 0;
    search(&n, &o, &r);
    assert_int_equal(itg_search(n.model, n.hw, &n.preprocess, &data, &o, NULL, &result, &err),
                     ITG_OK);
    assert_null(itg_search_trial_at(result, -1));
    assert_null(itg_search_trial_at(result, r.count));
    for (int64_t i = 0; i < r.count; i++) {
        const itg_trial *t = itg_search_trial_at(result, i);
        itg_strategy_file *file = NULL;
        char *text = NULL;
        check_same_trial(t, &r.trials[i]);
        itg_status status = itg_search_strategy_at(n.model, n.hw, &n.preprocess, &data, &o,
                                                   itg_search_trial_at(result, 0), i, &file, &err);
        assert_int_equal(status == ITG_OK, t->feasible);
        if (status != ITG_OK) continue;
        feasible++;
        raced += t->score.stopped_at > 0;
        assert_int_equal(itg_strategy_text(file, n.model, &text, NULL), ITG_OK);
        if (i == r.best.index)
            assert_string_equal(text, r.strategy);
        else if (!t->duplicate)
            assert_string_not_equal(text, r.strategy);
        itg_free(text);
        itg_strategy_close(file);
    }
    assert_true(feasible > 3 && raced > 0);
    itg_trial other = *itg_search_best(result);
    itg_strategy_file *none = NULL;
    other.score.digest[5] ^= 1;
    assert_int_equal(
        itg_search_strategy_at(n.model, n.hw, &n.preprocess, &data, &o, &other, 0, &none, &err),
        ITG_MISMATCH);
    other.dim_count--;
    assert_int_equal(
        itg_search_strategy_at(n.model, n.hw, &n.preprocess, &data, &o, &other, 0, &none, &err),
        ITG_MISMATCH);
    assert_null(none);
    itg_search_result_destroy(result);
    free(r.strategy);
    small_network_end(&n);
}

/* Several dtypes and specs for the same widths, and float. */
#define CHOICES "tests/independent/hardware/choices.json"

static void allow_float(const char *target, itg_search_options *o)
{
    if (strcmp(target, CHOICES) != 0) return;
    if (strcmp(o->searcher, "exhaustive") == 0)
        o->weight_bits = o->activation_bits = (itg_bits_range){8, 8};
    else
        snprintf(o->allow_float, sizeof o->allow_float, "*");
}

static void check_threads(const char *target, uint64_t seeds)
{
    static record one, many;
    small_network n;
    small_network_make(1, target, 120, &n);
    itg_search_options o = plain("random");
    search(&n, &o, &one);
    const record full = one;
    one.strategy = NULL;
    for (int i = 0; i < itg_searcher_count(); i++)
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            o = random_options(&full, seed * 100 + (uint64_t)i);
            snprintf(o.searcher, sizeof o.searcher, "%s", itg_searcher_name(i));
            narrow(&o);
            allow_float(target, &o);
            o.recover = seed == seeds ? ITG_RECOVER_ROUND : ITG_RECOVER_NONE;
            search(&n, &o, &one);
            for (o.threads = 2; o.threads <= 4; o.threads += 2) {
                search(&n, &o, &many);
                check_same(&one, &many, 0);
            }
        }
    free(full.strategy);
    free(one.strategy);
    free(many.strategy);
    one.strategy = many.strategy = NULL; /* they are used again */
    small_network_end(&n);
}

static void any_thread_count_gives_the_same_search(void **state)
{
    (void)state;
    check_threads("cortex-m", ITG_IS_SLOW ? 2 : 4);
    check_threads(CHOICES, 1);
}

static void check_interruptions(const char *target, uint64_t seeds)
{
    static record all, rest;
    small_network n;
    small_network_make(2, target, 48, &n);
    itg_search_options o = plain("random");
    search(&n, &o, &all);
    const record full = all;
    all.strategy = NULL;
    for (int i = 0; i < itg_searcher_count(); i++)
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            o = random_options(&full, seed * 1000 + (uint64_t)i);
            snprintf(o.searcher, sizeof o.searcher, "%s", itg_searcher_name(i));
            narrow(&o);
            allow_float(target, &o);
            o.recover = seed == seeds && i % 3 == 0 ? ITG_RECOVER_AUTO : ITG_RECOVER_NONE;
            search(&n, &o, &all);
            for (int64_t k = 0; k <= all.count; k++) {
                itg_search_options again = o;
                again.replay = all.trials;
                again.replay_count = k;
                again.threads = 1 + (int)(k % 2);
                search(&n, &again, &rest);
                check_same(&all, &rest, k);
            }
        }
    free(full.strategy);
    free(all.strategy);
    free(rest.strategy);
    all.strategy = rest.strategy = NULL; /* they are used again */
    small_network_end(&n);
}

static void every_interruption_resumed_gives_the_same_search(void **state)
{
    (void)state;
    check_interruptions("cortex-m", ITG_IS_SLOW ? 1 : 2);
    check_interruptions(CHOICES, 1);
}

/* With codes of weights, greedy goes through a second round. */
static itg_search_options in_rounds(double max_drop)
{
    itg_search_options o = plain("greedy");
    o.recover = ITG_RECOVER_ROUND;
    o.weight_bits = (itg_bits_range){2, 5};
    o.activation_bits = (itg_bits_range){8, 8};
    o.trials = 0;
    o.goal = goal_of((aim){.max_drop = max_drop});
    return o;
}

static void a_later_round_begins_at_the_best_with_its_own_codes(void **state)
{
    static record all;
    small_network n;
    (void)state;
    small_network_make(2, "cortex-m", 48, &n);
    itg_search_options o = in_rounds(0.3);
    search(&n, &o, &all);
    int64_t first = 0;
    const itg_trial *best = NULL;
    while (first < all.count && all.trials[first].round == 0) {
        const itg_trial *t = &all.trials[first++];
        double bytes = t->score.value[ITG_METRIC_WEIGHT_BYTES];
        if (t->meets_goal && (!best || bytes < best->score.value[ITG_METRIC_WEIGHT_BYTES]))
            best = t;
    }
    assert_true(first > 0 && first < all.count);
    const itg_trial *t = &all.trials[first];
    assert_int_equal(t->round, 1);
    assert_memory_equal(t->point, best->point, sizeof *t->point * (size_t)t->dim_count);
    assert_false(t->duplicate);
    assert_memory_not_equal(t->score.digest, best->score.digest, 32);
    for (int64_t i = first; i < all.count; i++)
        for (int32_t d = 0; d < t->dim_count; d++)
            assert_true(all.trials[i].point[d] <= t->point[d]);
    free(all.strategy);
    small_network_end(&n);
}

/* Scales and biases are tuned on at least so many samples; then there is a last round. */
#define TUNED 128
#define TUNED_DROP 0.1

/* An earlier round's trial of the same point, or one of this round that may have been widened. */
static bool is_beginning_of(const itg_trial *earlier, const itg_trial *t)
{
    bool same = true, wider = true;
    for (int32_t d = 0; d < t->dim_count; d++) {
        same = same && t->point[d] == earlier->point[d];
        wider = wider && t->point[d] >= earlier->point[d];
    }
    return earlier->round < t->round ? same : wider && !same;
}

static bool hastens(void *context)
{
    (void)context;
    return true;
}

/* A resumed search has to make the codes of its best again, and does so where time is short. */
static void check_haste(const small_network *n, const itg_search_options *o, const record *all)
{
    const itg_search_data data = small_network_data(n);
    const itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .hurry = hastens};
    itg_search_result *result = NULL;
    itg_search_options again = *o;
    again.replay = all->trials;
    again.replay_count = all->count;
    assert_int_equal(
        itg_search(n->model, n->hw, &n->preprocess, &data, &again, &hooks, &result, NULL), ITG_OK);
    assert_int_equal(itg_search_best(result)->index, all->best.index);
    assert_non_null(itg_search_strategy(result));
    assert_null(itg_search_best_holdout(result));
    itg_search_result_destroy(result);
}

static void the_last_round_gives_cheaper_trials_codes_of_their_own(void **state)
{
    static record all;
    int64_t own = 0, cheaper = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        small_network n;
        double least = INFINITY;
        const itg_trial *best = NULL, *last = NULL;
        itg_search_options o = in_rounds(TUNED_DROP);
        small_network_make(seed, "cortex-m", 3 * TUNED, &n);
        o.calibration_samples = TUNED;
        search(&n, &o, &all);
        for (int64_t i = 0; i < all.count; i++) {
            const itg_trial *t = &all.trials[i];
            const double bytes = t->score.value[ITG_METRIC_WEIGHT_BYTES];
            bool known = false;
            if (t->round == ITG_ROUND_OWN) {
                assert_true(bytes < least);
                for (int64_t k = 0; k < i; k++)
                    known = known || is_beginning_of(&all.trials[k], t);
                assert_true(known);
                last = t;
                own++;
            } else {
                assert_null(last);
                if (t->meets_goal) least = fmin(least, bytes);
            }
            if (t->meets_goal && (!best || bytes < best->score.value[ITG_METRIC_WEIGHT_BYTES]))
                best = t;
        }
        assert_non_null(best);
        if (best->round == ITG_ROUND_OWN) { /* it stays as it was scored */
            assert_int_equal(all.best.index, best->index);
            assert_memory_equal(&all.best.score, &best->score, sizeof best->score);
            check_haste(&n, &o, &all);
            cheaper++;
        }
        free(all.strategy);
        all.strategy = NULL;
        small_network_end(&n);
    }
    assert_true(own > 0 && cheaper > 0);
}

static void check_rounds(int64_t samples, int64_t calibration, int32_t last_round)
{
    static record all, rest;
    small_network n;
    itg_error err = {0};
    small_network_make(2, "cortex-m", samples, &n);
    itg_search_options o = in_rounds(last_round == ITG_ROUND_OWN ? TUNED_DROP : 0.3);
    o.calibration_samples = calibration;
    itg_search_data data = small_network_data(&n);
    search(&n, &o, &all);
    for (int64_t i = 0; i < all.count; i++) {
        itg_strategy_file *file = NULL;
        if (all.trials[i].round == 0 || !all.trials[i].feasible) continue;
        if (itg_search_strategy_at(n.model, n.hw, &n.preprocess, &data, &o, all.trials, i, &file,
                                   &err) != ITG_OK)
            fail_msg("trial %d: %s", (int)i, err.message);
        itg_strategy_close(file);
    }
    assert_true(all.count > 0);
    assert_int_equal(all.trials[all.count - 1].round, last_round);
    for (int64_t k = 0; k <= all.count; k++) {
        itg_search_options again = o;
        again.replay = all.trials;
        again.replay_count = k;
        again.threads = 1 + (int)(k % 2);
        search(&n, &again, &rest);
        check_same(&all, &rest, k);
    }
    free(all.strategy);
    free(rest.strategy);
    all.strategy = rest.strategy = NULL; /* they are used again */
    small_network_end(&n);
}

static void trials_of_later_rounds_give_their_strategies_again_and_resume(void **state)
{
    (void)state;
    check_rounds(48, 0, ITG_ROUND_BEST);
    check_rounds(3 * TUNED, TUNED, ITG_ROUND_OWN);
}

static void hold_out_labels_change_only_what_is_reported_of_them(void **state)
{
    static record right, wrong;
    small_network n;
    (void)state;
    small_network_make(3, "cortex-m", 100, &n);
    itg_search_data shuffled = small_network_data(&n);
    int64_t count = itg_data_samples(n.holdout), *labels = malloc(sizeof *labels * (size_t)count);
    for (int64_t i = 0; i < count; i++)
        labels[i] = (((int64_t *)n.holdout_labels->data)[i] + 1 + i % 4) % 5; /* all wrong */
    const itg_dataset wrong_labels = labels_of(labels, count);
    shuffled.holdout_labels = &wrong_labels;
    for (int i = 0; i < itg_searcher_count(); i++) {
        itg_search_options o = plain(itg_searcher_name(i));
        narrow(&o);
        o.hago_baseline = true;
        search(&n, &o, &right);
        search_with(&n, &shuffled, &o, &wrong);
        assert_true(right.scores[6].value[ITG_METRIC_TOP1] !=
                    wrong.scores[6].value[ITG_METRIC_TOP1]);
        assert_true(right.scores[1].value[ITG_METRIC_TOP1] !=
                    wrong.scores[1].value[ITG_METRIC_TOP1]);
        for (int k = 1; k < 7; k++)
            if (k % 2 || k == 6)
                wrong.scores[k].value[ITG_METRIC_TOP1] = right.scores[k].value[ITG_METRIC_TOP1];
        if (right.goal_met) strcpy(wrong.limited_by, right.limited_by); /* of the hold-out */
        free(wrong.strategy); /* holds the hold-out's top-1 */
        wrong.strategy = right.strategy;
        check_same(&right, &wrong, 0);
        wrong.strategy = NULL;
    }
    free(labels);
    free(right.strategy);
    small_network_end(&n);
}

static void a_log_of_another_network_is_refused(void **state)
{
    static record all, rest;
    small_network n;
    itg_error err = {0};
    (void)state;
    small_network_make(4, "cortex-m", 60, &n);
    itg_search_data data = small_network_data(&n);
    itg_search_options o = plain("random");
    search(&n, &o, &all);
    o.replay = all.trials;
    o.replay_count = 10;
    o.seed = 2;
    assert_int_equal(try_search(&n, &data, &o, &rest, &err), ITG_MISMATCH);
    assert_non_null(strstr(err.message, "trial 1 of the log")); /* trial 0: the widest, always */
    o.seed = 1;
    o.weight_bits = (itg_bits_range){8, 8};
    assert_int_equal(try_search(&n, &data, &o, &rest, &err), ITG_MISMATCH);
    free(all.strategy);
    small_network_end(&n);
}

/* Whether trial i is at least as good as j in every objective. */
static bool is_no_worse(const itg_goal *goal, const record *r, int64_t i, int64_t j)
{
    for (int32_t k = 0; k < goal->objective_count; k++) {
        double a = itg_score_get(&r->trials[i].score, goal->objectives[k]),
               b = itg_score_get(&r->trials[j].score, goal->objectives[k]);
        if (itg_metric_about(goal->objectives[k])->up ? a < b : a > b) return false;
    }
    return true;
}

/* Where quality is one of several objectives, the front has all of it; else what keeps the floor.
 */
static bool suits_front(const itg_goal *goal, const record *r, int64_t i)
{
    bool quality = false;
    for (int k = 0; k < goal->objective_count; k++)
        quality = quality || goal->objectives[k] == ITG_METRIC_ACCURACY;
    return quality ? r->trials[i].feasible : r->trials[i].meets_goal;
}

/* By all trials: no other one is better, and no earlier one as good. */
static bool is_on_front(const itg_goal *goal, const record *r, int64_t i)
{
    if (!suits_front(goal, r, i)) return false;
    for (int64_t j = 0; j < r->count; j++)
        if (j != i && suits_front(goal, r, j) && is_no_worse(goal, r, j, i) &&
            (j < i || !is_no_worse(goal, r, i, j)))
            return false;
    return true;
}

static void the_front_of_several_objectives_is_that_of_all_trials(void **state)
{
    static record all, raced;
    static const itg_goal goals[] = {
        {.objectives = {ITG_METRIC_WEIGHT_BYTES, ITG_METRIC_ACCURACY}, .objective_count = 2},
        {.objectives = {ITG_METRIC_ACCURACY, ITG_METRIC_BOPS, ITG_METRIC_WEIGHT_BYTES},
         .objective_count = 3},
        {.objectives = {ITG_METRIC_BOPS, ITG_METRIC_WEIGHT_BYTES}, .objective_count = 2},
        {.objectives = {ITG_METRIC_WEIGHT_BYTES}, .objective_count = 1}};
    int most = 0;
    (void)state;
    for (size_t g = 0; g < sizeof goals / sizeof *goals; g++)
        for (int floor = 0; floor < 2; floor++) {
            small_network n;
            small_network_make(4, "cortex-m", 60, &n);
            itg_search_options o = plain("random");
            o.trials = 40;
            o.goal = goals[g];
            if (floor) drop(&o.goal, 0.1);
            search(&n, &o, &raced);
            o.no_racing = true;
            search(&n, &o, &all);
            int32_t found = 0;
            for (int64_t i = 0; i < all.count && goals[g].objective_count > 1; i++)
                if (is_on_front(&goals[g], &all, i)) assert_int_equal(all.front[found++], i);
            if (goals[g].objective_count == 1 && all.goal_met)
                assert_int_equal(all.front[found++], all.best.index);
            assert_int_equal(found, all.front_count);
            assert_int_equal(raced.front_count, all.front_count);
            assert_memory_equal(raced.front, all.front, sizeof(int64_t) * (size_t)found);
            assert_memory_equal(raced.points, all.points, sizeof all.points);
            assert_int_equal(raced.best.index, all.best.index);
            if (found > most) most = found;
            small_network_end(&n);
        }
    assert_true(most > 2);
}

static void goals_that_cannot_be_met_are_explained(void **state)
{
    static record r;
    small_network n;
    char expected[256];
    (void)state;
    small_network_make(5, "cortex-m", 80, &n);
    itg_search_options o = plain("greedy");
    limit(&o.goal, ITG_METRIC_WEIGHT_BYTES, 10);
    search(&n, &o, &r);
    assert_false(r.goal_met);
    assert_true(r.has_best);
    /* 296 weights at 2 bits: convolutions 72 and 144, Gemm 80 */
    assert_string_equal(r.limited_by,
                        "the narrowest widths that cortex-m allows here still take 74 weight "
                        "bytes, the limit is 10");
    o = plain("greedy");
    limit(&o.goal, ITG_METRIC_CYCLES, 1);
    search(&n, &o, &r);
    assert_non_null(strstr(r.limited_by, "no width changes what the network takes on cortex-m: "));
    assert_non_null(strstr(r.limited_by, " cycles, the limit is 1"));
    o = plain("greedy");
    o.weight_bits = o.activation_bits = (itg_bits_range){2, 2};
    drop(&o.goal, 0);
    search(&n, &o, &r);
    snprintf(expected, sizeof expected,
             "the widest widths that cortex-m allows here lose %.2f points of top-1 (trial 0), "
             "0.00 are allowed",
             100 * (r.scores[0].value[ITG_METRIC_TOP1] - r.best.score.value[ITG_METRIC_TOP1]));
    assert_true(r.scores[0].value[ITG_METRIC_TOP1] > r.best.score.value[ITG_METRIC_TOP1]);
    assert_string_equal(r.limited_by, expected);
    o = plain("random");
    o.trials = 5;
    drop(&o.goal, 0.3);
    limit(&o.goal, ITG_METRIC_WEIGHT_BYTES, 75);
    search(&n, &o, &r);
    assert_false(r.goal_met);
    snprintf(expected, sizeof expected,
             "the nearest takes %lld weight bytes, the limit is 75; the search was ended by the "
             "limit of trials after 5 trials",
             (long long)r.best.score.value[ITG_METRIC_WEIGHT_BYTES]);
    assert_string_equal(r.limited_by, expected);
    free(r.strategy);
    small_network_end(&n);
}

static void a_goal_that_is_met_needs_no_explanation(void **state)
{
    static record r;
    small_network n;
    (void)state;
    small_network_make(6, "cortex-m", 80, &n);
    itg_search_options o = plain("greedy");
    drop(&o.goal, 0.2);
    search(&n, &o, &r);
    assert_true(r.goal_met);
    assert_string_equal(r.limited_by, "");
    assert_true(r.best.score.value[ITG_METRIC_TOP1] >= r.scores[0].value[ITG_METRIC_TOP1] - 0.2);
    assert_true(r.best.score.value[ITG_METRIC_WEIGHT_BYTES] <
                r.scores[2].value[ITG_METRIC_WEIGHT_BYTES]);
    free(r.strategy);
    small_network_end(&n);
}

static void numbers_that_are_none_are_refused(void **state)
{
    static record r;
    small_network n;
    itg_error err = {0};
    (void)state;
    small_network_make(6, "cortex-m", 40, &n);
    itg_search_data data = small_network_data(&n);
    const itg_search_options good = plain("random");
    const double nan = strtod("nan", NULL);
    for (int i = 0; i < 9; i++) {
        itg_search_options o = good;
        if (i == 0) drop(&o.goal, nan);
        if (i == 1) limit(&o.goal, ITG_METRIC_PEAK_ACTIVATION_BYTES, nan);
        if (i == 2) limit(&o.goal, ITG_METRIC_WEIGHT_BYTES, -1);
        if (i == 3) o.tolerance = nan;
        if (i == 4) o.seconds = nan;
        if (i == 5) o.patience = -1;
        if (i == 6) o.goal.objectives[0] = ITG_METRIC_ALL;
        if (i == 7) o.weight_methods.count = ITG_MAX_METHODS + 1;
        if (i == 8) o.activation_methods.count = 2; /* the same method twice */
        assert_int_equal(try_search(&n, &data, &o, &r, &err), ITG_BAD_ARGUMENT);
    }
    small_network_end(&n);
}

static void uniform_8_is_that_of_the_hardware_whatever_the_search_may_use(void **state)
{
    static record wide, narrow;
    small_network n;
    (void)state;
    small_network_make(7, "cortex-m", 60, &n);
    itg_search_options o = plain("random");
    search(&n, &o, &wide);
    o.weight_bits = (itg_bits_range){2, 4};
    search(&n, &o, &narrow);
    assert_int_equal(wide.scores[2].value[ITG_METRIC_WEIGHT_BYTES], 296);
    assert_memory_equal(&wide.scores[2], &narrow.scores[2], sizeof wide.scores[2]);
    assert_true(narrow.best.score.value[ITG_METRIC_WEIGHT_BYTES] <= 148);
    free(wide.strategy);
    free(narrow.strategy);
    small_network_end(&n);
}

/* Accumulators that 8 bits overflow, and few bits do not. */
static const char narrow_chip[] =
    "{\"intaglio_hardware\":1,\"name\":\"narrow\",\"description\":\"made up\",\"float\":false,"
    "\"dtypes\":{\"a\":{\"storage\":\"s8\",\"bits\":[2,8]},\"w\":{\"storage\":\"s8\",\"bits\":[2,8]"
    "}},"
    "\"requantize\":{\"r\":{\"form\":\"f32\"}},\"fuse\":[[\"Conv\",\"Relu\"]],\"operators\":{"
    "\"Conv\":[{\"inputs\":[\"a\"],\"weights\":[\"w\"],\"outputs\":[\"a\"],\"arithmetic\":\"mac\","
    "\"requantize\":\"r\",\"bias\":true,\"accumulator\":{\"bits\":15,\"overflow\":\"wrap\"}}],"
    "\"Gemm\":[{\"inputs\":[\"a\"],\"weights\":[\"w\"],\"outputs\":[\"a\"],\"arithmetic\":\"mac\","
    "\"requantize\":\"r\",\"accumulator\":{\"bits\":15,\"overflow\":\"wrap\"}}],"
    "\"Add\":[{\"inputs\":[\"a\"],\"outputs\":[\"a\"],\"arithmetic\":\"rescale\",\"requantize\":"
    "\"r\","
    "\"accumulator\":{\"bits\":32,\"overflow\":\"wrap\"}}],"
    "\"AveragePool\":[{\"inputs\":[\"a\"],\"outputs\":[\"a\"],\"arithmetic\":\"rescale\","
    "\"requantize\":\"r\",\"accumulator\":{\"bits\":32,\"overflow\":\"wrap\"}}],"
    "\"Reshape\":[{\"inputs\":[\"a\"],\"arithmetic\":\"keep_scale\"}]}}";

static void hardware_that_cannot_run_8_bits_is_searched(void **state)
{
    static record r;
    small_network n;
    itg_error err = {0};
    (void)state;
    small_network_make(12, "cortex-m", 60, &n);
    itg_hardware_destroy(n.hw);
    n.hw = NULL;
    if (itg_hardware_parse(narrow_chip, strlen(narrow_chip), "narrow", &n.hw, &err) != ITG_OK)
        fail_msg("%s", err.message);
    itg_search_options o = plain("random");
    drop(&o.goal, 1);
    search(&n, &o, &r);
    assert_true(r.scores[2].samples == 0 && isnan(r.scores[2].value[ITG_METRIC_TOP1]));
    assert_false(r.trials[0].feasible); /* the widest */
    assert_true(r.goal_met);
    o.weight_bits = o.activation_bits = (itg_bits_range){8, 8};
    search(&n, &o, &r);
    assert_false(r.has_best);
    assert_non_null(strstr(r.limited_by, "narrow can run none of 30 trials; the widest widths: "));
    free(r.strategy);
    small_network_end(&n);
}

static void the_hago_baseline_is_what_hago_greedy_finds(void **state)
{
    static record with, alone;
    small_network n;
    (void)state;
    small_network_make(8, "cortex-m", 80, &n);
    itg_search_options o = plain("random");
    o.hago_baseline = true;
    drop(&o.goal, 0.1);
    search(&n, &o, &with);
    assert_int_equal(with.count, 30); /* its trials are no trials of the search */
    o = plain("hago-greedy");
    o.trials = 0;
    o.goal = goal_of((aim){.max_drop = 0.3});
    drop(&o.goal, 0.1);
    search(&n, &o, &alone);
    assert_true(with.has_hago && alone.goal_met && !alone.has_hago);
    assert_memory_equal(&with.scores[4], &alone.best.score, sizeof with.scores[4]);
    assert_memory_equal(&with.scores[5], &alone.scores[6], sizeof with.scores[5]);
    free(with.strategy);
    free(alone.strategy);
    small_network_end(&n);
}

/* The definition once more: samples one by one through the simulation and the float network. */
static double distortion_of(const small_network *n, const itg_annotated *a, const itg_dataset *data)
{
    itg_sim *sim = NULL;
    itg_float_exec *exec = NULL;
    const itg_graph *g = n->model;
    const itg_shape *input = &g->values[g->inputs[0]].shape;
    double distance = 0, power = 0;
    assert_int_equal(itg_sim_create(a, &sim, NULL), ITG_OK);
    assert_int_equal(itg_float_exec_create(g, ITG_FLOAT_REFERENCE, &exec, NULL), ITG_OK);
    for (int64_t s = 0; s < itg_data_samples(data); s++) {
        const itg_quantizer *q = NULL;
        double own_distance = 0, own_power = 0;
        itg_tensor to = {ITG_F32, *input, itg_sim_input(sim, 0)};
        assert_int_equal(itg_preprocess_sample(&n->preprocess, data, s, &to, NULL), ITG_OK);
        to.data = itg_float_exec_input(exec, 0);
        assert_int_equal(itg_preprocess_sample(&n->preprocess, data, s, &to, NULL), ITG_OK);
        assert_int_equal(itg_sim_run(sim, NULL), ITG_OK);
        assert_int_equal(itg_float_exec_run(exec, NULL), ITG_OK);
        itg_tensor codes = itg_sim_output(sim, 0, &q), wanted = itg_float_exec_output(exec, 0);
        for (int i = 0; i < 5; i++) {
            double f = (double)((const float *)wanted.data)[i];
            double y =
                (double)*q->scale * (((const int8_t *)codes.data)[i] - (double)q->zero_point);
            own_distance += (y - f) * (y - f);
            own_power += f * f;
        }
        distance += own_distance;
        power += own_power;
    }
    itg_sim_destroy(sim);
    itg_float_exec_destroy(exec);
    return distance / power;
}

static void distortion_is_the_distance_from_the_float_network(void **state)
{
    small_network n;
    itg_search_result *result = NULL;
    itg_annotated *a = NULL;
    itg_error err = {0};
    (void)state;
    small_network_make(9, "cortex-m", 80, &n);
    itg_search_data data = small_network_data(&n);
    itg_search_options o = plain("random");
    o.threads = 2;
    if (itg_search(n.model, n.hw, &n.preprocess, &data, &o, NULL, &result, &err) != ITG_OK)
        fail_msg("%s", err.message);
    itg_strategy_file *file = itg_search_strategy(result);
    assert_int_equal(itg_annotate_strategy(n.model, file, &a, NULL), ITG_OK);
    itg_split_info split = itg_strategy_split(file);
    itg_dataset *part = NULL, *labels = NULL;
    assert_int_equal(itg_data_part(n.data, &split, ITG_SPLIT_SEARCH, &part, NULL), ITG_OK);
    assert_int_equal(itg_data_part(n.labels, &split, ITG_SPLIT_SEARCH, &labels, NULL), ITG_OK);
    double on_search = distortion_of(&n, a, part), on_holdout = distortion_of(&n, a, n.holdout);
    assert_true(on_search > 0 && on_search < 1);
    assert_true(itg_search_best(result)->score.value[ITG_METRIC_DISTORTION] == on_search);
    assert_true(itg_search_best_holdout(result)->value[ITG_METRIC_DISTORTION] == on_holdout);
    assert_true(itg_search_float(result, false)->value[ITG_METRIC_DISTORTION] == 0);
    itg_score simulated, alone;
    const itg_simulate_options with = {ITG_SIMULATE_OPTIONS_VERSION, .labels = labels,
                                       .with_agreement = true, .threads = 2, .definition = true},
                               without = {ITG_SIMULATE_OPTIONS_VERSION, .labels = labels,
                                          .threads = 1};
    assert_int_equal(itg_simulate(n.model, file, part, &with, &simulated, NULL), ITG_OK);
    assert_int_equal(itg_simulate(n.model, file, part, &without, &alone, NULL), ITG_OK);
    assert_true(simulated.value[ITG_METRIC_DISTORTION] == on_search &&
                isnan(alone.value[ITG_METRIC_DISTORTION]));
    assert_memory_equal(&simulated, &itg_search_best(result)->score, sizeof simulated);
    itg_data_close(labels);
    itg_data_close(part);
    itg_annotated_destroy(a);
    itg_search_result_destroy(result);
    small_network_end(&n);
}

static void without_labels_agreement_counts(void **state)
{
    static record r;
    small_network n;
    (void)state;
    small_network_make(10, "cortex-m", 80, &n);
    itg_search_data data = {n.data, NULL, n.holdout, NULL};
    itg_search_options o = plain("greedy");
    search_with(&n, &data, &o, &r);
    assert_true(r.goal_met);
    assert_true(isnan(r.best.score.value[ITG_METRIC_TOP1]));
    assert_true(r.best.score.value[ITG_METRIC_AGREEMENT] >= 0.95 &&
                r.scores[0].value[ITG_METRIC_AGREEMENT] == 1);
    drop(&o.goal, 0);
    o.weight_bits = o.activation_bits = (itg_bits_range){2, 2};
    search_with(&n, &data, &o, &r);
    assert_non_null(strstr(r.limited_by, "points of agreement"));
    free(r.strategy);
    small_network_end(&n);
}

int main(int argc, char **argv)
{
    itg_be_passive(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_stops_wherever_it_is_asked_to),
        cmocka_unit_test(every_trial_gives_its_strategy_again),
        cmocka_unit_test(any_thread_count_gives_the_same_search),
        cmocka_unit_test(every_interruption_resumed_gives_the_same_search),
        cmocka_unit_test(a_later_round_begins_at_the_best_with_its_own_codes),
        cmocka_unit_test(the_last_round_gives_cheaper_trials_codes_of_their_own),
        cmocka_unit_test(trials_of_later_rounds_give_their_strategies_again_and_resume),
        cmocka_unit_test(hold_out_labels_change_only_what_is_reported_of_them),
        cmocka_unit_test(a_log_of_another_network_is_refused),
        cmocka_unit_test(the_front_of_several_objectives_is_that_of_all_trials),
        cmocka_unit_test(goals_that_cannot_be_met_are_explained),
        cmocka_unit_test(a_goal_that_is_met_needs_no_explanation),
        cmocka_unit_test(numbers_that_are_none_are_refused),
        cmocka_unit_test(uniform_8_is_that_of_the_hardware_whatever_the_search_may_use),
        cmocka_unit_test(hardware_that_cannot_run_8_bits_is_searched),
        cmocka_unit_test(the_hago_baseline_is_what_hago_greedy_finds),
        cmocka_unit_test(distortion_is_the_distance_from_the_float_network),
        cmocka_unit_test(without_labels_agreement_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
