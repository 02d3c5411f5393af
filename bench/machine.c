#include "bench/bench.h"
#include "commit.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *bench_commit(void)
{
    return ITG_BENCH_COMMIT;
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double bench_clock(int threads)
{
    return seconds_of(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC);
}

/* What stands behind the colon of the first line of a file that begins with key. */
static bool find_line(const char *path, const char *key, char *out, size_t size)
{
    char line[256];
    bool found = false;
    FILE *file = fopen(path, "r");
    if (!file) return false;
    while (!found && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, key, strlen(key)) != 0 || !colon) continue;
        const char *text = colon + 1 + strspn(colon + 1, " \t");
        snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
        found = true;
    }
    fclose(file);
    return found;
}

void bench_processor(char *out, size_t size)
{
    if (!find_line("/proc/cpuinfo", "model name", out, size))
        snprintf(out, size, "unknown processor");
}

/* Not getrusage: what it says outlives exec, and is then the parent's. */
int64_t bench_peak_memory(void)
{
    char text[64];
    if (!find_line("/proc/self/status", "VmHWM", text, sizeof text)) return 0;
    return 1024 * (int64_t)strtoll(text, NULL, 10);
}

void bench_print_header(int threads, int repeats)
{
    char processor[256];
    bench_processor(processor, sizeof processor);
    printf("intaglio %s, commit %s\n%s, %ld processors online; %d thread%s, %d repeats\n",
           itg_engine_version(), ITG_BENCH_COMMIT, processor, sysconf(_SC_NPROCESSORS_ONLN),
           threads, threads == 1 ? "" : "s", repeats);
}
