/* Constants as codes, and what follows from the codes alone. Made once and kept in a cache by what
 * they are made of, they are borrowed by every candidate that has them. */
#ifndef ITG_CONSTANTS_H
#define ITG_CONSTANTS_H
#include "base/cache.h"
#include "kernels/int_ops.h"

/* Codes and facts about them; immutable. */
typedef struct itg_constant {
    itg_key content; /* itg_content_key of the codes */
    /* Codes as they lie, in rows: of dim 0, or where they are exchanged of the last dim. */
    int64_t rows, terms;
    /* [rows], or NULL: sums of code - zero point, of those above and of those below 0, saturated */
    const int64_t *above, *below;
    const void *codes;
} itg_constant;

/* The constants of one graph, for whoever wants its candidates cheap. Borrowed by all that is built
 * with it, and changed by none of them but for the cache, which they may share between threads. */
typedef struct itg_constants {
    itg_cache *cache;
    const itg_key *content; /* [values of the graph]: itg_content_key of each constant's data */
} itg_constants;

typedef struct itg_constant_source {
    const float *data;
    itg_shape shape;
    const itg_quantizer *q; /* one scale, or one for each index of q->axis */
    bool exchange;          /* of the last two dims of each matrix: the codes lie transposed */
} itg_constant_source;

/* A name of the bytes. */
itg_key itg_content_key(const void *data, size_t bytes);
/* itg_quantize_f32 of every element, in q->storage. */
void itg_quantize_constant(const itg_constant_source *source, void *codes);
/* Sums as above of count codes from the first on. */
void itg_code_sums(itg_dtype storage, const void *codes, int64_t first, int64_t count,
                   int64_t zero_point, int64_t *above, int64_t *below);

/* Held until itg_cache_release(constants->cache, constant). content: of source->data. NULL: no
 * memory. */
const itg_constant *itg_constant_take(const itg_constants *constants, const itg_key *content,
                                      const itg_constant_source *source);
/* Other constants, under the caller's own key. Of itg_constant_make the caller writes the codes
 * (*codes), then commits; both hold. NULL: not there; no memory. */
const itg_constant *itg_constant_find(const itg_constants *constants, const itg_key *key,
                                      size_t bytes);
itg_constant *itg_constant_make(const itg_constants *constants, const itg_key *key, size_t bytes,
                                double cost, void **codes);
void itg_constant_commit(const itg_constants *constants, itg_constant *made, size_t bytes);
#endif
