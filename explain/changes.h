/* Private to changes.c and candidates.c: looking for changes. */
#ifndef ITG_EXPLAIN_CHANGES_H
#define ITG_EXPLAIN_CHANGES_H
#include "explain/explain.h"
#include "recover/recover.h"

typedef struct found_change {
    itg_strategy *strategy; /* owned; NULL: none */
    int32_t group;          /* of the choice space, whose edges it changes */
    itg_score score;
    char text[80];
} found_change;

typedef struct changing {
    explaining *x;
    const itg_dataset *calibration;
    itg_choice_space *space;
    itg_stats *stats;
    itg_threshold_cache *cache;
    int32_t *bits;                 /* [groups]: as the strategy has them */
    itg_threshold_method *methods; /* [groups] */
    bool is_bounded;               /* the strategy's program cannot overflow */
    found_change best;             /* of the effect that is looked at */
    int32_t tried;
} changing;

/* ---- changes.c ---- */
/* The strategy with the group's edges as `from` has them; nothing where it has them so already. */
itg_status changes_consider(changing *c, int32_t group, const itg_strategy *from, const char *text);

/* ---- candidates.c ---- */
itg_status changes_begin(changing *c);
void changes_end(changing *c);
/* Considers everything that might lessen the effect. */
itg_status changes_list(changing *c, const itg_effect_report *r);
#endif
