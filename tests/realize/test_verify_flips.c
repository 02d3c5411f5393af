/* One bit is flipped in hundreds of seeded places. As the file lies there, every one is caught.
 * Where all hashes are made good again afterwards, the bounds that are derived anew catch every one
 * that changes any of them. */
#include "networks.h"
#include "base/packed.h"
#include "realize/artefact.h"
#include <stdio.h>
#include <stdlib.h>
#include "random_program.h"
#include "realize/verify/certificate.h"

#define PATH TEST_FOLDER "/flipped.itg"
#define CERTIFICATE PATH ".cert.json"

enum { RANDOM_PROGRAMS = 12, FLIPS = 40 };

static const network networks[] = NETWORKS;
enum { NETWORK_COUNT = sizeof networks / sizeof *networks };

static itg_program *program_at(int i)
{
    if (i >= NETWORK_COUNT) return random_program((uint64_t)(1000 + i));
    fixture f = networks[i]();
    itg_program *p = fx_program(&f);
    fx_end(&f);
    return p;
}

static char *slurp(const char *path, size_t *bytes)
{
    unsigned char *data = NULL;
    assert_int_equal(itg_file_read(path, (size_t)1 << 28, &data, bytes, NULL), ITG_OK);
    return (char *)data;
}

static void put(const char *path, const char *text, size_t bytes)
{
    (void)remove(path); /* some file systems write out at once what is truncated and rewritten */
    FILE *file = fopen(path, "wb"); /* nothing here outlives the test: no fsync */
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* true: refused as unreadable, or with discrepancies. */
static bool is_caught(void)
{
    itg_verification *v = NULL;
    itg_error err = {ITG_OK, ""};
    if (itg_verify(PATH, NULL, &v, &err) != ITG_OK) return true;
    bool caught = itg_verification_problem_count(v) > 0;
    itg_verification_destroy(v);
    return caught;
}

static void write_certified(const itg_program *p)
{
    itg_error err = {ITG_OK, ""};
    if (itg_artefact_write(p, NULL, 0, PATH, &err) != ITG_OK ||
        itg_certify(PATH, CERTIFICATE, &err) != ITG_OK)
        fail_msg("%s", err.message);
}

/* ---- bits of the files ---- */

static void flip_in(const char *path, itg_rng *rng, int flips)
{
    size_t bytes;
    char *text = slurp(path, &bytes);
    for (int i = 0; i < flips; i++) {
        size_t at = (size_t)itg_rng_below(rng, bytes);
        char bit = (char)(1 << itg_rng_below(rng, 8));
        text[at] = (char)(text[at] ^ bit);
        put(path, text, bytes);
        if (!is_caught()) fail_msg("%s: a bit of byte %zu", path, at);
        text[at] = (char)(text[at] ^ bit);
    }
    put(path, text, bytes);
    assert_false(is_caught());
    free(text);
}

static void any_bit_of_the_artefact_is_caught(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 11);
    for (int i = 0; i < NETWORK_COUNT + RANDOM_PROGRAMS; i++) {
        itg_program *p = program_at(i);
        write_certified(p);
        flip_in(PATH, &rng, FLIPS);
        itg_program_destroy(p);
    }
}

static void any_bit_of_the_certificate_is_caught(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 12);
    for (int i = 0; i < NETWORK_COUNT + RANDOM_PROGRAMS; i++) {
        itg_program *p = program_at(i);
        write_certified(p);
        flip_in(CERTIFICATE, &rng, FLIPS);
        itg_program_destroy(p);
    }
}

/* ---- forged hashes ---- */

static size_t end_hash(char *text, size_t bytes)
{
    static const char tail[] = "\"sha256\": \"";
    unsigned char hash[32];
    char hex[65];
    itg_sha256 h;
    size_t body = bytes - (strlen(tail) + 64 + 4);
    assert_memory_equal(text + body, tail, strlen(tail));
    itg_sha256_init(&h);
    itg_sha256_update(&h, text, body);
    itg_sha256_final(&h, hash);
    itg_sha256_hex(hash, hex);
    memcpy(text + body + strlen(tail), hex, 64);
    return body;
}

static const char *facts(const char *text)
{
    const char *at = strstr(text, "\n\"tables\": [");
    assert_non_null(at);
    return at;
}

/* The certificate with all hashes of the changed file, but the bounds of the file that it was made
 * for. true: they are the same, so that this is simply the changed file's certificate. */
static bool forge(const char *before)
{
    itg_certificate changed = {0};
    itg_strbuf text = {0};
    itg_error err = {ITG_OK, ""};
    if (itg_certificate_derive(PATH, &changed, &err) != ITG_OK) fail_msg("%s", err.message);
    const char *now = changed.text.text;
    itg_strbuf_bytes(&text, now, (size_t)(facts(now) - now));
    itg_strbuf_add(&text, facts(before));
    assert_true(itg_strbuf_ok(&text));
    end_hash(text.text, text.length);
    put(CERTIFICATE, text.text, text.length);
    bool same = changed.view.problem_count == 0 && strcmp(text.text, now) == 0;
    itg_strbuf_deinit(&text);
    itg_certificate_deinit(&changed);
    return same;
}

static void a_certificates_numbers_are_caught_with_its_hash_made_good(void **state)
{
    itg_rng rng;
    int changed = 0;
    (void)state;
    itg_rng_init(&rng, 13);
    for (int i = 0; i < NETWORK_COUNT + RANDOM_PROGRAMS; i++) {
        itg_program *p = program_at(i);
        size_t bytes;
        write_certified(p);
        char *text = slurp(CERTIFICATE, &bytes);
        for (int k = 0; k < FLIPS; k++) {
            size_t at = (size_t)itg_rng_below(&rng, bytes - 90);
            char kept = text[at];
            if (kept < '0' || kept > '9') continue;
            text[at] = (char)('0' + (kept - '0' + 1 + (int)itg_rng_below(&rng, 9)) % 10);
            end_hash(text, bytes);
            put(CERTIFICATE, text, bytes);
            if (!is_caught()) fail_msg("program %d: byte %zu", i, at);
            text[at] = kept;
            changed++;
        }
        free(text);
        itg_program_destroy(p);
    }
    assert_true(changed > 200);
}

/* ---- what is in the artefact, by kind ---- */

typedef enum kind {
    WEIGHT,
    BIAS,
    MULTIPLIER,
    SHIFT,
    RATIO,
    ZERO_POINT,
    CLIP,
    CLAMP,
    STATED_BOUND,
    WIDTH,
    KINDS
} kind;
static const char *const kind_names[KINDS] = {
    "weight",     "bias",       "multiplier", "shift",        "ratio",
    "zero point", "clip range", "clamp",      "stated bound", "accumulator width"};

static bool is_mac(const itg_step *s)
{
    return s->kind == ITG_STEP_CONV || s->kind == ITG_STEP_MATMUL;
}

static int64_t flip64(int64_t v, uint64_t bit)
{
    uint64_t bits = (uint64_t)v ^ UINT64_C(1) << bit;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* A byte of a constant, in host order. */
/* Of a packed code any bit that the file has. */
static bool flip_code(const itg_pvalue *v, itg_rng *rng)
{
    int64_t at = (int64_t)itg_rng_below(rng, (uint64_t)v->elements);
    unsigned char packed[4] = {0};
    itg_packed_put(packed, v->q.bits, v->q.is_signed, 0, itg_load(v->dtype, v->data, at));
    uint64_t bit = itg_rng_below(rng, (uint64_t)v->q.bits);
    packed[bit / 8] = (unsigned char)(packed[bit / 8] ^ 1u << bit % 8);
    itg_store(v->dtype, (void *)(uintptr_t)v->data, at,
              itg_packed_get(packed, v->q.bits, v->q.is_signed, 0));
    return true;
}

static bool flip_constant(const itg_pvalue *v, itg_rng *rng)
{
    if (v->data == NULL) return false;
    unsigned char *data = (unsigned char *)(uintptr_t)v->data;
    size_t at = (size_t)itg_rng_below(rng, v->bytes);
    data[at] = (unsigned char)(data[at] ^ 1u << itg_rng_below(rng, 8));
    return true;
}

static bool flip_requant(const itg_step_out *o, kind k, itg_rng *rng)
{
    if (o->requant_count == 0) return false;
    itg_requant *r =
        (itg_requant *)(uintptr_t)&o->requant[itg_rng_below(rng, (uint64_t)o->requant_count)];
    if (r->is_f32) {
        uint32_t bits;
        if (k != RATIO) return false;
        memcpy(&bits, &r->ratio, sizeof bits);
        bits ^= UINT32_C(1) << itg_rng_below(rng, 32);
        memcpy(&r->ratio, &bits, sizeof bits);
        return true;
    }
    if (r->stage_count == 0 || k == RATIO) return false;
    itg_requant_stage *stage = &r->stage[itg_rng_below(rng, (uint64_t)r->stage_count)];
    if (k == MULTIPLIER)
        stage->multiplier = flip64(stage->multiplier, itg_rng_below(rng, 31));
    else
        stage->shift = (int32_t)flip64(stage->shift, itg_rng_below(rng, 6));
    return true;
}

static bool flip(itg_program *p, itg_step *s, kind k, itg_rng *rng)
{
    uint64_t output = itg_rng_below(rng, (uint64_t)s->output_count);
    itg_pvalue *y = &p->values[s->outputs[output]], *x = &p->values[s->inputs[0]];
    itg_step_out *o = &s->outs[output];
    bool upper = itg_rng_below(rng, 2) != 0;
    int64_t *end;
    switch (k) {
    case WEIGHT:
        if (is_mac(s) && itg_value_is_packed(p, s->inputs[1]))
            return flip_code(&p->values[s->inputs[1]], rng);
        return is_mac(s) && flip_constant(&p->values[s->inputs[1]], rng);
    case BIAS:
        return is_mac(s) && s->input_count == 3 && flip_constant(&p->values[s->inputs[2]], rng);
    case MULTIPLIER:
    case SHIFT:
    case RATIO:
        return y->quantized && flip_requant(o, k, rng);
    case ZERO_POINT:
        if (itg_step_normalizes(s)) return false; /* it cancels: no bound follows from it */
        x->q.zero_point = (int32_t)flip64(x->q.zero_point, itg_rng_below(rng, 7));
        return true;
    case CLIP:
        end = upper ? &x->q.qmax : &x->q.qmin;
        *end = flip64(*end, itg_rng_below(rng, 8));
        return true;
    case CLAMP:
        end = upper ? &o->hi : &o->lo;
        *end = flip64(*end, itg_rng_below(rng, 8));
        return y->quantized;
    case STATED_BOUND:
        end = s->split.part_count > 0 && itg_rng_below(rng, 2) ? (upper ? &s->join_hi : &s->join_lo)
                                                               : (upper ? &s->acc_hi : &s->acc_lo);
        *end = flip64(*end, itg_rng_below(rng, 63));
        return true;
    default:
        s->acc.bits = (int32_t)flip64(s->acc.bits, itg_rng_below(rng, 6));
        return true;
    }
}

typedef struct tally {
    int flipped, caught, by_hash_alone;
} tally;

/* One flip in one program: caught as it is; then with forged hashes, unless no bound changed. */
static bool try_flip(int index, kind k, char **certificates, itg_rng *rng, tally *t)
{
    itg_program *p = program_at(index);
    size_t bytes;
    if (certificates[index] == NULL) {
        write_certified(p);
        certificates[index] = slurp(CERTIFICATE, &bytes);
    }
    const char *before = certificates[index];
    put(CERTIFICATE, before, strlen(before));
    int32_t step = (int32_t)itg_rng_below(rng, (uint64_t)p->step_count);
    bool done = itg_step_has_accumulator(&p->steps[step]) && flip(p, &p->steps[step], k, rng) &&
                itg_artefact_write(p, NULL, 0, PATH, NULL) == ITG_OK;
    if (done) {
        t->flipped++;
        if (!is_caught()) fail_msg("a flipped %s of program %d", kind_names[k], index);
        bool same = forge(before), caught = is_caught();
        if (same == caught) fail_msg("%s of program %d, hashes forged", kind_names[k], index);
        t->caught += caught;
        t->by_hash_alone += same;
    }
    itg_program_destroy(p);
    return done;
}

static void flips_by_kind_are_caught_with_all_hashes_made_good(void **state)
{
    /* A weight's sign under a symmetric clip range, or constants of a channel whose sum is 0,
     * change no bound: hashes alone tell them. */
    char *certificates[NETWORK_COUNT + RANDOM_PROGRAMS] = {NULL};
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 14);
    for (int k = 0; k < KINDS; k++) {
        tally t = {0, 0, 0};
        for (int tries = 0; t.flipped < 60 && tries < 3000; tries++)
            try_flip((int)itg_rng_below(&rng, NETWORK_COUNT + RANDOM_PROGRAMS), (kind)k,
                     certificates, &rng, &t);
        print_message(
            "%s: %d flipped, all caught; %d with all hashes made good, %d by hash alone\n",
            kind_names[k], t.flipped, t.caught, t.by_hash_alone);
        assert_true(t.flipped >= 40);
        if (t.caught * 10 < t.flipped * 9) fail_msg("too few: %s", kind_names[k]);
        if (k >= CLAMP) assert_int_equal(t.by_hash_alone, 0);
    }
    for (int i = 0; i < NETWORK_COUNT + RANDOM_PROGRAMS; i++)
        free(certificates[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bit_of_the_artefact_is_caught),
        cmocka_unit_test(any_bit_of_the_certificate_is_caught),
        cmocka_unit_test(a_certificates_numbers_are_caught_with_its_hash_made_good),
        cmocka_unit_test(flips_by_kind_are_caught_with_all_hashes_made_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
