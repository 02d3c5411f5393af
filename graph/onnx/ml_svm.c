/* Support vector machines: kernels of x with all support vectors [N,S], and their sums. */
#include <math.h>
#include <string.h>
#include "graph/onnx/ml_write.h"

enum { MOST_DEGREE = 8, MOST_CLASSES = 1 << 12 };

typedef struct machine {
    int64_t vectors, features, coefficients, rhos;
    const float *vector, *coefficient, *rho;
    float gamma, coef0, degree;
    const char *kernel;
} machine;

static bool read_machine(itg_ml *m, int64_t vectors, machine *out)
{
    int64_t parameters, numbers;
    const float *p = itg_ml_get_floats(m, "kernel_params", &parameters);
    *out = (machine){.vectors = vectors, .degree = 3};
    out->kernel = itg_ml_get_string(m, "kernel_type", "LINEAR");
    out->vector = itg_ml_get_floats(m, "support_vectors", &numbers);
    out->coefficient = itg_ml_get_floats(m, "coefficients", &out->coefficients);
    out->rho = itg_ml_get_floats(m, "rho", &out->rhos);
    if (parameters == 3) {
        out->gamma = p[0];
        out->coef0 = p[1];
        out->degree = p[2];
    }
    if (out->rhos < 1 || out->coefficients < 1 || vectors < 0 || vectors > numbers ||
        (vectors > 0 && numbers % vectors != 0) || (parameters != 0 && parameters != 3)) {
        itg_ml_fail(m, ITG_BAD_FILE,
                    "%d support vectors of %d numbers, %d coefficients, %d rho, %d kernel_params: "
                    "they do not fit together",
                    (int)vectors, (int)numbers, (int)out->coefficients, (int)out->rhos,
                    (int)parameters);
        return false;
    }
    out->features = vectors > 0 ? numbers / vectors : 0;
    return m->status == ITG_OK;
}

/* ---- kernels ---- */

/* factor * x . v + bias for each support vector v. */
static const char *products(itg_ml *m, const machine *s, const char *x, float factor,
                            const float *bias)
{
    const int64_t count = s->vectors * s->features;
    float *w = itg_ml_array(m, count);
    for (int64_t i = 0; w && i < count; i++)
        w[i] = factor * s->vector[i];
    return itg_ml_gemm(m, x, s->vectors, s->features, w, bias, NULL);
}

/* exp(-gamma |x - v|^2), where the square is |x|^2 - 2 x . v + |v|^2. */
static const char *radial(itg_ml *m, const machine *s, const char *x)
{
    float *bias = itg_ml_array(m, s->vectors), *ones = itg_ml_array(m, s->features);
    if (!bias || !ones) return "";
    for (int64_t v = 0; v < s->vectors; v++) {
        double sum = 0;
        for (int64_t f = 0; f < s->features; f++)
            sum += (double)s->vector[v * s->features + f] * (double)s->vector[v * s->features + f];
        bias[v] = (float)(-(double)s->gamma * sum);
    }
    for (int64_t f = 0; f < s->features; f++)
        ones[f] = -s->gamma;
    const char *mixed = products(m, s, x, 2 * s->gamma, bias);
    const char *squares = itg_ml_add(m, &(itg_ml_new){.op = "Mul", .in = {x, x}});
    const char *norm = itg_ml_gemm(m, squares, 1, s->features, ones, NULL, NULL);
    const char *exponent = itg_ml_add(m, &(itg_ml_new){.op = "Add", .in = {mixed, norm}});
    return itg_ml_add(m, &(itg_ml_new){.op = "Exp", .in = {exponent}});
}

static const char *power(itg_ml *m, const char *base, float degree)
{
    const char *product = base;
    if (degree != floorf(degree) || degree < 1 || degree > MOST_DEGREE) {
        const char *exponent = itg_ml_scalar(m, degree);
        return itg_ml_add(m, &(itg_ml_new){.op = "Pow", .in = {base, exponent}});
    }
    for (int i = 1; i < (int)degree; i++)
        product = itg_ml_add(m, &(itg_ml_new){.op = "Mul", .in = {product, base}});
    return product;
}

static const char *kernels(itg_ml *m, const machine *s, const char *x)
{
    if (strcmp(s->kernel, "LINEAR") == 0) return products(m, s, x, 1, NULL);
    if (strcmp(s->kernel, "RBF") == 0) return radial(m, s, x);
    if (strcmp(s->kernel, "POLY") != 0 && strcmp(s->kernel, "SIGMOID") != 0) {
        itg_ml_fail(m, ITG_UNSUPPORTED,
                    "kernel_type '%.40s'; LINEAR, POLY, RBF and SIGMOID are supported", s->kernel);
        return "";
    }
    float *bias = itg_ml_array(m, s->vectors);
    for (int64_t v = 0; bias && v < s->vectors; v++)
        bias[v] = s->coef0;
    const char *inner = products(m, s, x, s->gamma, bias);
    return *s->kernel == 'P' ? power(m, inner, s->degree)
                             : itg_ml_add(m, &(itg_ml_new){.op = "Tanh", .in = {inner}});
}

/* ---- regression ---- */

static void write_regressor(itg_ml *m)
{
    machine s;
    const int64_t vectors = itg_ml_get_int(m, "n_supports", 0);
    if (!read_machine(m, vectors, &s)) return;
    if (itg_ml_get_int(m, "one_class", 0) != 0) {
        itg_ml_fail(m, ITG_UNSUPPORTED, "one_class is not supported");
        return;
    }
    if (vectors > 0 && s.coefficients != vectors) {
        itg_ml_fail(m, ITG_BAD_FILE, "%d coefficients for %d support vectors", (int)s.coefficients,
                    (int)vectors);
        return;
    }
    const char *x = itg_ml_input(m);
    const char *terms = vectors > 0 ? kernels(m, &s, x) : x;
    const char *score = itg_ml_gemm(m, terms, 1, s.coefficients, s.coefficient, s.rho, NULL);
    itg_ml_transform(m, score, itg_ml_output(m, 0));
}

/* ---- one against one ---- */

static int64_t sum_of(const int64_t *counts, int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += counts[i] < 0 || counts[i] > INT32_MAX ? INT32_MAX : counts[i];
    return sum;
}

/* Fills the weights of the pair of classes (i, j), i < j. Vectors of class i have their
 * coefficients for it in row j - 1, those of class j in row i. */
static void fill_pair(const machine *s, const int64_t *counts, int64_t i, int64_t j, float *row)
{
    const int64_t first_i = sum_of(counts, i), first_j = sum_of(counts, j);
    for (int64_t v = first_i; v < first_i + counts[i]; v++)
        row[v] = s->coefficient[(j - 1) * s->vectors + v];
    for (int64_t v = first_j; v < first_j + counts[j]; v++)
        row[v] = s->coefficient[i * s->vectors + v];
}

/* Decisions of all pairs [N, pairs]; a positive one is for the first class. */
static const char *decisions(itg_ml *m, const machine *s, const int64_t *counts, int64_t classes,
                             const char *terms)
{
    const int64_t pairs = classes * (classes - 1) / 2;
    float *w = itg_ml_array(m, pairs * s->vectors);
    int64_t pair = 0;
    for (int64_t i = 0; w && i < classes; i++)
        for (int64_t j = i + 1; j < classes; j++)
            fill_pair(s, counts, i, j, w + pair++ * s->vectors);
    return itg_ml_gemm(m, terms, pairs, s->vectors, w, s->rho, NULL);
}

/* Votes [N, classes], from the signs of the decisions. */
static const char *votes_of(itg_ml *m, int64_t classes, const char *decision)
{
    const int64_t pairs = classes * (classes - 1) / 2;
    float *w = itg_ml_array(m, classes * pairs);
    int64_t pair = 0;
    for (int64_t i = 0; w && i < classes; i++)
        for (int64_t j = i + 1; j < classes; j++, pair++) {
            w[i * pairs + pair] = 1;
            w[j * pairs + pair] = -1;
        }
    const char *zero = itg_ml_scalar(m, 0), *two = itg_ml_scalar(m, 2), *one = itg_ml_scalar(m, 1);
    const char *wins = itg_ml_add(m, &(itg_ml_new){.op = "Greater", .in = {decision, zero}});
    const char *bits =
        itg_ml_add(m, &(itg_ml_new){.op = "Cast", .in = {wins}, .attr = {"to"}, .value = {1}});
    const char *twice = itg_ml_add(m, &(itg_ml_new){.op = "Mul", .in = {bits, two}});
    const char *signs = itg_ml_add(m, &(itg_ml_new){.op = "Sub", .in = {twice, one}});
    return itg_ml_gemm(m, signs, classes, pairs, w, NULL, NULL);
}

/* A classifier without support vectors is linear. */
static void write_linear(itg_ml *m, const machine *s, const itg_ml_classes *classes)
{
    const int64_t rows = classes->count;
    if (rows < 1 || s->coefficients % rows != 0) {
        itg_ml_fail(m, ITG_BAD_FILE, "%d coefficients for %d classes", (int)s->coefficients,
                    (int)rows);
        return;
    }
    float *bias = itg_ml_array(m, rows);
    for (int64_t i = 0; bias && i < rows; i++)
        bias[i] = s->rho[0];
    const char *x = itg_ml_input(m);
    const char *scores =
        itg_ml_gemm(m, x, rows, s->coefficients / rows, s->coefficient, bias, NULL);
    itg_ml_write_classes(m, classes, scores, scores);
}

static void write_classifier(itg_ml *m)
{
    machine s;
    int64_t groups, probabilities;
    const itg_ml_classes classes = itg_ml_get_classes(m, "classlabels_ints");
    const int64_t *counts = itg_ml_get_ints(m, "vectors_per_class", &groups);
    const int64_t vectors = sum_of(counts, groups);
    if (!read_machine(m, vectors, &s)) return;
    (void)itg_ml_get_floats(m, "prob_a", &probabilities);
    if (vectors == 0) {
        write_linear(m, &s, &classes);
        return;
    }
    if (probabilities > 0) {
        itg_ml_fail(m, ITG_UNSUPPORTED,
                    "probabilities (prob_a) are found by iteration, which is "
                    "not supported; export it without them");
        return;
    }
    const int64_t pairs = groups * (groups - 1) / 2;
    if (groups < 2 || groups > MOST_CLASSES || groups != classes.count || s.rhos != pairs ||
        s.coefficients != (groups - 1) * vectors) {
        itg_ml_fail(m, ITG_BAD_FILE, "%d classes, vectors of %d classes, %d rho, %d coefficients",
                    (int)classes.count, (int)groups, (int)s.rhos, (int)s.coefficients);
        return;
    }
    const char *x = itg_ml_input(m);
    const char *decision = decisions(m, &s, counts, groups, kernels(m, &s, x));
    const char *scores = groups == 2 ? itg_ml_two(m, decision, false) : decision;
    itg_ml_write_classes(m, &classes, votes_of(m, groups, decision), scores);
}

static const itg_ml_rule rules[] = {
    {"SVMRegressor", write_regressor},
    {"SVMClassifier", write_classifier},
};

const itg_ml_family itg_ml_svm = {rules, (int32_t)(sizeof rules / sizeof rules[0])};
