/* Private to explain/: the state of one itg_explain call. */
#ifndef ITG_EXPLAIN_H
#define ITG_EXPLAIN_H
#include <intaglio/explain.h>
#include "search/evaluator.h"
#include "sim/relax.h"
#include "sim/strategy_file.h"

/* Samples, the float network's results for them, and the strategy's score on them. */
typedef struct explain_set {
    itg_dataset *data, *labels; /* owned; labels NULL: none */
    itg_reference reference;
    itg_evaluation floats;
    itg_score base;
} explain_set;

struct itg_explanation {
    itg_arena *arena; /* texts */
    itg_explanation_info info;
    int32_t count;
    itg_effect_report *effects;
    itg_strategy *changed; /* NULL: no change */
};

typedef struct explaining {
    const itg_graph *g;
    const itg_strategy_file *file;
    const itg_explain_options *o;
    itg_annotated *a; /* of the strategy */
    itg_sites sites;
    itg_relaxation relaxation; /* removes nothing between two measurements */
    double *reach;             /* [values] */
    explain_set all, first;    /* first: empty if it would equal all */
    itg_explanation *e;
    itg_error *err;
} explaining;

/* ---- measure.c ---- */
/* The first `count` samples of data and labels. */
itg_status explain_open_set(explaining *x, const itg_dataset *data, int64_t count,
                            explain_set *out);
void explain_close_set(explain_set *set);
/* Measures quality on all samples, and costs, of another strategy's program. A distortion that is
 * not a number becomes infinite. *runs false: the hardware cannot run it, or it might overflow
 * although may_overflow is false. */
itg_status explain_measure_strategy(explaining *x, const itg_strategy *s, bool may_overflow,
                                    bool *runs, itg_score *out);
/* Measures quality without the effects that x->relaxation removes. */
itg_status explain_measure_relaxed(explaining *x, const explain_set *set, itg_score *out);
void explain_progress(const explaining *x, const char *what, int32_t done, int32_t planned);

/* ---- the parts ---- */
/* effects.c: finds, measures and ranks the effects. */
itg_status explain_effects(explaining *x);
/* bisect.c */
itg_status explain_bisect(explaining *x);
/* changes.c: finds changes and combines them. */
itg_status explain_changes(explaining *x);
#endif
