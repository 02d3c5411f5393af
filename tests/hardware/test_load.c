/* Descriptions: what is read, what stands where nothing is said, and what is refused with which
 * words. */
#include "hardware/keys.h"
#include "helpers.h"
#include <stdio.h>
#include <stdlib.h>

static void every_builtin_target_loads(void **state)
{
    (void)state;
    assert_int_equal(itg_hardware_builtin_count(), 12);
    for (int i = 0; i < itg_hardware_builtin_count(); i++) {
        itg_hardware *hw = load(itg_hardware_builtin_name(i));
        assert_string_equal(hw->name, itg_hardware_builtin_name(i));
        itg_hardware *again = parse(hw->json);
        assert_string_equal(again->json, hw->json);
        assert_memory_equal(again->hash, hw->hash, 32);
        itg_hardware_destroy(again);
        itg_hardware_destroy(hw);
    }
    assert_null(itg_hardware_builtin_name(-1));
    assert_null(itg_hardware_builtin_name(12));
    assert_null(itg_hardware_builtin_json(12));
}

static void a_builtin_target_is_its_file(void **state)
{
    (void)state;
    for (int i = 0; i < itg_hardware_builtin_count(); i++) {
        char path[200];
        snprintf(path, sizeof path, "hardware/targets/%s.json", itg_hardware_builtin_name(i));
        char *text = read_text(path);
        assert_string_equal(text, itg_hardware_builtin_json(i));
        itg_hardware *hw = load(path), *embedded = load(itg_hardware_builtin_name(i));
        assert_memory_equal(hw->hash, embedded->hash, 32);
        itg_hardware_destroy(hw);
        itg_hardware_destroy(embedded);
        free(text);
    }
}

static void builtin_targets_say_what_they_are(void **state)
{
    (void)state;
    itg_hardware *f = load("float"), *x86 = load("x86-vnni"), *arm = load("cortex-m");
    assert_true(f->all_float && f->float_allowed);
    assert_true(x86->float_allowed && !arm->float_allowed);
    assert_int_equal(x86->ops[ITG_OP_MATMUL].spec_count, 2);
    assert_int_equal(x86->ops[ITG_OP_SOFTMAX].spec_count, 0);
    assert_int_equal(x86->ops[ITG_OP_ADD].specs[0].form, ITG_FORM_F32);
    assert_true(x86->ops[ITG_OP_ADD].follow && !x86->ops[ITG_OP_CONV].follow);
    const itg_hw_spec *wide = &arm->ops[ITG_OP_CONV].specs[1];
    assert_int_equal(wide->acc.bits, 64);
    assert_int_equal(arm->requants[wide->requant].spec.form, ITG_REQUANT_S64_REDUCED);
    assert_int_equal(arm->ops[ITG_OP_ADD].specs[0].left_shift, 20);
    assert_int_equal(arm->ops[ITG_OP_ADD].specs[1].left_shift, 15);
    assert_int_equal(arm->ops[ITG_OP_AVERAGE_POOL].specs[0].rounding, ITG_ROUND_HALF_AWAY);
    assert_int_equal(arm->ram_bytes, 262144);
    itg_hardware *vta = load("vta"), *cvm = load("cvm");
    assert_true(vta->power_of_two_scales && !vta->float_allowed);
    assert_int_equal(vta->requant_count, 1);
    assert_int_equal(vta->requants[0].spec.form, ITG_REQUANT_SHIFT);
    assert_false(vta->ops[ITG_OP_CONV].specs[0].per_channel);
    assert_int_equal(cvm->requants[0].spec.form, ITG_REQUANT_PRESHIFT);
    for (int op = 0; op < ITG_OP_COUNT; op++)
        for (int32_t i = 0; i < cvm->ops[op].spec_count; i++) {
            const itg_hw_spec *spec = &cvm->ops[op].specs[i];
            assert_int_equal(spec->acc.bits, 32);
            assert_int_equal(spec->split.allowed, spec->form == ITG_FORM_MAC);
        }
    itg_hardware_destroy(vta);
    itg_hardware_destroy(cvm);
    itg_hardware_destroy(f);
    itg_hardware_destroy(x86);
    itg_hardware_destroy(arm);
}

/* Bytes times bytes in 16 bits: one product fits whatever the codes are, so no network is refused
 * for its sums; what cannot be split is summed in widths that hold it. */
static void avr_sums_bytes_in_16_bits(void **state)
{
    (void)state;
    itg_hardware *avr = load("avr");
    assert_int_equal(avr->flash_bytes, 32768);
    assert_int_equal(avr->ram_bytes, 2048);
    for (int i = 0; i < avr->dtype_count; i++) {
        assert_false(avr->dtypes[i].zero_point || avr->dtypes[i].full_range);
        assert_int_equal(itg_dtype_size(avr->dtypes[i].storage), 1);
    }
    assert_true(255 * 127 <= INT16_MAX && 255 * -127 >= INT16_MIN);
    const itg_requant_spec *requant = &avr->requants[0].spec;
    assert_int_equal(requant->form, ITG_REQUANT_PRESHIFT);
    assert_int_equal(requant->multiplier_bits, 16); /* 16 bits times 16 bits, in 32 */
    assert_int_equal(requant->pre_shift_bits, 16);
    for (int op = 0; op < ITG_OP_COUNT; op++)
        for (int32_t i = 0; i < avr->ops[op].spec_count; i++) {
            const itg_hw_spec *spec = &avr->ops[op].specs[i];
            bool weights = spec->weight_mask != 0;
            assert_int_equal(spec->split.allowed, weights);
            if (weights) {
                assert_int_equal(spec->acc.bits, 16);
                assert_int_equal(spec->split.join_bits, 32);
                assert_int_equal(spec->bias_bits, 32);
                assert_true(spec->split.join_cycles == 15);
            }
            if (spec->form == ITG_FORM_EQUAL) assert_int_equal(spec->acc.bits, 16);
            if (itg_op_is((itg_op)op, ITG_IS_AVERAGE)) assert_int_equal(spec->acc.bits, 32);
        }
    itg_hardware_destroy(avr);
}

/* What docs/targets.md says of them. */
static void newer_targets_say_what_they_are(void **state)
{
    (void)state;
    itg_hardware *dot = load("armv8-dot"), *esp = load("esp32"), *rt = load("tensorrt-int8");
    assert_true(dot->float_allowed && !esp->float_allowed && rt->float_allowed);
    assert_int_equal(dot->requants[0].spec.form, ITG_REQUANT_TFLITE_DOUBLE);
    assert_int_equal(esp->requants[0].spec.form, ITG_REQUANT_TFLITE_DOUBLE);
    assert_true(rt->dtypes[0].full_range && !rt->dtypes[0].zero_point);
    assert_false(rt->dtypes[1].full_range);
    assert_int_equal(rt->dtypes[0].bits_min, 8);
    assert_int_equal(rt->requants[0].spec.form, ITG_REQUANT_F32);
    itg_hardware *fpga = load("fpga"), *tlu = load("tlu"), *nic = load("nic");
    assert_true(fpga->power_of_two_scales && nic->power_of_two_scales);
    assert_false(fpga->float_allowed || tlu->float_allowed || nic->float_allowed);
    assert_int_equal(fpga->requants[0].spec.form, ITG_REQUANT_SHIFT);
    assert_int_equal(tlu->requants[0].spec.pre_shift_bits, 8);
    for (int op = 0; op < ITG_OP_COUNT; op++) {
        for (int32_t i = 0; i < tlu->ops[op].spec_count; i++) {
            const itg_hw_spec *spec = &tlu->ops[op].specs[i];
            if (spec->requant >= 0) assert_int_equal(spec->acc.bits, 16);
        }
        for (int32_t i = 0; i < nic->ops[op].spec_count; i++) {
            const itg_hw_spec *spec = &nic->ops[op].specs[i];
            if (spec->requant >= 0) assert_int_equal(spec->acc.bits, 64);
            if (itg_op_is((itg_op)op, ITG_IS_AVERAGE))
                assert_int_equal(spec->form, ITG_FORM_RESCALE);
        }
    }
    itg_hardware *const all[] = {dot, esp, rt, fpga, tlu, nic};
    for (int i = 0; i < 6; i++)
        itg_hardware_destroy(all[i]);
}

static void every_key_reaches_its_field(void **state)
{
    (void)state;
    itg_hardware *hw = parse(chip);
    assert_string_equal(hw->name, "chip");
    assert_string_equal(hw->description, "for tests");
    assert_true(hw->float_macs_per_cycle == 2.5);
    assert_int_equal(hw->dtype_count, 5);
    assert_string_equal(hw->dtypes[2].name, "a16");
    assert_int_equal(hw->dtypes[2].storage, ITG_S16);
    assert_int_equal(hw->dtypes[2].bits_min, 9);
    assert_int_equal(hw->dtypes[2].bits_max, 16);
    assert_true(hw->dtypes[0].zero_point && !hw->dtypes[1].zero_point && hw->dtypes[1].full_range);
    assert_int_equal(hw->requant_count, 2);
    const itg_requant_spec *stages = &hw->requants[1].spec;
    assert_int_equal(stages->form, ITG_REQUANT_STAGES);
    assert_int_equal(stages->multiplier_bits, 16);
    assert_int_equal(stages->multiply_shift, 15);
    assert_int_equal(stages->pre_shift_bits, 24);
    assert_int_equal(stages->pre_rounding, ITG_ROUND_FLOOR);
    assert_int_equal(stages->multiply_rounding, ITG_ROUND_HALF_EVEN);
    assert_int_equal(stages->shift_rounding, ITG_ROUND_HALF_EVEN);
    assert_int_equal(hw->requants[0].spec.max_shift, 31);
    assert_true(hw->fuse[ITG_OP_CONV][ITG_OP_RELU] && hw->fuse[ITG_OP_ADD][ITG_OP_CLIP]);
    assert_false(hw->fuse[ITG_OP_CONV][ITG_OP_CLIP] || hw->fuse[ITG_OP_ADD][ITG_OP_RELU]);
    const itg_hw_spec *conv = &hw->ops[ITG_OP_CONV].specs[0];
    assert_int_equal(conv->input_mask, 1u << 0 | 1u << 3);
    assert_int_equal(conv->weight_mask, 1u << 1);
    assert_int_equal(conv->output_mask, 1u << 0);
    assert_int_equal(conv->acc.bits, 24);
    assert_int_equal(conv->acc.overflow, ITG_OVERFLOW_SATURATE);
    assert_true(conv->per_channel && conv->bias);
    assert_int_equal(conv->bias_bits, 20);
    assert_int_equal(conv->form, ITG_FORM_MAC);
    assert_int_equal(conv->requant, 1);
    assert_true(conv->macs_per_cycle == 4);
    assert_true(hw->ops[ITG_OP_ADD].follow && !hw->ops[ITG_OP_CONV].follow);
    assert_int_equal(hw->graph_input_mask, 1u);
    assert_int_equal(hw->graph_output_mask, 1u << 0 | 1u << 2);
    assert_int_equal(hw->output_bits_min, 8);
    assert_int_equal(hw->output_bits_max, 16);
    assert_int_equal(hw->flash_bytes, 1000);
    assert_int_equal(hw->override_count, 1);
    assert_string_equal(hw->overrides[0].pattern, "conv1");
    assert_true(hw->overrides[0].has_float && !hw->overrides[0].is_float);
    assert_int_equal(hw->overrides[0].activation_bits_min, 4);
    itg_hardware_destroy(hw);
}

static void what_is_not_said_has_its_default(void **state)
{
    (void)state;
    itg_hardware *hw = parse(chip);
    const itg_hw_spec *matmul = &hw->ops[ITG_OP_MATMUL].specs[0];
    assert_int_equal(matmul->acc.overflow, ITG_OVERFLOW_WRAP);
    assert_int_equal(matmul->bias_bits, 16); /* the accumulator's */
    assert_true(matmul->bias && !matmul->per_channel);
    assert_true(matmul->macs_per_cycle == 1);
    const itg_hw_spec *pool = &hw->ops[ITG_OP_MAX_POOL].specs[0];
    assert_int_equal(pool->rounding, ITG_ROUND_HALF_AWAY);
    assert_int_equal(pool->requant, -1);
    assert_int_equal(pool->output_mask, 0);
    assert_int_equal(hw->ops[ITG_OP_ADD].specs[0].acc.bits, 32);
    assert_int_equal(hw->ops[ITG_OP_ADD].specs[0].bias_bits, 32);
    assert_int_equal(hw->requants[0].spec.multiply_shift, -1);
    assert_int_equal(hw->requants[0].spec.shift_rounding, ITG_ROUND_HALF_UP);
    itg_hardware_destroy(hw);
}

static void sums_are_split_as_stated(void **state)
{
    (void)state;
    char *text = replaced(chip, "\"accumulator\": {\"bits\": 16}",
                          "\"accumulator\": {\"bits\": 16, \"split\": true}");
    itg_hardware *plain = parse(chip), *split = parse(text);
    const itg_hw_spec *spec = &split->ops[ITG_OP_MATMUL].specs[0];
    assert_false(plain->ops[ITG_OP_MATMUL].specs[0].split.allowed);
    assert_true(spec->split.allowed);
    assert_int_equal(spec->split.join_bits, 16);
    assert_int_equal(spec->split.rounding, ITG_ROUND_HALF_UP);
    assert_true(spec->split.join_cycles == 1 / spec->macs_per_cycle); /* as one MAC */
    assert_int_equal(spec->bias_bits, 16);
    itg_hardware_destroy(split);
    free(text);
    text = replaced(chip, "\"accumulator\": {\"bits\": 16}",
                    "\"accumulator\": {\"bits\": 16, \"split\": true, \"join_bits\": 40, "
                    "\"join_rounding\": \"half_even\", \"join_cycles\": 2.5}");
    split = parse(text);
    spec = &split->ops[ITG_OP_MATMUL].specs[0];
    assert_int_equal(spec->acc.bits, 16);
    assert_int_equal(spec->split.join_bits, 40);
    assert_int_equal(spec->split.rounding, ITG_ROUND_HALF_EVEN);
    assert_true(spec->split.join_cycles == 2.5);
    assert_int_equal(spec->bias_bits, 32); /* a bias enters the wider sum */
    itg_hardware_destroy(split);
    itg_hardware_destroy(plain);
    free(text);
}

static void bad_descriptions_are_refused_with_place_and_expectation(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < bad_description_count; i++) {
        const bad_description *bad = &bad_descriptions[i];
        char *text = replaced(chip, bad->from, bad->to);
        itg_hardware *hw = (itg_hardware *)text; /* any non-null: must stay */
        itg_error err = {0};
        itg_status status = itg_hardware_parse(text, strlen(text), "chip.json", &hw, &err);
        if (status != ITG_BAD_FILE && status != ITG_LIMIT)
            fail_msg("'%s' -> '%s': status %s, '%s'", bad->from, bad->to, itg_status_name(status),
                     err.message);
        assert_ptr_equal(hw, text);
        assert_int_equal(strncmp(err.message, "chip.json: ", 11), 0);
        bool right = bad->message ? strcmp(err.message + 11, bad->message) == 0
                                  : strstr(err.message, "expected") != NULL;
        if (!right) print_error("'%s' -> '%s': %s\n", bad->from, bad->to, err.message);
        wrong += !right;
        free(text);
    }
    assert_int_equal(wrong, 0);
}

static void a_description_without_operators_is_refused(void **state)
{
    (void)state;
    const char *text = "{\"intaglio_hardware\": 1, \"name\": \"n\"}";
    itg_hardware *hw = NULL;
    itg_error err = {0};
    assert_int_equal(itg_hardware_parse(text, strlen(text), "n.json", &hw, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "n.json: expected 'operators' with at least one operator");
    text = "[]";
    assert_int_equal(itg_hardware_parse(text, strlen(text), "n.json", &hw, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "n.json: expected an object (hardware description)");
    text = "{\"intaglio_hardware\": 1, \"intaglio_hardware\": 1}";
    assert_int_equal(itg_hardware_parse(text, strlen(text), "n.json", &hw, &err), ITG_BAD_FILE);
    assert_null(hw);
}

static void too_many_of_anything_is_refused(void **state)
{
    (void)state;
    itg_strbuf many = {0};
    itg_strbuf_add(&many, "{\"intaglio_hardware\": 1, \"name\": \"n\", \"dtypes\": {");
    for (int i = 0; i < 33; i++)
        itg_strbuf_format(&many, "%s\"d%d\": {\"storage\": \"s8\", \"bits\": [2, 8]}", i ? "," : "",
                          i);
    itg_strbuf_add(&many, "}}");
    itg_hardware *hw = NULL;
    itg_error err = {0};
    assert_int_equal(itg_hardware_parse(many.text, many.length, "n.json", &hw, &err), ITG_LIMIT);
    assert_string_equal(err.message, "n.json: dtypes: expected at most 32 entries");
    itg_strbuf_deinit(&many);
    for (int i = 0; i < 9; i++)
        itg_strbuf_format(
            &many, "%s{\"arithmetic\": \"lut\", \"inputs\": [\"a8\"], \"outputs\": [\"a8\"]}",
            i ? "," : "");
    char *text = replaced(
        chip, "{\"arithmetic\": \"lut\", \"inputs\": [\"a8\"], \"outputs\": [\"a8\"]}", many.text);
    assert_int_equal(itg_hardware_parse(text, strlen(text), "n.json", &hw, &err), ITG_BAD_FILE);
    assert_string_equal(err.message, "n.json: operators.Tanh: expected a list of 1..8 specs");
    free(text);
    itg_strbuf_deinit(&many);
    for (size_t bytes = 0; bytes <= (size_t)1 << 20; bytes += 8)
        itg_strbuf_add(&many, "        ");
    assert_int_equal(itg_hardware_parse(many.text, many.length, "n.json", &hw, &err), ITG_LIMIT);
    itg_strbuf_deinit(&many);
}

static void an_unknown_name_lists_the_builtin_ones(void **state)
{
    (void)state;
    itg_hardware *hw = NULL;
    itg_error err = {0};
    assert_int_equal(itg_hardware_load("no-such-chip", &hw, &err), ITG_IO);
    assert_non_null(strstr(err.message,
                           "no target 'no-such-chip' is built in (expected one of float, "
                           "x86-vnni, cortex-m, vta, cvm, avr, armv8-dot, esp32, "
                           "tensorrt-int8, fpga, tlu, nic)"));
    assert_int_equal(itg_hardware_load("no/such.json", &hw, &err), ITG_IO);
    assert_non_null(strstr(err.message, "no/such.json"));
    assert_int_equal(itg_hardware_load("hardware", &hw, &err) == ITG_OK, 0); /* a folder */
    assert_null(hw);
}

static void the_hash_is_that_of_the_reprinted_text(void **state)
{
    (void)state;
    itg_sha256 sha;
    unsigned char digest[32];
    char spaced[65536] = "\n \t";
    itg_hardware *hw = parse(chip);
    itg_sha256_init(&sha);
    itg_sha256_update(&sha, hw->json, strlen(hw->json));
    itg_sha256_final(&sha, digest);
    assert_memory_equal(hw->hash, digest, 32);
    assert_true(strlen(chip) < sizeof spaced - 8);
    strcat(strcat(spaced, chip), " \n");
    itg_hardware *other = parse(spaced);
    assert_memory_equal(other->hash, hw->hash, 32);
    assert_string_equal(other->json, hw->json);
    itg_hardware_destroy(other);
    itg_hardware_destroy(hw);
}

static void the_univariate_entry_holds_for_what_has_no_entry(void **state)
{
    (void)state;
#define TABLE "\"arithmetic\": \"lut\", \"inputs\": [\"a8\"], \"outputs\": [\"a8\"]"
    char *text = replaced(chip, "\"operators\": {",
                          "\"operators\": {\"univariate\": {\"follow\": true, \"specs\": [{" TABLE
                          "}]}, \"Floor\": [{" TABLE ", \"macs_per_cycle\": 7}],");
    itg_hardware *hw = parse(text);
    int counted = 0;
    for (int op = 0; op < ITG_OP_COUNT; op++) {
        const itg_hw_op *entry = &hw->ops[op];
        bool has_table = entry->spec_count > 0 && entry->specs[0].form == ITG_FORM_LUT;
        if (has_table && !itg_op_is((itg_op)op, ITG_IS_UNIVARIATE))
            fail_msg("%s is not univariate", itg_op_name((itg_op)op));
        counted += has_table && entry->follow;
    }
    assert_true(counted > 10);
    assert_true(hw->ops[ITG_OP_ERF].follow && hw->ops[ITG_OP_ERF].spec_count == 1);
    assert_true(hw->ops[ITG_OP_ERF].specs[0].macs_per_cycle == 1);
    assert_true(hw->ops[ITG_OP_FLOOR].specs[0].macs_per_cycle == 7);
    assert_false(hw->ops[ITG_OP_FLOOR].follow);
    itg_hardware_destroy(hw);
    free(text);
}

/* The example in the documentation is between ```json and ```. */
static void the_made_up_chip_of_the_documentation_loads(void **state)
{
    (void)state;
    char *page = read_text("docs/adding-a-target.md");
    char *first = strstr(page, "```json\n");
    assert_non_null(first);
    first += strlen("```json\n");
    char *last = strstr(first, "```");
    assert_non_null(last);
    *last = '\0';
    itg_hardware *hw = parse(first);
    assert_string_equal(hw->name, "quillback-q1");
    assert_int_equal(hw->ops[ITG_OP_CONV].specs[1].bias_bits, 32);
    assert_int_equal(hw->ops[ITG_OP_CONV].specs[1].acc.overflow, ITG_OVERFLOW_WRAP);
    assert_true(hw->ops[ITG_OP_SIGMOID].follow);
    itg_hardware_destroy(hw);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_builtin_target_loads),
        cmocka_unit_test(a_builtin_target_is_its_file),
        cmocka_unit_test(builtin_targets_say_what_they_are),
        cmocka_unit_test(avr_sums_bytes_in_16_bits),
        cmocka_unit_test(newer_targets_say_what_they_are),
        cmocka_unit_test(every_key_reaches_its_field),
        cmocka_unit_test(what_is_not_said_has_its_default),
        cmocka_unit_test(sums_are_split_as_stated),
        cmocka_unit_test(bad_descriptions_are_refused_with_place_and_expectation),
        cmocka_unit_test(a_description_without_operators_is_refused),
        cmocka_unit_test(too_many_of_anything_is_refused),
        cmocka_unit_test(an_unknown_name_lists_the_builtin_ones),
        cmocka_unit_test(the_hash_is_that_of_the_reprinted_text),
        cmocka_unit_test(the_univariate_entry_holds_for_what_has_no_entry),
        cmocka_unit_test(the_made_up_chip_of_the_documentation_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
