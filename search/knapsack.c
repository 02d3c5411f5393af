#include "search/knapsack.h"
#include <math.h>
#include <stdlib.h>

void itg_knapsack_deinit(itg_knapsack *k)
{
    free(k->first);
    free(k->choices);
    *k = (itg_knapsack){0};
}

int32_t itg_knapsack_count(const itg_knapsack *k)
{
    return k->first[k->groups + 1] - k->first[k->groups];
}

const itg_knapsack_choice *itg_knapsack_at(const itg_knapsack *k, int32_t index)
{
    return &k->choices[k->first[k->groups] + index];
}

void itg_knapsack_items(const itg_knapsack *k, int32_t index, int32_t *items)
{
    const itg_knapsack_choice *c = itg_knapsack_at(k, index);
    for (int32_t g = k->groups - 1; g >= 0; g--) {
        items[g] = c->item;
        c = &k->choices[c->before];
    }
}

/* The merge of one group: each of its items goes through the list of the groups before it. */
typedef struct merge {
    const itg_knapsack_item *items;
    int32_t count;
    int32_t *next; /* [count]: places in the list */
} merge;

/* Takes the next sum by rising loss; of equal ones the cheaper. False: there are no more. */
static bool take_next(const itg_knapsack *k, merge *m, int32_t end, itg_knapsack_choice *out)
{
    int32_t taken = -1;
    for (int32_t i = 0; i < m->count; i++) {
        if (m->next[i] >= end || m->items[i].loss == INFINITY) continue;
        const itg_knapsack_choice *before = &k->choices[m->next[i]];
        itg_knapsack_choice c = {before->cost + m->items[i].cost, before->loss + m->items[i].loss,
                                 i, m->next[i]};
        if (taken >= 0 && (c.loss > out->loss || (c.loss >= out->loss && c.cost >= out->cost)))
            continue;
        taken = i;
        *out = c;
    }
    if (taken >= 0) m->next[taken]++;
    return taken >= 0;
}

/* Thins a list that is too long: divides the range of costs into equal parts and keeps the choice
 * of the least loss of each. */
static int32_t thin_out(itg_knapsack *k, itg_knapsack_choice *list, int32_t count, int32_t longest)
{
    double part = (list[0].cost - list[count - 1].cost) / (longest - 1);
    int32_t kept = 0;
    double end = INFINITY;
    if (count <= longest) return count;
    for (int32_t i = 0; i < count; i++) {
        if (list[i].cost > end) continue;
        end = list[0].cost - part * (ceil((list[0].cost - list[i].cost) / part + 1e-9));
        list[kept++] = list[i];
    }
    k->gap += part;
    return kept;
}

/* Adds the list of one more group behind those before it. */
static itg_status add_group(itg_knapsack *k, int32_t g, merge *m, int32_t longest,
                            int64_t *capacity)
{
    const int32_t begin = k->first[g], end = k->first[g + 1];
    itg_knapsack_choice c;
    double least = INFINITY;
    int32_t count = 0;
    for (int32_t i = 0; i < m->count; i++)
        m->next[i] = begin;
    while (take_next(k, m, end, &c)) {
        if (c.cost >= least) continue;
        least = c.cost;
        if (end + count == *capacity) {
            itg_knapsack_choice *grown =
                realloc(k->choices, 2 * (size_t)*capacity * sizeof *k->choices);
            if (!grown) return ITG_NO_MEMORY;
            *capacity *= 2;
            k->choices = grown;
        }
        k->choices[end + count++] = c;
    }
    if (count == 0) return ITG_BAD_ARGUMENT;
    k->first[g + 2] = end + thin_out(k, k->choices + end, count, longest);
    return ITG_OK;
}

itg_status itg_knapsack_solve(const itg_knapsack_item *items, const int32_t *first, int32_t groups,
                              int32_t longest, itg_knapsack *out, itg_error *err)
{
    int64_t capacity = 4096;
    int32_t most = 1;
    itg_knapsack k = {.groups = groups};
    for (int32_t g = 0; g < groups; g++)
        if (first[g + 1] - first[g] > most) most = first[g + 1] - first[g];
    merge m = {.next = malloc((size_t)most * sizeof *m.next)};
    k.first = malloc(((size_t)groups + 2) * sizeof *k.first);
    k.choices = malloc((size_t)capacity * sizeof *k.choices);
    itg_status status = m.next && k.first && k.choices ? ITG_OK : ITG_NO_MEMORY;
    if (status == ITG_OK) {
        k.choices[0] = (itg_knapsack_choice){0};
        k.first[0] = 0;
        k.first[1] = 1;
    }
    for (int32_t g = 0; g < groups && status == ITG_OK; g++) {
        m.items = items + first[g];
        m.count = first[g + 1] - first[g];
        status = add_group(&k, g, &m, longest, &capacity);
    }
    free(m.next);
    if (status == ITG_OK) {
        *out = k;
        return ITG_OK;
    }
    itg_knapsack_deinit(&k);
    return itg_fail(err, status,
                    status == ITG_NO_MEMORY ? "no memory for the choice of widths"
                                            : "a choice has no width that can be run");
}
