/* An allocator for protobuf-c with a limit, bookkeeping included. A small file can need a hundred
 * times its size, because two bytes make an empty tensor; real models need far less than the
 * multiple below. */
#ifndef ITG_BUDGET_H
#define ITG_BUDGET_H
#include <protobuf-c/protobuf-c.h>
#include "base/base.h"

#define ITG_BUDGET_PER_BYTE 32 /* of the file */
#define ITG_BUDGET_BASE ((size_t)1 << 20)
size_t itg_budget_of(size_t file_bytes); /* base + per_byte * file_bytes, saturating */

typedef struct itg_budget {
    ProtobufCAllocator allocator; /* hand this to protobuf-c; allocator_data is the budget itself */
    size_t used, limit;
    bool exceeded; /* a request was refused because of the limit */
    bool failed;   /* a request was refused because there is no memory */
} itg_budget;      /* must not move while in use */

void itg_budget_init(itg_budget *budget, size_t limit);
#endif
