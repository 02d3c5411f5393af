/* Writes a program as C source, in the layout of c_layout.c. */
#include "realize/emit/emit.h"
#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

/* Takes `wanted` or, if that is taken, wanted_N. N is `index` plus a multiple of `count`, so that
 * the search is short for any number of equal names. */
static void take_name(itg_emitter *e, itg_names *taken, const char *wanted, int32_t index,
                      int32_t count, char out[ITG_EMIT_NAME])
{
    char upper[ITG_EMIT_NAME];
    snprintf(out, ITG_EMIT_NAME, "%s", wanted);
    itg_emit_upper(out, upper);
    for (int64_t n = index + 1; itg_names_find(taken, upper) >= 0; n += count) {
        snprintf(out, ITG_EMIT_NAME, "%s_%lld", wanted, (long long)n);
        itg_emit_upper(out, upper);
    }
    if (!itg_names_put(taken, itg_emit_text(e, "%s", upper), 0)) e->failed = true;
}

static void name_arguments(itg_emitter *e, itg_emit_argument *a, int32_t count, const char *alone,
                           const char *prefix)
{
    itg_names taken = {.arena = e->arena};
    for (int32_t i = 0; i < count; i++) {
        char ident[ITG_EMIT_NAME], upper[ITG_EMIT_NAME];
        itg_emit_identifier(e->p->values[a[i].value].name, ident);
        const char *wanted = count == 1 ? alone : itg_emit_text(e, "%s%s", prefix, ident);
        take_name(e, &taken, wanted, i, count, a[i].name);
        itg_emit_upper(a[i].name, upper);
        snprintf(a[i].upper, sizeof a[i].upper, "%s_%s", e->upper, upper);
    }
}

/* ---- layers ---- */

static void name_layer(itg_emitter *e, itg_names *taken, int32_t index)
{
    itg_emit_layer *l = &e->layers[index];
    char ident[ITG_EMIT_NAME];
    const itg_emit_buffer *y = &e->buffers[l->outputs[0]];
    itg_emit_identifier(l->step != NULL ? l->step->name : e->p->values[y->value].name, ident);
    const char *suffix = l->step != NULL ? "" : y->last ? "_last" : "_rows";
    take_name(e, taken, itg_emit_text(e, "%s%s", ident, suffix), index, e->layer_count, l->name);
}

typedef void (*layer_fn)(itg_emitter *e, const itg_emit_layer *l);
static const layer_fn layers[ITG_STEP_KIND_COUNT] = {
    [ITG_STEP_CONV] = itg_emit_mac,
    [ITG_STEP_MATMUL] = itg_emit_mac,
    [ITG_STEP_BINARY] = itg_emit_binary,
    [ITG_STEP_CLIP] = itg_emit_clip,
    [ITG_STEP_MEAN] = itg_emit_mean,
    [ITG_STEP_MAX] = itg_emit_max,
    [ITG_STEP_MOVE] = itg_emit_move,
    [ITG_STEP_ARG_MAX] = itg_emit_max,
    [ITG_STEP_LUT] = itg_emit_lut,
    [ITG_STEP_SOFTMAX] = itg_emit_softmax,
    [ITG_STEP_TFLITE_SOFTMAX] = itg_emit_tflite_softmax,
    [ITG_STEP_LAYER_NORM] = itg_emit_layer_norm,
};

static void add_comment(itg_emitter *e, const itg_emit_layer *l)
{
    char x[128], y[128], type[48];
    const itg_shape *to = &e->p->values[e->buffers[l->outputs[0]].value].shape;
    const itg_shape *from = l->step != NULL ? &e->p->values[l->step->inputs[0]].shape : to;
    const char *what = l->step == NULL
                           ? (e->buffers[l->outputs[0]].last ? "channels innermost" : "row-major")
                           : itg_step_type(l->step, type, sizeof type);
    ITG_EMIT_FORMAT(e, "/* %s: %s -> %s", what, itg_shape_text(from, x, sizeof x),
                    itg_shape_text(to, y, sizeof y));
    if (l->step != NULL && itg_step_has_accumulator(l->step))
        ITG_EMIT_FORMAT(e, "; sums within [%lld, %lld]", (long long)l->step->acc_lo,
                        (long long)l->step->acc_hi);
    itg_strbuf_add(&e->body, " */\n");
}

/* Writes the parameters, and the brace that begins the function. */
static void add_parameters(itg_emitter *e, const itg_emit_layer *l)
{
    const char *separator = "";
    itg_strbuf_add(&e->body, "(");
    for (int32_t i = 0; i < l->input_count; i++) {
        if (l->inputs[i] == ITG_NONE) continue;
        const itg_pvalue *v = &e->p->values[e->buffers[l->inputs[i]].value];
        ITG_EMIT_FORMAT(e, "%sconst %s *%s", separator, itg_emit_ctype(v->dtype),
                        itg_emit_input_name(e, l, i));
        separator = ", ";
    }
    for (int32_t i = 0; i < l->output_count; i++) {
        const itg_pvalue *v = &e->p->values[e->buffers[l->outputs[i]].value];
        ITG_EMIT_FORMAT(e, "%s%s *%s", separator, itg_emit_ctype(v->dtype),
                        itg_emit_output(e, l, i));
        separator = ", ";
    }
    itg_strbuf_add(&e->body, ")\n{\n");
}

static void clear(itg_emitter *e, itg_strbuf *text)
{
    e->failed |= text->failed;
    itg_strbuf_deinit(text);
    *text = (itg_strbuf){0};
}

static itg_strbuf take_body(itg_emitter *e)
{
    const itg_strbuf text = e->body;
    e->failed |= text.failed || text.text == NULL;
    e->body = (itg_strbuf){0};
    return text;
}

/* Writes the function of a layer, unless an earlier layer has the same one. */
static void write_layer(itg_emitter *e, itg_emit_layer *l)
{
    itg_strbuf before = e->body;
    e->body = (itg_strbuf){0};
    e->layer = l;
    e->scratch_taken = 0;
    l->weight_bytes = l->constant_bytes = 0;
    add_comment(e, l);
    ITG_EMIT_FORMAT(e, "%sstatic APART void layer_", l->step != NULL ? "HOT " : "");
    itg_strbuf head = take_body(e);
    add_parameters(e, l);
    (l->step == NULL ? itg_emit_copy : layers[l->step->kind])(e, l);
    itg_strbuf_add(&e->body, "}\n\n");
    itg_strbuf rest = take_body(e);
    e->body = before;
    if (!e->failed)
        l->first = itg_emit_first(e, &e->functions, itg_emit_text(e, "%s%s", head.text, rest.text));
    if (&e->layers[l->first] != l)
        l->weight_bytes = l->constant_bytes = 0;
    else if (!e->failed)
        ITG_EMIT_FORMAT(e, "%s%s%s", head.text, l->name, rest.text);
    itg_strbuf_deinit(&head);
    itg_strbuf_deinit(&rest);
    if (e->scratch_taken != l->scratch_bytes)
        itg_emit_fail(e, ITG_FAILURE, "layer", l->name,
                      itg_emit_text(e, "it takes %zu bytes of scratch, %zu are planned",
                                    e->scratch_taken, l->scratch_bytes));
}

static void write_layers(itg_emitter *e)
{
    clear(e, &e->data);
    clear(e, &e->helpers);
    clear(e, &e->body);
    e->needed = e->constants = e->cores = (itg_names){.arena = e->arena};
    e->arrays = e->functions = (itg_names){.arena = e->arena};
    e->core_count = 0;
    for (int32_t i = 0; i < e->layer_count && itg_emit_status(e) == ITG_OK; i++)
        if (!e->layers[i].free) write_layer(e, &e->layers[i]);
    if (itg_emit_status(e) == ITG_OK) itg_emit_run(e, &e->body);
}

/* ---- the source file ---- */

static const char prologue_text[] =
    "#include \"$1.h\"\n\n"
    "#if defined(__GNUC__) && !defined(__clang__)\n"
    "/* gcc 12 takes a store to an address that it computed as a number for one through a null\n"
    " * pointer, and leaves calls of such a function out (-O2, -O3). */\n"
    "#pragma GCC optimize(\"no-delete-null-pointer-checks\")\n"
    "#endif\n"
    "/* HOT: loops worth several versions where the machine chooses among them when the program\n"
    " * starts (gcc, x86-64, glibc). Nothing elsewhere, and nothing when optimizing for size. */\n"
    "#if !defined(HOT) && defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \\\n"
    "    defined(__GLIBC__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && \\\n"
    "    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)\n"
    "#if __GNUC__ >= 12\n"
    "#define HOT __attribute__((target_clones(\"arch=x86-64-v4\", \"arch=x86-64-v3\", "
    "\"default\")))\n"
    "#else\n"
    "#define HOT __attribute__((target_clones(\"avx2\", \"default\")))\n"
    "#endif\n"
    "#endif\n"
    "#ifndef HOT\n"
    "#define HOT\n"
    "#endif\n"
    "/* APART: layers, not compiled into one function where its registers were shared badly. */\n"
    "#if defined(__arm__) && !defined(__clang__) && __GNUC__ >= 8 && "
    "!defined(__ARM_FEATURE_SIMD32)\n"
    "#define APART __attribute__((noipa))\n"
    "#else\n"
    "#define APART\n"
    "#endif\n"
    "/* ALIGNED: bytes that are read a word at a time, or two. */\n"
    "#ifdef __GNUC__\n"
    "#define ALIGNED __attribute__((aligned(4)))\n"
    "#else\n"
    "#define ALIGNED\n"
    "#endif\n"
    "/* SHARED: called from many places; one copy when optimizing for size. */\n"
    "#if defined(__GNUC__) && defined(__OPTIMIZE_SIZE__)\n"
    "#define SHARED static __attribute__((noinline))\n"
    "#else\n"
    "#define SHARED static inline\n"
    "#endif\n\n";

static void write_arena(itg_emitter *e, itg_strbuf *out)
{
    size_t n = e->arena_bytes;
    if (n == 0) return;
    itg_strbuf_format(out,
                      "/* Values and scratch, each where nothing else is needed at the time. */\n"
                      "static union {\n"
                      "    int8_t s8[%zu];\n    uint8_t u8[%zu];\n    int16_t s16[%zu];\n"
                      "    uint16_t u16[%zu];\n    int32_t s32[%zu];\n    uint32_t u32[%zu];\n"
                      "    int64_t s64[%zu];\n} arena;\n\n",
                      n, n, n / 2, n / 2, n / 4, n / 4, n / 8);
}

static void add_text(itg_strbuf *out, const itg_strbuf *text)
{
    out->failed |= text->failed;
    if (text->text != NULL) itg_strbuf_bytes(out, text->text, text->length);
}

static void write_source(itg_emitter *e, itg_strbuf *out)
{
    itg_strbuf_format(
        out,
        "/* %s as C, made by intaglio " ITG_VERSION "; %s.h says how to use it.\n"
        " *\n"
        " *     cc -std=c99 -O3 -c %s.c                      the network\n"
        " *     cc -std=c99 -O3 %s.c %s_selftest.c -o test   and its test\n"
        " *\n"
        " * Activations lie with their channels innermost inside, weights at their bit "
        "width. Bytes\n * (layer*N: N layers have this function):\n *\n",
        e->name, e->name, e->name, e->name, e->name);
    itg_emit_report(e, out);
    itg_strbuf_add(out, " */\n");
    itg_emit_template(out, prologue_text, e->name, NULL);
    write_arena(e, out);
    add_text(out, &e->data);
    itg_strbuf_add(out, "\n");
    add_text(out, &e->helpers);
    add_text(out, &e->body);
}

/* ---- files ---- */

static itg_status write_file(itg_emitter *e, const char *directory, const char *suffix,
                             const itg_strbuf *text)
{
    const char *path = itg_emit_text(e, "%s/%s%s", directory, e->name, suffix);
    e->failed |= !itg_strbuf_ok(text) || text->text == NULL;
    itg_status status = itg_emit_status(e);
    return status == ITG_OK ? itg_file_write(path, text->text, text->length, e->err) : status;
}

static void set_name(itg_emitter *e, const char *name)
{
    char base[256];
    snprintf(base, sizeof base, "%s", name != NULL ? name : e->p->name);
    size_t length = strlen(base);
    if (length > 5 && strcmp(base + length - 5, ".onnx") == 0) base[length - 5] = '\0';
    itg_emit_identifier(base, e->name);
    itg_emit_upper(e->name, e->upper);
}

/* NAME.c and NAME.h. */
static itg_status write_texts(itg_emitter *e, const char *name, itg_strbuf *source,
                              itg_strbuf *header)
{
    set_name(e, name);
    itg_status status = itg_emit_lay_out(e);
    if (status != ITG_OK) return status;
    name_arguments(e, e->inputs, e->input_count, "input", "in_");
    name_arguments(e, e->outputs, e->output_count, "output", "out_");
    itg_names taken = {.arena = e->arena};
    for (int32_t i = 0; i < e->layer_count; i++)
        name_layer(e, &taken, i);
    write_layers(e);
    if (itg_emit_status(e) != ITG_OK) return e->status;
    itg_emit_header(e, header);
    write_source(e, source);
    e->failed |= !itg_strbuf_ok(header) || !itg_strbuf_ok(source);
    return itg_emit_status(e);
}

static void set_sizes(const itg_emitter *e, itg_emit_sizes *out)
{
    *out = (itg_emit_sizes){.arena_bytes = (int64_t)e->arena_bytes};
    memcpy(out->name, e->name, sizeof out->name);
    for (int32_t i = 0; i < e->layer_count; i++) {
        out->macs += e->layers[i].macs;
        out->weight_bytes += e->layers[i].weight_bytes;
        out->constant_bytes += e->layers[i].constant_bytes;
    }
}

static itg_status begin(itg_emitter *e, const itg_program *p, itg_error *err)
{
    *e = (itg_emitter){.p = p, .err = err, .arena = itg_arena_create(0)};
    return e->arena != NULL ? ITG_OK
                            : itg_fail(err, ITG_NO_MEMORY, "%s: no memory to emit it", p->name);
}

static void end(itg_emitter *e)
{
    itg_strbuf_deinit(&e->data);
    itg_strbuf_deinit(&e->helpers);
    itg_strbuf_deinit(&e->body);
    itg_arena_destroy(e->arena);
}

itg_status itg_program_source(const itg_program *p, const char *name, itg_strbuf *source,
                              itg_strbuf *header, itg_error *err)
{
    itg_emitter e;
    itg_status status = begin(&e, p, err);
    if (status == ITG_OK) status = write_texts(&e, name, source, header);
    end(&e);
    return status;
}

itg_status itg_program_emit_c(const itg_program *p, const char *name,
                              const itg_emit_vectors *vectors, const char *directory,
                              itg_emit_sizes *out, itg_error *err)
{
    itg_emitter e;
    itg_strbuf header = {0}, source = {0}, test = {0};
    itg_status status = begin(&e, p, err);
    if (status == ITG_OK) status = write_texts(&e, name, &source, &header);
    if (status == ITG_OK) status = itg_emit_selftest(&e, vectors, &test);
    if (status == ITG_OK) status = write_file(&e, directory, ".c", &source);
    if (status == ITG_OK) status = write_file(&e, directory, "_selftest.c", &test);
    if (status == ITG_OK) status = write_file(&e, directory, ".h", &header);
    if (status == ITG_OK && out != NULL) set_sizes(&e, out);
    itg_strbuf_deinit(&header);
    itg_strbuf_deinit(&source);
    itg_strbuf_deinit(&test);
    end(&e);
    return status;
}
