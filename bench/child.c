/* A child process that answers questions, line by line. */
#include "bench/bench.h"
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

struct bench_child {
    pid_t process;
    FILE *to, *from;
};

/* In the child: never returns. */
static void become(const char *const *words, const int in[2], const int out[2])
{
    dup2(in[0], 0);
    dup2(out[1], 1);
    close(in[0]);
    close(in[1]);
    close(out[0]);
    close(out[1]);
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

static void close_pair(const int pair[2])
{
    if (pair[0] >= 0) close(pair[0]);
    if (pair[1] >= 0) close(pair[1]);
}

itg_status bench_child_start(const char *const *words, bench_child **out, itg_error *err)
{
    int in[2] = {-1, -1}, from[2] = {-1, -1};
    bench_child *c = calloc(1, sizeof *c);
    if (!c) return itg_fail(err, ITG_NO_MEMORY, "no memory for a child process");
    c->process = -1;
    fflush(NULL);
    if (pipe(in) == 0 && pipe(from) == 0) c->process = fork();
    if (c->process == 0) become(words, in, from);
    if (c->process < 0) {
        close_pair(in);
        close_pair(from);
        free(c);
        return itg_fail(err, ITG_IO, "cannot start %s", words[0]);
    }
    close(in[0]);
    close(from[1]);
    c->to = fdopen(in[1], "w");
    c->from = fdopen(from[0], "r");
    if (c->to && c->from) {
        *out = c;
        return ITG_OK;
    }
    if (!c->to) close(in[1]);
    if (!c->from) close(from[0]);
    bench_child_end(c);
    return itg_fail(err, ITG_NO_MEMORY, "no memory for a child process");
}

itg_status bench_child_ask(bench_child *child, const char *question, char *answer, size_t size,
                           itg_error *err)
{
    bool sent = !question || (fprintf(child->to, "%s\n", question) > 0 && fflush(child->to) == 0);
    if (!sent || !fgets(answer, (int)size, child->from))
        return itg_fail(err, ITG_IO, "the child process is gone (asked: %.200s)",
                        question ? question : "nothing");
    answer[strcspn(answer, "\n")] = 0;
    return ITG_OK;
}

void bench_child_end(bench_child *child)
{
    if (!child) return;
    if (child->to) fclose(child->to);
    if (child->from) fclose(child->from);
    waitpid(child->process, NULL, 0);
    free(child);
}
