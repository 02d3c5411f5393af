/* Programs changed behind the back of all checks: the certificate's makers find each change in the
 * artefact's bytes, and say where it is and what it is. */
#include "networks.h"
#include <math.h>
#include <stdlib.h>

#define PATH TEST_FOLDER "/verify_problems.itg"
#define CERTIFICATE PATH ".cert.json"

static itg_step *step_of(itg_program *p, itg_step_kind kind)
{
    for (int32_t i = 0; i < p->step_count; i++)
        if (p->steps[i].kind == kind) return &p->steps[i];
    fail_msg("no step of kind %d", (int)kind);
    return NULL;
}

static itg_requant *constants(itg_step *s)
{
    return (itg_requant *)(uintptr_t)s->outs[0].requant;
}

static void clamp_high(itg_program *p)
{
    step_of(p, ITG_STEP_CONV)->outs[0].hi = 256;
}
static void clamp_low(itg_program *p)
{
    step_of(p, ITG_STEP_CONV)->outs[0].lo = -1;
}
static void clamp_empty(itg_program *p)
{
    itg_step_out *o = &step_of(p, ITG_STEP_CONV)->outs[0];
    o->lo = 9;
    o->hi = 8;
}
static void few_sets(itg_program *p)
{
    step_of(p, ITG_STEP_CONV)->outs[0].requant_count = 2;
}
static void long_shift(itg_program *p)
{
    constants(step_of(p, ITG_STEP_CONV))[1].stage[0].shift = 63;
}
static void large_multiplier(itg_program *p)
{
    constants(step_of(p, ITG_STEP_CONV))[2].stage[0].multiplier = (int64_t)1 << 31;
}
static void wide_accumulator(itg_program *p)
{
    step_of(p, ITG_STEP_CONV)->acc.bits = 65;
}
static void stated_low(itg_program *p)
{
    step_of(p, ITG_STEP_CONV)->acc_lo += 1;
}
static void stated_high(itg_program *p)
{
    step_of(p, ITG_STEP_MATMUL)->acc_hi -= 1;
}
static void stated_joined(itg_program *p)
{
    step_of(p, ITG_STEP_MATMUL)->join_hi += 1;
}
static void parts_out_of_order(itg_program *p)
{
    ((int64_t *)(uintptr_t)step_of(p, ITG_STEP_MATMUL)->split.end)[0] = 3;
}
static void parts_too_short(itg_program *p)
{
    step_of(p, ITG_STEP_MATMUL)->split.part_count--;
}
static void negative_left_shift(itg_program *p)
{
    step_of(p, ITG_STEP_BINARY)->left_shift = -1;
}
static void long_left_shift(itg_program *p)
{
    step_of(p, ITG_STEP_BINARY)->left_shift = 62;
}
static void table_entry(itg_program *p)
{
    itg_step *s = step_of(p, ITG_STEP_LUT);
    ((int32_t *)(uintptr_t)p->values[s->inputs[1]].data)[7] = 256;
}
static void zero_point(itg_program *p)
{
    p->values[step_of(p, ITG_STEP_CONV)->outputs[0]].q.zero_point = 256;
}
static void zero_point_below(itg_program *p)
{
    p->values[step_of(p, ITG_STEP_CONV)->outputs[0]].q.zero_point = -1;
}
static void one_bit(itg_program *p)
{
    p->values[step_of(p, ITG_STEP_CONV)->outputs[0]].q.bits = 1;
}
static void seven_bits(itg_program *p)
{
    p->values[step_of(p, ITG_STEP_CONV)->outputs[0]].q.bits = 7;
}
static void codes_below_type(itg_program *p)
{
    itg_quantizer *q = &p->values[step_of(p, ITG_STEP_CONV)->outputs[0]].q;
    q->qmin = -1;
    q->qmax = 254;
}
static void codes_above_type(itg_program *p)
{
    itg_quantizer *q = &p->values[step_of(p, ITG_STEP_CONV)->outputs[0]].q;
    q->qmin = 1;
    q->qmax = 256;
}
static void no_codes(itg_program *p)
{
    itg_quantizer *q = &p->values[step_of(p, ITG_STEP_CONV)->outputs[0]].q;
    q->qmin = q->qmax = q->zero_point;
}
static void empty_shape(itg_program *p)
{
    p->values[step_of(p, ITG_STEP_CONV)->outputs[0]].shape.dims[2] = 0;
}
static void last_entry(itg_program *p)
{
    itg_step *s = step_of(p, ITG_STEP_LUT);
    const itg_pvalue *table = &p->values[s->inputs[1]];
    ((int32_t *)(uintptr_t)table->data)[table->elements - 1] = -1;
}
static void constant_above(itg_program *p)
{
    itg_pvalue *w = &p->values[step_of(p, ITG_STEP_CONV)->inputs[1]];
    ((int8_t *)(uintptr_t)w->data)[0] = 5;
    w->q.qmax = 4;
    for (int64_t i = 1; i < w->elements; i++)
        ((int8_t *)(uintptr_t)w->data)[i] = 4;
}
static void constant_below(itg_program *p)
{
    itg_pvalue *w = &p->values[step_of(p, ITG_STEP_CONV)->inputs[1]];
    for (int64_t i = 0; i < w->elements; i++)
        ((int8_t *)(uintptr_t)w->data)[i] = (int8_t)(i + 1 < w->elements ? -3 : -4);
    w->q.qmin = -3;
}
static void negative_multiplier(itg_program *p)
{
    constants(step_of(p, ITG_STEP_CONV))[0].stage[0].multiplier = -1;
}
static void long_left_stage(itg_program *p)
{
    constants(step_of(p, ITG_STEP_CONV))[3].stage[0].shift = -63;
}
static void negative_stages(itg_program *p)
{
    constants(step_of(p, ITG_STEP_CONV))[1].stage_count = -1;
}
static void ratio_of(itg_program *p, float ratio)
{
    itg_step *s = step_of(p, ITG_STEP_CONV);
    for (int32_t i = 0; i < s->outs[0].requant_count; i++)
        constants(s)[i] = (itg_requant){.is_f32 = true, .ratio = i == 2 ? ratio : 0.5f};
}
static void ratio_zero(itg_program *p)
{
    ratio_of(p, 0);
}
static void ratio_not_a_number(itg_program *p)
{
    ratio_of(p, NAN);
}
static void ratio_infinite(itg_program *p)
{
    ratio_of(p, INFINITY);
}

typedef struct change {
    network make;
    void (*apply)(itg_program *p);
    const char *said; /* behind the path */
} change;

static const change changes[] = {
    {net_conv, clamp_high, "node 'n_c': output 0: clamp [3,256] leaves [0,255]"},
    {net_conv, clamp_low, "node 'n_c': output 0: clamp [-1,255] leaves [0,255]"},
    {net_conv, clamp_empty, "node 'n_c': output 0: clamp [9,8] leaves [0,255]"},
    {net_conv, few_sets, "node 'n_c': output 0: 2 sets of constants for 4 channels"},
    {net_conv, long_shift,
     "node 'n_c': y0_requant: stage 1: multiplier 17, shift 63, rounding 1 are not legal (below "
     "2^31, -62..62, 0..3)"},
    {net_conv, large_multiplier,
     "node 'n_c': y0_requant: stage 2: multiplier 2147483648, shift 10, rounding 1 are not legal "
     "(below 2^31, -62..62, 0..3)"},
    {net_conv, wide_accumulator,
     "node 'n_c': an accumulator of 65 bits that does 'wrap' on overflow is not legal"},
    {net_conv, stated_low,
     "node 'n_c': acc_lo, acc_hi: the artefact states [-76466,76533], its codes give "
     "[-76467,76533]"},
    {net_matrix, stated_high,
     "node 'n_a': acc_lo, acc_hi: the artefact states [-12000,11459], its codes give "
     "[-12000,11460]"},
    {net_split, stated_joined,
     "node 'n_y': join_lo, join_hi: the artefact states [-193,231], its codes give [-193,230]"},
    {net_split, parts_out_of_order, "node 'n_y': split sum: parts, shifts or widths are not legal"},
    {net_split, parts_too_short, "node 'n_y': split sum: parts, shifts or widths are not legal"},
    {net_elements, negative_left_shift,
     "node 'n_add': operand0: left shift or number of constants is not legal"},
    {net_elements, long_left_shift, "node 'n_add': operand0: the left shift leaves 64 bits"},
    {net_tables, table_entry, "node 'n_sigmoid': table 0: entry 7 is 256, outside of [0,255]"},
    {net_conv, zero_point,
     "node 'n_c': y0_quantizer: codes [0,255] around 256 do not fit 8 bits in u8"},
    {net_conv, zero_point_below,
     "node 'n_c': y0_quantizer: codes [0,255] around -1 do not fit 8 bits in u8"},
    {net_conv, one_bit, "node 'n_c': y0_quantizer: codes [0,255] around 3 do not fit 1 bits in u8"},
    {net_conv, seven_bits,
     "node 'n_c': y0_quantizer: codes [0,255] around 3 do not fit 7 bits in u8"},
    {net_conv, codes_below_type,
     "node 'n_c': y0_quantizer: codes [-1,254] around 3 do not fit 8 bits in u8"},
    {net_conv, codes_above_type,
     "node 'n_c': y0_quantizer: codes [1,256] around 3 do not fit 8 bits in u8"},
    {net_conv, no_codes, "node 'n_c': y0_quantizer: codes [3,3] around 3 do not fit 8 bits in u8"},
    {net_conv, empty_shape, "node 'n_c': output 0 has no shape"},
    {net_tables, last_entry, "node 'n_sigmoid': table 0: entry 255 is -1, outside of [0,255]"},
    {net_conv, constant_above, "node 'n_c': constant 'w': element 0 is 5, outside of [-128,4]"},
    {net_conv, constant_below, "node 'n_c': constant 'w': element 71 is -4, outside of [-3,127]"},
    {net_conv, negative_multiplier,
     "node 'n_c': y0_requant: stage 0: multiplier -1, shift 10, rounding 1 are not legal (below "
     "2^31, -62..62, 0..3)"},
    {net_conv, long_left_stage,
     "node 'n_c': y0_requant: stage 3: multiplier 9, shift -63, rounding 1 are not legal (below "
     "2^31, -62..62, 0..3)"},
    {net_conv, negative_stages, "node 'n_c': y0_requant: set 1 has -1 stages; 0 to 3 are allowed"},
    {net_conv, ratio_zero, "node 'n_c': y0_requant_ratio: entry 2 is not positive and finite"},
    {net_conv, ratio_not_a_number,
     "node 'n_c': y0_requant_ratio: entry 2 is not positive and finite"},
    {net_conv, ratio_infinite, "node 'n_c': y0_requant_ratio: entry 2 is not positive and finite"},
};

static void each_change_is_found_and_said(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        fixture f = changes[i].make();
        itg_program *p = fx_program(&f);
        itg_error err = {0};
        assert_int_equal(itg_artefact_write(p, NULL, 0, PATH, NULL), ITG_OK);
        assert_int_equal(itg_certify(PATH, CERTIFICATE, NULL), ITG_OK);
        changes[i].apply(p);
        if (itg_artefact_write(p, NULL, 0, PATH, &err) != ITG_OK) fail_msg("%s", err.message);
        itg_status status = itg_certify(PATH, CERTIFICATE, &err);
        if (status != ITG_MISMATCH || strncmp(err.message, PATH ": ", sizeof PATH + 1) != 0 ||
            strcmp(err.message + sizeof PATH + 1, changes[i].said) != 0) {
            print_message("%zu: expected '%s', got %s '%s'\n", i, changes[i].said,
                          itg_status_name(status), err.message);
            wrong++;
        }
        itg_program_destroy(p);
        fx_end(&f);
    }
    assert_int_equal(wrong, 0);
}

static void a_clamp_to_one_code_is_legal(void **state)
{
    (void)state;
    fixture f = net_conv();
    itg_program *p = fx_program(&f);
    itg_error err = {0};
    step_of(p, ITG_STEP_CONV)->outs[0].lo = step_of(p, ITG_STEP_CONV)->outs[0].hi = 9;
    assert_int_equal(itg_artefact_write(p, NULL, 0, PATH, NULL), ITG_OK);
    if (itg_certify(PATH, CERTIFICATE, &err) != ITG_OK) fail_msg("%s", err.message);
    itg_program_destroy(p);
    fx_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_change_is_found_and_said),
                                       cmocka_unit_test(a_clamp_to_one_code_is_legal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
