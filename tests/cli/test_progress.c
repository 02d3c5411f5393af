/* What a search shows while it runs, on a terminal (a pseudo-terminal) and elsewhere. */
#if !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700 /* posix_openpt */
#endif
#include "driver.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEARCH                                                                                     \
    "search digits.onnx --hw cortex-m --search-samples 200 --calibration-samples 50 --json -o "    \
    "p.json "                                                                                      \
    "--searcher random --recover none --data digits_search_images.npy --labels "                   \
    "digits_search_labels.npy "                                                                    \
    "--scale 1/255 "

enum { SHOWN = 1 << 18 };

/* What arrives at the terminal until the program ends. */
static void read_all(int terminal, char *text)
{
    size_t used = 0;
    for (;;) {
        ssize_t got = read(terminal, text + used, SHOWN - 1 - used);
        if (got <= 0) break; /* EIO: the other side is closed */
        used += (size_t)got;
    }
    text[used] = '\0';
}

/* Runs with stderr on a terminal of so many columns; what it showed is malloc'd. NULL: this machine
 * has no pseudo-terminals. */
static char *show(const char *line, int columns, const char *no_color, const char *term)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return NULL;
    int side = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(side >= 0);
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    assert_int_equal(ioctl(side, TIOCSWINSZ, &size), 0);
    setenv("TERM", term, 1);
    if (no_color)
        setenv("NO_COLOR", no_color, 1);
    else
        unsetenv("NO_COLOR");
    pid_t child = start_to(line, "background.out", side);
    close(side);
    char *text = malloc(SHOWN);
    assert_non_null(text);
    read_all(terminal, text);
    close(terminal);
    assert_int_equal(wait_for(child), 0);
    return text;
}

static bool skips(const char *shown)
{
    if (!shown) print_message("skipped: this machine has no pseudo-terminals\n");
    return !shown;
}

static void a_terminal_shows_one_line_with_bar_best_rate_and_time(void **state)
{
    (void)state;
    char *shown = show(SEARCH "--trials 60", 200, NULL, "xterm");
    if (skips(shown)) return;
    assert_contains(shown, "\r[##########] 60 of 60 trials, ");
    assert_contains(shown, " stopped early, 0:00 left, ");
    assert_contains(shown, "/s, best ");
    assert_contains(shown, " bytes at ");
    assert_contains(shown, "\x1b[32m[");       /* a better best is green */
    const char *newline = strchr(shown, '\n'); /* the only one is the last */
    assert_non_null(newline);
    assert_true(newline[1] == '\0');
    free(shown);
}

static void an_end_that_is_not_known_has_no_bar(void **state)
{
    (void)state;
    char *shown =
        show("search digits.onnx --hw cortex-m --search-samples 50 -o p.json "
             "--calibration-samples 20 --json --recover none --searcher hago-greedy --max-drop 3% "
             "--data digits_search_images.npy --labels digits_search_labels.npy "
             "--scale 1/255",
             200, NULL, "xterm");
    if (skips(shown)) return;
    assert_contains(shown, ", best ");
    assert_null(strstr(shown, "[#"));
    assert_null(strstr(shown, "[."));
    assert_null(strstr(shown, " left"));
    free(shown);
}

static void a_goal_that_is_not_met_yet_is_told(void **state)
{
    (void)state;
    outcome o = run(SEARCH "--trials 3 --weight-bits 2:2 --activation-bits 2:2 --max-drop 0");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "goal not met yet, nearest ");
    assert_null(strstr(o.err, ", best "));
    done(&o);
}

static void no_color_and_dumb_terminals_are_respected(void **state)
{
    (void)state;
    char *shown = show(SEARCH "--trials 8", 200, "1", "xterm");
    if (skips(shown)) return;
    assert_contains(shown, "\r[");
    assert_null(strchr(shown, '\x1b'));
    free(shown);
    shown = show(SEARCH "--trials 8", 200, NULL, "dumb");
    assert_null(strchr(shown, '\x1b'));
    assert_null(strstr(shown, "[#"));
    assert_contains(shown, " of 8 trials");
    free(shown);
}

static void a_narrow_terminal_gets_lines_that_it_does_not_break(void **state)
{
    (void)state;
    enum { COLUMNS = 40 };
    char *shown = show(SEARCH "--trials 20", COLUMNS, "1", "xterm");
    if (skips(shown)) return;
    for (const char *at = shown; *at; at += strspn(at, "\r\n")) {
        size_t width = strcspn(at, "\r\n");
        assert_true(width < COLUMNS);
        at += width;
    }
    free(shown);
}

static void quiet_shows_nothing(void **state)
{
    (void)state;
    char *shown = show(SEARCH "--trials 4 --quiet", 200, NULL, "xterm");
    if (skips(shown)) return;
    assert_string_equal(shown, "");
    free(shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_shows_one_line_with_bar_best_rate_and_time),
        cmocka_unit_test(an_end_that_is_not_known_has_no_bar),
        cmocka_unit_test(a_goal_that_is_not_met_yet_is_told),
        cmocka_unit_test(no_color_and_dumb_terminals_are_respected),
        cmocka_unit_test(a_narrow_terminal_gets_lines_that_it_does_not_break),
        cmocka_unit_test(quiet_shows_nothing),
    };
    if (enter_folder("progress") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
