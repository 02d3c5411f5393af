/* UTF-8 well-formedness (Unicode 15, table 3-7): no overlong forms, no surrogates, nothing above
 * U+10FFFF. */
#ifndef ITG_UTF8_H
#define ITG_UTF8_H
#include <stddef.h>

/* Bytes (1..4) of the well-formed character at text, of which `bytes` can be read; 0: it is
 * malformed or cut off. */
size_t itg_utf8_length(const unsigned char *text, size_t bytes);

#endif
