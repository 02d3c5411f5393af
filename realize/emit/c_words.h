/* Weights of 2 to 8 bits as words, from which codes are taken two at a time. Private to
 * realize/emit.
 *
 * The codes of a channel, b bits each, lie in 32-bit words. A half of a word (16 bits) holds
 * f = 16 / b whole codes; code i of the lower half and code i of the upper one are a pair, which
 * one instruction multiplies. The 16 - f * b bits above them hold more codes, each in the bits of
 * several words, so that b words hold a group of 16 pairs. What a channel has beyond whole groups
 * follows in words of whole codes alone, as do all codes of a width of which there are too few to
 * be worth the loop over groups. Pair p of a channel is its codes 4 * (p / 2) + p % 2 and the
 * second one after it, in which order codes of 8 bits lie one after another. The words of two
 * channels that are computed together alternate; those of 8 bits, which other forms read too, lie
 * one channel behind the other. */
#ifndef ITG_EMIT_WORDS_H
#define ITG_EMIT_WORDS_H
#include "realize/emit/c_mac.h"

typedef struct itg_emit_words {
    int64_t bits, fields, spare; /* of half a word */
    int64_t words, pieces;       /* words whose spare bits are whole codes, and how many */
    int64_t groups, rest;        /* of a channel; the rest in words */
} itg_emit_words;

enum {
    ITG_EMIT_GROUP = 16,   /* pairs */
    ITG_EMIT_LARGE = 4096, /* codes that are worth a loop over groups */
};

/* Describes the weights of a layer that is dense, or else stays. */
itg_emit_words itg_emit_words_for(const itg_emitter *e, const itg_emit_mac_view *t);
/* Whether the words of two channels alternate. */
static inline bool itg_emit_words_alternate(const itg_emit_words *l)
{
    return l->bits < 8;
}
/* Bytes of a channel. */
static inline int64_t itg_emit_words_row(const itg_emit_words *l)
{
    return 4 * (l->groups * l->bits + l->rest);
}
/* Channels of a group in the array: an odd one has another of zeros beside it. */
int64_t itg_emit_words_rows(const itg_emit_words *l, const itg_emit_mac_view *t);
/* Whether the array is hardly larger than its codes. */
bool itg_emit_words_fit(const itg_emit_words *l, const itg_emit_mac_view *t);
/* Writes the array and returns its name. */
const char *itg_emit_words_array(itg_emitter *e, const itg_emit_mac_view *t,
                                 const itg_emit_words *l);

/* How a function goes through words from `in` on. X, its name, has macros: X_WORD of a place;
 * X_FIRST and X_JOIN, which collect spare bits; X_ONE and X_TWO of pairs. They use its variables.
 */
typedef struct itg_emit_words_loop {
    const char *name, *rest; /* X of groups and of the rest */
    const char *type;        /* of words */
    const char *step;        /* what else follows a group: "x += 32" */
    const char *rest_step;   /* the same of a word of the rest, if pairs are not counted by `p` */
    bool counted;
    bool small; /* one loop of both where size counts: X_NEXT of pairs goes on */
    bool one;   /* of one channel alone: `w`; else `w` and `w_too` */
    bool bytes; /* lanes are bytes: each of the first half of pairs comes with one of the other */
} itg_emit_words_loop;
/* Writes the loop over `groups` groups, if any layer has groups, and that over `rest` words. */
void itg_emit_words_loops(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop,
                          bool groups);
/* Writes either for Helium, four groups or words in the lanes of vectors: X_LANES(n, bytes, codes)
 * says how many there are, and how far they are from each other in memory and in their places;
 * X_FEWER does that if they are less than four. Behind the groups, x is where the codes of one
 * channel end; with two, whose inputs lie in whole vectors, it is behind the last vector. */
void itg_emit_words_lanes(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop,
                          bool groups);
#endif
