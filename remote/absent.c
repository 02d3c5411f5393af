/* The interface of remote/ for builds without libhiredis. */
#include <intaglio/remote.h>
#include "base/base.h"

static itg_status refuse(itg_error *err)
{
    return itg_fail(err, ITG_UNSUPPORTED,
                    "this build has no workers on other machines: it was made without libhiredis");
}

itg_status itg_coordinator_open(const itg_coordinator_options *options, itg_coordinator **out,
                                itg_error *err)
{
    (void)options, (void)out;
    return refuse(err);
}

const itg_search_evaluator *itg_coordinator_evaluator(itg_coordinator *coordinator)
{
    (void)coordinator;
    return NULL;
}

void itg_coordinator_close(itg_coordinator *coordinator)
{
    (void)coordinator;
}

itg_status itg_worker_run(const itg_worker_options *options, itg_error *err)
{
    (void)options;
    return refuse(err);
}
