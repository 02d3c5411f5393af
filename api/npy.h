/* Outputs of a program, gathered sample by sample and written as .npy. */
#ifndef ITG_NPY_H
#define ITG_NPY_H
#include <intaglio/intaglio.h>
#include "base/base.h"

typedef struct itg_npy_sink itg_npy_sink;
/* Of `count` outputs a sample. */
itg_status itg_npy_create(int64_t samples, int32_t count, itg_npy_sink **out, itg_error *err);
void itg_npy_destroy(itg_npy_sink *sink);
/* The next sample's. */
itg_status itg_npy_add(itg_npy_sink *sink, const itg_tensor *outputs, int32_t count,
                       itg_error *err);
/* To the files that itg_program_npy_path names. */
itg_status itg_npy_write(const itg_npy_sink *sink, const char *path, itg_error *err);
#endif
