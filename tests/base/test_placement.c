/* Placements against the best there is, found by trying everything. */
#include "base/placement.h"
#include <stdlib.h>
#include <string.h>
#include "cmocka_base.h"

enum { MOST = 11 };

/* ---- the oracle ---- */

/* In some best placement nothing can sink: each thing lies at 0 or on one that is needed at the
 * same time. Built from below in order of offsets, every such placement is met: a thing goes on the
 * highest of those below it. */
typedef struct oracle {
    itg_placed items[MOST];
    int32_t count;
    bool placed[MOST];
    uint64_t best, bound; /* nothing is below the bound: there it may stop */
} oracle;

static bool meet(const itg_placed *a, const itg_placed *b)
{
    return a->first <= b->last && b->first <= a->last;
}

static uint64_t level(const oracle *o, int32_t item)
{
    uint64_t offset = 0;
    for (int32_t i = 0; i < o->count; i++) {
        const itg_placed *x = &o->items[i];
        if (o->placed[i] && meet(x, &o->items[item]) && x->offset + x->bytes > offset)
            offset = x->offset + x->bytes;
    }
    return offset;
}

static void extend(oracle *o, uint64_t lowest, uint64_t end, int32_t left)
{
    if (end >= o->best || o->best == o->bound) return;
    if (left == 0) o->best = end;
    for (int32_t i = 0; i < o->count; i++) {
        if (o->placed[i]) continue;
        uint64_t offset = level(o, i);
        if (offset < lowest) continue;
        uint64_t top = offset + o->items[i].bytes;
        o->items[i].offset = offset;
        o->placed[i] = true;
        extend(o, offset, top > end ? top : end, left - 1);
        o->placed[i] = false;
    }
}

static uint64_t least_of(const itg_placed *items, int32_t count, uint64_t bound)
{
    oracle o = {.count = count, .best = UINT64_MAX, .bound = bound};
    memcpy(o.items, items, (size_t)count * sizeof *items);
    extend(&o, 0, 0, count);
    return o.best;
}

/* ---- instances ---- */

static int32_t random_items(itg_rng *rng, itg_placed *items, int32_t most, int32_t times)
{
    int32_t count = 1 + (int32_t)itg_rng_below(rng, (uint64_t)most);
    for (int32_t i = 0; i < count; i++) {
        int32_t first = (int32_t)itg_rng_below(rng, (uint64_t)times);
        int32_t length = (int32_t)itg_rng_below(rng, (uint64_t)times / 2);
        items[i] = (itg_placed){.bytes = 1 + itg_rng_below(rng, 30),
                                .offset = 77,
                                .first = first,
                                .last = first + length,
                                .index = i};
    }
    return count;
}

static void assert_apart(const itg_placed *items, int32_t count, uint64_t alignment, uint64_t end)
{
    uint64_t most = 0;
    for (int32_t a = 0; a < count; a++) {
        uint64_t top = items[a].offset + items[a].bytes;
        assert_int_equal(items[a].offset % alignment, 0);
        if (top > most) most = top;
        for (int32_t b = 0; b < a; b++)
            assert_false(meet(&items[a], &items[b]) &&
                         items[a].offset < items[b].offset + items[b].bytes &&
                         items[b].offset < top);
    }
    assert_int_equal(most, end);
}

static void small_placements_are_within_5_percent_of_the_best(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 21);
    double worst = 1, worst_quick = 1;
    int best = 0, best_quick = 0, over_bound = 0;
    enum { ROUNDS = 3000 };
    for (int round = 0; round < ROUNDS; round++) {
        itg_placed quick[MOST], well[MOST];
        uint64_t quick_end, well_end, bound;
        int32_t count = random_items(&rng, quick, MOST, 4 + round % 9);
        memcpy(well, quick, sizeof well);
        assert_int_equal(itg_place_bound(quick, count, 1, &bound, NULL), ITG_OK);
        uint64_t least = least_of(quick, count, bound);
        assert_int_equal(itg_place(quick, count, 1, &quick_end, NULL), ITG_OK);
        assert_int_equal(itg_place_well(well, count, 1, &well_end, NULL), ITG_OK);
        assert_apart(quick, count, 1, quick_end);
        assert_apart(well, count, 1, well_end);
        assert_true(bound <= least && least <= well_end && well_end <= quick_end);
        double ratio = (double)well_end / (double)least, first = (double)quick_end / (double)least;
        if (ratio > worst) worst = ratio;
        if (first > worst_quick) worst_quick = first;
        best += well_end == least;
        best_quick += quick_end == least;
        over_bound += least > bound;
    }
    print_message("of %d: best %d, worst %.4f; by size alone best %d, worst %.4f; %d of the best "
                  "above the bound\n",
                  ROUNDS, best, worst, best_quick, worst_quick, over_bound);
    assert_true(worst <= 1.05);
    assert_true(best > best_quick);
}

static void many_things_lie_apart_at_every_alignment(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 22);
    double sum = 0, sum_quick = 0;
    for (int round = 0; round < 60; round++) {
        enum { MANY = 120 };
        itg_placed quick[MANY], well[MANY];
        uint64_t alignment = (uint64_t)1 << (round % 7), quick_end, well_end, bound;
        int32_t count = random_items(&rng, quick, MANY, 40);
        memcpy(well, quick, sizeof well);
        assert_int_equal(itg_place_bound(quick, count, alignment, &bound, NULL), ITG_OK);
        assert_int_equal(itg_place(quick, count, alignment, &quick_end, NULL), ITG_OK);
        assert_int_equal(itg_place_well(well, count, alignment, &well_end, NULL), ITG_OK);
        assert_apart(quick, count, alignment, quick_end);
        assert_apart(well, count, alignment, well_end);
        assert_true(bound <= well_end && well_end <= quick_end);
        sum += (double)well_end / (double)bound;
        sum_quick += (double)quick_end / (double)bound;
    }
    print_message("mean over the bound: %.4f, by size alone %.4f\n", sum / 60, sum_quick / 60);
    assert_true(sum < sum_quick);
}

/* The order in which things are named decides nothing but their places among equals. */
static void the_end_does_not_depend_on_the_order_of_items(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 23);
    for (int round = 0; round < 50; round++) {
        enum { SOME = 30 };
        itg_placed a[SOME], b[SOME];
        uint64_t end_a, end_b;
        uint32_t order[SOME];
        int32_t count = random_items(&rng, a, SOME, 12);
        for (int32_t i = 0; i < count; i++)
            order[i] = (uint32_t)i;
        itg_rng_shuffle(&rng, order, (size_t)count);
        for (int32_t i = 0; i < count; i++)
            b[i] = a[order[i]];
        assert_int_equal(itg_place_well(a, count, 4, &end_a, NULL), ITG_OK);
        assert_int_equal(itg_place_well(b, count, 4, &end_b, NULL), ITG_OK);
        assert_int_equal(end_a, end_b);
        for (int32_t i = 0; i < count; i++)
            for (int32_t k = 0; k < count; k++)
                if (a[i].index == b[k].index) assert_int_equal(a[i].offset, b[k].offset);
    }
}

/* Emitted programs lie in memory as placed: the same on every machine, and until somebody changes
 * placement on purpose. */
static void placements_are_always_the_same(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 24);
    uint64_t ends = 0, quick_ends = 0, places = 0;
    for (int round = 0; round < 60; round++) {
        enum { SOME = 60 };
        itg_placed well[SOME], quick[SOME];
        uint64_t end = 0, quick_end = 0;
        int32_t count = random_items(&rng, well, SOME, 20);
        memcpy(quick, well, sizeof quick);
        assert_int_equal(itg_place_well(well, count, 4, &end, NULL), ITG_OK);
        assert_int_equal(itg_place(quick, count, 4, &quick_end, NULL), ITG_OK);
        ends += end;
        quick_ends += quick_end;
        for (int32_t i = 0; i < count; i++)
            places = places * 31 + well[i].offset * (uint64_t)(well[i].index + 1);
    }
    assert_int_equal(quick_ends, 10960);
    assert_int_equal(ends, 10604);
    assert_true(places == 291692111666690352U);
}

/* Many things in a long time, each with few others: the same places as by comparing all. */
static void few_meetings_make_no_difference(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    itg_placed *items = calloc(MANY, sizeof *items), *one = calloc(MANY, sizeof *one),
               *other = calloc(MANY, sizeof *other);
    itg_rng rng;
    itg_error err = {0};
    itg_rng_init(&rng, 9);
    for (int round = 0; round < 6; round++) {
        const uint64_t longest = round == 5 ? MANY : 1 + 6 * (uint64_t)round;
        itg_meetings found, none = {0};
        for (int32_t i = 0; i < MANY; i++) {
            const int32_t first = (int32_t)itg_rng_below(&rng, MANY);
            items[i] = (itg_placed){.bytes = 8 * (1 + itg_rng_below(&rng, 6)),
                                    .first = first,
                                    .last = first + (int32_t)itg_rng_below(&rng, longest),
                                    .index = i};
        }
        itg_place_sort(items, MANY);
        assert_int_equal(itg_meetings_find(items, MANY, &found, &err), ITG_OK);
        assert_int_equal(found.first != NULL, round < 5); /* there everything meets everything */
        for (int32_t i = MANY - 1; i > 0; i--) {          /* any order */
            const int32_t k = (int32_t)itg_rng_below(&rng, (uint64_t)i + 1);
            const itg_placed kept = items[i];
            items[i] = items[k];
            items[k] = kept;
        }
        const uint64_t end = itg_place_in_order(items, MANY, &found, one);
        assert_int_equal(itg_place_in_order(items, MANY, &none, other), end);
        for (int32_t i = 0; i < MANY; i++)
            assert_true(one[i].index == other[i].index && one[i].offset == other[i].offset);
        assert_apart(one, MANY, 8, end);
        itg_meetings_free(&found);
    }
    free(items);
    free(one);
    free(other);
}

static void nothing_needs_nothing(void **state)
{
    (void)state;
    uint64_t end = 5, bound = 5;
    assert_int_equal(itg_place_well(NULL, 0, 4, &end, NULL), ITG_OK);
    assert_int_equal(end, 0);
    assert_int_equal(itg_place_bound(NULL, 0, 4, &bound, NULL), ITG_OK);
    assert_int_equal(bound, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_placements_are_within_5_percent_of_the_best),
        cmocka_unit_test(many_things_lie_apart_at_every_alignment),
        cmocka_unit_test(the_end_does_not_depend_on_the_order_of_items),
        cmocka_unit_test(placements_are_always_the_same),
        cmocka_unit_test(few_meetings_make_no_difference),
        cmocka_unit_test(nothing_needs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
