/* Layers for Cortex-M with vectors of 128 bits (M-profile Vector Extension, "Helium"). Private to
 * realize/emit.
 *
 * The text of a layer that has such a form begins with a block under `#ifdef HELIUM`, which
 * computes the layer and returns. What follows is the plain form: a compiler for Helium drops it,
 * another one never sees the block, so that elsewhere nothing is added to the flash. */
#ifndef ITG_EMIT_HELIUM_H
#define ITG_EMIT_HELIUM_H
#include "realize/emit/c_mac.h"

/* ---- hooks: each writes a block, or nothing where the layer has no such form ---- */

/* A convolution or product with constant weights; channels: by channels (depthwise). It uses at
 * most `room` bytes at the beginning of what is left of the layer's scratch. (c_helium.c) */
void itg_emit_helium_mac(itg_emitter *e, const itg_emit_mac_view *t, bool channels, size_t room);
/* An addition or subtraction of x[0] and x[1]. (c_helium_element.c) */
void itg_emit_helium_binary(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand x[2]);

/* ---- requantization (c_helium.c) ---- */

/* The constants of round(round(v * 2^left * multiplier / 2^31) / 2^down), half up, then half away
 * from zero: VSHL, VQRDMULH and VRSHL compute it exactly. left or down is 0. */
typedef struct itg_emit_doubling {
    int32_t multiplier;
    int8_t left, down;
} itg_emit_doubling;
/* false: the requantization has another form, or v * 2^left may leave 32 bits if |v| <= magnitude.
 */
bool itg_emit_doubling_of(const itg_requant *r, int64_t magnitude, itg_emit_doubling *out);
/* Writes what all helpers begin with: HELIUM, QUICK, FENCE. */
void itg_emit_helium_needs(itg_emitter *e);

/* ---- between the files ---- */

/* A layer of sums that has a form for Helium. */
typedef struct itg_emit_helium_sums {
    const itg_emit_mac_view *t;
    const itg_emit_doubling *sets; /* [channels] */
    const char *left;              /* "_left", "" */
    int64_t zero, lo, hi;          /* of the output */
    bool flip;                     /* codes of x are signed: their highest bits change in rows */
    int64_t minus;                 /* a weight is its stored code less this */
    size_t at, room;               /* of the scratch */
} itg_emit_helium_sums;

/* Writes "#ifdef HELIUM", the layer's constants and `in` and `out`, its operands as bytes. order:
 * [count], a multiple of 4, the channels of the sums as they stand in vectors, ITG_NONE: none.
 * zero: what x has where a term is 0. */
void itg_emit_helium_begin(itg_emitter *e, const itg_emit_helium_sums *h, const int32_t *order,
                           int64_t count, int64_t zero);
void itg_emit_helium_end(itg_emitter *e);
/* c_helium_rows.c: `helium_gather`, or `helium_rows`; `helium_unpack`. */
void itg_emit_helium_copies(itg_emitter *e, bool window);
void itg_emit_helium_unpack(itg_emitter *e);
/* c_helium_depthwise.c */
void itg_emit_helium_depthwise(itg_emitter *e, const itg_emit_helium_sums *h);
#endif
