/* Portraits: the three ways to one say the same, costs are those of the score, and the nth
 * allocation may fail. */
#include "network.h"
#include "api/summary.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/faults.h"

#define STRATEGY TEST_FOLDER "/summary.json"
#define PROGRAM TEST_FOLDER "/summary.itg"
#define OTHER TEST_FOLDER "/summary_other.json"

/* Writes both files; *score: of the strategy. */
static void make(const small_network *n, itg_score *score)
{
    itg_search_data data = small_network_data(n);
    itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, 7, 8, ITG_THRESHOLD_MSE,
                                   ITG_THRESHOLD_MAX,           0, 0};
    itg_stats *stats = NULL;
    itg_strategy_file *file = NULL;
    itg_annotated *a = NULL;
    itg_program *p = NULL;
    itg_error err = {ITG_OK, ""};
    itg_status status = itg_calibrate_model(n->model, data.data, &n->preprocess, 1, &stats, &err);
    if (status == ITG_OK)
        status = itg_uniform_strategy(n->model, n->hw, &n->preprocess, stats, data.data, &options,
                                      &file, &err);
    if (status == ITG_OK)
        status = itg_simulate(n->model, file, data.data,
                              &(itg_simulate_options){ITG_SIMULATE_OPTIONS_VERSION,
                                                      .labels = data.labels, .with_agreement = true,
                                                      .threads = 1},
                              score, &err);
    if (status == ITG_OK) status = itg_strategy_save(file, n->model, STRATEGY, &err);
    if (status == ITG_OK) status = itg_annotate_strategy(n->model, file, &a, &err);
    if (status == ITG_OK) status = itg_realize_program(a, NULL, &p, &err);
    if (status == ITG_OK) status = itg_program_save(p, n->model, file, PROGRAM, &err);
    if (status != ITG_OK) fail_msg("%s", err.message);
    itg_program_destroy(p);
    itg_annotated_destroy(a);
    itg_strategy_close(file);
    itg_stats_destroy(stats);
}

static itg_summary *opened(const char *path, const itg_model *model)
{
    itg_summary *p = NULL;
    itg_error err = {ITG_OK, ""};
    if (itg_summary_open(path, model, &p, &err) != ITG_OK) fail_msg("%s", err.message);
    return p;
}

static void assert_same_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a != NULL) assert_string_equal(a, b);
}

/* full: also what takes the model. */
static void assert_same_edges(const itg_summary *p, const itg_summary *q, bool full)
{
    int32_t count = itg_summary_info_of(p)->edge_count;
    assert_int_equal(itg_summary_info_of(q)->edge_count, count);
    assert_true(count > 4);
    for (int32_t i = 0; i < count; i++) {
        const itg_summary_edge *a = itg_summary_edge_at(p, i), *b = itg_summary_edge_at(q, i);
        assert_same_text(a->value, b->value);
        assert_same_text(a->node, b->node);
        assert_same_text(a->method, b->method);
        assert_same_text(a->thresholds, b->thresholds);
        assert_true(a->slot == b->slot && a->bits == b->bits && a->lo == b->lo && a->hi == b->hi);
        if (full) assert_same_text(a->scales, b->scales);
        if (full) assert_same_text(a->sign, b->sign);
        assert_int_equal(a->bits > 0, a->method != NULL);
    }
}

static void a_strategy_and_its_program_have_one_summary(void **state)
{
    small_network n;
    itg_score score = {0};
    (void)state;
    small_network_make(31, "cortex-m", 16, &n);
    make(&n, &score);
    itg_summary *alone = opened(STRATEGY, NULL), *full = opened(STRATEGY, n.model),
                *program = opened(PROGRAM, NULL);
    assert_same_edges(full, alone, false);
    assert_same_edges(full, program, true);
    const itg_summary_info *a = itg_summary_info_of(full), *b = itg_summary_info_of(program),
                           *c = itg_summary_info_of(alone);
    assert_true(a->has_costs && b->has_costs && !c->has_costs && b->is_program && !a->is_program);
    assert_string_equal(a->model_hash, c->model_hash);
    assert_string_equal(a->graph_hash, c->graph_hash);
    assert_string_equal(a->hardware_hash, b->hardware_hash);
    assert_string_equal(a->hardware_hash, c->hardware_hash);
    assert_true(a->score.value[ITG_METRIC_TOP1] == score.value[ITG_METRIC_TOP1] &&
                b->score.value[ITG_METRIC_TOP1] == score.value[ITG_METRIC_TOP1] &&
                c->score.value[ITG_METRIC_TOP1] == score.value[ITG_METRIC_TOP1]);
    assert_int_equal(b->score.samples, score.samples);
    itg_summary_destroy(alone);
    itg_summary_destroy(full);
    itg_summary_destroy(program);
    small_network_end(&n);
}

/* split: sums are in parts. */
static void check_costs(const char *target, bool split)
{
    small_network n;
    itg_score score = {0};
    int64_t bytes = 0, joins = 0;
    double bops = 0, cycles = 0;
    small_network_make(32, target, 16, &n);
    make(&n, &score);
    itg_summary *p = opened(PROGRAM, n.model);
    const itg_summary_info *info = itg_summary_info_of(p);
    assert_int_equal(info->layer_count, n.model->node_count);
    for (int32_t i = 0; i < info->layer_count; i++) {
        const itg_summary_layer *layer = itg_summary_layer_at(p, i);
        bytes += layer->weight_bytes;
        bops += layer->bops;
        cycles += layer->cycles;
        joins += layer->joins;
        assert_true(layer->parts > 0 ? layer->joins % layer->parts == 0 : layer->joins == 0);
    }
    assert_int_equal(joins > 0, split);
    assert_int_equal(bytes, score.value[ITG_METRIC_WEIGHT_BYTES]);
    assert_int_equal(info->score.value[ITG_METRIC_WEIGHT_BYTES],
                     score.value[ITG_METRIC_WEIGHT_BYTES]);
    assert_true(bops == score.value[ITG_METRIC_BOPS] &&
                info->score.value[ITG_METRIC_BOPS] == score.value[ITG_METRIC_BOPS]);
    assert_true(cycles == score.value[ITG_METRIC_CYCLES] &&
                info->score.value[ITG_METRIC_CYCLES] == score.value[ITG_METRIC_CYCLES]);
    itg_summary_destroy(p);
    small_network_end(&n);
}

static void costs_of_layers_add_up_to_the_score(void **state)
{
    (void)state;
    check_costs("cortex-m", false);
    check_costs("avr", true);
}

static void what_is_no_summary_is_refused(void **state)
{
    static const char *const texts[] = {
        "{}", "{\"strategy\": 1}", "{\"strategy\": {\"model_hash\": \"\"}}", "{", "", "summary"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        itg_summary *p = NULL;
        itg_error err = {ITG_OK, ""};
        assert_int_equal(itg_file_write(OTHER, texts[i], strlen(texts[i]), NULL), ITG_OK);
        itg_status status = itg_summary_open(OTHER, NULL, &p, &err);
        assert_true(status != ITG_OK && p == NULL);
        assert_int_equal(err.code, status);
        assert_non_null(strstr(err.message, OTHER));
    }
}

static itg_status read_with(const char *edge, const char *layer)
{
    char text[512];
    itg_summary *summary = NULL;
    snprintf(text, sizeof text,
             "{\"model_hash\": \"a\", \"graph_hash\": \"b\", \"hardware\": \"c\", "
             "\"hardware_hash\": \"d\", \"costs\": {}, \"edges\": [{\"value\": \"v\"%s}], "
             "\"layers\": [{\"node\": \"n\", \"op\": \"o\", \"form\": \"f\"%s}]}",
             edge, layer);
    itg_status status = itg_summary_read(text, strlen(text), "text", &summary, NULL);
    itg_summary_destroy(summary);
    return status;
}

static void numbers_of_a_summary_have_bounds(void **state)
{
    (void)state;
    assert_int_equal(read_with("", ""), ITG_OK);
    assert_int_equal(read_with(", \"bits\": 64", ", \"accumulator_bits\": 64"), ITG_OK);
    assert_int_equal(read_with("", ", \"parts\": 2147483647"), ITG_OK);
    assert_int_not_equal(read_with(", \"bits\": 65", ""), ITG_OK);
    assert_int_not_equal(read_with(", \"slot\": 2147483648", ""), ITG_OK);
    assert_int_not_equal(read_with("", ", \"accumulator_bits\": 65"), ITG_OK);
    assert_int_not_equal(read_with("", ", \"parts\": 2147483648"), ITG_OK);
}

/* Without its model, every member that is shown must be there and of its type. */
static void a_strategy_that_lacks_what_is_shown_is_refused(void **state)
{
    static const char *const keys[] = {"strategy", "model_hash", "bits",  "thresholds", "method",
                                       "lo",       "hi",         "value", "edges",      "hardware"};
    small_network n;
    itg_score score;
    unsigned char *data = NULL;
    size_t bytes = 0;
    (void)state;
    small_network_make(31, "cortex-m", 16, &n);
    make(&n, &score);
    assert_int_equal(itg_file_read(STRATEGY, 1 << 20, &data, &bytes, NULL), ITG_OK);
    const char *text = (const char *)data;
    for (size_t i = 0; i < 2 * sizeof keys / sizeof *keys; i++) {
        itg_summary *p = NULL;
        itg_error err = {ITG_OK, ""};
        char key[32];
        itg_strbuf changed = {0};
        snprintf(key, sizeof key, "\"%s\": ", keys[i / 2]);
        const char *at = strstr(text, key);
        assert_non_null(at);
        itg_strbuf_bytes(&changed, text, (size_t)(at - text) + 1);
        /* another name, or (with what was there under another one) another type */
        itg_strbuf_format(&changed, i % 2 ? "%s\": {}, \"_%s" : "_%s", keys[i / 2], at + 1);
        assert_int_equal(itg_file_write(OTHER, changed.text, changed.length, NULL), ITG_OK);
        itg_status status = itg_summary_open(OTHER, NULL, &p, &err);
        if (status != ITG_BAD_FILE || p || !strstr(err.message, OTHER))
            fail_msg("%s: %s", keys[i / 2], err.message);
        itg_strbuf_deinit(&changed);
    }
    free(data);
    small_network_end(&n);
}

static void every_allocation_may_fail(void **state)
{
    const char *const paths[] = {STRATEGY, STRATEGY, PROGRAM};
    small_network n;
    itg_score score;
    (void)state;
    small_network_make(33, "cortex-m", 16, &n);
    make(&n, &score);
    for (int i = 0; i < 3; i++) {
        bool done = false;
        for (int nth = 0; !done; nth++) {
            itg_summary *p = NULL;
            itg_error err = {ITG_OK, ""};
            calls_left = nth;
            itg_status status = itg_summary_open(paths[i], i == 1 ? n.model : NULL, &p, &err);
            done = calls_left >= 0;
            calls_left = -1;
            assert_int_equal(status, done ? ITG_OK : ITG_NO_MEMORY);
            assert_int_equal(p != NULL, done);
            itg_summary_destroy(p);
        }
    }
    small_network_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strategy_and_its_program_have_one_summary),
        cmocka_unit_test(costs_of_layers_add_up_to_the_score),
        cmocka_unit_test(numbers_of_a_summary_have_bounds),
        cmocka_unit_test(what_is_no_summary_is_refused),
        cmocka_unit_test(a_strategy_that_lacks_what_is_shown_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
