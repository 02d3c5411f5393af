/* The files of examples/ that the program carries, for 'intaglio demo'. */
#ifndef ITG_CLI_EXAMPLE_H
#define ITG_CLI_EXAMPLE_H
#include <stddef.h>

typedef struct itg_cli_example {
    const char *name; /* NULL: the end */
    const unsigned char *data;
    size_t bytes;
} itg_cli_example;
extern const itg_cli_example itg_cli_examples[];
#endif
