#include "kernels/constants.h"
#include "base/packed.h"
#include "kernels/block_ops.h"
#include "kernels/requant.h"
#include <string.h>

enum {
    TAG_CONTENT = 5,
    TAG_CONSTANT = 102,
    TAG_EXCHANGED = 104,
    HEAD = (sizeof(itg_constant) + 63) / 64 * 64
};

/* Cost of quantizing, summing and hashing an element, in multiplications of a fast kernel. It is as
 * rough as the costs of other pieces of a cache. */
static const double element_cost = 8;

itg_key itg_content_key(const void *data, size_t bytes)
{
    itg_key_state k;
    itg_key_begin(&k, TAG_CONTENT);
    itg_key_bytes(&k, data, bytes);
    return itg_key_end(&k);
}

/* ---- codes ---- */

static int32_t sign_code(float x)
{
    return x < 0 ? -1 : 1;
}

/* Quantizes elements [first, first + n), which share one scale. */
static void quantize_run(const itg_constant_source *s, int64_t first, int64_t n, const float *scale,
                         void *codes)
{
    itg_quantizer q = *s->q;
    q.scale = scale;
    unsigned char *out = codes;
    itg_block_quantize(&q, s->data + first, n, out + (size_t)first * itg_dtype_size(q.storage));
}

int64_t itg_scale_run(const itg_quantizer *q, const itg_shape *shape)
{
    return itg_dims_product(shape, q->axis < 0 ? 0 : q->axis + 1, shape->rank);
}

static int32_t quantize_within(const itg_constant_source *s, float x, float scale, int64_t index)
{
    const int64_t least = s->least[index];
    return (int32_t)itg_quantize_f32(x, scale, 0, least, least + s->span);
}

static void quantize_spans(const itg_constant_source *s, int64_t elements, void *codes)
{
    const int64_t run = itg_scale_run(s->q, &s->shape);
    for (int64_t i = 0; i < elements; i++) {
        const int64_t index = i / run % s->q->scale_count;
        itg_store(s->q->storage, codes, i,
                  quantize_within(s, s->data[i], s->q->scale[index], index));
    }
}

static void quantize_rows(const itg_constant_source *s, void *codes)
{
    const int64_t elements = itg_dims_product(&s->shape, 0, s->shape.rank);
    const int64_t inner = itg_scale_run(s->q, &s->shape);
    if (s->least != NULL) {
        quantize_spans(s, elements, codes);
        return;
    }
    if (s->q->bits == 1) {
        for (int64_t i = 0; i < elements; i++)
            itg_store(s->q->storage, codes, i, sign_code(s->data[i]));
        return;
    }
    if (inner == 1) { /* the scales run along the last dim */
        itg_block_quantize_columns(s->q, s->data, elements, codes);
        return;
    }
    for (int64_t i = 0; i * inner < elements; i++)
        quantize_run(s, i * inner, inner, &s->q->scale[i % s->q->scale_count], codes);
}

/* How channels lie in a constant: element k of channel c has the flat index c * step + k *
 * stride. */
typedef struct channel_view {
    int64_t channels, terms, step, stride;
} channel_view;

static channel_view channels_of(const itg_shape *shape, bool last_axis)
{
    int64_t elements = itg_dims_product(shape, 0, shape->rank);
    int64_t channels = shape->rank == 0 ? 1 : shape->dims[last_axis ? shape->rank - 1 : 0];
    int64_t terms = elements / channels;
    return last_axis ? (channel_view){channels, terms, 1, channels}
                     : (channel_view){channels, terms, terms, 1};
}

void itg_quantize_channel(const itg_constant_source *source, int64_t channel, float scale,
                          int32_t *codes)
{
    const itg_quantizer *q = source->q;
    channel_view v = channels_of(&source->shape, source->last_axis);
    for (int64_t k = 0; k < v.terms; k++) {
        const float x = source->data[channel * v.step + k * v.stride];
        if (source->least != NULL) {
            codes[k] = quantize_within(source, x, scale, q->scale_count == 1 ? 0 : channel);
            continue;
        }
        codes[k] = q->bits == 1
                       ? sign_code(x)
                       : (int32_t)itg_quantize_f32(x, scale, q->zero_point, q->qmin, q->qmax);
    }
}

void itg_dequantize_constant(const itg_quantizer *q, const itg_shape *shape, const void *codes,
                             float *out)
{
    const int64_t elements = itg_dims_product(shape, 0, shape->rank),
                  inner = itg_scale_run(q, shape);
    for (int64_t i = 0; i < elements; i++)
        out[i] = itg_dequantize_f32(itg_load(q->storage, codes, i),
                                    q->scale[i / inner % q->scale_count], q->zero_point);
}

void itg_code_range(const itg_quantizer *q, const itg_shape *shape, const void *codes,
                    int32_t scale, int64_t *least, int64_t *most)
{
    const int64_t elements = itg_dims_product(shape, 0, shape->rank), run = itg_scale_run(q, shape);
    *least = *most = 0;
    for (int64_t first = scale * run; first < elements; first += run * q->scale_count)
        for (int64_t i = first; i < first + run; i++) {
            const int64_t code = itg_load(q->storage, codes, i);
            if (code < *least) *least = code;
            if (code > *most) *most = code;
        }
}

/* ---- sums ---- */

/* Fewer than 2^31 elements of at most 17 bits sum to at most 48 bits. */
#define NARROW_SUMS(type)                                                                          \
    do {                                                                                           \
        const type *q = (const type *)codes + first;                                               \
        int64_t up = 0, all = 0;                                                                   \
        for (int64_t i = 0; i < count; i++) {                                                      \
            int32_t v = (int32_t)q[i] - zero;                                                      \
            up += v > 0 ? v : 0;                                                                   \
            all += v;                                                                              \
        }                                                                                          \
        *above = up;                                                                               \
        *below = all - up;                                                                         \
    } while (0)

void itg_code_sums(itg_dtype storage, const void *codes, int64_t first, int64_t count,
                   int64_t zero_point, int64_t *above, int64_t *below)
{
    const int32_t zero = (int32_t)zero_point;
    switch (storage) {
    case ITG_S8:
        NARROW_SUMS(int8_t);
        return;
    case ITG_U8:
        NARROW_SUMS(uint8_t);
        return;
    case ITG_S16:
        NARROW_SUMS(int16_t);
        return;
    case ITG_U16:
        NARROW_SUMS(uint16_t);
        return;
    default:
        break;
    }
    *above = *below = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t v = itg_load(storage, codes, first + i) - zero_point;
        if (v > 0)
            *above = itg_add_saturated(*above, v);
        else
            *below = itg_add_saturated(*below, v);
    }
}

#define NARROW_COLUMNS(type)                                                                       \
    do {                                                                                           \
        const type *q = codes;                                                                     \
        for (int64_t k = 0; k < v->terms; k++, q += v->channels)                                   \
            for (int64_t c = 0; c < v->channels; c++) {                                            \
                const int32_t code = (int32_t)q[c] - zero;                                         \
                above[c] += code > 0 ? code : 0;                                                   \
                below[c] += code < 0 ? code : 0;                                                   \
            }                                                                                      \
    } while (0)

static void strided_sums(itg_dtype storage, const void *codes, const channel_view *v,
                         int64_t zero_point, int64_t *restrict above, int64_t *restrict below)
{
    const int32_t zero = (int32_t)zero_point;
    for (int64_t c = 0; c < v->channels; c++)
        above[c] = below[c] = 0;
    switch (storage) {
    case ITG_S8:
        NARROW_COLUMNS(int8_t);
        return;
    case ITG_U8:
        NARROW_COLUMNS(uint8_t);
        return;
    case ITG_S16:
        NARROW_COLUMNS(int16_t);
        return;
    case ITG_U16:
        NARROW_COLUMNS(uint16_t);
        return;
    default:
        break;
    }
    for (int64_t i = 0; i < v->channels * v->terms; i++) {
        int64_t code = itg_load(storage, codes, i) - zero_point, c = i % v->channels;
        if (code > 0)
            above[c] = itg_add_saturated(above[c], code);
        else
            below[c] = itg_add_saturated(below[c], code);
    }
}

/* ---- storing ---- */

static void key_view(itg_key_state *k, const itg_key *content, const itg_shape *shape,
                     const itg_quantizer *q)
{
    itg_key_key(k, content);
    itg_key_int(k, shape->rank);
    for (int32_t i = 0; i < shape->rank; i++)
        itg_key_int(k, shape->dims[i]);
    itg_key_int(k, q->storage);
    itg_key_int(k, q->zero_point);
}

static itg_key source_key(const itg_key *content, const itg_constant_source *s)
{
    const itg_quantizer *q = s->q;
    itg_key_state k;
    itg_key_begin(&k, TAG_CONSTANT);
    key_view(&k, content, &s->shape, q);
    const int64_t numbers[] = {s->last_axis, q->bits, q->qmin, q->qmax, q->axis, q->scale_count};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        itg_key_int(&k, numbers[i]);
    itg_key_int(&k, s->packed != NULL);
    for (int32_t i = 0; i < q->scale_count && s->packed == NULL; i++)
        itg_key_float(&k, q->scale[i]);
    itg_key_int(&k, s->least != NULL ? s->span : 0);
    for (int32_t i = 0; i < q->scale_count && s->least != NULL; i++)
        itg_key_int(&k, s->least[i]);
    return itg_key_end(&k);
}

const itg_constant *itg_constant_find(itg_cache *cache, const itg_key *key, size_t bytes)
{
    return itg_cache_fetch(cache, key, HEAD + bytes);
}

itg_constant *itg_constant_make(itg_cache *cache, const itg_key *key, size_t bytes, double cost,
                                void **codes)
{
    unsigned char *memory =
        bytes > SIZE_MAX - HEAD ? NULL : itg_cache_reserve(cache, key, HEAD + bytes, cost, true);
    if (memory == NULL) return NULL;
    itg_constant *made = (itg_constant *)(void *)memory;
    *made = (itg_constant){.codes = memory + HEAD};
    *codes = memory + HEAD;
    return made;
}

void itg_constant_commit(itg_cache *cache, itg_constant *made, size_t bytes)
{
    made->content = itg_content_key(made->codes, bytes);
    itg_cache_commit(cache, made);
}

/* Bytes of the sums of channels, rounded up to 64; the codes follow. */
static size_t sums_bytes(int64_t channels)
{
    return (2 * (size_t)channels * sizeof(int64_t) + 63) / 64 * 64;
}

/* Returns room for codes and sums, or NULL with found set if cached. Both NULL: no memory. */
static itg_constant *reserve(itg_cache *cache, const itg_key *key, const channel_view *v,
                             itg_dtype storage, const itg_constant **found)
{
    const size_t sums = sums_bytes(v->channels),
                 bytes = sums + (size_t)(v->channels * v->terms) * itg_dtype_size(storage);
    void *memory;
    *found = itg_constant_find(cache, key, bytes);
    if (*found != NULL) return NULL;
    itg_constant *made = itg_constant_make(
        cache, key, bytes, element_cost * (double)(v->channels * v->terms), &memory);
    if (made == NULL) return NULL;
    *made = (itg_constant){.terms = v->stride == 1 ? v->terms : 0,
                           .channels = v->channels,
                           .above = memory,
                           .below = (int64_t *)memory + v->channels,
                           .codes = (unsigned char *)memory + sums};
    return made;
}

/* Computes the sums of the codes that were written into made. */
static void complete(itg_cache *cache, itg_constant *made, const channel_view *v,
                     const itg_quantizer *q)
{
    int64_t *above = (int64_t *)(uintptr_t)made->above, *below = above + v->channels;
    if (v->stride != 1) strided_sums(q->storage, made->codes, v, q->zero_point, above, below);
    for (int64_t c = 0; c < v->channels && v->stride == 1; c++)
        itg_code_sums(q->storage, made->codes, c * v->terms, v->terms, q->zero_point, &above[c],
                      &below[c]);
    itg_constant_commit(cache, made, (size_t)(v->channels * v->terms) * itg_dtype_size(q->storage));
}

static void unpack_rows(const itg_constant_source *s, int64_t elements, void *codes)
{
    const itg_quantizer *q = s->q;
    itg_packed_unpack(s->packed, q->bits, q->is_signed, elements, itg_dtype_size(q->storage),
                      codes);
    const int64_t run = itg_scale_run(q, &s->shape), middle = (int64_t)1 << (q->bits - 1);
    for (int64_t i = 0; i < elements && s->least != NULL; i++)
        itg_store(q->storage, codes, i,
                  itg_load(q->storage, codes, i) + middle + s->least[i / run % q->scale_count]);
}

const itg_constant *itg_constant_take(itg_cache *cache, const itg_key *content,
                                      const itg_constant_source *s)
{
    const channel_view v = channels_of(&s->shape, s->last_axis);
    itg_key computed, key;
    const itg_constant *found;
    const int64_t elements = v.channels * v.terms;
    if (s->packed != NULL || content == NULL) {
        computed = s->packed != NULL
                       ? itg_content_key(s->packed, (size_t)itg_packed_bytes(elements, s->q->bits))
                       : itg_content_key(s->data, (size_t)elements * sizeof *s->data);
        content = &computed;
    }
    key = source_key(content, s);
    itg_constant *made = reserve(cache, &key, &v, s->q->storage, &found);
    if (made == NULL) return found;
    void *codes = (void *)(uintptr_t)made->codes;
    if (s->packed == NULL)
        quantize_rows(s, codes);
    else
        unpack_rows(s, elements, codes);
    complete(cache, made, &v, s->q);
    return made;
}

/* Transposes one matrix of elements of `size` bytes, in squares that fit a cache. */
static void exchange_matrix(const unsigned char *from, int64_t rows, int64_t columns, size_t size,
                            unsigned char *to)
{
    enum { SIDE = 32 };
    for (int64_t row = 0; row < rows; row += SIDE)
        for (int64_t column = 0; column < columns; column += SIDE)
            for (int64_t c = column; c < columns && c < column + SIDE; c++)
                for (int64_t r = row; r < rows && r < row + SIDE; r++)
                    memcpy(to + (size_t)(c * rows + r) * size,
                           from + (size_t)(r * columns + c) * size, size);
}

const itg_constant *itg_constant_exchange(itg_cache *cache, const itg_constant *from,
                                          const itg_shape *shape, const itg_quantizer *q)
{
    const int64_t rows = shape->dims[shape->rank - 2], columns = shape->dims[shape->rank - 1];
    const int64_t elements = itg_dims_product(shape, 0, shape->rank);
    const channel_view v = {elements / rows, rows, rows, 1};
    const itg_constant *found;
    itg_key_state k;
    itg_key_begin(&k, TAG_EXCHANGED);
    key_view(&k, &from->content, shape, q);
    const itg_key key = itg_key_end(&k);
    itg_constant *made = reserve(cache, &key, &v, q->storage, &found);
    if (made == NULL) return found;
    const size_t size = itg_dtype_size(q->storage);
    for (int64_t at = 0; at < elements; at += rows * columns) {
        const unsigned char *matrix = (const unsigned char *)from->codes + (size_t)at * size;
        unsigned char *to = (unsigned char *)(uintptr_t)made->codes + (size_t)at * size;
        if (size == 1)
            exchange_matrix(matrix, rows, columns, 1, to);
        else if (size == 2)
            exchange_matrix(matrix, rows, columns, 2, to);
        else
            exchange_matrix(matrix, rows, columns, size, to);
    }
    complete(cache, made, &v, q);
    return made;
}
