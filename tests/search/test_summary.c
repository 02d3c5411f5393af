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

enum { ELEMENTS_OF_WEIGHT = 1024 }; /* at most, of the network's first */

typedef enum gift { NOTHING, CODES, OTHER_CODES, BIAS, ZERO_POINT, GIFTS } gift;

static int32_t first_weight(const itg_strategy *s)
{
    int32_t e = 0;
    while (s->edges[e].channel_count == 0)
        e++;
    return e;
}

/* Gives a weight what strategies may give it, each time more. */
static void give(itg_strategy *s, const itg_graph *g, gift what)
{
    const int32_t e = first_weight(s), channels = s->edges[e].channel_count;
    int32_t codes[ELEMENTS_OF_WEIGHT] = {what >= OTHER_CODES};
    float bias[ELEMENTS_OF_WEIGHT] = {1};
    uint8_t zero[ELEMENTS_OF_WEIGHT];
    int64_t count = 0;
    if (what == NOTHING) return;
    assert_true(itg_shape_elements(&g->values[g->nodes[0].inputs[1]].shape, &count));
    assert_in_range(count, channels, ELEMENTS_OF_WEIGHT);
    assert_int_equal(itg_strategy_set_codes(s, e, codes, count, NULL), ITG_OK);
    if (what >= BIAS) assert_int_equal(itg_strategy_set_bias(s, e, bias, channels, NULL), ITG_OK);
    if (what < ZERO_POINT) return;
    itg_edge_choice choice = s->edges[e];
    memcpy(zero, choice.zero, (size_t)channels);
    zero[0] ^= 1;
    choice.zero = zero;
    assert_int_equal(itg_strategy_set_edge(s, e, &choice, NULL), ITG_OK);
}

/* Writes both files; *score: of the strategy. */
static void make_with(const small_network *n, gift what, itg_score *score)
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
    if (status == ITG_OK) give(file->strategy, n->model, what);
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

static void make(const small_network *n, itg_score *score)
{
    make_with(n, NOTHING, score);
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
        assert_same_text(a->zero_points, b->zero_points);
        assert_same_text(a->bias, b->bias);
        if (full) assert_same_text(a->codes, b->codes);
        assert_int_equal(a->codes != NULL, b->codes != NULL);
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

static void make_for_zero_points(small_network *n)
{
    small_network_make(33, "cortex-m", 16, n);
    small_network_change_target(n, "\"bits\": [2, 7], \"zero_point\": false, \"full_range\": true",
                                "\"bits\": [2, 7], \"zero_point\": true");
}

/* Two strategies that differ in what they give a weight alone are told apart. */
static void what_a_strategy_gives_a_weight_is_told(void **state)
{
    small_network n;
    itg_score score = {0};
    char digits[GIFTS][2][3][65] = {{{""}}};
    (void)state;
    make_for_zero_points(&n);
    for (gift what = NOTHING; what < GIFTS; what++) {
        make_with(&n, what, &score);
        itg_summary *s[] = {opened(STRATEGY, n.model), opened(STRATEGY, NULL),
                            opened(PROGRAM, NULL)};
        assert_same_edges(s[0], s[1], false);
        assert_same_edges(s[0], s[2], true);
        for (int i = 0; i < 2; i++)
            for (int32_t e = 0; e < itg_summary_info_of(s[i])->edge_count; e++) {
                const itg_summary_edge *edge = itg_summary_edge_at(s[i], e);
                const char *own[] = {edge->codes, edge->bias, edge->zero_points};
                for (int k = 0; k < 3; k++)
                    if (own[k] && !digits[what][i][k][0]) strcpy(digits[what][i][k], own[k]);
            }
        for (int i = 0; i < 3; i++)
            itg_summary_destroy(s[i]);
    }
    for (int i = 0; i < 2; i++) {
        assert_string_equal(digits[NOTHING][i][0], "");
        assert_string_not_equal(digits[CODES][i][0], "");
        assert_string_not_equal(digits[CODES][i][0], digits[OTHER_CODES][i][0]);
        assert_string_equal(digits[OTHER_CODES][i][0], digits[BIAS][i][0]);
        assert_string_equal(digits[OTHER_CODES][i][1], "");
        assert_string_not_equal(digits[BIAS][i][1], "");
        assert_string_not_equal(digits[NOTHING][i][2], "");
        assert_string_equal(digits[NOTHING][i][2], digits[BIAS][i][2]);
        assert_string_not_equal(digits[BIAS][i][2], digits[ZERO_POINT][i][2]);
    }
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
    static const char *const keys[] = {"strategy", "model_hash", "bits",  "thresholds",
                                       "method",   "lo",         "hi",    "value",
                                       "edges",    "hardware",   "sha256"};
    small_network n;
    itg_score score;
    unsigned char *data = NULL;
    size_t bytes = 0;
    (void)state;
    small_network_make(31, "cortex-m", 16, &n);
    make_with(&n, CODES, &score);
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
    make_for_zero_points(&n);
    make_with(&n, ZERO_POINT, &score);
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
        cmocka_unit_test(what_a_strategy_gives_a_weight_is_told),
        cmocka_unit_test(costs_of_layers_add_up_to_the_score),
        cmocka_unit_test(numbers_of_a_summary_have_bounds),
        cmocka_unit_test(what_is_no_summary_is_refused),
        cmocka_unit_test(a_strategy_that_lacks_what_is_shown_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
