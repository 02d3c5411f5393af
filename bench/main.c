/* itg_bench: its options, and the run. */
#include "cli/passive.h"
#include "bench/bench.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] =
    "usage: itg_bench [--quick] [--python PROGRAM] [--folder FOLDER] [--write FILE]\n"
    "                 [--only TEXT] [--part NAME]... [--samples N] [--threads N]\n"
    "                 [--rounds N] [--seconds S]\n"
    "\n"
    "Verifies results, then times them, each as a ratio to a peer in the same run. Run from the\n"
    "source tree's root; scripts/bench.sh prepares everything. bench/README.md says what each\n"
    "figure means. Exit status 1: something was wrong (a goal that is not met is not).\n"
    "\n"
    "  --quick           small networks, few samples, no goals of absolute speed: about a minute\n"
    "  --python PROGRAM  a Python with onnx and onnxruntime: the peer\n"
    "  --folder FOLDER   where made models lie and temporary files go (default build/bench)\n"
    "  --write FILE      the table as Markdown, too\n"
    "  --only TEXT       only networks with TEXT in their name\n"
    "  --part NAME       candidate, greedy, graph or calibration; may be repeated (default: all)\n"
    "  --samples N       of every network (4..100000, default: as bench/networks.c says)\n"
    "  --threads N       where more than one is used (1..256, default: the machine's)\n"
    "  --rounds N        of a comparison, at most (1..101, default 9)\n"
    "  --seconds S       of a comparison, about (1..600, default 6)\n";

typedef struct part {
    const char *name;
    itg_status (*run)(bench_subject *s, itg_error *err);
} part;

static const part parts[] = {{"candidate", bench_candidate},
                             {"greedy", bench_greedy},
                             {"graph", bench_graph},
                             {"calibration", bench_calibration}};
enum { PARTS = sizeof parts / sizeof *parts };

typedef struct command {
    bench_options options;
    const char *write, *calibrate; /* calibrate: the network of a process of its own */
    const char *kernels;
    int64_t samples;
} command;

static bool read_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end = NULL;
    long long value = text ? strtoll(text, &end, 10) : 0;
    if (!text || end == text || *end || value < min || value > max) return false;
    *out = value;
    return true;
}

static bool read_part(const char *name, unsigned *out)
{
    for (unsigned i = 0; i < PARTS; i++) {
        if (strcmp(parts[i].name, name) != 0) continue;
        *out |= 1u << i;
        return true;
    }
    return false;
}

/* Words that the option at argv takes, itself included; 0: it is none, or its value is wrong. */
static int read_option(int count, char **argv, command *c)
{
    bench_options *o = &c->options;
    const char *name = argv[0], *value = count > 1 ? argv[1] : NULL;
    int64_t number = 0;
    if (strcmp(name, "--quick") == 0) {
        o->quick = true;
        return 1;
    }
    if (!value) return 0;
    if (strcmp(name, "--python") == 0)
        o->python = value;
    else if (strcmp(name, "--folder") == 0)
        o->folder = value;
    else if (strcmp(name, "--write") == 0)
        c->write = value;
    else if (strcmp(name, "--only") == 0)
        o->only = value;
    else if (strcmp(name, "--samples") == 0 && read_number(value, 4, 100000, &number))
        o->samples = number;
    else if (strcmp(name, "--threads") == 0 && read_number(value, 1, 256, &number))
        o->threads = (int)number;
    else if (strcmp(name, "--rounds") == 0 && read_number(value, 1, BENCH_MAX_REPEATS, &number))
        o->rounds = (int)number;
    else if (strcmp(name, "--seconds") == 0 && read_number(value, 1, 600, &number))
        o->seconds = (double)number;
    else if (strcmp(name, "--calibrate") == 0 && count > 3 &&
             read_number(argv[2], 1, 100000, &c->samples)) {
        c->calibrate = value;
        c->kernels = argv[3];
        return 4;
    } else if (strcmp(name, "--part") != 0 || !read_part(value, &o->parts))
        return 0;
    return 2;
}

static bool read_options(int argc, char **argv, command *c)
{
    for (int i = 1, words; i < argc; i += words) {
        words = read_option(argc - i, argv + i, c);
        if (words == 0) return false;
    }
    if (c->options.parts == 0) c->options.parts = (1u << PARTS) - 1;
    if (c->options.quick && c->options.rounds == 0) c->options.rounds = 3;
    if (c->options.quick && !(c->options.seconds > 0)) c->options.seconds = 1;
    if (c->options.rounds == 0) c->options.rounds = 9;
    if (!(c->options.seconds > 0)) c->options.seconds = 6;
    return true;
}

/* What is not there is a remark; what is wrong or fails becomes a row, and ends this network alone.
 */
static void run_network(const bench_options *options, const bench_network *network,
                        bench_peer *peer, bench_table *table)
{
    bench_subject s = {.network = network, .options = options, .table = table, .peer = peer};
    itg_error err = {0};
    char missing[512];
    if (!bench_subject_present(&s, missing, sizeof missing)) {
        bench_remark(table, "%s: left out: %s is not there", network->name, missing);
        return;
    }
    itg_status status = bench_subject_open(&s, &err);
    for (int i = 0; i < PARTS && status == ITG_OK; i++)
        if (options->parts & 1u << i) status = parts[i].run(&s, &err);
    bench_subject_close(&s);
    if (status != ITG_OK)
        bench_add(table,
                  &(bench_row){.what = network->name, .verified = err.message, .failed = true});
}

static itg_status make_folder(const char *path, itg_error *err)
{
    struct stat is;
    if (mkdir(path, 0777) == 0 || errno == EEXIST) errno = 0;
    if (stat(path, &is) == 0 && S_ISDIR(is.st_mode)) return ITG_OK;
    return itg_fail(err, ITG_IO, "%s: cannot make this folder", path);
}

static itg_status run(const command *c, bench_table *table, itg_error *err)
{
    const bench_options *o = &c->options;
    const bench_network *network;
    bench_peer *peer = NULL;
    itg_status status = make_folder(o->folder, err);
    if (status == ITG_OK) status = bench_peer_start(o->python, o->folder, &peer, err);
    if (status == ITG_OK) printf("peer: %s\n\n", bench_peer_name(peer));
    for (int i = 0; status == ITG_OK && (network = bench_network_at(i)) != NULL; i++) {
        bool wanted = !o->only || strstr(network->name, o->only);
        if (wanted && (!o->quick || network->quick)) run_network(o, network, peer, table);
    }
    bench_peer_end(peer);
    if (status == ITG_OK && c->write) status = bench_write_table(table, c->write, err);
    return status;
}

int main(int argc, char **argv)
{
    command c = {.options = {.folder = "build/bench", .program = argv[0]}};
    bench_table table = {0};
    itg_error err = {0};
    itg_be_passive(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (!read_options(argc, argv, &c)) {
        fputs(usage, stderr);
        return 2;
    }
    c.options.threads = itg_thread_count(c.options.threads);
    if (c.calibrate) return bench_calibrate_alone(&c.options, c.calibrate, c.samples, c.kernels);
    bench_print_header(c.options.threads, c.options.rounds);
    itg_status status = run(&c, &table, &err);
    printf("\n%d figures, %d failures\n", table.count, table.failed);
    itg_strbuf_deinit(&table.rows);
    if (status != ITG_OK) fprintf(stderr, "itg_bench: %s\n", err.message);
    return status == ITG_OK && table.failed == 0 && table.count > 0 ? 0 : 1;
}
