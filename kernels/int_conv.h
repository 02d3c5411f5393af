/* The three convolution kernels behind itg_int_conv, private to kernels/. */
#ifndef ITG_INT_CONV_H
#define ITG_INT_CONV_H
#include "kernels/int_parts.h"
#include "kernels/requant.h"

typedef struct itg_conv_args {
    const itg_window *window;
    const itg_int_operand *x, *weights;
    itg_packing px, pw;
    const itg_mac_options *mac;
    const itg_epilogue *out;
    int32_t out_count;
    bool narrow; /* 32-bit sums are proven exact */
} itg_conv_args;

/* Pixels [first, first + count) of channel k from their sums: bias, width, every epilogue. acc is
 * overwritten. */
void itg_conv_emit32(const itg_conv_args *args, int64_t k, int64_t first, int64_t count,
                     int32_t *acc);
void itg_conv_emit64(const itg_conv_args *args, int64_t k, int64_t first, int64_t count,
                     int64_t *acc);

/* One input channel a group, operands packed without residue, and a geometry that fits. */
bool itg_conv_depthwise_fits(const itg_window *w);
int64_t itg_conv_depthwise_bytes(const itg_window *w); /* 0: does not fit */
void itg_conv_depthwise(const itg_conv_args *args, void *scratch);

/* Any storage, any accumulator: one addition after another (bias, channel, row, column). */
int64_t itg_conv_sequential_bytes(const itg_window *w);
void itg_conv_sequential(const itg_conv_args *args, void *scratch);
#endif
