#include "kernels/constants.h"
#include "kernels/block_ops.h"
#include "kernels/requant.h"

enum { TAG_CONTENT = 5, TAG_CONSTANT = 102, HEAD = (sizeof(itg_constant) + 63) / 64 * 64 };

/* Quantizing, summing and hashing an element, in multiplications of a fast kernel: what other
 * pieces of a cache are weighed by is about this rough. */
static const double element_cost = 8;

itg_key itg_content_key(const void *data, size_t bytes)
{
    itg_key_state k;
    itg_key_begin(&k, TAG_CONTENT);
    itg_key_bytes(&k, data, bytes);
    return itg_key_end(&k);
}

static int64_t elements_of(const itg_shape *shape, int32_t from)
{
    int64_t n = 1;
    for (int32_t i = from; i < shape->rank; i++)
        n *= shape->dims[i];
    return n;
}

/* ---- codes ---- */

/* Elements [first, first + n) have one scale. */
static void quantize_run(const itg_constant_source *s, int64_t first, int64_t n, const float *scale,
                         void *codes)
{
    itg_quantizer q = *s->q;
    q.scale = scale;
    unsigned char *out = codes;
    itg_block_quantize(&q, s->data + first, n, out + (size_t)first * itg_dtype_size(q.storage));
}

static void quantize_rows(const itg_constant_source *s, void *codes)
{
    int64_t elements = elements_of(&s->shape, 0), inner = elements;
    if (s->q->axis >= 0) inner = elements_of(&s->shape, s->q->axis + 1);
    if (inner == 1 && elements > 1) { /* the scales run along the last dim */
        for (int64_t i = 0; i < elements; i++)
            itg_store(s->q->storage, codes, i,
                      itg_quantize_f32(s->data[i], s->q->scale[i % s->q->scale_count],
                                       s->q->zero_point, s->q->qmin, s->q->qmax));
        return;
    }
    for (int64_t i = 0; i * inner < elements; i++)
        quantize_run(s, i * inner, inner, &s->q->scale[i % s->q->scale_count], codes);
}

/* Matrices [rows, columns] become [columns, rows]. */
static void quantize_exchanged(const itg_constant_source *s, void *codes)
{
    const int64_t rows = s->shape.dims[s->shape.rank - 2],
                  columns = s->shape.dims[s->shape.rank - 1], elements = elements_of(&s->shape, 0);
    int64_t inner = s->q->axis < 0 ? elements : elements_of(&s->shape, s->q->axis + 1);
    for (int64_t i = 0; i < elements; i++) {
        int64_t matrix = i / columns / rows, row = i / columns % rows, column = i % columns;
        int64_t code = itg_quantize_f32(s->data[i], s->q->scale[i / inner % s->q->scale_count],
                                        s->q->zero_point, s->q->qmin, s->q->qmax);
        itg_store(s->q->storage, codes, (matrix * columns + column) * rows + row, code);
    }
}

void itg_quantize_constant(const itg_constant_source *source, void *codes)
{
    if (source->exchange)
        quantize_exchanged(source, codes);
    else
        quantize_rows(source, codes);
}

/* ---- sums ---- */

static int64_t add(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b) return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b) return INT64_MIN;
    return a + b;
}

/* Fewer than 2^31 elements of at most 17 bits: no sum leaves 48 bits. */
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
            *above = add(*above, v);
        else
            *below = add(*below, v);
    }
}

/* ---- keeping ---- */

static itg_key key_of(const itg_key *content, const itg_constant_source *s)
{
    const itg_quantizer *q = s->q;
    itg_key_state k;
    itg_key_begin(&k, TAG_CONSTANT);
    itg_key_key(&k, content);
    itg_key_int(&k, s->exchange);
    itg_key_int(&k, s->shape.rank);
    for (int32_t i = 0; i < s->shape.rank; i++)
        itg_key_int(&k, s->shape.dims[i]);
    const int64_t numbers[] = {(int64_t)q->storage, q->qmin, q->qmax,
                               q->zero_point,       q->axis, q->scale_count};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        itg_key_int(&k, numbers[i]);
    for (int32_t i = 0; i < q->scale_count; i++)
        itg_key_float(&k, q->scale[i]);
    return itg_key_end(&k);
}

const itg_constant *itg_constant_find(const itg_constants *constants, const itg_key *key,
                                      size_t bytes)
{
    return itg_cache_fetch(constants->cache, key, HEAD + bytes);
}

itg_constant *itg_constant_make(const itg_constants *constants, const itg_key *key, size_t bytes,
                                double cost, void **codes)
{
    unsigned char *memory = bytes > SIZE_MAX - HEAD ? NULL
                                                    : itg_cache_reserve(constants->cache, key,
                                                                        HEAD + bytes, cost, true);
    if (memory == NULL) return NULL;
    itg_constant *made = (itg_constant *)(void *)memory;
    *made = (itg_constant){.codes = memory + HEAD};
    *codes = memory + HEAD;
    return made;
}

void itg_constant_commit(const itg_constants *constants, itg_constant *made, size_t bytes)
{
    made->content = itg_content_key(made->codes, bytes);
    itg_cache_commit(constants->cache, made);
}

const itg_constant *itg_constant_take(const itg_constants *constants, const itg_key *content,
                                      const itg_constant_source *s)
{
    const int32_t rank = s->shape.rank;
    const int64_t elements = elements_of(&s->shape, 0);
    const int64_t terms = rank == 0     ? 1
                          : s->exchange ? s->shape.dims[rank - 2]
                                        : elements / s->shape.dims[0];
    const int64_t rows = elements / terms;
    /* The sums, then the codes at the next multiple of 64. */
    const size_t size = itg_dtype_size(s->q->storage),
                 sums = (2 * (size_t)rows * sizeof(int64_t) + 63) / 64 * 64;
    const size_t bytes = sums + (size_t)elements * size;
    itg_key key = key_of(content, s);
    const itg_constant *found = itg_constant_find(constants, &key, bytes);
    if (found != NULL) return found;
    void *memory;
    itg_constant *made =
        itg_constant_make(constants, &key, bytes, element_cost * (double)elements, &memory);
    if (made == NULL) return NULL;
    int64_t *above = memory, *below = above + rows;
    void *codes = (unsigned char *)memory + sums;
    itg_quantize_constant(s, codes);
    for (int64_t i = 0; i < rows; i++)
        itg_code_sums(s->q->storage, codes, i * terms, terms, s->q->zero_point, &above[i],
                      &below[i]);
    *made = (itg_constant){
        .rows = rows, .terms = terms, .above = above, .below = below, .codes = codes};
    itg_constant_commit(constants, made, (size_t)elements * size);
    return made;
}
