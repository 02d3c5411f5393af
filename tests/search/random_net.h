/* A random network while it is made; private to random_*.c. */
#ifndef ITG_TEST_RANDOM_NET_H
#define ITG_TEST_RANDOM_NET_H
#include "graph/graph.h"
#include "hardware/hardware.h"

typedef struct net {
    itg_graph *g;
    const itg_hardware *hw;
    bool tables;
    itg_rng rng;
    itg_id pool[64]; /* four-dimensional values so far */
    int32_t count;
} net;

int64_t pick(net *n, int64_t lo, int64_t hi); /* both included */
const int64_t *dims(const net *n, itg_id v);
itg_id constant(net *n, int32_t rank, const int64_t *dims, float spread);
itg_id indices(net *n, const int64_t *values, int64_t count);
itg_id apply(net *n, itg_op op, const itg_id *inputs, int32_t count, const itg_attrs *attrs);
itg_id apply_plain(net *n, itg_op op, itg_id x);
itg_id reshape(net *n, itg_id x, const int64_t *to, int64_t rank);
itg_id reduce(net *n, itg_id x, itg_op op);
/* A value that broadcasts to x, or a constant that does. */
itg_id partner(net *n, itg_id x);

/* An operator that has reference code alone, on x [N,C,H,W]; gives float32 of four dimensions. */
itg_id add_reference(net *n, itg_id x);
#endif
