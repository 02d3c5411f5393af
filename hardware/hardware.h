/* The description of a target: dtypes of each operator, accumulators, requantization, fused
 * patterns, memory and cost. It is loaded from a JSON file; docs/adding-a-target.md describes every
 * key. C code does not depend on the names of targets. */
#ifndef ITG_HARDWARE_H
#define ITG_HARDWARE_H
#include <intaglio/intaglio.h>
#include "graph/annotated.h"

#define ITG_HW_MAX_DTYPES 32
#define ITG_HW_MAX_REQUANTS 16
#define ITG_HW_MAX_SPECS 8

/* A class of integers that an input or output may be. */
typedef struct itg_hw_dtype {
    char name[32];
    itg_dtype storage;          /* S8 U8 S16 U16 S32 */
    int32_t bits_min, bits_max; /* within 1..storage width; 1 for weights alone */
    bool zero_point; /* asymmetric; false: symmetric (unsigned storage: range [0, hi], only for
                        values >= 0) */
    bool full_range; /* signed symmetric may use -2^(b-1) as a clip bound; default false */
} itg_hw_dtype;

typedef struct itg_hw_requant {
    char name[32];
    itg_requant_spec spec;
} itg_hw_requant;

/* How sums that a MAC's accumulator cannot hold may be split (docs/arithmetic.md 3.3). */
typedef struct itg_hw_split {
    bool allowed;
    int32_t join_bits; /* width of the accumulator that adds the parts, 8..62; default: acc.bits */
    itg_rounding rounding; /* of a part before it is added */
    double join_cycles;    /* cost of adding one part to the joined sum */
} itg_hw_split;
#define ITG_HW_MAX_SPLIT_BITS                                                                      \
    48 /* of a part: exact in a double, and in 64 bits whatever is added */

/* One way to run an operator, in preference order. Masks: bit i = dtypes[i]. */
typedef struct itg_hw_spec {
    uint32_t input_mask;  /* activations (slot 0; both slots of Add, Mul, MatMul of two activations;
                             all of Concat) */
    uint32_t weight_mask; /* constant slot 1 of Conv, Gemm, MatMul; 0: operator has no weights */
    uint32_t output_mask; /* 0: same class and quantizer rules as the input (tied forms) */
    itg_accumulator acc;
    itg_hw_split split;
    bool per_channel;                /* weights: one scale per output channel */
    bool bias;                       /* a bias is allowed (default true) */
    int32_t bias_bits;               /* default: the smaller of accumulator width and 32 */
    itg_form form;                   /* what itg_hw_legal_forms allows the operator */
    int32_t requant;                 /* index into requants; -1: none needed (KEEP, LUT) */
    int32_t left_shift;              /* RESCALE of Add, Sub */
    int32_t table_bits;              /* LUT: wider inputs are interpolated between entries */
    itg_rounding rounding;           /* KEEP averages */
    double macs_per_cycle;           /* cost; elementwise: elements per cycle */
    double depthwise_macs_per_cycle; /* cost of convolutions with one input channel a group */
    double output_cycles;            /* cost of each output of MAC, besides */
} itg_hw_spec;

/* Width of the accumulator that a bias enters. */
static inline int32_t itg_hw_bias_limit(const itg_hw_spec *spec)
{
    return spec->split.allowed ? spec->split.join_bits : spec->acc.bits;
}

typedef struct itg_hw_op {
    int32_t spec_count; /* 0: not an integer operator here */
    itg_hw_spec specs[ITG_HW_MAX_SPECS];
    bool follow; /* quantized only where every non-constant input comes from a quantized node */
} itg_hw_op;

typedef struct itg_hw_override {
    char pattern[128];        /* node name, * and ? */
    bool has_float, is_float; /* force to float, or forbid it */
    int32_t weight_bits_min, weight_bits_max, activation_bits_min,
        activation_bits_max; /* 0: not stated */
} itg_hw_override;

struct itg_hardware {
    char name[64];
    char description[256];
    bool float_allowed; /* float islands, and operators that the table does not list */
    bool all_float;     /* target `float`: nothing is quantized */
    bool power_of_two_scales;
    int32_t dtype_count;
    itg_hw_dtype dtypes[ITG_HW_MAX_DTYPES];
    int32_t requant_count;
    itg_hw_requant requants[ITG_HW_MAX_REQUANTS];
    itg_hw_op ops[ITG_OP_COUNT];
    bool fuse[ITG_OP_COUNT][ITG_OP_COUNT];        /* [producer][Relu or Clip] */
    uint32_t graph_input_mask, graph_output_mask; /* dtypes of model inputs and outputs; 0: whatever
                                                     consumer or producer takes */
    int32_t output_bits_min, output_bits_max;     /* 0: as the dtype */
    int64_t flash_bytes, ram_bytes;               /* 0: not stated */
    double float_macs_per_cycle; /* cost of float nodes; elementwise: elements per cycle */
    uint32_t float_weight_mask;  /* dtypes of the weights of float nodes; 0: these are float32 */
    bool float_weights_per_channel;
    int32_t override_count;
    itg_hw_override *overrides;
    char *json;             /* the description reprinted compactly, embedded in strategies */
    unsigned char hash[32]; /* SHA-256 of json */
};
typedef struct itg_hardware itg_hardware;

/* Lists parts of the description that have no effect (notes.c), one a line: "dtypes.s4: no operator
 * reads or writes it". g not NULL: also overrides that have no effect on that graph. */
void itg_hardware_notes(const itg_hardware *hw, const itg_graph *g, itg_strbuf *out);

/* ---- selection (select.c) ---- */
/* Whether hw can run the node in integers, apart from the widths of its operands. If not, *reason
 * says why (arena string; NULL: no memory). */
bool itg_hardware_supports(const itg_hardware *hw, const itg_graph *g, itg_id node,
                           itg_arena *arena, const char **reason);
/* Sets topology[n]: node n is quantized. Nodes with operators that are not listed, `follow`
 * operators without a quantized producer, and overridden nodes stay float. ITG_INFEASIBLE names the
 * first such node if float is not allowed; topology and reasons are complete also then. reasons
 * [node_count] may be NULL. */
itg_status itg_hardware_topology(const itg_hardware *hw, const itg_graph *g, itg_arena *arena,
                                 bool *topology, const char **reasons, itg_error *err);
/* The same, where the nodes in_float [node_count], which the hardware may run in float, stay float.
 */
itg_status itg_hardware_topology_of(const itg_hardware *hw, const itg_graph *g,
                                    const bool *in_float, itg_arena *arena, bool *topology,
                                    const char **reasons, itg_error *err);
/* Sets fused[n]: the Relu or Clip node that is fused into node n, or ITG_NONE. It is the only
 * consumer, the pair is listed and both nodes are quantized. */
void itg_hardware_fusion(const itg_hardware *hw, const itg_graph *g, const bool *topology,
                         itg_id *fused);

/* The role of an input slot (match.c). WEIGHT: slot 1 of Conv and Gemm, constant slot 1 of MatMul.
 * BIAS: slot 2 of these. PARAMETER: indices, shapes and the like. ACTIVATION: all other operands,
 * also constant ones of Add, Mul, Concat... */
typedef enum itg_slot_role {
    ITG_SLOT_ACTIVATION,
    ITG_SLOT_WEIGHT,
    ITG_SLOT_BIAS,
    ITG_SLOT_PARAMETER
} itg_slot_role;
itg_slot_role itg_hardware_slot_role(const itg_graph *g, itg_id node, int32_t slot);
/* Whether the slot holds weights of a float node that may be codes: of a Conv, a MatMul, or a Gemm
 * with transposed weights, unless an override keeps the node in float. */
bool itg_hardware_float_weight(const itg_hardware *hw, const itg_graph *g, itg_id node,
                               int32_t slot);
/* The first spec of op whose dtypes admit these widths; NULL: none. weight_bits 0: only specs
 * without weights. passed_over: so many that fit are passed over, while another one fits. */
const itg_hw_spec *itg_hardware_match(const itg_hardware *hw, itg_op op, const int32_t *input_bits,
                                      int32_t input_count, int32_t weight_bits,
                                      int32_t passed_over);
/* Whether a spec's weights of these bits have zero points; NULL: those of float nodes. */
bool itg_hardware_has_zero_points(const itg_hardware *hw, const itg_hw_spec *spec, int32_t bits);
/* Index of the first dtype in mask that admits the bits; -1: none. Unsigned storage without zero
 * point only holds values that are not negative. */
int32_t itg_hardware_dtype_for(const itg_hardware *hw, uint32_t mask, int32_t bits,
                               bool may_be_negative);
/* The same, with as many that fit passed over, while another one fits. */
int32_t itg_hardware_dtype_after(const itg_hardware *hw, uint32_t mask, int32_t bits,
                                 bool may_be_negative, int32_t passed_over);

/* ---- choice space (space.c) ---- */
/* Edges that must have equal bits form a group: inputs and outputs of tied forms, and what the
 * strategy names together. */
/* The width of weights that says that their nodes are float nodes. */
#define ITG_FLOAT_BITS 32
typedef struct itg_choice_group {
    bool is_weight; /* one weight slot; constants among activations (an operand of Add) are not */
    bool is_graph_input, is_graph_output;
    int32_t edge_count;
    const int32_t *edges; /* indices in the edge order of annotated.h */
    int32_t bits_count;
    int32_t bits[32];        /* allowed widths, ascending */
    int64_t weight_elements; /* elements of the constants that the group's edges read, each value
                                once; 0: none */
    uint32_t dtype_mask;     /* dtypes that every edge of the group may have */
    int32_t alternatives; /* at least 1. Of activations: dtypes of one width to choose among, with
                             and without zero points; of weights: specs of the node for the same
                             widths (docs/adding-a-target.md) */
    bool may_be_float;    /* weights of integer nodes that may be float nodes: ITG_FLOAT_BITS is a
                             width of theirs, and stands in no list until somebody adds it */
} itg_choice_group;
/* ---- ties (ties.c) ---- */
/* Which edges a node's form ties: none; its operands (equal_scale); its operands and all edges that
 * read its outputs (keep_scale). Besides, nodes' edges of values that are the same in each step of
 * a recurrent operator are tied. */
typedef enum itg_tie { ITG_TIE_NONE, ITG_TIE_OPERANDS, ITG_TIE_ALL } itg_tie;
typedef struct itg_ties {
    const itg_graph *g;
    const itg_tie *of;    /* [nodes] */
    const int32_t *first; /* [nodes + 1]: first edge of each node, in the order of annotated.h; the
                             last: first output edge */
    const bool *part;     /* [edges]: may be tied */
    int32_t *repeats;     /* [g->repeat_count + 1]: zeros, written */
} itg_ties;
/* Fills parent [edges], a union-find forest. The root of tied edges is the smallest of them. */
void itg_tie_edges(const itg_ties *ties, int32_t *parent);
int32_t itg_tie_root(int32_t *parent, int32_t edge);

typedef struct itg_edge_ref {
    itg_id value, node;
    int32_t slot;
} itg_edge_ref;
typedef struct itg_choice_space {
    itg_arena *arena;
    int32_t edge_count;
    itg_edge_ref *edges;
    int32_t *edge_group; /* [edge_count]; -1: float, fused or bias: nothing to choose */
    int32_t group_count;
    itg_choice_group *groups;
} itg_choice_space;
typedef struct itg_space_options {
    itg_bits_range weight, activation, input, output;
} itg_space_options;
/* (edges.c) Whether the bits of an edge can be chosen. False: float, fused, bias, index. *mask: the
 * dtypes that both its consumer and its producer support; 0: the graph does not fit the hardware.
 * topology and fused: from itg_hardware_topology and itg_hardware_fusion. */
bool itg_hardware_edge_dtypes(const itg_hardware *hw, const itg_graph *g, const bool *topology,
                              const itg_id *fused, const itg_edge_ref *edge, uint32_t *mask);
/* ITG_INFEASIBLE: an edge has no width; the error names it and the required range. By default every
 * combination of widths has a spec on every node: if an operator has separate specs for classes of
 * dtypes (8 bits in and out; 16 bits in and out), activations are restricted to the classes of its
 * first spec. options.activation or an override that states widths of activations removes this
 * restriction (16:16). options.input and .output replace .activation for edges of graph inputs and
 * outputs; an override of the hardware replaces all of them for the edges that its node reads.
 * docs/adding-a-target.md has the whole rule. */
itg_status itg_choice_space_create(const itg_hardware *hw, const itg_graph *g,
                                   const itg_space_options *options, itg_choice_space **out,
                                   itg_error *err);
void itg_choice_space_destroy(itg_choice_space *space);
/* Whether a width of the group's says that its nodes are float nodes. */
static inline bool itg_choice_is_float(const itg_choice_group *group, int32_t bits)
{
    return group->may_be_float && bits == ITG_FLOAT_BITS;
}

/* ---- cost (cost.c) ---- */
/* Multiply-accumulates of a Conv, Gemm or MatMul; saturates. */
int64_t itg_hardware_macs(const itg_graph *g, itg_id node);
/* Of all of them. */
double itg_hardware_all_macs(const itg_graph *g);
typedef struct itg_cost {
    int64_t weight_bytes;    /* sum over weight tensors of ceil(elements * bits / 8) */
    int64_t parameter_bytes; /* + biases at accumulator width (4 or 8 bytes) + requantization
                                constants */
    int64_t bops;  /* sum of MACs * weight bits * activation bits; a float operand counts 32 bits */
    double cycles; /* by macs_per_cycle and float_macs_per_cycle */
} itg_cost;        /* RAM is the realized program's: itg_program_ram_bytes */
/* Sums saturate. ITG_NO_MEMORY is the only failure. */
itg_status itg_cost_of(const itg_hardware *hw, const itg_annotated *a, itg_cost *out);
/* The costs of all nodes, which add up to those of the graph; a constant belongs to the first node
 * that reads it, the constants of a result to the node that computes it. out [node_count + 1]; the
 * last: what belongs to no node. ITG_NO_MEMORY is the only failure. */
itg_status itg_cost_of_nodes(const itg_hardware *hw, const itg_annotated *a, itg_cost *out);
/* The cost of one node. Weights that several nodes read are counted for each of them. */
typedef struct itg_node_cost {
    const itg_hw_spec *spec; /* how it runs; NULL: float, or fused */
    bool depthwise;          /* a convolution with one input channel a group */
    int64_t elements;        /* that a node without MACs goes through */
    int64_t outputs;
    int64_t weight_bytes, macs, bops;
    int64_t parts, joins; /* of its sums, 0: not split; additions of parts, over all outputs */
    double cycles;        /* of MACs or elements, and of joins */
} itg_node_cost;
itg_node_cost itg_cost_of_node(const itg_hardware *hw, const itg_annotated *a, itg_id node);

/* ---- measured speeds (speeds.c) ---- */
typedef struct itg_hw_speed {
    bool known;
    double macs_per_cycle;           /* 0: only depthwise layers were measured */
    double depthwise_macs_per_cycle; /* 0: not known */
    double output_cycles;            /* 0: none */
} itg_hw_speed;
typedef struct itg_hw_speeds {
    itg_hw_speed of[ITG_OP_COUNT][ITG_HW_MAX_SPECS];
    double float_macs_per_cycle; /* 0: not known */
} itg_hw_speeds;
/* Appends the description with these speeds in place of its own, and with "-measured" at the end
 * of its name. All functions of one variable that share an entry have the first known speed. */
itg_status itg_hardware_with_speeds(const itg_hardware *hw, const itg_hw_speeds *speeds,
                                    itg_strbuf *out, itg_error *err);
#endif
