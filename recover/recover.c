#include "recover/recover.h"
#include "realize/batch.h"
#include "recover/fit.h"
#include "recover/floats.h"
#include "recover/ranges.h"
#include "recover/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ACTIVATION_BYTES ((size_t)768 << 20)
#define WEIGHT_BYTES ((size_t)192 << 20)
/* The hardware may raise a scale; this changes codes and bias, which may raise it again. */
#define MOST_ROUNDS 4

typedef struct recovery {
    const itg_graph *g;
    const itg_hardware *hw;
    itg_strategy *s;
    const itg_recover_options *asked; /* the caller's */
    itg_recover_options own;          /* the same, but for who is asked whether to stop */
    const itg_recover_options *o;     /* own */
    itg_recover_floats *f;
    itg_cache *weights;
    itg_kept *kept;
    itg_constants constants;
    itg_recovered *table; /* NULL: only the strategy's own widths */
    bool is_lossy;        /* as itg_ranges_chosen */
    double ridge;         /* as itg_fit_options */
    double divergence;    /* of the result, where several ridges are tried; else INFINITY */
} recovery;

const char *itg_recover_mode_name(itg_recover_mode mode)
{
    static const char *const names[ITG_RECOVER_MODES] = {"auto", "none", "scales", "round"};
    return mode >= 0 && mode < ITG_RECOVER_MODES ? names[mode] : NULL;
}

bool itg_recover_mode_from_name(const char *name, itg_recover_mode *out)
{
    for (int m = 0; m < ITG_RECOVER_MODES; m++) {
        if (strcmp(itg_recover_mode_name((itg_recover_mode)m), name) != 0) continue;
        *out = (itg_recover_mode)m;
        return true;
    }
    return false;
}

/* Returns the widest weights worth reconstruction. Measured on all networks and data: classifiers
 * gain next to nothing at 7 bits or more, unless scales are powers of two or much is lost with
 * weights of 8 bits already; others gain 9 dB at 8 bits. */
static int32_t widest(const recovery *r)
{
    if (r->o->mode != ITG_RECOVER_AUTO || !itg_model_is_classifier(r->g)) return 32;
    return r->hw->power_of_two_scales || r->is_lossy ? 8 : 6;
}

static itg_status annotate(const recovery *r, itg_annotated **out, itg_error *err)
{
    return itg_annotate_with(r->g, r->hw, r->s, &r->constants, out, err);
}

/* Updates *a after a change of the layer's weights; *a NULL: annotates the graph. Weights that
 * other nodes read, too, change these. */
static itg_status annotate_again(const recovery *r, const itg_layer *l, itg_annotated **a,
                                 itg_error *err)
{
    bool whole = true;
    itg_status status = ITG_OK;
    if (*a && r->g->values[r->g->nodes[l->node].inputs[1]].reads == 1)
        status = itg_annotate_weights(*a, r->s, l->node, &whole, err);
    if (status != ITG_OK || !whole) return status;
    itg_annotated_destroy(*a);
    *a = NULL;
    return annotate(r, a, err);
}

/* ---- one layer ---- */

/* The reconstruction of a layer, and the choice that it may return to. */
typedef struct reconstruction {
    recovery *r;
    const itg_layer *layer;
    itg_edge_choice before, *choice;
    itg_annotated **a; /* argument of annotate_again */
    const itg_fit *fit;
    itg_fit_grid grid;
    itg_fit_codes codes;
    float *tried, *bias;
    int32_t *packed; /* codes in the order of the weights */
} reconstruction;

/* Takes the codes and scales without reconstruction. */
static itg_status take_codes(reconstruction *x, itg_error *err)
{
    const itg_layer *l = x->layer;
    const itg_annotated *a = *x->a;
    const itg_quantizer *q = itg_layer_quantizer(a, l);
    const void *codes = itg_annotated_encoding(a, l->node, 1)->constant->codes;
    int64_t channels = itg_layer_channels(l), elements = channels * l->depth;
    x->codes =
        (itg_fit_codes){malloc((size_t)elements * sizeof *x->codes.q),
                        malloc((size_t)q->scale_count * sizeof *x->codes.scale),
                        x->choice->zero ? malloc((size_t)q->scale_count) : NULL, q->scale_count};
    x->tried = malloc((size_t)q->scale_count * sizeof *x->tried);
    x->bias = malloc((size_t)channels * sizeof *x->bias);
    x->packed = malloc((size_t)elements * sizeof *x->packed);
    const bool has_zeros = x->codes.zero || !x->choice->zero;
    if (!x->codes.q || !x->codes.scale || !has_zeros || !x->tried || !x->bias || !x->packed)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the codes of a layer");
    memcpy(x->codes.scale, q->scale, (size_t)q->scale_count * sizeof *x->codes.scale);
    for (int64_t ch = 0; ch < channels; ch++)
        for (int64_t k = 0; k < l->depth; k++)
            x->codes.q[ch * l->depth + k] =
                (int32_t)itg_load(q->storage, codes, itg_layer_weight(l, ch, k));
    x->grid = (itg_fit_grid){.lo = (int32_t)q->qmin,
                             .hi = (int32_t)q->qmax,
                             .step = q->bits == 1 ? 2 : 1,
                             .power_of_two = x->r->hw->power_of_two_scales};
    if (x->codes.zero) {
        memcpy(x->codes.zero, x->choice->zero, (size_t)q->scale_count);
        x->grid.lo = 0;
    }
    return ITG_OK;
}

/* Sets the thresholds that give these scales (docs/arithmetic.md 2.2), and the bias. */
static itg_status set_scales(reconstruction *x, itg_error *err)
{
    itg_strategy *s = x->r->s;
    const int32_t edge = x->layer->weight_edge;
    int64_t count = x->codes.scale_count;
    const double steps =
        itg_weight_steps(x->choice->bits, x->choice->zero != NULL, x->grid.power_of_two);
    double *t = itg_arena_array(s->arena, (size_t)count, sizeof *t);
    if (!t) return itg_fail(err, ITG_NO_MEMORY, "no memory for weight thresholds");
    for (int64_t i = 0; i < count; i++)
        t[i] = (double)x->codes.scale[i] * steps;
    x->choice->channel = t;
    if (x->codes.zero) {
        x->choice->zero = itg_arena_copy(s->arena, x->codes.zero, (size_t)count);
        if (!x->choice->zero) return itg_fail(err, ITG_NO_MEMORY, "no memory for zero points");
    }
    x->choice->codes = NULL;
    x->choice->code_count = 0;
    if (x->layer->is_float) return ITG_OK;
    const itg_node *node = &x->r->g->nodes[x->layer->node];
    bool has_bias = node->input_count > 2 && node->inputs[2] != ITG_NONE;
    if (!has_bias && node->op == ITG_OP_MATMUL) return ITG_OK; /* ONNX's MatMul has no bias */
    itg_fit_bias(x->fit, &x->codes, x->bias);
    return itg_strategy_set_bias(s, edge, x->bias, (int32_t)itg_layer_channels(x->layer), err);
}

static itg_status set_codes(reconstruction *x, itg_error *err)
{
    const itg_layer *l = x->layer;
    int64_t channels = itg_layer_channels(l);
    for (int64_t ch = 0; ch < channels; ch++) {
        const int64_t scale = x->codes.scale_count == 1 ? 0 : ch;
        const int32_t middle = x->choice->zero ? 1 << (x->choice->bits - 1) : 0;
        const int32_t from = middle - itg_fit_zero(&x->codes, scale);
        for (int64_t k = 0; k < l->depth; k++)
            x->packed[itg_layer_weight(l, ch, k)] = x->codes.q[ch * l->depth + k] - from;
    }
    return itg_strategy_set_codes(x->r->s, l->weight_edge, x->packed, channels * l->depth, err);
}

/* Whether the layer's sums fit with its present codes. */
static itg_status check_sums(const reconstruction *x, bool *fits, itg_error *err)
{
    itg_status status = annotate_again(x->r, x->layer, x->a, err);
    return status == ITG_OK ? itg_sums_fit(*x->a, x->layer->node, fits, err) : status;
}

/* Finds scales that the hardware does not change, and codes for them. *fits false: not found. */
static itg_status settle_scales(reconstruction *x, bool *fits, itg_error *err)
{
    size_t bytes = (size_t)x->codes.scale_count * sizeof *x->tried;
    *fits = false;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        itg_status status = set_scales(x, err);
        if (status == ITG_OK) status = annotate_again(x->r, x->layer, x->a, err);
        if (status != ITG_OK) return status;
        memcpy(x->tried, x->codes.scale, bytes);
        memcpy(x->codes.scale, itg_layer_quantizer(*x->a, x->layer)->scale, bytes);
        *fits = memcmp(x->tried, x->codes.scale, bytes) == 0;
        if (*fits) return ITG_OK;
        status = itg_fit_again(x->fit, &x->grid, x->tried, &x->codes, err);
        if (status != ITG_OK) return status;
    }
    return ITG_OK;
}

/* Applies the reconstruction. A layer that the hardware cannot run then keeps its choice. */
static itg_status apply(reconstruction *x, itg_error *err)
{
    bool fits = false;
    itg_error why = {0};
    itg_status status = settle_scales(x, &fits, &why);
    if (status == ITG_OK && fits) status = set_codes(x, &why);
    if (status == ITG_OK && fits) status = check_sums(x, &fits, &why);
    if (status == ITG_OK && fits) return ITG_OK;
    *x->choice = x->before;
    if (status == ITG_OK || status == ITG_INFEASIBLE) return ITG_OK;
    return itg_fail(err, status, "%s", why.message);
}

static void free_codes(reconstruction *x)
{
    free(x->codes.q);
    free(x->codes.scale);
    free(x->codes.zero);
    free(x->tried);
    free(x->bias);
    free(x->packed);
}

/* Reconstructs the layer's weights at the strategy's width. */
static itg_status fit_width(recovery *r, const itg_layer *l, const itg_fit *fit, itg_annotated **a,
                            itg_error *err)
{
    itg_edge_choice *choice = &r->s->edges[l->weight_edge];
    reconstruction x = {
        .r = r, .layer = l, .before = *choice, .choice = choice, .a = a, .fit = fit};
    itg_status status = annotate_again(r, l, a, err);
    if (status == ITG_OK) status = take_codes(&x, err);
    if (status == ITG_OK) status = itg_fit_search(fit, &x.grid, &x.codes, err);
    const itg_metrics *metrics = &r->f->metrics;
    const double *metric = metrics->of ? metrics->of[l - r->f->layers] : NULL;
    if (status == ITG_OK && metric) status = itg_fit_couple(fit, metric, &x.grid, &x.codes, err);
    if (status == ITG_OK) status = apply(&x, err);
    free_codes(&x);
    return status;
}

/* Sets zero points at another width, if it has any: at the same places of the range, or, where the
 * first width has none, in the middle. */
static itg_status set_zero_points(recovery *r, const itg_layer *l, const itg_edge_choice *from,
                                  itg_error *err)
{
    itg_edge_choice *to = &r->s->edges[l->weight_edge];
    to->zero = NULL;
    if (!itg_layer_has_zero_points(l, r->g, r->hw, r->s, to->bits)) return ITG_OK;
    const int32_t most = from->zero ? (1 << from->bits) - 1 : 0, span = (1 << to->bits) - 1;
    uint8_t *zero = itg_arena_array(r->s->arena, (size_t)to->channel_count, sizeof *zero);
    if (!zero) return itg_fail(err, ITG_NO_MEMORY, "no memory for zero points");
    for (int32_t c = 0; c < to->channel_count; c++)
        zero[c] = (uint8_t)(from->zero ? (from->zero[c] * span + most / 2) / most : (span + 1) / 2);
    to->zero = zero;
    return ITG_OK;
}

/* Reconstructs the layer at each wanted width, and last at the strategy's own. */
static itg_status fit_widths(recovery *r, int32_t index, const itg_fit *fit, itg_annotated **a,
                             itg_error *err)
{
    const itg_layer *l = &r->f->layers[index];
    itg_edge_choice *choice = &r->s->edges[l->weight_edge];
    const itg_edge_choice own = *choice;
    itg_status status = ITG_OK;
    for (int32_t bits = 1; bits < 32 && r->table && status == ITG_OK; bits++) {
        if (!(r->table->widths[l->weight_edge] >> bits & 1) || bits == own.bits) continue;
        *choice = own;
        choice->bits = bits;
        status = set_zero_points(r, l, &own, err);
        if (status == ITG_OK) status = fit_width(r, l, fit, a, err);
        if (status == ITG_OK) *itg_recovered_entry(r->table, l->weight_edge, bits) = *choice;
        if (status == ITG_INFEASIBLE) status = ITG_OK; /* not with this width of its input */
    }
    *choice = own;
    if (own.bits > widest(r)) return status;
    if (status == ITG_OK) status = fit_width(r, l, fit, a, err);
    if (status == ITG_OK && r->table)
        *itg_recovered_entry(r->table, l->weight_edge, own.bits) = *choice;
    return status;
}

/* a: the graph with the strategy's choices; afterwards, too. */
static itg_status recover_layer(recovery *r, int32_t index, itg_annotated **a, itg_error *err)
{
    const itg_layer *l = &r->f->layers[index];
    itg_moments moments = {0};
    itg_fit fit = {0};
    itg_observation o = {.annotated = *a,
                         .layer = l,
                         .targets = r->f->targets.values[index],
                         .samples = itg_recover_floats_samples(r->f),
                         .options = r->o,
                         .weights = r->weights,
                         .kept = r->kept,
                         .most_kept = 2 * r->f->layer_count};
    itg_status status = itg_observe(&o, &moments, err);
    const itg_fit_options options = {
        r->o->mode != ITG_RECOVER_SCALES, r->ridge, {itg_thread_count(r->o->threads), &r->o->stop}};
    const itg_node *node = &r->g->nodes[l->node];
    const bool has_bias = node->input_count > 2 && node->inputs[2] != ITG_NONE;
    if (status == ITG_OK)
        status = itg_fit_create(l, &moments, r->g->values[node->inputs[1]].data,
                                l->is_float && has_bias ? r->g->values[node->inputs[2]].data : NULL,
                                &options, &fit, err);
    if (status == ITG_OK) status = fit_widths(r, index, &fit, a, err);
    if (status == ITG_OK) status = annotate_again(r, l, a, err);
    const bool is_shared = r->g->values[r->g->nodes[l->node].inputs[1]].reads > 1;
    if (is_shared) itg_kept_drop_all(r->kept); /* an earlier layer has these weights, too */
    itg_fit_deinit(&fit);
    itg_moments_deinit(&moments);
    return status;
}

/* ---- all layers ---- */

static bool is_enough(const recovery *r)
{
    return r->asked->enough && r->asked->enough(r->asked->context);
}

/* Whether thresholds, scales and biases are chosen by what they do to the outputs, too. */
static bool tunes(const recovery *r)
{
    return !r->table && r->o->mode != ITG_RECOVER_SCALES && !is_enough(r);
}

/* Whether codes of some width are wanted. */
static bool is_wanted(const recovery *r, const itg_layer *l)
{
    return (r->table && r->table->widths[l->weight_edge]) ||
           r->s->edges[l->weight_edge].bits <= widest(r);
}

/* What the parts of a layer's work ask: both ways of stopping end it. */
static bool is_over(void *context)
{
    const recovery *r = context;
    return is_enough(r) || itg_check_stop(&r->asked->stop, NULL) != ITG_OK;
}

static itg_tuning tuning_of(recovery *r)
{
    return (itg_tuning){.g = r->g,
                        .hw = r->hw,
                        .layers = r->f->layers,
                        .layer_count = r->f->layer_count,
                        .samples = itg_recover_floats_samples(r->f),
                        .odds = r->f->has_odds ? &r->f->odds : NULL,
                        .options = r->o,
                        .constants = &r->constants,
                        .weights = r->weights};
}

/* *a: the graph with the strategy's choices, before and after. */
static itg_status choose_ranges(recovery *r, itg_annotated **a, itg_error *err)
{
    const itg_tuning t = tuning_of(r);
    itg_ranges_chosen chosen;
    itg_status status = itg_choose_ranges(&t, r->s, &chosen, err);
    r->is_lossy = chosen.is_lossy;
    if (status == ITG_CANCELLED && is_enough(r)) return ITG_OK;
    if (status != ITG_OK || !chosen.changed) return status;
    itg_annotated_destroy(*a);
    *a = NULL;
    return annotate(r, a, err);
}

static itg_status tune(recovery *r, itg_error *err)
{
    const itg_tuning t = tuning_of(r);
    itg_status status = itg_tune(&t, r->s, err);
    return status == ITG_CANCELLED && is_enough(r) ? ITG_OK : status;
}

static itg_status recover_layers(recovery *r, itg_error *err)
{
    itg_annotated *a = NULL;
    itg_error why = {0};
    itg_status status = annotate(r, &a, err);
    if (status == ITG_OK) status = itg_recover_floats_take(r->f, a, err);
    if (status == ITG_OK && tunes(r)) status = choose_ranges(r, &a, err);
    const int32_t count = r->f->layer_count;
    if (status == ITG_OK)
        status = itg_kept_create(r->g, 2 * count, ACTIVATION_BYTES, &r->kept, err);
    for (int32_t i = 0; i < count && status == ITG_OK; i++) {
        if (!is_wanted(r, &r->f->layers[i])) continue;
        if (r->o->progress) r->o->progress(r->o->context, i, count);
        if (is_enough(r)) break;
        status = itg_recover_floats_reach(r->f, i, r->o, &why);
        /* gradients are of no use where codes are not chosen */
        if (status == ITG_OK && r->o->mode != ITG_RECOVER_SCALES)
            status = itg_recover_floats_weigh(r->f, r->o, &why);
        if (status == ITG_OK) status = recover_layer(r, i, &a, &why);
        if (status == ITG_CANCELLED && is_enough(r)) {
            status = ITG_OK;
            break;
        }
        if (status != ITG_OK)
            (void)itg_fail(err, status, "node '%s': %s", r->g->nodes[r->f->layers[i].node].name,
                           why.message);
    }
    itg_annotated_destroy(a);
    return status;
}

static itg_status begin(itg_recovery *of, recovery *r, itg_error *err)
{
    r->g = of->g;
    r->hw = of->hw;
    r->own = *r->asked;
    r->own.stop = (itg_stop){is_over, r};
    r->o = &r->own;
    itg_status status = itg_recover_floats_begin(of, r->o, &r->f, err);
    if (status == ITG_OK) status = itg_cache_create(WEIGHT_BYTES, &r->weights, err);
    return status == ITG_OK ? itg_constants_create(r->g, r->weights, &r->constants, err) : status;
}

static void end(recovery *r)
{
    if (r->f) itg_recover_floats_end(r->f);
    itg_constants_deinit(&r->constants);
    itg_kept_destroy(r->kept);
    itg_cache_destroy(r->weights);
}

/* Whether the layers have no more weights than there are samples, and codes of some are chosen. */
static bool is_tiny(const recovery *r)
{
    int64_t weights = 0;
    bool chosen = false;
    for (int32_t i = 0; i < r->f->layer_count && weights <= r->f->samples; i++) {
        const itg_layer *l = &r->f->layers[i];
        weights += l->depth * itg_layer_channels(l);
        chosen = chosen || is_wanted(r, l);
    }
    return chosen && weights <= r->f->samples;
}

/* Measures the result of a tiny network, whose ridge is chosen. */
static itg_status measure(recovery *r, itg_error *err)
{
    itg_annotated *a = NULL;
    if (!tunes(r) || !r->f->has_odds || !is_tiny(r)) return ITG_OK;
    itg_status status = annotate(r, &a, err);
    if (status == ITG_OK)
        status =
            itg_tune_measure(&r->f->odds, 0, r->f->samples, a, r->weights, &r->divergence, err);
    itg_annotated_destroy(a);
    return status == ITG_CANCELLED && is_enough(r) ? ITG_OK : status;
}

static itg_status run(itg_recovery *of, recovery *r, itg_error *err)
{
    r->divergence = INFINITY;
    if (r->asked->mode == ITG_RECOVER_NONE) return ITG_OK;
    itg_status status = begin(of, r, err);
    if (status == ITG_OK) status = recover_layers(r, err);
    if (status == ITG_OK && tunes(r)) status = tune(r, err);
    if (status == ITG_OK) status = measure(r, err);
    end(r);
    return status;
}

/* Tries another ridge on a copy of what was there before; keeps the result where it is nearer. */
static itg_status try_ridge(itg_recovery *of, const itg_strategy *before, double ridge,
                            recovery *best, itg_error *err)
{
    recovery r = {.asked = best->asked, .ridge = ridge};
    itg_status status = itg_strategy_clone(before, &r.s, err);
    if (status == ITG_OK) status = run(of, &r, err);
    const bool nearer = status == ITG_OK && r.divergence < best->divergence;
    if (nearer) best->divergence = r.divergence;
    for (int32_t e = 0; nearer && e < best->s->edge_count && status == ITG_OK; e++)
        status = itg_strategy_set_edge(best->s, e, &r.s->edges[e], err);
    itg_strategy_destroy(r.s);
    return status;
}

itg_status itg_recover(itg_recovery *of, const itg_recover_options *options, itg_strategy *strategy,
                       itg_error *err)
{
    static const double ridges[] = {0.7, 0.5, 0.35, 1.4, 2}; /* after 1 */
    recovery r = {.s = strategy, .asked = options, .ridge = 1};
    itg_strategy *before = NULL;
    itg_status status = itg_strategy_clone(strategy, &before, err);
    if (status == ITG_OK) status = run(of, &r, err);
    for (size_t i = 0; i < sizeof ridges / sizeof *ridges; i++)
        if (status == ITG_OK && r.divergence < INFINITY && !is_enough(&r))
            status = try_ridge(of, before, ridges[i], &r, err);
    itg_strategy_destroy(before);
    return status;
}

/* ---- thresholds alone ---- */

static itg_status choose_alone(recovery *r, bool *changed, itg_error *err)
{
    itg_annotated *a = NULL;
    itg_status status = annotate(r, &a, err);
    if (status == ITG_INFEASIBLE) return ITG_OK;
    if (status == ITG_OK) status = itg_recover_floats_take(r->f, a, err);
    itg_annotated_destroy(a);
    const itg_tuning t = tuning_of(r);
    itg_ranges_chosen chosen = {0};
    if (status == ITG_OK) status = itg_choose_ranges(&t, r->s, &chosen, err);
    *changed = chosen.changed;
    return status;
}

itg_status itg_recover_ranges(itg_recovery *of, const itg_recover_options *options,
                              itg_strategy *strategy, bool *changed, itg_error *err)
{
    recovery r = {.s = strategy, .asked = options};
    *changed = false;
    if (options->mode == ITG_RECOVER_NONE || options->mode == ITG_RECOVER_SCALES) return ITG_OK;
    itg_status status = begin(of, &r, err);
    if (status == ITG_OK && r.f->has_odds) status = choose_alone(&r, changed, err);
    end(&r);
    return status;
}

/* ---- tables ---- */

itg_status itg_recover_table(itg_recovery *of, const itg_recover_options *options,
                             const itg_strategy *base, const uint32_t *widths, itg_recovered **out,
                             itg_error *err)
{
    itg_recovered *t = calloc(1, sizeof *t);
    if (t)
        t->choices =
            calloc((size_t)base->edge_count * ITG_RECOVERED_WIDTHS + 1, sizeof *t->choices);
    itg_status status = t && t->choices ? itg_strategy_clone(base, &t->s, err)
                                        : itg_fail(err, ITG_NO_MEMORY, "no memory for codes");
    if (status == ITG_OK) {
        t->widths = widths;
        recovery r = {.s = t->s, .asked = options, .table = t, .ridge = 1};
        status = run(of, &r, err);
        t->widths = NULL;
    }
    if (status == ITG_OK)
        *out = t;
    else
        itg_recovered_destroy(t);
    return status;
}
