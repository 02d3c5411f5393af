/* IDX, the format of the MNIST files: 00 00 type rank, then rank big-endian 32-bit sizes, then
 * big-endian elements (http://yann.lecun.com/exdb/mnist). */
#include "sim/reader.h"

static bool idx_dtype(unsigned char code, itg_dtype *out)
{
    switch (code) {
    case 0x08:
        *out = ITG_U8;
        return true;
    case 0x09:
        *out = ITG_S8;
        return true;
    case 0x0B:
        *out = ITG_S16;
        return true;
    case 0x0C:
        *out = ITG_S32;
        return true;
    case 0x0D:
        *out = ITG_F32;
        return true;
    case 0x0E:
        *out = ITG_F64;
        return true;
    default:
        return false;
    }
}

bool itg_idx_is(const itg_reader *reader)
{
    itg_dtype dtype;
    return reader->head_count >= 4 && reader->head[0] == 0 && reader->head[1] == 0 &&
           idx_dtype(reader->head[2], &dtype);
}

itg_status itg_idx_header(itg_reader *reader, itg_array_header *out, itg_error *err)
{
    unsigned char magic[4], sizes[4 * ITG_MAX_RANK];
    itg_array_header header = {.big_endian = true};
    itg_status status = itg_reader_exact(reader, magic, sizeof magic, "IDX header", err);
    if (status != ITG_OK) return status;
    if (!idx_dtype(magic[2], &header.dtype))
        return itg_fail(err, ITG_BAD_FILE, "%s: byte 2: unknown IDX element type 0x%02x",
                        reader->name, magic[2]);
    if (magic[3] < 1 || magic[3] > ITG_MAX_RANK)
        return itg_fail(err, ITG_BAD_FILE, "%s: byte 3: IDX rank %d; expected 1..%d", reader->name,
                        magic[3], ITG_MAX_RANK);
    header.shape.rank = magic[3];
    header.bytes = 4 + 4 * magic[3];
    status = itg_reader_exact(reader, sizes, 4 * (size_t)magic[3], "IDX header", err);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < header.shape.rank; i++) {
        const unsigned char *b = sizes + 4 * i;
        header.shape.dims[i] =
            (int64_t)b[0] << 24 | (int64_t)b[1] << 16 | (int64_t)b[2] << 8 | b[3];
    }
    *out = header;
    return ITG_OK;
}
