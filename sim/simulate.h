/* Private to simulate.c and sim_*.c. Codes are integers held in doubles, exact below 2^53; if a
 * bound does not prove that, in 64-bit integers. The simulator has simple operator code of its own,
 * so that agreement with the executor is a test. */
#ifndef ITG_SIMULATE_H
#define ITG_SIMULATE_H
#include "kernels/requant.h"
#include "sim/sim.h"

/* One encoding of one value. */
typedef struct sim_buffer {
    double *codes; /* integer encodings */
    float *real;   /* float encodings of f32 values; may alias the value's native */
    itg_edge_events events;
} sim_buffer;

typedef struct sim_value {
    int64_t elements;
    void *native; /* graph inputs, constants, outputs of float nodes: raw elements of the value's
                     dtype */
    sim_buffer *buffers; /* [encoding_count] */
} sim_value;

struct itg_sim {
    const itg_annotated *a;
    itg_arena *arena;
    sim_value *values;
    int64_t *acc;       /* native results of the node that runs, [max elements] */
    int32_t *count;     /* window counts of a pool, [max elements] */
    double *columns;    /* scratch of mac nodes */
    double *constants;  /* codes of the constants of the node that runs */
    void **packed;      /* [outputs]: storage dtype */
    int64_t overflowed; /* of the node that runs */
};

const itg_encoding *sim_input_encoding(const itg_sim *s, itg_id node, int32_t slot);
const double *sim_input_codes(const itg_sim *s, itg_id node, int32_t slot);
const itg_shape *sim_shape(const itg_sim *s, itg_id value);
/* Computes every encoding of a node's out_value from s->acc. channel = (i / stride) %
 * requant_count; or, with counts, counts[i] - 1. */
void sim_epilogue(itg_sim *s, itg_id node, int64_t stride, const int32_t *counts);
/* Whether the quantizer's range, not the activation (ITG_NONE: none), clips this code. */
bool sim_saturates(const itg_sim *s, itg_id activation, const itg_encoding *encoding, int64_t wide);
/* Returns a float encoding's value after the activation (ITG_NONE: none). */
float sim_activate(const itg_sim *s, itg_id activation, float v);
/* Fits an exact sum to the node's accumulator; counts overflows. */
int64_t sim_fit(itg_sim *s, const itg_node_note *note, int64_t sum);

size_t sim_mac_scratch(const itg_annotated *a, itg_id node); /* doubles */
void sim_mac(itg_sim *s, itg_id node);
void sim_binary(itg_sim *s, itg_id node);     /* Add, Sub, Mul in every form */
void sim_activation(itg_sim *s, itg_id node); /* Relu, Clip */
itg_status sim_lut(itg_sim *s, itg_id node, itg_error *err);
void sim_mean(itg_sim *s, itg_id node);  /* average pools and ReduceMean, rescale and keep */
void sim_mean_f32(itg_sim *s, itg_id n); /* AveragePool in float32, its encodings too */
void sim_max_pool(itg_sim *s, itg_id node);
void sim_arg_max(itg_sim *s, itg_id node);
void sim_softmax(itg_sim *s, itg_id node);
void sim_layer_norm(itg_sim *s, itg_id node);
#endif
