#include "base/packed.h"

void itg_packed_put(unsigned char *packed, int32_t bits, bool is_signed, int64_t index,
                    int64_t code)
{
    int64_t at = index * bits;
    if (is_signed && bits == 1) code = code < 0;
    uint64_t rest = (uint64_t)code & (((uint64_t)1 << bits) - 1);
    rest <<= at % 8;
    for (unsigned char *byte = packed + at / 8; rest != 0; byte++, rest >>= 8)
        *byte = (unsigned char)(*byte | (rest & 255));
}

int64_t itg_packed_get(const unsigned char *packed, int32_t bits, bool is_signed, int64_t index)
{
    int64_t first = index * bits, end = first + bits;
    uint64_t code = 0, mask = ((uint64_t)1 << bits) - 1;
    for (int64_t byte = (end - 1) / 8; byte >= first / 8; byte--)
        code = code << 8 | packed[byte];
    code = code >> first % 8 & mask;
    if (is_signed && bits == 1) return code != 0 ? -1 : 1;
    bool negative = is_signed && code >> (bits - 1) != 0;
    return negative ? (int64_t)code - (int64_t)mask - 1 : (int64_t)code;
}

void itg_packed_unpack(const unsigned char *packed, int32_t bits, bool is_signed, int64_t count,
                       size_t size, void *out)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t code = itg_packed_get(packed, bits, is_signed, i);
        if (size == 1)
            ((uint8_t *)out)[i] = (uint8_t)code;
        else if (size == 2)
            ((uint16_t *)out)[i] = (uint16_t)code;
        else
            ((uint32_t *)out)[i] = (uint32_t)code;
    }
}

bool itg_packed_ends(const unsigned char *packed, int32_t bits, int64_t count)
{
    int64_t end = count * bits;
    return end % 8 == 0 || packed[end / 8] >> end % 8 == 0;
}
