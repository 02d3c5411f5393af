#include "remote/checks.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_WORKERS = 100000 };

void itg_checks_deinit(itg_checks *c)
{
    free(c->workers);
    free(c->answers);
    *c = (itg_checks){0};
}

int32_t itg_checks_worker(itg_checks *c, const char *name)
{
    for (int32_t i = 0; i < c->worker_count; i++)
        if (strcmp(c->workers[i].name, name) == 0) return i;
    if (c->worker_count == c->worker_capacity) {
        int32_t capacity = c->worker_capacity ? 2 * c->worker_capacity : 16;
        itg_known_worker *grown =
            capacity <= MOST_WORKERS ? realloc(c->workers, sizeof *grown * (size_t)capacity) : NULL;
        if (!grown) return -1;
        c->workers = grown;
        c->worker_capacity = capacity;
    }
    itg_known_worker *w = &c->workers[c->worker_count];
    *w = (itg_known_worker){0};
    snprintf(w->name, sizeof w->name, "%s", name);
    return c->worker_count++;
}

itg_answer *itg_checks_answer(itg_checks *c, int64_t number)
{
    if (number >= c->answer_capacity) {
        int64_t capacity = c->answer_capacity ? c->answer_capacity : 256;
        while (capacity <= number)
            capacity *= 2;
        itg_answer *grown = realloc(c->answers, sizeof *grown * (size_t)capacity);
        if (!grown) return NULL;
        for (int64_t i = c->answer_capacity; i < capacity; i++)
            grown[i] = (itg_answer){.worker = -1};
        c->answers = grown;
        c->answer_capacity = capacity;
    }
    return &c->answers[number];
}
