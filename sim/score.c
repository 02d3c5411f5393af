/* Parts of a score: costs by the hardware, quality by an evaluation. */
#include "kernels/math.h"
#include "sim/evaluate.h"
#include "sim/strategy_file.h"
#include <math.h>
#include <string.h>

static double fraction(int64_t part, int64_t whole)
{
    return part < 0 || whole == 0 ? -1.0 : (double)part / (double)whole;
}

/* Elements-weighted mean of the bits of weight edges; 0 without weights. */
static double average_weight_bits(const itg_annotated *a)
{
    double bits = 0, elements = 0;
    for (int32_t e = 0; e < a->edge_count; e++) {
        const itg_edge *edge = &a->edges[e];
        int64_t count = 0;
        if (edge->kind != ITG_EDGE_QUANT || edge->node == ITG_NONE || edge->slot != 1 ||
            a->nodes[edge->node].form != ITG_FORM_MAC ||
            !itg_graph_is_constant(a->graph, edge->value) ||
            !itg_shape_elements(&a->graph->values[edge->value].shape, &count))
            continue;
        bits += (double)count * (double)a->values[edge->value].versions[edge->version].q.bits;
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
    out->weight_bytes = cost.weight_bytes;
    out->parameter_bytes = cost.parameter_bytes;
    out->bops = (double)cost.bops;
    out->cycles = cost.cycles;
    out->average_weight_bits = average_weight_bits(a);
    return ITG_OK;
}

double itg_score_sqnr_db(const itg_score *score)
{
    if (!(score->distortion >= 0)) return NAN;
    return score->distortion > 0 ? -10 / 3.321928094887362 * itg_log2(score->distortion) : INFINITY;
}

void itg_score_quality(const itg_evaluation *evaluation, itg_score *out)
{
    out->samples = evaluation->samples;
    out->stopped_at = evaluation->stopped_at;
    out->top1 = fraction(evaluation->correct, evaluation->samples);
    out->agreement = fraction(evaluation->agreeing, evaluation->samples);
    out->distortion = evaluation->distortion;
    memcpy(out->digest, evaluation->digest, sizeof out->digest);
}

void itg_strategy_record(itg_strategy_file *file, const itg_score *score)
{
    file->results = (itg_strategy_results){.present = true,
                                           .samples = score->samples,
                                           .top1 = score->top1,
                                           .agreement = score->agreement,
                                           .weight_bytes = score->weight_bytes,
                                           .parameter_bytes = score->parameter_bytes};
    memcpy(file->results.digest, score->digest, sizeof score->digest);
}
