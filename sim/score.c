/* Scores: the values of a strategy's metrics (intaglio.h). */
#include "kernels/math.h"
#include "sim/errors.h"
#include "sim/evaluate.h"
#include <math.h>
#include <string.h>

double itg_sqnr_of(double distortion)
{
    if (!(distortion >= 0)) return (double)NAN;
    return distortion > 0 ? -10 / 3.321928094887362 * itg_log2(distortion) : (double)INFINITY;
}

static double accuracy_of(const itg_score *score)
{
    static const itg_metric best_known[] = {ITG_METRIC_TOP1_BOUND, ITG_METRIC_EXPECTED_TOP1,
                                            ITG_METRIC_TOP1};
    for (size_t i = 0; i < sizeof best_known / sizeof *best_known; i++)
        if (!isnan(score->value[best_known[i]])) return score->value[best_known[i]];
    return score->value[ITG_METRIC_AGREEMENT];
}

double itg_score_get(const itg_score *score, itg_metric metric)
{
    if ((int)metric >= 0 && metric < ITG_METRIC_COUNT) return score->value[metric];
    if (metric == ITG_METRIC_SQNR) return itg_sqnr_of(score->value[ITG_METRIC_DISTORTION]);
    return metric == ITG_METRIC_ACCURACY ? accuracy_of(score) : (double)NAN;
}

bool itg_score_knows(const itg_score *score, itg_metric metric)
{
    return !isnan(itg_score_get(score, metric));
}

/* ---- costs ---- */

/* Returns the mean of the bits of weights, weighted by elements; 0 without weights. */
static double average_weight_bits(const itg_annotated *a)
{
    double bits = 0, elements = 0;
    for (int32_t e = 0; e < a->edge_count; e++) {
        const itg_edge *edge = &a->edges[e];
        int64_t count = 0;
        if (edge->kind != ITG_EDGE_QUANT || edge->node == ITG_NONE || edge->slot != 1 ||
            (a->nodes[edge->node].form != ITG_FORM_MAC &&
             a->nodes[edge->node].form != ITG_FORM_FLOAT) ||
            !itg_graph_is_constant(a->graph, edge->value) ||
            !itg_shape_elements(&a->graph->values[edge->value].shape, &count))
            continue;
        bits += (double)count * (double)a->values[edge->value].encodings[edge->encoding].q.bits;
        elements += (double)count;
    }
    return elements > 0 ? bits / elements : 0;
}

itg_status itg_score_costs(const itg_hardware *hw, const itg_annotated *a, itg_score *out,
                           itg_error *err)
{
    itg_cost cost = {0};
    if (itg_cost_of(hw, a, &cost) != ITG_OK)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the costs");
    out->value[ITG_METRIC_WEIGHT_BYTES] = (double)cost.weight_bytes;
    out->value[ITG_METRIC_PARAMETER_BYTES] = (double)cost.parameter_bytes;
    out->value[ITG_METRIC_BOPS] = (double)cost.bops;
    out->value[ITG_METRIC_CYCLES] = cost.cycles;
    out->value[ITG_METRIC_AVERAGE_WEIGHT_BITS] = average_weight_bits(a);
    return ITG_OK;
}

/* ---- quality ---- */

double itg_score_distance(const itg_score *score)
{
    const double divergence = score->value[ITG_METRIC_KL];
    return isnan(divergence) ? score->value[ITG_METRIC_DISTORTION] : divergence;
}

void itg_score_as_float(const bool *measures, const itg_model *model, itg_score *out)
{
    if (!measures) return;
    if (measures[ITG_METRIC_COSINE]) out->value[ITG_METRIC_COSINE] = 1;
    const itg_value *first = &model->values[model->outputs[0]];
    if (measures[ITG_METRIC_KL] && first->dtype != ITG_S64 &&
        itg_has_classes(first->dtype, &first->shape))
        out->value[ITG_METRIC_KL] = 0;
}

void itg_score_quality(const itg_evaluation *e, itg_score *out)
{
    out->samples = e->samples;
    out->stopped_at = e->stopped_at;
    out->value[ITG_METRIC_DISTORTION] = e->distortion;
    for (int i = 0; e->user && i < ITG_USER_METRICS; i++) {
        out->user[i] = e->user[i].info;
        out->value[ITG_METRIC_USER1 + i] = e->user_value[i];
    }
    for (int m = 0; m < ITG_METRIC_COUNT; m++) {
        if (itg_error_of[m]) out->value[m] = e->errors[m];
        if (!isnan(e->measures[m])) out->value[m] = e->measures[m];
        if (itg_hit_of[m])
            out->value[m] = e->hits[m] < 0 || e->samples == 0
                                ? (double)NAN
                                : (double)e->hits[m] / (double)e->samples;
    }
    if (e->expected) {
        out->value[ITG_METRIC_EXPECTED_TOP1] = itg_expected_top1(e->expected, e->lost);
        if (e->expected->bounded)
            out->value[ITG_METRIC_TOP1_BOUND] =
                e->stopped_at > 0 ? out->value[ITG_METRIC_EXPECTED_TOP1]
                                  : itg_expected_bound(e->expected, e->lost, e->lost_squares);
    }
    memcpy(out->digest, e->digest, sizeof out->digest);
}
