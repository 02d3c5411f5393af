/* Fast integer convolutions and matrix products of codes, over blocks of samples. Sums are
 * requantized while they are in the cache. Every kernel set gives the bits of the reference set on
 * every processor.
 *
 * Kernel sets. "reference" computes one sum after another (accel_reference.c); "portable" is plain
 * C. On x86-64, if the processor has the instructions: "avx2" and "avx512" (products of 16 bits),
 * "avxvnni" (AVX-VNNI, 256 bits), "vnni" (AVX-512 VNNI), "amx" (AMX int8 and AVX-512; it requests
 * permission from the operating system). On aarch64: "neon", "dotprod" (Armv8.2 dot products),
 * "i8mm" (Armv8.6 matrix products of 8 bits). A set is tested before its first use in a process: it
 * computes a fixed list of layers (both ends of the codes and of the accumulator, tails of rows,
 * columns and depth, all roundings, float outputs), and the results are compared with the
 * reference. A set that differs in one bit is not used. itg_accel_choose(NULL) returns the set
 * named by the environment variable INTAGLIO_KERNELS, or else the last set in the order above that
 * passes.
 *
 * Layout. Inputs and outputs are dense with channels last, [samples][height][width][channels], in
 * their storage dtype; a matrix is [samples][m][k], its logical order. itg_to_channels_last and
 * itg_to_channels_first convert. Packed weights depend on content, window, x's storage and
 * the set only, so a cache may use these as the key.
 *
 * Arithmetic. Inputs are U8 S8 U16 S16 with any zero point that their storage holds; weights any
 * codes of up to 16 bits, with a zero point. Wider codes are split into bytes, whose products are
 * summed in 32 bits and joined in 64. If 32 bits hold the sum (mac.acc_bound), or the accumulator
 * wraps at 32 bits or less, sums are computed modulo 2^32. The reference runs what no fast set
 * supports: an accumulator that saturates or is split, wider codes, depths above 65,536 that need
 * 64 bits, very large padding. Padding counts as the zero point. */
#ifndef ITG_ACCEL_H
#define ITG_ACCEL_H
#include "kernels/int_ops.h"
#include <intaglio/types.h>

/* ---- kernel sets (accel_choose.c); thread-safe ---- */
typedef struct itg_accel_kernels itg_accel_kernels;
/* A name: that set. NULL: see above. ITG_BAD_ARGUMENT: no such set in this build;
 * ITG_UNSUPPORTED: not on this machine, or it failed its proof. */
itg_status itg_accel_choose(const char *name, const itg_accel_kernels **out, itg_error *err);
const char *itg_accel_name(const itg_accel_kernels *kernels);

/* For benchmarks: runs the set's multiply-accumulate instruction on registers, `rounds` times a
 * fixed number, and returns the number of multiply-accumulates; 0: the set has no such
 * instruction. */
int64_t itg_accel_peak(const itg_accel_kernels *kernels, int64_t rounds);

/* ---- layers ---- */
/* One convolution or matrix product. w.data: the weights' codes, [K,C/group,R,S] or [K,C] for a
 * matrix. x.data is not read. */
typedef struct itg_accel_problem {
    itg_window window; /* itg_accel_matmul_window() of a matrix product */
    itg_int_operand x, w;
    bool w_rows;         /* matrix product: the weights lie [k,n], not [n,k] */
    itg_mac_options mac; /* the bound holds for partial sums in any order */
    const itg_epilogue *out;
    int32_t out_count; /* at most ITG_ACCEL_OUTPUTS; `out` of each is not read */
} itg_accel_problem;
#define ITG_ACCEL_OUTPUTS 8

/* A product of samples [m][k] to [m][n] is a 1x1 convolution of an image of m pixels. */
itg_window itg_accel_matmul_window(int64_t m, int64_t n, int64_t k);

/* Bytes of the packed weights; 0: the reference runs this problem and packs nothing. The content
 * follows from window, w, x's storage and the set; it is read-only once packed. `packed` is
 * aligned to 64 bytes. */
size_t itg_accel_packed_bytes(const itg_accel_kernels *kernels, const itg_accel_problem *p);
void itg_accel_pack(const itg_accel_kernels *kernels, const itg_accel_problem *p, void *packed);

/* A layer is immutable and lies in the arena. It borrows the packed weights and mac.split, and
 * w.data if packed_bytes is 0 or the set is "reference"; it copies bias, requantization constants
 * and epilogues. Any number of threads may run it, each with its own scratch. ITG_NO_MEMORY;
 * ITG_LIMIT: more outputs than ITG_ACCEL_OUTPUTS. */
typedef struct itg_accel_layer itg_accel_layer;
itg_status itg_accel_layer_create(const itg_accel_kernels *kernels, const itg_accel_problem *p,
                                  const void *packed, itg_arena *arena, itg_accel_layer **out,
                                  itg_error *err);
/* Name of the set that runs it: the requested one, or "reference". */
const char *itg_accel_layer_set(const itg_accel_layer *layer);
/* Bytes of scratch for calls of at most `samples`; aligned to 64 bytes, any content. */
size_t itg_accel_scratch(const itg_accel_layer *layer, int64_t samples);
/* x: `samples` inputs; y[i]: `samples` outputs of epilogue i. Buffers do not overlap. Allocates
 * nothing and cannot fail. Blocks of 8 to 32 samples are fastest: large weights are then read once
 * a block. */
void itg_accel_run(const itg_accel_layer *layer, const void *x, void *const *y, int64_t samples,
                   void *scratch);

/* ---- layouts (accel_layout.c): elements of dtype, [n][channels][pixels] <-> [n][pixels][channels]
 * ---- */
void itg_to_channels_last(itg_dtype dtype, int64_t n, int64_t channels, int64_t pixels,
                          const void *in, void *out);
void itg_to_channels_first(itg_dtype dtype, int64_t n, int64_t channels, int64_t pixels,
                           const void *in, void *out);
#endif
