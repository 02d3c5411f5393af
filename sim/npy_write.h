/* Arrays as files that numpy reads; elements little-endian, row-major. */
#ifndef ITG_NPY_WRITE_H
#define ITG_NPY_WRITE_H
#include "base/base.h"

/* Adds a header of .npy, or a tensor's elements. False: no memory. */
void itg_npy_write_header(itg_strbuf *out, itg_dtype dtype, const int64_t *dims, int32_t rank);
bool itg_npy_write_elements(itg_strbuf *out, const itg_tensor *t);
#endif
