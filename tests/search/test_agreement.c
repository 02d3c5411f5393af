/* Simulation = integer executor, also after saving and loading, in every bit: random networks,
 * hardware, widths and data. */
#include "candidates.h"
#include "kernels/float_ops.h"
#include "realize/realize.h"
#include "search/evaluator.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define SAMPLES 6

typedef struct net {
    itg_graph *g;
    itg_rng rng;
    itg_id pool[64]; /* four-dimensional values so far */
    int32_t count;
} net;

static int64_t pick(net *n, int64_t lo, int64_t hi)
{
    return lo + (int64_t)itg_rng_below(&n->rng, (uint64_t)(hi - lo + 1));
}
static float real(net *n)
{
    return (float)(itg_rng_unit(&n->rng) * 2 - 1);
}

static itg_id constant(net *n, int32_t rank, const int64_t *dims, float spread)
{
    itg_shape shape = {.rank = rank};
    int64_t elements = 1;
    itg_id id = ITG_NONE;
    for (int32_t i = 0; i < rank; i++) {
        shape.dims[i] = dims[i];
        elements *= dims[i];
    }
    float *data = malloc(sizeof *data * (size_t)elements);
    for (int64_t i = 0; i < elements; i++)
        data[i] = real(n) * spread;
    if (pick(n, 0, 5) == 0 && rank > 1)
        memset(data, 0, sizeof *data * (size_t)(elements / dims[0])); /* a zero channel */
    assert_int_equal(itg_graph_add_value(n->g, NULL, ITG_F32, &shape, data, &id, NULL), ITG_OK);
    free(data);
    return id;
}

static itg_id apply(net *n, itg_op op, const itg_id *inputs, int32_t count, const itg_attrs *attrs)
{
    itg_id out = ITG_NONE, node = ITG_NONE;
    itg_error err = {0};
    assert_int_equal(itg_graph_add_value(n->g, NULL, ITG_F32, NULL, NULL, &out, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_node(n->g, NULL, op, inputs, count, &out, 1, attrs, &node, NULL),
                     ITG_OK);
    if (itg_infer_node(n->g, node, &err) != ITG_OK) fail_msg("%s", err.message);
    return out;
}

static const int64_t *dims(const net *n, itg_id v)
{
    return n->g->values[v].shape.dims;
}
static itg_id any(net *n)
{
    return n->pool[pick(n, 0, n->count - 1)];
}

static void window(net *n, itg_attrs *a, itg_id x)
{
    for (int d = 0; d < 2; d++) {
        int64_t extent = dims(n, x)[2 + d];
        a->kernel[d] = pick(n, 1, extent < 3 ? extent : 3);
        a->stride[d] = extent > 4 ? pick(n, 1, 2) : 1;
        a->pad[d] = pick(n, 0, a->kernel[d] - 1);
        a->pad[2 + d] = pick(n, 0, a->kernel[d] - 1);
        a->dilation[d] = 1;
    }
}

static itg_id add_conv(net *n, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_CONV);
    int64_t channels = dims(n, x)[1], groups[] = {1, channels, channels % 2 == 0 ? 2 : 1};
    window(n, &a, x);
    a.spatial_rank = 2;
    a.group = groups[pick(n, 0, 2)];
    int64_t out = a.group * pick(n, 1, a.group > 2 ? 2 : 4),
            shape[] = {out, channels / a.group, a.kernel[0], a.kernel[1]};
    if (pick(n, 0, 3) == 0 && dims(n, x)[2] > 4 && dims(n, x)[3] > 4)
        a.dilation[0] = a.dilation[1] = 2;
    itg_id inputs[] = {x, constant(n, 4, shape, 0.7f), constant(n, 1, shape, 0.3f)};
    return apply(n, ITG_OP_CONV, inputs, pick(n, 0, 3) ? 3 : 2, &a);
}

static itg_id add_pool(net *n, itg_id x, itg_op op)
{
    itg_attrs a = itg_attrs_default(op);
    window(n, &a, x);
    a.spatial_rank = 2;
    a.count_include_pad = pick(n, 0, 1);
    a.ceil_mode = pick(n, 0, 1);
    return apply(n, op, &x, 1, &a);
}

static itg_id add_unary(net *n, itg_id x, bool tables)
{
    static const itg_op ops[] = {ITG_OP_RELU, ITG_OP_CLIP, ITG_OP_SIGMOID, ITG_OP_LEAKY_RELU,
                                 ITG_OP_TANH};
    itg_op op = ops[pick(n, 0, tables ? 4 : 1)];
    itg_attrs a = itg_attrs_default(op);
    if (op == ITG_OP_CLIP) {
        a.min = pick(n, 0, 1) ? 0.0f : -0.4f;
        a.max = 0.8f;
    }
    return apply(n, op, &x, 1, &a);
}

/* A second operand of x's shape: another value, or a constant that broadcasts. */
static itg_id add_binary(net *n, itg_id x)
{
    static const itg_op ops[] = {ITG_OP_ADD, ITG_OP_SUB, ITG_OP_MUL};
    itg_op op = ops[pick(n, 0, 2)];
    itg_attrs a = itg_attrs_default(op);
    itg_id inputs[2] = {x, ITG_NONE};
    for (int32_t i = 0; i < n->count; i++)
        if (itg_shape_equal(&n->g->values[n->pool[i]].shape, &n->g->values[x].shape) &&
            pick(n, 0, 1))
            inputs[1] = n->pool[i];
    int64_t channel[] = {1, dims(n, x)[1], 1, 1};
    if (inputs[1] == ITG_NONE)
        inputs[1] = constant(n, 4, pick(n, 0, 1) ? channel : dims(n, x), 0.8f);
    return apply(n, op, inputs, 2, &a);
}

static itg_id add_movement(net *n, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_TRANSPOSE);
    if (pick(n, 0, 1)) {
        int64_t perm[] = {0, 1, 3, 2};
        memcpy(a.perm, perm, sizeof perm);
        return apply(n, ITG_OP_TRANSPOSE, &x, 1, &a);
    }
    a = itg_attrs_default(ITG_OP_CONCAT);
    a.axis = 1;
    itg_id inputs[] = {x, x};
    for (int32_t i = 0; i < n->count; i++)
        if (dims(n, n->pool[i])[2] == dims(n, x)[2] && dims(n, n->pool[i])[3] == dims(n, x)[3])
            inputs[1] = n->pool[i];
    return apply(n, ITG_OP_CONCAT, inputs, 2, &a);
}

/* By a constant, or by its own transpose: two activations. */
static itg_id add_matmul(net *n, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_MATMUL);
    int64_t shape[] = {dims(n, x)[3], pick(n, 1, 6)};
    itg_id inputs[] = {x, ITG_NONE};
    if (pick(n, 0, 1)) {
        inputs[1] = constant(n, 2, shape, 0.6f);
    } else {
        itg_attrs turn = itg_attrs_default(ITG_OP_TRANSPOSE);
        int64_t perm[] = {0, 1, 3, 2};
        memcpy(turn.perm, perm, sizeof perm);
        inputs[1] = apply(n, ITG_OP_TRANSPOSE, &x, 1, &turn);
    }
    return apply(n, ITG_OP_MATMUL, inputs, 2, &a);
}

static itg_id finish(net *n, itg_id x)
{
    itg_attrs a = itg_attrs_default(ITG_OP_GLOBAL_AVERAGE_POOL);
    x = apply(n, ITG_OP_GLOBAL_AVERAGE_POOL, &x, 1, &a);
    a = itg_attrs_default(ITG_OP_FLATTEN);
    a.axis = 1;
    x = apply(n, ITG_OP_FLATTEN, &x, 1, &a);
    int64_t w[] = {5, dims(n, x)[1]};
    a = itg_attrs_default(ITG_OP_GEMM);
    a.trans_b = true;
    itg_id inputs[] = {x, constant(n, 2, w, 0.9f), constant(n, 1, w, 0.2f)};
    return apply(n, ITG_OP_GEMM, inputs, 3, &a);
}

static itg_graph *random_network(uint64_t seed, bool tables)
{
    net n = {.count = 1};
    itg_shape input = {4, {1, 0, 0, 0}};
    itg_graph *prepared = NULL;
    itg_error err = {0};
    itg_prepare_options options = {.eval = itg_float_eval};
    itg_rng_init(&n.rng, seed);
    for (int d = 1; d < 4; d++)
        input.dims[d] = d == 1 ? pick(&n, 1, 4) : pick(&n, 4, 9);
    assert_int_equal(itg_graph_create("random", &n.g, NULL), ITG_OK);
    assert_int_equal(itg_graph_add_value(n.g, "x", ITG_F32, &input, NULL, &n.pool[0], NULL),
                     ITG_OK);
    assert_int_equal(itg_graph_set_inputs(n.g, n.pool, 1, NULL), ITG_OK);
    int64_t steps = pick(&n, 3, 12);
    for (int64_t i = 0; i < steps; i++) {
        itg_id x = pick(&n, 0, 2) ? n.pool[n.count - 1] : any(&n);
        switch (pick(&n, 0, 8)) {
        case 0:
            x = add_pool(&n, x, pick(&n, 0, 1) ? ITG_OP_MAX_POOL : ITG_OP_AVERAGE_POOL);
            break;
        case 1:
            x = add_binary(&n, x);
            break;
        case 2:
            x = add_movement(&n, x);
            break;
        case 3:
        case 4:
            x = add_unary(&n, x, tables);
            break;
        case 5:
            x = add_matmul(&n, x);
            break;
        default:
            x = add_conv(&n, x);
        }
        n.pool[n.count++] = x;
    }
    itg_id outputs[] = {finish(&n, n.pool[n.count - 1]), any(&n)};
    bool two = outputs[1] != n.pool[0] && pick(&n, 0, 1);
    assert_int_equal(itg_graph_set_outputs(n.g, outputs, two ? 2 : 1, NULL), ITG_OK);
    if (itg_graph_prepare(n.g, &options, &prepared, &err) != ITG_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    itg_graph_destroy(n.g);
    return prepared;
}

static itg_dataset *random_data(const itg_graph *g, uint64_t seed)
{
    itg_dataset *d = calloc(1, sizeof *d);
    itg_rng rng;
    int64_t elements = 0;
    d->dtype = ITG_F32;
    d->shape = g->values[g->inputs[0]].shape;
    d->shape.dims[0] = SAMPLES;
    itg_shape_elements(&d->shape, &elements);
    float *x = malloc(sizeof *x * (size_t)elements);
    itg_rng_init(&rng, seed);
    for (int64_t i = 0; i < elements; i++)
        x[i] = (float)(itg_rng_unit(&rng) * 3 - 1);
    d->data = x;
    return d;
}

/* ---- one case ---- */

#define CASES 120

typedef enum overflow_rule {
    MAY_OVERFLOW,
    FITS,    /* no network may be refused for an accumulator */
    MUST_FIT /* and many sums are in parts */
} overflow_rule;

typedef struct counts {
    int run, refused, split;
} counts;

static int split_sums(const itg_annotated *a)
{
    int n = 0;
    for (itg_id i = 0; i < a->graph->node_count; i++)
        n += a->nodes[i].split.part_count > 0;
    return n;
}

/* In blocks, with every kernel set that this machine has, twice with activations kept. */
static void compare_blocks(const itg_program *program, const itg_evaluate_options *options,
                           const itg_evaluation *run, uint64_t seed)
{
    itg_cache *activations = NULL;
    assert_int_equal(itg_cache_create((size_t)1 << 20, &activations, NULL), ITG_OK);
    for (int k = 0; itg_accel_set(k); k++) {
        itg_batch_options batch = {.block = 1 + (int64_t)(seed % 5)};
        itg_batch_plan *plan = NULL;
        if (itg_accel_choose(itg_accel_set(k), &batch.kernels, NULL) != ITG_OK) continue;
        assert_int_equal(itg_batch_plan_create(program, &batch, &plan, NULL), ITG_OK);
        itg_fast_program fast = {program, plan, activations, 0};
        itg_runner runner = itg_runner_fast(&fast);
        for (int again = 0; again < 2; again++) {
            itg_evaluation out = {0};
            assert_int_equal(itg_evaluate(&runner, options, &out, NULL), ITG_OK);
            if (memcmp(out.digest, run->digest, 32) != 0)
                fail_msg("seed %llu: blocks with %s differ", (unsigned long long)seed,
                         itg_accel_set(k));
            itg_evaluation_deinit(&out);
        }
        itg_batch_plan_destroy(plan);
    }
    itg_cache_destroy(activations);
}

/* What the search says that it needs, and what its strategy's program needs. */
static void compare_memory(const itg_hardware *hw, const itg_annotated *a,
                           const itg_program *program, uint64_t seed)
{
    itg_score score;
    int64_t bytes = -1;
    assert_int_equal(itg_program_costs(hw, a, NULL, &score, NULL), ITG_OK);
    assert_int_equal(itg_program_ram_bytes(program, &bytes, NULL), ITG_OK);
    if (bytes != score.peak_activation_bytes)
        fail_msg("seed %llu: the search counts %lld bytes, the program needs %lld",
                 (unsigned long long)seed, (long long)score.peak_activation_bytes,
                 (long long)bytes);
}

static void compare(const itg_hardware *hw, const itg_annotated *a, const itg_dataset *data,
                    uint64_t seed, overflow_rule overflow, counts *c)
{
    itg_program *program = NULL, *loaded = NULL;
    itg_preprocess p = itg_preprocess_default();
    itg_evaluate_options options = {.data = data, .preprocess = &p, .threads = 1};
    itg_evaluation simulated = {0}, run = {0}, again = {0};
    itg_error err = {0};
    itg_runner runner = itg_runner_sim(a);
    if (itg_evaluate(&runner, &options, &simulated, &err) != ITG_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    itg_realize_options realize = {.allow_overflow = overflow == MAY_OVERFLOW};
    itg_status status = itg_realize_program(a, &realize, &program, &err);
    if (status != ITG_OK) fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    compare_memory(hw, a, program, seed);
    runner = itg_runner_program(program);
    if (itg_evaluate(&runner, &options, &run, &err) != ITG_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    if (memcmp(simulated.digest, run.digest, 32) != 0) {
        itg_strbuf text = {0};
        itg_annotated_print(a, &text);
        printf("%s\n", text.text);
        fail_msg("seed %llu: simulation and executor differ", (unsigned long long)seed);
    }
    char path[] = "/tmp/itg_agreement_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    if (itg_artefact_write(program, NULL, 0, path, &err) != ITG_OK ||
        itg_artefact_read(path, &loaded, &err) != ITG_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    unlink(path);
    runner = itg_runner_program(loaded);
    if (itg_evaluate(&runner, &options, &again, &err) != ITG_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    assert_memory_equal(run.digest, again.digest, 32);
    itg_evaluation_deinit(&again);
    compare_blocks(loaded, &options, &run, seed);
    itg_evaluation_deinit(&simulated);
    itg_evaluation_deinit(&run);
    itg_program_destroy(program);
    itg_program_destroy(loaded);
    c->run++;
    c->split += split_sums(a);
}

static void run_case(const itg_hardware *hw, uint64_t seed, bool tables, itg_bits_range activation,
                     overflow_rule overflow, counts *c)
{
    itg_graph *g = random_network(seed, tables);
    itg_dataset *data = random_data(g, seed + 1000);
    itg_preprocess p = itg_preprocess_default();
    itg_stats *stats = NULL;
    itg_choice_space *space = NULL;
    itg_threshold_cache *cache = NULL;
    itg_strategy *strategy = NULL;
    itg_annotated *a = NULL;
    itg_error err = {0};
    itg_space_options options = {.activation = activation};
    itg_rng rng;
    itg_rng_init(&rng, seed);
    if (itg_calibrate(g, data, &p, 1, &stats, &err) != ITG_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    itg_status status = itg_choice_space_create(hw, g, &options, &space, &err);
    if (status == ITG_OK) {
        int32_t *bits = malloc(sizeof *bits * (size_t)(space->group_count + 1));
        for (int32_t i = 0; i < space->group_count; i++)
            bits[i] =
                space->groups[i].bits[itg_rng_below(&rng, (uint64_t)space->groups[i].bits_count)];
        assert_int_equal(itg_threshold_cache_create(g, hw, space, stats, &cache, &err), ITG_OK);
        itg_threshold_method *methods = malloc(sizeof *methods * (size_t)(space->group_count + 1));
        itg_uniform_methods(space, ITG_THRESHOLD_MAX,
                            (itg_threshold_method)(seed % ITG_THRESHOLD_METHOD_COUNT), methods);
        if (itg_strategy_resolve(cache, bits, methods, &strategy, &err) != ITG_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
        free(methods);
        status = itg_annotate(g, hw, strategy, &a, &err);
        free(bits);
        kept_constants kept = keep_constants(g, 1 << 20);
        for (int again = 0; again < 2; again++)
            (void)candidates_agree(g, hw, strategy, &kept.constants);
        drop_constants(&kept);
    }
    if (status == ITG_OK)
        compare(hw, a, data, seed, overflow, c);
    else if (status == ITG_INFEASIBLE)
        c->refused++;
    else
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    itg_annotated_destroy(a);
    itg_strategy_destroy(strategy);
    itg_threshold_cache_destroy(cache);
    itg_choice_space_destroy(space);
    itg_stats_destroy(stats);
    itg_dataset_destroy(data);
    itg_graph_destroy(g);
}

/* Destroys hw. */
static void run_cases(itg_hardware *hw, bool tables, itg_bits_range activation,
                      overflow_rule overflow, uint64_t first)
{
    counts c = {0};
    for (int i = 0; i < CASES; i++)
        run_case(hw, first + (uint64_t)i, tables, activation, overflow, &c);
    printf("%s: %d networks agree, %d were infeasible, %d sums in parts\n", hw->name, c.run,
           c.refused, c.split);
    itg_hardware_destroy(hw);
    assert_true(c.run > CASES / 2);
    if (overflow == MUST_FIT) assert_true(c.refused < 3 && c.split >= CASES / 6);
}

static void run_target(const char *name, bool tables, itg_bits_range activation,
                       overflow_rule overflow, uint64_t first)
{
    itg_hardware *hw = NULL;
    itg_error err = {0};
    if (itg_hardware_load(name, &hw, &err) != ITG_OK) fail_msg("%s", err.message);
    run_cases(hw, tables, activation, overflow, first);
}

static const itg_bits_range as_stated = {0, 0}, wide = {16, 16};

static void x86_vnni(void **state)
{
    (void)state;
    run_target("x86-vnni", true, as_stated, MAY_OVERFLOW, 1);
}
static void cortex_m_8(void **state)
{
    (void)state;
    run_target("cortex-m", true, as_stated, MAY_OVERFLOW, 2000);
}
static void cortex_m_16(void **state)
{
    (void)state;
    run_target("cortex-m", false, wide, MAY_OVERFLOW, 4000);
}
static void vta(void **state)
{
    (void)state;
    run_target("vta", false, as_stated, MAY_OVERFLOW, 24000);
}
static void cvm(void **state)
{
    (void)state;
    run_target("cvm", true, as_stated, FITS, 26000);
}
static void cvm_of_16_bits(void **state)
{
    (void)state;
    run_target("cvm", true, wide, MUST_FIT, 28000);
}
static void avr(void **state)
{
    (void)state;
    run_target("avr", true, as_stated, FITS, 30000);
}
static void avr_of_8_bits(void **state)
{
    (void)state;
    run_target("avr", true, (itg_bits_range){8, 8}, MUST_FIT, 32000);
}
/* ---- made-up chips: text with ' for " ---- */

typedef struct chip {
    const char *head;    /* members of the description, each with its comma */
    const char *dtypes;  /* a: activations, w: weights */
    const char *requant; /* of the only requantization, r */
    const char *mac;     /* the accumulator of sums of products, and more */
    const char *sum;     /* arithmetic of Add and Sub */
    const char *pool;    /* the only spec of averages */
    const char *more;    /* specs of Conv and Gemm behind the first */
} chip;

#define KEEP "{'arithmetic':'keep_scale','inputs':['a'],'rounding':'half_up'}"
#define RESCALE                                                                                    \
    "{'arithmetic':'rescale','inputs':['a'],'outputs':['a'],'requantize':'r',"                     \
    "'accumulator':{'bits':48}}"
#define SMALL_SUM                                                                                  \
    "{'arithmetic':'rescale','inputs':['a'],'outputs':['a'],'requantize':'r',"                     \
    "'accumulator':{'bits':10,'overflow':'saturate'}}"

static void add_operator(itg_strbuf *out, const char *names, const char *spec)
{
    for (const char *name = names; *name; name += strspn(name, " ")) {
        int length = (int)strcspn(name, " ");
        itg_strbuf_format(out, ",'%.*s':[%s]", length, name, spec);
        name += length;
    }
}

static void add_one(itg_strbuf *out, const char *names, const char *arithmetic)
{
    itg_strbuf spec = {0};
    itg_strbuf_format(&spec,
                      "{'arithmetic':'%s','inputs':['a'],'outputs':['a'],'requantize':'r',"
                      "'accumulator':{'bits':48}}",
                      arithmetic);
    add_operator(out, names, spec.text);
    itg_strbuf_deinit(&spec);
}

static void add_operators(itg_strbuf *out, const chip *c)
{
    itg_strbuf mac = {0}, pair = {0};
    itg_strbuf_format(&mac,
                      "{'arithmetic':'mac','inputs':['a'],'weights':['w'],'outputs':['a'],"
                      "'requantize':'r',%s}%s",
                      c->mac, c->more ? c->more : "");
    /* The accumulator alone, which comes first, is also that of two activations. */
    itg_strbuf_format(&pair,
                      "%s,{'arithmetic':'mac','inputs':['a'],'outputs':['a'],'requantize':'r',"
                      "%.*s}",
                      mac.text, (int)(strcspn(c->mac, "}") + 1), c->mac);
    itg_strbuf_add(out, "'MaxPool':[{'arithmetic':'keep_scale','inputs':['a']}]");
    add_operator(out, "Conv Gemm", mac.text);
    add_operator(out, "MatMul", pair.text);
    add_one(out, "Add Sub", c->sum);
    add_one(out, "Mul", "product");
    add_one(out, "Relu Clip", "rescale");
    add_operator(out, "AveragePool GlobalAveragePool", c->pool);
    add_operator(out, "Transpose Concat Reshape", "{'arithmetic':'keep_scale','inputs':['a']}");
    itg_strbuf_deinit(&mac);
    itg_strbuf_deinit(&pair);
}

static void run_chip(const chip *c, uint64_t first, overflow_rule overflow)
{
    itg_strbuf text = {0};
    itg_strbuf_format(&text,
                      "{'intaglio_hardware':1,'name':'chip',%s'dtypes':{%s},"
                      "'requantize':{'r':{%s}},'fuse':[['Conv','Relu'],['Add','Relu'],"
                      "['Gemm','Relu'],['Conv','Clip']],'operators':{",
                      c->head ? c->head : "", c->dtypes, c->requant);
    add_operators(&text, c);
    itg_strbuf_add(&text, "}}");
    assert_true(itg_strbuf_ok(&text));
    for (size_t i = 0; i < text.length; i++)
        if (text.text[i] == '\'') text.text[i] = '"';
    itg_hardware *hw = NULL;
    itg_error err = {0};
    if (itg_hardware_parse(text.text, text.length, "made up", &hw, &err) != ITG_OK)
        fail_msg("%s", err.message);
    run_cases(hw, false, as_stated, overflow, first);
    itg_strbuf_deinit(&text);
}

static void small_saturating_accumulators(void **state)
{
    static const chip c = {.dtypes = "'a':{'storage':'s8','bits':[3,8],'zero_point':true},"
                                     "'w':{'storage':'s8','bits':[2,7]}",
                           .requant = "'form':'stages','multiplier_bits':12,'multiply_shift':5,"
                                      "'multiply_rounding':'floor','shift_rounding':'half_even'",
                           .mac =
                               "'accumulator':{'bits':14,'overflow':'saturate'},'per_channel':true",
                           .sum = "rescale",
                           .pool = SMALL_SUM};
    (void)state;
    run_chip(&c, 6000, MAY_OVERFLOW);
}

static void small_wrapping_accumulators_per_tensor(void **state)
{
    static const chip c = {.dtypes = "'a':{'storage':'u8','bits':[2,8],'zero_point':true},"
                                     "'w':{'storage':'s8','bits':[2,8]}",
                           .requant = "'form':'preshift','multiplier_bits':16,'pre_shift_bits':16,"
                                      "'pre_rounding':'half_up','shift_rounding':'half_up'",
                           .mac = "'accumulator':{'bits':13}",
                           .sum = "equal_scale",
                           .pool = RESCALE};
    (void)state;
    run_chip(&c, 8000, MAY_OVERFLOW);
}

static void power_of_two_shifts(void **state)
{
    static const chip c = {.head = "'power_of_two_scales':true,",
                           .dtypes = "'a':{'storage':'s8','bits':[4,8]},"
                                     "'w':{'storage':'s8','bits':[2,8]}",
                           .requant = "'form':'shift','rounding':'half_up'",
                           .mac = "'accumulator':{'bits':32}",
                           .sum = "equal_scale",
                           .pool = KEEP};
    (void)state;
    run_chip(&c, 10000, MAY_OVERFLOW);
}

static void wide_integers(void **state)
{
    static const chip c = {.dtypes = "'a':{'storage':'s32','bits':[10,24]},"
                                     "'w':{'storage':'s16','bits':[9,16]}",
                           .requant = "'form':'preshift','multiplier_bits':24,'pre_shift_bits':32,"
                                      "'rounding':'half_away'",
                           .mac = "'accumulator':{'bits':64},'per_channel':true",
                           .sum = "rescale",
                           .pool = RESCALE};
    (void)state;
    run_chip(&c, 12000, MAY_OVERFLOW);
}

/* The width of an activation picks the spec, and so whether the weights beside it have one scale or
 * many. */
static void specs_that_differ_in_weight_scales(void **state)
{
    static const chip c = {.dtypes = "'a':{'storage':'u8','bits':[5,8],'zero_point':true},"
                                     "'b':{'storage':'u8','bits':[2,4],'zero_point':true},"
                                     "'w':{'storage':'s8','bits':[2,8]}",
                           .requant = "'form':'tflite_double'",
                           .mac = "'accumulator':{'bits':32},'per_channel':true",
                           .more = ",{'arithmetic':'mac','inputs':['b'],'weights':['w'],"
                                   "'outputs':['a'],'requantize':'r','accumulator':{'bits':32}}",
                           .sum = "rescale",
                           .pool = RESCALE};
    (void)state;
    run_chip(&c, 14000, MAY_OVERFLOW);
}

/* ---- sums in parts: nothing overflows, whatever the widths are ---- */

static void narrow_sums_in_parts(void **state)
{
    static const chip c = {.dtypes = "'a':{'storage':'u8','bits':[2,7],'zero_point':true},"
                                     "'w':{'storage':'s8','bits':[2,8]}",
                           .requant = "'form':'preshift','multiplier_bits':16,'pre_shift_bits':17,"
                                      "'rounding':'half_up'",
                           .mac =
                               "'accumulator':{'bits':15,'split':true,'join_rounding':'half_even'},"
                               "'per_channel':true",
                           .sum = "rescale",
                           .pool = KEEP};
    static const chip narrower = {
        .dtypes = "'a':{'storage':'s8','bits':[2,6]},'w':{'storage':'s8','bits':[2,8]}",
        .requant = "'form':'tflite_double'",
        .mac = "'accumulator':{'bits':12,'split':true}",
        .sum = "equal_scale",
        .pool = KEEP};
    (void)state;
    run_chip(&c, 16000, MUST_FIT);
    run_chip(&narrower, 17000, MUST_FIT);
}

static void short_sums_joined_in_long_ones(void **state)
{
    static const chip c = {.dtypes = "'a':{'storage':'s8','bits':[2,8]},"
                                     "'w':{'storage':'s8','bits':[2,8]}",
                           .requant = "'form':'tflite_double'",
                           .mac = "'accumulator':{'bits':15,'overflow':'saturate','split':true,"
                                  "'join_bits':32},'per_channel':true",
                           .sum = "rescale",
                           .pool = KEEP};
    (void)state;
    run_chip(&c, 18000, MUST_FIT);
}

static void sixteen_bits_by_sixteen_in_32(void **state)
{
    static const chip c = {.dtypes = "'a':{'storage':'s16','bits':[12,16]},"
                                     "'w':{'storage':'s16','bits':[12,16]}",
                           .requant = "'form':'f32'",
                           .mac = "'accumulator':{'bits':32,'split':true,"
                                  "'join_rounding':'half_away'},'per_channel':true",
                           .sum = "rescale",
                           .pool = KEEP};
    (void)state;
    run_chip(&c, 20000, MUST_FIT);
}

static void additions_of_32_bits(void **state)
{
    static const chip c = {.dtypes = "'a':{'storage':'s32','bits':[17,32]},"
                                     "'w':{'storage':'s8','bits':[2,8]}",
                           .requant = "'form':'preshift','multiplier_bits':24,'pre_shift_bits':32,"
                                      "'rounding':'half_up'",
                           .mac = "'accumulator':{'bits':40,'split':true},'per_channel':true",
                           .sum = "equal_scale",
                           .pool = KEEP};
    (void)state;
    run_chip(&c, 22000, MAY_OVERFLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(x86_vnni),
        cmocka_unit_test(cortex_m_8),
        cmocka_unit_test(cortex_m_16),
        cmocka_unit_test(vta),
        cmocka_unit_test(cvm),
        cmocka_unit_test(cvm_of_16_bits),
        cmocka_unit_test(avr),
        cmocka_unit_test(avr_of_8_bits),
        cmocka_unit_test(small_saturating_accumulators),
        cmocka_unit_test(small_wrapping_accumulators_per_tensor),
        cmocka_unit_test(power_of_two_shifts),
        cmocka_unit_test(wide_integers),
        cmocka_unit_test(specs_that_differ_in_weight_scales),
        cmocka_unit_test(narrow_sums_in_parts),
        cmocka_unit_test(short_sums_joined_in_long_ones),
        cmocka_unit_test(sixteen_bits_by_sixteen_in_32),
        cmocka_unit_test(additions_of_32_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
