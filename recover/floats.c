#include "recover/floats.h"
#include "recover/tune.h"
#include <math.h>
#include <stdlib.h>

#define MOST_MACS 3.5e10 /* of all samples, with what their values take */
#define MOST_INPUTS 64e6 /* elements of all samples */
#define KEPT_BYTES ((size_t)256 << 20)
enum { LEAST_SAMPLES = 1024, MOST_SAMPLES = 4096 };

/* ---- samples ---- */

/* More samples bring the outputs nearer, but cost time and memory. A small network takes more of
 * them in the time that others need for the least. */
int64_t itg_recover_samples(const itg_graph *g, int64_t stated)
{
    double inputs = 1;
    if (stated > 0) return stated;
    for (int32_t i = 0; i < g->input_count; i++) {
        int64_t elements = 0;
        if (itg_shape_elements(&g->values[g->inputs[i]].shape, &elements))
            inputs += (double)elements;
    }
    const double samples =
        fmin((double)itg_tune_samples(g, MOST_SAMPLES, MOST_MACS), MOST_INPUTS / inputs);
    return samples < LEAST_SAMPLES  ? LEAST_SAMPLES
           : samples > MOST_SAMPLES ? MOST_SAMPLES
                                    : (int64_t)samples;
}

/* How many samples of the data are used. */
static int64_t count_samples(const itg_graph *g, const itg_recover_options *o)
{
    const int64_t most = itg_recover_samples(g, o->most_samples);
    return o->data->shape.dims[0] < most ? o->data->shape.dims[0] : most;
}

static bool can_tune(const itg_graph *g, const itg_recover_options *options, int64_t samples)
{
    return (options->mode == ITG_RECOVER_AUTO || options->mode == ITG_RECOVER_ROUND) &&
           itg_tune_can(g, samples);
}

bool itg_recover_tunes(const itg_graph *g, const itg_recover_options *options)
{
    const itg_calibration_samples none = {0};
    itg_tune_odds odds;
    return itg_tune_odds_init(g, &none, options, &odds) &&
           can_tune(g, options, count_samples(g, options));
}

/* ---- life ---- */

static itg_status create(const itg_recovery *r, const itg_recover_options *options,
                         itg_recover_floats **out, itg_error *err)
{
    const itg_input_list inputs = itg_graph_inputs(r->g);
    itg_recover_floats *f = calloc(1, sizeof *f);
    if (!f) return itg_fail(err, ITG_NO_MEMORY, "no memory to run the float network");
    f->g = r->g;
    f->samples = count_samples(r->g, options);
    itg_status status = itg_feed_init(&inputs, options->data, r->preprocess, &f->feed, err);
    if (status != ITG_OK) {
        free(f);
        return status;
    }
    const itg_calibration_samples samples = itg_recover_floats_samples(f);
    f->has_odds = itg_tune_odds_init(r->g, &samples, options, &f->odds);
    *out = f;
    return ITG_OK;
}

itg_status itg_recover_floats_begin(itg_recovery *r, const itg_recover_options *options,
                                    itg_recover_floats **out, itg_error *err)
{
    itg_status status = r->floats ? ITG_OK : create(r, options, &r->floats, err);
    if (status != ITG_OK) return status;
    r->floats->odds.options = options;
    *out = r->floats;
    return ITG_OK;
}

static void forget_layers(itg_recover_floats *f)
{
    itg_targets_deinit(&f->targets);
    itg_metrics_deinit(&f->metrics);
    free(f->layers);
    f->layers = NULL;
    f->layer_count = 0;
}

void itg_recover_floats_end(itg_recover_floats *f)
{
    if (f->targets.bytes > KEPT_BYTES || f->targets.end < f->layer_count)
        itg_targets_deinit(&f->targets);
}

void itg_recovery_deinit(itg_recovery *r)
{
    itg_recover_floats *f = r->floats;
    r->floats = NULL;
    if (!f) return;
    forget_layers(f);
    itg_tune_odds_deinit(&f->odds);
    itg_feed_deinit(&f->feed);
    free(f);
}

/* ---- layers ---- */

/* Which targets a layer has, and in which order. */
static bool is_same(const itg_layer *a, const itg_layer *b)
{
    return a->node == b->node && a->is_float == b->is_float && a->taken == b->taken &&
           a->add == b->add && a->add_slot == b->add_slot;
}

itg_status itg_recover_floats_take(itg_recover_floats *f, const itg_annotated *a, itg_error *err)
{
    int32_t count = 0;
    itg_layer *layers = calloc((size_t)f->g->node_count + 1, sizeof *layers);
    if (!layers) return itg_fail(err, ITG_NO_MEMORY, "no memory for layers");
    for (itg_id n = 0; n < f->g->node_count; n++)
        if (itg_layer_of(a, n, &layers[count])) itg_layer_take(&layers[count++], f->samples);
    bool same = f->layers && count == f->layer_count;
    for (int32_t i = 0; same && i < count; i++)
        same = is_same(&layers[i], &f->layers[i]);
    if (same) {
        free(f->layers);
    } else {
        forget_layers(f);
        f->layer_count = count;
    }
    f->layers = layers;
    return ITG_OK;
}

itg_status itg_recover_floats_reach(itg_recover_floats *f, int32_t index,
                                    const itg_recover_options *options, itg_error *err)
{
    const itg_calibration_samples samples = itg_recover_floats_samples(f);
    if (index >= f->targets.first && index < f->targets.end) return ITG_OK;
    const bool with_odds = f->has_odds && can_tune(f->g, options, f->samples);
    itg_status status = itg_targets_fill(f->g, f->layers, f->layer_count, index, &samples, options,
                                         &f->targets, with_odds ? &f->odds : NULL, err);
    if (status != ITG_OK) itg_targets_deinit(&f->targets);
    return status;
}

itg_status itg_recover_floats_weigh(itg_recover_floats *f, const itg_recover_options *options,
                                    itg_error *err)
{
    const itg_calibration_samples samples = itg_recover_floats_samples(f);
    if (f->metrics.of) return ITG_OK;
    return itg_metrics_create(f->g, f->layers, f->layer_count, &samples, options, &f->metrics, err);
}
