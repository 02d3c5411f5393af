/* A model of what widths lose, learned from all points that were told, proposes the next ones.
 *
 * The model: what is lost (distortion, as allocate has it) is a sum over the widths. A width's term
 * is a mixture, not negative, of two functions of the bits that are missing, one that grows by SLOW
 * and one that grows by FAST for each bit (by theory 4), and a deviation from it of each level.
 * These numbers are fitted by least squares with a prior that all widths are alike and deviations
 * small (ridge regression, by coordinates), so that points of any kind teach it: no width has to be
 * measured alone. Errors count as shares of what is lost, as what lies at the floor matters most.
 * Threshold methods stay as they begin.
 *
 * The next points are the knapsack's best choices by the model (allocate_solve.c), for what may be
 * lost: one by the model that fits best, the others by models that might as well be true. These are
 * fits to the same points with random weights (the exponential distribution: a Bayesian bootstrap)
 * and a random prior: Thompson sampling (Thompson 1933; Eckles, Kaptein 2014, Thompson sampling
 * with the online bootstrap). As the best by a model is what it is most wrong about, the share of
 * what may be lost that is aimed at falls with each point that is not good, and rises with each
 * that is. Before, points on the diagonal find out where the floor is. Trials of earlier searches
 * (options.past) are points like others for the model, and say where the floor is until this
 * search's own do; they stand for no trial of this one.
 *
 * It ends where nothing new is proposed, or after `patience` answers without a better point. */
#include "kernels/math.h"
#include "search/allocate_state.h"
#include "search/points.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 4
#define SLOW 2.0
#define FAST 5.0
#define UNIT_BITS 4   /* missing: where both functions are 1 */
#define PASSES 8      /* passes over all points to learn the use of limits */
#define ATTEMPTS 4    /* attempts to propose a new point */
#define SWEEPS 60     /* sweeps over the coordinates */
#define RELATIVE 0.1  /* standard deviation of a loss, as a share of it */
#define ABSOLUTE 0.05 /* the same, as a share of the allowed loss */
#define PRIOR 1.0     /* standard deviation of a width's numbers, as a share of their mean */
#define DEVIATION                                                                                  \
    0.3 /* standard deviation of a level's deviation, as a share of its predicted loss */
#define LEAST_WEIGHT 0.02
#define RAISE 1.02 /* of the aim */
#define LOWER 0.97
#define LEAST_AIM 0.3
#define NEARLY_USED 0.95
#define MOST_AIM 1.5
#define LEARNS 0.15 /* the noise, from each answer */
#define LEAST_NOISE 0.01
#define MOST_NOISE 4.0

/* Parameters in the order of allocate's, which reads the last two. */
enum { DESIGN = ITG_ALLOCATE_LEVELS };
static const itg_searcher_parameter parameters[] = {
    [DESIGN] = {"design", 4, 0, 8, true, "points of the diagonal that come first"},
    [ITG_ALLOCATE_PATIENCE] = {"patience", 48, 0, 1e9, true,
                               "answers without an improvement that end it"},
    [ITG_ALLOCATE_MARGIN] = {"margin", 1.5, 0, 100, false,
                             "standard deviations of quality to keep above the floor"},
    {0}};

enum { GROWING = 2 }; /* the number of functions of a width; those of its levels follow */

typedef struct surrogate_state {
    itg_allocate_state a;
    int32_t *first;  /* [dims + 1]: numbers of each dimension */
    double *numbers; /* the model under way, [first[dims]] */
    double *mean;    /* the model that fits best */
    double *prior;
    double *norm;     /* of a coordinate: sum of squares, by weight */
    double *grown;    /* [levels of all dimensions][GROWING] */
    itg_history past; /* of earlier searches */
    int32_t designed;
    double unit;      /* the unit of errors: the allowed loss */
    double aim, used; /* the shares of the allowed loss and of the limits that a proposal aims at */
    double noise; /* the mean squared error of predictions, relative to what the model expects */
} surrogate_state;

/* ---- the model ---- */

static double power(double base, int32_t bits)
{
    double p = 1;
    for (int32_t i = 0; i < abs(bits); i++)
        p *= base;
    return bits < 0 ? 1 / p : p;
}

static double grown(double base, int32_t missing)
{
    return (power(base, missing) - 1) / (power(base, UNIT_BITS) - 1);
}

/* The level at which the k-th function of levels is 1. */
static int32_t level_of(const surrogate_state *s, int32_t d, int32_t k)
{
    return k < s->a.beginning.best[d] ? k : k + 1;
}

/* The k-th function of a dimension at a level; 0 at the start's level. */
static double feature(const surrogate_state *s, int32_t d, int32_t k, int32_t level)
{
    if (k < GROWING) return s->grown[GROWING * (s->a.loss.first[d] + level) + k];
    return level == level_of(s, d, k - GROWING) ? 1 : 0;
}

/* The prior standard deviation of a number, given the one that widths have in common. */
static double spread_of(const surrogate_state *s, int32_t d, int32_t k, double common)
{
    if (k < GROWING) return PRIOR * common;
    const int32_t level = level_of(s, d, k - GROWING);
    return DEVIATION * common * (fabs(feature(s, d, 0, level)) + fabs(feature(s, d, 1, level)));
}

static double predict(const surrogate_state *s, const double *numbers, const int32_t *levels)
{
    double sum = 0;
    for (int32_t d = 0; d < s->a.space->dim_count; d++)
        for (int32_t j = s->first[d]; j < s->first[d + 1] && levels[d] != s->a.beginning.best[d];
             j++)
            sum += numbers[j] * feature(s, d, j - s->first[d], levels[d]);
    return sum;
}

/* ---- what it is fitted to ---- */

typedef struct observation {
    const int32_t *levels;
    double loss, left,
        weight; /* left: the part of the loss that the current model does not explain */
} observation;

/* Whether a point has the start's methods: the model says nothing of others. */
static bool has_methods_of_start(const surrogate_state *s, const int32_t *levels)
{
    for (int32_t d = 0; d < s->a.space->dim_count; d++)
        if (!s->a.space->dims[d].ordered && levels[d] != s->a.beginning.best[d]) return false;
    return true;
}

static int64_t collect(const surrogate_state *s, const itg_history *from, observation *out)
{
    int64_t count = 0;
    for (int64_t i = 0; i < from->count; i++) {
        double loss = itg_allocate_loss(&s->a, itg_history_at(from, i));
        if (!isfinite(loss) || !has_methods_of_start(s, itg_point_map_point(from, i))) continue;
        out[count++] = (observation){.levels = itg_point_map_point(from, i),
                                     .loss = loss - itg_allocate_loss(&s->a, &s->a.start)};
    }
    return count;
}

/* Draws from the exponential distribution of mean 1. */
static double draw(itg_rng *rng)
{
    double drawn = -itg_log(1.0 - itg_rng_unit(rng));
    return drawn > LEAST_WEIGHT ? drawn : LEAST_WEIGHT;
}

static double error_of(const surrogate_state *s, double loss)
{
    return RELATIVE * fabs(loss) + ABSOLUTE * s->unit;
}

/* Weights observations by the inverse of their expected squared error. */
static void weigh(const surrogate_state *s, observation *o, int64_t count, itg_rng *rng)
{
    for (int64_t i = 0; i < count; i++) {
        double error = error_of(s, o[i].loss);
        o[i].weight = (rng ? draw(rng) : 1) / (s->noise * error * error);
    }
}

/* The number that fits best if all widths have the same: the prior's mean. */
static double common_number(const surrogate_state *s, const observation *o, int64_t count)
{
    double with = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int32_t d = 0; d < s->a.space->dim_count; d++)
            for (int32_t k = 0; k < GROWING && s->first[d] < s->first[d + 1]; k++)
                sum += feature(s, d, k, o[i].levels[d]);
        with += o[i].weight * sum * o[i].loss;
        squares += o[i].weight * sum * sum;
    }
    return squares > 0 && with > 0 ? with / squares : s->unit;
}

/* ---- fitting ---- */

static void set_prior(surrogate_state *s, double common, itg_rng *rng)
{
    for (int32_t d = 0; d < s->a.space->dim_count; d++)
        for (int32_t j = s->first[d]; j < s->first[d + 1]; j++)
            s->prior[j] = j < s->first[d] + GROWING ? common * (rng ? draw(rng) : 1) : 0;
}

static void begin_fit(surrogate_state *s, observation *o, int64_t count)
{
    memcpy(s->numbers, s->prior, sizeof *s->numbers * (size_t)s->first[s->a.space->dim_count]);
    for (int64_t i = 0; i < count; i++)
        o[i].left = o[i].loss - predict(s, s->numbers, o[i].levels);
    for (int32_t d = 0; d < s->a.space->dim_count; d++)
        for (int32_t j = s->first[d]; j < s->first[d + 1]; j++) {
            s->norm[j] = 0;
            for (int64_t i = 0; i < count; i++) {
                double f = feature(s, d, j - s->first[d], o[i].levels[d]);
                s->norm[j] += o[i].weight * f * f;
            }
        }
}

/* Fits one number; the others stay. */
static void fit_number(surrogate_state *s, observation *o, int64_t count, int32_t d, int32_t j,
                       double spread)
{
    const bool grows = j < s->first[d] + GROWING;
    const double before = s->numbers[j], inverse = 1 / (spread * spread);
    double with = inverse * (s->prior[j] - before);
    if (!(s->norm[j] > 0)) return;
    for (int64_t i = 0; i < count; i++)
        with += o[i].weight * o[i].left * feature(s, d, j - s->first[d], o[i].levels[d]);
    double after = before + with / (s->norm[j] + inverse);
    if (grows && after < 0) after = 0;
    s->numbers[j] = after;
    for (int64_t i = 0; i < count; i++)
        o[i].left -= (after - before) * feature(s, d, j - s->first[d], o[i].levels[d]);
}

/* Fits the model. rng: draws a random model near the best fit; NULL: the best fit. */
static void fit(surrogate_state *s, observation *o, int64_t count, itg_rng *rng)
{
    weigh(s, o, count, rng);
    double common = common_number(s, o, count);
    set_prior(s, common, rng);
    begin_fit(s, o, count);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int32_t d = 0; d < s->a.space->dim_count; d++)
            for (int32_t j = s->first[d]; j < s->first[d + 1]; j++)
                fit_number(s, o, count, d, j, spread_of(s, d, j - s->first[d], common));
}

/* Writes the model as the terms of the knapsack. */
static void write_terms(surrogate_state *s)
{
    for (int32_t d = 0; d < s->a.space->dim_count; d++)
        for (int32_t l = 0; l < s->a.space->dims[d].count; l++) {
            double term = 0;
            for (int32_t j = s->first[d]; j < s->first[d + 1]; j++)
                term += s->numbers[j] * feature(s, d, j - s->first[d], l);
            s->a.loss.term[s->a.loss.first[d] + l] = term;
        }
}

/* ---- proposals ---- */

static void grow(surrogate_state *s)
{
    for (int32_t d = 0; d < s->a.space->dim_count; d++) {
        const itg_dim *dim = &s->a.space->dims[d];
        for (int32_t l = 0; l < dim->count; l++) {
            int32_t missing = dim->values[s->a.beginning.best[d]] - dim->values[l];
            double *to = s->grown + GROWING * (s->a.loss.first[d] + l);
            to[0] = grown(SLOW, missing);
            to[1] = grown(FAST, missing);
        }
    }
}

/* Sets up the model: a width that may change has numbers of growth, and one for each level but the
 * start's. */
static itg_status begin_model(surrogate_state *s)
{
    const itg_search_space *space = s->a.space;
    for (int32_t d = 0; d < space->dim_count; d++)
        s->first[d + 1] =
            s->first[d] + (itg_allocate_moves(&s->a, d) ? GROWING + space->dims[d].count - 1 : 0);
    size_t size = (size_t)s->first[space->dim_count] + 1;
    size_t levels = (size_t)s->a.loss.first[space->dim_count] + 1;
    s->numbers = calloc(4 * size + GROWING * levels, sizeof *s->numbers);
    if (!s->numbers) return ITG_NO_MEMORY;
    s->mean = s->numbers + size;
    s->prior = s->mean + size;
    s->norm = s->prior + size;
    s->grown = s->norm + size;
    grow(s);
    return ITG_OK;
}

/* Plans the design: points in which all widths go down by the same share. */
static void plan_design(surrogate_state *s)
{
    const int32_t most = (int32_t)s->a.options.parameters[DESIGN];
    while (s->a.batch_count < BATCH && s->designed < most) {
        int32_t *levels = itg_allocate_add_point(&s->a);
        s->designed++;
        for (int32_t d = 0; d < s->a.space->dim_count; d++)
            if (itg_allocate_moves(&s->a, d))
                levels[d] -= levels[d] * (s->designed + 1) / (most + 2);
        if (itg_point_map_find(&s->a.history, levels) >= 0) s->a.batch_count--;
    }
    if (s->a.batch_count == 0) s->a.stage = ITG_ALLOCATE_SOLUTION;
}

/* Finds the allowed loss, which is the unit of errors. */
static itg_status find_unit(surrogate_state *s)
{
    double cap = INFINITY, unexplained;
    itg_status status = ITG_OK;
    if (s->a.fine)
        status = itg_history_distortion_cap(&s->a.history, s->a.options.quality_floor, -INFINITY, 0,
                                            &cap, &unexplained);
    if (s->a.fine && isfinite(cap)) cap -= s->a.start.distortion;
    if (!isfinite(cap)) cap = s->a.hint;
    if (isfinite(cap) && cap > 0) s->unit = cap;
    return status;
}

static itg_status propose_all(surrogate_state *s, observation *o, int64_t count, itg_rng *rng)
{
    static const double aims[BATCH] = {1, 1, 0.9, 1.1}, limits[BATCH] = {1, 1, 0.99, 1};
    itg_status status = ITG_OK;
    fit(s, o, count, NULL);
    memcpy(s->mean, s->numbers, sizeof *s->mean * (size_t)s->first[s->a.space->dim_count]);
    for (int i = 0; i < BATCH && status == ITG_OK; i++) {
        if (i > 0) fit(s, o, count, rng);
        write_terms(s);
        int32_t before = s->a.batch_count;
        status = itg_allocate_propose_one(&s->a, s->aim * aims[i], s->used * limits[i]);
        if (status == ITG_OK && s->a.batch_count > before)
            s->a.predicted[before] =
                predict(s, s->mean, s->a.batch + (size_t)before * (size_t)s->a.space->dim_count);
    }
    return status;
}

/* Learns the use of limits from all points, several times: a point of many changes teaches little
 * about each. */
static void learn_limits(surrogate_state *s)
{
    for (int pass = 0; pass < PASSES && s->a.is_limited; pass++)
        for (int64_t i = 0; i < s->a.history.count; i++)
            itg_allocate_learn(&s->a, itg_point_map_point(&s->a.history, i),
                               itg_history_at(&s->a.history, i), false);
}

static itg_status plan_solution(surrogate_state *s, itg_rng *rng)
{
    size_t most = (size_t)s->a.history.count + (size_t)s->past.count + 1;
    observation *o = malloc(most * sizeof *o);
    itg_status status = o ? find_unit(s) : ITG_NO_MEMORY;
    int attempts =
        (double)s->a.stalled < s->a.options.parameters[ITG_ALLOCATE_PATIENCE] ? ATTEMPTS : 0;
    learn_limits(s);
    while (status == ITG_OK && s->a.batch_count == 0 && attempts-- > 0) {
        int64_t count = collect(s, &s->a.history, o);
        count += collect(s, &s->past, o + count);
        status = propose_all(s, o, count, rng);
    }
    free(o);
    if (s->a.batch_count == 0) s->a.stage = ITG_ALLOCATE_END;
    return status;
}

/* Begins at the allowed loss that points of earlier searches imply. */
static itg_status begin_past(surrogate_state *s)
{
    double cap = INFINITY, unexplained;
    itg_status status = ITG_OK;
    if (s->past.count > 0 && s->a.fine && !s->a.options.maximize_quality)
        status = itg_history_distortion_cap(&s->past, s->a.options.quality_floor, -INFINITY,
                                            s->a.options.parameters[ITG_ALLOCATE_MARGIN], &cap,
                                            &unexplained);
    if (!isfinite(cap) || cap <= s->a.start.distortion) return status;
    s->a.hint = cap - s->a.start.distortion;
    s->designed = (int32_t)s->a.options.parameters[DESIGN];
    return status;
}

/* ---- the table ---- */

static itg_status init(void *state, const itg_search_space *space,
                       const itg_searcher_options *options, itg_error *err)
{
    surrogate_state *s = state;
    s->past = itg_history_of(space->dim_count);
    s->unit = s->aim = s->used = s->noise = 1;
    s->first = calloc((size_t)space->dim_count + 1, sizeof *s->first);
    if (!s->first) return itg_fail(err, ITG_NO_MEMORY, "no memory for surrogate");
    itg_status status = ITG_OK;
    for (int64_t i = 0; i < options->past_count && status == ITG_OK; i++)
        status = itg_history_add(&s->past, options->past[i].levels, &options->past[i].outcome);
    if (status != ITG_OK) return itg_fail(err, status, "no memory for earlier trials");
    return itg_allocate_init(&s->a, space, options, err);
}

static itg_status plan(surrogate_state *s, itg_rng *rng)
{
    itg_allocate_state *a = &s->a;
    itg_status status = ITG_OK;
    a->batch_count = a->asked = a->told = 0;
    while (status == ITG_OK && a->batch_count == 0 && a->stage != ITG_ALLOCATE_END) {
        if (a->stage == ITG_ALLOCATE_START) {
            status = itg_allocate_plan_start(a);
            if (status == ITG_OK && a->stage == ITG_ALLOCATE_PROBES) status = begin_past(s);
            if (status == ITG_OK && a->stage == ITG_ALLOCATE_PROBES) status = begin_model(s);
        } else if (a->stage == ITG_ALLOCATE_PROBES) {
            plan_design(s);
        } else {
            status = plan_solution(s, rng);
        }
    }
    return status;
}

static itg_status ask(void *state, itg_rng *rng, int32_t *levels, itg_interest *interest)
{
    surrogate_state *s = state;
    (void)interest;
    if (s->a.asked == s->a.batch_count) {
        if (s->a.told < s->a.asked) return ITG_WAIT;
        itg_status status = plan(s, rng);
        if (status != ITG_OK) return status;
        if (s->a.batch_count == 0) return ITG_END;
    }
    itg_allocate_next(&s->a, levels);
    return ITG_OK;
}

static double corrected(double share, bool kept)
{
    return fmax(LEAST_AIM, fmin(MOST_AIM, share * (kept ? RAISE : LOWER)));
}

/* The largest used share of a limit. */
static double most_used(const surrogate_state *s, const itg_outcome *o)
{
    double most = s->a.options.maximize_quality ? o->cost : 0;
    for (int32_t k = 0; k < o->limit_count; k++)
        most = fmax(most, o->limits[k]);
    return most;
}

/* Corrects the aims by the outcome of a proposal. Limits that are kept and nearly used up need no
 * correction. */
static void correct(surrogate_state *s, const itg_outcome *o, double predicted)
{
    double loss = itg_allocate_loss(&s->a, o) - itg_allocate_loss(&s->a, &s->a.start);
    double error = (loss - predicted) / error_of(s, loss);
    bool within = itg_outcome_is_within(o, &s->a.options);
    if (!o->feasible) return;
    s->aim = corrected(s->aim, o->quality >= s->a.options.quality_floor);
    if (!within || (s->used < 1 || most_used(s, o) < NEARLY_USED))
        s->used = corrected(s->used, within);
    if (!isfinite(error)) return;
    s->noise += LEARNS * (fmin(MOST_NOISE, error * error) - s->noise);
    s->noise = fmax(LEAST_NOISE, fmin(1, s->noise));
}

static itg_status tell(void *state, const int32_t *levels, const itg_outcome *outcome)
{
    surrogate_state *s = state;
    (void)levels;
    if (s->a.stage == ITG_ALLOCATE_SOLUTION) correct(s, outcome, s->a.predicted[s->a.told]);
    return itg_allocate_tell(&s->a, outcome, false);
}

static void deinit(void *state)
{
    surrogate_state *s = state;
    itg_allocate_deinit(&s->a);
    itg_point_map_deinit(&s->past);
    free(s->first);
    free(s->numbers);
}

const itg_searcher_def itg_searcher_surrogate = {
    .name = "surrogate",
    .help =
        "a model of past trials (--past: of earlier runs, too) proposes the next: for few trials",
    .parameters = parameters,
    .state_size = sizeof(surrogate_state),
    .outstanding = BATCH,
    .default_trials = 0,
    .wants_conflicts = true,
    .takes_start = true,
    .takes_past = true,
    .init = init,
    .ask = ask,
    .tell = tell,
    .deinit = deinit,
    .forecast = itg_allocate_forecast};
