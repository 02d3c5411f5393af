/* The contribution of one sample to each metric that is a share of the samples. */
#include "sim/hits.h"
#include "sim/sim.h"

bool itg_has_classes(itg_dtype dtype, const itg_shape *shape)
{
    int32_t axes = 0;
    for (int32_t i = 0; i < shape->rank; i++)
        axes += shape->dims[i] > 1;
    return axes == 1 || (axes == 0 && dtype == ITG_S64);
}

bool itg_model_is_classifier(const itg_model *model)
{
    if (model->output_count != 1) return false;
    const itg_value *output = &model->values[model->outputs[0]];
    return itg_has_classes(output->dtype, &output->shape);
}

/* Calls do_it(type) with the C type of the dtype's elements. */
#define BY_DTYPE(dtype, do_it)                                                                     \
    switch (dtype) {                                                                               \
    case ITG_F32:                                                                                  \
        do_it(float);                                                                              \
        break;                                                                                     \
    case ITG_F64:                                                                                  \
        do_it(double);                                                                             \
        break;                                                                                     \
    case ITG_S8:                                                                                   \
        do_it(int8_t);                                                                             \
        break;                                                                                     \
    case ITG_U8:                                                                                   \
    case ITG_BOOL:                                                                                 \
        do_it(uint8_t);                                                                            \
        break;                                                                                     \
    case ITG_S16:                                                                                  \
        do_it(int16_t);                                                                            \
        break;                                                                                     \
    case ITG_U16:                                                                                  \
        do_it(uint16_t);                                                                           \
        break;                                                                                     \
    case ITG_S32:                                                                                  \
        do_it(int32_t);                                                                            \
        break;                                                                                     \
    case ITG_U32:                                                                                  \
        do_it(uint32_t);                                                                           \
        break;                                                                                     \
    case ITG_S64:                                                                                  \
        do_it(int64_t);                                                                            \
        break;                                                                                     \
    default:                                                                                       \
        return -1;                                                                                 \
    }

int64_t itg_class_of(const itg_tensor *output)
{
    int64_t count = 0, best = 0;
    if (!itg_shape_elements(&output->shape, &count) || count == 0) return -1;
    if (output->dtype == ITG_S64 && count == 1) return *(const int64_t *)output->data;
#define ARGMAX(type)                                                                               \
    for (int64_t i = 1; i < count; i++)                                                            \
        if (((const type *)output->data)[i] > ((const type *)output->data)[best]) best = i
    BY_DTYPE(output->dtype, ARGMAX)
    return best;
}

/* ---- one function per metric ---- */

static int is_correct(const itg_sample *s)
{
    return s->label ? s->class_id == *s->label : -1;
}

static int agrees(const itg_sample *s)
{
    return s->float_class ? s->class_id == *s->float_class : -1;
}

/* Whether fewer than 5 classes rank before the label: by value, then by lower index. */
static int is_in_top5(const itg_sample *s)
{
    int64_t count = 0, before = 0;
    if (!s->label || !s->output || !itg_has_classes(s->output->dtype, &s->output->shape) ||
        !itg_shape_elements(&s->output->shape, &count) || count < 6)
        return -1;
#define RANK(type)                                                                                 \
    for (int64_t i = 0; i < count; i++) {                                                          \
        type other = ((const type *)s->output->data)[i],                                           \
             wanted = ((const type *)s->output->data)[*s->label];                                  \
        before += !(wanted > other) && (i < *s->label || wanted != other);                         \
    }                                                                                              \
    before += 0
    BY_DTYPE(s->output->dtype, RANK)
    return before < 5;
}

static int is_right_of_two(const itg_sample *s)
{
    return s->binary ? (s->logit > 0) == (*s->binary > 0) : -1;
}

const itg_hit_fn itg_hit_of[ITG_METRIC_COUNT] = {
    [ITG_METRIC_TOP1] = is_correct,
    [ITG_METRIC_TOP5] = is_in_top5,
    [ITG_METRIC_AGREEMENT] = agrees,
    [ITG_METRIC_BINARY_ACCURACY] = is_right_of_two,
};
