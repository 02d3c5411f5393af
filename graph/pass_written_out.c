/* Activations that exporters write out as products become one node, and thus one lookup table:
 *   x * 0.5 * (1 + erf(x / sqrt 2))                             Gelu
 *   x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))     Gelu, approximate "tanh"
 *   x / 6 * clip(x + 3, 0, 6), x * HardSigmoid(x; 1/6, 1/2)     HardSwish
 *   x * sigmoid(x)                                              Swish
 * The factors may stand in any order. A part that another node reads stays for that node. */
#include <math.h>
#include "written_out.h"

#define ROOT_HALF 0.70710678118654752
#define ROOT_2_OF_PI 0.79788456080286536 /* sqrt(2 / pi) */
enum { MOST_FACTORS = 4, MOST_DEPTH = 8 };

/* A product of values and one number. */
typedef struct product {
    itg_id factors[MOST_FACTORS];
    int32_t count;
    double number;
} product;

const itg_node *itg_made_by(const itg_graph *g, itg_id value, itg_op op)
{
    if (value == ITG_NONE || g->values[value].producer == ITG_NONE) return NULL;
    const itg_node *n = &g->nodes[g->values[value].producer];
    return n->op == op && g->values[value].producer_slot == 0 ? n : NULL;
}

bool itg_is_scalar(const itg_graph *g, itg_id value, double *out)
{
    if (value == ITG_NONE || !itg_is_float_constant(g, value) || itg_value_elements(g, value) != 1)
        return false;
    *out = (double)itg_floats(g, value)[0];
    return true;
}

bool itg_has_scalar(const itg_graph *g, const itg_node *node, double *out)
{
    return node && node->input_count == 2 && itg_is_scalar(g, node->inputs[1], out);
}

bool itg_is_about(double value, double wanted)
{
    return fabs(value - wanted) <= 1e-6 * fabs(wanted);
}

itg_node *itg_become_function(itg_graph *g, itg_id node, itg_op op, itg_id x)
{
    itg_node *n = itg_become(g, node, op);
    itg_set_only_input(g, node, x);
    n->opset = 0;
    return n;
}

/* ---- products ---- */

/* Adds the factors of a value to the product. A product that has other readers, or is MOST_DEPTH
 * deep, counts as one factor. False: more than MOST_FACTORS. */
static bool multiply(const itg_graph *g, itg_id value, int depth, product *p)
{
    double number;
    const itg_node *n = itg_made_by(g, value, ITG_OP_MUL);
    if (itg_is_scalar(g, value, &number)) {
        p->number *= number;
        return true;
    }
    if (n && n->input_count == 2 && depth < MOST_DEPTH &&
        (depth == 0 || itg_graph_use_count(g, value) == 1))
        return multiply(g, n->inputs[0], depth + 1, p) && multiply(g, n->inputs[1], depth + 1, p);
    if (p->count == MOST_FACTORS) return false;
    p->factors[p->count++] = value;
    return true;
}

static bool product_of(const itg_graph *g, itg_id value, product *p)
{
    *p = (product){.number = 1.0};
    return multiply(g, value, 0, p);
}

/* Whether value is number * x for some number. */
static bool is_multiple(const itg_graph *g, itg_id value, itg_id x, double *number)
{
    product p;
    *number = 1.0;
    if (value == x) return true;
    if (!product_of(g, value, &p) || p.count != 1 || p.factors[0] != x) return false;
    *number = p.number;
    return true;
}

/* ---- the other factor ---- */

/* Returns y if value is y + 1; else ITG_NONE. */
static itg_id match_plus_one(const itg_graph *g, itg_id value)
{
    double one;
    const itg_node *n = itg_made_by(g, value, ITG_OP_ADD);
    return itg_has_scalar(g, n, &one) && one == 1.0 ? n->inputs[0] : ITG_NONE;
}

static bool is_erf_of(const itg_graph *g, itg_id value, itg_id x)
{
    double number;
    const itg_node *n = itg_made_by(g, match_plus_one(g, value), ITG_OP_ERF);
    return n && is_multiple(g, n->inputs[0], x, &number) && itg_is_about(number, ROOT_HALF);
}

/* Whether value is number * x^3, as Pow or as products. */
static bool is_cube(const itg_graph *g, itg_id value, itg_id x, double number)
{
    product p;
    double exponent;
    if (!product_of(g, value, &p) || !itg_is_about(p.number, number)) return false;
    if (p.count == 1) {
        const itg_node *power = itg_made_by(g, p.factors[0], ITG_OP_POW);
        return itg_has_scalar(g, power, &exponent) && exponent == 3.0 && power->inputs[0] == x;
    }
    return p.count == 3 && p.factors[0] == x && p.factors[1] == x && p.factors[2] == x;
}

static bool is_tanh_of(const itg_graph *g, itg_id value, itg_id x)
{
    product p;
    const itg_node *tanh = itg_made_by(g, match_plus_one(g, value), ITG_OP_TANH);
    if (!tanh || !product_of(g, tanh->inputs[0], &p) || p.count != 1 ||
        !itg_is_about(p.number, ROOT_2_OF_PI))
        return false;
    const itg_node *sum = itg_made_by(g, p.factors[0], ITG_OP_ADD);
    if (!sum || sum->input_count != 2) return false;
    return (sum->inputs[0] == x && is_cube(g, sum->inputs[1], x, 0.044715)) ||
           (sum->inputs[1] == x && is_cube(g, sum->inputs[0], x, 0.044715));
}

static bool is_sigmoid_of(const itg_graph *g, itg_id value, itg_id x)
{
    const itg_node *n = itg_made_by(g, value, ITG_OP_SIGMOID);
    return n && n->inputs[0] == x;
}

static bool is_hard_sigmoid_of(const itg_graph *g, itg_id value, itg_id x)
{
    const itg_node *n = itg_made_by(g, value, ITG_OP_HARD_SIGMOID);
    return n && n->inputs[0] == x && itg_is_about((double)n->attrs.alpha, 1.0 / 6.0) &&
           n->attrs.beta == 0.5f;
}

static bool is_clip_of(const itg_graph *g, itg_id value, itg_id x)
{
    double three;
    const itg_node *clip = itg_made_by(g, value, ITG_OP_CLIP);
    const itg_node *sum = clip ? itg_made_by(g, clip->inputs[0], ITG_OP_ADD) : NULL;
    return clip && clip->input_count == 1 && clip->attrs.min == 0.0f && clip->attrs.max == 6.0f &&
           itg_has_scalar(g, sum, &three) && three == 3.0 && sum->inputs[0] == x;
}

/* ---- the pass ---- */

typedef struct written {
    itg_op op;
    double number; /* the product's number */
    bool (*is_of)(const itg_graph *g, itg_id value, itg_id x);
    int32_t approximate;
} written;

static const written functions[] = {
    {ITG_OP_GELU, 0.5, is_erf_of, 0},
    {ITG_OP_GELU, 0.5, is_tanh_of, 1},
    {ITG_OP_HARD_SWISH, 1.0, is_hard_sigmoid_of, 0},
    {ITG_OP_HARD_SWISH, 1.0 / 6.0, is_clip_of, 0},
    {ITG_OP_SWISH, 1.0, is_sigmoid_of, 0},
};

static const written *function_of(const itg_graph *g, const product *p, itg_id *x)
{
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; ++f)
        for (int i = 0; i < 2; ++i) {
            *x = p->factors[i];
            if (itg_is_about(p->number, functions[f].number) &&
                functions[f].is_of(g, p->factors[1 - i], *x))
                return &functions[f];
        }
    return NULL;
}

itg_status itg_pass_written_out(itg_graph *g, itg_id node, bool *changed, itg_error *err)
{
    product p;
    itg_id x = ITG_NONE;
    (void)err;
    if (g->nodes[node].op != ITG_OP_MUL || g->nodes[node].output_count != 1) return ITG_OK;
    if (!product_of(g, g->nodes[node].outputs[0], &p) || p.count != 2) return ITG_OK;
    const written *found = function_of(g, &p, &x);
    if (!found) return ITG_OK;
    itg_become_function(g, node, found->op, x)->attrs.approximate = found->approximate;
    *changed = true;
    return ITG_OK;
}
