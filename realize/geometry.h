/* Loops of steps over their operands: windows, matrices, broadcasting, reductions. The functions
 * expect a step that itg_step_check has accepted. */
#ifndef ITG_GEOMETRY_H
#define ITG_GEOMETRY_H
#include "realize/program.h"

/* Window operators on [N,C,W] (1-D), [N,C,H,W], and global pools over any number of spatial
 * dims. */
typedef struct itg_window_view {
    int64_t batch;
    itg_window w;
} itg_window_view;
itg_window_view itg_window_of(itg_op op, const itg_attrs *attrs, const itg_shape *x,
                              const itg_shape *y);
/* A matrix product with broadcasting of leading dims, as ONNX MatMul; trans_b: b's last two dims
 * are [N,K]. If b is one matrix, a's leading dims are rows. stride_a, stride_b: elements between
 * matrices, for each batch dim. */
typedef struct itg_matmul_view {
    int64_t m, n, k, batches;
    itg_shape batch; /* dims of the batch, rank 0: one product */
    int64_t stride_a[ITG_MAX_RANK], stride_b[ITG_MAX_RANK];
} itg_matmul_view;
itg_matmul_view itg_matmul_of(const itg_program *p, const itg_step *s);

/* CONV and MATMUL: number of terms of a sum. */
int64_t itg_mac_terms(const itg_program *p, const itg_step *s);
int64_t itg_step_macs(const itg_program *p, const itg_step *s); /* other kinds: 0 */

itg_broadcast itg_broadcast_of(const itg_shape *a, const itg_shape *b, const itg_shape *y);
/* Strides in elements for reading `from` under the indices of `to` (0 where broadcast). */
void itg_broadcast_strides(const itg_shape *from, const itg_shape *to,
                           int64_t strides[ITG_MAX_RANK]);

/* A reduction: kept and reduced dims with their strides in the input, each in ascending order. */
typedef struct itg_reduction {
    int32_t kept_rank, reduced_rank;
    int64_t kept[ITG_MAX_RANK], kept_stride[ITG_MAX_RANK];
    int64_t reduced[ITG_MAX_RANK], reduced_stride[ITG_MAX_RANK];
    int64_t outer, count; /* products */
} itg_reduction;
itg_reduction itg_reduction_of(const itg_step *s, const itg_shape *x);
/* Element offset of the flat index i within dims. */
int64_t itg_strided_offset(int32_t rank, const int64_t *dims, const int64_t *strides, int64_t i);

/* MEAN: the largest number of elements in one window. */
int64_t itg_mean_max_count(const itg_program *p, const itg_step *s);
/* MEAN by windows: the divisor at position (row, column). */
int64_t itg_mean_count(const itg_step *s, const itg_window *w, int64_t row, int64_t column);
bool itg_mean_is_reduction(const itg_step *s);
#endif
