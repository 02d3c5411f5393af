/* intaglio report: its figures are the log's, its names are text, and nothing is half-written. */
#include "driver.h"
#include <intaglio/intaglio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- logs ---- */

#define SEARCH                                                                                     \
    "search digits.onnx --hw cortex-m --scale 1/255 --data digits_search_images.npy --labels "     \
    "digits_search_labels.npy --trials 24 --quiet -o s.json --db runs.db"

#define HOSTILE "<script>alert(1)</script>\"'&\x01\n\xFF\xE2\x80\xAE<!--]]>"

#define DATA "--data digits_search_images.npy --limit 32"

/* Strategies and programs: of the digits, and of the same network with hostile names. */
static int make_networks(void)
{
    static const char *const commands[] = {
        "simulate digits.onnx --uniform 8 --weight-bits 4 --hw cortex-m --scale 1/255 --calib "
        "digits_search_images.npy " DATA " -o eight.json",
        "realize digits.onnx eight.json -o eight.itg",
        "simulate hostile.onnx --uniform 8 --hw cortex-m --scale 1/255 --calib "
        "digits_search_images.npy " DATA " -o hostile.json"};
    unsigned char *bytes = NULL;
    size_t count = 0;
    int status = itg_file_read("digits.onnx", 1 << 24, &bytes, &count, NULL) == ITG_OK ? 0 : -1;
    for (size_t i = 0; i + 5 <= count; i++)
        if (memcmp(bytes + i, "conv2", 5) == 0) memcpy(bytes + i, "<b>&\"", 5);
    put("hostile.onnx", bytes, count);
    free(bytes);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        outcome o = run(commands[i]);
        status |= o.status;
        done(&o);
    }
    return status;
}

/* A run whose every name is hostile, and whose only trial could not be realized. */
static void make_hostile(const char *path)
{
    itg_run_log *log = NULL;
    int64_t run = 0;
    itg_run_info info = {.model_name = HOSTILE,
                         .hardware_name = HOSTILE,
                         .searcher = HOSTILE,
                         .options_json = HOSTILE,
                         .hardware_json = HOSTILE,
                         .preprocess_json = HOSTILE,
                         .engine_version = HOSTILE,
                         .started = "2024-05-06T07:08:09Z",
                         .space_json = HOSTILE,
                         .data = {.name = HOSTILE, .samples = 4, .hash = {1}}};
    static const int32_t point[] = {8};
    itg_trial t = {.point = point, .dim_count = 1, .error = HOSTILE};
    assert_int_equal(itg_run_log_open(path, &log, NULL), ITG_OK);
    assert_int_equal(itg_run_log_begin_run(log, &info, &run, NULL), ITG_OK);
    assert_int_equal(itg_run_log_trial(log, run, &t, 0, NULL), ITG_OK);
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
}

static int make_logs(void **state)
{
    (void)state;
    outcome o = run(SEARCH);
    int status = o.status == 0 || o.status == 3 ? 0 : -1;
    done(&o);
    o = run(SEARCH " --min-sqnr 20dB --searcher random --minimize size,cycles");
    status |= o.status == 0 || o.status == 3 ? 0 : -1;
    done(&o);
    return status | make_networks();
}

/* ---- pages ---- */

static char *page_of(const char *line)
{
    outcome o = run(line);
    assert_string_equal(o.err, "");
    assert_int_equal(o.status, 0);
    done(&o);
    char *page = text_of("report.html");
    assert_true(strlen(page) > 1000);
    return page;
}

/* The JSON of a block, with '<' as it was; malloc'd. */
static char *block_of(const char *page, const char *id)
{
    char tag[96];
    snprintf(tag, sizeof tag, "<script type=\"application/json\" id=\"%s\">", id);
    const char *begin = strstr(page, tag);
    assert_non_null(begin);
    begin += strlen(tag);
    const char *end = strstr(begin, "</script>");
    assert_non_null(end);
    char *text = malloc((size_t)(end - begin) + 2), *to = text;
    for (const char *at = begin; at < end; at++)
        if (strncmp(at, "\\u003c", 6) == 0) {
            *to++ = '<';
            at += 5;
        } else {
            *to++ = *at;
        }
    strcpy(to, "\n");
    return text;
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

/* Each '<' begins a tag that reports have, and each tag that is opened is closed in its turn. */
static void check_tags(const char *page)
{
    static const char *const known[] = {
        "html",  "head",   "title", "style", "body", "header",  "main",    "section", "h1",
        "h2",    "h3",     "p",     "div",   "dl",   "dt",      "dd",      "small",   "table",
        "thead", "tbody",  "tr",    "th",    "td",   "details", "summary", "svg",     "g",
        "path",  "circle", "rect",  "text",  "ul",   "li",      "pre",     "script"};
    enum { DEEPEST = 32, KNOWN = sizeof known / sizeof *known };
    const char *open[DEEPEST];
    int depth = 0;
    for (const char *at = strchr(page, '<'); at; at = strchr(at + 1, '<')) {
        const bool closes = at[1] == '/';
        const char *name = at + 1 + closes, *end = strchr(at, '>');
        size_t length = strcspn(name, " >/\n");
        const char *found = NULL;
        if (*name == '!' || strncmp(name, "meta ", 5) == 0 || strncmp(name, "link ", 5) == 0)
            continue;
        for (int i = 0; i < KNOWN && !found; i++)
            if (strlen(known[i]) == length && memcmp(known[i], name, length) == 0) found = known[i];
        if (!found || !end) fail_msg("no tag of a report: %.40s", at);
        if (closes && (depth == 0 || open[--depth] != found)) fail_msg("closes nothing: %.40s", at);
        if (closes || end[-1] == '/') continue;
        assert_true(depth < DEEPEST);
        open[depth++] = found;
    }
    assert_int_equal(depth, 0);
}

/* ---- cases ---- */

/* What a pointer over a trial's mark shows begins with the bytes that the log has. */
static void check_trial(const char *page, const itg_json *json, const itg_json_value *trial)
{
    char words[128];
    int64_t number = -1, bytes = -1;
    assert_int_equal(itg_json_get_int(json, itg_json_find(trial, "number"), 0, 1000, &number, NULL),
                     ITG_OK);
    assert_int_equal(
        itg_json_get_int(json, itg_json_find(trial, "weight_bytes"), 1000, 999999, &bytes, NULL),
        ITG_OK);
    snprintf(words, sizeof words, "<title>trial %d: %d,%03d weight bytes, ", (int)number,
             (int)bytes / 1000, (int)bytes % 1000);
    assert_contains(page, words);
}

/* The block of this id is, byte by byte, what the command prints, and JSON. */
static itg_json *check_block(const char *page, const char *id, const char *line)
{
    outcome o = run(line);
    char *block = block_of(page, id);
    assert_string_equal(block, o.out);
    itg_json *json = parse(block);
    free(block);
    done(&o);
    return json;
}

static void figures_are_those_of_the_log(void **state)
{
    (void)state;
    char *page = page_of("report 1 -o report.html");
    itg_json *json = check_block(page, "run", "runs show 1 --json --trials");
    itg_json *front = check_block(page, "front", "runs front 1 --json");
    const itg_json_value *trials = member(json, "trial_list");
    assert_int_equal(itg_json_length(trials), 24);
    for (size_t i = 0; i < 24; i++)
        check_trial(page, json, itg_json_at(trials, i));
    assert_int_equal(count_of(page, "<svg class=\"plot\" role=\"img\""), 3);
    /* twice: in the course of the search, and on the front */
    assert_int_equal(count_of(page, "class=\"diamond\""), 2 + 2); /* and in both legends */
    check_tags(page);
    assert_true(strlen(page) < 1000000);
    itg_json_destroy(front);
    itg_json_destroy(json);
    free(page);
}

/* A table as CSV has all trials, drawn or not. */
static void check_all_trials(int trials)
{
    outcome o = run("report 1 -o all.csv --part course --db many.db");
    assert_int_equal(o.status, 0);
    done(&o);
    char *csv = text_of("all.csv");
    assert_int_equal(count_of(csv, "\n"), trials + 1);
    free(csv);
    unlink("all.csv");
}

/* Of 5,000 trials each third is drawn, and the cheapest that meets the goal, which is none of
 * these. */
static void of_many_trials_some_are_drawn(void **state)
{
    (void)state;
    enum { MANY = 5000, BEST = 4001 };
    itg_run_log *log = NULL;
    int64_t run = 0;
    itg_run_info info = {.model_name = "net.onnx",
                         .hardware_name = "x86",
                         .searcher = "greedy",
                         .options_json = "{\"searcher\": \"greedy\", \"optimize\": \"size\"}",
                         .hardware_json = "{}",
                         .preprocess_json = "{}",
                         .engine_version = "0.1.0",
                         .started = "2024-05-06T07:08:09Z",
                         .space_json = "[]",
                         .data = {.name = "x.npy", .samples = 4, .hash = {1}}};
    static const int32_t point[] = {8};
    itg_trial t = {.point = point, .dim_count = 1, .feasible = true, .score = itg_score_unknown()};
    t.score.samples = 100;
    t.score.value[ITG_METRIC_DISTORTION] = 0.5;
    t.score.value[ITG_METRIC_AGREEMENT] = 0.5;
    assert_int_equal(itg_run_log_open("many.db", &log, NULL), ITG_OK);
    assert_int_equal(itg_run_log_begin_run(log, &info, &run, NULL), ITG_OK);
    for (t.index = 0; t.index < MANY; t.index++) {
        t.score.value[ITG_METRIC_WEIGHT_BYTES] = t.index == BEST ? 1000 : 2000;
        assert_int_equal(itg_run_log_trial(log, run, &t, 0, NULL), ITG_OK);
    }
    assert_int_equal(itg_run_log_close(log, NULL), ITG_OK);
    char *page = page_of("report 1 -o report.html --db many.db");
    assert_contains(page, "Trials that are drawn");
    assert_contains(page, "5,000 trials");
    assert_contains(page, "<title>trial 3: 2,000 weight bytes");
    assert_null(strstr(page, "<title>trial 4: "));
    assert_contains(page, "<title>trial 4001: 1,000 weight bytes");
    assert_null(strstr(page, "trial_list"));
    assert_true(strlen(page) < 1000000);
    check_tags(page);
    free(page);
    check_all_trials(MANY);
    unlink("many.db");
}

static void a_front_of_other_costs_can_be_asked_for(void **state)
{
    (void)state;
    char *page = page_of("report 2 -o report.html --pareto bops,cycles");
    itg_json_destroy(check_block(page, "run", "runs show 2 --json --trials"));
    itg_json_destroy(check_block(page, "front", "runs front 2 --json --pareto bops,cycles"));
    assert_contains(page, "bit operations");
    assert_contains(page, "SQNR, dB");
    check_tags(page);
    free(page);
}

static void names_are_text(void **state)
{
    (void)state;
    make_hostile("hostile.db");
    char *page = page_of("report 1 -o report.html --db hostile.db");
    check_tags(page);
    assert_null(strstr(page, "<script>"));
    assert_null(strstr(page, "<!--"));
    assert_int_equal(count_of(page, "<script "), 1); /* the data */
    assert_contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;");
    for (const unsigned char *at = (const unsigned char *)page; *at; at++)
        assert_true(*at >= 0x20 || *at == '\n');
    assert_null(strchr(page, 0xFF));
    *strstr(page, "<script ") = '\0'; /* what is seen */
    assert_null(strstr(page, "\xE2\x80\xAE"));
    free(page);
    unlink("hostile.db");
}

static void a_report_names_its_database_as_a_shell_takes_it(void **state)
{
    (void)state;
    make_hostile("it's;$x.db");
    char *page = page_of("report 1 -o report.html --db it's;$x.db");
    assert_contains(page,
                    "intaglio runs show 1 --trials --db &#39;it&#39;\\&#39;&#39;s;$x.db&#39;");
    free(page);
    unlink("it's;$x.db");
}

static int64_t integer(const itg_json *json, const itg_json_value *object, const char *key)
{
    int64_t value = -1;
    assert_int_equal(
        itg_json_get_int(json, itg_json_find(object, key), -1, INT64_C(1) << 53, &value, NULL),
        ITG_OK);
    return value;
}

/* The plan of memory is the network's figure, and each of its places is drawn. */
static void check_memory(const itg_json *json, const char *page)
{
    const itg_json_value *memory = member(json, "memory"),
                         *places = itg_json_find(memory, "places");
    const size_t steps = itg_json_length(itg_json_find(memory, "steps"));
    int64_t most = 0;
    for (size_t i = 0; i < itg_json_length(places); i++) {
        const itg_json_value *p = itg_json_at(places, i);
        const int64_t end = integer(json, p, "offset") + integer(json, p, "bytes");
        most = end > most ? end : most;
        assert_in_range(integer(json, p, "last"), integer(json, p, "first"), steps - 1);
    }
    assert_int_equal(integer(json, memory, "bytes"),
                     (int64_t)number(json, "peak_activation_bytes"));
    assert_in_range(integer(json, memory, "bytes"), most, most + 7);
    assert_true(itg_json_length(places) > 5);
    assert_int_equal(count_of(page, "<rect class=\"box"), itg_json_length(places));
}

/* The layers' costs are the network's, each edge has its ends, and all of them are drawn. */
static void check_network(const char *page)
{
    char *block = block_of(page, "network");
    itg_json *json = parse(block);
    const itg_json_value *layers = member(json, "layers"), *edges = member(json, "edges");
    int64_t bytes = 0;
    int computed = 0;
    for (size_t i = 0; i < itg_json_length(layers); i++)
        bytes += integer(json, itg_json_find(itg_json_at(layers, i), "costs"), "weight_bytes");
    assert_int_equal(bytes, (int64_t)number(json, "weight_bytes"));
    for (size_t i = 0; i < itg_json_length(edges); i++) {
        const itg_json_value *e = itg_json_at(edges, i);
        computed += itg_json_typeof(itg_json_find(e, "producer")) == ITG_JSON_STRING;
        if (itg_json_typeof(itg_json_find(e, "producer")) == ITG_JSON_STRING)
            assert_int_equal(integer(json, e, "elements"), 0);
    }
    assert_int_equal(itg_json_length(layers), 12);
    assert_int_equal(computed, 13); /* as 'check' lists the nodes; one adds two values */
    assert_int_equal(count_of(page, "<g class=\"node\">"), 12 - 4 + 2); /* fused ones; ends */
    assert_true(count_of(page, "class=\"edge") >= 10);
    check_memory(json, page);
    check_tags(page);
    itg_json_destroy(json);
    free(block);
}

static void a_strategy_is_drawn_with_its_figures(void **state)
{
    (void)state;
    char *page = page_of("report digits.onnx eight.json -o report.html " DATA);
    outcome o = run("inspect digits.onnx eight.json --json " DATA);
    char *block = block_of(page, "network"), *of_edges = strstr(o.out, "\"edges\": ");
    char *inspection = strstr(block, "\"inspection\": ");
    assert_non_null(of_edges);
    assert_non_null(inspection);
    assert_string_equal(strchr(inspection, '['), strchr(of_edges, '['));
    check_network(page);
    assert_int_equal(count_of(page, "class=\"edge accent\""), 1); /* the edge that loses most */
    assert_contains(page, "conv3</th>");
    done(&o);
    free(block);
    free(page);
    page = page_of("report digits.onnx eight.json -o report.html"); /* without data */
    check_network(page);
    assert_null(strstr(page, "inspection"));
    free(page);
}

static void a_program_is_drawn_without_its_model(void **state)
{
    (void)state;
    char *page = page_of("report eight.itg -o report.html");
    check_network(page);
    assert_contains(page, "An integer program.");
    free(page);
}

static void names_of_a_network_are_text(void **state)
{
    (void)state;
    char *page = page_of("report hostile.onnx hostile.json -o report.html " DATA);
    check_network(page);
    assert_null(strstr(page, "<b>"));
    assert_contains(page, "&lt;b&gt;&amp;&quot;");
    free(page);
}

/* ---- parts ---- */

static char *part_of(const char *file, const char *line)
{
    outcome o = run(line);
    assert_int_equal(o.status, 0);
    done(&o);
    return text_of(file);
}

static void a_part_is_a_file_of_its_own(void **state)
{
    (void)state;
    char *csv = part_of("course.csv", "report 1 -o course.csv --part course");
    assert_int_equal(strncmp(csv, "trial,quality,weight bytes,", 27), 0);
    assert_int_equal(count_of(csv, "\n"), 24 + 1);
    free(csv);
    char *svg = part_of("front.svg", "report 1 -o front.svg --part front");
    assert_int_equal(strncmp(svg, "<svg xmlns=", 11), 0);
    assert_int_equal(count_of(svg, "class=\"diamond\""), 1 + 1); /* and in the legend */
    free(svg);
    char *md = part_of("report.txt", "report digits.onnx eight.json -o report.txt --format md");
    assert_int_equal(strncmp(md, "# eight.json on cortex-m\n", 25), 0);
    assert_contains(md, "## Costs by layer");
    assert_contains(md, "| conv3 | Conv |");
    assert_null(strchr(md, '<'));
    free(md);
    char *hostile =
        part_of("edges.md", "report hostile.onnx hostile.json -o edges.md --part edges");
    assert_contains(hostile, "\\<b\\>\\&");
    assert_null(strstr(hostile, "## Costs"));
    free(hostile);
    unlink("course.csv");
    unlink("front.svg");
    unlink("report.txt");
    unlink("edges.md");
}

/* Each value is in one bin, in floats and in codes, and codes are never beyond the range. */
static void check_histogram(const itg_json *json, const itg_json_value *h, int64_t *elements)
{
    static const char *const sides[] = {"float", "codes"};
    int64_t sums[2] = {0};
    for (int side = 0; side < 2; side++) {
        const itg_json_value *counts = itg_json_find(h, sides[side]);
        const size_t bins = itg_json_length(counts);
        assert_in_range(bins, 4 + 2 * ITG_EDGE_MARGIN, ITG_EDGE_BINS);
        for (size_t i = 0; i < bins; i++) {
            int64_t count = -1;
            assert_int_equal(
                itg_json_get_int(json, itg_json_at(counts, i), 0, INT64_C(1) << 40, &count, NULL),
                ITG_OK);
            sums[side] += count;
            if (side == 1 && (i < ITG_EDGE_MARGIN || i >= bins - ITG_EDGE_MARGIN))
                assert_int_equal(count, 0);
        }
    }
    assert_true(sums[0] > 0);
    assert_int_equal(sums[0], sums[1]);
    *elements += sums[0];
}

static void histograms_and_the_explanation_are_in_the_report(void **state)
{
    (void)state;
    char *page = page_of("report digits.onnx eight.json -o report.html --explain --labels "
                         "digits_search_labels.npy --quiet " DATA);
    outcome o = run("explain digits.onnx eight.json --json --labels digits_search_labels.npy "
                    "--quiet " DATA);
    char *block = block_of(page, "network");
    itg_json *json = parse(block), *explained = parse(o.out);
    const itg_json_value *histograms = member(json, "histograms"),
                         *effects = itg_json_find(member(json, "explanation"), "effects");
    int64_t elements = 0;
    for (size_t i = 0; i < itg_json_length(histograms); i++)
        check_histogram(json, itg_json_at(histograms, i), &elements);
    /* all edges that inspect has and that hold integers */
    assert_int_equal(itg_json_length(histograms), 15);
    assert_true(elements > 32 * (12 * 12 + 16));
    assert_int_equal(count_of(page, "<svg class=\"small\""), 15);
    assert_int_equal(itg_json_length(effects), itg_json_length(member(explained, "effects")));
    const char *ours = strstr(block, "\"effects\": "), *theirs = strstr(o.out, "\"effects\": ");
    const size_t length = strcspn(theirs, "]");
    assert_non_null(ours);
    assert_int_equal(strncmp(ours, theirs, length), 0);
    assert_contains(page, "Where the loss comes from");
    check_tags(page);
    itg_json_destroy(json);
    itg_json_destroy(explained);
    done(&o);
    free(block);
    free(page);
}

static void sensitivities_of_the_log_are_in_the_report(void **state)
{
    (void)state;
    char *before = page_of("report 1 -o report.html");
    assert_null(strstr(before, "What single choices lose"));
    free(before);
    outcome o = run("sensitivity digits.onnx --hw cortex-m --scale 1/255 --data "
                    "digits_search_images.npy --labels digits_search_labels.npy --weight-bits 2:8 "
                    "--quiet --json --db runs.db");
    assert_int_equal(o.status, 0);
    itg_json *json = parse(o.out);
    char *page = page_of("report 1 -o report.html"),
         *csv = part_of("s.csv", "report 1 -o s.csv --part sensitivities");
    assert_contains(page, "What single choices lose");
    assert_contains(page, "Run 3 of the log");
    /* a row for each choice, besides the titles and the widest */
    assert_int_equal(count_of(csv, "\n"), 2 + (int)itg_json_length(member(json, "choices")));
    check_tags(page);
    itg_json_destroy(json);
    done(&o);
    free(csv);
    free(page);
    unlink("s.csv");
}

static void points_of_others_stand_beside_the_front(void **state)
{
    (void)state;
    static const char points[] =
        "note,weight_bytes,name,top1\r\n,3000,\"A, \"\"b\"\" <i>\",99.5%\r\n"
        "\n,2500,other,0.97";
    put("points.csv", points, sizeof points - 1);
    char *page = page_of("report 1 -o report.html --peers points.csv");
    assert_contains(page, "<title>A, &quot;b&quot; &lt;i&gt;: 3,000 weight bytes, top-1 99.50 %");
    assert_contains(page, "<title>other: 2,500 weight bytes, top-1 97.00 %");
    assert_int_equal(count_of(page, "class=\"square\""), 2 + 1); /* and in the legend */
    check_tags(page);
    free(page);
}

static void check_refusal(const char *line, int status, const char *words)
{
    outcome o = run(line);
    assert_contains(o.err, words);
    assert_int_equal(o.status, status);
    assert_string_equal(o.out, "");
    done(&o);
}

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    put("report.html", "as before", 9);
    put("titles.csv", "name,top5,weight_bytes\n", 23);
    put("number.csv", "name,top1,weight_bytes\na,0.9,many\n", 34);
    char *log = text_of("runs.db");
    check_refusal("report 1", 2, "--output report.html is missing");
    check_refusal("report -o report.html", 2, "RUN, PROGRAM or MODEL is missing");
    check_refusal("report x -o report.html", 1, "x: cannot open");
    check_refusal("report 0 -o report.html", 2, "'0' is no number of a run");
    check_refusal("report 9 -o report.html", 1, "runs.db: holds no run 9");
    check_refusal("report 1 -o report.html --db none.db", 1, "none.db");
    check_refusal("report eight.json -o report.html", 1, "eight.json: a strategy takes its model");
    check_refusal("report digits.onnx -o report.html", 1, "digits.onnx");
    check_refusal("report hostile.onnx eight.json -o report.html", 1, "eight.json");
    check_refusal("report eight.itg -o report.html " DATA, 2, "--data takes MODEL and STRATEGY");
    check_refusal("report 1 -o report.html " DATA, 2, "a report of a run does not take --data");
    check_refusal("report eight.itg -o report.html --db runs.db", 2, "does not take --db");
    check_refusal("report eight.itg -o eight.itg", 2, "eight.itg");
    check_refusal("report 1 -o runs.db", 2, "runs.db");
    check_refusal("report 1 -o runs.db-journal", 2, "journal");
    check_refusal("report 1 -o report.html --pareto size,bops,cycles,ram", 2, "at most 3 costs");
    check_refusal("report 1 -o report.html --part none", 1, "there is no part 'none' as html");
    check_refusal("report 1 -o r.svg --part inputs", 1,
                  "no part 'inputs' as svg; there are: course");
    check_refusal("report 1 -o r.csv", 1, "csv holds one part; there are: results, course");
    check_refusal("report 1 -o r.html --format pdf", 2, "there is no 'pdf'");
    check_refusal("report eight.itg -o report.html --explain", 2, "--explain takes --data");
    check_refusal("report 1 -o report.html --peers none.csv", 1, "none.csv");
    check_refusal("report 1 -o report.html --peers titles.csv", 1,
                  "titles.csv: line 1: expected titles of columns, among them name, top1 and "
                  "weight_bytes");
    check_refusal("report 1 -o report.html --peers number.csv", 1,
                  "number.csv: line 2: weight_bytes 'many': expected a number");
    assert_false(exists("r.svg") || exists("r.csv") || exists("r.html"));
    char *page = text_of("report.html"), *after = text_of("runs.db");
    assert_string_equal(page, "as before");
    assert_string_equal(log, after);
    assert_int_equal(mkdir("folder", 0777), 0);
    check_refusal("report 1 -o folder", 1, "folder");
    check_refusal("report 1 -o nowhere/report.html", 1, "nowhere/report.html");
    assert_false(exists("nowhere"));
    rmdir("folder");
    free(page);
    free(after);
    free(log);
}

static void a_report_tells_where_it_is(void **state)
{
    (void)state;
    itg_json *json = run_json("report 1 -o report.html --json");
    struct stat about;
    assert_int_equal(stat("report.html", &about), 0);
    assert_string_equal(string(json, "file"), "report.html");
    assert_true(number(json, "bytes") == (double)about.st_size);
    itg_json_destroy(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_the_log),
        cmocka_unit_test(of_many_trials_some_are_drawn),
        cmocka_unit_test(a_front_of_other_costs_can_be_asked_for),
        cmocka_unit_test(names_are_text),
        cmocka_unit_test(a_report_names_its_database_as_a_shell_takes_it),
        cmocka_unit_test(a_strategy_is_drawn_with_its_figures),
        cmocka_unit_test(a_program_is_drawn_without_its_model),
        cmocka_unit_test(names_of_a_network_are_text),
        cmocka_unit_test(a_part_is_a_file_of_its_own),
        cmocka_unit_test(histograms_and_the_explanation_are_in_the_report),
        cmocka_unit_test(points_of_others_stand_beside_the_front),
        cmocka_unit_test(sensitivities_of_the_log_are_in_the_report),
        cmocka_unit_test(what_cannot_be_written_is_refused),
        cmocka_unit_test(a_report_tells_where_it_is),
    };
    if (enter_folder("report") != 0) return 1;
    int failed = cmocka_run_group_tests(tests, make_logs, NULL);
    return leave_folder() != 0 || failed;
}
