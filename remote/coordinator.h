/* Private to coordinator*.c: a search's side of the server. Everything happens in the search's
 * thread, while it submits and waits. */
#ifndef ITG_REMOTE_COORDINATOR_H
#define ITG_REMOTE_COORDINATOR_H
#include "remote/checks.h"
#include "remote/document.h"

#define ITG_COORDINATOR_TICK_S 1.0 /* period of the look for lost trials */
#define ITG_COORDINATOR_ALIVE_S 60 /* silence after which a search counts as dead */
#define ITG_COORDINATOR_SECOND_S                                                                   \
    30                      /* time for a second worker, besides 20 times the first worker's */
#define ITG_MOST_FAILURES 3 /* workers that may fail at one trial */

typedef enum itg_sent_state {
    ITG_SENT_FIRST,  /* out, for any worker */
    ITG_SENT_SECOND, /* answered; out again, for one other worker */
    ITG_SENT_DONE    /* to be returned */
} itg_sent_state;

/* A trial that is out. */
typedef struct itg_sent {
    itg_work *work;
    int64_t number;        /* counts what was submitted */
    char *request, *reply; /* reply: the first worker's */
    char id[48];           /* in the stream; "": not sent, or lost */
    itg_sent_state state;
    bool checked; /* two workers compute it */
    bool missing; /* the server has lost it, and there is no answer yet */
    int failures;
    int32_t first, second; /* workers; -1: none, or not sent to one */
    double seconds, asked; /* asked: when it was sent to the second */
    struct itg_sent *next;
} itg_sent;

struct itg_coordinator {
    itg_coordinator_options o;
    itg_search_evaluator evaluator;
    itg_link *link; /* NULL: lost */
    bool restored;  /* the server has all keys of the search, as far as is known */
    char session[33];
    itg_rng rng; /* which trials are checked, and by whom */
    itg_share *share;
    int32_t round; /* of share; -1: there is none */
    itg_document document;
    itg_remote_file about; /* of document, as a file */
    char *text, *proof;    /* of document; the reply to its probe */
    int32_t documents;     /* made so far: the number of this one */
    itg_checks checks;
    itg_sent *sent; /* in the order of their numbers */
    int64_t count;  /* submitted so far */
    double ticked, noted, heard;
    bool waits; /* a note said that nobody answers */
};

/* coordinator_search.c: makes the share of the work's round ready to be sent. */
itg_status itg_coordinator_prepare(itg_coordinator *c, const itg_work *work, itg_error *err);
void itg_coordinator_forget(itg_coordinator *c); /* the share and its document */

/* coordinator_server.c: each fails with ITG_IO where the server is lost. */
/* Connects, and writes the group of workers, this search's sign of life and all files to the
 * server. */
itg_status itg_coordinator_restore(itg_coordinator *c, itg_error *err);
itg_status itg_coordinator_send(itg_coordinator *c, itg_sent *s, itg_error *err);
/* Sends a trial to one worker. */
itg_status itg_coordinator_send_to(itg_coordinator *c, itg_sent *s, int32_t worker, itg_error *err);
/* Picks at random a living, admitted worker other than `other`; -1: there is none. */
itg_status itg_coordinator_pick(itg_coordinator *c, int32_t other, int32_t *out, itg_error *err);
/* Renews the sign of life; finds trials that were lost, and sends them again. */
itg_status itg_coordinator_tick(itg_coordinator *c, itg_error *err);
void itg_coordinator_recall(itg_coordinator *c, const itg_sent *s);
void itg_coordinator_lose(itg_coordinator *c);
void itg_coordinator_note(const itg_coordinator *c, const char *format, ...) ITG_PRINTF(2, 3);

/* coordinator_results.c: takes answers of workers, and waits up to wait_ms for the first. *more:
 * there may be others. */
itg_status itg_coordinator_take(itg_coordinator *c, int wait_ms, bool *more, itg_error *err);
/* Has an answered trial computed a second time: by another worker or, if there is none, here. */
itg_status itg_coordinator_ask_second(itg_coordinator *c, itg_sent *s, itg_error *err);
#endif
