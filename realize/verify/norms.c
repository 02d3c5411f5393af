/* Softmax and LayerNormalization. docs/arithmetic.md 3.4 and 3.5 prove the intervals; this file
 * checks the assumptions about stored numbers. */
#include "realize/verify/norms.h"

#define LARGEST (INT64_C(1) << 61)
#define MOST_ROW (INT64_C(1) << 20)

enum { PROBABILITY_BITS = 30, MOST_NORM_FRACTION = 20, MOST_RANGE = 65535 };

/* Returns the elements in dimensions [first, end) of the input; 0: the axis is invalid. */
static int64_t row_elements(itg_view *v, bool whole)
{
    const itg_view_value *x = itg_view_input(v, 0);
    const int64_t axis = itg_view_int(v, "", "axis");
    if (x == NULL || axis < 0 || axis >= x->shape.rank) {
        itg_view_problem(v, "axis %lld is none of its input's", (long long)axis);
        return 0;
    }
    return itg_dims_product(&x->shape, (int32_t)axis, whole ? x->shape.rank : (int32_t)axis + 1);
}

static bool one_sum(itg_view *v, itg_sums *out, itg_span sum, itg_span partial)
{
    out->channels = itg_view_array(v, 1, sizeof *out->channels);
    if (out->channels == NULL) return false;
    out->count = 1;
    out->channels[0] = (itg_sum){sum, partial};
    return true;
}

static const itg_tensor *constant(itg_view *v, int32_t slot, itg_dtype dtype, int64_t elements)
{
    const itg_view_value *value = itg_view_input(v, slot);
    int64_t count = 0;
    if (value != NULL && value->constant != NULL && value->constant->dtype == dtype &&
        itg_shape_elements(&value->shape, &count) && count == elements)
        return value->constant;
    itg_view_problem(v, "input %d is no constant of %lld elements of its type", (int)slot,
                     (long long)elements);
    return NULL;
}

/* ---- Softmax ---- */

/* Checks a table of exponentials of numbers up to 0: at most 1, and the first is 1. */
static bool check_table(itg_view *v, int32_t slot, int64_t entries, int64_t one)
{
    const itg_tensor *t = constant(v, slot, ITG_S32, entries);
    if (t == NULL) return false;
    for (int64_t i = 0; i < entries; i++) {
        const int64_t entry = itg_load(ITG_S32, t->data, i);
        if (entry >= (i == 0 ? one : 0) && entry <= one) continue;
        itg_view_problem(v, "table %d: entry %lld is %lld, outside of [0,%lld]", (int)slot,
                         (long long)i, (long long)entry, (long long)one);
        return false;
    }
    return true;
}

bool itg_norms_softmax(itg_view *v, itg_sums *out)
{
    const int64_t bits = itg_view_int(v, "", "fraction");
    itg_view_codes q;
    out->terms = row_elements(v, false);
    if (out->terms < 1) return false;
    if (!itg_view_input_codes(v, 0, &q) || q.qmax - q.qmin > MOST_RANGE || bits < 1 ||
        bits > PROBABILITY_BITS) {
        itg_view_problem(v, "its input has no codes of at most 16 bits, or %lld is no fraction",
                         (long long)bits);
        return false;
    }
    const int64_t range = q.qmax - q.qmin, one = INT64_C(1) << bits;
    if (!check_table(v, 1, range < 255 ? range + 1 : 256, one) ||
        !check_table(v, 2, range / 256 + 1, one))
        return false;
    const itg_span row = itg_span_product(0, one, out->terms, out->terms);
    if (!itg_span_fits(row, out->bits))
        itg_view_problem(v, "the sum of a row does not fit %d bits", (int)out->bits);
    const itg_span result = itg_span_of(0, INT64_C(1) << PROBABILITY_BITS);
    out->rule = "a share of a row's exponentials, in units of 2^-30; partial sums are theirs";
    return one_sum(v, out, result, itg_span_hull(result, row));
}

/* ---- LayerNormalization ---- */

static int64_t floor_sqrt(int64_t of)
{
    int64_t low = 0, high = INT64_C(1) << 31;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (middle * middle <= of)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool check_row(itg_view *v, int64_t n, int64_t fraction)
{
    const int64_t epsilon = itg_view_int(v, "", "epsilon_code");
    itg_view_codes q;
    if (!itg_view_input_codes(v, 0, &q)) return false;
    const int64_t up = q.qmax - q.zero, down = q.zero - q.qmin, widest = up > down ? up : down;
    if (n <= MOST_ROW && widest <= MOST_RANGE && n * n <= LARGEST / (widest * widest) &&
        epsilon >= 1 && epsilon <= LARGEST && fraction >= 0 && fraction <= MOST_NORM_FRACTION)
        return true;
    itg_view_problem(v, "a row of %lld codes, with its epsilon, may leave 62 bits", (long long)n);
    return false;
}

bool itg_norms_layer(itg_view *v, itg_sums *out)
{
    const int64_t fraction = itg_view_int(v, "", "fraction"), n = row_elements(v, true);
    if (n < 1 || !check_row(v, n, fraction)) return false;
    const itg_tensor *gain = constant(v, 1, ITG_S16, n), *bias = constant(v, 2, ITG_S64, n);
    if (gain == NULL || bias == NULL) return false;
    const int64_t element = floor_sqrt(n << 2 * fraction) + 4;
    itg_span all = {0, 0};
    for (int64_t i = 0; i < n; i++) {
        const int64_t g = itg_load(ITG_S16, gain->data, i), b = itg_load(ITG_S64, bias->data, i);
        const itg_span at = itg_span_of(b, b);
        const itg_span sum = itg_span_add(at, itg_span_product(-element, element, g, g));
        all = i == 0 ? sum : itg_span_hull(all, sum);
        out->bias = i == 0 ? at : itg_span_hull(out->bias, at);
    }
    out->has_bias = true;
    out->terms = n;
    out->rule = "bias + gain * a normalized element, which the root of the row's length bounds";
    return one_sum(v, out, all, all);
}
