/* Evaluates a search's trials in another process, from the data that its trials share. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json_take.h"
#include "search/share.h"
#include "sim/stats_pack.h"
#include "sim/threshold_cache.h"

#define MOST_HEAD ((size_t)16 << 20)
#define MOST_SAMPLES (INT64_C(1) << 40)

struct itg_scorer {
    itg_searching s;
    itg_search_options options;
    itg_preprocess preprocess;
    itg_hardware *hw;
    itg_search_result *result;
    bool locked; /* s.user_lock is there */
};

static const itg_share_part *find(const itg_share_part *parts, int32_t count, const char *name)
{
    for (int32_t i = 0; i < count; i++)
        if (strcmp(parts[i].name, name) == 0) return &parts[i];
    return NULL;
}

static itg_unpacker open_part(const itg_share_part *parts, int32_t count, const char *name,
                              itg_error *err)
{
    const itg_share_part *part = find(parts, count, name);
    itg_unpacker u = {part ? part->data : NULL, part ? part->bytes : 0, name, err, ITG_OK};
    if (!part) itg_unpack_refuse(&u, "is missing");
    return u;
}

/* ---- the head ---- */

typedef struct head {
    const char *options, *preprocess, *hardware;
    double quality_floor;
} head;

static void take_model(itg_json_taker *t, const itg_json_value *root, itg_share_model *out)
{
    const char *name = itg_json_take_text(t, root, "model");
    itg_json_take_hash(t, root, "model_hash", out->hash);
    if (t->status != ITG_OK) return;
    bool plain = *name && strlen(name) < sizeof out->name && strcmp(name, ".") != 0 &&
                 strcmp(name, "..") != 0 && !strchr(name, '/');
    for (const char *c = name; *c; c++)
        plain = plain && (unsigned char)*c >= 0x20;
    if (plain)
        memcpy(out->name, name, strlen(name) + 1);
    else
        itg_json_refuse(t, itg_json_find(root, "model"), ITG_BAD_FILE,
                        "expected the name of a file without folders");
}

static void take_head(itg_json_taker *t, itg_share_model *model, head *out)
{
    static const char *const keys[] = {"format",     "engine",        "model",
                                       "model_hash", "options",       "preprocess",
                                       "hardware",   "quality_floor", NULL};
    const itg_json_value *root = itg_json_root(t->json);
    const char *engine = itg_json_take_text(t, root, "engine");
    if (engine && strcmp(engine, itg_engine_version()) != 0) {
        itg_json_refuse(t, itg_json_find(root, "engine"), ITG_MISMATCH,
                        "the search is of version %.40s, this worker of %s", engine,
                        itg_engine_version());
        return;
    }
    itg_json_take_keys(t, root, keys);
    (void)itg_json_take_int(t, root, "format", ITG_SHARE_FORMAT, ITG_SHARE_FORMAT);
    take_model(t, root, model);
    out->options = itg_json_take_text(t, root, "options");
    out->preprocess = itg_json_take_text(t, root, "preprocess");
    out->hardware = itg_json_take_text(t, root, "hardware");
    const char *floor = itg_json_take_text(t, root, "quality_floor");
    if (floor && !itg_parse_hex_double(floor, &out->quality_floor))
        itg_json_refuse(t, itg_json_find(root, "quality_floor"), ITG_BAD_FILE,
                        "expected a number such as \"0x1.8p+1\"");
}

/* *json holds the texts of *out. */
static itg_status open_head(const itg_share_part *parts, int32_t count, itg_share_model *model,
                            itg_search_options *options, head *out, itg_json **json, itg_error *err)
{
    const itg_share_part *part = find(parts, count, ITG_SHARE_HEAD);
    if (!part || part->bytes > MOST_HEAD)
        return itg_fail(err, ITG_BAD_FILE, ITG_SHARE_HEAD ": is missing, or larger than %zu bytes",
                        MOST_HEAD);
    itg_status status = itg_json_parse(part->data, part->bytes, ITG_SHARE_HEAD, json, err);
    if (status != ITG_OK) return status;
    itg_json_taker t = {*json, err, ITG_OK};
    take_head(&t, model, out);
    status = t.status;
    *options = (itg_search_options)ITG_SEARCH_OPTIONS_INIT;
    if (status == ITG_OK)
        status =
            itg_search_options_from_text(out->options, ITG_SHARE_HEAD ": options", options, err);
    if (status == ITG_OK) {
        model->options = options->model;
        model->options.version = ITG_MODEL_OPTIONS_VERSION;
        return ITG_OK;
    }
    itg_json_destroy(*json);
    *json = NULL;
    return status;
}

itg_status itg_share_model_of(const itg_share_part *parts, int32_t count, itg_share_model *out,
                              itg_error *err)
{
    itg_share_model model = {0};
    itg_search_options options;
    itg_json *json = NULL;
    head ignored = {0};
    itg_status status = open_head(parts, count, &model, &options, &ignored, &json, err);
    if (status != ITG_OK) return status;
    itg_json_destroy(json);
    *out = model;
    return ITG_OK;
}

static itg_status take_texts(itg_scorer *c, const head *h, itg_error *err)
{
    itg_searching *s = &c->s;
    itg_status status = itg_hardware_parse(h->hardware, strlen(h->hardware),
                                           ITG_SHARE_HEAD ": hardware", &c->hw, err);
    if (status == ITG_OK)
        status = itg_preprocess_from_text(h->preprocess, ITG_SHARE_HEAD ": preprocessing",
                                          &c->preprocess, err);
    if (status != ITG_OK) return status;
    s->hw = c->hw;
    s->evaluator.hw = c->hw;
    s->evaluator.preprocess = &c->preprocess;
    /* the results of other kernels come with the share; without them these kernels are used
     * (share.c) */
    c->options.float_kernels = ITG_FLOAT_REFERENCE;
    for (int i = 0; i < ITG_USER_METRICS; i++)
        if (*c->options.goal.user[i].info.name)
            return itg_fail(err, ITG_UNSUPPORTED,
                            ITG_SHARE_HEAD ": options: a metric of another program, '%s'",
                            c->options.goal.user[i].info.name);
    return itg_search_check(s, err);
}

/* ---- samples, and what the float network gives for them ---- */

static itg_status take_samples(itg_scorer *c, const itg_share_part *parts, int32_t count,
                               itg_error *err)
{
    itg_sample_set *set = &c->s.sets[ITG_SET_SEARCH];
    itg_unpacker u = open_part(parts, count, ITG_SHARE_SAMPLES, err);
    itg_dataset_unpack(&u, ITG_SHARE_SAMPLES, &set->data);
    itg_dataset_unpack(&u, ITG_SHARE_SAMPLES ": labels", &set->labels);
    if (u.status == ITG_OK && !set->data) itg_unpack_refuse(&u, "there are none");
    itg_status status = itg_unpack_end(&u);
    return status == ITG_OK && set->labels
               ? itg_labels_check(set->labels, itg_data_samples(set->data), err)
               : status;
}

static int64_t output_elements(const itg_model *model, int32_t index)
{
    int64_t elements = 0;
    (void)itg_shape_elements(&model->values[model->outputs[index]].shape, &elements);
    return elements;
}

static void take_classes(itg_unpacker *u, const itg_model *model, int64_t samples,
                         itg_sample_set *set)
{
    int64_t most = output_elements(model, 0);
    set->has_classes = itg_unpack_int(u, 0, set->labels != NULL, "whether labels are classes") != 0;
    if (!itg_unpack_int(u, 0, 1, "whether there are classes")) return;
    set->classes = itg_unpack_array(u, samples, sizeof *set->classes);
    for (int64_t i = 0; u->status == ITG_OK && i < samples; i++)
        if (most > 1 && (set->classes[i] < 0 || set->classes[i] >= most))
            itg_unpack_refuse(u, "the class of sample %lld is %lld, expected 0 to %lld",
                              (long long)i, (long long)set->classes[i], (long long)most - 1);
}

static void take_outputs(itg_unpacker *u, const itg_model *model, int64_t samples,
                         itg_reference *out)
{
    int64_t elements = 0;
    for (int32_t i = 0; i < model->output_count; i++)
        elements += output_elements(model, i);
    int64_t found = itg_unpack_int(u, 0, elements, "the elements of outputs");
    if (u->status != ITG_OK || found == 0) return;
    if (found != elements) {
        itg_unpack_refuse(u, "outputs have %lld elements, expected %lld", (long long)found,
                          (long long)elements);
        return;
    }
    out->samples = samples;
    out->elements = elements;
    out->output_count = model->output_count;
    out->backend = itg_backend_float(model, ITG_FLOAT_REFERENCE);
    out->power = itg_unpack_array(u, model->output_count, sizeof *out->power);
    for (int32_t i = 0; u->status == ITG_OK && i < model->output_count; i++)
        if (!(out->power[i] >= 0) || isinf(out->power[i]))
            itg_unpack_refuse(u, "the power of output %d is %g", (int)i, out->power[i]);
    if (!itg_unpack_int(u, 0, 1, "whether outputs are there")) return;
    if (samples > MOST_SAMPLES / elements) itg_unpack_refuse(u, "outputs are too many");
    out->values = itg_unpack_array(u, samples * elements, sizeof *out->values);
    for (int64_t i = 0; u->status == ITG_OK && i < samples * elements; i++)
        if (!isfinite(out->values[i])) itg_unpack_refuse(u, "an output is not finite");
}

/* A class is that of the largest value of the first output: losses against it are not negative. */
static void check_classes(itg_unpacker *u, const itg_model *model, const itg_sample_set *set)
{
    const itg_reference *r = &set->outputs;
    int64_t most = output_elements(model, 0);
    for (int64_t s = 0; s < r->samples && r->values && set->classes && most > 1; s++) {
        const float *values = r->values + s * r->elements;
        for (int64_t i = 0; u->status == ITG_OK && i < most; i++)
            if (values[i] > values[set->classes[s]])
                itg_unpack_refuse(u, "the class of sample %lld is %lld, but class %lld has more",
                                  (long long)s, (long long)set->classes[s], (long long)i);
    }
}

static itg_status take_floats(itg_scorer *c, const itg_share_part *parts, int32_t count,
                              itg_error *err)
{
    itg_sample_set *set = &c->s.sets[ITG_SET_SEARCH];
    itg_score *score = &c->result->floats.at[ITG_SET_SEARCH];
    int64_t samples = itg_data_samples(set->data);
    itg_unpacker u = open_part(parts, count, ITG_SHARE_FLOATS, err);
    (void)itg_unpack_int(&u, samples, samples, "the number of samples");
    *score = itg_score_unknown();
    (void)itg_unpack(&u, score->value, ITG_METRIC_COUNT, sizeof *score->value);
    take_classes(&u, c->s.model, samples, set);
    take_outputs(&u, c->s.model, samples, &set->outputs);
    check_classes(&u, c->s.model, set);
    itg_status status = itg_unpack_end(&u);
    if (status != ITG_OK) return status;
    bool needs = set->has_classes && !set->classes;
    return needs ? itg_fail(err, ITG_BAD_FILE, ITG_SHARE_FLOATS ": labels, but no classes")
                 : itg_search_expect(&c->s, err);
}

/* Labels that are classes must be ones of the model, before anything counts them. */
static itg_status check_labels(const itg_scorer *c, itg_error *err)
{
    const itg_sample_set *set = &c->s.sets[ITG_SET_SEARCH];
    int64_t *labels = NULL, count = 0, most = output_elements(c->s.model, 0);
    if (!set->labels || !itg_model_is_classifier(c->s.model) || most < 2) return ITG_OK;
    itg_error ignored;
    if (itg_dataset_labels(set->labels, &labels, &count, &ignored) != ITG_OK) return ITG_OK;
    itg_status status = ITG_OK;
    for (int64_t i = 0; i < count && status == ITG_OK; i++)
        if (labels[i] < 0 || labels[i] >= most)
            status = itg_fail(err, ITG_BAD_FILE,
                              ITG_SHARE_SAMPLES ": label %lld is %lld, expected 0 to %lld",
                              (long long)i, (long long)labels[i], (long long)most - 1);
    free(labels);
    return status;
}

/* ---- opening ---- */

static itg_status take_parts(itg_scorer *c, const itg_share_part *parts, int32_t count,
                             itg_error *err)
{
    itg_searching *s = &c->s;
    itg_unpacker u = open_part(parts, count, ITG_SHARE_STATISTICS, err);
    itg_stats_unpack(&u, s->model->value_count, &s->stats);
    itg_status status = itg_unpack_end(&u);
    if (status == ITG_OK) status = take_samples(c, parts, count, err);
    if (status == ITG_OK) status = check_labels(c, err);
    if (status == ITG_OK) status = itg_search_make_space(s, err);
    if (status == ITG_OK) {
        u = open_part(parts, count, ITG_SHARE_THRESHOLDS, err);
        itg_threshold_cache_unpack(&u, s->evaluator.cache);
        status = itg_unpack_end(&u);
    }
    if (status == ITG_OK) status = take_floats(c, parts, count, err);
    if (status != ITG_OK || !find(parts, count, ITG_SHARE_CODES)) return status;
    u = open_part(parts, count, ITG_SHARE_CODES, err);
    itg_recovered_unpack(&u, s->model, &s->codes[0]);
    s->evaluator.recovered = s->codes[0];
    return itg_unpack_end(&u);
}

static itg_status open_scorer(itg_scorer *c, const itg_share_part *parts, int32_t count,
                              int64_t cache_bytes, const head *h, itg_error *err)
{
    itg_searching *s = &c->s;
    itg_status status = take_texts(c, h, err);
    if (status == ITG_OK) status = itg_search_begin_evaluator(s, cache_bytes, err);
    if (status == ITG_OK) status = take_parts(c, parts, count, err);
    if (status != ITG_OK) return status;
    s->objective = (itg_objective){itg_goal_on(&c->options.goal, c->hw), h->quality_floor,
                                   itg_data_samples(s->sets[ITG_SET_SEARCH].data),
                                   &s->evaluator.points->space};
    return ITG_OK;
}

itg_status itg_scorer_open(const itg_model *model, const itg_share_part *parts, int32_t count,
                           int64_t cache_bytes, itg_scorer **out, itg_error *err)
{
    itg_share_model about = {0};
    itg_json *json = NULL;
    head h = {0};
    itg_scorer *c = calloc(1, sizeof *c);
    if (c) c->result = calloc(1, sizeof *c->result);
    if (!c || !c->result) {
        free(c);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for a scorer");
    }
    c->s = (itg_searching){
        .model = model, .options = &c->options, .result = c->result, .evaluator = {.model = model}};
    c->locked = pthread_mutex_init(&c->s.user_lock, NULL) == 0;
    itg_status status = c->locked ? open_head(parts, count, &about, &c->options, &h, &json, err)
                                  : itg_fail(err, ITG_FAILURE, "no lock for a scorer");
    if (status == ITG_OK && memcmp(about.hash, itg_model_hash(model), sizeof about.hash) != 0)
        status = itg_fail(err, ITG_MISMATCH, "%s: is another model than the search's",
                          itg_model_name(model));
    if (status == ITG_OK) status = open_scorer(c, parts, count, cache_bytes, &h, err);
    itg_json_destroy(json);
    if (status == ITG_OK)
        *out = c;
    else
        itg_scorer_close(c);
    return status;
}

void itg_scorer_close(itg_scorer *c)
{
    if (!c) return;
    if (c->locked) itg_search_deinit(&c->s);
    itg_hardware_destroy(c->hw);
    free(c->result);
    free(c);
}

itg_status itg_scorer_score(itg_scorer *c, const char *request, size_t bytes, int threads,
                            char **reply, itg_error *err)
{
    itg_asked asked;
    itg_score score = itg_score_unknown();
    itg_error why = {0};
    itg_status status = itg_share_read_request(request, bytes, &c->s.objective, &asked, err);
    if (status == ITG_OK) {
        itg_status scored = itg_search_score_point(
            &c->s, asked.point, asked.races ? &asked.race : NULL, threads, &score, &why);
        status = itg_share_reply(scored, &score, &why, reply, err);
    }
    itg_asked_deinit(&asked);
    return status;
}
