/* Parses values of options, with one function for each kind. Messages name the option, the given
 * text and what was expected. */
#include "base/nearest.h"
#include "cli/common.h"
#include "cli/options.h"
#include "report/page.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parser {
    const itg_cli_command *command; /* for messages */
} parser;

/* ---- names: each list ends with NULL ---- */

static const char *threshold_name(void *context, int index)
{
    (void)context;
    return index < ITG_THRESHOLD_METHOD_COUNT ? itg_threshold_name((itg_threshold_method)index)
                                              : NULL;
}

static const char *searcher_name(void *context, int index)
{
    (void)context;
    return index < itg_searcher_count() ? itg_searcher_name(index) : NULL;
}

static const char *cost_name(void *context, int index)
{
    (void)context;
    for (int m = 0; m < ITG_METRIC_COUNT; m++) {
        const char *name = itg_metric_about((itg_metric)m)->goal;
        if (name && index-- == 0) return name;
    }
    return NULL;
}

static const char *baseline_name(void *context, int index)
{
    (void)context;
    return index == 0 ? "hago-greedy" : NULL;
}

static const char *kernels_name(void *context, int index)
{
    (void)context;
    return index < ITG_FLOAT_KERNELS_COUNT ? itg_float_kernels_name((itg_float_kernels)index)
                                           : NULL;
}

static const char *recover_name(void *context, int index)
{
    (void)context;
    return itg_recover_mode_name((itg_recover_mode)index);
}

static const char *layout_name(void *context, int index)
{
    (void)context;
    return index < ITG_SAMPLE_LAYOUTS ? itg_sample_layout_name((itg_sample_layout)index) : NULL;
}

static const char *part_name(void *context, int index)
{
    static const char *const parts[] = {[ITG_SPLIT_CALIBRATION] = "calibration",
                                        [ITG_SPLIT_SEARCH] = "search",
                                        [ITG_SPLIT_SELECTION] = "selection",
                                        [ITG_SPLIT_HOLDOUT] = "holdout"};
    (void)context;
    return index < ITG_SPLIT_PARTS ? parts[index] : NULL;
}

static const char *form_name(void *context, int index)
{
    (void)context;
    return index < ITG_PAGE_FORMS ? itg_page_form_name((itg_page_form)index) : NULL;
}

static const char *(*const names[ITG_CLI_KIND_COUNT])(void *context, int index) = {
    [ITG_CLI_THRESHOLD] = threshold_name, [ITG_CLI_METHODS] = threshold_name,
    [ITG_CLI_COST] = cost_name,           [ITG_CLI_BASELINE] = baseline_name,
    [ITG_CLI_SEARCHER] = searcher_name,   [ITG_CLI_KERNELS] = kernels_name,
    [ITG_CLI_RECOVER] = recover_name,     [ITG_CLI_LAYOUT] = layout_name,
    [ITG_CLI_PART] = part_name,           [ITG_CLI_FORM] = form_name,
};

const char *itg_cli_kind_name(itg_cli_kind kind, int index)
{
    return names[kind] ? names[kind](NULL, index) : NULL;
}

/* ---- values ---- */

static int bad_value(const parser *p, const itg_cli_spec *spec, const char *text,
                     const char *expected)
{
    return itg_cli_fail_usage(p->command, "--%s %.60s: expected %s", spec->name, text, expected);
}

/* Parses the whole text as an integer. Blanks and '+' are refused. */
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
    char expected[64];
    snprintf(expected, sizeof expected, "at most %" PRId64 " characters", spec->max);
    if (*text == '\0') return bad_value(p, spec, "''", "a name");
    if (spec->max > 0 && strlen(text) > (size_t)spec->max)
        return bad_value(p, spec, text, expected);
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
    static const char expected[] = ITG_CLI_SHARE;
    char *end;
    if ((*text < '0' || *text > '9') && *text != '.') return bad_value(p, spec, text, expected);
    double value = strtod(text, &end);
    if (*end == '%') {
        value /= 100;
        end++;
    }
    if (end == text || *end != '\0' || !(value >= 0 && value <= (double)spec->max))
        return bad_value(p, spec, text, expected);
    out->fraction = value;
    return ITG_CLI_OK;
}

static int parse_decibels(const parser *p, const itg_cli_spec *spec, const char *text,
                          itg_cli_value *out)
{
    char *end = NULL;
    double value = *text >= '0' && *text <= '9' ? strtod(text, &end) : 0;
    if (end && *end == ' ') end++;
    if (!(value > 0 && value <= ITG_MOST_SQNR_DB) || (*end != '\0' && strcmp(end, "dB") != 0))
        return bad_value(p, spec, text, "dB, as in 30dB, more than 0 and at most 200");
    out->number = value;
    return ITG_CLI_OK;
}

static int parse_seconds(const parser *p, const itg_cli_spec *spec, const char *text,
                         itg_cli_value *out)
{
    char *end;
    double value = *text >= '0' && *text <= '9' ? strtod(text, &end) : 0;
    if (!(value > 0 && value <= 1e9) || *end != '\0')
        return bad_value(p, spec, text, "seconds, more than 0");
    out->number = value;
    return ITG_CLI_OK;
}

/* Returns the factor of the unit after a number: k, M, G are powers of 1000, Ki, Mi, Gi of 1024,
 * and a B may follow. Returns 0 for any other text. */
static double unit_of(const char *text, bool bytes)
{
    static const char letters[] = "kMG";
    const char *letter = *text ? strchr(letters, *text == 'K' ? 'k' : *text) : NULL;
    double unit = 1;
    if (letter) {
        bool binary = bytes && text[1] == 'i';
        for (const char *c = letters; c <= letter; c++)
            unit *= binary ? 1024 : 1000;
        text += binary ? 2 : 1;
    }
    if (bytes && *text == 'B') text++;
    return *text == '\0' ? unit : 0;
}

static int parse_amount(const parser *p, const itg_cli_spec *spec, const char *text,
                        itg_cli_value *out)
{
    bool bytes = spec->kind == ITG_CLI_BYTES;
    char *end = NULL;
    double value = *text >= '0' && *text <= '9' ? strtod(text, &end) : 0;
    double unit = end ? unit_of(end, bytes) : 0;
    if (!(value * unit >= 1 && value * unit <= 0x1p53))
        return bad_value(p, spec, text,
                         bytes ? "bytes, as in 65536, 64k (64,000) or 64KiB (65,536)"
                               : "a number, as in 1000000, 1e6 or 1M");
    out->number = value * unit;
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

/* Prints "there is no 'maxx'; did you mean 'max'?", or the list of all names. */
static int unknown_name(const parser *p, const itg_cli_spec *spec, const char *text)
{
    char all[256] = "";
    int count = 0;
    for (const char *name; (name = names[spec->kind](NULL, count)) != NULL; count++)
        itg_cli_append(all, sizeof all, "%s%s", count > 0 ? ", " : "", name);
    const char *near = itg_nearest_name(text, count, names[spec->kind], NULL);
    if (near)
        return itg_cli_fail_usage(p->command, "--%s: there is no '%.60s'; did you mean '%s'?",
                                  spec->name, text, near);
    return itg_cli_fail_usage(p->command, "--%s: there is no '%.60s'; expected one of %s",
                              spec->name, text, all);
}

/* Sets *out to the index of a name in its list. */
static int parse_name(const parser *p, const itg_cli_spec *spec, const char *text, int *out)
{
    const char *name;
    for (int i = 0; (name = names[spec->kind](NULL, i)) != NULL; i++)
        if (strcmp(name, text) == 0) {
            *out = i;
            return ITG_CLI_OK;
        }
    return unknown_name(p, spec, text);
}

/* Parses the indices of several names, each of which may occur once. */
static int parse_names(const parser *p, const itg_cli_spec *spec, const char *text,
                       const char *expected, int most, int *out, int32_t *count)
{
    *count = 0;
    for (const char *at = text; at; (*count)++) {
        char name[32];
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (*count == most) return bad_value(p, spec, text, expected);
        int status = parse_name(p, spec, name, &out[*count]);
        if (status != ITG_CLI_OK) return status;
        for (int32_t i = 0; i < *count; i++)
            if (out[i] == out[*count]) return bad_value(p, spec, text, expected);
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return ITG_CLI_OK;
}

/* Parses a name of an enumeration whose names are listed in its order. */
static int parse_choice(const parser *p, const itg_cli_spec *spec, const char *text,
                        itg_cli_value *out)
{
    return parse_name(p, spec, text, &out->choice);
}

static int parse_methods(const parser *p, const itg_cli_spec *spec, const char *text,
                         itg_cli_value *out)
{
    int places[ITG_MAX_METHODS] = {0};
    int status = parse_names(p, spec, text, "each method once", ITG_MAX_METHODS, places,
                             &out->methods.count);
    for (int i = 0; i < ITG_MAX_METHODS; i++)
        out->methods.values[i] = (itg_threshold_method)places[i];
    return status;
}

static int parse_cost(const parser *p, const itg_cli_spec *spec, const char *text,
                      itg_cli_value *out)
{
    int places[ITG_MOST_OBJECTIVES] = {0};
    int status = parse_names(p, spec, text, "at most 4 costs, each once", ITG_MOST_OBJECTIVES,
                             places, &out->costs.count);
    for (int i = 0; status == ITG_CLI_OK && i < out->costs.count; i++)
        itg_metric_from_goal(cost_name(NULL, places[i]), &out->costs.values[i]);
    return status;
}

static int parse_baseline(const parser *p, const itg_cli_spec *spec, const char *text,
                          itg_cli_value *out)
{
    int place = 0;
    out->flag = true;
    return parse_name(p, spec, text, &place);
}

static int parse_searcher(const parser *p, const itg_cli_spec *spec, const char *text,
                          itg_cli_value *out)
{
    char name[32];
    itg_error err = {0};
    int place = 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    int status = parse_name(p, spec, name, &place);
    if (status != ITG_CLI_OK) return status;
    if (itg_searcher_check(text, &err) != ITG_OK)
        return itg_cli_fail_usage(p->command, "--%s: %s", spec->name, err.message);
    snprintf(out->searcher, sizeof out->searcher, "%s", text);
    return ITG_CLI_OK;
}

static int parse_model_text(const parser *p, const itg_cli_spec *spec, const char *text,
                            itg_cli_value *out)
{
    char expected[64];
    snprintf(expected, sizeof expected, "at most %d characters", ITG_MODEL_TEXT - 1);
    if (*text == '\0') return bad_value(p, spec, "''", "a name");
    if (strlen(text) >= ITG_MODEL_TEXT) return bad_value(p, spec, text, expected);
    snprintf(out->model_text, sizeof out->model_text, "%s", text);
    return ITG_CLI_OK;
}

static int parse_kernels(const parser *p, const itg_cli_spec *spec, const char *text,
                         itg_cli_value *out)
{
    int status = parse_choice(p, spec, text, out);
    if (status == ITG_CLI_OK && !itg_float_kernels_built(out->kernels))
        return itg_cli_fail_usage(p->command, "--%s %s: this intaglio was built without oneDNN",
                                  spec->name, text);
    return status;
}

typedef int (*parse_fn)(const parser *p, const itg_cli_spec *spec, const char *text,
                        itg_cli_value *out);
static const parse_fn parsers[ITG_CLI_KIND_COUNT] = {
    [ITG_CLI_FLAG] = parse_flag,         [ITG_CLI_TEXT] = parse_text,
    [ITG_CLI_READ] = parse_text,         [ITG_CLI_WRITTEN] = parse_text,
    [ITG_CLI_DATABASE] = parse_text,     [ITG_CLI_INTEGER] = parse_count,
    [ITG_CLI_SEED] = parse_seed,         [ITG_CLI_FRACTION] = parse_fraction,
    [ITG_CLI_DECIBELS] = parse_decibels, [ITG_CLI_SECONDS] = parse_seconds,
    [ITG_CLI_BYTES] = parse_amount,      [ITG_CLI_AMOUNT] = parse_amount,
    [ITG_CLI_RANGE] = parse_range,       [ITG_CLI_NUMBERS] = parse_numbers,
    [ITG_CLI_THRESHOLD] = parse_choice,  [ITG_CLI_METHODS] = parse_methods,
    [ITG_CLI_COST] = parse_cost,         [ITG_CLI_BASELINE] = parse_baseline,
    [ITG_CLI_SEARCHER] = parse_searcher, [ITG_CLI_KERNELS] = parse_kernels,
    [ITG_CLI_RECOVER] = parse_choice,    [ITG_CLI_LAYOUT] = parse_choice,
    [ITG_CLI_PART] = parse_choice,       [ITG_CLI_MODEL_TEXT] = parse_model_text,
    [ITG_CLI_FORM] = parse_choice,
};

int itg_cli_parse_value(const itg_cli_command *command, const itg_cli_spec *spec, const char *text,
                        itg_cli_value *out)
{
    parser p = {command};
    return parsers[spec->kind](&p, spec, text, out);
}
