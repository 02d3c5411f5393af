/* An output must not be a file that the same command reads or writes elsewhere: it would be gone.
 */
#include "cli/common.h"
#include <string.h>
#include <sys/stat.h>

static const itg_cli_option written[] = {ITG_CLI_OPT_DB,          ITG_CLI_OPT_OUT_STRATEGY,
                                         ITG_CLI_OPT_OUT_PROGRAM, ITG_CLI_OPT_OUT_NPY,
                                         ITG_CLI_OPT_RUNS_DB,     ITG_CLI_OPT_RUNS_OUT};
static const itg_cli_option read[] = {ITG_CLI_OPT_HW,      ITG_CLI_OPT_DATA,
                                      ITG_CLI_OPT_LABELS,  ITG_CLI_OPT_CALIB,
                                      ITG_CLI_OPT_HOLDOUT, ITG_CLI_OPT_HOLDOUT_LABELS};
enum { WRITTEN = sizeof written / sizeof *written, READ = sizeof read / sizeof *read };

bool itg_cli_is_same_file(const char *a, const char *b)
{
    struct stat first, second;
    if (stat(a, &first) != 0 || stat(b, &second) != 0) return strcmp(a, b) == 0;
    return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* As given, or the default of an option that the command has; NULL: none. */
static const char *path_of(const itg_cli_args *args, itg_cli_option option)
{
    return itg_cli_takes(args->command, option) ? args->values[option].text : NULL;
}

static int check(const itg_cli_args *args, int index)
{
    const char *out = path_of(args, written[index]), *other;
    const char *name = itg_cli_option_spec(written[index])->name;
    if (!out) return ITG_CLI_OK;
    for (int i = 0; i < args->argument_count; i++)
        if (itg_cli_is_same_file(out, args->arguments[i]))
            return itg_cli_fail_usage(args->command, "--%s %s would overwrite %s", name, out,
                                      args->command->arguments[i]);
    for (int i = 0; i < READ; i++)
        if ((other = path_of(args, read[i])) != NULL && itg_cli_is_same_file(out, other))
            return itg_cli_fail_usage(args->command, "--%s %s would overwrite --%s", name, out,
                                      itg_cli_option_spec(read[i])->name);
    for (int i = 0; i < index; i++)
        if ((other = path_of(args, written[i])) != NULL && itg_cli_is_same_file(out, other))
            return itg_cli_fail_usage(args->command, "--%s %s would overwrite --%s", name, out,
                                      itg_cli_option_spec(written[i])->name);
    return ITG_CLI_OK;
}

int itg_cli_check_outputs(const itg_cli_args *args)
{
    int status = ITG_CLI_OK;
    for (int i = 0; i < WRITTEN && status == ITG_CLI_OK; i++)
        status = check(args, i);
    return status;
}
