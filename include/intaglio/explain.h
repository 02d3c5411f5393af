/* Where the loss of a strategy comes from, and what would lessen it (docs/explain.md).
 *
 * The loss is the distortion: the squared error of the outputs against the float network, as a
 * share of their power. An effect is one thing that quantization does in one place. It is measured
 * by taking it away while everything else computes as in the program. Results are the same on
 * every machine and any number of threads. */
#ifndef INTAGLIO_EXPLAIN_H
#define INTAGLIO_EXPLAIN_H
#include <intaglio/intaglio.h>
#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__ /* what the shared library exports */
#pragma GCC visibility push(default)
#endif

typedef enum itg_effect {
    ITG_EFFECT_CLIPPING, /* of an edge: values beyond its range */
    ITG_EFFECT_ROUNDING, /* of an edge: values between its codes; of weights also what codes of
                            the strategy's own differ from the model */
    ITG_EFFECT_REQUANTIZATION, /* of a layer: constants in place of real ratios, the roundings
                                  before the last one, a bias that does not fit */
    ITG_EFFECT_OVERFLOW,       /* of a layer: its accumulator */
    ITG_EFFECT_COUNT
} itg_effect;
const char *itg_effect_name(itg_effect effect); /* "clipping" */

typedef struct itg_effect_report {
    itg_effect effect;
    const char *value, *node; /* value NULL: of a layer; node NULL: of an edge to a graph output */
    int32_t edges;            /* that share the quantizer, the named one is the first; 0: a layer */
    int32_t edge;             /* its index, as in itg_edge_report; -1: a layer */
    int32_t bits;             /* of the edge; 0: a layer */
    bool is_weight;
    int64_t samples; /* that it was measured on: all, or the first ones */
    double share;    /* of the loss on these samples that goes when it is taken away; below 0: more
                        loss without it */
    itg_score without;  /* quality without it */
    int32_t tried;      /* changes that were evaluated; 0: none was looked for, or there is none */
    const char *change; /* "threshold max for mse"; NULL: none lessens the loss */
    itg_score changed;  /* the strategy with this change alone: quality and costs */
    bool is_applied;    /* it lessens the loss also together with the ones before it */
} itg_effect_report;

typedef struct itg_explanation_info {
    int64_t samples;
    bool complete;   /* false: it was stopped, and what follows is what was known by then */
    itg_score score; /* of the strategy: quality and costs */
    int32_t effects, measured; /* in all; those that all samples were used for */
    double sum;                /* of all shares; 1 - sum is due to several effects at once */
    /* Bisection: with the nodes up to `last_good` quantized, and no effect in the others, less than
     * half of the loss is there; with those up to `first_bad`, half or more. Names; last_good NULL:
     * the quantized inputs alone. first_bad NULL: not known; "": the inputs already. */
    const char *last_good, *first_bad;
    double good_share, bad_share; /* of the loss */
    int32_t probes;
    bool is_monotone;  /* the loss of the probes rose with the number of nodes */
    int32_t applied;   /* changes that is_applied says */
    itg_score changed; /* with all of these: quality and costs */
} itg_explanation_info;

typedef struct itg_explain_options {
    int32_t version;
    const itg_dataset *labels;      /* NULL: none */
    const itg_dataset *calibration; /* for other thresholds and codes; NULL: the data */
    int64_t first_samples;          /* that all effects are measured on where there are more than
                                       most_effects; 0: 32 */
    int32_t most_effects;           /* measured on all samples then, the largest; 0: 16 */
    int32_t most_changes; /* effects that changes are looked for, from the largest on; 0: 6 */
    int threads;
    itg_stop stop; /* then the result is not complete */
    /* Called before each evaluation; what: "effects", "bisection", "changes". NULL: not wanted. */
    void (*progress)(void *context, const char *what, int32_t done, int32_t planned);
    void *progress_context;
} itg_explain_options;
#define ITG_EXPLAIN_OPTIONS_VERSION 1
#define ITG_EXPLAIN_OPTIONS_INIT ITG_INIT(ITG_EXPLAIN_OPTIONS_VERSION)

typedef struct itg_explanation itg_explanation;
/* options NULL: the defaults. ITG_UNSUPPORTED: nothing is quantized, or the outputs cannot be
 * compared. model must outlive the result. */
itg_status itg_explain(const itg_model *model, const itg_strategy_file *file,
                       const itg_dataset *data, const itg_explain_options *options,
                       itg_explanation **out, itg_error *err);
void itg_explanation_destroy(itg_explanation *explanation);
const itg_explanation_info *itg_explanation_about(const itg_explanation *explanation);
/* The effects, the largest share first. */
int32_t itg_explanation_count(const itg_explanation *explanation);
const itg_effect_report *itg_explanation_at(const itg_explanation *explanation, int32_t index);
/* Makes the applied changes in the file that was explained; its results become info->changed. */
itg_status itg_explanation_apply(const itg_explanation *explanation, itg_strategy_file *file,
                                 itg_error *err);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
