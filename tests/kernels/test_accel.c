/* Every kernel set against the reference kernels: random convolutions and matrix products, all
 * storages, blocks of samples, channels last. */
#include "accel_cases.h"
#include "kernels/accel_parts.h"
#include "tests/slow.h"

enum { MOST_SAMPLES = 3 };

/* ---- one problem, run by the reference kernels and by a set ---- */
typedef struct job {
    itg_accel_problem p;
    int64_t samples, inputs, outputs; /* elements of a sample */
    operand x, w;
    outputs expected; /* channels first, sample after sample */
    int64_t *bias;
} job;

/* *packed: to be freed by the caller behind the layer's last run. */
static itg_accel_layer *make_layer(const itg_accel_kernels *kernels, const itg_accel_problem *p,
                                   itg_arena *arena, guarded *packed)
{
    itg_accel_layer *layer = NULL;
    *packed = guard(itg_accel_packed_bytes(kernels, p), 64);
    itg_accel_pack(kernels, p, packed->data);
    make_read_only(packed);
    assert_int_equal(itg_accel_layer_create(kernels, p, packed->data, arena, &layer, NULL), ITG_OK);
    return layer;
}

/* What the set gives for inputs channels last is what the reference kernels gave, channels last; a
 * matrix product is that already. */
static void check_set(const itg_accel_kernels *kernels, const job *t, bool matrix)
{
    const itg_window *w = &t->p.window;
    itg_arena *arena = itg_arena_create(0);
    guarded packed;
    itg_accel_layer *layer = make_layer(kernels, &t->p, arena, &packed);
    const itg_dtype storage = t->x.view.storage;
    guarded x = guard((size_t)(t->samples * t->inputs) * itg_dtype_size(storage), 1);
    guarded scratch = guard(itg_accel_scratch(layer, t->samples), 64), out[OUTPUTS];
    void *y[OUTPUTS];
    itg_to_channels_last(storage, t->samples, matrix ? 1 : w->channels,
                         matrix ? t->inputs : w->height * w->width, t->x.view.data, x.data);
    make_read_only(&x);
    for (int i = 0; i < OUTPUTS; i++) {
        out[i] = guard((size_t)(t->samples * t->outputs) * itg_dtype_size(t->p.out[i].storage), 8);
        y[i] = out[i].data;
    }
    itg_accel_run(layer, x.data, y, t->samples, scratch.data);
    for (int i = 0; i < OUTPUTS; i++) {
        const itg_epilogue *e = &t->expected.e[i];
        size_t bytes = (size_t)(t->samples * t->outputs) * itg_dtype_size(e->storage);
        unsigned char *expected = buffer((int64_t)bytes);
        itg_to_channels_last(e->storage, t->samples, matrix ? 1 : w->out_channels,
                             matrix ? t->outputs : w->out_height * w->out_width, e->out, expected);
        assert_memory_equal(out[i].data, expected, bytes);
        guarded_free(expected);
        unguard(&out[i]);
    }
    unguard(&x);
    unguard(&packed);
    unguard(&scratch);
    itg_arena_destroy(arena);
}

static void check_all_sets(const job *t, bool matrix)
{
    (void)run_reference(t->p, &t->x.view, t->samples, matrix, t->expected.e, OUTPUTS);
    for (int i = 0; itg_accel_set(i); i++) {
        const itg_accel_kernels *kernels = NULL;
        if (itg_accel_choose(itg_accel_set(i), &kernels, NULL) != ITG_OK) continue;
        check_set(kernels, t, matrix);
        if (!kernels->winograd) continue;
        itg_accel_kernels eager = *kernels;
        eager.eager = true;
        if (itg_accel_shape_of(&eager, &t->p).scheme != itg_accel_shape_of(kernels, &t->p).scheme)
            check_set(&eager, t, matrix);
    }
}

static itg_dtype narrow_storage(itg_rng *rng)
{
    static const itg_dtype all[] = {ITG_U8, ITG_U8, ITG_S8, ITG_S8, ITG_U16, ITG_S16, ITG_S32};
    return all[itg_rng_below(rng, sizeof all / sizeof *all)];
}

static itg_dtype weight_storage(itg_rng *rng)
{
    return itg_rng_below(rng, 3) ? ITG_S8 : narrow_storage(rng);
}

static void fill_job(itg_rng *rng, job *t)
{
    const itg_window *w = &t->p.window;
    int64_t depth = w->channels / w->group * w->kernel[0] * w->kernel[1];
    t->samples = between(rng, 1, MOST_SAMPLES);
    t->inputs = w->channels * w->height * w->width;
    t->outputs = w->out_channels * w->out_height * w->out_width;
    t->x = make_operand(rng, narrow_storage(rng), t->samples * t->inputs, false);
    t->w =
        make_operand(rng, weight_storage(rng), w->out_channels * depth, itg_rng_below(rng, 4) != 0);
    t->expected = make_outputs(rng, t->samples * t->outputs, w->out_channels);
    t->p.x = t->x.view;
    t->p.x.data = NULL;
    t->p.w = t->w.view;
    t->p.mac = make_mac(rng, &t->x, &t->w, depth, w->out_channels, &t->bias);
    t->p.out = t->expected.e;
    t->p.out_count = OUTPUTS;
}

static void free_job(job *t)
{
    guarded_free(t->bias);
    free_operand(&t->x);
    free_operand(&t->w);
    free_outputs(&t->expected);
}

/* ---- convolutions ---- */

/* Sizes around those of tiles: 16 and 32 columns, 64 values of depth, 32 rows. */
static itg_window wide_window(itg_rng *rng)
{
    itg_window w = random_window(rng);
    const bool depthwise = itg_rng_below(rng, 3) == 0;
    if (depthwise) w.group = between(rng, 2, 150);
    w.channels = w.group * (depthwise ? 1 : between(rng, 1, w.group > 1 ? 70 : 200));
    w.out_channels = w.group * between(rng, 1, depthwise ? 2 : 50);
    return w;
}

static void convolutions_equal_the_reference(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 71);
    for (int i = 0; i < 400; i++) {
        job t = {.p.window = i % 2 ? wide_window(&rng) : random_window(&rng)};
        fill_job(&rng, &t);
        check_all_sets(&t, false);
        free_job(&t);
    }
}

/* Several bands of rows, several jobs a group, weights larger than a panel. */
static void large_images_equal_the_reference(void **state)
{
    (void)state;
    static const itg_window windows[] = {
        {3, 70, 70, 20, 35, 35, {7, 7}, {2, 2}, {1, 1}, 3, 3, 1},
        {64, 60, 60, 40, 60, 60, {3, 3}, {1, 1}, {1, 1}, 1, 1, 1},
        {64, 60, 70, 16, 60, 70, {1, 1}, {1, 1}, {1, 1}, 0, 0, 1},
        {96, 56, 56, 96, 28, 28, {3, 3}, {2, 2}, {1, 1}, 1, 1, 96},
        {128, 20, 300, 24, 10, 150, {1, 1}, {2, 2}, {1, 1}, 0, 0, 1},
        {40, 33, 200, 33, 31, 100, {5, 3}, {1, 2}, {1, 1}, 1, 0, 1},
    };
    itg_rng rng;
    itg_rng_init(&rng, 72);
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        job t = {.p.window = windows[i]};
        fill_job(&rng, &t);
        check_all_sets(&t, false);
        free_job(&t);
    }
}

static void vast_padding_takes_no_vast_memory(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 73);
    const int64_t step = (int64_t)1 << 33;
    for (int i = 0; i < 8; i++) {
        job t = {
            .p.window = {
                2, 3, 3, 4, 5, 5, {2, 2}, {step, step}, {1, 1}, 2 * step, 2 * step, i < 4 ? 2 : 1}};
        if (i % 2) t.p.window.stride[1] = 1, t.p.window.pad_left = 1;
        if (i / 2 % 2) t.p.window.dilation[0] = step;
        fill_job(&rng, &t);
        check_all_sets(&t, false);
        free_job(&t);
    }
}

/* ---- matrix products ---- */

static void matrix_products_equal_the_reference(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 74);
    for (int i = 0; i < 200; i++) {
        job t = {.p.window = itg_accel_matmul_window(between(&rng, 1, 70), between(&rng, 1, 70),
                                                     between(&rng, 1, i % 8 ? 150 : 1500))};
        t.p.w_rows = itg_rng_below(&rng, 2);
        fill_job(&rng, &t);
        check_all_sets(&t, true);
        free_job(&t);
    }
}

/* ---- the ends of codes and accumulators ---- */

/* x all of one code, w all of one: each pair of products is as large as it gets. */
static void extreme_codes_do_not_saturate(void **state)
{
    (void)state;
    static const itg_dtype storages[] = {ITG_U8, ITG_S8, ITG_U16, ITG_S16};
    itg_rng rng;
    itg_rng_init(&rng, 75);
    for (int i = 0; i < 64; i += ITG_IS_SLOW ? 5 : 1) {
        job t = {.p.window = itg_accel_matmul_window(20, 20, i % 2 ? 16000 : 70000)};
        fill_job(&rng, &t);
        const itg_dtype storage = storages[i / 2 % 4];
        const int64_t depth = t.p.window.channels;
        free_operand(&t.x);
        free_operand(&t.w);
        t.x = make_operand(&rng, storage, t.samples * t.inputs, false);
        t.w = make_operand(&rng, ITG_S8, 20 * depth, true);
        int64_t x = i / 8 % 2 ? itg_dtype_max(storage) : itg_dtype_min(storage);
        int64_t w = i / 16 % 2 ? 127 : -128;
        t.x.view.qmin = itg_dtype_min(storage);
        t.x.view.qmax = itg_dtype_max(storage);
        t.x.view.zero_point = i / 32 ? itg_dtype_min(storage) : itg_dtype_max(storage);
        t.w.view.qmin = -128;
        t.w.view.qmax = 127;
        for (int64_t j = 0; j < t.samples * t.inputs; j++)
            itg_store(storage, (void *)(uintptr_t)t.x.view.data, j, x);
        memset((void *)(uintptr_t)t.w.view.data, (int)w, (size_t)(20 * depth));
        t.p.x = t.x.view;
        t.p.w = t.w.view;
        t.p.w_rows = false;
        t.p.mac.may_overflow =
            depth > 65536; /* sums beyond 31 bits that only 32-bit wraps keep fast */
        t.p.mac.acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
        t.p.mac.acc_bound = 5000 + depth * 65535 * 128;
        check_all_sets(&t, true);
        free_job(&t);
    }
}

/* ---- Winograd ---- */

/* Operands of bytes whose codes `fill` gives, by their index in a pixel or filter. */
static void set_bytes(job *t, itg_rng *rng, itg_dtype storage, int64_t (*fill)(itg_rng *, int64_t))
{
    const int64_t weights = t->p.window.out_channels * t->p.window.channels * 9;
    free_operand(&t->x);
    free_operand(&t->w);
    t->x = make_operand(rng, storage, t->samples * t->inputs, false);
    t->w = make_operand(rng, ITG_S8, weights, true);
    t->w.view.qmin = -128;
    t->w.view.qmax = 127;
    t->w.view.zero_point = 0;
    t->x.view.zero_point = between(rng, itg_dtype_min(storage), itg_dtype_max(storage));
    for (int64_t i = 0; i < t->samples * t->inputs; i++) {
        const int64_t x = fill(rng, i) + (storage == ITG_U8 ? 128 : 0);
        itg_store(storage, (void *)(uintptr_t)t->x.view.data, i, x);
    }
    for (int64_t i = 0; i < weights; i++)
        itg_store(ITG_S8, (void *)(uintptr_t)t->w.view.data, i, fill(rng, i));
    t->p.x = t->x.view;
    t->p.w = t->w.view;
    t->p.mac.may_overflow = false;
    t->p.mac.acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    t->p.mac.acc_bound = INT32_MAX;
}

static int64_t any_byte(itg_rng *rng, int64_t i)
{
    (void)i;
    return between(rng, -128, 127);
}

static int64_t either_end(itg_rng *rng, int64_t i)
{
    (void)i;
    return itg_rng_below(rng, 2) ? -128 : 127;
}

static int64_t lowest(itg_rng *rng, int64_t i)
{
    (void)rng;
    (void)i;
    return -128;
}

static int64_t both_ends(itg_rng *rng, int64_t i)
{
    (void)rng;
    return i % 2 ? -128 : 127;
}

/* Channels up to the last whose sums an arithmetic shift recovers, and the first beyond. */
static void winograd_tiles_equal_the_reference(void **state)
{
    (void)state;
    static const int64_t channels[] = {16, 17, 31, 32, 49, 227, 228, 910, 911};
    static int64_t (*const fills[])(itg_rng *, int64_t) = {any_byte, either_end, lowest, both_ends};
    int seen[2] = {0, 0};
    itg_rng rng;
    itg_rng_init(&rng, 79);
    for (int i = 0; i < 108; i++) {
        const int64_t c = channels[i % 9], pad = between(&rng, 0, 2), most = c < 100 ? 14 : 6;
        itg_window w = {.channels = c,
                        .height = between(&rng, 3, most),
                        .width = between(&rng, 3, most),
                        .out_channels = between(&rng, 16, c < 100 ? 50 : 18),
                        .kernel = {3, 3},
                        .stride = {1, 1},
                        .dilation = {1, 1},
                        .pad_top = pad,
                        .pad_left = 2 - pad,
                        .group = 1};
        w.out_height = w.height - 2 + between(&rng, pad, 2 * pad);
        w.out_width = w.width - 2 + between(&rng, w.pad_left, 2 * w.pad_left);
        job t = {.p.window = w};
        fill_job(&rng, &t);
        set_bytes(&t, &rng, i / 9 % 2 ? ITG_U8 : ITG_S8, fills[i / 18 % 4]);
        const itg_winograd_kernels none = {0};
        const itg_accel_kernels kernels = {.winograd = &none, .eager = true, .granule = 4};
        const itg_accel_shape shape = itg_accel_shape_of(&kernels, &t.p);
        const bool winograd = shape.scheme == ITG_SCHEME_WINOGRAD;
        if (winograd) seen[shape.tile_rows == 4]++;
        assert_false(winograd && (c > 910 || (c > 227 && shape.tile_rows == 4)));
        check_all_sets(&t, false);
        free_job(&t);
    }
    assert_true(seen[0] > 10 && seen[1] > 10);
}

static void winograd_rows_of_tiles_are_bounded(void **state)
{
    (void)state;
    const itg_winograd_kernels none = {0};
    const itg_accel_kernels kernels = {.winograd = &none, .eager = true, .granule = 4};
    for (int i = 0; i < 2; i++) {
        const int64_t width = i ? (int64_t)1 << 22 : 1 << 10;
        const itg_accel_problem p = {
            .window = {32, 4, width, 32, 2, width - 2, {3, 3}, {1, 1}, {1, 1}, 0, 0, 1},
            .x = {ITG_U8, NULL, 0, 0, 255},
            .w = {ITG_S8, NULL, 0, -127, 127},
            .mac = {.acc = {32, ITG_OVERFLOW_WRAP}, .acc_bound = INT32_MAX}};
        const itg_accel_shape shape = itg_accel_shape_of(&kernels, &p);
        assert_int_equal(shape.scheme == ITG_SCHEME_WINOGRAD, i == 0);
    }
}

/* ---- layers and sets ---- */

static void unknown_sets_are_refused(void **state)
{
    (void)state;
    const itg_accel_kernels *kernels = NULL;
    itg_error err;
    assert_int_equal(itg_accel_choose("amd", &kernels, &err), ITG_BAD_ARGUMENT);
    assert_null(kernels);
    assert_non_null(strstr(err.message, "amd"));
    assert_string_equal(itg_accel_set(0), "reference");
    assert_null(itg_accel_set(-1));
    assert_null(itg_accel_set(100));
}

static void the_environment_names_a_set(void **state)
{
    (void)state;
    const itg_accel_kernels *kernels = NULL;
    assert_int_equal(setenv("INTAGLIO_KERNELS", "portable", 1), 0);
    assert_int_equal(itg_accel_choose(NULL, &kernels, NULL), ITG_OK);
    assert_string_equal(itg_accel_name(kernels), "portable");
    assert_int_equal(setenv("INTAGLIO_KERNELS", "nothing", 1), 0);
    assert_int_equal(itg_accel_choose(NULL, &kernels, NULL), ITG_BAD_ARGUMENT);
    assert_int_equal(unsetenv("INTAGLIO_KERNELS"), 0);
    assert_int_equal(itg_accel_choose(NULL, &kernels, NULL), ITG_OK);
}

static void what_no_set_holds_runs_on_the_reference(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 76);
    for (int i = 0; i < 4; i++) {
        job t = {.p.window = itg_accel_matmul_window(2, 3, i == 3 ? 65537 : 30)};
        fill_job(&rng, &t);
        t.p.x.storage = i == 1 ? ITG_S32 : ITG_U8;
        t.p.x.zero_point = 0;
        t.p.w.storage = ITG_S8;
        t.p.w.zero_point = 0;
        t.p.mac.may_overflow = i == 2;
        t.p.mac.acc = (itg_accumulator){16, ITG_OVERFLOW_SATURATE};
        t.p.mac.acc_bound = i == 3 ? (int64_t)1 << 40 : 1000;
        assert_int_equal(itg_accel_packed_bytes(set_or_skip("portable"), &t.p) == 0, i > 0);
        itg_arena *arena = itg_arena_create(0);
        guarded packed;
        itg_accel_layer *layer = make_layer(set_or_skip("portable"), &t.p, arena, &packed);
        assert_string_equal(itg_accel_layer_set(layer), i > 0 ? "reference" : "portable");
        unguard(&packed);
        itg_arena_destroy(arena);
        free_job(&t);
    }
}

static void a_layer_needs_its_memory_or_says_so(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 77);
    job t = {.p.window = wide_window(&rng)};
    fill_job(&rng, &t);
    itg_arena *packs = itg_arena_create(0);
    void *packed = itg_arena_alloc(packs, itg_accel_packed_bytes(set_or_skip("portable"), &t.p));
    itg_accel_pack(set_or_skip("portable"), &t.p, packed);
    bool made = false;
    for (size_t limit = 64; !made; limit += 64) {
        itg_arena *arena = itg_arena_create(limit);
        itg_accel_layer *layer = NULL;
        itg_error err;
        itg_status status =
            itg_accel_layer_create(set_or_skip("portable"), &t.p, packed, arena, &layer, &err);
        made = status == ITG_OK;
        if (!made) assert_int_equal(status, ITG_NO_MEMORY);
        assert_int_equal(layer != NULL, made);
        itg_arena_destroy(arena);
    }
    itg_arena_destroy(packs);
    free_job(&t);
}

/* ---- threads ---- */
typedef struct shared {
    const itg_accel_layer *layer;
    const job *t;
    size_t bytes;
} shared;

static itg_status run_alone(void *context, int worker, int64_t item, itg_error *err)
{
    const shared *s = context;
    (void)worker;
    (void)item;
    guarded scratch = guard(itg_accel_scratch(s->layer, s->t->samples), 64);
    void *y[OUTPUTS];
    for (int i = 0; i < OUTPUTS; i++)
        y[i] = buffer(s->t->samples * s->t->outputs * 8);
    itg_accel_run(s->layer, s->t->x.view.data, y, s->t->samples, scratch.data);
    bool equal = memcmp(y[0], s->t->expected.e[0].out, s->bytes) == 0;
    for (int i = 0; i < OUTPUTS; i++)
        guarded_free(y[i]);
    unguard(&scratch);
    return equal ? ITG_OK : itg_fail(err, ITG_FAILURE, "another result");
}

static void threads_share_a_layer(void **state)
{
    (void)state;
    itg_rng rng;
    itg_rng_init(&rng, 78);
    const itg_accel_kernels *best = NULL;
    assert_int_equal(itg_accel_choose(NULL, &best, NULL), ITG_OK);
    job t = {.p.window = itg_accel_matmul_window(60, 60, 600)};
    fill_job(&rng, &t);
    t.p.mac.may_overflow = false;
    (void)run_reference(t.p, &t.x.view, t.samples, true, t.expected.e, OUTPUTS);
    itg_arena *arena = itg_arena_create(0);
    guarded packed;
    shared s = {make_layer(best, &t.p, arena, &packed), &t, (size_t)(t.samples * t.outputs)};
    itg_error err = {0};
    assert_int_equal(itg_parallel_for(4, 64, run_alone, &s, &err), ITG_OK);
    unguard(&packed);
    itg_arena_destroy(arena);
    free_job(&t);
}

int main(void)
{
    for (int i = 0; itg_accel_set(i); i++)
        (void)set_or_skip(itg_accel_set(i));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_equal_the_reference),
        cmocka_unit_test(large_images_equal_the_reference),
        cmocka_unit_test(vast_padding_takes_no_vast_memory),
        cmocka_unit_test(matrix_products_equal_the_reference),
        cmocka_unit_test(extreme_codes_do_not_saturate),
        cmocka_unit_test(winograd_tiles_equal_the_reference),
        cmocka_unit_test(winograd_rows_of_tiles_are_bounded),
        cmocka_unit_test(unknown_sets_are_refused),
        cmocka_unit_test(the_environment_names_a_set),
        cmocka_unit_test(what_no_set_holds_runs_on_the_reference),
        cmocka_unit_test(a_layer_needs_its_memory_or_says_so),
        cmocka_unit_test(threads_share_a_layer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
