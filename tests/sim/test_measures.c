/* Metrics of a whole set, against scikit-learn's and scipy's values (1.x; computed beforehand) and
 * counts by hand: through the loop over samples, on any number of threads. */
#include "case.h"
#include "sim/evaluate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a network whose output is its input times a factor, in another shape ---- */

typedef struct scaled {
    itg_shape shape; /* [1, ...] */
    float factor;
    bool is_integer; /* the output is int64 */
} scaled;

typedef struct instance {
    const scaled *of;
    float x[64];
    int64_t codes[64];
} instance;

static itg_status create(const void *context, void **out, itg_error *err)
{
    instance *made = calloc(1, sizeof *made);
    (void)err;
    assert_non_null(made);
    made->of = context;
    *out = made;
    return ITG_OK;
}

static itg_status run_sample(void *context, const itg_sample_source *source, int64_t first,
                             int64_t count, itg_error *err)
{
    instance *n = context;
    assert_int_equal(count, 1);
    itg_status status = source->fill(source->context, 0, first, n->x, err);
    for (int i = 0; i < 64; i++) {
        n->x[i] *= n->of->factor;
        n->codes[i] = (int64_t)n->x[i];
    }
    return status;
}

static itg_tensor output(const void *context, int32_t index, int64_t k)
{
    instance *n = (instance *)(uintptr_t)context;
    (void)index;
    (void)k;
    if (n->of->is_integer) return (itg_tensor){ITG_S64, n->of->shape, n->codes};
    return (itg_tensor){ITG_F32, n->of->shape, n->x};
}

static const itg_quantizer *quantizer(const void *context, int32_t index)
{
    (void)context;
    (void)index;
    return NULL;
}

static itg_tensor input(const void *context, int32_t index, const char **name)
{
    const scaled *s = context;
    (void)index;
    *name = "x";
    return (itg_tensor){ITG_F32, s->shape, NULL};
}

static itg_backend backend_of(const scaled *s)
{
    return (itg_backend){.context = s,
                         .inputs = {s, 1, input},
                         .output_count = 1,
                         .block = 1,
                         .create = create,
                         .destroy = free,
                         .run = run_sample,
                         .output = output,
                         .quantizer = quantizer};
}

static char data_path[] = "data.npy", label_path[] = "labels.npy";

static itg_dataset dataset(const float *values, const itg_shape *shape, int64_t samples)
{
    itg_dataset d = {ITG_F32, *shape, (void *)(uintptr_t)values, .path = data_path};
    d.dtype = ITG_F32;
    d.shape.dims[0] = samples;
    return d;
}

/* labels of rank 1 and more; the first axis is that of the samples. */
static itg_dataset labels_as(itg_dtype dtype, const void *labels, itg_shape shape)
{
    return (itg_dataset){
        .dtype = dtype, .shape = shape, .data = (void *)(uintptr_t)labels, .path = label_path};
}

typedef struct judged {
    scaled network;
    const float *x;
    int64_t samples;
    const itg_dataset *labels;
    const itg_reference *reference;
    const int64_t *order;
    bool probabilities;
} judged;

static itg_status try_judge(const judged *j, int threads, itg_score *out, itg_error *err)
{
    bool all[ITG_METRIC_COUNT];
    itg_backend backend = backend_of(&j->network);
    itg_dataset data = dataset(j->x, &j->network.shape, j->samples);
    itg_preprocess p = itg_preprocess_default();
    itg_evaluation e = {0};
    memset(all, true, sizeof all);
    const itg_evaluate_options o = {.data = &data,
                                    .preprocess = &p,
                                    .labels = j->labels,
                                    .measures = all,
                                    .probabilities = j->probabilities,
                                    .reference = j->reference,
                                    .order = j->order,
                                    .threads = threads};
    itg_status status = itg_evaluate(&backend, &o, &e, err);
    *out = itg_score_unknown();
    if (status == ITG_OK) itg_score_quality(&e, out);
    itg_evaluation_deinit(&e);
    return status;
}

/* The same bits on 1, 2 and 5 threads. */
static itg_score judge(const judged *j)
{
    static const int threads[] = {1, 2, 5};
    itg_score scores[3];
    itg_error err = {0};
    for (int t = 0; t < 3; t++) {
        if (try_judge(j, threads[t], &scores[t], &err) != ITG_OK) fail_msg("%s", err.message);
        assert_memory_equal(scores[t].value, scores[0].value, sizeof scores[0].value);
    }
    return scores[0];
}

static void near(const itg_score *score, itg_metric metric, double wanted)
{
    double got = score->value[metric];
    if (!(fabs(got - wanted) <= 1e-12 * (1 + fabs(wanted))))
        fail_msg("%s is %.17g, wanted %.17g", itg_metric_about(metric)->name, got, wanted);
}

static void unknown(const itg_score *score, itg_metric metric)
{
    if (itg_score_knows(score, metric))
        fail_msg("%s is %.17g, wanted none", itg_metric_about(metric)->name, score->value[metric]);
}

/* ---- classes ---- */

/* f1_score([0,2,1,1,0,2,2,1,0,2], [0,2,1,0,0,1,2,1,2,2], average='macro') */
static void macro_f1_of_three_classes(void **state)
{
    static const int64_t labels[] = {0, 2, 1, 1, 0, 2, 2, 1, 0, 2};
    static const int chosen[] = {0, 2, 1, 0, 0, 1, 2, 1, 2, 2};
    float x[30] = {0};
    (void)state;
    for (int i = 0; i < 10; i++)
        x[3 * i + chosen[i]] = 2;
    x[0] = x[1] = 2; /* a tie: the lowest class */
    const itg_dataset l = labels_as(ITG_S64, labels, (itg_shape){1, {10}});
    const judged j = {{{2, {1, 3}}, 1, false}, x, 10, &l, NULL, NULL, false};
    itg_score s = judge(&j);
    near(&s, ITG_METRIC_F1_MACRO, 0.6944444444444443);
    near(&s, ITG_METRIC_TOP1, 0.7);
    unknown(&s, ITG_METRIC_F1);
    unknown(&s, ITG_METRIC_AUROC);
    unknown(&s, ITG_METRIC_MIOU);
    unknown(&s, ITG_METRIC_BINARY_ACCURACY);
    unknown(&s, ITG_METRIC_COSINE);
    unknown(&s, ITG_METRIC_KL);
}

static const float logits[] = {-1.5F, 0.25F, 2, 0.25F, -0.5F, -2, 1, 1};
static const int64_t of_logits[] = {0, 1, 1, 0, 1, 0, 0, 1};

/* roc_auc_score (with ties), f1_score, accuracy_score of the logits above. */
static void one_logit(void **state)
{
    static const int64_t backwards[] = {7, 6, 5, 4, 3, 2, 1, 0};
    float halves[8], labels[8];
    (void)state;
    itg_dataset l = labels_as(ITG_S64, of_logits, (itg_shape){1, {8}});
    judged j = {{{2, {1, 1}}, 1, false}, logits, 8, &l, NULL, NULL, false};
    for (int way = 0; way < 4; way++) {
        if (way == 1) j.order = backwards;
        if (way == 2) { /* as probabilities, which one half parts, and labels that are floats */
            for (int i = 0; i < 8; i++)
                halves[i] = 0.5F + logits[i] / 8;
            for (int i = 0; i < 8; i++)
                labels[i] = (float)of_logits[i];
            j.x = halves;
            j.probabilities = true;
            l = labels_as(ITG_F32, labels, (itg_shape){2, {8, 1}});
        }
        itg_score s = judge(&j);
        near(&s, ITG_METRIC_AUROC, 0.75);
        near(&s, ITG_METRIC_F1, 2.0 / 3);
        near(&s, ITG_METRIC_F1_MACRO, 0.6190476190476191);
        near(&s, ITG_METRIC_BINARY_ACCURACY, 0.625);
        unknown(&s, ITG_METRIC_TOP1);
    }
}

static void a_logit_of_0_is_class_0(void **state)
{
    static const float zeros[] = {0, 0};
    static const int64_t labels[] = {0, 1};
    (void)state;
    const itg_dataset l = labels_as(ITG_S64, labels, (itg_shape){1, {2}});
    const judged j = {{{2, {1, 1}}, 1, false}, zeros, 2, &l, NULL, NULL, false};
    itg_score s = judge(&j);
    near(&s, ITG_METRIC_BINARY_ACCURACY, 0.5);
    near(&s, ITG_METRIC_F1, 0);
    near(&s, ITG_METRIC_AUROC, 0.5); /* all tied */
}

static void one_class_alone_has_no_roc(void **state)
{
    static const int64_t ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, zeros[8] = {0};
    (void)state;
    itg_dataset l = labels_as(ITG_S64, ones, (itg_shape){1, {8}});
    const judged j = {{{2, {1, 1}}, 1, false}, logits, 8, &l, NULL, NULL, false};
    itg_score s = judge(&j);
    unknown(&s, ITG_METRIC_AUROC);
    near(&s, ITG_METRIC_F1, 2 * 5.0 / 13);
    l.data = (void *)(uintptr_t)zeros;
    s = judge(&j);
    unknown(&s, ITG_METRIC_AUROC);
    unknown(&s, ITG_METRIC_F1);
    near(&s, ITG_METRIC_BINARY_ACCURACY, 3.0 / 8);
}

static void no_samples_have_no_measures(void **state)
{
    (void)state;
    const itg_dataset l = labels_as(ITG_S64, of_logits, (itg_shape){1, {0}});
    const judged j = {{{2, {1, 1}}, 1, false}, logits, 0, &l, NULL, NULL, false};
    itg_score s = judge(&j);
    for (int m = ITG_METRIC_BINARY_ACCURACY; m < ITG_METRIC_USER1; m++)
        unknown(&s, (itg_metric)m);
}

/* The difference of two logits is the score. */
static void two_logits_rank_by_their_difference(void **state)
{
    float x[16];
    (void)state;
    for (int i = 0; i < 8; i++) {
        x[2 * i] = (float)i;
        x[2 * i + 1] = (float)i + logits[i];
    }
    const itg_dataset l = labels_as(ITG_S64, of_logits, (itg_shape){1, {8}});
    const judged j = {{{2, {1, 2}}, 1, false}, x, 8, &l, NULL, NULL, false};
    itg_score s = judge(&j);
    near(&s, ITG_METRIC_AUROC, 0.75);
    near(&s, ITG_METRIC_F1, 2.0 / 3);
    near(&s, ITG_METRIC_TOP1, 0.625);
}

/* A network that gives half of its input: the larger the input, the larger the error. */
static void anomalies_are_what_is_not_rebuilt(void **state)
{
    static const float x[] = {1, 0, 0, 0, 0, 3, 0, 0, 2, 0, 0, 2, 1, 1, 1, 0};
    static const int64_t labels[] = {0, 1, 0, 1}; /* errors 1, 9, 8, 3 */
    (void)state;
    const itg_dataset l = labels_as(ITG_S64, labels, (itg_shape){1, {4}});
    for (int rank = 2; rank <= 3; rank++) {
        judged j = {{{2, {1, 4}}, 0.5F, false}, x, 4, &l, NULL, NULL, false};
        if (rank == 3) j.network.shape = (itg_shape){3, {1, 2, 2}};
        itg_score s = judge(&j);
        near(&s, ITG_METRIC_AUROC, 0.75);
        unknown(&s, ITG_METRIC_F1_MACRO);
    }
}

/* ---- targets ---- */

/* r2_score of two columns, and of the first alone where the second's targets are constant. */
static void r2_is_the_mean_of_columns_that_vary(void **state)
{
    static const float x[] = {1.5F, 2, 2, 3.5F, 3, 0, 3.5F, -2};
    float targets[] = {1, 2, 2, 4, 4, 1, 3, -3};
    (void)state;
    const itg_dataset l = labels_as(ITG_F32, targets, (itg_shape){2, {4, 2}});
    const judged j = {{{2, {1, 2}}, 1, false}, x, 4, &l, NULL, NULL, false};
    itg_score s = judge(&j);
    near(&s, ITG_METRIC_R2, 0.8067307692307693);
    targets[1] = targets[3] = targets[5] = targets[7] = 1;
    s = judge(&j);
    near(&s, ITG_METRIC_R2, 0.7);
    for (int i = 0; i < 8; i++)
        targets[i] = 5;
    s = judge(&j);
    unknown(&s, ITG_METRIC_R2);
}

/* ---- maps and texts ---- */

static const float map[2][3][4] = {{{1, 0, 2, -1}, {0, 3, 2, 0}, {-1, 1, 1, 4}},
                                   {{0, 0, 1, 2}, {1, -2, 0, 0}, {0.5F, 1, 3, 1}}};
static const uint8_t of_map[] = {0, 1, 2, 2, 1, 255, 2, 0};

/* jaccard_score, f1_score, exp of the mean of -log_softmax; 255 is left out. Channels first, last,
 * and as text, which is [T, V]. */
static void maps_and_texts(void **state)
{
    float last[24];
    int8_t signs[8];
    (void)state;
    for (int n = 0; n < 2; n++)
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < 4; i++)
                last[(n * 4 + i) * 3 + c] = map[n][c][i];
    for (int i = 0; i < 8; i++)
        signs[i] = of_map[i] == 255 ? -1 : (int8_t)of_map[i];
    const itg_dataset of_maps = labels_as(ITG_U8, of_map, (itg_shape){3, {2, 2, 2}}),
                      of_channel = labels_as(ITG_S8, signs, (itg_shape){4, {2, 1, 2, 2}}),
                      of_text = labels_as(ITG_S8, signs, (itg_shape){2, {2, 4}});
    const judged ways[] = {
        {{{4, {1, 3, 2, 2}}, 1, false}, &map[0][0][0], 2, &of_maps, NULL, NULL, false},
        {{{4, {1, 3, 2, 2}}, 1, false}, &map[0][0][0], 2, &of_channel, NULL, NULL, false},
        {{{4, {1, 2, 2, 3}}, 1, false}, last, 2, &of_maps, NULL, NULL, false},
        {{{3, {1, 4, 3}}, 1, false}, last, 2, &of_text, NULL, NULL, false},
        {{{3, {1, 3, 4}}, 1, false}, &map[0][0][0], 2, &of_text, NULL, NULL, false}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        itg_score s = judge(&ways[i]);
        near(&s, ITG_METRIC_MIOU, 0.7777777777777777);
        near(&s, ITG_METRIC_F1_MACRO, 0.8666666666666667);
        near(&s, ITG_METRIC_PERPLEXITY, 1.7018261913428288);
    }
}

/* By hand: classes 0 to 3, of which 3 is only chosen. IoU 1/2, 1/2, 0, 0. */
static void a_map_of_classes_themselves(void **state)
{
    static const float chosen[] = {0, 0, 1, 1, 3, 2};
    static const uint8_t labels[] = {0, 1, 1, 2, 2, 0};
    (void)state;
    const itg_dataset l = labels_as(ITG_U8, labels, (itg_shape){2, {2, 3}});
    const judged j = {{{2, {1, 3}}, 1, true}, chosen, 2, &l, NULL, NULL, false};
    itg_score s = judge(&j);
    near(&s, ITG_METRIC_MIOU, (1.0 / 3 + 1.0 / 3) / 4);
    unknown(&s, ITG_METRIC_PERPLEXITY);
}

static void a_label_that_is_no_class_is_refused(void **state)
{
    uint8_t labels[8];
    itg_score s;
    itg_error err = {0};
    (void)state;
    memcpy(labels, of_map, sizeof labels);
    labels[6] = 3;
    const itg_dataset l = labels_as(ITG_U8, labels, (itg_shape){3, {2, 2, 2}});
    const judged j = {{{4, {1, 3, 2, 2}}, 1, false}, &map[0][0][0], 2, &l, NULL, NULL, false};
    assert_int_equal(try_judge(&j, 1, &s, &err), ITG_MISMATCH);
    assert_non_null(strstr(err.message, "labels.npy: the label 3 of sample 1 is no class: expected "
                                        "0 to 2"));
}

/* ---- the float network ---- */

static void cosine_and_divergence(void **state)
{
    static const float a[] = {1, 2, 0.5F, 0, -1, 3}, b[] = {1.25F, 1.5F, 0.75F, 0.5F, -1.5F, 2.5F};
    (void)state;
    itg_reference reference = {0};
    judged j = {{{2, {1, 3}}, 1, false}, a, 2, NULL, &reference, NULL, false};
    itg_backend backend = backend_of(&j.network);
    itg_dataset data = dataset(a, &j.network.shape, 2);
    itg_preprocess p = itg_preprocess_default();
    itg_evaluation e = {0};
    const itg_evaluate_options o = {
        .data = &data, .preprocess = &p, .keep = &reference, .threads = 1};
    assert_int_equal(itg_evaluate(&backend, &o, &e, NULL), ITG_OK);
    itg_evaluation_deinit(&e);
    itg_score s = judge(&j);
    near(&s, ITG_METRIC_COSINE, 1);
    near(&s, ITG_METRIC_KL, 0);
    j.x = b;
    s = judge(&j);
    near(&s, ITG_METRIC_COSINE, 0.9635877265778674);
    near(&s, ITG_METRIC_KL, 0.049457002529943644);
    itg_reference_deinit(&reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(macro_f1_of_three_classes),
        cmocka_unit_test(one_logit),
        cmocka_unit_test(a_logit_of_0_is_class_0),
        cmocka_unit_test(one_class_alone_has_no_roc),
        cmocka_unit_test(no_samples_have_no_measures),
        cmocka_unit_test(two_logits_rank_by_their_difference),
        cmocka_unit_test(anomalies_are_what_is_not_rebuilt),
        cmocka_unit_test(r2_is_the_mean_of_columns_that_vary),
        cmocka_unit_test(maps_and_texts),
        cmocka_unit_test(a_map_of_classes_themselves),
        cmocka_unit_test(a_label_that_is_no_class_is_refused),
        cmocka_unit_test(cosine_and_divergence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
