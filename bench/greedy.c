/* The mean candidate of a real greedy search: what reuse and racing save, each alone. */
#include "bench/bench.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define REUSE_BYTES ((int64_t)256 << 20) /* what intaglio search keeps unless told otherwise */
enum { HOLDOUT = 4, WAYS = 4, MOST_SEARCHES = 3 };

/* ---- one search ---- */

typedef struct way {
    const char *name;
    bool reuse, racing;
} way;

static const way ways[WAYS] = {
    {"neither reuse nor racing", false, false},
    {"reuse", true, false},
    {"racing", false, true},
    {"reuse and racing", true, true},
};

/* What a search did. */
typedef struct tally {
    int threads;
    atomic_int clock_calls;
    double begun, ended; /* of its trials */
    int64_t trials, duplicates, raced, infeasible;
    itg_sha256 asked, got; /* points and digests of outputs, in order */
    unsigned char points[32], outputs[32], best[32];
    int64_t best_trial;
} tally;

static int64_t candidates(const tally *t)
{
    return t->trials - t->duplicates;
}

/* The search asks first when it begins, and then when its first trial does. */
static double clock_of(void *context)
{
    tally *t = context;
    double now = bench_clock(t->threads);
    if (atomic_fetch_add(&t->clock_calls, 1) == 1) t->begun = now;
    return now;
}

static itg_status take_trial(void *context, const itg_trial *trial, itg_error *err)
{
    tally *t = context;
    (void)err;
    t->ended = bench_clock(t->threads);
    t->trials++;
    t->duplicates += trial->duplicate;
    t->raced += !trial->duplicate && trial->score.stopped_at > 0;
    t->infeasible += !trial->feasible;
    itg_sha256_update(&t->asked, trial->point, sizeof *trial->point * (size_t)trial->dim_count);
    itg_sha256_update(&t->got, trial->score.digest, sizeof trial->score.digest);
    return ITG_OK;
}

typedef struct searching {
    bench_subject *s;
    itg_dataset *data, *holdout, *labels, *holdout_labels; /* of labels NULL: none */
} searching;

static itg_status load(searching *g, itg_error *err)
{
    const bench_network *n = g->s->network;
    int64_t count = bench_subject_samples(g->s) + g->s->calibration->shape.dims[0];
    itg_status status = itg_data_open(n->data, count, &g->data, err);
    if (status == ITG_OK) status = itg_data_open(n->data, HOLDOUT, &g->holdout, err);
    if (status != ITG_OK || !n->labels) return status;
    status = itg_data_open(n->labels, count, &g->labels, err);
    if (status != ITG_OK) return status;
    return itg_data_open(n->labels, HOLDOUT, &g->holdout_labels, err);
}

static void unload(searching *g)
{
    itg_data_close(g->data);
    itg_data_close(g->holdout);
    itg_data_close(g->labels);
    itg_data_close(g->holdout_labels);
}

static itg_search_options options_of(const searching *g, const way *w, int threads)
{
    const bench_subject *s = g->s;
    int64_t trials = s->options->quick ? 24 : s->network->trials;
    itg_search_options o = {
        ITG_SEARCH_OPTIONS_VERSION,
        .searcher = "greedy",
        .goal = {.constraints = {{ITG_METRIC_ACCURACY, s->network->max_drop, true}},
                 .constraint_count = 1},
        .trials = trials,
        .recover = ITG_RECOVER_NONE, /* its time is not a candidate's */
        .seed = 1,
        .threads = threads,
        .calibration_samples = s->calibration->shape.dims[0],
        .search_samples = bench_subject_samples(s),
        .no_racing = !w->racing,
        .cache_bytes = w->reuse ? REUSE_BYTES : 0};
    return o;
}

static itg_status search(const searching *g, const way *w, int threads, tally *t, itg_error *err)
{
    const bench_subject *s = g->s;
    itg_search_options options = options_of(g, w, threads);
    itg_search_hooks hooks = {ITG_SEARCH_HOOKS_VERSION, .context = t, .clock = clock_of,
                              .trial = take_trial};
    itg_search_data data = {g->data, g->labels, g->holdout, g->holdout_labels};
    itg_search_result *result = NULL;
    *t = (tally){.threads = threads, .best_trial = -1};
    itg_sha256_init(&t->asked);
    itg_sha256_init(&t->got);
    itg_status status =
        itg_search(s->model, s->hw, &s->preprocess, &data, &options, &hooks, &result, err);
    itg_sha256_final(&t->asked, t->points);
    itg_sha256_final(&t->got, t->outputs);
    if (status != ITG_OK) return status;
    const itg_trial *best = itg_search_best(result);
    if (best) {
        t->best_trial = best->index;
        memcpy(t->best, best->score.digest, sizeof t->best);
    }
    itg_search_result_destroy(result);
    return candidates(t) > 0
               ? ITG_OK
               : itg_fail(err, ITG_FAILURE, "%s: a search without a trial", s->network->name);
}

/* Racing says less of a trial that it stopped; what is asked for and found is the same. */
static itg_status compare(const bench_subject *s, const way *w, const tally *first, const tally *t,
                          itg_error *err)
{
    bool same = t->trials == first->trials && t->best_trial == first->best_trial &&
                memcmp(t->best, first->best, sizeof t->best) == 0 &&
                memcmp(t->points, first->points, sizeof t->points) == 0 &&
                (w->racing || memcmp(t->outputs, first->outputs, sizeof t->outputs) == 0);
    return same ? ITG_OK
                : itg_fail(err, ITG_MISMATCH, "%s: the search with %s finds something else",
                           s->network->name, w->name);
}

/* ---- the comparison ---- */

typedef struct times {
    tally tally; /* of the last search */
    double least, sum;
    int count;
} times;

/* One pass of the peer; *least: the least seconds of all so far, 0: none. */
static itg_status pass_once(bench_session *peer, double *least, itg_error *err)
{
    bench_contender pass = bench_session_contender(peer);
    double seconds = 0;
    itg_status status = pass.run ? pass.run(pass.context, 1, &seconds, err) : ITG_OK;
    if (seconds > 0 && (!(*least > 0) || seconds < *least)) *least = seconds;
    return status;
}

static double mean_seconds(const tally *t)
{
    return (t->ended - t->begun) / (double)candidates(t);
}

static itg_status search_way(const searching *g, int index, times *each, itg_error *err)
{
    times *t = &each[index];
    itg_status status = search(g, &ways[index], 1, &t->tally, err);
    if (status == ITG_OK) status = compare(g->s, &ways[index], &each[0].tally, &t->tally, err);
    if (status != ITG_OK) return status;
    double seconds = mean_seconds(&t->tally);
    if (t->count == 0 || seconds < t->least) t->least = seconds;
    t->sum += seconds;
    t->count++;
    return ITG_OK;
}

/* Every way after the other, the peer's pass before each; the peer's least seconds into *peer. */
static itg_status search_all(const searching *g, times *each, double *peer, itg_error *err)
{
    const bench_options *o = g->s->options;
    itg_status status = ITG_OK;
    double begun = bench_now();
    for (int r = 0; r < (o->quick ? 1 : MOST_SEARCHES) && status == ITG_OK; r++) {
        if (r > 0 && bench_now() - begun > 4 * o->seconds) break;
        for (int i = 0; i < WAYS && status == ITG_OK; i++) {
            status = pass_once(&g->s->fp32, peer, err);
            if (status == ITG_OK) status = search_way(g, i, each, err);
        }
    }
    return status;
}

/* w: what it was compared with the first way as; NULL: it is the first. */
static void describe(const tally *t, const way *w, char *out, size_t size)
{
    const char *same = !w          ? ""
                       : w->racing ? ", the same points and the same best as with neither"
                                   : ", points and outputs the same as with neither";
    snprintf(out, size,
             "%lld trials%s; duplicates (not counted): %lld, stopped early: %lld, infeasible: %lld",
             (long long)t->trials, same, (long long)t->duplicates, (long long)t->raced,
             (long long)t->infeasible);
}

static void add_ways(const bench_subject *s, const times *each, double peer)
{
    for (int i = 0; i < WAYS; i++) {
        char what[160], verified[192];
        bool reuse_alone = ways[i].reuse && !ways[i].racing;
        snprintf(what, sizeof what, "(b) %s: greedy's mean candidate, %lld samples, 1 thread, %s",
                 s->network->name, (long long)bench_subject_samples(s), ways[i].name);
        describe(&each[i].tally, i == 0 ? NULL : &ways[i], verified, sizeof verified);
        bench_add(s->table,
                  &(bench_row){.what = what,
                               .peer_name = s->fp32.name,
                               .verified = verified,
                               .unit = BENCH_SECONDS,
                               .ours = each[i].least,
                               .ours_median = each[i].sum / each[i].count,
                               .peer = peer,
                               .least_ratio = reuse_alone ? s->network->greedy_ratio : 0});
    }
}

/* The search with reuse on all threads, least seconds of a candidate. */
static itg_status search_threads(const searching *g, const tally *first, bench_session *peer,
                                 tally *t, double least[2], itg_error *err)
{
    const bench_options *o = g->s->options;
    itg_status status = ITG_OK;
    double begun = bench_now();
    for (int r = 0; r < (o->quick ? 1 : MOST_SEARCHES) && status == ITG_OK; r++) {
        if (r > 0 && bench_now() - begun > o->seconds) break;
        status = pass_once(peer, &least[1], err);
        if (status == ITG_OK) status = search(g, &ways[1], o->threads, t, err);
        if (status == ITG_OK) status = compare(g->s, &ways[1], first, t, err);
        if (status == ITG_OK && (r == 0 || mean_seconds(t) < least[0])) least[0] = mean_seconds(t);
    }
    return status;
}

static itg_status measure_rate(const searching *g, const tally *first, itg_error *err)
{
    bench_subject *s = g->s;
    itg_shape shape = bench_subject_shape(s);
    bench_session peer;
    double least[2] = {0, 0};
    tally t;
    itg_status status = bench_session_open(s->peer, "fp32", s->model_path, s->real_path, &shape,
                                           s->options->threads, &peer, err);
    if (status == ITG_OK) status = search_threads(g, first, &peer, &t, least, err);
    bench_session_close(&peer);
    if (status != ITG_OK) return status;
    char what[160], verified[192];
    snprintf(what, sizeof what,
             "(d) %s: candidates of a greedy search with reuse, %lld samples, "
             "%d threads",
             s->network->name, (long long)bench_subject_samples(s), s->options->threads);
    describe(&t, &ways[1], verified, sizeof verified);
    bench_add(s->table,
              &(bench_row){.what = what,
                           .peer_name = peer.name,
                           .verified = verified,
                           .unit = BENCH_PER_SECOND,
                           .ours = 1 / least[0],
                           .peer = least[1] > 0 ? 1 / least[1] : 0,
                           .least_ours = s->options->quick ? 0 : s->network->greedy_rate});
    return ITG_OK;
}

itg_status bench_greedy(bench_subject *s, itg_error *err)
{
    searching g = {.s = s};
    times each[WAYS];
    double peer = 0;
    memset(each, 0, sizeof each);
    itg_status status = load(&g, err);
    if (status == ITG_OK) status = search_all(&g, each, &peer, err);
    if (status == ITG_OK) {
        add_ways(s, each, peer);
        status = measure_rate(&g, &each[0].tally, err);
    }
    unload(&g);
    return status;
}
