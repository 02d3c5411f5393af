/* The public functions of explanations (intaglio/explain.h). */
#include "explain/explain.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_SAMPLES = 32 };

const char *itg_effect_name(itg_effect effect)
{
    static const char *const names[ITG_EFFECT_COUNT] = {"clipping", "rounding", "requantization",
                                                        "overflow"};
    return (unsigned)effect < ITG_EFFECT_COUNT ? names[effect] : "?";
}

static itg_status open_sets(explaining *x, const itg_dataset *data)
{
    int64_t samples = data->shape.dims[0];
    int64_t first = x->o->first_samples > 0 ? x->o->first_samples : FIRST_SAMPLES;
    itg_status status = explain_open_set(x, data, samples, &x->all);
    if (status != ITG_OK || first >= samples) return status;
    return explain_open_set(x, data, first, &x->first);
}

static itg_status prepare(explaining *x, const itg_dataset *data)
{
    if (x->file->hardware->all_float)
        return itg_fail(x->err, ITG_UNSUPPORTED, "a float target loses nothing to explain");
    if (data->shape.dims[0] < 1)
        return itg_fail(x->err, ITG_BAD_ARGUMENT, "no sample to explain with");
    itg_status status = itg_annotate(x->g, x->file->hardware, x->file->strategy, &x->a, x->err);
    if (status == ITG_OK) status = itg_sites_create(x->a, &x->sites, x->err);
    if (status == ITG_OK) status = open_sets(x, data);
    if (status != ITG_OK) return status;
    size_t sites = (size_t)x->sites.count + 1, nodes = (size_t)x->g->node_count + 1;
    x->reach = calloc((size_t)x->g->value_count + 1, sizeof *x->reach);
    x->relaxation =
        (itg_relaxation){calloc(sites, sizeof(bool)), calloc(sites, sizeof(bool)),
                         calloc(nodes, sizeof(bool)), calloc(nodes, sizeof(bool)), x->reach};
    const itg_relaxation *r = &x->relaxation;
    return x->reach && r->unrounded && r->unclipped && r->exact && r->unbounded
               ? ITG_OK
               : itg_fail(x->err, ITG_NO_MEMORY, "no memory to explain");
}

static itg_status explain(explaining *x)
{
    itg_explanation_info *info = &x->e->info;
    info->samples = x->all.data->shape.dims[0];
    info->score = info->changed = x->all.base;
    itg_status status = explain_effects(x);
    if (info->score.value[ITG_METRIC_DISTORTION] > 0) {
        if (status == ITG_OK) status = explain_bisect(x);
        if (status == ITG_OK) status = explain_changes(x);
    }
    info->complete = status == ITG_OK;
    return status == ITG_CANCELLED ? ITG_OK : status;
}

static void deinit(explaining *x)
{
    free(x->relaxation.unrounded);
    free(x->relaxation.unclipped);
    free(x->relaxation.exact);
    free(x->relaxation.unbounded);
    free(x->reach);
    explain_close_set(&x->all);
    explain_close_set(&x->first);
    itg_sites_deinit(&x->sites);
    itg_annotated_destroy(x->a);
}

itg_status itg_explain(const itg_model *model, const itg_strategy_file *file,
                       const itg_dataset *data, const itg_explain_options *options,
                       itg_explanation **out, itg_error *err)
{
    const itg_explain_options none = ITG_EXPLAIN_OPTIONS_INIT;
    explaining x = {.g = model, .file = file, .o = options ? options : &none, .err = err};
    itg_status status =
        itg_check_version("itg_explain_options", x.o->version, ITG_EXPLAIN_OPTIONS_VERSION, err);
    if (status != ITG_OK) return status;
    x.e = calloc(1, sizeof *x.e);
    if (x.e) x.e->arena = itg_arena_create(0);
    if (!x.e || !x.e->arena) status = itg_fail(err, ITG_NO_MEMORY, "no memory to explain");
    if (status == ITG_OK) status = prepare(&x, data);
    if (status == ITG_OK) status = explain(&x);
    deinit(&x);
    if (status != ITG_OK)
        itg_explanation_destroy(x.e);
    else
        *out = x.e;
    return status;
}

void itg_explanation_destroy(itg_explanation *e)
{
    if (!e) return;
    itg_strategy_destroy(e->changed);
    itg_arena_destroy(e->arena);
    free(e->effects);
    free(e);
}

const itg_explanation_info *itg_explanation_about(const itg_explanation *e)
{
    return &e->info;
}
int32_t itg_explanation_count(const itg_explanation *e)
{
    return e->count;
}
const itg_effect_report *itg_explanation_at(const itg_explanation *e, int32_t index)
{
    return &e->effects[index];
}

itg_status itg_explanation_apply(const itg_explanation *e, itg_strategy_file *file, itg_error *err)
{
    itg_strategy *made = NULL;
    if (!e->changed) return ITG_OK;
    itg_status status = itg_strategy_clone(e->changed, &made, err);
    if (status != ITG_OK) return status;
    itg_strategy_destroy(file->strategy);
    file->strategy = made;
    file->results = e->info.changed;
    return ITG_OK;
}
