/* Quantized constants: their codes and facts that follow from the codes. Each is computed once and
 * shared through a cache, under a key of its source. */
#ifndef ITG_CONSTANTS_H
#define ITG_CONSTANTS_H
#include "base/cache.h"
#include "kernels/int_ops.h"

/* Immutable. */
typedef struct itg_constant {
    itg_key content; /* itg_content_key of the codes */
    const void *codes;
    /* For each output channel: the number of its codes if they are contiguous, else 0; and the
     * saturated sums of the positive and of the negative values of code - zero point. */
    int64_t terms, channels;
    const int64_t *above, *below; /* [channels]; NULL: a lookup table */
} itg_constant;

/* A cache with the content keys of one graph's constants. What is built with it borrows the graph's
 * constants. Threads may share it. */
typedef struct itg_constants {
    itg_cache *cache;
    const itg_key *content; /* [values of the graph]: itg_content_key of each constant's data */
} itg_constants;

/* Whether these are weights whose channels have zero points of their own. Codes are then what the
 * products take: those of the hardware less the channel's zero point. A channel has 2^bits of the
 * codes from qmin to qmax, 0 among them; q's own zero point is 0. */
static inline bool itg_has_zero_points(const itg_quantizer *q)
{
    return q->bits > 1 && q->bits <= 8 && q->qmax - q->qmin >= (int64_t)1 << q->bits;
}

/* The source of a quantized constant. */
typedef struct itg_constant_source {
    const float *data;
    const unsigned char *packed; /* the codes (base/packed.h), each in [q->qmin, q->qmax]; NULL:
                                    those nearest to data */
    itg_shape shape;
    const itg_quantizer *q; /* one scale, or one for each index of q->axis */
    bool last_axis;         /* output channels are indices of the last dim, else of dim 0 */
    /* [q->scale_count]: a scale's codes are least[i] to least[i] + span, and `packed` are counted
     * from least[i] + 2^(bits-1) on. NULL: all are [q->qmin, q->qmax], from 0 on. */
    const int32_t *least;
    int32_t span;
} itg_constant_source;

/* Hash of the bytes, for use as a cache key. */
itg_key itg_content_key(const void *data, size_t bytes);
/* The nearest codes of a channel at another scale: itg_quantize_f32 of each of its elements, or of
 * one bit their signs. */
void itg_quantize_channel(const itg_constant_source *source, int64_t channel, float scale,
                          int32_t *codes);
/* The numbers that codes in q->storage stand for: itg_dequantize_f32 of each. */
void itg_dequantize_constant(const itg_quantizer *q, const itg_shape *shape, const void *codes,
                             float *out);
/* How many elements in a row share a scale; those behind them have the next one, and after the last
 * the first. */
int64_t itg_scale_run(const itg_quantizer *q, const itg_shape *shape);
/* The least and the greatest code of a scale, 0 included. */
void itg_code_range(const itg_quantizer *q, const itg_shape *shape, const void *codes,
                    int32_t scale, int64_t *least, int64_t *most);
/* Sums as above of count codes from the first on. */
void itg_code_sums(itg_dtype storage, const void *codes, int64_t first, int64_t count,
                   int64_t zero_point, int64_t *above, int64_t *below);

/* The codes of a constant, in q->storage and the order of its elements; the nearest one is
 * as above. content: itg_content_key of source->data; NULL: it is computed.
 * Held until itg_cache_release. NULL: no memory. */
const itg_constant *itg_constant_take(itg_cache *cache, const itg_key *content,
                                      const itg_constant_source *source);
/* The same codes with the last two dims of shape exchanged. Output channels are then the indices of
 * the last but one dim, for each matrix separately. Held as above. */
const itg_constant *itg_constant_exchange(itg_cache *cache, const itg_constant *constant,
                                          const itg_shape *shape, const itg_quantizer *q);
/* Other constants, under the caller's own key. find: NULL if absent. make: the caller writes
 * *codes, then commits; NULL: no memory. Both hold the constant. */
const itg_constant *itg_constant_find(itg_cache *cache, const itg_key *key, size_t bytes);
itg_constant *itg_constant_make(itg_cache *cache, const itg_key *key, size_t bytes, double cost,
                                void **codes);
void itg_constant_commit(itg_cache *cache, itg_constant *made, size_t bytes);
#endif
