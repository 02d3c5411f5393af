#include "cli/project.h"
#include "base/base.h"
#include "cli/commands.h"
#include <ctype.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20 };

typedef struct project {
    itg_cli_args *args;
    int line;
    const itg_cli_command *table;    /* NULL: above the first one */
    uint64_t tables;                 /* seen, by index */
    bool said[ITG_CLI_OPTION_COUNT]; /* by the command line */
    bool seen[ITG_CLI_OPTION_COUNT], seen_model;
} project;

static int refuse(const project *p, const char *format, ...) ITG_PRINTF(2, 3);
static int refuse(const project *p, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    itg_cli_fail(ITG_CLI_PROJECT ":%d: %s", p->line, text);
    return ITG_CLI_USAGE;
}

/* ---- TOML ---- */

static char *skip_blanks(char *at)
{
    return at + strspn(at, " \t");
}

/* Decodes a quoted string in place. Returns the text after it; NULL if it is not a string. */
static char *take_string(char *at, char **out)
{
    static const char escapes[] = "\"\\tn", meant[] = "\"\\\t\n";
    const char quote = *at++;
    char *to = *out = at;
    for (; *at && *at != quote; at++) {
        if ((unsigned char)*at < ' ' && *at != '\t') return NULL;
        if (quote == '"' && *at == '\\') {
            const char *escape = at[1] ? strchr(escapes, *++at) : NULL;
            if (!escape) return NULL;
            *to++ = meant[escape - escapes];
        } else {
            *to++ = *at;
        }
    }
    if (!*at) return NULL;
    *to = '\0';
    return at + 1;
}

/* Takes a number or a boolean as text, up to a blank or a comment. */
static char *take_plain(char *at, char **out)
{
    size_t length = strcspn(at, " \t#");
    bool number = length > 0 && (isdigit((unsigned char)*at) || strchr("+-.", *at));
    for (size_t i = 0; i < length && number; i++)
        number = isdigit((unsigned char)at[i]) || strchr("+-.eE", at[i]);
    const bool boolean = (length == 4 && strncmp(at, "true", 4) == 0) ||
                         (length == 5 && strncmp(at, "false", 5) == 0);
    if (!number && !boolean) return NULL;
    *out = at;
    return at + length;
}

/* ---- keys ---- */

/* Returns the command's option of that name. */
static itg_cli_option option_of(const itg_cli_command *command, const char *name)
{
    for (int i = 0; i < ITG_CLI_OPTION_COUNT; i++)
        if (itg_cli_takes(command, (itg_cli_option)i) && i != ITG_CLI_OPT_HELP &&
            strcmp(itg_cli_option_spec((itg_cli_option)i)->name, name) == 0)
            return (itg_cli_option)i;
    return ITG_CLI_OPTION_COUNT;
}

static bool is_known(const char *name)
{
    for (int i = 0; itg_cli_command_at(i); i++)
        if (option_of(itg_cli_command_at(i), name) != ITG_CLI_OPTION_COUNT) return true;
    return false;
}

/* Whether the command works on a model (or its program) and data, so that keys above the first
 * table apply to it. */
static bool works_on_model(const itg_cli_command *c)
{
    return (c->arguments[0] && strcmp(c->arguments[0], "MODEL") == 0) || c == &itg_cli_run;
}

/* Whether a key above the first table applies to this call: not if the option would be refused. */
static bool is_meant(const itg_cli_args *args, itg_cli_option option)
{
    const itg_cli_command *c = args->command;
    if (strcmp(itg_cli_option_spec(option)->name, "db") == 0) return true;
    if (!works_on_model(c) || args->given[ITG_CLI_OPT_RESUME]) return false;
    const bool of_data =
        option == ITG_CLI_OPT_DATA || option == ITG_CLI_OPT_LABELS || option == ITG_CLI_OPT_LIMIT;
    if (c == &itg_cli_realize && of_data) return false;
    if (c == &itg_cli_simulate && args->argument_count == 2) /* the strategy says all else */
        return of_data || option == ITG_CLI_OPT_THREADS || option == ITG_CLI_OPT_JSON;
    return true;
}

static int set_option(project *p, itg_cli_option option, const char *name, char *value, bool quoted)
{
    const itg_cli_spec *spec = itg_cli_option_spec(option);
    const bool is_true = !quoted && strcmp(value, "true") == 0;
    const bool is_boolean = is_true || (!quoted && strcmp(value, "false") == 0);
    if ((spec->kind == ITG_CLI_FLAG) != is_boolean)
        return refuse(p, "%s: expected %s", name,
                      is_boolean ? "a string or a number" : "true or false");
    if (p->said[option]) return ITG_CLI_OK;
    p->args->given[option] = !is_boolean || is_true;
    if (is_boolean && !is_true) return ITG_CLI_OK;
    int status = itg_cli_parse_value(p->args->command, spec, value, &p->args->values[option]);
    return status == ITG_CLI_OK ? status : refuse(p, "the value of %s is refused (above)", name);
}

/* Puts the model before the given arguments, if one is missing. */
static void set_model(project *p, const char *path)
{
    itg_cli_args *args = p->args;
    const itg_cli_command *c = args->command;
    if (!works_on_model(c) || c == &itg_cli_run || args->given[ITG_CLI_OPT_RESUME]) return;
    if (args->argument_count >= c->min_arguments) return;
    memmove(args->arguments + 1, args->arguments,
            sizeof *args->arguments * (size_t)args->argument_count);
    args->arguments[0] = path;
    args->argument_count++;
}

/* Takes a key. A key above the tables applies to every command that has the option, a key in a
 * table to that command. Values in a table replace those above. */
static int take_key(project *p, const char *name, char *value, bool quoted)
{
    const itg_cli_command *command = p->args->command;
    if (!p->table && strcmp(name, "model") == 0) {
        if (p->seen_model || !quoted)
            return refuse(p, p->seen_model ? "model stands twice" : "model: expected a string");
        p->seen_model = true;
        set_model(p, value);
        return ITG_CLI_OK;
    }
    if (p->table ? option_of(p->table, name) == ITG_CLI_OPTION_COUNT : !is_known(name))
        return refuse(p, "there is no option '%.60s'%s%s", name, p->table ? " of " : "",
                      p->table ? p->table->name : "");
    itg_cli_option option = option_of(command, name);
    if ((p->table && p->table != command) || option == ITG_CLI_OPTION_COUNT) return ITG_CLI_OK;
    if (p->seen[option]) return refuse(p, "%s stands twice", name);
    p->seen[option] = true;
    if (!p->table && !is_meant(p->args, option)) return ITG_CLI_OK;
    return set_option(p, option, name, value, quoted);
}

/* ---- lines ---- */

static int take_table(project *p, char *at)
{
    char *end = strchr(at, ']');
    if (!end) return refuse(p, "expected [COMMAND]");
    *end = '\0';
    end = skip_blanks(end + 1);
    for (int i = 0; itg_cli_command_at(i); i++) {
        if (strcmp(itg_cli_command_at(i)->name, at) != 0 || (*end && *end != '#')) continue;
        if (p->tables >> i & 1) return refuse(p, "[%s] stands twice", at);
        p->tables |= UINT64_C(1) << i;
        p->table = itg_cli_command_at(i);
        memset(p->seen, 0, sizeof p->seen);
        return ITG_CLI_OK;
    }
    return refuse(p, "[%.60s]: expected a command, as in [search]", at);
}

static int take_line(project *p, char *line)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    char *name = skip_blanks(line), *value = NULL, *end;
    if (!*name || *name == '#') return ITG_CLI_OK;
    if (*name == '[') return take_table(p, name + 1);
    size_t length = strspn(name, letters);
    char *at = skip_blanks(name + length);
    if (length == 0 || *at != '=') return refuse(p, "expected KEY = VALUE");
    name[length] = '\0';
    at = skip_blanks(at + 1);
    const bool quoted = *at == '"' || *at == '\'';
    end = quoted ? take_string(at, &value) : take_plain(at, &value);
    if (!end || (*skip_blanks(end) && *skip_blanks(end) != '#'))
        return refuse(p, "%.60s: expected a string on one line, a number, true or false", name);
    if (!quoted) *end = '\0';
    return take_key(p, name, value, quoted);
}

/* Takes all lines. Terminates each in place and removes a carriage return before the line feed. */
static int take_lines(project *p, char *text)
{
    int status = ITG_CLI_OK;
    for (char *next; text && status == ITG_CLI_OK; text = next) {
        next = strchr(text, '\n');
        if (next) {
            if (next > text && next[-1] == '\r') next[-1] = '\0';
            *next++ = '\0';
        }
        p->line++;
        status = take_line(p, text);
    }
    return status;
}

int itg_cli_project_apply(itg_cli_args *args)
{
    project p = {.args = args};
    unsigned char *data = NULL;
    size_t bytes = 0;
    itg_error err = {0};
    if (access(ITG_CLI_PROJECT, F_OK) != 0) return ITG_CLI_OK;
    if (itg_file_read(ITG_CLI_PROJECT, MOST_BYTES, &data, &bytes, &err) != ITG_OK)
        return itg_cli_fail_error(&err);
    args->project = (char *)data;
    memcpy(p.said, args->given, sizeof p.said);
    if (strlen(args->project) != bytes) return refuse(&p, "a zero byte in it");
    return take_lines(&p, args->project);
}
