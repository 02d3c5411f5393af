/* Codes of b bits each, 1 <= b <= 32, one right behind another, the lowest bit first: bit i of code
 * k is bit (k * b + i) % 8 of byte (k * b + i) / 8. Bits behind the last code are 0. Signed codes
 * are in two's complement; those of one bit are 1 and -1, and the bit is the sign: 0 for 1. */
#ifndef ITG_PACKED_H
#define ITG_PACKED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of count codes; count * bits below 2^63. */
static inline int64_t itg_packed_bytes(int64_t count, int32_t bits)
{
    return (count * bits + 7) / 8;
}
/* Writes a code; the bytes must have been 0 there. */
void itg_packed_put(unsigned char *packed, int32_t bits, bool is_signed, int64_t index,
                    int64_t code);
int64_t itg_packed_get(const unsigned char *packed, int32_t bits, bool is_signed, int64_t index);
/* Unpacks all codes to integers of size bytes (1, 2 or 4) in host byte order. */
void itg_packed_unpack(const unsigned char *packed, int32_t bits, bool is_signed, int64_t count,
                       size_t size, void *out);
/* Whether the bits behind the last code are 0. */
bool itg_packed_ends(const unsigned char *packed, int32_t bits, int64_t count);
#endif
