/* Writes completion scripts. Every shell gets the same facts: the commands, their options, and the
 * value of an option: words of a list, files, or neither. */
#include "cli/manual.h"
#include "cli/common.h"
#include "cli/metric.h"
#include <ctype.h>
#include <string.h>

/* ---- facts ---- */

/* Writes one of the words that an option takes, by index. Returns false past the end. */
static bool word_at(itg_cli_option option, int index, char out[64])
{
    const itg_cli_spec *spec = itg_cli_option_spec(option);
    const char *name = NULL;
    if (option == ITG_CLI_OPT_HW) {
        if (index < itg_hardware_builtin_count()) name = itg_hardware_builtin_name(index);
    } else if (option == ITG_CLI_OPT_METRIC) {
        name = itg_cli_metric_choice(index);
    } else if (spec->argument && strchr(spec->argument, '|') && !itg_cli_kind_name(spec->kind, 0)) {
        const char *at = spec->argument;
        for (; at && index > 0; index--)
            at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL;
        if (!at) return false;
        snprintf(out, 64, "%.*s", (int)strcspn(at, "|"), at);
        return true;
    } else {
        name = itg_cli_kind_name(spec->kind, index);
    }
    if (name) snprintf(out, 64, "%s", name);
    return name != NULL;
}

static bool takes_file(itg_cli_option option)
{
    const itg_cli_spec *spec = itg_cli_option_spec(option);
    return spec->kind == ITG_CLI_READ || spec->kind == ITG_CLI_WRITTEN ||
           spec->kind == ITG_CLI_DATABASE || (spec->argument && strcmp(spec->argument, "DIR") == 0);
}

/* Whether the option takes several words, separated by commas. */
static bool takes_list(itg_cli_option option)
{
    itg_cli_kind kind = itg_cli_option_spec(option)->kind;
    return kind == ITG_CLI_METHODS || kind == ITG_CLI_COST;
}

/* Writes the actions of a command, each once, separated by blanks. An action is a lower-case word
 * at the start of a line of its usage. */
static void actions_of(const itg_cli_command *command, char *out, size_t size)
{
    *out = '\0';
    for (const char *line = command->usage; line; line = strchr(line, '\n')) {
        char word[64] = " ";
        line += *line == '\n';
        size_t length = strcspn(line, " \n");
        snprintf(word + 1, sizeof word - 2, "%.*s", (int)length, line);
        strcat(word, " ");
        if (islower((unsigned char)*line) && !strstr(out, word))
            itg_cli_append(out, size, "%s", *out ? word + 1 : word);
    }
}

static const char *first_sentence(const char *help, char *out, size_t size)
{
    snprintf(out, size, "%.*s", (int)strcspn(help, ";("), help);
    for (size_t n = strlen(out); n > 0 && out[n - 1] == ' '; n--)
        out[n - 1] = '\0';
    return out;
}

/* ---- bash ---- */

static void put_words(FILE *out, itg_cli_option option)
{
    char word[64];
    for (int i = 0; word_at(option, i, word); i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", word);
}

static void bash_option(FILE *out, const itg_cli_command *command, itg_cli_option option)
{
    const itg_cli_spec *spec = itg_cli_option_spec(option);
    if (!spec->argument) return;
    fprintf(out, "    '%s --%s'", command->name, spec->name);
    if (spec->letter) fprintf(out, "|'%s -%c'", command->name, spec->letter);
    fputs(") words='", out);
    put_words(out, option);
    fprintf(out, "'%s%s ;;\n", takes_file(option) ? " files=1" : "",
            takes_list(option) ? " list=1" : "");
}

static void bash_command(FILE *out, const itg_cli_command *command)
{
    char actions[256];
    for (int i = 0; itg_cli_shown_option(command, i) != ITG_CLI_OPTION_COUNT; i++)
        bash_option(out, command, itg_cli_shown_option(command, i));
    fprintf(out, "    '%s '*) if [[ $cur == -* ]]; then words='", command->name);
    for (int i = 0; itg_cli_shown_option(command, i) != ITG_CLI_OPTION_COUNT; i++)
        fprintf(out, "%s--%s", i > 0 ? " " : "",
                itg_cli_option_spec(itg_cli_shown_option(command, i))->name);
    actions_of(command, actions, sizeof actions);
    fputs("'; else", out);
    if (*actions)
        fprintf(out, " ((COMP_CWORD == 2)) && words='%s'; ((COMP_CWORD > 2)) &&", actions);
    fprintf(out, " files=%s; fi ;;\n", command->max_arguments > 0 ? "1" : "");
}

static void put_names(FILE *out, const itg_cli_command *const *commands, int count)
{
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", commands[i]->name);
}

/* Readline splits words at '='. */
void itg_cli_complete_bash(FILE *out, const itg_cli_command *const *commands, int count)
{
    fputs("# Completion of bash for intaglio, made from the program's tables of options.\n"
          "_intaglio() {\n"
          "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
          "  local words= files= list= lead=\n"
          "  if [[ $cur == = ]]; then cur=\n"
          "  elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
          "  COMPREPLY=()\n"
          "  case \"${COMP_WORDS[1]} $prev\" in\n",
          out);
    for (int i = 0; i < count; i++)
        bash_command(out, commands[i]);
    fputs("  esac\n  if ((COMP_CWORD == 1)); then files= words='help --version ", out);
    put_names(out, commands, count);
    fputs("'\n  elif [[ ${COMP_WORDS[1]} == help ]]; then words='", out);
    put_names(out, commands, count);
    fputs("'; fi\n"
          "  if [[ $list && $cur == *,* ]]; then lead=${cur%,*},; cur=${cur##*,}; fi\n"
          "  COMPREPLY=($(compgen -P \"$lead\" -W \"$words\" -- \"$cur\"))\n"
          "  [[ $files ]] || return 0\n"
          "  local IFS=$'\\n'\n"
          "  COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
          "  compopt -o filenames 2>/dev/null\n"
          "  return 0\n"
          "}\n"
          "complete -F _intaglio intaglio\n",
          out);
}

/* ---- zsh ---- */

/* Writes text escaped for '...', for [...] and between the colons of a specification. */
static void zsh_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text)) fputc('\\', out);
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fputc(*text, out);
    }
}

static void zsh_argument(FILE *out, itg_cli_option option)
{
    char word[64];
    bool words = word_at(option, 0, word);
    fputc(':', out);
    zsh_text(out, itg_cli_option_spec(option)->argument);
    fputc(':', out);
    if (words && takes_list(option))
        fputs("_values -s , value ", out);
    else if (words && takes_file(option))
        fputs("{ compadd -- ", out);
    else if (words)
        fputc('(', out);
    put_words(out, option);
    if (words && takes_file(option))
        fputs("; _files }", out);
    else if (words && !takes_list(option))
        fputc(')', out);
    else if (takes_file(option))
        fputs("_files", out);
}

static void zsh_option(FILE *out, itg_cli_option option)
{
    const itg_cli_spec *spec = itg_cli_option_spec(option);
    char help[512];
    first_sentence(spec->help, help, sizeof help);
    if (spec->letter)
        fprintf(out, " \\\n        '(-%c --%s)'{-%c,--%s%s}'[", spec->letter, spec->name,
                spec->letter, spec->name, spec->argument ? "=" : "");
    else
        fprintf(out, " \\\n        '--%s%s[", spec->name, spec->argument ? "=" : "");
    zsh_text(out, help);
    fputc(']', out);
    if (spec->argument) zsh_argument(out, option);
    fputc('\'', out);
}

void itg_cli_complete_zsh(FILE *out, const itg_cli_command *const *commands, int count)
{
    fputs("#compdef intaglio\n"
          "# Completion of zsh for intaglio, made from the program's tables of options.\n"
          "_intaglio() {\n"
          "  local state line context\n"
          "  local -a commands=(\n    'help:Tells about a command'\n",
          out);
    for (int i = 0; i < count; i++) {
        fprintf(out, "    '%s:", commands[i]->name);
        zsh_text(out, commands[i]->summary);
        fputs("'\n", out);
    }
    fputs(
        "  )\n"
        "  _arguments -C '--version[show the version]' '1:command:->command' '*::argument:->rest'\n"
        "  case $state in\n"
        "  command) _describe command commands ;;\n"
        "  rest)\n    case $line[1] in\n      help) _describe command commands ;;\n",
        out);
    for (int i = 0; i < count; i++) {
        char actions[256];
        fprintf(out, "      %s) _arguments -s", commands[i]->name);
        for (int k = 0; itg_cli_shown_option(commands[i], k) != ITG_CLI_OPTION_COUNT; k++)
            zsh_option(out, itg_cli_shown_option(commands[i], k));
        actions_of(commands[i], actions, sizeof actions);
        if (*actions) fprintf(out, " \\\n        '1:action:(%s)'", actions);
        if (commands[i]->max_arguments > 0) fputs(" \\\n        '*:file:_files'", out);
        fputs(" ;;\n", out);
    }
    fputs("    esac ;;\n  esac\n}\n_intaglio \"$@\"\n", out);
}

/* ---- fish ---- */

static void fish_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') fputc('\\', out);
        fputc(*text, out);
    }
}

static void fish_option(FILE *out, const itg_cli_command *command, itg_cli_option option)
{
    const itg_cli_spec *spec = itg_cli_option_spec(option);
    char help[512], word[64];
    fprintf(out, "complete -c intaglio -n '__intaglio_is %s' -l %s", command->name, spec->name);
    if (spec->letter) fprintf(out, " -s %c", spec->letter);
    if (spec->argument) fputs(takes_file(option) ? " -r -F" : " -x", out);
    if (spec->argument && word_at(option, 0, word)) {
        fputs(" -a '", out);
        put_words(out, option);
        fputc('\'', out);
    }
    fputs(" -d '", out);
    fish_text(out, first_sentence(spec->help, help, sizeof help));
    fputs("'\n", out);
}

void itg_cli_complete_fish(FILE *out, const itg_cli_command *const *commands, int count)
{
    fputs("# Completion of fish for intaglio, made from the program's tables of options.\n"
          "function __intaglio_is\n"
          "    set -l words (commandline -opc)\n"
          "    test (count $words) -ge 2; and test $words[2] = $argv[1]\n"
          "end\n"
          "function __intaglio_at\n    test (count (commandline -opc)) -eq $argv[1]\nend\n"
          "complete -c intaglio -f\n"
          "complete -c intaglio -n '__intaglio_at 1' -l version -d 'show the version'\n"
          "complete -c intaglio -n '__intaglio_at 1' -a help -d 'Tells about a command'\n"
          "complete -c intaglio -n '__intaglio_is help' -a '",
          out);
    put_names(out, commands, count);
    fputs("'\n", out);
    for (int i = 0; i < count; i++) {
        char actions[256];
        fprintf(out, "complete -c intaglio -n '__intaglio_at 1' -a %s -d '", commands[i]->name);
        fish_text(out, commands[i]->summary);
        fputs("'\n", out);
        actions_of(commands[i], actions, sizeof actions);
        if (*actions)
            fprintf(out,
                    "complete -c intaglio -n '__intaglio_is %s; and __intaglio_at 2' -a '%s'\n",
                    commands[i]->name, actions);
        if (commands[i]->max_arguments > 0)
            fprintf(out, "complete -c intaglio -n '__intaglio_is %s%s' -F\n", commands[i]->name,
                    *actions ? "; and not __intaglio_at 2" : "");
        for (int k = 0; itg_cli_shown_option(commands[i], k) != ITG_CLI_OPTION_COUNT; k++)
            fish_option(out, commands[i], itg_cli_shown_option(commands[i], k));
    }
}
