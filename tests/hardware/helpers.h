/* Small graphs made by hand, and descriptions made by replacing one piece of a good one. */
#ifndef ITG_TEST_HARDWARE_HELPERS_H
#define ITG_TEST_HARDWARE_HELPERS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "hardware/hardware.h"

itg_graph *make_graph(void);
/* f32 values; shapes as text of digits and commas: "1,3,8,8". Constants are all ones. */
itg_id add_input(itg_graph *g, const char *name, const char *shape);
itg_id add_constant(itg_graph *g, const char *name, const char *shape);
/* One output of this name and shape; inputs may be ITG_NONE. attrs NULL: the operator's defaults.
 * The node is named like its output. */
itg_id add_node(itg_graph *g, itg_op op, const char *name, const char *shape,
                const itg_attrs *attrs, int32_t count, const itg_id *inputs);
#define ADD_NODE(g, op, name, shape, attrs, ...)                                                   \
    add_node(g, op, name, shape, attrs,                                                            \
             (int32_t)(sizeof((itg_id[]){__VA_ARGS__}) / sizeof(itg_id)), (itg_id[]){__VA_ARGS__})
void finish(itg_graph *g, itg_id input, itg_id output);

/* x[1,4,8,8] -> conv1 -> relu1 -> pool (max) -> conv2 -> add(conv2, conv2's constant) -> flat -> fc
 * -> y[1,10] */
itg_graph *make_chain(void);

itg_hardware *load(const char *name_or_path);
itg_hardware *parse(const char *text);
/* text with the first `from` replaced by `to`; malloc'd. Fails the test where `from` is absent. */
char *replaced(const char *text, const char *from, const char *to);
char *read_text(const char *path); /* malloc'd */

/* A small chip that uses every key but overrides. */
extern const char *const chip;

/* Replacements in `chip` that must be refused. */
typedef struct bad_description {
    const char *from, *to, *message; /* the whole message after "chip.json: " */
    bool schema_refuses;             /* false: it takes two keys to see it */
} bad_description;
extern const bad_description bad_descriptions[];
extern const size_t bad_description_count;
#endif
