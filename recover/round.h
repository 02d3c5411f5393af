/* Codes of channels that minimize a quadratic error. Private to recover/. */
#ifndef ITG_RECOVER_ROUND_H
#define ITG_RECOVER_ROUND_H
#include "base/base.h"

/* (v - s q) H (v - s q)' of a channel: weights v, codes q, scale s. */
typedef struct itg_round_channel {
    const double *h;      /* [n][n], symmetric */
    const int32_t *order; /* [n]: order in which codes are visited */
    const double *v, *c;  /* [n]; c = H v */
    int32_t *q;           /* [n] */
    double *e;            /* [n]: (c / s - H q) / step */
    double *up, *down;    /* [n]: scratch */
} itg_round_channel;

/* Channels that share a scale. */
typedef struct itg_round {
    itg_round_channel *channels; /* [count] */
    int64_t count, n;
    int32_t lo, hi; /* of the codes, which are lo, lo + step, ...; lo <= 0 <= hi */
    int32_t step;   /* 1; 2: codes are -1 and 1 */
    bool power_of_two;
    bool nearest; /* codes are those nearest to v / s */
    float scale;
    int32_t *best;        /* [count * n]: scratch */
    const itg_stop *stop; /* asked between parts of each pass; NULL: never */
    bool stopped;         /* the codes are worth nothing */
    bool zero;            /* all weights are zero */
    /* Private. */
    bool active, moved;
    double largest, least;
    float best_scale;
    int tried, best_tried; /* of the scales */
} itg_round;

/* All of these work on several problems at a time, each by itself, and are quicker so where H is
 * large and the same for all; no more than ITG_ROUND_TOGETHER are of use. The problems have n,
 * hi - lo, step, power_of_two, nearest and stop in common. */

enum { ITG_ROUND_TOGETHER = 64 };

/* Sets e for the present codes and scales. */
void itg_round_errors(itg_round *rounds, int64_t count);
/* Finds codes and the scale with the smallest error, and sets e; or sets `zero`. */
void itg_round_search(itg_round *rounds, int64_t count);
/* Improves the present codes and scales. e is set before and after. */
void itg_round_improve(itg_round *rounds, int64_t count);
/* Finds codes for the present scales. */
void itg_round_codes(itg_round *rounds, int64_t count);
/* Sum of the channels' errors with their present codes and e, minus that with all zeros. */
double itg_round_energy(const itg_round *round);
#endif
