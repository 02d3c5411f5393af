/* What shares bytes, and what must not. */
#include "base/flow.h"
#include <stdlib.h>
#include <string.h>
#include "cmocka_base.h"

#define LIST(...) ((const int32_t[]){__VA_ARGS__})
#define COUNT(list) ((int32_t)(sizeof(list) / sizeof(int32_t)))
#define STEP(kind, shift, in, out)                                                                 \
    {                                                                                              \
        COUNT(in), COUNT(out), in, out, ITG_FLOW_NONE, ITG_SHARING_##kind, shift, false            \
    }

typedef struct sizes {
    uint64_t bytes[8];
    int32_t count, kept;
} sizes;

/* Tensor 0 is the caller's, `kept` the output. Returns the bytes planned. */
static uint64_t plan(const sizes *z, itg_flow_step *steps, int32_t count, itg_flow_tensor *tensors)
{
    itg_flow flow = {z->count, count, tensors, steps, 0, 0};
    for (int32_t i = 0; i < z->count; i++)
        tensors[i] = (itg_flow_tensor){
            .dtype = ITG_S8, .bytes = z->bytes[i], .elsewhere = i == 0, .kept = i == z->kept};
    assert_int_equal(itg_flow_plan(&flow, 4, NULL), ITG_OK);
    assert_int_equal(tensors[0].home, ITG_FLOW_NONE);
    assert_true(flow.bytes >= flow.least);
    return flow.bytes;
}

static void a_last_reader_writes_over_its_input(void **state)
{
    (void)state;
    itg_flow_tensor t[8];
    itg_flow_step steps[] = {STEP(NONE, 0, LIST(0), LIST(1)), STEP(ELEMENTS, 0, LIST(1), LIST(2)),
                             STEP(NONE, 0, LIST(2), LIST(3))};
    assert_int_equal(plan(&(sizes){{100, 40, 40, 8}, 4, 3}, steps, 3, t), 48);
    assert_int_equal(t[2].home, 1);
    assert_int_equal(t[2].offset, t[1].offset);
    /* elements of another size, or floats over integers, do not lie where they lay */
    assert_int_equal(plan(&(sizes){{100, 40, 20, 8}, 4, 3}, steps, 3, t), 60);
    assert_int_equal(t[2].home, 2);
}

static void what_is_read_later_is_not_overwritten(void **state)
{
    (void)state;
    itg_flow_tensor t[8];
    itg_flow_step steps[] = {STEP(NONE, 0, LIST(0), LIST(1)), STEP(ELEMENTS, 0, LIST(1), LIST(2)),
                             STEP(ELEMENTS, 0, LIST(2, 1), LIST(3))};
    assert_int_equal(plan(&(sizes){{100, 40, 40, 40}, 4, 3}, steps, 3, t), 80);
    assert_int_equal(t[2].home, 2);
    assert_int_equal(t[3].home, 2);
    assert_int_equal(plan(&(sizes){{100, 40, 40, 40}, 4, 1}, steps, 2, t), 80); /* an output */
}

/* Its second operand is a part of the first's bytes: row 1 would be gone when row 2 reads it. */
static void an_operand_within_the_other_is_not_overwritten(void **state)
{
    (void)state;
    itg_flow_tensor t[8];
    itg_flow_step steps[] = {STEP(NONE, 0, LIST(0), LIST(1)), STEP(OUTPUTS, 0, LIST(1), LIST(2)),
                             STEP(ELEMENTS, 0, LIST(1, 2), LIST(3))};
    plan(&(sizes){{100, 40, 8, 40}, 4, 3}, steps, 3, t);
    assert_true(steps[1].free);
    assert_int_equal(t[2].home, 1);
    assert_int_equal(t[3].home, 3);
}

static void parts_are_written_into_the_whole(void **state)
{
    (void)state;
    itg_flow_tensor t[8];
    itg_flow_step steps[] = {STEP(NONE, 0, LIST(0), LIST(1)), STEP(NONE, 0, LIST(0), LIST(2)),
                             STEP(INPUTS, 0, LIST(1, 2), LIST(3))};
    assert_int_equal(plan(&(sizes){{100, 16, 24, 40}, 4, 3}, steps, 3, t), 40);
    assert_true(steps[2].free);
    assert_int_equal(t[1].offset, t[3].offset);
    assert_int_equal(t[2].offset, t[3].offset + 16);
    /* one tensor twice, or one of the caller's, has to be copied */
    itg_flow_step twice[] = {STEP(NONE, 0, LIST(0), LIST(1)), STEP(INPUTS, 0, LIST(1, 1), LIST(2))};
    assert_int_equal(plan(&(sizes){{100, 20, 40}, 3, 2}, twice, 2, t), 60);
    assert_false(twice[1].free);
    itg_flow_step callers[] = {STEP(NONE, 0, LIST(0), LIST(1)),
                               STEP(INPUTS, 0, LIST(1, 0), LIST(2))};
    assert_int_equal(plan(&(sizes){{20, 20, 40}, 3, 2}, callers, 2, t), 60);
    assert_false(callers[1].free);
}

/* A slice of 4 bytes would hold 400 while the 300 are needed beside it. */
static void a_small_part_does_not_hold_a_large_whole(void **state)
{
    (void)state;
    itg_flow_tensor t[8];
    itg_flow_step steps[] = {STEP(NONE, 0, LIST(0), LIST(1)), STEP(OUTPUTS, 8, LIST(1), LIST(2)),
                             STEP(NONE, 0, LIST(0), LIST(3)), STEP(NONE, 0, LIST(2, 3), LIST(4))};
    assert_int_equal(plan(&(sizes){{9, 400, 4, 300, 4}, 5, 4}, steps, 4, t), 404);
    assert_false(steps[1].free);
    assert_int_equal(plan(&(sizes){{9, 400, 8, 4, 4}, 5, 4}, steps, 4, t), 408);
    assert_true(steps[1].free); /* 400 + 4 + 4 is no more than the copy needs */
    assert_int_equal(t[2].offset, t[1].offset + 8);
}

static void scratch_lies_beside_what_its_step_reads_and_writes(void **state)
{
    (void)state;
    itg_flow_tensor t[4] = {{.dtype = ITG_S8, .bytes = 8, .given = true},
                            {.dtype = ITG_S8, .bytes = 8},
                            {.dtype = ITG_S64, .bytes = 16},
                            {.dtype = ITG_S8, .bytes = 8, .kept = true}};
    itg_flow_step steps[] = {STEP(NONE, 0, LIST(0), LIST(1)), STEP(ELEMENTS, 0, LIST(1), LIST(3))};
    steps[0].scratch = 2;
    itg_flow flow = {4, 2, t, steps, 0, 0};
    assert_int_equal(itg_flow_plan(&flow, 1, NULL), ITG_OK);
    assert_int_equal(flow.bytes, 32);
    assert_int_equal(t[2].offset % 8, 0);
    assert_int_equal(t[3].home, 1);
    assert_int_equal(t[0].last, 2);
}

static void an_output_lies_over_what_is_read_before_it(void **state)
{
    (void)state;
    itg_flow_tensor t[8];
    itg_flow_step steps[] = {STEP(NONE, 0, LIST(0), LIST(1)), STEP(BEHIND, 8, LIST(1), LIST(2)),
                             STEP(BEHIND, 4, LIST(2), LIST(3)), STEP(NONE, 0, LIST(3), LIST(4))};
    assert_int_equal(plan(&(sizes){{100, 40, 40, 60, 4}, 5, 4}, steps, 4, t), 64);
    assert_int_equal(t[1].offset, t[2].offset + 8);
    assert_int_equal(t[2].offset, t[3].offset + 8); /* aligned, as all are */
    assert_int_equal(t[3].room, 60);
    /* not where the first is read later on */
    steps[3] = (itg_flow_step)STEP(NONE, 0, LIST(1, 3), LIST(4));
    assert_int_equal(plan(&(sizes){{100, 40, 40, 60, 4}, 5, 4}, steps, 4, t), 104);
    assert_int_equal(t[1].home, 1);
    assert_int_equal(t[2].home, 3);
    /* nor where it gains nothing */
    itg_flow_step far[] = {STEP(NONE, 0, LIST(0), LIST(1)), STEP(BEHIND, 40, LIST(1), LIST(2))};
    assert_int_equal(plan(&(sizes){{100, 40, 40}, 3, 2}, far, 2, t), 80);
    assert_int_equal(t[2].home, 2);
}

/* Step 1 gives the second operand's home what step 2 would lie over. */
static void an_operand_in_the_same_home_is_not_overwritten_behind(void **state)
{
    (void)state;
    itg_flow_tensor t[8];
    itg_flow_step steps[] = {STEP(NONE, 0, LIST(0), LIST(1)), STEP(OUTPUTS, 0, LIST(1), LIST(2)),
                             STEP(BEHIND, 4, LIST(1, 2), LIST(3))};
    plan(&(sizes){{100, 40, 8, 40}, 4, 3}, steps, 3, t);
    assert_int_equal(t[2].home, 1);
    assert_int_equal(t[3].home, 3);
}

/* What is read begins at an odd byte; what is written may have larger elements. */
static void what_lies_over_a_part_is_aligned(void **state)
{
    (void)state;
    itg_flow_tensor t[8];
    for (uint64_t part = 0; part < 10; part++) {
        itg_flow_step steps[] = {STEP(NONE, 0, LIST(0), LIST(1)),
                                 STEP(OUTPUTS, part, LIST(1), LIST(2)),
                                 STEP(BEHIND, 1, LIST(2), LIST(3))};
        plan(&(sizes){{100, 40, 30, 30}, 4, 3}, steps, 3, t);
        assert_int_equal(t[2].offset, t[1].offset + part);
        assert_int_equal(t[3].home, t[1].home);
        assert_true(t[3].offset + 1 <= t[2].offset);
        assert_true(t[2].offset < t[3].offset + 1 + 8);
        assert_int_equal(t[3].offset % 8, 0);
        assert_int_equal(t[1].offset % 8, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_last_reader_writes_over_its_input),
        cmocka_unit_test(what_is_read_later_is_not_overwritten),
        cmocka_unit_test(an_operand_within_the_other_is_not_overwritten),
        cmocka_unit_test(parts_are_written_into_the_whole),
        cmocka_unit_test(a_small_part_does_not_hold_a_large_whole),
        cmocka_unit_test(an_output_lies_over_what_is_read_before_it),
        cmocka_unit_test(an_operand_in_the_same_home_is_not_overwritten_behind),
        cmocka_unit_test(what_lies_over_a_part_is_aligned),
        cmocka_unit_test(scratch_lies_beside_what_its_step_reads_and_writes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
