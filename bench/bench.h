/* bench: one tool that verifies a result, then times it, against a peer measured in the same run.
 * bench/README.md says what each figure means. */
#ifndef ITG_BENCH_H
#define ITG_BENCH_H
#include "search/evaluator.h"

/* ---- the machine (machine.c) ---- */
const char *bench_commit(void);
void bench_processor(char *out, size_t size); /* as the system names it */
double bench_now(void);                       /* seconds of a steady clock */
/* Seconds to measure work on so many threads by: of one thread the processor's, which other
 * processes do not add to; else the steady clock's. The peer measures by the same. */
double bench_clock(int threads);
/* Tool, commit, processor, threads, repeats. */
void bench_print_header(int threads, int repeats);
/* The most memory that this process ever held, in bytes; 0: the system does not say. */
int64_t bench_peak_memory(void);

/* ---- rounds (rounds.c) ---- */
enum { BENCH_MAX_CONTENDERS = 8, BENCH_MAX_REPEATS = 101 };

/* One of several ways to do the same work. */
typedef struct bench_contender {
    /* Seconds of one of `runs` runs in a row, by whatever clock stands nearest to the work. */
    itg_status (*run)(void *context, int64_t runs, double *seconds, itg_error *err);
    void *context;
} bench_contender;

typedef struct bench_timing {
    double least, median; /* seconds of one run */
} bench_timing;

/* In each round every contender runs once in turn, so that a change of the machine's speed meets
 * all of them; what is short runs often enough to fill 20 ms. Ends after `rounds`, or behind the
 * third that ends later than `seconds`. run NULL: a contender that is left out; its times are 0. */
itg_status bench_rounds(const bench_contender *contenders, int count, int rounds, double seconds,
                        bench_timing *out, itg_error *err);

/* ---- the table (table.c) ---- */
typedef enum bench_unit { BENCH_SECONDS, BENCH_PER_SECOND, BENCH_MACS, BENCH_BYTES } bench_unit;

/* One figure. The ratio says how many times better ours is: less of SECONDS and BYTES, more of the
 * others. */
typedef struct bench_row {
    const char *what, *peer_name, *verified;
    bench_unit unit;
    double ours, ours_median; /* median 0: not known */
    double peer;              /* 0: absent; peer_name then says why */
    double least_ratio;       /* goals; 0: none */
    double least_ours;        /* of what is counted per second */
    bool failed;              /* verified says what is wrong; nothing was timed */
} bench_row;

typedef struct bench_table {
    itg_strbuf rows; /* Markdown */
    int count, failed;
} bench_table;

/* Prints the row, and keeps it. */
void bench_add(bench_table *table, const bench_row *row);
/* Prints a remark, and keeps it as a row of its own. */
void bench_remark(bench_table *table, const char *format, ...) ITG_PRINTF(2, 3);
/* The table with its heading, machine, commit and date. */
itg_status bench_write_table(const bench_table *table, const char *path, itg_error *err);

/* ---- child processes (child.c) ---- */
typedef struct bench_child bench_child;
/* Runs words[0] with its arguments (the last is NULL), found as a shell would find it; a line in
 * the child's input is a question, a line of its output the answer. */
itg_status bench_child_start(const char *const *words, bench_child **out, itg_error *err);
/* question NULL: only reads. The answer ends without its newline. ITG_IO: the child is gone. */
itg_status bench_child_ask(bench_child *child, const char *question, char *answer, size_t size,
                           itg_error *err);
void bench_child_end(bench_child *child); /* closes its input and waits for it; NULL allowed */

/* ---- the peer, ONNX Runtime (peer.c, peer.py) ---- */
typedef struct bench_peer bench_peer;
/* python NULL: absent. An absent peer is none the less one: why says what is missing. */
itg_status bench_peer_start(const char *python, const char *folder, bench_peer **out,
                            itg_error *err);
void bench_peer_end(bench_peer *peer);
bool bench_peer_present(const bench_peer *peer);
const char *
bench_peer_name(const bench_peer *peer); /* "ONNX Runtime 1.20.1", or why it is absent */

typedef struct bench_session {
    bench_peer *peer;
    int number;      /* -1: not there */
    char name[160];  /* of the peer with what it runs, or why it is not there */
    int64_t batch;   /* samples of a run that it is fastest with; 0: not chosen yet */
    int64_t samples; /* of a pass */
} bench_session;
/* A model on samples that lie in a file of float32 [samples, sample...], on so many threads. What
 * the peer cannot do leaves number -1 and says why in the name. */
itg_status bench_session_open(bench_peer *peer, const char *label, const char *model,
                              const char *samples, const itg_shape *shape, int threads,
                              bench_session *out, itg_error *err);
/* Our artefact as a QDQ model of the same arithmetic; the same way. */
itg_status bench_session_open_artefact(bench_peer *peer, const char *label, const char *artefact,
                                       const char *samples, const itg_shape *shape, int threads,
                                       bench_session *out, itg_error *err);
/* The first output of the first `count` samples, as float32: elements a sample, in all malloc'd. */
itg_status bench_session_outputs(bench_session *s, int64_t count, float **out, int64_t *elements,
                                 itg_error *err);
void bench_session_close(bench_session *s);
/* One pass over all samples. run NULL where the session is not there. */
bench_contender bench_session_contender(bench_session *s);

/* ---- networks (networks.c, subject.c) ---- */
typedef struct bench_network {
    /* labels NULL: agreement counts. A path that begins with '@' lies in the options' folder. */
    const char *name, *model, *data, *labels, *calibration;
    const char *qdq;                /* made by make_qdq.py; NULL: none */
    const char *scale, *mean, *std; /* NULL: none */
    bool bgr;
    int64_t samples, calibration_samples;
    int64_t exact;          /* samples that the simulation repeats */
    bool calibrates, quick; /* calibration is measured; it belongs to a quick run */
    double max_drop;        /* of the search's goal */
    int64_t trials;         /* of a search, at most; 0: to its end */
    /* Goals; 0: none. Ratios to the peer, candidates a second on all threads. */
    double full_ratio, greedy_ratio, graph_ratio, full_rate, greedy_rate;
} bench_network;
const bench_network *bench_network_at(int index); /* NULL: past the end */
typedef struct bench_options {
    const char *only;    /* text in the network's name; NULL: all */
    const char *python;  /* with onnxruntime; NULL: none */
    const char *folder;  /* models that a script made; temporary files */
    const char *program; /* this one, to be run again */
    bool quick;
    int64_t samples; /* 0: as each network says */
    int threads, rounds;
    double seconds; /* of one comparison, about */
    unsigned parts; /* bit i: part i of main.c */
} bench_options;

/* A network with its samples and all that a search would have prepared. */
typedef struct bench_subject {
    const bench_network *network;
    const bench_options *options;
    bench_table *table;
    bench_peer *peer;
    itg_model *model;
    itg_hardware *hw;
    itg_dataset *calibration;
    itg_preprocess preprocess;
    itg_stats *stats;
    itg_evaluator evaluator; /* keeps no activations */
    itg_sample_set set;      /* labels and the float network's results included */
    itg_shape input;         /* [1, ...] */
    double macs;             /* of a sample */
    float *real;             /* the samples as the network reads them */
    char real_path[512];     /* the same as a file */
    char model_path[512];
    double float_error; /* of the peer's outputs against ours, as a share of the largest; -1: no
                           peer */
    bench_session fp32; /* the peer's pass on one thread */
} bench_subject;
/* Whether all its files are there; the first that is not into missing. Needs network and options
 * alone. */
bool bench_subject_present(const bench_subject *s, char *missing, size_t size);
/* network, options, table and peer are given. */
itg_status bench_subject_open(bench_subject *s, itg_error *err);
/* Its model and preprocessing alone; ended by the same close. */
itg_status bench_subject_model(bench_subject *s, itg_error *err);
void bench_subject_close(bench_subject *s);
int64_t bench_subject_samples(const bench_subject *s);
itg_shape
bench_subject_shape(const bench_subject *s); /* of all samples, as the network reads them */
/* The path that a name of the network's stands for; false: there is no such file. */
bool bench_subject_file(const bench_subject *s, const char *name, char *out, size_t size);
/* One full candidate. kernels NULL: the evaluator's. */
itg_status bench_subject_score(const bench_subject *s, const itg_accel_kernels *kernels,
                               const int32_t *point, int threads, itg_score *out, itg_error *err);
/* The widest point with a quarter of its dimensions a level lower, drawn by number; 0: the widest.
 * point[dims] */
void bench_subject_point(const bench_subject *s, uint64_t number, int32_t *point);
/* Of a point. *annotated must live as long as *program. */
itg_status bench_subject_realize(const bench_subject *s, const int32_t *point,
                                 itg_annotated **annotated, itg_program **program, itg_error *err);

/* ---- what is measured: each adds its rows ---- */
itg_status bench_candidate(bench_subject *s, itg_error *err);   /* candidate.c */
itg_status bench_greedy(bench_subject *s, itg_error *err);      /* greedy.c */
itg_status bench_graph(bench_subject *s, itg_error *err);       /* graph.c */
itg_status bench_calibration(bench_subject *s, itg_error *err); /* calibration.c */
/* The process of its own that bench_calibration starts: prints seconds and peak bytes; its exit
 * status. */
int bench_calibrate_alone(const bench_options *options, const char *network, int64_t samples,
                          const char *kernels);
#endif
