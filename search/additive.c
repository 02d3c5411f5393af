#include "search/additive.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLLOWS, SHARED, ALONE };

itg_status itg_additive_init(itg_additive *model, const itg_search_space *space,
                             const int32_t *reference, itg_error *err)
{
    size_t terms = 0;
    *model = (itg_additive){.space = space, .reference = reference};
    model->first = malloc(sizeof *model->first * ((size_t)space->dim_count + 1));
    if (!model->first) return itg_fail(err, ITG_NO_MEMORY, "no memory for a model of the space");
    for (int32_t d = 0; d < space->dim_count; d++) {
        model->first[d] = (int32_t)terms;
        if (!itg_add_size(terms, (size_t)space->dims[d].count, &terms) || terms > INT32_MAX)
            return itg_fail(err, ITG_LIMIT, "the choice space has more than 2^31 levels");
    }
    model->first[space->dim_count] = (int32_t)terms;
    model->term = calloc(terms + 1, sizeof *model->term);
    model->prior = calloc(terms + 1, sizeof *model->prior);
    model->learned = calloc(terms + 1, sizeof *model->learned);
    if (!model->term || !model->prior || !model->learned)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for a model of the space");
    return ITG_OK;
}

void itg_additive_deinit(itg_additive *model)
{
    free(model->first);
    free(model->term);
    free(model->prior);
    free(model->learned);
    *model = (itg_additive){0};
}

double *itg_additive_prior(itg_additive *model, int32_t dim, int32_t level)
{
    return &model->prior[model->first[dim] + level];
}

void itg_additive_reset(itg_additive *model, int32_t dim)
{
    size_t at = (size_t)model->first[dim], count = (size_t)model->space->dims[dim].count;
    memcpy(model->term + at, model->prior + at, count * sizeof *model->term);
}

double itg_additive_step(const itg_additive *model, int32_t dim, int32_t from, int32_t to)
{
    const double *term = model->term + model->first[dim];
    return term[to] - term[from];
}

double itg_additive_change(const itg_additive *model, const int32_t *from, const int32_t *to)
{
    double change = 0;
    for (int32_t d = 0; d < model->space->dim_count; d++)
        change += itg_additive_step(model, d, from[d], to[d]);
    return change;
}

/* Returns the known level from which the term of `level` is best derived: the nearest one that was
 * learned alone or with others. Of two at the same distance it is the lower one, whose term is
 * larger and less disturbed by others. -1: no level is known. */
static int32_t nearest_known(const itg_additive *m, int32_t dim, int32_t level)
{
    const itg_dim *d = &m->space->dims[dim];
    int32_t at = m->first[dim], nearest = -1;
    for (int32_t l = 0; l < d->count; l++) {
        bool usable = m->learned[at + l] && m->term[at + l] > 0 && m->term[at + l] < INFINITY;
        if (!usable || m->prior[at + l] == 0) continue;
        if (nearest < 0 || abs(l - level) < abs(nearest - level)) nearest = l;
    }
    return nearest;
}

/* Derives the unknown terms of a dimension from the known ones. They stay between those of the
 * known neighbours. */
static void spread(itg_additive *m, int32_t dim)
{
    const itg_dim *d = &m->space->dims[dim];
    int32_t at = m->first[dim];
    if (!d->ordered) return;
    for (int32_t l = 0; l < d->count; l++) {
        if (m->learned[at + l] || l == m->reference[dim]) continue;
        int32_t from = nearest_known(m, dim, l);
        if (from < 0) continue;
        double term = m->term[at + from] * (m->prior[at + l] / m->prior[at + from]);
        for (int32_t k = 0; k < d->count; k++) {
            double other = m->term[at + k];
            if (!m->learned[at + k] || other == INFINITY) continue;
            if ((k < l && term > other) || (k > l && term < other)) term = other;
        }
        m->term[at + l] = term;
    }
}

void itg_additive_copy(itg_additive *to, const itg_additive *from)
{
    size_t terms = (size_t)from->first[from->space->dim_count];
    memcpy(to->term, from->term, terms * sizeof *to->term);
    memcpy(to->prior, from->prior, terms * sizeof *to->prior);
    memcpy(to->learned, from->learned, terms * sizeof *to->learned);
}

bool itg_additive_knows(const itg_additive *model, int32_t dim, int32_t level)
{
    return level == model->reference[dim] || model->learned[model->first[dim] + level] > 0;
}

/* The part of a change between two points that the terms do not explain, and the terms that share
 * it. */
typedef struct residual {
    int32_t changed, sharing;
    unsigned char worst; /* how well the sharing terms are known (itg_additive.learned) */
    double expected, size;
} residual;

static residual residual_of(const itg_additive *m, const int32_t *from, const int32_t *to)
{
    residual r = {.worst = UCHAR_MAX};
    for (int32_t d = 0; d < m->space->dim_count; d++) {
        if (from[d] == to[d]) continue;
        double step = itg_additive_step(m, d, from[d], to[d]);
        unsigned char learned = m->learned[m->first[d] + to[d]];
        if (learned < r.worst) {
            r.worst = learned;
            r.size = 0;
            r.sharing = 0;
        }
        if (learned == r.worst) {
            r.size += fabs(step);
            r.sharing++;
        }
        r.expected += step;
        r.changed++;
    }
    return r;
}

void itg_additive_learn(itg_additive *m, const int32_t *from, const int32_t *to, double change)
{
    residual r = residual_of(m, from, to);
    if (r.changed == 0) return;
    if (r.changed > 1 && !(fabs(change) < INFINITY && fabs(r.expected) < INFINITY)) return;
    for (int32_t d = 0; d < m->space->dim_count; d++) {
        int32_t at = m->first[d] + to[d];
        if (from[d] == to[d] || m->learned[at] != r.worst) continue;
        double step = itg_additive_step(m, d, from[d], to[d]);
        double share = r.size > 0 ? fabs(step) / r.size : 1.0 / r.sharing;
        if (r.changed == 1)
            m->term[at] = m->term[m->first[d] + from[d]] + change;
        else
            m->term[at] += share * (change - r.expected);
        if (r.sharing == 1)
            m->learned[at] = ALONE;
        else if (m->learned[at] == FOLLOWS)
            m->learned[at] = SHARED;
        spread(m, d);
    }
}
