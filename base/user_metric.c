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

static const char key[] = "user_metrics";

static void write_one(itg_json_writer *w, const itg_user_info *user, const double *value)
{
    if (!*user->name) {
        itg_json_put_null(w, NULL);
        return;
    }
    itg_json_begin(w, NULL, '{');
    itg_json_put_text(w, "name", user->name);
    itg_json_put_text(w, "unit", itg_unit_name(user->unit));
    itg_json_put_text(w, "better", user->up ? "up" : "down");
    if (value && isfinite(*value)) itg_json_put_number(w, "value", *value);
    itg_json_end(w, '}');
}

void itg_user_metrics_write(itg_json_writer *w, const itg_user_info *users, const double *values)
{
    int count = itg_user_count(users);
    if (count == 0) return;
    itg_json_begin(w, key, '[');
    for (int i = 0; i < count; i++)
        write_one(w, &users[i], values ? &values[i] : NULL);
    itg_json_end(w, ']');
}

static void read_value(itg_json_taker *t, const itg_json_value *object, itg_unit unit, double *out)
{
    const itg_json_value *v = t->status == ITG_OK ? itg_json_find(object, "value") : NULL;
    if (!v) return;
    double value = itg_json_number_of(t, v);
    if (!itg_unit_allows(unit, value))
        itg_json_refuse(t, v, ITG_BAD_FILE, "expected %s", itg_unit_range(unit));
    if (t->status == ITG_OK) *out = value;
}

static void read_one(itg_json_taker *t, const itg_json_value *object, itg_user_info *user,
                     double *value)
{
    static const char *const keys[] = {"name", "unit", "better", "value", NULL};
    itg_json_take_keys(t, object, keys);
    const char *name = itg_json_take_text(t, object, "name");
    const char *unit = itg_json_take_text(t, object, "unit");
    const char *better = itg_json_take_text(t, object, "better");
    if (t->status != ITG_OK) return;
    itg_user_info read = {.up = strcmp(better, "up") == 0};
    snprintf(read.name, sizeof read.name, "%s", name);
    if (strlen(name) >= sizeof read.name || !itg_unit_from_name(unit, &read.unit) ||
        itg_user_check(&read, NULL) != ITG_OK || (!read.up && strcmp(better, "down") != 0)) {
        itg_json_refuse(t, object, ITG_BAD_FILE,
                        "expected a metric's name, its unit, and \"up\" or \"down\"");
        return;
    }
    *user = read;
    if (value) read_value(t, object, read.unit, value);
}

void itg_user_metrics_read(itg_json_taker *t, const itg_json_value *object, itg_user_info *users,
                           double *values)
{
    const itg_json_value *list = t->status == ITG_OK ? itg_json_find(object, key) : NULL;
    size_t count = list ? itg_json_length(list) : 0;
    if (!list) return;
    if (itg_json_typeof(list) != ITG_JSON_ARRAY || count > ITG_USER_METRICS) {
        itg_json_refuse(t, list, ITG_BAD_FILE, "expected a list of at most %d metrics",
                        ITG_USER_METRICS);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const itg_json_value *v = itg_json_at(list, i);
        if (itg_json_typeof(v) != ITG_JSON_NULL)
            read_one(t, v, &users[i], values ? &values[i] : NULL);
    }
}
