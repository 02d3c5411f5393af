#include "recover/round.h"
#include "kernels/clones.h"
#include "kernels/math.h"
#include "kernels/requant.h"
#include "recover/rows.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    SCALES = 8,
    NEAREST_SCALES = 29,
    BINARY_SCALES = 4,
    SWEEPS = 2,
    MORE_SWEEPS = 6,
    PAIR_SWEEPS = 2,
    PART = ITG_ROWS, /* codes between two questions whether the work is wanted */
    NEAR = 8,        /* channels whose errors stay in a cache */
    LARGE = 1024,    /* codes of a channel: less is tried */
    LANES = 16
};
#define SCALE_STEP 0.1 /* relative to the largest scale */
#define NEAREST_STEP 0.025
#define NO_ROOM 1e300
#define MOST_VALUES_IN_PAIRS 8 /* of a code, of large channels: 3 bits */
/* A move must gain more than the rounding errors of the sums, relative to the diagonal. */
#define LEAST_GAIN 1e-9

static double nearest(const itg_round *r, double x)
{
    if (r->step != 1) return x < 0 ? r->lo : r->hi;
    double q = itg_round_half_even(x);
    return q < r->lo ? r->lo : q > r->hi ? r->hi : q;
}

/* Returns how many values a code may have. */
static int32_t values_of(const itg_round *r)
{
    return (r->hi - r->lo) / r->step + 1;
}

/* ---- problems that go on together ---- */

#define FOR_CHANNELS(r, ch)                                                                        \
    for (itg_round *r = t->at; r < t->at + t->count; r++)                                          \
        for (itg_round_channel *ch = r->channels; r->active && ch < r->channels + r->count; ch++)

typedef struct together {
    itg_round *at;
    int64_t count, n;
} together;

/* Returns whether the work is still wanted. */
static bool goes_on(const together *t)
{
    const itg_stop *stop = t->at->stop;
    if (!t->at->stopped && stop && itg_check_stop(stop, NULL) != ITG_OK)
        for (int64_t k = 0; k < t->count; k++)
            t->at[k].stopped = true;
    return !t->at->stopped;
}

static int64_t part_end(const together *t, int64_t first)
{
    return first + PART < t->n ? first + PART : t->n;
}

static bool activate(const together *t)
{
    bool any = false;
    for (int64_t k = 0; k < t->count; k++)
        any |= t->at[k].active = !t->at[k].zero;
    return any;
}

/* Rows of H that a part of the codes subtracts from the errors. H may come from memory, so they
 * wait until several channels have theirs. */
typedef struct waiting {
    const double *h, *row[PART]; /* of the part's codes */
    int32_t count;
    itg_rows rows[ITG_ROUND_TOGETHER];
} waiting;

static void subtract(waiting *w, int64_t n)
{
    if (w->count > 0) itg_rows_subtract(w->row, w->rows, w->count, n);
    w->count = 0;
    w->h = NULL;
}

/* Returns the rows of a channel, for codes [first, end) of an order (NULL: as they lie). */
static itg_rows *next_rows(waiting *w, const itg_round_channel *ch, const int32_t *order,
                           int64_t first, int64_t end, int64_t n)
{
    if (w->count == ITG_ROUND_TOGETHER || w->h != ch->h) {
        subtract(w, n);
        w->h = ch->h;
        for (int64_t i = first; i < end; i++)
            w->row[i - first] = ch->h + (order != NULL ? order[i] : i) * n;
    }
    itg_rows *rows = &w->rows[w->count++];
    rows->y = ch->e;
    rows->count = 0;
    return rows;
}

static void add_row(itg_rows *rows, int64_t at, double factor)
{
    rows->at[rows->count] = (int32_t)at;
    rows->factor[rows->count++] = factor;
}

static void set_errors(const together *t)
{
    waiting w = {0};
    FOR_CHANNELS(r, ch)
    for (int64_t i = 0; i < t->n; i++)
        ch->e[i] = ch->c[i] / (double)r->scale / r->step;
    for (int64_t first = 0; first < t->n && goes_on(t); first += PART) {
        FOR_CHANNELS(r, ch)
        {
            const int64_t end = part_end(t, first);
            itg_rows *rows = next_rows(&w, ch, NULL, first, end, t->n);
            for (int64_t i = first; i < end; i++)
                if (ch->q[i] != 0) add_row(rows, i - first, (double)ch->q[i] / r->step);
        }
        subtract(&w, t->n);
    }
}

static void start(const together *t)
{
    FOR_CHANNELS(r, ch)
    for (int64_t i = 0; i < t->n; i++)
        ch->q[i] = (int32_t)nearest(r, ch->v[i] / (double)r->scale);
    set_errors(t);
}

/* Moves each of a part of the codes to its best value while the others stay. `rows`: the moves,
 * which the errors of other codes than these do not show yet. */
static void move_codes(const itg_round *r, const itg_round_channel *ch, const int32_t *order,
                       int64_t count, itg_rows *rows)
{
    double e[PART];
    for (int64_t k = 0; k < count; k++)
        e[k] = ch->e[order[k]];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = order[k];
        const double *h = ch->h + i * r->n;
        if (!(h[i] > 0)) continue;
        const int32_t to = (int32_t)nearest(r, ch->q[i] + r->step * (e[k] / h[i])),
                      delta = (to - ch->q[i]) / r->step;
        if (delta == 0) continue;
        ch->q[i] = to;
        add_row(rows, k, delta);
        for (int64_t j = k + 1; j < count; j++)
            e[j] -= delta * h[order[j]];
    }
}

/* Sets `moved` where a code did. */
static void sweep(const together *t)
{
    waiting w = {0};
    for (int64_t k = 0; k < t->count; k++)
        t->at[k].moved = false;
    for (int64_t first = 0; first < t->n && goes_on(t); first += PART) {
        FOR_CHANNELS(r, ch)
        {
            const int64_t end = part_end(t, first);
            itg_rows *rows = next_rows(&w, ch, ch->order, first, end, t->n);
            move_codes(r, ch, ch->order + first, end - first, rows);
            r->moved |= rows->count > 0;
        }
        subtract(&w, t->n);
    }
}

/* ---- pairs ---- */

/* Computes the least change of the error / (s step)^2 over all codes that move up or down by a step
 * while code i, with this row of H, moves up (least[0]) or down (least[1]); without its own change.
 * up, down: the diagonal, or NO_ROOM. */
ITG_CLONES static void recover_pair_minima(const double *h, const double *e, const double *up,
                                           const double *down, int64_t n, double least[2])
{
    double a[LANES], b[LANES];
    for (int k = 0; k < LANES; k++)
        a[k] = b[k] = NO_ROOM;
    for (int64_t j = 0; j < n; j += LANES) {
        const int64_t lanes = n - j < LANES ? n - j : LANES;
        for (int64_t k = 0; k < lanes; k++) {
            double slope = 2 * (h[j + k] - e[j + k]), other = 2 * (-h[j + k] - e[j + k]);
            double x = up[j + k] + slope, y = down[j + k] - slope;
            a[k] = x < a[k] ? x : a[k];
            a[k] = y < a[k] ? y : a[k];
            x = up[j + k] + other;
            y = down[j + k] - other;
            b[k] = x < b[k] ? x : b[k];
            b[k] = y < b[k] ? y : b[k];
        }
    }
    least[0] = least[1] = NO_ROOM;
    for (int k = 0; k < LANES; k++) {
        least[0] = a[k] < least[0] ? a[k] : least[0];
        least[1] = b[k] < least[1] ? b[k] : least[1];
    }
}

/* Returns the first code whose move changes the error by `least` while code i moves by delta. */
static int64_t partner_of(const itg_round *r, const itg_round_channel *ch, const double *h,
                          int32_t delta, double least)
{
    for (int64_t j = 0; j < r->n; j++) {
        double slope = 2 * (delta * h[j] - ch->e[j]);
        if (ch->up[j] + slope == least || ch->down[j] - slope == least) return j;
    }
    return -1;
}

static void set_room(const itg_round *r, const itg_round_channel *ch, int64_t j)
{
    const double diagonal = ch->h[j * r->n + j];
    ch->up[j] = ch->q[j] < r->hi ? diagonal : NO_ROOM;
    ch->down[j] = ch->q[j] > r->lo ? diagonal : NO_ROOM;
}

static void move(const itg_round *r, const itg_round_channel *ch, int64_t i, int32_t delta)
{
    ch->q[i] += delta * r->step;
    itg_row_subtract(ch->e, ch->h + i * r->n, delta, r->n);
}

/* Moves code i by a step together with the partner that helps most, if that helps. */
static bool move_pair(const itg_round *r, const itg_round_channel *ch, int64_t i)
{
    const double *h = ch->h + i * r->n;
    double least[2], change = 0, limit = -LEAST_GAIN * h[i];
    int32_t delta = 0;
    ch->up[i] = ch->down[i] = NO_ROOM; /* no partner of its own */
    recover_pair_minima(h, ch->e, ch->up, ch->down, r->n, least);
    for (int32_t d = 1; d >= -1; d -= 2) {
        double own = h[i] - 2 * d * ch->e[i], other = least[d < 0];
        const int32_t to = ch->q[i] + d * r->step;
        if (to > r->hi || to < r->lo || !(other < limit - own)) continue;
        limit = own + other;
        change = other;
        delta = d;
    }
    int64_t partner = delta ? partner_of(r, ch, h, delta, change) : -1;
    if (partner >= 0) {
        double slope = delta * h[partner] - ch->e[partner];
        bool up = ch->q[partner] == r->lo || (slope <= 0 && ch->q[partner] < r->hi);
        move(r, ch, i, delta);
        move(r, ch, partner, up ? 1 : -1);
        set_room(r, ch, partner);
    }
    set_room(r, ch, i);
    return partner >= 0;
}

static void sweep_near_pairs(const together *t)
{
    for (int64_t k = 0; k < t->count; k++)
        t->at[k].moved = false;
    FOR_CHANNELS(r, ch)
    for (int64_t j = 0; j < t->n; j++)
        set_room(r, ch, j);
    for (int64_t first = 0; first < t->n && goes_on(t); first += PART)
        for (int64_t k = first; k < part_end(t, first); k++)
            FOR_CHANNELS(r, ch)
    r->moved |= move_pair(r, ch, ch->order[k]);
}

/* Sets `moved` where a pair did. Every code needs all errors of a channel, so only few channels
 * stay in a cache. */
static void sweep_pairs(const together *t)
{
    for (int64_t k = 0; k < t->count; k += NEAR) {
        const together near = {t->at + k, t->count - k < NEAR ? t->count - k : NEAR, t->n};
        sweep_near_pairs(&near);
    }
}

/* ---- scales ---- */

static double dot_codes(const itg_round *r, const itg_round_channel *ch, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < r->n; i++)
        sum += ch->q[i] * x[i];
    return sum;
}

/* Sums q c' and q e' over all channels. */
static void sum_products(const itg_round *r, double *qc, double *qe)
{
    *qc = *qe = 0;
    for (int64_t k = 0; k < r->count; k++) {
        *qc += dot_codes(r, &r->channels[k], r->channels[k].c);
        *qe += dot_codes(r, &r->channels[k], r->channels[k].e);
    }
}

/* s^2 q H q' - 2 s q c', where H q' = c / s - step e. */
double itg_round_energy(const itg_round *r)
{
    double qc, qe, s = (double)r->scale;
    sum_products(r, &qc, &qe);
    return -s * qc - s * s * (r->step * qe);
}

/* Sets the best scale for the codes: q c' / q H q'. */
static void refit(itg_round *r)
{
    double qc, qe, old = (double)r->scale;
    if (r->power_of_two) return;
    sum_products(r, &qc, &qe);
    double qhq = qc / old - r->step * qe;
    float scale = (float)(qc / qhq);
    if (!(qc > 0) || !(qhq > 0) || !(scale >= FLT_MIN) || !(scale < INFINITY)) return;
    r->scale = scale;
    for (int64_t k = 0; k < r->count; k++) {
        const itg_round_channel *ch = &r->channels[k];
        double more = 1 / (double)scale - 1 / old;
        for (int64_t i = 0; i < r->n; i++)
            ch->e[i] += ch->c[i] * more / r->step;
    }
}

/* Returns the scale at which no weight of the channels is clipped; of signs twice the mean
 * magnitude. */
static double largest_scale(const itg_round *r)
{
    double most = 0, sum = 0;
    for (int64_t k = 0; k < r->count; k++)
        for (int64_t i = 0; i < r->n; i++) {
            const double v = r->channels[k].v[i];
            const int32_t end = v > 0 ? r->hi : r->lo;
            const double s = end != 0 ? v / end : 0;
            if (s > most) most = s;
            sum += fabs(v);
        }
    return r->step == 1 ? most : 2 * sum / (double)(r->count * r->n);
}

static float tried_scale(const itg_round *r, double largest, int k)
{
    int exponent = 0;
    if (!r->power_of_two)
        return (float)(largest * (1 - (r->nearest ? NEAREST_STEP : SCALE_STEP) * k));
    double mantissa = itg_frexp(largest, &exponent);
    return (float)itg_ldexp(1.0, exponent - (mantissa == 0.5) - k);
}

static void keep_codes(const itg_round *r)
{
    for (int64_t k = 0; k < r->count; k++)
        memcpy(r->best + k * r->n, r->channels[k].q, sizeof *r->best * (size_t)r->n);
}

static void restore_codes(const itg_round *r)
{
    for (int64_t k = 0; k < r->count; k++)
        memcpy(r->channels[k].q, r->best + k * r->n, sizeof *r->best * (size_t)r->n);
}

/* What has not moved is done; returns whether something is left. */
static bool keep_moved(const together *t)
{
    bool any = false;
    for (int64_t k = 0; k < t->count; k++)
        any |= t->at[k].active = t->at[k].active && t->at[k].moved;
    return any;
}

/* Sweeps until nothing moves, or the limits are reached. fixed: scales do not change. */
static void sweep_until_stable(const together *t, bool fixed)
{
    if (t->at->nearest || !activate(t)) return;
    for (int k = 0; k < MORE_SWEEPS; k++) {
        sweep(t);
        if (!keep_moved(t)) break;
        for (itg_round *r = t->at; !fixed && r < t->at + t->count; r++)
            if (r->active) refit(r);
    }
    if (t->n >= LARGE && values_of(t->at) > MOST_VALUES_IN_PAIRS) return;
    (void)activate(t);
    for (int k = 0; k < PAIR_SWEEPS; k++) {
        sweep_pairs(t);
        if (!keep_moved(t)) break;
        sweep(t);
    }
}

/* Codes for the scales that are tried, where they are the best so far. */
static void try_scales(const together *t)
{
    for (itg_round *r = t->at; r < t->at + t->count; r++)
        if (r->active) r->scale = tried_scale(r, r->largest, r->tried);
    start(t);
    for (int i = 0; i < SWEEPS && !t->at->nearest; i++) {
        sweep(t);
        for (itg_round *r = t->at; r < t->at + t->count; r++)
            if (r->active) refit(r);
    }
    for (itg_round *r = t->at; r < t->at + t->count; r++) {
        const double e = r->active ? itg_round_energy(r) : 0;
        if (!r->active || (r->best_scale > 0 && !(e < r->least))) continue;
        r->least = e;
        r->best_scale = r->scale;
        r->best_tried = r->tried;
        keep_codes(r);
    }
}

static void try_all(const together *t, int scales)
{
    for (int k = 0; k < scales && activate(t); k++) {
        for (int64_t i = 0; i < t->count; i++)
            t->at[i].tried = k;
        try_scales(t);
    }
}

/* Sets which scale is to be tried next: beyond the first one, while that helps; else before it.
 * False: none. */
static bool climb_on(itg_round *r, int first, int scales)
{
    const bool is_better = r->best_tried == r->tried;
    if (r->tried >= first && is_better && r->tried + 1 < scales)
        r->tried++;
    else if (r->best_tried == first && r->tried != first - 1)
        r->tried = first - 1;
    else if (r->tried < first && is_better && r->tried > 0)
        r->tried--;
    else
        return false;
    return true;
}

/* The error has one minimum over scales, nearly: from where it mostly is, down on either side. */
static void climb(const together *t, int scales)
{
    const int32_t values = values_of(t->at);
    const int first = values > 8 ? 3 : values > 4 ? 5 : 6;
    (void)activate(t);
    for (int64_t i = 0; i < t->count; i++)
        t->at[i].tried = first;
    for (bool any = true; any;) {
        try_scales(t);
        any = false;
        for (itg_round *r = t->at; r < t->at + t->count; r++)
            any |= r->active = r->active && climb_on(r, first, scales);
    }
    (void)activate(t);
}

static together all_of(itg_round *rounds, int64_t count)
{
    const together t = {rounds, count, rounds->n};
    for (int64_t k = 0; k < count; k++)
        rounds[k].zero = false;
    (void)activate(&t);
    return t;
}

void itg_round_errors(itg_round *rounds, int64_t count)
{
    const together t = all_of(rounds, count);
    set_errors(&t);
}

void itg_round_search(itg_round *rounds, int64_t count)
{
    const together t = all_of(rounds, count);
    const int scales = rounds->power_of_two ? BINARY_SCALES
                       : rounds->nearest    ? NEAREST_SCALES
                                            : SCALES;
    for (itg_round *r = rounds; r < rounds + count; r++) {
        r->largest = largest_scale(r);
        r->zero = !(r->largest >= (double)FLT_MIN);
        r->best_scale = 0;
    }
    if (t.n >= LARGE && !rounds->nearest && !rounds->power_of_two)
        climb(&t, scales);
    else
        try_all(&t, scales);
    for (itg_round *r = rounds; r < rounds + count; r++) {
        if (!r->active) continue;
        r->scale = r->best_scale;
        restore_codes(r);
    }
    set_errors(&t);
    if (rounds->nearest) return;
    sweep_until_stable(&t, false);
    (void)activate(&t);
    set_errors(&t);
}

void itg_round_improve(itg_round *rounds, int64_t count)
{
    const together t = all_of(rounds, count);
    sweep_until_stable(&t, false);
}

void itg_round_codes(itg_round *rounds, int64_t count)
{
    const together t = all_of(rounds, count);
    start(&t);
    sweep_until_stable(&t, true);
}
