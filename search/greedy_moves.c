#include "search/greedy_moves.h"
#include <math.h>
#include <string.h>

#define MOST_STEPS 32 /* the most steps of a repair or of a fill */
#define SMALL_SPACE 20000
#define NEAR 2 /* how many levels an exchange moves by; it also tries the top */

static double at_least_smallest(double x)
{
    return x > ITG_GREEDY_SMALLEST ? x : ITG_GREEDY_SMALLEST;
}

static void apply(const itg_greedy_moves *m, itg_guess *g, int32_t dim, int32_t level)
{
    g->loss += itg_additive_step(m->loss, dim, g->levels[dim], level);
    g->cost_ratio -= itg_additive_step(m->saved, dim, g->levels[dim], level);
    g->levels[dim] = level;
}

static void copy(const itg_greedy_moves *m, itg_guess *to, const itg_guess *from)
{
    memcpy(to->levels, from->levels, sizeof *to->levels * (size_t)m->space->dim_count);
    to->loss = from->loss;
    to->cost_ratio = from->cost_ratio;
}

/* ---- steps ---- */

bool itg_greedy_lower(const itg_greedy_moves *m, itg_guess *g, double cap, int32_t frozen,
                      int32_t *dim)
{
    double best = -1;
    int32_t level = 0;
    for (int32_t d = 0; d < m->space->dim_count; d++) {
        if (!m->movable[d] || d == frozen) continue;
        for (int32_t l = g->levels[d] - 1; l >= 0; l--) {
            double lost = itg_additive_step(m->loss, d, g->levels[d], l);
            double saved = itg_additive_step(m->saved, d, g->levels[d], l);
            if (!(g->loss + lost <= cap) || lost == INFINITY) continue;
            double ratio = saved > 0 ? saved / at_least_smallest(lost) : 0;
            if (ratio <= best) continue;
            best = ratio;
            *dim = d;
            level = l;
        }
    }
    if (best < 0) return false;
    apply(m, g, *dim, level);
    return true;
}

/* Raises the width that regains most loss for the cost ratio that it adds. */
static bool raise_best(const itg_greedy_moves *m, itg_guess *g, double cap, int32_t frozen)
{
    double best = 0;
    int32_t dim = -1, level = 0;
    for (int32_t d = 0; d < m->space->dim_count; d++) {
        if (!m->movable[d] || d == frozen) continue;
        for (int32_t l = g->levels[d] + 1; l <= m->top[d]; l++) {
            double gained = -itg_additive_step(m->loss, d, g->levels[d], l);
            double added = -itg_additive_step(m->saved, d, g->levels[d], l);
            if (!(g->cost_ratio + added <= cap) || !(gained > 0)) continue;
            double ratio = gained / at_least_smallest(added);
            if (ratio <= best) continue;
            best = ratio;
            dim = d;
            level = l;
        }
    }
    if (dim >= 0) apply(m, g, dim, level);
    return dim >= 0;
}

/* Brings the guess back within the cap by raising widths other than the frozen one. */
static bool repair(const itg_greedy_moves *m, itg_guess *g, int32_t frozen)
{
    int32_t dim = 0;
    for (int step = 0; step < MOST_STEPS; step++) {
        if (m->maximize_quality ? g->cost_ratio <= m->cost_ratio_cap : g->loss <= m->loss_cap)
            return true;
        bool moved = m->maximize_quality ? itg_greedy_lower(m, g, INFINITY, frozen, &dim)
                                         : raise_best(m, g, INFINITY, frozen);
        if (!moved) return false;
    }
    return false;
}

static void fill(const itg_greedy_moves *m, itg_guess *g, int32_t frozen)
{
    int32_t dim = 0;
    for (int step = 0; step < MOST_STEPS; step++) {
        bool moved = m->maximize_quality ? raise_best(m, g, m->cost_ratio_cap, frozen)
                                         : itg_greedy_lower(m, g, m->loss_cap, frozen, &dim);
        if (!moved) return;
    }
}

/* ---- the list ---- */

typedef struct proposal {
    const itg_greedy_moves *moves;
    const itg_guess *current;
    itg_guess *out;
    int32_t count;
} proposal;

static bool fits(const itg_greedy_moves *m, const itg_guess *g)
{
    return m->maximize_quality || g->loss <= m->loss_cap;
}

/* Orders guesses: those within the cap first, by the objective; then the others, by their loss. */
static bool is_better(const itg_greedy_moves *m, const itg_guess *a, const itg_guess *b)
{
    bool fa = fits(m, a), fb = fits(m, b);
    if (fa != fb) return fa;
    double xa = m->maximize_quality || !fa ? a->loss : a->cost_ratio;
    double xb = m->maximize_quality || !fb ? b->loss : b->cost_ratio;
    if (xa != xb) return xa < xb;
    return m->maximize_quality || !fa ? a->cost_ratio < b->cost_ratio : a->loss < b->loss;
}

static bool is_doubtful(const proposal *p, const itg_guess *g)
{
    const itg_greedy_moves *m = p->moves;
    bool known = !m->doubt_all;
    for (int32_t d = 0; d < m->space->dim_count && known; d++)
        known =
            g->levels[d] == p->current->levels[d] || itg_additive_knows(m->loss, d, g->levels[d]);
    return !known;
}

static bool is_worth_trying(const proposal *p, const itg_guess *g)
{
    const itg_greedy_moves *m = p->moves;
    if (m->maximize_quality)
        return g->cost_ratio <= m->cost_ratio_cap &&
               (g->loss < p->current->loss - ITG_GREEDY_SMALLEST ||
                (g->loss <= p->current->loss * m->doubt && is_doubtful(p, g)));
    if (!(g->cost_ratio < p->current->cost_ratio - ITG_GREEDY_SMALLEST)) return false;
    return fits(m, g) || (g->loss <= m->loss_cap * m->doubt && is_doubtful(p, g));
}

static void consider(proposal *p, const itg_guess *g)
{
    const itg_greedy_moves *m = p->moves;
    size_t bytes = sizeof *g->levels * (size_t)m->space->dim_count;
    if (!is_worth_trying(p, g)) return;
    int32_t at = p->count;
    while (at > 0 && is_better(m, g, &p->out[at - 1]))
        at--;
    if (at == ITG_GREEDY_BATCH) return;
    for (int32_t i = 0; i < p->count; i++)
        if (memcmp(p->out[i].levels, g->levels, bytes) == 0) return;
    if (itg_point_map_find(m->history, g->levels) >= 0) return;
    if (p->count < ITG_GREEDY_BATCH) p->count++;
    itg_guess last = p->out[p->count - 1];
    for (int32_t i = p->count - 1; i > at; i--)
        p->out[i] = p->out[i - 1];
    p->out[at] = last;
    copy(m, &p->out[at], g);
}

/* Considers one width at a level: as it is, repaired, and filled up. */
static void consider_move(proposal *p, int32_t dim, int32_t level, itg_guess *g)
{
    const itg_greedy_moves *m = p->moves;
    copy(m, g, p->current);
    apply(m, g, dim, level);
    if (!(g->loss < INFINITY)) return;
    consider(p, g);
    if (!repair(m, g, dim)) return;
    consider(p, g);
    fill(m, g, dim);
    consider(p, g);
}

/* Considers raising one width and lowering another, whatever the caps say. */
static void consider_exchanges(proposal *p, int32_t up, int32_t level, itg_guess *g)
{
    const itg_greedy_moves *m = p->moves;
    const int32_t *now = p->current->levels;
    for (int32_t d = 0; d < m->space->dim_count; d++) {
        if (!m->movable[d] || d == up) continue;
        for (int32_t l = now[d] - 1; l >= 0; l--) {
            copy(m, g, p->current);
            apply(m, g, up, level);
            apply(m, g, d, l);
            if (g->loss < INFINITY) consider(p, g);
        }
    }
}

/* Considers descents from the start with one width held, until they would be better than the
 * current point. */
static void consider_holding(proposal *p, int32_t held, itg_guess *g)
{
    itg_greedy_moves m = *p->moves;
    int32_t dim = 0;
    m.loss = m.probed;
    copy(&m, g, m.start);
    while (g->cost_ratio >= p->current->cost_ratio - ITG_GREEDY_SMALLEST)
        if (!itg_greedy_lower(&m, g, INFINITY, held, &dim)) return;
    consider(p, g);
}

/* Predicts a guess's loss and saving from the current point's. */
static void guess_again(const proposal *p, itg_guess *g)
{
    const itg_greedy_moves *m = p->moves;
    g->loss = p->current->loss;
    g->cost_ratio = p->current->cost_ratio;
    for (int32_t d = 0; d < m->space->dim_count; d++) {
        if (g->levels[d] == p->current->levels[d]) continue;
        g->loss += itg_additive_step(m->loss, d, p->current->levels[d], g->levels[d]);
        g->cost_ratio -= itg_additive_step(m->saved, d, p->current->levels[d], g->levels[d]);
    }
}

static bool is_small(const itg_greedy_moves *m)
{
    int64_t points = 1;
    for (int32_t d = 0; d < m->space->dim_count; d++) {
        if (m->movable[d]) points *= m->top[d] + 1;
        if (points > SMALL_SPACE) return false;
    }
    return true;
}

/* Every combination of widths: an odometer. */
static void consider_all(proposal *p, itg_guess *g)
{
    const itg_greedy_moves *m = p->moves;
    int32_t dims = m->space->dim_count, d = 0;
    copy(m, g, p->current);
    while (d < dims) {
        if (g->loss < INFINITY && fits(m, g)) consider(p, g);
        for (d = 0; d < dims; d++) {
            if (!m->movable[d]) continue;
            int32_t next = g->levels[d] == m->top[d] ? 0 : g->levels[d] + 1;
            g->levels[d] = next;
            if (next != p->current->levels[d]) break;
        }
        guess_again(p, g);
    }
}

int32_t itg_greedy_propose(const itg_greedy_moves *m, const itg_guess *current,
                           itg_guess out[ITG_GREEDY_BATCH], itg_guess *scratch)
{
    proposal p = {m, current, out, 0};
    if (is_small(m)) consider_all(&p, scratch);
    copy(m, scratch, current);
    fill(m, scratch, -1);
    consider(&p, scratch);
    for (int32_t d = 0; d < m->space->dim_count; d++) {
        if (!m->movable[d]) continue;
        int32_t now = current->levels[d];
        if (m->probed && now < m->start->levels[d]) consider_holding(&p, d, scratch);
        for (int32_t l = 0; l <= m->top[d]; l++) {
            if (l == now || (l > now + NEAR && l != m->top[d])) continue;
            consider_move(&p, d, l, scratch);
            if (l > now) consider_exchanges(&p, d, l, scratch);
        }
    }
    return p.count;
}
