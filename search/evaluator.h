/* Scores strategies by running the deployed program: annotate, realize, run. */
#ifndef ITG_EVALUATOR_H
#define ITG_EVALUATOR_H
#include "realize/batch.h"
#include "realize/realize.h"
#include "realize/tile.h"
#include "recover/recover.h"
#include "search/objective.h"
#include "search/point_space.h"
#include "search/split.h"
#include "sim/evaluate.h"
#include "sim/sim.h"
#include "sim/strategy_file.h"

/* Computes all costs. RAM (itg_program_ram_bytes) is that of `program`, or of the program that is
 * realized from `a` where `program` is NULL; NaN if none can be realized. */
itg_status itg_program_costs(const itg_hardware *hw, const itg_annotated *a,
                             const itg_program *program, itg_score *out, itg_error *err);

/* A program to be run in blocks. */
typedef struct itg_fast_program {
    const itg_program *program;
    const itg_batch_plan *plan;
    itg_cache *activations; /* NULL: none are kept */
    uint64_t source;        /* number of the samples, for activations */
} itg_fast_program;
itg_backend itg_backend_program(const itg_fast_program *fast);
/* Plans the program, and evaluates it (itg_evaluate). block: samples computed at once; 0: by their
 * sizes. */
itg_status itg_evaluate_program(const itg_program *program, int64_t block,
                                const itg_evaluate_options *options, itg_evaluation *out,
                                itg_error *err);
itg_input_list itg_program_inputs(const itg_program *program);
/* Everything that is needed to score a point. Workers share it and change nothing but the threshold
 * cache. */
typedef struct itg_evaluator {
    const itg_model *model;
    const itg_hardware *hw;
    const itg_preprocess *preprocess;
    itg_point_space *points;
    itg_threshold_cache *cache;
    const itg_accel_kernels *kernels;
    itg_cache *weights, *activations; /* activations NULL: none are kept */
    int64_t block;                    /* samples computed at once; 0: by their sizes */
    itg_constants constants;          /* of the model's graph, in `weights` */
    const itg_user_metric *user;      /* [ITG_USER_METRICS], in every score; NULL: none */
    pthread_mutex_t *user_lock;
    bool measures[ITG_METRIC_COUNT]; /* asked for: the goal's quality */
    itg_stop stop;                   /* of every score */
    const itg_recovered *recovered;  /* codes of weights; NULL: the nearest */
    /* RAM above the limit is that of stripes of the steps of nodes `first` to `last`, as
     * itg_program_tile makes them; count 0: there are none. */
    double max_ram;
    itg_stripes stripes; /* of nodes */
} itg_evaluator;
/* Chooses the kernels and makes the caches; cache_bytes: for activations, 0: none. */
itg_status itg_evaluator_init(itg_evaluator *evaluator, int64_t cache_bytes, itg_error *err);
void itg_evaluator_deinit(itg_evaluator *evaluator);
/* Chooses the stripes for a limit of RAM, by the widest point; the points must be known. */
itg_status itg_evaluator_choose_stripes(itg_evaluator *evaluator, double max_ram,
                                        itg_tiling *tiling, itg_error *err);

/* The samples of a score, their labels, and the float network's results on them. */
typedef struct itg_sample_set {
    itg_dataset *data;
    uint64_t source;     /* a number of its own among the evaluator's sample sets */
    itg_dataset *labels; /* NULL: none */
    bool has_classes;    /* the labels are classes */
    int64_t *classes;    /* the float network's, for agreement; may be NULL */
    int64_t *order; /* the order in which samples run: those that decide early come first; NULL: as
                       they are */
    itg_expectation expected; /* of top-1; may be empty */
    itg_reference outputs;    /* the float network's, for distortion; may be empty */
} itg_sample_set;

/* How a score is taken. */
typedef struct itg_scoring {
    const itg_sample_set *set;
    const itg_race *race; /* NULL: on all samples; else it may stop early */
    int threads;
    double *distortion_deviation; /* as in itg_evaluation; NULL: not wanted */
} itg_scoring;

itg_status itg_evaluator_resolve(const itg_evaluator *evaluator, const int32_t *point,
                                 itg_strategy **out, itg_error *err);
/* ITG_INFEASIBLE, ITG_UNBOUNDED: the hardware cannot run this strategy (err says why). */
itg_status itg_evaluator_score_strategy(const itg_evaluator *evaluator,
                                        const itg_strategy *strategy, const itg_scoring *scoring,
                                        itg_score *out, itg_error *err);
itg_status itg_evaluator_score(const itg_evaluator *evaluator, const int32_t *point,
                               const itg_scoring *scoring, itg_score *out, itg_error *err);
/* Finds the widths whose products the accumulators cannot hold; *out is malloc'd, NULL: none. An
 * itg_engine_conflicts_fn. */
itg_status itg_evaluator_conflicts(const itg_evaluator *evaluator, const int32_t *point,
                                   itg_conflict **out, int32_t *count, itg_error *err);
/* Computes the costs of a point alone, with thresholds that need no search. RAM needs a program: it
 * is NaN where with_ram is false. Quality and digest are unknown. nodes: also the costs of all
 * nodes (itg_cost_of_nodes); NULL: not wanted. */
itg_status itg_evaluator_cost(const itg_evaluator *evaluator, const int32_t *point, bool with_ram,
                              itg_score *out, itg_cost *nodes, itg_error *err);
#endif
