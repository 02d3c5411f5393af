/* Element values that determine shapes of other tensors. */
#ifndef ITG_BASE_ELEMENT_H
#define ITG_BASE_ELEMENT_H
#include <intaglio/types.h>

/* 0 or false; NaN is not zero. */
bool itg_element_is_zero(const itg_tensor *t, int64_t i);
/* < 0, 0 or > 0, as element i is less than, equal to or greater than element j. NaN is greater than
 * every number and equal to itself. */
int itg_element_compare(const itg_tensor *t, int64_t i, int64_t j);

/* The distinct slices of x along an axis (axis ITG_MAX_RANK: its distinct elements), in order of
 * their first differing element; `sorted` false: of their first occurrence. */
typedef struct itg_unique {
    int64_t count;  /* of distinct slices */
    int64_t total;  /* slices of x */
    int64_t *first; /* [count] index of the first occurrence */
    int64_t *which; /* [total] the distinct slice that a slice equals */
    int64_t *times; /* [count] number of occurrences */
} itg_unique;
/* False: no memory. The caller calls itg_unique_deinit in any case. */
bool itg_unique_find(const itg_tensor *x, int64_t axis, bool sorted, itg_unique *out);
void itg_unique_deinit(itg_unique *u);
/* Offset in elements of element j of slice i, and the number of elements of a slice. */
int64_t itg_slice_offset(const itg_shape *shape, int64_t axis, int64_t i, int64_t j);
int64_t itg_slice_elements(const itg_shape *shape, int64_t axis);
#endif
