/* SHA-256's compression, FIPS 180-4, 6.2.2: by its definition, and by instructions of the
 * processor. Both give the same bits. */
#ifndef ITG_SHA256_H
#define ITG_SHA256_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const uint32_t itg_sha256_constants[64];
/* Adds blocks of 64 bytes to the state. */
void itg_sha256_compress(uint32_t state[8], const unsigned char *in, size_t blocks);
/* The same by instructions; false: the processor has none, and nothing was done. */
bool itg_sha256_compress_x86(uint32_t state[8], const unsigned char *in, size_t blocks);
#endif
