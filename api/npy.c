/* Outputs of a program as .npy files (format 1.0: numpy's own documentation, numpy.lib.format). */
#include "api/npy.h"
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

static const char *npy_type(itg_dtype dtype)
{
    switch (dtype) {
    case ITG_F32:
        return "<f4";
    case ITG_F64:
        return "<f8";
    case ITG_S8:
        return "|i1";
    case ITG_U8:
        return "|u1";
    case ITG_BOOL:
        return "|b1";
    case ITG_S16:
        return "<i2";
    case ITG_U16:
        return "<u2";
    case ITG_S32:
        return "<i4";
    case ITG_U32:
        return "<u4";
    default:
        return "<i8";
    }
}

/* Format 1.0: magic, version, header length, a Python dict padded with spaces to a multiple of 64,
 * then the elements. Samples take the place of a batch dimension of 1; outputs without one keep all
 * their dimensions behind it. */
static void npy_header(itg_strbuf *out, const itg_tensor *t, int64_t samples)
{
    itg_strbuf dict = {0};
    itg_strbuf_format(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (%lld,",
                      npy_type(t->dtype), (long long)samples);
    for (int32_t d = t->shape.rank > 0 && t->shape.dims[0] == 1; d < t->shape.rank; d++)
        itg_strbuf_format(&dict, " %lld,", (long long)t->shape.dims[d]);
    itg_strbuf_add(&dict, "), }");
    while ((10 + dict.length + 1) % 64)
        itg_strbuf_add(&dict, " ");
    itg_strbuf_add(&dict, "\n");
    unsigned char head[10] = {0x93,
                              'N',
                              'U',
                              'M',
                              'P',
                              'Y',
                              1,
                              0,
                              (unsigned char)(dict.length & 255),
                              (unsigned char)(dict.length >> 8)};
    itg_strbuf_bytes(out, head, sizeof head);
    if (dict.text) itg_strbuf_bytes(out, dict.text, dict.length);
    out->failed |= dict.failed;
    itg_strbuf_deinit(&dict);
}

itg_status itg_npy_add(itg_npy_sink *sink, const itg_tensor *outputs, int32_t count, itg_error *err)
{
    for (int32_t i = 0; i < count; i++) {
        itg_strbuf *out = &sink->files[i];
        size_t size = itg_dtype_size(outputs[i].dtype), bytes = itg_tensor_bytes(&outputs[i]);
        if (sink->seen == 0) npy_header(out, &outputs[i], sink->samples);
        unsigned char *copy = malloc(bytes + 1);
        if (!copy) return itg_fail(err, ITG_NO_MEMORY, "no memory for the outputs");
        itg_copy_little_endian(copy, outputs[i].data, bytes / size, size);
        itg_strbuf_bytes(out, copy, bytes);
        free(copy);
        if (!itg_strbuf_ok(out)) return itg_fail(err, ITG_NO_MEMORY, "no memory for the outputs");
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
