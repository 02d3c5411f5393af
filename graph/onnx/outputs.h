/* The outputs that a caller wants of a model, and what they need. */
#ifndef ITG_ONNX_OUTPUTS_H
#define ITG_ONNX_OUTPUTS_H
#include "graph/onnx/onnx_write.h"

typedef struct itg_onnx_outputs {
    int32_t count;
    const char *const *names;
    bool *idle_nodes, *idle_inputs; /* of the file: none of these outputs depends on them */
} itg_onnx_outputs;

/* wanted: names with commas between them, ITG_BAD_ARGUMENT where one is no value of the model or
 * comes twice. "": the file's outputs, and nothing is idle. */
itg_status itg_onnx_find_outputs(const itg_onnx_file *file, const char *wanted, itg_arena *arena,
                                 itg_onnx_outputs *out, itg_error *err);
#endif
