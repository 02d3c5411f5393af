#include "tests/labels.h"
#include "network.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "kernels/float_ops.h"

#define CLASSES 5
#define CHANNELS 2
#define EXTENT 6
#define ELEMENTS (CHANNELS * EXTENT * EXTENT)

static float real(itg_rng *rng, double spread)
{
    return (float)((itg_rng_unit(rng) * 2 - 1) * spread);
}

/* centered: each row sums to about zero, so that what all features share tells no classes apart. */
static itg_id constant(itg_graph *g, itg_rng *rng, int32_t rank, const int64_t *dims, double spread,
                       bool centered)
{
    itg_shape shape = {.rank = rank};
    float data[512];
    int64_t count = 1;
    itg_id id = ITG_NONE;
    for (int32_t i = 0; i < rank; i++)
        count *= shape.dims[i] = dims[i];
    assert_true(count <= 512);
    for (int64_t i = 0; i < count; i++)
        data[i] = real(rng, spread) - (centered && i % dims[1] ? data[i - 1] : 0);
    assert_int_equal(itg_graph_add_value(g, NULL, ITG_F32, &shape, data, &id, NULL), ITG_OK);
    return id;
}

static itg_id apply(itg_graph *g, itg_op op, const itg_id *inputs, int32_t count,
                    const itg_attrs *attrs)
{
    itg_id out = ITG_NONE, node = ITG_NONE;
    assert_int_equal(itg_graph_add_value(g, NULL, ITG_F32, NULL, NULL, &out, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_node(g, NULL, op, inputs, count, &out, 1, attrs, &node, NULL),
                     ITG_OK);
    assert_int_equal(itg_infer_node(g, node, NULL), ITG_OK);
    return out;
}

static itg_id conv(itg_graph *g, itg_rng *rng, itg_id x, int64_t in, int64_t out)
{
    itg_attrs a = itg_attrs_default(ITG_OP_CONV);
    int64_t w[] = {out, in, 3, 3};
    a.spatial_rank = 2;
    for (int d = 0; d < 2; d++) {
        a.kernel[d] = 3;
        a.stride[d] = a.dilation[d] = 1;
        a.pad[d] = a.pad[d + 2] = 1;
    }
    itg_id inputs[] = {x, constant(g, rng, 4, w, 0.6, false), constant(g, rng, 1, w, 0.3, false)};
    itg_id y = apply(g, ITG_OP_CONV, inputs, 3, &a);
    return apply(g, ITG_OP_RELU, &y, 1, NULL);
}

static itg_graph *make_graph(itg_rng *rng, small_outputs outputs)
{
    itg_graph *g = NULL, *prepared = NULL;
    itg_shape shape = {4, {1, CHANNELS, EXTENT, EXTENT}};
    itg_id x = ITG_NONE;
    itg_prepare_options options = {.eval = itg_float_eval};
    itg_attrs flat = itg_attrs_default(ITG_OP_FLATTEN), gemm = itg_attrs_default(ITG_OP_GEMM),
              pool = itg_attrs_default(ITG_OP_AVERAGE_POOL);
    assert_int_equal(itg_graph_create("small", &g, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(g, "x", ITG_F32, &shape, NULL, &x, NULL), ITG_OK);
    assert_int_equal(itg_graph_set_inputs(g, &x, 1, NULL), ITG_OK);
    itg_id a = conv(g, rng, x, CHANNELS, 4), b = conv(g, rng, a, 4, 4), both[] = {a, b};
    itg_id sum = apply(g, ITG_OP_ADD, both, 2, NULL);
    pool.spatial_rank = 2;
    for (int d = 0; d < 2; d++)
        pool.kernel[d] = pool.stride[d] = 3;
    itg_id mean = apply(g, ITG_OP_AVERAGE_POOL, &sum, 1, &pool);
    flat.axis = 1;
    itg_id row = apply(g, ITG_OP_FLATTEN, &mean, 1, &flat);
    int64_t w[] = {outputs == SMALL_SCALAR ? 1 : CLASSES, 16};
    gemm.trans_b = true;
    itg_id inputs[] = {row, constant(g, rng, 2, w, 1, true), constant(g, rng, 1, w, 0.1, false)};
    itg_id y = apply(g, ITG_OP_GEMM, inputs, 3, &gemm), all[] = {y, mean};
    if (outputs == SMALL_SPATIAL) all[0] = mean;
    assert_int_equal(itg_graph_set_outputs(g, all, outputs == SMALL_TWO ? 2 : 1, NULL), ITG_OK);
    assert_int_equal(itg_graph_prepare(g, &options, &prepared, NULL), ITG_OK);
    itg_graph_destroy(g);
    return prepared;
}

/* Each sample is a scaled prototype with noise. */
static itg_dataset *make_data(itg_rng *rng, const float *prototypes, int64_t samples)
{
    itg_dataset *d = calloc(1, sizeof *d);
    float *x = malloc(sizeof *x * (size_t)samples * ELEMENTS);
    assert_true(d && x);
    d->dtype = ITG_F32;
    d->shape = (itg_shape){4, {samples, CHANNELS, EXTENT, EXTENT}};
    d->data = x;
    d->path = calloc(1, 1);
    assert_non_null(d->path);
    for (int64_t s = 0; s < samples; s++) {
        const float *p = prototypes + ELEMENTS * (int64_t)itg_rng_below(rng, 2 * CLASSES);
        for (int i = 0; i < ELEMENTS; i++)
            *x++ = p[i] + real(rng, 0.4);
    }
    return d;
}

/* The float network's classes, one in ten another one. */
static itg_dataset *make_labels(itg_rng *rng, const small_network *n, const itg_dataset *data)
{
    itg_backend backend = itg_backend_float(n->model, ITG_FLOAT_REFERENCE);
    itg_evaluate_options options = {.data = data, .preprocess = &n->preprocess, .threads = 1};
    itg_evaluation evaluation = {0};
    int seen[CLASSES] = {0}, different = 0;
    assert_int_equal(itg_evaluate(&backend, &options, &evaluation, NULL), ITG_OK);
    for (int64_t i = 0; i < evaluation.samples; i++) {
        different += seen[evaluation.classes[i]]++ == 0;
        if (itg_rng_below(rng, 10) == 0)
            evaluation.classes[i] = (int64_t)itg_rng_below(rng, CLASSES);
    }
    assert_true(different > 1); /* or there is nothing to lose */
    const itg_dataset borrowed = labels_of(evaluation.classes, itg_data_samples(data));
    itg_dataset *labels = NULL;
    assert_int_equal(itg_dataset_select(&borrowed, NULL, itg_data_samples(data), &labels, NULL),
                     ITG_OK);
    itg_evaluation_deinit(&evaluation);
    return labels;
}

void small_network_make(uint64_t seed, const char *target, int64_t samples, small_network *out)
{
    small_network_make_with(seed, target, samples, SMALL_CLASSES, out);
}

void small_network_make_with(uint64_t seed, const char *target, int64_t samples,
                             small_outputs outputs, small_network *out)
{
    itg_rng rng;
    float prototypes[2 * CLASSES * ELEMENTS];
    itg_rng_init(&rng, seed);
    *out = (small_network){.preprocess = itg_preprocess_default()};
    out->model = make_graph(&rng, outputs);
    assert_int_equal(itg_hardware_load(target, &out->hw, NULL), ITG_OK);
    for (size_t i = 0; i < sizeof prototypes / sizeof *prototypes; i++)
        prototypes[i] = real(&rng, 1);
    out->data = make_data(&rng, prototypes, samples);
    out->holdout = make_data(&rng, prototypes, samples / 2);
    if (outputs != SMALL_CLASSES) return;
    out->labels = make_labels(&rng, out, out->data);
    out->holdout_labels = make_labels(&rng, out, out->holdout);
}

void small_network_change_target(small_network *n, const char *from, const char *to)
{
    itg_strbuf text = {0};
    itg_error err = {0};
    const char *json = n->hw->json, *at = strstr(json, from);
    assert_non_null(at);
    itg_strbuf_format(&text, "%.*s%s%s", (int)(at - json), json, to, at + strlen(from));
    itg_hardware_destroy(n->hw);
    n->hw = NULL;
    if (itg_hardware_parse(text.text, text.length, "changed", &n->hw, &err) != ITG_OK)
        fail_msg("%s", err.message);
    itg_strbuf_deinit(&text);
}

void small_network_end(small_network *n)
{
    itg_graph_destroy(n->model);
    itg_hardware_destroy(n->hw);
    itg_data_close(n->data);
    itg_data_close(n->holdout);
    itg_data_close(n->labels);
    itg_data_close(n->holdout_labels);
}

itg_search_data small_network_data(const small_network *n)
{
    return (itg_search_data){n->data, n->labels, n->holdout, n->holdout_labels};
}
