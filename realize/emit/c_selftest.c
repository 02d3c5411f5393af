/* Writes the self-test: samples of codes, the executor's digest of their results, and a program
 * that compares them. */
#include "realize/emit/emit.h"
#include "kernels/requant.h"
#include "realize/batch.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_CODES = 1 << 26 };

static const char main_text[] =
    "/* Compile with $1.c; prints the digest of the outputs (docs/emit-c.md) and returns 0 if it "
    "is\n"
    " * the one that the executor gave. PUTS may be any other way to show a line. */\n"
    "#include \"$1.h\"\n"
    "#ifndef PUTS\n"
    "#include <stdio.h>\n"
    "#define PUTS(line) (void)puts(line)\n"
    "#endif\n\n";

static const char sha_text[] =
    "/* ---- SHA-256, FIPS 180-4 ---- */\n"
    "static uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,\n"
    "                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};\n"
    "static uint8_t block[64];\n"
    "static uint32_t filled;\n"
    "static uint64_t length;\n\n"
    "static uint32_t turn(uint32_t x, int n)\n"
    "{\n"
    "    return x >> n | x << (32 - n);\n"
    "}\n\n"
    "static const uint32_t constants[64] = {\n"
    "    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,\n"
    "    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,\n"
    "    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,\n"
    "    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,\n"
    "    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,\n"
    "    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,\n"
    "    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,\n"
    "    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,\n"
    "    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,\n"
    "    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,\n"
    "    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};\n"
    "\n"
    "static void compress(void)\n"
    "{\n"
    "    uint32_t w[64], s[8];\n"
    "    for (int i = 0; i < 16; i++)\n"
    "        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |\n"
    "               (uint32_t)block[4 * i + 2] << 8 | (uint32_t)block[4 * i + 3];\n"
    "    for (int i = 16; i < 64; i++)\n"
    "        w[i] = w[i - 16] + w[i - 7] +\n"
    "               (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +\n"
    "               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        s[i] = state[i];\n"
    "    for (int i = 0; i < 64; i++) {\n"
    "        const uint32_t a = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) +\n"
    "                           ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + w[i];\n"
    "        const uint32_t b = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) +\n"
    "                           ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));\n"
    "        for (int k = 7; k > 0; k--)\n"
    "            s[k] = s[k - 1];\n"
    "        s[4] += a;\n"
    "        s[0] = a + b;\n"
    "    }\n"
    "    for (int i = 0; i < 8; i++)\n"
    "        state[i] += s[i];\n"
    "}\n\n"
    "static void add_byte(uint8_t byte)\n"
    "{\n"
    "    block[filled++] = byte;\n"
    "    if (filled < 64) return;\n"
    "    compress();\n"
    "    filled = 0;\n"
    "}\n\n"
    "static void add_code(int64_t code, int bytes)\n"
    "{\n"
    "    for (int i = 0; i < bytes; i++)\n"
    "        add_byte((uint8_t)((uint64_t)code >> (8 * i) & 255));\n"
    "    length += (uint64_t)bytes * 8;\n"
    "}\n\n"
    "static void finish(char *hex)\n"
    "{\n"
    "    add_byte(128);\n"
    "    while (filled != 56)\n"
    "        add_byte(0);\n"
    "    for (int i = 7; i >= 0; i--)\n"
    "        add_byte((uint8_t)(length >> (8 * i) & 255));\n"
    "    for (int i = 0; i < 64; i++)\n"
    "        hex[i] = \"0123456789abcdef\"[state[i / 8] >> (28 - i % 8 * 4) & 15];\n"
    "}\n\n";

/* ---- samples ---- */

/* Computes the range of an input's random codes: all of its quantizer, or the indices that are
 * valid for every Gather. */
static void random_range(const itg_program *p, int32_t value, int64_t *lo, int64_t *hi)
{
    const itg_quantizer *q = &p->values[value].q;
    *lo = p->values[value].quantized ? q->qmin : 0;
    *hi = p->values[value].quantized ? q->qmax : INT8_MAX;
    for (int32_t i = 0; i < p->step_count; i++) {
        const itg_step *s = &p->steps[i];
        if (s->op != ITG_OP_GATHER || s->inputs[1] != value) continue;
        int64_t rows = p->values[s->inputs[0]].shape.dims[s->attrs.axis];
        if (rows <= *hi) *hi = rows - 1;
    }
}

/* Makes the codes of one input: floats quantized by the program, indices unchanged, or random. */
static void make_codes(const itg_program *p, int32_t value, const void *given, itg_rng *rng,
                       void *codes)
{
    const itg_pvalue *v = &p->values[value];
    int64_t lo, hi, code;
    random_range(p, value, &lo, &hi);
    for (int64_t i = 0; i < v->elements; i++) {
        if (given == NULL)
            code = lo + (int64_t)itg_rng_below(rng, (uint64_t)(hi - lo) + 1);
        else if (v->quantized)
            code = itg_quantize_f32(((const float *)given)[i], v->q.scale[0], v->q.zero_point,
                                    v->q.qmin, v->q.qmax);
        else
            code = itg_load(v->dtype, given, i);
        itg_store(v->dtype, codes, i, code);
    }
}

/* Makes a program on codes, as the C source is one: without the quantizers of inputs and without
 * the floats of outputs. Shares everything else with the emitter's program. */
static bool make_codes_program(itg_emitter *e, itg_program *out)
{
    *out = *e->p;
    out->inputs = itg_emit_alloc(e, (size_t)e->input_count, sizeof *out->inputs);
    out->outputs = itg_emit_alloc(e, (size_t)e->output_count, sizeof *out->outputs);
    out->steps = itg_emit_alloc(e, (size_t)e->p->step_count, sizeof *out->steps);
    if (e->failed) return false;
    out->step_count = 0;
    out->input_count = e->input_count;
    out->output_count = e->output_count;
    for (int32_t i = 0; i < e->output_count; i++)
        out->outputs[i] = e->outputs[i].value;
    for (int32_t i = 0; i < e->input_count; i++)
        out->inputs[i] = e->inputs[i].value;
    for (int32_t i = 0; i < e->p->step_count; i++) {
        const itg_step *s = &e->p->steps[i];
        bool given = false;
        for (int32_t k = 0; k < e->input_count; k++)
            given |= s->outputs[0] == e->inputs[k].value;
        if (!given) out->steps[out->step_count++] = *s;
    }
    return true;
}

static void hash_output(const itg_pvalue *v, const void *codes, itg_sha256 *hash)
{
    unsigned char bytes[8];
    size_t size = itg_dtype_size(v->dtype);
    for (int64_t i = 0; i < v->elements; i++) {
        itg_copy_little_endian(bytes, (const unsigned char *)codes + (size_t)i * size, 1, size);
        itg_sha256_update(hash, bytes, size);
    }
}

static void write_codes(const itg_pvalue *v, const void *codes, itg_strbuf *out)
{
    for (int64_t i = 0; i < v->elements; i++)
        itg_strbuf_format(out, "%s%lld,", i % 20 == 0 ? "\n    " : "",
                          (long long)itg_load(v->dtype, codes, i));
}

/* Adds the samples' outputs to the hash and writes their input codes as text, one buffer an input.
 */
static itg_status run_samples(const itg_emitter *e, const itg_emit_vectors *vectors,
                              itg_batch *batch, itg_strbuf *texts, itg_sha256 *hash)
{
    const itg_batch_io io = {0};
    itg_status status = ITG_OK;
    itg_rng rng;
    itg_rng_init(&rng, 1);
    for (int32_t n = 0; n < vectors->count && status == ITG_OK; n++) {
        for (int32_t i = 0; i < e->input_count; i++) {
            const int32_t value = e->inputs[i].value;
            const void *given = NULL;
            if (vectors->inputs != NULL)
                given = vectors->inputs[n * e->p->input_count + e->inputs[i].model_input];
            make_codes(e->p, value, given, &rng, itg_batch_input(batch, i));
            write_codes(&e->p->values[value], itg_batch_input(batch, i), &texts[i]);
        }
        status = itg_batch_run(batch, &(itg_block){0, n, 1}, &io, e->err);
        for (int32_t k = 0; k < e->output_count && status == ITG_OK; k++)
            hash_output(&e->p->values[e->outputs[k].value], itg_batch_output(batch, k, 0).data,
                        hash);
    }
    return status;
}

static itg_status make_samples(itg_emitter *e, const itg_emit_vectors *vectors, itg_strbuf *texts,
                               char digest[65])
{
    unsigned char raw[32];
    itg_program codes;
    itg_sha256 hash;
    itg_batch_plan *plan = NULL;
    itg_batch *batch = NULL;
    for (int32_t i = 0; i < e->input_count; i++)
        if (e->p->values[e->inputs[i].value].elements > MOST_CODES / vectors->count)
            return itg_fail(e->err, ITG_LIMIT, "%s: a self-test of more than 2^26 codes",
                            e->p->name);
    if (!make_codes_program(e, &codes))
        return itg_fail(e->err, ITG_NO_MEMORY, "no memory for the self-test");
    itg_sha256_init(&hash);
    itg_status status =
        itg_batch_plan_create(&codes, &(itg_batch_options){.block = 1}, &plan, e->err);
    if (status == ITG_OK) status = itg_batch_create(plan, &batch, e->err);
    if (status == ITG_OK) status = run_samples(e, vectors, batch, texts, &hash);
    itg_batch_destroy(batch);
    itg_batch_plan_destroy(plan);
    itg_sha256_final(&hash, raw);
    itg_sha256_hex(raw, digest);
    return status;
}

static void write_main(itg_emitter *e, const itg_emit_vectors *vectors, const char *digest,
                       itg_strbuf *out)
{
    itg_strbuf_format(out,
                      "int main(void)\n{\n"
                      "    static const char expected[] = \"%s\";\n"
                      "    char line[] = \"digest "
                      "................................................................\";\n"
                      "    int same = 1;\n"
                      "    for (int32_t n = 0; n < %d; n++) {\n"
                      "        %s_run(",
                      digest, (int)vectors->count, e->name);
    for (int32_t i = 0; i < e->input_count; i++)
        itg_strbuf_format(out, "%sinput%d + n * %s_SIZE", i > 0 ? ", " : "", (int)i,
                          e->inputs[i].upper);
    for (int32_t i = 0; i < e->output_count; i++)
        itg_strbuf_format(out, "%soutput%d", i + e->input_count > 0 ? ", " : "", (int)i);
    itg_strbuf_add(out, ");\n");
    for (int32_t i = 0; i < e->output_count; i++)
        itg_strbuf_format(out,
                          "        for (int32_t i = 0; i < %s_SIZE; i++)\n"
                          "            add_code(output%d[i], %d);\n",
                          e->outputs[i].upper, (int)i,
                          (int)itg_dtype_size(e->p->values[e->outputs[i].value].dtype));
    itg_strbuf_add(out, "    }\n    finish(line + 7);\n    PUTS(line);\n"
                        "    for (int i = 0; i < 64; i++)\n"
                        "        same = same && line[7 + i] == expected[i];\n"
                        "    PUTS(same ? \"pass\" : \"FAIL\");\n"
                        "    return same ? 0 : 1;\n}\n");
}

itg_status itg_emit_selftest(itg_emitter *e, const itg_emit_vectors *vectors, itg_strbuf *out)
{
    char digest[65];
    itg_strbuf *texts = itg_emit_alloc(e, (size_t)e->input_count, sizeof *texts);
    if (texts == NULL) return itg_fail(e->err, ITG_NO_MEMORY, "no memory for the self-test");
    itg_status status = make_samples(e, vectors, texts, digest);
    itg_emit_template(out, main_text, e->name, NULL);
    for (int32_t i = 0; i < e->input_count; i++) {
        if (status == ITG_OK && texts[i].text != NULL)
            itg_strbuf_format(out, "static const %s input%d[%d * %s_SIZE] = {%s};\n",
                              itg_emit_ctype(e->p->values[e->inputs[i].value].dtype), (int)i,
                              (int)vectors->count, e->inputs[i].upper, texts[i].text);
        e->failed |= texts[i].failed;
        itg_strbuf_deinit(&texts[i]);
    }
    if (status != ITG_OK) return status;
    for (int32_t i = 0; i < e->output_count; i++)
        itg_strbuf_format(out, "static %s output%d[%s_SIZE];\n",
                          itg_emit_ctype(e->p->values[e->outputs[i].value].dtype), (int)i,
                          e->outputs[i].upper);
    itg_strbuf_add(out, "\n");
    itg_strbuf_add(out, sha_text);
    write_main(e, vectors, digest, out);
    return ITG_OK;
}
