#include "realize/verify/windows.h"
#include <string.h>

#define MOST_POSITIONS (INT64_C(1) << 26) /* limit of the window's positions along one axis */
#define MOST_STEP (INT64_C(1) << 31)      /* limit of kernel, stride, dilation, padding */

/* One axis: its size, the output's size, and the window's movement. */
typedef struct axis {
    int64_t size, positions, kernel, stride, dilation, before, after;
} axis;

/* Returns the number of taps t in 0..kernel-1 with lo <= start + t * dilation < hi. */
static int64_t taps(int64_t start, int64_t lo, int64_t hi, const axis *a)
{
    int64_t first = start < lo ? (lo - start + a->dilation - 1) / a->dilation : 0;
    int64_t end = start < hi ? (hi - start + a->dilation - 1) / a->dilation : 0;
    if (end > a->kernel) end = a->kernel;
    return end > first ? end - first : 0;
}

static int64_t most_taps(const axis *a, bool padded)
{
    int64_t most = 0, lo = padded ? -a->before : 0, hi = a->size + (padded ? a->after : 0);
    for (int64_t i = 0; i < a->positions; i++) {
        int64_t n = taps(i * a->stride - a->before, lo, hi, a);
        if (n > most) most = n;
    }
    return most;
}

static bool axis_is_legal(const axis *a)
{
    return a->size >= 1 && a->positions >= 1 && a->positions <= MOST_POSITIONS && a->kernel >= 1 &&
           a->kernel < MOST_STEP && a->stride >= 1 && a->stride < MOST_STEP && a->dilation >= 1 &&
           a->dilation < MOST_STEP && a->before >= 0 && a->before < MOST_STEP && a->after >= 0 &&
           a->after < MOST_STEP;
}

/* Returns the most elements in a window; 0: invalid. x: [N,C,H,W], or [N,C,W] of height 1. */
static int64_t window(itg_view *v, const itg_shape *x, const itg_shape *y)
{
    int64_t count[4], product = 1;
    const int64_t *kernel = itg_view_ints(v, "", "kernel", &count[0]);
    const int64_t *stride = itg_view_ints(v, "", "stride", &count[1]);
    const int64_t *dilation = itg_view_ints(v, "", "dilation", &count[2]);
    const int64_t *pad = itg_view_ints(v, "", "pad", &count[3]);
    bool padded = itg_view_int(v, "", "count_include_pad") != 0;
    if (count[0] != 2 || count[1] != 2 || count[2] != 2 || (count[3] != 0 && count[3] != 4) ||
        x->rank < 3 || x->rank > 4 || y->rank != x->rank)
        return 0;
    for (int i = 0; i < 2; i++) {
        int32_t d = x->rank - 2 + i;
        axis a = {d < 2 ? 1 : x->dims[d],
                  d < 2 ? 1 : y->dims[d],
                  kernel[i],
                  stride[i],
                  dilation[i],
                  0,
                  0};
        if (pad != NULL) {
            a.before = pad[i];
            a.after = pad[i + 2];
        }
        if (!axis_is_legal(&a)) return 0;
        product *= most_taps(&a, padded);
        if (product > MOST_STEP) return 0;
    }
    return product;
}

static int64_t reduced(itg_view *v, const itg_shape *x)
{
    int64_t count, product = 1;
    const int64_t *axes = itg_view_ints(v, "", "axes", &count);
    bool all = count == 0 && itg_view_int(v, "", "noop_with_empty_axes") == 0;
    for (int32_t d = 0; d < x->rank; d++) {
        bool taken = all;
        for (int64_t i = 0; i < count; i++)
            taken = taken || axes[i] == d;
        if (taken) product *= x->dims[d];
    }
    return product;
}

int64_t itg_window_most_elements(itg_view *v)
{
    const itg_view_value *x = itg_view_input(v, 0);
    const char *type = itg_view_node(v)->op_type;
    int64_t most = 0, elements;
    if (x != NULL && itg_shape_elements(&x->shape, &elements) && elements > 0)
        most = strcmp(type, "IntReduceMean") == 0 ? reduced(v, &x->shape)
               : strcmp(type, "IntGlobalAveragePool") == 0
                   ? itg_dims_product(&x->shape, 2, x->shape.rank)
                   : window(v, &x->shape, itg_view_output_shape(v, 0));
    if (most < 1) itg_view_problem(v, "the elements of its windows cannot be counted");
    return most;
}
