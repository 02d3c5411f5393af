/* The verifier's numbers against those of the program that wrote the file, which it shares no code
 * with; and its numbers' arithmetic against requantization's. */
#include "networks.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/json.h"
#include "kernels/requant.h"
#include "random_program.h"
#include "realize/verify/wide.h"

#define PATH TEST_FOLDER "/verified.itg"
#define CERTIFICATE TEST_FOLDER "/verified.itg.cert.json"
#define OTHER TEST_FOLDER "/other.itg"

static const network networks[] = NETWORKS;
enum { NETWORK_COUNT = sizeof networks / sizeof *networks, RANDOM_COUNT = 150 };

static itg_program *program_at(int i)
{
    if (i >= NETWORK_COUNT) {
        uint64_t seed = (uint64_t)(i - NETWORK_COUNT);
        return seed % 3 == 2 ? random_form_program(seed) : random_program(seed);
    }
    fixture f = networks[i]();
    itg_program *p = fx_program(&f);
    fx_end(&f);
    return p;
}

static void write_certified(const itg_program *p)
{
    itg_error err = {ITG_OK, ""};
    if (itg_artefact_write(p, NULL, 0, PATH, &err) != ITG_OK ||
        itg_certify(PATH, CERTIFICATE, &err) != ITG_OK)
        fail_msg("%s", err.message);
}

static itg_verification *verified(const char *path, const char *certificate)
{
    itg_verification *v = NULL;
    itg_error err = {ITG_OK, ""};
    if (itg_verify(path, certificate, &v, &err) != ITG_OK) fail_msg("%s", err.message);
    return v;
}

/* ---- agreement ---- */

/* Rows whose interval is the program's own; the others lie within it: weights that do not lie by
 * channel, which only programs made by hand have, are bounded by extremes there. */
static int check_rows(const itg_program *p, const itg_verification *v)
{
    int32_t count, equal = 0;
    const itg_bound *bounds = itg_program_bounds(p, &count);
    assert_int_equal(itg_verification_problem_count(v), 0);
    assert_int_equal(itg_verification_sum_count(v), count);
    for (int32_t i = 0; i < count; i++) {
        const itg_verified_sum *sum = itg_verification_sum(v, i);
        assert_int_equal(sum->acc.bits, bounds[i].acc.bits);
        assert_int_equal(sum->acc.overflow, bounds[i].acc.overflow);
        assert_true(sum->fits || !bounds[i].fits);
        assert_int_equal(sum->fits, sum->spare_bits >= 0);
        if (bounds[i].lo == INT64_MIN || bounds[i].hi == INT64_MAX) continue; /* saturated there */
        int64_t lo = strtoll(sum->lo, NULL, 10), hi = strtoll(sum->hi, NULL, 10);
        assert_true(lo >= bounds[i].lo && hi <= bounds[i].hi);
        equal += lo == bounds[i].lo && hi == bounds[i].hi;
    }
    return equal;
}

static void every_program_is_verified_with_its_own_bounds(void **state)
{
    int equal = 0, all = 0;
    (void)state;
    for (int i = 0; i < NETWORK_COUNT + RANDOM_COUNT; i++) {
        itg_program *p = program_at(i);
        write_certified(p);
        itg_verification *v = verified(PATH, NULL);
        equal += check_rows(p, v);
        all += itg_verification_sum_count(v);
        itg_verification_destroy(v);
        itg_program_destroy(p);
    }
    print_message("%d of %d intervals equal, the rest within\n", equal, all);
    assert_true(equal * 10 > all * 8);
}

static int64_t end_of(const itg_json *json, const itg_json_value *span, size_t end)
{
    const char *text;
    assert_int_equal(itg_json_get_string(json, itg_json_at(span, end), &text, NULL), ITG_OK);
    return strtoll(text, NULL, 10);
}

/* The codes that the certificate gives output `k` of a channel are those of its sum's ends. */
static int check_output(const itg_json *json, const itg_json_value *channel, const itg_program *p,
                        const itg_step *s, int32_t k, size_t c)
{
    char name[16];
    snprintf(name, sizeof name, "y%d", (int)k);
    const itg_json_value *trace = itg_json_find(channel, name),
                         *sum = itg_json_find(channel, "sum");
    if (trace == NULL) return 0;
    const itg_step_out *o = &s->outs[k];
    const itg_requant *r = &o->requant[o->requant_count == 1 ? 0 : c];
    const itg_pvalue *y = &p->values[s->outputs[k]];
    const itg_json_value *codes = itg_json_at(trace, itg_json_length(trace) - 1);
    for (size_t end = 0; end < 2; end++) {
        int64_t code = itg_requant_apply(r, end_of(json, sum, end)) + y->q.zero_point;
        assert_int_equal(end_of(json, codes, end), itg_clamp(code, o->lo, o->hi));
    }
    return 1;
}

static int check_node(const itg_json *json, const itg_json_value *entry, const itg_program *p,
                      const itg_step *s)
{
    int checked = 0;
    const itg_json_value *channels = itg_json_find(entry, "channels");
    if (!itg_step_fits(s)) return 0;
    for (size_t c = 0; c < itg_json_length(channels); c++)
        for (int32_t k = 0; k < s->output_count; k++)
            checked += check_output(json, itg_json_at(channels, c), p, s, k, c);
    return checked;
}

static void codes_of_the_certificate_are_those_of_requantization(void **state)
{
    int checked = 0;
    (void)state;
    for (int i = 0; i < NETWORK_COUNT + RANDOM_COUNT; i++) {
        itg_program *p = program_at(i);
        itg_json *json = NULL;
        size_t entry = 0;
        write_certified(p);
        assert_int_equal(itg_json_read(CERTIFICATE, 1 << 26, &json, NULL), ITG_OK);
        const itg_json_value *entries = itg_json_find(itg_json_root(json), "accumulators");
        for (int32_t k = 0; k < p->step_count; k++)
            if (itg_step_has_accumulator(&p->steps[k]))
                checked += check_node(json, itg_json_at(entries, entry++), p, &p->steps[k]);
        assert_int_equal(entry, itg_json_length(entries));
        itg_json_destroy(json);
        itg_program_destroy(p);
    }
    assert_true(checked > 300);
}

/* ---- certificates that are not this artefact's ---- */

static void assert_fails(const char *path, const char *certificate, itg_status expected,
                         const char *part)
{
    itg_verification *v = NULL;
    itg_error err = {ITG_OK, ""};
    assert_int_equal(itg_verify(path, certificate, &v, &err), expected);
    assert_null(v);
    if (strstr(err.message, part) == NULL) fail_msg("'%s' lacks '%s'", err.message, part);
}

static void an_artefact_without_certificate_is_refused(void **state)
{
    (void)state;
    itg_program *p = program_at(0);
    assert_int_equal(itg_artefact_write(p, NULL, 0, OTHER, NULL), ITG_OK);
    remove(OTHER ".cert.json");
    assert_fails(OTHER, NULL, ITG_IO, "no certificate");
    itg_program_destroy(p);
}

static void another_artefacts_certificate_is_named(void **state)
{
    (void)state;
    itg_program *a = program_at(0), *b = program_at(1);
    write_certified(a);
    assert_int_equal(itg_artefact_write(b, NULL, 0, OTHER, NULL), ITG_OK);
    itg_verification *v = verified(OTHER, CERTIFICATE);
    assert_true(itg_verification_problem_count(v) > 0);
    assert_non_null(strstr(itg_verification_problem(v, 0), "for other bytes"));
    itg_verification_destroy(v);
    itg_program_destroy(a);
    itg_program_destroy(b);
}

static void what_is_no_certificate_is_refused(void **state)
{
    (void)state;
    itg_program *p = program_at(0);
    write_certified(p);
    static const char strategy[] = "{\"kind\": \"intaglio-strategy\"}", list[] = "[]", cut[] = "{";
    assert_int_equal(itg_file_write(OTHER, strategy, sizeof strategy - 1, NULL), ITG_OK);
    assert_fails(PATH, OTHER, ITG_BAD_FILE, "no certificate");
    assert_int_equal(itg_file_write(OTHER, list, sizeof list - 1, NULL), ITG_OK);
    assert_fails(PATH, OTHER, ITG_BAD_FILE, "no JSON object");
    assert_int_equal(itg_file_write(OTHER, cut, sizeof cut - 1, NULL), ITG_OK);
    assert_fails(PATH, OTHER, ITG_BAD_FILE, OTHER);
    itg_program_destroy(p);
}

/* ---- 128-bit arithmetic ---- */

static itg_wide drawn(itg_rng *rng, itg_wide *exact_of, int64_t *a, int64_t *b)
{
    *a = (int64_t)(itg_rng_next(rng) >> itg_rng_below(rng, 64));
    *b = (int64_t)(itg_rng_next(rng) >> itg_rng_below(rng, 64));
    if (itg_rng_below(rng, 2)) *a = -*a;
    if (itg_rng_below(rng, 2)) *b = -*b;
    *exact_of = (itg_wide)*a * *b;
    return *exact_of;
}

static void products_round_as_requantization_rounds(void **state)
{
    itg_rng rng;
    (void)state;
    itg_rng_init(&rng, 3);
    for (int i = 0; i < 200000; i++) {
        int64_t a, b;
        itg_wide v;
        drawn(&rng, &v, &a, &b);
        int32_t by = (int32_t)itg_rng_below(&rng, 63);
        itg_rounding rounding = (itg_rounding)itg_rng_below(&rng, ITG_ROUNDING_COUNT);
        assert_int_equal(itg_wide_saturated(itg_wide_round_shift(v, by, rounding)),
                         itg_round_shift_product(a, b, by, rounding));
    }
}

static void sums_carry_and_texts_are_decimal(void **state)
{
    char text[ITG_WIDE_TEXT];
    itg_wide v = (itg_wide)INT64_MIN * INT64_MIN, out;
    (void)state;
    assert_string_equal(itg_wide_text(v, text), "85070591730234615865843651857942052864");
    assert_string_equal(itg_wide_text(-v, text), "-85070591730234615865843651857942052864");
    assert_string_equal(itg_wide_text((itg_wide)-1 + 1, text), "0");
    assert_string_equal(itg_wide_text((itg_wide)INT64_MAX + INT64_MAX, text),
                        "18446744073709551614");
    assert_string_equal(itg_wide_text(INT64_MIN, text), "-9223372036854775808");
    assert_false(itg_wide_shift_left(v, 1, &out));
    assert_true(itg_wide_shift_left(-5, 62, &out));
    assert_string_equal(itg_wide_text(out, text), "-23058430092136939520");
    assert_false(itg_wide_multiply(v, INT64_C(1) << 40, &out));
}

static void widths_are_the_least_that_hold(void **state)
{
    (void)state;
    for (int32_t bits = 2; bits <= 62; bits++) {
        int64_t end = INT64_C(1) << (bits - 1);
        assert_int_equal(itg_span_bits(itg_span_of(-end, end - 1)), bits);
        assert_int_equal(itg_span_bits(itg_span_of(-end - 1, 0)), bits + 1);
        assert_int_equal(itg_span_bits(itg_span_of(0, end)), bits + 1);
    }
    assert_int_equal(itg_span_bits(itg_span_of(0, 0)), 1);
    itg_span huge = itg_span_product(INT64_MIN / 2, INT64_MAX / 2, INT64_MIN / 2, INT64_MAX / 2);
    assert_false(itg_span_fits(huge, 64));
    assert_int_equal(itg_wide_saturated(itg_span_saturated(huge, 64).lo), INT64_MIN);
    assert_int_equal(itg_wide_saturated(itg_span_saturated(huge, 16).hi), INT16_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_program_is_verified_with_its_own_bounds),
        cmocka_unit_test(codes_of_the_certificate_are_those_of_requantization),
        cmocka_unit_test(an_artefact_without_certificate_is_refused),
        cmocka_unit_test(another_artefacts_certificate_is_named),
        cmocka_unit_test(what_is_no_certificate_is_refused),
        cmocka_unit_test(products_round_as_requantization_rounds),
        cmocka_unit_test(sums_carry_and_texts_are_decimal),
        cmocka_unit_test(widths_are_the_least_that_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
