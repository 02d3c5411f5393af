/* Preprocessing options: names, lists, and the check of data against an input. */
#include "sim/preprocess.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

itg_preprocess itg_preprocess_default(void)
{
    return (itg_preprocess){.scale = 1.0f};
}

static const char *const layout_names[ITG_SAMPLE_LAYOUTS] = {
    [ITG_SAMPLES_SAME] = "same", [ITG_SAMPLES_NCHW] = "nchw", [ITG_SAMPLES_NHWC] = "nhwc"};

const char *itg_sample_layout_name(itg_sample_layout layout)
{
    return layout_names[layout];
}

bool itg_sample_layout_from_name(const char *name, itg_sample_layout *out)
{
    for (int i = 0; i < ITG_SAMPLE_LAYOUTS; i++) {
        if (strcmp(layout_names[i], name) != 0) continue;
        *out = (itg_sample_layout)i;
        return true;
    }
    return false;
}

/* Parses a finite decimal or hex number; blanks around it are ignored. */
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

static int32_t channel_axis(const itg_preprocess *p, const itg_shape *data)
{
    return p->layout == ITG_SAMPLES_NHWC ? data->rank - 1 : 1;
}

int64_t itg_preprocess_channels(const itg_preprocess *p, const itg_shape *data)
{
    return data->rank > 1 ? data->dims[channel_axis(p, data)] : 1;
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
        const int64_t channels = itg_preprocess_channels(p, &data->shape);
        if (n < 0 || n > ITG_MAX_CHANNELS || (n > 1 && n != channels))
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "preprocessing: %" PRId64 " values of %s; expected 1, or %" PRId64
                            ", the channels (axis %" PRId32 ") of %s",
                            n, lists[i].name, channels, channel_axis(p, &data->shape), data->path);
        for (int32_t k = 0; k < n; k++)
            if (!isfinite(lists[i].values[k]) || (lists[i].divides && lists[i].values[k] == 0.0f))
                return itg_fail(err, ITG_BAD_ARGUMENT, "preprocessing: %s %" PRId32 " is %s",
                                lists[i].name, k,
                                lists[i].divides ? "zero or not finite" : "not finite");
    }
    return ITG_OK;
}

/* Only float32 is computed; other dtypes pass unchanged. */
static itg_status check_dtype(const itg_preprocess *p, const itg_tensor *input, itg_error *err)
{
    if (input->dtype == ITG_F32 || (p->scale == 1.0f && p->mean_count == 0 && p->std_count == 0))
        return ITG_OK;
    return itg_fail(err, ITG_BAD_ARGUMENT,
                    "preprocessing: scale, mean and std compute float32, but the model's input is "
                    "%s: leave them out",
                    itg_dtype_name(input->dtype));
}

/* Returns the shape of a sample as the model gets it, without dimensions of 1. */
static itg_shape sample_shape(const itg_shape *from, itg_sample_layout layout)
{
    const bool to_front = layout == ITG_SAMPLES_NHWC, to_end = layout == ITG_SAMPLES_NCHW;
    const int32_t first = to_end ? 2 : 1, last = from->rank - (to_front ? 1 : 0);
    itg_shape out = {0};
    if (to_front && from->dims[last] != 1) out.dims[out.rank++] = from->dims[last];
    for (int32_t i = first; i < last; i++)
        if (from->dims[i] != 1) out.dims[out.rank++] = from->dims[i];
    if (to_end && from->dims[1] != 1) out.dims[out.rank++] = from->dims[1];
    return out;
}

static int compare_dims(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Whether the dimensions differ only in order: a reshape would silently scramble samples. */
static bool is_permuted(const itg_shape *a, const itg_shape *b)
{
    itg_shape x = *a, y = *b;
    if (itg_shape_equal(&x, &y)) return false;
    qsort(x.dims, (size_t)x.rank, sizeof *x.dims, compare_dims);
    qsort(y.dims, (size_t)y.rank, sizeof *y.dims, compare_dims);
    return itg_shape_equal(&x, &y);
}

static itg_status check_order(const itg_preprocess *p, const itg_dataset *data,
                              const itg_shape *input, itg_error *err)
{
    char have[128], want[128], converted[32] = "", help[64] = "";
    itg_shape sample = data->shape;
    const itg_shape expected = sample_shape(input, ITG_SAMPLES_SAME),
                    given = sample_shape(&data->shape, p->layout);
    if (!is_permuted(&given, &expected)) return ITG_OK;
    for (int i = 0; i < ITG_SAMPLE_LAYOUTS && data->shape.rank > 2; i++) {
        const itg_shape other = sample_shape(&data->shape, (itg_sample_layout)i);
        if (itg_shape_equal(&other, &expected))
            snprintf(help, sizeof help, "; --layout %s reads them as such", layout_names[i]);
    }
    sample.dims[0] = 1;
    if (p->layout != ITG_SAMPLES_SAME)
        snprintf(converted, sizeof converted, ", read as %s,", layout_names[p->layout]);
    return itg_fail(err, ITG_MISMATCH,
                    "%s: samples of shape %s%s are the model's input %s in another order of axes%s",
                    data->path, itg_shape_text(&sample, have, sizeof have), converted,
                    itg_shape_text(input, want, sizeof want), help);
}

itg_status itg_preprocess_check(const itg_preprocess *p, const itg_dataset *data,
                                const itg_tensor *input, itg_error *err)
{
    char have[128], want[128];
    int64_t elements = 0, wanted = 0;
    itg_shape sample = data->shape;
    itg_status status = check_constants(p, data, err);
    if (status == ITG_OK) status = check_dtype(p, input, err);
    if (status != ITG_OK) return status;
    if ((p->bgr || p->layout != ITG_SAMPLES_SAME) && data->shape.rank < 3)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s: shape %s has no channels and pixels for %s",
                        data->path, itg_shape_text(&data->shape, have, sizeof have),
                        p->bgr ? "bgr" : layout_names[p->layout]);
    sample.dims[0] = 1;
    if (!itg_shape_elements(&input->shape, &wanted) || !itg_shape_elements(&sample, &elements) ||
        elements != wanted)
        return itg_fail(err, ITG_MISMATCH,
                        "%s: samples of shape %s do not fit the model's input %s", data->path,
                        itg_shape_text(&sample, have, sizeof have),
                        itg_shape_text(&input->shape, want, sizeof want));
    if (p->layout != ITG_SAMPLES_SAME && data->shape.rank < input->shape.rank)
        return itg_fail(err, ITG_MISMATCH,
                        "%s: samples of shape %s have no axis of channels that %s could mean; the "
                        "model's input is %s",
                        data->path, itg_shape_text(&sample, have, sizeof have),
                        layout_names[p->layout], itg_shape_text(&input->shape, want, sizeof want));
    return check_order(p, data, &input->shape, err);
}
