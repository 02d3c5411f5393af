/* Symmetric positive definite systems in double, in one order of operations whatever the machine
 * and the number of threads. Private to recover/. */
#ifndef ITG_RECOVER_SOLVE_H
#define ITG_RECOVER_SOLVE_H
#include "base/base.h"

/* h [n][n], symmetric, becomes its Cholesky factor L (lower triangle, h = L L'; what is above is
 * destroyed). False: it is not positive definite. */
bool itg_cholesky(double *h, int64_t n, int threads);
/* x [n][columns]: right hand sides b become the solutions of L L' x = b. */
void itg_cholesky_solve(const double *l, int64_t n, double *x, int64_t columns, int threads);
#endif
