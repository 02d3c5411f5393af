/* Writing, reading and printing of a structure by one list of its fields. A visit of a field writes
 * it to the node being built, reads it from a node of a file and checks its range, or prints it.
 * Zeros, empty lists and empty texts are left out and read as zero; names are always written. The
 * first failure is kept; later visits do nothing. */
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
/* An array of count entries; left out if all are 0. */
void itg_field_array(itg_fields *f, const char *name, int64_t *values, int32_t count);
/* A list of at most max entries. READ allocates it in the arena. */
void itg_field_ints(itg_fields *f, const char *name, const int64_t **values, int64_t *count,
                    int64_t max);
void itg_field_floats(itg_fields *f, const char *name, const float **values, int32_t *count,
                      int32_t max);
/* Requantization constants, as the lists PREFIX_ratio, or PREFIX_stages, _multiplier, _shift and
 * _rounding. */
void itg_field_requants(itg_fields *f, const char *prefix, const itg_requant **values,
                        int32_t *count, int32_t max);
itg_status itg_fields_fail(itg_fields *f, itg_status status, const char *name, const char *what);

/* Attributes of an operator (attr_fields.c). rank: the rank of its first input, for attributes with
 * one entry a dimension. */
void itg_visit_attrs(itg_fields *f, itg_op op, itg_attrs *attrs, int32_t rank);
/* All fields of a step except its type and the names of its operands (step_fields.c). READ: inputs
 * and outputs are set before; shapes, types and quantizers of outputs and constants are set by the
 * call. */
void itg_visit_step(itg_fields *f, itg_program *p, itg_step *s);
/* To be called first: type and shape of each packed constant that the step reads (base/packed.h).
 * READ: unpacks the value's bytes to codes. */
void itg_visit_packed(itg_fields *f, itg_program *p, itg_step *s);
#endif
