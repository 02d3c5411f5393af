/* Strategies with weight codes of their own: the annotated graph and the simulation have them, a
 * file beside the strategy file keeps them, and what is damaged there is refused by file and place.
 */
#include "case.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "kernels/constants.h"
#include "sim/strategy_file.h"

#define FOLDER ITG_TEST_DIR "/strategy_codes"
#define PATH FOLDER "/with.json"
#define FLOATS(...) ((const float[]){__VA_ARGS__})
#define EDGE 1 /* the weight */

static const int32_t codes[4] = {-31, 5, 17, 30};

/* A Gemm of 2 by 2 weights of 6 bits; full: -32 is a code. */
static sim_case make_case(bool full)
{
    char dtypes[200];
    itg_graph *g = net_new();
    itg_id x = net_input(g, "x", "1,2"),
           y = net_gemm(g, "gemm", x, "2,2", FLOATS(1, -0.3f, 0.7f, 0.1f), ITG_NONE);
    OUTPUTS(g, x, y);
    snprintf(
        dtypes, sizeof dtypes,
        "'u8':{'storage':'u8','bits':[2,8],'zero_point':true},'w':{'storage':'s8','bits':[2,8]%s"
        "}",
        full ? ",'full_range':true" : "");
    sim_case c = case_new(
        g, chip("", dtypes, "'r':{'form':'f32'}",
                "'Gemm':[{'arithmetic':'mac','inputs':['u8'],'weights':['w'],'outputs':['u8'],'"
                "requantize':'r','accumulator':{'bits':32},'per_channel':true}]"));
    set_all(&c, 6, 8, -4, 4, true);
    return c;
}

static sim_case case_with_codes(void)
{
    sim_case c = make_case(false);
    assert_int_equal(itg_strategy_set_codes(c.s, EDGE, codes, 4, NULL), ITG_OK);
    return c;
}

static itg_strategy_file file_of(const sim_case *c)
{
    return (itg_strategy_file){
        .strategy = c->s, .hardware = c->hw, .preprocess = itg_preprocess_default()};
}

/* Files of the folder, the strategy file among them; *codes_name: the other one's path. */
static int count_files(char *codes_path, size_t size)
{
    DIR *folder = opendir(FOLDER);
    int count = 0;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (*entry->d_name == '.') continue;
        count++;
        if (strstr(entry->d_name, ".codes"))
            snprintf(codes_path, size, "%s/%s", FOLDER, entry->d_name);
    }
    closedir(folder);
    return count;
}

static void empty_folder(void)
{
    char path[600];
    DIR *folder;
    (void)mkdir(FOLDER, 0777);
    folder = opendir(FOLDER);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", FOLDER, entry->d_name);
        if (*entry->d_name != '.') assert_int_equal(remove(path), 0);
    }
    closedir(folder);
}

/* ---- in memory ---- */

static void the_annotated_graph_has_the_strategys_codes(void **state)
{
    sim_case c = make_case(false);
    (void)state;
    annotated(&c);
    itg_quantizer nearest = encoding_at(&c, "gemm", 1)->q;
    float scales[2] = {nearest.scale[0], nearest.scale[1]};
    assert_int_equal(itg_strategy_set_codes(c.s, EDGE, codes, 4, NULL), ITG_OK);
    annotated(&c);
    const itg_encoding *v = encoding_at(&c, "gemm", 1);
    for (int i = 0; i < 4; i++)
        assert_int_equal(itg_load(v->q.storage, v->constant->codes, i), codes[i]);
    assert_memory_equal(v->q.scale, scales, sizeof scales);
    /* codes of x = (1, -2) are 32 steps of 8/255 and 64 steps below the zero point */
    run(&c, FLOATS(1, -2));
    const itg_quantizer *in = &encoding_at(&c, "gemm", 0)->q, *out = &encoding_at(&c, NULL, 0)->q;
    for (int k = 0; k < 2; k++) {
        int64_t a = code_of(1, in->scale[0], in->zero_point, 0, 255) - in->zero_point,
                b = code_of(-2, in->scale[0], in->zero_point, 0, 255) - in->zero_point;
        float factor = in->scale[0] * scales[k] / out->scale[0];
        assert_int_equal(output_code(&c, 0, k), f32_code(a * codes[2 * k] + b * codes[2 * k + 1],
                                                         factor, out->zero_point, 0, 255));
    }
    /* and without them it is as before */
    assert_int_equal(itg_strategy_set_codes(c.s, EDGE, NULL, 0, NULL), ITG_OK);
    annotated(&c);
    assert_int_equal(itg_load(ITG_S8, encoding_at(&c, "gemm", 1)->constant->codes, 0), 31);
    case_end(&c);
}

static void a_clone_has_the_codes(void **state)
{
    sim_case c = case_with_codes();
    itg_strategy *copy = NULL;
    (void)state;
    assert_int_equal(itg_strategy_clone(c.s, &copy, NULL), ITG_OK);
    assert_int_equal(itg_strategy_codes_bytes(copy), 3);
    assert_memory_equal(copy->edges[EDGE].codes, c.s->edges[EDGE].codes, 3);
    itg_strategy_destroy(copy);
    case_end(&c);
}

static void codes_that_the_quantizer_lacks_are_refused(void **state)
{
    sim_case c = make_case(false), full = make_case(true);
    itg_error err = {0};
    (void)state;
    assert_int_equal(itg_strategy_set_codes(c.s, EDGE, (int32_t[]){0, 32, 0, 0}, 4, &err),
                     ITG_BAD_ARGUMENT);
    assert_string_equal(err.message, "edge 1: code 1 is 32, expected -32 to 31");
    const int32_t least[4] = {0, 0, -32, 0};
    assert_int_equal(itg_strategy_set_codes(full.s, EDGE, least, 4, NULL), ITG_OK);
    annotated(&full);
    assert_int_equal(itg_strategy_set_codes(c.s, EDGE, least, 4, NULL), ITG_OK);
    refused(&c, ITG_MISMATCH,
            "net.onnx: node 'gemm' (Gemm): strategy: code 2 of its weights is -32, expected -31 to "
            "31");
    assert_int_equal(itg_strategy_set_codes(c.s, EDGE, codes, 3, NULL), ITG_OK);
    refused(&c, ITG_MISMATCH,
            "net.onnx: node 'gemm' (Gemm): strategy: 3 codes of its weights, expected 4");
    assert_int_equal(itg_strategy_set_codes(c.s, EDGE, NULL, 0, NULL), ITG_OK);
    assert_int_equal(itg_strategy_set_codes(c.s, 0, codes, 2, NULL), ITG_OK);
    refused(
        &c, ITG_MISMATCH,
        "net.onnx: strategy: edge 0 ('x' into 'gemm') has codes, expected none: it is no weight");
    case_end(&c);
    case_end(&full);
}

/* ---- files ---- */

static void a_file_keeps_them(void **state)
{
    sim_case c = case_with_codes();
    itg_strategy_file f = file_of(&c), *back = NULL;
    itg_strbuf texts[2] = {{0}, {0}};
    itg_error err = {0};
    char path[600];
    (void)state;
    empty_folder();
    for (int again = 0; again < 2; again++)
        if (itg_strategy_save(&f, c.g, PATH, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(count_files(path, sizeof path), 2);
    unsigned char *data = NULL;
    size_t bytes = 0;
    assert_int_equal(itg_file_read(path, 100, &data, &bytes, NULL), ITG_OK);
    /* -31 = 100001, 5 = 000101, 17 = 010001, 30 = 011110, the lowest bit of the first code first */
    assert_int_equal(bytes, 3);
    assert_memory_equal(data, ((unsigned char[]){0x61, 0x11, 0x79}), 3);
    free(data);
    if (itg_strategy_open(c.g, PATH, &back, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_int_equal(back->strategy->edges[EDGE].code_count, 4);
    assert_memory_equal(back->strategy->edges[EDGE].codes, c.s->edges[EDGE].codes, 3);
    assert_int_equal(itg_strategy_file_text(&f, c.g, &texts[0], NULL), ITG_OK);
    assert_int_equal(itg_strategy_file_text(back, c.g, &texts[1], NULL), ITG_OK);
    assert_string_equal(texts[0].text, texts[1].text);
    itg_strbuf_deinit(&texts[0]);
    itg_strbuf_deinit(&texts[1]);
    itg_strategy_close(back);
    case_end(&c);
}

/* The buffers are what the files are, and are refused likewise. */
static void memory_keeps_them(void **state)
{
    sim_case c = case_with_codes();
    itg_strategy_file f = file_of(&c), *back = NULL;
    itg_buffer text = {0}, packed = {0};
    itg_error err = {0};
    char path[600];
    unsigned char *data = NULL;
    size_t bytes = 0;
    (void)state;
    empty_folder();
    assert_int_equal(itg_strategy_save(&f, c.g, PATH, NULL), ITG_OK);
    assert_int_equal(itg_strategy_save_memory(&f, c.g, &text, &packed, NULL), ITG_OK);
    assert_int_equal(itg_file_read(PATH, 1 << 20, &data, &bytes, NULL), ITG_OK);
    assert_int_equal(text.bytes, bytes);
    assert_memory_equal(text.data, data, bytes);
    free(data);
    assert_int_equal(count_files(path, sizeof path), 2);
    assert_int_equal(itg_file_read(path, 100, &data, &bytes, NULL), ITG_OK);
    assert_int_equal(packed.bytes, bytes);
    assert_memory_equal(packed.data, data, bytes);
    free(data);
    if (itg_strategy_open_memory(c.g, &text, &packed, "mine", &back, &err) != ITG_OK)
        fail_msg("%s", err.message);
    assert_memory_equal(back->strategy->edges[EDGE].codes, c.s->edges[EDGE].codes, 3);
    itg_strategy_close(back);
    back = NULL;
    assert_int_equal(itg_strategy_open_memory(c.g, &text, NULL, "mine", &back, &err), ITG_BAD_FILE);
    assert_non_null(strstr(err.message, "mine: "));
    assert_non_null(strstr(err.message, "has 0 bytes, expected 3"));
    ((unsigned char *)packed.data)[1] ^= 4;
    assert_int_equal(itg_strategy_open_memory(c.g, &text, &packed, "mine", &back, &err),
                     ITG_MISMATCH);
    text.bytes--;
    ((char *)text.data)[text.bytes - 1] = ' ';
    assert_int_equal(itg_strategy_open_memory(c.g, &text, &packed, "mine", &back, &err),
                     ITG_BAD_FILE);
    assert_null(back);
    free(text.data);
    free(packed.data);
    case_end(&c);
}

static void both_files_are_written_or_neither(void **state)
{
    sim_case c = case_with_codes();
    itg_strategy_file f = file_of(&c);
    char path[600];
    (void)state;
    empty_folder();
    assert_int_equal(mkdir(PATH, 0777), 0);
    assert_int_not_equal(itg_strategy_save(&f, c.g, PATH, NULL), ITG_OK);
    assert_int_equal(count_files(path, sizeof path), 1); /* the folder in the way */
    assert_int_equal(rmdir(PATH), 0);
    assert_int_equal(itg_strategy_save(&f, c.g, PATH, NULL), ITG_OK);
    /* The codes of a strategy that is there stay when another one that has them is not written. */
    assert_int_equal(mkdir(FOLDER "/other.json", 0777), 0);
    assert_int_not_equal(itg_strategy_save(&f, c.g, FOLDER "/other.json", NULL), ITG_OK);
    assert_int_equal(rmdir(FOLDER "/other.json"), 0);
    assert_int_equal(count_files(path, sizeof path), 2);
    case_end(&c);
}

static void write_bytes(const char *path, const void *data, size_t bytes)
{
    assert_int_equal(itg_file_write(path, data, bytes, NULL), ITG_OK);
}

/* Writes the strategy file with one part of its text replaced; NULL: as it is. */
static void damage_text(const sim_case *c, const char *from, const char *to)
{
    itg_strategy_file f = file_of(c);
    itg_strbuf text = {0}, changed = {0};
    assert_int_equal(itg_strategy_file_text(&f, c->g, &text, NULL), ITG_OK);
    char *at = from ? strstr(text.text, from) : text.text;
    assert_non_null(at);
    itg_strbuf_format(&changed, "%.*s%s%s", (int)(at - text.text), text.text, from ? to : "",
                      at + (from ? strlen(from) : 0));
    write_bytes(PATH, changed.text, changed.length);
    itg_strbuf_deinit(&text);
    itg_strbuf_deinit(&changed);
}

static void check_refused(const sim_case *c, itg_status code, const char *message)
{
    itg_strategy_file *out = NULL;
    itg_error err = {0};
    itg_status status = itg_strategy_open(c->g, PATH, &out, &err);
    assert_null(out);
    if (status != code || !strstr(err.message, message) ||
        strncmp(err.message, PATH ": ", strlen(PATH) + 2) != 0)
        fail_msg("expected %s '%s', got %s '%s'", itg_status_name(code), message,
                 itg_status_name(status), err.message);
}

static void damaged_files_are_refused(void **state)
{
    static const unsigned char good[3] = {0x61, 0x11, 0x79}, longer[4] = {0x61, 0x11, 0x79, 0};
    sim_case c = case_with_codes();
    itg_strategy_file f = file_of(&c);
    char path[600];
    (void)state;
    empty_folder();
    assert_int_equal(itg_strategy_save(&f, c.g, PATH, NULL), ITG_OK);
    assert_int_equal(count_files(path, sizeof path), 2);
    write_bytes(path, good, 2);
    check_refused(&c, ITG_BAD_FILE, ".codes: has 2 bytes, expected 3");
    write_bytes(path, longer, 4);
    check_refused(&c, ITG_BAD_FILE, ".codes: has more than 3 bytes, expected 3 for codes");
    write_bytes(path, "\x61\x11\x78", 3);
    check_refused(&c, ITG_MISMATCH, ".codes: its SHA-256 is ");
    assert_int_equal(remove(path), 0);
    check_refused(&c, ITG_IO, "strategy.codes.file: ");
    write_bytes(path, good, 3);
    damage_text(&c, ", \"codes\": true", "");
    check_refused(&c, ITG_BAD_FILE, ".codes: has more than 0 bytes, expected 0 for codes");
    damage_text(&c, ", \"codes\": true", ", \"codes\": 1");
    check_refused(&c, ITG_BAD_FILE, "strategy.thresholds[1].codes: expected true or false");
    damage_text(&c, "\"hi\"", "\"codes\": true, \"hi\"");
    check_refused(&c, ITG_BAD_FILE, "strategy.thresholds[0]: expected either 'channels'");
    damage_text(&c, "{\"file\": \"", "{\"file\": \"/");
    check_refused(&c, ITG_BAD_FILE, "strategy.codes.file: expected a path relative to this file");
    damage_text(&c, "\"sha256\"", "\"sha1\"");
    check_refused(&c, ITG_BAD_FILE, "strategy.codes: unknown key 'sha1'");
    itg_strategy_file *back = NULL;
    damage_text(&c, NULL, NULL);
    assert_int_equal(itg_strategy_open(c.g, PATH, &back, NULL), ITG_OK);
    itg_strategy_close(back);
    case_end(&c);
}

/* -32 is no code of the symmetric quantizer: which node has it, and where, is said. */
static void codes_out_of_range_are_refused_by_file_and_place(void **state)
{
    sim_case c = make_case(false);
    itg_strategy_file f = file_of(&c);
    (void)state;
    empty_folder();
    assert_int_equal(itg_strategy_set_codes(c.s, EDGE, (int32_t[]){1, 2, 3, -32}, 4, NULL), ITG_OK);
    assert_int_equal(itg_strategy_save(&f, c.g, PATH, NULL), ITG_OK);
    check_refused(&c, ITG_MISMATCH,
                  "node 'gemm' (Gemm): strategy: code 3 of its weights is -32, expected -31 to 31");
    case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_annotated_graph_has_the_strategys_codes),
        cmocka_unit_test(a_clone_has_the_codes),
        cmocka_unit_test(codes_that_the_quantizer_lacks_are_refused),
        cmocka_unit_test(a_file_keeps_them),
        cmocka_unit_test(memory_keeps_them),
        cmocka_unit_test(both_files_are_written_or_neither),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(codes_out_of_range_are_refused_by_file_and_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
