/* verify and diff, as a user runs them. */
#include "driver.h"
#include <string.h>

/* Status 0, and one word on stderr: an avr is too small for the network. */
static void make(const char *line)
{
    outcome o = run(line);
    if (o.status != 0) fail_msg("%s: %s", line, o.err);
    if (*o.err) {
        const char warning[] = "intaglio: warning: it takes ", *end = strchr(o.err, '\n');
        assert_int_equal(strncmp(o.err, warning, sizeof warning - 1), 0);
        assert_contains(o.err, "bytes of RAM; avr has 2,048 (memory.ram_bytes)\n");
        assert_string_equal(end, "\n");
    }
    itg_json_destroy(parse(o.out));
    done(&o);
}

static void make_once(void)
{
    if (exists("parts.itg.cert.json")) return;
    static const char *const widths[] = {"8", "4", "8"},
                             *const names[] = {"eight", "four", "parts"},
                             *const targets[] = {"cortex-m", "cortex-m", "avr"};
    for (int i = 0; i < 3; i++) {
        char line[256];
        snprintf(line, sizeof line,
                 "simulate digits.onnx --hw %s --uniform %s --scale 1/255 --calib "
                 "digits_search_images.npy --data digits_test_images.npy --labels "
                 "digits_test_labels.npy --limit 200 -o %s.json --json",
                 targets[i], widths[i], names[i]);
        make(line);
        snprintf(line, sizeof line, "realize digits.onnx %s.json -o %s.itg --json", names[i],
                 names[i]);
        make(line);
    }
}

static void copy_to(const char *from, const char *to, long at, int flipped)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    int byte;
    assert_true(in != NULL && out != NULL);
    for (long i = 0; (byte = fgetc(in)) != EOF; i++)
        assert_true(fputc(i == at ? byte ^ flipped : byte, out) != EOF);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* The place of text in a file of any bytes; of its nth occurrence. */
static long place_of(const char *path, const char *text, int nth)
{
    FILE *file = fopen(path, "rb");
    size_t matched = 0, length = strlen(text);
    long at = 0;
    int byte;
    assert_non_null(file);
    while (matched < length && (byte = fgetc(file)) != EOF) {
        matched = byte == text[matched] ? matched + 1 : byte == text[0];
        at++;
        if (matched == length && --nth > 0) matched = 0;
    }
    fclose(file);
    assert_int_equal(matched, length);
    return at - (long)length;
}

static void what_realize_writes_is_verified(void **state)
{
    (void)state;
    make_once();
    itg_json *json = run_json("verify eight.itg --json");
    assert_true(truth(json, "verified"));
    assert_true(number(json, "problem_count") == 0);
    assert_int_equal(itg_json_length(member(json, "accumulators")), 6);
    itg_json_destroy(json);
    outcome o = run("verify eight.itg");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "6 of 6 accumulators cannot overflow");
    assert_contains(o.out, "verified\n");
    done(&o);
}

static void an_edit_of_either_file_fails_and_is_named(void **state)
{
    (void)state;
    make_once();
    /* The initializer, whose data lie behind its name; a node names it first. */
    long weights = place_of("eight.itg", "conv2.weight", 2) + 60;
    copy_to("eight.itg", "edited.itg", weights, 1);
    copy_to("eight.itg.cert.json", "edited.itg.cert.json", -1, 0);
    outcome o = run("verify edited.itg");
    assert_int_equal(o.status, 1);
    assert_contains(o.out, "for other bytes");
    assert_contains(o.out, "tensor 'conv2.weight'");
    assert_contains(o.err, "NOT verified");
    done(&o);
    copy_to("eight.itg", "edited.itg", -1, 0);
    long digit = place_of("eight.itg.cert.json", "\"sum\": [\"", 1) + 11;
    copy_to("eight.itg.cert.json", "edited.itg.cert.json", digit, 1);
    o = run("verify edited.itg");
    assert_int_equal(o.status, 1);
    assert_contains(o.out, "the certificate was edited");
    assert_contains(o.out, "node 'conv1': accumulators[0].sum");
    done(&o);
    o = run("verify edited.itg --certificate eight.itg.cert.json");
    assert_int_equal(o.status, 0);
    done(&o);
    o = run("verify edited.itg --certificate four.itg.cert.json --json");
    assert_int_equal(o.status, 1);
    itg_json *json = parse(o.out);
    assert_false(truth(json, "verified"));
    itg_json_destroy(json);
    done(&o);
}

static void a_certificate_overwrites_nothing_that_is_read(void **state)
{
    (void)state;
    make_once();
    copy_to("eight.json", "over.itg.cert.json", -1, 0);
    outcome o = run("realize digits.onnx over.itg.cert.json -o over.itg");
    assert_int_equal(o.status, 2);
    assert_contains(o.err, "would overwrite STRATEGY");
    assert_false(exists("over.itg"));
    done(&o);
}

static void without_certificate_it_says_so(void **state)
{
    (void)state;
    make_once();
    copy_to("eight.itg", "alone.itg", -1, 0);
    outcome o = run("verify alone.itg");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "no certificate");
    assert_contains(o.err, "alone.itg.cert.json");
    done(&o);
    o = run("verify digits.onnx --certificate eight.itg.cert.json");
    assert_int_equal(o.status, 1);
    done(&o);
}

/* ---- diff ---- */

static void strategies_and_programs_compare_in_any_mix(void **state)
{
    static const char *const mixes[] = {"eight.json four.json", "eight.itg four.json",
                                        "eight.json four.itg", "eight.itg four.itg"};
    (void)state;
    make_once();
    for (int i = 0; i < 4; i++) {
        char line[128];
        snprintf(line, sizeof line, "diff %s --model digits.onnx --json", mixes[i]);
        itg_json *json = run_json(line);
        assert_false(truth(json, "same"));
        assert_true(truth(json, "same_hardware"));
        assert_true(number(json, "a.weight_bytes") == 2 * number(json, "b.weight_bytes"));
        assert_true(number(json, "a.samples") == 200 && number(json, "b.samples") == 200);
        assert_true(number(json, "a.top1") > number(json, "b.top1"));
        assert_int_equal(itg_json_length(member(json, "layers")), 5);
        const itg_json_value *edges = member(json, "edges");
        assert_int_equal(itg_json_length(edges), (size_t)number(json, "edges_that_differ"));
        assert_true(itg_json_length(edges) > 10);
        itg_json_destroy(json);
    }
}

static void a_program_is_the_same_as_its_strategy(void **state)
{
    (void)state;
    make_once();
    itg_json *json = run_json("diff eight.json eight.itg --model digits.onnx --json");
    assert_true(truth(json, "same"));
    assert_int_equal(itg_json_length(member(json, "edges")), 0);
    assert_true(number(json, "a.cycles") == number(json, "b.cycles"));
    itg_json_destroy(json);
    json = run_json("diff eight.json eight.itg --json --all"); /* costs of one side alone */
    assert_true(truth(json, "same") && is_null(json, "a.cycles") && !is_null(json, "b.cycles"));
    assert_true(itg_json_length(member(json, "edges")) > 15);
    itg_json_destroy(json);
}

static void both_are_run_now_where_data_is_given(void **state)
{
    (void)state;
    make_once();
    itg_json *json = run_json("diff eight.json eight.itg --model digits.onnx --data "
                              "digits_test_images.npy --labels digits_test_labels.npy --json");
    assert_true(number(json, "a.samples") == 2000 && number(json, "b.samples") == 2000);
    assert_true(number(json, "a.top1") == number(json, "b.top1"));
    itg_json_destroy(json);
    outcome o = run("diff eight.json eight.itg --data digits_test_images.npy");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "--model");
    done(&o);
}

static void tables_show_what_changed(void **state)
{
    (void)state;
    make_once();
    outcome o = run("diff eight.itg four.itg");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "weight bytes");
    assert_contains(o.out, "-50.0 %");
    assert_contains(o.out, "conv2.weight -> conv2.1");
    assert_contains(o.out, "5 of 12 layers differ");
    done(&o);
    o = run("diff eight.json eight.json --model digits.onnx");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "\n0 of 24 edges differ\n");
    assert_contains(o.out, "\n0 of 12 layers differ\n");
    done(&o);
}

/* Sums in parts have columns; where no sum is split they would say nothing. */
static void tables_show_parts_and_joins(void **state)
{
    (void)state;
    make_once();
    outcome o = run("diff parts.itg parts.itg --all");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "  parts    joins ");
    done(&o);
    o = run("diff eight.itg four.itg");
    assert_null(strstr(o.out, "joins"));
    done(&o);
    itg_json *json = run_json("diff eight.itg parts.itg --json");
    const itg_json_value *layer = itg_json_at(member(json, "layers"), 0);
    const itg_json_value *a = itg_json_find(layer, "a"), *b = itg_json_find(layer, "b");
    double parts[2], joins[2];
    assert_int_equal(itg_json_get_number(json, itg_json_find(a, "parts"), &parts[0], NULL), ITG_OK);
    assert_int_equal(itg_json_get_number(json, itg_json_find(b, "parts"), &parts[1], NULL), ITG_OK);
    assert_int_equal(itg_json_get_number(json, itg_json_find(a, "joins"), &joins[0], NULL), ITG_OK);
    assert_int_equal(itg_json_get_number(json, itg_json_find(b, "joins"), &joins[1], NULL), ITG_OK);
    assert_true(parts[0] == 0 && joins[0] == 0 && parts[1] > 1 && joins[1] > parts[1]);
    itg_json_destroy(json);
    json = run_json("verify parts.itg --json"); /* by a program that knows nothing of this one */
    assert_true(truth(json, "verified"));
    itg_json_destroy(json);
}

/* The strategy of four.json, said to be another model's. */
static void different_models_are_refused(void **state)
{
    (void)state;
    make_once();
    long at = place_of("four.json", "\"model_hash\": \"", 1) + 15;
    char *text = text_of("four.json");
    text[at] = text[at] == '0' ? '1' : '0';
    put("foreign.json", text, strlen(text));
    free(text);
    outcome o = run("diff eight.json foreign.json");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "different models");
    done(&o);
    o = run("diff eight.json foreign.json --model digits.onnx");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "another model");
    done(&o);
    o = run("diff eight.json digits.onnx");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "digits.onnx");
    done(&o);
}

static void different_hardware_is_said(void **state)
{
    (void)state;
    make_once();
    itg_json_destroy(
        run_json("simulate digits.onnx --hw vta --uniform 8 --scale 1/255 --calib "
                 "digits_search_images.npy --data digits_test_images.npy --limit 50 -o vta.json "
                 "--json"));
    outcome o = run("diff eight.json vta.json --model digits.onnx");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "hardware descriptions differ");
    done(&o);
}

static int enter(void **state)
{
    (void)state;
    return enter_folder("verify");
}
static int leave(void **state)
{
    (void)state;
    return leave_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_realize_writes_is_verified),
        cmocka_unit_test(an_edit_of_either_file_fails_and_is_named),
        cmocka_unit_test(a_certificate_overwrites_nothing_that_is_read),
        cmocka_unit_test(without_certificate_it_says_so),
        cmocka_unit_test(strategies_and_programs_compare_in_any_mix),
        cmocka_unit_test(a_program_is_the_same_as_its_strategy),
        cmocka_unit_test(both_are_run_now_where_data_is_given),
        cmocka_unit_test(tables_show_what_changed),
        cmocka_unit_test(tables_show_parts_and_joins),
        cmocka_unit_test(different_models_are_refused),
        cmocka_unit_test(different_hardware_is_said),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
