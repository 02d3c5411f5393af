/* Integer multiply-accumulate at the speed of the processor: convolutions and matrix products of
 * codes, requantized while their sums lie in the cache, over blocks of samples. Every result equals
 * that of the reference set in every bit, whatever the processor.
 *
 * Kernel sets. "reference" is one sum after another (accel_reference.c); "portable" is plain C. On
 * x86-64, where the processor has them: "avx2" and "avx512" (products of 16 bits), "vnni" (AVX-512
 * VNNI), "amx" (AMX int8 and AVX-512; needs the system's leave, which the set asks for). A set is
 * used only after it has proved itself on this machine: at its first use in a process it computes a
 * fixed list of layers (both ends of the codes and of the accumulator, tails of rows, columns and
 * depth, all roundings, float outputs) and compares with the reference; a set that differs in one
 * bit is never handed out. itg_accel_choose(NULL) takes the set that the environment variable
 * INTAGLIO_KERNELS names, else the last proven one in the order above.
 *
 * Layout. Activations are channels-last and dense: [samples][height][width][channels] in their
 * storage dtype, for inputs and outputs; a matrix is [samples][m][k], which is its logical order.
 * itg_to_channels_last and itg_to_channels_first convert. Packed weights depend on content, window
 * and size (sets whose packed weights have equal sizes share them), so that a cache may key them by
 * these.
 *
 * Arithmetic. Inputs are U8 S8 U16 S16 with any zero point that their storage holds; weights any
 * codes of up to 16 bits, with a zero point. What is wider than a byte is split into bytes; their
 * products are summed in 32 bits and joined in 64. Where 32 bits hold the sum for certain
 * (mac.acc_bound), or the accumulator wraps at 32 bits or less, sums modulo 2^32 are enough. What
 * no fast set holds (an accumulator that saturates or is split, wider codes, depths above 65,536
 * that need 64 bits, vast padding) runs on the reference, whichever set was chosen. Padding counts
 * as the zero point. */
#ifndef ITG_ACCEL_H
#define ITG_ACCEL_H
#include "kernels/int_ops.h"

/* ---- kernel sets (accel_choose.c); thread-safe ---- */
typedef struct itg_accel_kernels itg_accel_kernels;
/* A name: that set. NULL: see above. ITG_BAD_ARGUMENT: no such set in this build;
 * ITG_UNSUPPORTED: not on this machine, or it failed its proof. */
itg_status itg_accel_choose(const char *name, const itg_accel_kernels **out, itg_error *err);
const char *itg_accel_name(const itg_accel_kernels *kernels);
/* Names of all sets of this build, "reference" first; NULL from their number on. */
const char *itg_accel_set(int index);

/* For benchmarks: runs the set's multiply-accumulate instruction on registers alone, `rounds` times
 * a fixed number, and returns how many multiply-accumulates that was; 0: the set has none of its
 * own. */
int64_t itg_accel_peak(const itg_accel_kernels *kernels, int64_t rounds);

/* ---- layers ---- */
/* One convolution or matrix product. The operands' `data` is the weights' codes ([K,C/group,R,S],
 * or [K,C] of a matrix); of x it is not read. */
typedef struct itg_accel_problem {
    itg_window window; /* itg_accel_matmul_window() of a matrix product */
    itg_int_operand x, w;
    bool w_rows;         /* matrix product: the weights lie [k,n], not [n,k] */
    itg_mac_options mac; /* the bound holds for partial sums in any order */
    const itg_epilogue *out;
    int32_t out_count; /* at most ITG_ACCEL_OUTPUTS; `out` of each is not read */
} itg_accel_problem;
#define ITG_ACCEL_OUTPUTS 8

/* y[m][n] of samples [m][k]: a 1x1 convolution of an image of m pixels. */
itg_window itg_accel_matmul_window(int64_t m, int64_t n, int64_t k);

/* Bytes of the packed weights; 0: the reference runs this problem, and packs nothing. Their content
 * follows from window, w, x's storage and their size, and is read-only once packed. `packed` is
 * aligned to 64 bytes. */
size_t itg_accel_packed_bytes(const itg_accel_kernels *kernels, const itg_accel_problem *p);
void itg_accel_pack(const itg_accel_kernels *kernels, const itg_accel_problem *p, void *packed);

/* A layer is immutable: constants, offsets and a borrowed pointer to packed weights, in the arena.
 * It reads w.data later only where packed_bytes was 0 or the set is "reference". Bias,
 * requantization constants and epilogues are copied, mac.split is borrowed. Any number of threads
 * may run it, each with its own scratch. ITG_NO_MEMORY; ITG_LIMIT: more outputs than
 * ITG_ACCEL_OUTPUTS. */
typedef struct itg_accel_layer itg_accel_layer;
itg_status itg_accel_layer_create(const itg_accel_kernels *kernels, const itg_accel_problem *p,
                                  const void *packed, itg_arena *arena, itg_accel_layer **out,
                                  itg_error *err);
/* The set that runs it: the one asked for, or "reference". */
const char *itg_accel_layer_set(const itg_accel_layer *layer);
/* Bytes of scratch for calls of at most `samples`; aligned to 64 bytes, any content. */
size_t itg_accel_scratch(const itg_accel_layer *layer, int64_t samples);
/* x: `samples` inputs; y[i]: `samples` outputs of epilogue i; none overlaps another. Allocates
 * nothing and cannot fail. Blocks of 8 to 32 samples are best: large weights then pass through the
 * cache once a block. */
void itg_accel_run(const itg_accel_layer *layer, const void *x, void *const *y, int64_t samples,
                   void *scratch);

/* ---- layouts (accel_layout.c): elements of dtype, [n][channels][pixels] <-> [n][pixels][channels]
 * ---- */
void itg_to_channels_last(itg_dtype dtype, int64_t n, int64_t channels, int64_t pixels,
                          const void *in, void *out);
void itg_to_channels_first(itg_dtype dtype, int64_t n, int64_t channels, int64_t pixels,
                           const void *in, void *out);
#endif
