/* Selects the kernel set. The result of a set's test is kept for the life of the process. Two
 * threads may run the test at the same time; both find the same result. */
#include "kernels/accel_parts.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const itg_accel_kernels *const sets[] = {
    &itg_accel_reference, &itg_accel_portable,
#if defined(ITG_ACCEL_X86)
    &itg_accel_avx2,      &itg_accel_avx512,   &itg_accel_avxvnni, &itg_accel_vnni, &itg_accel_amx,
#elif defined(ITG_ACCEL_NEON)
    &itg_accel_neon,      &itg_accel_dotprod,  &itg_accel_i8mm,
#endif
};
enum { SETS = sizeof sets / sizeof *sets };

static _Atomic int verdicts[SETS]; /* 0: not known; else 1 + itg_accel_state */

itg_accel_state itg_accel_set_state(int index)
{
    if (sets[index] == &itg_accel_reference) return ITG_ACCEL_PROVEN;
    int verdict = atomic_load(&verdicts[index]);
    if (verdict == 0) {
        verdict = 1 + (!sets[index]->usable()          ? ITG_ACCEL_ABSENT
                       : itg_accel_proves(sets[index]) ? ITG_ACCEL_PROVEN
                                                       : ITG_ACCEL_WRONG);
        atomic_store(&verdicts[index], verdict);
    }
    return (itg_accel_state)(verdict - 1);
}

static bool is_proven(int index)
{
    return itg_accel_set_state(index) == ITG_ACCEL_PROVEN;
}

static itg_status choose_named(const char *name, const itg_accel_kernels **out, itg_error *err)
{
    for (int i = 0; i < SETS; i++) {
        if (strcmp(sets[i]->name, name) != 0) continue;
        if (!is_proven(i))
            return itg_fail(err, ITG_UNSUPPORTED,
                            "kernel set '%s': this machine does not run it, or not exactly", name);
        *out = sets[i];
        return ITG_OK;
    }
    return itg_fail(err, ITG_BAD_ARGUMENT, "kernel set '%s': this build has none of that name",
                    name);
}

itg_status itg_accel_choose(const char *name, const itg_accel_kernels **out, itg_error *err)
{
    if (!name) name = getenv("INTAGLIO_KERNELS");
    if (name && *name) return choose_named(name, out, err);
    int best = SETS - 1;
    while (!is_proven(best))
        best--;
    *out = sets[best];
    return ITG_OK;
}

itg_status itg_accel_chosen(const char **out, itg_error *err)
{
    const itg_accel_kernels *kernels = NULL;
    itg_status status = itg_accel_choose(NULL, &kernels, err);
    if (status == ITG_OK) *out = kernels->name;
    return status;
}

const char *itg_accel_name(const itg_accel_kernels *kernels)
{
    return kernels->name;
}

const char *itg_accel_set(int index)
{
    return index >= 0 && index < SETS ? sets[index]->name : NULL;
}

int64_t itg_accel_peak(const itg_accel_kernels *kernels, int64_t rounds)
{
    if (!kernels->peak) return 0;
    if (kernels->begin) kernels->begin();
    int64_t products = kernels->peak(rounds);
    if (kernels->end) kernels->end();
    return products;
}
