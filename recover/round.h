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
    double *e;            /* [n]: c / s - H q */
} itg_round_channel;

/* Channels that share a scale. */
typedef struct itg_round {
    itg_round_channel *channels; /* [count] */
    int64_t count, n;
    int32_t lo, hi; /* of the codes */
    bool power_of_two;
    bool nearest; /* codes are those nearest to v / s */
    float scale;
    double *scratch;      /* [4 * n] */
    int32_t *best;        /* [count * n] */
    const itg_stop *stop; /* asked before each channel of each pass; NULL: never */
    bool stopped;         /* the codes are worth nothing */
} itg_round;

/* Sum of the channels' errors with their present codes, minus that with all zeros. */
double itg_round_energy(itg_round *r);
/* Finds codes and the scale with the smallest error. False: all weights are zero. */
bool itg_round_search(itg_round *r);
/* Improves the present codes and scale, whose e is set. */
void itg_round_improve(itg_round *r);
/* Finds codes for the present scale. */
void itg_round_codes(itg_round *r);
#endif
