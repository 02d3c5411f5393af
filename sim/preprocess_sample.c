/* Preprocesses a sample for a graph input. float32: (x*scale - mean)/std, each operation rounded;
 * mean and std are indexed by the channel as the model sees it, after bgr. Integers pass through
 * int64, so that no bit is lost. */
#include "sim/preprocess.h"
#include "kernels/clones.h"
#include "kernels/int_ops.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>

/* One channel of a sample: `count` elements of the data, `step` apart, beginning at `from`; and
 * where they are written. */
typedef struct channel {
    int64_t index; /* as the model sees it */
    int64_t count, from, step, to, to_step;
} channel;

static channel channel_of(const itg_preprocess *p, const itg_shape *shape, int64_t sample,
                          int64_t index)
{
    const int64_t channels = itg_preprocess_channels(p, shape);
    int64_t elements = 1;
    for (int32_t i = 1; i < shape->rank; i++)
        elements *= shape->dims[i];
    const int64_t inner = elements / channels, taken = p->bgr ? channels - 1 - index : index;
    const bool last_in = p->layout == ITG_SAMPLES_NHWC, last_out = p->layout == ITG_SAMPLES_NCHW;
    return (channel){.index = index,
                     .count = inner,
                     .from = sample * elements + (last_in ? taken : taken * inner),
                     .step = last_in ? channels : 1,
                     .to = last_out ? index : index * inner,
                     .to_step = last_out ? channels : 1};
}

/* ---- errors ---- */

/* Writes the place of the data's element `at`: "images.npy: sample 3, element [0,4,7]". */
static const char *place_of(const itg_dataset *data, int64_t at, char *text, size_t size)
{
    char position[128];
    int64_t elements = 1;
    itg_shape index = {.rank = data->shape.rank - 1};
    for (int32_t i = data->shape.rank - 1; i > 0; i--) {
        index.dims[i - 1] = at / elements % data->shape.dims[i];
        elements *= data->shape.dims[i];
    }
    snprintf(text, size, "%.200s: sample %" PRId64 ", element %s", data->path,
             itg_dataset_number(data, at / elements),
             itg_shape_text(&index, position, sizeof position));
    return text;
}

static itg_status refuse_nonfinite(const itg_dataset *data, int64_t at, double value,
                                   itg_error *err)
{
    char place[384];
    const bool is_nan = value != value;
    const double raw = data->dtype == ITG_F32   ? (double)((const float *)data->data)[at]
                       : data->dtype == ITG_F64 ? ((const double *)data->data)[at]
                                                : 0;
    return itg_fail(err, ITG_BAD_FILE, "%s %s %s (--allow-nonfinite computes with it)",
                    place_of(data, at, place, sizeof place), isfinite(raw) ? "becomes" : "is",
                    is_nan      ? "NaN"
                    : value < 0 ? "-infinity"
                                : "infinity");
}

static itg_status refuse_integer(const itg_dataset *data, int64_t at, itg_dtype wanted,
                                 itg_error *err)
{
    char place[384];
    int64_t value = 0;
    place_of(data, at, place, sizeof place);
    if (!itg_dataset_integer(data, at, &value))
        return itg_fail(err, ITG_BAD_FILE, "%s is no integer, but the model's input is %s", place,
                        itg_dtype_name(wanted));
    return itg_fail(err, ITG_BAD_FILE,
                    "%s is %" PRId64 ", but the model's input is %s: %" PRId64 " to %" PRId64,
                    place, value, itg_dtype_name(wanted), itg_dtype_min(wanted),
                    itg_dtype_max(wanted));
}

/* ---- elements ---- */

enum { BLOCK = 1024 };

/* Elements [first, first + n) of a channel as floats. */
ITG_CLONES
static void read_floats(const itg_dataset *data, const channel *c, int64_t first, int64_t n,
                        float *restrict out)
{
    const int64_t at = c->from + first * c->step, step = c->step;
#define READ(type)                                                                                 \
    do {                                                                                           \
        const type *from = (const type *)data->data + at;                                          \
        for (int64_t i = 0; step == 1 && i < n; i++)                                               \
            out[i] = (float)from[i];                                                               \
        for (int64_t i = 0; step != 1 && i < n; i++)                                               \
            out[i] = (float)from[i * step];                                                        \
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
    case ITG_U32:
        READ(uint32_t);
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
    case ITG_BOOL:
        for (int64_t i = 0; i < n; i++)
            out[i] = ((const uint8_t *)data->data)[at + i * step] ? 1.0f : 0.0f;
        break;
    default:
        READ(float);
        break;
    }
#undef READ
}

/* Works in place. The operations are separate statements so that each is rounded. Returns whether
 * all results are finite. */
ITG_CLONES
static bool normalize(const itg_preprocess *p, int64_t index, float *x, int64_t n)
{
    const float mean = p->mean_count > 1 ? p->mean[index] : p->mean[0];
    const float std = p->std_count > 1 ? p->std[index] : p->std[0];
    const bool subtracts = p->mean_count > 0, divides = p->std_count > 0;
    const float scale = p->scale;
    int32_t unfit = 0;
    for (int64_t i = 0; i < n; i++) {
        float v = x[i] * scale;
        if (subtracts) v = v - mean;
        if (divides) v = v / std;
        x[i] = v;
        unfit |= !(fabsf(v) <= FLT_MAX);
    }
    return unfit == 0;
}

static itg_status fill_floats(const itg_preprocess *p, const itg_dataset *data, const channel *c,
                              float *out, itg_error *err)
{
    const int64_t step = c->to_step;
    float block[BLOCK];
    for (int64_t first = 0; first < c->count; first += BLOCK) {
        const int64_t n = c->count - first < BLOCK ? c->count - first : BLOCK;
        read_floats(data, c, first, n, block);
        const bool is_finite = normalize(p, c->index, block, n);
        for (int64_t i = 0; i < n && !is_finite && !p->allow_nonfinite; i++)
            if (!(fabsf(block[i]) <= FLT_MAX))
                return refuse_nonfinite(data, c->from + (first + i) * c->step, (double)block[i],
                                        err);
        float *to = out + c->to + first * step;
        for (int64_t i = 0; i < n; i++, to += step)
            *to = block[i];
    }
    return ITG_OK;
}

static itg_status fill_doubles(const itg_preprocess *p, const itg_dataset *data, const channel *c,
                               double *out, itg_error *err)
{
    for (int64_t i = 0; i < c->count; i++) {
        const int64_t at = c->from + i * c->step;
        int64_t whole = 0;
        double value = data->dtype == ITG_F32   ? (double)((const float *)data->data)[at]
                       : data->dtype == ITG_F64 ? ((const double *)data->data)[at]
                       : itg_dataset_integer(data, at, &whole) ? (double)whole
                                                               : 0.0;
        if (!p->allow_nonfinite && !isfinite(value)) return refuse_nonfinite(data, at, value, err);
        out[c->to + i * c->to_step] = value;
    }
    return ITG_OK;
}

static itg_status fill_integers(const itg_dataset *data, const channel *c, const itg_tensor *input,
                                itg_error *err)
{
    const int64_t least = itg_dtype_min(input->dtype), most = itg_dtype_max(input->dtype);
    for (int64_t i = 0; i < c->count; i++) {
        const int64_t at = c->from + i * c->step;
        int64_t value = 0;
        if (!itg_dataset_integer(data, at, &value) || value < least || value > most)
            return refuse_integer(data, at, input->dtype, err);
        itg_store(input->dtype, input->data, c->to + i * c->to_step, value);
    }
    return ITG_OK;
}

itg_status itg_preprocess_sample(const itg_preprocess *p, const itg_dataset *data, int64_t sample,
                                 const itg_tensor *input, itg_error *err)
{
    const int64_t channels = itg_preprocess_channels(p, &data->shape);
    itg_status status = ITG_OK;
    for (int64_t i = 0; i < channels && status == ITG_OK; i++) {
        const channel c = channel_of(p, &data->shape, sample, i);
        if (input->dtype == ITG_F32)
            status = fill_floats(p, data, &c, input->data, err);
        else if (input->dtype == ITG_F64)
            status = fill_doubles(p, data, &c, input->data, err);
        else
            status = fill_integers(data, &c, input, err);
    }
    return status;
}
