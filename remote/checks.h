/* The workers of a search: those that passed the proof and those that were refused, and all
 * answers, so that two answers to one trial can be compared at any time. */
#ifndef ITG_REMOTE_CHECKS_H
#define ITG_REMOTE_CHECKS_H
#include <intaglio/share.h>
#include "base/base.h"

typedef struct itg_known_worker {
    char name[ITG_WORKER_NAME];
    int32_t admitted; /* to the document with this number; 0: to none yet */
    bool refused;
} itg_known_worker;

typedef struct itg_answer {
    unsigned char hash[32];
    int32_t worker; /* -1: no answer yet */
} itg_answer;

typedef struct itg_checks {
    itg_known_worker *workers;
    int32_t worker_count, worker_capacity;
    itg_answer *answers; /* by the trial's number */
    int64_t answer_capacity;
} itg_checks;
void itg_checks_deinit(itg_checks *checks);
/* Its number; -1: no memory, or there are too many. */
int32_t itg_checks_worker(itg_checks *checks, const char *name);
/* NULL: no memory. */
itg_answer *itg_checks_answer(itg_checks *checks, int64_t number);
#endif
