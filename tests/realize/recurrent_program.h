/* Programs of steps that repeat, as a recurrent operator becomes. */
#ifndef ITG_TEST_RECURRENT_PROGRAM_H
#define ITG_TEST_RECURRENT_PROGRAM_H
#include "realize/program.h"

enum { MOST_STEPS = 64 };

/* What makes the parts of all steps: the steps' table, another, or a product. */
typedef enum recurrent_input {
    RECURRENT_TABLE,
    RECURRENT_OTHER_TABLE,
    RECURRENT_PRODUCT
} recurrent_input;

/* h = table(h + part t of x), for as many parts of 8 codes; their order is that of time, or
 * another. */
itg_program *recurrent_program(int steps, bool shuffled, recurrent_input input);
#endif
