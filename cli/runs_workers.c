#include "cli/runs.h"
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(((const itg_cli_worker_share *)a)->worker,
                  ((const itg_cli_worker_share *)b)->worker);
}

bool itg_cli_by_worker_of(const itg_trial *trials, int64_t count, itg_cli_by_worker *out)
{
    itg_cli_worker_share *all = malloc(sizeof *all * ((size_t)count + 1));
    size_t used = 0;
    int32_t kept = 0;
    if (!all) return false;
    for (int64_t i = 0; i < count; i++)
        if (*trials[i].worker)
            all[used++] = (itg_cli_worker_share){trials[i].worker, 1, trials[i].seconds};
    qsort(all, used, sizeof *all, by_name);
    for (size_t i = 0; i < used; i++) {
        if (kept == 0 || strcmp(all[kept - 1].worker, all[i].worker) != 0) {
            all[kept++] = all[i];
            continue;
        }
        all[kept - 1].trials++;
        all[kept - 1].seconds += all[i].seconds;
    }
    *out = (itg_cli_by_worker){all, kept};
    return true;
}
