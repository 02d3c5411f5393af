/* Runs as files: what is written is read back and written again as the same text; what is wrong is
 * refused with its place, and leaves the log as it was. */
#include "log_case.h"
#include "base/base.h"
#include <math.h>

#define OTHER "other.db"

static int remove_all(void **state)
{
    static const char *const files[] = {"a.json", "b.json", "c.json", OTHER};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
    return remove_log(state);
}

static char *text_of(const char *path)
{
    unsigned char *data = NULL;
    size_t bytes = 0;
    assert_int_equal(itg_file_read(path, 1 << 28, &data, &bytes, NULL), ITG_OK);
    char *text = strdup((const char *)data);
    assert_non_null(text);
    free(data);
    return text;
}

static void put(const char *path, const char *text)
{
    assert_int_equal(itg_file_write(path, text, strlen(text), NULL), ITG_OK);
}

/* Awkward numbers, names and texts. */
static int64_t write_a_run(itg_run_log *log)
{
    itg_run_info info = an_info();
    int64_t run = 0;
    info.model_name = "n\"et\\\n\xC3\xA9.onnx";
    info.holdout = (itg_run_data){.name = "h.npy", .samples = 7, .hash = {1}};
    info.holdout_labels = (itg_run_data){.name = "hl.npy", .samples = 7, .hash = {2}};
    assert_int_equal(itg_run_log_begin_run(log, &info, &run, NULL), ITG_OK);
    for (int i = 0; i < 6; i++) {
        itg_trial trial = a_trial(i);
        trial.seconds = 0.1 + 0.2;
        trial.score.value[ITG_METRIC_BOPS] = i == 2 ? 1e22 : 9007199254740993.0 * (i + 1);
        trial.score.value[ITG_METRIC_TOP1] = 1.0 / 3;
        trial.score.value[ITG_METRIC_DISTORTION] = i == 4 ? (double)INFINITY : 5e-324;
        trial.feasible = i != 3;
        trial.error = i == 3 ? "conv1: 33 bits" : NULL;
        if (i == 2 || i == 3) snprintf(trial.worker, sizeof trial.worker, "machine-%d", i);
        if (i == 5) {
            trial.score.stopped_at = 39;
            trial.score.value[ITG_METRIC_DISTORTION] = (double)NAN;
        }
        assert_int_equal(itg_run_log_trial(log, run, &trial, i, NULL), ITG_OK);
    }
    itg_score floats = a_trial(0).score, best = a_trial(4).score;
    floats.value[ITG_METRIC_WEIGHT_BYTES] = floats.value[ITG_METRIC_PARAMETER_BYTES] =
        floats.value[ITG_METRIC_PEAK_ACTIVATION_BYTES] = (double)NAN;
    itg_selection chosen = {500, 2, false, true, (double)NAN, 1.0 / 3, 0};
    itg_run_end end = {.stop_reason = "exhausted",
                       .strategy_json = "{\"version\": 1,\n \"x\": \"\\u00e9\"}",
                       .best_trial = 4,
                       .goal_met = true,
                       .result[ITG_RESULT_FLOAT] = &floats,
                       .result[ITG_RESULT_UNIFORM8] = &best,
                       .result[ITG_RESULT_HAGO] = &best,
                       .result[ITG_RESULT_BEST] = &best,
                       .result[ITG_RESULT_SEARCH_FLOAT] = &floats,
                       .selection = &chosen};
    assert_int_equal(itg_run_log_end_run(log, run, &end, NULL), ITG_OK);
    return run;
}

static void export_run(itg_run_log *log, int64_t run, const char *path)
{
    itg_error err = {0};
    if (itg_run_log_export(log, run, path, &err) != ITG_OK) fail_msg("%s", err.message);
}

static int64_t import_file(itg_run_log *log, const char *path)
{
    itg_error err = {0};
    int64_t run = -1;
    if (itg_run_log_import(log, path, &run, &err) != ITG_OK) fail_msg("%s", err.message);
    return run;
}

static itg_run_log *open_other(void)
{
    itg_run_log *log = NULL;
    assert_int_equal(itg_run_log_open(OTHER, &log, NULL), ITG_OK);
    return log;
}

/* Texts are equal but for the line with the run's number. */
static void assert_equal_but_number(const char *a, const char *b)
{
    char *one = text_of(a), *two = text_of(b);
    char *first = strstr(one, "  \"run\": "), *second = strstr(two, "  \"run\": ");
    assert_true(first && second && first - one == second - two);
    assert_memory_equal(one, two, (size_t)(first - one));
    assert_string_equal(strchr(first, '\n'), strchr(second, '\n'));
    free(one);
    free(two);
}

static void a_run_goes_through_a_file_unchanged(void **state)
{
    (void)state;
    itg_run_log *log = open_log(), *other = open_other();
    int64_t run = write_a_run(log);
    assert_int_equal(begin_run(other), 1); /* the same data under other names, another number */
    export_run(log, run, "a.json");
    assert_int_equal(import_file(other, "a.json"), 2);
    export_run(other, 2, "b.json");
    assert_equal_but_number("a.json", "b.json");
    char *text = text_of("b.json");
    assert_non_null(strstr(text, "  \"run\": 2,\n"));
    free(text);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(other, NULL), ITG_OK);
}

static void what_the_file_says_is_in_the_log(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    write_a_run(log);
    export_run(log, 1, "a.json");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    remove_log(NULL);
    log = open_log();
    assert_int_equal(import_file(log, "a.json"), 1);
    itg_run_record *r = NULL;
    itg_trial *trials = NULL;
    int64_t count = 0;
    assert_int_equal(itg_run_log_read_run(log, 1, &r, NULL), ITG_OK);
    assert_int_equal(itg_run_log_load_trials(log, 1, &trials, &count, NULL), ITG_OK);
    assert_string_equal(r->info.model_name, "n\"et\\\n\xC3\xA9.onnx");
    assert_string_equal(r->info.holdout_labels.name, "hl.npy");
    assert_string_equal(r->info.space_json, SPACE);
    assert_true(r->info.seed == UINT64_MAX && r->goal_met && r->best_trial == 4);
    assert_true(r->known[ITG_RESULT_FLOAT] && r->known[ITG_RESULT_UNIFORM8] &&
                r->known[ITG_RESULT_HAGO] && r->known[ITG_RESULT_BEST] &&
                r->known[ITG_RESULT_SEARCH_FLOAT]);
    assert_true(isnan(r->result[ITG_RESULT_FLOAT].value[ITG_METRIC_WEIGHT_BYTES]));
    assert_int_equal(count, 6);
    assert_true(trials[5].score.stopped_at == 39 &&
                isnan(trials[5].score.value[ITG_METRIC_DISTORTION]));
    assert_int_equal(trials[5].score.digest[0], 0);
    assert_string_equal(trials[2].worker, "machine-2");
    assert_string_equal(trials[3].worker, "machine-3");
    assert_string_equal(trials[4].worker, "");
    assert_int_equal(trials[4].score.stopped_at, 0);
    assert_true(trials[0].seconds == 0.1 + 0.2 &&
                trials[0].score.value[ITG_METRIC_TOP1] == 1.0 / 3);
    assert_true(trials[1].score.value[ITG_METRIC_BOPS] == 9007199254740993.0 * 2);
    assert_true(trials[1].score.value[ITG_METRIC_DISTORTION] == 5e-324 &&
                isinf(trials[4].score.value[ITG_METRIC_DISTORTION]));
    assert_false(trials[3].feasible);
    assert_string_equal(trials[3].error, "conv1: 33 bits");
    itg_run_log_free_trials(trials, count);
    itg_run_record_destroy(r);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void a_run_that_has_not_ended_goes_through_too(void **state)
{
    (void)state;
    itg_run_log *log = open_log(), *other = open_other();
    int64_t run = begin_run(log);
    export_run(log, run, "a.json");
    assert_int_equal(import_file(other, "a.json"), 1);
    add_trial(log, run, 0, 0);
    export_run(log, run, "c.json"); /* another state of it is another run */
    assert_int_equal(import_file(other, "c.json"), 2);
    export_run(other, 1, "b.json");
    assert_equal_but_number("a.json", "b.json");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(other, NULL), ITG_OK);
}

static void an_equal_run_is_refused_and_named(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    itg_error err = {0};
    int64_t number = 77;
    begin_run(log);
    int64_t run = write_a_run(log);
    export_run(log, run, "a.json");
    assert_int_equal(itg_run_log_import(log, "a.json", &number, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "a.json"));
    assert_non_null(strstr(err.message, "run 2"));
    assert_int_equal(number, 77);
    assert_sees("SELECT count(*) FROM runs", "2");
    assert_sees("SELECT count(*) FROM trials", "6");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void an_unknown_run_is_not_exported(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    itg_error err = {0};
    begin_run(log);
    begin_run(log);
    assert_int_equal(itg_run_log_export(log, 9, "a.json", &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, LOG ": holds no run 9; it holds 2 runs, from 1 to 2"));
    assert_int_not_equal(access("a.json", F_OK), 0);
    assert_int_equal(itg_run_log_export(log, 1, "no/folder/a.json", &err), ITG_IO);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

/* ---- what is refused ---- */

/* The file with `old` replaced by `new`, once. */
static void put_changed(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    itg_strbuf changed = {0};
    if (!at) fail_msg("'%s' is not in the file", old);
    itg_strbuf_bytes(&changed, text, (size_t)(at - text));
    itg_strbuf_add(&changed, new);
    itg_strbuf_add(&changed, at + strlen(old));
    put("b.json", changed.text);
    itg_strbuf_deinit(&changed);
}

static void assert_import_refused(itg_run_log *log, const char *place, const char *expected)
{
    itg_error err = {0};
    int64_t run = 77;
    assert_int_equal(itg_run_log_import(log, "b.json", &run, &err), ITG_BAD_FILE);
    assert_int_equal(run, 77);
    if (!strstr(err.message, "b.json") || !strstr(err.message, place) ||
        !strstr(err.message, expected))
        fail_msg("'%s' lacks '%s' or '%s'", err.message, place, expected);
    assert_sees("SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM models) + (SELECT "
                "count(*) FROM data) + (SELECT count(*) FROM hardware)",
                "0");
}

static void a_wrong_file_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new, *place, *expected;
    } wrong[] = {
        {"intaglio-run", "intaglio-strategy", "kind", "runs export"},
        {"\"version\": 2", "\"version\": 3", "version", "integer"},
        {"\"version\": 2", "\"version\": 0", "version", "expected 2"},
        {"\"run\": 1", "\"run\": -1", "run", "integer"},
        {"\"seed\": \"18446744073709551615\"", "\"seed\": \"18446744073709551616\"", "seed",
         "2^64"},
        {"\"seed\": \"18446744073709551615\"", "\"seed\": \" 7\"", "seed", "2^64"},
        {"\"seed\": \"18446744073709551615\"", "\"seed\": 7", "seed", "string"},
        {"\"a1a1", "\"A1a1", "model.hash", "64 lower-case hexadecimal"},
        {"\"samples\": 100", "\"samples\": 1.5", "data.samples", "integer"},
        {"\"searcher\"", "\"sucher\"", "sucher", "unknown key"},
        {"\"started\": \"2024-05-06T07:08:09Z\",\n", "", "started", ""},
        {"\"options\": \"{", "\"options\": \"[", "options", "JSON document"},
        {"\"stop_reason\": \"exhausted\"", "\"stop_reason\": null", "goal_met", "null"},
        {"\"goal_met\": true", "\"goal_met\": 1", "goal_met", "true or false"},
        {"\"best_trial\": 4", "\"best_trial\": 6", "best_trial", "number of a trial"},
        {"\"tested\": 2", "\"tested\": 0", "selection.tested", "1 to"},
        {"\"certified\": false, \"passed\": true", "\"certified\": true, \"passed\": false",
         "selection", "passed to be true"},
        {"\"samples_wanted\": 0", "\"wanted\": 0", "selection", "unknown key"},
        {"\"uniform8\"", "\"uniform9\"", "uniform9", "unknown key"},
        {"\"number\": 2", "\"number\": 3", "trials[2]: number", "expected 2"},
        {"\"point\": [8, 4, 2]", "\"point\": [8, 4, 65]", "trials[0]: point[2]", "0 to 64"},
        {"\"point\": [8, 4, 2]", "\"point\": [8, 4]", "trials[1]: point", "as many"},
        {"\"point\": [8, 4, 2]", "\"point\": {}", "trials[0]: point", "array"},
        {"\"seconds\": 0", "\"seconds\": -0", "trials[0]: seconds", "from 0"},
        {"\"top1\": 0.333", "\"top1\": \"x\", \"y\": 0.333", "trials[0]: score", "unknown key"},
        {"\"error\": \"conv1", "\"error\": 3, \"e\": \"conv1", "trials[3]", "unknown key"},
        {"\"worker\": \"machine-2", "\"worker\": 7, \"w\": \"", "trials[2]", "unknown key"},
        {"machine-2", "a-name-that-is-longer-than-the-sixty-three-letters-that-a-worker-may-have",
         "trials[2]: worker", "the name of a worker"},
        {"\"trials\": [", "\"trials\": [7, ", "trials[0]", "a trial"},
        {"\"stopped_at\": 39", "\"stopped_at\": 0", "trials[5]: stopped_at", "1 to"},
        {"\"stopped_at\": 39", "\"stopped_at\": 40", "trials[5]: score.samples", "more than"},
        {", \"stopped_at\": 39", "", "trials[5]: score.digest", "a string"},
        {"\"digest\": null", "\"digest\": \"00\"", "trials[5]: score.digest", "null"},
        {"\"error\": \"conv1", "\"stopped_at\": 3, \"error\": \"conv1", "trials[3]", "unknown key"},
        {"{\n  \"kind\"", "[{\n  \"kind\"", "", "line"},
        {"\"number\": 1", "\"number\": 1, \"number\": 1", "", ""},
    };
    itg_run_log *log = open_log();
    write_a_run(log);
    export_run(log, 1, "a.json");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    remove_log(NULL);
    log = open_log();
    char *text = text_of("a.json");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_changed(text, wrong[i].old, wrong[i].new);
        assert_import_refused(log, wrong[i].place, wrong[i].expected);
    }
    put("b.json", "[]");
    assert_import_refused(log, "b.json", "an object");
    put("b.json", "");
    assert_import_refused(log, "b.json", "");
    free(text);
    assert_int_equal(import_file(log, "a.json"), 1); /* and the right one goes in */
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

/* Behind the value that begins at `at`, in a file that export wrote. */
static const char *behind_value(const char *at)
{
    for (int depth = 0;; at++) {
        if (*at == '"')
            for (at++; *at != '"'; at++)
                at += *at == '\\';
        else if (*at == '[' || *at == '{')
            depth++;
        else if ((*at == ']' || *at == '}') && --depth < 0)
            return at;
        else if (depth == 0 && (*at == ',' || *at == '\n'))
            return at;
    }
}

/* The file without the bytes [from, to), and with `text` there. */
static void assert_refused_with(itg_run_log *log, const char *whole, const char *from,
                                const char *to, const char *text, const char *key)
{
    itg_strbuf changed = {0};
    itg_strbuf_bytes(&changed, whole, (size_t)(from - whole));
    itg_strbuf_add(&changed, text);
    itg_strbuf_add(&changed, to);
    put("b.json", changed.text);
    itg_strbuf_deinit(&changed);
    assert_import_refused(log, "", key);
}

/* Every member is needed or else unknown, and none takes another type. */
static void every_member_is_read(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    char key[64];
    int members = 0;
    write_a_run(log);
    export_run(log, 1, "a.json");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    remove_log(NULL);
    log = open_log();
    char *text = text_of("a.json");
    for (const char *at = strstr(text, "\": "); at; at = strstr(at + 1, "\": ")) {
        const char *name = at;
        if (at[-1] == '\\') continue; /* in a document within a string */
        while (name[-1] != '"')
            name--;
        snprintf(key, sizeof key, "%.*s", (int)(at - name), name);
        /* without its score a trial may not have stopped_at either */
        assert_refused_with(log, text, at, at, "_", strcmp(key, "score") == 0 ? "key" : key);
        assert_refused_with(log, text, at + 3, behind_value(at + 3), "{\"odd\": [[]]}",
                            strcmp(key, "hardware") == 0 || strcmp(key, "model") == 0 ? "odd"
                                                                                      : key);
        members++;
    }
    assert_true(members > 150);
    free(text);
    assert_int_equal(import_file(log, "a.json"), 1);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void every_cut_of_a_file_is_refused(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    write_a_run(log);
    export_run(log, 1, "a.json");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    remove_log(NULL);
    log = open_log();
    char *text = text_of("a.json");
    size_t length = strlen(text);
    for (size_t cut = 0; cut + 2 < length; cut += 97) {
        char *part = strdup(text);
        assert_non_null(part);
        part[cut] = '\0';
        put("b.json", part);
        free(part);
        assert_import_refused(log, "b.json", "");
    }
    free(text);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

/* More values than one JSON document may have. */
static void a_run_of_many_trials_goes_through(void **state)
{
    (void)state;
    enum { TRIALS = 60000, DIMS = 64 };
    int32_t point[DIMS];
    itg_run_log *log = open_log();
    itg_error err = {0};
    int64_t run = begin_run(log);
    itg_trial trial = a_trial(0);
    trial.point = point;
    trial.dim_count = DIMS;
    for (trial.index = 0; trial.index < TRIALS; trial.index++) {
        for (int i = 0; i < DIMS; i++)
            point[i] = (int32_t)((trial.index >> i % 16) & 7) + 1;
        if (itg_run_log_trial(log, run, &trial, 0, &err) != ITG_OK) fail_msg("%s", err.message);
    }
    export_run(log, run, "a.json");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    remove_log(NULL);
    log = open_log();
    assert_int_equal(import_file(log, "a.json"), 1);
    export_run(log, 1, "b.json");
    char *a = text_of("a.json"), *b = text_of("b.json");
    assert_string_equal(a, b);
    free(a);
    free(b);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static void a_file_that_contradicts_the_log_is_refused(void **state)
{
    (void)state;
    itg_run_log *log = open_log(), *other = open_other();
    itg_run_info info = an_info();
    itg_error err = {0};
    int64_t run = 0;
    info.hardware_name = "another-name"; /* of the same description */
    assert_int_equal(itg_run_log_begin_run(log, &info, &run, NULL), ITG_OK);
    begin_run(other);
    export_run(log, run, "a.json");
    assert_int_equal(itg_run_log_import(other, "a.json", &run, &err), ITG_BAD_FILE);
    assert_non_null(strstr(err.message, "contradicts " OTHER));
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(other, NULL), ITG_OK);
}

static void a_run_is_reopened_and_goes_on(void **state)
{
    (void)state;
    itg_run_log *log = open_log();
    int64_t run = write_a_run(log);
    itg_run_record *r = NULL;
    itg_error err = {0};
    assert_int_equal(itg_run_log_reopen_run(log, run + 1, &err), ITG_BAD_ARGUMENT);
    assert_non_null(strstr(err.message, "it holds 1 run, number 1"));
    assert_int_equal(itg_run_log_reopen_run(log, run, NULL), ITG_OK);
    assert_int_equal(itg_run_log_read_run(log, run, &r, NULL), ITG_OK);
    assert_false(r->ended || r->goal_met || r->known[ITG_RESULT_FLOAT] ||
                 r->known[ITG_RESULT_BEST] || r->known[ITG_RESULT_HAGO] ||
                 r->known[ITG_RESULT_SEARCH_FLOAT]);
    assert_null(r->strategy_json);
    assert_int_equal(r->best_trial, -1);
    assert_int_equal(r->trials, 6);
    itg_run_record_destroy(r);
    add_trial(log, run, 6, 9);
    itg_run_end end = {.stop_reason = "trials", .best_trial = 6};
    assert_int_equal(itg_run_log_end_run(log, run, &end, NULL), ITG_OK);
    assert_sees("SELECT stop_reason || best_trial || goal_met FROM runs", "trials60");
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_run_goes_through_a_file_unchanged, remove_all),
        cmocka_unit_test_teardown(what_the_file_says_is_in_the_log, remove_all),
        cmocka_unit_test_teardown(a_run_that_has_not_ended_goes_through_too, remove_all),
        cmocka_unit_test_teardown(an_equal_run_is_refused_and_named, remove_all),
        cmocka_unit_test_teardown(an_unknown_run_is_not_exported, remove_all),
        cmocka_unit_test_teardown(a_wrong_file_is_refused_with_its_place, remove_all),
        cmocka_unit_test_teardown(every_member_is_read, remove_all),
        cmocka_unit_test_teardown(every_cut_of_a_file_is_refused, remove_all),
        cmocka_unit_test_teardown(a_run_of_many_trials_goes_through, remove_all),
        cmocka_unit_test_teardown(a_file_that_contradicts_the_log_is_refused, remove_all),
        cmocka_unit_test_teardown(a_run_is_reopened_and_goes_on, remove_all),
    };
    if (enter_folder("exchange") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
