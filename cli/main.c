/* intaglio COMMAND ...: finds the command, parses its words, runs it. */
#include "base/nearest.h"
#include "cli/passive.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/help.h"
#include "cli/manual.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const itg_cli_command *const commands[] = {
    &itg_cli_check,   &itg_cli_simulate, &itg_cli_search, &itg_cli_sensitivity, &itg_cli_inspect,
    &itg_cli_explain, &itg_cli_realize,  &itg_cli_verify, &itg_cli_run,         &itg_cli_demo,
    &itg_cli_runs,    &itg_cli_report,   &itg_cli_diff,   &itg_cli_hw,          &itg_cli_worker,
    &itg_cli_doctor,  &itg_cli_init};

enum { COMMANDS = sizeof commands / sizeof *commands };

const itg_cli_command *itg_cli_command_at(int index)
{
    return index < COMMANDS ? commands[index] : NULL;
}

static const char *command_name(void *context, int index)
{
    (void)context;
    return commands[index]->name;
}

static const itg_cli_command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0) return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *near = itg_nearest_name(name, COMMANDS, command_name, NULL);
    const char *what = name[0] == '-' ? "option" : "command";
    if (near)
        return itg_cli_fail_usage(NULL, "unknown %s '%.60s'; did you mean '%s'?", what, name, near);
    return itg_cli_fail_usage(NULL, "unknown %s '%.60s'", what, name);
}

static int help(int argc, char *const *argv)
{
    if (argc == 0) {
        itg_cli_help(commands, COMMANDS);
        return ITG_CLI_OK;
    }
    if (argc == 3 && strcmp(argv[0], "--write") == 0) /* of the build */
        return itg_cli_manual_write(commands, COMMANDS, argv[1], argv[2]);
    const itg_cli_command *command = find_command(argv[0]);
    if (!command) return unknown_command(argv[0]);
    itg_cli_help_command(command);
    return ITG_CLI_OK;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int dispatch(int argc, char *const *argv)
{
    if (argc < 2) return help(0, NULL);
    if (is_one_of(argv[1], "--version", "version")) {
        printf("intaglio %s\n", itg_engine_version());
        return ITG_CLI_OK;
    }
    if (is_one_of(argv[1], "--help", "-h") || strcmp(argv[1], "help") == 0)
        return help(argc - 2, argv + 2);
    const itg_cli_command *command = find_command(argv[1]);
    if (!command) return unknown_command(argv[1]);
    itg_cli_args args;
    int status = itg_cli_parse(command, argc - 2, argv + 2, &args);
    if (status == ITG_CLI_OK && args.given[ITG_CLI_OPT_HELP])
        itg_cli_help_command(command);
    else if (status == ITG_CLI_OK) {
        status = itg_cli_check_files(&args, NULL, 0);
        if (status == ITG_CLI_OK) status = command->run(&args);
    }
    free(args.project);
    return status;
}

int main(int argc, char **argv)
{
    itg_be_passive(argc, argv);
    /* A file that exceeds 'ulimit -f' is an error like a full disk and must not end the process. */
    signal(SIGXFSZ, SIG_IGN);
    int status = dispatch(argc, argv);
    /* Output that cannot be written is a failure, whatever status the command returned. */
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == ITG_CLI_OK)
        return itg_cli_fail("cannot write to standard output%s%s", errno ? ": " : "",
                            errno ? strerror(errno) : "");
    return status;
}
