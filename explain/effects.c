/* Finds the possible effects and measures the loss that each causes.
 *
 * An effect that occurred on no sample (nothing clipped, nothing overflowed) is left out. If many
 * remain, all are measured on the first samples, and the largest ones again on all samples. */
#include "explain/explain.h"
#include <math.h>
#include <stdlib.h>

enum { MOST_EFFECTS = 16 };

/* Observations at edges and nodes. */
typedef struct seen {
    bool *clipped;    /* [sites] */
    int32_t *edge;    /* [sites]: the first edge that reads it; -1: none */
    int32_t *edges;   /* [sites]: number of edges that read it */
    bool *overflowed; /* [nodes] */
} seen;

static void note_edge(explaining *x, seen *s, const itg_edge_report *r)
{
    const itg_edge *edge = &x->a->edges[r->index];
    double magnitudes[] = {r->float_min, r->float_max, r->sim_min, r->sim_max};
    itg_id producer = x->g->values[edge->value].producer;
    for (int i = 0; i < 4; i++)
        if (fabs(magnitudes[i]) > x->reach[edge->value])
            x->reach[edge->value] = fabs(magnitudes[i]);
    int32_t site = itg_site_of_edge(&x->sites, x->a, r->index);
    if (site >= 0 && r->saturated > 0) s->clipped[site] = true;
    if (producer == ITG_NONE || !(r->overflowed > 0)) return;
    for (itg_id n = 0; n < x->g->node_count; n++)
        if (x->a->nodes[n].form != ITG_FORM_FUSED && x->a->nodes[n].out_value == edge->value)
            s->overflowed[n] = true;
}

static void note_sites(explaining *x, seen *s)
{
    for (int32_t i = 0; i < x->sites.count; i++)
        s->edge[i] = -1;
    for (int32_t e = 0; e < x->a->edge_count; e++) {
        int32_t site = itg_site_of_edge(&x->sites, x->a, e);
        if (site < 0) continue;
        if (s->edge[site] < 0) s->edge[site] = e;
        s->edges[site]++;
    }
}

static itg_status look(explaining *x, seen *s)
{
    itg_inspection *inspection = NULL;
    itg_status status =
        itg_inspect(x->g, x->file, x->a, x->all.data, x->o->threads, &inspection, x->err);
    for (int32_t i = 0; status == ITG_OK && i < itg_inspection_count(inspection); i++)
        note_edge(x, s, itg_inspection_edge(inspection, i));
    itg_inspection_destroy(inspection);
    note_sites(x, s);
    return status;
}

/* ---- the list ---- */

static void add_site(explaining *x, const seen *s, int32_t site, itg_effect effect)
{
    const itg_edge *edge = &x->a->edges[s->edge[site]];
    const itg_edge_choice *choice = &x->file->strategy->edges[s->edge[site]];
    x->e->effects[x->e->count++] =
        (itg_effect_report){.effect = effect,
                            .value = x->g->values[edge->value].name,
                            .node = edge->node == ITG_NONE ? NULL : x->g->nodes[edge->node].name,
                            .edges = s->edges[site],
                            .edge = s->edge[site],
                            .bits = choice->bits,
                            .is_weight = choice->channel_count > 0};
}

static void add_node(explaining *x, itg_id n, itg_effect effect)
{
    x->e->effects[x->e->count++] =
        (itg_effect_report){.effect = effect, .node = x->g->nodes[n].name, .edge = -1};
}

static void list_effects(explaining *x, const seen *s)
{
    for (int32_t i = 0; i < x->sites.count; i++) {
        if (s->edge[i] < 0) continue;
        /* The choice of the strategy's own codes accounts for values beyond the range. */
        if (s->clipped[i] && !x->file->strategy->edges[s->edge[i]].codes)
            add_site(x, s, i, ITG_EFFECT_CLIPPING);
        add_site(x, s, i, ITG_EFFECT_ROUNDING);
    }
    for (itg_id n = 0; n < x->g->node_count; n++) {
        if (itg_relax_is_arithmetic(x->a, n)) add_node(x, n, ITG_EFFECT_REQUANTIZATION);
        if (s->overflowed[n]) add_node(x, n, ITG_EFFECT_OVERFLOW);
    }
}

static itg_status find_effects(explaining *x)
{
    size_t sites = (size_t)x->sites.count + 1, nodes = (size_t)x->g->node_count + 1;
    seen s = {calloc(sites, sizeof *s.clipped), calloc(sites, sizeof *s.edge),
              calloc(sites, sizeof *s.edges), calloc(nodes, sizeof *s.overflowed)};
    x->e->effects = calloc(2 * (sites + nodes), sizeof *x->e->effects);
    itg_status status = s.clipped && s.edge && s.edges && s.overflowed && x->e->effects
                            ? ITG_OK
                            : itg_fail(x->err, ITG_NO_MEMORY, "no memory for effects");
    if (status == ITG_OK) status = look(x, &s);
    if (status == ITG_OK) list_effects(x, &s);
    free(s.clipped);
    free(s.edge);
    free(s.edges);
    free(s.overflowed);
    return status;
}

/* ---- measuring ---- */

static itg_id node_named(const explaining *x, const char *name)
{
    itg_id n = 0;
    while (x->g->nodes[n].name != name)
        n++;
    return n;
}

/* Returns the flag of the relaxation that removes the effect. */
static bool *flag_of(const explaining *x, const itg_effect_report *r)
{
    const itg_relaxation *relaxation = &x->relaxation;
    if (r->edge < 0) {
        itg_id n = node_named(x, r->node);
        return r->effect == ITG_EFFECT_OVERFLOW ? &relaxation->unbounded[n] : &relaxation->exact[n];
    }
    int32_t site = itg_site_of_edge(&x->sites, x->a, r->edge);
    return r->effect == ITG_EFFECT_CLIPPING ? &relaxation->unclipped[site]
                                            : &relaxation->unrounded[site];
}

static itg_status measure_effect(explaining *x, const explain_set *set, itg_effect_report *r)
{
    bool *flag = flag_of(x, r);
    double loss = set->base.value[ITG_METRIC_DISTORTION];
    *flag = true;
    itg_status status = explain_measure_relaxed(x, set, &r->without);
    *flag = false;
    if (status != ITG_OK) return status;
    r->samples = set->data->shape.dims[0];
    r->share = loss > 0 ? 1 - r->without.value[ITG_METRIC_DISTORTION] / loss : 0;
    return ITG_OK;
}

static int largest_first(const void *a, const void *b)
{
    const itg_effect_report *x = a, *y = b;
    if ((x->samples > 0) != (y->samples > 0)) return x->samples > 0 ? -1 : 1;
    if (x->share != y->share) return x->share > y->share ? -1 : 1;
    if (x->edge != y->edge) return x->edge < 0 ? 1 : y->edge < 0 ? -1 : x->edge - y->edge;
    return x->effect != y->effect ? (int)x->effect - (int)y->effect : strcmp(x->node, y->node);
}

static void rank(itg_explanation *e)
{
    qsort(e->effects, (size_t)e->count, sizeof *e->effects, largest_first);
}

/* Measures the first `count` effects. done: number of evaluations before. */
static itg_status measure_effects(explaining *x, const explain_set *set, int32_t count,
                                  int32_t done, int32_t planned)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < count && status == ITG_OK; i++) {
        explain_progress(x, "effects", done + i, planned);
        status = measure_effect(x, set, &x->e->effects[i]);
    }
    rank(x->e);
    return status;
}

static void summarize(explaining *x)
{
    itg_explanation_info *info = &x->e->info;
    info->effects = x->e->count;
    for (int32_t i = 0; i < x->e->count; i++) {
        info->sum += x->e->effects[i].share;
        info->measured += x->e->effects[i].samples == info->samples;
    }
}

itg_status explain_effects(explaining *x)
{
    int32_t most = x->o->most_effects > 0 ? x->o->most_effects : MOST_EFFECTS;
    itg_status status = find_effects(x);
    if (status != ITG_OK) return status;
    int32_t count = x->e->count;
    if (count <= most || !x->first.data) {
        status = measure_effects(x, &x->all, count, 0, count);
    } else {
        status = measure_effects(x, &x->first, count, 0, count + most);
        if (status == ITG_OK) status = measure_effects(x, &x->all, most, count, count + most);
    }
    summarize(x);
    return status;
}
