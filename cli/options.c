/* Parses the words of a command line. An option's value may begin with '-' ("--mean -0.5") but not
 * with "--", so that a missing value does not take the next option ("--mean=--x" is allowed). */
#include "base/nearest.h"
#include "cli/options.h"
#include "cli/project.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const itg_cli_spec specs[ITG_CLI_OPTION_COUNT] = {
#define ITG_CLI_OPTION(id, name, letter, kind, argument, preset, min, max, help)                   \
    {name, letter, ITG_CLI_##kind, argument, preset, min, max, help},
#include "cli/options.def"
};

static const itg_cli_option common[] = {ITG_CLI_OPT_JSON, ITG_CLI_OPT_THREADS, ITG_CLI_OPT_HELP};

const itg_cli_spec *itg_cli_option_spec(itg_cli_option option)
{
    return &specs[option];
}

itg_cli_option itg_cli_common_option(int index)
{
    return index < (int)(sizeof common / sizeof *common) ? common[index] : ITG_CLI_OPTION_COUNT;
}

bool itg_cli_takes(const itg_cli_command *command, itg_cli_option option)
{
    for (int i = 0; itg_cli_common_option(i) != ITG_CLI_OPTION_COUNT; i++)
        if (itg_cli_common_option(i) == option) return true;
    for (int i = 0; command->options[i] != ITG_CLI_OPT_HELP; i++)
        if (command->options[i] == option) return true;
    return false;
}

/* ---- errors ---- */

static void print_message(const char *format, va_list arguments)
{
    fputs("intaglio: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

int itg_cli_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
    return ITG_CLI_FAILURE;
}

int itg_cli_fail_error(const itg_error *err)
{
    return itg_cli_fail("%s", err->message[0] ? err->message : itg_status_text(err->code));
}

int itg_cli_fail_usage(const itg_cli_command *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_message(format, arguments);
    va_end(arguments);
    fprintf(stderr, "Try 'intaglio%s%s --help'.\n", command ? " " : "",
            command ? command->name : "");
    return ITG_CLI_USAGE;
}

enum { LONGEST_WORD = 32 };

static const char *option_name(void *context, int index)
{
    return itg_cli_takes(context, (itg_cli_option)index) ? specs[index].name : NULL;
}

/* ---- words ---- */

typedef struct parser {
    const itg_cli_command *command;
    itg_cli_args *args;
} parser;

static itg_cli_option find_long(const itg_cli_command *command, const char *name, size_t length)
{
    for (int i = 0; i < ITG_CLI_OPTION_COUNT; i++)
        if (itg_cli_takes(command, (itg_cli_option)i) && strlen(specs[i].name) == length &&
            memcmp(specs[i].name, name, length) == 0)
            return (itg_cli_option)i;
    return ITG_CLI_OPTION_COUNT;
}

static itg_cli_option find_letter(const itg_cli_command *command, char letter)
{
    for (int i = 0; i < ITG_CLI_OPTION_COUNT; i++)
        if (letter && specs[i].letter == letter && itg_cli_takes(command, (itg_cli_option)i))
            return (itg_cli_option)i;
    return ITG_CLI_OPTION_COUNT;
}

static int unknown_option(const parser *p, const char *word)
{
    char name[LONGEST_WORD + 1];
    const char *bare = word + strspn(word, "-");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(bare, "="), bare);
    const char *near =
        itg_nearest_name(name, ITG_CLI_OPTION_COUNT, option_name, (void *)(uintptr_t)p->command);
    if (near)
        return itg_cli_fail_usage(p->command, "unknown option '%.60s'; did you mean '--%s'?", word,
                                  near);
    return itg_cli_fail_usage(p->command, "unknown option '%.60s'", word);
}

/* value NULL: none was attached. *used: whether `next` was taken as the value. */
static int take_option(const parser *p, itg_cli_option option, const char *value, const char *next,
                       bool *used)
{
    const itg_cli_spec *spec = &specs[option];
    *used = false;
    if (p->args->given[option])
        return itg_cli_fail_usage(p->command, "--%s is given twice", spec->name);
    if (spec->kind == ITG_CLI_FLAG && value)
        return itg_cli_fail_usage(p->command, "--%s takes no argument", spec->name);
    if (spec->kind != ITG_CLI_FLAG && !value) {
        if (!next || strncmp(next, "--", 2) == 0)
            return itg_cli_fail_usage(p->command, "--%s needs an argument: --%s %s", spec->name,
                                      spec->name, spec->argument);
        value = next;
        *used = true;
    }
    p->args->given[option] = true;
    return itg_cli_parse_value(p->command, spec, value, &p->args->values[option]);
}

static int take_word(const parser *p, const char *word, const char *next, bool *used)
{
    const char *value = NULL;
    itg_cli_option option;
    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = find_long(p->command, word + 2, length);
        if (word[2 + length] == '=') value = word + 2 + length + 1;
    } else {
        option = find_letter(p->command, word[1]);
        if (word[2] != '\0') value = word + 2;
    }
    if (option == ITG_CLI_OPTION_COUNT) return unknown_option(p, word);
    return take_option(p, option, value, next, used);
}

static int take_argument(const parser *p, const char *word)
{
    itg_cli_args *args = p->args;
    if (args->argument_count == p->command->max_arguments)
        return itg_cli_fail_usage(p->command, "unexpected argument '%.60s'", word);
    args->arguments[args->argument_count++] = word;
    return ITG_CLI_OK;
}

static int check_complete(const parser *p)
{
    const itg_cli_command *c = p->command;
    if (c->complete_with && p->args->given[c->complete_with]) return ITG_CLI_OK;
    if (p->args->argument_count < c->min_arguments)
        return itg_cli_fail_usage(c, "%s is missing", c->arguments[p->args->argument_count]);
    for (int i = 0; i < c->required_count; i++)
        if (!p->args->given[c->required[i]])
            return itg_cli_fail_usage(c, "--%s %s is missing", specs[c->required[i]].name,
                                      specs[c->required[i]].argument);
    return ITG_CLI_OK;
}

static void set_defaults(const parser *p)
{
    memset(p->args, 0, sizeof *p->args);
    p->args->command = p->command;
    for (int i = 0; i < ITG_CLI_OPTION_COUNT; i++) {
        itg_cli_value *value = &p->args->values[i];
        if (specs[i].preset)
            itg_cli_parse_value(p->command, &specs[i], specs[i].preset, value);
        else if (specs[i].kind == ITG_CLI_THRESHOLD)
            value->threshold = itg_threshold_default();
    }
}

int itg_cli_parse(const itg_cli_command *command, int argc, char *const *argv, itg_cli_args *out)
{
    parser p = {command, out};
    bool only_arguments = false;
    set_defaults(&p);
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        bool used = false;
        int status;
        if (!only_arguments && strcmp(word, "--") == 0) {
            only_arguments = true;
            continue;
        }
        if (only_arguments || word[0] != '-' || word[1] == '\0')
            status = take_argument(&p, word);
        else
            status = take_word(&p, word, i + 1 < argc ? argv[i + 1] : NULL, &used);
        if (status != ITG_CLI_OK) return status;
        if (out->given[ITG_CLI_OPT_HELP]) return ITG_CLI_OK;
        i += used;
    }
    int status = itg_cli_project_apply(out);
    return status == ITG_CLI_OK ? check_complete(&p) : status;
}
