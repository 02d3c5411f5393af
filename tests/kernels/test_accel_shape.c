/* How a problem is cut: layers take the memory and the way that suits them, and what fast sets hold
 * is theirs to the last value. */
#include "accel_cases.h"
#include "kernels/accel_parts.h"

/* ---- layers ---- */

static void a_matrix_is_an_image_of_one_row(void **state)
{
    (void)state;
    const itg_window w = itg_accel_matmul_window(5, 6, 7);
    const itg_window same = {7, 1, 5, 6, 1, 5, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1};
    assert_memory_equal(&w, &same, sizeof w);
}

/* Layers of common networks: how they run and what they take. A change of these numbers is one of
 * speed and memory. */
static const struct {
    itg_window w;
    itg_dtype storage;
    itg_accel_scheme scheme;
    bool folded;
    size_t packed, scratch[2]; /* of one sample, of 16 */
} layers[] = {
    {{3, 32, 32, 16, 32, 32, {3, 3}, {1, 1}, {1, 1}, 1, 1, 1},
     ITG_U8,
     ITG_SCHEME_PATCHES,
     false,
     1152,
     {85632, 140352}},
    {{3, 32, 32, 16, 32, 32, {3, 3}, {1, 1}, {1, 1}, 1, 1, 1},
     ITG_S16,
     ITG_SCHEME_PATCHES,
     false,
     1152,
     {105664, 215104}},
    {{64, 14, 14, 64, 14, 14, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1},
     ITG_U8,
     ITG_SCHEME_DIRECT,
     true,
     4608,
     {329408, 329408}},
    {{64, 14, 140, 40, 14, 140, {3, 3}, {1, 1}, {1, 1}, 1, 1, 1},
     ITG_U8,
     ITG_SCHEME_DIRECT,
     false,
     27968,
     {212224, 505472}},
    {{3, 224, 224, 64, 112, 112, {7, 7}, {2, 2}, {1, 1}, 3, 3, 1},
     ITG_U8,
     ITG_SCHEME_PATCHES,
     false,
     12800,
     {253888, 569024}},
    {{64, 14, 14, 128, 7, 7, {1, 1}, {2, 2}, {1, 1}, 0, 0, 1},
     ITG_U8,
     ITG_SCHEME_DIRECT,
     false,
     9216,
     {70912, 150592}},
    {{64, 14, 14, 128, 7, 7, {3, 3}, {2, 2}, {1, 1}, 1, 1, 1},
     ITG_U8,
     ITG_SCHEME_PATCHES,
     false,
     74752,
     {100608, 349248}},
    {{96, 28, 28, 96, 28, 28, {3, 3}, {1, 1}, {1, 1}, 1, 1, 96},
     ITG_U8,
     ITG_SCHEME_DEPTHWISE,
     false,
     2304,
     {152448, 586688}},
    {{96, 28, 28, 96, 14, 14, {5, 5}, {2, 2}, {1, 1}, 2, 2, 96},
     ITG_S16,
     ITG_SCHEME_DEPTHWISE,
     false,
     4352,
     {268608, 471616}},
    {{64, 14, 14, 64, 14, 14, {3, 3}, {1, 1}, {2, 2}, 2, 2, 1},
     ITG_U8,
     ITG_SCHEME_PATCHES,
     false,
     37376,
     {104768, 415808}},
    {{64, 14, 14, 64, 14, 14, {3, 3}, {1, 1}, {1, 1}, 1, 1, 4},
     ITG_U8,
     ITG_SCHEME_PATCHES,
     false,
     12800,
     {113920, 377920}},
    {{1, 49, 10, 64, 25, 5, {10, 4}, {2, 2}, {1, 1}, 4, 1, 1},
     ITG_U8,
     ITG_SCHEME_PATCHES,
     false,
     4608,
     {82880, 96320}},
    {{640, 1, 1, 128, 1, 1, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1},
     ITG_U8,
     ITG_SCHEME_DIRECT,
     true,
     82944,
     {347968, 347968}},
};

static void layers_take_their_memory_and_no_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const itg_window *w = &layers[i].w;
        const int64_t weights =
            w->out_channels * (w->channels / w->group) * w->kernel[0] * w->kernel[1];
        const itg_epilogue out = {.storage = ITG_F32};
        itg_arena *arena = itg_arena_create(0);
        const itg_accel_problem p = {
            .window = *w,
            .x = {layers[i].storage, NULL, 0, 0, 0},
            .w = {ITG_S8, itg_arena_alloc(arena, (size_t)weights), 0, -127, 127},
            .mac = {.acc = {32, ITG_OVERFLOW_WRAP}, .acc_bound = INT32_MAX},
            .out = &out,
            .out_count = 1};
        const itg_accel_shape shape = itg_accel_shape_of(&itg_accel_portable, &p);
        itg_accel_layer *layer = NULL;
        assert_int_equal(shape.scheme, layers[i].scheme);
        assert_int_equal(shape.folded, layers[i].folded);
        assert_int_equal(itg_accel_packed_bytes(&itg_accel_portable, &p), layers[i].packed);
        void *packed = itg_arena_alloc(arena, layers[i].packed);
        itg_accel_pack(&itg_accel_portable, &p, packed);
        assert_int_equal(
            itg_accel_layer_create(&itg_accel_portable, &p, packed, arena, &layer, NULL), ITG_OK);
        assert_int_equal(itg_accel_scratch(layer, 1), layers[i].scratch[0]);
        assert_int_equal(itg_accel_scratch(layer, 16), layers[i].scratch[1]);
        itg_arena_destroy(arena);
    }
}

static void more_outputs_than_a_layer_has_are_refused(void **state)
{
    (void)state;
    itg_epilogue out[ITG_ACCEL_OUTPUTS + 1] = {{.storage = ITG_F32}};
    static const int8_t weight = 1;
    itg_accel_problem p = {.window = itg_accel_matmul_window(1, 1, 1),
                           .x = {ITG_U8, NULL, 0, 0, 255},
                           .w = {ITG_S8, &weight, 0, -127, 127},
                           .mac = {.acc = {32, ITG_OVERFLOW_WRAP}, .acc_bound = 255},
                           .out = out};
    for (int count = ITG_ACCEL_OUTPUTS; count <= ITG_ACCEL_OUTPUTS + 1; count++) {
        itg_arena *arena = itg_arena_create(0);
        itg_accel_layer *layer = NULL;
        itg_error err = {0};
        p.out_count = count;
        const itg_status status =
            itg_accel_layer_create(&itg_accel_reference, &p, NULL, arena, &layer, &err);
        assert_int_equal(status, count > ITG_ACCEL_OUTPUTS ? ITG_LIMIT : ITG_OK);
        if (status != ITG_OK)
            assert_string_equal(err.message, "9 outputs of one layer, at most 8 are possible");
        itg_arena_destroy(arena);
    }
}

/* ---- what fast sets hold ---- */

static const itg_accel_problem plain = {
    .window = {8, 4, 4, 8, 4, 4, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1},
    .x = {ITG_U8, NULL, 0, 0, 255},
    .w = {ITG_S8, NULL, 0, -128, 127},
    .mac = {.acc = {32, ITG_OVERFLOW_WRAP}, .acc_bound = 1}};

static void expect_scheme(const itg_window *w, itg_accel_scheme scheme)
{
    itg_accel_problem p = plain;
    p.window = *w;
    assert_int_equal(itg_accel_shape_of(&itg_accel_portable, &p).scheme, scheme);
}

/* The last of each kind that a fast set takes, and the first that it leaves to the reference. */
static void vast_windows_run_on_the_reference(void **state)
{
    (void)state;
    const int64_t m = 1 << 20;
    static const int64_t at = 1 << 20;
    const struct {
        itg_window last, first;
    } cases[] = {
        /* channels, outputs, pads, strides and dilations of 2^20; sizes of 2^28 */
        {{at, 1, 1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1},
         {at + 1, 1, 1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1}},
        {{1, 1, 1, at, 1, 1, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1},
         {1, 1, 1, at + 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1}},
        {{1, 8, 8, 1, 1, 1, {1, 1}, {m, 1}, {1, 1}, 0, 0, 1},
         {1, 8, 8, 1, 1, 1, {1, 1}, {m + 1, 1}, {1, 1}, 0, 0, 1}},
        {{1, 8, 8, 1, 1, 1, {1, 1}, {1, m}, {1, 1}, 0, 0, 1},
         {1, 8, 8, 1, 1, 1, {1, 1}, {1, m + 1}, {1, 1}, 0, 0, 1}},
        {{1, 8, 8, 1, 1, 8, {1, 1}, {1, 1}, {m, 1}, 0, 0, 1},
         {1, 8, 8, 1, 1, 8, {1, 1}, {1, 1}, {m + 1, 1}, 0, 0, 1}},
        {{1, 8, 8, 1, 8, 1, {1, 1}, {1, 1}, {1, m}, 0, 0, 1},
         {1, 8, 8, 1, 8, 1, {1, 1}, {1, 1}, {1, m + 1}, 0, 0, 1}},
        {{1, 1, 1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, m, 0, 1},
         {1, 1, 1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, m + 1, 0, 1}},
        {{1, 1, 1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, 0, m, 1},
         {1, 1, 1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, 0, m + 1, 1}},
        {{1, m << 8, 1, 1, m << 8, 1, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1},
         {1, (m << 8) + 1, 1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1}},
        {{1, 1, m << 8, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1},
         {1, 1, (m << 8) + 1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1}},
        {{1, 1, 1, 1, m << 8, 1, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1},
         {1, 1, 1, 1, (m << 8) + 1, 1, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1}},
        /* 2^26 bytes that one output row reads: pixel times pitch times rows times phases */
        {{1024, 1, 65536, 1, 1, 65536, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1},
         {1024, 1, 65537, 1, 1, 65537, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1}},
        {{1024, 4, 16384, 1, 1, 16384, {4, 1}, {1, 1}, {1, 1}, 0, 0, 1},
         {1024, 4, 16385, 1, 1, 16385, {4, 1}, {1, 1}, {1, 1}, 0, 0, 1}},
        {{1024, 2, 32768, 1024, 1, 16384, {2, 2}, {2, 2}, {1, 1}, 0, 0, 1024},
         {1024, 2, 32770, 1024, 1, 16385, {2, 2}, {2, 2}, {1, 1}, 0, 0, 1024}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int first = 0; first < 2; first++) {
            itg_accel_problem p = plain;
            p.window = first ? cases[i].first : cases[i].last;
            const bool fast =
                itg_accel_shape_of(&itg_accel_portable, &p).scheme != ITG_SCHEME_REFERENCE;
            if (fast == first) fail_msg("case %d, %d", (int)i, first);
        }
}

/* A stride splits a plane into at most eight phases of an axis; beyond, windows are copied, and
 * depthwise ones run on the reference. */
static void wide_strides_do_not_split_planes(void **state)
{
    (void)state;
    for (int axis = 0; axis < 2; axis++)
        for (int64_t stride = 7; stride < 11; stride++) {
            itg_window w = {64, 44, 44, 64, 4, 4, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1};
            w.kernel[axis] = w.stride[axis] = stride;
            if (stride > 8) expect_scheme(&w, ITG_SCHEME_PATCHES);
            w.group = 64;
            expect_scheme(&w, stride > 8 ? ITG_SCHEME_REFERENCE : ITG_SCHEME_DEPTHWISE);
            w.dilation[axis] = stride; /* every tap in one phase */
            expect_scheme(&w, ITG_SCHEME_DEPTHWISE);
        }
}

/* How many bytes a weight less its zero point takes, and which are too wide. */
static void weights_take_the_digits_that_hold_them(void **state)
{
    (void)state;
    static const struct {
        itg_int_operand w;
        int32_t digits; /* 0: the reference */
    } cases[] = {
        {{ITG_S8, NULL, 0, -128, 127}, 1},
        {{ITG_S8, NULL, 1, -128, 127}, 2},
        {{ITG_S8, NULL, 1, -127, 127}, 1},
        {{ITG_S8, NULL, -1, -128, 127}, 2},
        {{ITG_S8, NULL, -1, -128, 126}, 1},
        {{ITG_S8, NULL, 0, 0, 0}, 1},
        {{ITG_U8, NULL, 128, 0, 255}, 1},
        {{ITG_U8, NULL, 0, 0, 255}, 2},
        {{ITG_U8, NULL, 0, 0, 127}, 1},
        {{ITG_S16, NULL, 0, -128, 127}, 1},
        {{ITG_S16, NULL, 0, -129, 127}, 2},
        {{ITG_S16, NULL, 0, -128, 128}, 2},
        {{ITG_S16, NULL, 0, -32768, 32639}, 2},
        {{ITG_S16, NULL, 0, -32768, 32640}, 3},
        {{ITG_S16, NULL, 128, -32768, 32767}, 2},
        {{ITG_S16, NULL, 129, -32768, 32767}, 3},
        {{ITG_S16, NULL, 0, 0, 0}, 3},
        {{ITG_U16, NULL, 32896, 0, 65535}, 2},
        {{ITG_U16, NULL, 32895, 0, 65535}, 3},
        {{ITG_S32, NULL, 0, -1, 1}, 0},
        {{ITG_S8, NULL, 128, -128, 127}, 0},
        {{ITG_S8, NULL, -129, -128, 127}, 0},
        {{ITG_F32, NULL, 0, -128, 127}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_accel_problem p = plain;
        p.w = cases[i].w;
        const itg_accel_shape t = itg_accel_shape_of(&itg_accel_portable, &p);
        const int32_t digits = t.scheme == ITG_SCHEME_REFERENCE ? 0 : t.w_digits;
        if (digits != cases[i].digits) fail_msg("case %d: %d digits", (int)i, (int)digits);
    }
}

/* Which sums take 64 bits, and which no fast set holds. */
static void sums_are_as_wide_as_they_must_be(void **state)
{
    (void)state;
    enum { NARROW, WIDE, REFERENCE };
    static const struct {
        int64_t depth, bound;
        bool may_overflow;
        itg_accumulator acc;
        int expected;
    } cases[] = {
        {64, INT32_MAX, false, {32, ITG_OVERFLOW_SATURATE}, NARROW},
        {64, (int64_t)INT32_MAX + 1, false, {40, ITG_OVERFLOW_SATURATE}, WIDE},
        {64, (int64_t)1 << 40, true, {32, ITG_OVERFLOW_WRAP}, NARROW},
        {64, 1000, true, {33, ITG_OVERFLOW_WRAP}, WIDE},
        {64, 1000, true, {32, ITG_OVERFLOW_SATURATE}, REFERENCE},
        {65536, (int64_t)1 << 40, false, {48, ITG_OVERFLOW_WRAP}, WIDE},
        {65537, (int64_t)1 << 40, false, {48, ITG_OVERFLOW_WRAP}, REFERENCE},
        {65537, 1000, false, {48, ITG_OVERFLOW_WRAP}, NARROW},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        itg_accel_problem p = plain;
        p.window = itg_accel_matmul_window(2, 3, cases[i].depth);
        p.mac.acc_bound = cases[i].bound;
        p.mac.may_overflow = cases[i].may_overflow;
        p.mac.acc = cases[i].acc;
        const itg_accel_shape t = itg_accel_shape_of(&itg_accel_portable, &p);
        assert_int_equal(t.scheme == ITG_SCHEME_REFERENCE, cases[i].expected == REFERENCE);
        if (cases[i].expected != REFERENCE) assert_int_equal(t.wide, cases[i].expected == WIDE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_is_an_image_of_one_row),
        cmocka_unit_test(layers_take_their_memory_and_no_more),
        cmocka_unit_test(more_outputs_than_a_layer_has_are_refused),
        cmocka_unit_test(vast_windows_run_on_the_reference),
        cmocka_unit_test(wide_strides_do_not_split_planes),
        cmocka_unit_test(weights_take_the_digits_that_hold_them),
        cmocka_unit_test(sums_are_as_wide_as_they_must_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
