/* Files by their SHA-256: in chunks on the server, and whole in a worker's cache. */
#ifndef ITG_REMOTE_FILES_H
#define ITG_REMOTE_FILES_H
#include "remote/link.h"

#define ITG_CHUNK_BYTES ((int64_t)1 << 20)
#define ITG_FILE_SECONDS 3600 /* time that a file stays after it was last asked for */
#define ITG_MOST_FILE_BYTES (INT64_C(1) << 42) /* 4 TiB */

/* A file of a search, named by its hash: one of the parts of share.h, or the model or its data
 * files with their paths. */
typedef struct itg_remote_file {
    char kind[16];  /* a part's name, "model", or "data" */
    char path[512]; /* model, data: relative to one folder */
    unsigned char hash[32];
    int64_t bytes;
    const void *data; /* the search's side: a part; NULL: */
    char *source;     /* its file. Owned */
} itg_remote_file;

/* ---- the search's side ---- */
/* Hashes a file of the disk; kind and path are the caller's. */
itg_status itg_file_describe(const char *path, itg_remote_file *out, itg_error *err);
/* Whether the server has all chunks; if so, they stay for a while. */
itg_status itg_file_present(itg_link *link, const char *name, const itg_remote_file *file,
                            bool *present, itg_error *err);
/* Sends what is missing. ITG_MISMATCH: the file on the disk has changed. */
itg_status itg_file_send(itg_link *link, const char *name, const itg_remote_file *file,
                         itg_error *err);

/* ---- the worker's side ---- */
typedef struct itg_file_cache {
    const char *folder;
    int64_t most_bytes;
} itg_file_cache;
/* Finds a file by its hash, in the folder or on the server, checked in either case. The caller
 * frees the path. The least recently used files make room. ITG_LIMIT: the file is larger than the
 * cache. ITG_IO: the server does not have it (yet), or the connection is lost. */
itg_status itg_file_fetch(const itg_file_cache *cache, itg_link *link, const char *name,
                          const unsigned char hash[32], int64_t bytes, char **path, itg_error *err);
#endif
