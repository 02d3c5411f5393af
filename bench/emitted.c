/* itg_bench_emitted: a program as C source, compiled by the machine's compiler, against the
 * executor, one sample at a time with the portable kernels. Verifies (its self-test: the executor's
 * digest), then times both in turn. */
#include "bench/bench.h"
#include <dlfcn.h>
#include <intaglio/intaglio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "realize/batch.h"

#define SAMPLES 4

/* The header's types are known to the compiler of this alone. */
static const char shim[] = "#include \"net.h\"\n"
                           "void bench_run(const void *in, void *out);\n"
                           "void bench_run(const void *in, void *out)\n{\n"
                           "    net_run(in, out);\n}\n";

typedef void run_fn(const void *in, void *out);
typedef struct emitted {
    itg_program *program;
    itg_batch_plan *plan;
    itg_batch *batch;
    void *library;
    run_fn *run;
    unsigned char *in, *out;
    float *real; /* the executor's input, as `in` */
    int64_t elements;
} emitted;

static itg_status open_executor(emitted *b, itg_error *err)
{
    itg_batch_options options = {.block = 1};
    itg_status status = itg_accel_choose("portable", &options.kernels, err);
    if (status == ITG_OK) status = itg_batch_plan_create(b->program, &options, &b->plan, err);
    return status == ITG_OK ? itg_batch_create(b->plan, &b->batch, err) : status;
}

static itg_status give(void *context, int32_t index, int64_t sample, void *x, itg_error *err)
{
    const emitted *b = context;
    (void)index;
    (void)sample;
    (void)err;
    memcpy(x, b->real, (size_t)b->elements * sizeof *b->real);
    return ITG_OK;
}

static itg_status run_executor(void *context, int64_t runs, double *seconds, itg_error *err)
{
    emitted *b = context;
    const itg_block one = {0, 0, 1};
    const itg_batch_io io = {.fill = give, .context = b};
    itg_status status = ITG_OK;
    double start = bench_clock(1);
    for (int64_t i = 0; i < runs && status == ITG_OK; i++)
        status = itg_batch_run(b->batch, &one, &io, err);
    *seconds = (bench_clock(1) - start) / (double)runs;
    return status;
}

static itg_status run_emitted(void *context, int64_t runs, double *seconds, itg_error *err)
{
    emitted *b = context;
    (void)err;
    double start = bench_clock(1);
    for (int64_t i = 0; i < runs; i++)
        b->run(b->in, b->out);
    *seconds = (bench_clock(1) - start) / (double)runs;
    return ITG_OK;
}

static itg_status command(itg_error *err, const char *format, const char *compiler,
                          const char *folder)
{
    char text[2048];
    int n = snprintf(text, sizeof text, format, compiler, folder, folder, folder);
    if (n < 0 || n >= (int)sizeof text) return itg_fail(err, ITG_LIMIT, "a command too long");
    return system(text) == 0 ? ITG_OK : itg_fail(err, ITG_MISMATCH, "this failed: %s", text);
}

static itg_status build(emitted *b, const char *folder, const char *compiler, itg_error *err)
{
    char path[1024];
    itg_emit_options options = {ITG_EMIT_OPTIONS_VERSION, .name = "net", .samples = SAMPLES};
    itg_status status = itg_emit_c(b->program, &options, folder, NULL, err);
    snprintf(path, sizeof path, "%s/shim.c", folder);
    if (status == ITG_OK) status = itg_file_write(path, shim, sizeof shim - 1, err);
    if (status == ITG_OK)
        status = command(err, "%s %s/net.c %s/net_selftest.c -o %s/test", compiler, folder);
    if (status == ITG_OK) status = command(err, "%.0s%s/test > %s/digest.txt", compiler, folder);
    if (status == ITG_OK)
        status = command(err, "%s -shared -fPIC %s/net.c %s/shim.c -o %s/net.so", compiler, folder);
    if (status != ITG_OK) return status;
    snprintf(path, sizeof path, "%s%s/net.so", folder[0] == '/' ? "" : "./", folder);
    b->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *run = b->library != NULL ? dlsym(b->library, "bench_run") : NULL;
    if (run == NULL) return itg_fail(err, ITG_IO, "%s: it cannot be loaded", path);
    memcpy(&b->run, &run, sizeof run); /* as POSIX has it: an address of a function */
    return ITG_OK;
}

static itg_status fill(emitted *b, itg_error *err)
{
    int64_t in = 0, out = 0;
    itg_rng rng;
    if (itg_program_input_count(b->program) != 1 || itg_program_output_count(b->program) != 1)
        return itg_fail(err, ITG_UNSUPPORTED, "a program of one input and one output is expected");
    const itg_tensor x = itg_program_input(b->program, 0), y = itg_batch_output(b->batch, 0, 0);
    if (!itg_shape_elements(&x.shape, &in) || !itg_shape_elements(&y.shape, &out))
        return itg_fail(err, ITG_LIMIT, "the shapes are too large");
    b->in = calloc((size_t)in + 1, 8); /* whatever the codes' type */
    b->out = calloc((size_t)out + 1, 8);
    b->real = calloc((size_t)in + 1, sizeof *b->real);
    b->elements = in;
    if (b->in == NULL || b->out == NULL || b->real == NULL) return itg_no_memory(err);
    itg_rng_init(&rng, 1);
    for (int64_t i = 0; i < in; i++) {
        b->in[i] = (unsigned char)itg_rng_below(&rng, 64);
        b->real[i] = (float)b->in[i] / 64;
    }
    return ITG_OK;
}

static itg_status measure(emitted *b, const char *name, itg_error *err)
{
    const bench_contender contenders[] = {{run_executor, b}, {run_emitted, b}};
    bench_timing timing[2];
    itg_status status = bench_rounds(contenders, 2, 31, 20, timing, err);
    if (status != ITG_OK) return status;
    printf("%s: verified; executor %.1f us (median %.1f), C source %.1f us (median %.1f), "
           "ratio %.2f\n",
           name, timing[0].least * 1e6, timing[0].median * 1e6, timing[1].least * 1e6,
           timing[1].median * 1e6, timing[1].least / timing[0].least);
    return ITG_OK;
}

int main(int argc, char **argv)
{
    emitted b = {0};
    itg_error err = {0};
    if (argc < 3 || argc > 4) {
        fputs("usage: itg_bench_emitted PROGRAM FOLDER ['CC FLAGS']\n", stderr);
        return 2;
    }
    bench_print_header(1, 31);
    itg_status status = itg_program_open(argv[1], &b.program, &err);
    if (status == ITG_OK) status = open_executor(&b, &err);
    if (status == ITG_OK) status = build(&b, argv[2], argc > 3 ? argv[3] : "cc -std=c99 -O3", &err);
    if (status == ITG_OK) status = fill(&b, &err);
    if (status == ITG_OK) status = measure(&b, argv[1], &err);
    if (b.library != NULL) (void)dlclose(b.library);
    itg_batch_destroy(b.batch);
    itg_batch_plan_destroy(b.plan);
    itg_program_destroy(b.program);
    free(b.in);
    free(b.out);
    free(b.real);
    if (status == ITG_OK) return 0;
    fprintf(stderr, "itg_bench_emitted: %s\n", err.message);
    return 1;
}
