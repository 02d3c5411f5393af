/* Descriptions with measured speeds. */
#include "helpers.h"
#include <string.h>

static itg_hardware *with_speeds(const itg_hardware *hw, const itg_hw_speeds *speeds)
{
    itg_strbuf text = {0};
    itg_hardware *measured = NULL;
    itg_error err = {0};
    assert_int_equal(itg_hardware_with_speeds(hw, speeds, &text, NULL), ITG_OK);
    if (itg_hardware_parse(text.text, strlen(text.text), "measured.json", &measured, &err) !=
        ITG_OK)
        fail_msg("%s", err.message);
    itg_strbuf_deinit(&text);
    return measured;
}

static void nothing_changes_but_the_measured_speeds(void **state)
{
    static itg_hw_speeds speeds; /* large */
    (void)state;
    itg_hardware *hw = load("cortex-m");
    memset(&speeds, 0, sizeof speeds);
    speeds.of[ITG_OP_CONV][0] = (itg_hw_speed){true, 12.5, 3, 0.25};
    speeds.of[ITG_OP_CONV][1] = (itg_hw_speed){true, 6, 0, 0};
    speeds.of[ITG_OP_TANH][0] = (itg_hw_speed){true, 2.5, 0, 0};
    speeds.float_macs_per_cycle = 4;
    itg_hardware *measured = with_speeds(hw, &speeds);
    const itg_hw_spec *conv = measured->ops[ITG_OP_CONV].specs;
    assert_string_equal(measured->name, "cortex-m-measured");
    assert_true(conv[0].macs_per_cycle == 12.5 && conv[0].depthwise_macs_per_cycle == 3 &&
                conv[0].output_cycles == 0.25);
    assert_true(conv[1].macs_per_cycle == 6 && conv[1].depthwise_macs_per_cycle == 6 &&
                conv[1].output_cycles == 0);
    assert_true(measured->float_macs_per_cycle == 4);
    /* Sigmoid shares the entry of Tanh; Gemm was not measured. */
    assert_true(measured->ops[ITG_OP_SIGMOID].specs[0].macs_per_cycle == 2.5);
    assert_true(measured->ops[ITG_OP_GEMM].specs[0].macs_per_cycle ==
                hw->ops[ITG_OP_GEMM].specs[0].macs_per_cycle);
    for (int op = 0; op < ITG_OP_COUNT; op++)
        for (int32_t i = 0; i < hw->ops[op].spec_count; i++) {
            itg_hw_spec spec = measured->ops[op].specs[i], *before = &hw->ops[op].specs[i];
            spec.macs_per_cycle = before->macs_per_cycle;
            spec.depthwise_macs_per_cycle = before->depthwise_macs_per_cycle;
            spec.output_cycles = before->output_cycles;
            spec.split.join_cycles = before->split.join_cycles;
            assert_memory_equal(&spec, before, sizeof spec);
        }
    assert_int_equal(measured->ram_bytes, hw->ram_bytes);
    itg_hardware_destroy(measured);
    itg_hardware_destroy(hw);
}

static void entries_that_are_objects_keep_their_other_keys(void **state)
{
    static itg_hw_speeds speeds;
    (void)state;
    itg_hardware *hw = load("x86-vnni");
    memset(&speeds, 0, sizeof speeds);
    speeds.of[ITG_OP_ADD][0] = (itg_hw_speed){true, 100, 0, 0};
    itg_hardware *measured = with_speeds(hw, &speeds);
    assert_true(measured->ops[ITG_OP_ADD].follow);
    assert_true(measured->ops[ITG_OP_ADD].specs[0].macs_per_cycle == 100);
    assert_true(measured->float_macs_per_cycle == hw->float_macs_per_cycle);
    itg_hardware_destroy(measured);
    itg_hardware_destroy(hw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changes_but_the_measured_speeds),
        cmocka_unit_test(entries_that_are_objects_keep_their_other_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
