#include "base/user_metric.h"
#include <math.h>
#include <string.h>

itg_metric_info itg_metric_of(itg_metric metric, const itg_user_info *user)
{
    itg_metric_info about = *itg_metric_about(metric);
    if (!user || !*user->name) return about;
    about.name = about.words = user->name;
    about.unit = user->unit;
    about.up = user->up;
    return about;
}

itg_metric_info itg_score_about(const itg_score *score, itg_metric metric)
{
    int place = (int)metric - ITG_METRIC_USER1;
    return itg_metric_of(metric,
                         place >= 0 && place < ITG_USER_METRICS ? &score->user[place] : NULL);
}

int itg_user_count(const itg_user_info *users)
{
    int count = ITG_USER_METRICS;
    while (count > 0 && !*users[count - 1].name)
        count--;
    return count;
}

itg_status itg_user_check(const itg_user_info *user, itg_error *err)
{
    itg_metric taken;
    size_t length = strspn(user->name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (length == 0 || length >= sizeof user->name || user->name[length] ||
        itg_metric_from_name(user->name, &taken) || itg_metric_from_goal(user->name, &taken))
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "'%.31s' is no name for a metric: a-z, 0-9 and _, and none of the built-in "
                        "ones",
                        user->name);
    if ((unsigned)user->unit > ITG_UNIT_NUMBER)
        return itg_fail(err, ITG_BAD_ARGUMENT, "metric %s: there is no such unit", user->name);
    return ITG_OK;
}

/* ---- JSON ---- */

void itg_user_metrics_write(const itg_user_info *users, const double *values, itg_strbuf *out)
{
    itg_strbuf_add(out, "[");
    for (int i = 0; i < itg_user_count(users); i++) {
        if (i > 0) itg_strbuf_add(out, ", ");
        if (!*users[i].name) {
            itg_strbuf_add(out, "null");
            continue;
        }
        itg_strbuf_format(out, "{\"name\": \"%s\", \"unit\": \"%s\", \"better\": \"%s\"",
                          users[i].name, itg_unit_name(users[i].unit), users[i].up ? "up" : "down");
        if (values && isfinite(values[i])) itg_strbuf_format(out, ", \"value\": %.17g", values[i]);
        itg_strbuf_add(out, "}");
    }
    itg_strbuf_add(out, "]");
}

void itg_user_results_write(const itg_score *score, itg_strbuf *out)
{
    if (itg_user_count(score->user) == 0) return;
    itg_strbuf_add(out, ", \"user_metrics\": ");
    itg_user_metrics_write(score->user, &score->value[ITG_METRIC_USER1], out);
}

static itg_status read_text(const itg_json *json, const itg_json_value *object, const char *key,
                            const char **out, itg_error *err)
{
    const itg_json_value *v = NULL;
    itg_status status = itg_json_need(json, object, key, ITG_JSON_STRING, &v, err);
    return status == ITG_OK ? itg_json_get_string(json, v, out, err) : status;
}

static itg_status read_one(const itg_json *json, const itg_json_value *object, itg_user_info *user,
                           double *value, itg_error *err)
{
    static const char *const keys[] = {"name", "unit", "better", "value", NULL};
    const itg_json_value *v = itg_json_find(object, "value");
    const char *name = NULL, *unit = NULL, *better = NULL;
    itg_status status = itg_json_allow_keys(json, object, keys, err);
    if (status == ITG_OK) status = read_text(json, object, "name", &name, err);
    if (status == ITG_OK) status = read_text(json, object, "unit", &unit, err);
    if (status == ITG_OK) status = read_text(json, object, "better", &better, err);
    if (status != ITG_OK) return status;
    itg_user_info read = {.up = strcmp(better, "up") == 0};
    snprintf(read.name, sizeof read.name, "%s", name);
    if (strlen(name) >= sizeof read.name || !itg_unit_from_name(unit, &read.unit) ||
        itg_user_check(&read, NULL) != ITG_OK || (!read.up && strcmp(better, "down") != 0))
        return itg_json_fail(json, object, err, ITG_BAD_FILE,
                             "expected a metric's name, its unit, and \"up\" or \"down\"");
    *user = read;
    if (!value || !v) return ITG_OK;
    status = itg_json_get_number(json, v, value, err);
    if (status == ITG_OK && !itg_unit_allows(read.unit, *value))
        return itg_json_fail(json, v, err, ITG_BAD_FILE, "expected %s", itg_unit_range(read.unit));
    return status;
}

itg_status itg_user_metrics_read(const itg_json *json, const itg_json_value *list,
                                 itg_user_info *users, double *values, itg_error *err)
{
    if (itg_json_typeof(list) != ITG_JSON_ARRAY || itg_json_length(list) > ITG_USER_METRICS)
        return itg_json_fail(json, list, err, ITG_BAD_FILE, "expected a list of at most %d metrics",
                             ITG_USER_METRICS);
    for (size_t i = 0; i < itg_json_length(list); i++) {
        const itg_json_value *v = itg_json_at(list, i);
        if (itg_json_typeof(v) == ITG_JSON_NULL) continue;
        itg_status status =
            itg_json_typeof(v) == ITG_JSON_OBJECT
                ? read_one(json, v, &users[i], values ? &values[i] : NULL, err)
                : itg_json_fail(json, v, err, ITG_BAD_FILE, "expected an object or null");
        if (status != ITG_OK) return status;
    }
    return ITG_OK;
}
