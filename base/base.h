/* base: error text, checked arithmetic, arena, string builder, files, hashing, random numbers,
 * parallel loops. Thread-safe if no argument is shared. */
#ifndef ITG_BASE_H
#define ITG_BASE_H
#include <stdarg.h>
#include <stdio.h>
#include "base/op.h"

#if defined(__GNUC__)
#define ITG_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#define ITG_PRINTF(a, b)
#endif

/* ---- errors (error.c) ---- */
/* Writes code and text to err (NULL: only the code is returned) and returns code: `return
 * itg_fail(err, ITG_IO, "...")`. */
itg_status itg_fail(itg_error *err, itg_status code, const char *format, ...) ITG_PRINTF(3, 4);
/* Fails with ITG_NO_MEMORY and no word about what for. */
itg_status itg_no_memory(itg_error *err);
/* Puts "prefix: " before the message in err (err NULL: nothing). Returns err's code, or code. */
itg_status itg_prefix_error(itg_error *err, itg_status code, const char *format, ...)
    ITG_PRINTF(3, 4);

/* ITG_CANCELLED if the caller wants the work to stop. Call it before each piece of work. */
itg_status itg_check_stop(const itg_stop *stop, itg_error *err);

/* ---- checked size arithmetic (checked.c); false on overflow, *out untouched ---- */
bool itg_add_size(size_t a, size_t b, size_t *out);
bool itg_mul_size(size_t a, size_t b, size_t *out);
/* Product of dims; fails on an unknown (<0) dim or more than ITG_MAX_ELEMENTS. rank 0: 1. */
bool itg_shape_elements(const itg_shape *shape, int64_t *out);
bool itg_shape_equal(const itg_shape *a, const itg_shape *b);
/* Product of dims [from, to) of a shape that was checked before. */
int64_t itg_dims_product(const itg_shape *shape, int32_t from, int32_t to);
/* "[1,3,32,32]" into buffer, always terminated; returns buffer. */
const char *itg_shape_text(const itg_shape *shape, char *buffer, size_t size);
size_t itg_tensor_bytes(const itg_tensor *tensor); /* of a tensor whose shape was checked before */
/* One element as an integer; floats are truncated, BOOL is 0 or 1. Stored, integers wrap. */
int64_t itg_load(itg_dtype dtype, const void *data, int64_t index);
void itg_store(itg_dtype dtype, void *data, int64_t index, int64_t value);

/* ---- arena (arena.c): many allocations, freed together. Not thread-safe ---- */
typedef struct itg_arena itg_arena;
itg_arena *itg_arena_create(size_t max_bytes /* 0: no limit */); /* NULL: no memory */
void itg_arena_destroy(itg_arena *arena);                        /* NULL allowed */
void *itg_arena_alloc(itg_arena *arena,
                      size_t bytes); /* zeroed, 64-byte aligned; NULL: no memory or limit */
void *itg_arena_array(itg_arena *arena, size_t count, size_t size); /* checked product */
char *itg_arena_strdup(itg_arena *arena, const char *text);
/* A list of copies; not NULL even if it is empty. */
const char **itg_arena_texts(itg_arena *arena, const char *const *texts, size_t count);
char *itg_arena_format(itg_arena *arena, const char *format, ...) ITG_PRINTF(2, 3);
char *itg_arena_vformat(itg_arena *arena, const char *format, va_list arguments) ITG_PRINTF(2, 0);
void *itg_arena_copy(itg_arena *arena, const void *data, size_t bytes);
/* An array of another arena: where it is large, both hold it, and nobody may write it any more;
 * else a copy. It counts as an allocation does. NULL: no memory or limit. */
void *itg_arena_share(itg_arena *arena, const itg_arena *from, const void *data, size_t bytes);
/* A large array of this arena that no other holds, and that may be written; else NULL. */
void *itg_arena_writable(const itg_arena *arena, const void *data);
/* Gives a large array of this arena back, which nobody reads any more; others stay. */
void itg_arena_release(itg_arena *arena, const void *data);
size_t itg_arena_used(const itg_arena *arena);

/* ITG_BAD_ARGUMENT unless `version`, of the option struct with that name, is `expected`. */
itg_status itg_check_version(const char *name, int32_t version, int32_t expected, itg_error *err);

/* ---- string builder (strbuf.c): grows; a failed allocation is remembered and reported by
 * itg_strbuf_ok ---- */
typedef struct itg_strbuf {
    char *text; /* always terminated once anything was added; NULL while empty */
    size_t length, capacity;
    bool failed;
} itg_strbuf; /* zero-initialize; itg_strbuf_deinit frees */
void itg_strbuf_add(itg_strbuf *buffer, const char *text);
void itg_strbuf_bytes(itg_strbuf *buffer, const void *data, size_t bytes);
void itg_strbuf_format(itg_strbuf *buffer, const char *format, ...) ITG_PRINTF(2, 3);
void itg_strbuf_vformat(itg_strbuf *buffer, const char *format, va_list arguments);
void itg_strbuf_json_string(itg_strbuf *buffer, const char *text); /* quoted and escaped */
bool itg_strbuf_ok(const itg_strbuf *buffer);
/* Hands the text over to the caller, who frees it; the builder is then empty or deinited. */
itg_status itg_take_text(itg_strbuf *buffer, char **out, itg_error *err);
void itg_strbuf_deinit(itg_strbuf *buffer);

/* ---- files (file.c) ---- */
/* The operating system's words for an errno, in buffer; returns it. */
#define ITG_ERRNO_TEXT 128
const char *itg_errno_text(int number, char buffer[ITG_ERRNO_TEXT]);
/* Opens a regular file to be read; the caller closes it. */
itg_status itg_file_open(const char *path, int *out, int64_t *size, itg_error *err);
/* Whether no file has this path; false if that cannot be told. */
bool itg_file_is_absent(const char *path);
/* Bytes that no run repeats, for names; not for what a result depends on. */
itg_status itg_file_random(void *out, size_t bytes, itg_error *err);
/* Whole file into malloc'd memory (caller frees), one zero byte after the end. Larger than
 * max_bytes: ITG_LIMIT. Directories, fifos and the like are refused. */
itg_status itg_file_read(const char *path, size_t max_bytes, unsigned char **out, size_t *out_bytes,
                         itg_error *err);
/* Replaces the file completely or not at all: temporary file, fsync, rename, fsync of the
 * folder. */
itg_status itg_file_write(const char *path, const void *data, size_t bytes, itg_error *err);

/* "folder/name"; malloc'd, NULL: no memory. */
char *itg_path_in(const char *folder, const char *name);
/* The path of a name in the folder of path; malloc'd, NULL: no memory. */
char *itg_path_beside(const char *path, const char *name);

/* ---- SHA-256 (sha256.c), FIPS 180-4 ---- */
typedef struct itg_sha256 {
    uint32_t state[8];
    uint64_t length;
    unsigned char block[64];
} itg_sha256;
void itg_sha256_init(itg_sha256 *hash);
void itg_sha256_update(itg_sha256 *hash, const void *data, size_t bytes);
void itg_sha256_final(itg_sha256 *hash, unsigned char out[32]);
/* The hash of one buffer. */
void itg_sha256_of(const void *data, size_t bytes, unsigned char out[32]);
/* Lower case, terminated; returns out. */
const char *itg_sha256_hex(const unsigned char digest[32], char out[65]);
/* Reads such text (NULL: none). False, and zeros: the text is invalid. */
bool itg_sha256_parse(const char *text, unsigned char out[32]);
/* Bytes as lower-case hexadecimal digits, and back; malloc'd. NULL: no memory. itg_hex_bytes also
 * returns NULL if the text is not an even number of such digits. */
char *itg_hex_text(const void *data, size_t bytes);
unsigned char *itg_hex_bytes(const char *text, size_t *bytes);

/* ---- random numbers (rng.c): xoshiro256** seeded by splitmix64 (Blackman, Vigna 2018); equal on
 * every platform ---- */
typedef struct itg_rng {
    uint64_t state[4];
} itg_rng;
void itg_rng_init(itg_rng *rng, uint64_t seed);
uint64_t itg_rng_next(itg_rng *rng);
uint64_t itg_rng_below(itg_rng *rng, uint64_t bound);              /* unbiased; bound > 0 */
double itg_rng_unit(itg_rng *rng);                                 /* [0,1), 53 bits */
void itg_rng_shuffle(itg_rng *rng, uint32_t *items, size_t count); /* Fisher-Yates */

/* ---- parallel loops (parallel.c): OpenMP, never busy-waiting ---- */
/* fn(context, worker, item) for item 0..items-1, each once, in any order and on any of `threads`
 * workers (1: in order on the caller). worker < threads. The first failing item by index decides
 * status and error. */
typedef itg_status (*itg_parallel_fn)(void *context, int worker, int64_t item, itg_error *err);
itg_status itg_parallel_for(int threads, int64_t items, itg_parallel_fn fn, void *context,
                            itg_error *err);
/* Returns how many of the threads are worth waking for a loop of so many operations, about a
 * nanosecond each. */
int itg_parallel_threads(int threads, double operations);
/* Sets how many threads another library that uses OpenMP may use on this thread; returns the
 * previous number, to be restored. */
int itg_parallel_lend(int threads);

/* ---- sums ---- */
/* a + b; INT64_MAX or INT64_MIN if it is beyond. */
static inline int64_t itg_add_saturated(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b) return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b) return INT64_MIN;
    return a + b;
}

/* ---- little-endian bytes on every host ---- */
/* Copies count elements of size bytes each; reverses the bytes of each on a big-endian host. */
void itg_copy_little_endian(void *out, const void *in, size_t count, size_t size);

#endif
