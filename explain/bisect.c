/* Finds the first node at which the integer graph goes wrong. A probe quantizes a prefix of the
 * nodes and removes all effects from the others. A prefix is wrong if it has half of the loss. */
#include "explain/explain.h"
#include <stdlib.h>

typedef struct bisecting {
    explaining *x;
    int32_t *owner; /* [sites]: the first node with which it is present; -1: the inputs */
    double *share;  /* [nodes + 1]: share of the loss with so many nodes; below 0: not measured */
} bisecting;

static void own(const bisecting *b, int32_t site, int32_t node)
{
    if (site >= 0 && node < b->owner[site]) b->owner[site] = node;
}

/* Assigns a value to the node that makes it, a constant to the node that reads it. */
static void find_owners(const bisecting *b)
{
    const explaining *x = b->x;
    for (int32_t i = 0; i < x->sites.count; i++)
        b->owner[i] = x->g->node_count;
    for (itg_id v = 0; v < x->g->value_count; v++)
        for (int32_t i = x->sites.first[v]; i < x->sites.first[v + 1] && !x->g->values[v].data; i++)
            own(b, x->sites.of[i], x->g->values[v].producer);
    for (int32_t e = 0; e < x->a->edge_count; e++)
        if (x->g->values[x->a->edges[e].value].data && x->a->edges[e].node != ITG_NONE)
            own(b, itg_site_of_edge(&x->sites, x->a, e), x->a->edges[e].node);
}

static void relax_from(const bisecting *b, int32_t node)
{
    const itg_relaxation *r = &b->x->relaxation;
    for (int32_t i = 0; i < b->x->sites.count; i++)
        r->unrounded[i] = r->unclipped[i] = b->owner[i] >= node;
    for (itg_id n = 0; n < b->x->g->node_count; n++)
        r->exact[n] = r->unbounded[n] = n >= node;
}

static itg_status probe(bisecting *b, int32_t nodes)
{
    explaining *x = b->x;
    itg_score score;
    int32_t planned = 1;
    while ((x->g->node_count >> planned) > 0)
        planned++;
    explain_progress(x, "bisection", x->e->info.probes, planned + 1);
    relax_from(b, nodes);
    itg_status status = explain_measure_relaxed(x, &x->all, &score);
    relax_from(b, x->g->node_count + 1);
    if (status != ITG_OK) return status;
    b->share[nodes] = score.value[ITG_METRIC_DISTORTION] / x->all.base.value[ITG_METRIC_DISTORTION];
    x->e->info.probes++;
    return ITG_OK;
}

static bool is_monotone(const bisecting *b)
{
    double last = 0;
    for (int32_t k = 0; k <= b->x->g->node_count; k++) {
        if (b->share[k] < 0) continue;
        if (b->share[k] < last) return false;
        last = b->share[k];
    }
    return true;
}

static itg_status bisect(bisecting *b)
{
    itg_explanation_info *info = &b->x->e->info;
    const itg_node *nodes = b->x->g->nodes;
    int32_t good = 0, bad = b->x->g->node_count;
    itg_status status = probe(b, 0);
    if (status == ITG_OK && b->share[0] >= 0.5) {
        info->bad_share = b->share[0];
        info->first_bad = "";
        return ITG_OK;
    }
    while (status == ITG_OK && bad - good > 1) {
        int32_t middle = good + (bad - good) / 2;
        status = probe(b, middle);
        if (status == ITG_OK && b->share[middle] < 0.5)
            good = middle;
        else
            bad = middle;
    }
    if (status != ITG_OK) return status;
    info->first_bad = nodes[bad - 1].name;
    info->last_good = good > 0 ? nodes[good - 1].name : NULL;
    info->good_share = b->share[good];
    info->bad_share = b->share[bad];
    info->is_monotone = is_monotone(b);
    return ITG_OK;
}

itg_status explain_bisect(explaining *x)
{
    size_t sites = (size_t)x->sites.count + 1, nodes = (size_t)x->g->node_count + 1;
    bisecting b = {x, calloc(sites, sizeof *b.owner), calloc(nodes, sizeof *b.share)};
    itg_status status =
        b.owner && b.share ? ITG_OK : itg_fail(x->err, ITG_NO_MEMORY, "no memory to bisect");
    if (status == ITG_OK && x->g->node_count > 0) {
        find_owners(&b);
        for (size_t k = 0; k < nodes; k++)
            b.share[k] = -1;
        b.share[nodes - 1] = 1;
        x->e->info.is_monotone = true;
        status = bisect(&b);
    }
    free(b.owner);
    free(b.share);
    return status;
}
