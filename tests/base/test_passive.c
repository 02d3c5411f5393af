/* The program runs itself as a child, which calls itg_be_passive first and then looks at
 * the environment that it was started with: /proc/self/environ shows whether it was executed again.
 */
#include "cmocka_base.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/passive.h"

enum { EXECUTED_AGAIN = 10, AS_IT_WAS = 11, ARGUMENTS_LOST = 12, NO_PROC = 13 };

static bool environment_has(const char *wanted, bool *out)
{
    static char all[1 << 20];
    FILE *file = fopen("/proc/self/environ", "rb");
    if (!file) return false;
    size_t bytes = fread(all, 1, sizeof all - 1, file);
    fclose(file);
    *out = false;
    for (size_t at = 0; at < bytes; at += strlen(all + at) + 1) {
        if (strcmp(all + at, wanted) == 0) *out = true;
    }
    return true;
}

static int run_as_child(int argc, char **argv)
{
    bool is_passive;
    itg_be_passive(argc, argv);
    if (argc != 3 || strcmp(argv[0], "name") != 0 || strcmp(argv[2], "two words") != 0)
        return ARGUMENTS_LOST;
    if (!environment_has("OMP_WAIT_POLICY=passive", &is_passive)) return NO_PROC;
    return is_passive ? EXECUTED_AGAIN : AS_IT_WAS;
}

static int child_status(const char *policy)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        unsetenv("ITG_WAIT_POLICY_SET");
        unsetenv("OMP_WAIT_POLICY");
        if (policy) setenv("OMP_WAIT_POLICY", policy, 1);
        execl("/proc/self/exe", "name", "child", "two words", (char *)NULL);
        _exit(NO_PROC);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_program_is_executed_again_once_with_its_arguments(void **state)
{
    (void)state;
    int status = child_status(NULL);
    if (status == NO_PROC) {
        print_message("skipped: no /proc here\n");
        return;
    }
#ifdef HAS_THREADS
    assert_int_equal(status, EXECUTED_AGAIN);
#else
    assert_int_equal(status, AS_IT_WAS);
#endif
}

static void a_policy_that_the_user_set_stays(void **state)
{
    (void)state;
    int status = child_status("active");
    if (status == NO_PROC) {
        print_message("skipped: no /proc here\n");
        return;
    }
    assert_int_equal(status, AS_IT_WAS);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "child") == 0) return run_as_child(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_program_is_executed_again_once_with_its_arguments),
        cmocka_unit_test(a_policy_that_the_user_set_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
