/* A worker's sign of life: a thread with a connection of its own renews it, and the lease of the
 * trial that is being computed, several times in each lease. */
#ifndef ITG_REMOTE_PULSE_H
#define ITG_REMOTE_PULSE_H
#include "remote/link.h"

typedef struct itg_pulse itg_pulse;
itg_status itg_pulse_start(const itg_worker_options *o, itg_pulse **out, itg_error *err);
void itg_pulse_stop(itg_pulse *pulse); /* NULL allowed */
/* Sets the trial whose lease is renewed, by its id in the stream; "": none. */
void itg_pulse_hold(itg_pulse *pulse, const char *id);
#endif
