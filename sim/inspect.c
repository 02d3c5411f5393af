/* Compares each edge in floats and simulated, over a data set (intaglio.h). Samples are shared
 * among workers; sums are added in sample order. */
#include "sim/feed.h"
#include "sim/evaluate.h"
#include "sim/edge_histogram.h"
#include "sim/sim.h"
#include "sim/strategy_file.h"
#include "kernels/math.h"
#include <math.h>
#include <stdlib.h>

typedef struct edge_sums {
    double float_min, float_max, float_sum, float_squares;
    double sim_min, sim_max, sim_sum, sim_squares, error_squares;
    int64_t elements, saturated, overflowed;
} edge_sums;

struct itg_inspection {
    int32_t count;
    itg_edge_report *reports;       /* worst SQNR first */
    itg_edge_histogram *histograms; /* by edge */
};

typedef struct worker {
    itg_float_exec *exec;
    itg_sim *sim;
    float *values;                  /* of one edge */
    itg_edge_histogram *histograms; /* [edges] of all its samples */
} worker;

typedef struct inspect {
    const itg_annotated *a;
    const itg_dataset *data;
    itg_feed feed;
    worker *workers;
    int64_t first;    /* first sample of the block */
    edge_sums *block; /* [samples of a block][edges] */
    itg_inspection *made;
} inspect;

static void add_value(edge_sums *s, float x, float y)
{
    double a = (double)x, b = (double)y;
    if (a < s->float_min) s->float_min = a;
    if (a > s->float_max) s->float_max = a;
    if (b < s->sim_min) s->sim_min = b;
    if (b > s->sim_max) s->sim_max = b;
    s->float_sum += a;
    s->float_squares += a * a;
    s->sim_sum += b;
    s->sim_squares += b * b;
    s->error_squares += (a - b) * (a - b);
}

static const edge_sums empty = {
    .float_min = INFINITY, .float_max = -INFINITY, .sim_min = INFINITY, .sim_max = -INFINITY};

static void merge(edge_sums *into, const edge_sums *s)
{
    if (s->float_min < into->float_min) into->float_min = s->float_min;
    if (s->float_max > into->float_max) into->float_max = s->float_max;
    if (s->sim_min < into->sim_min) into->sim_min = s->sim_min;
    if (s->sim_max > into->sim_max) into->sim_max = s->sim_max;
    into->float_sum += s->float_sum;
    into->float_squares += s->float_squares;
    into->sim_sum += s->sim_sum;
    into->sim_squares += s->sim_squares;
    into->error_squares += s->error_squares;
    into->elements += s->elements;
    into->saturated += s->saturated;
    into->overflowed += s->overflowed;
}

static const itg_encoding *encoding_of(const itg_annotated *a, int32_t edge)
{
    return &a->values[a->edges[edge].value].encodings[a->edges[edge].encoding];
}

/* Returns empty histograms of all edges; NULL without memory. */
static itg_edge_histogram *make_histograms(const itg_annotated *a)
{
    itg_edge_histogram *made = calloc((size_t)a->edge_count + 1, sizeof *made);
    for (int32_t e = 0; made && e < a->edge_count; e++) {
        if (a->edges[e].kind == ITG_EDGE_FUSED) continue; /* it has no quantizer */
        if (a->graph->values[a->edges[e].value].dtype != ITG_F32) continue;
        if (!encoding_of(a, e)->is_float) made[e] = itg_edge_histogram_of(&encoding_of(a, e)->q);
    }
    return made;
}

static itg_status create_worker(const inspect *x, worker *w, itg_error *err)
{
    const itg_graph *g = x->a->graph;
    int64_t largest = 1, elements = 0;
    for (itg_id v = 0; v < g->value_count; v++)
        if (itg_shape_elements(&g->values[v].shape, &elements) && elements > largest)
            largest = elements;
    itg_status status = itg_float_exec_create(g, ITG_FLOAT_REFERENCE, &w->exec, err);
    if (status == ITG_OK) status = itg_sim_create(x->a, &w->sim, err);
    w->histograms = make_histograms(x->a);
    if (status == ITG_OK) w->values = malloc(sizeof *w->values * (size_t)largest);
    if (status == ITG_OK && (!w->values || !w->histograms))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory to inspect");
    return status;
}

typedef struct comparing {
    const inspect *x;
    const worker *w;
    edge_sums *sums; /* [edges] of the sample */
} comparing;

/* Compares every edge of a value while the value exists. */
static void compare(void *context, itg_id value, const itg_tensor *reference)
{
    const comparing *c = context;
    const float *real = reference->data;
    for (int32_t e = 0; e < c->x->a->edge_count; e++) {
        edge_sums *s = &c->sums[e];
        itg_edge_events events = {0};
        if (c->x->a->edges[e].value != value) continue;
        if (!itg_sim_edge(c->w->sim, e, c->w->values, &events)) continue;
        itg_shape_elements(&reference->shape, &s->elements);
        for (int64_t k = 0; k < s->elements; k++)
            add_value(s, real[k], c->w->values[k]);
        if (c->w->histograms[e].count > 0)
            itg_edge_histogram_add(&c->w->histograms[e], &encoding_of(c->x->a, e)->q,
                                   &reference->shape, real, c->w->values, s->elements);
        s->saturated = events.saturated;
        s->overflowed = events.overflowed;
    }
}

static itg_status inspect_sample(void *context, int index, int64_t item, itg_error *err)
{
    inspect *x = context;
    const itg_graph *g = x->a->graph;
    worker *w = &x->workers[index];
    edge_sums *sums = x->block + item * x->a->edge_count;
    itg_status status = w->values ? ITG_OK : create_worker(x, w, err);
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < x->feed.count && status == ITG_OK; i++) {
        void *input = itg_float_exec_input(w->exec, i);
        status = itg_feed_fill(&x->feed, i, x->first + item, input, err);
        if (status == ITG_OK)
            memcpy(itg_sim_input(w->sim, i), input, itg_tensor_bytes(&x->feed.inputs[i].tensor));
    }
    if (status != ITG_OK) return status;
    comparing c = {x, w, sums};
    for (int32_t e = 0; e < x->a->edge_count; e++)
        sums[e] = empty;
    status = itg_sim_run(w->sim, err);
    if (status == ITG_OK) status = itg_float_exec_visit(w->exec, compare, &c, err);
    if (status != ITG_OK)
        return itg_prefix_error(err, status, "%s: sample %lld", x->data->path,
                                (long long)itg_dataset_number(x->data, x->first + item));
    for (itg_id v = 0; v < g->value_count; v++)
        if (g->values[v].data) {
            const itg_tensor constant = {g->values[v].dtype, g->values[v].shape,
                                         (void *)(uintptr_t)g->values[v].data};
            compare(&c, v, &constant);
        }
    return ITG_OK;
}

static double deviation(double sum, double squares, double n)
{
    double variance = squares / n - (sum / n) * (sum / n);
    return variance > 0 ? itg_sqrt(variance) : 0;
}

static itg_edge_report report_of(const itg_annotated *a, int32_t e, const edge_sums *s)
{
    const itg_edge *edge = &a->edges[e];
    double n = (double)s->elements;
    const itg_encoding *encoding = encoding_of(a, e);
    itg_edge_report r = {.value = a->graph->values[edge->value].name,
                         .node = edge->node == ITG_NONE ? NULL : a->graph->nodes[edge->node].name,
                         .slot = edge->slot,
                         .index = e,
                         .bits = encoding->is_float ? 32 : encoding->q.bits,
                         .float_min = s->float_min,
                         .float_max = s->float_max,
                         .float_mean = s->float_sum / n,
                         .float_std = deviation(s->float_sum, s->float_squares, n),
                         .sim_min = s->sim_min,
                         .sim_max = s->sim_max,
                         .sim_mean = s->sim_sum / n,
                         .sim_std = deviation(s->sim_sum, s->sim_squares, n),
                         .saturated = (double)s->saturated / n,
                         .overflowed = (double)s->overflowed / n};
    r.sqnr_db = s->error_squares == 0 ? INFINITY
                : s->float_squares == 0
                    ? -INFINITY
                    : 10 / 3.321928094887362 * itg_log2(s->float_squares / s->error_squares);
    return r;
}

/* NaN ranks as worse than every number. */
static int worst_first(const void *a, const void *b)
{
    const itg_edge_report *x = a, *y = b;
    if (isnan(x->sqnr_db) != isnan(y->sqnr_db)) return isnan(x->sqnr_db) ? -1 : 1;
    if (isnan(x->sqnr_db)) return x->index - y->index;
    if (x->sqnr_db != y->sqnr_db) return x->sqnr_db < y->sqnr_db ? -1 : 1;
    return x->index - y->index; /* never depends on addresses */
}

#define BLOCK 32

static itg_status run_all(inspect *x, int threads, edge_sums *totals, itg_error *err)
{
    int64_t samples = x->data->shape.dims[0];
    itg_status status = ITG_OK;
    for (int32_t e = 0; e < x->a->edge_count; e++)
        totals[e] = empty;
    for (x->first = 0; x->first < samples && status == ITG_OK; x->first += BLOCK) {
        int64_t n = samples - x->first < BLOCK ? samples - x->first : BLOCK;
        status = itg_parallel_for(threads, n, inspect_sample, x, err);
        for (int64_t i = 0; i < n && status == ITG_OK; i++)
            for (int32_t e = 0; e < x->a->edge_count; e++)
                merge(&totals[e], &x->block[i * x->a->edge_count + e]);
    }
    return status;
}

static void make_reports(const itg_annotated *a, const edge_sums *totals, itg_inspection *made)
{
    for (int32_t e = 0; e < a->edge_count; e++)
        if (totals[e].elements > 0) made->reports[made->count++] = report_of(a, e, &totals[e]);
    qsort(made->reports, (size_t)made->count, sizeof *made->reports, worst_first);
}

static itg_inspection *create_inspection(const itg_annotated *a)
{
    itg_inspection *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->reports = calloc((size_t)a->edge_count + 1, sizeof *made->reports);
    made->histograms = make_histograms(a);
    if (made->reports && made->histograms) return made;
    itg_inspection_destroy(made);
    return NULL;
}

static void destroy_worker(const inspect *x, worker *w)
{
    for (int32_t e = 0; w->histograms && e < x->a->edge_count; e++)
        itg_edge_histogram_merge(&x->made->histograms[e], &w->histograms[e]);
    itg_float_exec_destroy(w->exec);
    itg_sim_destroy(w->sim);
    free(w->values);
    free(w->histograms);
}

itg_status itg_inspect(const itg_model *model, const itg_strategy_file *file,
                       const itg_annotated *annotated, const itg_dataset *data, int threads,
                       itg_inspection **out, itg_error *err)
{
    const itg_input_list inputs = itg_graph_inputs(model);
    inspect x = {.a = annotated, .data = data};
    itg_status status = itg_feed_init(&inputs, data, &file->preprocess, &x.feed, err);
    if (status != ITG_OK) return status;
    int count = itg_thread_count(threads);
    x.workers = calloc((size_t)count, sizeof *x.workers);
    x.block = calloc((size_t)annotated->edge_count * BLOCK + 1, sizeof *x.block);
    x.made = create_inspection(annotated);
    edge_sums *totals = calloc((size_t)annotated->edge_count + 1, sizeof *totals);
    status = x.workers && x.block && x.made && totals
                 ? run_all(&x, count, totals, err)
                 : itg_fail(err, ITG_NO_MEMORY, "no memory to inspect");
    for (int i = 0; x.workers && x.made && i < count; i++)
        destroy_worker(&x, &x.workers[i]);
    if (status == ITG_OK) {
        make_reports(annotated, totals, x.made);
        *out = x.made;
    } else {
        itg_inspection_destroy(x.made);
    }
    free(x.workers);
    free(x.block);
    free(totals);
    itg_feed_deinit(&x.feed);
    return status;
}

void itg_inspection_destroy(itg_inspection *inspection)
{
    if (!inspection) return;
    free(inspection->reports);
    free(inspection->histograms);
    free(inspection);
}

int32_t itg_inspection_count(const itg_inspection *inspection)
{
    return inspection->count;
}
const itg_edge_report *itg_inspection_edge(const itg_inspection *inspection, int32_t index)
{
    return &inspection->reports[index];
}

const itg_edge_histogram *itg_inspection_histogram(const itg_inspection *inspection, int32_t index)
{
    return &inspection->histograms[inspection->reports[index].index];
}
