/* Symmetric positive definite systems in double. The order of operations is the same on every
 * machine and for any number of threads. Private to recover/. */
#ifndef ITG_RECOVER_SOLVE_H
#define ITG_RECOVER_SOLVE_H
#include "base/base.h"

/* Who works on a system, and whether it is still wanted: asked between blocks of rows or columns,
 * by any thread. */
typedef struct itg_solving {
    int threads;
    const itg_stop *stop;
} itg_solving;
/* Replaces h [n][n], symmetric, by its Cholesky factor L (lower triangle, h = L L'); destroys the
 * upper triangle. *definite false: it is not positive definite. */
itg_status itg_cholesky(double *h, int64_t n, const itg_solving *how, bool *definite,
                        itg_error *err);
/* x [n][columns]: replaces right hand sides b by the solutions of L L' x = b. */
itg_status itg_cholesky_solve(const double *l, int64_t n, double *x, int64_t columns,
                              const itg_solving *how, itg_error *err);
#endif
