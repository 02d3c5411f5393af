/* A network with all that its measurements share. */
#include "bench/bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double float_tolerance = 1e-3;

static void path_of(const bench_subject *s, const char *name, char *out, size_t size)
{
    if (name[0] == '@')
        snprintf(out, size, "%s/%s", s->options->folder, name + 1);
    else
        snprintf(out, size, "%s", name);
}

static int64_t samples_wanted(const bench_subject *s, int64_t count)
{
    int64_t least = count / 8 > 4 ? count / 8 : 4;
    return s->options->quick ? least : count;
}

/* ---- inputs ---- */

static itg_status read_preprocess(const bench_network *n, itg_preprocess *p, itg_error *err)
{
    int32_t count = 0;
    itg_status status = ITG_OK;
    *p = itg_preprocess_default();
    p->bgr = n->bgr;
    if (n->scale) status = itg_preprocess_parse_list(n->scale, &p->scale, 1, &count, err);
    if (status == ITG_OK && n->mean)
        status = itg_preprocess_parse_list(n->mean, p->mean, ITG_MAX_CHANNELS, &p->mean_count, err);
    if (status == ITG_OK && n->std)
        status = itg_preprocess_parse_list(n->std, p->std, ITG_MAX_CHANNELS, &p->std_count, err);
    return status;
}

static itg_status load_labels(bench_subject *s, itg_error *err)
{
    int64_t samples = bench_subject_samples(s);
    if (!s->network->labels) return ITG_OK;
    s->set.has_classes = true;
    itg_status status = itg_data_open(s->network->labels, samples, &s->set.labels, err);
    return status == ITG_OK ? itg_labels_check(s->set.labels, samples, err) : status;
}

itg_status bench_subject_model(bench_subject *s, itg_error *err)
{
    path_of(s, s->network->model, s->model_path, sizeof s->model_path);
    itg_status status = read_preprocess(s->network, &s->preprocess, err);
    if (status == ITG_OK) status = itg_model_open(s->model_path, NULL, &s->model, err);
    return status;
}

static itg_status load(bench_subject *s, itg_error *err)
{
    const bench_network *n = s->network;
    itg_status status = itg_hardware_load("x86-vnni", &s->hw, err);
    if (status == ITG_OK)
        status = itg_data_open(
            n->data, s->options->samples ? s->options->samples : samples_wanted(s, n->samples),
            &s->set.data, err);
    if (status == ITG_OK)
        status = itg_data_open(n->calibration, samples_wanted(s, n->calibration_samples),
                               &s->calibration, err);
    if (status == ITG_OK) status = load_labels(s, err);
    if (status == ITG_OK) s->input = *itg_model_input_shape(s->model, 0);
    return status;
}

static itg_status count_macs(bench_subject *s, itg_error *err)
{
    itg_check *check = NULL;
    itg_status status = itg_check_model(s->model, s->hw, &check, err);
    for (int32_t i = 0; status == ITG_OK && i < itg_check_count(check); i++)
        if (itg_check_node(check, i)->placement == ITG_PLACE_INTEGER)
            s->macs += (double)itg_check_node(check, i)->macs;
    itg_check_destroy(check);
    return status;
}

/* ---- what a search prepares ---- */

static itg_status run_float(bench_subject *s, itg_error *err)
{
    itg_backend backend = itg_backend_float(s->model, ITG_FLOAT_REFERENCE);
    itg_evaluate_options options = {.data = s->set.data,
                                    .preprocess = &s->preprocess,
                                    .labels = s->set.labels,
                                    .keep = &s->set.outputs,
                                    .threads = s->options->threads};
    itg_evaluation evaluation = {0};
    itg_status status = itg_evaluate(&backend, &options, &evaluation, err);
    if (status == ITG_OK) s->set.classes = evaluation.classes;
    return status;
}

static itg_status prepare(bench_subject *s, itg_error *err)
{
    const itg_graph *graph = s->model;
    itg_evaluator *e = &s->evaluator;
    itg_search_options none = ITG_SEARCH_OPTIONS_INIT;
    e->model = s->model;
    e->hw = s->hw;
    e->preprocess = &s->preprocess;
    itg_status status = itg_evaluator_init(e, 0, err);
    if (status == ITG_OK)
        status = itg_calibrate_model(graph, s->calibration, &s->preprocess, s->options->threads,
                                     &s->stats, err);
    if (status == ITG_OK) status = itg_point_space_create(s->hw, graph, &none, &e->points, err);
    if (status == ITG_OK)
        status =
            itg_threshold_cache_create(graph, s->hw, e->points->groups, s->stats, &e->cache, err);
    if (status == ITG_OK) status = run_float(s, err);
    return status;
}

/* ---- the peer's part ---- */

static itg_status write_samples(bench_subject *s, itg_error *err)
{
    int64_t elements = 0, samples = bench_subject_samples(s);
    if (!itg_shape_elements(&s->input, &elements))
        return itg_fail(err, ITG_LIMIT, "%s: the input is too large", s->network->name);
    size_t bytes = (size_t)(samples * elements) * sizeof *s->real;
    s->real = malloc(bytes);
    if (!s->real) return itg_fail(err, ITG_NO_MEMORY, "no memory for the samples");
    for (int64_t i = 0; i < samples; i++) {
        const itg_tensor input = {ITG_F32, s->input, s->real + i * elements};
        itg_status status = itg_preprocess_sample(&s->preprocess, s->set.data, i, &input, err);
        if (status != ITG_OK) return status;
    }
    snprintf(s->real_path, sizeof s->real_path, "%s/%s.f32", s->options->folder, s->network->name);
    return itg_file_write(s->real_path, s->real, bytes, err);
}

itg_shape bench_subject_shape(const bench_subject *s)
{
    itg_shape shape = s->input;
    shape.dims[0] = bench_subject_samples(s);
    return shape;
}

/* The peer computes the network that is meant: its outputs are ours but for the order of sums. */
static itg_status compare_float(bench_subject *s, itg_error *err)
{
    const itg_reference *ours = &s->set.outputs;
    float *theirs = NULL;
    int64_t elements = 0;
    double largest = 0, error = 0;
    s->float_error = -1;
    if (s->fp32.number < 0 || !ours->values) return ITG_OK;
    itg_status status = bench_session_outputs(&s->fp32, ours->samples, &theirs, &elements, err);
    if (status != ITG_OK) return status;
    for (int64_t i = 0; elements == ours->elements && i < ours->samples * elements; i++) {
        largest = fmax(largest, fabs((double)ours->values[i]));
        double distance = fabs((double)ours->values[i] - (double)theirs[i]);
        error = distance <= error ? error : distance; /* NaN stays */
    }
    free(theirs);
    if (elements != ours->elements || !(error <= float_tolerance * largest))
        return itg_fail(err, ITG_MISMATCH,
                        "%s: the peer's float outputs differ from ours by %g of %g",
                        s->network->name, error, largest);
    s->float_error = largest > 0 ? error / largest : 0;
    return ITG_OK;
}

itg_status bench_subject_open(bench_subject *s, itg_error *err)
{
    s->fp32.number = -1;
    itg_status status = bench_subject_model(s, err);
    if (status == ITG_OK) status = load(s, err);
    if (status == ITG_OK) status = count_macs(s, err);
    if (status == ITG_OK) status = prepare(s, err);
    if (status == ITG_OK) status = write_samples(s, err);
    itg_shape shape = status == ITG_OK ? bench_subject_shape(s) : s->input;
    if (status == ITG_OK)
        status = bench_session_open(s->peer, "fp32", s->model_path, s->real_path, &shape, 1,
                                    &s->fp32, err);
    if (status == ITG_OK) status = compare_float(s, err);
    return status;
}

void bench_subject_close(bench_subject *s)
{
    bench_session_close(&s->fp32);
    if (s->real_path[0]) remove(s->real_path);
    free(s->real);
    itg_evaluator_deinit(&s->evaluator);
    itg_reference_deinit(&s->set.outputs);
    free(s->set.classes);
    itg_stats_destroy(s->stats);
    itg_data_close(s->set.labels);
    itg_data_close(s->calibration);
    itg_data_close(s->set.data);
    itg_hardware_destroy(s->hw);
    itg_model_close(s->model);
}

/* ---- for those who measure ---- */

int64_t bench_subject_samples(const bench_subject *s)
{
    return s->set.data->shape.dims[0];
}

bool bench_subject_present(const bench_subject *s, char *missing, size_t size)
{
    const bench_network *n = s->network;
    const char *const files[] = {n->model, n->data, n->calibration, n->labels};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] && !bench_subject_file(s, files[i], missing, size)) return false;
    return true;
}

bool bench_subject_file(const bench_subject *s, const char *name, char *out, size_t size)
{
    if (!name) return false;
    path_of(s, name, out, size);
    return access(out, R_OK) == 0;
}

itg_status bench_subject_score(const bench_subject *s, const itg_accel_kernels *kernels,
                               const int32_t *point, int threads, itg_score *out, itg_error *err)
{
    itg_evaluator e = s->evaluator;
    if (kernels) e.kernels = kernels;
    itg_scoring all = {.set = &s->set, .threads = threads};
    return itg_evaluator_score(&e, point, &all, out, err);
}

void bench_subject_point(const bench_subject *s, uint64_t number, int32_t *point)
{
    const itg_point_space *points = s->evaluator.points;
    itg_rng rng;
    itg_rng_init(&rng, number);
    itg_point_space_corner(points, false, point);
    for (int32_t d = 0; number > 0 && d < points->space.dim_count; d++) {
        const itg_dim *dim = &points->space.dims[d];
        bool lower = number == 1 || itg_rng_below(&rng, 4) == 0;
        if (lower && dim->ordered && dim->count > 1) point[d] = dim->values[dim->count - 2];
    }
}

itg_status bench_subject_realize(const bench_subject *s, const int32_t *point,
                                 itg_annotated **annotated, itg_program **program, itg_error *err)
{
    itg_strategy *strategy = NULL;
    itg_annotated *a = NULL;
    itg_status status = itg_evaluator_resolve(&s->evaluator, point, &strategy, err);
    if (status == ITG_OK) status = itg_annotate(s->model, s->hw, strategy, &a, err);
    if (status == ITG_OK) status = itg_realize_program(a, NULL, program, err);
    itg_strategy_destroy(strategy);
    if (status == ITG_OK)
        *annotated = a;
    else
        itg_annotated_destroy(a);
    return status;
}
