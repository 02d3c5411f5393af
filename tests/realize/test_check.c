/* Files that are well formed and lie: each damage is written into a file and must be refused by
 * name when it is read. */
#include "networks.h"
#include <math.h>

#define PATH TEST_FOLDER "/lie.onnx"

typedef void (*damage)(itg_program *p);

static void stride_zero(itg_program *p)
{
    fx_step(p, "n_c")->attrs.stride[0] = 0;
}
static void huge_kernel(itg_program *p)
{
    fx_step(p, "n_c")->attrs.kernel[1] = INT64_MAX;
}
static void negative_pad(itg_program *p)
{
    fx_step(p, "n_c")->attrs.pad[2] = -3;
}
static void huge_dilation(itg_program *p)
{
    fx_step(p, "n_c")->attrs.dilation[1] = INT64_MIN;
}
static void group_of_three(itg_program *p)
{
    fx_step(p, "n_z")->attrs.group = 3;
}
static void larger_output(itg_program *p)
{
    fx_value(p, "z")->shape.dims[2] = 9;
}
static void shift_of_99(itg_program *p)
{
    fx_requant_of(p, "n_c")->stage[0].shift = 99;
}
static void negative_multiplier(itg_program *p)
{
    fx_requant_of(p, "n_c")->stage[0].multiplier = -1;
}
static void two_sets(itg_program *p)
{
    fx_step(p, "n_c")->outs[0].requant_count = 2;
}
static void unknown_rounding(itg_program *p)
{
    fx_requant_of(p, "n_c")->stage[0].rounding = (itg_rounding)9;
}
static void clamp_beyond_storage(itg_program *p)
{
    fx_step(p, "n_c")->outs[0].hi = 400;
}
static void crossed_clamp(itg_program *p)
{
    fx_step(p, "n_c")->outs[0].lo = 256;
}
static void zero_point_outside(itg_program *p)
{
    fx_value(p, "z")->q.zero_point = 40000;
}
static void range_beyond_storage(itg_program *p)
{
    fx_value(p, "y")->q.qmax = 300;
}
static void no_scale(itg_program *p)
{
    fx_value(p, "z")->q.scale_count = 0;
}
static void scale_of_zero(itg_program *p)
{
    *(float *)(uintptr_t)fx_value(p, "z")->q.scale = 0;
}
static void weights_outside(itg_program *p)
{
    ((int8_t *)(uintptr_t)fx_value(p, "dw")->data)[3] = 100;
}
static void signs_with_a_zero(itg_program *p)
{
    itg_pvalue *w = fx_value(p, "dw");
    w->q.bits = 1;
    w->q.qmin = -1;
    w->q.qmax = 1;
    for (int64_t i = 0; i < w->elements; i++)
        ((int8_t *)(uintptr_t)w->data)[i] = i == 2 ? 0 : 1;
}
static void range_beyond_bits(itg_program *p)
{
    fx_value(p, "dw")->q.bits = 3;
    fx_value(p, "dw")->q.qmin = -4;
    fx_value(p, "dw")->q.qmax = 4;
}
static void activations_of_one_bit(itg_program *p)
{
    itg_quantizer *q = &fx_value(p, "y")->q;
    q->bits = 1;
    q->qmin = -1;
    q->qmax = 1;
    q->zero_point = 0;
}
static void wrong_bound(itg_program *p)
{
    fx_step(p, "n_c")->acc_hi -= 1;
}
static void no_accumulator(itg_program *p)
{
    fx_step(p, "n_c")->acc.bits = 0;
}
static void wide_accumulator(itg_program *p)
{
    fx_step(p, "n_c")->acc.bits = 65;
}
static void axis_outside(itg_program *p)
{
    fx_step(p, "n_s")->attrs.axis = 4;
}
static void codes_into_float(itg_program *p)
{
    fx_step(p, "n_s")->inputs[0] = fx_step(p, "n_c")->outputs[0];
}
static void short_bias(itg_program *p)
{
    fx_value(p, "n_c:bias")->shape.dims[0] = 3;
}

static void inner_dimension(itg_program *p)
{
    fx_value(p, "gw")->shape = SHAPE(6, 7);
}
static void bias_of_codes(itg_program *p)
{
    fx_step(p, "n_a")->inputs[2] = fx_step(p, "n_a")->inputs[1];
}
static void wide_left_shift(itg_program *p)
{
    fx_step(p, "n_add")->left_shift = 60;
}
static void form_of_another(itg_program *p)
{
    fx_step(p, "n_add")->form = ITG_FORM_PRODUCT;
}
static void broadcast_mismatch(itg_program *p)
{
    fx_value(p, "k")->shape = SHAPE(1, 3, 1);
}
static void nan_activation(itg_program *p)
{
    fx_step(p, "n_clip")->float_lo = NAN;
}
static void few_counts(itg_program *p)
{
    fx_step(p, "n_scaled")->outs[0].requant_count = 8;
}
static void pad_of_a_kernel(itg_program *p)
{
    fx_step(p, "n_max")->attrs.pad[0] = 3;
    fx_value(p, "max")->shape.dims[2] = 4; /* as many windows as then fit: the first sees nothing */
}
static void constant_outside(itg_program *p)
{
    ((int8_t *)(uintptr_t)fx_value(p, "k")->data)[1] = -64;
    fx_value(p, "k")->q.qmin = -63;
}
static void repeated_axis(itg_program *p)
{
    fx_step(p, "n_mean")->attrs.axes[1] = 1;
}
static void other_quantizer(itg_program *p)
{
    fx_value(p, "max")->q.zero_point = 0;
}
static void arg_max_axis(itg_program *p)
{
    fx_step(p, "n_arg")->attrs.axis = -1;
}
static void short_table(itg_program *p)
{
    fx_value(p, "n_sigmoid:table")->shape.dims[0] = 255;
}
static void table_entry(itg_program *p)
{
    ((int32_t *)(uintptr_t)fx_value(p, "n_sigmoid:table")->data)[9] = 256;
}
static void float_table(itg_program *p)
{
    fx_value(p, "n_sigmoid:table")->dtype = ITG_F32;
}
static void perm_twice(itg_program *p)
{
    fx_step(p, "n_turned")->attrs.perm[0] = 2;
}
static void slice_start(itg_program *p)
{
    fx_step(p, "n_cut")->attrs.starts[0] = 4;
}
static void slice_step(itg_program *p)
{
    fx_step(p, "n_cut")->attrs.steps[0] = INT64_MIN;
}
static void pad_begin(itg_program *p)
{
    fx_step(p, "n_padded")->attrs.pads_begin[2] = -4;
}
static void split_sizes(itg_program *p)
{
    fx_value(p, "halves")->shape.dims[1] = 3;
}
static void concat_axis(itg_program *p)
{
    fx_step(p, "n_cat")->attrs.axis = 7;
}
static void later_input(itg_program *p)
{
    fx_step(p, "n_cat")->inputs[0] = fx_step(p, "n_cut")->outputs[0];
}
static void float_indices(itg_program *p)
{
    fx_step(p, "n_picked")->inputs[1] = fx_step(p, "n_halves")->outputs[0];
}
static void element_count(itg_program *p)
{
    fx_value(p, "flat")->shape = SHAPE(1, 37);
}

typedef struct lie {
    network of;
    damage damage;
    const char *name;
} lie;
static void exponentials_of_40_bits(itg_program *p)
{
    fx_step(p, "n_wide")->fraction = 40;
}
static void no_exponential_of_nothing(itg_program *p)
{
    static const int32_t fine[256] = {1};
    fx_value(p, "n_s:fine")->data = fine;
}
static void negative_exponential(itg_program *p)
{
    static const int32_t fine[256] = {1 << 24, -1};
    fx_value(p, "n_s:fine")->data = fine;
}
static void short_coarse_table(itg_program *p)
{
    fx_value(p, "n_wide:coarse")->shape.dims[0] = 255;
}
static void row_beyond_the_accumulator(itg_program *p)
{
    fx_step(p, "n_s")->fraction = 30;
}
static void probabilities_of_17_bits(itg_program *p)
{
    fx_step(p, "n_t")->fraction = 17;
}
static void tflite_exponential_of_nothing(itg_program *p)
{
    static const int32_t fine[256] = {5};
    fx_value(p, "n_t:fine")->data = fine;
}
static void axis_of_no_dimension(itg_program *p)
{
    fx_step(p, "n_s")->attrs.axis = 3;
}
static void negative_axis(itg_program *p)
{
    fx_step(p, "n_n")->attrs.axis = -1;
}
static void no_epsilon(itg_program *p)
{
    fx_step(p, "n_n")->epsilon = 0;
}
static void epsilon_beyond_61_bits(itg_program *p)
{
    fx_step(p, "n_n")->epsilon = INT64_MAX;
}
static void fraction_of_21(itg_program *p)
{
    fx_step(p, "n_n")->fraction = 21;
}
static void gain_of_another_shape(itg_program *p)
{
    fx_value(p, "n_n:gain")->shape = SHAPE(4, 3);
}
static void bias_beyond_61_bits(itg_program *p)
{
    static const int64_t bias[12] = {INT64_MIN};
    fx_value(p, "n_n:bias")->data = bias;
}
static void narrow_norm_accumulator(itg_program *p)
{
    fx_step(p, "n_n")->acc.bits = 24;
}

#define LIE(of, damage)                                                                            \
    {                                                                                              \
        of, damage, #damage                                                                        \
    }
static const lie lies[] = {
    LIE(net_conv, stride_zero),
    LIE(net_conv, huge_kernel),
    LIE(net_conv, negative_pad),
    LIE(net_conv, huge_dilation),
    LIE(net_conv, group_of_three),
    LIE(net_conv, larger_output),
    LIE(net_conv, shift_of_99),
    LIE(net_conv, negative_multiplier),
    LIE(net_conv, two_sets),
    LIE(net_conv, unknown_rounding),
    LIE(net_conv, clamp_beyond_storage),
    LIE(net_conv, crossed_clamp),
    LIE(net_conv, zero_point_outside),
    LIE(net_conv, range_beyond_storage),
    LIE(net_conv, no_scale),
    LIE(net_conv, scale_of_zero),
    LIE(net_conv, weights_outside),
    LIE(net_conv, signs_with_a_zero),
    LIE(net_conv, activations_of_one_bit),
    LIE(net_conv, range_beyond_bits),
    LIE(net_conv, wrong_bound),
    LIE(net_conv, no_accumulator),
    LIE(net_conv, wide_accumulator),
    LIE(net_conv, axis_outside),
    LIE(net_conv, codes_into_float),
    LIE(net_conv, short_bias),
    LIE(net_matrix, inner_dimension),
    LIE(net_matrix, bias_of_codes),
    LIE(net_elements, wide_left_shift),
    LIE(net_elements, form_of_another),
    LIE(net_elements, constant_outside),
    LIE(net_elements, broadcast_mismatch),
    LIE(net_elements, nan_activation),
    LIE(net_pools, few_counts),
    LIE(net_pools, pad_of_a_kernel),
    LIE(net_pools, repeated_axis),
    LIE(net_pools, other_quantizer),
    LIE(net_pools, arg_max_axis),
    LIE(net_tables, short_table),
    LIE(net_tables, table_entry),
    LIE(net_tables, float_table),
    LIE(net_moves, perm_twice),
    LIE(net_moves, slice_start),
    LIE(net_moves, slice_step),
    LIE(net_moves, pad_begin),
    LIE(net_moves, split_sizes),
    LIE(net_moves, concat_axis),
    LIE(net_moves, later_input),
    LIE(net_moves, float_indices),
    LIE(net_moves, element_count),
    LIE(net_norms, exponentials_of_40_bits),
    LIE(net_norms, no_exponential_of_nothing),
    LIE(net_norms, negative_exponential),
    LIE(net_norms, short_coarse_table),
    LIE(net_norms, row_beyond_the_accumulator),
    LIE(net_norms, probabilities_of_17_bits),
    LIE(net_norms, tflite_exponential_of_nothing),
    LIE(net_norms, axis_of_no_dimension),
    LIE(net_norms, negative_axis),
    LIE(net_norms, no_epsilon),
    LIE(net_norms, epsilon_beyond_61_bits),
    LIE(net_norms, fraction_of_21),
    LIE(net_norms, gain_of_another_shape),
    LIE(net_norms, bias_beyond_61_bits),
    LIE(net_norms, narrow_norm_accumulator),
};

static void every_lie_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        fixture f = lies[i].of();
        itg_program *p = fx_program(&f), *again = NULL;
        itg_error err = {ITG_OK, ""};
        lies[i].damage(p);
        assert_int_equal(itg_artefact_write(p, NULL, 0, PATH, NULL), ITG_OK);
        itg_status status = itg_program_open(PATH, &again, &err);
        if (status == ITG_OK) fail_msg("%s was accepted", lies[i].name);
        assert_null(again);
        assert_true(status == ITG_BAD_FILE || status == ITG_MISMATCH || status == ITG_LIMIT ||
                    status == ITG_UNSUPPORTED);
        assert_non_null(strstr(err.message, "lie.onnx"));
        itg_program_destroy(p);
        fx_end(&f);
    }
}

/* ---- operands: how few and how many a kind of step takes ---- */

static const struct {
    itg_step_kind kind;
    int32_t least, most;
} operands[] = {{ITG_STEP_QUANTIZE, 1, 1}, {ITG_STEP_DEQUANTIZE, 1, 1}, {ITG_STEP_CONV, 2, 3},
                {ITG_STEP_MATMUL, 2, 3},   {ITG_STEP_BINARY, 2, 2},     {ITG_STEP_CLIP, 1, 1},
                {ITG_STEP_MEAN, 1, 1},     {ITG_STEP_ARG_MAX, 1, 1}};

/* The first step of a kind, in the program of a network; NULL: it has none. */
static itg_step *first_of(itg_program *p, itg_step_kind kind)
{
    for (int32_t i = 0; i < p->step_count; i++)
        if (p->steps[i].kind == kind) return &p->steps[i];
    return NULL;
}

/* Its operands are `count` times the first one, or (missing) none. */
static bool refuses(network make, itg_step_kind kind, int32_t count, bool missing, const char *why)
{
    fixture f = make();
    itg_program *p = fx_program(&f), *again = NULL;
    itg_error err = {ITG_OK, ""};
    itg_step *s = first_of(p, kind);
    int32_t inputs[8];
    if (s != NULL) {
        for (int32_t i = 0; i < count; i++)
            inputs[i] = missing && i == count - 1 ? ITG_NONE : s->inputs[0];
        s->inputs = inputs;
        s->input_count = count;
        assert_int_equal(itg_artefact_write(p, NULL, 0, PATH, NULL), ITG_OK);
        assert_int_not_equal(itg_program_open(PATH, &again, &err), ITG_OK);
        if (strstr(err.message, why) == NULL) fail_msg("%s: %s", why, err.message);
    }
    bool found = s != NULL;
    itg_program_destroy(p);
    fx_end(&f);
    return found;
}

static void every_kind_has_its_number_of_operands(void **state)
{
    static const network networks[] = NETWORKS;
    (void)state;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        int found = 0;
        for (size_t n = 0; n < sizeof networks / sizeof *networks; n++) {
            char more[32];
            snprintf(more, sizeof more, "%d inputs and ", (int)operands[i].most + 1);
            found += refuses(networks[n], operands[i].kind, operands[i].most + 1, false, more);
            snprintf(more, sizeof more, "%d inputs and ", (int)operands[i].least - 1);
            (void)refuses(networks[n], operands[i].kind, operands[i].least - 1, false, more);
            snprintf(more, sizeof more, "input %d is missing", (int)operands[i].least - 1);
            (void)refuses(networks[n], operands[i].kind, operands[i].least, true, more);
        }
        assert_true(found > 0);
    }
}

/* Codes of 32 bits around a zero point at one end: the product of the farther sides has 64 bits. */
static void spread(itg_pvalue *v, int32_t zero_point)
{
    v->dtype = v->q.storage = ITG_S32;
    v->q.bits = 32;
    v->q.qmin = INT32_MIN;
    v->q.qmax = INT32_MAX;
    v->q.zero_point = zero_point;
}

static void the_farther_side_of_a_zero_point_bounds_a_product(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture f = net_floats();
        itg_program *p = fx_program(&f), *again = NULL;
        itg_error err = {ITG_OK, ""};
        const itg_step *product = fx_step(p, "n_product");
        for (int side = 0; side < 2; side++)
            spread(&p->values[product->inputs[side]], i == 0 ? INT32_MIN : INT32_MAX);
        assert_int_equal(itg_artefact_write(p, NULL, 0, PATH, NULL), ITG_OK);
        assert_int_not_equal(itg_program_open(PATH, &again, &err), ITG_OK);
        if (strstr(err.message, "a product leaves 64 bits") == NULL) fail_msg("%s", err.message);
        itg_program_destroy(p);
        fx_end(&f);
    }
}

/* ---- random lies: accepted or refused, but whatever is accepted runs ---- */

static int64_t strange(itg_rng *rng)
{
    static const int64_t numbers[] = {0,         1,         -1,
                                      2,         3,         4,
                                      5,         7,         8,
                                      16,        31,        32,
                                      33,        62,        63,
                                      64,        127,       128,
                                      255,       256,       1 << 16,
                                      INT32_MAX, INT32_MIN, (int64_t)1 << 32,
                                      INT64_MAX, INT64_MIN, (int64_t)1 << 40};
    return numbers[itg_rng_below(rng, sizeof numbers / sizeof *numbers)];
}

static void lie_about_step(itg_rng *rng, itg_step *s)
{
    itg_attrs *a = &s->attrs;
    int64_t v = strange(rng);
    size_t i = itg_rng_below(rng, 2);
    switch (itg_rng_below(rng, 16)) {
    case 0:
        a->kernel[i] = v;
        break;
    case 1:
        a->stride[i] = v;
        break;
    case 2:
        a->dilation[i] = v;
        break;
    case 3:
        a->pad[2 * i + itg_rng_below(rng, 2)] = v;
        break;
    case 4:
        a->group = v;
        break;
    case 5:
        a->axis = v;
        break;
    case 6:
        a->axes[i] = v;
        break;
    case 7:
        a->starts[i] = v;
        break;
    case 8:
        a->steps[i] = v;
        break;
    case 9:
        a->pads_begin[itg_rng_below(rng, 4)] = v;
        break;
    case 10:
        a->ceil_mode = !a->ceil_mode;
        break;
    case 11:
        a->trans_b = !a->trans_b;
        break;
    case 12:
        s->acc.bits = (int32_t)(v % 70);
        break;
    case 13:
        s->left_shift = (int32_t)(v % 70);
        break;
    case 14:
        s->outs[0].lo = v;
        break;
    default:
        a->count_include_pad = !a->count_include_pad;
        break;
    }
}

static void lie_about_value(itg_rng *rng, itg_pvalue *v)
{
    int64_t number = strange(rng);
    if (v->data != NULL && itg_rng_below(rng, 2) == 0) return; /* its data would have to grow */
    switch (itg_rng_below(rng, 6)) {
    case 0:
        if (v->data == NULL) v->shape.dims[itg_rng_below(rng, 4)] = number & INT32_MAX;
        break;
    case 1:
        if (v->data == NULL) v->dtype = (itg_dtype)itg_rng_below(rng, ITG_DTYPE_COUNT);
        break;
    case 2:
        v->q.zero_point = (int32_t)(number % 70000);
        break;
    case 3:
        v->q.qmin = number;
        break;
    case 4:
        v->q.qmax = number;
        break;
    default:
        v->q.bits = (int32_t)(number % 40);
        break;
    }
}

static void random_lies_never_crash(void **state)
{
    static const network networks[] = NETWORKS;
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 5);
    int accepted = 0, refused = 0;
    for (int round = 0; round < 1200; round++) {
        fixture f = networks[round % (int)(sizeof networks / sizeof *networks)]();
        itg_program *p = fx_program(&f), *again = NULL;
        for (uint64_t i = 1 + itg_rng_below(&rng, 2); i > 0; i--) {
            if (itg_rng_below(&rng, 3) == 0)
                lie_about_value(&rng, &p->values[itg_rng_below(&rng, (uint64_t)p->value_count)]);
            else
                lie_about_step(&rng, &p->steps[itg_rng_below(&rng, (uint64_t)p->step_count)]);
        }
        if (itg_artefact_write(p, NULL, 0, PATH, NULL) == ITG_OK &&
            itg_program_open(PATH, &again, NULL) == ITG_OK) {
            accepted++;
            if (single_bytes(again) < 1 << 22) {
                single *instance = fx_instance(again);
                fx_fill(instance, again, (uint64_t)round, 8);
                (void)single_run(instance, NULL);
                single_destroy(instance);
            }
            itg_program_destroy(again);
        } else {
            refused++;
        }
        itg_program_destroy(p);
        fx_end(&f);
    }
    assert_true(accepted > 100 && refused > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_lie_is_refused),
        cmocka_unit_test(every_kind_has_its_number_of_operands),
        cmocka_unit_test(the_farther_side_of_a_zero_point_bounds_a_product),
        cmocka_unit_test(random_lies_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
