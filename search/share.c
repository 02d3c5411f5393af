/* The data that the trials of a round share, and each trial's request: the search's side. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json_write.h"
#include "search/share.h"
#include "sim/stats_pack.h"
#include "sim/threshold_cache.h"

/* ---- what all share ---- */

static itg_status check(const itg_searching *s, itg_error *err)
{
    const itg_reference *outputs = &s->sets[ITG_SET_SEARCH].outputs;
    if (s->round == ITG_ROUND_OWN)
        return itg_fail(err, ITG_UNSUPPORTED,
                        "codes of weights for the trial's own widths are made by the search");
    for (int i = 0; i < ITG_USER_METRICS; i++)
        if (*s->options->goal.user[i].info.name)
            return itg_fail(err, ITG_UNSUPPORTED,
                            "the metric '%s' belongs to this program: workers elsewhere do not "
                            "have it",
                            s->options->goal.user[i].info.name);
    if (s->options->float_kernels != ITG_FLOAT_REFERENCE && outputs->elements > 0 &&
        !outputs->values)
        return itg_fail(err, ITG_UNSUPPORTED,
                        "the float network's outputs are too large to be sent, and workers do not "
                        "compute the same with float kernels '%s': take 'reference'",
                        itg_float_kernels_name(s->options->float_kernels));
    return ITG_OK;
}

static itg_status write_head(const itg_searching *s, itg_strbuf *out, itg_error *err)
{
    char *options = NULL, *preprocess = NULL;
    itg_json_writer w = {0};
    itg_status status = itg_search_options_text(s->options, &options, err);
    if (status == ITG_OK) status = itg_preprocess_text(s->evaluator.preprocess, &preprocess, err);
    if (status == ITG_OK) {
        itg_json_begin(&w, NULL, '{');
        itg_json_put_int(&w, "format", ITG_SHARE_FORMAT);
        itg_json_put_text(&w, "engine", itg_engine_version());
        itg_json_put_text(&w, "model", itg_model_name(s->model));
        itg_json_put_hash(&w, "model_hash", itg_model_hash(s->model));
        itg_json_put_text(&w, "options", options);
        itg_json_put_text(&w, "preprocess", preprocess);
        itg_json_put_text(&w, "hardware", s->hw->json);
        itg_json_put_hex(&w, "quality_floor", s->objective.quality_floor);
        itg_json_end(&w, '}');
    }
    itg_free(preprocess);
    itg_free(options);
    *out = w.text;
    return status;
}

/* The float network's results on the search samples. */
static void write_floats(const itg_searching *s, itg_strbuf *out)
{
    const itg_sample_set *set = &s->sets[ITG_SET_SEARCH];
    const itg_score *score = &s->result->floats.at[ITG_SET_SEARCH];
    const itg_reference *r = &set->outputs;
    int64_t samples = itg_data_samples(set->data);
    itg_pack_int(out, samples);
    itg_pack(out, score->value, ITG_METRIC_COUNT, sizeof *score->value);
    itg_pack_int(out, set->has_classes);
    itg_pack_int(out, set->classes != NULL);
    itg_pack(out, set->classes, set->classes ? (size_t)samples : 0, sizeof *set->classes);
    itg_pack_int(out, r->elements);
    if (r->elements == 0) return;
    itg_pack(out, r->power, (size_t)r->output_count, sizeof *r->power);
    itg_pack_int(out, r->values != NULL);
    itg_pack(out, r->values, r->values ? (size_t)samples * (size_t)r->elements : 0,
             sizeof *r->values);
}

static itg_status add_part(itg_share *share, const char *name, itg_strbuf *text, itg_error *err)
{
    if (!itg_strbuf_ok(text) || !text->text) {
        itg_strbuf_deinit(text);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for what trials share (%s)", name);
    }
    share->parts[share->count++] = (itg_share_part){name, text->text, text->length};
    return ITG_OK;
}

static itg_status fill(const itg_searching *s, itg_share *share, itg_error *err)
{
    itg_strbuf head = {0}, statistics = {0}, thresholds = {0}, samples = {0}, floats = {0},
               codes = {0};
    itg_status status = write_head(s, &head, err);
    if (status != ITG_OK) return status;
    itg_stats_pack(s->stats, &statistics);
    itg_threshold_cache_pack(s->evaluator.cache, &thresholds);
    itg_dataset_pack(s->sets[ITG_SET_SEARCH].data, &samples);
    itg_dataset_pack(s->sets[ITG_SET_SEARCH].labels, &samples);
    write_floats(s, &floats);
    status = add_part(share, ITG_SHARE_HEAD, &head, err);
    itg_status added = add_part(share, ITG_SHARE_STATISTICS, &statistics, err);
    if (status == ITG_OK) status = added;
    added = add_part(share, ITG_SHARE_THRESHOLDS, &thresholds, err);
    if (status == ITG_OK) status = added;
    added = add_part(share, ITG_SHARE_SAMPLES, &samples, err);
    if (status == ITG_OK) status = added;
    added = add_part(share, ITG_SHARE_FLOATS, &floats, err);
    if (status == ITG_OK) status = added;
    if (status != ITG_OK || !s->codes[s->round]) return status;
    itg_recovered_pack(s->codes[s->round], &codes);
    return add_part(share, ITG_SHARE_CODES, &codes, err);
}

int32_t itg_work_round(const itg_work *work)
{
    return work->searching->round;
}

bool itg_work_is_shared(const itg_work *work)
{
    return work->searching->round != ITG_ROUND_OWN;
}

itg_status itg_work_share(const itg_work *work, itg_share **out, itg_error *err)
{
    itg_status status = check(work->searching, err);
    if (status != ITG_OK) return status;
    itg_share *share = calloc(1, sizeof *share);
    if (!share) return itg_fail(err, ITG_NO_MEMORY, "no memory for what trials share");
    status = fill(work->searching, share, err);
    if (status == ITG_OK)
        *out = share;
    else
        itg_share_destroy(share);
    return status;
}

void itg_share_destroy(itg_share *share)
{
    for (int32_t i = 0; share && i < share->count; i++)
        free((void *)(uintptr_t)share->parts[i].data);
    free(share);
}

/* ---- one trial ---- */

itg_status itg_work_request(const itg_work *work, char **out, itg_error *err)
{
    return itg_share_request(&work->searching->evaluator.points->space, work->point, work->race,
                             out, err);
}

/* The point with the widest widths: cheap to describe, and it runs all samples. */
itg_status itg_work_probe(const itg_work *work, int threads, char **request, char **reply,
                          itg_error *err)
{
    const itg_searching *s = work->searching;
    const itg_point_space *points = s->evaluator.points;
    int32_t *point = calloc((size_t)points->space.dim_count + 1, sizeof *point);
    itg_score score = itg_score_unknown();
    itg_error why = {0};
    char *asked = NULL;
    if (!point) return itg_fail(err, ITG_NO_MEMORY, "no memory for a point");
    itg_point_space_corner(points, false, point);
    itg_status status = itg_share_request(&points->space, point, NULL, &asked, err);
    if (status == ITG_OK) {
        itg_status scored =
            itg_search_score_point((void *)(uintptr_t)s, point, NULL, threads, &score, &why);
        status = itg_share_reply(scored, &score, &why, reply, err);
    }
    free(point);
    if (status == ITG_OK)
        *request = asked;
    else
        free(asked);
    return status;
}

itg_status itg_work_reply(const itg_work *work, char **out, itg_error *err)
{
    return itg_share_reply(work->status, &work->score, &work->error, out, err);
}

itg_status itg_work_accept(itg_work *work, const char *reply, size_t bytes, const char *worker,
                           double seconds, itg_error *err)
{
    itg_status found = ITG_OK;
    itg_score score = itg_score_unknown();
    itg_error why = {0};
    itg_status status = itg_share_read_reply(reply, bytes, &found, &score, &why, err);
    if (status != ITG_OK) return status;
    itg_work_finish(work, found, &score, why.message, seconds > 0 && !isinf(seconds) ? seconds : 0);
    snprintf(work->worker, sizeof work->worker, "%s", worker);
    return ITG_OK;
}

void itg_work_fail(itg_work *work, const itg_error *err)
{
    itg_work_finish(work, err->code, NULL, err->message, 0);
}
