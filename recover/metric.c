#include "recover/metric.h"
#include "kernels/clones.h"
#include "recover/gradient.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_SAMPLES = 16, MOST_SAMPLES = 256, BATCH = 16, ROWS_A_SAMPLE = 4 };
#define MOST_MACS 1.6e9                /* of all samples, of the network itself */
#define MOST_BYTES (INT64_C(1) << 28)  /* for gradients, and for metrics */
#define BATCH_BYTES (INT64_C(1) << 26) /* for the gradients of more than one sample */

typedef struct gathering {
    const itg_graph *g;
    const itg_layer *layers;
    int32_t layer_count;
    const itg_calibration_samples *samples;
    const itg_recover_options *options;
    itg_metrics *metrics;
    itg_gradient_plan *plan;
    int threads;             /* as many as there is memory for; 0: no metrics */
    itg_gradient_run **runs; /* [threads] */
    double **products;       /* [threads]: [rows][rows] of a sample */
    float **gradients;       /* [layers]: [batch][positions][channels] */
    double **squares;        /* [layers]: [groups] */
    int64_t batch, first;    /* samples that are in `gradients`, the first of them */
} gathering;

void itg_metrics_deinit(itg_metrics *m)
{
    for (int32_t i = 0; m->of && i < m->count; i++)
        free(m->of[i]);
    free(m->of);
    *m = (itg_metrics){0};
}

static int64_t layer_elements(const itg_layer *l)
{
    return l->positions * itg_layer_channels(l);
}

static int64_t products_of(const itg_layer *l)
{
    return l->groups * l->rows * l->rows;
}

/* ---- samples ---- */

static itg_status run_sample(void *context, int worker, int64_t item, itg_error *err)
{
    gathering *w = context;
    itg_status status = itg_check_stop(&w->options->stop, err);
    if (status == ITG_OK && !w->runs[worker])
        status = itg_gradient_run_create(w->plan, &w->runs[worker], err);
    if (status == ITG_OK)
        status = itg_gradient_run_sample(w->runs[worker], w->samples->feed, w->first + item, err);
    for (int32_t i = 0; i < w->layer_count && status == ITG_OK; i++) {
        const itg_layer *l = &w->layers[i];
        if (!w->metrics->of[i]) continue;
        const float *g = itg_gradient_of(w->runs[worker], w->g->nodes[l->node].outputs[0]);
        float *out = w->gradients[i] + item * layer_elements(l);
        int64_t channels = itg_layer_channels(l);
        for (int64_t p = 0; p < l->positions; p++)
            for (int64_t c = 0; c < channels; c++) {
                float x = g[itg_layer_output(l, c, p)];
                out[p * channels + c] = isfinite(x) ? x : 0;
            }
    }
    return status;
}

/* m [n][n] += g g', on and above the diagonal. */
ITG_CLONES static void recover_add_products(const float *g, int64_t n, double *m)
{
    for (int64_t i = 0; i < n; i++) {
        const double own = (double)g[i];
        if (own == 0) continue;
        for (int64_t j = i; j < n; j++)
            m[i * n + j] += own * (double)g[j];
    }
}

/* Adds a sample's products to their sum, and returns the squares of those above the diagonal. */
ITG_CLONES static double recover_add_sample(const double *products, int64_t n, double *m)
{
    double squares = 0;
    for (int64_t i = 0; i < n; i++) {
        m[i * n + i] += products[i * n + i];
        for (int64_t j = i + 1; j < n; j++) {
            m[i * n + j] += products[i * n + j];
            squares += products[i * n + j] * products[i * n + j];
        }
    }
    return squares;
}

static itg_status add_layer(void *context, int worker, int64_t item, itg_error *err)
{
    gathering *w = context;
    const itg_layer *l = &w->layers[item];
    const int64_t size = l->rows * l->rows;
    double *products = w->products[worker];
    itg_status status = ITG_OK;
    for (int64_t s = 0; w->metrics->of[item] && s < w->batch && status == ITG_OK; s++) {
        const float *sample = w->gradients[item] + s * layer_elements(l);
        status = itg_check_stop(&w->options->stop, err);
        for (int64_t g = 0; g < l->groups && status == ITG_OK; g++) {
            memset(products, 0, (size_t)size * sizeof *products);
            for (int64_t p = 0; p < l->positions; p++)
                recover_add_products(sample + (p * l->groups + g) * l->rows, l->rows, products);
            w->squares[item][g] +=
                recover_add_sample(products, l->rows, w->metrics->of[item] + g * size);
        }
    }
    return status;
}

void itg_metric_shrink(double *m, int64_t rows, double squares, int64_t samples)
{
    double total = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i + 1; j < rows; j++)
            total += m[i * rows + j] * m[i * rows + j];
    /* The variance of the sum, of samples that are independent. */
    double n = (double)samples, variance = (squares - total / n) * n / (n - 1),
           part = total > variance && samples > 1 ? 1 - variance / total : 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i + 1; j < rows; j++)
            m[j * rows + i] = m[i * rows + j] *= part;
}

/* ---- all of them ---- */

static int64_t count_samples(const itg_graph *g, int64_t there)
{
    const double macs = 1 + itg_hardware_all_macs(g),
                 wanted = fmin(fmax(MOST_MACS / macs, LEAST_SAMPLES), MOST_SAMPLES);
    return there < (int64_t)wanted ? there : (int64_t)wanted;
}

/* Decides which layers have a metric: *any is whether one has. Of more channels than samples little
 * would be known, and codes would follow that little. */
static itg_status create_sums(gathering *w, int64_t samples, bool *any, itg_error *err)
{
    itg_metrics *m = w->metrics;
    int64_t bytes = 0, most = 0, sample_bytes = 0;
    bool ok = true;
    for (int32_t i = 0; i < w->layer_count && ok; i++) {
        const itg_layer *l = &w->layers[i];
        const int64_t size = products_of(l) * (int64_t)sizeof **m->of;
        if (l->rows < 2 || l->rows > ROWS_A_SAMPLE * samples || bytes + size > MOST_BYTES ||
            !itg_gradient_is_known(w->plan, w->g->nodes[l->node].outputs[0]))
            continue;
        m->of[i] = calloc(1, (size_t)size);
        w->squares[i] = calloc((size_t)l->groups, sizeof **w->squares);
        ok = m->of[i] && w->squares[i];
        bytes += size;
        sample_bytes += layer_elements(l) * (int64_t)sizeof **w->gradients;
        if (l->rows * l->rows > most) most = l->rows * l->rows;
        *any = true;
    }
    for (int i = 0; i < w->threads && ok && *any; i++) {
        w->products[i] = malloc((size_t)most * sizeof **w->products);
        ok = w->products[i];
    }
    w->batch = *any && sample_bytes * BATCH > BATCH_BYTES ? BATCH_BYTES / sample_bytes : BATCH;
    if (w->batch < 1) w->batch = 1;
    for (int32_t i = 0; i < w->layer_count && ok; i++) {
        if (!m->of[i]) continue;
        w->gradients[i] =
            malloc((size_t)(w->batch * layer_elements(&w->layers[i])) * sizeof **w->gradients);
        ok = w->gradients[i];
    }
    return ok ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for gradients of layers");
}

static itg_status gather(gathering *w, itg_error *err)
{
    const int64_t samples = count_samples(w->g, w->samples->count);
    bool any = false;
    itg_status status = itg_gradient_plan_create(w->g, false, &w->plan, err);
    if (status == ITG_OK) status = create_sums(w, samples, &any, err);
    const int64_t batch = w->batch;
    for (w->first = 0; any && w->first < samples && status == ITG_OK; w->first += batch) {
        if (samples - w->first < batch) w->batch = samples - w->first;
        status = itg_parallel_for(w->threads, w->batch, run_sample, w, err);
        if (status == ITG_OK)
            status = itg_parallel_for(w->threads, w->layer_count, add_layer, w, err);
    }
    for (int32_t i = 0; any && i < w->layer_count && status == ITG_OK; i++)
        for (int64_t g = 0, rows = w->layers[i].rows; w->metrics->of[i] && g < w->layers[i].groups;
             g++)
            itg_metric_shrink(w->metrics->of[i] + g * rows * rows, rows, w->squares[i][g], samples);
    return status;
}

itg_status itg_metrics_create(const itg_graph *g, const itg_layer *layers, int32_t layer_count,
                              const itg_calibration_samples *samples,
                              const itg_recover_options *options, itg_metrics *out, itg_error *err)
{
    const int64_t bytes = itg_gradient_bytes(g);
    const int wanted = itg_thread_count(options->threads),
              threads = bytes > MOST_BYTES / wanted ? (int)(MOST_BYTES / bytes) : wanted;
    const size_t count = (size_t)layer_count + 1;
    *out = (itg_metrics){layer_count, calloc(count, sizeof *out->of)};
    gathering w = {.g = g,
                   .layers = layers,
                   .layer_count = layer_count,
                   .samples = samples,
                   .options = options,
                   .metrics = out,
                   .threads = threads,
                   .runs = calloc((size_t)threads + 1, sizeof *w.runs),
                   .products = calloc((size_t)threads + 1, sizeof *w.products),
                   .gradients = calloc(count, sizeof *w.gradients),
                   .squares = calloc(count, sizeof *w.squares)};
    itg_status status = out->of && w.runs && w.products && w.gradients && w.squares
                            ? ITG_OK
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for gradients of layers");
    if (status == ITG_OK && threads > 0) status = gather(&w, err);
    for (int i = 0; i < threads; i++) {
        if (w.runs) itg_gradient_run_destroy(w.runs[i]);
        if (w.products) free(w.products[i]);
    }
    for (int32_t i = 0; i < layer_count; i++) {
        if (w.gradients) free(w.gradients[i]);
        if (w.squares) free(w.squares[i]);
    }
    free(w.runs);
    free(w.products);
    free(w.gradients);
    free(w.squares);
    itg_gradient_plan_destroy(w.plan);
    if (status != ITG_OK) itg_metrics_deinit(out);
    return status;
}
