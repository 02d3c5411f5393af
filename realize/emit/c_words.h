/* Weights of 2 to 8 bits as words, from which codes are taken two at a time, or four where lanes
 * are bytes. Private to realize/emit.
 *
 * The codes of a channel, b bits each, lie in 32-bit words. A byte holds 8 / b whole codes, so that
 * the codes at one place of a word's bytes are four that follow one another: those of bytes 0 and 2
 * are a pair, which one instruction multiplies, and those of bytes 1 and 3 the next. The bits above
 * the whole codes hold more: b words have a group of 32 codes. With s such bits a byte, r becomes
 * w ^ r >> s with each word w, and wherever r has b new bits in each byte they are four more codes.
 * (What else the exclusive or brings into them is known, and taken out of the bits beforehand.)
 * What a channel has beyond whole groups follows in words of whole codes alone, as do all codes of
 * a width of which there are too few to be worth the loop over groups; there codes of 3 and 5 bits
 * lie in halves of words, as pairs, because a half holds one more than two bytes. The words of two
 * channels that are computed together alternate; those of 8 bits, which other forms read too, lie
 * one channel behind the other. */
#ifndef ITG_EMIT_WORDS_H
#define ITG_EMIT_WORDS_H
#include "realize/emit/c_mac.h"

typedef struct itg_emit_words {
    int64_t bits;
    int64_t unit;         /* bits: of a byte or of half a word */
    int64_t fields;       /* pairs of whole codes in a word */
    int64_t spare;        /* bits of a byte above them, in groups */
    int64_t groups, rest; /* of a channel; the rest in words */
} itg_emit_words;

enum { ITG_EMIT_GROUP = 16 /* pairs */ };

/* Whether so many codes of a width are worth the loop over groups. Of 6 bits fewer are: words of
 * whole codes alone would be a third larger than the codes. */
static inline bool itg_emit_are_many(int64_t bits, int64_t codes)
{
    return codes >= (bits == 6 ? 3072 : 4096);
}

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

/* How a function goes through words from `in` on. X, its name, has macros: X_WORD of a place and
 * bytes from there; X_JOIN, which collects spare bits; X_ONE and X_TWO of pairs. They use its
 * variables. */
typedef struct itg_emit_words_loop {
    const char *name, *rest; /* X of groups and of the rest */
    const char *type;        /* of words */
    const char *step;        /* what else follows a group: "x += 32" */
    const char *rest_step;   /* the same of a word of the rest, if pairs are not counted by `p` */
    bool counted;
    bool small; /* one loop of both where size counts: X_NEXT of pairs goes on */
    bool one;   /* of one channel alone: `w`; else `w` and `w_too` */
    bool bytes; /* lanes are bytes: two pairs at a time */
} itg_emit_words_loop;
/* Writes the loop over `groups` groups, if any layer has groups, and that over `rest` words. */
void itg_emit_words_loops(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop,
                          bool groups);
/* Writes either for Helium, four groups or words in the lanes of vectors: X_LANES(n, bytes, codes)
 * says how many there are, and how far they are from each other in memory and in their places;
 * X_FEWER does that if they are less than four, and sets `from` to where they begin. Behind the
 * groups, x is where the codes of one channel end; with two, whose inputs lie in whole vectors, it
 * is behind the last vector. */
void itg_emit_words_lanes(itg_strbuf *out, const itg_emit_words *l, const itg_emit_words_loop *loop,
                          bool groups);
/* Writes what such macros have in common: LANES_WORD(at), LANES_JOIN and LANES_CODE of bytes. They
 * use `from`, `codes` and `upper`, the lowest bit of a byte's uppermost code. */
void itg_emit_words_lanes_helpers(itg_emitter *e);
#endif
