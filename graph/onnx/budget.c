/* protobuf-c's memory budget. Each block begins with its size, which freeing returns to it. */
#include <stdlib.h>
#include "graph/onnx/budget.h"

typedef union header {
    size_t bytes; /* header included */
    max_align_t align;
} header;

static void *budget_alloc(void *data, size_t size)
{
    itg_budget *budget = data;
    size_t bytes;
    if (!itg_add_size(size, sizeof(header), &bytes) || bytes > budget->limit - budget->used) {
        budget->exceeded = true;
        return NULL;
    }
    header *block = malloc(bytes);
    if (!block) {
        budget->failed = true;
        return NULL;
    }
    block->bytes = bytes;
    budget->used += bytes;
    return block + 1;
}

static void budget_free(void *data, void *pointer)
{
    itg_budget *budget = data;
    if (!pointer) return;
    header *block = (header *)pointer - 1;
    budget->used -= block->bytes;
    free(block);
}

size_t itg_budget_of(size_t file_bytes)
{
    size_t bytes;
    if (!itg_mul_size(file_bytes, ITG_BUDGET_PER_BYTE, &bytes) ||
        !itg_add_size(bytes, ITG_BUDGET_BASE, &bytes))
        return SIZE_MAX;
    return bytes;
}

void itg_budget_init(itg_budget *budget, size_t limit)
{
    *budget = (itg_budget){.limit = limit};
    budget->allocator = (ProtobufCAllocator){budget_alloc, budget_free, budget};
}
