/* What C source cannot hold is refused in words, and nothing is written; what just fits is not. */
#include "program_maker.h"
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER TEST_FOLDER "/emit_refusals"

enum { INPUT, X, W, SUMS, INDICES, PICKED, Y };    /* values of the program */
enum { QUANTIZE, CONV, GATHER, CLIP, STEP_COUNT }; /* its steps: n7 to n10 */

static void requantize(maker *m, itg_step *s)
{
    itg_requant *r = itg_arena_alloc(m->p->arena, sizeof *r);
    *r = (itg_requant){.stage_count = 1, .stage = {{3, 9, ITG_ROUND_HALF_UP}}};
    s->acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    s->outs[0].requant = r;
    s->outs[0].requant_count = 1;
    s->outs[0].lo = -128;
    s->outs[0].hi = 127;
}

static itg_step *step(maker *m, itg_step_kind kind, itg_op op, int32_t x, int32_t second, int32_t y)
{
    itg_step *s = add_step(m, kind, op, second != ITG_NONE ? 2 : 1, 1);
    s->inputs[0] = x;
    if (second != ITG_NONE) s->inputs[1] = second;
    s->outputs[0] = y;
    return s;
}

/* x [1,2,4,4], a convolution with 2 taps a side, three of its channels gathered, a Clip. */
static itg_program *make(void)
{
    maker m = {0};
    itg_error err = {0};
    itg_shape image = {4, {1, 2, 4, 4}}, sums = {4, {1, 4, 3, 3}}, picked = {4, {1, 3, 3, 3}};
    itg_rng_init(&m.rng, 1);
    assert_int_equal(itg_program_create("refused", &m.p, NULL), ITG_OK);
    add_value(&m, ITG_F32, image);
    add_bytes(&m, image);
    add_bytes(&m, (itg_shape){4, {4, 2, 2, 2}});
    add_bytes(&m, sums);
    add_value(&m, ITG_S64, (itg_shape){1, {3}});
    add_bytes(&m, picked);
    add_bytes(&m, picked);
    itg_program *p = m.p;
    int64_t *indices = itg_arena_array(p->arena, 3, sizeof *indices);
    memcpy(indices, (int64_t[]){3, -4, 0}, 3 * sizeof *indices);
    int8_t *weights = itg_arena_array(p->arena, 32, 1);
    memset(weights, -128, 32); /* so sums reach 2^17 */
    p->values[W].data = weights;
    p->values[INDICES].data = indices;
    step(&m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, INPUT, ITG_NONE, X);
    itg_step *s = step(&m, ITG_STEP_CONV, ITG_OP_CONV, X, W, SUMS);
    s->attrs.spatial_rank = 2;
    s->attrs.group = 1;
    for (int d = 0; d < 2; d++) {
        s->attrs.kernel[d] = 2;
        s->attrs.stride[d] = s->attrs.dilation[d] = 1;
    }
    requantize(&m, s);
    step(&m, ITG_STEP_MOVE, ITG_OP_GATHER, SUMS, INDICES, PICKED)->attrs.axis = 1;
    requantize(&m, step(&m, ITG_STEP_CLIP, ITG_OP_RELU, PICKED, ITG_NONE, Y));
    p->inputs = itg_arena_array(p->arena, 1, sizeof *p->inputs);
    p->outputs = itg_arena_array(p->arena, 1, sizeof *p->outputs);
    p->inputs[p->input_count++] = INPUT;
    p->outputs[p->output_count++] = Y;
    if (itg_program_finish(p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}

/* ---- the plan ---- */

static int64_t planned(const itg_program *p)
{
    itg_error err = {0};
    int64_t bytes = -1;
    if (itg_program_arena_bytes(p, &bytes, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(bytes % 8, 0);
    return bytes;
}

static void not_planned(const itg_program *p, itg_status expected, const char *said)
{
    itg_error err = {0};
    int64_t bytes = -1;
    assert_int_equal(itg_program_arena_bytes(p, &bytes, &err), expected);
    assert_string_equal(err.message, said);
    assert_int_equal(bytes, -1);
}

static void windows_reach_2_to_the_24th(void **state)
{
    (void)state;
    itg_program *p = make();
    itg_attrs *a = &p->steps[CONV].attrs;
    int64_t *numbers[] = {&a->pad[0],    &a->pad[1],    &a->pad[2],      &a->pad[3],
                          &a->stride[0], &a->stride[1], &a->dilation[0], &a->dilation[1],
                          &a->kernel[0], &a->kernel[1]};
    a->kernel[0] = a->kernel[1] = 1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t before = *numbers[i];
        *numbers[i] = 1 << 24;
        (void)planned(p);
        ++*numbers[i];
        not_planned(p, ITG_UNSUPPORTED, "refused: node 'n8': C source for a window beyond 2^24");
        *numbers[i] = before;
    }
    for (int d = 0; d < 2; d++) {
        a->kernel[d] = 4;
        a->dilation[d] = 1 << 22;
        (void)planned(p);
        a->dilation[d]++;
        not_planned(p, ITG_UNSUPPORTED, "refused: node 'n8': C source for a window beyond 2^24");
        a->kernel[d] = a->dilation[d] = 1;
    }
    itg_program_destroy(p);
}

static void values_and_the_arena_have_most_sizes(void **state)
{
    (void)state;
    itg_program *p = make();
    p->values[PICKED].elements = 1 << 28;
    (void)planned(p);
    p->values[PICKED].elements++;
    not_planned(p, ITG_UNSUPPORTED,
                "refused: value 'v5': C source for more than 2^28 elements (constants: 2^26)");
    p->values[PICKED].elements = 27;
    p->values[W].elements = 1 << 26;
    (void)planned(p);
    p->values[W].elements++;
    not_planned(p, ITG_UNSUPPORTED,
                "refused: value 'v2': C source for more than 2^28 elements (constants: 2^26)");
    p->values[W].elements = 32;
    /* The sums lie beside what the convolution needs, which is the most at any time. */
    p->values[SUMS].bytes = 4000;
    int64_t beside = planned(p) - 4000, most = INT32_MAX / 8 * 8;
    p->values[SUMS].bytes = (size_t)(most - beside);
    assert_int_equal(planned(p), most);
    p->values[SUMS].bytes += 8;
    not_planned(p, ITG_LIMIT, "refused: C source for an arena of 2147483648 bytes");
    itg_program_destroy(p);
}

static void float_values_are_named(void **state)
{
    (void)state;
    itg_program *p = make();
    p->values[SUMS].dtype = ITG_F32;
    not_planned(p, ITG_UNSUPPORTED,
                "refused: value 'v3': it is float32 straight from the sums; C source gives codes: "
                "let the strategy quantize the output (--output-bits)");
    p->values[SUMS].dtype = ITG_S8;
    p->steps[CLIP].inputs[0] = INPUT;
    not_planned(p, ITG_UNSUPPORTED, "refused: value 'v0': it is float32 inside");
    p->steps[CLIP].inputs[0] = PICKED;
    p->steps[CLIP].kind = ITG_STEP_QUANTIZE;
    not_planned(p, ITG_UNSUPPORTED, "refused: value 'v5': it is float32 inside");
    p->steps[CLIP].kind = ITG_STEP_FLOAT;
    not_planned(p, ITG_UNSUPPORTED,
                "refused: node 'n10': it stays float32, and C source has no floating point; use a "
                "target whose integer operators cover the network ('intaglio check' tells)");
    p->steps[CLIP].kind = ITG_STEP_CLIP;
    p->values[Y].quantized = false;
    not_planned(p, ITG_UNSUPPORTED, "refused: output 'v6': it is float32; C source gives codes");
    p->values[Y].quantized = true;
    assert_true(planned(p) > 0);
    itg_program_destroy(p);
}

/* ---- the text ---- */

static void no_change(itg_program *p)
{
    (void)p;
}
static itg_requant *stages(itg_program *p)
{
    return (itg_requant *)(uintptr_t)p->steps[CONV].outs[0].requant;
}
static void float_ratio(itg_program *p)
{
    *stages(p) = (itg_requant){.is_f32 = true, .ratio = 0.5f};
}
static void two_multipliers(itg_program *p)
{
    *stages(p) = (itg_requant){.stage_count = 2, .stage = {{3, 2, 1}, {5, 2, 1}}};
}
static void left_at_the_end(itg_program *p)
{
    *stages(p) = (itg_requant){.stage_count = 2, .stage = {{3, 2, 1}, {1, -2, 1}}};
}
static void two_shifts_before(itg_program *p)
{
    *stages(p) = (itg_requant){.stage_count = 3, .stage = {{1, 2, 1}, {1, 2, 1}, {3, 2, 1}}};
}
static void left_twice(itg_program *p)
{
    *stages(p) = (itg_requant){.stage_count = 2, .stage = {{1, -2, 1}, {3, -2, 1}}};
}
static void left_behind_a_shift(itg_program *p)
{
    *stages(p) = (itg_requant){.stage_count = 2, .stage = {{1, 2, 1}, {3, -2, 1}}};
}
static void too_wide(itg_program *p)
{
    *stages(p) = (itg_requant){.stage_count = 2, .stage = {{1, -16, 1}, {INT32_MAX, 62, 1}}};
}
static void computed_weights(itg_program *p)
{
    p->values[W].data = NULL;
}
static void no_indices(itg_program *p)
{
    p->values[INDICES].data = NULL;
}
static void index_above(itg_program *p)
{
    ((int64_t *)(uintptr_t)p->values[INDICES].data)[2] = 4;
}
static void index_below(itg_program *p)
{
    ((int64_t *)(uintptr_t)p->values[INDICES].data)[0] = -5;
}
static void float_step(itg_program *p)
{
    p->steps[GATHER].kind = ITG_STEP_FLOAT;
}

#define ORDER "refused: node 'n8': its requantization is no shift, multiplication, shift"

static const struct {
    void (*apply)(itg_program *p);
    int32_t samples;
    itg_status status;
    const char *said;
} changes[] = {
    {no_change, 1, ITG_OK, ""},
    {no_change, (1 << 21) + 1, ITG_LIMIT, "refused: a self-test of more than 2^26 codes"},
    {float_ratio, 1, ITG_UNSUPPORTED,
     "refused: node 'n8': it requantizes in float32 (form f32); C source needs a target whose "
     "requantization is integer, such as cortex-m, vta or cvm"},
    {two_multipliers, 1, ITG_UNSUPPORTED, ORDER},
    {left_at_the_end, 1, ITG_UNSUPPORTED, ORDER},
    {two_shifts_before, 1, ITG_UNSUPPORTED, ORDER},
    {left_twice, 1, ITG_OK, ""},
    {left_behind_a_shift, 1, ITG_UNSUPPORTED, ORDER},
    {too_wide, 1, ITG_UNSUPPORTED,
     "refused: node 'n8': its requantization needs more than 64 bits"},
    {computed_weights, 1, ITG_UNSUPPORTED,
     "refused: node 'n8': C source for a convolution whose weights are computed"},
    {no_indices, 1, ITG_UNSUPPORTED, "refused: node 'n9': its indices are not there"},
    {index_above, 1, ITG_MISMATCH, "refused: node 'n9': index 4 is out of range"},
    {index_below, 1, ITG_MISMATCH, "refused: node 'n9': index -5 is out of range"},
    {float_step, 1, ITG_UNSUPPORTED,
     "refused: node 'n9': it stays float32, and C source has no floating point; use a target whose "
     "integer operators cover the network ('intaglio check' tells)"},
};

static void refusals_write_nothing(void **state)
{
    static const char *const files[] = {FOLDER "/refused.c", FOLDER "/refused.h",
                                        FOLDER "/refused_selftest.c"};
    (void)state;
    (void)mkdir(FOLDER, 0777);
    int wrong = 0;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        itg_program *p = make();
        itg_error err = {0};
        itg_emit_vectors vectors = {changes[i].samples, NULL};
        for (int k = 0; k < 3; k++)
            (void)unlink(files[k]);
        changes[i].apply(p);
        itg_status status = itg_program_emit_c(p, "refused", &vectors, FOLDER, NULL, &err);
        if (status != changes[i].status || strcmp(err.message, changes[i].said) != 0) {
            print_message("%zu: expected '%s', got %s '%s'\n", i, changes[i].said,
                          itg_status_name(status), err.message);
            wrong++;
        }
        for (int k = 0; k < 3; k++)
            assert_true((access(files[k], F_OK) == 0) == (status == ITG_OK));
        itg_program_destroy(p);
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_reach_2_to_the_24th),
        cmocka_unit_test(values_and_the_arena_have_most_sizes),
        cmocka_unit_test(float_values_are_named),
        cmocka_unit_test(refusals_write_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
