/* What the program prints, word for word: each file of transcripts/ holds commands and all that
 * they print, in the order in which they run in one folder. Where something else is meant to be
 * printed, the file NAME.got in the tests' folder, which a failing test leaves, takes the place of
 * NAME.txt once it has been read. */
#include "driver.h"
#include "two_inputs.h"
#include <unistd.h>

static const char *const names[] = {"help",     "inputs", "network", "programs",
                                    "refusals", "runs",   "search"};
enum { TRANSCRIPTS = sizeof names / sizeof *names };

static char root[2048];
static char *expected[TRANSCRIPTS];

/* What follows a mark and consists of `letters` is one #. */
static void mask(char *text, const char *mark, const char *letters)
{
    for (char *at = strstr(text, mark); at; at = strstr(at, mark)) {
        at += strlen(mark);
        size_t length = strspn(at, letters);
        if (length == 0) continue;
        *at = '#';
        memmove(at + 1, at + length, strlen(at + length) + 1);
    }
}

/* A search tells how long it took; the hash of a program is that of its texts, too. */
static void mask_all(const char *line, char *text)
{
    static const char seconds[] = "0123456789.e-";
    if (strncmp(line, "search ", 7) == 0) mask(text, "\"seconds\": ", seconds);
    if (strncmp(line, "search ", 7) == 0) mask(text, " in ", seconds);
    if (strncmp(line, "verify ", 7) == 0) mask(text, "\"sha256\": \"", "0123456789abcdef");
}

/* What is on stderr follows, each line marked, and the status where it is not 0. */
static void transcribe(const char *line, FILE *out)
{
    outcome o = run(line);
    mask_all(line, o.out);
    fprintf(out, "$ intaglio %s\n%s", line, o.out);
    for (const char *at = o.err; *at;) {
        size_t length = strcspn(at, "\n");
        fprintf(out, "! %.*s\n", (int)length, at);
        at += length + (at[length] == '\n');
    }
    if (o.status != 0) fprintf(out, "(status %d)\n", o.status);
    done(&o);
}

/* The commands of a transcript, as they go now. */
static char *replay(const char *text)
{
    static const char prompt[] = "$ intaglio ";
    char *got = NULL, line[4096];
    size_t bytes = 0;
    FILE *out = open_memstream(&got, &bytes);
    assert_non_null(out);
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "\n");
        if (strncmp(at, prompt, sizeof prompt - 1) == 0) {
            snprintf(line, sizeof line, "%.*s", (int)(length - sizeof prompt + 1),
                     at + sizeof prompt - 1);
            transcribe(line, out);
        }
        at += length + (at[length] == '\n');
    }
    assert_int_equal(fclose(out), 0);
    return got;
}

static void tell_difference(const char *name, const char *got, const char *wanted)
{
    size_t at = 0, begin = 0;
    while (got[at] == wanted[at])
        at++;
    for (size_t i = 0; i < at; i++)
        if (strncmp(got + i, "\n$ ", 3) == 0) begin = i + 1;
    size_t before = at - begin < 60 ? at - begin : 60;
    fail_msg("%s/%s.got: %.*s\n...%.160s\nbut expected\n...%.160s", TEST_FOLDER, name,
             (int)strcspn(got + begin, "\n"), got + begin, got + at - before, wanted + at - before);
}

static void it_prints_what_it_printed(void **state)
{
    size_t number = (size_t)((const char *const *)*state - names);
    char path[4096];
    char *got = replay(expected[number]);
    snprintf(path, sizeof path, "%s/%s.got", TEST_FOLDER, names[number]);
    unlink(path);
    if (strcmp(got, expected[number]) != 0) {
        put(path, got, strlen(got));
        tell_difference(names[number], got, expected[number]);
    }
    free(got);
}

/* The logged runs that the commands import. */
static bool link_runs(void)
{
    char from[4096], name[] = "a.json";
    for (; *name <= 'l'; ++*name) {
        snprintf(from, sizeof from, "%s/tests/cli/transcripts/%s", root, name);
        if (symlink(from, name) != 0) return false;
    }
    return true;
}

int main(void)
{
    struct CMUnitTest tests[TRANSCRIPTS];
    char path[4096];
    if (!getcwd(root, sizeof root)) return 1;
    for (size_t i = 0; i < TRANSCRIPTS; i++) {
        snprintf(path, sizeof path, "tests/cli/transcripts/%s.txt", names[i]);
        expected[i] = text_of(path);
        tests[i] = (struct CMUnitTest){names[i], it_prints_what_it_printed, NULL, NULL,
                                       (void *)(uintptr_t)&names[i]};
        if (!*expected[i]) return 1;
    }
    if (enter_folder("transcripts") != 0 || !link_runs()) return 1;
    put_two_inputs();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < TRANSCRIPTS; i++)
        free(expected[i]);
    return leave_folder() != 0 || failed;
}
