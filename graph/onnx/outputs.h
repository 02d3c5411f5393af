/* Finds what the outputs that a caller wants depend on. */
#ifndef ITG_ONNX_OUTPUTS_H
#define ITG_ONNX_OUTPUTS_H
#include "graph/onnx/onnx_write.h"

typedef struct itg_onnx_outputs {
    int32_t count;
    const char *const *names;
    bool *idle_nodes, *idle_inputs; /* nodes and inputs of the file on which no output depends */
} itg_onnx_outputs;

/* wanted: names separated by commas; ITG_BAD_ARGUMENT if one is unknown or repeated. "": the file's
 * outputs, and nothing is idle. */
itg_status itg_onnx_find_outputs(const itg_onnx_file *file, const char *wanted, itg_arena *arena,
                                 itg_onnx_outputs *out, itg_error *err);
#endif
