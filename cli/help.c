/* Prints help text from the tables that the parser reads. */
#include "cli/help.h"
#include "cli/common.h"
#include "cli/manual.h"
#include <stdio.h>
#include <string.h>

enum { OPTION_COLUMN = 30, LINE = 100 };

void itg_cli_help(const itg_cli_command *const *commands, int count)
{
    puts("usage: intaglio <command> [<arguments>] [<options>]\n"
         "       intaglio help [<command>]\n"
         "       intaglio --version\n\n"
         "From a float ONNX model to an integer program with proven bounds, with searched bit "
         "widths.\n\n"
         "Commands:");
    for (int i = 0; i < count; i++)
        printf("  %-11s %s\n", commands[i]->name, commands[i]->summary);
    puts("\nA first look: intaglio demo. With a network of your own:\n"
         "  intaglio check net.onnx\n"
         "  intaglio simulate net.onnx --uniform 8 --hw x86-vnni --calib c.npy --data x.npy "
         "--labels y.npy -o s.json\n"
         "  intaglio search net.onnx --hw x86-vnni --data x.npy --labels y.npy --db runs.db -o "
         "s.json\n"
         "  intaglio realize net.onnx s.json -o net.itg\n"
         "  intaglio run net.itg --data x.npy --labels y.npy\n\n"
         "'intaglio help COMMAND' tells more. Exit status: 0 done, 1 failed, 2 wrong usage, 3 a "
         "search's\ngoal is met on its search samples, but not on the hold-out.");
}

/* Prints the text wrapped, with lines that start at `column`. The cursor is at column `at`. */
static void print_wrapped(const char *text, int at, int column)
{
    if (at > column - 2) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", column - at, "");
    at = column;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (at > column && at + 1 + length > LINE) {
            printf("\n%*s", column, "");
            at = column;
        }
        at += printf("%s%.*s", at > column ? " " : "", length, text);
        text += length + (text[length] == ' ');
    }
    putchar('\n');
}

static bool is_threshold(const itg_cli_spec *spec)
{
    return spec->kind == ITG_CLI_THRESHOLD || spec->kind == ITG_CLI_METHODS;
}

void itg_cli_option_help(itg_cli_option option, char *help, size_t size)
{
    const itg_cli_spec *spec = itg_cli_option_spec(option);
    char preset[64] = "";
    if (spec->preset)
        snprintf(preset, sizeof preset, " (default %s)", spec->preset);
    else if (is_threshold(spec))
        snprintf(preset, sizeof preset, " (default %s)",
                 itg_threshold_name(itg_threshold_default()));
    snprintf(help, size, "%s%s", spec->help, preset);
    if (is_threshold(spec))
        for (int i = 0; i < ITG_THRESHOLD_METHOD_COUNT; i++)
            itg_cli_append(help, size, "%s%s", i > 0 ? ", " : ": ",
                           itg_threshold_name((itg_threshold_method)i));
}

itg_cli_option itg_cli_shown_option(const itg_cli_command *command, int index)
{
    int own = 0;
    while (command->options[own] != ITG_CLI_OPT_HELP)
        own++;
    return index < own ? command->options[index] : itg_cli_common_option(index - own);
}

static void print_option(itg_cli_option option)
{
    const itg_cli_spec *spec = itg_cli_option_spec(option);
    char letter[8] = "    ", help[1024];
    if (spec->letter) snprintf(letter, sizeof letter, "-%c, ", spec->letter);
    int at = printf("  %s--%s%s%s", letter, spec->name, spec->argument ? " " : "",
                    spec->argument ? spec->argument : "");
    itg_cli_option_help(option, help, sizeof help);
    print_wrapped(help, at, OPTION_COLUMN);
}

static void print_parameters(int searcher)
{
    const itg_searcher_parameter *p;
    for (int i = 0; (p = itg_searcher_parameter_at(searcher, i)) != NULL; i++) {
        char help[256];
        int at = printf("    :%s=%.10g", p->name, p->value);
        snprintf(help, sizeof help, "%s (%s%.10g to %.10g)", p->help, p->whole ? "whole, " : "",
                 p->min, p->max);
        print_wrapped(help, at, OPTION_COLUMN);
    }
}

static void print_searchers(void)
{
    puts("\nSearchers:");
    for (int i = 0; i < itg_searcher_count(); i++) {
        int at = printf("  %s", itg_searcher_name(i));
        print_wrapped(itg_searcher_help(i), at, OPTION_COLUMN);
        print_parameters(i);
    }
}

void itg_cli_help_command(const itg_cli_command *command)
{
    const char *line = command->usage, *lead = "usage:";
    while (*line) { /* a line that begins with a blank goes on with the one before */
        int length = (int)strcspn(line, "\n");
        if (*line == ' ')
            printf("       %*s%.*s\n", (int)strlen("intaglio ") + (int)strlen(command->name), "",
                   length, line);
        else
            printf("%-6s intaglio %s %.*s\n", lead, command->name, length, line);
        line += length + (line[length] == '\n');
        lead = "";
    }
    printf("\n%s.\n", command->summary);
    if (command->details) printf("\n%s\n", command->details);
    puts("\nOptions:");
    for (int i = 0; itg_cli_shown_option(command, i) != ITG_CLI_OPTION_COUNT; i++)
        print_option(itg_cli_shown_option(command, i));
    if (itg_cli_takes(command, ITG_CLI_OPT_SEARCHER)) print_searchers();
}
