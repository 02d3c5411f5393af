/* What intaglio check says of a model that cannot be imported, and of what other commands will
 * refuse. */
#include "driver.h"
#include "graph/onnx/onnx_write.h"

typedef struct step {
    const char *domain, *op;
} step;

static void write_model(const char *path, itg_dtype input, int64_t width, const step *steps,
                        int count, int inputs)
{
    itg_onnx_writer *w = NULL;
    itg_shape shape = {.rank = 2, .dims = {1, width}};
    assert_int_equal(itg_onnx_writer_create("net", "", &w, NULL), ITG_OK);
    itg_onnx_writer_opset(w, "", 13);
    itg_onnx_writer_input(w, "x", input, &shape);
    if (inputs > 1) itg_onnx_writer_input(w, "second", ITG_F32, &shape);
    itg_onnx_writer_output(w, "y", ITG_F32, NULL);
    for (int i = 0; i < count; i++) {
        char from[16], to[16], name[16];
        snprintf(from, sizeof from, i == 0 ? "x" : "v%d", i - 1);
        snprintf(to, sizeof to, i + 1 == count ? "y" : "v%d", i);
        snprintf(name, sizeof name, "n%d", i);
        const char *in[] = {from, "second"}, *out[] = {to};
        itg_onnx_writer_node(w, steps[i].domain, steps[i].op, name, in, i == 0 ? inputs : 1, out,
                             1);
        if (strcmp(steps[i].op, "Cast") == 0) itg_onnx_writer_int(w, "to", 1);
    }
    assert_int_equal(itg_onnx_writer_save(w, path, NULL), ITG_OK);
    itg_onnx_writer_destroy(w);
}

static void all_refusals_stand_in_one_table(void **state)
{
    (void)state;
    static const step steps[] = {{"", "StringNormalizer"},
                                 {"com.microsoft", "FusedMatMul"},
                                 {"", "Relu"},
                                 {"com.microsoft", "FusedMatMul"},
                                 {"", "NonMaxSuppression"}};
    write_model("bad.onnx", ITG_F32, 0, steps, 5, 1);
    outcome o = run("check bad.onnx");
    assert_int_equal(o.status, 1);
    assert_contains(o.out, "operator StringNormalizer");
    assert_contains(o.out, "operator com.microsoft.FusedMatMul      2  node 1 'n1'");
    assert_contains(o.out, "operator NonMaxSuppression");
    assert_contains(o.out, "export the model with fixed input sizes");
    assert_contains(o.err, "node 0 'n0' (StringNormalizer)");
    done(&o);
    o = run("check bad.onnx --json --hw cortex-m");
    assert_int_equal(o.status, 1);
    itg_json *json = parse(o.out);
    const itg_json_value *list = member(json, "refused");
    assert_int_equal(itg_json_length(list), 4);
    assert_contains(o.out, "\"times\": 2");
    assert_true(number(json, "others") == 0);
    itg_json_destroy(json);
    done(&o);
}

static void types_are_shown_and_what_will_not_work_is_said(void **state)
{
    (void)state;
    static const step cast[] = {{"", "Cast"}, {"", "Relu"}}, add[] = {{"", "Add"}, {"", "Relu"}},
                      soft[] = {{"", "LogSoftmax"}, {"", "Relu"}};
    write_model("ids.onnx", ITG_S64, 4, cast, 2, 1);
    outcome o = run("check ids.onnx");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "input        x s64 [1,4]");
    assert_contains(o.out, "output       y f32 [1,4]");
    assert_contains(o.out, "input x is s64");
    done(&o);
    write_model("two.onnx", ITG_F32, 4, add, 2, 2);
    o = run("check two.onnx --hw cortex-m");
    assert_contains(o.out, "input        second f32 [1,4]");
    assert_null(strstr(o.out, "warning"));
    done(&o);
    write_model("island.onnx", ITG_F32, 4, soft, 2, 1);
    o = run("check island.onnx --hw cortex-m");
    assert_contains(o.out, "simulate, search and realize will fail: the target refuses 1 node\n");
    done(&o);
    o = run("check island.onnx --hw x86-vnni");
    assert_contains(o.out, "realize --emit c will refuse it: ");
    assert_contains(o.out, "it stays float32");
    done(&o);
    o = run("check island.onnx --hw cortex-m --json");
    itg_json *json = parse(o.out);
    assert_int_equal(itg_json_length(member(json, "warnings")), 1);
    itg_json_destroy(json);
    done(&o);
    json = run_json("check digits.onnx --hw cortex-m --json");
    assert_int_equal(itg_json_length(member(json, "warnings")), 0);
    itg_json_destroy(json);
}

static int begin(void **state)
{
    (void)state;
    return enter_folder("check");
}

static int end(void **state)
{
    (void)state;
    return leave_folder();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_refusals_stand_in_one_table),
        cmocka_unit_test(types_are_shown_and_what_will_not_work_is_said),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
