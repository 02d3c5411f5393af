/* Axes hold what they are given, and marks stand where their numbers are. */
#include "tests/base/cmocka_base.h"
#include "report/plot.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

static itg_axis axis(double lo, double hi, double scale)
{
    return (itg_axis){.title = "x", .lo = lo, .hi = hi, .scale = scale};
}

static void axes_hold_finite_numbers(void **state)
{
    (void)state;
    itg_axis a = itg_axis_empty("a", 1);
    itg_axis_hold(&a, NAN);
    itg_axis_hold(&a, INFINITY);
    itg_axis_round_up(&a); /* nothing: still an extent */
    assert_true(a.lo < a.hi && isfinite(a.lo) && isfinite(a.hi));
    a = itg_axis_empty("a", 1);
    itg_axis_hold(&a, -3);
    itg_axis_round_up(&a);
    assert_true(a.lo < -3 && a.hi > -3);
    itg_axis_hold(&a, 97);
    assert_true(a.hi == 97);
}

/* Ticks' words, in order, each once. */
static void check_ticks(itg_axis x, const char *const *words, int count)
{
    itg_page page = {0};
    itg_plot plot;
    itg_plot_begin(&plot, &page, "p", x, axis(0, 1, 1));
    itg_plot_end(&plot);
    const char *at = strstr(page.text.text, "<g class=\"xs\">");
    assert_non_null(at);
    assert_int_equal(count_of(at, "tick mid"), count);
    for (int i = 0; i < count; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, ">%s</text>", words[i]);
        at = strstr(at, expected);
        if (!at) fail_msg("tick %s is missing in %s", words[i], page.text.text);
    }
    itg_page_deinit(&page);
}

static void ticks_are_round_numbers(void **state)
{
    (void)state;
    static const char *const shares[] = {"0", "20", "40", "60", "80", "100"};
    static const char *const kilobytes[] = {"0", "10", "20", "30", "40", "50", "60"};
    static const char *const near[] = {"78.01", "78.02", "78.03", "78.04",
                                       "78.05", "78.06", "78.07"};
    static const char *const around[] = {"-3", "-2", "-1", "0", "1", "2", "3"};
    check_ticks(axis(0, 1, 100), shares, 6);
    check_ticks(axis(-1, 61000, 0.001), kilobytes, 7);
    check_ticks(axis(0.7801, 0.7807, 100), near, 7);
    check_ticks(axis(-3, 3, 1), around, 7);
}

static void marks_stand_where_their_numbers_are(void **state)
{
    (void)state;
    itg_page page = {0};
    itg_plot plot;
    itg_plot_begin(&plot, &page, "p <", axis(0, 10, 1), axis(0, 10, 1));
    assert_non_null(strstr(page.text.text, "aria-label=\"p &lt;\""));
    assert_true(itg_plot_mark(&plot, ITG_MARK_DOT, 5, 5, "<a>"));
    assert_false(itg_plot_mark(&plot, ITG_MARK_DOT, 5, 11, "b"));
    assert_false(itg_plot_mark(&plot, ITG_MARK_DOT, NAN, 5, "c"));
    assert_false(itg_plot_mark(&plot, ITG_MARK_DOT, 5, NAN, "d"));
    /* the middle of 84..624 and of 276..14 */
    assert_non_null(strstr(page.text.text, "cx=\"354.0\" cy=\"145.0\""));
    assert_int_equal(count_of(page.text.text, "<circle"), 1);
    assert_non_null(strstr(page.text.text, "<title>&lt;a&gt;</title></circle>"));
    itg_plot_interval(&plot, 5, -5, 5); /* cut off at the axis */
    assert_non_null(strstr(page.text.text, "class=\"interval\" d=\"M354.0 276.0V145.0\""));
    itg_plot_interval(&plot, 5, NAN, NAN);
    itg_plot_level(&plot, 11, "too high");
    assert_null(strstr(page.text.text, "too high"));
    itg_plot_step(&plot, 0, 10);
    itg_plot_step(&plot, 5, 5);
    itg_plot_step_end(&plot, 10);
    assert_non_null(strstr(page.text.text, "d=\"M84.0 14.0H354.0V145.0H624.0\""));
    itg_plot_step_end(&plot, 10); /* no line: nothing */
    itg_plot_end(&plot);
    assert_null(strstr(page.text.text, "nan"));
    itg_page_deinit(&page);
}

/* The drawing's axes meet at 84 to the right and 276 down; they are 540 wide and 262 high. */
static void boxes_and_bars_reach_from_number_to_number(void **state)
{
    (void)state;
    itg_page page = {0};
    itg_plot plot;
    itg_plot_begin(&plot, &page, "p", axis(0, 10, 1), axis(0, 100, 1));
    itg_plot_box(&plot, 0, 5, 50, 100, false, "half");
    itg_plot_box(&plot, 9, 10, 0, 100, true, "last");
    itg_plot_bar(&plot, 5, 25, false, "bar");
    itg_plot_end(&plot);
    assert_non_null(strstr(page.text.text, "<rect class=\"box\" x=\"84.0\" y=\"14.0\" "
                                           "width=\"270.0\" height=\"131.0\""));
    assert_non_null(strstr(page.text.text, "<rect class=\"box accent\" x=\"570.0\" y=\"14.0\" "
                                           "width=\"54.0\" height=\"262.0\""));
    assert_non_null(strstr(page.text.text, "<rect class=\"bar\" x=\"334.6\" y=\"210.5\" "
                                           "width=\"38.9\" height=\"65.5\""));
    itg_page_deinit(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_hold_finite_numbers),
        cmocka_unit_test(ticks_are_round_numbers),
        cmocka_unit_test(marks_stand_where_their_numbers_are),
        cmocka_unit_test(boxes_and_bars_reach_from_number_to_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
