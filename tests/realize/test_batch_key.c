/* Keys of values: whatever determines a value's bits is in its key, so that no cache gives the
 * result of another program. */
#include "networks.h"
#include "realize/batch_plan.h"
#include <stdlib.h>

/* ---- changes of a program, each of one fact ---- */

static void kernel(itg_program *p)
{
    fx_step(p, "n_c")->attrs.stride[1] = 2;
}
static void multiplier(itg_program *p)
{
    fx_requant_of(p, "n_c")[3].stage[0].multiplier++;
}
static void shift(itg_program *p)
{
    fx_requant_of(p, "n_c")[0].stage[0].shift++;
}
static void rounding(itg_program *p)
{
    fx_requant_of(p, "n_c")[0].stage[0].rounding = ITG_ROUND_FLOOR;
}
static void stages(itg_program *p)
{
    fx_requant_of(p, "n_c")[0].stage_count = 0;
}
static void dequant(itg_program *p)
{
    itg_step *s = fx_step(p, "n_c");
    ((float *)(uintptr_t)s->outs[s->output_count - 1].dequant)[2] *= 2;
}
static void ratio(itg_program *p)
{
    fx_requant_of(p, "n_mean")->ratio *= 2;
}
static void requant_count(itg_program *p)
{
    fx_step(p, "n_c")->outs[0].requant_count = 1;
}
static void clamp_lo(itg_program *p)
{
    fx_step(p, "n_c")->outs[0].lo++;
}
static void clamp_hi(itg_program *p)
{
    fx_step(p, "n_c")->outs[0].hi--;
}
static void accumulator_bits(itg_program *p)
{
    fx_step(p, "n_c")->acc.bits = 31;
}
static void overflow(itg_program *p)
{
    itg_step *s = fx_step(p, "n_c");
    s->acc.overflow =
        s->acc.overflow == ITG_OVERFLOW_WRAP ? ITG_OVERFLOW_SATURATE : ITG_OVERFLOW_WRAP;
}
static void weights(itg_program *p)
{
    itg_pvalue *w = &p->values[fx_step(p, "n_c")->inputs[1]];
    w->known = NULL; /* else the hash of the old ones is kept beside them */
    ((int8_t *)(uintptr_t)w->data)[5] ^= 1;
}
static void left_out(itg_program *p)
{
    fx_step(p, "n_c")->inputs[2] = ITG_NONE;
}
static void input_zero_point(itg_program *p)
{
    p->values[fx_step(p, "n_c")->inputs[0]].q.zero_point++;
}
static void input_range(itg_program *p)
{
    p->values[fx_step(p, "n_c")->inputs[0]].q.qmax--;
}
static void output_low_end(itg_program *p)
{
    p->values[fx_step(p, "n_c")->outputs[0]].q.qmin++;
}
static void output_shape(itg_program *p)
{
    p->values[fx_step(p, "n_c")->outputs[0]].shape.dims[3]++;
}
static void output_scale(itg_program *p)
{
    ((float *)(uintptr_t)p->values[fx_step(p, "n_c")->outputs[0]].q.scale)[0] *= 2;
}
static void output_dtype(itg_program *p)
{
    p->values[fx_step(p, "n_c")->outputs[0]].dtype = ITG_S8;
}
static void left_shift(itg_program *p)
{
    fx_step(p, "n_add")->left_shift++;
}
static void first_operand(itg_program *p)
{
    fx_step(p, "n_add")->operand[0].stage[0].multiplier++;
}
static void second_operand(itg_program *p)
{
    fx_step(p, "n_add")->operand[1].stage[0].shift++;
}
static void operator(itg_program *p)
{
    fx_step(p, "n_add")->op = ITG_OP_SUB;
}
static void form(itg_program *p)
{
    fx_step(p, "n_add")->form = ITG_FORM_EQUAL;
}
static void float_lo(itg_program *p)
{
    fx_step(p, "n_clip")->float_lo -= 1;
}
static void float_hi(itg_program *p)
{
    fx_step(p, "n_clip")->float_hi += 1;
}
static void operands(itg_program *p)
{
    itg_step *s = fx_step(p, "n_add");
    int32_t first = s->inputs[0];
    s->inputs[0] = s->inputs[1];
    s->inputs[1] = first;
}
static void part_ends(itg_program *p)
{
    ((int64_t *)(uintptr_t)fx_step(p, "n_y")->split.end)[0]++;
}
static void part_shifts(itg_program *p)
{
    ((int64_t *)(uintptr_t)fx_step(p, "n_y")->split.shift)[1]++;
}
static void part_count(itg_program *p)
{
    fx_step(p, "n_y")->split.part_count--;
}
static void part_rounding(itg_program *p)
{
    itg_sum_split *split = &fx_step(p, "n_y")->split;
    split->rounding = split->rounding == ITG_ROUND_FLOOR ? ITG_ROUND_HALF_UP : ITG_ROUND_FLOOR;
}
static void join_bits(itg_program *p)
{
    fx_step(p, "n_y")->split.join_bits++;
}
static void mean_rounding(itg_program *p)
{
    itg_step *s = fx_step(p, "n_keep");
    s->rounding = s->rounding == ITG_ROUND_FLOOR ? ITG_ROUND_HALF_UP : ITG_ROUND_FLOOR;
}

static const struct {
    fixture (*network)(void);
    const char *step; /* whose first output must have another key */
    void (*change)(itg_program *p);
    const char *name;
} changes[] = {
#define CHANGE(network, step, change)                                                              \
    {                                                                                              \
        network, step, change, #change                                                             \
    }
    CHANGE(net_conv, "n_c", kernel),
    CHANGE(net_conv, "n_c", multiplier),
    CHANGE(net_conv, "n_c", shift),
    CHANGE(net_conv, "n_c", rounding),
    CHANGE(net_conv, "n_c", stages),
    CHANGE(net_pools, "n_mean", ratio),
    CHANGE(net_conv, "n_c", requant_count),
    CHANGE(net_conv, "n_c", clamp_lo),
    CHANGE(net_conv, "n_c", clamp_hi),
    CHANGE(net_conv, "n_c", accumulator_bits),
    CHANGE(net_conv, "n_c", overflow),
    CHANGE(net_conv, "n_c", weights),
    CHANGE(net_conv, "n_c", left_out),
    CHANGE(net_conv, "n_c", input_zero_point),
    CHANGE(net_conv, "n_c", input_range),
    CHANGE(net_conv, "n_c", output_low_end),
    CHANGE(net_conv, "n_c", output_shape),
    CHANGE(net_conv, "n_c", output_scale),
    CHANGE(net_conv, "n_c", output_dtype),
    /* Through what a step reads. */
    CHANGE(net_conv, "n_s", kernel),
    CHANGE(net_conv, "n_s", dequant),
    CHANGE(net_elements, "n_add", left_shift),
    CHANGE(net_elements, "n_add", first_operand),
    CHANGE(net_elements, "n_add", second_operand),
    CHANGE(net_elements, "n_add", operator),
    CHANGE(net_elements, "n_add", form),
    CHANGE(net_elements, "n_add", operands),
    CHANGE(net_elements, "n_clip", float_lo),
    CHANGE(net_elements, "n_clip", float_hi),
    CHANGE(net_split, "n_y", part_ends),
    CHANGE(net_split, "n_y", part_shifts),
    CHANGE(net_split, "n_y", part_count),
    CHANGE(net_split, "n_y", part_rounding),
    CHANGE(net_split, "n_y", join_bits),
    CHANGE(net_pools, "n_keep", mean_rounding),
};

static itg_batch_plan *plan_of(const itg_program *p)
{
    itg_batch_plan *plan = NULL;
    const itg_batch_options options = {.block = 4};
    assert_int_equal(itg_batch_plan_create(p, &options, &plan, NULL), ITG_OK);
    return plan;
}

static void every_fact_of_a_result_is_in_its_key(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        fixture f = changes[i].network();
        itg_program *p = fx_program(&f);
        itg_batch_plan *plan = plan_of(p);
        int32_t y = fx_step(p, changes[i].step)->outputs[0];
        itg_key before = plan->keys[y];
        assert_int_equal(itg_batch_keys(plan), ITG_OK);
        assert_true(itg_key_equal(&before, &plan->keys[y]));
        changes[i].change(p);
        assert_int_equal(itg_batch_keys(plan), ITG_OK);
        if (itg_key_equal(&before, &plan->keys[y]))
            fail_msg("%s is not in the key", changes[i].name);
        itg_batch_plan_destroy(plan);
        itg_program_destroy(p);
        fx_end(&f);
    }
}

static void results_of_one_program_have_keys_of_their_own(void **state)
{
    static const network networks[] = NETWORKS;
    (void)state;
    for (size_t n = 0; n < sizeof networks / sizeof *networks; n++) {
        fixture f = networks[n]();
        itg_program *p = fx_program(&f);
        itg_batch_plan *plan = plan_of(p);
        for (int32_t i = 0; i < p->value_count; i++)
            for (int32_t k = 0; k < i; k++)
                if (p->values[i].data == NULL && p->values[k].data == NULL)
                    assert_false(itg_key_equal(&plan->keys[i], &plan->keys[k]));
        itg_batch_plan_destroy(plan);
        itg_program_destroy(p);
        fx_end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fact_of_a_result_is_in_its_key),
        cmocka_unit_test(results_of_one_program_have_keys_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
