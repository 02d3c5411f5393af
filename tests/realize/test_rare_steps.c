/* Steps that networks seldom have, by formulas: constant first operands, computed weights of a
 * convolution, several images, and more encodings of one result than a layer of the kernels has. */
#include "fixture.h"
#include <stdlib.h>

enum { IMAGES = 2, IN = 2, SIDE = 3, OUT = 3, KERNEL = 2, LEFT = 2, VERSIONS = 19, ZERO = 3 };
enum { INPUTS = IMAGES * IN * SIDE * SIDE, WEIGHTS = OUT * IN * KERNEL * KERNEL };
enum { RESULTS = IMAGES * OUT * LEFT * LEFT };

static const itg_shape images = {4, {IMAGES, IN, SIDE, SIDE}},
                       filters = {4, {OUT, IN, KERNEL, KERNEL}},
                       results = {4, {IMAGES, OUT, LEFT, LEFT}};
static const itg_requant identity;

static int8_t image[INPUTS], weight[WEIGHTS];

static int32_t codes(itg_program *p, const char *name, const itg_shape *shape, itg_dtype storage,
                     int32_t zero_point, const void *data)
{
    static const float one = 1;
    int32_t id;
    const itg_quantizer q = {.bits = 8 * (int32_t)itg_dtype_size(storage),
                             .is_signed = true,
                             .storage = storage,
                             .qmin = itg_dtype_min(storage),
                             .qmax = itg_dtype_max(storage),
                             .zero_point = zero_point,
                             .axis = -1,
                             .scale_count = 1,
                             .scale = &one};
    assert_int_equal(itg_program_add_value(p, name, storage, shape, &id, NULL), ITG_OK);
    assert_int_equal(itg_program_set_quantizer(p, id, &q, NULL), ITG_OK);
    p->values[id].data = data;
    return id;
}

/* Codes of a float input. */
static int32_t quantized(itg_program *p, const char *name, const itg_shape *shape, int32_t zero)
{
    char real[16];
    itg_step *s;
    snprintf(real, sizeof real, "%s_real", name);
    int32_t *input = &p->inputs[p->input_count++];
    assert_int_equal(itg_program_add_value(p, real, ITG_F32, shape, input, NULL), ITG_OK);
    assert_int_equal(itg_program_add_step(p, ITG_STEP_QUANTIZE, name, 1, 1, &s, NULL), ITG_OK);
    s->inputs[0] = *input;
    return s->outputs[0] = codes(p, name, shape, ITG_S8, zero, NULL);
}

/* Version k of the native result is clamped to [-10 k, 10 k]. */
static itg_step *add_step(itg_program *p, itg_step_kind kind, itg_op op, const char *name,
                          int32_t inputs, const itg_shape *shape)
{
    itg_step *s;
    assert_int_equal(itg_program_add_step(p, kind, name, inputs, VERSIONS, &s, NULL), ITG_OK);
    s->op = op;
    s->attrs = itg_attrs_default(op);
    s->acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    for (int32_t k = 0; k < VERSIONS; k++) {
        char version[24];
        snprintf(version, sizeof version, "%s%d", name, (int)k);
        s->outputs[k] = codes(p, version, shape, ITG_S32, 0, NULL);
        s->outs[k] =
            (itg_step_out){.requant = &identity, .requant_count = 1, .lo = -10 * k, .hi = 10 * k};
        p->outputs[p->output_count++] = s->outputs[k];
    }
    return s;
}

static void add_conv(itg_program *p, const char *name, int32_t x, int32_t w)
{
    itg_step *s = add_step(p, ITG_STEP_CONV, ITG_OP_CONV, name, 2, &results);
    s->inputs[0] = x;
    s->inputs[1] = w;
    s->attrs.spatial_rank = 2;
    for (int i = 0; i < 2; i++) {
        s->attrs.kernel[i] = KERNEL;
        s->attrs.stride[i] = s->attrs.dilation[i] = 1;
    }
}

static void expect(const itg_batch *b, int32_t first, int64_t sample, int64_t i, int64_t native)
{
    for (int32_t k = 0; k < VERSIONS; k++) {
        const int32_t *y = itg_batch_output(b, first + k, sample).data;
        assert_int_equal(y[i], limited(native, -10 * k, 10 * k));
    }
}

/* Samples are the image and the weights, each less the sample's number. */
static itg_status fill(void *context, int32_t index, int64_t sample, void *to, itg_error *err)
{
    const int8_t *from = index == 0 ? image : weight;
    float *x = to;
    (void)context;
    (void)err;
    for (int i = 0; i < (index == 0 ? INPUTS : WEIGHTS); i++)
        x[i] = (float)(from[i] - (index == 0 ? ZERO : 0) - sample);
    return ITG_OK;
}

/* Output i of the convolution; both operands less `off`. */
static int64_t conv_of(int64_t i, int64_t off)
{
    int64_t n = i / (OUT * LEFT * LEFT), o = i / (LEFT * LEFT) % OUT, p = i / LEFT % LEFT,
            q = i % LEFT, sum = 0;
    for (int64_t c = 0; c < IN; c++)
        for (int64_t r = 0; r < KERNEL; r++)
            for (int64_t s = 0; s < KERNEL; s++)
                sum += (image[((n * IN + c) * SIDE + p + r) * SIDE + q + s] - ZERO - off) *
                       (weight[((o * IN + c) * KERNEL + r) * KERNEL + s] - off);
    return sum;
}

static itg_program *make(void)
{
    itg_program *p = NULL;
    itg_error err;
    assert_int_equal(itg_program_create("rare", &p, NULL), ITG_OK);
    p->inputs = itg_arena_array(p->arena, 2, sizeof *p->inputs);
    p->outputs = itg_arena_array(p->arena, 4 * VERSIONS, sizeof *p->outputs);
    for (int i = 0; i < INPUTS; i++)
        image[i] = (int8_t)(i * 7 % 23 - 11);
    for (int i = 0; i < WEIGHTS; i++)
        weight[i] = (int8_t)(i * 5 % 19 - 9);
    int32_t x = quantized(p, "x", &images, ZERO), w = quantized(p, "w", &filters, 0);
    int32_t fixed = codes(p, "fixed", &images, ITG_S8, ZERO, image);
    int32_t held = codes(p, "held", &filters, ITG_S8, 0, weight);
    add_conv(p, "computed", x, w);
    add_conv(p, "constant", fixed, held);
    add_conv(p, "half", x, held);
    add_step(p, ITG_STEP_CLIP, ITG_OP_RELU, "clip", 1, &images)->inputs[0] = fixed;
    if (itg_program_finish(p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}

static void check(const itg_batch *b, int64_t sample)
{
    for (int64_t i = 0; i < RESULTS; i++) {
        expect(b, 0, sample, i, conv_of(i, sample));
        expect(b, VERSIONS, sample, i, conv_of(i, 0));
        if (sample == 0) expect(b, 2 * VERSIONS, sample, i, conv_of(i, 0));
    }
    for (int64_t i = 0; i < INPUTS; i++)
        expect(b, 3 * VERSIONS, sample, i, image[i] - ZERO);
}

static void every_set_computes_rare_steps(void **state)
{
    (void)state;
    itg_program *p = make();
    for (int i = 0; itg_accel_set(i) != NULL; i++) {
        itg_batch_options options = {.block = 3};
        itg_batch_io io = {.fill = fill};
        itg_batch_plan *plan = NULL;
        itg_batch *b = NULL;
        if (itg_accel_choose(itg_accel_set(i), &options.kernels, NULL) != ITG_OK) continue;
        assert_int_equal(itg_batch_plan_create(p, &options, &plan, NULL), ITG_OK);
        assert_int_equal(itg_batch_create(plan, &b, NULL), ITG_OK);
        assert_int_equal(itg_batch_run(b, &(itg_block){0, 0, 3}, &io, NULL), ITG_OK);
        for (int64_t k = 0; k < 3; k++)
            check(b, k);
        itg_batch_destroy(b);
        itg_batch_plan_destroy(plan);
    }
    itg_program_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_set_computes_rare_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
