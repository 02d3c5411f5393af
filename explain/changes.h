/* Private to changes.c and candidates.c: the search for changes. */
#ifndef ITG_EXPLAIN_CHANGES_H
#define ITG_EXPLAIN_CHANGES_H
#include "explain/explain.h"
#include "recover/recover.h"

typedef struct found_change {
    itg_strategy *strategy; /* owned; NULL: none */
    int32_t group;          /* its edges of the choice space are changed */
    itg_score score;
    char text[80];
} found_change;

typedef struct changing {
    explaining *x;
    const itg_dataset *calibration;
    itg_choice_space *space;
    itg_stats *stats;
    itg_threshold_cache *cache;
    itg_recovery recovery;         /* of codes, on the calibration samples */
    int32_t *bits;                 /* [groups]: those of the strategy */
    int32_t *passed_over;          /* the same */
    itg_threshold_method *methods; /* [groups] */
    bool is_bounded;               /* the strategy's program cannot overflow */
    found_change best;             /* for the current effect */
    int32_t tried;
} changing;

/* ---- changes.c ---- */
/* Considers the strategy with the group's edges as in `from`, unless they are equal. */
itg_status changes_consider(changing *c, int32_t group, const itg_strategy *from, const char *text);

/* ---- candidates.c ---- */
itg_status changes_begin(changing *c);
void changes_end(changing *c);
/* Considers every change that might lessen the effect. */
itg_status changes_list(changing *c, const itg_effect_report *r);
#endif
