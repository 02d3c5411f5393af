/* Symmetric positive definite systems in double. The order of operations is the same on every
 * machine and for any number of threads. Private to recover/. */
#ifndef ITG_RECOVER_SOLVE_H
#define ITG_RECOVER_SOLVE_H
#include "base/base.h"

/* Replaces h [n][n], symmetric, by its Cholesky factor L (lower triangle, h = L L'); destroys the
 * upper triangle. False: it is not positive definite. */
bool itg_cholesky(double *h, int64_t n, int threads);
/* x [n][columns]: replaces right hand sides b by the solutions of L L' x = b. */
void itg_cholesky_solve(const double *l, int64_t n, double *x, int64_t columns, int threads);
#endif
