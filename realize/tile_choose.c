/* Chooses the steps and the number of stripes by which a program fits into memory. */
#include "realize/geometry.h"
#include "realize/tile.h"
#include <string.h>

enum { MOST_STRIPES = 64, PATIENCE = 3, MOST_IDLE = 8 };

int64_t itg_program_macs(const itg_program *p)
{
    int64_t macs = 0;
    for (int32_t i = 0; i < p->step_count; i++)
        macs = itg_add_saturated(macs, itg_step_macs(p, &p->steps[i]));
    return macs;
}

typedef struct choice {
    itg_stripes stripes;
    int64_t bytes, macs;
    double work;
} choice;

/* Whether a is the better choice: within `most` bytes, then less work, then fewer stripes; beyond
 * it, fewer bytes. */
static bool is_better(const choice *a, const choice *b, int64_t most)
{
    if (a->bytes > most || b->bytes > most) return a->bytes < b->bytes;
    if (a->work != b->work) return a->work < b->work;
    return a->stripes.count < b->stripes.count;
}

/* The program, its limit, and the best so far. */
typedef struct chooser {
    const itg_program *p;
    int64_t most;
    const itg_stop *stop;
    choice best;
} chooser;

static itg_status try(chooser *x, const itg_stripes *stripes, int64_t *bytes, itg_error *err)
{
    choice c = {.stripes = *stripes};
    itg_program *q = NULL;
    itg_status status = x->stop ? itg_check_stop(x->stop, err) : ITG_OK;
    if (status == ITG_OK) status = itg_stripes_build(x->p, stripes, &q, err);
    if (status == ITG_OK) status = itg_program_work(q, &c.bytes, &c.work, err);
    if (status == ITG_OK) {
        c.macs = itg_program_macs(q);
        *bytes = c.bytes;
        if (is_better(&c, &x->best, x->most)) x->best = c;
    }
    itg_program_destroy(q);
    return status;
}

static bool is_output(const itg_program *p, int32_t value)
{
    for (int32_t i = 0; i < p->output_count; i++)
        if (p->outputs[i] == value) return true;
    return false;
}

/* Returns the first step up to which steps must be computed by stripes: no later one has a whole
 * result in the arena that exceeds `most` alone. */
static int32_t first_last(const itg_program *p, int64_t most)
{
    for (int32_t i = p->step_count - 1; i >= 0; i--) {
        const itg_step *s = &p->steps[i];
        for (int32_t k = 0; k < s->output_count && s->kind != ITG_STEP_DEQUANTIZE; k++) {
            const itg_pvalue *y = &p->values[s->outputs[k]];
            if (y->quantized && (int64_t)y->bytes > most && !is_output(p, s->outputs[k]))
                return i + 1;
        }
    }
    return 0;
}

static bool same(const itg_stripes *a, const itg_stripes *b)
{
    return a->first == b->first && a->last == b->last && a->count == b->count;
}

/* Tries numbers of stripes of steps first..last: some after the first that fits, while more of
 * them take less memory. */
static itg_status try_counts(chooser *x, int32_t first, int32_t last, itg_error *err)
{
    const itg_program *p = x->p;
    const int64_t rows = p->values[p->steps[last].outputs[0]].shape.dims[2];
    int64_t least = INT64_MAX;
    itg_status status = ITG_OK;
    for (int32_t n = 2, idle = 0, fits = 0;
         n <= rows && n <= MOST_STRIPES && idle < PATIENCE && fits < PATIENCE && status == ITG_OK;
         n += n < 8 ? 1 : n / 4) {
        int64_t bytes = INT64_MAX;
        status = try(x, &(itg_stripes){first, last, n, false}, &bytes, err);
        idle = bytes < least ? 0 : idle + 1;
        fits += bytes <= x->most;
        least = bytes < least ? bytes : least;
    }
    return status;
}

/* Tries stripes of steps first.. up to `last` and later ones, until some in a row were no better.
 */
static itg_status try_from(chooser *x, int32_t first, int32_t last, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t idle = 0; last < x->p->step_count && idle < MOST_IDLE && status == ITG_OK;
         last++) {
        const choice before = x->best;
        if (!itg_stripes_fit(x->p, first, last)) continue;
        status = try_counts(x, first, last, err);
        idle = same(&before.stripes, &x->best.stripes) ? idle + 1 : 0;
    }
    return status;
}

/* Tries what may suffice; if nothing does, all, for what takes the least. */
static itg_status try_all(chooser *x, itg_error *err)
{
    int32_t first = 0;
    while (first < x->p->step_count && !itg_stripes_fit(x->p, first, first))
        first++;
    const int32_t last = first_last(x->p, x->most);
    itg_status status = try_from(x, first, last > first ? last : first, err);
    if (status == ITG_OK && x->best.bytes > x->most && last > first)
        status = try_from(x, first, first, err);
    return status;
}

itg_status itg_stripes_choose(const itg_program *p, int64_t most, const itg_stop *stop,
                              itg_stripes *out, itg_tiling *tiling, itg_error *err)
{
    chooser x = {.p = p, .most = most, .stop = stop};
    choice *best = &x.best;
    itg_status status = itg_program_work(p, &best->bytes, &best->work, err);
    best->macs = itg_program_macs(p);
    const choice whole = *best;
    bool any = false;
    int64_t bytes;
    if (status == ITG_OK && whole.bytes > most) status = itg_products_find(p, &any, err);
    if (status == ITG_OK && any) status = try(&x, &(itg_stripes){0, 0, 0, true}, &bytes, err);
    if (status == ITG_OK && best->bytes > most) status = try_all(&x, err);
    const int32_t count = best->stripes.count;
    *out = best->stripes;
    *tiling = (itg_tiling){.by_products = best->stripes.by_products,
                           .stripes = count,
                           .layers = count > 0 ? best->stripes.last - best->stripes.first + 1 : 0,
                           .whole_bytes = whole.bytes,
                           .bytes = best->bytes,
                           .whole_macs = whole.macs,
                           .macs = best->macs};
    return status;
}

itg_status itg_program_tile(const itg_program *p, int64_t most, itg_tiling *tiling,
                            itg_program **out, itg_error *err)
{
    itg_stripes stripes;
    *out = NULL;
    itg_status status = itg_stripes_choose(p, most, NULL, &stripes, tiling, err);
    if (status != ITG_OK) return status;
    if (tiling->bytes > most)
        return itg_fail(err, ITG_INFEASIBLE,
                        "%s: it takes %lld bytes of RAM, and %lld at least if its first layers are "
                        "computed by stripes; %lld are allowed",
                        p->name, (long long)tiling->whole_bytes, (long long)tiling->bytes,
                        (long long)most);
    return stripes.count > 0 || stripes.by_products ? itg_stripes_build(p, &stripes, out, err)
                                                    : ITG_OK;
}
