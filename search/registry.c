/* The one list of searchers. */
#include "search/searcher.h"
#include <intaglio/intaglio.h>
#include <string.h>

/* The first is the default. */
static const itg_searcher_def *const all[] = {&itg_searcher_greedy, &itg_searcher_hago_greedy,
                                              &itg_searcher_anneal, &itg_searcher_random,
                                              &itg_searcher_exhaustive};

int itg_searcher_count(void)
{
    return (int)(sizeof all / sizeof *all);
}

const itg_searcher_def *itg_searcher_at(int index)
{
    return index >= 0 && index < itg_searcher_count() ? all[index] : NULL;
}

const itg_searcher_def *itg_searcher_find(const char *name)
{
    for (int i = 0; i < itg_searcher_count(); i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}

const char *itg_searcher_name(int index)
{
    return itg_searcher_at(index) ? itg_searcher_at(index)->name : NULL;
}
const char *itg_searcher_help(int index)
{
    return itg_searcher_at(index) ? itg_searcher_at(index)->help : NULL;
}
