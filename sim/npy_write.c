/* Writes arrays as .npy (format 1.0: numpy's own documentation, numpy.lib.format), and several
 * arrays as an uncompressed .npz. */
#include "sim/npy_write.h"
#include <intaglio/intaglio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

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

/* Writes magic, version, header length, and a Python dict padded to a multiple of 64 bytes. */
void itg_npy_write_header(itg_strbuf *out, itg_dtype dtype, const int64_t *dims, int32_t rank)
{
    itg_strbuf dict = {0};
    itg_strbuf_format(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", npy_type(dtype));
    for (int32_t d = 0; d < rank; d++)
        itg_strbuf_format(&dict, "%s%lld,", d == 0 ? "" : " ", (long long)dims[d]);
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

bool itg_npy_write_elements(itg_strbuf *out, const itg_tensor *t)
{
    size_t size = itg_dtype_size(t->dtype), bytes = itg_tensor_bytes(t);
    unsigned char *copy = malloc(bytes + 1);
    if (!copy) return false;
    itg_copy_little_endian(copy, t->data, bytes / size, size);
    itg_strbuf_bytes(out, copy, bytes);
    free(copy);
    return itg_strbuf_ok(out);
}

static bool write_array(itg_strbuf *out, const itg_tensor *t)
{
    itg_npy_write_header(out, t->dtype, t->shape.dims, t->shape.rank);
    return itg_npy_write_elements(out, t);
}

itg_status itg_tensor_write_npy(const itg_tensor *t, const char *path, itg_error *err)
{
    itg_strbuf bytes = {0};
    itg_status status = write_array(&bytes, t)
                            ? itg_file_write(path, bytes.text, bytes.length, err)
                            : itg_fail(err, ITG_NO_MEMORY, "%s: no memory", path);
    itg_strbuf_deinit(&bytes);
    return status;
}

static bool add_entry(zip_t *zip, const char *name, const itg_tensor *t, itg_strbuf *bytes)
{
    itg_strbuf entry = {0};
    itg_strbuf_format(&entry, "%s.npy", name);
    bool ok = write_array(bytes, t) && itg_strbuf_ok(&entry);
    zip_source_t *source = ok ? zip_source_buffer(zip, bytes->text, bytes->length, 0) : NULL;
    zip_int64_t at = source ? zip_file_add(zip, entry.text, source, ZIP_FL_ENC_UTF_8) : -1;
    if (source && at < 0) zip_source_free(source);
    if (at >= 0) ok = zip_set_file_compression(zip, (zip_uint64_t)at, ZIP_CM_STORE, 0) == 0;
    itg_strbuf_deinit(&entry);
    return ok && at >= 0;
}

itg_status itg_tensors_write_npz(const char *const *names, const itg_tensor *tensors, int32_t count,
                                 const char *path, itg_error *err)
{
    int why = 0;
    itg_strbuf *bytes = calloc((size_t)count + 1, sizeof *bytes); /* zip_close reads them */
    zip_t *zip = bytes ? zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &why) : NULL;
    bool ok = zip != NULL;
    for (int32_t i = 0; i < count && ok; i++)
        ok = add_entry(zip, names[i], &tensors[i], &bytes[i]);
    if (zip && (!ok || zip_close(zip) != 0)) {
        zip_discard(zip);
        ok = false;
    }
    for (int32_t i = 0; bytes && i < count; i++)
        itg_strbuf_deinit(&bytes[i]);
    free(bytes);
    return ok ? ITG_OK : itg_fail(err, ITG_IO, "%s: cannot be written", path);
}
