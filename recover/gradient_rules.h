/* How the gradient of a node's outputs becomes that of its inputs. Private to recover/. */
#ifndef ITG_RECOVER_GRADIENT_RULES_H
#define ITG_RECOVER_GRADIENT_RULES_H
#include "graph/graph.h"

typedef struct itg_rule_call itg_rule_call;
typedef void (*itg_rule_fn)(const itg_rule_call *call);

/* A node's rule, prepared. */
typedef struct itg_rule {
    itg_rule_fn fn;  /* NULL: there is none */
    int64_t *map;    /* see gradient_rules.c; NULL: not needed */
    int64_t *map_b;  /* of the second operand */
    float *weights;  /* transposed, of a Conv also turned; NULL: not needed */
    int64_t scratch; /* elements that a call needs */
    int64_t kept;    /* elements that stay from call to call */
} itg_rule;

struct itg_rule_call {
    const itg_graph *graph;
    const itg_node *node;
    const itg_rule *rule;
    const itg_tensor *x, *y; /* [inputs], [outputs] */
    float *const *gx;        /* [inputs]: to add to; NULL: not wanted */
    float *const *gy;        /* [outputs] */
    float *scratch;
    float *kept;
    bool is_first;      /* call since the values were computed */
    itg_status *status; /* set where a rule fails */
    itg_error *err;
};

/* rule->fn NULL: the operator, or this use of it, has no rule. */
itg_status itg_rule_prepare(const itg_graph *g, const itg_node *node, itg_rule *out,
                            itg_error *err);
void itg_rule_deinit(itg_rule *rule);
#endif
