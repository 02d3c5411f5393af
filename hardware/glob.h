/* Patterns of names, as in descriptions of hardware. */
#ifndef ITG_HW_GLOB_H
#define ITG_HW_GLOB_H
#include <stdbool.h>

/* Whether the pattern matches the whole text: * matches any text, ? any character. */
bool itg_hw_glob(const char *pattern, const char *text);
#endif
