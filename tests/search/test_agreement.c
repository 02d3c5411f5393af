/* Simulation = integer executor, also after saving and loading, in every bit: random networks,
 * hardware, widths and data. */
#include "candidates.h"
#include "random_network.h"
#include "hardware/keys.h"
#include "kernels/float_ops.h"
#include "kernels/requant.h"
#include "realize/realize.h"
#include "search/evaluator.h"
#include "search/sums.h"
#include "tests/slow.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#define SAMPLES 6

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

#define CASES (ITG_IS_SLOW ? 60 : 120) /* fewer leave operators out */

typedef enum overflow_rule {
    MAY_OVERFLOW,
    FITS,    /* no network may be refused for an accumulator */
    MUST_FIT /* and many sums are in parts */
} overflow_rule;

typedef struct counts {
    int run, perturbed, refused, split, recovered, again;
} counts;

/* Nodes that had several images in one tensor, of networks that agree. */
static int integer_batches[ITG_OP_COUNT], float_batches[ITG_OP_COUNT];

static void count_inner_batches(const itg_annotated *a)
{
    for (itg_id n = 0; n < a->graph->node_count; n++)
        if (has_inner_batch(a->graph, n))
            (a->nodes[n].form == ITG_FORM_FLOAT ? float_batches
                                                : integer_batches)[a->graph->nodes[n].op]++;
}

static int split_sums(const itg_annotated *a)
{
    int n = 0;
    for (itg_id i = 0; i < a->graph->node_count; i++)
        n += a->nodes[i].split.part_count > 0;
    return n;
}

/* One sample at a time, with the reference kernels. */
static void run_singly(const itg_program *program, const itg_evaluate_options *options,
                       itg_evaluation *out, uint64_t seed)
{
    itg_batch_options batch = {.block = 1};
    itg_batch_plan *plan = NULL;
    itg_error err = {0};
    assert_int_equal(itg_accel_choose("reference", &batch.kernels, NULL), ITG_OK);
    assert_int_equal(itg_batch_plan_create(program, &batch, &plan, NULL), ITG_OK);
    itg_fast_program fast = {program, plan, NULL, 0};
    itg_backend backend = itg_backend_program(&fast);
    if (itg_evaluate(&backend, options, out, &err) != ITG_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    itg_batch_plan_destroy(plan);
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
        itg_backend backend = itg_backend_program(&fast);
        for (int again = 0; again < 2; again++) {
            itg_evaluation out = {0};
            assert_int_equal(itg_evaluate(&backend, options, &out, NULL), ITG_OK);
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
    if ((double)bytes != score.value[ITG_METRIC_PEAK_ACTIVATION_BYTES])
        fail_msg("seed %llu: the search counts %lld bytes, the program needs %lld",
                 (unsigned long long)seed, (long long)score.value[ITG_METRIC_PEAK_ACTIVATION_BYTES],
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
    itg_backend backend = itg_backend_sim(a);
    if (itg_evaluate(&backend, &options, &simulated, &err) != ITG_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    itg_realize_options realize = {ITG_REALIZE_OPTIONS_VERSION,
                                   .allow_overflow = overflow == MAY_OVERFLOW};
    itg_status status = itg_realize_program(a, &realize, &program, &err);
    if (status != ITG_OK) fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    compare_memory(hw, a, program, seed);
    run_singly(program, &options, &run, seed);
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
        itg_program_open(path, &loaded, &err) != ITG_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    unlink(path);
    run_singly(loaded, &options, &again, seed);
    assert_memory_equal(run.digest, again.digest, 32);
    itg_evaluation_deinit(&again);
    compare_blocks(loaded, &options, &run, seed);
    itg_evaluation_deinit(&simulated);
    itg_evaluation_deinit(&run);
    itg_program_destroy(program);
    itg_program_destroy(loaded);
    c->run++;
    c->split += split_sums(a);
    count_inner_batches(a);
}

/* Each weight's code or a neighbour, within the quantizer's range. */
static void perturb(itg_strategy *s, const itg_annotated *a, itg_rng *rng)
{
    for (int32_t e = 0; e < a->edge_count; e++) {
        if (s->edges[e].channel_count == 0) continue;
        const itg_edge *edge = &a->edges[e];
        const itg_encoding *v = &a->values[edge->value].encodings[edge->encoding];
        int64_t elements = 0;
        assert_non_null(v->constant);
        assert_true(itg_shape_elements(&a->graph->values[edge->value].shape, &elements));
        int32_t *codes = malloc((size_t)elements * sizeof *codes);
        for (int64_t i = 0; i < elements; i++) {
            int64_t code = itg_load(v->q.storage, v->constant->codes, i);
            const int64_t step = (int64_t)itg_rng_below(rng, 3) - 1;
            codes[i] = v->q.bits == 1 ? (int32_t)(step > 0 ? -code : code)
                                      : (int32_t)itg_clamp(code + step, v->q.qmin, v->q.qmax);
        }
        assert_int_equal(itg_strategy_set_codes(s, e, codes, elements, NULL), ITG_OK);
        free(codes);
    }
}

/* Codes that are not the nearest: the scales stay, and all agree on the result. */
static void compare_perturbed(const itg_hardware *hw, itg_strategy *s, const itg_annotated *nearest,
                              const itg_dataset *data, uint64_t seed, overflow_rule overflow,
                              counts *c)
{
    itg_annotated *a = NULL;
    itg_error err = {0};
    itg_rng rng;
    itg_rng_init(&rng, seed);
    perturb(s, nearest, &rng);
    itg_status status = itg_annotate(nearest->graph, hw, s, &a, &err);
    if (status != ITG_OK) {
        assert_int_equal(status, ITG_INFEASIBLE);
        return;
    }
    for (int32_t e = 0; e < a->edge_count; e++) {
        if (s->edges[e].channel_count == 0) continue;
        const itg_quantizer
            *q = &a->values[a->edges[e].value].encodings[a->edges[e].encoding].q,
            *old = &nearest->values[a->edges[e].value].encodings[nearest->edges[e].encoding].q;
        assert_memory_equal(q->scale, old->scale, sizeof(float) * (size_t)q->scale_count);
    }
    counts ignored = {0};
    compare(hw, a, data, seed, overflow, &ignored);
    kept_constants kept = keep_constants(nearest->graph, 1 << 20);
    for (int again = 0; again < 2; again++)
        (void)candidates_agree(nearest->graph, hw, s, &kept.constants);
    drop_constants(&kept);
    itg_annotated_destroy(a);
    c->perturbed++;
}

/* Codes, scales and biases by reconstruction. */
static void compare_recovered(const itg_hardware *hw, const itg_graph *g, itg_strategy *s,
                              const itg_dataset *data, uint64_t seed, overflow_rule overflow,
                              counts *c)
{
    itg_preprocess p = itg_preprocess_default();
    const itg_recover_options options = {ITG_RECOVER_OPTIONS_VERSION, .mode = ITG_RECOVER_ROUND,
                                         .data = data, .threads = 1};
    itg_annotated *a = NULL;
    itg_error err = {0};
    counts ignored = {0};
    itg_recovery r = {g, hw, &p, NULL};
    itg_status status = itg_recover(&r, &options, s, &err);
    itg_recovery_deinit(&r);
    if (status != ITG_OK) fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    assert_int_equal(itg_annotate(g, hw, s, &a, NULL), ITG_OK);
    compare(hw, a, data, seed, overflow, &ignored);
    bool any_weights = false; /* that are not float */
    for (int32_t e = 0; e < s->edge_count; e++) {
        c->recovered += s->edges[e].codes != NULL;
        any_weights |= s->edges[e].channel_count > 0;
    }
    assert_true(c->recovered > 0 || !any_weights || strcmp(hw->name, "chip") == 0);
    itg_annotated_destroy(a);
}

static void expect_same_text(const itg_annotated *a, const itg_annotated *b, uint64_t seed)
{
    itg_strbuf left = {0}, right = {0};
    itg_annotated_print(a, &left);
    itg_annotated_print(b, &right);
    if (strcmp(left.text, right.text) != 0)
        fail_msg("seed %llu: %s\ninstead of\n%s", (unsigned long long)seed, left.text, right.text);
    itg_strbuf_deinit(&left);
    itg_strbuf_deinit(&right);
}

/* The bounds of a node alone are those of the whole. */
static void compare_sums(const itg_annotated *a, itg_id node, uint64_t seed)
{
    itg_bound *bounds = NULL;
    int32_t count = 0;
    bool fit = false, expected = true;
    assert_int_equal(itg_bounds_of(a, &bounds, &count, NULL), ITG_OK);
    for (int32_t i = 0; i < count; i++)
        if (bounds[i].node == node) expected = expected && bounds[i].fits;
    free(bounds);
    assert_int_equal(itg_sums_fit(a, node, &fit, NULL), ITG_OK);
    if (fit != expected) fail_msg("seed %llu: node %d", (unsigned long long)seed, (int)node);
}

/* Weights of other widths, one node after the other: a node annotated again is what it is in the
 * whole annotated anew. */
static void compare_again(const itg_hardware *hw, itg_strategy *s, itg_annotated *a, uint64_t seed,
                          counts *c)
{
    for (int32_t e = 0; e < a->edge_count; e++) {
        itg_edge_choice *choice = &s->edges[e];
        const int32_t own = choice->bits;
        if (choice->channel_count == 0) continue;
        for (int32_t step = 0; step < 3; step++) {
            itg_annotated *whole = NULL;
            bool other_way = false;
            choice->bits = step == 2 ? own : 2 + (own + 2 * step + 1) % 7;
            const itg_status expected = itg_annotate(a->graph, hw, s, &whole, NULL);
            const itg_status status =
                itg_annotate_weights(a, s, a->edges[e].node, &other_way, NULL);
            if (!other_way) assert_int_equal(status, expected);
            if (!other_way && status == ITG_OK) {
                expect_same_text(a, whole, seed);
                compare_sums(a, a->edges[e].node, seed);
                c->again++;
            }
            itg_annotated_destroy(whole);
        }
    }
}

/* Makes some of the weights that may be float so, and takes other ways of the same widths. */
static void draw_ways(const itg_choice_space *space, uint64_t seed, int32_t *bits,
                      int32_t *passed_over)
{
    itg_rng rng;
    itg_rng_init(&rng, seed + 7);
    for (int32_t i = 0; i < space->group_count; i++) {
        const itg_choice_group *group = &space->groups[i];
        passed_over[i] = (int32_t)itg_rng_below(&rng, (uint64_t)group->alternatives);
        if (group->may_be_float && itg_rng_below(&rng, 8) == 0) bits[i] = ITG_FLOAT_BITS;
    }
}

static void run_case(const itg_hardware *hw, uint64_t seed, bool tables, itg_bits_range activation,
                     overflow_rule overflow, counts *c)
{
    itg_graph *g = random_network(seed, hw, tables);
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
    if (itg_calibrate_model(g, data, &p, 1, &stats, &err) != ITG_OK)
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
        int32_t *passed_over = calloc((size_t)space->group_count + 1, sizeof *passed_over);
        draw_ways(space, seed, bits, passed_over);
        if (itg_strategy_resolve(cache, bits, methods, passed_over, &strategy, &err) != ITG_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
        assert_int_equal(itg_fit_sums(g, hw, NULL, strategy, &err), ITG_OK);
        free(passed_over);
        free(methods);
        status = itg_annotate(g, hw, strategy, &a, &err);
        free(bits);
        kept_constants kept = keep_constants(g, 1 << 20);
        for (int again = 0; again < 2; again++)
            (void)candidates_agree(g, hw, strategy, &kept.constants);
        drop_constants(&kept);
    }
    if (status == ITG_OK) {
        compare(hw, a, data, seed, overflow, c);
        compare_again(hw, strategy, a, seed, c);
        if (seed % 3 == 0) compare_perturbed(hw, strategy, a, data, seed, overflow, c);
        if (seed % 3 == 1) compare_recovered(hw, g, strategy, data, seed, overflow, c);
    } else if (status == ITG_INFEASIBLE)
        c->refused++;
    else
        fail_msg("seed %llu: %s", (unsigned long long)seed, err.message);
    itg_annotated_destroy(a);
    itg_strategy_destroy(strategy);
    itg_threshold_cache_destroy(cache);
    itg_choice_space_destroy(space);
    itg_stats_destroy(stats);
    itg_data_close(data);
    itg_graph_destroy(g);
}

/* Destroys hw. */
static void run_cases(itg_hardware *hw, bool tables, itg_bits_range activation,
                      overflow_rule overflow, uint64_t first)
{
    counts c = {0};
    for (int i = 0; i < CASES; i++)
        run_case(hw, first + (uint64_t)i, tables, activation, overflow, &c);
    printf("%s: %d networks agree, %d with other codes than the nearest, %d layers were "
           "reconstructed, "
           "%d networks were infeasible, %d sums in parts\n",
           hw->name, c.run, c.perturbed, c.recovered, c.refused, c.split);
    itg_hardware_destroy(hw);
    assert_true(c.run > CASES / 2 && c.perturbed > CASES / 6 && c.again > c.run);
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
    for (uint64_t first = 40000; first < 48000; first += 1000) /* for the sake of the islands */
        run_target("x86-vnni", true, as_stated, MAY_OVERFLOW, first);
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
static void several_ways(void **state)
{
    (void)state;
    run_target("tests/independent/hardware/choices.json", false, as_stated, MAY_OVERFLOW, 50000);
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
static void armv8_dot(void **state)
{
    (void)state;
    run_target("armv8-dot", true, as_stated, MAY_OVERFLOW, 50000);
}
static void esp32(void **state)
{
    (void)state;
    run_target("esp32", true, as_stated, MAY_OVERFLOW, 52000);
}
static void tensorrt_int8(void **state)
{
    (void)state;
    run_target("tensorrt-int8", true, as_stated, MAY_OVERFLOW, 54000);
}
static void fpga(void **state)
{
    (void)state;
    run_target("fpga", true, as_stated, MAY_OVERFLOW, 56000);
}
static void tlu(void **state)
{
    (void)state;
    run_target("tlu", true, as_stated, MAY_OVERFLOW, 58000);
}
static void tlu_of_7_bits(void **state)
{
    (void)state;
    run_target("tlu", true, (itg_bits_range){7, 7}, MAY_OVERFLOW, 60000);
}
static void nic(void **state)
{
    (void)state;
    run_target("nic", true, as_stated, FITS, 62000);
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
    add_operator(out, "AveragePool GlobalAveragePool ReduceMean", c->pool);
    add_operator(
        out,
        "GlobalMaxPool Transpose Concat Reshape Flatten Squeeze Unsqueeze Slice Split Gather "
        "Expand Pad ArgMax",
        "{'arithmetic':'keep_scale','inputs':['a']}");
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

/* ---- what all of these have seen ---- */

/* Folded, left off or replaced before anything runs. */
static bool never_runs(itg_op op)
{
    return op == ITG_OP_BATCH_NORMALIZATION || op == ITG_OP_CONSTANT ||
           op == ITG_OP_CONSTANT_OF_SHAPE || op == ITG_OP_SHAPE || op == ITG_OP_IDENTITY ||
           op == ITG_OP_DROPOUT || op == ITG_OP_CAST || op == ITG_OP_FLATTEN ||
           op == ITG_OP_SQUEEZE || op == ITG_OP_UNSQUEEZE || op == ITG_OP_CAST_LIKE ||
           op == ITG_OP_SCATTER || op == ITG_OP_RANGE || op == ITG_OP_UNIQUE ||
           op == ITG_OP_GATHER_ND || /* of constant indices */
           op == ITG_OP_NON_ZERO ||
           itg_op_is(op, ITG_READS_SHAPE | ITG_IS_COMPOSITE | ITG_IS_WRITTEN_OUT);
}

/* Every operator, as integers where any target may have it, has computed several images at once. */
/* Weights alone as codes: of all layers, and of those that no operator of integers takes. */
static void weights_of_float_nodes(void **state)
{
    static const char *const texts[] = {
        "{'intaglio_hardware':1,'name':'weights','float':true,"
        "'dtypes':{'w':{'storage':'s8','bits':[1,8],'full_range':true}},"
        "'float_weights':{'dtypes':['w'],'per_channel':true}}",
        "{'intaglio_hardware':1,'name':'islands','float':true,"
        "'dtypes':{'a':{'storage':'u8','bits':[4,8],'zero_point':true},"
        "'w':{'storage':'s8','bits':[2,8]},'long':{'storage':'s16','bits':[9,12]}},"
        "'requantize':{'r':{'form':'f32'}},'float_weights':{'dtypes':['long','w']},"
        "'operators':{'Gemm':[{'arithmetic':'mac','inputs':['a'],'weights':['w'],'outputs':['a'],"
        "'accumulator':{'bits':32},'requantize':'r'}],"
        "'MaxPool':[{'arithmetic':'keep_scale','inputs':['a']}],"
        "'Add':[{'arithmetic':'rescale','inputs':['a'],'outputs':['a'],'requantize':'r'}]}}"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char text[1024];
        itg_hardware *hw = NULL;
        itg_error err = {0};
        size_t length = strlen(texts[i]);
        for (size_t k = 0; k <= length; k++)
            text[k] = texts[i][k] == '\'' ? '"' : texts[i][k];
        if (itg_hardware_parse(text, length, "made up", &hw, &err) != ITG_OK)
            fail_msg("%s", err.message);
        run_cases(hw, true, as_stated, MAY_OVERFLOW, 58000 + 1000 * (uint64_t)i);
    }
}

static void every_operator_ran_inner_batches(void **state)
{
    (void)state;
    for (int op = 0; op < ITG_OP_COUNT; op++) {
        bool integer = itg_hw_legal_forms((itg_op)op) != 0;
        if (never_runs((itg_op)op)) continue;
        if ((integer ? integer_batches : float_batches)[op] == 0)
            fail_msg("no network with an inner batch through %s as %s", itg_op_name((itg_op)op),
                     integer ? "integers" : "floats");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(x86_vnni),
        cmocka_unit_test(cortex_m_8),
        cmocka_unit_test(cortex_m_16),
        cmocka_unit_test(several_ways),
        cmocka_unit_test(vta),
        cmocka_unit_test(cvm),
        cmocka_unit_test(cvm_of_16_bits),
        cmocka_unit_test(avr),
        cmocka_unit_test(avr_of_8_bits),
        cmocka_unit_test(armv8_dot),
        cmocka_unit_test(esp32),
        cmocka_unit_test(tensorrt_int8),
        cmocka_unit_test(fpga),
        cmocka_unit_test(tlu),
        cmocka_unit_test(tlu_of_7_bits),
        cmocka_unit_test(nic),
        cmocka_unit_test(small_saturating_accumulators),
        cmocka_unit_test(small_wrapping_accumulators_per_tensor),
        cmocka_unit_test(power_of_two_shifts),
        cmocka_unit_test(wide_integers),
        cmocka_unit_test(specs_that_differ_in_weight_scales),
        cmocka_unit_test(narrow_sums_in_parts),
        cmocka_unit_test(short_sums_joined_in_long_ones),
        cmocka_unit_test(sixteen_bits_by_sixteen_in_32),
        cmocka_unit_test(additions_of_32_bits),
        cmocka_unit_test(weights_of_float_nodes),
        cmocka_unit_test(every_operator_ran_inner_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
