#include "sim/stats_pack.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/math.h"

#define MOST (INT64_C(1) << 53)
enum { BINS = ITG_HISTOGRAM_BINS, BINS_LOG2 = 11, MOST_INPUTS = 4096, MOST_NAME = 4096 };

/* ---- statistics ---- */

static void pack_bins(const int64_t *bins, itg_strbuf *out)
{
    int32_t used = BINS;
    while (used > 0 && bins[used - 1] == 0)
        used--;
    itg_pack_int(out, used);
    itg_pack(out, bins, (size_t)used, sizeof *bins);
}

void itg_stats_pack(const itg_stats *stats, itg_strbuf *out)
{
    itg_pack_int(out, stats->value_count);
    itg_pack_int(out, stats->samples);
    itg_pack_int(out, stats->kernels);
    itg_pack(out, stats->hash, 32, 1);
    itg_pack(out, stats->data_hash, 32, 1);
    for (int32_t v = 0; v < stats->value_count; v++) {
        const itg_value_stats *s = &stats->values[v];
        itg_pack_int(out, s->present);
        if (!s->present) continue;
        const int64_t counts[] = {s->count, s->counted, s->nan_count, s->zeros, s->exponent};
        const double range[] = {(double)s->min, (double)s->max, s->mean,
                                s->variance,    s->average_min, s->average_max};
        itg_pack(out, counts, 5, sizeof *counts);
        itg_pack(out, range, 6, sizeof *range);
        pack_bins(s->positive, out);
        pack_bins(s->negative, out);
    }
}

static int64_t unpack_bins(itg_unpacker *u, int64_t *bins)
{
    int64_t used = itg_unpack_int(u, 0, BINS, "the number of bins"), sum = 0;
    (void)itg_unpack(u, bins, (size_t)used, sizeof *bins);
    for (int64_t i = 0; i < used && u->status == ITG_OK; i++) {
        if (bins[i] < 0 || bins[i] > MOST - sum)
            itg_unpack_refuse(u, "a bin counts %lld", (long long)bins[i]);
        sum += u->status == ITG_OK ? bins[i] : 0;
    }
    return sum;
}

/* The one that histograms have (histogram.c). */
static bool is_exponent(int32_t exponent, double largest)
{
    int power = 0;
    if (!(largest > 0)) return exponent == INT32_MIN || exponent == 0;
    itg_frexp(largest, &power);
    return exponent == power - BINS_LOG2;
}

static void unpack_value(itg_unpacker *u, itg_value_stats *s)
{
    double range[6] = {0};
    s->present = itg_unpack_int(u, 0, 1, "whether a value has statistics") != 0;
    if (!s->present) return;
    s->count = itg_unpack_int(u, 0, MOST, "a count of elements");
    s->counted = itg_unpack_int(u, 0, s->count, "a count of elements in a histogram");
    s->nan_count = itg_unpack_int(u, 0, MOST, "a count of elements that are not finite");
    s->zeros = itg_unpack_int(u, 0, MOST, "a count of zeros");
    s->exponent = (int32_t)itg_unpack_int(u, INT32_MIN, 1024, "an exponent");
    if (!itg_unpack_finite(u, range, 6, "a range")) return;
    if (fabs(range[0]) > 3.5e38 || fabs(range[1]) > 3.5e38 || range[0] > range[1] || range[3] < 0)
        itg_unpack_refuse(u, "a range is [%g, %g], its variance %g", range[0], range[1], range[3]);
    else {
        s->min = (float)range[0];
        s->max = (float)range[1];
    }
    s->mean = range[2];
    s->variance = range[3];
    s->average_min = range[4];
    s->average_max = range[5];
    int64_t sum = unpack_bins(u, s->positive);
    sum += unpack_bins(u, s->negative);
    if (u->status != ITG_OK) return;
    if (!is_exponent(s->exponent, fmax(fabs(range[0]), fabs(range[1]))) || !isfinite(s->min) ||
        !isfinite(s->max))
        itg_unpack_refuse(u, "a histogram of [%g, %g] has exponent %d", range[0], range[1],
                          (int)s->exponent);
    if (sum + s->zeros != s->counted)
        itg_unpack_refuse(u, "a histogram of %lld elements has %lld", (long long)s->counted,
                          (long long)(sum + s->zeros));
}

void itg_stats_unpack(itg_unpacker *u, int32_t value_count, itg_stats **out)
{
    int64_t count = itg_unpack_int(u, value_count, value_count, "the number of values");
    itg_stats *stats = calloc(1, sizeof *stats);
    if (stats) stats->values = calloc((size_t)value_count + 1, sizeof *stats->values);
    if (!stats || !stats->values) {
        itg_stats_destroy(stats);
        itg_unpack_no_memory(u);
        return;
    }
    stats->value_count = (int32_t)count;
    stats->samples = itg_unpack_int(u, 0, MOST, "the number of samples");
    stats->kernels =
        (itg_float_kernels)itg_unpack_int(u, 0, ITG_FLOAT_KERNELS_COUNT - 1, "the kernels");
    (void)itg_unpack(u, stats->hash, 32, 1);
    (void)itg_unpack(u, stats->data_hash, 32, 1);
    for (int32_t v = 0; v < value_count && u->status == ITG_OK; v++)
        unpack_value(u, &stats->values[v]);
    if (u->status == ITG_OK)
        *out = stats;
    else
        itg_stats_destroy(stats);
}

/* ---- samples ---- */

void itg_dataset_pack(const itg_dataset *data, itg_strbuf *out)
{
    int64_t count = 0;
    for (const itg_dataset *d = data; d; d = d->next_input)
        count++;
    itg_pack_int(out, count);
    for (const itg_dataset *d = data; d; d = d->next_input) {
        int64_t elements = itg_dims_product(&d->shape, 0, d->shape.rank);
        itg_pack_text(out, d->input ? d->input : "");
        itg_pack_int(out, d->dtype);
        itg_pack_int(out, d->shape.rank);
        for (int32_t i = 0; i < d->shape.rank; i++)
            itg_pack_int(out, d->shape.dims[i]);
        itg_pack(out, d->data, (size_t)elements, itg_dtype_size(d->dtype));
    }
}

static itg_dataset *unpack_part(itg_unpacker *u, const char *name, char **input)
{
    itg_tensor t = {0};
    itg_dataset *part = NULL;
    int64_t elements = 0;
    *input = itg_unpack_text(u, MOST_NAME);
    t.dtype = (itg_dtype)itg_unpack_int(u, 0, ITG_DTYPE_COUNT - 1, "the type of samples");
    t.shape.rank = (int32_t)itg_unpack_int(u, 1, ITG_MAX_RANK, "the rank of samples");
    for (int32_t i = 0; i < t.shape.rank; i++)
        t.shape.dims[i] = itg_unpack_int(u, 0, MOST, "a size of samples");
    if (u->status == ITG_OK && !itg_shape_elements(&t.shape, &elements))
        itg_unpack_refuse(u, "samples are too many");
    t.data = itg_unpack_array(u, elements, itg_dtype_size(t.dtype));
    if (u->status == ITG_OK) u->status = itg_data_from_memory(&t, name, &part, u->err);
    free((void *)(uintptr_t)t.data);
    return part;
}

void itg_dataset_unpack(itg_unpacker *u, const char *name, itg_dataset **out)
{
    int64_t count = itg_unpack_int(u, 0, MOST_INPUTS, "the number of inputs");
    itg_dataset **parts = calloc((size_t)count + 1, sizeof *parts);
    char **inputs = calloc((size_t)count + 1, sizeof *inputs);
    if (!parts || !inputs) itg_unpack_no_memory(u);
    for (int64_t i = 0; i < count && u->status == ITG_OK; i++)
        parts[i] = unpack_part(u, name, &inputs[i]);
    itg_dataset *joined = u->status == ITG_OK ? parts[0] : NULL;
    if (joined && (count > 1 || *inputs[0]))
        u->status =
            itg_data_join(parts, (const char *const *)inputs, (int32_t)count, &joined, u->err);
    if (u->status == ITG_OK) *out = joined;
    for (int64_t i = 0; i < count && parts && inputs; i++) {
        if (u->status != ITG_OK) itg_data_close(parts[i]);
        free(inputs[i]);
    }
    free(parts);
    free(inputs);
}
