/* Private to stream.c, dataset.c, csv.c, npy.c, npz.c, idx.c: a stream of bytes (plain file,
 * inflated gzip file, zip entry) and the array payload behind a header. A header's claims are
 * checked against what the stream can hold before anything is allocated. */
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
    void (*close)(void *handle);                            /* NULL: nothing to close */
    int64_t size;                        /* total bytes; -1: known only at the end */
    int64_t max_size;                    /* a bound of the bytes that it can deliver */
    bool inflates;                       /* compressed: end and checksum are checked when reached */
    unsigned char head[ITG_READER_HEAD]; /* first bytes: peeked, delivered first */
    size_t head_count, head_used;
} itg_reader;

/* Reads the first bytes into head, from which formats are recognized. */
itg_status itg_reader_peek(itg_reader *reader, itg_error *err);
/* Reads exactly `bytes` bytes, else ITG_BAD_FILE ("ends within its <what>"). */
itg_status itg_reader_exact(itg_reader *reader, void *out, size_t bytes, const char *what,
                            itg_error *err);

typedef struct itg_array_header {
    itg_dtype dtype;
    itg_shape shape; /* rank 0: refused by itg_array_begin */
    bool big_endian;
    int64_t bytes; /* of the header itself */
} itg_array_header;
/* The elements behind a header that was just read. */
typedef struct itg_array {
    itg_dtype dtype;
    itg_shape shape; /* dimension 0: the samples to keep */
    int64_t sample_bytes, kept_bytes, declared_bytes;
    bool is_swapped; /* its byte order is not the host's */
} itg_array;
/* Checks every size; keeps the first `limit` samples (0: all). */
itg_status itg_array_begin(const itg_reader *reader, const itg_array_header *header, int64_t limit,
                           itg_array *out, itg_error *err);
/* Reads the next `count` samples, in the host's byte order. */
itg_status itg_array_samples(itg_reader *reader, const itg_array *array, int64_t count, void *out,
                             itg_error *err);
/* Reads all samples into new memory, which grows while they come. */
itg_status itg_array_all(itg_reader *reader, const itg_array *array, void **out, itg_error *err);
/* After the last sample, checks that the stream ends where the array does. */
itg_status itg_array_end(itg_reader *reader, const itg_array *array, itg_error *err);

/* npy.c, idx.c: read the header of a stream whose head was peeked. */
bool itg_npy_is(const itg_reader *reader);
itg_status itg_npy_header(itg_reader *reader, itg_array_header *out, itg_error *err);
bool itg_idx_is(const itg_reader *reader);
itg_status itg_idx_header(itg_reader *reader, itg_array_header *out, itg_error *err);
/* npz.c: takes ownership of fd and sets up the reader. entry NULL: the archive's only array. */
itg_status itg_npz_open(int fd, const char *entry, int64_t file_size, itg_reader *reader,
                        itg_error *err);
/* csv.c: parses the file reader->name and sets up the reader and its header: rows of numbers, shape
 * [rows, columns]; s64 if all are written as integers, else f32. columns: the name of one; "-NAME":
 * all others; NULL: all. Columns of a file without names are numbered from 1. */
bool itg_csv_is(const char *path); /* by its name */
itg_status itg_csv_open(const char *columns, itg_reader *reader, itg_array_header *out,
                        itg_error *err);

/* Computes the hash of a dataset, sample by sample. */
void itg_dataset_hash_begin(itg_sha256 *hash, itg_dtype dtype, const itg_shape *shape);
void itg_dataset_hash_add(itg_sha256 *hash, itg_dtype dtype, const void *data, int64_t elements);

/* ITG_MISMATCH: two arrays of one set of data have different numbers of samples. */
itg_status itg_check_sample_counts(const itg_dataset *part, const char *input,
                                   const itg_dataset *first, itg_error *err);

/* sources.c: the parts of a text that says where data is (itg_data_open). */
typedef struct itg_data_source {
    char *input;        /* NULL: data of the only input */
    char *path;         /* for messages */
    char *file, *entry; /* entry NULL: the file itself, or the only array of an archive */
} itg_data_source;
typedef struct itg_data_sources {
    itg_data_source *items; /* [count], at least one */
    int32_t count;
} itg_data_sources;
itg_status itg_data_sources_read(const char *text, itg_data_sources *out, itg_error *err);
void itg_data_sources_deinit(itg_data_sources *sources);
/* Returns the names of the arrays of an .npz; the list and each name are malloc'd. *count 0: no
 * readable archive, or more than ITG_MAX_ARRAYS. */
#define ITG_MAX_ARRAYS 256
itg_status itg_npz_names(const char *path, char ***names, int32_t *count, itg_error *err);
char *itg_copy_text(const char *text); /* malloc'd */

/* stream.c: the state of an open stream. */
struct itg_data_stream {
    char *path, *file; /* for messages; the file alone */
    char *input;       /* NULL: the only one */
    itg_data_stream *next_input;
    int fd; /* of a plain file */
    itg_reader reader;
    itg_array array;
    int64_t next; /* sample */
    itg_sha256 sha256;
    unsigned char hash[32]; /* set after the last sample */
};
#endif
