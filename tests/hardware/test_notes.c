/* What a description says in vain is said, by key; the built-in targets say nothing in vain. */
#include <stdlib.h>
#include "helpers.h"

static void notes_are(const char *text, const itg_graph *g, const char *expected)
{
    itg_hardware *hw = parse(text);
    itg_strbuf notes = {0};
    itg_hardware_notes(hw, g, &notes);
    assert_true(itg_strbuf_ok(&notes));
    assert_string_equal(notes.text ? notes.text : "", expected);
    itg_strbuf_deinit(&notes);
    itg_hardware_destroy(hw);
}

#define UNREAD "operators read it, but none writes it, and 'model_inputs' leaves it out\n"
#define CHIP                                                                                       \
    "dtypes.a16: " UNREAD "dtypes.u8: " UNREAD "dtypes.a32: no operator reads or writes it\n"

static void builtin_targets_say_nothing_in_vain(void **state)
{
    (void)state;
    itg_graph *g = make_chain();
    for (int i = 0; i < itg_hardware_builtin_count(); i++)
        notes_are(itg_hardware_builtin_json(i), g, "");
    itg_graph_destroy(g);
}

static void classes_that_nobody_reads_or_writes(void **state)
{
    (void)state;
    notes_are(chip, NULL, CHIP);
    /* model inputs of any class, and floats, write all */
    char *any = replaced(chip, " \"model_inputs\": [\"a8\"],", "");
    notes_are(any, NULL, "dtypes.a32: no operator reads or writes it\n");
    free(any);
    char *floats = replaced(chip, "\"float\": false", "\"float\": true");
    notes_are(floats, NULL, "dtypes.a32: no operator reads or writes it\n");
    free(floats);
    char *written = replaced(chip, "\"outputs\": [\"a8\"], \"left_shift\"",
                             "\"outputs\": [\"a8\", \"a32\", \"a16\", \"u8\"], \"left_shift\"");
    notes_are(written, NULL,
              "dtypes.a32: operators write it, but none reads it, and 'model_outputs' leaves it "
              "out\n");
    free(written);
}

static void overrides_that_name_nothing(void **state)
{
    (void)state;
    itg_graph *g = make_chain();
    notes_are(chip, g, CHIP);
    char *other = replaced(chip, "\"node\": \"conv1\"", "\"node\": \"conv9*\"");
    notes_are(other, g, "overrides[0].node: no node of model.onnx is named 'conv9*'\n" CHIP);
    free(other);
    char *pool = replaced(chip, "\"node\": \"conv1\"", "\"node\": \"p?ol\"");
    notes_are(
        pool, g,
        "overrides[0].weight_bits: no node of model.onnx that 'p?ol' names has weights\n" CHIP);
    free(pool);
    itg_graph_destroy(g);
}

static void sums_in_parts_do_not_saturate(void **state)
{
    (void)state;
    char *split = replaced(chip, "\"overflow\": \"saturate\"",
                           "\"overflow\": \"saturate\", \"split\": true, \"join_bits\": 32");
    notes_are(split, NULL,
              "operators.Conv[0].accumulator.overflow: \"saturate\" does nothing beside 'split': "
              "true, with which no sum overflows\n" CHIP);
    char *wrap = replaced(split, "\"overflow\": \"saturate\"", "\"overflow\": \"wrap\"");
    notes_are(wrap, NULL, CHIP);
    free(wrap);
    free(split);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builtin_targets_say_nothing_in_vain),
        cmocka_unit_test(classes_that_nobody_reads_or_writes),
        cmocka_unit_test(overrides_that_name_nothing),
        cmocka_unit_test(sums_in_parts_do_not_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
