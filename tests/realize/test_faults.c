/* The nth allocation fails, for every n until none does: the status says so and outputs stay
 * untouched. What is left behind is the sanitizer's business. */
#include "networks.h"
#include "random_program.h"
#include "recurrent_program.h"
#include <stdlib.h>
#include "tests/faults.h"

#define PATH TEST_FOLDER "/faults.onnx"

static const network networks[] = NETWORKS;
enum { NETWORK_COUNT = sizeof networks / sizeof *networks };

/* One attempt with `left` allocations before the failure; true: it was spared. */
typedef bool (*attempt)(void *context, int left);

static bool spared(itg_status status, const itg_error *err, const void *out)
{
    bool is_spared = calls_left >= 0;
    calls_left = -1;
    assert_int_equal(status, is_spared ? ITG_OK : ITG_NO_MEMORY);
    if (!is_spared) assert_int_equal(err->code, ITG_NO_MEMORY);
    assert_int_equal(out != NULL, is_spared);
    return is_spared;
}

static void until_spared(attempt run, void *context, int at_least)
{
    int n = 0;
    while (!run(context, n))
        n++;
    assert_true(n >= at_least);
}

static bool lowers(void *context, int left)
{
    fixture *f = context;
    itg_program *p = NULL;
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = itg_realize_program(f->a, NULL, &p, &err);
    bool done = spared(status, &err, p);
    itg_program_destroy(p);
    return done;
}

static bool bounds(void *context, int left)
{
    fixture *f = context;
    itg_bound *b = NULL;
    int32_t count = 0;
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = itg_bounds_of(f->a, &b, &count, &err);
    bool done = spared(status, &err, b);
    free(b);
    return done;
}

static bool creates(void *context, int left)
{
    single *instance = NULL;
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = single_create(context, &instance, &err);
    bool done = spared(status, &err, instance);
    single_destroy(instance);
    return done;
}

static bool writes(void *context, int left)
{
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = itg_artefact_write(context, NULL, 0, PATH, &err);
    return spared(status, &err, status == ITG_OK ? context : NULL);
}

static bool exports(void *context, int left)
{
    const fixture *f = context;
    itg_qdq_report *report = NULL;
    itg_qdq_options options = {NULL, 0, true};
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = itg_qdq_write(f->a, &options, PATH, &report, &err);
    bool done = spared(status, &err, report);
    itg_qdq_report_destroy(report);
    return done;
}

static bool reads(void *context, int left)
{
    (void)context;
    itg_program *p = NULL;
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = itg_program_open(PATH, &p, &err);
    bool done = spared(status, &err, p);
    itg_program_destroy(p);
    return done;
}

static bool emits(void *context, int left)
{
    itg_error err = {ITG_OK, ""};
    itg_emit_vectors vectors = {2, NULL};
    itg_emit_sizes sizes = {.arena_bytes = -1};
    calls_left = left;
    itg_status status = itg_program_emit_c(context, "faults", &vectors, TEST_FOLDER, &sizes, &err);
    assert_true((status == ITG_OK) == (sizes.arena_bytes >= 0));
    return spared(status, &err, status == ITG_OK ? context : NULL);
}

static void emitting_without_memory(void **state)
{
    (void)state;
    const itg_accel_kernels *kernels; /* proven here: a set that finds no memory is not used */
    assert_int_equal(itg_accel_choose(NULL, &kernels, NULL), ITG_OK);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        itg_program *p = random_integer_program(seed);
        until_spared(emits, p, 5);
        itg_program_destroy(p);
    }
}

/* A program for less memory. */
static bool tiles(void *context, int left)
{
    itg_program *out = NULL;
    itg_tiling t;
    itg_error err = {ITG_OK, ""};
    int64_t bytes = 0;
    assert_int_equal(itg_program_arena_bytes(context, &bytes, NULL), ITG_OK);
    calls_left = left;
    itg_status status = itg_program_tile(context, bytes - 1, &t, &out, &err);
    bool done = spared(status, &err, out);
    itg_program_destroy(out);
    return done;
}

static void tiling_without_memory(void **state)
{
    (void)state;
    int found = 0;
    for (uint64_t seed = 1; found < 2 && seed < 200; seed++) {
        itg_program *p = random_integer_program(seed), *out = NULL;
        itg_tiling t;
        int64_t bytes = 0;
        if (itg_program_arena_bytes(p, &bytes, NULL) == ITG_OK && bytes > 0 &&
            itg_program_tile(p, bytes - 1, &t, &out, NULL) == ITG_OK) {
            until_spared(tiles, p, 5);
            found++;
        }
        itg_program_destroy(out);
        itg_program_destroy(p);
    }
    assert_int_equal(found, 2);
    itg_program *p = recurrent_program(12, true, RECURRENT_PRODUCT);
    until_spared(tiles, p, 5);
    itg_program_destroy(p);
}

static void everything_without_memory(void **state)
{
    (void)state;
    for (int i = 0; i < NETWORK_COUNT; i++) {
        fixture f = networks[i]();
        itg_program *p = fx_program(&f);
        until_spared(lowers, &f, 5);
        until_spared(bounds, &f, 5);
        until_spared(creates, p, 6);
        until_spared(writes, p, 5);
        until_spared(reads, NULL, 5);
        until_spared(exports, &f, 5);
        itg_program_destroy(p);
        fx_end(&f);
    }
}

/* Integer steps allocate nothing once the instance stands, but products of two computed operands,
 * which pack one of them. */
static void integer_runs_allocate_nothing(void **state)
{
    static const network integer_only[] = {net_moves, net_tables, net_split};
    (void)state;
    for (int i = 0; i < 3; i++) {
        fixture f = integer_only[i]();
        itg_program *p = fx_program(&f);
        single *instance = fx_instance(p);
        fx_fill(instance, p, 1, 8);
        calls_left = 0;
        itg_status status = single_run(instance, NULL);
        bool is_spared = calls_left == 0;
        calls_left = -1;
        assert_int_equal(status, ITG_OK);
        assert_true(is_spared);
        single_destroy(instance);
        itg_program_destroy(p);
        fx_end(&f);
    }
}

static bool multiplies(void *context, int left)
{
    itg_error err = {ITG_OK, ""};
    calls_left = left;
    itg_status status = single_run(context, &err);
    bool is_spared = calls_left >= 0;
    calls_left = -1;
    if (is_spared)
        assert_int_equal(status, ITG_OK);
    else
        assert_int_equal(status, ITG_NO_MEMORY);
    return is_spared;
}

static void products_without_memory(void **state)
{
    (void)state;
    fixture f = net_matrix();
    itg_program *p = fx_program(&f);
    single *instance = fx_instance(p);
    fx_fill(instance, p, 1, 8);
    until_spared(multiplies, instance, 1);
    single_destroy(instance);
    itg_program_destroy(p);
    fx_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_without_memory),
        cmocka_unit_test(emitting_without_memory),
        cmocka_unit_test(tiling_without_memory),
        cmocka_unit_test(integer_runs_allocate_nothing),
        cmocka_unit_test(products_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
