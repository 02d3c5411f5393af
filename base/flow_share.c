/* Decides which tensors share bytes. One pass over the steps in order, and some passes for outputs
 * behind inputs. Each decision knows the lives of everything that shares bytes so far. Writing in
 * place, and renaming all bytes of a tensor, never need more memory. Sharing between sizes may
 * extend lives (a small slice keeps the whole; a Concat's output lives from its first part on). It
 * is done only if the most bytes that live at one time during the affected steps do not grow. */
#include "base/flow.h"
#include <stdlib.h>

typedef struct sharer {
    itg_flow *flow;
    int32_t *from, *until; /* [tensor], of homes: the life of everything in it */
    uint64_t *live;        /* [step_count + 2]: bytes of all homes; live[i + 1] is step i */
} sharer;

/* ---- homes ---- */

static int32_t home_of(const sharer *s, int32_t tensor, uint64_t *within)
{
    itg_flow_tensor *tensors = s->flow->tensors;
    uint64_t offset = 0;
    int32_t home = tensor;
    for (; tensors[home].home != home; home = tensors[home].home)
        offset += tensors[home].within;
    if (home != tensor) {
        tensors[tensor].home = home;
        tensors[tensor].within = offset;
    }
    if (within != NULL) *within = offset;
    return home;
}

static bool stored(const sharer *s, int32_t tensor)
{
    return tensor != ITG_FLOW_NONE && !s->flow->tensors[tensor].elsewhere;
}

static void add_live(sharer *s, uint64_t bytes, int32_t from, int32_t until)
{
    for (int32_t t = from; t <= until; t++)
        s->live[t + 1] += bytes; /* bytes may be negative, modulo 2^64 */
}

static uint64_t most_live(const sharer *s, int32_t from, int32_t until)
{
    uint64_t most = 0;
    for (int32_t t = from; t <= until; t++)
        if (s->live[t + 1] > most) most = s->live[t + 1];
    return most;
}

static void move_in(sharer *s, int32_t tensor, int32_t home, uint64_t within)
{
    s->flow->tensors[tensor].home = home;
    s->flow->tensors[tensor].within = within;
    if (s->from[tensor] < s->from[home]) s->from[home] = s->from[tensor];
    if (s->until[tensor] > s->until[home]) s->until[home] = s->until[tensor];
}

/* ---- in place ---- */

static bool is_float(itg_dtype dtype)
{
    return dtype == ITG_F32;
}

/* Whether `out` may be written over `in` at step `at`: nothing in the home of `in` is read
 * later. */
static bool may_overwrite(const sharer *s, const itg_flow_step *step, int32_t at, int32_t in,
                          int32_t out)
{
    if (!stored(s, in) || !stored(s, out)) return false;
    const itg_flow_tensor *x = &s->flow->tensors[in], *y = &s->flow->tensors[out];
    if (x->bytes != y->bytes || itg_dtype_size(x->dtype) != itg_dtype_size(y->dtype) ||
        is_float(x->dtype) != is_float(y->dtype))
        return false;
    int32_t home = home_of(s, in, NULL);
    if (s->until[home] > at) return false;
    for (int32_t i = 0; i < step->input_count; i++) /* reads other bytes of that home */
        if (step->inputs[i] != in && stored(s, step->inputs[i]) &&
            home_of(s, step->inputs[i], NULL) == home)
            return false;
    return true;
}

/* Writes `out` over `in`. All of the larger home of `in` lives on; false: needs more memory. */
static bool overwrite(sharer *s, int32_t in, int32_t out)
{
    uint64_t within;
    int32_t home = home_of(s, in, &within), until = s->until[out];
    uint64_t large = s->flow->tensors[home].room, small = s->flow->tensors[out].bytes;
    uint64_t apart = most_live(s, s->from[out], until);
    add_live(s, 0 - small, s->from[out], until);
    add_live(s, large, s->until[home] + 1, until);
    if (large > small && most_live(s, s->from[out], until) > apart) {
        add_live(s, 0 - large, s->until[home] + 1, until);
        add_live(s, small, s->from[out], until);
        return false;
    }
    move_in(s, out, home, within);
    return true;
}

static void share_elements(sharer *s, const itg_flow_step *step, int32_t at)
{
    for (int32_t i = 0; i < step->input_count; i++)
        for (int32_t k = 0; k < step->output_count; k++)
            if (may_overwrite(s, step, at, step->inputs[i], step->outputs[k]) &&
                overwrite(s, step->inputs[i], step->outputs[k]))
                return;
}

/* ---- parts ---- */

/* The tensors `parts` lie in `whole` from `shift` on, one after another, if lives permit it. */
typedef struct parts {
    int32_t whole, count;
    const int32_t *part;
    uint64_t shift;
} parts;

/* Whether the parts are homes of their own and fit in the whole. Homes that the caller fills are
 * excluded: it may do so while outputs of the last run are still read. */
static bool parts_fit(const sharer *s, const parts *p)
{
    if (!stored(s, p->whole)) return false;
    const itg_flow_tensor *whole = &s->flow->tensors[p->whole];
    int32_t home = home_of(s, p->whole, NULL);
    uint64_t end = p->shift;
    if (s->flow->tensors[home].given) return false;
    for (int32_t i = 0; i < p->count; i++) {
        if (!stored(s, p->part[i])) return false;
        const itg_flow_tensor *part = &s->flow->tensors[p->part[i]];
        uint64_t within;
        int32_t own = home_of(s, p->part[i], &within);
        if (part->dtype != whole->dtype || within != 0 || own == home ||
            s->flow->tensors[own].room != part->bytes || s->flow->tensors[own].given)
            return false;
        end += part->bytes;
    }
    return end <= whole->bytes;
}

/* Adds the homes of the parts and the whole to the live bytes, or removes them. */
static void count_apart(sharer *s, const parts *p, int32_t home, bool add)
{
    uint64_t bytes = s->flow->tensors[home].room;
    add_live(s, add ? bytes : 0 - bytes, s->from[home], s->until[home]);
    for (int32_t i = 0; i < p->count; i++) {
        int32_t own = home_of(s, p->part[i], NULL);
        bytes = s->flow->tensors[own].room;
        add_live(s, add ? bytes : 0 - bytes, s->from[own], s->until[own]);
    }
}

/* Whether the parts have different homes: else a tensor occurs twice or is written over another. */
static bool parts_differ(const sharer *s, const parts *p, bool *seen)
{
    bool differ = true;
    for (int32_t i = 0; i < p->count; i++) {
        int32_t own = home_of(s, p->part[i], NULL);
        if (seen[own]) differ = false;
        seen[own] = true;
    }
    for (int32_t i = 0; i < p->count; i++)
        seen[home_of(s, p->part[i], NULL)] = false;
    return differ;
}

static bool share_parts(sharer *s, const parts *p, bool *seen)
{
    if (p->count < 1 || !parts_fit(s, p) || !parts_differ(s, p, seen)) return false;
    uint64_t within;
    int32_t home = home_of(s, p->whole, &within), from = s->from[home], until = s->until[home];
    for (int32_t i = 0; i < p->count; i++) {
        int32_t own = home_of(s, p->part[i], NULL);
        if (s->from[own] < from) from = s->from[own];
        if (s->until[own] > until) until = s->until[own];
    }
    uint64_t apart = most_live(s, from, until);
    count_apart(s, p, home, false);
    add_live(s, s->flow->tensors[home].room, from, until);
    if (most_live(s, from, until) > apart) {
        add_live(s, 0 - s->flow->tensors[home].room, from, until);
        count_apart(s, p, home, true);
        return false;
    }
    within += p->shift;
    for (int32_t i = 0; i < p->count; i++) {
        move_in(s, home_of(s, p->part[i], NULL), home, within);
        within += s->flow->tensors[p->part[i]].bytes;
    }
    return true;
}

/* ---- outputs behind inputs ---- */

/* Two homes merged into one. */
typedef struct overlap {
    int32_t x, y;              /* homes of the input and of the output */
    uint64_t x_within, within; /* offsets of x and y in the common home; one is 0 */
    uint64_t room;
} overlap;

#define OVER_UNIT 8 /* the largest element: merged homes stay aligned to it */

/* Merges the homes so that the output begins at least `shift` bytes before the input. */
static overlap lay_over(const sharer *s, int32_t in, int32_t out, uint64_t shift)
{
    uint64_t read, written;
    const itg_flow_tensor *tensors = s->flow->tensors;
    overlap o = {.x = home_of(s, in, &read), .y = home_of(s, out, &written)};
    written += shift;
    written += (read - written) % OVER_UNIT;
    o.within = read > written ? read - written : 0;
    o.x_within = written > read ? written - read : 0;
    uint64_t x_end = o.x_within + tensors[o.x].room, y_end = o.within + tensors[o.y].room;
    o.room = x_end > y_end ? x_end : y_end;
    return o;
}

/* Whether nothing in x's home is needed after step `at`, nothing in y's is written before, and no
 * other operand is in one of them. */
static bool may_lie_over(const sharer *s, const itg_flow_step *step, int32_t at, const overlap *o)
{
    const itg_flow_tensor *x = &s->flow->tensors[o->x];
    if (o->x == o->y || s->until[o->x] > at || s->from[o->y] < at || x->given) return false;
    for (int32_t i = 1; i < step->input_count; i++)
        if (stored(s, step->inputs[i]) && home_of(s, step->inputs[i], NULL) == o->x) return false;
    for (int32_t i = 1; i < step->output_count; i++)
        if (stored(s, step->outputs[i]) && home_of(s, step->outputs[i], NULL) == o->y) return false;
    return o->room < x->room + s->flow->tensors[o->y].room;
}

/* Places the output in front of an input that is read for the last time. False: the most bytes that
 * live at one time, from x's first step to y's last, would grow. */
static bool share_behind(sharer *s, const itg_flow_step *step, int32_t at)
{
    if (!stored(s, step->inputs[0]) || !stored(s, step->outputs[0])) return false;
    const overlap o = lay_over(s, step->inputs[0], step->outputs[0], step->shift);
    if (!may_lie_over(s, step, at, &o)) return false;
    itg_flow_tensor *x = &s->flow->tensors[o.x], *y = &s->flow->tensors[o.y];
    const int32_t from = s->from[o.x], until = s->until[o.y];
    const uint64_t apart = most_live(s, from, until);
    add_live(s, 0 - x->room, from, s->until[o.x]);
    add_live(s, 0 - y->room, s->from[o.y], until);
    add_live(s, o.room, from, until);
    if (most_live(s, from, until) > apart) {
        add_live(s, 0 - o.room, from, until);
        add_live(s, x->room, from, s->until[o.x]);
        add_live(s, y->room, s->from[o.y], until);
        return false;
    }
    (o.x_within == 0 ? x : y)->room = o.room;
    if (o.x_within == 0)
        move_in(s, o.y, o.x, o.within);
    else
        move_in(s, o.x, o.y, o.x_within);
    return true;
}

/* ---- all ---- */

static void share_all(sharer *s, bool *seen)
{
    for (int32_t i = 0; i < s->flow->step_count; i++) {
        itg_flow_step *step = &s->flow->steps[i];
        step->free = false;
        if (step->sharing == ITG_SHARING_ELEMENTS) share_elements(s, step, i);
        if (step->sharing == ITG_SHARING_OUTPUTS && step->input_count > 0) {
            parts p = {step->inputs[0], step->output_count, step->outputs, step->shift};
            step->free = share_parts(s, &p, seen);
        }
        if (step->sharing == ITG_SHARING_INPUTS && step->output_count > 0) {
            parts p = {step->outputs[0], step->input_count, step->inputs, 0};
            step->free = share_parts(s, &p, seen);
        }
    }
}

/* Runs after all other sharing, when the lives of outputs are known. Returns whether a pair was
 * merged; this makes room for others. */
static bool share_all_behind(sharer *s)
{
    bool any = false;
    for (int32_t i = 0; i < s->flow->step_count; i++) {
        const itg_flow_step *step = &s->flow->steps[i];
        if (step->sharing == ITG_SHARING_BEHIND && step->input_count > 0 && step->output_count > 0)
            any = share_behind(s, step, i) || any;
    }
    return any;
}

/* Starts with each tensor in a home of its own. */
static void begin(sharer *s)
{
    itg_flow *flow = s->flow;
    for (int32_t i = 0; i < flow->tensor_count; i++) {
        itg_flow_tensor *t = &flow->tensors[i];
        t->home = t->elsewhere ? ITG_FLOW_NONE : i;
        t->within = 0;
        t->room = t->bytes;
        s->from[i] = t->first;
        s->until[i] = t->last;
        if (t->elsewhere) continue;
        s->live[t->first + 1] += t->bytes; /* for now the growth at each step */
        if (t->last < flow->step_count) s->live[t->last + 2] -= t->bytes;
    }
    for (int32_t i = 1; i < flow->step_count + 2; i++)
        s->live[i] += s->live[i - 1];
}

itg_status itg_flow_share(itg_flow *flow, uint64_t *live, itg_error *err)
{
    size_t tensors = (size_t)flow->tensor_count + 1, steps = (size_t)flow->step_count + 2;
    sharer s = {.flow = flow};
    s.from = calloc(tensors, sizeof *s.from);
    s.until = calloc(tensors, sizeof *s.until);
    s.live = calloc(steps, sizeof *s.live);
    bool *seen = calloc(tensors, sizeof *seen);
    itg_status status = ITG_OK;
    if (s.from == NULL || s.until == NULL || s.live == NULL || seen == NULL) {
        status = itg_fail(err, ITG_NO_MEMORY, "no memory to plan memory");
    } else {
        begin(&s);
        share_all(&s, seen);
        while (share_all_behind(&s))
            continue;
        for (int32_t i = 0; i < flow->tensor_count; i++)
            if (flow->tensors[i].home != ITG_FLOW_NONE) (void)home_of(&s, i, NULL);
        for (int32_t i = 0; i < flow->step_count && live != NULL; i++)
            live[i] = s.live[i + 1];
    }
    free(s.from);
    free(s.until);
    free(s.live);
    free(seen);
    return status;
}
