/* One description of a structure's fields serves writing, reading and printing: visiting a field
 * writes it to the node that is being built, reads it from a node of a file (checking its range),
 * or prints it. A number that is zero (false), a list or a text that is empty is left out, and what
 * is absent reads as zero; names are always there. The first failure is kept; visits after it do
 * nothing. */
#ifndef ITG_FIELDS_H
#define ITG_FIELDS_H
#include "graph/onnx/onnx_write.h"
#include "realize/program.h"

typedef enum itg_fields_mode {
    ITG_FIELDS_WRITE,
    ITG_FIELDS_READ,
    ITG_FIELDS_PRINT
} itg_fields_mode;
typedef struct itg_fields {
    itg_fields_mode mode;
    itg_onnx_writer *writer;   /* WRITE */
    const itg_onnx_node *node; /* READ */
    itg_arena *arena;          /* READ: of the program */
    itg_strbuf *text;          /* PRINT */
    itg_status status;
    itg_error *err;
} itg_fields;

void itg_field_int(itg_fields *f, const char *name, int64_t *value, int64_t lo, int64_t hi);
void itg_field_int32(itg_fields *f, const char *name, int32_t *value, int32_t lo, int32_t hi);
void itg_field_bool(itg_fields *f, const char *name, bool *value);
void itg_field_float(itg_fields *f, const char *name, float *value);
void itg_field_string(itg_fields *f, const char *name, const char **value);
/* One of count names, numbered from 0. */
void itg_field_name(itg_fields *f, const char *name, int *value, const char *(*name_of)(int value),
                    int count);
/* Fixed arrays: count entries, or absent for all zeros. */
void itg_field_array(itg_fields *f, const char *name, int64_t *values, int32_t count);
/* Lists of their own length, at most max. READ allocates. */
void itg_field_ints(itg_fields *f, const char *name, const int64_t **values, int64_t *count,
                    int64_t max);
void itg_field_floats(itg_fields *f, const char *name, const float **values, int32_t *count,
                      int32_t max);
/* Requantization constants under four names with this prefix: _ratio, or _stages, _multiplier,
 * _shift, _rounding. */
void itg_field_requants(itg_fields *f, const char *prefix, const itg_requant **values,
                        int32_t *count, int32_t max);
itg_status itg_fields_fail(itg_fields *f, itg_status status, const char *name, const char *what);

/* Attributes of an operator (attr_fields.c). rank: of its first input, for attributes with one
 * entry a dimension. */
void itg_visit_attrs(itg_fields *f, itg_op op, itg_attrs *attrs, int32_t rank);
/* Everything that a file states of a step besides its type and its operands' names (step_fields.c).
 * READ: inputs and outputs are in place; shapes, types and quantizers of outputs and of constants
 * are set. */
void itg_visit_step(itg_fields *f, itg_program *p, itg_step *s);
/* Before that: type and shape of each constant that the step reads and the file packs
 * (base/packed.h). READ: the value, which is bytes so far, becomes the codes. */
void itg_visit_packed(itg_fields *f, itg_program *p, itg_step *s);
#endif
