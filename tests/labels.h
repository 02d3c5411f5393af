/* Labels of a test as data that lies where the test has it. */
#ifndef ITG_TEST_LABELS_H
#define ITG_TEST_LABELS_H
#include "sim/sim.h"

static inline itg_dataset labels_of(const int64_t *labels, int64_t count)
{
    static char name[] = "labels";
    return (itg_dataset){
        .dtype = ITG_S64, .shape = {1, {count}}, .data = (void *)(uintptr_t)labels, .path = name};
}
#endif
