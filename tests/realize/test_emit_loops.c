/* What repeats in a program stands once in its C source: arrays, functions, and calls as a loop. */
#include "program_maker.h"
#include "recurrent_program.h"
#define FOLDER TEST_FOLDER "/emitted_loops"
#include "emitted.h"

/* ---- what the source has ---- */

typedef struct counts {
    int functions, calls, loops, tables, moves, steady;
} counts;

static int count_of(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        count++;
    return count;
}

static counts counts_of(const itg_program *p)
{
    itg_strbuf source = {0}, header = {0};
    assert_int_equal(itg_program_source(p, "net", &source, &header, NULL), ITG_OK);
    const char *run = strstr(source.text, "\nvoid net_run(");
    assert_non_null(run);
    const counts c = {.functions = count_of(source.text, "static APART void layer_"),
                      .calls = count_of(run, " layer_"),
                      .loops = count_of(run, "for (int32_t t = 0;"),
                      .tables = count_of(source.text, "_table0[256] = {"),
                      .moves = count_of(run, "const int32_t move"),
                      .steady = count_of(run, " + t * 8")};
    itg_strbuf_deinit(&source);
    itg_strbuf_deinit(&header);
    return c;
}

static void check(const itg_program *p)
{
    itg_error err = {0};
    if (!has_compiler()) {
        print_message("skipped: no compiler\n");
        skip();
    }
    if (!emits(p, "loop", 3, &err)) fail_msg("%s", err.message);
    compile_and_run("loop", FLAGS " -O1", 0);
}

static void steps_in_the_order_of_memory_move_by_one_distance(void **state)
{
    (void)state;
    for (int steps = 12; steps <= MOST_STEPS; steps += 52) {
        itg_program *p = recurrent_program(steps, false, RECURRENT_OTHER_TABLE);
        const counts c = counts_of(p);
        assert_int_equal(c.functions, 3); /* both tables and the sum */
        assert_int_equal(c.tables, 2);
        assert_int_equal(c.loops, 1);
        assert_true(c.steady > 0);
        assert_in_range(c.calls, 3, 8);
        check(p);
        itg_program_destroy(p);
    }
}

static void steps_in_another_order_read_how_they_move(void **state)
{
    (void)state;
    itg_program *p = recurrent_program(MOST_STEPS, true, RECURRENT_TABLE);
    const counts c = counts_of(p);
    assert_int_equal(c.functions, 3); /* the table of all parts is a function of its own */
    assert_int_equal(c.tables, 1);
    assert_int_equal(c.loops, 1);
    assert_in_range(c.moves, 1, 3);
    assert_int_equal(c.steady, 0);
    assert_in_range(c.calls, 3, 8);
    check(p);
    itg_program_destroy(p);
}

/* What is free for scratch moves from step to step. */
static void products_of_all_steps_are_few_functions(void **state)
{
    (void)state;
    itg_program *p = recurrent_program(MOST_STEPS, false, RECURRENT_STATES);
    const counts c = counts_of(p);
    print_message("%d functions, %d calls\n", c.functions, c.calls);
    assert_in_range(c.functions, 4, 8); /* tables, the sum, the product, the end */
    check(p);
    itg_program_destroy(p);
}

static void few_calls_are_no_loop(void **state)
{
    (void)state;
    itg_program *p = recurrent_program(4, false, RECURRENT_TABLE);
    assert_int_equal(counts_of(p).loops, 0);
    assert_int_equal(counts_of(p).calls, 8); /* none for the parts, which lie in what they are of */
    check(p);
    itg_program_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_in_the_order_of_memory_move_by_one_distance),
        cmocka_unit_test(steps_in_another_order_read_how_they_move),
        cmocka_unit_test(products_of_all_steps_are_few_functions),
        cmocka_unit_test(few_calls_are_no_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
