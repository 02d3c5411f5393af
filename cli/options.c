/* Words in, values out. A word that an option takes may begin with '-' ("--mean -0.5"), but not
 * with "--": a forgotten argument must not swallow the next option ("--mean=--x" still passes one).
 */
#include "cli/options.h"
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
#undef ITG_CLI_OPTION
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
    for (int i = 0; i < command->option_count; i++)
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

/* ---- suggestions ---- */

enum { LONGEST_WORD = 32 };

/* Levenshtein's distance; words are cut at LONGEST_WORD letters. */
static int distance(const char *a, const char *b)
{
    int row[LONGEST_WORD + 1];
    int n = (int)strnlen(a, LONGEST_WORD), m = (int)strnlen(b, LONGEST_WORD);
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int replace = diagonal + (a[i - 1] != b[j - 1]), least = row[j] + 1;
            diagonal = row[j];
            if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
            row[j] = replace < least ? replace : least;
        }
    }
    return row[m];
}

const char *itg_cli_nearest(const char *word, int count,
                            const char *(*name_at)(void *context, int index), void *context)
{
    const char *best = NULL;
    int length = (int)strnlen(word, LONGEST_WORD), least = 1 + (length + 2) / 3;
    for (int i = 0; i < count; i++) {
        const char *name = name_at(context, i);
        if (!name) continue;
        int d = strncmp(name, word, strlen(word)) == 0 && length >= 2 ? 1 : distance(word, name);
        if (d < least) {
            least = d;
            best = name;
        }
    }
    return best;
}

static const char *option_name(void *context, int index)
{
    return itg_cli_takes(context, (itg_cli_option)index) ? specs[index].name : NULL;
}

static const char *threshold_name(void *context, int index)
{
    (void)context;
    return itg_threshold_name((itg_threshold_method)index);
}

static const char *searcher_name(void *context, int index)
{
    (void)context;
    return itg_searcher_name(index);
}

/* ---- values ---- */

typedef struct parser {
    const itg_cli_command *command;
    itg_cli_args *args;
} parser;

static int bad_value(const parser *p, const itg_cli_spec *spec, const char *text,
                     const char *expected)
{
    return itg_cli_fail_usage(p->command, "--%s %.60s: expected %s", spec->name, text, expected);
}

/* All of the text; no blanks, no sign but '-'. */
static bool parse_integer(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end;
    if (*text != '-' && (*text < '0' || *text > '9')) return false;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < min || value > max) return false;
    *out = value;
    return true;
}

static int parse_flag(const parser *p, const itg_cli_spec *spec, const char *text,
                      itg_cli_value *out)
{
    (void)p;
    (void)spec;
    (void)text;
    out->flag = true;
    return ITG_CLI_OK;
}

static int parse_text(const parser *p, const itg_cli_spec *spec, const char *text,
                      itg_cli_value *out)
{
    if (*text == '\0') return bad_value(p, spec, "''", "a name");
    out->text = text;
    return ITG_CLI_OK;
}

static int parse_count(const parser *p, const itg_cli_spec *spec, const char *text,
                       itg_cli_value *out)
{
    char expected[64];
    if (parse_integer(text, spec->min, spec->max, &out->integer)) return ITG_CLI_OK;
    snprintf(expected, sizeof expected, "an integer from %" PRId64 " to %" PRId64, spec->min,
             spec->max);
    return bad_value(p, spec, text, expected);
}

static int parse_seed(const parser *p, const itg_cli_spec *spec, const char *text,
                      itg_cli_value *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value > UINT64_MAX)
        return bad_value(p, spec, text, "an integer from 0 to 18446744073709551615");
    out->seed = value;
    return ITG_CLI_OK;
}

static int parse_fraction(const parser *p, const itg_cli_spec *spec, const char *text,
                          itg_cli_value *out)
{
    static const char expected[] = "a share such as 1% or 0.01, from 0 to 100%";
    char *end;
    if ((*text < '0' || *text > '9') && *text != '.') return bad_value(p, spec, text, expected);
    double value = strtod(text, &end);
    if (*end == '%') {
        value /= 100;
        end++;
    }
    if (end == text || *end != '\0' || !(value >= 0 && value <= 1))
        return bad_value(p, spec, text, expected);
    out->fraction = value;
    return ITG_CLI_OK;
}

static int parse_range(const parser *p, const itg_cli_spec *spec, const char *text,
                       itg_cli_value *out)
{
    char first[24], expected[96];
    const char *colon = strchr(text, ':'), *second = colon ? colon + 1 : text;
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    int64_t min, max;
    if (length < sizeof first) {
        memcpy(first, text, length);
        first[length] = '\0';
        if (parse_integer(first, spec->min, spec->max, &min) &&
            parse_integer(second, min, spec->max, &max)) {
            out->range = (itg_bits_range){(int32_t)min, (int32_t)max};
            return ITG_CLI_OK;
        }
    }
    snprintf(expected, sizeof expected, "MIN:MAX with %" PRId64 " <= MIN <= MAX <= %" PRId64,
             spec->min, spec->max);
    return bad_value(p, spec, text, expected);
}

static int parse_numbers(const parser *p, const itg_cli_spec *spec, const char *text,
                         itg_cli_value *out)
{
    itg_error err = {0};
    if (itg_preprocess_parse_list(text, out->numbers.values, (int32_t)spec->max,
                                  &out->numbers.count, &err) == ITG_OK)
        return ITG_CLI_OK;
    return itg_cli_fail_usage(p->command, "--%s %s", spec->name, err.message);
}

/* "'maxx' is no <what>; did you mean 'max'?", or the list of all. */
static int unknown_name(const parser *p, const itg_cli_spec *spec, const char *text, int count,
                        const char *(*name_at)(void *, int))
{
    char all[256] = "";
    const char *near = itg_cli_nearest(text, count, name_at, NULL);
    if (near)
        return itg_cli_fail_usage(p->command, "--%s: there is no '%.60s'; did you mean '%s'?",
                                  spec->name, text, near);
    for (int i = 0; i < count; i++) {
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", name_at(NULL, i));
    }
    return itg_cli_fail_usage(p->command, "--%s: there is no '%.60s'; expected one of %s",
                              spec->name, text, all);
}

static int parse_threshold(const parser *p, const itg_cli_spec *spec, const char *text,
                           itg_cli_value *out)
{
    return itg_threshold_from_name(text, &out->threshold)
               ? ITG_CLI_OK
               : unknown_name(p, spec, text, ITG_THRESHOLD_METHOD_COUNT, threshold_name);
}

static int parse_searcher(const parser *p, const itg_cli_spec *spec, const char *text,
                          itg_cli_value *out)
{
    for (int i = 0; i < itg_searcher_count(); i++)
        if (strcmp(itg_searcher_name(i), text) == 0) {
            out->text = text;
            return ITG_CLI_OK;
        }
    return unknown_name(p, spec, text, itg_searcher_count(), searcher_name);
}

typedef int (*parse_fn)(const parser *p, const itg_cli_spec *spec, const char *text,
                        itg_cli_value *out);
static const parse_fn parsers[ITG_CLI_KIND_COUNT] = {
    [ITG_CLI_FLAG] = parse_flag,         [ITG_CLI_TEXT] = parse_text,
    [ITG_CLI_INTEGER] = parse_count,     [ITG_CLI_SEED] = parse_seed,
    [ITG_CLI_FRACTION] = parse_fraction, [ITG_CLI_RANGE] = parse_range,
    [ITG_CLI_NUMBERS] = parse_numbers,   [ITG_CLI_THRESHOLD] = parse_threshold,
    [ITG_CLI_SEARCHER] = parse_searcher,
};

/* ---- words ---- */

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
        itg_cli_nearest(name, ITG_CLI_OPTION_COUNT, option_name, (void *)(uintptr_t)p->command);
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
    return parsers[spec->kind](p, spec, value, &p->args->values[option]);
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
            parsers[specs[i].kind](p, &specs[i], specs[i].preset, value);
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
    return check_complete(&p);
}
