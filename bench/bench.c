/* itg_bench: its options, and what is measured without any. */
#include "bench/bench.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: itg_bench [--repeats N] [--threads N] [--limit N] [--only TEXT]\n"
    "       itg_bench [...] --conv CHANNELS,SIZE,FILTERS,KERNEL,STRIDE,GROUP\n"
    "       itg_bench [...] --network MODEL STRATEGY DATA\n"
    "\n"
    "Verifies results, then times them. Without --conv and --network: a list of convolutions, and "
    "the\n"
    "embedded example on both integer targets (found from the source tree's root).\n"
    "\n"
    "  --repeats N   measurements of each (1..101, default 9)\n"
    "  --threads N   of networks (1..256, default 1); a convolution runs on one\n"
    "  --limit N     samples of a network (default 500)\n"
    "  --only TEXT   only what has TEXT in its name\n";

/* channels, size, filters, kernel, stride, group */
static const bench_geometry geometries[] = {
    {"first", 3, 32, 16, 3, 1, 1},       {"resnet-16", 16, 32, 16, 3, 1, 1},
    {"resnet-32", 32, 16, 32, 3, 1, 1},  {"resnet-64", 64, 8, 64, 3, 1, 1},
    {"strided", 32, 32, 64, 3, 2, 1},    {"pointwise", 64, 16, 128, 1, 1, 1},
    {"depthwise", 96, 16, 96, 3, 1, 96}, {"five", 16, 28, 32, 5, 1, 1},
    {"dense", 1024, 1, 256, 1, 1, 1},
};

static const bench_network embedded = {.model = "examples/digits.onnx",
                                       .data = "examples/digits_test_images.npy",
                                       .calibration = "examples/digits_search_images.npy",
                                       .scale = 1.0f / 255.0f};
static const char *const targets[] = {"x86-vnni", "cortex-m"};

typedef struct options {
    int repeats, threads;
    int64_t limit;
    const char *only;
    const char *conv;
    char **network; /* MODEL STRATEGY DATA */
} options;

static bool read_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end = NULL;
    long long value = text ? strtoll(text, &end, 10) : 0;
    if (!text || end == text || *end || value < min || value > max) return false;
    *out = value;
    return true;
}

/* Words that the option at argv takes, itself included; 0: it is none, or its value is wrong. */
static int read_option(int count, char **argv, options *o)
{
    const char *name = argv[0], *value = count > 1 ? argv[1] : NULL;
    int64_t number = 0;
    if (strcmp(name, "--repeats") == 0 && read_number(value, 1, BENCH_MAX_REPEATS, &number))
        o->repeats = (int)number;
    else if (strcmp(name, "--threads") == 0 && read_number(value, 1, 256, &number))
        o->threads = (int)number;
    else if (strcmp(name, "--limit") == 0 && read_number(value, 1, INT64_MAX, &number))
        o->limit = number;
    else if (strcmp(name, "--only") == 0 && value)
        o->only = value;
    else if (strcmp(name, "--conv") == 0 && value)
        o->conv = value;
    else if (strcmp(name, "--network") == 0 && count > 3)
        o->network = argv + 1;
    else
        return 0;
    return o->network == argv + 1 ? 4 : 2;
}

static bool read_options(int argc, char **argv, options *o)
{
    for (int i = 1, words; i < argc; i += words) {
        words = read_option(argc - i, argv + i, o);
        if (words == 0) return false;
    }
    return true;
}

/* Six numbers that make a convolution. */
static bool read_geometry(const char *text, bench_geometry *g)
{
    long long v[6];
    char rest;
    if (sscanf(text, "%lld,%lld,%lld,%lld,%lld,%lld%c", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5],
               &rest) != 6)
        return false;
    for (int i = 0; i < 6; i++)
        if (v[i] < 1 || v[i] > 4096) return false;
    *g = (bench_geometry){text, v[0], v[1], v[2], v[3], v[4], v[5]};
    return v[0] % v[5] == 0 && v[2] % v[5] == 0 && v[1] + 2 * (v[3] / 2) >= v[3] && v[1] <= 1024 &&
           v[3] <= 31;
}

static bool wanted(const options *o, const char *name)
{
    return !o->only || strstr(name, o->only);
}

static itg_status run_network(const options *o, bench_network network, itg_error *err)
{
    network.limit = o->limit;
    network.threads = o->threads;
    network.repeats = o->repeats;
    return bench_network_run(&network, err);
}

static itg_status run_all(const options *o, itg_error *err)
{
    itg_status status = ITG_OK;
    for (size_t i = 0; i < sizeof geometries / sizeof *geometries && status == ITG_OK; i++)
        if (wanted(o, geometries[i].name)) status = bench_conv(&geometries[i], o->repeats, err);
    for (size_t i = 0; i < sizeof targets / sizeof *targets && status == ITG_OK; i++) {
        bench_network network = embedded;
        network.hardware = targets[i];
        if (wanted(o, "digits")) status = run_network(o, network, err);
    }
    return status;
}

int main(int argc, char **argv)
{
    options o = {.repeats = 9, .threads = 1, .limit = 500};
    bench_geometry geometry = {0};
    itg_error err = {0};
    itg_status status = ITG_OK;
    itg_parallel_be_passive(argc, argv);
    if (!read_options(argc, argv, &o) || (o.conv && !read_geometry(o.conv, &geometry))) {
        fputs(usage, stderr);
        return 2;
    }
    bench_print_header(o.threads, o.repeats);
    if (o.conv) status = bench_conv(&geometry, o.repeats, &err);
    if (o.network && status == ITG_OK)
        status = run_network(
            &o,
            (bench_network){.model = o.network[0], .strategy = o.network[1], .data = o.network[2]},
            &err);
    if (!o.conv && !o.network) status = run_all(&o, &err);
    if (status == ITG_OK) return 0;
    fprintf(stderr, "itg_bench: %s\n", err.message);
    return 1;
}
