/* The loop over samples: order, counts, digest (docs/arithmetic.md 8), threads, failures; and
 * simulation through the public interface. */
#include "tests/labels.h"
#include "case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sim/evaluate.h"

enum { SAMPLES = 150, ELEMENTS = 4 };

/* ---- a backend of its own: three outputs that are simple functions of the input ---- */

typedef struct fake {
    int64_t fails_at; /* the sample whose run fails; -1: none */
    bool fails_to_create;
    int inputs;
} fake;

typedef struct fake_instance {
    const fake *context;
    float x[ELEMENTS];
    int16_t codes[3];
    float reals[2];
    int64_t index;
} fake_instance;

static itg_status fake_create(const void *context, void **instance, itg_error *err)
{
    const fake *f = context;
    if (f->fails_to_create) return itg_fail(err, ITG_UNSUPPORTED, "no instance");
    fake_instance *made = calloc(1, sizeof *made);
    assert_non_null(made);
    made->context = f;
    *instance = made;
    return ITG_OK;
}

static void fake_destroy(void *instance)
{
    free(instance);
}

static void compute(const float *x, int16_t *codes, float *reals, int64_t *index)
{
    for (int i = 0; i < 3; i++)
        codes[i] = (int16_t)(x[i] * 100);
    reals[0] = x[0] + x[3];
    reals[1] = x[1] * x[2];
    *index = (int64_t)(x[0] * 1000) - 3000000000;
}

static itg_status fake_run(void *instance, const itg_sample_source *source, int64_t first,
                           int64_t count, itg_error *err)
{
    fake_instance *f = instance;
    assert_int_equal(count, 1);
    itg_status status = source->fill(source->context, 0, first, f->x, err);
    if (status != ITG_OK) return status;
    int64_t sample = (int64_t)(f->x[3] * 1000 + 0.5f);
    if (sample == f->context->fails_at || sample == f->context->fails_at + 7)
        return itg_fail(err, ITG_FAILURE, "sample %d fails", (int)sample);
    compute(f->x, f->codes, f->reals, &f->index);
    return ITG_OK;
}

static itg_tensor fake_output(const void *instance, int32_t index, int64_t k)
{
    assert_int_equal(k, 0);
    fake_instance *f = (fake_instance *)(uintptr_t)instance;
    switch (index) {
    case 0:
        return (itg_tensor){ITG_S16, {2, {1, 3}}, f->codes};
    case 1:
        return (itg_tensor){ITG_F32, {1, {2}}, f->reals};
    default:
        return (itg_tensor){ITG_S64, {1, {1}}, &f->index};
    }
}

static const float fake_scale = 0.0125f;
static const itg_quantizer fake_quantizers[] = {{.bits = 16,
                                                 .is_signed = true,
                                                 .storage = ITG_S16,
                                                 .qmin = -32768,
                                                 .qmax = 32767,
                                                 .zero_point = -3,
                                                 .axis = -1,
                                                 .scale_count = 1,
                                                 .scale = &fake_scale}};

static const itg_quantizer *fake_quantizer(const void *context, int32_t index)
{
    (void)context;
    return index == 0 ? fake_quantizers : NULL;
}

static itg_tensor fake_input(const void *context, int32_t index, const char **name)
{
    static const char *const names[] = {"x", "y"};
    (void)context;
    *name = names[index];
    return (itg_tensor){ITG_F32, {2, {1, ELEMENTS}}, NULL};
}

static itg_backend fake_backend(const fake *f)
{
    return (itg_backend){.context = f,
                         .inputs = {NULL, f->inputs, fake_input},
                         .output_count = 3,
                         .block = 1,
                         .create = fake_create,
                         .destroy = fake_destroy,
                         .run = fake_run,
                         .output = fake_output,
                         .quantizer = fake_quantizer};
}

static float elements[SAMPLES * ELEMENTS];
static char path[] = "data.npy";

static itg_dataset samples(int64_t count)
{
    itg_rng rng;
    itg_rng_init(&rng, 3);
    for (int i = 0; i < SAMPLES * ELEMENTS; i++)
        elements[i] = (float)random_real(&rng, -1, 1);
    for (int i = 0; i < SAMPLES; i++)
        elements[i * ELEMENTS + 3] = (float)i / 1000; /* its number */
    return (itg_dataset){
        .dtype = ITG_F32, .shape = {2, {count, ELEMENTS}}, .data = elements, .path = path};
}

static void add_bytes(itg_sha256 *hash, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)(v >> (8 * i));
        itg_sha256_update(hash, &byte, 1);
    }
}

typedef struct expectation {
    unsigned char digest[32];
    int64_t classes[SAMPLES], labels[SAMPLES], others[SAMPLES], correct, agreeing;
} expectation;

static void expect(expectation *e, int64_t count)
{
    itg_sha256 hash;
    itg_sha256_init(&hash);
    e->correct = e->agreeing = 0;
    for (int64_t i = 0; i < count; i++) {
        int16_t codes[3];
        float reals[2];
        int64_t index;
        uint32_t bits;
        compute(elements + i * ELEMENTS, codes, reals, &index);
        for (int k = 0; k < 3; k++)
            add_bytes(&hash, (uint64_t)(int64_t)codes[k], 2);
        for (int k = 0; k < 2; k++) {
            memcpy(&bits, &reals[k], 4);
            add_bytes(&hash, bits, 4);
        }
        add_bytes(&hash, (uint64_t)index, 8);
        e->classes[i] = codes[1] > codes[0]   ? (codes[2] > codes[1] ? 2 : 1)
                        : codes[2] > codes[0] ? 2
                                              : 0;
        e->labels[i] = i % 3;
        e->others[i] = i % 5 ? e->classes[i] : -1;
        e->correct += e->labels[i] == e->classes[i];
        e->agreeing += i % 5 != 0;
    }
    itg_sha256_final(&hash, e->digest);
}

typedef struct seen {
    int64_t next, fails_at;
} seen;

static itg_status sink(void *context, int64_t sample, const itg_tensor *outputs, int32_t count,
                       itg_error *err)
{
    seen *s = context;
    int16_t codes[3];
    float reals[2];
    int64_t index;
    assert_int_equal(sample, s->next++);
    assert_int_equal(count, 3);
    compute(elements + sample * ELEMENTS, codes, reals, &index);
    assert_memory_equal(outputs[0].data, codes, sizeof codes);
    assert_memory_equal(outputs[1].data, reals, sizeof reals);
    assert_memory_equal(outputs[2].data, &index, sizeof index);
    return sample == s->fails_at ? itg_fail(err, ITG_IO, "the sink is full") : ITG_OK;
}

static void order_counts_and_digest_on_any_number_of_threads(void **state)
{
    static const int threads[] = {1, 2, 3, 4, 0};
    static const int64_t counts[] = {SAMPLES, 1, 16, 17, 0};
    static expectation e;
    fake f = {.fails_at = -100, .inputs = 1};
    itg_backend backend = fake_backend(&f);
    itg_preprocess p = itg_preprocess_default();
    (void)state;
    for (int n = 0; n < 5; n++)
        for (int t = 0; t < 5; t++) {
            itg_dataset data = samples(counts[n]), labels = labels_of(e.labels, counts[n]);
            seen s = {.fails_at = -1};
            itg_evaluation out = {0};
            itg_error err = {0};
            expect(&e, counts[n]);
            itg_evaluate_options options = {.data = &data,
                                            .preprocess = &p,
                                            .labels = &labels,
                                            .float_classes = e.others,
                                            .threads = threads[t],
                                            .sink = sink,
                                            .sink_context = &s};
            if (counts[n] == 0) options.sink = NULL;
            if (itg_evaluate(&backend, &options, &out, &err) != ITG_OK) fail_msg("%s", err.message);
            assert_int_equal(out.samples, counts[n]);
            assert_int_equal(out.hits[ITG_METRIC_TOP1], e.correct);
            assert_int_equal(out.hits[ITG_METRIC_AGREEMENT], e.agreeing);
            assert_memory_equal(out.digest, e.digest, 32);
            assert_memory_equal(out.classes, e.classes, sizeof(int64_t) * (size_t)counts[n]);
            if (counts[n]) assert_int_equal(s.next, counts[n]);
            itg_evaluation_deinit(&out);
            options =
                (itg_evaluate_options){.data = &data, .preprocess = &p, .threads = threads[t]};
            assert_int_equal(itg_evaluate(&backend, &options, &out, &err), ITG_OK);
            if (counts[n])
                assert_true(out.hits[ITG_METRIC_TOP1] == -1 &&
                            out.hits[ITG_METRIC_AGREEMENT] == -1);
            assert_true(isnan(out.distortion));
            itg_evaluation_deinit(&out);
        }
}

/* ---- the distance from the float network ---- */

/* The float network of these tests: five floats a sample. */
static float wanted(int64_t sample, int i)
{
    return (float)((sample * 7 + i * 3) % 11) / 8 - 0.5f;
}

/* The definition: each output's error as a share of its own power, and their mean. */
static double distortion_by_hand(itg_reference *reference)
{
    double distance[2] = {0};
    for (int64_t s = 0; s < SAMPLES; s++) {
        int16_t codes[3];
        float reals[2];
        int64_t index;
        double own_distance[2] = {0}, own_power[2] = {0};
        compute(elements + s * ELEMENTS, codes, reals, &index);
        for (int i = 0; i < 5; i++) {
            double x = i < 3 ? (double)fake_scale * (codes[i] + 3) : (double)reals[i - 3],
                   w = (double)(reference->values[s * 5 + i] = wanted(s, i));
            own_distance[i >= 3] += (x - w) * (x - w);
            own_power[i >= 3] += w * w;
        }
        for (int o = 0; o < 2; o++) {
            distance[o] += own_distance[o];
            reference->power[o] += own_power[o];
        }
    }
    return (distance[0] / reference->power[0] + distance[1] / reference->power[1]) / 2;
}

static void distortion_adds_samples_in_order_on_any_number_of_threads(void **state)
{
    static float values[SAMPLES * 5];
    double power[2] = {0};
    fake f = {.fails_at = -100, .inputs = 1};
    itg_backend backend = fake_backend(&f);
    itg_dataset data = samples(SAMPLES);
    itg_preprocess p = itg_preprocess_default();
    itg_reference reference = {SAMPLES, 5, 2, power, values, backend};
    (void)state;
    backend.output_count = 2;
    double by_hand = distortion_by_hand(&reference);
    for (int threads = 1; threads <= 4; threads++) {
        itg_evaluate_options options = {
            .data = &data, .preprocess = &p, .threads = threads, .reference = &reference};
        itg_evaluation out = {0};
        assert_int_equal(itg_evaluate(&backend, &options, &out, NULL), ITG_OK);
        assert_true(out.distortion == by_hand);
        itg_evaluation_deinit(&out);
    }
}

static double distortion_with(const itg_backend *backend, const itg_reference *reference)
{
    itg_dataset data = samples(SAMPLES);
    itg_preprocess p = itg_preprocess_default();
    itg_evaluate_options options = {
        .data = &data, .preprocess = &p, .threads = 2, .reference = reference};
    itg_evaluation out = {0};
    assert_int_equal(itg_evaluate(backend, &options, &out, NULL), ITG_OK);
    itg_evaluation_deinit(&out);
    return out.distortion;
}

/* Scale and size of an output do not matter; one that is all zeros is right or wrong. */
static void each_output_counts_alike(void **state)
{
    static float values[SAMPLES * 5];
    double power[2] = {0};
    fake f = {.fails_at = -100, .inputs = 1};
    itg_backend backend = fake_backend(&f);
    itg_reference reference = {SAMPLES, 5, 2, power, values, backend};
    (void)state;
    backend.output_count = 2;
    samples(SAMPLES);
    for (int64_t i = 0; i < SAMPLES; i++) { /* the reals are right, of the codes none is anything */
        int16_t codes[3];
        int64_t index;
        compute(elements + i * ELEMENTS, codes, values + 5 * i + 3, &index);
        for (int k = 0; k < 3; k++)
            values[5 * i + k] = 0;
    }
    power[1] = 1e-30;
    assert_true(distortion_with(&backend, &reference) == 0.5);
    power[1] = 0; /* zeros that were not met, but for those that are equal */
    assert_true(distortion_with(&backend, &reference) == 0.5);
    power[0] = 1e30;
    assert_true(distortion_with(&backend, &reference) < 1e-20);
}

static void outputs_are_kept_as_the_reference(void **state)
{
    fake f = {.fails_at = -100, .inputs = 1};
    itg_backend backend = fake_backend(&f);
    itg_dataset data = samples(SAMPLES);
    itg_preprocess p = itg_preprocess_default();
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        itg_reference kept = {0};
        itg_evaluate_options options = {
            .data = &data, .preprocess = &p, .threads = threads, .keep = &kept};
        itg_evaluation out = {0};
        backend.output_count = 2;
        assert_int_equal(itg_evaluate(&backend, &options, &out, NULL), ITG_OK);
        itg_evaluation_deinit(&out);
        assert_true(kept.samples == SAMPLES && kept.elements == 5);
        assert_true(kept.output_count == 2 && kept.power[0] > 0 && kept.power[1] > 0);
        options.reference = &kept;
        options.keep = NULL;
        assert_int_equal(itg_evaluate(&backend, &options, &out, NULL), ITG_OK);
        /* Codes are kept as float32: their dequantized values are rounded once. */
        assert_true(out.distortion >= 0 && out.distortion < 1e-12);
        itg_evaluation_deinit(&out);
        itg_reference_deinit(&kept);
        assert_null(kept.values);
        /* A class is right or wrong, however far it is away. */
        backend.output_count = 3;
        options.keep = &kept;
        options.reference = NULL;
        assert_int_equal(itg_evaluate(&backend, &options, &out, NULL), ITG_OK);
        itg_evaluation_deinit(&out);
        assert_true(kept.elements == 6 && kept.power[2] == SAMPLES);
        kept.values[6 * 40 + 5] += 1e6f;
        kept.values[6 * 90 + 5] -= 1e3f;
        assert_true(fabs(distortion_with(&backend, &kept) - 2.0 / SAMPLES / 3) < 1e-12);
        itg_reference_deinit(&kept);
        options.keep = &kept;
        /* Nothing is left of a run that failed. */
        backend.output_count = 2;
        f.fails_at = 100;
        assert_int_equal(itg_evaluate(&backend, &options, &out, NULL), ITG_FAILURE);
        assert_null(kept.values);
        f.fails_at = -100;
    }
}

/* ---- outputs of a megabyte a sample ---- */

enum { WIDE = 1 << 18 };

static float wide[WIDE];

static itg_tensor wide_output(const void *instance, int32_t index, int64_t k)
{
    (void)k;
    (void)instance;
    (void)index;
    return (itg_tensor){ITG_F32, {1, {WIDE}}, wide};
}

static itg_tensor square_output(const void *instance, int32_t index, int64_t k)
{
    (void)k;
    (void)instance;
    (void)index;
    return (itg_tensor){ITG_F32, {3, {1, 8, 8}}, wide};
}

static const itg_quantizer *wide_quantizer(const void *context, int32_t index)
{
    (void)context;
    (void)index;
    return NULL;
}

static void more_than_64_mib_and_what_is_not_finite_are_not_kept(void **state)
{
    fake f = {.fails_at = -100, .inputs = 1};
    itg_backend backend = fake_backend(&f);
    itg_preprocess p = itg_preprocess_default();
    (void)state;
    backend.output_count = 1;
    backend.output = wide_output;
    backend.quantizer = wide_quantizer;
    for (int64_t count = 63; count <= 65; count++) {
        wide[100] = count == 63 ? INFINITY : 1;
        itg_dataset data = samples(count);
        itg_reference kept = {0};
        itg_evaluate_options options = {
            .data = &data, .preprocess = &p, .threads = 1, .keep = &kept};
        itg_evaluation out = {0};
        assert_int_equal(itg_evaluate(&backend, &options, &out, NULL), ITG_OK);
        assert_true((kept.values != NULL) == (count == 64));
        assert_true((kept.elements == 0) == (count == 63));
        itg_evaluation_deinit(&out);
        options.reference = &kept;
        options.keep = NULL;
        assert_int_equal(itg_evaluate(&backend, &options, &out, NULL), ITG_OK);
        assert_true(count == 63 ? isnan(out.distortion) : out.distortion == 0);
        itg_reference_deinit(&kept);
        itg_evaluation_deinit(&out);
    }
}

/* What is too large to be kept is computed again, sample by sample: the same distances. */
static void outputs_that_are_not_kept_are_computed_again(void **state)
{
    fake f = {.fails_at = -100, .inputs = 1}, broken = {.fails_at = -100, .inputs = 1};
    itg_backend backend = fake_backend(&f);
    itg_dataset data = samples(SAMPLES);
    itg_preprocess p = itg_preprocess_default(), other = {.scale = 1.01f};
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        itg_reference kept = {0};
        itg_evaluate_options options = {
            .data = &data, .preprocess = &p, .threads = threads, .keep = &kept};
        itg_evaluation out = {0};
        assert_int_equal(itg_evaluate(&backend, &options, &out, NULL), ITG_OK);
        itg_evaluation_deinit(&out);
        /* The same backend on other samples is a network that is a little wrong. */
        for (int64_t i = 0; i < SAMPLES * 6; i++)
            kept.values[i] *= i % 6 < 5 ? 1.01f : 1;
        double with_values = distortion_with(&backend, &kept);
        assert_true(with_values > 0 && with_values < 1e-3);
        free(kept.values);
        kept.values = NULL;
        double again = distortion_with(&backend, &kept);
        assert_true(again >= 0 && again < 1e-12);
        options.reference = &kept;
        options.keep = NULL;
        options.preprocess = &other;
        assert_int_equal(itg_evaluate(&backend, &options, &out, NULL), ITG_OK);
        assert_true(out.distortion >= 0 && out.distortion < 1e-12); /* both see what is told */
        itg_evaluation_deinit(&out);
        /* A network that fails says so. */
        kept.backend.context = &broken;
        broken.fails_to_create = true;
        options.preprocess = &p;
        assert_int_equal(itg_evaluate(&backend, &options, &out, NULL), ITG_UNSUPPORTED);
        broken.fails_to_create = false;
        broken.fails_at = 20;
        assert_int_equal(itg_evaluate(&backend, &options, &out, NULL), ITG_FAILURE);
        broken.fails_at = -100;
        itg_reference_deinit(&kept);
    }
}

/* ---- what is a class ---- */

static void classes_have_one_axis_to_themselves(void **state)
{
    static const struct {
        itg_dtype dtype;
        itg_shape shape;
        bool has;
    } cases[] = {{ITG_F32, {2, {1, 10}}, true},
                 {ITG_S8, {4, {1, 10, 1, 1}}, true},
                 {ITG_F32, {1, {2}}, true},
                 {ITG_F32, {4, {1, 1, 1, 7}}, true},
                 {ITG_F32, {2, {1, 1}}, false},
                 {ITG_F32, {0}, false},
                 {ITG_F32, {4, {1, 1, 8, 8}}, false},
                 {ITG_F32, {3, {1, 4420, 2}}, false},
                 {ITG_S64, {1, {1}}, true},
                 {ITG_S64, {0}, true},
                 {ITG_S64, {3, {1, 8, 8}}, false},
                 {ITG_S32, {2, {4, 10}}, false},
                 {ITG_U8, {1, {1}}, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(itg_has_classes(cases[i].dtype, &cases[i].shape), cases[i].has);
}

static void labels_without_classes_are_refused(void **state)
{
    fake f = {.fails_at = -100, .inputs = 1};
    itg_backend backend = fake_backend(&f);
    itg_dataset data = samples(3);
    itg_preprocess p = itg_preprocess_default();
    const int64_t classes[3] = {0};
    const itg_dataset labels = labels_of(classes, 3);
    itg_evaluate_options options = {
        .data = &data, .preprocess = &p, .threads = 1, .labels = &labels};
    itg_evaluation out = {0};
    itg_error err = {0};
    (void)state;
    backend.output_count = 1;
    backend.output = square_output;
    backend.quantizer = wide_quantizer;
    assert_int_equal(itg_evaluate(&backend, &options, &out, &err), ITG_MISMATCH);
    assert_non_null(strstr(err.message, "no axis of classes"));
    options.labels = NULL;
    assert_int_equal(itg_evaluate(&backend, &options, &out, &err), ITG_OK);
    itg_evaluation_deinit(&out);
}

static void failures_are_the_first_by_sample_and_leave_the_output_alone(void **state)
{
    fake f = {.fails_at = 90, .inputs = 1};
    itg_backend backend = fake_backend(&f);
    itg_dataset data = samples(SAMPLES);
    itg_preprocess p = itg_preprocess_default();
    itg_evaluation out = {.samples = 42};
    itg_error err = {0};
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        itg_evaluate_options options = {.data = &data, .preprocess = &p, .threads = threads};
        assert_int_equal(itg_evaluate(&backend, &options, &out, &err), ITG_FAILURE);
        assert_string_equal(err.message, "data.npy: sample 90: sample 90 fails");
    }
    f.fails_at = -100;
    f.fails_to_create = true;
    itg_evaluate_options options = {.data = &data, .preprocess = &p, .threads = 2};
    assert_int_equal(itg_evaluate(&backend, &options, &out, &err), ITG_UNSUPPORTED);
    f.fails_to_create = false;
    seen s = {.fails_at = 30};
    options.sink = sink;
    options.sink_context = &s;
    assert_int_equal(itg_evaluate(&backend, &options, &out, &err), ITG_IO);
    assert_int_equal(s.next, 31);
    options.sink = NULL;
    data.shape.dims[1] = 3; /* 3 elements for an input of 4 */
    assert_int_not_equal(itg_evaluate(&backend, &options, &out, &err), ITG_OK);
    data.shape.dims[1] = ELEMENTS;
    f.inputs = 2;
    backend = fake_backend(&f);
    assert_int_equal(itg_evaluate(&backend, &options, &out, &err), ITG_MISMATCH);
    assert_string_equal(err.message,
                        "data.npy: expected an .npz file with one array for each input, or "
                        "INPUT=FILE,INPUT=FILE; the model's inputs are: x f32 [1,4], y f32 [1,4]");
    assert_int_equal(out.samples, 42);
}

/* ---- classes ---- */

static int64_t class_of(itg_dtype dtype, int64_t count, const void *data)
{
    itg_tensor t = {dtype, {2, {1, count}}, (void *)(uintptr_t)data};
    return itg_class_of(&t);
}

static void the_class_is_the_first_largest_element(void **state)
{
    static const int8_t s8[] = {-128, -1, 5, 5};
    static const uint8_t u8[] = {1, 200, 200, 7};
    static const int16_t s16[] = {-300, -200, -200, -400};
    static const uint16_t u16[] = {0, 65535, 1, 65535};
    static const int32_t s32[] = {INT32_MIN, 0, -1, 0};
    static const uint32_t u32[] = {0, 1, UINT32_MAX, 1};
    static const int64_t s64[] = {INT64_MIN, 3, INT64_MAX, INT64_MAX};
    static const float f32[] = {-INFINITY, -0.0f, 0.0f, -1}, nans[] = {1, NAN, 3, NAN},
                       nan_first[] = {NAN, 1, 2, 3};
    static const double f64[] = {1, 1.5, 1.25, 1.5};
    (void)state;
    assert_int_equal(class_of(ITG_S8, 4, s8), 2);
    assert_int_equal(class_of(ITG_U8, 4, u8), 1);
    assert_int_equal(class_of(ITG_BOOL, 4, u8), 1);
    assert_int_equal(class_of(ITG_S16, 4, s16), 1);
    assert_int_equal(class_of(ITG_U16, 4, u16), 1);
    assert_int_equal(class_of(ITG_S32, 4, s32), 1);
    assert_int_equal(class_of(ITG_U32, 4, u32), 2);
    assert_int_equal(class_of(ITG_S64, 4, s64), 2);
    assert_int_equal(class_of(ITG_S64, 1, s64 + 1), 3); /* a class already */
    assert_int_equal(class_of(ITG_F32, 4, f32), 1);
    assert_int_equal(class_of(ITG_F32, 4, nans), 2); /* a NaN is greater than nothing */
    assert_int_equal(class_of(ITG_F32, 4, nan_first), 0);
    assert_int_equal(class_of(ITG_F64, 4, f64), 1);
    assert_int_equal(class_of(ITG_F32, 1, f32), 0);
    assert_int_equal(class_of(ITG_F32, 0, f32), -1);
}

/* ---- the example model ---- */

typedef struct example {
    itg_model *model;
    itg_hardware *hw;
    itg_dataset *data;
    itg_dataset *labels;
    itg_stats *stats;
    itg_preprocess p;
    itg_strategy_file *file;
} example;

static void open_example(example *e, const char *hardware)
{
    itg_uniform_options options = {ITG_UNIFORM_OPTIONS_VERSION, 8, 8, ITG_THRESHOLD_MSE,
                                   ITG_THRESHOLD_MAX,           0, 0};
    itg_error err = {0};
    memset(e, 0, sizeof *e);
    e->p = itg_preprocess_default();
    e->p.scale = 1.0f / 255;
    if (itg_model_open("examples/digits.onnx", NULL, &e->model, &err) != ITG_OK ||
        itg_hardware_load(hardware, &e->hw, &err) != ITG_OK ||
        itg_data_open("examples/digits_test_images.npy", 100, &e->data, &err) != ITG_OK ||
        itg_data_open("examples/digits_test_labels.npy", 100, &e->labels, &err) != ITG_OK ||
        itg_calibrate_model(e->model, e->data, &e->p, 1, &e->stats, &err) != ITG_OK ||
        itg_uniform_strategy(e->model, e->hw, &e->p, e->stats, e->data, &options, &e->file, &err) !=
            ITG_OK)
        fail_msg("%s", err.message);
}

static void close_example(example *e)
{
    itg_strategy_close(e->file);
    itg_stats_destroy(e->stats);
    itg_data_close(e->labels);
    itg_data_close(e->data);
    itg_hardware_destroy(e->hw);
    itg_model_close(e->model);
}

/* Class and digest of every sample by instances of one's own. */
static void by_hand(const example *e, const itg_annotated *a, unsigned char digest[32],
                    int64_t *correct)
{
    itg_sim *sim = NULL;
    itg_sha256 hash;
    const itg_shape *shape = itg_model_input_shape(e->model, 0);
    itg_sha256_init(&hash);
    *correct = 0;
    assert_int_equal(itg_sim_create(a, &sim, NULL), ITG_OK);
    for (int64_t i = 0; i < 100; i++) {
        const itg_tensor input = {ITG_F32, *shape, itg_sim_input(sim, 0)};
        assert_int_equal(itg_preprocess_sample(&e->p, e->data, i, &input, NULL), ITG_OK);
        assert_int_equal(itg_sim_run(sim, NULL), ITG_OK);
        const itg_quantizer *q = NULL;
        itg_tensor t = itg_sim_output(sim, 0, &q);
        int64_t best = 0, codes[10];
        assert_int_equal(t.dtype, ITG_U8);
        for (int k = 0; k < 10; k++)
            codes[k] = ((const uint8_t *)t.data)[k];
        for (int k = 1; k < 10; k++)
            if (codes[k] > codes[best]) best = k;
        for (int k = 0; k < 10; k++)
            add_bytes(&hash, (uint64_t)codes[k], 1);
        int64_t label = -1;
        assert_true(itg_dataset_integer(e->labels, i, &label));
        *correct += best == label;
    }
    itg_sha256_final(&hash, digest);
    itg_sim_destroy(sim);
}

static void simulation_of_the_example_on_any_number_of_threads(void **state)
{
    static const int threads[] = {1, 2, 4};
    example e;
    itg_annotated *a = NULL;
    unsigned char digest[32];
    int64_t correct;
    (void)state;
    open_example(&e, "x86-vnni");
    assert_int_equal(itg_annotate_strategy(e.model, e.file, &a, NULL), ITG_OK);
    by_hand(&e, a, digest, &correct);
    for (int i = 0; i < 3; i++) {
        itg_score score = {0};
        itg_error err = {0};
        const itg_simulate_options all = {ITG_SIMULATE_OPTIONS_VERSION, .labels = e.labels,
                                          .with_agreement = true, .threads = threads[i]},
                                   none = {ITG_SIMULATE_OPTIONS_VERSION, .threads = threads[i]};
        if (itg_simulate(e.model, e.file, e.data, &all, &score, &err) != ITG_OK)
            fail_msg("%s", err.message);
        assert_memory_equal(score.digest, digest, 32);
        assert_int_equal(score.samples, 100);
        assert_true(score.value[ITG_METRIC_TOP1] == (double)correct / 100 &&
                    score.value[ITG_METRIC_TOP1] > 0.85);
        assert_true(score.value[ITG_METRIC_AGREEMENT] > 0.9 &&
                    score.value[ITG_METRIC_AGREEMENT] <= 1);
        assert_true(score.value[ITG_METRIC_WEIGHT_BYTES] > 0 &&
                    score.value[ITG_METRIC_PARAMETER_BYTES] >
                        score.value[ITG_METRIC_WEIGHT_BYTES] &&
                    score.value[ITG_METRIC_AVERAGE_WEIGHT_BITS] == 8);
        assert_int_equal(itg_simulate(e.model, e.file, e.data, &none, &score, &err), ITG_OK);
        assert_true(isnan(score.value[ITG_METRIC_TOP1]) &&
                    isnan(score.value[ITG_METRIC_AGREEMENT]));
    }
    itg_annotated_destroy(a);
    close_example(&e);
}

static void hardware_that_is_all_float_scores_the_float_model(void **state)
{
    example e;
    itg_score score = {0}, again = {0};
    (void)state;
    open_example(&e, "float");
    const itg_simulate_options one = {ITG_SIMULATE_OPTIONS_VERSION, .labels = e.labels,
                                      .with_agreement = true, .threads = 1},
                               three = {ITG_SIMULATE_OPTIONS_VERSION, .labels = e.labels,
                                        .with_agreement = true, .threads = 3};
    assert_int_equal(itg_simulate(e.model, e.file, e.data, &one, &score, NULL), ITG_OK);
    assert_int_equal(itg_simulate(e.model, e.file, e.data, &three, &again, NULL), ITG_OK);
    assert_true(score.value[ITG_METRIC_AGREEMENT] == 1 && score.value[ITG_METRIC_TOP1] > 0.9 &&
                isnan(score.value[ITG_METRIC_WEIGHT_BYTES]));
    assert_memory_equal(score.digest, again.digest, 32);
    close_example(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_counts_and_digest_on_any_number_of_threads),
        cmocka_unit_test(distortion_adds_samples_in_order_on_any_number_of_threads),
        cmocka_unit_test(each_output_counts_alike),
        cmocka_unit_test(outputs_that_are_not_kept_are_computed_again),
        cmocka_unit_test(classes_have_one_axis_to_themselves),
        cmocka_unit_test(labels_without_classes_are_refused),
        cmocka_unit_test(outputs_are_kept_as_the_reference),
        cmocka_unit_test(more_than_64_mib_and_what_is_not_finite_are_not_kept),
        cmocka_unit_test(failures_are_the_first_by_sample_and_leave_the_output_alone),
        cmocka_unit_test(the_class_is_the_first_largest_element),
        cmocka_unit_test(simulation_of_the_example_on_any_number_of_threads),
        cmocka_unit_test(hardware_that_is_all_float_scores_the_float_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
