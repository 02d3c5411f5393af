/* The emitted C source as people read it: its lines, its table of costs, its header. That it
 * computes the right codes is test_emit.c's. */
#include "program_maker.h"
#include <stdlib.h>
#include <sys/stat.h>

#define FOLDER TEST_FOLDER "/emitted_text"

typedef struct emitted {
    itg_program *p;
    itg_emit_sizes sizes;
    char *source, *header;
} emitted;

static char *text_of(const char *path)
{
    unsigned char *bytes = NULL;
    size_t count = 0;
    assert_int_equal(itg_file_read(path, 1 << 24, &bytes, &count, NULL), ITG_OK);
    char *text = malloc(count + 1);
    assert_non_null(text);
    memcpy(text, bytes, count);
    text[count] = '\0';
    free(bytes);
    return text;
}

static bool emit(itg_program *p, emitted *out)
{
    itg_emit_vectors vectors = {1, NULL};
    *out = (emitted){.p = p};
    (void)mkdir(FOLDER, 0777);
    if (itg_program_emit_c(p, "net", &vectors, FOLDER, &out->sizes, NULL) != ITG_OK) {
        itg_program_destroy(p);
        return false;
    }
    out->source = text_of(FOLDER "/net.c");
    out->header = text_of(FOLDER "/net.h");
    return true;
}

static void end(emitted *e)
{
    free(e->source);
    free(e->header);
    itg_program_destroy(e->p);
}

/* Many programs of every form. */
static void for_each_program(void (*check)(const emitted *e))
{
    int seen = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        emitted e;
        if (!emit(seed % 2 == 0 ? random_integer_program(seed) : random_form_program(seed), &e))
            continue;
        check(&e);
        end(&e);
        seen++;
    }
    assert_true(seen > 40);
}

/* ---- lines ---- */

typedef struct reader {
    int indents[32], depth; /* of the open braces */
    int over; /* of a loop or condition without braces that waits for its statement; -1 */
    bool inside, goes_on; /* of a function; a statement of more lines */
} reader;

/* Without blanks and a comment at its end. */
static size_t length_of_code(const char *line, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++)
        if (line[i] == '/' && line[i + 1] == '*') length = i;
    while (length > 0 && line[length - 1] == ' ')
        length--;
    return length;
}

static bool is_control(const char *code)
{
    return strncmp(code, "for ", 4) == 0 || strncmp(code, "if ", 3) == 0 ||
           strncmp(code, "while ", 6) == 0 || strncmp(code, "else", 4) == 0;
}

/* The indent that a line must have is four more than the brace or loop that it stands in. */
static void read_line(reader *r, const char *line, size_t length)
{
    if (length > 0 && line[0] == '{') {
        *r = (reader){.inside = true, .depth = 1, .over = -1};
        return;
    }
    length = length_of_code(line, length);
    if (!r->inside || length == 0 || line[0] == '#') return;
    if (line[0] == '}') {
        assert_int_equal(r->depth, 1);
        r->inside = false;
        return;
    }
    size_t blank = strspn(line, " ");
    const char *code = line + blank;
    char last = line[length - 1];
    bool ends = last == ';' || last == '{' || last == '}';
    int expected = r->over >= 0 ? r->over + 4 : r->indents[r->depth - 1] + 4;
    if (*code == '}') expected = r->indents[--r->depth];
    if (expected == 0) expected = 4;
    if (!r->goes_on && (int)blank != expected)
        fail_msg("%d blanks expected: %.*s", expected, (int)length, line);
    if (last == '{') {
        assert_true(r->depth < 32);
        bool images = strncmp(code, "for (int32_t image ", 19) == 0; /* stands out, and alone */
        r->indents[r->depth] = r->goes_on ? r->indents[r->depth - 1] + 4 : (int)blank;
        r->indents[r->depth++] -= images ? 4 : 0;
    }
    bool waits = !ends && !r->goes_on && is_control(code) && last == (*code == 'e' ? 'e' : ')');
    if (*code == 'e' && code[4] == ' ') waits = !ends;
    r->goes_on = !ends && !waits;
    r->over = waits ? (int)blank : -1;
}

static void check_lines(const emitted *e)
{
    reader r = {.over = -1};
    for (const char *at = e->source; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        read_line(&r, at, length);
        assert_true(length == 0 || at[length - 1] != ' ');
        at += length + (at[length] == '\n');
    }
    assert_false(r.inside);
}

static void lines_are_indented_by_what_they_stand_in(void **state)
{
    (void)state;
    for_each_program(check_lines);
}
/* ---- the table and the constants ---- */

typedef struct costs {
    long long macs, weights, constants, bytes; /* bytes: of RAM */
} costs;

/* Of all layers, and the last row, which says it of the whole. */
static void read_table(const char *source, costs *sum, costs *all)
{
    const char *at = strstr(source, " * layer ");
    assert_non_null(at);
    *sum = (costs){0};
    for (;;) {
        char name[80];
        at = strchr(at, '\n') + 1;
        assert_int_equal(sscanf(at, " * %79s %lld %lld %lld %lld\n", name, &all->macs,
                                &all->weights, &all->constants, &all->bytes),
                         5);
        if (strcmp(name, "all") == 0) return;
        sum->macs += all->macs;
        sum->weights += all->weights;
        sum->constants += all->constants;
        sum->bytes += all->bytes;
    }
}

static long long macs_of(const itg_program *p)
{
    long long macs = 0;
    for (int32_t i = 0; i < p->step_count; i++) {
        const itg_step *s = &p->steps[i];
        if (s->kind != ITG_STEP_CONV && s->kind != ITG_STEP_MATMUL) continue;
        const itg_pvalue *x = &p->values[s->inputs[0]], *w = &p->values[s->inputs[1]];
        int64_t depth = s->kind == ITG_STEP_CONV ? w->elements / w->shape.dims[0]
                                                 : x->shape.dims[x->shape.rank - 1];
        macs += p->values[s->outputs[0]].elements * depth;
    }
    return macs;
}

/* The first of these types that holds all. */
static size_t smallest(long long lo, long long hi, const char **name)
{
    static const struct {
        const char *name;
        long long lo, hi;
        size_t size;
    } types[] = {{"int8_t", -128, 127, 1},
                 {"uint8_t", 0, 255, 1},
                 {"int16_t", -32768, 32767, 2},
                 {"uint16_t", 0, 65535, 2},
                 {"int32_t", INT32_MIN, INT32_MAX, 4},
                 {"int64_t", INT64_MIN, INT64_MAX, 8}};
    int i = 0;
    while (lo < types[i].lo || hi > types[i].hi)
        i++;
    *name = types[i].name;
    return types[i].size;
}

/* static const TYPE NAME[COUNT] = {...}; into what its layer's row counts. */
static void read_array(const char *at, costs *found)
{
    char type[16], name[80];
    long long count, n = 0, lo = INT64_MAX, hi = INT64_MIN;
    const char *fits;
    assert_int_equal(sscanf(at, "static const %15s %79[^[][%lld]", type, name, &count), 3);
    at = strchr(at, '{');
    while (*at != '}') {
        char *end;
        at += strspn(at, "{ ,\n");
        if (strncmp(at, "INT32_C(", 8) == 0) at += 8;
        if (strncmp(at, "INT64_C(", 8) == 0) at += 8;
        long long v = strtoll(at, &end, 10);
        assert_true(end > at);
        at = end + strspn(end, ")\n");
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
        n++;
    }
    assert_int_equal(n, count);
    size_t size = smallest(lo, hi, &fits);
    if (name[0] == 'w') { /* packed bits; layers of these programs are named n or v */
        found->weights += count;
        return;
    }
    assert_string_equal(type, fits);
    if (count > 1) found->constants += count * (long long)size; /* one alone becomes a literal */
}

static void check_table(const emitted *e)
{
    costs sum, all, found = {0};
    char line[80];
    read_table(e->source, &sum, &all);
    assert_int_equal(all.macs, macs_of(e->p));
    assert_int_equal(sum.macs, all.macs);
    assert_int_equal(sum.weights, all.weights);
    assert_int_equal(sum.constants, all.constants);
    assert_true(sum.bytes >= all.bytes);
    for (const char *at = e->source; (at = strstr(at, "\nstatic const ")) != NULL; at++)
        read_array(at + 1, &found);
    int each = strstr(e->source, "    int32_t height,") != NULL ? 4 : 2;
    /* Those of the plain forms; blocks for Helium are indented deeper. */
    for (const char *at = e->source; (at = strstr(at, "\n    static const window ")) != NULL; at++)
        found.constants += 13 * each;
    assert_int_equal(all.weights, found.weights);
    assert_int_equal(all.constants, found.constants);
    assert_int_equal(e->sizes.macs, all.macs);
    assert_int_equal(e->sizes.weight_bytes, all.weights);
    assert_int_equal(e->sizes.constant_bytes, all.constants);
    assert_int_equal(e->sizes.arena_bytes, all.bytes);
    snprintf(line, sizeof line, "#define NET_ARENA_BYTES INT32_C(%lld)\n", all.bytes);
    assert_non_null(strstr(e->header, line));
    snprintf(line, sizeof line, "    int8_t s8[%lld];\n", all.bytes);
    assert_true((strstr(e->source, line) != NULL) == (all.bytes > 0));
}

static void the_table_counts_what_the_source_holds(void **state)
{
    (void)state;
    for_each_program(check_table);
}

/* ---- the header ---- */

static void expect_line(const emitted *e, const char *prefix, const char *what, const char *value)
{
    char line[400];
    snprintf(line, sizeof line, "#define NET_%s_%s %s\n", prefix, what, value);
    if (strstr(e->header, line) == NULL) fail_msg("absent: %s", line);
}

static void expect_argument(const emitted *e, int32_t id, const char *what, const char *name,
                            const char *prefix)
{
    static const struct {
        itg_dtype type;
        const char *name;
    } types[] = {{ITG_S8, "int8_t"},    {ITG_U8, "uint8_t"},  {ITG_S16, "int16_t"},
                 {ITG_U16, "uint16_t"}, {ITG_S32, "int32_t"}, {ITG_S64, "int64_t"}};
    const itg_pvalue *v = &e->p->values[id];
    char text[200], shape[128];
    int i = 0;
    while (types[i].type != v->dtype)
        i++;
    int n = snprintf(text, sizeof text, "/* %s %s: %s %s, ", what, name, types[i].name,
                     itg_shape_text(&v->shape, shape, sizeof shape));
    snprintf(text + n, sizeof text - (size_t)n, v->quantized ? "%d bits; " : "indices */",
             (int)v->q.bits);
    if (strstr(e->header, text) == NULL) fail_msg("absent: %s", text);
    snprintf(text, sizeof text, "INT32_C(%lld)", (long long)v->elements);
    expect_line(e, prefix, "SIZE", text);
    if (!v->quantized) return;
    snprintf(text, sizeof text, "(%lld)", (long long)v->q.zero_point);
    char lo[32], hi[32], scale[32];
    snprintf(lo, sizeof lo, "%lld", (long long)v->q.qmin);
    snprintf(hi, sizeof hi, "%lld", (long long)v->q.qmax);
    snprintf(scale, sizeof scale, "%a", (double)v->q.scale[0]);
    expect_line(e, prefix, "SCALE", scale);
    if (v->q.qmax > 32767 || v->q.qmin < -32767) return; /* a literal of another form */
    expect_line(e, prefix, "ZERO_POINT", text);
    snprintf(text, sizeof text, "(%s)", lo);
    expect_line(e, prefix, "MIN", text);
    snprintf(text, sizeof text, "(%s)", hi);
    expect_line(e, prefix, "MAX", text);
}

static void check_header(const emitted *e)
{
    const itg_program *p = e->p;
    expect_argument(e, p->steps[0].outputs[0], "Input", "input", "INPUT");
    for (int32_t i = 0; i < p->output_count; i++) {
        char name[64] = "output", prefix[64] = "OUTPUT";
        if (p->output_count > 1) {
            snprintf(name, sizeof name, "out_%s", p->values[p->outputs[i]].name);
            snprintf(prefix, sizeof prefix, "OUT_V%s", p->values[p->outputs[i]].name + 1);
        }
        expect_argument(e, p->outputs[i], "Output", name, prefix);
    }
}

static void the_header_describes_every_argument(void **state)
{
    (void)state;
    for_each_program(check_header);
}

/* ---- layouts ---- */

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

static itg_step *add_after(maker *m, itg_step_kind kind, itg_op op, int32_t x, int32_t inputs,
                           itg_shape to)
{
    itg_step *s = add_step(m, kind, op, inputs, 1);
    s->inputs[0] = x;
    s->acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    add_encodings(m, s, to, 1000, 1);
    return s;
}

/* A window's result keeps its channels innermost through what works element by element: the image
 * is turned once before the first window, and once behind the last. */
static void layouts_change_only_at_the_ends(void **state)
{
    (void)state;
    maker m = {.integer = true, .seed = 1};
    itg_error err = {0};
    emitted e;
    itg_shape from = {4, {1, 2, 3, 4}}, to = {4, {1, 5, 3, 4}};
    itg_rng_init(&m.rng, 9);
    assert_int_equal(itg_program_create("layouts", &m.p, NULL), ITG_OK);
    itg_program *p = m.p;
    int32_t input = add_value(&m, ITG_F32, from), x = add_codes(&m, from, NULL);
    itg_step *s = add_step(&m, ITG_STEP_QUANTIZE, ITG_OP_IDENTITY, 1, 1);
    s->inputs[0] = input;
    s->outputs[0] = x;
    int32_t w = add_constant(&m, (itg_shape){4, {5, 2, 1, 1}}, true);
    s = add_after(&m, ITG_STEP_CONV, ITG_OP_CONV, x, 2, to);
    s->inputs[1] = w;
    s->attrs.spatial_rank = 2;
    s->attrs.group = 1;
    for (int d = 0; d < 2; d++)
        s->attrs.kernel[d] = s->attrs.stride[d] = s->attrs.dilation[d] = 1;
    s = add_after(&m, ITG_STEP_CLIP, ITG_OP_RELU, s->outputs[0], 1, to);
    int32_t clipped = s->outputs[0], k = add_constant(&m, to, true);
    s = add_after(&m, ITG_STEP_BINARY, ITG_OP_SUB, k, 2, to);
    s->inputs[1] = clipped; /* what it follows need not be its first operand */
    for (int i = 0; i < 2; i++)
        s->operand[i] = (itg_requant){.stage_count = 1, .stage = {{1, 1, ITG_ROUND_FLOOR}}};
    s->form = ITG_FORM_RESCALE;
    p->inputs = itg_arena_array(p->arena, 1, sizeof *p->inputs);
    p->inputs[p->input_count++] = input;
    p->outputs = itg_arena_array(p->arena, 1, sizeof *p->outputs);
    p->outputs[p->output_count++] = s->outputs[0];
    if (itg_program_finish(p, ITG_BOUNDS_STORE, &err) != ITG_OK) fail_msg("%s", err.message);
    assert_true(emit(p, &e));
    assert_int_equal(count_of(e.source, "\nHOT static APART void layer_"), 3);
    assert_int_equal(count_of(e.source, "\nstatic APART void layer_"), 2);
    assert_int_equal(count_of(e.source, "/* channels innermost: [1,2,3,4] -> [1,2,3,4] */\n"), 1);
    assert_int_equal(count_of(e.source, "/* row-major: [1,5,3,4] -> [1,5,3,4] */\n"), 1);
    end(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_indented_by_what_they_stand_in),
        cmocka_unit_test(the_table_counts_what_the_source_holds),
        cmocka_unit_test(the_header_describes_every_argument),
        cmocka_unit_test(layouts_change_only_at_the_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
