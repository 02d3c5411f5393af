/* The changes that may lessen an effect, within what the hardware supports:
 *   clipping, rounding   every threshold method; the next width, and 8 bits; for weights also codes
 *                        by reconstruction
 *   overflow             every threshold method and the nearest widths of what the layer reads: its
 *                        sums become smaller, or another class of accumulators takes them
 *   requantization       the widths of what the layer reads, as for overflow */
#include "explain/changes.h"
#include <stdlib.h>

enum { MOST_NARROWER = 3, WIDE_BITS = 8 };

/* ---- strategies with changed edges ---- */

static void read_groups(changing *c)
{
    const itg_strategy *s = c->x->file->strategy;
    for (int32_t i = 0; i < c->space->group_count; i++) {
        const itg_choice_group *g = &c->space->groups[i];
        const itg_edge_choice *edge = &s->edges[g->edges[0]];
        for (int32_t k = 1; k < g->edge_count && edge->bits == 0; k++)
            edge = &s->edges[g->edges[k]];
        c->bits[i] = edge->bits > 0 ? edge->bits : g->may_be_float ? ITG_FLOAT_BITS : g->bits[0];
        c->methods[i] = edge->method;
        c->passed_over[i] = edge->passed_over < g->alternatives ? edge->passed_over : 0;
    }
}

static itg_status make_space(changing *c)
{
    const explaining *x = c->x;
    const itg_space_options any = {.activation = {2, 32}};
    itg_status status = itg_choice_space_create(x->file->hardware, x->g, &any, &c->space, x->err);
    if (status != ITG_OK) return status;
    c->bits = calloc((size_t)c->space->group_count + 1, sizeof *c->bits);
    c->methods = calloc((size_t)c->space->group_count + 1, sizeof *c->methods);
    c->passed_over = calloc((size_t)c->space->group_count + 1, sizeof *c->passed_over);
    if (!c->bits || !c->methods || !c->passed_over)
        return itg_fail(x->err, ITG_NO_MEMORY, "no memory for changes");
    read_groups(c);
    return ITG_OK;
}

itg_status changes_begin(changing *c)
{
    explaining *x = c->x;
    c->recovery = (itg_recovery){x->g, x->file->hardware, &x->file->preprocess, NULL};
    c->calibration = x->o->calibration ? x->o->calibration : x->all.data;
    itg_status status = make_space(c);
    if (status == ITG_OK)
        status = itg_calibrate_model(x->g, c->calibration, &x->file->preprocess, x->o->threads,
                                     &c->stats, x->err);
    if (status == ITG_OK)
        status = itg_threshold_cache_create(x->g, x->file->hardware, c->space, c->stats, &c->cache,
                                            x->err);
    return status;
}

void changes_end(changing *c)
{
    itg_recovery_deinit(&c->recovery);
    itg_threshold_cache_destroy(c->cache);
    itg_stats_destroy(c->stats);
    itg_choice_space_destroy(c->space);
    free(c->bits);
    free(c->methods);
    free(c->passed_over);
}

/* Considers the group with other bits and another method, if the hardware supports them. */
static itg_status consider(changing *c, int32_t group, int32_t bits, itg_threshold_method method,
                           const char *text)
{
    const int32_t bits_before = c->bits[group];
    const itg_threshold_method method_before = c->methods[group];
    itg_strategy *resolved = NULL;
    itg_error why = {0};
    c->bits[group] = bits;
    c->methods[group] = method;
    itg_status status =
        itg_strategy_resolve(c->cache, c->bits, c->methods, c->passed_over, &resolved, &why);
    c->bits[group] = bits_before;
    c->methods[group] = method_before;
    if (status == ITG_NO_MEMORY) return itg_fail(c->x->err, status, "%s", why.message);
    if (status != ITG_OK) return ITG_OK;
    status = changes_consider(c, group, resolved, text);
    itg_strategy_destroy(resolved);
    return status;
}

/* name: prefix of the texts, or "". */
static itg_status consider_methods(changing *c, int32_t group, const char *name)
{
    itg_status status = ITG_OK;
    char text[80];
    for (int m = 0; m < ITG_THRESHOLD_METHOD_COUNT && status == ITG_OK; m++) {
        const itg_threshold_method method = (itg_threshold_method)m, now = c->methods[group];
        if (method == now)
            snprintf(text, sizeof text, "%sthreshold %s estimated again", name,
                     itg_threshold_name(method));
        else
            snprintf(text, sizeof text, "%sthreshold %s for %s", name, itg_threshold_name(method),
                     itg_threshold_name(now));
        status = consider(c, group, c->bits[group], method, text);
    }
    return status;
}

static itg_status consider_bits(changing *c, int32_t group, int32_t bits, const char *name)
{
    char text[80];
    snprintf(text, sizeof text, "%s%d bits for %d", name, (int)bits, (int)c->bits[group]);
    return consider(c, group, bits, c->methods[group], text);
}

/* Considers the next wider width, and 8 bits if that is wider still. */
static itg_status consider_wider(changing *c, int32_t group)
{
    const itg_choice_group *g = &c->space->groups[group];
    itg_status status = ITG_OK;
    int32_t next = 0;
    for (int32_t i = 0; i < g->bits_count && status == ITG_OK; i++) {
        if (g->bits[i] <= c->bits[group] || (next > 0 && g->bits[i] != WIDE_BITS)) continue;
        next = g->bits[i];
        status = consider_bits(c, group, next, "");
    }
    return status;
}

/* ---- reconstruction ---- */

static itg_status recover_edge(changing *c, int32_t edge, int32_t bits, itg_strategy *into)
{
    explaining *x = c->x;
    const itg_recover_options options = {.version = ITG_RECOVER_OPTIONS_VERSION,
                                         .mode = ITG_RECOVER_ROUND,
                                         .data = c->calibration,
                                         .threads = x->o->threads,
                                         .stop = x->o->stop};
    itg_recovered *table = NULL;
    uint32_t *widths = calloc((size_t)into->edge_count + 1, sizeof *widths);
    if (!widths) return itg_fail(x->err, ITG_NO_MEMORY, "no memory for widths");
    widths[edge] = UINT32_C(1) << bits;
    itg_status status =
        itg_recover_table(&c->recovery, &options, x->file->strategy, widths, &table, x->err);
    if (status == ITG_OK) status = itg_recovered_apply(table, into, x->err);
    itg_recovered_destroy(table);
    free(widths);
    return status;
}

static itg_status consider_codes(changing *c, int32_t group, const itg_effect_report *r)
{
    itg_strategy *made = NULL;
    itg_status status = itg_strategy_clone(c->x->file->strategy, &made, c->x->err);
    if (status == ITG_OK) status = recover_edge(c, r->edge, r->bits, made);
    if (status == ITG_OK)
        status = changes_consider(c, group, made, "weight codes by reconstruction");
    itg_strategy_destroy(made);
    return status == ITG_INFEASIBLE || status == ITG_UNBOUNDED ? ITG_OK : status;
}

/* ---- by effect ---- */

static itg_status list_of_edge(changing *c, const itg_effect_report *r)
{
    int32_t group = c->space->edge_group[r->edge];
    if (group < 0) return ITG_OK;
    itg_status status = consider_methods(c, group, "");
    if (status == ITG_OK) status = consider_wider(c, group);
    if (status == ITG_OK && r->is_weight && r->effect == ITG_EFFECT_ROUNDING)
        status = consider_codes(c, group, r);
    return status;
}

/* Considers widths from three narrower ones to one wider one. */
static itg_status consider_near(changing *c, int32_t group, const char *name)
{
    const itg_choice_group *g = &c->space->groups[group];
    itg_status status = ITG_OK;
    int32_t at = 0;
    while (at < g->bits_count && g->bits[at] < c->bits[group])
        at++;
    for (int32_t i = at - MOST_NARROWER; i <= at + 1 && status == ITG_OK; i++)
        if (i >= 0 && i < g->bits_count && g->bits[i] != c->bits[group])
            status = consider_bits(c, group, g->bits[i], name);
    return status;
}

static itg_status list_of_layer(changing *c, const itg_effect_report *r)
{
    const itg_graph *g = c->x->g;
    itg_status status = ITG_OK;
    char name[48];
    for (int32_t e = 0; e < c->space->edge_count && status == ITG_OK; e++) {
        const itg_edge_ref *edge = &c->space->edges[e];
        int32_t group = c->space->edge_group[e];
        if (group < 0 || edge->node == ITG_NONE || g->nodes[edge->node].name != r->node) continue;
        snprintf(name, sizeof name, "%.40s: ", g->values[edge->value].name);
        status = consider_near(c, group, name);
        if (status == ITG_OK && r->effect == ITG_EFFECT_OVERFLOW)
            status = consider_methods(c, group, name);
    }
    return status;
}

itg_status changes_list(changing *c, const itg_effect_report *r)
{
    return r->edge >= 0 ? list_of_edge(c, r) : list_of_layer(c, r);
}
