/* intaglio worker: evaluates trials of searches on other machines, until it is stopped. */
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include <intaglio/remote.h>
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACTIVATION_BYTES (INT64_C(256) << 20) /* as the search's --cache-mb has by default */

static double hook_clock(void *context)
{
    (void)context;
    return itg_cli_now();
}

static bool hook_stops(void *context)
{
    (void)context;
    return itg_cli_is_interrupted();
}

static void hook_note(void *context, const char *text)
{
    const itg_cli_args *args = context;
    if (!args->given[ITG_CLI_OPT_QUIET]) fprintf(stderr, "intaglio: note: %s\n", text);
}

/* Names the worker by machine, process and a random number, because containers may have equal
 * names. */
static void name_worker(char out[ITG_WORKER_NAME])
{
    char host[33] = "";
    unsigned nonce = 0;
    if (itg_file_random(&nonce, sizeof nonce, NULL) != ITG_OK)
        nonce = (unsigned)(itg_cli_now() * 1e6);
    if (gethostname(host, sizeof host - 1) != 0 || !*host) snprintf(host, sizeof host, "worker");
    for (char *c = host; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_' && *c != '.') *c = '-';
    snprintf(out, ITG_WORKER_NAME, "%s-%ld-%08x", host, (long)getpid(), nonce);
}

/* Creates a folder and its parents. */
static int make_folder(const char *path)
{
    char part[4096];
    if (strlen(path) >= sizeof part) return itg_cli_fail("%.200s...: the name is too long", path);
    snprintf(part, sizeof part, "%s", path);
    for (char *c = part + 1;; c++) {
        char end = *c;
        if (end != '/' && end != '\0') continue;
        *c = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return itg_cli_fail("%s: cannot create this folder: %s", part, strerror(errno));
        if (end == '\0') return ITG_CLI_OK;
        *c = '/';
    }
}

static int find_folder(const itg_cli_args *args, char *out, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (args->given[ITG_CLI_OPT_CACHE_DIR])
        snprintf(out, size, "%s", args->values[ITG_CLI_OPT_CACHE_DIR].text);
    else if (cache && *cache)
        snprintf(out, size, "%s/intaglio", cache);
    else if (home && *home)
        snprintf(out, size, "%s/.cache/intaglio", home);
    else
        return itg_cli_fail_usage(args->command, "neither --cache-dir nor HOME says where to keep "
                                                 "what searches send");
    return make_folder(out);
}

static int run(const itg_cli_args *args)
{
    char folder[3000];
    itg_error err = {0};
    const itg_cli_value *values = args->values;
    itg_worker_options o = {.hooks = {(void *)(uintptr_t)args, hook_clock, hook_stops, hook_note},
                            .cache_folder = folder,
                            .cache_bytes = values[ITG_CLI_OPT_DISK_CACHE_MB].integer * (1 << 20),
                            .activation_bytes = ACTIVATION_BYTES,
                            .threads = (int)values[ITG_CLI_OPT_THREADS].integer,
                            .lease = values[ITG_CLI_OPT_LEASE].number,
                            .idle = values[ITG_CLI_OPT_IDLE].number};
    itg_status status =
        itg_remote_parse(args->arguments[0], getenv(ITG_CLI_REDIS_PASSWORD), &o.address, &err);
    if (status != ITG_OK) return itg_cli_fail_usage(args->command, "%s", err.message);
    if (!(o.lease >= 0.1))
        return itg_cli_fail_usage(args->command, "--lease: expected at least 0.1 seconds");
    int result = find_folder(args, folder, sizeof folder);
    if (result != ITG_CLI_OK) return result;
    name_worker(o.name);
    signal(SIGPIPE, SIG_IGN);
    itg_cli_catch_interrupts();
    if (!args->given[ITG_CLI_OPT_QUIET]) fprintf(stderr, "intaglio: worker %s\n", o.name);
    status = itg_worker_run(&o, &err);
    return status == ITG_OK ? ITG_CLI_OK : itg_cli_fail_error(&err);
}

const itg_cli_command itg_cli_worker = {
    .name = "worker",
    .summary = "Evaluates trials of searches on other machines (search --workers)",
    .usage = "redis://[:PASSWORD@]HOST[:PORT]/NAME [--threads N] [--cache-dir D] [--cache-mb N]",
    .details =
        "Takes trials from the Redis server (Redis 7, Valkey) and sends their results, until it is "
        "stopped: Ctrl-C ends\n"
        "it after the trial in hand. Any number of workers on any number of machines serve any "
        "number of searches of one\n"
        "NAME. What a search needs is kept on the disk, by its hash. A worker proves first that it "
        "computes the bits that\n"
        "the search's machine does. It executes nothing that the server sends. The password may "
        "stand in the environment:\n" ITG_CLI_REDIS_PASSWORD
        ". docs/scale.md: clusters, limits, what happens when machines "
        "fail.",
    .min_arguments = 1,
    .max_arguments = 1,
    .arguments = {"redis://HOST/NAME"},
    .options = {ITG_CLI_OPT_CACHE_DIR, ITG_CLI_OPT_DISK_CACHE_MB, ITG_CLI_OPT_LEASE,
                ITG_CLI_OPT_IDLE, ITG_CLI_OPT_QUIET},
    .run = run};
