/* What edges carry is found again, the oldest goes where memory ends, and programs that begin at
 * known edges compute what those from the network's inputs do. */
#include "recover/kept.h"
#include "realize/batch.h"
#include "realize/program.h"
#include "recover/layer.h"
#include "../search/network.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SAMPLES = 3, BYTES = 10 };

static unsigned char *add(itg_kept *k, itg_id node, itg_id value, size_t bytes)
{
    unsigned char *codes = NULL;
    assert_int_equal(itg_kept_add(k, (itg_tap){node, 1}, value, SAMPLES, bytes, &codes, NULL),
                     ITG_OK);
    if (codes) memset(codes, (int)value, SAMPLES * bytes);
    return codes;
}

static void the_oldest_goes_where_memory_ends(void **state)
{
    (void)state;
    const itg_graph g = {.value_count = 6};
    itg_kept *k = NULL;
    assert_int_equal(itg_kept_create(&g, 5, 2 * SAMPLES * BYTES, &k, NULL), ITG_OK);
    assert_int_equal(itg_kept_edges(k).of[2], ITG_NONE);
    assert_non_null(add(k, 7, 2, BYTES));
    assert_non_null(add(k, 8, 4, BYTES));
    assert_null(add(k, 9, 5, 1)); /* no room, and nobody made any */
    const itg_known known = itg_kept_edges(k);
    assert_true(known.of[2] == 0 && known.of[4] == 1 && known.of[5] == ITG_NONE);
    assert_true(known.taps[1].node == 8 && known.taps[1].slot == 1);
    size_t bytes = 0;
    assert_int_equal(itg_kept_codes(k, 1, SAMPLES - 1, &bytes)[BYTES - 1], 4);
    assert_int_equal(bytes, BYTES);

    itg_kept_make_room(k, 3 * SAMPLES * BYTES); /* in vain, so nothing goes */
    assert_int_equal(itg_kept_edges(k).of[2], 0);
    itg_kept_make_room(k, SAMPLES * BYTES);
    assert_int_equal(itg_kept_edges(k).of[2], ITG_NONE);
    assert_int_equal(itg_kept_edges(k).of[4], 1);
    assert_non_null(add(k, 9, 4, BYTES)); /* the same value again, in another encoding */
    itg_kept_make_room(k, SAMPLES * BYTES);
    assert_int_equal(itg_kept_edges(k).of[4], 2); /* the newer one stays */

    itg_kept_drop_all(k);
    for (itg_id v = 0; v < g.value_count; v++)
        assert_int_equal(itg_kept_edges(k).of[v], ITG_NONE);
    assert_non_null(add(k, 3, 1, BYTES));
    assert_non_null(add(k, 3, 0, BYTES));
    assert_null(add(k, 3, 5, 0)); /* no more than were announced */
    itg_kept_destroy(k);
}

/* ---- programs from known edges ---- */

enum { MOST_LAYERS = 8, MOST_BYTES = 4096 };

/* What the layers' inputs carry for one sample. */
typedef struct carried {
    const itg_program *program; /* that runs now */
    const int32_t *from;        /* its inputs; NULL: the graph's */
    itg_tap taps[MOST_LAYERS];
    unsigned char codes[MOST_LAYERS][MOST_BYTES];
} carried;

static itg_status fill(void *context, int32_t index, int64_t sample, void *x, itg_error *err)
{
    const carried *c = context;
    const int32_t from = c->from ? c->from[index] : index;
    itg_tensor t = itg_program_input(c->program, index);
    (void)err;
    assert_true(from >= 0 || itg_tensor_bytes(&t) <= MOST_BYTES);
    if (from < 0) {
        memcpy(x, c->codes[-1 - from], itg_tensor_bytes(&t));
        return ITG_OK;
    }
    for (size_t i = 0; i < itg_tensor_bytes(&t) / sizeof(float); i++)
        ((float *)x)[i] = (float)((int)((i * 37 + (size_t)sample * 11) % 61) - 30) / 20.0F;
    return ITG_OK;
}

/* Runs the program that ends at tap `layer` and begins at the known edges. */
static void run_tap(const itg_annotated *a, carried *c, int32_t layer, const itg_known *known,
                    unsigned char *out, int32_t *steps, int32_t *graph_inputs)
{
    int32_t from[MOST_LAYERS + 1] = {0};
    itg_program *p = NULL;
    itg_batch_plan *plan = NULL;
    itg_batch *b = NULL;
    const itg_batch_options options = {.block = 1};
    const itg_status status =
        itg_realize_taps(a, &c->taps[layer], 1, known, known ? from : NULL, &p, NULL);
    assert_int_equal(status, ITG_OK);
    c->program = p;
    c->from = known ? from : NULL;
    assert_int_equal(itg_batch_plan_create(p, &options, &plan, NULL), ITG_OK);
    assert_int_equal(itg_batch_create(plan, &b, NULL), ITG_OK);
    const itg_batch_io io = {fill, c, NULL, true, NULL};
    assert_int_equal(itg_batch_run(b, &(itg_block){0, 3, 1}, &io, NULL), ITG_OK);
    itg_tensor t = itg_batch_output(b, 0, 0);
    assert_true(itg_tensor_bytes(&t) <= MOST_BYTES);
    memset(out, 0, MOST_BYTES);
    memcpy(out, t.data, itg_tensor_bytes(&t));
    *steps = p->step_count;
    *graph_inputs = 0;
    for (int32_t i = 0; i < p->input_count; i++)
        *graph_inputs += !known || from[i] >= 0;
    itg_batch_destroy(b);
    itg_batch_plan_destroy(plan);
    itg_program_destroy(p);
}

static itg_annotated *annotate(const small_network *n)
{
    itg_strategy *s = NULL;
    itg_stats *stats = NULL;
    itg_annotated *a = NULL;
    const itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, 6, 8, ITG_THRESHOLD_MAX,
                                         ITG_THRESHOLD_MAX,           0, 0};
    assert_int_equal(itg_calibrate_model(n->model, n->data, &n->preprocess, 1, &stats, NULL),
                     ITG_OK);
    assert_int_equal(itg_strategy_uniform(n->model, n->hw, stats, &options, &s, NULL), ITG_OK);
    assert_int_equal(itg_annotate(n->model, n->hw, s, &a, NULL), ITG_OK);
    itg_stats_destroy(stats);
    itg_strategy_destroy(s);
    return a;
}

static void programs_begin_at_known_edges(void **state)
{
    (void)state;
    int32_t shorter = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        small_network n;
        static carried c;
        small_network_make(seed, seed % 2 ? "cortex-m" : "x86-vnni", 20, &n);
        itg_annotated *a = annotate(&n);
        int32_t of[256], count = 0;
        assert_true(n.model->value_count <= 256);
        for (itg_id v = 0; v < n.model->value_count; v++)
            of[v] = ITG_NONE;
        for (itg_id node = 0; node < n.model->node_count && count < MOST_LAYERS; node++) {
            itg_layer l;
            if (!itg_layer_of(a, node, &l)) continue;
            const itg_known known = {c.taps, of};
            unsigned char whole[MOST_BYTES];
            int32_t all, some, inputs;
            c.taps[count] = (itg_tap){node, 0};
            run_tap(a, &c, count, NULL, whole, &all, &inputs);
            run_tap(a, &c, count, &known, c.codes[count], &some, &inputs);
            assert_memory_equal(whole, c.codes[count], MOST_BYTES);
            assert_true(some <= all);
            shorter += some < all && inputs == 0;
            of[itg_annotated_edge(a, node, 0)->value] = count;
            count++;
        }
        assert_true(count >= 3);
        itg_annotated_destroy(a);
        small_network_end(&n);
    }
    assert_true(shorter >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_oldest_goes_where_memory_ends),
                                       cmocka_unit_test(programs_begin_at_known_edges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
