#include "sim/measures.h"
#include "kernels/math.h"
#include "sim/distance.h"
#include "sim/hits.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CLASSES 65536
#define IGNORED 255               /* void label, if fewer classes */
#define LEAST_PROBABILITY 0x1p-24 /* quantized probabilities may be 0 */

enum { LABELLED, CHOSEN, BOTH, COUNTS };
enum { LEFT, ABOUT_MEAN, SQUARES };

bool itg_gives_probabilities(const itg_model *model)
{
    if (model->output_count == 0) return false;
    itg_id producer = model->values[model->outputs[0]].producer;
    if (producer == ITG_NONE) return false;
    itg_op op = model->nodes[producer].op;
    return op == ITG_OP_SIGMOID || op == ITG_OP_HARD_SIGMOID || op == ITG_OP_SOFTMAX;
}

static bool is_asked(const itg_measured *of, itg_metric metric)
{
    return of->asked && of->asked[metric];
}

static int64_t elements_of(const itg_tensor *t)
{
    return (int64_t)(itg_tensor_bytes(t) / itg_dtype_size(t->dtype));
}

static double label_at(const itg_measured *of, int64_t i)
{
    const itg_tensor labels = {of->labels->dtype, of->labels->shape, of->labels->data};
    return itg_real_at(&labels, NULL, i);
}

/* ---- what the labels are ---- */

/* Returns the labels per sample. 0: there are none, or their number differs between samples. */
static int64_t labels_each(const itg_measured *of)
{
    int64_t count = 0;
    if (!of->labels || of->samples == 0 || !itg_shape_elements(&of->labels->shape, &count))
        return 0;
    return count % of->samples == 0 ? count / of->samples : 0;
}

static bool are_binary(const itg_measured *of, int64_t each)
{
    for (int64_t i = 0; i < of->samples * each; i++) {
        double label = label_at(of, i);
        bool is_class = label >= 0 && label <= 1 && itg_floor(label) >= label;
        if (!is_class && !(each > 1 && label >= IGNORED && label <= IGNORED)) return false;
    }
    return true;
}

/* Whether the labels have the output's axes without this one; axes of one element do not count. */
static bool is_class_axis(const itg_shape *output, const itg_shape *labels, int32_t axis)
{
    int32_t at = 1;
    if (output->dims[axis] < 2) return false;
    for (int32_t i = 1; i < output->rank; i++) {
        if (i == axis || output->dims[i] == 1) continue;
        while (at < labels->rank && labels->dims[at] == 1)
            at++;
        if (at == labels->rank || labels->dims[at++] != output->dims[i]) return false;
    }
    while (at < labels->rank && labels->dims[at] == 1)
        at++;
    return at == labels->rank;
}

/* If two axes match: the last of texts [1, T, V], the first of maps [1, C, H, W]. */
static int32_t class_axis(const itg_shape *output, const itg_shape *labels)
{
    int32_t last = output->rank - 1;
    const int32_t axes[] = {output->rank == 3 ? last : 1, output->rank == 3 ? 1 : last};
    for (int i = 0; i < 2; i++)
        if (is_class_axis(output, labels, axes[i])) return axes[i];
    return -1;
}

static void lay_out(itg_measures *m)
{
    const itg_shape *shape = &m->of.output->shape;
    int64_t each = labels_each(&m->of), elements = elements_of(m->of.output);
    int32_t axis = 0;
    m->inner = 1;
    m->classes = elements;
    if (each == 0 || (m->of.quantizer && m->of.quantizer->scale_count != 1)) return;
    if (m->of.output->dtype == ITG_S64 && !m->of.quantizer && each == elements)
        m->classes = 0;
    else if (each == elements && are_binary(&m->of, each))
        m->classes = 1;
    else if (each == 1 && itg_has_classes(m->of.output->dtype, shape))
        m->classes = elements;
    else if (shape->rank >= 3 && (axis = class_axis(shape, &m->of.labels->shape)) > 0) {
        m->classes = shape->dims[axis];
        for (int32_t i = axis + 1; i < shape->rank; i++)
            m->inner *= shape->dims[i];
    } else
        return;
    m->positions = each;
}

bool itg_labels_are_maps(const itg_measured *of)
{
    itg_measures m = {.of = *of};
    lay_out(&m);
    return m.positions > 1;
}

/* Returns the number of classes to count: two for a logit; for an output of classes, the most. */
static int64_t kinds_of(const itg_measures *m)
{
    return m->classes > 1 ? m->classes : m->classes == 1 ? 2 : MOST_CLASSES;
}

/* Whether the label is padding or marks a position that nobody labelled. */
static bool is_ignored(const itg_measures *m, double label)
{
    bool is_void = label >= IGNORED && label <= IGNORED && m->classes > 0 && m->classes <= IGNORED;
    return m->positions > 1 && (label < 0 || is_void);
}

static itg_status check_labels(const itg_measures *m, itg_error *err)
{
    for (int64_t i = 0; i < m->of.samples * m->positions; i++) {
        double label = label_at(&m->of, i);
        bool is_class = label >= 0 && label < (double)m->kinds && itg_floor(label) >= label;
        if (!is_class && !is_ignored(m, label))
            return itg_fail(err, ITG_MISMATCH,
                            "%s: the label %g of sample %lld is no class: expected 0 to %lld%s",
                            m->of.labels->path ? m->of.labels->path : "labels", label,
                            (long long)(i / m->positions), (long long)m->kinds - 1,
                            m->positions > 1 ? ", or less than 0 where there is none" : "");
    }
    return ITG_OK;
}

/* ---- room ---- */

static bool counts_classes(const itg_measured *of)
{
    return is_asked(of, ITG_METRIC_F1) || is_asked(of, ITG_METRIC_F1_MACRO) ||
           is_asked(of, ITG_METRIC_MIOU);
}

/* Whether a metric is asked for that needs classes as labels. */
static bool judges_classes(const itg_measured *of)
{
    return counts_classes(of) || is_asked(of, ITG_METRIC_BINARY_ACCURACY) ||
           is_asked(of, ITG_METRIC_AUROC) || is_asked(of, ITG_METRIC_PERPLEXITY);
}

static itg_status allocate(void *out, int64_t count, size_t size, itg_error *err)
{
    size_t bytes = 0;
    void *made = itg_mul_size((size_t)count + 1, size, &bytes) ? calloc(1, bytes) : NULL;
    if (!made) return itg_fail(err, ITG_NO_MEMORY, "no memory for metrics of all samples");
    memcpy(out, &made, sizeof made);
    return ITG_OK;
}

/* Sums the squared distances of the targets from their mean, for each element of the output. */
static itg_status begin_targets(itg_measures *m, int64_t elements, itg_error *err)
{
    itg_status status = allocate(&m->columns, elements, SQUARES * sizeof *m->columns, err);
    for (int64_t k = 0; status == ITG_OK && k < elements; k++) {
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < m->of.samples; i++)
            sum += label_at(&m->of, i * elements + k);
        for (int64_t i = 0; i < m->of.samples; i++) {
            double d = label_at(&m->of, i * elements + k) - sum / (double)m->of.samples;
            squares += d * d;
        }
        m->columns[k * SQUARES + ABOUT_MEAN] = squares;
    }
    return status;
}

static bool is_rebuilt(const itg_measures *m)
{
    const itg_tensor *input = m->of.input;
    int64_t elements = elements_of(m->of.output);
    return is_asked(&m->of, ITG_METRIC_AUROC) && input && input->dtype == ITG_F32 && elements > 2 &&
           elements_of(input) == elements && labels_each(&m->of) == 1 && are_binary(&m->of, 1) &&
           (!m->of.quantizer || m->of.quantizer->scale_count == 1);
}

itg_status itg_measures_init(itg_measures *m, const itg_measured *of, itg_error *err)
{
    itg_status status = ITG_OK;
    *m = (itg_measures){.of = *of};
    if (!of->asked || !of->labels || !of->output) return ITG_OK;
    lay_out(m);
    m->rebuilds = is_rebuilt(m);
    if (!judges_classes(of)) m->positions = 0;
    m->kinds = kinds_of(m);
    int64_t elements = elements_of(of->output);
    bool ranks = m->rebuilds || (m->positions > 0 && (m->classes == 1 || m->classes == 2));
    if (m->positions > 0 && !m->rebuilds) status = check_labels(m, err);
    if (status == ITG_OK && m->positions > 0 && !m->rebuilds && counts_classes(of))
        status = allocate(&m->counts, m->kinds, COUNTS * sizeof *m->counts, err);
    if (status == ITG_OK && ranks && is_asked(of, ITG_METRIC_AUROC))
        status = allocate(&m->scores, of->samples * (m->rebuilds ? 1 : m->positions),
                          2 * sizeof *m->scores, err);
    if (status == ITG_OK && is_asked(of, ITG_METRIC_R2) && labels_each(of) == elements &&
        of->output->dtype != ITG_S64 && (!of->quantizer || of->quantizer->scale_count == 1))
        status = begin_targets(m, elements, err);
    return status;
}

void itg_measures_deinit(itg_measures *m)
{
    free(m->counts);
    free(m->scores);
    free(m->columns);
}

/* ---- a sample ---- */

static int64_t element_at(const itg_measures *m, int64_t position, int64_t c)
{
    return (position / m->inner * m->classes + c) * m->inner + position % m->inner;
}

/* Returns the class of the largest code, the lowest of equal ones; of one class, whether the logit
 * is above 0 or the probability above one half. */
static int64_t chosen_at(const itg_measures *m, const itg_tensor *output, int64_t position)
{
    int64_t best = 0;
    if (m->classes == 0) return ((const int64_t *)output->data)[position];
    if (m->classes == 1)
        return itg_real_at(output, m->of.quantizer, position) > (m->of.probabilities ? 0.5 : 0);
    double most = itg_real_at(output, NULL, element_at(m, position, 0));
    for (int64_t c = 1; c < m->classes; c++) {
        double code = itg_real_at(output, NULL, element_at(m, position, c));
        if (code > most) best = c;
        if (code > most) most = code;
    }
    return best;
}

/* Counts one position. A chosen class that no label can have counts as the last kind. */
static void count_position(itg_measures *m, int64_t label, int64_t chosen)
{
    if (chosen < 0 || chosen >= m->kinds) chosen = m->kinds - 1;
    m->counts[label * COUNTS + LABELLED]++;
    m->counts[chosen * COUNTS + CHOSEN]++;
    if (label == chosen) m->counts[label * COUNTS + BOTH]++;
}

static void add_score(itg_measures *m, double score, int64_t label)
{
    m->scores[2 * m->scored] = score;
    m->scores[2 * m->scored + 1] = (double)label;
    m->scored++;
}

/* Returns s such that x - s is the log of a class's probability. */
static double log_sum(const itg_measured *of, int64_t count, double (*at)(const void *, int64_t),
                      const void *context)
{
    double most = 0, sum = 0;
    for (int64_t i = 0; i < count; i++)
        if (i == 0 || at(context, i) > most) most = at(context, i);
    for (int64_t i = 0; i < count; i++)
        sum += of->probabilities ? fmax(at(context, i), LEAST_PROBABILITY)
                                 : itg_exp(at(context, i) - most);
    return itg_log(sum) + (of->probabilities ? 0 : most);
}

static double log_probability(const itg_measured *of, double x, double sum)
{
    return (of->probabilities ? itg_log(fmax(x, LEAST_PROBABILITY)) : x) - sum;
}

/* The outputs of all classes at a position. */
typedef struct class_outputs {
    const itg_measures *m;
    const itg_tensor *output;
    int64_t position;
} class_outputs;

static double class_at(const void *context, int64_t c)
{
    const class_outputs *o = context;
    return itg_real_at(o->output, o->m->of.quantizer, element_at(o->m, o->position, c));
}

/* Returns -log of the label's probability; probabilities are first scaled to a sum of 1. */
static double loss_at(const itg_measures *m, const itg_tensor *output, int64_t position,
                      int64_t label)
{
    const class_outputs o = {m, output, position};
    return -log_probability(&m->of, class_at(&o, label), log_sum(&m->of, m->classes, class_at, &o));
}

static void add_position(itg_measures *m, const itg_tensor *output, int64_t position, int64_t label)
{
    if (m->counts) count_position(m, label, chosen_at(m, output, position));
    if (m->scores && m->classes == 1)
        add_score(m, itg_real_at(output, m->of.quantizer, position), label);
    if (m->scores && m->classes == 2)
        add_score(m,
                  itg_real_at(output, m->of.quantizer, element_at(m, position, 1)) -
                      itg_real_at(output, m->of.quantizer, element_at(m, position, 0)),
                  label);
    if (is_asked(&m->of, ITG_METRIC_PERPLEXITY) && m->classes > 1) {
        m->log_loss += loss_at(m, output, position, label);
        m->tokens++;
    }
}

static double rebuilding_error(const itg_measures *m, const itg_tensor *output, const float *input)
{
    int64_t count = elements_of(output);
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double d = itg_real_at(output, m->of.quantizer, i) - (double)input[i];
        sum += d * d;
    }
    return sum / (double)count;
}

void itg_measures_add(itg_measures *m, int64_t sample, const itg_tensor *output, const float *input)
{
    int64_t elements = m->columns ? elements_of(output) : 0;
    for (int64_t k = 0; k < elements; k++) {
        double d =
            itg_real_at(output, m->of.quantizer, k) - label_at(&m->of, sample * elements + k);
        m->columns[k * SQUARES + LEFT] += d * d;
    }
    if (m->rebuilds) {
        add_score(m, rebuilding_error(m, output, input), (int64_t)label_at(&m->of, sample));
        return;
    }
    for (int64_t p = 0; p < m->positions; p++) {
        double label = label_at(&m->of, sample * m->positions + p);
        if (!is_ignored(m, label)) add_position(m, output, p, (int64_t)label);
    }
}

/* ---- values ---- */

/* Means over the classes that occur as label or choice. F1 is 2 both / (labelled + chosen), IoU is
 * both / (labelled + chosen - both). */
static void finish_counts(const itg_measures *m, double *values)
{
    double f1 = 0, iou = 0;
    int64_t met = 0;
    for (int64_t k = 0; k < m->kinds; k++) {
        const int64_t *c = &m->counts[k * COUNTS];
        int64_t sum = c[LABELLED] + c[CHOSEN];
        if (sum == 0) continue;
        met++;
        f1 += 2 * (double)c[BOTH] / (double)sum;
        iou += (double)c[BOTH] / (double)(sum - c[BOTH]);
    }
    const int64_t *one = &m->counts[COUNTS];
    if (met == 0) return;
    values[ITG_METRIC_F1_MACRO] = f1 / (double)met;
    if (m->positions > 1) values[ITG_METRIC_MIOU] = iou / (double)met;
    if (m->kinds == 2 && one[LABELLED] > 0)
        values[ITG_METRIC_F1] = 2 * (double)one[BOTH] / (double)(one[LABELLED] + one[CHOSEN]);
}

static int by_score(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the share of pairs (anomaly, no anomaly) in which the anomaly has the higher score; equal
 * scores count half. It is exact because it counts halves of pairs. */
static double area_under_roc(itg_measures *m)
{
    uint64_t zeros = 0, ones = 0, halves = 0;
    for (int64_t i = 0; i < m->scored; i++)
        if (isnan(m->scores[2 * i])) return (double)NAN;
    qsort(m->scores, (size_t)m->scored, 2 * sizeof *m->scores, by_score);
    for (int64_t i = 0, end; i < m->scored; i = end) {
        uint64_t tied[2] = {0, 0};
        for (end = i; end < m->scored && !(m->scores[2 * end] > m->scores[2 * i]); end++)
            tied[m->scores[2 * end + 1] > 0]++;
        halves += tied[1] * (2 * zeros + tied[0]);
        zeros += tied[0];
        ones += tied[1];
    }
    if (zeros == 0 || ones == 0) return (double)NAN;
    return (double)halves / (2 * (double)zeros * (double)ones);
}

/* Elements whose targets are all equal have no R2 and do not count. */
static double mean_r2(const itg_measures *m)
{
    int64_t count = elements_of(m->of.output), varying = 0;
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        const double *c = &m->columns[k * SQUARES];
        if (!(c[ABOUT_MEAN] > 0)) continue;
        sum += 1 - c[LEFT] / c[ABOUT_MEAN];
        varying++;
    }
    return varying > 0 && isfinite(sum) ? sum / (double)varying : (double)NAN;
}

void itg_measures_finish(itg_measures *m, double values[ITG_METRIC_COUNT])
{
    double found[ITG_METRIC_COUNT];
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        found[i] = (double)NAN;
    if (m->counts) finish_counts(m, found);
    if (m->scores) found[ITG_METRIC_AUROC] = area_under_roc(m);
    if (m->tokens > 0) found[ITG_METRIC_PERPLEXITY] = itg_exp(m->log_loss / (double)m->tokens);
    if (m->columns) found[ITG_METRIC_R2] = mean_r2(m);
    for (int i = 0; i < ITG_METRIC_COUNT; i++)
        if (is_asked(&m->of, (itg_metric)i) && !isnan(found[i])) values[i] = found[i];
}

/* ---- the float network's outputs ---- */

/* Two zero vectors give 1; one zero vector gives 0. */
static double cosine(const float *wanted, const itg_tensor *output, const itg_quantizer *q)
{
    double products = 0, a = 0, b = 0;
    for (int64_t i = 0; i < elements_of(output); i++) {
        double x = itg_real_at(output, q, i), y = (double)wanted[i];
        products += x * y;
        a += x * x;
        b += y * y;
    }
    if (!(a > 0) || !(b > 0)) return !(a > 0) && !(b > 0);
    return fmax(-1, fmin(1, products / (itg_sqrt(a) * itg_sqrt(b))));
}

static double float_at(const void *context, int64_t i)
{
    return (double)((const float *)context)[i];
}

typedef struct reals {
    const itg_tensor *t;
    const itg_quantizer *q;
} reals;

static double real_at(const void *context, int64_t i)
{
    const reals *r = context;
    return itg_real_at(r->t, r->q, i);
}

/* Returns the sum of p log(p / q), with p of the float network. Rounding may make it negative. */
static double divergence(const itg_measured *of, const float *wanted, const itg_tensor *output,
                         const itg_quantizer *quantizer)
{
    const reals r = {output, quantizer};
    int64_t count = elements_of(output);
    double p_sum = log_sum(of, count, float_at, wanted), q_sum = log_sum(of, count, real_at, &r),
           sum = 0;
    for (int64_t i = 0; i < count; i++) {
        double p = log_probability(of, (double)wanted[i], p_sum),
               q = log_probability(of, real_at(&r, i), q_sum);
        sum += itg_exp(p) * (p - q);
    }
    return sum < 0 ? 0 : sum;
}

void itg_likeness(const itg_measured *of, const float *wanted, const itg_tensor *outputs,
                  const itg_quantizer *const *quantizers, int32_t output_count,
                  double out[ITG_LIKENESS])
{
    double sum = 0;
    const float *at = wanted;
    bool lists = itg_has_classes(outputs[0].dtype, &outputs[0].shape) && elements_of(outputs) > 1;
    for (int32_t i = 0; is_asked(of, ITG_METRIC_COSINE) && i < output_count; i++) {
        sum += cosine(at, &outputs[i], quantizers[i]);
        at += elements_of(&outputs[i]);
    }
    out[ITG_LIKE_COSINE] = sum / output_count;
    out[ITG_LIKE_KL] = lists && is_asked(of, ITG_METRIC_KL)
                           ? divergence(of, wanted, &outputs[0], quantizers[0])
                           : (double)NAN;
}
