/* Scalers, normalizers, selections and linear models. */
#include <math.h>
#include <string.h>
#include "graph/onnx/ml_write.h"

/* ---- operators on single features ---- */

/* Whether a list has one element, or as many as another that has more than one. */
static bool is_list(int64_t count, int64_t other)
{
    return count == 1 || (count > 1 && (other <= 1 || other == count));
}

/* Whether an offset is more than the rounding error of data that is centred. */
static bool moves(const float *offset, int64_t offsets, const float *scale, int64_t scales)
{
    for (int64_t i = 0; i < offsets || i < scales; i++)
        if (fabsf(offset[i < offsets ? i : 0] * scale[i < scales ? i : 0]) > 0x1p-30f) return true;
    return false;
}

/* (x - offset) * scale */
static void write_scaler(itg_ml *m)
{
    int64_t offsets, scales;
    const float *offset = itg_ml_get_floats(m, "offset", &offsets);
    const float *scale = itg_ml_get_floats(m, "scale", &scales);
    if (!is_list(offsets, scales) || !is_list(scales, offsets)) {
        itg_ml_fail(m, ITG_BAD_FILE, "%d offsets and %d scales", (int)offsets, (int)scales);
        return;
    }
    itg_ml_new sub = {.op = "Sub"}, mul = {.op = "Mul", .out = itg_ml_output(m, 0)};
    sub.in[0] = mul.in[0] = itg_ml_input(m);
    sub.in[1] = itg_ml_floats(m, 0, offsets, offset);
    if (moves(offset, offsets, scale, scales)) mul.in[0] = itg_ml_add(m, &sub);
    mul.in[1] = itg_ml_floats(m, 0, scales, scale);
    itg_ml_add(m, &mul);
}

/* 1 where x > threshold, else 0. */
static void write_binarizer(itg_ml *m)
{
    itg_ml_new cast = {.op = "Cast", .out = itg_ml_output(m, 0), .attr = {"to"}, .value = {1}};
    itg_ml_new greater = {.op = "Greater"};
    greater.in[0] = itg_ml_input(m);
    greater.in[1] = itg_ml_scalar(m, itg_ml_get_float(m, "threshold", 0));
    cast.in[0] = itg_ml_add(m, &greater);
    itg_ml_add(m, &cast);
}

/* Replaces NaN, or one number, by the imputed values. */
static void write_imputer(itg_ml *m)
{
    int64_t count;
    const float *values = itg_ml_get_floats(m, "imputed_value_floats", &count);
    const float replaced = itg_ml_get_float(m, "replaced_value_float", 0);
    itg_ml_new missing = {.op = isnan(replaced) ? "IsNaN" : "Equal"};
    itg_ml_new where = {.op = "Where", .out = itg_ml_output(m, 0)};
    if (count < 1) {
        itg_ml_fail(m, ITG_UNSUPPORTED, "it has no imputed_value_floats");
        return;
    }
    where.in[2] = missing.in[0] = itg_ml_input(m);
    if (!isnan(replaced)) missing.in[1] = itg_ml_scalar(m, replaced);
    where.in[0] = itg_ml_add(m, &missing);
    where.in[1] = itg_ml_floats(m, 0, count, values);
    itg_ml_add(m, &where);
}

/* ---- operators on rows ---- */

/* Whether the value is the result of a Softmax, whose rows already sum to one. */
static bool sums_to_one(const itg_ml *m, const char *value)
{
    for (int32_t n = m->count - 1; n >= 0; n--)
        if (m->nodes[n].output_count == 1 && strcmp(m->nodes[n].outputs[0], value) == 0)
            return strcmp(m->nodes[n].op_type, "Softmax") == 0 ||
                   (strcmp(m->nodes[n].op_type, "Identity") == 0 &&
                    sums_to_one(m, m->nodes[n].inputs[0]));
    return false;
}

/* x / max(x); a row whose maximum is 0 stays. */
static void write_max(itg_ml *m)
{
    const char *x = itg_ml_input(m), *zero = itg_ml_scalar(m, 0), *one = itg_ml_scalar(m, 1);
    static const int64_t last[1] = {-1};
    const itg_tensor axis = {ITG_S64, {.rank = 1, .dims = {1}}, (void *)(uintptr_t)last};
    const char *axes = itg_ml_constant(m, &axis);
    const char *most = itg_ml_add(m, &(itg_ml_new){.op = "ReduceMax", .in = {x, axes}});
    const char *none = itg_ml_add(m, &(itg_ml_new){.op = "Equal", .in = {most, zero}});
    const char *divisor = itg_ml_add(m, &(itg_ml_new){.op = "Where", .in = {none, one, most}});
    itg_ml_add(m, &(itg_ml_new){.op = "Div", .in = {x, divisor}, .out = itg_ml_output(m, 0)});
}

static void write_normalizer(itg_ml *m)
{
    const char *norm = itg_ml_get_string(m, "norm", "MAX");
    const bool l1 = strcmp(norm, "L1") == 0;
    itg_ml_new node = {.op = "LpNormalization",
                       .out = itg_ml_output(m, 0),
                       .attr = {"axis", "p"},
                       .value = {-1, l1 ? 1 : 2}};
    if (strcmp(norm, "MAX") == 0) {
        write_max(m);
        return;
    }
    if (!l1 && strcmp(norm, "L2") != 0) {
        itg_ml_fail(m, ITG_UNSUPPORTED, "norm '%.40s'; MAX, L1 and L2 are supported", norm);
        return;
    }
    node.in[0] = m->node->inputs[0];
    if (l1 && sums_to_one(m, node.in[0]))
        node = (itg_ml_new){.op = "Identity", .in = {node.in[0]}, .out = node.out};
    else
        node.in[0] = itg_ml_input(m);
    itg_ml_add(m, &node);
}

/* Selects columns of x by number; an x of rank 1 counts as one row. */
static void write_extractor(itg_ml *m)
{
    static const int64_t list[1] = {-1}, row[2] = {1, -1};
    itg_tensor flat = {.dtype = ITG_S64, .shape = {.rank = 1, .dims = {1}}},
               rows = {.dtype = ITG_S64, .shape = {.rank = 1, .dims = {2}}};
    flat.data = (void *)(uintptr_t)list;
    rows.data = (void *)(uintptr_t)row;
    bool is_row = false;
    for (int32_t i = 0; i < m->file->initializer_count; i++)
        if (strcmp(m->file->initializers[i].name, m->node->inputs[0]) == 0)
            is_row = m->file->initializers[i].tensor.shape.rank == 1;
    if (m->node->input_count != 2) {
        itg_ml_fail(m, ITG_BAD_FILE, "it has %d inputs; 2 expected", (int)m->node->input_count);
        return;
    }
    const char *out = itg_ml_output(m, 0), *shape = itg_ml_constant(m, &flat);
    const char *index =
        itg_ml_add(m, &(itg_ml_new){.op = "Reshape", .in = {m->node->inputs[1], shape}});
    itg_ml_new gather = {.op = "Gather",
                         .in = {m->node->inputs[0], index},
                         .out = is_row ? NULL : out,
                         .attr = {"axis"},
                         .value = {-1}};
    const char *taken = itg_ml_add(m, &gather);
    if (is_row)
        itg_ml_add(m, &(itg_ml_new){
                          .op = "Reshape", .in = {taken, itg_ml_constant(m, &rows)}, .out = out});
}

static void write_vectorizer(itg_ml *m)
{
    itg_ml_new same = {.op = "Identity", .out = itg_ml_output(m, 0)};
    same.in[0] = itg_ml_concat(m, m->node->inputs, m->node->input_count);
    itg_ml_add(m, &same);
}

/* The map is represented by its tensor. */
static void write_zip_map(itg_ml *m)
{
    itg_ml_add(
        m, &(itg_ml_new){.op = "Identity", .in = {m->node->inputs[0]}, .out = itg_ml_output(m, 0)});
}

/* ---- linear models ---- */

/* x * transposed coefficients [rows, ...] + intercepts. */
static const char *write_scores(itg_ml *m, int64_t rows, const float *intercepts)
{
    int64_t count;
    const float *coefficients = itg_ml_get_floats(m, "coefficients", &count);
    if (rows < 1 || count < rows || count % rows != 0) {
        itg_ml_fail(m, ITG_BAD_FILE, "%d coefficients for %d results", (int)count, (int)rows);
        return "";
    }
    const char *x = itg_ml_input(m);
    return itg_ml_gemm(m, x, rows, count / rows, coefficients, intercepts, NULL);
}

static void write_regressor(itg_ml *m)
{
    int64_t count;
    const int64_t targets = itg_ml_get_int(m, "targets", 1);
    const float *intercepts = itg_ml_get_floats(m, "intercepts", &count);
    if (count != 0 && count != targets) {
        itg_ml_fail(m, ITG_BAD_FILE, "%d intercepts for %d targets", (int)count, (int)targets);
        return;
    }
    const char *scores = write_scores(m, targets, count ? intercepts : NULL);
    itg_ml_transform(m, scores, itg_ml_output(m, 0));
}

static void write_classifier(itg_ml *m)
{
    int64_t rows;
    const itg_ml_classes classes = itg_ml_get_classes(m, "classlabels_ints");
    const float *intercepts = itg_ml_get_floats(m, "intercepts", &rows);
    const char *transform = itg_ml_get_string(m, "post_transform", "NONE");
    const int64_t all = rows > 0 ? rows : classes.count;
    if (classes.count != all && !(classes.count == 2 && all == 1)) {
        itg_ml_fail(m, ITG_BAD_FILE, "%d intercepts for %d classes", (int)all, (int)classes.count);
        return;
    }
    const char *scores = write_scores(m, all, intercepts);
    if (classes.count != all)
        itg_ml_write_binary(m, &classes, scores, false, strcmp(transform, "LOGISTIC") != 0);
    else
        itg_ml_write_classes(m, &classes, scores, scores);
}

static const itg_ml_rule rules[] = {
    {"Scaler", write_scaler},
    {"Binarizer", write_binarizer},
    {"Imputer", write_imputer},
    {"Normalizer", write_normalizer},
    {"ArrayFeatureExtractor", write_extractor},
    {"FeatureVectorizer", write_vectorizer},
    {"ZipMap", write_zip_map},
    {"LinearRegressor", write_regressor},
    {"LinearClassifier", write_classifier},
};

const itg_ml_family itg_ml_linear = {rules, (int32_t)(sizeof rules / sizeof rules[0])};
