/* Collects outputs of a program, sample by sample, for .npy files. */
#ifndef ITG_NPY_H
#define ITG_NPY_H
#include <intaglio/intaglio.h>
#include "base/base.h"

typedef struct itg_npy_sink itg_npy_sink;
/* For `count` outputs per sample. */
itg_status itg_npy_create(int64_t samples, int32_t count, itg_npy_sink **out, itg_error *err);
void itg_npy_destroy(itg_npy_sink *sink);
/* Adds the outputs of the next sample. */
itg_status itg_npy_add(itg_npy_sink *sink, const itg_tensor *outputs, int32_t count,
                       itg_error *err);
/* Writes the files that itg_program_npy_path names. */
itg_status itg_npy_write(const itg_npy_sink *sink, const char *path, itg_error *err);
#endif
