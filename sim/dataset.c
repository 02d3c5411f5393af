/* Datasets held whole in memory, hashed independently of their container. */
#include "sim/reader.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Dtype name, rank, dims, elements: everything little-endian. */
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

static itg_status new_dataset(const char *path, itg_dataset **out, itg_error *err)
{
    itg_dataset *data = calloc(1, sizeof *data);
    size_t bytes = strlen(path) + 1;
    if (data) data->path = malloc(bytes);
    if (!data || !data->path) {
        free(data);
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory", path);
    }
    memcpy(data->path, path, bytes);
    *out = data;
    return ITG_OK;
}

void itg_data_close(itg_dataset *data)
{
    if (!data) return;
    free(data->data);
    free(data->path);
    free((void *)(uintptr_t)data->numbers);
    free(data);
}

int64_t itg_dataset_number(const itg_dataset *data, int64_t sample)
{
    return data->numbers ? data->numbers[sample] : data->first + sample;
}

itg_status itg_data_open(const char *path, int64_t limit, itg_dataset **out, itg_error *err)
{
    itg_data_stream *stream = NULL;
    itg_dataset *data = NULL;
    itg_status status = itg_data_stream_open(path, limit, &stream, err);
    if (status == ITG_OK) status = new_dataset(path, &data, err);
    if (status == ITG_OK) status = itg_array_all(&stream->reader, &stream->array, &data->data, err);
    if (status == ITG_OK) status = itg_array_end(&stream->reader, &stream->array, err);
    if (status == ITG_OK) {
        data->dtype = stream->array.dtype;
        data->shape = stream->array.shape;
        hash_dataset(data);
        *out = data;
    } else {
        itg_data_close(data);
    }
    itg_data_stream_close(stream);
    return status;
}

static size_t sample_bytes(const itg_dataset *data)
{
    size_t bytes = itg_dtype_size(data->dtype);
    for (int32_t i = 1; i < data->shape.rank; i++)
        bytes *= (size_t)data->shape.dims[i];
    return bytes;
}

itg_status itg_dataset_select(const itg_dataset *data, const int64_t *samples, int64_t count,
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
    itg_status status = new_dataset(data->path, &chosen, err);
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

itg_status itg_labels_check(const itg_dataset *labels, int64_t samples, itg_error *err)
{
    int64_t count = itg_data_samples(labels);
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
    itg_status status = new_dataset(name, &data, err);
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
