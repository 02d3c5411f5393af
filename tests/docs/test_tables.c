/* What the pages of docs/ list is what the tables of the source hold, in both directions. */
#include "page.h"
#include "../realize/networks.h"
#include "../realize/random_program.h"
#include "graph/onnx/onnx_write.h"
#include "hardware/keys.h"
#include "realize/emit/qdq.h"
#include "realize/program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- adding-a-target.md: which operators have which arithmetic ---- */

static itg_form form_named(const char *cell)
{
    for (int f = 0; f < ITG_FORM_COUNT; f++)
        if (page_has_code(cell, itg_form_name((itg_form)f))) return (itg_form)f;
    fail_msg("no arithmetic is called %s", cell);
    return ITG_FORM_FLOAT;
}

static void check_form_row(char *cells[], int count, void *context)
{
    uint32_t *seen = context;
    assert_int_equal(count, 3);
    itg_form form = form_named(cells[0]);
    *seen |= 1u << form;
    for (int op = 0; op < ITG_OP_COUNT; op++) {
        bool legal = itg_hw_legal_forms((itg_op)op) >> form & 1u;
        bool of_class = itg_op_is((itg_op)op, ITG_IS_UNIVARIATE) &&
                        strstr(cells[1], "every univariate operator") != NULL;
        if ((of_class || page_has_word(cells[1], itg_op_name((itg_op)op))) != legal)
            fail_msg("%s: %s is %s", cells[0], itg_op_name((itg_op)op),
                     legal ? "missing" : "too much");
    }
}

static void targets_list_the_operators_of_each_arithmetic(void **state)
{
    (void)state;
    char *page = page_read(DOCS "/adding-a-target.md");
    uint32_t seen = 0, all = 0;
    page_table(page, "| name | operators | result |", check_form_row, &seen);
    for (int op = 0; op < ITG_OP_COUNT; op++)
        all |= itg_hw_legal_forms((itg_op)op);
    assert_int_equal(seen, all);
    free(page);
}

static void check_keys(const char *page, const itg_hw_object *object)
{
    for (int32_t i = 0; i < object->key_count; i++) {
        if (!page_has_code(page, object->keys[i].name))
            fail_msg("adding-a-target.md: no `%s`", object->keys[i].name);
        if (object->keys[i].object != NULL) check_keys(page, object->keys[i].object);
        for (const itg_hw_choice *c = object->keys[i].choices; c != NULL && c->name != NULL; c++)
            if (!page_has_code(page, c->name))
                fail_msg("adding-a-target.md: no `%s` of `%s`", c->name, object->keys[i].name);
    }
}

static void targets_list_every_key_and_value(void **state)
{
    static const itg_hw_object *const objects[] = {&itg_hw_file_keys,     &itg_hw_dtype_keys,
                                                   &itg_hw_requant_keys,  &itg_hw_operator_keys,
                                                   &itg_hw_override_keys, &itg_hw_spec_keys};
    (void)state;
    char *page = page_read(DOCS "/adding-a-target.md");
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        check_keys(page, objects[i]);
    free(page);
}

/* ---- arithmetic-math.md: univariate operators ---- */

static void check_univariate_row(char *cells[], int count, void *context)
{
    bool *listed = context;
    assert_int_equal(count, 2);
    for (char *name = strtok(cells[0], ", "); name != NULL; name = strtok(NULL, ", ")) {
        itg_op op;
        if (!itg_op_from_name(name, &op) || !itg_op_is(op, ITG_IS_UNIVARIATE))
            fail_msg("arithmetic-math.md: %s is no univariate operator", name);
        listed[op] = true;
    }
}

static void arithmetic_lists_every_univariate_operator(void **state)
{
    bool listed[ITG_OP_COUNT] = {false};
    (void)state;
    char *page = page_read(DOCS "/arithmetic-math.md");
    page_table(page, "| operator | value |", check_univariate_row, listed);
    for (int op = 0; op < ITG_OP_COUNT; op++)
        if (itg_op_is((itg_op)op, ITG_IS_UNIVARIATE) != listed[op])
            fail_msg("arithmetic-math.md: %s is missing", itg_op_name((itg_op)op));
    free(page);
}

/* ---- artefact.md: operators and their forms ---- */

typedef struct operators {
    bool listed[ITG_STEP_KIND_COUNT][ITG_OP_COUNT];
} operators;

static void check_operator(operators *o, const char *name, const char *meaning)
{
    itg_step_kind kind;
    itg_op op;
    if (!itg_step_type_parse(name, &kind, &op)) fail_msg("artefact.md: no operator %s", name);
    o->listed[kind][op] = true;
    for (int f = 0; f < ITG_FORM_COUNT; f++) {
        bool stated = itg_step_forms(kind, op) >> f & 1u;
        const char *form = itg_form_name((itg_form)f);
        if (stated != page_has_code(meaning, form))
            fail_msg("artefact.md: %s: `%s` is %s", name, form, stated ? "missing" : "too much");
    }
}

static void check_operator_row(char *cells[], int count, void *context)
{
    assert_int_equal(count, 3);
    if (strncmp(cells[0], "Float and", 9) == 0) return;
    if (strncmp(cells[0], "Lut and the name of a univariate", 32) == 0) {
        for (int op = 0; op < ITG_OP_COUNT; op++)
            if (itg_op_is((itg_op)op, ITG_IS_UNIVARIATE))
                ((operators *)context)->listed[ITG_STEP_LUT][op] = true;
        return;
    }
    for (char *name = strtok(cells[0], ", "); name != NULL; name = strtok(NULL, ", "))
        check_operator(context, name, cells[2]);
}

/* What lowering makes: Dropout and Identity of codes only a file made by hand has. */
static void artefacts_list_every_operator_and_its_forms(void **state)
{
    (void)state;
    char *page = page_read(DOCS "/artefact.md");
    operators o = {0};
    page_table(page, "| operator | inputs | native result and outputs |", check_operator_row, &o);
    for (int kind = 0; kind < ITG_STEP_KIND_COUNT; kind++)
        for (int op = 0; op < ITG_OP_COUNT; op++) {
            itg_step s = {.kind = (itg_step_kind)kind, .op = (itg_op)op};
            char name[48];
            if (kind == ITG_STEP_FLOAT || !itg_step_kind_takes((itg_step_kind)kind, (itg_op)op))
                continue;
            if (!o.listed[kind][op])
                fail_msg("artefact.md: %s is missing", itg_step_type(&s, name, sizeof name));
        }
    free(page);
}

/* ---- artefact.md: attributes ---- */

enum { MOST_NAMES = 256, RANDOM_PROGRAMS = 120 };

typedef struct names {
    char text[MOST_NAMES][64];
    int count;
} names;

static void add_name(names *n, const char *name)
{
    for (int i = 0; i < n->count; i++)
        if (strcmp(n->text[i], name) == 0) return;
    assert_true(n->count < MOST_NAMES);
    snprintf(n->text[n->count++], sizeof n->text[0], "%s", name);
}

/* y3_scale -> yK_scale */
static void generalize(const char *name, char out[64])
{
    size_t digits = strspn(name + (*name != '\0'), "0123456789");
    bool numbered = (*name == 'x' || *name == 'y') && digits > 0 && name[1 + digits] == '_';
    if (numbered)
        snprintf(out, 64, "%cK%s", *name, name + 1 + digits);
    else
        snprintf(out, 64, "%s", name);
}

static void collect(const itg_program *p, names *found)
{
    itg_onnx_file *file = NULL;
    itg_error err = {ITG_OK, ""};
    char name[64];
    if (itg_artefact_write(p, NULL, 0, TEST_FOLDER "/a.itg", &err) != ITG_OK ||
        itg_onnx_file_read(TEST_FOLDER "/a.itg", &file, &err) != ITG_OK)
        fail_msg("%s", err.message);
    for (int32_t i = 0; i < file->node_count; i++)
        for (int32_t k = 0; k < file->nodes[i].attr_count; k++) {
            generalize(file->nodes[i].attrs[k].name, name);
            add_name(found, name);
        }
    itg_onnx_file_destroy(file);
}

static void collect_all(names *found)
{
    static const network networks[] = NETWORKS;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        fixture f = networks[i]();
        itg_program *p = fx_program(&f);
        fx_end(&f);
        collect(p, found);
        itg_program_destroy(p);
    }
    for (uint64_t seed = 1; seed <= RANDOM_PROGRAMS; seed++) {
        itg_program *p = random_program(seed);
        collect(p, found);
        itg_program_destroy(p);
    }
}

static void check_attribute_row(char *cells[], int count, void *context)
{
    const names *found = context;
    assert_int_equal(count, 3);
    for (char *name = strtok(cells[0], "`, "); name != NULL; name = strtok(NULL, "`, ")) {
        bool written = false;
        for (int i = 0; i < found->count; i++)
            written = written || strcmp(found->text[i], name) == 0;
        if (!written) fail_msg("artefact.md: no file has an attribute `%s`", name);
    }
}

static void artefacts_list_every_attribute(void **state)
{
    (void)state;
    char *page = page_read(DOCS "/artefact.md");
    names *found = calloc(1, sizeof *found);
    assert_non_null(found);
    collect_all(found);
    for (int i = 0; i < found->count; i++)
        if (!page_has_code(page, found->text[i]))
            fail_msg("artefact.md: `%s` is missing", found->text[i]);
    page_table(page, "| attribute | on | meaning |", check_attribute_row, found);
    free(found);
    free(page);
}

/* ---- qdq.md: what is equal ---- */

static void check_cell(const char *op, const char *cell, bool ever, const char *reason)
{
    const char *expected = !ever ? "" : reason == NULL ? "equal" : "may differ";
    if (strncmp(cell, expected, strlen(expected)) != 0 || (*expected == '\0' && *cell != '\0'))
        fail_msg("qdq.md: %s: '%s', expected '%s'", op, cell, expected);
}

static void check_agreement_row(char *cells[], int count, void *context)
{
    bool *listed = context;
    assert_int_equal(count, 4);
    for (char *name = strtok(cells[0], ", "); name != NULL; name = strtok(NULL, ", ")) {
        itg_op op;
        if (!itg_op_from_name(name, &op)) fail_msg("qdq.md: no operator %s", name);
        const itg_qdq_agreement *a = itg_qdq_agreement_of(op);
        bool integer = itg_hw_legal_forms(op) != 0;
        check_cell(name, cells[1], integer, a->codes);
        check_cell(name, cells[2], integer, a->reals);
        check_cell(name, cells[3], true, a->island);
        listed[op] = true;
    }
}

/* Never exported: folded, left off, or replaced by others. */
static bool is_gone(itg_op op)
{
    return itg_op_is(op, ITG_READS_SHAPE) || op == ITG_OP_BATCH_NORMALIZATION ||
           op == ITG_OP_CONSTANT || op == ITG_OP_CONSTANT_OF_SHAPE || op == ITG_OP_IDENTITY ||
           op == ITG_OP_DROPOUT || op == ITG_OP_CAST_LIKE || op == ITG_OP_EINSUM ||
           op == ITG_OP_SCATTER || itg_op_is(op, ITG_IS_COMPOSITE);
}

static void the_promise_of_equal_bits_is_the_pages(void **state)
{
    (void)state;
    char *page = page_read(DOCS "/qdq.md");
    bool listed[ITG_OP_COUNT] = {false};
    page_table(page, "| operator | codes | real numbers | float node |", check_agreement_row,
               listed);
    for (int op = 0; op < ITG_OP_COUNT; op++)
        if (!listed[op] && !is_gone((itg_op)op))
            fail_msg("qdq.md: %s is missing", itg_op_name((itg_op)op));
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_list_the_operators_of_each_arithmetic),
        cmocka_unit_test(targets_list_every_key_and_value),
        cmocka_unit_test(arithmetic_lists_every_univariate_operator),
        cmocka_unit_test(artefacts_list_every_operator_and_its_forms),
        cmocka_unit_test(artefacts_list_every_attribute),
        cmocka_unit_test(the_promise_of_equal_bits_is_the_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
