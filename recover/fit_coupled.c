/* Channels together: the error of one is worth less where another's error makes up for it. With E
 * the errors of a group's channels, the sum over i, j of M_ij E_i H E_j' is the least for channel
 * i, the others given, where it is coded for V_i + sum over j of M_ij / M_ii E_j. */
#include "recover/fit.h"
#include "recover/round.h"
#include "recover/rows.h"
#include <stdlib.h>
#include <string.h>

enum { PASSES = 2 };
/* Added to M_ii, relative to their mean: outputs that hardly matter by the estimate may matter. */
#define LEAST_WEIGHT 0.2

typedef struct coupling {
    const itg_fit *f;
    const double *metric; /* [groups][rows][rows] */
    const itg_fit_grid *grid;
    itg_fit_codes *codes;
    double *errors; /* [channels][depth]: E H */
} coupling;

/* Memory for one channel at a time. */
typedef struct room {
    double *c, *e, *up, *down;
} room;

static bool make_room(int64_t n, room *m)
{
    const size_t size = (size_t)n * sizeof(double);
    *m = (room){malloc(size), malloc(size), malloc(size), malloc(size)};
    return m->c && m->e && m->up && m->down;
}

static void free_room(room *m)
{
    free(m->c);
    free(m->e);
    free(m->up);
    free(m->down);
}

/* The problem of a channel, with the right side c and the errors e. */
static itg_round problem(const coupling *s, int64_t channel, const double *c, double *e,
                         const room *m, itg_round_channel *out)
{
    const itg_fit *f = s->f;
    int64_t n = f->layer->depth, g = channel / f->layer->rows;
    const int32_t zero = itg_fit_zero(s->codes, channel);
    *out = (itg_round_channel){.h = f->h + g * n * n,
                               .order = f->order + g * n,
                               .v = f->v + channel * n,
                               .c = c,
                               .q = s->codes->q + channel * n,
                               .e = e,
                               .up = m->up,
                               .down = m->down};
    return (itg_round){.channels = out,
                       .count = 1,
                       .n = n,
                       .lo = s->grid->lo - zero,
                       .hi = s->grid->hi - zero,
                       .step = s->grid->step,
                       .power_of_two = s->grid->power_of_two,
                       .scale = s->codes->scale[channel],
                       .stop = f->options.how.stop};
}

/* Sets E H of a channel: c - s H q. */
static itg_status set_errors(void *context, int worker, int64_t channel, itg_error *err)
{
    const coupling *s = context;
    const int64_t n = s->f->layer->depth;
    double *row = s->errors + channel * n;
    const room none = {0};
    itg_round_channel ch;
    itg_round r = problem(s, channel, s->f->c + channel * n, row, &none, &ch);
    (void)worker;
    itg_round_errors(&r, 1);
    for (int64_t k = 0; k < n; k++)
        row[k] *= (double)r.scale * r.step;
    return r.stopped ? itg_fail(err, ITG_CANCELLED, "interrupted") : ITG_OK;
}

/* Codes channel i of a group for what the others leave. */
static bool improve(const coupling *s, int64_t group, int64_t i, double least, const room *m)
{
    const int64_t n = s->f->layer->depth, rows = s->f->layer->rows, channel = group * rows + i;
    const double *weights = s->metric + (group * rows + i) * rows, *c = s->f->c + channel * n;
    const double own = weights[i] + least;
    double *row = s->errors + channel * n;
    if (!(own > 0)) return true;
    memset(m->c, 0, (size_t)n * sizeof *m->c);
    for (int64_t j = 0; j < rows; j++)
        if (j != i)
            itg_row_subtract(m->c, s->errors + (group * rows + j) * n, -weights[j] / own, n);
    itg_round_channel ch;
    itg_round r = problem(s, channel, m->c, m->e, m, &ch);
    for (int64_t k = 0; k < n; k++) {
        m->e[k] = (row[k] + m->c[k]) / (double)r.scale / r.step;
        m->c[k] += c[k];
    }
    itg_round_improve(&r, 1);
    s->codes->scale[channel] = r.scale;
    for (int64_t k = 0; k < n; k++)
        row[k] = c[k] - m->c[k] + (double)r.scale * r.step * m->e[k];
    return !r.stopped;
}

static itg_status couple_group(void *context, int worker, int64_t group, itg_error *err)
{
    const coupling *s = context;
    const int64_t rows = s->f->layer->rows;
    const double *metric = s->metric + group * rows * rows;
    double least = 0;
    room m;
    (void)worker;
    for (int64_t i = 0; i < rows; i++)
        least += metric[i * rows + i] / (double)rows * LEAST_WEIGHT;
    const bool ok = make_room(s->f->layer->depth, &m);
    bool goes_on = ok;
    for (int64_t k = 0; k < PASSES * rows && goes_on; k++)
        goes_on = improve(s, group, k % rows, least, &m);
    free_room(&m);
    if (!ok) return itg_fail(err, ITG_NO_MEMORY, "no memory for the codes of a layer");
    return goes_on ? ITG_OK : itg_fail(err, ITG_CANCELLED, "interrupted");
}

itg_status itg_fit_couple(const itg_fit *f, const double *metric, const itg_fit_grid *grid,
                          itg_fit_codes *codes, itg_error *err)
{
    const int64_t channels = itg_layer_channels(f->layer);
    if (!f->options.round || codes->scale_count != channels) return ITG_OK;
    coupling s = {f, metric, grid, codes,
                  malloc((size_t)(channels * f->layer->depth) * sizeof *s.errors)};
    const int threads = itg_fit_threads(f);
    itg_status status = s.errors
                            ? itg_parallel_for(threads, channels, set_errors, &s, err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for the codes of a layer");
    if (status == ITG_OK)
        status = itg_parallel_for(threads, f->layer->groups, couple_group, &s, err);
    free(s.errors);
    return status;
}
