/* Preprocessing: (x*scale - mean)/std in float32, every operation rounded on its own. Mean and std
 * are indexed by the channel as the model sees it: after bgr has reversed axis 1. */
#include "sim/sim.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

itg_preprocess itg_preprocess_default(void)
{
    return (itg_preprocess){.scale = 1.0f};
}

/* A decimal or hex number without its blanks, finite. */
static bool parse_number(const char *text, size_t length, double *out)
{
    char buffer[64];
    while (length > 0 && *text == ' ') {
        text++;
        length--;
    }
    while (length > 0 && text[length - 1] == ' ')
        length--;
    if (length == 0 || length >= sizeof buffer) return false;
    memcpy(buffer, text, length);
    buffer[length] = '\0';
    return itg_parse_hex_double(buffer, out) && isfinite(*out);
}

static bool parse_item(const char *text, size_t length, float *out)
{
    double value, divisor = 1;
    const char *slash = memchr(text, '/', length);
    size_t left = slash ? (size_t)(slash - text) : length;
    if (!parse_number(text, left, &value)) return false;
    if (slash && !parse_number(slash + 1, length - left - 1, &divisor)) return false;
    value /= divisor;
    if (!(fabs(value) <= 0x1.fffffep127)) return false;
    *out = (float)value;
    return true;
}

itg_status itg_preprocess_parse_list(const char *text, float *out, int32_t max, int32_t *count,
                                     itg_error *err)
{
    float values[ITG_MAX_CHANNELS];
    int32_t n = 0;
    if (max > ITG_MAX_CHANNELS) max = ITG_MAX_CHANNELS;
    for (const char *item = text;; item++) {
        size_t length = strcspn(item, ",");
        if (n == max)
            return itg_fail(err, ITG_BAD_ARGUMENT, "'%.80s': more than %" PRId32 " value%s", text,
                            max, max > 1 ? "s" : "");
        if (!parse_item(item, length, &values[n]))
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "'%.80s': '%.*s' is neither a number nor a ratio such as 1/255", text,
                            (int)(length < 80 ? length : 80), item);
        n++;
        item += length;
        if (*item == '\0') break;
    }
    memcpy(out, values, (size_t)n * sizeof *out);
    *count = n;
    return ITG_OK;
}

static int64_t channels_of(const itg_dataset *data)
{
    return data->shape.rank > 1 ? data->shape.dims[1] : 1;
}

static itg_status check_constants(const itg_preprocess *p, const itg_dataset *data, itg_error *err)
{
    const struct {
        const char *name;
        const float *values;
        int32_t count;
        bool divides;
    } lists[] = {{"mean", p->mean, p->mean_count, false}, {"std", p->std, p->std_count, true}};
    if (!isfinite(p->scale))
        return itg_fail(err, ITG_BAD_ARGUMENT, "preprocessing: scale is not finite");
    for (int i = 0; i < 2; i++) {
        int64_t n = lists[i].count;
        if (n < 0 || n > ITG_MAX_CHANNELS || (n > 1 && n != channels_of(data)))
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "preprocessing: %" PRId64 " values of %s; expected 1, or %" PRId64
                            ", the channels (axis 1) of %s",
                            n, lists[i].name, channels_of(data), data->path);
        for (int32_t k = 0; k < n; k++)
            if (!isfinite(lists[i].values[k]) || (lists[i].divides && lists[i].values[k] == 0.0f))
                return itg_fail(err, ITG_BAD_ARGUMENT, "preprocessing: %s %" PRId32 " is %s",
                                lists[i].name, k,
                                lists[i].divides ? "zero or not finite" : "not finite");
    }
    return ITG_OK;
}

/* Shape of a sample as the model gets it, dimensions of 1 left out. */
static void sample_shape(const itg_shape *from, bool to_nhwc, itg_shape *out)
{
    out->rank = 0;
    for (int32_t i = to_nhwc ? 2 : 1; i < from->rank; i++)
        if (from->dims[i] != 1) out->dims[out->rank++] = from->dims[i];
    if (to_nhwc && from->dims[1] != 1) out->dims[out->rank++] = from->dims[1];
}

static int compare_dims(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The same dimensions in another order: a reshape would scramble the samples without a word. */
static bool is_permuted(const itg_shape *a, const itg_shape *b)
{
    itg_shape x = *a, y = *b;
    if (itg_shape_equal(&x, &y)) return false;
    qsort(x.dims, (size_t)x.rank, sizeof *x.dims, compare_dims);
    qsort(y.dims, (size_t)y.rank, sizeof *y.dims, compare_dims);
    return itg_shape_equal(&x, &y);
}

itg_status itg_preprocess_check(const itg_preprocess *p, const itg_dataset *data,
                                const itg_shape *input, itg_error *err)
{
    char have[128], want[128];
    int64_t elements = 0, wanted = 0;
    itg_shape sample = data->shape, given, expected;
    itg_status status = check_constants(p, data, err);
    if (status != ITG_OK) return status;
    if ((p->bgr || p->nhwc) && data->shape.rank < 3)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s: shape %s has no channels and pixels for %s",
                        data->path, itg_shape_text(&data->shape, have, sizeof have),
                        p->bgr ? "bgr" : "nhwc");
    sample.dims[0] = 1;
    if (!itg_shape_elements(input, &wanted) || !itg_shape_elements(&sample, &elements) ||
        elements != wanted)
        return itg_fail(err, ITG_MISMATCH,
                        "%s: samples of shape %s do not fit the model's input %s", data->path,
                        itg_shape_text(&sample, have, sizeof have),
                        itg_shape_text(input, want, sizeof want));
    sample_shape(&data->shape, p->nhwc, &given);
    sample_shape(input, false, &expected);
    if (is_permuted(&given, &expected))
        return itg_fail(
            err, ITG_MISMATCH,
            "%s: samples of shape %s%s are the model's input %s in another order of axes",
            data->path, itg_shape_text(&sample, have, sizeof have), p->nhwc ? ", made nhwc," : "",
            itg_shape_text(input, want, sizeof want));
    return ITG_OK;
}

/* count elements from index first, each rounded to float32. */
static void read_floats(const itg_dataset *data, int64_t first, int64_t count, int64_t step,
                        float *out)
{
#define READ(type)                                                                                 \
    do {                                                                                           \
        const type *from = (const type *)data->data + first;                                       \
        for (int64_t i = 0; i < count; i++)                                                        \
            out[i * step] = (float)from[i];                                                        \
    } while (0)
    switch (data->dtype) {
    case ITG_U8:
        READ(uint8_t);
        break;
    case ITG_S8:
        READ(int8_t);
        break;
    case ITG_U16:
        READ(uint16_t);
        break;
    case ITG_S16:
        READ(int16_t);
        break;
    case ITG_S32:
        READ(int32_t);
        break;
    case ITG_S64:
        READ(int64_t);
        break;
    case ITG_F64:
        READ(double);
        break;
    default:
        READ(float);
        break;
    }
#undef READ
}

/* One channel in place; the operations stand apart so that each is rounded. */
static void normalize(const itg_preprocess *p, int64_t channel, int64_t count, int64_t step,
                      float *x)
{
    const float mean = p->mean_count > 1 ? p->mean[channel] : p->mean[0];
    const float std = p->std_count > 1 ? p->std[channel] : p->std[0];
    const bool subtracts = p->mean_count > 0, divides = p->std_count > 0;
    for (int64_t i = 0; i < count; i++) {
        float v = x[i * step] * p->scale;
        if (subtracts) v = v - mean;
        if (divides) v = v / std;
        x[i * step] = v;
    }
}

void itg_preprocess_sample(const itg_preprocess *p, const itg_dataset *data, int64_t sample,
                           const itg_shape *input, float *out)
{
    int64_t elements = 1, channels = channels_of(data);
    (void)input; /* the check has shown that its elements are the sample's */
    for (int32_t i = 1; i < data->shape.rank; i++)
        elements *= data->shape.dims[i];
    const int64_t inner = elements / channels;
    for (int64_t c = 0; c < channels; c++) {
        int64_t from = sample * elements + (p->bgr ? channels - 1 - c : c) * inner;
        float *to = p->nhwc ? out + c : out + c * inner;
        int64_t step = p->nhwc ? channels : 1;
        read_floats(data, from, inner, step, to);
        normalize(p, c, inner, step, to);
    }
}
