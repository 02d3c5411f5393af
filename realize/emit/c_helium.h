/* Writes layers for Cortex-M with 128-bit vectors (M-profile Vector Extension, "Helium"). Private
 * to realize/emit.
 *
 * The text of such a layer begins with a block under `#ifdef HELIUM`, which computes the layer and
 * returns. The plain form follows. A compiler for Helium drops the plain form, and other compilers
 * do not see the block, so neither adds to the flash. */
#ifndef ITG_EMIT_HELIUM_H
#define ITG_EMIT_HELIUM_H
#include "realize/emit/c_mac.h"

/* ---- hooks: each writes a block, or nothing if the layer has no such form ---- */

/* Writes a convolution or product with constant weights; channels: depthwise. It uses at most
 * `room` bytes, which begin at the unused part of the layer's scratch. (c_helium.c) */
void itg_emit_helium_mac(itg_emitter *e, const itg_emit_mac_view *t, bool channels, size_t room);
/* Writes an addition, subtraction or product of x[0] and x[1] in these loops, whose third operand
 * is the output. (c_helium_element.c) */
void itg_emit_helium_binary(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand x[2],
                            const itg_emit_loops *loops);
/* Writes a table of bytes, for x in the order of the output. (c_helium_element.c) */
void itg_emit_helium_lut(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand *x,
                         const itg_emit_operand *table);
/* Writes rows of Softmax by this table of exponentials, and `reciprocal` with this shift.
 * (c_helium_norm.c) */
void itg_emit_helium_softmax(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand *x,
                             const char *fine, int32_t shift);
/* Writes rows of `count` elements of LayerNormalization that fit `ratio`. (c_helium_norm.c) */
void itg_emit_helium_layer_norm(itg_emitter *e, const itg_emit_layer *l, const itg_emit_operand *x,
                                int64_t count);

/* Writes the beginning of a product of activations, with the constants `shape` and `to`, and
 * returns true with the function's name; false, nothing is written: it has no such form. The call
 * is FUNCTION(&shape, a, b, y, &to). (c_helium_norm.c) */
bool itg_emit_helium_product(itg_emitter *e, const itg_emit_mac_view *t, const char **function);

/* ---- requantization (c_helium.c) ---- */

/* The constants of round(round(v * 2^left * multiplier / 2^31) / 2^down), half up, then half away
 * from zero: VSHL, VQRDMULH and VRSHL compute it exactly. left or down is 0. */
typedef struct itg_emit_doubling {
    int32_t multiplier;
    int8_t left, down;
} itg_emit_doubling;
/* Derives the constants. Returns false if the requantization has another form, or if v * 2^left may
 * leave 32 bits for |v| <= magnitude. */
bool itg_emit_doubling_of(const itg_requant *r, int64_t magnitude, itg_emit_doubling *out);
/* Writes `helium_scale_all`, which requantizes a vector. (c_helium_element.c) */
void itg_emit_helium_scale_needs(itg_emitter *e);
/* Derives the constants of a layer's only output, of bytes. Returns false if it has another form.
 * (c_helium_element.c) */
bool itg_emit_helium_output(const itg_emitter *e, const itg_emit_layer *l, itg_emit_doubling *out);
/* Returns the text of four numbers of an array of this type from the element `at` on; whole: all,
 * or those in the predicate `some`. (c_helium_element.c) */
const char *itg_emit_helium_four(itg_emitter *e, const char *array, itg_dtype type, const char *at,
                                 bool whole);
/* Writes the macros that all helpers need: HELIUM, QUICK, FENCE. */
void itg_emit_helium_needs(itg_emitter *e);

/* ---- between the files ---- */

/* A multiply-accumulate layer that has a form for Helium. */
typedef struct itg_emit_helium_sums {
    const itg_emit_mac_view *t;
    const itg_emit_doubling *sets; /* [channels] */
    const char *left;              /* "_left", "" */
    int64_t zero, lo, hi;          /* of the output */
    bool flip;                     /* codes of x are signed: their highest bits change in rows */
    int64_t minus;                 /* a weight is its stored code less this */
    size_t at, room;               /* of the scratch */
    bool again;                    /* x may be read again after an output was written */
} itg_emit_helium_sums;

/* Writes "#ifdef HELIUM", the layer's constants, and its operands `in` and `out` as bytes. order:
 * the channels of the sums in the order of the vectors, [count], a multiple of 4; ITG_NONE: no
 * channel. zero: the value of x for which a term is 0. */
void itg_emit_helium_begin(itg_emitter *e, const itg_emit_helium_sums *h, const int32_t *order,
                           int64_t count, int64_t zero);
void itg_emit_helium_end(itg_emitter *e);
/* Write `helium_gather` or `helium_rows`, and `helium_unpack`. (c_helium_rows.c) */
void itg_emit_helium_copies(itg_emitter *e, bool window);
void itg_emit_helium_unpack(itg_emitter *e);
/* Whether a layer has the form for dense layers of codes below 8 bits, and writes its loop after
 * `helium_codes`. (c_helium_dense.c) */
bool itg_emit_helium_dense_fits(const itg_emitter *e, const itg_emit_helium_sums *h);
void itg_emit_helium_dense(itg_emitter *e, const itg_emit_helium_sums *h);
/* Writes a depthwise convolution. (c_helium_depthwise.c) */
void itg_emit_helium_depthwise(itg_emitter *e, const itg_emit_helium_sums *h);
#endif
