/* Requests and replies: JSON, numbers that must be exact as hexadecimal floats. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json_take.h"
#include "base/json_write.h"
#include "search/points.h"
#include "search/share.h"

#define MOST_FRONT 100000
#define MOST_SAMPLES (INT64_C(1) << 53)

/* ---- scores ---- */

static void put_score(itg_json_writer *w, const char *key, const itg_score *score)
{
    itg_json_begin_as(w, key, '{', ITG_JSON_TIGHT);
    itg_json_put_int(w, "samples", score->samples);
    itg_json_put_int(w, "stopped_at", score->stopped_at);
    itg_json_put_hash(w, "digest", score->digest);
    itg_json_begin_as(w, "values", '{', ITG_JSON_TIGHT);
    for (int m = 0; m < ITG_METRIC_COUNT; m++)
        if (!isnan(score->value[m]))
            itg_json_put_hex(w, itg_metric_about((itg_metric)m)->name, score->value[m]);
    itg_json_end(w, '}');
    itg_json_end(w, '}');
}

static double take_hex(itg_json_taker *t, const itg_json_value *v)
{
    double value = 0;
    const char *text = itg_json_text_of(t, v);
    if (text && !itg_parse_hex_double(text, &value))
        itg_json_refuse(t, v, ITG_BAD_FILE, "expected a number such as \"0x1.8p+1\"");
    return value;
}

static void take_score(itg_json_taker *t, const itg_json_value *v, itg_score *out)
{
    static const char *const keys[] = {"samples", "stopped_at", "digest", "values", NULL};
    itg_score score = itg_score_unknown();
    itg_json_take_keys(t, v, keys);
    score.samples = itg_json_take_int(t, v, "samples", 0, MOST_SAMPLES);
    score.stopped_at = itg_json_take_int(t, v, "stopped_at", 0, score.samples);
    itg_json_take_hash(t, v, "digest", score.digest);
    const itg_json_value *values = itg_json_take(t, v, "values", ITG_JSON_OBJECT);
    for (size_t i = 0; t->status == ITG_OK && i < itg_json_length(values); i++) {
        itg_metric metric;
        const itg_json_value *value = itg_json_at(values, i);
        if (!itg_metric_from_name(itg_json_key_at(values, i), &metric) ||
            metric >= ITG_METRIC_COUNT)
            itg_json_refuse(t, value, ITG_BAD_FILE, "is no metric of this version");
        else
            score.value[metric] = take_hex(t, value);
    }
    if (t->status == ITG_OK) *out = score;
}

/* ---- requests ---- */

static void put_race(itg_json_writer *w, const itg_race *race)
{
    itg_json_begin_as(w, "race", '{', ITG_JSON_TIGHT);
    itg_json_put_hex(w, "floor", race->interest.floor);
    itg_json_put_hex(w, "share", race->interest.share);
    if (race->best->index >= 0 && race->best->feasible) put_score(w, "best", &race->best->score);
    if (race->front) {
        itg_json_begin_as(w, "front", '[', ITG_JSON_TIGHT);
        for (int32_t i = 0; i < race->front->count; i++) {
            itg_json_begin_as(w, NULL, '[', ITG_JSON_TIGHT);
            for (int32_t k = 0; k < race->front->objective_count; k++)
                itg_json_put_hex(w, NULL, race->front->entries[i].objectives[k]);
            itg_json_end(w, ']');
        }
        itg_json_end(w, ']');
    }
    itg_json_end(w, '}');
}

itg_status itg_share_request(const itg_search_space *space, const int32_t *point,
                             const itg_race *race, char **out, itg_error *err)
{
    itg_json_writer w = {0};
    itg_json_begin_as(&w, NULL, '{', ITG_JSON_TIGHT);
    itg_json_begin_as(&w, "point", '[', ITG_JSON_TIGHT);
    for (int32_t d = 0; d < space->dim_count; d++)
        itg_json_put_int(&w, NULL, point[d]);
    itg_json_end(&w, ']');
    if (race) put_race(&w, race);
    itg_json_end(&w, '}');
    return itg_take_text(&w.text, out, err);
}

static void take_point(itg_json_taker *t, const itg_json_value *list, const itg_search_space *space,
                       itg_asked *out)
{
    if (t->status != ITG_OK) return;
    if (itg_json_length(list) != (size_t)space->dim_count)
        itg_json_refuse(t, list, ITG_BAD_FILE, "expected %d choices", (int)space->dim_count);
    out->point = calloc((size_t)space->dim_count + 1, sizeof *out->point);
    if (!out->point) itg_json_refuse(t, list, ITG_NO_MEMORY, "no memory for a point");
    for (int32_t d = 0; t->status == ITG_OK && d < space->dim_count; d++) {
        const itg_json_value *v = itg_json_at(list, (size_t)d);
        out->point[d] = (int32_t)itg_json_int_of(t, v, 0, INT32_MAX);
        if (itg_dim_level(&space->dims[d], out->point[d]) < 0)
            itg_json_refuse(t, v, ITG_BAD_FILE, "is no choice there");
    }
}

static void take_front(itg_json_taker *t, const itg_json_value *list, int32_t objectives,
                       itg_archive *front)
{
    size_t count = itg_json_length(list);
    if (count > MOST_FRONT)
        itg_json_refuse(t, list, ITG_BAD_FILE, "expected at most %d points", MOST_FRONT);
    front->objective_count = objectives;
    if (t->status == ITG_OK) front->entries = calloc(count + 1, sizeof *front->entries);
    if (!front->entries) itg_json_refuse(t, list, ITG_NO_MEMORY, "no memory for a front");
    for (size_t i = 0; t->status == ITG_OK && i < count; i++) {
        const itg_json_value *entry = itg_json_at(list, i);
        if (itg_json_typeof(entry) != ITG_JSON_ARRAY ||
            itg_json_length(entry) != (size_t)objectives)
            itg_json_refuse(t, entry, ITG_BAD_FILE, "expected %d objectives", (int)objectives);
        for (int32_t k = 0; t->status == ITG_OK && k < objectives; k++)
            front->entries[i].objectives[k] = take_hex(t, itg_json_at(entry, (size_t)k));
        front->count = (int32_t)i + 1;
    }
}

static void take_race(itg_json_taker *t, const itg_json_value *v, const itg_objective *objective,
                      itg_asked *out)
{
    static const char *const keys[] = {"floor", "share", "best", "front", NULL};
    itg_json_take_keys(t, v, keys);
    const itg_json_value *floor = itg_json_take(t, v, "floor", ITG_JSON_STRING),
                         *share = itg_json_take(t, v, "share", ITG_JSON_STRING),
                         *best = t->status == ITG_OK ? itg_json_find(v, "best") : NULL,
                         *front = t->status == ITG_OK ? itg_json_find(v, "front") : NULL;
    out->best.index = best ? 0 : -1;
    out->best.feasible = best != NULL;
    out->race = (itg_race){.objective = objective,
                           .best = &out->best,
                           .interest = {take_hex(t, floor), take_hex(t, share)}};
    if (best) take_score(t, best, &out->best.score);
    if (front) {
        take_front(t, front, objective->goal.objective_count, &out->front);
        out->race.front = &out->front;
    }
}

void itg_asked_deinit(itg_asked *asked)
{
    free(asked->point);
    itg_archive_deinit(&asked->front);
}

itg_status itg_share_read_request(const char *text, size_t bytes, const itg_objective *objective,
                                  itg_asked *out, itg_error *err)
{
    static const char *const keys[] = {"point", "race", NULL};
    itg_json *json = NULL;
    *out = (itg_asked){0};
    if (bytes > ITG_SHARE_MOST_TEXT)
        return itg_fail(err, ITG_BAD_FILE, "request: has %zu bytes, expected at most %zu", bytes,
                        ITG_SHARE_MOST_TEXT);
    itg_status status = itg_json_parse(text, bytes, "request", &json, err);
    if (status != ITG_OK) return status;
    itg_json_taker t = {json, err, ITG_OK};
    const itg_json_value *root = itg_json_root(json);
    itg_json_take_keys(&t, root, keys);
    take_point(&t, itg_json_take(&t, root, "point", ITG_JSON_ARRAY), objective->space, out);
    const itg_json_value *race = t.status == ITG_OK ? itg_json_find(root, "race") : NULL;
    out->races = race != NULL;
    if (race) take_race(&t, race, objective, out);
    itg_json_destroy(json);
    return t.status;
}

/* ---- replies ---- */

static const struct {
    itg_status status;
    const char *name;
} answers[] = {{ITG_OK, "ok"}, {ITG_INFEASIBLE, "infeasible"}, {ITG_UNBOUNDED, "unbounded"}};
enum { ANSWERS = sizeof answers / sizeof *answers };

itg_status itg_share_reply(itg_status status, const itg_score *score, const itg_error *why,
                           char **out, itg_error *err)
{
    itg_json_writer w = {0};
    int which = 0;
    while (which < ANSWERS && answers[which].status != status)
        which++;
    if (which == ANSWERS) return itg_fail(err, status, "%s", why->message);
    itg_json_begin_as(&w, NULL, '{', ITG_JSON_TIGHT);
    itg_json_put_text(&w, "status", answers[which].name);
    if (status == ITG_OK)
        put_score(&w, "score", score);
    else
        itg_json_put_text(&w, "why", why->message);
    itg_json_end(&w, '}');
    return itg_take_text(&w.text, out, err);
}

itg_status itg_share_read_reply(const char *text, size_t bytes, itg_status *status,
                                itg_score *score, itg_error *why, itg_error *err)
{
    static const char *const scored[] = {"status", "score", NULL}, *const refused[] = {"status",
                                                                                       "why", NULL};
    itg_json *json = NULL;
    if (bytes > ITG_SHARE_MOST_TEXT)
        return itg_fail(err, ITG_BAD_FILE, "reply: has %zu bytes, expected at most %zu", bytes,
                        ITG_SHARE_MOST_TEXT);
    itg_status read = itg_json_parse(text, bytes, "reply", &json, err);
    if (read != ITG_OK) return read;
    itg_json_taker t = {json, err, ITG_OK};
    const itg_json_value *root = itg_json_root(json);
    const char *name = itg_json_take_text(&t, root, "status"), *reason = NULL;
    itg_score found = itg_score_unknown();
    int which = 0;
    while (name && which < ANSWERS && strcmp(answers[which].name, name) != 0)
        which++;
    if (which == ANSWERS)
        itg_json_refuse(&t, itg_json_find(root, "status"), ITG_BAD_FILE,
                        "expected ok, infeasible or unbounded");
    if (t.status == ITG_OK) itg_json_take_keys(&t, root, which == 0 ? scored : refused);
    if (t.status == ITG_OK && which == 0)
        take_score(&t, itg_json_take(&t, root, "score", ITG_JSON_OBJECT), &found);
    if (t.status == ITG_OK && which > 0) reason = itg_json_take_text(&t, root, "why");
    if (t.status == ITG_OK) {
        *status = answers[which].status;
        *score = found;
        if (reason) (void)itg_fail(why, *status, "%s", reason);
    }
    itg_json_destroy(json);
    return t.status;
}
