#include "remote/files.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files of the disk ---- */

static itg_status fail_errno(itg_error *err, const char *path, const char *what)
{
    char why[ITG_ERRNO_TEXT];
    return itg_fail(err, ITG_IO, "%s: cannot %s: %s", path, what, itg_errno_text(errno, why));
}

/* Reads up to `bytes`, or to the end; -1: see errno. */
static int64_t read_chunk(int file, void *out, int64_t bytes)
{
    int64_t got = 0;
    while (got < bytes) {
        ssize_t n = read(file, (char *)out + got, (size_t)(bytes - got));
        if (n == 0) break;
        if (n < 0 && errno != EINTR) return -1;
        got += n > 0 ? n : 0;
    }
    return got;
}

/* *bytes: its size. */
static itg_status hash_file(const char *path, unsigned char hash[32], int64_t *bytes,
                            itg_error *err)
{
    itg_sha256 sha;
    int64_t n = 0, total = 0;
    char *buffer = malloc((size_t)ITG_CHUNK_BYTES);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    itg_status status = file < 0  ? fail_errno(err, path, "open")
                        : !buffer ? itg_fail(err, ITG_NO_MEMORY, "%s: no memory to read it", path)
                                  : ITG_OK;
    itg_sha256_init(&sha);
    while (status == ITG_OK && (n = read_chunk(file, buffer, ITG_CHUNK_BYTES)) > 0) {
        itg_sha256_update(&sha, buffer, (size_t)n);
        total += n;
    }
    if (n < 0) status = fail_errno(err, path, "read");
    if (file >= 0) close(file);
    free(buffer);
    if (status != ITG_OK) return status;
    itg_sha256_final(&sha, hash);
    *bytes = total;
    return ITG_OK;
}

itg_status itg_file_describe(const char *path, itg_remote_file *out, itg_error *err)
{
    itg_status status = hash_file(path, out->hash, &out->bytes, err);
    if (status != ITG_OK) return status;
    out->source = strdup(path);
    return out->source ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "%s: no memory for its name", path);
}

/* ---- to the server ---- */

static int64_t chunks_of(int64_t bytes)
{
    return (bytes + ITG_CHUNK_BYTES - 1) / ITG_CHUNK_BYTES;
}

itg_status itg_file_present(itg_link *link, const char *name, const itg_remote_file *file,
                            bool *present, itg_error *err)
{
    char hex[65];
    redisReply *reply = NULL, *expire = NULL;
    int64_t count = -1;
    itg_sha256_hex(file->hash, hex);
    itg_link_put(link, "HLEN %s:file:%s", name, hex);
    itg_link_put(link, "EXPIRE %s:file:%s %d", name, hex, ITG_FILE_SECONDS);
    itg_status status = itg_link_get(link, 0, &reply, err);
    if (status == ITG_OK) status = itg_link_get(link, 0, &expire, err);
    *present = status == ITG_OK && itg_reply_number(reply, INT64_MAX, &count) &&
               count == chunks_of(file->bytes);
    if (reply) freeReplyObject(reply);
    if (expire) freeReplyObject(expire);
    return status;
}

static itg_status send_chunk(itg_link *link, const char *key, int64_t index, const void *data,
                             int64_t bytes, itg_error *err)
{
    return itg_link_do(link, err, "HSET %s %lld %b", key, (long long)index, data, (size_t)bytes);
}

static itg_status send_source(itg_link *link, const char *key, const itg_remote_file *f,
                              itg_error *err)
{
    int64_t index = 0, n = 0, total = 0;
    char *buffer = malloc((size_t)ITG_CHUNK_BYTES);
    int file = open(f->source, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    itg_status status = file < 0 ? fail_errno(err, f->source, "open")
                        : !buffer
                            ? itg_fail(err, ITG_NO_MEMORY, "%s: no memory to read it", f->source)
                            : ITG_OK;
    while (status == ITG_OK && (n = read_chunk(file, buffer, ITG_CHUNK_BYTES)) > 0) {
        status = send_chunk(link, key, index++, buffer, n, err);
        total += n;
    }
    if (n < 0) status = fail_errno(err, f->source, "read");
    if (status == ITG_OK && total != f->bytes)
        status = itg_fail(err, ITG_MISMATCH, "%s: has changed during the search", f->source);
    if (file >= 0) close(file);
    free(buffer);
    return status;
}

itg_status itg_file_send(itg_link *link, const char *name, const itg_remote_file *f, itg_error *err)
{
    char hex[65], key[ITG_REMOTE_NAME + 80];
    bool present = false;
    itg_status status = itg_file_present(link, name, f, &present, err);
    if (status != ITG_OK || present) return status;
    snprintf(key, sizeof key, "%s:file:%s", name, itg_sha256_hex(f->hash, hex));
    if (!f->data) status = send_source(link, key, f, err);
    for (int64_t i = 0; status == ITG_OK && f->data && i < chunks_of(f->bytes); i++) {
        int64_t left = f->bytes - i * ITG_CHUNK_BYTES;
        status = send_chunk(link, key, i, (const char *)f->data + i * ITG_CHUNK_BYTES,
                            left < ITG_CHUNK_BYTES ? left : ITG_CHUNK_BYTES, err);
    }
    return status == ITG_OK ? itg_link_do(link, err, "EXPIRE %s %d", key, ITG_FILE_SECONDS)
                            : status;
}

/* ---- the worker's cache: files named by their hashes ---- */

/* Whether a name is that of a cached file or of an unfinished one. */
static bool is_ours(const char *name)
{
    unsigned char ignored[32];
    return itg_sha256_parse(name, ignored) || strncmp(name, "part-", 5) == 0;
}

/* Returns the bytes of all files, and the name of the least recently used one, "" if there is none.
 */
static int64_t look_around(const itg_file_cache *cache, char oldest[65])
{
    int64_t sum = 0;
    struct timespec first = {0};
    DIR *folder = opendir(cache->folder);
    oldest[0] = '\0';
    for (const struct dirent *d; folder && (d = readdir(folder));) {
        struct stat about;
        char *path = is_ours(d->d_name) ? itg_path_in(cache->folder, d->d_name) : NULL;
        if (path && stat(path, &about) == 0 && S_ISREG(about.st_mode)) {
            sum += about.st_size;
            bool older =
                about.st_mtim.tv_sec < first.tv_sec ||
                (about.st_mtim.tv_sec == first.tv_sec && about.st_mtim.tv_nsec < first.tv_nsec);
            if (!*oldest || older) {
                first = about.st_mtim;
                snprintf(oldest, 65, "%.64s", d->d_name);
            }
        }
        free(path);
    }
    if (folder) closedir(folder);
    return sum;
}

static itg_status make_room(const itg_file_cache *cache, int64_t bytes, itg_error *err)
{
    char oldest[65];
    if (bytes > cache->most_bytes)
        return itg_fail(err, ITG_LIMIT,
                        "%s: a file of %lld bytes is larger than the cache, %lld (--cache-mb)",
                        cache->folder, (long long)bytes, (long long)cache->most_bytes);
    while (look_around(cache, oldest) > cache->most_bytes - bytes && *oldest) {
        char *path = itg_path_in(cache->folder, oldest);
        int rc = path ? unlink(path) : -1;
        free(path);
        if (rc != 0 && errno != ENOENT) return fail_errno(err, cache->folder, "make room");
    }
    return ITG_OK;
}

/* ---- from the server ---- */

static itg_status write_all(int file, const char *path, const char *data, size_t bytes,
                            itg_error *err)
{
    while (bytes > 0) {
        ssize_t n = write(file, data, bytes);
        if (n < 0 && errno != EINTR) return fail_errno(err, path, "write");
        data += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return ITG_OK;
}

static itg_status receive(itg_link *link, const char *name, const char *hex, int64_t bytes,
                          int file, const char *path, unsigned char hash[32], itg_error *err)
{
    itg_sha256 sha;
    itg_status status = ITG_OK;
    itg_sha256_init(&sha);
    for (int64_t i = 0; i < chunks_of(bytes) && status == ITG_OK; i++) {
        redisReply *chunk = NULL;
        int64_t left = bytes - i * ITG_CHUNK_BYTES,
                expected = left < ITG_CHUNK_BYTES ? left : ITG_CHUNK_BYTES;
        itg_link_put(link, "HGET %s:file:%s %lld", name, hex, (long long)i);
        status = itg_link_get(link, 0, &chunk, err);
        if (status != ITG_OK) break;
        if (!itg_reply_is_text(chunk) || chunk->len != (size_t)expected)
            status =
                itg_fail(err, ITG_IO, "file %.16s...: the server does not have chunk %lld of it",
                         hex, (long long)i);
        if (status == ITG_OK) {
            itg_sha256_update(&sha, chunk->str, chunk->len);
            status = write_all(file, path, chunk->str, chunk->len, err);
        }
        freeReplyObject(chunk);
    }
    itg_sha256_final(&sha, hash);
    return status;
}

/* Downloads a file. It appears whole or not at all, also if other workers fetch the same one. */
static itg_status download(const itg_file_cache *cache, itg_link *link, const char *name,
                           const unsigned char hash[32], int64_t bytes, const char *path,
                           itg_error *err)
{
    char hex[65];
    unsigned char found[32];
    char *part = itg_path_in(cache->folder, "part-XXXXXX");
    int file = part ? mkstemp(part) : -1;
    itg_sha256_hex(hash, hex);
    if (file < 0) {
        free(part);
        return fail_errno(err, cache->folder, "create a file");
    }
    itg_status status = receive(link, name, hex, bytes, file, part, found, err);
    if (close(file) != 0 && status == ITG_OK) status = fail_errno(err, part, "write");
    if (status == ITG_OK && memcmp(found, hash, 32) != 0)
        status = itg_fail(err, ITG_IO, "file %.16s...: what the server sent has another hash", hex);
    if (status == ITG_OK && rename(part, path) != 0) status = fail_errno(err, path, "write");
    if (status != ITG_OK) unlink(part);
    free(part);
    return status;
}

itg_status itg_file_fetch(const itg_file_cache *cache, itg_link *link, const char *name,
                          const unsigned char hash[32], int64_t bytes, char **out, itg_error *err)
{
    char hex[65];
    unsigned char found[32];
    int64_t there = -1;
    char *path = itg_path_in(cache->folder, itg_sha256_hex(hash, hex));
    if (!path) return itg_fail(err, ITG_NO_MEMORY, "no memory for a path");
    bool kept = hash_file(path, found, &there, NULL) == ITG_OK && there == bytes &&
                memcmp(found, hash, 32) == 0;
    if (kept) (void)utimensat(AT_FDCWD, path, NULL, 0);
    itg_status status = kept ? ITG_OK : make_room(cache, bytes, err);
    if (status == ITG_OK && !kept) status = download(cache, link, name, hash, bytes, path, err);
    if (status == ITG_OK)
        *out = path;
    else
        free(path);
    return status;
}
