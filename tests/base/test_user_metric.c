#include "cmocka_base.h"
#include "base/user_metric.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static itg_status read_metrics(const char *text, itg_score *out)
{
    itg_json *json = NULL;
    assert_int_equal(itg_json_parse(text, strlen(text), "text", &json, NULL), ITG_OK);
    itg_json_taker t = {json, NULL, ITG_OK};
    *out = itg_score_unknown();
    itg_user_metrics_read(&t, itg_json_root(json), out->user, &out->value[ITG_METRIC_USER1]);
    itg_json_destroy(json);
    return t.status;
}

static void what_is_written_comes_back(void **state)
{
    const itg_user_info users[ITG_USER_METRICS] = {
        {.name = "map", .unit = ITG_UNIT_SHARE, .up = true},
        [2] = {.name = "loss", .unit = ITG_UNIT_NUMBER},
        [3] = {.name = "late", .unit = ITG_UNIT_NUMBER}};
    const double values[ITG_USER_METRICS] = {0.1, (double)NAN, -3, (double)NAN};
    itg_json_writer w = {0};
    itg_score score;
    (void)state;
    itg_json_begin(&w, NULL, '{');
    itg_user_metrics_write(&w, users, values);
    itg_json_end(&w, '}');
    assert_true(itg_strbuf_ok(&w.text));
    assert_int_equal(read_metrics(w.text.text, &score), ITG_OK);
    for (int i = 0; i < ITG_USER_METRICS; i++) {
        double value = score.value[ITG_METRIC_USER1 + i];
        assert_string_equal(score.user[i].name, users[i].name);
        assert_true(score.user[i].unit == users[i].unit && score.user[i].up == users[i].up);
        assert_true(isnan(values[i]) || !*users[i].name ? isnan(value) : value == values[i]);
    }
    itg_strbuf_deinit(&w.text);
}

static void a_value_that_is_none_stays_unknown(void **state)
{
    static const char *const texts[] = {"{\"user_metrics\": [{\"name\": \"map\", \"unit\": "
                                        "\"share\", \"better\": \"up\", \"value\": \"1\"}]}",
                                        "{\"user_metrics\": [{\"name\": \"map\", \"unit\": "
                                        "\"share\", \"better\": \"up\", \"value\": 2}]}"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        itg_score score;
        assert_int_equal(read_metrics(texts[i], &score), ITG_BAD_FILE);
        assert_true(isnan(score.value[ITG_METRIC_USER1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_written_comes_back),
                                       cmocka_unit_test(a_value_that_is_none_stays_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
