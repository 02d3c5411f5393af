/* Programs of steps that repeat, as a recurrent operator becomes. */
#ifndef ITG_TEST_RECURRENT_PROGRAM_H
#define ITG_TEST_RECURRENT_PROGRAM_H
#include "realize/program.h"

enum { MOST_STEPS = 64 };

/* What makes the parts of all steps: the steps' table, another, or a product. STATES: the table,
 * and as in an LSTM a step adds the product of h and a matrix, of which a sum of two gates is the
 * next h; the result is of all h. */
typedef enum recurrent_input {
    RECURRENT_TABLE,
    RECURRENT_OTHER_TABLE,
    RECURRENT_PRODUCT,
    RECURRENT_STATES
} recurrent_input;

/* h = table(h + part t of x), for as many parts of 8 codes; their order is that of time, or
 * another. */
itg_program *recurrent_program(int steps, bool shuffled, recurrent_input input);
#endif
