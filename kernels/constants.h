/* Constants as codes, and what follows from the codes alone. Each is made once and kept in a cache
 * under a key of what it is made of; everything that has it holds the same one. */
#ifndef ITG_CONSTANTS_H
#define ITG_CONSTANTS_H
#include "base/cache.h"
#include "kernels/int_ops.h"

/* Codes and facts about them; immutable. */
typedef struct itg_constant {
    itg_key content; /* itg_content_key of the codes */
    const void *codes;
    /* Of each output channel: how many codes it has where they lie together, else 0; and the sums
     * of code - zero point, of those above and of those below 0, saturated. */
    int64_t terms, channels;
    const int64_t *above, *below; /* [channels]; NULL: a lookup table */
} itg_constant;

/* A cache, and the contents of one graph's constants, for whoever wants its candidates cheap. All
 * that is built with it borrows the graph's constants; threads may share it. */
typedef struct itg_constants {
    itg_cache *cache;
    const itg_key *content; /* [values of the graph]: itg_content_key of each constant's data */
} itg_constants;

/* What a quantized constant is made of. */
typedef struct itg_constant_source {
    const float *data;
    const unsigned char *packed; /* the codes (base/packed.h), each in [q->qmin, q->qmax]; NULL:
                                    those nearest to data */
    itg_shape shape;
    const itg_quantizer *q; /* one scale, or one for each index of q->axis */
    bool last_axis;         /* output channels are indices of the last dim, else of dim 0 */
} itg_constant_source;

/* Hash of the bytes; identifies them in a cache. */
itg_key itg_content_key(const void *data, size_t bytes);
/* The nearest codes of a channel at another scale: itg_quantize_f32 of each of its elements. */
void itg_quantize_channel(const itg_constant_source *source, int64_t channel, float scale,
                          int32_t *codes);
/* Sums as above of count codes from the first on. */
void itg_code_sums(itg_dtype storage, const void *codes, int64_t first, int64_t count,
                   int64_t zero_point, int64_t *above, int64_t *below);

/* The codes of a constant, in q->storage and the order of its elements; the nearest one is
 * itg_quantize_f32 of the element. content: itg_content_key of source->data; NULL: it is computed.
 * Held until itg_cache_release. NULL: no memory. */
const itg_constant *itg_constant_take(itg_cache *cache, const itg_key *content,
                                      const itg_constant_source *source);
/* The same codes with the last two dims of shape exchanged; output channels are then the last but
 * one dim's indices, of each matrix its own. Held as above. */
const itg_constant *itg_constant_exchange(itg_cache *cache, const itg_constant *constant,
                                          const itg_shape *shape, const itg_quantizer *q);
/* Other constants, under the caller's own key. Of itg_constant_make the caller writes the codes
 * (*codes), then commits; both hold. NULL: not there; no memory. */
const itg_constant *itg_constant_find(itg_cache *cache, const itg_key *key, size_t bytes);
itg_constant *itg_constant_make(itg_cache *cache, const itg_key *key, size_t bytes, double cost,
                                void **codes);
void itg_constant_commit(itg_cache *cache, itg_constant *made, size_t bytes);
#endif
