/* The emitted C source, compiled by the machine's compiler without a warning, gives the executor's
 * digest: its self-test says so, and these tests look at what it says. */
#include "networks.h"
#include "program_maker.h"
#define FOLDER TEST_FOLDER "/emitted"
#include "emitted.h"
#include "realize/emit/emit.h"
#include "tests/slow.h"
#include <math.h>
#include <unistd.h>

/* Layers that write where they read: the last argument of a call stands among those before it. */
static int in_place_calls(const char *name)
{
    char path[256], line[4096];
    int count = 0;
    snprintf(path, sizeof path, FOLDER "/%s.c", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char *end = strstr(line, ");\n"), *from = strstr(line, "(arena."), *last = NULL;
        if (strncmp(line, "    layer_", 10) != 0 || end == NULL || from == NULL) continue;
        *end = '\0';
        for (char *at = from; (at = strstr(at, ", ")) != NULL; at++)
            last = at;
        if (last == NULL) continue;
        *last = '\0';
        const char *found = strstr(from, last + 2);
        size_t length = strlen(last + 2);
        count += found != NULL && (found[length] == '\0' || found[length] == ',');
    }
    fclose(file);
    return count;
}

/* Most can be emitted, and whatever is gives the same bits. Returns how many layers work in place.
 */
static int check_programs(itg_program *(*make)(uint64_t seed), uint64_t seeds)
{
    if (!has_compiler()) {
        print_message("skipped: no compiler\n");
        skip();
    }
    const char *given = getenv("ITG_EMIT_SEEDS");
    uint64_t emitted = 0;
    if (given != NULL) seeds = strtoull(given, NULL, 10);
    int in_place = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        itg_error err = {0};
        itg_program *p = make(seed);
        if (emits(p, "net", 3, &err)) {
            emitted++;
            compile_and_run("net", seed % 2 == 0 ? FLAGS " -O1" : FLAGS " -O0", seed);
            in_place += in_place_calls("net");
        } else if (given != NULL) {
            print_message("seed %llu: %s\n", (unsigned long long)seed, err.message);
        }
        itg_program_destroy(p);
    }
    print_message("%llu of %llu emitted, %d layers in place\n", (unsigned long long)emitted,
                  (unsigned long long)seeds, in_place);
    assert_true(emitted * 10 >= seeds * 7);
    return in_place;
}

/* Every kind of step in every form. */
static void random_programs_give_the_executors_digest(void **state)
{
    (void)state;
    assert_true(check_programs(random_integer_program, ITG_IS_SLOW ? 6 : 16) > 0);
}

static void programs_of_rarer_forms_give_the_executors_digest(void **state)
{
    (void)state;
    check_programs(random_form_program, ITG_IS_SLOW ? 4 : 8);
}

/* ---- requantization at the edge of 64 bits ---- */

static int32_t add_wide_codes(maker *m, itg_shape shape, itg_dtype storage, int32_t bits,
                              int32_t zero)
{
    float one = 1;
    int64_t most = ((int64_t)1 << (bits - 1)) - 1;
    itg_quantizer q = {.bits = bits,
                       .is_signed = true,
                       .qmin = -most,
                       .qmax = most,
                       .zero_point = zero,
                       .axis = -1,
                       .scale_count = 1,
                       .scale = &one,
                       .storage = storage};
    return add_codes(m, shape, &q);
}

/* One Clip of 31-bit codes each. limited: whether the sum must be limited first, as the product or
 * a rounding of it may need more than 64 bits. narrow: how many roundings 32 bits hold. */
typedef struct edge {
    itg_requant_stage stage[3];
    int32_t stages, bits, zero;
    bool limited;
    int narrow;
} edge;

#define HALF_UP(m, s)                                                                              \
    {                                                                                              \
        m, s, ITG_ROUND_HALF_UP                                                                    \
    }
/* Sums reach 2^30 - 1. (2^30 - 1) * 4 * (2^31 - 1) + 2^33 is the last rounding that fits; times 8
 * no product does. */
static const edge edges[] = {
    {{HALF_UP(1, -2), HALF_UP(INT32_MAX, 34)}, 2, 8, 0, false, 0},
    {{HALF_UP(1, -2), HALF_UP(INT32_MAX, 35)}, 2, 8, 0, true, 0},
    {{HALF_UP(1, -3), HALF_UP(INT32_MAX, 40)}, 2, 8, 5, true, 0},
    {{HALF_UP(1, -3), HALF_UP(INT32_MAX, 40)}, 2, 20, -3, true, 0},
    {{HALF_UP(1, -32)}, 1, 16, 7, false, 0},
    {{HALF_UP(1, -34)}, 1, 16, -100, true, 0},
    {{HALF_UP(1, -40)}, 1, 31, 0, true, 0},
    {{HALF_UP(1, 3), HALF_UP(65535, 17), HALF_UP(1, 4)}, 3, 8, -1, false, 2},
    {{HALF_UP(1, 31), HALF_UP(65535, 1), HALF_UP(1, 4)}, 3, 8, -1, false, 1},
    {{HALF_UP(INT32_MAX, 62)}, 1, 8, 0, false, 0},
    {{HALF_UP(INT32_MAX, 31), HALF_UP(1, 24)}, 2, 8, 0, false, 1},
    {{HALF_UP(INT32_MAX, 31), HALF_UP(1, 30)}, 2, 8, 0, false, 1},
    {{HALF_UP(INT32_MAX, 31), HALF_UP(1, 31)}, 2, 8, 0, false, 0},
    {{HALF_UP(INT32_MAX, 30), HALF_UP(1, 8)}, 2, 24, 0, false, 0},
    {{HALF_UP(INT32_MAX, 31), HALF_UP(1, 62)}, 2, 8, 3, false, 0},
    {{HALF_UP(1, -2), HALF_UP(1 << 29, 35)}, 2, 8, 0, false, 0},
};
enum { EDGES = sizeof edges / sizeof *edges, EDGE_CODES = 4096, SETS = 3 };

/* The function that a layer requantizes by: whether it limits, how often it rounds in 32 bits. */
static void expect_function(const char *text, const char *layer, bool limited, int narrow)
{
    char name[80], head[200];
    snprintf(name, sizeof name, "layer_%s(", layer);
    const char *body = strstr(text, name), *call = body ? strstr(body, "requantize") : NULL;
    assert_non_null(call);
    snprintf(head, sizeof head, " %.*s(int", (int)strcspn(call, "("), call);
    const char *from = strstr(text, head), *until = from ? strstr(from, "\n}\n") : NULL;
    const char *limits = from ? strstr(from, "int64_t limit") : NULL;
    int found = 0;
    assert_non_null(until);
    for (const char *at = from; (at = strstr(at, "_32((int32_t)v")) != NULL && at < until; at++)
        found++;
    if ((limits != NULL && limits < until) != limited)
        fail_msg("%s: %s", layer, limited ? "not limited" : "limited");
    if (found != narrow)
        fail_msg("%s: rounds %d times in 32 bits, expected %d", layer, found, narrow);
}

/* Codes of 31 bits, and where each layer of them goes. */
static itg_program *begin_edges(maker *m, itg_shape shape, int outputs, int32_t *x)
{
    itg_rng_init(&m->rng, 1);
    assert_int_equal(itg_program_create("edges", &m->p, NULL), ITG_OK);
    int32_t input = add_value(m, ITG_F32, shape);
    itg_program *p = m->p;
    *x = add_wide_codes(m, shape, ITG_S32, 31, 0);
    itg_step *s = add_step(m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = input;
    s->outputs[0] = *x;
    p->inputs = itg_arena_array(p->arena, 1, sizeof *p->inputs);
    p->inputs[p->input_count++] = input;
    p->outputs = itg_arena_array(p->arena, (size_t)outputs, sizeof *p->outputs);
    return p;
}

static void add_edge(maker *m, itg_step *s, int32_t x, int32_t y, itg_requant *r, int32_t count)
{
    s->acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    s->inputs[0] = x;
    s->outputs[0] = m->p->outputs[m->p->output_count++] = y;
    s->outs[0].requant = r;
    s->outs[0].requant_count = count;
    s->outs[0].lo = value(m, y)->q.qmin;
    s->outs[0].hi = value(m, y)->q.qmax;
}

static itg_program *edge_program(void)
{
    maker m = {0};
    itg_error err = {0};
    itg_shape shape = {2, {1, EDGE_CODES}};
    int32_t x;
    itg_program *p = begin_edges(&m, shape, EDGES, &x);
    for (int i = 0; i < EDGES; i++) {
        const edge *e = &edges[i];
        int32_t y = add_wide_codes(&m, shape, ITG_S32, e->bits, e->zero);
        itg_requant *r = itg_arena_alloc(p->arena, sizeof *r);
        *r = (itg_requant){.stage_count = e->stages};
        memcpy(r->stage, e->stage, sizeof e->stage);
        add_edge(&m, add_step(&m, ITG_STEP_CLIP, ITG_OP_RELU, 1, 1), x, y, r, 1);
    }
    if (itg_program_finish(p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}

/* A convolution each, with three filters of one tap: which edge each channel's stages are. What
 * one of them needs all get, wherever it stands. */
static const struct {
    int edge[SETS], bits;
    bool limited;
    int narrow;
} channels[] = {
    {{0, 0, 0}, 8, false, 0},     {{0, 0, 1}, 8, true, 0},      {{0, 2, 0}, 20, true, 0},
    {{3, 0, 0}, 20, true, 0},     {{1, 2, 0}, 20, true, 0},     {{0, 1, 2}, 8, true, 0},
    {{10, 10, 11}, 8, false, 1},  {{10, 12, 11}, 8, false, 0},  {{12, 10, 10}, 8, false, 0},
    {{10, 10, 13}, 24, false, 0}, {{13, 10, 10}, 24, false, 0}, {{4, 4, 6}, 31, true, 0},
    {{5, 6, 4}, 16, true, 0},     {{10, 0, 9}, 24, false, 1},   {{15, 1, 15}, 8, true, 0},
};
enum { CHANNELS = sizeof channels / sizeof *channels };

static itg_program *channel_program(void)
{
    maker m = {0};
    itg_error err = {0};
    itg_shape from = {4, {1, 1, 1, EDGE_CODES}}, to = {4, {1, SETS, 1, EDGE_CODES}};
    itg_shape taps = {4, {SETS, 1, 1, 1}};
    int32_t x;
    itg_program *p = begin_edges(&m, from, CHANNELS, &x);
    for (int i = 0; i < CHANNELS; i++) {
        int32_t y = add_wide_codes(&m, to, ITG_S32, channels[i].bits, i % 2 == 0 ? 0 : 6);
        int32_t w = add_wide_codes(&m, taps, ITG_S8, 8, 0);
        int8_t *ones = itg_arena_alloc(p->arena, SETS);
        itg_requant *r = itg_arena_array(p->arena, SETS, sizeof *r);
        memset(ones, 1, SETS);
        value(&m, w)->data = ones;
        for (int k = 0; k < SETS; k++) {
            const edge *e = &edges[channels[i].edge[k]];
            r[k] = (itg_requant){.stage_count = e->stages};
            memcpy(r[k].stage, e->stage, sizeof e->stage);
        }
        itg_step *s = add_step(&m, ITG_STEP_CONV, ITG_OP_CONV, 2, 1);
        s->attrs.spatial_rank = 2;
        s->attrs.group = 1;
        for (int d = 0; d < 2; d++)
            s->attrs.kernel[d] = s->attrs.stride[d] = s->attrs.dilation[d] = 1;
        s->inputs[1] = w;
        add_edge(&m, s, x, y, r, SETS);
    }
    if (itg_program_finish(p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}

/* The ends, all powers of two and what lies beside them, and all small numbers. */
static void fill_edges(float *x)
{
    int n = 0;
    x[n++] = 0x1p31f;
    x[n++] = -0x1p31f;
    for (int bit = 0; bit < 30; bit++)
        for (int beside = -2; beside <= 2; beside++)
            for (int sign = -1; sign <= 1; sign += 2)
                x[n++] = (float)(sign * (((int32_t)1 << bit) + beside));
    for (int v = 0; n < EDGE_CODES; v++)
        x[n++] = (float)(v - 1800);
}

/* The source of a program of edges, which passes its test. */
static char *run_edges(const itg_program *p)
{
    static float x[EDGE_CODES];
    const void *const inputs[1] = {x};
    itg_emit_vectors vectors = {1, inputs};
    itg_error err = {0};
    unsigned char *text = NULL;
    size_t bytes;
    fill_edges(x);
    if (itg_program_emit_c(p, "edges", &vectors, FOLDER, NULL, &err) != ITG_OK)
        fail_msg("%s", err.message);
    compile_and_run("edges", FLAGS " -O1", 0);
    assert_int_equal(itg_file_read(FOLDER "/edges.c", 1 << 24, &text, &bytes, NULL), ITG_OK);
    return (char *)text;
}

static void sums_are_limited_exactly_where_64_bits_end(void **state)
{
    (void)state;
    if (!has_compiler()) skip();
    itg_program *p = edge_program();
    char *text = run_edges(p);
    for (int i = 0; i < EDGES; i++)
        expect_function(text, p->steps[i + 1].name, edges[i].limited, edges[i].narrow);
    free(text);
    itg_program_destroy(p);
}

static void channels_get_what_one_of_them_needs(void **state)
{
    (void)state;
    if (!has_compiler()) skip();
    itg_program *p = channel_program();
    char *text = run_edges(p);
    for (int i = 0; i < CHANNELS; i++)
        expect_function(text, p->steps[i + 1].name, channels[i].limited, channels[i].narrow);
    free(text);
    itg_program_destroy(p);
}

/* ---- scratch ---- */

/* x [1,2,1,positions] times 5 filters, two encodings of the result: everything that the layer holds
 * is alive at once, so a range that is too short overlaps with another, or with nothing. */
static itg_program *scratch_program(int64_t positions, int32_t acc_bits)
{
    maker m = {.integer = true, .seed = 1};
    itg_error err = {0};
    itg_rng_init(&m.rng, (uint64_t)positions);
    assert_int_equal(itg_program_create("scratch", &m.p, NULL), ITG_OK);
    itg_shape from = {4, {1, 2, 1, positions}}, to = {4, {1, 5, 1, positions}};
    itg_shape taps = {4, {5, 2, 1, 1}};
    int32_t input = add_value(&m, ITG_F32, from), x = add_wide_codes(&m, from, ITG_S8, 8, 3);
    int32_t w = add_constant(&m, taps, true);
    itg_step *s = add_step(&m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = input;
    s->outputs[0] = x;
    s = add_step(&m, ITG_STEP_CONV, ITG_OP_CONV, 2, 2);
    s->attrs.spatial_rank = 2;
    s->attrs.group = 1;
    for (int d = 0; d < 2; d++)
        s->attrs.kernel[d] = s->attrs.stride[d] = s->attrs.dilation[d] = 1;
    s->inputs[0] = x;
    s->inputs[1] = w;
    s->acc = (itg_accumulator){acc_bits, ITG_OVERFLOW_SATURATE};
    add_encodings(&m, s, to, 20000, 5);
    itg_program *p = m.p;
    p->inputs = itg_arena_array(p->arena, 1, sizeof *p->inputs);
    p->inputs[p->input_count++] = input;
    p->outputs = itg_arena_array(p->arena, 2, sizeof *p->outputs);
    p->outputs[p->output_count++] = s->outputs[0];
    p->outputs[p->output_count++] = s->outputs[1];
    if (itg_program_finish(p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}

static void ranges_of_scratch_do_not_overlap(void **state)
{
    (void)state;
    if (!has_compiler()) skip();
    for (int64_t positions = 3; positions <= 5; positions += 2)
        for (int32_t bits = 12; bits <= 32; bits += 20) { /* 12: saturated, in 64 bits */
            itg_error err = {0};
            itg_program *p = scratch_program(positions, bits);
            if (!emits(p, "scratch", 4, &err)) fail_msg("%s", err.message);
            compile_and_run("scratch", FLAGS " -fsanitize=address", (uint64_t)positions);
            itg_program_destroy(p);
        }
}

/* A window on x that leaves at least one position. */
static itg_attrs draw_window(maker *m, const itg_shape *x, itg_shape *y)
{
    itg_attrs a = {.spatial_rank = 2, .group = 1};
    for (int i = 0; i < 2; i++) {
        a.kernel[i] = pick(m, 1, 3);
        a.dilation[i] = pick(m, 1, 2);
        a.stride[i] = chance(m, 4) ? 2 : 1;
        const int64_t span = (a.kernel[i] - 1) * a.dilation[i];
        a.pad[i] = pick(m, 0, span);
        a.pad[2 + i] = pick(m, span - a.pad[i], span);
        y->dims[2 + i] = (x->dims[2 + i] + a.pad[i] + a.pad[2 + i] - span - 1) / a.stride[i] + 1;
    }
    return a;
}

static int32_t add_convolution(maker *m, int32_t x, bool wide)
{
    const itg_shape from = value(m, x)->shape;
    itg_shape to = {4, {1, wide ? pick(m, 12, 40) : pick(m, 1, 9), 1, 1}};
    itg_attrs a = draw_window(m, &from, &to);
    const bool depthwise = !wide && chance(m, 3);
    if (depthwise) {
        a.group = from.dims[1];
        to.dims[1] = from.dims[1] * (from.dims[1] < 10 ? pick(m, 1, 4) : 1);
    }
    const int64_t depth = depthwise ? 1 : from.dims[1];
    itg_shape taps = {4, {to.dims[1], depth, a.kernel[0], a.kernel[1]}};
    const int32_t w = add_constant(m, taps, true);
    itg_step *s = add_step(m, ITG_STEP_CONV, ITG_OP_CONV, 2, !wide && chance(m, 6) ? 2 : 1);
    s->attrs = a;
    s->inputs[0] = x;
    s->inputs[1] = w;
    s->acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    add_encodings(m, s, to, 20000, to.dims[1]);
    return s->outputs[0];
}

/* A layer of windows of one element. */
static int32_t add_dense(maker *m, int32_t x, int64_t outputs)
{
    const int64_t inputs = value(m, x)->shape.dims[1], positions = value(m, x)->shape.dims[3];
    const int64_t groups = inputs % 8 == 0 && outputs % 2 == 0 ? pick(m, 1, 2) : 1;
    const itg_shape to = {4, {1, outputs, 1, positions}};
    const itg_shape taps = {4, {outputs, inputs / groups, 1, 1}};
    const int32_t w = add_constant(m, taps, true);
    itg_step *s = add_step(m, ITG_STEP_CONV, ITG_OP_CONV, 2, 1);
    s->attrs = (itg_attrs){
        .spatial_rank = 2, .group = groups, .kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
    s->inputs[0] = x;
    s->inputs[1] = w;
    s->acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    add_encodings(m, s, to, 20000, to.dims[1]);
    return s->outputs[0];
}

/* Layers one after another: windows, layers of one position, deep ones of a few, or for vectors
 * large ones of one, windows with many filters, and windows by channels before large ones. */
typedef enum chain_kind { WINDOWS, DENSE, FEW, LARGE, WIDE, BY_CHANNELS } chain_kind;

/* Windows of one channel each, signed bytes in and out; last: as large as the image. */
static int32_t add_channels(maker *m, int32_t x, bool last)
{
    const itg_shape from = value(m, x)->shape;
    itg_shape to = {4, {1, from.dims[1], 1, 1}};
    itg_attrs a = {.spatial_rank = 2,
                   .kernel = {from.dims[2], from.dims[3]},
                   .stride = {1, 1},
                   .dilation = {1, 1}};
    if (!last) a = draw_window(m, &from, &to);
    a.group = from.dims[1];
    const itg_shape taps = {4, {from.dims[1], 1, a.kernel[0], a.kernel[1]}};
    const int32_t w = add_constant(m, taps, true), y = add_bytes(m, to);
    itg_step *s = add_step(m, ITG_STEP_CONV, ITG_OP_CONV, 2, 1);
    s->attrs = a;
    s->inputs[0] = x;
    s->inputs[1] = w;
    s->acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    set_out(m, s, 0, y, 20000, to.dims[1]);
    return y;
}

static int32_t add_layer(maker *m, int32_t x, chain_kind kind, bool last)
{
    if (kind == WINDOWS || kind == WIDE) return add_convolution(m, x, kind == WIDE);
    if (kind == FEW) return add_dense(m, x, pick(m, 32, 160));
    if (kind == LARGE) return add_dense(m, x, pick(m, 30, 160));
    return add_dense(m, x, last ? pick(m, 1, 9) : pick(m, 1, 60) * (chance(m, 2) ? 4 : 1));
}

static itg_program *chain_of(uint64_t seed, chain_kind kind)
{
    const bool vectors = kind == LARGE || kind == WIDE || kind == BY_CHANNELS;
    maker m = {.integer = true, .doubling = vectors, .seed = seed};
    itg_error err = {0};
    itg_rng_init(&m.rng, seed);
    assert_int_equal(itg_program_create("chain", &m.p, NULL), ITG_OK);
    itg_shape image = {4, {1, pick(&m, 1, 9), pick(&m, 5, 20), pick(&m, 5, 20)}};
    if (kind == DENSE) image = (itg_shape){4, {1, pick(&m, 1, 120), 1, 1}};
    if (kind == FEW) image = (itg_shape){4, {1, pick(&m, 32, 80), 1, pick(&m, 2, 7)}};
    if (kind == LARGE) image = (itg_shape){4, {1, pick(&m, 100, 300), 1, 1}};
    if (kind == BY_CHANNELS)
        image = (itg_shape){4, {1, pick(&m, 60, 100), pick(&m, 4, 9), pick(&m, 4, 9)}};
    int32_t input = add_value(&m, ITG_F32, image);
    int32_t x = vectors ? add_bytes(&m, image) : add_codes(&m, image, NULL);
    itg_step *s = add_step(&m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = input;
    s->outputs[0] = x;
    for (int i = 0; i < 3 && kind == BY_CHANNELS; i++)
        x = add_channels(&m, x, i == 2);
    for (int i = 0; i < 5; i++)
        x = add_layer(&m, x, kind == BY_CHANNELS ? LARGE : kind, i == 4);
    itg_program *p = m.p;
    p->inputs = itg_arena_array(p->arena, 1, sizeof *p->inputs);
    p->inputs[p->input_count++] = input;
    p->outputs = itg_arena_array(p->arena, 1, sizeof *p->outputs);
    p->outputs[p->output_count++] = x;
    if (itg_program_finish(p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}

/* Convolutions: each may write over what it reads. */
static itg_program *chain_program(uint64_t seed)
{
    return chain_of(seed, WINDOWS);
}

static itg_program *dense_program(uint64_t seed)
{
    return chain_of(seed, DENSE);
}

/* The first element that a position of a convolution reads, of all its taps; INT64_MAX: all lie
 * outside. */
static int64_t first_element(const itg_window *w, int64_t position)
{
    int64_t first = INT64_MAX;
    for (int64_t r = 0; r < w->kernel[0]; r++)
        for (int64_t c = 0; c < w->kernel[1]; c++) {
            const int64_t v =
                position / w->out_width * w->stride[0] - w->pad_top + r * w->dilation[0];
            const int64_t h =
                position % w->out_width * w->stride[1] - w->pad_left + c * w->dilation[1];
            const int64_t at = (v * w->width + h) * w->channels;
            if (v >= 0 && v < w->height && h >= 0 && h < w->width && at < first) first = at;
        }
    return first;
}

/* Up to every position, the codes written so far end before all that is still to be read. */
static int64_t distance_needed(const itg_program *p, const itg_step *s)
{
    const itg_pvalue *x = &p->values[s->inputs[0]], *y = &p->values[s->outputs[0]];
    const itg_window_view v = itg_window_of(ITG_OP_CONV, &s->attrs, &x->shape, &y->shape);
    const int64_t positions = v.w.out_height * v.w.out_width;
    int64_t needed = 0, next = INT64_MAX;
    for (int64_t i = positions - 1; i >= 0; i--) {
        const int64_t first = first_element(&v.w, i);
        next = first < next ? first : next;
        if (next == INT64_MAX) continue;
        const int64_t written = i * v.w.out_channels * (int64_t)itg_dtype_size(y->dtype);
        const int64_t read = next * (int64_t)itg_dtype_size(x->dtype);
        needed = written - read > needed ? written - read : needed;
    }
    return needed;
}

static void what_is_written_stays_behind_what_is_read(void **state)
{
    (void)state;
    int exact = 0, all = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        itg_program *p = chain_program(seed);
        itg_emitter e = {.p = p};
        for (int32_t i = 1; i < p->step_count; i++) {
            const itg_step *s = &p->steps[i];
            const itg_emit_layer l = {
                .step = s, .inputs = s->inputs, .outputs = s->outputs, .input_count = 2};
            int64_t bytes;
            if (!itg_emit_mac_behind(&e, &l, &bytes)) continue;
            const int64_t needed = distance_needed(p, s);
            assert_true(bytes >= needed);
            exact += bytes == needed;
            all++;
        }
        itg_program_destroy(p);
    }
    assert_in_range(all, 500, 1000);
    assert_in_range(exact, all / 3, all); /* one position more where each channel is its own */
}

static bool overlap(const itg_memory_place *a, const itg_memory_place *b)
{
    return a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* Both there at a step at which neither hands its place to the other. */
static bool live_together(const itg_memory_place *a, const itg_memory_place *b)
{
    const int32_t first = a->first > b->first ? a->first : b->first;
    const int32_t last = a->last < b->last ? a->last : b->last;
    const bool hands_over =
        first == last && !a->scratch && !b->scratch && (a->last == b->first || b->last == a->first);
    return first <= last && !hands_over;
}

static void assert_plan_holds(const itg_program *p)
{
    itg_error err = {0};
    itg_memory_plan *plan = NULL;
    int64_t bytes = 0, used = 0;
    if (itg_program_memory(p, &plan, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(itg_program_ram_bytes(p, &bytes, &err), ITG_OK);
    assert_int_equal(itg_memory_plan_bytes(plan), bytes);
    for (int32_t i = 0; i < itg_memory_plan_count(plan); i++) {
        const itg_memory_place *a = itg_memory_plan_at(plan, i);
        assert_true(0 <= a->first && a->first <= a->last);
        assert_true(a->last < itg_memory_plan_steps(plan) && *a->name && a->offset >= 0);
        assert_non_null(itg_memory_plan_step(plan, a->last));
        used = a->offset + a->bytes > used ? a->offset + a->bytes : used;
        for (int32_t k = 0; k < i; k++) {
            const itg_memory_place *b = itg_memory_plan_at(plan, k);
            if (overlap(a, b) && live_together(a, b)) fail_msg("%s lies on %s", a->name, b->name);
        }
    }
    assert_in_range(bytes, used, used + 7);
    assert_null(itg_memory_plan_at(plan, itg_memory_plan_count(plan)));
    assert_null(itg_memory_plan_step(plan, itg_memory_plan_steps(plan)));
    itg_memory_plan_destroy(plan);
}

static void outputs_lie_over_what_is_read_no_more(void **state)
{
    (void)state;
    if (!has_compiler()) skip();
    int below = 0, small = 0;
    for (uint64_t seed = 1; seed <= (ITG_IS_SLOW ? 8 : 24); seed++) {
        itg_error err = {0};
        itg_program *p = chain_program(seed);
        if (!emits(p, "chain", 3, &err)) fail_msg("%s", err.message);
        compile_and_run("chain", FLAGS " -O1", seed);
        int64_t arena, peak;
        assert_int_equal(itg_program_arena_bytes(p, &arena, &err), ITG_OK);
        assert_int_equal(itg_program_activation_bytes(p, &peak, &err), ITG_OK);
        assert_plan_holds(p);
        below += arena < peak;
        small += arena * 100 <= peak * 103;
        itg_program_destroy(p);
    }
    print_message("%d below the activations' peak, %d at most 3 %% above\n", below, small);
    assert_true(below > 0);
}

/* ---- the header's quantizer ---- */

static const char quantize_main[] =
    "#include \"net.h\"\n#include <stdio.h>\n"
    "int main(void)\n{\n"
    "    uint32_t s = 7;\n"
    "    for (long i = 0; i < 60000; i++) {\n"
    "        s = s * 1664525u + 1013904223u;\n"
    "        const int fraction = (int)(s >> 27) - 2;\n"
    "        s = s * 1664525u + 1013904223u;\n"
    "        const int32_t value = (int32_t)(s >> (1 + i % 25)) * (i % 2 ? -1 : 1);\n"
    "        printf(\"%ld %d %ld\\n\", (long)value, fraction, (long)net_quantize_q(value, "
    "fraction));\n"
    "    }\n"
    "    return 0;\n}\n";

/* The first of the greatest codes, wherever it stands. */
static const char argmax_main[] = "#include \"net.h\"\n"
                                  "int main(void)\n{\n"
                                  "    static CODE codes[SIZE];\n"
                                  "    int wrong = net_argmax(codes) != 0;\n"
                                  "    for (int i = SIZE - 1; i >= 0; i--) {\n"
                                  "        codes[i] = 2;\n" /* behind it others as great */
                                  "        wrong += net_argmax(codes) != i;\n"
                                  "    }\n"
                                  "    codes[SIZE - 1] = 3;\n"
                                  "    return wrong + (net_argmax(codes) != SIZE - 1);\n}\n";

static bool gives_the_class(const itg_program *p)
{
    static const struct {
        itg_dtype type;
        const char *name;
    } types[] = {{ITG_S8, "int8_t"},
                 {ITG_U8, "uint8_t"},
                 {ITG_S16, "int16_t"},
                 {ITG_U16, "uint16_t"},
                 {ITG_S32, "int32_t"}};
    const itg_pvalue *y = &p->values[p->outputs[0]];
    char command[600];
    size_t i = 0;
    while (i < sizeof types / sizeof *types && types[i].type != y->dtype)
        i++;
    if (i == sizeof types / sizeof *types) return false; /* indices already */
    snprintf(command, sizeof command,
             TEST_CC " " FLAGS " -DCODE=%s -DSIZE=%lld " FOLDER "/argmax_main.c -o " FOLDER
                     "/argmax && " FOLDER "/argmax",
             types[i].name, (long long)y->elements);
    if (system(command) != 0) fail_msg("%s", command);
    return true;
}

static void the_headers_argmax_gives_the_first_of_the_greatest(void **state)
{
    (void)state;
    if (!has_compiler()) skip();
    int seen = 0;
    assert_int_equal(
        itg_file_write(FOLDER "/argmax_main.c", argmax_main, sizeof argmax_main - 1, NULL), ITG_OK);
    for (uint64_t seed = 200; seed < 204; seed++) {
        itg_error err = {0};
        itg_program *p = random_integer_program(seed);
        seen += emits(p, "net", 1, &err) && gives_the_class(p);
        itg_program_destroy(p);
    }
    assert_true(seen > 0);
}

static void compare_codes(const itg_quantizer *q, uint64_t seed)
{
    FILE *f = fopen(FOLDER "/quantize.txt", "r");
    assert_non_null(f);
    long value, code;
    int fraction, read = 0, inside = 0;
    while (fscanf(f, "%ld %d %ld", &value, &fraction, &code) == 3) {
        float real = ldexpf((float)value, -fraction);
        int64_t expected = itg_quantize_f32(real, q->scale[0], q->zero_point, q->qmin, q->qmax);
        if (code != expected)
            fail_msg("seed %llu: %ld / 2^%d with scale %a gives %ld, not %lld",
                     (unsigned long long)seed, value, fraction, (double)q->scale[0], code,
                     (long long)expected);
        inside += code > q->qmin && code < q->qmax;
        read++;
    }
    fclose(f);
    assert_int_equal(read, 60000);
    assert_true(inside > 100);
}

static void the_headers_quantizer_gives_the_executors_codes(void **state)
{
    (void)state;
    if (!has_compiler()) {
        print_message("skipped: no compiler\n");
        skip();
    }
    assert_int_equal(
        itg_file_write(FOLDER "/quantize_main.c", quantize_main, sizeof quantize_main - 1, NULL),
        ITG_OK);
    for (uint64_t seed = 200; seed < 204; seed++) {
        itg_error err = {0};
        itg_program *p = random_integer_program(seed);
        if (emits(p, "net", 1, &err)) {
            if (system(TEST_CC " " FLAGS " " FOLDER "/quantize_main.c -o " FOLDER
                               "/quantize && " FOLDER "/quantize > " FOLDER "/quantize.txt") != 0)
                fail_msg("seed %llu does not compile", (unsigned long long)seed);
            compare_codes(&p->values[p->steps[0].outputs[0]].q, seed);
        }
        itg_program_destroy(p);
    }
}

/* ---- layers of one position ---- */

static bool mentions(const char *path, const char *word)
{
    unsigned char *text = NULL;
    size_t bytes = 0;
    assert_int_equal(itg_file_read(path, 1 << 24, &text, &bytes, NULL), ITG_OK);
    const bool found = strstr((const char *)text, word) != NULL;
    free(text);
    return found;
}

static void codes_of_dense_layers_are_multiplied_where_they_lie(void **state)
{
    (void)state;
    if (!has_compiler()) {
        print_message("skipped: no compiler\n");
        skip();
    }
    int whole = 0, pieces = 0;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        itg_error err = {0};
        itg_program *p = dense_program(seed);
        if (emits(p, "net", 3, &err)) {
            compile_and_run("net", seed % 2 == 0 ? FLAGS " -O2" : FLAGS " -O0", seed);
            whole += mentions(FOLDER "/net.c", "int32_t start = dense_start(");
            pieces += mentions(FOLDER "/net.c", "DENSE_JOIN(r_too");
        }
        itg_program_destroy(p);
    }
    print_message("%d with dense layers, %d with codes in pieces\n", whole, pieces);
    assert_true(whole >= 16 && pieces >= 8);
}

/* One LayerNormalization of codes of 16 bits whose zero point is the least: sums of long rows leave
 * what a product divides. */
static itg_program *row_program(uint64_t seed)
{
    maker m = {.integer = true, .seed = seed};
    itg_error err = {0};
    float one = 1;
    const itg_quantizer q = {.bits = 16,
                             .storage = ITG_S16,
                             .is_signed = true,
                             .qmin = INT16_MIN,
                             .qmax = INT16_MAX,
                             .zero_point = INT16_MIN,
                             .axis = -1,
                             .scale_count = 1,
                             .scale = &one};
    const itg_shape image = {4, {1, 1, 91, 93}};
    itg_rng_init(&m.rng, seed);
    assert_int_equal(itg_program_create("row", &m.p, NULL), ITG_OK);
    const int32_t input = add_value(&m, ITG_F32, image), x = add_codes(&m, image, &q);
    itg_step *s = add_step(&m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = input;
    s->outputs[0] = x;
    add_rows(&m, x);
    itg_program *p = m.p;
    p->inputs = itg_arena_array(p->arena, 1, sizeof *p->inputs);
    p->inputs[p->input_count++] = input;
    p->outputs = itg_arena_array(p->arena, 1, sizeof *p->outputs);
    p->outputs[p->output_count++] = m.images[m.count - 1];
    if (itg_program_finish(p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}

static void long_rows_are_divided_by_64_bits(void **state)
{
    (void)state;
    if (!has_compiler()) skip();
    int wide = 0, narrow = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        itg_error err = {0};
        itg_program *p = row_program(seed);
        if (!emits(p, "row", 2, &err)) fail_msg("%s", err.message);
        compile_and_run("row", FLAGS, seed);
        wide += mentions(FOLDER "/row.c", "wide_ratio_of(");
        narrow += mentions(FOLDER "/row.c", " ratio_of(");
        itg_program_destroy(p);
    }
    print_message("%d divided by 64 bits, %d by a product\n", wide, narrow);
    assert_true(wide > 0 && narrow > 0);
}

/* Vectors in plain C under the sanitizers. */
#define VECTORS                                                                                    \
    FLAGS " -D__ARM_FEATURE_MVE=1 -isystem " TEST_ARM                                              \
          " -fsanitize=address,undefined -fno-sanitize-recover=all"

static void vectors_multiply_codes_of_dense_layers(void **state)
{
    (void)state;
    if (!has_compiler()) {
        print_message("skipped: no compiler\n");
        skip();
    }
    int vectors = 0, joined = 0, whole = 0, behind = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        itg_error err = {0};
        itg_program *p = chain_of(seed, seed <= 200 ? LARGE : BY_CHANNELS);
        if (emits(p, "net", 2, &err) && mentions(FOLDER "/net.c", "  helium_dense_")) {
            compile_and_run("net", VECTORS, seed);
            vectors++;
            behind += mentions(FOLDER "/net.c", "  helium_depthwise");
            joined += mentions(FOLDER "/net.c", "SUMS_JOIN(r_too");
            whole += mentions(FOLDER "/net.c", "  helium_dense_2(") ||
                     mentions(FOLDER "/net.c", "  helium_dense_4(");
        }
        itg_program_destroy(p);
    }
    print_message("%d by vectors, %d with codes in pieces, %d of whole codes, %d behind channels\n",
                  vectors, joined, whole, behind);
    assert_true(vectors >= 8 && joined >= 4 && whole >= 4 && behind >= 3);
}

/* Filters that are unpacked once: positions are gathered again for each part of them only where no
 * output lies over an input. */
static void vectors_unpack_filters_once(void **state)
{
    (void)state;
    if (!has_compiler()) {
        print_message("skipped: no compiler\n");
        skip();
    }
    int once = 0, each = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        itg_error err = {0};
        itg_program *p = chain_of(seed, WIDE);
        if (emits(p, "net", 2, &err) && mentions(FOLDER "/net.c", "helium_unpack(w")) {
            compile_and_run("net", VECTORS, seed);
            once += mentions(FOLDER "/net.c", "\n            helium_unpack(w");
            each += mentions(FOLDER "/net.c", "\n                helium_unpack(w");
        }
        itg_program_destroy(p);
    }
    print_message("%d with filters that are unpacked once, %d for each block\n", once, each);
    assert_true(once >= 6 && each >= 6);
}

/* Arm's 32-bit words under the sanitizers, without and with its pairs of products. */
static void codes_may_stay_where_they_lie(void **state)
{
    (void)state;
    if (!has_compiler()) {
        print_message("skipped: no compiler\n");
        skip();
    }
#define WORDS32                                                                                    \
    FLAGS " -D__arm__ -D__ARM_FEATURE_UNALIGNED -fsanitize=address,undefined "                     \
          "-fno-sanitize-recover=all"
    static const char pairs[] = WORDS32 " -D__ARM_FEATURE_SIMD32 -isystem " TEST_ARM;
#define SMALL32 WORDS32 " -D__ARM_FEATURE_SIMD32 -Os -isystem " TEST_ARM
    int bytes = 0, narrow = 0, both = 0, take = 0, dense = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        itg_error err = {0};
        itg_program *p = chain_of(seed, seed % 3 == 0 ? DENSE : seed % 3 == 1 ? WINDOWS : FEW);
        if (emits(p, "net", 2, &err)) {
            compile_and_run("net", pairs, seed);
            compile_and_run("net", SMALL32, seed);
            compile_and_run("net", WORDS32, seed);
            const bool one = mentions(FOLDER "/net.c", "        BOTH_NEXT(");
            const bool other = mentions(FOLDER "/net.c", "        TAKE_NEXT(");
            dense += mentions(FOLDER "/net.c", "        DENSE_NEXT(");
            both += one;
            take += other;
            /* As in a program of more weights. */
            if (one || other) compile_and_run("net", SMALL32 " -DWORDS=1", seed);
            bytes += mentions(FOLDER "/net.c", " dot_bytes(w");
            narrow += mentions(FOLDER "/net.c", " take_");
        }
        itg_program_destroy(p);
    }
    print_message(
        "%d with codes of 8 bits that stay, %d with narrower ones, %d, %d and %d in one loop\n",
        bytes, narrow, both, take, dense);
    assert_true(bytes >= 6 && narrow >= 6 && both >= 2 && take >= 2 && dense >= 2);
}

/* ---- weights ---- */

/* Returns the bytes of all arrays of weights, each as large as its codes: but those of dense layers
 * ("w1nw_", "w1tw_") take whole words of each channel. */
static int64_t bytes_of_arrays(const char *path)
{
    unsigned char *text = NULL;
    size_t length = 0;
    int64_t sum = 0;
    assert_int_equal(itg_file_read(path, 1 << 24, &text, &length, NULL), ITG_OK);
    for (const char *at = (const char *)text; (at = strstr(at, " codes of ")) != NULL; at++) {
        long long codes = 0, bytes = 0;
        int bits = 0, number = 0;
        char tag = 0, how = 0;
        const char *before = at;
        while (before[-1] != ' ')
            before--;
        if (sscanf(before, "%lld codes of %d bits */ static const uint8_t w%d%c%c%*[^[][%lld]",
                   &codes, &bits, &number, &tag, &how, &bytes) != 6)
            continue;
        const int64_t least = (codes * bits + 7) / 8;
        if (how != 'w') assert_int_equal(bytes, least);
        assert_in_range(bytes, least, least + least / 32 + 512);
        sum += bytes;
    }
    free(text);
    return sum;
}

static void weights_take_their_bits_to_the_byte(void **state)
{
    (void)state;
    (void)mkdir(FOLDER, 0777);
    int emitted = 0, exact = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        itg_program *p = random_integer_program(seed);
        itg_emit_vectors vectors = {1, NULL};
        itg_emit_sizes sizes = {0};
        int64_t expected = 0;
        if (itg_program_emit_c(p, "bytes", &vectors, FOLDER, &sizes, NULL) == ITG_OK) {
            for (int32_t i = 0; i < p->value_count; i++)
                if (p->values[i].data != NULL && p->values[i].quantized)
                    expected += (p->values[i].elements * p->values[i].q.bits + 7) / 8;
            assert_int_equal(sizes.weight_bytes, bytes_of_arrays(FOLDER "/bytes.c"));
            if (!mentions(FOLDER "/bytes.c", " dense_start(")) {
                assert_int_equal(sizes.weight_bytes, expected);
                exact++;
            }
            emitted++;
        }
        itg_program_destroy(p);
    }
    print_message("%d of %d without dense layers\n", exact, emitted);
    assert_true(emitted > 20 && exact > 10);
}

static void what_is_float_is_refused_before_any_file(void **state)
{
    (void)state;
    static const network networks[] = NETWORKS;
    (void)mkdir(FOLDER, 0777);
    (void)unlink(FOLDER "/refused.c");
    int refused = 0;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        fixture f = networks[i]();
        itg_program *p = fx_program(&f);
        itg_error err = {0};
        itg_emit_vectors vectors = {1, NULL};
        if (itg_program_emit_c(p, "refused", &vectors, FOLDER, NULL, &err) != ITG_OK) {
            refused++;
            assert_int_equal(err.code, ITG_UNSUPPORTED);
            assert_true(strstr(err.message, "float") != NULL || strstr(err.message, "f32") != NULL);
            assert_int_not_equal(access(FOLDER "/refused.c", F_OK), 0);
        } else {
            (void)unlink(FOLDER "/refused.c");
        }
        itg_program_destroy(p);
        fx_end(&f);
    }
    assert_true(refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_give_the_executors_digest),
        cmocka_unit_test(programs_of_rarer_forms_give_the_executors_digest),
        cmocka_unit_test(sums_are_limited_exactly_where_64_bits_end),
        cmocka_unit_test(channels_get_what_one_of_them_needs),
        cmocka_unit_test(ranges_of_scratch_do_not_overlap),
        cmocka_unit_test(long_rows_are_divided_by_64_bits),
        cmocka_unit_test(what_is_written_stays_behind_what_is_read),
        cmocka_unit_test(outputs_lie_over_what_is_read_no_more),
        cmocka_unit_test(the_headers_quantizer_gives_the_executors_codes),
        cmocka_unit_test(the_headers_argmax_gives_the_first_of_the_greatest),
        cmocka_unit_test(codes_of_dense_layers_are_multiplied_where_they_lie),
        cmocka_unit_test(vectors_multiply_codes_of_dense_layers),
        cmocka_unit_test(vectors_unpack_filters_once),
        cmocka_unit_test(codes_may_stay_where_they_lie),
        cmocka_unit_test(weights_take_their_bits_to_the_byte),
        cmocka_unit_test(what_is_float_is_refused_before_any_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
