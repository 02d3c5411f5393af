#include "base/utf8.h"

size_t itg_utf8_length(const unsigned char *text, size_t bytes)
{
    if (bytes == 0) return 0;
    unsigned char first = text[0];
    if (first < 0x80) return 1;
    if (first < 0xC2 || first > 0xF4) return 0;
    size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (bytes < length) return 0;
    /* The first byte limits the range of the second, which excludes overlong forms, surrogates and
     * codes beyond Unicode. */
    unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (text[1] < low || text[1] > high) return 0;
    for (size_t i = 2; i < length; i++) {
        if (text[i] < 0x80 || text[i] > 0xBF) return 0;
    }
    return length;
}
