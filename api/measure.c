/* Measures the speeds of a description on this machine (intaglio.h). */
#include <intaglio/intaglio.h>
#include "hardware/hardware.h"
#include "realize/realize.h"
#include "search/sums.h"
#include "sim/sim.h"
#include <stdlib.h>
#include <string.h>

/* A layer that was timed. */
typedef struct timed {
    itg_op op;
    int32_t spec; /* -1: float */
    bool depthwise;
    double macs, outputs, elements;
    double nanoseconds; /* of a sample */
} timed;

typedef struct measure {
    const itg_hardware *hw;
    const itg_model *model;
    timed *rows;
    size_t count, capacity;
    double nanoseconds; /* of a sample, of all layers */
} measure;

/* ---- timing ---- */

static itg_status add_row(measure *m, const timed *row, itg_error *err)
{
    if (m->count == m->capacity) {
        const size_t capacity = m->capacity ? 2 * m->capacity : 64;
        timed *grown = realloc(m->rows, capacity * sizeof *grown);
        if (!grown) return itg_fail(err, ITG_NO_MEMORY, "no memory for times");
        m->rows = grown;
        m->capacity = capacity;
    }
    m->rows[m->count++] = *row;
    return ITG_OK;
}

/* Adds what the node that a step was made from takes. Steps of other kinds (quantization of an
 * input) belong to no operator. */
static itg_status add_step(measure *m, const itg_annotated *a, const itg_step_time *step,
                           itg_error *err)
{
    const itg_graph *g = a->graph;
    itg_id n = 0;
    while (n < g->node_count && strcmp(g->nodes[n].name, step->name) != 0)
        n++;
    if (n == g->node_count || g->nodes[n].input_count < 1) return ITG_OK;
    const itg_op op = g->nodes[n].op;
    const itg_node_cost cost = itg_cost_of_node(m->hw, a, n);
    const bool is_float = a->nodes[n].form == ITG_FORM_FLOAT;
    if ((!is_float && !cost.spec) || cost.elements < 1 || !(step->nanoseconds > 0)) return ITG_OK;
    return add_row(m,
                   &(timed){.op = op,
                            .spec = is_float ? -1 : (int32_t)(cost.spec - m->hw->ops[op].specs),
                            .depthwise = cost.depthwise,
                            .macs = (double)cost.macs,
                            .outputs = (double)cost.outputs,
                            .elements = (double)cost.elements,
                            .nanoseconds = step->nanoseconds},
                   err);
}

static itg_status time_program(measure *m, const itg_annotated *a, const itg_program *p,
                               itg_error *err)
{
    itg_step_time *steps = NULL;
    int32_t count = 0;
    itg_status status = itg_program_time(p, &steps, &count, err);
    for (int32_t i = 0; status == ITG_OK && i < count; i++)
        status = add_step(m, a, &steps[i], err);
    free(steps);
    return status;
}

/* Times the network with activations of as near to `bits` as the hardware has them. */
static itg_status time_width(measure *m, int32_t bits, itg_error *err)
{
    const itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, 8, bits, ITG_THRESHOLD_MAX,
                                         ITG_THRESHOLD_MAX,           0, 0};
    const itg_realize_options realize = {ITG_REALIZE_OPTIONS_VERSION, .allow_overflow = true};
    itg_stats *stats = itg_stats_made_up(m->model);
    itg_strategy *strategy = NULL;
    itg_annotated *a = NULL;
    itg_program *p = NULL;
    itg_status status =
        stats ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory to measure a network");
    if (status == ITG_OK)
        status = itg_strategy_uniform(m->model, m->hw, stats, &options, &strategy, err);
    if (status == ITG_OK) status = itg_fit_sums(m->model, m->hw, NULL, strategy, err);
    if (status == ITG_OK) status = itg_annotate(m->model, m->hw, strategy, &a, err);
    if (status == ITG_OK) status = itg_realize_program(a, &realize, &p, err);
    if (status == ITG_OK) status = time_program(m, a, p, err);
    itg_program_destroy(p);
    itg_annotated_destroy(a);
    itg_strategy_destroy(strategy);
    itg_stats_destroy(stats);
    return status;
}

/* ---- fitting ---- */

/* The layers of one form. Least squares of the relative error choose the proportion of what a unit
 * of work takes to what an output takes; both are then scaled so that the times of all layers
 * together are met. */
typedef struct sums {
    double ww, wo, oo, w, o; /* of the least squares: work and outputs by time */
    double work, outputs, time;
    int layers;
} sums;

static void add(sums *s, double work, double outputs, double time)
{
    const double w = work / time, o = outputs / time;
    s->ww += w * w;
    s->wo += w * o;
    s->oo += o * o;
    s->w += w;
    s->o += o;
    s->work += work;
    s->outputs += outputs;
    s->time += time;
    s->layers++;
}

/* Finds x, what a unit of work takes, and y, what an output takes: 0 where it would be below, or
 * where the layers do not tell it. */
static void solve(const sums *s, double *x, double *y)
{
    const double d = s->ww * s->oo - s->wo * s->wo;
    const bool tells = s->layers > 1 && d > 1e-6 * s->ww * s->oo;
    *x = tells ? (s->w * s->oo - s->o * s->wo) / d : 0;
    *y = tells ? (s->o * s->ww - s->w * s->wo) / d : 0;
    if (!(*x > 0 && *y > 0)) {
        *x = 1;
        *y = 0;
    }
    const double all = *x * s->work + *y * s->outputs;
    *x = all > 0 ? *x * s->time / all : 0;
    *y = all > 0 ? *y * s->time / all : 0;
}

static double rate(double cycles)
{
    return cycles > 0 ? 1 / cycles : 0;
}

/* Depthwise layers take as long for an output as others of their form. */
static void fit(const measure *m, itg_op op, int32_t spec, itg_hw_speed *speed)
{
    sums whole = {0}, depthwise = {0};
    double x, y;
    for (size_t i = 0; i < m->count; i++) {
        const timed *t = &m->rows[i];
        if (t->op != op || t->spec != spec) continue;
        add(t->depthwise ? &depthwise : &whole, t->macs > 0 ? t->macs : t->elements,
            t->macs > 0 ? t->outputs : 0, t->nanoseconds);
    }
    solve(&whole, &x, &y);
    const double least = 0.1 * depthwise.time, left = depthwise.time - y * depthwise.outputs,
                 one = depthwise.work > 0 ? (left > least ? left : least) / depthwise.work : 0;
    *speed = (itg_hw_speed){true, rate(x > 0 ? x : one), rate(one), y};
}

static void fit_all(const measure *m, itg_hw_speeds *speeds)
{
    sums floats = {0};
    double x, y;
    for (size_t i = 0; i < m->count; i++) {
        const timed *t = &m->rows[i];
        if (t->spec < 0)
            add(&floats, t->macs > 0 ? t->macs : t->elements, 0, t->nanoseconds);
        else if (!speeds->of[t->op][t->spec].known)
            fit(m, t->op, t->spec, &speeds->of[t->op][t->spec]);
    }
    solve(&floats, &x, &y);
    speeds->float_macs_per_cycle = rate(x);
}

/* ---- all ---- */

/* Adds the layers at 8 bits, and where the hardware has them at 16. */
static itg_status time_all(measure *m, itg_error *err)
{
    itg_error why = {0};
    itg_status status = time_width(m, 8, err);
    if (status != ITG_OK) return status;
    for (size_t i = 0; i < m->count; i++)
        m->nanoseconds += m->rows[i].nanoseconds;
    status = time_width(m, 16, &why);
    return status == ITG_NO_MEMORY ? itg_fail(err, status, "%s", why.message) : ITG_OK;
}

itg_status itg_hardware_measure(const itg_hardware *hw, const itg_model *model, char **out,
                                double *nanoseconds, itg_error *err)
{
    measure m = {.hw = hw, .model = model};
    itg_strbuf text = {0};
    itg_hw_speeds *speeds = calloc(1, sizeof *speeds);
    itg_status status = speeds ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for speeds");
    if (status == ITG_OK && hw->all_float)
        status = itg_fail(err, ITG_BAD_ARGUMENT,
                          "%s runs nothing as integers: there is no speed to measure", hw->name);
    if (status == ITG_OK) status = time_all(&m, err);
    if (status == ITG_OK) {
        fit_all(&m, speeds);
        status = itg_hardware_with_speeds(hw, speeds, &text, err);
    }
    free(m.rows);
    free(speeds);
    if (status == ITG_OK) {
        *out = text.text;
        *nanoseconds = m.nanoseconds;
    } else {
        itg_strbuf_deinit(&text);
    }
    return status;
}
