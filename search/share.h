/* Private to share*.c and scorer.c: points and scores as text for another process. */
#ifndef ITG_SEARCH_SHARE_H
#define ITG_SEARCH_SHARE_H
#include <intaglio/share.h>
#include "search/search.h"

#define ITG_SHARE_FORMAT 1
#define ITG_SHARE_MOST_TEXT ((size_t)64 << 20) /* of a request or a reply */
/* The parts of a share, in this order; "codes" may be absent. */
#define ITG_SHARE_HEAD "search"
#define ITG_SHARE_STATISTICS "statistics"
#define ITG_SHARE_THRESHOLDS "thresholds" /* that statistics do not give */
#define ITG_SHARE_SAMPLES "samples"
#define ITG_SHARE_FLOATS "floats"
#define ITG_SHARE_CODES "codes"

/* A request that was read; race.objective is the reader's. */
typedef struct itg_asked {
    int32_t *point; /* [dim_count] */
    bool races;
    itg_race race;
    itg_trial best;
    itg_archive front;
} itg_asked;
/* *out is freed with itg_free. race NULL: none. */
itg_status itg_share_request(const itg_search_space *space, const int32_t *point,
                             const itg_race *race, char **out, itg_error *err);
/* *out is freed with itg_asked_deinit, also after a failure. */
itg_status itg_share_read_request(const char *text, size_t bytes, const itg_objective *objective,
                                  itg_asked *out, itg_error *err);
void itg_asked_deinit(itg_asked *asked);

/* status: ITG_OK with a score, or ITG_INFEASIBLE, ITG_UNBOUNDED with the reason; others are no
 * reply, and fail with `why`. *out is freed with itg_free. */
itg_status itg_share_reply(itg_status status, const itg_score *score, const itg_error *why,
                           char **out, itg_error *err);
itg_status itg_share_read_reply(const char *text, size_t bytes, itg_status *status,
                                itg_score *score, itg_error *why, itg_error *err);
#endif
