/* The one list of searchers, and how a text chooses one and its parameters. */
#include "search/searcher.h"
#include <intaglio/intaglio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first is the default. */
static const itg_searcher_def *const all[] = {
    &itg_searcher_hybrid,   &itg_searcher_greedy,     &itg_searcher_surrogate,
    &itg_searcher_allocate, &itg_searcher_anneal,     &itg_searcher_hago_greedy,
    &itg_searcher_random,   &itg_searcher_exhaustive, &itg_searcher_sweep,
    &itg_searcher_evolve,   &itg_searcher_sensitivity};

int itg_searcher_count(void)
{
    return (int)(sizeof all / sizeof *all);
}

const itg_searcher_def *itg_searcher_at(int index)
{
    return index >= 0 && index < itg_searcher_count() ? all[index] : NULL;
}

static const itg_searcher_def *find(const char *name, size_t length)
{
    for (int i = 0; i < itg_searcher_count(); i++)
        if (strlen(all[i]->name) == length && memcmp(all[i]->name, name, length) == 0)
            return all[i];
    const itg_searcher_def *user = &itg_searcher_user;
    return strlen(user->name) == length && memcmp(user->name, name, length) == 0 ? user : NULL;
}

const itg_searcher_def *itg_searcher_find(const char *name)
{
    return find(name, strlen(name));
}

const char *itg_searcher_name(int index)
{
    return itg_searcher_at(index) ? itg_searcher_at(index)->name : NULL;
}
const char *itg_searcher_help(int index)
{
    return itg_searcher_at(index) ? itg_searcher_at(index)->help : NULL;
}

/* ---- parameters ---- */

static int parameter_count(const itg_searcher_def *def)
{
    int count = 0;
    while (def->parameters && def->parameters[count].name)
        count++;
    return count;
}

const itg_searcher_parameter *itg_searcher_parameter_at(int searcher, int index)
{
    const itg_searcher_def *def = itg_searcher_at(searcher);
    return def && index >= 0 && index < parameter_count(def) ? &def->parameters[index] : NULL;
}

void itg_searcher_defaults(const itg_searcher_def *def, double parameters[ITG_MOST_PARAMETERS])
{
    for (int i = 0; i < parameter_count(def); i++)
        parameters[i] = def->parameters[i].value;
}

static itg_status refuse_name(const itg_searcher_def *def, const char *name, size_t length,
                              itg_error *err)
{
    itg_strbuf names = {0};
    for (int i = 0; i < parameter_count(def); i++)
        itg_strbuf_format(&names, "%s%s", i > 0 ? ", " : "", def->parameters[i].name);
    itg_fail(err, ITG_BAD_ARGUMENT, "%s has no parameter '%.*s'; %s%s", def->name,
             (int)(length < 40 ? length : 40), name, names.text ? "it has " : "it has none",
             names.text ? names.text : "");
    itg_strbuf_deinit(&names);
    return ITG_BAD_ARGUMENT;
}

/* One NAME=VALUE of `length` characters. */
static itg_status parse_parameter(const itg_searcher_def *def, const char *text, size_t length,
                                  double *parameters, itg_error *err)
{
    size_t name = strcspn(text, "=,");
    int i = 0;
    while (i < parameter_count(def) && (strlen(def->parameters[i].name) != name ||
                                        memcmp(def->parameters[i].name, text, name) != 0))
        i++;
    if (i == parameter_count(def)) return refuse_name(def, text, name, err);
    const itg_searcher_parameter *p = &def->parameters[i];
    char *end = NULL;
    bool is_number = name + 1 < length && strchr("0123456789.", text[name + 1]);
    double value = is_number ? strtod(text + name + 1, &end) : 0;
    if (end != text + length || !(value >= p->min && value <= p->max) ||
        (p->whole && value != floor(value)))
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s: %.*s: expected %s=%s from %.10g to %.10g",
                        def->name, (int)(length < 60 ? length : 60), text, p->name,
                        p->whole ? "an integer" : "a number", p->min, p->max);
    parameters[i] = value;
    return ITG_OK;
}

itg_status itg_searcher_parse(const char *text, const itg_searcher_def **def,
                              double parameters[ITG_MOST_PARAMETERS], itg_error *err)
{
    size_t name = strcspn(text, ":");
    const itg_searcher_def *found = *text ? find(text, name) : all[0];
    if (!found)
        return itg_fail(err, ITG_BAD_ARGUMENT, "'%.60s' does not begin with the name of a searcher",
                        text);
    if (strlen(text) >= ITG_SEARCHER_TEXT)
        return itg_fail(err, ITG_LIMIT, "searcher %s: more than %d characters", found->name,
                        ITG_SEARCHER_TEXT - 1);
    itg_searcher_defaults(found, parameters);
    for (const char *at = text[name] ? text + name + 1 : NULL; at;) {
        size_t length = strcspn(at, ",");
        itg_status status = parse_parameter(found, at, length, parameters, err);
        if (status != ITG_OK) return status;
        at = at[length] ? at + length + 1 : NULL;
    }
    *def = found;
    return ITG_OK;
}

itg_status itg_searcher_check(const char *text, itg_error *err)
{
    double parameters[ITG_MOST_PARAMETERS] = {0};
    const itg_searcher_def *def = NULL;
    return itg_searcher_parse(text, &def, parameters, err);
}
