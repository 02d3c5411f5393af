/* Types and functions that the files of `intaglio runs` share: a run of the log with its parsed
 * goal. Each action is one function in runs_*.c. */
#ifndef ITG_CLI_RUNS_H
#define ITG_CLI_RUNS_H
#include "cli/common.h"
#include "cli/table.h"

typedef struct itg_cli_logged {
    itg_run_record *record;
    itg_search_options options; /* where has_goal */
    bool has_goal;              /* the options of the run could be read */
} itg_cli_logged;

/* ---- reading (runs_common.c) ---- */
itg_status itg_cli_logged_read(itg_run_log *log, int64_t run, itg_cli_logged *out, itg_error *err);
void itg_cli_logged_close(itg_cli_logged *run);
itg_goal itg_cli_logged_goal(const itg_cli_logged *run); /* with the hardware's limits */
/* Reads all runs, oldest first. */
itg_status itg_cli_logged_all(itg_run_log *log, itg_cli_logged **out, int64_t *count,
                              itg_error *err);
void itg_cli_logged_free(itg_cli_logged *runs, int64_t count);
/* Whether the run matches --model (file name with or without extension, as given, or the first
 * digits of its hash) and --hw. */
bool itg_cli_logged_matches(const itg_cli_args *args, const itg_cli_logged *run);

/* ---- words (runs_common.c) ---- */
const char *itg_cli_base_name(const char *path);
/* Returns the name of a result on the hold-out, such as "uniform 8". */
const char *itg_cli_result_name(itg_run_result which);
const char *itg_cli_when(const char *started, char *buffer, size_t size); /* "2024-05-06 07:08" */
const char *itg_cli_state(const itg_cli_logged *run, char *buffer, size_t size);
/* Writes a short form of the goal: "size, drop <= 1 %". */
const char *itg_cli_short_goal(const itg_cli_logged *run, char *buffer, size_t size);
/* Sets *holds to whether the run's best keeps its goal's floor and limits on the hold-out. Returns
 * false if that is not known. */
bool itg_cli_logged_held(const itg_cli_logged *run, bool *holds);
/* Begins the object of a run: inputs, goal, state, results. The caller may add members and ends
 * it. */
void itg_cli_json_logged_begin(itg_json_writer *json, const char *key, const itg_cli_logged *run);

/* ---- a run with its trials (runs_course.c) ---- */
typedef struct itg_cli_shown {
    const itg_cli_args *args;
    itg_cli_logged run;
    itg_goal kept; /* the goal, with the hardware's limits */
    itg_trial *trials;
    int64_t count, feasible;
    double seconds;
    int64_t *steps; /* trials at which the best so far improved, in order */
    int64_t step_count;
    bool labelled; /* top-1 of trials is known */
    bool floor_known;
    itg_run_choices *choices; /* of the best trial; NULL: there is none */
} itg_cli_shown;
/* Reads a run with its trials. The caller sets s->args first and closes *s also after a failure. */
itg_status itg_cli_shown_read(itg_cli_shown *s, itg_run_log *log, int64_t run, itg_error *err);
void itg_cli_shown_close(itg_cli_shown *s);

/* ---- a run as JSON and as tables, whose first rows are titles (runs_show.c) ---- */
void itg_cli_shown_json(itg_json_writer *json, const itg_cli_shown *s, bool trials);
void itg_cli_shown_inputs(itg_cli_table *table, const itg_cli_shown *s); /* without titles */
const itg_score *itg_cli_any_result(const itg_run_record *r); /* on the hold-out; NULL: none */
void itg_cli_shown_results(itg_cli_table *table, const itg_cli_logged *run); /* there are any */
void itg_cli_shown_steps(itg_cli_table *table, const itg_cli_shown *s);
void itg_cli_shown_trial_titles(itg_cli_table *table);
void itg_cli_shown_trial(itg_cli_table *table, const itg_cli_shown *s, const itg_trial *t);
void itg_cli_shown_choices(itg_cli_table *table, const itg_cli_shown *s); /* choices is not NULL */

/* ---- the front of a run (runs_front.c) ---- */
typedef struct itg_cli_front {
    const itg_cli_args *args; /* --pareto */
    const itg_cli_logged *run;
    const itg_trial *trials;
    int64_t count;
    itg_goal goal;   /* of the front, with the hardware's limits */
    int64_t *places; /* in trials, by the first cost */
    int32_t front_count;
    double volume; /* NAN: not known */
} itg_cli_front;
/* Finds the front. The caller sets the members before `goal`, which stay borrowed, and closes *f
 * also after a failure. */
itg_status itg_cli_front_find(itg_cli_front *f, itg_error *err);
void itg_cli_front_close(itg_cli_front *f);
void itg_cli_front_json(itg_json_writer *json, const itg_cli_front *f);
void itg_cli_front_table(itg_cli_table *table, const itg_cli_front *f);
/* Computes the interval of top-1 as counted. Returns false if the score has no counted top-1. */
bool itg_cli_top1_interval(const itg_score *score, double *lo, double *hi);

/* ---- tables of runs (runs_list.c) ---- */
int itg_cli_by_number(double a, double b); /* as qsort takes it */
/* Returns the goal's quality of the run's best on the hold-out. */
double itg_cli_best_quality(const itg_cli_logged *run);
/* Adds the titles of a table of runs. with_worse: rows have one more cell at the end. */
void itg_cli_runs_titles(itg_cli_table *table, bool with_worse);
void itg_cli_runs_row(itg_cli_table *table, const itg_cli_logged *run);
void itg_cli_runs_explain(void);
/* Returns the first run of this model and hardware in the order of 'runs best'; NULL if none met
 * its goal. */
const itg_cli_logged *itg_cli_runs_find_best(const itg_cli_logged *runs, int64_t count,
                                             const unsigned char model_hash[32],
                                             const char *hardware_json);
/* Returns the best's weight bytes as a share of those of uniform 8; below zero: not known. */
double itg_cli_share_of_uniform(const itg_run_record *record);

/* Returns the cost of the run's best that its goal minimizes; below zero if the goal maximizes
 * quality. */
double itg_cli_run_cost(const itg_cli_logged *run);
bool itg_cli_same_goal(const itg_cli_logged *a, const itg_cli_logged *b);
/* Whether `runs list` marks the run as WORSE than `than`; false if `than` missed its goal. Sets
 * *of_quality to whether it is worse in quality, else in the minimized cost. */
bool itg_cli_is_worse(const itg_cli_logged *run, const itg_cli_logged *than, bool *of_quality);

/* ---- actions: exit statuses ---- */
int itg_cli_runs_list(const itg_cli_args *args, itg_run_log *log);
int itg_cli_runs_best(const itg_cli_args *args, itg_run_log *log);
int itg_cli_runs_show(const itg_cli_args *args, itg_run_log *log);
int itg_cli_runs_front(const itg_cli_args *args, itg_run_log *log);
int itg_cli_runs_compare(const itg_cli_args *args, itg_run_log *log);
int itg_cli_runs_compare_all(const itg_cli_args *args, itg_run_log *log); /* more than two */
int itg_cli_runs_history(const itg_cli_args *args, itg_run_log *log);
/* Shows the progress of a run that another process writes, and returns when it ends (runs_watch.c).
 */
itg_status itg_cli_runs_watch(const itg_cli_args *args, itg_run_log *log, int64_t run,
                              itg_error *err);
int itg_cli_runs_trial(const itg_cli_args *args); /* best RUN --trial N */
/* Reads the run number from the argument at `place`. Prints usage errors. */
int itg_cli_run_number(const itg_cli_args *args, int place, int64_t *out);
/* ---- trials by worker (runs_workers.c) ---- */
typedef struct itg_cli_worker_share {
    const char *worker; /* a trial's */
    int64_t trials;
    double seconds;
} itg_cli_worker_share;
typedef struct itg_cli_by_worker {
    itg_cli_worker_share *shares; /* by name; the caller frees them */
    int32_t count;
} itg_cli_by_worker;
/* Counts the trials that other processes computed, by worker. Returns false without memory. */
bool itg_cli_by_worker_of(const itg_trial *trials, int64_t count, itg_cli_by_worker *out);
#endif
