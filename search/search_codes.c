/* Weight codes by reconstruction (recover/recover.h) within a search.
 *
 * Exact codes of a layer depend on the widths of all layers before it: seconds for each candidate.
 * Candidates share codes instead, made once for each layer and width as if the layers before it had
 * BASE_BITS, or in later rounds (search_rounds.c) those of the best so far. A candidate's score is
 * exact for the codes that it has. Codes of the best strategy are then made for its own widths.
 *
 * Before all this, thresholds of activations are chosen, for the widest widths. */
#include "search/search.h"
#include "search/sums.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BASE_BITS 4
#define WIDE_BITS 8
#define WIDEST_BITS 5 /* codes for the inputs of narrow layers harm wide ones */

/* ---- what makes codes ---- */

#define MOST_OWN 16

/* A strategy with own codes, for who asks for it again. */
typedef struct own_codes {
    int32_t *point;
    itg_strategy *strategy;
} own_codes;

/* One call at a time. */
typedef struct itg_code_maker {
    itg_recovery recovery;
    own_codes own[MOST_OWN];
    int32_t own_count;
} itg_code_maker;

static itg_status create_maker(itg_searching *s, itg_error *err)
{
    s->maker = calloc(1, sizeof *s->maker);
    if (!s->maker) return itg_fail(err, ITG_NO_MEMORY, "no memory for codes");
    s->maker->recovery = (itg_recovery){s->model, s->hw, s->evaluator.preprocess, NULL};
    return ITG_OK;
}

void itg_search_end_codes(itg_searching *s)
{
    itg_code_maker *m = s->maker;
    s->maker = NULL;
    if (!m) return;
    for (int32_t i = 0; i < m->own_count; i++) {
        free(m->own[i].point);
        itg_strategy_destroy(m->own[i].strategy);
    }
    itg_recovery_deinit(&m->recovery);
    free(m);
}

static size_t point_bytes(const itg_searching *s)
{
    return sizeof(int32_t) * (size_t)s->evaluator.points->space.dim_count;
}

/* NULL: not made yet. */
static const itg_strategy *find_own(const itg_searching *s, const int32_t *point)
{
    const itg_code_maker *m = s->maker;
    for (int32_t i = 0; i < m->own_count; i++)
        if (memcmp(m->own[i].point, point, point_bytes(s)) == 0) return m->own[i].strategy;
    return NULL;
}

/* Where there is no room, or no memory, it is made again. */
static void keep_own(const itg_searching *s, const int32_t *point, const itg_strategy *made)
{
    itg_code_maker *m = s->maker;
    if (m->own_count == MOST_OWN) return;
    own_codes *own = &m->own[m->own_count];
    own->point = malloc(point_bytes(s) + 1);
    if (own->point && itg_strategy_clone(made, &own->strategy, NULL) == ITG_OK) {
        memcpy(own->point, point, point_bytes(s));
        m->own_count++;
    } else {
        free(own->point);
    }
}

/* Widths that trials may have; with `bits` of the groups, no wider ones. */
static void list_widths(const itg_choice_space *groups, const int32_t *bits, uint32_t *widths)
{
    for (int32_t e = 0; e < groups->edge_count; e++) {
        int32_t group = groups->edge_group[e];
        const itg_choice_group *g = group >= 0 ? &groups->groups[group] : NULL;
        for (int32_t k = 0; g && g->is_weight && k < g->bits_count; k++)
            if (g->bits[k] <= WIDEST_BITS && (!bits || g->bits[k] <= bits[group]))
                widths[e] |= UINT32_C(1) << g->bits[k];
    }
}

/* Widths and methods of the groups that codes are made for. */
typedef struct base {
    int32_t *bits;
    itg_threshold_method *methods;
    int32_t *passed_over;
    uint32_t *widths; /* of the edges: itg_recover_table */
} base;

static void free_base(base *b)
{
    free(b->bits);
    free(b->methods);
    free(b->passed_over);
    free(b->widths);
}

static itg_status create_base(const itg_choice_space *groups, base *b, itg_error *err)
{
    size_t count = (size_t)groups->group_count + 1;
    b->bits = calloc(count, sizeof *b->bits);
    b->methods = calloc(count, sizeof *b->methods);
    b->passed_over = calloc(count, sizeof *b->passed_over);
    b->widths = calloc((size_t)groups->edge_count + 1, sizeof *b->widths);
    return b->bits && b->methods && b->passed_over && b->widths
               ? ITG_OK
               : itg_fail(err, ITG_NO_MEMORY, "no memory for the widths of a strategy");
}

static itg_recover_options options_of(const itg_searching *s)
{
    const itg_search_hooks *h = s->hooks;
    return (itg_recover_options){.version = ITG_RECOVER_OPTIONS_VERSION,
                                 .mode = s->options->recover,
                                 .data = s->calibration,
                                 .threads = s->options->threads,
                                 .stop = s->evaluator.stop,
                                 .progress = h ? h->codes : NULL,
                                 .context = h ? h->context : NULL};
}

static void note(const itg_searching *s, const char *text)
{
    const itg_search_hooks *h = s->hooks;
    if (h && h->note) h->note(h->context, text);
}

static itg_status fit(const itg_searching *s, itg_strategy *strategy, itg_error *err)
{
    return itg_fit_sums(s->model, s->hw, &s->evaluator.constants, strategy, err);
}

/* On the search samples. *distance INFINITY: the hardware cannot run it. */
static itg_status measure(const itg_searching *s, const itg_strategy *strategy, itg_score *score,
                          double *distance, itg_error *err)
{
    itg_evaluator with = s->evaluator;
    const itg_scoring scoring = {.set = &s->sets[0], .threads = s->options->threads};
    *score = itg_score_unknown();
    *distance = INFINITY;
    with.measures[ITG_METRIC_KL] = true;
    itg_status status = itg_evaluator_score_strategy(&with, strategy, &scoring, score, err);
    if (status == ITG_INFEASIBLE || status == ITG_UNBOUNDED) return ITG_OK;
    *distance = itg_score_distance(score);
    if (!s->evaluator.measures[ITG_METRIC_KL]) score->value[ITG_METRIC_KL] = (double)NAN;
    return status;
}

/* Sets activations as wide as they may be, and the first methods. */
static void set_uniform(const itg_point_space *points, int32_t weight_bits, base *b)
{
    itg_uniform_bits(points->groups, weight_bits, 32, b->bits);
    itg_uniform_methods(points->groups, points->weight_methods[0], points->activation_methods[0],
                        b->methods);
}

/* ---- thresholds of activations ---- */

static itg_status take_ranges(const itg_searching *s, const itg_strategy *made, itg_error *err)
{
    const itg_choice_space *groups = s->evaluator.points->groups;
    itg_status status = ITG_OK;
    for (int32_t e = 0; e < made->edge_count && status == ITG_OK; e++) {
        const int32_t group = groups->edge_group[e];
        if (group >= 0 && !groups->groups[group].is_weight)
            status = itg_threshold_cache_set(s->evaluator.cache, e, &made->edges[e], err);
    }
    return status;
}

static itg_status choose_ranges(const itg_searching *s, const base *b, itg_error *err)
{
    const itg_recover_options options = options_of(s);
    itg_strategy *widest = NULL;
    bool changed = false;
    itg_status status =
        itg_strategy_resolve(s->evaluator.cache, b->bits, b->methods, b->passed_over, &widest, err);
    if (status == ITG_OK) status = fit(s, widest, err);
    if (status == ITG_OK)
        status = itg_recover_ranges(&s->maker->recovery, &options, widest, &changed, err);
    if (status == ITG_OK && changed) status = take_ranges(s, widest, err);
    itg_strategy_destroy(widest);
    return status;
}

itg_status itg_search_begin_codes(itg_searching *s, itg_error *err)
{
    const itg_point_space *points = s->evaluator.points;
    base b = {0};
    itg_status status = create_maker(s, err);
    if (status == ITG_OK) status = create_base(points->groups, &b, err);
    if (status == ITG_OK) {
        set_uniform(points, WIDE_BITS, &b);
        status = choose_ranges(s, &b, err);
    }
    free_base(&b);
    return status == ITG_INFEASIBLE || status == ITG_UNBOUNDED ? ITG_OK : status;
}

/* ---- strategies ---- */

bool itg_search_tunes(const itg_searching *s)
{
    const itg_recover_options options = options_of(s);
    return itg_recover_tunes(s->model, &options);
}

/* Codes for the strategy's own widths. */
static itg_status recover(const itg_searching *s, const itg_recover_options *options,
                          itg_strategy *strategy, itg_error *err)
{
    itg_status status = itg_recover(&s->maker->recovery, options, strategy, err);
    return status == ITG_OK ? fit(s, strategy, err) : status;
}

/* Without progress, which only the search's own thread shows. */
static itg_status make_own(const itg_searching *s, const int32_t *point, itg_strategy *made,
                           itg_error *err)
{
    itg_recover_options options = options_of(s);
    options.progress = NULL;
    itg_status status = recover(s, &options, made, err);
    if (status == ITG_OK) keep_own(s, point, made);
    return status;
}

itg_status itg_search_resolve(const itg_searching *s, int32_t round, const int32_t *point,
                              itg_strategy **out, itg_error *err)
{
    const itg_strategy *known = round == ITG_ROUND_OWN ? find_own(s, point) : NULL;
    if (known) return itg_strategy_clone(known, out, err);
    itg_evaluator with = s->evaluator;
    itg_strategy *made = NULL;
    with.recovered = s->codes[round];
    itg_status status = itg_evaluator_resolve(&with, point, &made, err);
    if (status == ITG_OK && round == ITG_ROUND_OWN) status = make_own(s, point, made, err);
    if (status == ITG_OK)
        *out = made;
    else
        itg_strategy_destroy(made);
    return status;
}

/* ---- tables of codes ---- */

/* Drops the codes if they bring the outputs no nearer to the float network's on the search samples.
 */
static itg_status compare(itg_searching *s, int32_t round, itg_strategy *strategy, itg_error *err)
{
    itg_score score;
    double nearest = 0, made = 0;
    itg_status status = measure(s, strategy, &score, &nearest, err);
    if (status == ITG_OK) status = itg_recovered_apply(s->codes[round], strategy, err);
    if (status == ITG_OK) status = fit(s, strategy, err);
    if (status == ITG_OK) status = measure(s, strategy, &score, &made, err);
    if (status != ITG_OK || made < nearest || nearest == INFINITY) return status;
    itg_recovered_destroy(s->codes[round]);
    s->codes[round] = NULL;
    s->no_codes = true;
    note(s,
         "chosen codes of weights bring the outputs no nearer to the float network's: the search "
         "takes the nearest codes");
    return ITG_OK;
}

static itg_status make_table(itg_searching *s, int32_t round, const base *b, itg_error *err)
{
    const itg_recover_options options = options_of(s);
    itg_strategy *strategy = NULL;
    itg_status status = itg_strategy_resolve(s->evaluator.cache, b->bits, b->methods,
                                             b->passed_over, &strategy, err);
    if (status == ITG_OK) status = fit(s, strategy, err);
    if (status == ITG_OK)
        status = itg_recover_table(&s->maker->recovery, &options, strategy, b->widths,
                                   &s->codes[round], err);
    if (status == ITG_OK && round == 0 && options.mode == ITG_RECOVER_AUTO)
        status = compare(s, round, strategy, err);
    itg_strategy_destroy(strategy);
    return status;
}

/* The hardware may not run all widths together. */
static itg_status make_uniform_table(itg_searching *s, base *b, itg_error *err)
{
    static const int32_t bases[] = {BASE_BITS, 8, 32};
    const itg_point_space *points = s->evaluator.points;
    itg_status status = ITG_INFEASIBLE;
    for (size_t i = 0; i < sizeof bases / sizeof *bases && status == ITG_INFEASIBLE; i++) {
        set_uniform(points, bases[i], b);
        status = make_table(s, 0, b, err);
    }
    if (status == ITG_INFEASIBLE)
        note(s, "the hardware runs no uniform widths to reconstruct codes for: the "
                "trials have the nearest codes, and the best one's are reconstructed");
    return status;
}

itg_status itg_search_make_codes(itg_searching *s, int32_t round, const int32_t *point,
                                 itg_error *err)
{
    const itg_point_space *points = s->evaluator.points;
    base b = {0};
    itg_status status = create_base(points->groups, &b, err);
    if (status == ITG_OK && point)
        itg_point_space_apply(points, point, b.bits, b.methods, b.passed_over);
    if (status == ITG_OK) {
        list_widths(points->groups, point ? b.bits : NULL, b.widths);
        status = point ? make_table(s, round, &b, err) : make_uniform_table(s, &b, err);
    }
    free_base(&b);
    if (status != ITG_OK && status != ITG_INFEASIBLE) return status;
    s->evaluator.recovered = s->codes[round];
    return ITG_OK;
}

itg_status itg_search_refine_codes(const itg_searching *s, itg_strategy **strategy, itg_trial *best,
                                   itg_error *err)
{
    const itg_recover_options options = options_of(s);
    itg_strategy *made = NULL;
    itg_trial refined = *best;
    itg_score score;
    double before = 0, distance = INFINITY;
    itg_engine_result *const run = &s->result->run;
    bool passed = true;
    itg_status status = itg_strategy_clone(*strategy, &made, err);
    if (status == ITG_OK) status = recover(s, &options, made, err);
    if (status == ITG_OK) status = measure(s, *strategy, &score, &before, err);
    if (status == ITG_OK) status = measure(s, made, &refined.score, &distance, err);
    const bool met = itg_objective_meets(&s->objective, best),
               meets = status == ITG_OK && itg_objective_meets(&s->objective, &refined);
    const bool takes =
        status == ITG_OK && distance < INFINITY && (met == meets ? distance < before : meets);
    if (takes && meets) status = itg_search_try_selected(s, made, &passed, err);
    if (status == ITG_OK && takes && (passed || !run->goal_met)) {
        run->goal_met = run->goal_met || (meets && passed);
        itg_strategy *chosen = made;
        made = *strategy;
        *strategy = chosen;
        best->score = refined.score;
    }
    itg_strategy_destroy(made);
    return status == ITG_CANCELLED || status == ITG_INFEASIBLE || status == ITG_UNBOUNDED ? ITG_OK
                                                                                          : status;
}
