#include "cli/child.h"
#include "base/base.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_PRINTED (1 << 20)
#define SAID_LENGTH 240 /* of its last words */
#define PATIENCE_S 2    /* for what runs when the user stops this program */

extern char **environ;

typedef struct child {
    const char *name;
    char *printed, *said; /* paths of its two outputs */
    double seconds, start;
    pid_t pid;
} child;

/* ---- beginning ---- */

static char *path_in(const char *folder, const char *name)
{
    itg_strbuf path = {0};
    itg_strbuf_format(&path, "%s/%s", folder, name);
    if (itg_strbuf_ok(&path)) return path.text;
    itg_strbuf_deinit(&path);
    return NULL;
}

/* Starts the shell in its own process group, so that its children can be ended with it. Returns 0
 * or an errno. */
static int spawn(child *c, const char *text)
{
    enum { NEW_FILE = O_WRONLY | O_CREAT | O_TRUNC };
    char shell[] = "sh", option[] = "-c";
    char *const words[] = {shell, option, (char *)(uintptr_t)text, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&files) != 0) return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    int why = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (why == 0)
        why = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, c->printed, NEW_FILE, 0600);
    if (why == 0)
        why = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, c->said, NEW_FILE, 0600);
    if (why == 0) why = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (why == 0) why = posix_spawnattr_setpgroup(&attributes, 0);
    if (why == 0) why = posix_spawn(&c->pid, "/bin/sh", &files, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return why;
}

/* ---- waiting ---- */

static void sleep_for(long nanoseconds)
{
    const struct timespec pause = {0, nanoseconds};
    nanosleep(&pause, NULL);
}

static bool has_ended(const child *c)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

static bool prints_too_much(const child *c)
{
    struct stat printed = {0}, said = {0};
    return (stat(c->printed, &printed) == 0 && printed.st_size > MOST_PRINTED) ||
           (stat(c->said, &said) == 0 && said.st_size > MOST_PRINTED);
}

/* Returns ": " and the end of its standard error on one line; "" if there was none. */
static const char *last_words(const child *c, char out[SAID_LENGTH])
{
    unsigned char *text = NULL;
    size_t bytes = 0;
    *out = '\0';
    if (itg_file_read(c->said, 2 * MOST_PRINTED, &text, &bytes, NULL) != ITG_OK) return out;
    while (bytes > 0 && text[bytes - 1] <= ' ')
        bytes--;
    size_t most = SAID_LENGTH - sizeof ": ...", from = bytes > most ? bytes - most : 0;
    if (bytes > 0) itg_cli_append(out, SAID_LENGTH, ": %s", from > 0 ? "..." : "");
    for (size_t i = from; i < bytes; i++)
        itg_cli_append(out, SAID_LENGTH, "%c", text[i] < ' ' || text[i] == 127 ? ' ' : text[i]);
    free(text);
    return out;
}

static itg_status fail_status(const child *c, int status, itg_error *err)
{
    char said[SAID_LENGTH];
    last_words(c, said);
    if (WIFSIGNALED(status))
        return itg_fail(err, ITG_FAILURE, "%s was ended by signal %d%s", c->name, WTERMSIG(status),
                        said);
    return itg_fail(err, ITG_FAILURE, "%s ended with status %d%s", c->name, WEXITSTATUS(status),
                    said);
}

/* Returns ITG_OK while the command may continue; otherwise the error says why not. */
static itg_status check(const child *c, itg_error *err)
{
    char said[SAID_LENGTH];
    if (itg_cli_interrupted_for() >= PATIENCE_S)
        return itg_fail(err, ITG_CANCELLED, "%s was interrupted", c->name);
    if (prints_too_much(c))
        return itg_fail(err, ITG_LIMIT, "%s prints more than a MiB%s", c->name,
                        last_words(c, said));
    if (itg_cli_now() - c->start > c->seconds)
        return itg_fail(err, ITG_LIMIT, "%s takes more than %g s%s", c->name, c->seconds,
                        last_words(c, said));
    return ITG_OK;
}

/* Waits for the command, then kills its group. The leader is reaped only after the kill, so that
 * the group's number cannot belong to another process. */
static itg_status wait_for(const child *c, itg_error *err)
{
    enum { SHORTEST = 500000, LONGEST = 20000000 }; /* ns */
    itg_status status = ITG_OK;
    int result = 0;
    for (long pause = SHORTEST; !has_ended(c) && status == ITG_OK;
         pause = pause < LONGEST ? 2 * pause : pause) {
        sleep_for(pause);
        status = check(c, err);
    }
    kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, &result, 0) < 0 && errno == EINTR)
        continue;
    if (status == ITG_OK && result != 0) return fail_status(c, result, err);
    return status;
}

static itg_status read_printed(const child *c, char **out, itg_error *err)
{
    unsigned char *bytes = NULL;
    size_t count = 0;
    itg_status status = itg_file_read(c->printed, MOST_PRINTED, &bytes, &count, err);
    *out = (char *)bytes;
    return status;
}

itg_status itg_cli_child_run(const char *name, const char *text, const char *folder, double seconds,
                             char **out, itg_error *err)
{
    child c = {name, path_in(folder, "stdout"), path_in(folder, "stderr"), seconds, itg_cli_now(),
               0};
    itg_status status = ITG_OK;
    *out = NULL;
    int why = c.printed && c.said ? spawn(&c, text) : ENOMEM;
    if (why != 0) status = itg_fail(err, ITG_IO, "%s cannot be started: %s", name, strerror(why));
    if (status == ITG_OK) status = wait_for(&c, err);
    if (status == ITG_OK) status = read_printed(&c, out, err);
    free(c.printed);
    free(c.said);
    return status;
}
