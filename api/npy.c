/* Outputs of a program as .npy files. */
#include "api/npy.h"
#include "sim/npy_write.h"
#include <stdlib.h>
#include <string.h>

struct itg_npy_sink {
    int64_t samples, seen;
    int32_t count;
    itg_strbuf *files; /* [count] */
};

itg_status itg_npy_create(int64_t samples, int32_t count, itg_npy_sink **out, itg_error *err)
{
    itg_npy_sink *sink = calloc(1, sizeof *sink);
    if (sink) sink->files = calloc((size_t)count + 1, sizeof *sink->files);
    if (!sink || !sink->files) {
        free(sink);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the outputs");
    }
    sink->samples = samples;
    sink->count = count;
    *out = sink;
    return ITG_OK;
}

void itg_npy_destroy(itg_npy_sink *sink)
{
    if (!sink) return;
    for (int32_t i = 0; i < sink->count; i++)
        itg_strbuf_deinit(&sink->files[i]);
    free(sink->files);
    free(sink);
}

/* The number of samples replaces a batch dimension of 1, or precedes the dimensions of an output
 * without one. */
static void npy_header(itg_strbuf *out, const itg_tensor *t, int64_t samples)
{
    int64_t dims[ITG_MAX_RANK + 1] = {samples};
    int32_t rank = 1;
    for (int32_t d = t->shape.rank > 0 && t->shape.dims[0] == 1; d < t->shape.rank; d++)
        dims[rank++] = t->shape.dims[d];
    itg_npy_write_header(out, t->dtype, dims, rank);
}

itg_status itg_npy_add(itg_npy_sink *sink, const itg_tensor *outputs, int32_t count, itg_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        itg_strbuf *out = &sink->files[i];
        if (sink->seen == 0) npy_header(out, &outputs[i], sink->samples);
        if (!itg_npy_write_elements(out, &outputs[i]))
            return itg_fail(err, ITG_NO_MEMORY, "no memory for the outputs");
    }
    sink->seen++;
    return ITG_OK;
}

char *itg_program_npy_path(const char *npy_path, int32_t output)
{
    size_t length = strlen(npy_path);
    if (length > 4 && strcmp(npy_path + length - 4, ".npy") == 0) length -= 4;
    itg_strbuf name = {0};
    if (output == 0)
        itg_strbuf_add(&name, npy_path);
    else
        itg_strbuf_format(&name, "%.*s.%d.npy", (int)length, npy_path, (int)output);
    if (itg_strbuf_ok(&name)) return name.text;
    itg_strbuf_deinit(&name);
    return NULL;
}

itg_status itg_npy_write(const itg_npy_sink *sink, const char *path, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < sink->count && status == ITG_OK; i++) {
        char *name = itg_program_npy_path(path, i);
        const itg_strbuf *bytes = &sink->files[i];
        status = name ? itg_file_write(name, bytes->text ? bytes->text : "", bytes->length, err)
                      : itg_fail(err, ITG_NO_MEMORY, "no memory for a file name");
        free(name);
    }
    return status;
}
