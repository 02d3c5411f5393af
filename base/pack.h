/* Binary texts of other processes: integers and runs of numbers, little-endian, one behind another.
 * Writing goes to a string builder. Reading trusts nothing: the first failure stays in `status`,
 * and after it every read gives 0 and leaves *out as it is. */
#ifndef ITG_PACK_H
#define ITG_PACK_H
#include "base/base.h"

void itg_pack(itg_strbuf *out, const void *items, size_t count, size_t size);
void itg_pack_int(itg_strbuf *out, int64_t value); /* 8 bytes */
void itg_pack_text(itg_strbuf *out, const char *text);

typedef struct itg_unpacker {
    const unsigned char *at;
    size_t left;
    const char *source; /* for errors */
    itg_error *err;
    itg_status status;
} itg_unpacker;
/* The first failure: "source: message". */
void itg_unpack_refuse(itg_unpacker *u, const char *format, ...) ITG_PRINTF(2, 3);
void itg_unpack_no_memory(itg_unpacker *u);
bool itg_unpack(itg_unpacker *u, void *out, size_t count, size_t size);
/* what: names the number where it lies outside. */
int64_t itg_unpack_int(itg_unpacker *u, int64_t min, int64_t max, const char *what);
/* Room for what follows, and it: malloc'd; NULL after a failure. Never more than there is. */
void *itg_unpack_array(itg_unpacker *u, int64_t count, size_t size);
/* At most `most` bytes, none of them 0: malloc'd. */
char *itg_unpack_text(itg_unpacker *u, int64_t most);
/* Doubles that are all finite. */
bool itg_unpack_finite(itg_unpacker *u, double *out, size_t count, const char *what);
/* Nothing may be left. */
itg_status itg_unpack_end(itg_unpacker *u);
#endif
