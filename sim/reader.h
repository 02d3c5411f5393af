/* Private to dataset.c, npy.c, npz.c, idx.c: a stream of bytes (plain file, inflated gzip file, zip
 * entry) and the array payload behind a header. A header's claims are checked against what the
 * stream can hold before anything is allocated. */
#ifndef ITG_READER_H
#define ITG_READER_H
#include "sim/sim.h"

/* Deflate cannot expand more than this: 258 bytes from 2 bits. */
#define ITG_DEFLATE_RATIO 1032
/* Most bytes that one compressed array may inflate to. */
#define ITG_MAX_INFLATED ((int64_t)1 << 32)
#define ITG_READER_HEAD 8

typedef struct itg_reader {
    const char *name; /* for errors; borrowed */
    void *handle;
    int64_t (*read)(void *handle, void *out, size_t bytes); /* delivered; 0: end; -1: damaged */
    int64_t size;     /* total bytes; -1: known only at the end */
    int64_t max_size; /* it cannot deliver more than this */
    bool inflates;    /* compressed: the end and checksum show only when reached */
    unsigned char head[ITG_READER_HEAD]; /* first bytes, looked at before and delivered first */
    size_t head_count, head_used;
} itg_reader;

/* The first bytes into head, for telling formats apart. */
itg_status itg_reader_peek(itg_reader *reader, itg_error *err);
/* All of it or ITG_BAD_FILE ("ends within its <what>"). */
itg_status itg_reader_exact(itg_reader *reader, void *out, size_t bytes, const char *what,
                            itg_error *err);

typedef struct itg_array_header {
    itg_dtype dtype;
    itg_shape shape; /* rank 0: refused by itg_reader_array */
    bool big_endian;
    int64_t bytes; /* of the header itself */
} itg_array_header;
/* Elements behind a header that was just read: checks every size, keeps the first `limit` samples
 * (0: all), checks that the stream ends where the array does. Fills dtype, shape, data of out. */
itg_status itg_reader_array(itg_reader *reader, const itg_array_header *header, int64_t limit,
                            itg_dataset *out, itg_error *err);

/* npy.c, idx.c: header and elements of a stream whose head was peeked. */
bool itg_npy_is(const itg_reader *reader);
itg_status itg_npy_read(itg_reader *reader, int64_t limit, itg_dataset *out, itg_error *err);
bool itg_idx_is(const itg_reader *reader);
itg_status itg_idx_read(itg_reader *reader, int64_t limit, itg_dataset *out, itg_error *err);
/* npz.c: takes fd over. entry NULL: the archive's only array. */
itg_status itg_npz_read(int fd, const char *path, const char *entry, int64_t file_size,
                        int64_t limit, itg_dataset *out, itg_error *err);
#endif
