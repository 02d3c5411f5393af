#include "recover/round.h"
#include "kernels/clones.h"
#include "kernels/math.h"
#include "kernels/requant.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum {
    SCALES = 8,
    NEAREST_SCALES = 29,
    BINARY_SCALES = 4,
    SWEEPS = 2,
    MORE_SWEEPS = 6,
    PAIR_SWEEPS = 2
};
#define SCALE_STEP 0.1 /* relative to the largest scale */
#define NEAREST_STEP 0.025
#define NO_ROOM 1e300
/* A move must gain more than the rounding errors of the sums, relative to the diagonal. */
#define LEAST_GAIN 1e-9

/* e -= delta * h */
ITG_CLONES static void recover_move(double *e, const double *h, double delta, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        e[i] -= delta * h[i];
}

static double nearest(const itg_round *r, double x)
{
    double q = itg_round_half_even(x);
    return q < r->lo ? r->lo : q > r->hi ? r->hi : q;
}

static void set_errors(const itg_round *r, const itg_round_channel *ch)
{
    for (int64_t i = 0; i < r->n; i++)
        ch->e[i] = ch->c[i] / (double)r->scale;
    for (int64_t i = 0; i < r->n; i++)
        if (ch->q[i] != 0) recover_move(ch->e, ch->h + i * r->n, ch->q[i], r->n);
}

/* Returns whether the work is still wanted. */
static bool goes_on(itg_round *r)
{
    r->stopped = r->stopped || (r->stop && itg_check_stop(r->stop, NULL) != ITG_OK);
    return !r->stopped;
}

static void start(itg_round *r, float scale)
{
    r->scale = scale;
    for (int64_t k = 0; k < r->count && goes_on(r); k++) {
        itg_round_channel *ch = &r->channels[k];
        for (int64_t i = 0; i < r->n; i++)
            ch->q[i] = (int32_t)nearest(r, ch->v[i] / (double)scale);
        set_errors(r, ch);
    }
}

static void move(const itg_round *r, const itg_round_channel *ch, int64_t i, int32_t delta)
{
    ch->q[i] += delta;
    recover_move(ch->e, ch->h + i * r->n, delta, r->n);
}

/* Moves each code to its best value while the others stay. Returns whether one moved. */
static bool sweep_channel(const itg_round *r, const itg_round_channel *ch)
{
    bool moved = false;
    for (int64_t k = 0; k < r->n; k++) {
        int64_t i = ch->order[k];
        double diagonal = ch->h[i * r->n + i];
        if (!(diagonal > 0)) continue;
        int32_t to = (int32_t)nearest(r, ch->q[i] + ch->e[i] / diagonal);
        if (to == ch->q[i]) continue;
        move(r, ch, i, to - ch->q[i]);
        moved = true;
    }
    return moved;
}

static bool sweep(itg_round *r)
{
    bool moved = false;
    for (int64_t k = 0; k < r->count && goes_on(r); k++)
        moved |= sweep_channel(r, &r->channels[k]);
    return moved;
}

/* ---- pairs ---- */

/* Computes, for every j, the change of the error / s^2 if code i moves by delta and code j by the
 * better of 1 and -1. e: c / s - H q. */
ITG_CLONES static void recover_pair_changes(const double *h, const double *e,
                                            const double *diagonal, const double *room_up,
                                            const double *room_down, double delta, int64_t n,
                                            double *out)
{
    for (int64_t j = 0; j < n; j++) {
        double slope = 2 * (delta * h[j] - e[j]);
        double up = diagonal[j] + slope + room_up[j], down = diagonal[j] - slope + room_down[j];
        out[j] = up < down ? up : down;
    }
}

typedef struct pairs {
    const itg_round *r;
    const itg_round_channel *ch;
    double *diagonal, *room_up, *room_down, *change;
} pairs;

static void set_room(const pairs *p, int64_t j)
{
    p->room_up[j] = p->ch->q[j] < p->r->hi ? 0 : NO_ROOM;
    p->room_down[j] = p->ch->q[j] > p->r->lo ? 0 : NO_ROOM;
}

/* Returns the partner with the smallest change, other than the code itself. */
static int64_t best_partner(const pairs *p, int64_t i, double *change)
{
    int64_t best = -1;
    for (int64_t j = 0; j < p->r->n; j++)
        if (p->change[j] < *change && j != i) {
            *change = p->change[j];
            best = j;
        }
    return best;
}

static bool move_pair(const pairs *p, int64_t i)
{
    const itg_round_channel *ch = p->ch;
    int64_t n = p->r->n, partner = -1;
    const double *h = ch->h + i * n;
    int32_t delta = 0;
    double least = -LEAST_GAIN * h[i];
    for (int32_t d = 1; d >= -1; d -= 2) {
        if (ch->q[i] + d > p->r->hi || ch->q[i] + d < p->r->lo) continue;
        double own = h[i] - 2 * d * ch->e[i], change = least - own;
        recover_pair_changes(h, ch->e, p->diagonal, p->room_up, p->room_down, d, n, p->change);
        int64_t j = best_partner(p, i, &change);
        if (j < 0) continue;
        least = own + change;
        partner = j;
        delta = d;
    }
    if (partner < 0) return false;
    double slope = delta * h[partner] - ch->e[partner];
    bool up = p->room_down[partner] > 0 || (slope <= 0 && p->room_up[partner] == 0);
    move(p->r, ch, i, delta);
    move(p->r, ch, partner, up ? 1 : -1);
    set_room(p, i);
    set_room(p, partner);
    return true;
}

static bool sweep_pairs(itg_round *r)
{
    bool moved = false;
    for (int64_t k = 0; k < r->count && goes_on(r); k++) {
        const itg_round_channel *ch = &r->channels[k];
        pairs p = {
            r, ch, r->scratch, r->scratch + r->n, r->scratch + 2 * r->n, r->scratch + 3 * r->n};
        for (int64_t j = 0; j < r->n; j++) {
            p.diagonal[j] = ch->h[j * r->n + j];
            set_room(&p, j);
        }
        for (int64_t i = 0; i < r->n; i++)
            moved |= move_pair(&p, ch->order[i]);
    }
    return moved;
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

/* Returns s^2 q H q' - 2 s q c', where H q' = c / s - e. */
static double energy(const itg_round *r)
{
    double qc, qe, s = (double)r->scale;
    sum_products(r, &qc, &qe);
    return -s * qc - s * s * qe;
}

double itg_round_energy(itg_round *r)
{
    for (int64_t k = 0; k < r->count && goes_on(r); k++)
        set_errors(r, &r->channels[k]);
    return energy(r);
}

/* Sets the best scale for the codes: q c' / q H q'. */
static void refit(itg_round *r)
{
    double qc, qe, old = (double)r->scale;
    if (r->power_of_two) return;
    sum_products(r, &qc, &qe);
    double qhq = qc / old - qe;
    float scale = (float)(qc / qhq);
    if (!(qc > 0) || !(qhq > 0) || !(scale >= FLT_MIN) || !(scale < INFINITY)) return;
    r->scale = scale;
    for (int64_t k = 0; k < r->count; k++) {
        const itg_round_channel *ch = &r->channels[k];
        double more = 1 / (double)scale - 1 / old;
        for (int64_t i = 0; i < r->n; i++)
            ch->e[i] += ch->c[i] * more;
    }
}

/* Returns the scale at which no weight of the channels is clipped. */
static double largest_scale(const itg_round *r)
{
    double most = 0;
    for (int64_t k = 0; k < r->count; k++)
        for (int64_t i = 0; i < r->n; i++) {
            double v = r->channels[k].v[i], s = v > 0 ? v / r->hi : r->lo < 0 ? v / r->lo : 0;
            if (s > most) most = s;
        }
    return most;
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

static void restore_codes(itg_round *r, float scale)
{
    r->scale = scale;
    for (int64_t k = 0; k < r->count && goes_on(r); k++) {
        memcpy(r->channels[k].q, r->best + k * r->n, sizeof *r->best * (size_t)r->n);
        set_errors(r, &r->channels[k]);
    }
}

/* Sweeps until nothing moves, or the limits are reached. fixed: the scale does not change. */
static void sweep_until_stable(itg_round *r, bool fixed)
{
    if (r->nearest) return;
    for (int k = 0; k < MORE_SWEEPS && sweep(r); k++)
        if (!fixed) refit(r);
    for (int k = 0; k < PAIR_SWEEPS && sweep_pairs(r); k++)
        (void)sweep(r);
}

bool itg_round_search(itg_round *r)
{
    double largest = largest_scale(r), least = 0;
    float best = 0;
    if (!(largest >= (double)FLT_MIN)) return false;
    int scales = r->power_of_two ? BINARY_SCALES : r->nearest ? NEAREST_SCALES : SCALES;
    for (int k = 0; k < scales; k++) {
        start(r, tried_scale(r, largest, k));
        for (int i = 0; i < SWEEPS && !r->nearest; i++) {
            (void)sweep(r);
            refit(r);
        }
        double e = energy(r);
        if (best > 0 && !(e < least)) continue;
        least = e;
        best = r->scale;
        keep_codes(r);
    }
    restore_codes(r, best);
    sweep_until_stable(r, false);
    return true;
}

void itg_round_improve(itg_round *r)
{
    sweep_until_stable(r, false);
}

void itg_round_codes(itg_round *r)
{
    start(r, r->scale);
    sweep_until_stable(r, true);
}
