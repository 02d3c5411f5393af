/* Requantization constants of the C source against the artefact's. Both are brought to the list of
 * what is done to a sum: shifts to the left, products, roundings by a shift to the right; what does
 * nothing is left out, and a shift to the left goes before a product. */
#include "realize/verify/source.h"
#include "realize/verify/stages.h"
#include <string.h>

enum { LEFT, MULTIPLY, RIGHT, MOST_OPS = 8 };
typedef struct ops {
    int count;
    int kind[MOST_OPS];
    int64_t value[MOST_OPS];
} ops;

static void put(ops *o, int kind, int64_t value)
{
    if (o->count == MOST_OPS || value == (kind == MULTIPLY ? 1 : 0)) return;
    int at = o->count++;
    if (kind == LEFT && at > 0 && o->kind[at - 1] == MULTIPLY) {
        o->kind[at] = MULTIPLY;
        o->value[at] = o->value[at - 1];
        at--;
    }
    o->kind[at] = kind;
    o->value[at] = value;
}

static ops of_stages(const itg_stage_sets *s, int64_t set)
{
    ops o = {0};
    for (int64_t i = s->first[set]; i < s->first[set] + s->stages[set]; i++) {
        put(&o, MULTIPLY, s->multiplier[i]);
        put(&o, s->shift[i] < 0 ? LEFT : RIGHT, s->shift[i] < 0 ? -s->shift[i] : s->shift[i]);
    }
    return o;
}

static int64_t part(const itg_source_group *g, int k, int64_t set, int64_t neutral)
{
    if (g->count[k] == 0) return neutral;
    return g->part[k][g->count[k] == 1 ? 0 : set - g->first];
}

static ops of_arrays(const itg_source_group *g, int64_t set)
{
    ops o = {0};
    put(&o, LEFT, part(g, 0, set, 0));
    put(&o, RIGHT, part(g, 1, set, 0));
    put(&o, MULTIPLY, part(g, 2, set, 1));
    put(&o, RIGHT, part(g, 3, set, g->fixed));
    put(&o, RIGHT, part(g, 4, set, 0));
    return o;
}

static bool same(const ops *a, const ops *b)
{
    if (a->count != b->count) return false;
    for (int i = 0; i < a->count; i++)
        if (a->kind[i] != b->kind[i] || a->value[i] != b->value[i]) return false;
    return true;
}

/* Windows whose element count varies have one set a count; all other sets are used. */
static bool may_leave_out(const itg_view *v)
{
    const char *type = itg_view_node(v)->op_type;
    return strcmp(type, "IntAveragePool") == 0 || strcmp(type, "IntGlobalAveragePool") == 0 ||
           strcmp(type, "IntReduceMean") == 0;
}

static bool read_sets(itg_view *v, const char *prefix, itg_stage_sets *sets)
{
    *sets = (itg_stage_sets){0};
    return itg_stage_sets_read(v, prefix, sets) && sets->count > 0 && sets->ratio == NULL;
}

void itg_source_check_group(itg_view *v, const itg_source_group *g)
{
    itg_stage_sets sets;
    v->node = g->node;
    if (!read_sets(v, g->prefix, &sets))
        itg_view_problem(v, "%s: the C source has constants, the artefact none", g->prefix);
    else if (g->first < 0 || g->first > g->last || g->last >= sets.count ||
             (!may_leave_out(v) && (g->first > 0 || g->last + 1 < sets.count)))
        itg_view_problem(v, "%s: the C source has constants of the sets %lld to %lld of %lld",
                         g->prefix, (long long)g->first, (long long)g->last, (long long)sets.count);
    else
        for (int64_t i = g->first; i <= g->last; i++) {
            ops a = of_stages(&sets, i), b = of_arrays(g, i);
            if (same(&a, &b)) continue;
            itg_view_problem(v, "%s: the C source requantizes set %lld by other constants",
                             g->prefix, (long long)i);
            break;
        }
    v->node = -1;
}

void itg_source_check_no_group(itg_view *v, const char *prefix)
{
    itg_stage_sets sets;
    if (!read_sets(v, prefix, &sets)) return;
    for (int64_t i = may_leave_out(v) ? sets.count - 1 : 0; i < sets.count; i++) {
        ops a = of_stages(&sets, i);
        if (a.count == 0) continue;
        itg_view_problem(v, "%s: the C source has no constants for it", prefix);
        return;
    }
}
