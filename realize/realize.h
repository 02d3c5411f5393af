/* The integer program of an annotated graph: bounds, memory, artefact file, C source and QDQ
 * model. */
#ifndef ITG_REALIZE_H
#define ITG_REALIZE_H
#include <intaglio/intaglio.h>
#include "hardware/hardware.h"
#include "kernels/constants.h"
#include "kernels/int_ops.h"

/* ---- bounds (bounds.c): exact integers ---- */
/* Intervals of native results and of all partial sums, over all inputs within the quantizers' clip
 * ranges (itg_bound: intaglio.h). One entry for each node with an accumulator, in the order of the
 * prepared graph; two if its sums are split: the parts, and their sum. Free *out. */
itg_status itg_bounds_of(const itg_annotated *a, itg_bound **out, int32_t *count, itg_error *err);
/* Whether the bounds of one node fit its accumulator. The cost depends on the node, not on the
 * graph. True without an accumulator. */
itg_status itg_sums_fit(const itg_annotated *a, itg_id node, bool *fit, itg_error *err);

/* ---- integer graph (program.h, lower*.c) ---- */
/* A program is immutable and may be shared. It needs neither the annotated graph nor the model,
 * unless it borrows the model's constants (itg_annotated.content). */
typedef struct itg_program itg_program;

typedef struct itg_tap {
    itg_id node; /* ITG_NONE: graph output `slot` */
    int32_t slot;
} itg_tap;

/* Edges whose codes the caller knows. */
typedef struct itg_known {
    const itg_tap *taps;
    const int32_t *of; /* [values of the graph]: a tap that reads the value, or ITG_NONE */
} itg_known;

/* A program of the same network with other outputs: what these edges carry, [count], no two of one
 * value and encoding. Accumulators may overflow. Its inputs are those inputs of the graph, and
 * those known edges, that the outputs depend on: from[i] (room for the graph's inputs and all known
 * edges) is an input's number, or -1 less that of an edge. The cost depends on the nodes between.
 */
itg_status itg_realize_taps(const itg_annotated *a, const itg_tap *taps, int32_t count,
                            const itg_known *known, int32_t *from, itg_program **out,
                            itg_error *err);

itg_tensor itg_program_input(const itg_program *p, int32_t index); /* dtype, [1, ...]; no data */
const char *itg_program_input_name(const itg_program *p, int32_t index);
const char *itg_program_output_name(const itg_program *p, int32_t index);
/* Storage dtype, shape [1, ...], quantizer (NULL: float or indices). */
void itg_program_output_info(const itg_program *p, int32_t index, itg_dtype *dtype,
                             const itg_shape **shape, const itg_quantizer **q);
/* The two figures of itg_program_ram_bytes. itg_program_arena_bytes: of the C source, scratch
 * included (emit/c_layout.c); ITG_UNSUPPORTED or ITG_LIMIT if C source cannot hold the program.
 * itg_program_activation_bytes: of a device (itg_program_flow), for activations and outputs at
 * ITG_FLOW_DEVICE_ALIGNMENT. */
itg_status itg_program_arena_bytes(const itg_program *p, int64_t *out, itg_error *err);
/* The arena's bytes and its contents; NULL: not requested. */
itg_status itg_program_arena(const itg_program *p, int64_t *bytes, itg_memory_plan **plan,
                             itg_error *err);
/* The arena's bytes, and an estimate of the instructions that its layers take, for choices between
 * programs (emit/c_spend.c). */
itg_status itg_program_work(const itg_program *p, int64_t *bytes, double *work, itg_error *err);
itg_status itg_program_activation_bytes(const itg_program *p, int64_t *out, itg_error *err);
void itg_program_print(const itg_program *p, itg_strbuf *out);

/* ---- artefact (artefact.c): an ONNX file with domain "ai.intaglio"; docs/artefact.md ---- */
/* metadata: key/value strings kept in the file (preprocessing, hashes, engine version). */
typedef struct itg_metadata {
    const char *key, *value;
} itg_metadata;
itg_status itg_artefact_pack(const itg_program *p, const itg_metadata *metadata, int32_t count,
                             const char *name, itg_buffer *out, itg_error *err);
itg_status itg_artefact_write(const itg_program *p, const itg_metadata *metadata, int32_t count,
                              const char *path, itg_error *err);
/* itg_program_open, itg_program_open_memory: intaglio.h */
const char *itg_program_metadata(const itg_program *p, const char *key); /* NULL: absent */

/* ---- C source (emit/c.c); docs/emit-c.md ---- */
/* Samples of the self-test: inputs[sample * input count + input], in the dtype of that input of the
 * program; NULL: random codes and indices. */
typedef struct itg_emit_vectors {
    int32_t count;
    const void *const *inputs;
} itg_emit_vectors;
/* Writes NAME.h, NAME.c and NAME_selftest.c to an existing folder; name NULL: the program's name.
 * ITG_UNSUPPORTED names a node that C source without floating point cannot hold; no file is written
 * then. out may be NULL. */
itg_status itg_program_emit_c(const itg_program *p, const char *name,
                              const itg_emit_vectors *vectors, const char *directory,
                              itg_emit_sizes *out, itg_error *err);

/* ---- QDQ model (emit/qdq.c): an ONNX file of standard operators; docs/qdq.md ---- */
typedef struct itg_qdq_options {
    const itg_metadata *metadata;
    int32_t metadata_count;
    bool any_batch; /* dimension 0 of inputs and outputs is "N", unless a node mixes samples */
} itg_qdq_options;
/* ITG_UNSUPPORTED names what ONNX cannot represent. out may be NULL; free it with
 * itg_qdq_report_destroy. */
itg_status itg_qdq_write(const itg_annotated *a, const itg_qdq_options *options, const char *path,
                         itg_qdq_report **out, itg_error *err);

/* ---- time (time_steps.c) ---- */
typedef struct itg_step_time {
    const char *name;   /* of the step, in the program: the name of its node */
    double nanoseconds; /* of a sample: the least over several rounds of blocks, on one thread */
} itg_step_time;
/* Runs the program on codes that it makes up. *out: malloc'd, in the order of the steps. */
itg_status itg_program_time(const itg_program *program, itg_step_time **out, int32_t *count,
                            itg_error *err);
#endif
