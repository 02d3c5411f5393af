/* Random integer programs: every kind of step in every form, on any width, made straight from
 * steps, so that they reach what no annotated graph of a hardware asks for. */
#ifndef ITG_TEST_RANDOM_PROGRAM_H
#define ITG_TEST_RANDOM_PROGRAM_H
#include "fixture.h"

/* One input [1,C,H,W], one or more outputs. Checked and planned. */
itg_program *random_program(uint64_t seed);
/* Without float steps, float requantization or float encodings. */
itg_program *random_integer_program(uint64_t seed);
/* As that, most requantizations being those of target cortex-m. */
itg_program *random_doubling_program(uint64_t seed);
/* As that, of the rarer forms, and now and then with two images inside a sample. */
itg_program *random_form_program(uint64_t seed);
/* x [1,24,8,8] of codes, pooled by 1x1, added in float32 to a constant [1,24,1,1], the constant
 * being the first operand: the order of the fused sum follows the logical innermost axis. */
itg_program *broadcast_sum_program(uint64_t seed);
#endif
