#include "sim/edge_histogram.h"
#include <math.h>

itg_edge_histogram itg_edge_histogram_of(const itg_quantizer *q)
{
    const int64_t codes = q->qmax - q->qmin + 1;
    int64_t width = 1;
    while (codes > width * (ITG_EDGE_BINS - 2 * ITG_EDGE_MARGIN))
        width *= 2;
    return (itg_edge_histogram){.width = width,
                                .first = q->qmin - ITG_EDGE_MARGIN * width,
                                .count =
                                    (int32_t)((codes + width - 1) / width) + 2 * ITG_EDGE_MARGIN};
}

/* Returns the bin of the code nearest to a value. NaN is in the first one. */
static int32_t bin_of(const itg_edge_histogram *h, double code)
{
    const double bin = floor((code + 0.5 - (double)h->first) / (double)h->width);
    if (!(bin > 0)) return 0;
    return bin < h->count ? (int32_t)bin : h->count - 1;
}

void itg_edge_histogram_add(itg_edge_histogram *h, const itg_quantizer *q, const itg_shape *shape,
                            const float *real, const float *simulated, int64_t elements)
{
    int64_t inner = 1;
    for (int32_t d = q->axis + 1; q->axis >= 0 && d < shape->rank; d++)
        inner *= shape->dims[d];
    for (int64_t k = 0; k < elements; k++) {
        const double scale =
            (double)q->scale[q->scale_count == 1 ? 0 : (k / inner) % q->scale_count];
        h->floats[bin_of(h, (double)real[k] / scale + q->zero_point)]++;
        h->codes[bin_of(h, (double)simulated[k] / scale + q->zero_point)]++;
    }
}

void itg_edge_histogram_merge(itg_edge_histogram *into, const itg_edge_histogram *from)
{
    for (int32_t i = 0; i < into->count; i++) {
        into->floats[i] += from->floats[i];
        into->codes[i] += from->codes[i];
    }
}
