#include "sim/expected.h"
#include "kernels/math.h"
#include <math.h>
#include <stdlib.h>

/* A network whose mean probability is further from its top-1 does not predict its losses. */
#define MOST_MISCALIBRATED 0.05

void itg_expectation_deinit(itg_expectation *e)
{
    free(e->loss);
    *e = (itg_expectation){0};
}

/* Standard error of the ratio of a network's loss to that which its probabilities predict. For five
 * networks, mean drops on hold-outs were 0.58 to 1.50 times the prediction. */
#define MODEL_ERROR 0.4

/* Softmax of outputs * scale; own: the class of the largest output. */
static void probabilities_of(const float *outputs, int64_t count, int64_t own, double scale,
                             double *out)
{
    double most = (double)outputs[own], sum = 0;
    for (int64_t i = 0; i < count; i++) {
        out[i] = itg_exp(((double)outputs[i] - most) * scale);
        sum += out[i];
    }
    for (int64_t i = 0; i < count; i++)
        out[i] /= sum;
}

/* Derivative of the negative log-likelihood by the scale; it increases with the scale. */
static double slope(const itg_reference *r, const int64_t *classes, const int64_t *labels,
                    double scale, double *p)
{
    double sum = 0;
    for (int64_t s = 0; s < r->samples; s++) {
        const float *x = r->values + s * r->elements;
        probabilities_of(x, r->elements, classes[s], scale, p);
        for (int64_t i = 0; i < r->elements; i++)
            sum += p[i] * ((double)x[i] - (double)x[labels[s]]);
    }
    return sum;
}

/* Returns 1 / temperature, to a millionth; 0: the labels become less likely with a larger scale. If
 * all classes are right, it is the largest scale. */
static double fit_scale(const itg_reference *r, const int64_t *classes, const int64_t *labels,
                        double *p)
{
    double low = 0x1p-40, high = 0x1p40;
    if (!(slope(r, classes, labels, low, p) < 0)) return 0;
    while (high / low > 1.000001) {
        double middle = sqrt(low * high);
        *(slope(r, classes, labels, middle, p) < 0 ? &low : &high) = middle;
    }
    return low;
}

/* Fills the losses. Returns the mean probability of the network's own classes. */
static double fill(const itg_reference *r, const int64_t *classes, double scale, double *p,
                   uint32_t *loss)
{
    double sum = 0;
    for (int64_t s = 0; s < r->samples; s++) {
        probabilities_of(r->values + s * r->elements, r->elements, classes[s], scale, p);
        double own = p[classes[s]];
        for (int64_t i = 0; i < r->elements; i++)
            loss[s * r->elements + i] = (uint32_t)((own - p[i]) * ITG_LOSS_ONE + 0.5);
        sum += own;
    }
    return sum / (double)r->samples;
}

static double top1_of(int64_t samples, const int64_t *classes, const int64_t *labels)
{
    int64_t correct = 0;
    for (int64_t s = 0; s < samples; s++)
        correct += classes[s] == labels[s];
    return (double)correct / (double)samples;
}

double itg_deviations_of(double confidence)
{
    double low = 0, high = 8;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        *(0.5 + 0.5 * itg_erf(middle / sqrt(2)) < confidence ? &low : &high) = middle;
    }
    return low;
}

itg_status itg_expectation_make(const itg_reference *r, const int64_t *classes,
                                const int64_t *labels, double confidence, itg_expectation *out,
                                itg_error *err)
{
    itg_expectation made = {
        .samples = r->samples, .classes = r->elements, .deviations = itg_deviations_of(confidence)};
    if (!r->values || r->samples == 0 || r->elements < 2) return ITG_OK;
    double *p = malloc(sizeof *p * (size_t)r->elements);
    made.loss = malloc(sizeof *made.loss * (size_t)r->samples * (size_t)r->elements);
    itg_status status =
        p && made.loss ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for what to expect");
    if (status == ITG_OK) {
        double scale = fit_scale(r, classes, labels, p);
        made.top1 = top1_of(r->samples, classes, labels);
        if (scale > 0 &&
            fabs(fill(r, classes, scale, p, made.loss) - made.top1) <= MOST_MISCALIBRATED) {
            *out = made;
            made.loss = NULL;
        }
    }
    free(p);
    free(made.loss);
    return status;
}

double itg_expected_top1(const itg_expectation *e, uint64_t lost)
{
    return fmax(0, e->top1 - (double)lost / ITG_LOSS_ONE / (double)e->samples);
}

/* Few samples have a loss, and each a large one. So the bound assumes one more sample with a loss:
 * as large as that of the observed ones (weighted by it), or one half if there is none. Without
 * losses the bound is then 2.6 over the samples; the exact bound of a Poisson distribution is
 * 3.0. */
double itg_expected_bound(const itg_expectation *e, uint64_t lost, uint64_t squares)
{
    double sum = (double)lost / ITG_LOSS_ONE;
    double sum2 = (double)squares / (ITG_LOSS_ONE * ITG_LOSS_ONE);
    double next = (sum2 + 0.25) / (sum + 0.5), n = (double)e->samples;
    double mean = (sum + next) / n, variance = (sum2 + next * next) / n - mean * mean;
    double model = MODEL_ERROR * sum / n;
    return fmax(0, e->top1 - mean - e->deviations * sqrt(fmax(0, variance) / n + model * model));
}

bool itg_expectation_supports(const itg_expectation *e, double drop)
{
    return e->top1 - itg_expected_bound(e, 0, 0) <= drop;
}
