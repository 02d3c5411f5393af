/* Weights with zero points: the C source gives the executor's codes for layers of every kind, and
 * programs whose codes need more bits are refused. */
#include "program_maker.h"
#define FOLDER TEST_FOLDER "/emitted_zeros"
#include "emitted.h"

#define VECTORS                                                                                    \
    "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror -D__ARM_FEATURE_MVE=1 "                \
    "-isystem " TEST_ARM " -fsanitize=address,undefined -fno-sanitize-recover=all"

/* Shapes of x, of the weights and of the result; group 0: a matrix product. */
typedef struct layer {
    const char *name;
    itg_shape x, w, y;
    int32_t axis; /* of the output channels */
    int64_t group, kernel;
} layer;

static const layer layers[] = {
    {"conv", {4, {1, 3, 7, 6}}, {4, {7, 3, 3, 3}}, {4, {1, 7, 5, 4}}, 0, 1, 3},
    {"filters", {4, {1, 20, 9, 9}}, {4, {20, 20, 3, 3}}, {4, {1, 20, 7, 7}}, 0, 1, 3},
    {"grouped", {4, {1, 6, 5, 5}}, {4, {10, 3, 2, 2}}, {4, {1, 10, 4, 4}}, 0, 2, 2},
    {"channels", {4, {1, 9, 6, 6}}, {4, {9, 1, 3, 3}}, {4, {1, 9, 4, 4}}, 0, 9, 3},
    {"forty", {4, {1, 40, 5, 5}}, {4, {40, 1, 3, 3}}, {4, {1, 40, 3, 3}}, 0, 40, 3},
    {"twice", {4, {1, 5, 5, 5}}, {4, {10, 1, 3, 3}}, {4, {1, 10, 3, 3}}, 0, 5, 3},
    {"point", {4, {1, 40, 1, 1}}, {4, {9, 40, 1, 1}}, {4, {1, 9, 1, 1}}, 0, 1, 1},
    {"matrix", {2, {1, 33}}, {2, {33, 5}}, {2, {1, 5}}, 1, 0, 0},
    {"matrices", {4, {1, 3, 4, 6}}, {4, {1, 3, 6, 5}}, {4, {1, 3, 4, 5}}, 3, 0, 0},
};

static itg_step *layer_step(maker *m, const layer *l)
{
    itg_step *s = l->group > 0 ? add_step(m, ITG_STEP_CONV, ITG_OP_CONV, 2, 1)
                               : add_step(m, ITG_STEP_MATMUL, ITG_OP_MATMUL, 2, 1);
    if (l->group > 0) s->attrs.spatial_rank = 2;
    if (l->group > 0) s->attrs.group = l->group;
    for (int d = 0; d < 2 && l->group > 0; d++) {
        s->attrs.kernel[d] = l->kernel;
        s->attrs.stride[d] = s->attrs.dilation[d] = 1;
    }
    s->acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    return s;
}

/* What a program has that it must not. */
typedef enum fault {
    NO_FAULT,
    MORE_CODES,   /* than there are bits for, in the last scale */
    NO_WEIGHTS,   /* the operands are exchanged */
    IS_AN_OUTPUT, /* the weights are */
} fault;

static itg_status make(const layer *l, int32_t bits, bool is_one, fault f, uint64_t seed,
                       itg_program **out, itg_error *err)
{
    maker m = {.integer = true, .doubling = true, .seed = 1};
    itg_rng_init(&m.rng, seed);
    assert_int_equal(itg_program_create("zeros", &m.p, NULL), ITG_OK);
    const int32_t input = add_value(&m, ITG_F32, l->x), x = add_bytes(&m, l->x);
    int32_t w = add_constant(&m, l->w, true);
    while (value(&m, w)->q.zero_point != 0)
        w = add_constant(&m, l->w, true);
    set_zero_points(&m, w, bits, is_one ? -1 : l->axis);
    itg_pvalue *weights = value(&m, w);
    if (f == MORE_CODES) {
        int64_t n = 0;
        assert_true(itg_shape_elements(&l->w, &n));
        void *codes = (void *)(uintptr_t)weights->data;
        itg_store(weights->dtype, codes, n - 1, weights->q.qmax);
        itg_store(weights->dtype, codes, n - 1 - (l->axis > 0 ? l->w.dims[l->axis] : 1), -1);
    }
    itg_step *s = add_step(&m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = input;
    s->outputs[0] = x;
    s = layer_step(&m, l);
    s->inputs[f == NO_WEIGHTS] = x;
    s->inputs[f != NO_WEIGHTS] = w;
    set_out(&m, s, 0, add_bytes(&m, l->y), 20000, l->y.dims[l->group > 0 ? 1 : l->y.rank - 1]);
    itg_program *p = m.p;
    p->inputs = itg_arena_array(p->arena, 1, sizeof *p->inputs);
    p->inputs[p->input_count++] = input;
    p->outputs = itg_arena_array(p->arena, 2, sizeof *p->outputs);
    p->outputs[p->output_count++] = s->outputs[0];
    if (f == IS_AN_OUTPUT) p->outputs[p->output_count++] = w;
    *out = p;
    return itg_program_finish(p, ITG_BOUNDS_STORE, err);
}

static bool has_vectors(void)
{
    size_t size;
    unsigned char *text = NULL;
    assert_int_equal(itg_file_read(FOLDER "/zeros.c", SIZE_MAX, &text, &size, NULL), ITG_OK);
    const bool has = strstr((char *)text, "helium_unpack(") != NULL;
    free(text);
    return has;
}

static void source_gives_the_codes_of_the_program(void **state)
{
    int vectors = 0;
    (void)state;
    if (!has_compiler()) {
        print_message("skipped: no compiler\n");
        skip();
    }
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        for (int32_t bits = 2; bits <= 8; bits++) {
            itg_error err = {0};
            itg_program *p = NULL;
            bool emitted = false;
            if (bits < 8 && (i + (size_t)bits) % 2 == 0) continue; /* half of them: it takes long */
            for (uint64_t seed = 1; !emitted; seed++) { /* C has no float requantization */
                itg_program_destroy(p);
                if (make(&layers[i], bits, (i + (size_t)bits) % 4 == 1, NO_FAULT, seed, &p, &err) !=
                    ITG_OK)
                    fail_msg("%s, %d bits: %s", layers[i].name, (int)bits, err.message);
                emitted = emits(p, "zeros", 2, &err);
                assert_true(seed < 20);
            }
            compile_and_run("zeros", FLAGS " -O1", (uint64_t)bits);
            compile_and_run("zeros", VECTORS, (uint64_t)bits);
            vectors += has_vectors();
            itg_program_destroy(p);
        }
    printf("%d by vectors\n", vectors);
    assert_true(vectors >= 8);
}

static void codes_that_need_more_bits_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        for (int32_t bits = 2; bits <= 8; bits += 3) {
            itg_error err = {0};
            itg_program *p = NULL;
            assert_int_equal(make(&layers[i], bits, false, MORE_CODES, 1, &p, &err), ITG_MISMATCH);
            if (!strstr(err.message, "do not fit")) fail_msg("%s: %s", layers[i].name, err.message);
            itg_program_destroy(p);
        }
}

static void expect_refused(const layer *l, fault f, const char *message)
{
    itg_error err = {0};
    itg_program *p = NULL;
    assert_int_equal(make(l, 4, false, f, 1, &p, &err), ITG_MISMATCH);
    if (!strstr(err.message, message)) fail_msg("%s: %s", l->name, err.message);
    itg_program_destroy(p);
}

static void others_than_weights_are_refused(void **state)
{
    static const layer left = {"left", {2, {33, 5}}, {2, {4, 33}}, {2, {4, 5}}, 0, 0, 0};
    (void)state;
    expect_refused(&left, NO_WEIGHTS, "an operand that is no weight has zero points of scales");
    expect_refused(&layers[0], IS_AN_OUTPUT, "has zero points of scales");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_gives_the_codes_of_the_program),
        cmocka_unit_test(codes_that_need_more_bits_are_refused),
        cmocka_unit_test(others_than_weights_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
