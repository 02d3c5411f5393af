/* A model as the public interface knows it: the file's graph prepared. */
#ifndef ITG_MODEL_H
#define ITG_MODEL_H
#include "sim/sim.h"

struct itg_model {
    itg_graph *graph; /* prepared */
};
#endif
