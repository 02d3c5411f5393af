/* The verifier's view of an artefact: tensors by name, attributes with their defaults
 * (docs/artefact.md), and problems. It shares no code with lowering, the executor or its reader. */
#ifndef ITG_VERIFY_VIEW_H
#define ITG_VERIFY_VIEW_H
#include "graph/onnx/onnx_write.h"
#include "realize/verify/wide.h"

/* A tensor: a graph input, a constant, or the output `index` of node `producer`. */
typedef struct itg_view_value {
    const char *name;
    int32_t producer; /* -1: exists before the first node */
    int32_t index;
    const itg_tensor *constant; /* NULL: none; codes even if the file packs them */
    itg_shape shape;
    bool unpacked; /* the constant differs from that in the file */
} itg_view_value;

/* The codes of a quantizer. */
typedef struct itg_view_codes {
    int64_t qmin, qmax, zero;
} itg_view_codes;

typedef struct itg_view {
    const itg_onnx_file *file;
    itg_arena *arena;       /* the view's own */
    itg_view_value *values; /* sorted by name */
    int32_t count;
    int32_t node; /* current node; messages name it */
    char **problems;
    int32_t problem_count; /* of all; only the first ITG_VIEW_MAX_PROBLEMS are kept */
    bool failed;           /* no memory */
} itg_view;

#define ITG_VIEW_MAX_PROBLEMS 64

/* Borrows the file, which must outlive the view. */
itg_status itg_view_init(itg_view *v, const itg_onnx_file *file, itg_error *err);
void itg_view_deinit(itg_view *v); /* a zeroed one is allowed */
/* "node 'conv1': message"; outside of nodes (node -1) the message alone. */
void itg_view_problem(itg_view *v, const char *format, ...) ITG_PRINTF(2, 3);
void *itg_view_array(itg_view *v, int64_t count, size_t size); /* NULL: failed is set */

/* ---- of the node at v->node ---- */
const itg_onnx_node *itg_view_node(const itg_view *v);
/* NULL: left out, or not made before (a problem). */
const itg_view_value *itg_view_input(itg_view *v, int32_t slot);
const itg_shape *itg_view_output_shape(itg_view *v, int32_t index);
/* Attributes by name; prefix: "", or "y0_" and the like. */
int64_t itg_view_int(const itg_view *v, const char *prefix, const char *name);
const char *itg_view_text(const itg_view *v, const char *prefix, const char *name); /* "": none */
/* NULL and 0: none */
const int64_t *itg_view_ints(const itg_view *v, const char *prefix, const char *name,
                             int64_t *count);
const float *itg_view_floats(const itg_view *v, const char *prefix, const char *name,
                             int64_t *count);
bool itg_view_rounding(itg_view *v, const char *name, itg_rounding *out); /* by its text */
/* The checked codes of an output or of a slot's operand. false: there are none. */
bool itg_view_output_codes(itg_view *v, int32_t index, itg_view_codes *out);
bool itg_view_input_codes(itg_view *v, int32_t slot, itg_view_codes *out);
#endif
