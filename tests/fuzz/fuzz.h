/* Fuzz targets: one a kind of input. A target takes any bytes and may refuse them, but must neither
 * crash, hang, leak nor allocate without bound. Built with libFuzzer (ITG_FUZZ), or with replay.c,
 * which replays files and seeded mutations. */
#ifndef ITG_FUZZ_H
#define ITG_FUZZ_H
#include "base/base.h"
#include "graph/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
/* Valid input number `index` to start from; false: there are no more. */
bool fuzz_seed(int index, itg_strbuf *out);

/* ---- file.c ---- */
/* A file of these bytes in a folder of this process; the path is the same each time. Gone at exit.
 */
const char *fuzz_file(const uint8_t *data, size_t bytes);
/* What a file holds. */
void fuzz_slurp(const char *path, itg_strbuf *out);
/* Our own fault, not the input's. */
void fuzz_require(bool condition, const char *what);
#define REQUIRE(condition) fuzz_require(condition, #condition)

/* ---- models.c ---- */
/* ONNX files that use most operators; false: no more. */
bool fuzz_model(int index, itg_strbuf *out);
/* One of them prepared; NULL where the bytes are refused. */
itg_graph *fuzz_prepare(const void *data, size_t bytes);
/* An upper bound of multiplications in one run; saturated. */
int64_t fuzz_work(const itg_graph *g);

/* ---- programs.c ---- */
/* Artefacts of those models; false: no more. */
bool fuzz_program(int index, itg_strbuf *out);

/* ---- mutate.c ---- */
/* Changes one to eight places of `data`; other is a second valid input to take pieces from. */
void fuzz_mutate(itg_rng *rng, itg_strbuf *data, const itg_strbuf *other);
#endif
