#include "recover/observe.h"
#include "kernels/clones.h"
#include "kernels/math.h"
#include "kernels/requant.h"
#include "kernels/rounding.h"
#include "realize/batch.h"
#include "recover/moments.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TILES 8 /* of rows that are multiplied at a time */
#define TARGET_DIGITS 3
#define INPUT_DIGITS 2
#define GATHER_OPERATIONS 4.0          /* for each input and target */
#define MOST_INPUT 32767.0             /* in units of the step: the most that the digits hold */
#define MOST_TARGET 8000000.0          /* in units of the step: the most that the digits hold */
#define MOST_DIGITS (INT64_C(1) << 27) /* at one time: 256 MB */
#define DIGITS (INT64_C(1) << 21)      /* wanted at one time: 4 MB, which caches hold */

/* Memory of a worker for the positions of a sample, each [taken]. */
typedef struct room {
    int64_t *positions, *inputs;
    itg_corner *corners;
    double *targets;
    int32_t *codes;
} room;

/* Runs and gathers several blocks in parallel, then multiplies. */
typedef struct observer {
    const itg_observation *o;
    itg_moments *moments;
    itg_batch_plan *plan;
    itg_batch **batches; /* [threads] */
    room *rooms;         /* [threads] */
    itg_digits x, t;
    const itg_quantizer *xq, *add; /* of the input, and of the Add's other operand; NULL: float, or
                                      none */
    bool adds, measures;
    double *largest;        /* [threads]: the largest magnitudes, while it measures float inputs */
    int32_t *from;          /* as itg_realize_taps */
    size_t tap_bytes[2];    /* of a sample */
    unsigned char *keep[2]; /* [samples][bytes] of the taps; NULL: not kept */
    int64_t first;          /* sample of the first block */
    int threads;
} observer;

void itg_moments_deinit(itg_moments *m)
{
    free(m->xx);
    free(m->tx);
    free(m->x);
    free(m->t);
}

static itg_status create_moments(const itg_layer *l, itg_moments *m, itg_error *err)
{
    size_t depth = (size_t)l->depth, groups = (size_t)l->groups,
           channels = (size_t)itg_layer_channels(l);
    m->xx = calloc(groups * depth, depth * sizeof *m->xx);
    m->tx = calloc(channels, depth * sizeof *m->tx);
    m->x = calloc(groups, depth * sizeof *m->x);
    m->t = calloc(channels, sizeof *m->t);
    return m->xx && m->tx && m->x && m->t
               ? ITG_OK
               : itg_fail(err, ITG_NO_MEMORY, "no memory for the moments of %lld inputs",
                          (long long)l->depth);
}

/* ---- gathering ---- */

static double real_at(const observer *w, const itg_tensor *x, int64_t i)
{
    if (!w->add) return (double)((const float *)x->data)[i];
    return (double)w->add->scale[0] * (double)(itg_load(x->dtype, x->data, i) - w->add->zero_point);
}

/* Returns an input less its zero point; a float in units of input_scale, 0 if it is not finite. */
static int32_t input_at(const observer *w, const itg_tensor *x, int64_t i)
{
    if (!w->xq) {
        const float real = ((const float *)x->data)[i];
        return isfinite(real) ? (int32_t)itg_round_half_even((double)real / w->moments->input_scale)
                              : 0;
    }
    return (int32_t)(itg_load(x->dtype, x->data, i) - w->xq->zero_point);
}

/* Codes of the inputs at `from`, [n], less their zero point; where that is negative 0. */
static void take_inputs(const observer *w, const itg_tensor *x, const int64_t *from, int64_t n,
                        int32_t *out)
{
    const uint8_t *const u = x->data;
    const int32_t zero = w->xq ? w->xq->zero_point : 0;
    if (x->dtype == ITG_U8)
        for (int64_t j = 0; j < n; j++)
            out[j] = from[j] < 0 ? 0 : u[from[j]] - zero;
    else
        for (int64_t j = 0; j < n; j++)
            out[j] = from[j] < 0 ? 0 : input_at(w, x, from[j]);
}

static void measure(observer *w, int worker, const itg_tensor *x)
{
    const float *real = x->data;
    const int64_t elements = itg_dims_product(&x->shape, 0, x->shape.rank);
    double most = w->largest[worker];
    for (int64_t i = 0; i < elements; i++) {
        const double magnitude = fabs((double)real[i]);
        if (magnitude > most && isfinite(real[i])) most = magnitude;
    }
    w->largest[worker] = most;
}

static void gather_inputs(observer *w, const itg_tensor *x, int64_t column, const room *m)
{
    const itg_layer *l = w->o->layer;
    for (int64_t g = 0; g < l->groups; g++)
        for (int64_t k = 0; k < l->depth; k++) {
            itg_layer_inputs(l, g, k, m->corners, m->inputs);
            take_inputs(w, x, m->inputs, l->taken, m->codes);
            itg_digits_set(&w->x, g, k, column, m->codes, l->taken);
        }
}

/* Targets in units of a step, the nearest integers, half to even (as itg_round_half_even). a_step:
 * steps in 1, a power of two. */
ITG_CLONES static void recover_round_targets(const double *t, double a_step, int64_t n,
                                             int32_t *out)
{
    for (int64_t j = 0; j < n; j++) {
        const double steps = t[j] * a_step;
        const double x = steps > MOST_TARGET    ? MOST_TARGET
                         : steps > -MOST_TARGET ? steps
                                                : -MOST_TARGET;
        const double size = x < 0 ? -x : x;
        const int32_t rounded = (int32_t)((size + ITG_NO_FRACTION_F64) - ITG_NO_FRACTION_F64);
        out[j] = x < 0 ? -rounded : rounded;
    }
}

/* targets [taken][channels] */
static void gather_targets(observer *w, const itg_tensor *other, int64_t column,
                           const float *targets, const room *m)
{
    const itg_layer *l = w->o->layer;
    const int64_t channels = itg_layer_channels(l), taken = l->taken;
    for (int64_t c = 0; c < channels; c++) {
        for (int64_t j = 0; j < taken; j++)
            m->targets[j] = (double)targets[j * channels + c];
        for (int64_t j = 0; other && j < taken; j++)
            m->targets[j] -= real_at(w, other, itg_layer_output(l, c, m->positions[j]));
        recover_round_targets(m->targets, 1 / w->moments->step, taken, m->codes);
        itg_digits_set(&w->t, c / l->rows, c % l->rows, column, m->codes, taken);
    }
}

static void keep_tap(const observer *w, int32_t tap, const itg_tensor *x, int64_t sample)
{
    const size_t bytes = w->tap_bytes[tap];
    if (w->keep[tap]) memcpy(w->keep[tap] + (size_t)sample * bytes, x->data, bytes);
}

static void gather_sample(observer *w, int worker, int64_t k, int64_t sample)
{
    const itg_layer *l = w->o->layer;
    const room *m = &w->rooms[worker];
    int64_t column = (sample - w->first) * l->taken;
    itg_tensor x = itg_batch_output(w->batches[worker], 0, k), other = {0};
    if (w->adds) other = itg_batch_output(w->batches[worker], 1, k);
    keep_tap(w, 0, &x, sample);
    if (w->adds) keep_tap(w, 1, &other, sample);
    if (w->measures) {
        measure(w, worker, &x);
        return;
    }
    itg_layer_positions(l, sample, m->positions);
    itg_layer_corners(l, m->positions, m->corners);
    gather_inputs(w, &x, column, m);
    gather_targets(w, w->adds ? &other : NULL, column,
                   w->o->targets + sample * l->taken * itg_layer_channels(l), m);
}

static itg_status fill(void *context, int32_t index, int64_t sample, void *x, itg_error *err)
{
    const observer *w = context;
    const int32_t from = w->from[index];
    if (from >= 0) return itg_feed_fill(w->o->samples.feed, from, sample, x, err);
    size_t bytes;
    const unsigned char *codes = itg_kept_codes(w->o->kept, -1 - from, sample, &bytes);
    memcpy(x, codes, bytes);
    return ITG_OK;
}

static itg_status run_block(void *context, int worker, int64_t item, itg_error *err)
{
    observer *w = context;
    int64_t first = w->first + item * ITG_RECOVER_BLOCK, left = w->o->samples.count - first;
    itg_block block = {0, first, left < ITG_RECOVER_BLOCK ? left : ITG_RECOVER_BLOCK};
    itg_batch_io io = {fill, w, NULL, true, NULL};
    itg_status status = itg_check_stop(&w->o->options->stop, err);
    if (status == ITG_OK && !w->batches[worker])
        status = itg_batch_create(w->plan, &w->batches[worker], err);
    if (status == ITG_OK) status = itg_batch_run(w->batches[worker], &block, &io, err);
    for (int64_t k = 0; k < block.count && status == ITG_OK; k++)
        gather_sample(w, worker, k, first + k);
    return status;
}

/* ---- products ---- */

/* Returns the items of a group, each some tiles of rows. */
static int64_t items_of(const itg_digits *d)
{
    return (itg_digits_tiles(d) + TILES - 1) / TILES;
}

/* Multiplies some tiles of rows: inputs with inputs, or targets with inputs. */
static itg_status multiply_tiles(void *context, int worker, int64_t item, itg_error *err)
{
    observer *w = context;
    const itg_layer *l = w->o->layer;
    const int64_t of_x = items_of(&w->x), all = of_x + items_of(&w->t), g = item / all;
    const bool is_x = item % all < of_x;
    const itg_digits *a = is_x ? &w->x : &w->t;
    const int64_t first = (item % all - (is_x ? 0 : of_x)) * TILES, tiles = itg_digits_tiles(a);
    int64_t *const sums =
        is_x ? w->moments->xx + g * l->depth * l->depth : w->moments->tx + g * l->rows * l->depth;
    itg_status status = itg_check_stop(&w->o->options->stop, err);
    (void)worker;
    if (status != ITG_OK) return status;
    itg_moments_add(a, &w->x, g, first, first + TILES < tiles ? first + TILES : tiles, is_x, sums);
    return ITG_OK;
}

static void add_sums(observer *w)
{
    const itg_layer *l = w->o->layer;
    for (int64_t g = 0; g < l->groups; g++) {
        for (int64_t k = 0; k < l->depth; k++)
            w->moments->x[g * l->depth + k] += itg_digits_sum(&w->x, g, k);
        for (int64_t r = 0; r < l->rows; r++)
            w->moments->t[g * l->rows + r] += itg_digits_sum(&w->t, g, r);
    }
}

/* Finds the scale with which float inputs fit their digits. */
static itg_status measure_inputs(observer *w, itg_error *err)
{
    const int64_t samples = w->o->samples.count;
    double most = 0;
    w->measures = true;
    w->first = 0;
    itg_status status = itg_parallel_for(
        w->threads, (samples + ITG_RECOVER_BLOCK - 1) / ITG_RECOVER_BLOCK, run_block, w, err);
    w->measures = false;
    for (int i = 0; i < w->threads; i++)
        most = w->largest[i] > most ? w->largest[i] : most;
    w->moments->input_scale = most > 0 ? most / MOST_INPUT : 1;
    return status;
}

static itg_status observe_all(observer *w, itg_error *err)
{
    const itg_layer *l = w->o->layer;
    int64_t blocks = w->x.columns / (l->taken * ITG_RECOVER_BLOCK), samples = w->o->samples.count;
    const double gathered = (double)(l->depth * l->groups + itg_layer_channels(l)) *
                            (double)l->taken * (double)samples * GATHER_OPERATIONS;
    const double products =
        (double)l->groups * (double)((l->depth + l->rows) * l->depth) * (double)w->x.columns;
    itg_status status = ITG_OK;
    for (w->first = 0; w->first < samples && status == ITG_OK;
         w->first += blocks * ITG_RECOVER_BLOCK) {
        int64_t left = samples - w->first,
                count = left < blocks * ITG_RECOVER_BLOCK ? left : blocks * ITG_RECOVER_BLOCK;
        itg_digits_clear(&w->x);
        itg_digits_clear(&w->t);
        status = itg_parallel_for(itg_parallel_threads(w->threads, gathered),
                                  (count + ITG_RECOVER_BLOCK - 1) / ITG_RECOVER_BLOCK, run_block, w,
                                  err);
        if (status != ITG_OK) return status;
        w->moments->count += count * l->taken;
        status = itg_parallel_for(itg_parallel_threads(w->threads, products),
                                  l->groups * (items_of(&w->x) + items_of(&w->t)), multiply_tiles,
                                  w, err);
        add_sums(w);
    }
    return status;
}

/* ---- setting up ---- */

/* Chooses a step with which the targets, also less the other operand, fit three digits. */
static double choose_step(const itg_observation *o)
{
    int64_t count = o->samples.count * o->layer->taken * itg_layer_channels(o->layer);
    double most = 0;
    int exponent = 0;
    for (int64_t i = 0; i < count; i++) {
        double t = (double)o->targets[i];
        most = t > most ? t : -t > most ? -t : most;
    }
    if (!(most > 0)) return 1;
    (void)itg_frexp(most, &exponent);
    return itg_ldexp(1.0, exponent - 21);
}

static size_t tap_bytes(const itg_annotated *a, const itg_tap *tap)
{
    const itg_encoding *e = itg_annotated_encoding(a, tap->node, tap->slot);
    const itg_id value = itg_annotated_edge(a, tap->node, tap->slot)->value;
    int64_t elements = 0;
    (void)itg_shape_elements(&a->graph->values[value].shape, &elements);
    return (size_t)elements * itg_dtype_size(e->is_float ? ITG_F32 : e->q.storage);
}

/* Keeps what the taps carry, but for what is kept already, and for what a later layer may change.
 */
static itg_status keep_taps(observer *w, const itg_tap *taps, int32_t count, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < count && status == ITG_OK; i++) {
        const itg_edge *e = itg_annotated_edge(w->o->annotated, taps[i].node, taps[i].slot);
        const itg_known known = itg_kept_edges(w->o->kept);
        const int32_t at = known.of[e->value];
        const itg_tap *old = at == ITG_NONE ? NULL : &known.taps[at];
        if (w->o->annotated->graph->values[e->value].producer > w->o->layer->node) continue;
        if (old &&
            itg_annotated_edge(w->o->annotated, old->node, old->slot)->encoding == e->encoding)
            continue;
        status = itg_kept_add(w->o->kept, taps[i], e->value, w->o->samples.count, w->tap_bytes[i],
                              &w->keep[i], err);
    }
    return status;
}

static itg_status create_plan(observer *w, itg_program **program, itg_error *err)
{
    const itg_observation *o = w->o;
    const itg_layer *l = o->layer;
    const itg_tap taps[2] = {{l->node, 0}, {l->add, l->add_slot}};
    const itg_encoding *add =
        l->add == ITG_NONE ? NULL : itg_annotated_encoding(o->annotated, l->add, l->add_slot);
    w->adds = l->add != ITG_NONE;
    w->add = add && !add->is_float ? &add->q : NULL;
    w->xq = l->is_float ? NULL : &itg_annotated_encoding(o->annotated, l->node, 0)->q;
    if (w->xq) w->moments->input_scale = (double)w->xq->scale[0];
    const int32_t count = w->adds ? 2 : 1;
    for (int32_t i = 0; i < count; i++)
        w->tap_bytes[i] = tap_bytes(o->annotated, &taps[i]);
    itg_kept_make_room(o->kept, (size_t)o->samples.count * (w->tap_bytes[0] + w->tap_bytes[1]));
    const itg_known known = itg_kept_edges(o->kept);
    w->from =
        calloc((size_t)(o->annotated->graph->input_count + o->most_kept) + 1, sizeof *w->from);
    if (!w->from) return itg_fail(err, ITG_NO_MEMORY, "no memory for the inputs of a layer");
    itg_status status = itg_realize_taps(o->annotated, taps, count, &known, w->from, program, err);
    if (status == ITG_OK) status = keep_taps(w, taps, count, err);
    itg_batch_options options = {.block = ITG_RECOVER_BLOCK, .weights = o->weights};
    if (status == ITG_OK) status = itg_batch_plan_create(*program, &options, &w->plan, err);
    return status;
}

static void free_room(room *m)
{
    free(m->positions);
    free(m->inputs);
    free(m->corners);
    free(m->targets);
    free(m->codes);
}

static itg_status create_memory(observer *w, itg_error *err)
{
    const itg_layer *l = w->o->layer;
    int32_t planes = !w->xq || w->xq->bits > 8 ? INPUT_DIGITS : 1;
    int64_t block = l->taken * ITG_RECOVER_BLOCK;
    const int64_t rows = l->groups * (l->depth * planes + l->rows * TARGET_DIGITS);
    const int64_t shared = w->threads * block; /* a block for each thread */
    int64_t columns = DIGITS / rows > shared ? DIGITS / rows : shared;
    if (columns < ITG_MOMENTS_PART) columns = ITG_MOMENTS_PART;
    if (columns > MOST_DIGITS / rows) columns = MOST_DIGITS / rows;
    if (columns > ITG_MOMENTS_COLUMNS) columns = ITG_MOMENTS_COLUMNS;
    columns = columns > block ? columns / block * block : block;
    bool ok = true;
    w->batches = calloc((size_t)w->threads, sizeof *w->batches);
    w->rooms = calloc((size_t)w->threads, sizeof *w->rooms);
    w->largest = calloc((size_t)w->threads, sizeof *w->largest);
    for (int i = 0; w->rooms && i < w->threads; i++) {
        room *m = &w->rooms[i];
        m->positions = calloc((size_t)l->taken, sizeof *m->positions);
        m->inputs = calloc((size_t)l->taken, sizeof *m->inputs);
        m->corners = calloc((size_t)l->taken, sizeof *m->corners);
        m->targets = calloc((size_t)l->taken, sizeof *m->targets);
        m->codes = calloc((size_t)l->taken, sizeof *m->codes);
        ok = ok && m->positions && m->inputs && m->corners && m->targets && m->codes;
    }
    if (!ok || !w->batches || !w->rooms || !w->largest)
        return itg_fail(err, ITG_NO_MEMORY, "no memory to run the layers");
    itg_status status = itg_digits_create(l->groups, l->depth, columns, planes, &w->x, err);
    if (status == ITG_OK)
        status = itg_digits_create(l->groups, l->rows, columns, TARGET_DIGITS, &w->t, err);
    return status == ITG_OK ? create_moments(l, w->moments, err) : status;
}

itg_status itg_observe(const itg_observation *observation, itg_moments *out, itg_error *err)
{
    itg_program *program = NULL;
    observer w = {.o = observation,
                  .moments = out,
                  .threads = itg_thread_count(observation->options->threads)};
    *out = (itg_moments){.step = choose_step(observation)};
    itg_status status = create_plan(&w, &program, err);
    if (status == ITG_OK) status = create_memory(&w, err);
    if (status == ITG_OK && !w.xq) status = measure_inputs(&w, err);
    if (status == ITG_OK) status = observe_all(&w, err);
    for (int i = 0; i < w.threads; i++) {
        if (w.batches) itg_batch_destroy(w.batches[i]);
        if (w.rooms) free_room(&w.rooms[i]);
    }
    free(w.batches);
    free(w.rooms);
    free(w.from);
    free(w.largest);
    itg_digits_deinit(&w.x);
    itg_digits_deinit(&w.t);
    itg_batch_plan_destroy(w.plan);
    itg_program_destroy(program);
    return status;
}
