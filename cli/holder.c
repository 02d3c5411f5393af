/* Identifies this process and tells whether another one is alive. Reads Linux's /proc; without it
 * that is not known, and leases end by time. */
#include "cli/holder.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Reads the first line of a file; "" if there is none. */
static void read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    if (!file || !fgets(out, (int)size, file)) *out = '\0';
    if (file) fclose(file);
    out[strcspn(out, "\n")] = '\0';
}

/* Reads the state and the start time (ticks since boot) of a process: fields 3 and 22, after a name
 * in parentheses that may contain any character. Returns false without such a process or /proc. */
static bool look_at(int64_t process, char *state, char *started, size_t size)
{
    char path[64], line[2048];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)process);
    read_line(path, line, sizeof line);
    char *at = strrchr(line, ')');
    if (!at || at[1] != ' ') return false;
    *state = at[2];
    for (int field = 2; field < 22 && at; field++)
        at = strchr(at + 1, ' ');
    if (!at) return false;
    snprintf(started, size, "%.*s", (int)strcspn(at + 1, " "), at + 1);
    return true;
}

/* Writes the id of this boot and the namespace of process numbers. */
static void find_place(char *out, size_t size)
{
    char boot[64], space[64] = "";
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
    space[length > 0 ? length : 0] = '\0';
    snprintf(out, size, "%s %s", boot, space);
}

static itg_holder_state state_of(const itg_run_holder *other)
{
    char place[160], started[32], state;
    find_place(place, sizeof place);
    if (strlen(place) < 2 || strcmp(place, other->place) != 0) return ITG_HOLDER_UNKNOWN;
    if (!look_at(other->process, &state, started, sizeof started)) return ITG_HOLDER_GONE;
    bool ended = state == 'Z' || state == 'X'; /* nobody has asked for its status yet */
    return !ended && strcmp(started, other->started) == 0 ? ITG_HOLDER_LIVES : ITG_HOLDER_GONE;
}

const char *itg_cli_utc(char *buffer, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    buffer[0] = '\0';
    if (gmtime_r(&now, &utc)) strftime(buffer, size, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return buffer;
}

const itg_run_claim *itg_cli_claim(itg_cli_holder *out)
{
    char state;
    *out = (itg_cli_holder){.claim = {.now = (int64_t)time(NULL), .state = state_of}};
    if (gethostname(out->host, sizeof out->host - 1) != 0 || !*out->host)
        snprintf(out->host, sizeof out->host, "an unnamed machine");
    find_place(out->place, sizeof out->place);
    look_at(getpid(), &state, out->started, sizeof out->started);
    out->claim.self = (itg_run_holder){out->host, out->place, getpid(), out->started,
                                       itg_cli_utc(out->since, sizeof out->since)};
    return &out->claim;
}
