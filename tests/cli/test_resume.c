/* --resume: a run that was killed, however often and whenever, ends as the undisturbed one; and
 * what does not belong to the run is refused. */
#include "driver.h"
#include "tests/slow.h"
#include <math.h>
#include <intaglio/intaglio.h>
#include <signal.h>
#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

#define DATA " --data digits_search_images.npy --labels digits_search_labels.npy --scale 1/255"
#define HOLDOUT " --holdout digits_test_images.npy --holdout-labels digits_test_labels.npy"
#define SMALL                                                                                      \
    "search digits.onnx --hw cortex-m --search-samples 60 --calibration-samples 20 --quiet "       \
    "--limit 200 --threads 2" DATA

/* ---- runs, compared ---- */

typedef struct logged {
    itg_run_record *record;
    itg_trial *trials;
    int64_t count;
} logged;

/* false: there is no such run, or no log. */
static bool read_run(const char *path, int64_t run, logged *out)
{
    itg_run_log *log = NULL;
    *out = (logged){0};
    if (itg_run_log_open_reader(path, &log, NULL) != ITG_OK) return false;
    bool there = itg_run_log_read_run(log, run, &out->record, NULL) == ITG_OK;
    if (there)
        assert_int_equal(itg_run_log_load_trials(log, run, &out->trials, &out->count, NULL),
                         ITG_OK);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    return there;
}

static void forget(logged *l)
{
    itg_run_record_destroy(l->record);
    itg_run_log_free_trials(l->trials, l->count);
}

static void assert_same_text(const char *a, const char *b)
{
    assert_true(!a == !b);
    if (a) assert_string_equal(a, b);
}

static void assert_same_score(const itg_score *a, const itg_score *b)
{
    assert_true(a->samples == b->samples && a->stopped_at == b->stopped_at);
    for (int m = 0; m < ITG_METRIC_COUNT; m++)
        assert_true(isnan(a->value[m]) ? isnan(b->value[m]) : a->value[m] == b->value[m]);
    assert_memory_equal(a->digest, b->digest, sizeof a->digest);
}

static void assert_same_trial(const itg_trial *a, const itg_trial *b)
{
    assert_true(a->index == b->index && a->feasible == b->feasible);
    assert_int_equal(a->dim_count, b->dim_count);
    assert_memory_equal(a->point, b->point, sizeof *a->point * (size_t)a->dim_count);
    assert_same_text(a->error, b->error);
    if (a->feasible) assert_same_score(&a->score, &b->score);
}

/* All but started and the trials' seconds. */
static void assert_same_run(const logged *a, const logged *b)
{
    const itg_run_record *x = a->record, *y = b->record;
    assert_true(x->ended && y->ended);
    assert_string_equal(x->stop_reason, y->stop_reason);
    assert_int_equal(x->best_trial, y->best_trial);
    assert_true(x->goal_met == y->goal_met);
    assert_same_text(x->strategy_json, y->strategy_json);
    assert_string_equal(x->info.options_json, y->info.options_json);
    assert_string_equal(x->info.space_json, y->info.space_json);
    assert_true(x->known[ITG_RESULT_BEST] && y->known[ITG_RESULT_BEST] &&
                x->known[ITG_RESULT_HAGO] == y->known[ITG_RESULT_HAGO]);
    assert_true(x->known[ITG_RESULT_SEARCH_FLOAT] && y->known[ITG_RESULT_SEARCH_FLOAT]);
    assert_same_score(&x->result[ITG_RESULT_SEARCH_FLOAT], &y->result[ITG_RESULT_SEARCH_FLOAT]);
    assert_same_score(&x->result[ITG_RESULT_FLOAT], &y->result[ITG_RESULT_FLOAT]);
    assert_same_score(&x->result[ITG_RESULT_UNIFORM8], &y->result[ITG_RESULT_UNIFORM8]);
    assert_same_score(&x->result[ITG_RESULT_BEST], &y->result[ITG_RESULT_BEST]);
    if (x->known[ITG_RESULT_HAGO])
        assert_same_score(&x->result[ITG_RESULT_HAGO], &y->result[ITG_RESULT_HAGO]);
    assert_int_equal(a->count, b->count);
    for (int64_t i = 0; i < a->count; i++)
        assert_same_trial(&a->trials[i], &b->trials[i]);
}

static void assert_same_file(const char *a, const char *b)
{
    char *first = text_of(a), *second = text_of(b);
    assert_true(strlen(first) > 100);
    assert_string_equal(first, second);
    free(first);
    free(second);
}

/* ---- killed at any moment ---- */

enum { KILLS = ITG_IS_SLOW ? 6 : 56, MOST_KILLS_A_RUN = 5 };

/* xorshift64: where the kills fall is decided by the seed, as far as a clock lets it. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void wait_seconds(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds};
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    while (nanosleep(&t, &t) != 0) {
    }
}

static const char *const scenarios[] = {
    " --searcher random --trials 60 --seed 1",
    " --searcher hago-greedy --max-drop 3% --seed 2",
    " --searcher greedy --max-drop 3% --trials 80 --seed 3 --baseline hago-greedy",
    " --searcher anneal --trials 60 --seed 4",
    " --searcher greedy --max-size 4k --trials 60 --seed 5 --threshold mse,max",
    " --searcher random --trials 60 --seed 1 --no-racing",
    " --searcher surrogate --max-drop 3% --trials 40 --seed 6",
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

typedef struct undisturbed {
    logged run;
    char strategy[32];
    double seconds;
    int status;
} undisturbed;

static void run_undisturbed(int scenario, undisturbed *out)
{
    char line[1024], db[32];
    snprintf(db, sizeof db, "whole%d.db", scenario);
    snprintf(out->strategy, sizeof out->strategy, "whole%d.json", scenario);
    snprintf(line, sizeof line, SMALL "%s --db %s -o %s", scenarios[scenario], db, out->strategy);
    double start = seconds_now();
    outcome o = run(line);
    out->status = o.status;
    if (o.status != held_status(o.out)) fail_msg("%s: status %d: %s", line, o.status, o.err);
    out->seconds = seconds_now() - start;
    assert_true(read_run(db, 1, &out->run));
    done(&o);
}

/* Starts, or goes on where the log has the run. */
static pid_t begin_or_resume(int scenario)
{
    char line[1024];
    logged now;
    bool there = read_run("killed.db", 1, &now);
    forget(&now);
    if (there) return start("search --resume 1 --db killed.db -o killed.json --quiet --threads 1");
    outcome o = run("search --resume 1 --db killed.db");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "killed.db");
    done(&o);
    snprintf(line, sizeof line, SMALL "%s --db killed.db -o killed.json", scenarios[scenario]);
    return start(line);
}

/* One run, killed several times; how many kills found it alive. */
static int disturb(int scenario, const undisturbed *whole, uint64_t *random)
{
    int kills = (int)(next_random(random) % MOST_KILLS_A_RUN) + 1, hits = 0, status;
    unlink("killed.db");
    unlink("killed.db-journal");
    unlink("killed.json");
    for (int i = 0; i < kills; i++) {
        pid_t child = begin_or_resume(scenario);
        wait_seconds(whole->seconds * (double)(next_random(random) % 1000) / 1000);
        kill(child, SIGKILL);
        status = wait_for(child);
        assert_true(status == whole->status || status == 1000 + SIGKILL);
        hits += status != whole->status;
    }
    status = wait_for(begin_or_resume(scenario));
    if (status != whole->status) {
        char *err = text_of("background.err");
        fail_msg("scenario %d: status %d: %s", scenario, status, err);
    }
    logged run;
    assert_true(read_run("killed.db", 1, &run));
    assert_same_run(&whole->run, &run);
    assert_same_file(whole->strategy, "killed.json");
    forget(&run);
    return hits;
}

static void a_run_that_is_killed_at_any_moment_ends_as_the_undisturbed_one(void **state)
{
    (void)state;
    undisturbed whole[SCENARIOS];
    uint64_t random = 20240229;
    int hits = 0;
    for (int i = 0; i < SCENARIOS; i++)
        run_undisturbed(i, &whole[i]);
    for (int i = 0; hits < KILLS; i++)
        hits += disturb(i % SCENARIOS, &whole[i % SCENARIOS], &random);
    print_message("%d kills\n", hits);
    for (int i = 0; i < SCENARIOS; i++)
        forget(&whole[i].run);
}

/* ---- one writer ---- */

static void wait_for_trials(pid_t child, const char *path, int64_t wanted)
{
    for (int64_t there = 0; there < wanted; wait_while_it_runs(child)) {
        logged now;
        if (!exists(path) || !read_run(path, 1, &now)) continue;
        there = now.count;
        forget(&now);
    }
}

static void a_run_that_is_being_written_is_left_to_its_writer(void **state)
{
    (void)state;
    char says[128];
    pid_t first = start(SMALL " --searcher random --seed 9 --trials 100000000 --db held.db");
    wait_for_trials(first, "held.db", 2);
    outcome o = run("search --resume 1 --db held.db -o held.json --quiet --trials 100000001");
    snprintf(says, sizeof says, "held.db: run 1 is being written by process %ld on ", (long)first);
    assert_int_equal(o.status, 1);
    assert_contains(o.err, says);
    assert_false(exists("held.json"));
    done(&o);
    kill(first, SIGKILL);
    assert_int_equal(wait_for(first), 1000 + SIGKILL);
    logged now;
    assert_true(read_run("held.db", 1, &now));
    char line[128];
    snprintf(line, sizeof line, "search --resume 1 --db held.db -o held.json --quiet --trials %lld",
             (long long)now.count + 3);
    forget(&now);
    o = run(line); /* at once: who is gone holds nothing */
    if (o.status != held_status(o.out)) fail_msg("%s", o.err);
    assert_true(exists("held.json"));
    done(&o);
}

/* ---- what may differ ---- */

static void a_larger_number_of_trials_goes_on_where_a_run_stopped(void **state)
{
    (void)state;
    outcome o = run(SMALL " --searcher random --seed 6 --trials 30 --db long.db -o long.json");
    assert_int_equal(o.status, held_status(o.out));
    done(&o);
    o = run(SMALL " --searcher random --seed 6 --trials 12 --db short.db -o short.json");
    assert_int_equal(o.status, held_status(o.out));
    done(&o);
    itg_json *json =
        run_json("search --resume 1 --db short.db --trials 30 -o short.json --quiet --json");
    assert_true(number(json, "trials") == 30 && number(json, "replayed_trials") == 12);
    assert_int_equal(itg_json_typeof(member(json, "resumed")), ITG_JSON_BOOL);
    itg_json_destroy(json);
    assert_same_file("long.json", "short.json");
    logged a, b;
    assert_true(read_run("long.db", 1, &a) && read_run("short.db", 1, &b));
    assert_int_equal(b.count, 30);
    for (int64_t i = 0; i < b.count; i++)
        assert_same_trial(&a.trials[i], &b.trials[i]);
    forget(&a);
    forget(&b);
}

static void any_trial_of_the_log_gives_its_strategy(void **state)
{
    (void)state;
    char line[200];
    itg_json *json =
        run_json(SMALL " --searcher random --seed 6 --trials 12 --db any.db -o any.json --json");
    int64_t best = (int64_t)number(json, "best.trial");
    itg_json_destroy(json);
    snprintf(line, sizeof line, "runs best 1 --trial %lld -o again.json --db any.db --json",
             (long long)best);
    json = run_json(line);
    assert_true(number(json, "trial") == (double)best);
    itg_json_destroy(json);
    assert_same_file("any.json", "again.json");
    outcome o = run("runs best 1 --trial 0 -o zero.json --db any.db");
    assert_int_equal(o.status, 0);
    assert_contains(o.out, "The strategy of trial 0 of run 1 is in zero.json");
    done(&o);
    static const char *const refused[][2] = {
        {"runs best 1 --trial 12 -o no.json --db any.db", "has 12 trials"},
        {"runs best 1 -o no.json --db any.db", "--trial N"},
        {"runs best 1 --trial 0 --db any.db", "-o FILE"},
        {"runs best --trial 0 -o no.json --db any.db", "does not take --trial"},
        {"runs best 7 --trial 0 -o no.json --db any.db", "run 7"},
        {"runs best 1 --trial 0 --data digits_test_images.npy -o no.json --db any.db", "SHA-256"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        o = run(refused[i][0]);
        assert_int_not_equal(o.status, 0);
        assert_contains(o.err, refused[i][1]);
        done(&o);
    }
    assert_false(exists("no.json"));
}

static void a_run_that_came_to_its_end_is_reported_and_the_log_stays_as_it_is(void **state)
{
    (void)state;
    itg_json *first = run_json(SMALL " --searcher hago-greedy --max-drop 3% --json --db end.db");
    assert_string_equal(string(first, "stop_reason"), "exhausted");
    unsigned char *before = NULL, *after = NULL;
    size_t bytes = 0, bytes_after = 0;
    assert_int_equal(itg_file_read("end.db", 1 << 26, &before, &bytes, NULL), ITG_OK);
    itg_json *again = run_json("search --resume 1 --db end.db --json --quiet -o end.json");
    assert_int_equal(itg_file_read("end.db", 1 << 26, &after, &bytes_after, NULL), ITG_OK);
    assert_int_equal(bytes, bytes_after);
    assert_memory_equal(before, after, bytes);
    assert_string_equal(string(first, "best.holdout_digest"), string(again, "best.holdout_digest"));
    assert_true(number(first, "trials") == number(again, "trials"));
    assert_true(number(again, "run") == 1 && exists("end.json"));
    free(before);
    free(after);
    itg_json_destroy(first);
    itg_json_destroy(again);
}

/* ---- what the log says is not believed ---- */

static void change(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_damaged_run_is_refused_with_its_log_and_number(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *says;
    } cases[] = {
        {"UPDATE metrics SET value = 4.6e18 WHERE subject = 2 AND metric = 'top1'",
         "d.db: run 1: trial 2: top1 is 4600000000000000000, expected a number from 0 to 1"},
        {"UPDATE metrics SET value = 'most' WHERE subject = 1 AND metric = 'top1'",
         "run 1: trial 1: top1 is most"},
        {"UPDATE metrics SET value = -0.5 WHERE subject = 1 AND metric = 'agreement'",
         "run 1: trial 1: agreement is"},
        {"UPDATE metrics SET value = -1 WHERE subject = 0 AND metric = 'weight_bytes'",
         "trial 0: weight_bytes is -1"},
        {"UPDATE metrics SET value = 1.5 WHERE subject = 0 AND metric = 'weight_bytes'",
         "trial 0: weight_bytes is 1.5"},
        {"UPDATE metrics SET value = 65 WHERE subject = 0 AND metric = 'average_weight_bits'",
         "average_weight_bits is 65"},
        {"UPDATE metrics SET value = -1 WHERE subject = 0 AND metric = 'distortion'",
         "trial 0: distortion is -1"},
        {"UPDATE trials SET samples = 9223372036854775807 WHERE number = 0", "samples is 92233"},
        {"UPDATE trials SET digest = 'abc' WHERE number = 0", "trial 0: digest is abc"},
        {"UPDATE trials SET feasible = 7 WHERE number = 0", "trial 0: feasible is 7"},
        {"UPDATE trials SET stopped_at = 100000, digest = NULL WHERE number = 0", "stopped_at is"},
        {"UPDATE trials SET seconds = -3 WHERE number = 0", "trial 0: seconds is -3"},
        {"UPDATE trials SET point = '[8, 99]' WHERE number = 0", "d.db: run 1: trial 0: point"},
        {"UPDATE trials SET point = '[8]' WHERE number = 0", "d.db: run 1: trial 0 "},
        {"DELETE FROM trials WHERE number = 1", "d.db: run 1: trial 1 is missing"},
        {"UPDATE metrics SET value = 2 WHERE subject = 'best' AND metric = 'top1'",
         "d.db: run 1: result best: top1 is 2"},
        {"UPDATE runs SET best_trial = 77", "d.db: run 1: its best trial is damaged"},
        {"UPDATE runs SET seed = 'seven'", "d.db: run 1: its seed is damaged"},
        {"UPDATE runs SET options = '{'", "d.db: run 1: its options: "},
        {"UPDATE runs SET preprocess = '[]'", "d.db: run 1: its preprocessing: "},
    };
    outcome o = run(SMALL " --searcher random --seed 7 --trials 5 --db whole.db");
    if (o.status != 0 && o.status != 3) fail_msg("%s", o.err);
    done(&o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char *data = NULL;
        size_t bytes = 0;
        assert_int_equal(itg_file_read("whole.db", 1 << 26, &data, &bytes, NULL), ITG_OK);
        put("d.db", data, bytes);
        free(data);
        change("d.db", cases[i].sql);
        o = run("search --resume 1 --db d.db --trials 6 --quiet -o d.json");
        if (o.status != 1 || !strstr(o.err, cases[i].says))
            fail_msg("'%s': status %d, expected '%s' in: %s", cases[i].sql, o.status, cases[i].says,
                     o.err);
        done(&o);
        assert_false(exists("d.json"));
    }
}

/* ---- what may not ---- */

static void what_is_given_must_be_what_the_run_had(void **state)
{
    (void)state;
    static const struct {
        const char *given, *says;
    } cases[] = {
        {"--seed 8", "--seed 8: run 1 of r.db has 7"},
        {"--searcher greedy", "--searcher greedy: run 1 of r.db has random"},
        {"--max-drop 2%", "--max-drop 0.02: run 1 of r.db has 0.01"},
        {"--minimize bops", "--minimize bops: run 1 of r.db has size"},
        {"--max-size 64KiB", "--max-size 65536: run 1 of r.db has none"},
        {"--max-bops 1M", "--max-bops 1000000: run 1 of r.db has none"},
        {"--max-cycles 5", "--max-cycles 5: run 1 of r.db has none"},
        {"--max-ram 1k", "--max-ram 1000: run 1 of r.db has none"},
        {"--patience 3", "--patience 3: run 1 of r.db has none"},
        {"--weight-bits 4:8", "--weight-bits 4:8: run 1 of r.db has 3:8"},
        {"--activation-bits 4:8", "--activation-bits 4:8: run 1 of r.db has none"},
        {"--input-bits 8:8", "--input-bits 8:8: run 1 of r.db has none"},
        {"--output-bits 8:8", "--output-bits 8:8: run 1 of r.db has none"},
        {"--threshold kl,max", "--threshold kl,max: run 1 of r.db has mse,max"},
        {"--weight-threshold kl", "--weight-threshold kl: run 1 of r.db has none"},
        {"--search-samples 61", "--search-samples 61: run 1 of r.db has 60"},
        {"--calibration-samples 21", "--calibration-samples 21: run 1 of r.db has 20"},
        {"--baseline hago-greedy", "--baseline hago-greedy: run 1 of r.db has none"},
        {"--no-racing", "--no-racing set: run 1 of r.db has racing"},
        {"--trials 7", "--trials 7: run 1 of r.db has 8 trials already"},
        {"--limit 100", "--limit 100: run 1 of r.db has 200"},
        {"--hw x86-vnni", "--hw x86-vnni: run 1 of r.db has cortex-m"},
        {"--scale 1/128", "the preprocessing would be"},
        {"--bgr", "the preprocessing would be"},
        {"--data digits_test_images.npy", "digits_test_images.npy: has SHA-256"},
        {"--labels digits_test_labels.npy", "digits_test_labels.npy: has SHA-256"},
        {"--holdout digits_test_images.npy",
         "--holdout digits_test_images.npy: run 1 of r.db has none"},
        {"--holdout-labels digits_test_labels.npy", "run 1 of r.db has none"},
        {"-o digits.onnx", "--output digits.onnx would overwrite digits.onnx"},
        {"-o ./digits_search_labels.npy", "would overwrite digits_search_labels.npy"},
    };
    outcome o = run(SMALL " --searcher random --seed 7 --trials 8 --weight-bits 3:8 --threshold "
                          "mse,max --db r.db");
    if (o.status != 0) fail_msg("%s", o.err);
    done(&o);
    unsigned char *before = NULL, *after = NULL;
    size_t bytes = 0, bytes_after = 0;
    assert_int_equal(itg_file_read("r.db", 1 << 26, &before, &bytes, NULL), ITG_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[256];
        snprintf(line, sizeof line, "search --resume 1 --db r.db --quiet %s", cases[i].given);
        o = run(line);
        if (o.status != 1 || !strstr(o.err, cases[i].says))
            fail_msg("'%s': status %d, expected '%s' in: %s", line, o.status, cases[i].says, o.err);
        done(&o);
    }
    assert_int_equal(itg_file_read("r.db", 1 << 26, &after, &bytes_after, NULL), ITG_OK);
    assert_int_equal(bytes, bytes_after);
    assert_memory_equal(before, after, bytes);
    free(before);
    free(after);
    /* The same values again, in other words, are fine. */
    o = run("search digits.onnx --resume 1 --db r.db --quiet --seed 7 --searcher random --max-drop "
            "0.01 --hw cortex-m --weight-bits 3:8 --scale 1/255 --threads 1 --trials 9");
    if (o.status != 0) fail_msg("%s", o.err);
    done(&o);
}

static void a_model_that_changed_is_refused_with_both_hashes(void **state)
{
    (void)state;
    unsigned char *bytes = NULL;
    size_t count = 0;
    assert_int_equal(itg_file_read("digits.onnx", 1 << 26, &bytes, &count, NULL), ITG_OK);
    put("other.onnx", bytes, count);
    outcome o =
        run("search other.onnx --hw cortex-m --search-samples 60 --calibration-samples 20 "
            "--quiet --limit 200 --searcher random --trials 2 --max-drop 100% --db model.db" DATA);
    assert_int_equal(o.status, 0);
    done(&o);
    /* Trained a little more: the lowest bit of one weight. The end of the file may be metadata. */
    bytes[count / 2] ^= 1;
    put("other.onnx", bytes, count);
    o = run("search --resume 1 --db model.db --trials 4 --quiet");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "other.onnx");
    assert_contains(o.err, "SHA-256");
    done(&o);
    /* Given by its name elsewhere, the old one is as good. */
    o = run("search digits.onnx --resume 1 --db model.db --trials 4 --quiet");
    if (o.status != 0) fail_msg("%s", o.err);
    done(&o);
    free(bytes);
}

static void runs_and_logs_that_are_not_there_are_failures(void **state)
{
    (void)state;
    outcome o = run("search --resume 1");
    assert_int_equal(o.status, 2);
    assert_contains(o.err, "--resume goes with --db");
    done(&o);
    o = run("search --resume 1 --db absent.db");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "absent.db");
    assert_false(exists("absent.db"));
    done(&o);
    o = run(SMALL " --searcher random --trials 2 --max-drop 100% --db one.db");
    assert_int_equal(o.status, 0);
    done(&o);
    o = run("search --resume 2 --db one.db");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "one.db: holds no run 2");
    done(&o);
    o = run("search --resume 0 --db one.db");
    assert_int_equal(o.status, 2);
    done(&o);
}

/* Statistics by other kernels would be other statistics. */
static void the_float_kernels_of_a_run_stay(void **state)
{
    (void)state;
    outcome o = run(SMALL " --searcher random --seed 7 --trials 4 --db kernels.db -o kernels.json "
                          "--float-kernels onednn");
    if (o.status == 2 && strstr(o.err, "without oneDNN")) {
        print_message("built without oneDNN: skipped\n");
        done(&o);
        return;
    }
    if (o.status == 2) fail_msg("%s", o.err);
    assert_contains(o.err, "repeat on this machine only");
    done(&o);
    unsigned char *text = NULL;
    size_t bytes = 0;
    assert_int_equal(itg_file_read("kernels.json", 1 << 20, &text, &bytes, NULL), ITG_OK);
    assert_contains((char *)text, "\"float_kernels\": \"onednn\"");
    free(text);
    o = run("search --resume 1 --db kernels.db --quiet --float-kernels reference");
    assert_int_equal(o.status, 1);
    assert_contains(o.err, "--float-kernels reference: run 1 of kernels.db has onednn");
    done(&o);
    o = run("search --resume 1 --db kernels.db --quiet --trials 5");
    if (o.status == 2 || !strstr(o.err, "repeat on this machine only")) fail_msg("%s", o.err);
    done(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_is_killed_at_any_moment_ends_as_the_undisturbed_one),
        cmocka_unit_test(a_run_that_is_being_written_is_left_to_its_writer),
        cmocka_unit_test(a_larger_number_of_trials_goes_on_where_a_run_stopped),
        cmocka_unit_test(any_trial_of_the_log_gives_its_strategy),
        cmocka_unit_test(a_run_that_came_to_its_end_is_reported_and_the_log_stays_as_it_is),
        cmocka_unit_test(a_damaged_run_is_refused_with_its_log_and_number),
        cmocka_unit_test(what_is_given_must_be_what_the_run_had),
        cmocka_unit_test(a_model_that_changed_is_refused_with_both_hashes),
        cmocka_unit_test(runs_and_logs_that_are_not_there_are_failures),
        cmocka_unit_test(the_float_kernels_of_a_run_stay),
    };
    if (enter_folder("resume") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return leave_folder() != 0 || failed;
}
