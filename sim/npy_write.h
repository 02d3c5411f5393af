/* Writes arrays as files that numpy reads, with elements little-endian and row-major. */
#ifndef ITG_NPY_WRITE_H
#define ITG_NPY_WRITE_H
#include "base/base.h"

/* Add a header of .npy, and a tensor's elements. False: no memory. */
void itg_npy_write_header(itg_strbuf *out, itg_dtype dtype, const int64_t *dims, int32_t rank);
bool itg_npy_write_elements(itg_strbuf *out, const itg_tensor *t);
#endif
