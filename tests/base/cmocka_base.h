/* What cmocka.h asks to be included before it. */
#ifndef ITG_TEST_CMOCKA_BASE_H
#define ITG_TEST_CMOCKA_BASE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#endif
