/* What kernel sets promise beyond right results: sets that this processor has are proven and used,
 * common forms have fast lanes, and the proof sees whatever may be wrong. */
#include "accel_cases.h"
#include "kernels/accel_parts.h"
#if defined(ITG_ACCEL_X86)
#include <cpuid.h>
#endif

/* ---- sets of this processor ---- */

#if defined(ITG_ACCEL_X86)
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

static bool has_avxvnni(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
           (a & 1U << 4) != 0;
}
#endif

/* A set that is wrong would be left out in silence. */
static void sets_that_the_processor_has_are_proven(void **state)
{
    (void)state;
    const itg_accel_kernels *kernels = NULL;
    const char *last = "portable";
    assert_int_equal(itg_accel_choose("portable", &kernels, NULL), ITG_OK);
    const struct {
        const char *name;
        bool has, counts;
    } sets[] = {
#if defined(ITG_ACCEL_X86)
        {"avx2", __builtin_cpu_supports("avx2"), true},
        {"avx512", has_avx512(), true},
        {"avxvnni", has_avxvnni(), true},
        {"vnni", has_avx512() && __builtin_cpu_supports("avx512vnni"), true},
#elif defined(ITG_ACCEL_NEON)
        {"neon", true, false},
        {"dotprod", itg_accel_has_dotprod(), true},
        {"i8mm", itg_accel_has_i8mm(), true},
#endif
        {NULL, false, false}
    };
    for (int i = 0; sets[i].name; i++) {
        assert_int_equal(itg_accel_choose(sets[i].name, &kernels, NULL),
                         sets[i].has ? ITG_OK : ITG_UNSUPPORTED);
        if (!sets[i].has) continue;
        last = sets[i].name;
        assert_string_equal(itg_accel_name(kernels), last);
        assert_true(itg_accel_peak(kernels, 3) == 3 * itg_accel_peak(kernels, 1));
        assert_true((itg_accel_peak(kernels, 1) > 0) == sets[i].counts);
    }
#if defined(ITG_ACCEL_X86)
    if (itg_accel_choose("amx", &kernels, NULL) == ITG_OK) last = "amx";
#endif
    assert_int_equal(itg_accel_choose(NULL, &kernels, NULL), ITG_OK);
    assert_string_equal(itg_accel_name(kernels), last);
    assert_int_equal(itg_accel_peak(&itg_accel_portable, 3), 0);
}

/* ---- fast lanes ---- */

/* The forms that most targets use have the fewest operations: fused constants where 32-bit sums
 * become bytes; not where a rounding has no constant part, or codes are wide. */
static void forms_of_bytes_are_fused(void **state)
{
    (void)state;
    static const struct {
        itg_requant_form form;
        itg_dtype storage;
        bool bytes, addend, doubling, tame;
    } cases[] = {
        {ITG_REQUANT_TFLITE_DOUBLE, ITG_S8, true, true, true, false},
        {ITG_REQUANT_TFLITE_DOUBLE, ITG_U8, true, true, true, false},
        {ITG_REQUANT_TFLITE_DOUBLE, ITG_S16, false, false, false, false},
        {ITG_REQUANT_F32, ITG_S8, true, false, false, true},
        {ITG_REQUANT_F32, ITG_S16, false, false, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const itg_requant_spec spec = {.form = cases[i].form};
        itg_requant r;
        assert_int_equal(itg_requant_derive(&spec, 1.0 / 5000, 1.0F / 5000, 40000000, &r), ITG_OK);
        const itg_epilogue e = {.storage = cases[i].storage,
                                .requant = &r,
                                .requant_count = 1,
                                .zero_point = 3,
                                .lo = itg_dtype_min(cases[i].storage),
                                .hi = itg_dtype_max(cases[i].storage)};
        itg_arena *arena = itg_arena_create(0);
        itg_lanes lanes;
        assert_true(itg_lanes_init(&lanes, &e, 5, 40000000, false, arena));
        assert_int_equal(lanes.bytes, cases[i].bytes);
        assert_int_equal(lanes.addend != NULL, cases[i].addend);
        assert_int_equal(lanes.doubling, cases[i].doubling);
        assert_int_equal(lanes.tame, cases[i].tame);
        itg_arena_destroy(arena);
    }
}

/* ---- sums of bytes ---- */

typedef struct byte_sums {
    itg_byte_table table[2];
    int32_t none[ITG_MAX_COLUMNS];
    itg_requant requant;
    itg_epilogue e;
    itg_lanes lanes;
} byte_sums;

static void check_byte_sums(const itg_accel_kernels *kernels, const byte_sums *t, int64_t n,
                            bool subtracts)
{
    guarded a = guard((size_t)n, 1), b = guard((size_t)n, 1), out = guard((size_t)n, 1);
    for (int64_t i = 0; i < n; i++) {
        a.data[i] = (unsigned char)(i * 37 + n);
        b.data[i] = (unsigned char)(255 - i * 11);
    }
    make_read_only(&a);
    make_read_only(&b);
    const itg_byte_sum s = {&t->table[0], &t->table[1], a.data,  b.data,  n,
                            subtracts,    &t->lanes,    t->none, out.data};
    const bool done = kernels->sum_bytes(&s);
#if defined(ITG_ACCEL_X86)
    assert_int_equal(done, has_avx512() && __builtin_cpu_supports("avx512vbmi"));
#endif
    for (int64_t i = 0; i < n && done; i++) {
        const int64_t x = t->table[0].value[a.data[i]], y = t->table[1].value[b.data[i]];
        const int64_t v =
            (int64_t)itg_requant_apply(&t->requant, subtracts ? x - y : x + y) + t->e.zero_point;
        assert_true(itg_load(t->e.storage, out.data, i) == itg_clamp(v, t->e.lo, t->e.hi));
    }
    unguard(&a);
    unguard(&b);
    unguard(&out);
}

/* Also of lengths that are no multiple of any vector's. */
static void sums_of_bytes_stay_within_their_length(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 31, 32, 63, 64, 65, 127, 128, 129, 200};
    static const itg_requant_form forms[] = {ITG_REQUANT_TFLITE_DOUBLE, ITG_REQUANT_F32};
    static byte_sums t;
    for (int f = 0; f < 2; f++) {
        const itg_requant_spec spec = {.form = forms[f]};
        itg_arena *arena = itg_arena_create(0);
        for (int q = 0; q < 256; q++)
            for (int i = 0; i < 2; i++)
                itg_byte_table_set(&t.table[i], (uint8_t)q, (q - 100) * (i ? 31113 : 70001));
        assert_int_equal(itg_requant_derive(&spec, 1.0 / 60000, 1.0F / 60000, 1 << 25, &t.requant),
                         ITG_OK);
        t.e = (itg_epilogue){.storage = f ? ITG_U8 : ITG_S8,
                             .requant = &t.requant,
                             .requant_count = 1,
                             .zero_point = 5,
                             .lo = f ? 1 : -120,
                             .hi = f ? 250 : 127};
        assert_true(itg_lanes_init(&t.lanes, &t.e, ITG_MAX_COLUMNS, 1 << 25, false, arena));
        for (int s = 1; itg_accel_set(s); s++) {
            const itg_accel_kernels *kernels = set_or_skip(itg_accel_set(s));
            for (size_t i = 0; i < 10 && kernels && kernels->sum_bytes; i++)
                check_byte_sums(kernels, &t, lengths[i], i % 2);
        }
        itg_arena_destroy(arena);
    }
}

/* ---- the proof ---- */

typedef bool (*wrong_where)(const itg_lanes_args *a);
static wrong_where wrong;

static bool of_wide_sums(const itg_lanes_args *a)
{
    return !a->acc32;
}
static bool of_sums_that_wrap(const itg_lanes_args *a)
{
    return a->fit > 0;
}
static bool of_wide_sums_that_wrap(const itg_lanes_args *a)
{
    return a->fit > 0 && !a->acc32;
}
static bool of_floats(const itg_lanes_args *a)
{
    return a->lanes->kind == ITG_LANES_DEQUANT;
}
static bool of_ratios(const itg_lanes_args *a)
{
    return a->lanes->kind == ITG_LANES_RATIO;
}
static bool of_stages(const itg_lanes_args *a)
{
    return a->lanes->kind == ITG_LANES_STAGES;
}
static bool of_u8(const itg_lanes_args *a)
{
    return a->lanes->e.storage == ITG_U8;
}
static bool of_s8(const itg_lanes_args *a)
{
    return a->lanes->e.storage == ITG_S8;
}
static bool of_words(const itg_lanes_args *a)
{
    return a->lanes->e.storage == ITG_S16 || a->lanes->e.storage == ITG_U16;
}
static bool of_even(const itg_lanes_args *a)
{
    return a->lanes->kind == ITG_LANES_STAGES && a->lanes->rounding[2] == ITG_ROUND_HALF_EVEN;
}
static bool of_away(const itg_lanes_args *a)
{
    return a->lanes->kind == ITG_LANES_STAGES && a->lanes->rounding[2] == ITG_ROUND_HALF_AWAY;
}
/* Ratios to byte codes: of all codes without a zero point, and of fewer codes. */
static bool of_whole_bytes(const itg_lanes_args *a)
{
    const itg_epilogue *e = &a->lanes->e;
    return a->lanes->kind == ITG_LANES_RATIO && a->lanes->bytes && e->zero_point == 0 &&
           e->lo == itg_dtype_min(e->storage) && e->hi == itg_dtype_max(e->storage);
}
static bool of_fewer_bytes(const itg_lanes_args *a)
{
    const itg_epilogue *e = &a->lanes->e;
    return a->lanes->kind == ITG_LANES_RATIO && a->lanes->bytes &&
           e->lo > itg_dtype_min(e->storage);
}
static bool of_few_columns(const itg_lanes_args *a)
{
    return a->columns < 16;
}
static bool of_all_columns(const itg_lanes_args *a)
{
    return a->columns >= 32;
}
static bool of_one_row(const itg_lanes_args *a)
{
    return a->rows % 2 == 1;
}

/* The first code of the last row is another. */
static void wrong_lanes(const itg_lanes_args *a)
{
    itg_accel_portable.lanes(a);
    if (wrong(a)) {
        const size_t size = itg_dtype_size(a->lanes->e.storage);
        a->out[(size_t)((a->rows - 1) * a->out_stride) * size] ^= 1;
    }
}

static void every_kind_of_lanes_is_proven(void **state)
{
    (void)state;
    static const wrong_where all[] = {
        of_wide_sums,
        of_sums_that_wrap,
        of_wide_sums_that_wrap,
        of_floats,
        of_ratios,
        of_stages,
        of_u8,
        of_s8,
        of_words,
        of_even,
        of_away,
        of_whole_bytes,
        of_fewer_bytes,
        of_few_columns,
        of_all_columns,
        of_one_row,
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        itg_accel_kernels set = itg_accel_portable;
        set.lanes = wrong_lanes;
        wrong = all[i];
        if (itg_accel_proves(&set))
            fail_msg("lanes %d are wrong, and the proof did not see it", (int)i);
    }
}

static int64_t least_steps; /* tiles of fewer are right */

static void wrong_in_the_last_step(const itg_accel_tile *t)
{
    itg_accel_tile shorter = *t;
    if (t->steps >= least_steps) {
        shorter.steps--;
        shorter.depth = shorter.steps * ITG_STEP_DEPTH;
    }
    itg_accel_portable.tile(&shorter);
}

static void wrong_in_the_last_tap(const itg_accel_tile *t)
{
    itg_accel_tile shorter = *t;
    if (t->steps >= least_steps) shorter.steps--;
    itg_accel_portable.depthwise(&shorter);
}

static void the_end_of_the_depth_is_proven(void **state)
{
    (void)state;
    for (least_steps = 1; least_steps <= 3; least_steps++) {
        itg_accel_kernels set = itg_accel_portable;
        set.tile = wrong_in_the_last_step;
        assert_false(itg_accel_proves(&set));
        set = itg_accel_portable;
        set.depthwise = wrong_in_the_last_tap;
        assert_false(itg_accel_proves(&set));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_that_the_processor_has_are_proven),
        cmocka_unit_test(forms_of_bytes_are_fused),
        cmocka_unit_test(sums_of_bytes_stay_within_their_length),
        cmocka_unit_test(every_kind_of_lanes_is_proven),
        cmocka_unit_test(the_end_of_the_depth_is_proven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
