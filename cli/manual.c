#include "cli/manual.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { LINE = 60 }; /* a longer line ends with its word */

/* Writes text escaped for roff, so that no character is markup or begins a control line. */
static void put_text(FILE *out, const char *text, size_t length)
{
    size_t start = 0;
    if (length > 0 && (*text == '.' || *text == '\'')) fputs("\\&", out);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ' ' && i - start > LINE && !strchr(".' ", text[i + 1])) {
            fputc('\n', out);
            start = i;
        } else if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else if (text[i] == '\'')
            fputs("\\(aq", out);
        else
            fputc(text[i], out);
    }
}

static void put_line(FILE *out, const char *text)
{
    put_text(out, text, strlen(text));
    fputc('\n', out);
}

/* Writes wrapped text as paragraphs. An empty line ends a paragraph; a line that begins with blanks
 * stays a line of its own. */
static void put_paragraphs(FILE *out, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n"), blanks = strspn(text, " ");
        if (length == 0)
            fputs(".PP\n", out);
        else if (blanks > 0)
            fputs(".br\n", out);
        if (length > blanks) {
            put_text(out, text + blanks, length - blanks);
            fputc('\n', out);
        }
        text += length + (text[length] == '\n');
    }
}

static void put_title(FILE *out, const char *name, const char *date)
{
    fputs(".TH ", out);
    for (; *name; name++)
        fputc(toupper((unsigned char)*name), out);
    fprintf(out, " 1 \"%s\" \"intaglio %s\" \"Intaglio\"\n", date, itg_engine_version());
}

/* Writes the synopsis. A line that begins with a blank continues the previous one. */
static void put_synopsis(FILE *out, const itg_cli_command *command)
{
    fputs(".SH SYNOPSIS\n", out);
    for (const char *line = command->usage; *line;) {
        size_t length = strcspn(line, "\n"), blanks = strspn(line, " ");
        if (blanks == 0)
            fprintf(out, "%s.B intaglio %s\n", line == command->usage ? "" : ".br\n",
                    command->name);
        put_text(out, line + blanks, length - blanks);
        fputc('\n', out);
        line += length + (line[length] == '\n');
    }
}

static void put_option(FILE *out, itg_cli_option option)
{
    const itg_cli_spec *spec = itg_cli_option_spec(option);
    char help[1024];
    itg_cli_option_help(option, help, sizeof help);
    fputs(".TP\n.B ", out);
    if (spec->letter) fprintf(out, "\\-%c, ", spec->letter);
    fputs("\\-\\-", out);
    put_text(out, spec->name, strlen(spec->name));
    if (spec->argument) {
        fputs("\\fR \\fI", out);
        put_text(out, spec->argument, strlen(spec->argument));
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put_line(out, help);
}

static void put_searchers(FILE *out)
{
    fputs(".SH SEARCHERS\n", out);
    for (int i = 0; i < itg_searcher_count(); i++) {
        const itg_searcher_parameter *p;
        fprintf(out, ".TP\n.B ");
        put_line(out, itg_searcher_name(i));
        put_line(out, itg_searcher_help(i));
        for (int k = 0; (p = itg_searcher_parameter_at(i, k)) != NULL; k++) {
            fprintf(out, ".br\n\\fB:%s\\fR=%.10g \\- ", p->name, p->value);
            put_line(out, p->help);
        }
    }
}

static void put_command(FILE *out, const itg_cli_command *command, const char *date)
{
    char name[64];
    snprintf(name, sizeof name, "intaglio-%s", command->name);
    put_title(out, name, date);
    fputs(".SH NAME\n", out);
    put_text(out, name, strlen(name));
    fputs(" \\- ", out);
    put_line(out, command->summary);
    put_synopsis(out, command);
    fputs(".SH DESCRIPTION\n", out);
    if (command->details)
        put_paragraphs(out, command->details);
    else
        fprintf(out, "%s.\n", command->summary);
    fputs(".SH OPTIONS\n", out);
    for (int i = 0; itg_cli_shown_option(command, i) != ITG_CLI_OPTION_COUNT; i++)
        put_option(out, itg_cli_shown_option(command, i));
    if (itg_cli_takes(command, ITG_CLI_OPT_SEARCHER)) put_searchers(out);
    fputs(".SH SEE ALSO\n.BR intaglio (1)\n", out);
}

static const char *const statuses[] = {
    [ITG_CLI_OK] = "done",
    [ITG_CLI_FAILURE] = "failed",
    [ITG_CLI_USAGE] = "wrong usage",
    [ITG_CLI_NOT_HELD] = "the goal of a search is met on its search samples, but not on the "
                         "hold\\-out",
    [ITG_CLI_WORSE] = "the best of a search is worse than that of the run which \\-\\-fail\\-if"
                      "\\-worse names"};

static void put_program(FILE *out, const itg_cli_command *const *commands, int count,
                        const char *date)
{
    put_title(out, "intaglio", date);
    fputs(".SH NAME\nintaglio \\- search-based automated quantization of neural networks\n"
          ".SH SYNOPSIS\n.B intaglio\ncommand [arguments] [options]\n"
          ".br\n.B intaglio help\n[command]\n.br\n.B intaglio \\-\\-version\n"
          ".SH DESCRIPTION\n"
          "From a float ONNX model to an integer program with proven bounds, with searched bit "
          "widths.\n.SH COMMANDS\n",
          out);
    for (int i = 0; i < count; i++) {
        fprintf(out, ".TP\n.BR intaglio\\-%s (1)\n", commands[i]->name);
        put_line(out, commands[i]->summary);
    }
    fputs(".SH EXIT STATUS\n", out);
    for (int i = 0; i < (int)(sizeof statuses / sizeof *statuses); i++)
        fprintf(out, ".TP\n.B %d\n%s\n", i, statuses[i]);
}

/* ---- files ---- */

typedef struct writer {
    const itg_cli_command *const *commands;
    int count;
    const char *folder, *date;
} writer;

static FILE *open_file(const writer *w, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", w->folder, name);
    FILE *file = fopen(path, "w");
    if (!file) itg_cli_fail("%s: cannot write: %s", path, strerror(errno));
    return file;
}

static int close_file(FILE *file, const char *path)
{
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) return itg_cli_fail("%s: cannot write", path);
    return ITG_CLI_OK;
}

/* Writes the manual page of one command, or of the program if command is NULL. */
static int write_page(const writer *w, const itg_cli_command *command)
{
    char name[64], path[4096];
    snprintf(name, sizeof name, "intaglio%s%s.1", command ? "-" : "", command ? command->name : "");
    FILE *file = open_file(w, name, path, sizeof path);
    if (!file) return ITG_CLI_FAILURE;
    if (command)
        put_command(file, command, w->date);
    else
        put_program(file, w->commands, w->count, w->date);
    return close_file(file, path);
}

int itg_cli_manual_write(const itg_cli_command *const *commands, int count, const char *folder,
                         const char *date)
{
    static const struct {
        const char *name;
        itg_cli_completion write;
    } completions[] = {{"intaglio.bash", itg_cli_complete_bash},
                       {"_intaglio", itg_cli_complete_zsh},
                       {"intaglio.fish", itg_cli_complete_fish}};
    const writer w = {commands, count, folder, date};
    int status = write_page(&w, NULL);
    for (int i = 0; i < count && status == ITG_CLI_OK; i++)
        status = write_page(&w, commands[i]);
    for (size_t i = 0; i < sizeof completions / sizeof *completions && status == ITG_CLI_OK; i++) {
        char path[4096];
        FILE *file = open_file(&w, completions[i].name, path, sizeof path);
        if (!file) return ITG_CLI_FAILURE;
        completions[i].write(file, commands, count);
        status = close_file(file, path);
    }
    return status;
}
