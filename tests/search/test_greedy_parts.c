/* What greedy proposes, by itself: the best ratio first, within the cap, never what was told; and
 * the order of its single steps. The terms are known, so every proposal can be counted by hand. */
#include "search/greedy_state.h"
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { DIMS = 4, LEVELS = 4 };
static const int32_t widths[LEVELS] = {2, 4, 6, 8}, top[DIMS] = {3, 3, 3, 3};
static const itg_dim dims[DIMS] = {{LEVELS, widths, true, 1, 0},
                                   {LEVELS, widths, true, 1, 0},
                                   {LEVELS, widths, true, 1, 0},
                                   {LEVELS, widths, true, 1, 0}};
static const itg_search_space space = {DIMS, dims};

/* What a level loses and saves against the top: dimension 2 saves most for its loss, then 0, then
 * 1; 3 is not movable. */
static const double lost[DIMS][LEVELS] = {
    {9, 4, 1, 0}, {18, 8, 2, 0}, {4.5, 2, 0.5, 0}, {0, 0, 0, 0}};
static const double saved[DIMS][LEVELS] = {
    {30, 20, 10, 0}, {33, 22, 11, 0}, {27, 18, 9, 0}, {300, 200, 100, 0}};

typedef struct model {
    itg_additive loss, saved;
    bool movable[DIMS];
    itg_history history;
    itg_greedy_moves moves;
    int32_t now[DIMS];
    itg_guess current;
} model;

static void model_make(model *m)
{
    memset(m, 0, sizeof *m);
    assert_int_equal(itg_additive_init(&m->loss, &space, top, NULL), ITG_OK);
    assert_int_equal(itg_additive_init(&m->saved, &space, top, NULL), ITG_OK);
    for (int d = 0; d < DIMS; d++) {
        for (int l = 0; l < LEVELS; l++) {
            *itg_additive_prior(&m->loss, d, l) = lost[d][l];
            *itg_additive_prior(&m->saved, d, l) = saved[d][l];
        }
        itg_additive_reset(&m->loss, d);
        itg_additive_reset(&m->saved, d);
        m->movable[d] = d < 3;
        m->now[d] = 3;
    }
    m->history = itg_history_of(DIMS);
    m->moves = (itg_greedy_moves){.space = &space,
                                  .movable = m->movable,
                                  .top = top,
                                  .loss = &m->loss,
                                  .saved = &m->saved,
                                  .history = &m->history,
                                  .loss_cap = 7,
                                  .doubt = 1,
                                  .cost_ratio_cap = 1000};
    m->current = (itg_guess){m->now, 0, 1000};
}

static void model_end(model *m)
{
    itg_additive_deinit(&m->loss);
    itg_additive_deinit(&m->saved);
    itg_point_map_deinit(&m->history);
}

static double loss_of(const int32_t *levels)
{
    double sum = 0;
    for (int d = 0; d < DIMS; d++)
        sum += lost[d][levels[d]];
    return sum;
}

static double burden_of(const int32_t *levels)
{
    double sum = 1000;
    for (int d = 0; d < DIMS; d++)
        sum -= saved[d][levels[d]];
    return sum;
}

static void the_steepest_step_is_taken_within_the_cap(void **state)
{
    (void)state;
    model m;
    model_make(&m);
    /* By saved per lost: 2 to level 2 (18), 0 to level 2 (10), 2 to level 1 (9 for 1.5: 6), 1 to
     * level 2 (5.5), then 0 to level 1 (10 for 3). */
    static const struct {
        int32_t dim, level;
    } path[] = {{2, 2}, {0, 2}, {2, 1}, {1, 2}, {2, 0}};
    double cap = 7;
    for (int i = 0; i < 5; i++) {
        int32_t dim = -1;
        bool moved = itg_greedy_lower(&m.moves, &m.current, cap, -1, &dim);
        if (i == 4) { /* 1 + 2 + 2 = 5; 3 more would leave the cap, 2.5 more too */
            assert_false(moved);
            cap = 7.5;
            moved = itg_greedy_lower(&m.moves, &m.current, cap, -1, &dim);
            assert_true(moved);
            assert_int_equal(dim, 2); /* 9 for 2.5; 0 to level 1 is 10 for 3, beyond the cap */
            assert_int_equal(m.now[2], 0);
            continue;
        }
        assert_true(moved);
        assert_int_equal(dim, path[i].dim);
        assert_int_equal(m.now[dim], path[i].level);
        assert_true(fabs(m.current.loss - loss_of(m.now)) < 1e-12);
        assert_true(fabs(m.current.cost_ratio - burden_of(m.now)) < 1e-12);
    }
    /* The cap itself may be reached. */
    assert_true(fabs(m.current.loss - 7.5) < 1e-12);
    model_end(&m);
}

static void the_frozen_and_the_fixed_do_not_move(void **state)
{
    (void)state;
    model m;
    model_make(&m);
    int32_t dim = -1;
    for (int i = 0; i < 20 && itg_greedy_lower(&m.moves, &m.current, INFINITY, 2, &dim); i++)
        assert_true(dim == 0 || dim == 1);
    const int32_t end[DIMS] = {0, 0, 3, 3};
    assert_memory_equal(m.now, end, sizeof end);
    model_end(&m);
}

static int32_t propose(model *m, itg_guess out[ITG_GREEDY_BATCH],
                       int32_t levels[ITG_GREEDY_BATCH][DIMS])
{
    int32_t scratch_levels[DIMS];
    itg_guess scratch = {scratch_levels, 0, 0};
    for (int i = 0; i < ITG_GREEDY_BATCH; i++)
        out[i] = (itg_guess){levels[i], 0, 0};
    return itg_greedy_propose(&m->moves, &m->current, out, &scratch);
}

/* Points that fit, of all there are, counted one by one; the best of them in their order. */
static int32_t by_counting(const model *m, int32_t best[ITG_GREEDY_BATCH][DIMS])
{
    int32_t count = 0;
    for (int i = 0; i < 64; i++) {
        const int32_t at[DIMS] = {i % 4, i / 4 % 4, i / 16, 3};
        bool gains =
            m->moves.maximize_quality
                ? loss_of(at) < m->current.loss && burden_of(at) <= m->moves.cost_ratio_cap
                : burden_of(at) < m->current.cost_ratio && loss_of(at) <= m->moves.loss_cap;
        if (!gains || itg_point_map_find(&m->history, at) >= 0) continue;
        int32_t k = count < ITG_GREEDY_BATCH ? count++ : ITG_GREEDY_BATCH;
        for (; k > 0; k--) {
            const int32_t *other = best[k - 1];
            double a = burden_of(at), b = burden_of(other), x = loss_of(at), y = loss_of(other);
            bool better =
                m->moves.maximize_quality ? x < y || (x == y && a < b) : a < b || (a == b && x < y);
            if (!better) break;
            if (k < ITG_GREEDY_BATCH) memcpy(best[k], other, sizeof best[k]);
        }
        if (k < ITG_GREEDY_BATCH) memcpy(best[k], at, sizeof at);
    }
    return count;
}

static void check_proposals(model *m)
{
    itg_guess out[ITG_GREEDY_BATCH];
    int32_t levels[ITG_GREEDY_BATCH][DIMS], best[ITG_GREEDY_BATCH][DIMS];
    int32_t count = propose(m, out, levels), expected = by_counting(m, best);
    assert_int_equal(count, expected);
    for (int32_t i = 0; i < count; i++) {
        assert_true(fabs(out[i].loss - loss_of(out[i].levels)) < 1e-9);
        assert_true(fabs(out[i].cost_ratio - burden_of(out[i].levels)) < 1e-9);
        assert_true(fabs(out[i].loss - loss_of(best[i])) < 1e-9);
        assert_true(fabs(out[i].cost_ratio - burden_of(best[i])) < 1e-9);
    }
}

static void proposals_are_the_best_points_in_order(void **state)
{
    (void)state;
    for (int cap = 0; cap <= 12; cap++) {
        model m;
        model_make(&m);
        m.moves.loss_cap = cap;
        check_proposals(&m);
        model_end(&m);
    }
}

static void proposals_of_the_best_quality_keep_the_limit(void **state)
{
    (void)state;
    for (int cap = 910; cap <= 990; cap += 10) {
        model m;
        model_make(&m);
        m.moves.maximize_quality = true;
        m.moves.cost_ratio_cap = cap;
        m.now[0] = m.now[1] = m.now[2] = 0;
        m.current.loss = loss_of(m.now);
        m.current.cost_ratio = burden_of(m.now);
        check_proposals(&m);
        model_end(&m);
    }
}

static void what_was_told_is_not_proposed_again(void **state)
{
    (void)state;
    model m;
    model_make(&m);
    for (int turn = 0; turn < 4; turn++) {
        itg_guess out[ITG_GREEDY_BATCH];
        int32_t levels[ITG_GREEDY_BATCH][DIMS];
        itg_outcome told = {.feasible = true};
        check_proposals(&m);
        int32_t count = propose(&m, out, levels);
        for (int32_t i = 0; i < count; i++)
            assert_int_equal(itg_history_add(&m.history, out[i].levels, &told), ITG_OK);
    }
    model_end(&m);
}

/* ---- too many points to try them all ---- */

enum { MANY = 12 };

/* The first three dimensions again and again. */
static void check_filled(bool maximize_quality, double cap)
{
    itg_dim many[MANY];
    bool movable[MANY];
    int32_t tops[MANY], now[MANY], levels[ITG_GREEDY_BATCH][MANY], spare[MANY];
    for (int d = 0; d < MANY; d++) {
        many[d] = dims[d % 3];
        movable[d] = true;
        tops[d] = 3;
        now[d] = maximize_quality ? 0 : 3;
    }
    const itg_search_space wide = {MANY, many};
    itg_additive loss, saves;
    itg_history history = itg_history_of(MANY);
    itg_guess out[ITG_GREEDY_BATCH], scratch = {spare, 0, 0}, current = {now, 0, 1000};
    assert_int_equal(itg_additive_init(&loss, &wide, tops, NULL), ITG_OK);
    assert_int_equal(itg_additive_init(&saves, &wide, tops, NULL), ITG_OK);
    for (int d = 0; d < MANY; d++) {
        for (int l = 0; l < LEVELS; l++) {
            *itg_additive_prior(&loss, d, l) = lost[d % 3][l];
            *itg_additive_prior(&saves, d, l) = saved[d % 3][l];
        }
        itg_additive_reset(&loss, d);
        itg_additive_reset(&saves, d);
        current.loss += lost[d % 3][now[d]];
        current.cost_ratio -= saved[d % 3][now[d]];
    }
    for (int i = 0; i < ITG_GREEDY_BATCH; i++)
        out[i] = (itg_guess){levels[i], 0, 0};
    itg_greedy_moves moves = {.space = &wide,
                              .movable = movable,
                              .top = tops,
                              .loss = &loss,
                              .saved = &saves,
                              .history = &history,
                              .maximize_quality = maximize_quality,
                              .loss_cap = cap,
                              .doubt = 1,
                              .cost_ratio_cap = cap};
    assert_int_equal(itg_greedy_propose(&moves, &current, out, &scratch), ITG_GREEDY_BATCH);
    for (int i = 0; i < ITG_GREEDY_BATCH; i++) {
        double x = 0, y = 1000;
        for (int d = 0; d < MANY; d++) {
            x += lost[d % 3][out[i].levels[d]];
            y -= saved[d % 3][out[i].levels[d]];
        }
        assert_true(fabs(out[i].loss - x) < 1e-9 && fabs(out[i].cost_ratio - y) < 1e-9);
        assert_true((maximize_quality ? y : x) <= cap);
        if (i > 0 && maximize_quality) assert_true(out[i].loss >= out[i - 1].loss);
        if (i > 0 && !maximize_quality) assert_true(out[i].cost_ratio >= out[i - 1].cost_ratio);
    }
    /* The best is full: no further step would fit. */
    for (int d = 0; d < MANY; d++) {
        int32_t l = out[0].levels[d];
        if (!maximize_quality && l > 0)
            assert_true(out[0].loss + lost[d % 3][l - 1] - lost[d % 3][l] > cap);
        if (maximize_quality && l < 3)
            assert_true(out[0].cost_ratio + saved[d % 3][l] - saved[d % 3][l + 1] > cap);
    }
    itg_additive_deinit(&loss);
    itg_additive_deinit(&saves);
}

static void guesses_are_filled_up_to_the_cap(void **state)
{
    (void)state;
    for (int cap = 3; cap <= 30; cap += 3)
        check_filled(false, cap);
    for (int cap = 700; cap <= 900; cap += 20)
        check_filled(true, cap);
}

/* ---- single steps ---- */

typedef struct steps {
    itg_greedy_state *s;
    model m; /* its terms */
} steps;

/* greedy with known terms, all widths at the top, about to plan its steps. */
static void steps_make(steps *t)
{
    const itg_searcher_def *def = &itg_searcher_greedy;
    itg_searcher_options told = {.quality_floor = 0.5, .trials = 100};
    model_make(&t->m);
    t->s = calloc(1, def->state_size);
    assert_non_null(t->s);
    itg_searcher_defaults(def, told.parameters);
    assert_int_equal(def->init(t->s, &space, &told, NULL), ITG_OK);
    t->s->stage = ITG_GREEDY_STEPS;
    t->s->path_end = (itg_greedy_step){-1, 0};
    t->s->batch_count = t->s->allowed_count = 0;
    memcpy(t->s->top, top, sizeof top);
    for (int d = 0; d < DIMS; d++) {
        t->s->current[d] = t->s->start[d] = 3;
        t->s->movable[d] = d < 3;
        for (int l = 0; l < LEVELS; l++) {
            *itg_additive_prior(&t->s->loss, d, l) = lost[d][l];
            *itg_additive_prior(&t->s->saved, d, l) = saved[d][l];
        }
        itg_additive_reset(&t->s->loss, d);
        itg_additive_reset(&t->s->saved, d);
    }
    itg_greedy_begin_steps(t->s);
}

static void steps_end(steps *t)
{
    itg_searcher_greedy.deinit(t->s);
    free(t->s);
    model_end(&t->m);
}

static void expect_steps(const steps *t, int32_t count, const int32_t *order)
{
    assert_int_equal(t->s->batch_count, count);
    for (int32_t i = 0; i < count; i++) {
        const itg_greedy_asked *a = &t->s->batch[i];
        assert_int_equal(a->index, order[i]);
        for (int d = 0; d < DIMS; d++)
            assert_int_equal(a->guess.levels[d], t->s->current[d] - (d == order[i]));
    }
}

static void steps_are_planned_by_what_they_save_for_their_loss(void **state)
{
    (void)state;
    steps t;
    steps_make(&t);
    itg_greedy_plan_steps(t.s);
    expect_steps(&t, 3, (const int32_t[]){2, 0, 1}); /* 9 / 0.5, 10 / 1, 11 / 2 */
    steps_end(&t);
    /* From elsewhere the ratios are others: 0 saves 10 for 5, 1 11 for 6, 2 9 for 1.5. */
    steps_make(&t);
    t.s->current[0] = t.s->current[1] = 1;
    t.s->current[2] = 2;
    itg_greedy_plan_steps(t.s);
    expect_steps(&t, 3, (const int32_t[]){2, 0, 1});
    steps_end(&t);
    steps_make(&t);
    t.s->current[0] = 1;
    t.s->current[2] = 1; /* 9 for 2.5, 11 for 2, 10 for 5 */
    itg_greedy_plan_steps(t.s);
    expect_steps(&t, 3, (const int32_t[]){1, 2, 0});
    steps_end(&t);
}

static void refused_told_and_lowest_steps_are_left_out(void **state)
{
    (void)state;
    steps t;
    steps_make(&t);
    t.s->refused[2] = 2; /* the level that the step would reach */
    itg_greedy_plan_steps(t.s);
    expect_steps(&t, 2, (const int32_t[]){0, 1});
    steps_end(&t);
    steps_make(&t);
    t.s->refused[2] = 1; /* only the one below */
    t.s->current[0] = 0;
    itg_greedy_plan_steps(t.s);
    expect_steps(&t, 2, (const int32_t[]){2, 1});
    steps_end(&t);
    steps_make(&t);
    const int32_t told[DIMS] = {3, 2, 3, 3};
    itg_outcome outcome = {.feasible = true};
    assert_int_equal(itg_history_add(&t.s->history, told, &outcome), ITG_OK);
    itg_greedy_plan_steps(t.s);
    expect_steps(&t, 2, (const int32_t[]){2, 0});
    steps_end(&t);
    /* The step that ended the path is refused from the beginning, where quality is noisy. */
    for (int sharp = 0; sharp < 2; sharp++) {
        steps_make(&t);
        t.s->path_end = (itg_greedy_step){2, 2};
        t.s->sharp = sharp;
        itg_greedy_begin_steps(t.s);
        itg_greedy_plan_steps(t.s);
        expect_steps(&t, sharp ? 3 : 2,
                     sharp ? (const int32_t[]){2, 0, 1} : (const int32_t[]){0, 1});
        steps_end(&t);
    }
}

static void without_a_step_greedy_goes_on(void **state)
{
    (void)state;
    for (int stepped = 0; stepped < 2; stepped++) {
        steps t;
        steps_make(&t);
        t.s->stepped = stepped;
        t.s->stalled = 5;
        for (int d = 0; d < 3; d++)
            t.s->current[d] = 0;
        itg_greedy_plan_steps(t.s);
        assert_int_equal(t.s->batch_count, 0);
        assert_int_equal(t.s->stage, stepped ? ITG_GREEDY_IMPROVE : ITG_GREEDY_METHODS);
        assert_int_equal(t.s->stalled, 0);
        steps_end(&t);
    }
}

/* All allowed steps, then half of them, best first. */
static void allowed_steps_are_tried_together(void **state)
{
    (void)state;
    steps t;
    steps_make(&t);
    t.s->allowed_count = 3;
    t.s->step_ratio[0] = 2;
    t.s->step_ratio[1] = 5;
    t.s->step_ratio[2] = 3;
    t.s->step_ratio[3] = -1;
    itg_greedy_plan_steps(t.s);
    assert_int_equal(t.s->batch_count, 1); /* 3 / 2 = 1: a single one was tried before */
    const int32_t all[DIMS] = {2, 2, 2, 3};
    assert_memory_equal(t.s->batch[0].guess.levels, all, sizeof all);
    steps_end(&t);
    steps_make(&t);
    t.s->movable[3] = true;
    t.s->allowed_count = 4;
    for (int d = 0; d < 4; d++)
        t.s->step_ratio[d] = d == 3 ? 9 : d;
    itg_greedy_plan_steps(t.s);
    assert_int_equal(t.s->batch_count, 2);
    const int32_t four[DIMS] = {2, 2, 2, 2}, two[DIMS] = {3, 3, 2, 2};
    assert_memory_equal(t.s->batch[0].guess.levels, four, sizeof four);
    assert_memory_equal(t.s->batch[1].guess.levels, two, sizeof two);
    steps_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_steepest_step_is_taken_within_the_cap),
        cmocka_unit_test(the_frozen_and_the_fixed_do_not_move),
        cmocka_unit_test(proposals_are_the_best_points_in_order),
        cmocka_unit_test(proposals_of_the_best_quality_keep_the_limit),
        cmocka_unit_test(what_was_told_is_not_proposed_again),
        cmocka_unit_test(guesses_are_filled_up_to_the_cap),
        cmocka_unit_test(steps_are_planned_by_what_they_save_for_their_loss),
        cmocka_unit_test(refused_told_and_lowest_steps_are_left_out),
        cmocka_unit_test(without_a_step_greedy_goes_on),
        cmocka_unit_test(allowed_steps_are_tried_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
