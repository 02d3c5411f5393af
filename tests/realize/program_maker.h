/* How random programs are made: values, steps and numbers drawn by a seed (random_program.c). */
#ifndef ITG_TEST_PROGRAM_MAKER_H
#define ITG_TEST_PROGRAM_MAKER_H
#include "random_program.h"

enum { MOST = 32, MOST_IMAGES = 4 };

typedef struct maker {
    itg_program *p;
    itg_rng rng;
    int32_t images[MOST], count; /* codes [N,C,H,W], of a sample [1,C,H,W] */
    int32_t outputs[MOST], output_count;
    int named;
    bool integer;  /* no float anywhere but at the input */
    bool doubling; /* most requantizations are shifts around a doubling high multiplication */
    uint64_t seed;
} maker;

int64_t pick(maker *m, int64_t lo, int64_t hi);
bool chance(maker *m, int64_t of); /* one of so many */
itg_pvalue *value(const maker *m, int32_t id);

int32_t add_value(maker *m, itg_dtype dtype, itg_shape shape);
int32_t add_codes(maker *m, itg_shape shape, const itg_quantizer *like); /* NULL: a random one */
int32_t add_bytes(maker *m, itg_shape shape);                            /* int8 codes of scale 1 */
int32_t add_like(maker *m, itg_shape shape, int32_t like);
int32_t add_constant(maker *m, itg_shape shape, bool narrow);
int32_t add_weights(maker *m, itg_shape shape, bool narrow, int32_t axis);
/* Gives weights without one zero points: one for each index of the axis; -1: one. */
void set_zero_points(maker *m, int32_t id, int32_t bits, int32_t axis);
itg_step *add_step(maker *m, itg_step_kind kind, itg_op op, int32_t inputs, int32_t outputs);
void set_accumulator(maker *m, itg_step *s);
/* Makes a value output `index` of a step: one set of constants, or `channels`. */
void set_out(maker *m, itg_step *s, int32_t index, int32_t id, int64_t bound, int64_t channels);
/* Codes for each output of a step, requantized from sums within bound. */
void add_encodings(maker *m, itg_step *s, itg_shape shape, int64_t bound, int64_t channels);
void keep(maker *m, int32_t id); /* an image that later steps may read */
int64_t width_of(const itg_quantizer *q);

/* Softmax or LayerNormalization, where the codes of x fit. */
void add_rows(maker *m, int32_t x);
/* One step of the rarer forms (form_programs.c). */
void add_form(maker *m);
#endif
