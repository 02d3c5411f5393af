#include "base/base.h"
#include <string.h>

static bool host_is_little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

void itg_copy_little_endian(void *out, const void *in, size_t count, size_t size)
{
    if (count == 0 || size == 0) return;
    unsigned char *bytes = out;
    if (out != in) memcpy(out, in, count * size);
    if (host_is_little_endian()) return;
    for (size_t i = 0; i < count; i++) {
        unsigned char *element = bytes + i * size;
        for (size_t low = 0, high = size - 1; low < high; low++, high--) {
            unsigned char kept = element[low];
            element[low] = element[high];
            element[high] = kept;
        }
    }
}
