/* A multiply-accumulate layer and its types in C. Private to realize/emit. */
#ifndef ITG_EMIT_MAC_H
#define ITG_EMIT_MAC_H
#include "realize/emit/emit.h"

enum { ITG_EMIT_FILTERS = 4 }; /* of a tile */

typedef struct itg_emit_mac_view {
    const itg_emit_layer *l;
    const itg_step *s;
    bool conv, saturates, split;
    bool dense; /* codes are multiplied where they lie (c_dense.c) */
    bool stays; /* the same, two positions at a time, where WORDS or PAIRS is defined (c_in_place.c)
                 */
    bool in_place; /* that part of such a layer */
    itg_window_view v;
    itg_matmul_view m;
    bool transposed;
    int64_t groups, patches, filters, depth, padded, block, rows, held, channels;
    itg_dtype row, sum;
    itg_emit_operand x, w; /* w: of activations */
    const char *weights;   /* packed; NULL: activations */
    const char *window;    /* the name of a convolution's */
    const int64_t *order;  /* of codes in the packed array, and its tag (itg_emit_packed) */
    char tag;
    int64_t w_value, w_zero;
    const int64_t *zero; /* [channels]: zero points that differ, in place of w_zero; else NULL */
    const int64_t *bias;
} itg_emit_mac_view;

/* ---- c_mac.c: what is to be computed ---- */
extern const char itg_emit_not_unrolled[]; /* the next loop */
/* Sets what texts depend on of all layers: e->codes, e->spread, and what c_dense.c counts. */
void itg_emit_mac_survey(itg_emitter *e);
bool itg_emit_is_mac(const itg_emit_layer *l);
void itg_emit_mac_describe(itg_emitter *e, const itg_emit_layer *l, itg_emit_mac_view *t);
bool itg_emit_is_depthwise(const itg_emit_mac_view *t);
size_t itg_emit_view_scratch(const itg_emit_mac_view *t); /* bytes, without unpacked operands */

/* ---- c_rows.c: operands as rows ---- */
void itg_emit_weights(itg_emitter *e, itg_emit_mac_view *t, bool depthwise);
/* Where patches are gathered. */
const char *itg_emit_patches_text(itg_emitter *e, const itg_emit_mac_view *t);
void itg_emit_patches(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent,
                      const char *window, const char *offset);
/* Writes statements that take zero points that differ off unpacked weights of one channel each. */
void itg_emit_tap_zeros(itg_emitter *e, const itg_emit_mac_view *t);
void itg_emit_filters(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent,
                      const char *b_offset);

/* ---- c_dot.c: their sums ---- */
const char *itg_emit_bias(itg_emitter *e, const itg_emit_mac_view *t, const char *index);
void itg_emit_split_ends(itg_emitter *e, const itg_emit_mac_view *t);
void itg_emit_sums(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent, const char *index);

/* ---- c_dense.c: layers of one position ---- */
/* Counts the codes of such layers by their width, which the layers' descriptions depend on. */
void itg_emit_dense_count(itg_emitter *e);
/* Sets `dense`, and the length of patches, some of which is read beyond their padding. */
void itg_emit_dense_describe(const itg_emitter *e, itg_emit_mac_view *t, const itg_pvalue *w);
/* Writes the weights and returns the array's name. */
const char *itg_emit_dense_weights(itg_emitter *e, const itg_emit_mac_view *t);
/* Makes the patch ready, and declares `start`, which is in the sum of each channel. */
void itg_emit_dense_start(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent);
/* Declares `sums` of the `rows` channels, two or one, from k on. */
void itg_emit_dense_sums(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent);
/* Writes what the functions of dense layers share. */
void itg_emit_dense_helpers(itg_emitter *e);

/* ---- c_spend.c ---- */
/* Whether that takes fewer instructions than the layer does otherwise, with those for pairs of
 * products or without. */
bool itg_emit_stays_quicker(const itg_emit_mac_view *t, int64_t bits, bool pairs);

/* ---- c_in_place.c: two positions at a time ---- */
/* Whether codes are multiplied where they lie. */
bool itg_emit_stays(const itg_emitter *e, const itg_emit_mac_view *t);
/* Counts the codes of such layers by their width, which the layout of their weights depends on,
 * when all has its place. Weights below 8 bits of which some layer is no such are for no other. */
void itg_emit_stays_count(itg_emitter *e);
/* Writes the weights and returns the array's name. */
const char *itg_emit_stays_weights(itg_emitter *e, const itg_emit_mac_view *t);
/* Writes statements for tile[i * depth + j] = code j of channel first + i, less the zero point, i <
 * count. The channels are such words of less than 8 bits. */
void itg_emit_stays_unpack(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent,
                           const char *first, const char *count);
/* The same for Helium, of dense layers, too: the least code is 0. */
void itg_emit_stays_helium(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent,
                           const char *first, const char *count);
/* Writes under what macro the processor is quicker so. */
void itg_emit_in_place_begin(itg_emitter *e, const itg_emit_mac_view *t);
/* Puts two patches together, and declares what is in each of their sums: `start`. */
void itg_emit_in_place_start(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent);
/* Declares the sums `acc` of the `rows` channels, two or one, from k on: those of the first channel
 * first. */
void itg_emit_in_place_sums(itg_emitter *e, const itg_emit_mac_view *t, int32_t indent);
#endif
