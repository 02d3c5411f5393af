/* The second-order model of the divergence, as rows of derivatives. Private to recover/. */
#ifndef ITG_RECOVER_TUNE_ROWS_H
#define ITG_RECOVER_TUNE_ROWS_H
#include "recover/tune_check.h"
#include "recover/twin.h"

/* Of each sample J' (q - p), and rows whose products sum up to about J' (diag q - q q') J. */
typedef struct itg_tune_rows {
    int64_t samples, parameters;
    float *values;   /* [samples][1 + ITG_TUNE_DIRECTIONS][parameters] */
    int32_t *counts; /* [samples]: rows behind the first */
    double *prior;   /* [parameters]: 1 / variance; 0: the parameter stays */
} itg_tune_rows;
enum { ITG_TUNE_DIRECTIONS = 3 };

/* Sets vectors out [..][n] whose products sum up to about diag q - q q' [n][n]: those of Cholesky
 * with pivots, without what is left at a trace of 0.1 or behind the last one; made as much longer
 * as the whole trace needs. Returns how many. rest [n]: scratch. */
int32_t itg_tune_directions(const double *q, int64_t n, double *rest, float *out);

/* Of the first `samples` samples, all of which have odds. */
itg_status itg_tune_gather(const itg_twin *twin, const itg_tune_odds *odds, int64_t samples,
                           itg_tune_rows *out, itg_error *err);
void itg_tune_rows_deinit(itg_tune_rows *rows);

/* The model of some samples. */
typedef struct itg_tune_problem {
    const itg_tune_rows *rows;
    int64_t first, end; /* samples */
    const itg_stop *stop;
    int threads;
} itg_tune_problem;
/* Moves step [parameters] to the least of the model with the prior and a ridge, relative to the
 * diagonal. It is quicker the nearer the step is already. */
itg_status itg_tune_solve(const itg_tune_problem *problem, double ridge, double *step,
                          itg_error *err);
/* What the part of a step that is best by the model, at most all of it, changes: mean over the
 * samples and its standard error. */
typedef struct itg_tune_change {
    double part, mean, error; /* all 0: no part is better */
} itg_tune_change;
itg_tune_change itg_tune_predict(const itg_tune_problem *problem, const double *step);
#endif
