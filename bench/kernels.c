/* itg_bench_kernels: the kernel sets of kernels/accel.h on the layers of known networks. Verifies
 * each layer against the reference set, then times it; then the layers of each network in a row. */
#include "bench/bench.h"
#include "base/base.h"
#include "kernels/accel.h"
#include "kernels/requant.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: itg_bench_kernels [--repeats N] [--samples N] [--form tflite_double|s64_reduced|f32]\n"
    "                         [--set NAME] [--network TEXT]\n"
    "       itg_bench_kernels --count LAYER --repeats N [--samples N] [--form ...] [--set NAME] "
    "[--network TEXT]\n"
    "runs only that layer (of 1, 2, ...) of each network, N times, unverified, with one set: for "
    "counters "
    "of instructions\n";

enum { X_ZERO = 121, Y_ZERO = 117, MOST_LAYERS = 64, MOST_SAMPLES = 64 };

typedef struct layer_of {
    int64_t times, channels, size, filters, kernel, stride, group;
} layer_of;

typedef struct network {
    const char *name;
    layer_of layers[MOST_LAYERS]; /* in order; times 0: the end */
} network;

static const network networks[] = {
    {"resnet18 (224x224)",
     {{1, 3, 224, 64, 7, 2, 1},
      {4, 64, 56, 64, 3, 1, 1},
      {1, 64, 56, 128, 3, 2, 1},
      {1, 64, 56, 128, 1, 2, 1},
      {3, 128, 28, 128, 3, 1, 1},
      {1, 128, 28, 256, 3, 2, 1},
      {1, 128, 28, 256, 1, 2, 1},
      {3, 256, 14, 256, 3, 1, 1},
      {1, 256, 14, 512, 3, 2, 1},
      {1, 256, 14, 512, 1, 2, 1},
      {3, 512, 7, 512, 3, 1, 1},
      {1, 512, 1, 1000, 1, 1, 1}}},
    {"resnet8 (32x32)",
     {{1, 3, 32, 16, 3, 1, 1},
      {2, 16, 32, 16, 3, 1, 1},
      {1, 16, 32, 32, 3, 2, 1},
      {1, 32, 16, 32, 3, 1, 1},
      {1, 16, 32, 32, 1, 2, 1},
      {1, 32, 16, 64, 3, 2, 1},
      {1, 64, 8, 64, 3, 1, 1},
      {1, 32, 16, 64, 1, 2, 1},
      {1, 64, 1, 10, 1, 1, 1}}},
    {"mbv2 (32x32)",
     {{1, 3, 32, 16, 3, 2, 1},
      {1, 16, 16, 64, 1, 1, 1},
      {1, 64, 16, 64, 3, 1, 64},
      {1, 64, 16, 24, 1, 1, 1},
      {2, 24, 16, 96, 1, 1, 1},
      {1, 96, 16, 96, 3, 1, 96},
      {1, 96, 16, 24, 1, 1, 1},
      {1, 96, 16, 96, 3, 2, 96},
      {1, 96, 8, 32, 1, 1, 1},
      {2, 32, 8, 128, 1, 1, 1},
      {1, 128, 8, 128, 3, 1, 128},
      {1, 128, 8, 32, 1, 1, 1},
      {1, 128, 8, 128, 3, 2, 128},
      {1, 128, 4, 64, 1, 1, 1},
      {2, 64, 4, 256, 1, 1, 1},
      {1, 256, 4, 256, 3, 1, 256},
      {1, 256, 4, 64, 1, 1, 1},
      {1, 256, 1, 10, 1, 1, 1}}},
    {"mbv2's depthwise and pointwise (224x224)",
     {{1, 32, 112, 32, 3, 1, 32},
      {1, 32, 112, 16, 1, 1, 1},
      {1, 16, 112, 96, 1, 1, 1},
      {1, 96, 112, 96, 3, 2, 96},
      {1, 96, 56, 24, 1, 1, 1},
      {1, 144, 56, 144, 3, 1, 144},
      {1, 192, 28, 192, 3, 1, 192},
      {1, 192, 28, 32, 1, 1, 1},
      {1, 576, 14, 576, 3, 1, 576},
      {1, 576, 14, 96, 1, 1, 1},
      {1, 960, 7, 960, 3, 1, 960},
      {1, 960, 7, 320, 1, 1, 1},
      {1, 320, 7, 1280, 1, 1, 1}}},
};

typedef struct options {
    int repeats;
    int64_t samples;
    itg_requant_form form;
    const char *set, *network;
    int count; /* the layer, from 1; 0: all are verified and timed */
} options;

/* One layer, ready to run. */
typedef struct work {
    const layer_of *of;
    itg_accel_layer *layer;
    int64_t inputs, outputs; /* of a sample */
    double macs;             /* of a sample */
} work;

typedef struct bench {
    const options *o;
    itg_arena *arena;
    itg_rng rng;
    const itg_accel_kernels *kernels;
    double peak; /* GOP/s */
    uint8_t *codes[2];
    void *scratch;
    work works[MOST_LAYERS];
    int count;
} bench;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static itg_window window_of(const layer_of *l)
{
    int64_t pad = l->kernel / 2, out = (l->size + 2 * pad - l->kernel) / l->stride + 1;
    return (itg_window){.channels = l->channels,
                        .height = l->size,
                        .width = l->size,
                        .out_channels = l->filters,
                        .out_height = out,
                        .out_width = out,
                        .kernel = {l->kernel, l->kernel},
                        .stride = {l->stride, l->stride},
                        .dilation = {1, 1},
                        .pad_top = pad,
                        .pad_left = pad,
                        .group = l->group};
}

/* ---- problems ---- */
typedef struct problem {
    itg_accel_problem p;
    itg_epilogue out;
} problem;

static itg_status make_problem(bench *b, const layer_of *l, problem *t, itg_error *err)
{
    memset(t, 0, sizeof *t);
    t->p.window = window_of(l);
    int64_t depth = l->channels / l->group * l->kernel * l->kernel;
    int8_t *w = itg_arena_alloc(b->arena, (size_t)(l->filters * depth));
    int64_t *bias = itg_arena_array(b->arena, (size_t)l->filters, sizeof *bias);
    itg_requant *r = itg_arena_array(b->arena, (size_t)l->filters, sizeof *r);
    if (!w || !bias || !r) return itg_no_memory(err);
    const itg_requant_spec spec = {.form = b->o->form};
    for (int64_t i = 0; i < l->filters * depth; i++)
        w[i] = (int8_t)((int)itg_rng_below(&b->rng, 255) - 127);
    for (int64_t k = 0; k < l->filters; k++) {
        /* sums reach about 1e4 times the root of the depth; ratios like those of real layers */
        double ratio = (0.5 + itg_rng_unit(&b->rng)) / (200.0 + 4.0 * (double)depth);
        bias[k] = (int64_t)itg_rng_below(&b->rng, 20001) - 10000;
        itg_status status = itg_requant_derive(&spec, ratio, (float)ratio, 0, &r[k]);
        if (status != ITG_OK) return itg_fail(err, status, "no constants");
    }
    t->p.x = (itg_int_operand){ITG_U8, NULL, X_ZERO, 0, 255};
    t->p.w = (itg_int_operand){ITG_S8, w, 0, -127, 127};
    t->p.mac = (itg_mac_options){
        .acc = {32, ITG_OVERFLOW_WRAP}, .acc_bound = depth * 255 * 127 + 10000, .bias = bias};
    t->out = (itg_epilogue){.storage = ITG_U8,
                            .requant = r,
                            .requant_count = (int32_t)l->filters,
                            .zero_point = Y_ZERO,
                            .lo = 0,
                            .hi = 255};
    t->p.out = &t->out;
    t->p.out_count = 1;
    return ITG_OK;
}

static itg_status make_layer(bench *b, const itg_accel_kernels *kernels, const problem *t,
                             itg_accel_layer **out, itg_error *err)
{
    size_t bytes = itg_accel_packed_bytes(kernels, &t->p);
    void *packed = itg_arena_alloc(b->arena, bytes > 0 ? bytes : 1);
    if (!packed) return itg_no_memory(err);
    itg_accel_pack(kernels, &t->p, packed);
    return itg_accel_layer_create(kernels, &t->p, packed, b->arena, out, err);
}

/* Both sets on the same two samples. */
static itg_status verify(bench *b, const problem *t, const work *w, itg_error *err)
{
    enum { SAMPLES = 2 };
    const itg_accel_kernels *reference;
    itg_accel_layer *other;
    itg_status status = itg_accel_choose("reference", &reference, err);
    if (status == ITG_OK) status = make_layer(b, reference, t, &other, err);
    if (status != ITG_OK) return status;
    const size_t bytes = (size_t)(SAMPLES * w->outputs);
    uint8_t *x = malloc((size_t)(SAMPLES * w->inputs)),
            *y[2] = {calloc(1, bytes), calloc(1, bytes)};
    size_t need = itg_accel_scratch(w->layer, SAMPLES), more = itg_accel_scratch(other, SAMPLES);
    void *scratch = itg_arena_alloc(b->arena, need > more ? need : more);
    if (!x || !y[0] || !y[1] || !scratch) {
        status = itg_no_memory(err);
    } else {
        for (int64_t i = 0; i < SAMPLES * w->inputs; i++)
            x[i] = (uint8_t)itg_rng_below(&b->rng, 256);
        void *to = y[0];
        itg_accel_run(w->layer, x, &to, SAMPLES, scratch);
        to = y[1];
        itg_accel_run(other, x, &to, SAMPLES, scratch);
        if (memcmp(y[0], y[1], bytes) != 0)
            status = itg_fail(err, ITG_FAILURE, "set '%s' differs from the reference",
                              itg_accel_name(b->kernels));
    }
    free(x);
    free(y[0]);
    free(y[1]);
    return status;
}

static itg_status add_layer(bench *b, const layer_of *l, bool verified, itg_error *err)
{
    problem t;
    work *w = &b->works[b->count];
    itg_status status = make_problem(b, l, &t, err);
    if (status == ITG_OK) status = make_layer(b, b->kernels, &t, &w->layer, err);
    if (status != ITG_OK) return status;
    const itg_window *v = &t.p.window;
    w->of = l;
    w->inputs = v->channels * v->height * v->width;
    w->outputs = v->out_channels * v->out_height * v->out_width;
    w->macs = (double)w->outputs * (double)(l->channels / l->group * l->kernel * l->kernel);
    b->count++;
    return verified ? verify(b, &t, w, err) : ITG_OK;
}

/* Two buffers of codes that every layer reads and writes in turn, and scratch for the largest. */
static itg_status allocate(bench *b, itg_error *err)
{
    int64_t most = 1;
    size_t scratch = 1;
    for (int i = 0; i < b->count; i++) {
        const work *w = &b->works[i];
        size_t bytes = itg_accel_scratch(w->layer, b->o->samples);
        if (w->inputs > most) most = w->inputs;
        if (w->outputs > most) most = w->outputs;
        if (bytes > scratch) scratch = bytes;
    }
    b->scratch = itg_arena_alloc(b->arena, scratch);
    for (int i = 0; i < 2; i++) {
        b->codes[i] = itg_arena_alloc(b->arena, (size_t)(most * b->o->samples));
        if (!b->codes[i] || !b->scratch) return itg_no_memory(err);
        for (int64_t j = 0; j < most * b->o->samples; j++)
            b->codes[i][j] = (uint8_t)itg_rng_below(&b->rng, 256);
    }
    return ITG_OK;
}

/* ---- measuring ---- */

static void run_layer(const bench *b, const work *w, int turn)
{
    void *y = b->codes[1 - turn % 2];
    itg_accel_run(w->layer, b->codes[turn % 2], &y, b->o->samples, b->scratch);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct spread {
    double min, median;
} spread;

/* Seconds of a sample: of one layer, or (index < 0) of all in a row. */
static spread measure(const bench *b, int index)
{
    double seconds[BENCH_MAX_REPEATS];
    for (int i = 0; i < b->o->repeats; i++) {
        int runs = 0, turn = 0;
        double start = now(), end = start;
        for (; runs == 0 || end - start < 0.02; runs++, end = now()) {
            if (index >= 0) run_layer(b, &b->works[index], 0);
            for (int k = 0; index < 0 && k < b->count; k++)
                for (int64_t n = 0; n < b->works[k].of->times; n++)
                    run_layer(b, &b->works[k], turn++);
        }
        seconds[i] = (end - start) / ((double)runs * (double)b->o->samples);
    }
    qsort(seconds, (size_t)b->o->repeats, sizeof *seconds, compare_doubles);
    return (spread){seconds[0], seconds[b->o->repeats / 2]};
}

static void name_layer(const layer_of *l, char *text, size_t size)
{
    snprintf(text, size, "%lldx%lldx%lld -> %lld, %lldx%lld /%lld g%lld", (long long)l->channels,
             (long long)l->size, (long long)l->size, (long long)l->filters, (long long)l->kernel,
             (long long)l->kernel, (long long)l->stride, (long long)l->group);
}

static void print_line(const bench *b, const char *name, double macs, spread s)
{
    double rate = 2e-9 * macs / s.min;
    printf("  %-34s min %9.2f us  median %9.2f us  %8.1f GOP/s", name, 1e6 * s.min, 1e6 * s.median,
           rate);
    if (b->peak > 0) printf("  %5.1f %% of peak", 100 * rate / b->peak);
    printf("\n");
}

static void measure_all(const bench *b, const char *name)
{
    double total = 0;
    char text[96];
    for (int i = 0; i < b->count; i++) {
        const layer_of *l = b->works[i].of;
        total += (double)l->times * b->works[i].macs;
        name_layer(l, text, sizeof text);
        print_line(b, text, b->works[i].macs, measure(b, i));
    }
    snprintf(text, sizeof text, "all of %s", name);
    print_line(b, text, total, measure(b, -1));
}

/* The best of several loops on registers alone. */
static double measure_peak(const itg_accel_kernels *kernels)
{
    double best = 0;
    for (int i = 0; i < 9; i++) {
        double start = now();
        int64_t products = itg_accel_peak(kernels, 200000);
        double rate = 2e-9 * (double)products / (now() - start);
        if (rate > best) best = rate;
    }
    return best;
}

static itg_status begin(bench *b, const options *o, const itg_accel_kernels *kernels,
                        itg_error *err)
{
    memset(b, 0, sizeof *b);
    b->o = o;
    b->kernels = kernels;
    b->arena = itg_arena_create(0);
    itg_rng_init(&b->rng, 1);
    return b->arena ? ITG_OK : itg_no_memory(err);
}

static bool is_wanted(const options *o, const network *n)
{
    return !o->network || strstr(n->name, o->network);
}

static itg_status run_network(const options *o, const network *n, const itg_accel_kernels *kernels,
                              double peak, itg_error *err)
{
    static bench b; /* large */
    itg_status status = begin(&b, o, kernels, err);
    b.peak = peak;
    for (int i = 0; n->layers[i].times > 0 && status == ITG_OK; i++)
        status = add_layer(&b, &n->layers[i], true, err);
    if (status == ITG_OK) status = allocate(&b, err);
    if (status == ITG_OK) {
        printf("\n%s, set '%s', %lld samples a call: all layers equal the reference\n", n->name,
               itg_accel_name(kernels), (long long)o->samples);
        measure_all(&b, n->name);
    }
    itg_arena_destroy(b.arena);
    return status;
}

/* One set on every network that is wanted. */
static itg_status run_set(const options *o, const char *name, itg_error *err)
{
    const itg_accel_kernels *kernels;
    double start = now();
    itg_status status = itg_accel_choose(name, &kernels, err);
    if (status == ITG_UNSUPPORTED) {
        printf("\nset '%s': not on this machine\n", name);
        return ITG_OK;
    }
    if (status != ITG_OK) return status;
    double proof = now() - start, peak = measure_peak(kernels);
    printf("\nset '%s': proven in %.1f ms", name, 1e3 * proof);
    if (peak > 0) printf(", peak on registers alone %.0f GOP/s", peak);
    printf("\n");
    for (size_t i = 0; i < sizeof networks / sizeof *networks && status == ITG_OK; i++)
        if (is_wanted(o, &networks[i])) status = run_network(o, &networks[i], kernels, peak, err);
    return status;
}

/* The set that is named, or all but the reference. */
static itg_status run_sets(const options *o, itg_error *err)
{
    itg_status status = ITG_OK;
    if (o->set) return run_set(o, o->set, err);
    for (int i = 1; itg_accel_set(i) && status == ITG_OK; i++)
        status = run_set(o, itg_accel_set(i), err);
    return status;
}

/* ---- counting ---- */

/* Runs a layer `repeats` times, and says of how many layers and products that is. */
static itg_status count_layer(const options *o, const layer_of *l, const itg_accel_kernels *kernels,
                              itg_error *err)
{
    static bench b; /* large */
    char text[96];
    itg_status status = begin(&b, o, kernels, err);
    if (status == ITG_OK) status = add_layer(&b, l, false, err);
    if (status == ITG_OK) status = allocate(&b, err);
    for (int i = 0; i < o->repeats && status == ITG_OK; i++)
        run_layer(&b, &b.works[0], 0);
    name_layer(l, text, sizeof text);
    if (status == ITG_OK)
        printf("%lld times %.0f multiply-accumulates of %s\n", (long long)l->times,
               b.works[0].macs * (double)o->samples, text);
    itg_arena_destroy(b.arena);
    return status;
}

static itg_status count_set(const options *o, const char *name, itg_error *err)
{
    const itg_accel_kernels *kernels;
    itg_status status = itg_accel_choose(name, &kernels, err);
    for (size_t i = 0; i < sizeof networks / sizeof *networks && status == ITG_OK; i++) {
        const layer_of *l = &networks[i].layers[o->count - 1];
        if (is_wanted(o, &networks[i]) && l->times > 0) status = count_layer(o, l, kernels, err);
    }
    return status;
}

/* ---- options ---- */

static bool read_number(const char *text, int64_t max, int64_t *out)
{
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || value < 1 || value > max) return false;
    *out = value;
    return true;
}

static bool read_options(int argc, char **argv, options *o)
{
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        int64_t number = 0;
        if (i + 1 >= argc) return false;
        if (strcmp(name, "--repeats") == 0 && read_number(value, BENCH_MAX_REPEATS, &number))
            o->repeats = (int)number;
        else if (strcmp(name, "--samples") == 0 && read_number(value, MOST_SAMPLES, &number))
            o->samples = number;
        else if (strcmp(name, "--count") == 0 && read_number(value, MOST_LAYERS, &number))
            o->count = (int)number;
        else if (strcmp(name, "--form") == 0 && itg_requant_form_from_name(value, &o->form) &&
                 (o->form == ITG_REQUANT_TFLITE_DOUBLE || o->form == ITG_REQUANT_S64_REDUCED ||
                  o->form == ITG_REQUANT_F32))
            continue;
        else if (strcmp(name, "--set") == 0)
            o->set = value;
        else if (strcmp(name, "--network") == 0)
            o->network = value;
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    options o = {.repeats = 9, .samples = 8, .form = ITG_REQUANT_TFLITE_DOUBLE};
    itg_error err = {0};
    itg_status status = ITG_OK;
    if (!read_options(argc, argv, &o)) {
        fputs(usage, stderr);
        return 2;
    }
    if (o.count > 0) {
        status = count_set(&o, o.set, &err);
    } else {
        bench_print_header(1, o.repeats);
        printf("requantization %s\n", itg_requant_form_name(o.form));
        status = run_sets(&o, &err);
    }
    if (status == ITG_OK) return 0;
    fprintf(stderr, "itg_bench_kernels: %s\n", err.message);
    return 1;
}
