/* A small network, made by a seed, with data that it tells apart and labels that are mostly its
 * own: enough for a whole search in milliseconds. */
#ifndef ITG_TEST_NETWORK_H
#define ITG_TEST_NETWORK_H
#include "search/evaluator.h"

typedef struct small_network {
    itg_model *model;
    itg_hardware *hw;
    itg_dataset *data, *holdout;
    itg_dataset *labels, *holdout_labels;
    itg_preprocess preprocess;
} small_network;

typedef enum small_outputs {
    SMALL_CLASSES, /* 5 classes */
    SMALL_SPATIAL, /* the pool's [1,4,2,2] */
    SMALL_SCALAR,  /* one element */
    SMALL_TWO      /* the classes and the pool's */
} small_outputs;
/* Convolutions, an addition, a pool and a Gemm of 5 classes on a built-in target. */
void small_network_make(uint64_t seed, const char *target, int64_t samples, small_network *out);
/* The same with other outputs, and then without labels. */
void small_network_make_with(uint64_t seed, const char *target, int64_t samples,
                             small_outputs outputs, small_network *out);
/* Puts a text in place of another one in the target's description. */
void small_network_change_target(small_network *n, const char *from, const char *to);
void small_network_end(small_network *n);
itg_search_data small_network_data(const small_network *n);
#endif
