#include "cli/passive.h"
#include <stdlib.h>
#if defined(__linux__)
#include <unistd.h>
#endif

void itg_be_passive(int argc, char **argv)
{
#if defined(_OPENMP) && defined(__linux__)
    static const char guard[] =
        "ITG_WAIT_POLICY_SET"; /* prevents a second exec, whatever clears the other variables */
    if (argc < 1 || !argv || getenv("OMP_WAIT_POLICY") || getenv(guard)) return;
    if (setenv("OMP_WAIT_POLICY", "passive", 1) || setenv("GOMP_SPINCOUNT", "0", 0) ||
        setenv(guard, "1", 1))
        return;
    /* Executes its own path, so that the process keeps its name. exec returns only if it failed:
     * spinning then costs time, not results. */
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = '\0';
    execv(path, argv);
#else
    (void)argc;
    (void)argv;
#endif
}
