/* intaglio doctor: checks whether this build works on this machine. */
#include "base/base.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/json_out.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LEAST_FREE_MIB = 16 }; /* of a folder that is written to */

typedef struct examination {
    itg_json_writer json;
    bool as_json;
    int wrong;
} examination;

/* Records one finding: what was checked, whether it is fine, and the details. */
static void tell(examination *x, const char *name, bool fine, const char *format, ...)
    ITG_PRINTF(4, 5);
static void tell(examination *x, const char *name, bool fine, const char *format, ...)
{
    char text[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    x->wrong += !fine;
    if (!x->as_json) {
        printf("%-5s  %-17s  %s\n", fine ? "ok" : "WRONG", name, text);
        return;
    }
    itg_json_begin(&x->json, NULL, '{');
    itg_json_put_text(&x->json, "name", name);
    itg_json_put_bool(&x->json, "ok", fine);
    itg_json_put_text(&x->json, "found", text);
    itg_json_end(&x->json, '}');
}

static void examine_kernels(examination *x)
{
    static const char *const states[] = {[ITG_ACCEL_PROVEN] = "gives the bits of the reference",
                                         [ITG_ACCEL_ABSENT] = "this machine does not run it",
                                         [ITG_ACCEL_WRONG] =
                                             "differs from the reference, and is not used"};
    const char *name;
    for (int i = 0; (name = itg_accel_set(i)) != NULL; i++) {
        char label[64];
        itg_accel_state state = itg_accel_set_state(i);
        snprintf(label, sizeof label, "kernels %s", name);
        tell(x, label, state != ITG_ACCEL_WRONG, "%s",
             i == 0 ? "plain C, one sum after another" : states[state]);
    }
    itg_error err = {0};
    if (itg_accel_chosen(&name, &err) == ITG_OK)
        tell(x, "kernels in use", true, "%s", name);
    else
        tell(x, "kernels in use", false, "INTAGLIO_KERNELS: %s", err.message);
}

static void examine_onednn(examination *x)
{
    char version[32];
    itg_error err = {0};
    if (!itg_onednn_version(version))
        tell(x, "oneDNN", true, "not in this build; --float-kernels reference is complete");
    else if (itg_onednn_check(&err) == ITG_OK)
        tell(x, "oneDNN", true, "%s", version);
    else
        tell(x, "oneDNN", false, "%s: %s", version, err.message);
}

static void examine_machine(examination *x)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    char limited[64] = "";
    int threads = itg_thread_count(0);
    tell(x, "threads", threads > 0, "%d", threads);
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(limited, sizeof limited, ", of which ulimit -v allows %llu MiB",
                 (unsigned long long)limit.rlim_cur >> 20);
    if (pages > 0 && page > 0)
        tell(x, "memory", true, "%lld MiB%s", ((long long)pages * page) >> 20, limited);
    else
        tell(x, "memory", true, "not known");
}

/* Whether a log can be created in the folder. Opening the log checks its journal mode. */
static bool keeps_log(const char *folder, itg_error *err)
{
    char path[4096];
    itg_run_log *log = NULL;
    snprintf(path, sizeof path, "%s/.intaglio-doctor-%ld.db", folder, (long)getpid());
    itg_status status = itg_run_log_open(path, &log, err);
    if (status == ITG_OK) status = itg_run_log_close(log, err);
    remove(path);
    return status == ITG_OK;
}

static void examine_folder(examination *x, const char *name, const char *folder)
{
    struct statvfs disk;
    itg_error err = {0};
    char path[4096];
    if (statvfs(folder, &disk) != 0) {
        tell(x, name, false, "%.400s: %s", folder, strerror(errno));
        return;
    }
    const unsigned long long free_mib =
        (unsigned long long)((double)disk.f_bavail * (double)disk.f_frsize / 0x1p20);
    snprintf(path, sizeof path, "%s/.intaglio-doctor-%ld", folder, (long)getpid());
    itg_status status = itg_file_write(path, "", 0, &err);
    remove(path);
    if (status == ITG_OK && free_mib < LEAST_FREE_MIB)
        itg_fail(&err, ITG_IO, "no more than %d MiB are free", LEAST_FREE_MIB);
    if (err.message[0])
        tell(x, name, false, "%.400s", err.message);
    else
        tell(x, name, true, "%.400s, %llu MiB free", folder, free_mib);
}

static void examine_storage(examination *x)
{
    const char *temporary = getenv("TMPDIR");
    itg_error err = {0};
    if (!temporary || !*temporary) temporary = "/tmp";
    examine_folder(x, "this folder", ".");
    examine_folder(x, "temporary files", temporary);
    if (keeps_log(".", &err))
        tell(x, "SQLite", true, "%s, journal mode delete", itg_run_log_sqlite());
    else
        tell(x, "SQLite", false, "%s: %.400s", itg_run_log_sqlite(), err.message);
}

static int run(const itg_cli_args *args)
{
    examination x = {.as_json = args->given[ITG_CLI_OPT_JSON]};
    itg_json_begin(&x.json, NULL, '{');
    itg_json_begin(&x.json, "findings", '[');
    tell(&x, "version", true, "%s", itg_engine_version());
    examine_kernels(&x);
    examine_onednn(&x);
    examine_machine(&x);
    examine_storage(&x);
    itg_json_end(&x.json, ']');
    itg_json_put_bool(&x.json, "ok", x.wrong == 0);
    itg_json_end(&x.json, '}');
    int status = ITG_CLI_OK;
    if (x.as_json)
        status = itg_cli_json_print(&x.json);
    else if (x.wrong > 0)
        printf("%d finding%s wrong\n", x.wrong, x.wrong == 1 ? " is" : "s are");
    itg_strbuf_deinit(&x.json.text);
    return x.wrong > 0 ? ITG_CLI_FAILURE : status;
}

const itg_cli_command itg_cli_doctor = {
    .name = "doctor",
    .summary = "Examines this build and machine: kernels, oneDNN, threads, memory, disk, SQLite",
    .usage = "[--json]",
    .details = "Each set of integer kernels is tested against the reference; the ones that differ "
               "in a bit are\nnever used. The folder that it is called in and the one for "
               "temporary files must take files and\na log. Exit status 1: something is wrong.",
    .run = run,
};
