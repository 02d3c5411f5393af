/* Datasets in memory. Their hash does not depend on the file format. */
#include "sim/reader.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Hashes dtype name, rank and dimensions; the elements follow. Numbers are little-endian. */
void itg_dataset_hash_begin(itg_sha256 *hash, itg_dtype dtype, const itg_shape *shape)
{
    unsigned char buffer[8 * ITG_MAX_RANK];
    const char *name = itg_dtype_name(dtype);
    const int64_t rank = shape->rank;
    itg_sha256_init(hash);
    itg_sha256_update(hash, name, strlen(name) + 1);
    itg_copy_little_endian(buffer, &rank, 1, sizeof rank);
    itg_sha256_update(hash, buffer, 8);
    itg_copy_little_endian(buffer, shape->dims, (size_t)rank, sizeof(int64_t));
    itg_sha256_update(hash, buffer, 8 * (size_t)rank);
}

void itg_dataset_hash_add(itg_sha256 *hash, itg_dtype dtype, const void *data, int64_t elements)
{
    enum { CHUNK = 512 };
    unsigned char buffer[CHUNK * 8];
    const size_t size = itg_dtype_size(dtype);
    for (int64_t i = 0; i < elements; i += CHUNK) {
        size_t count = elements - i < CHUNK ? (size_t)(elements - i) : CHUNK;
        itg_copy_little_endian(buffer, (const unsigned char *)data + (size_t)i * size, count, size);
        itg_sha256_update(hash, buffer, count * size);
    }
}

static void hash_dataset(itg_dataset *data)
{
    itg_sha256 hash;
    int64_t elements = 0;
    itg_shape_elements(&data->shape, &elements);
    itg_dataset_hash_begin(&hash, data->dtype, &data->shape);
    itg_dataset_hash_add(&hash, data->dtype, data->data, elements);
    itg_sha256_final(&hash, data->hash);
}

/* Returns the part whose name follows `last` alphabetically (NULL: the first). */
static const itg_dataset *next_by_name(const itg_dataset *first, const char *last)
{
    const itg_dataset *next = NULL;
    for (; first; first = first->next_input)
        if ((!last || strcmp(first->input, last) > 0) &&
            (!next || strcmp(first->input, next->input) < 0))
            next = first;
    return next;
}

void itg_dataset_hash_all(itg_dataset *first)
{
    itg_sha256 hash;
    const itg_dataset *part = first->next_input ? next_by_name(first, NULL) : NULL;
    if (!part) return;
    itg_sha256_init(&hash);
    for (; part; part = next_by_name(first, part->input)) {
        itg_sha256_update(&hash, part->input, strlen(part->input) + 1);
        itg_sha256_update(&hash, part->hash, sizeof part->hash);
    }
    itg_sha256_final(&hash, first->hash);
}

/* input NULL: data of a network's only input. */
static itg_status new_dataset(const char *path, const char *input, itg_dataset **out,
                              itg_error *err)
{
    itg_dataset *data = calloc(1, sizeof *data);
    if (data) {
        data->path = itg_copy_text(path);
        data->input = input ? itg_copy_text(input) : NULL;
    }
    if (!data || !data->path || (input && !data->input)) {
        itg_data_close(data);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory", path);
    }
    *out = data;
    return ITG_OK;
}

void itg_data_close(itg_dataset *data)
{
    while (data) {
        itg_dataset *next = data->next_input;
        free(data->data);
        free(data->path);
        free(data->input);
        free((void *)(uintptr_t)data->numbers);
        free(data);
        data = next;
    }
}

int64_t itg_dataset_number(const itg_dataset *data, int64_t sample)
{
    return data->numbers ? data->numbers[sample] : data->first + sample;
}

/* Reads the first array of the stream completely. */
static itg_status read_array(itg_data_stream *stream, itg_dataset **out, itg_error *err)
{
    itg_dataset *data = NULL;
    itg_status status = new_dataset(stream->path, stream->input, &data, err);
    if (status == ITG_OK) status = itg_array_all(&stream->reader, &stream->array, &data->data, err);
    if (status == ITG_OK) status = itg_array_end(&stream->reader, &stream->array, err);
    if (status != ITG_OK) {
        itg_data_close(data);
        return status;
    }
    data->dtype = stream->array.dtype;
    data->shape = stream->array.shape;
    hash_dataset(data);
    *out = data;
    return ITG_OK;
}

itg_status itg_data_open(const char *text, int64_t limit, itg_dataset **out, itg_error *err)
{
    itg_data_stream *streams = NULL;
    itg_dataset *data = NULL, **end = &data;
    itg_status status = itg_data_stream_open(text, limit, &streams, err);
    for (itg_data_stream *s = streams; s && status == ITG_OK; s = s->next_input) {
        status = read_array(s, end, err);
        if (status == ITG_OK) end = &(*end)->next_input;
    }
    if (status == ITG_OK) {
        itg_dataset_hash_all(data);
        *out = data;
    } else {
        itg_data_close(data);
    }
    itg_data_stream_close(streams);
    return status;
}

static itg_status check_part(const itg_dataset *part, const char *input, const itg_dataset *first,
                             itg_error *err)
{
    if (part->next_input)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s: it has several arrays already", part->path);
    return itg_check_sample_counts(part, input, first, err);
}

itg_status itg_data_join(itg_dataset *const *parts, const char *const *inputs, int32_t count,
                         itg_dataset **out, itg_error *err)
{
    char **names = count > 0 ? calloc((size_t)count, sizeof *names) : NULL;
    itg_status status = count < 1 ? itg_fail(err, ITG_BAD_ARGUMENT, "data of no input")
                        : names   ? ITG_OK
                                  : itg_fail(err, ITG_NO_MEMORY, "no memory for names");
    for (int32_t i = 0; i < count && status == ITG_OK; i++) {
        status = check_part(parts[i], inputs[i], parts[0], err);
        names[i] = itg_copy_text(inputs[i]);
        if (status == ITG_OK && !names[i])
            status = itg_fail(err, ITG_NO_MEMORY, "no memory for names");
    }
    for (int32_t i = 0; i < count && status == ITG_OK; i++) {
        free(parts[i]->input);
        parts[i]->input = names[i];
        parts[i]->next_input = i + 1 < count ? parts[i + 1] : NULL;
        names[i] = NULL;
    }
    for (int32_t i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
    if (status != ITG_OK) return status;
    itg_dataset_hash_all(parts[0]);
    *out = parts[0];
    return ITG_OK;
}

static size_t sample_bytes(const itg_dataset *data)
{
    size_t bytes = itg_dtype_size(data->dtype);
    for (int32_t i = 1; i < data->shape.rank; i++)
        bytes *= (size_t)data->shape.dims[i];
    return bytes;
}

/* Selects samples of one array. */
static itg_status select_samples(const itg_dataset *data, const int64_t *samples, int64_t count,
                                 itg_dataset **out, itg_error *err)
{
    int64_t elements;
    itg_shape shape = data->shape;
    shape.dims[0] = count;
    if (count < 1) return itg_fail(err, ITG_BAD_ARGUMENT, "%s: no samples selected", data->path);
    if (!itg_shape_elements(&shape, &elements))
        return itg_fail(err, ITG_LIMIT, "%s: %" PRId64 " samples are too many elements", data->path,
                        count);
    for (int64_t i = 0; samples && i < count; i++)
        if (samples[i] < 0 || samples[i] >= data->shape.dims[0])
            return itg_fail(err, ITG_BAD_ARGUMENT, "%s: sample %" PRId64 " of %" PRId64, data->path,
                            samples[i], data->shape.dims[0]);
    itg_dataset *chosen = NULL;
    itg_status status = new_dataset(data->path, data->input, &chosen, err);
    if (status != ITG_OK) return status;
    size_t bytes = sample_bytes(data);
    chosen->dtype = data->dtype;
    chosen->shape = shape;
    chosen->data = malloc(bytes * (size_t)count);
    int64_t *numbers = malloc(sizeof *numbers * (size_t)count);
    chosen->numbers = numbers;
    if (!chosen->data || !numbers) {
        itg_data_close(chosen);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for %" PRId64 " samples", data->path,
                        count);
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t sample = samples ? samples[i] : i;
        numbers[i] = itg_dataset_number(data, sample);
        memcpy((unsigned char *)chosen->data + (size_t)i * bytes,
               (const unsigned char *)data->data + (size_t)sample * bytes, bytes);
    }
    hash_dataset(chosen);
    *out = chosen;
    return ITG_OK;
}

itg_status itg_dataset_select(const itg_dataset *data, const int64_t *samples, int64_t count,
                              itg_dataset **out, itg_error *err)
{
    itg_dataset *chosen = NULL, **end = &chosen;
    itg_status status = ITG_OK;
    for (; data && status == ITG_OK; data = data->next_input) {
        status = select_samples(data, samples, count, end, err);
        if (status == ITG_OK) end = &(*end)->next_input;
    }
    if (status != ITG_OK) {
        itg_data_close(chosen);
        return status;
    }
    itg_dataset_hash_all(chosen);
    *out = chosen;
    return ITG_OK;
}

bool itg_dataset_integer(const itg_dataset *data, int64_t i, int64_t *out)
{
    double real = 0;
    switch (data->dtype) {
    case ITG_U8:
        *out = ((const uint8_t *)data->data)[i];
        return true;
    case ITG_S8:
        *out = ((const int8_t *)data->data)[i];
        return true;
    case ITG_U16:
        *out = ((const uint16_t *)data->data)[i];
        return true;
    case ITG_S16:
        *out = ((const int16_t *)data->data)[i];
        return true;
    case ITG_U32:
        *out = ((const uint32_t *)data->data)[i];
        return true;
    case ITG_S32:
        *out = ((const int32_t *)data->data)[i];
        return true;
    case ITG_BOOL:
        *out = ((const uint8_t *)data->data)[i] != 0;
        return true;
    case ITG_S64:
        *out = ((const int64_t *)data->data)[i];
        return true;
    case ITG_F32:
        real = (double)((const float *)data->data)[i];
        break;
    case ITG_F64:
        real = ((const double *)data->data)[i];
        break;
    default:
        return false;
    }
    if (!(real >= -0x1p53 && real <= 0x1p53)) return false;
    *out = (int64_t)real;
    return (double)*out == real;
}

itg_status itg_check_sample_counts(const itg_dataset *part, const char *input,
                                   const itg_dataset *first, itg_error *err)
{
    int64_t count = itg_data_samples(part), wanted = itg_data_samples(first);
    if (count == wanted) return ITG_OK;
    return itg_fail(err, ITG_MISMATCH,
                    "input '%s': %s: %" PRId64 " sample%s; expected %" PRId64 ", as in %s", input,
                    part->path, count, itg_plural(count), wanted, first->path);
}

itg_status itg_labels_check(const itg_dataset *labels, int64_t samples, itg_error *err)
{
    int64_t count = itg_data_samples(labels);
    if (labels->next_input)
        return itg_fail(err, ITG_BAD_FILE,
                        "%s: one of several arrays; labels are a single one, as in FILE:ARRAY",
                        labels->path);
    if (count == samples) return ITG_OK;
    return itg_fail(err, ITG_MISMATCH,
                    "%s: %" PRId64 " label%s, but the data has %" PRId64 " sample%s", labels->path,
                    count, itg_plural(count), samples, itg_plural(samples));
}

itg_status itg_dataset_labels(const itg_dataset *data, int64_t **out, int64_t *count,
                              itg_error *err)
{
    char text[128];
    int64_t n = data->shape.dims[0];
    if (data->shape.rank != 1 && !(data->shape.rank == 2 && data->shape.dims[1] == 1))
        return itg_fail(err, ITG_BAD_FILE, "%s: shape %s; expected labels [N] or [N,1]", data->path,
                        itg_shape_text(&data->shape, text, sizeof text));
    int64_t *labels = malloc((size_t)n * sizeof *labels);
    if (!labels)
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for %" PRId64 " labels", data->path, n);
    for (int64_t i = 0; i < n; i++) {
        if (itg_dataset_integer(data, i, &labels[i])) continue;
        free(labels);
        return itg_fail(err, ITG_BAD_FILE, "%s: label %" PRId64 " is not an integer", data->path,
                        i);
    }
    *out = labels;
    *count = n;
    return ITG_OK;
}

int64_t itg_data_samples(const itg_dataset *data)
{
    return data->shape.rank > 0 ? data->shape.dims[0] : 0;
}

const unsigned char *itg_data_hash(const itg_dataset *data)
{
    return data->hash;
}

itg_status itg_data_from_memory(const itg_tensor *array, const char *name, itg_dataset **out,
                                itg_error *err)
{
    itg_dataset *data = NULL;
    int64_t elements = 0;
    if (array->shape.rank < 1 || !itg_shape_elements(&array->shape, &elements) || elements < 1)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s: expected an array of samples", name);
    itg_status status = new_dataset(name, NULL, &data, err);
    if (status != ITG_OK) return status;
    data->dtype = array->dtype;
    data->shape = array->shape;
    data->data = malloc(itg_tensor_bytes(array));
    if (!data->data) {
        itg_data_close(data);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for the samples", name);
    }
    memcpy(data->data, array->data, itg_tensor_bytes(array));
    hash_dataset(data);
    *out = data;
    return ITG_OK;
}
