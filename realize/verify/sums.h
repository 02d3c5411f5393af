/* Exact intervals of a node's accumulator over all inputs that its quantizers allow, from the
 * stored codes. */
#ifndef ITG_VERIFY_SUMS_H
#define ITG_VERIFY_SUMS_H
#include "realize/verify/view.h"

/* Of one output channel, or (means) one number of elements, or the only result of other nodes. */
typedef struct itg_sum {
    itg_span sum;     /* the native result; split: the sum of the parts */
    itg_span partial; /* every partial sum in any order of terms; split: of the parts */
} itg_sum;

typedef struct itg_sums {
    const char *type, *rule; /* type of the node; how the intervals were derived */
    int32_t bits, join_bits; /* widths; join_bits 0: not split */
    bool saturates;          /* when a sum leaves the width; else it wraps */
    int64_t terms;           /* of one sum */
    int64_t count;           /* of channels */
    itg_sum *channels;
    itg_sum all;                    /* their hull */
    itg_span claimed, claimed_join; /* the artefact's claims (acc_lo, acc_hi; join_...) */
    bool exact;                     /* the claim must equal this interval; else it may be wider */
    bool has_bias;
    itg_span bias; /* hull of the biases */
    bool has_operands;
    itg_span operand[2];         /* sums of rescaled operands: each after its requantization */
    itg_span operand_product[2]; /* the widest product in that requantization */
    int64_t part_count;
    const int64_t *part_end;
    itg_span *parts; /* split: each part over all channels */
    bool fits;       /* nothing leaves the accumulators */
} itg_sums;

/* Derives the sums of the node at v->node. false: no accumulator, or a problem was recorded. */
bool itg_sums_derive(itg_view *v, itg_sums *out);
/* The interval of all partial sums in the accumulator, which the artefact claims. */
itg_span itg_sums_accumulated(const itg_sums *s);
#endif
