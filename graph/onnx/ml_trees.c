/* Trees as matrix products (the GEMM strategy of Hummingbird: Nakandala et al., "A Tensor Compiler
 * for Unified Machine Learning Prediction Serving", OSDI 2020). For each tree:
 *   bits   = Clip(K * (threshold - x), 0, 1)       for each branch: 1 if its condition is true
 *   leaves = Clip(bits * paths + 1 - trues, 0, 1)  1 for the leaf whose path agrees with all bits
 * The scores are the leaves of all trees times their weights. It departs from the paper in the
 * bits: K is a power of two so large that different float32 numbers become at least 1 apart. The
 * comparisons are then exact in float32, and in integers they are a clamp behind a sum of
 * products. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "graph/onnx/ml_write.h"

enum { MOST_DEPTH = 512, MOST_SHIFT = 60 };

typedef struct tree_node {
    int64_t tree, id, feature, yes, no;
    float threshold;
    const char *mode;
    int64_t branch; /* index among the branches of its tree */
    bool is_leaf, is_child, is_seen;
} tree_node;

typedef struct forest {
    tree_node *nodes; /* sorted by tree and id */
    int64_t count, features, trees;
    int64_t *leaf_of; /* [count]: index of a leaf among those of all trees; -1: a branch, or a tree
                         that is one leaf */
    int64_t leaves;
    const char **made; /* outputs: leaves [N, leaves] of each tree that has branches */
    int32_t made_count;
    float *base; /* [targets]: added to the scores */
    int64_t targets;
    float *weights; /* [targets, leaves] */
    const char *zero, *one;
} forest;

/* ---- nodes ---- */

static int by_place(const void *a, const void *b)
{
    const tree_node *x = a, *y = b;
    if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static tree_node *find(const forest *f, int64_t tree, int64_t id)
{
    const tree_node wanted = {.tree = tree, .id = id};
    return bsearch(&wanted, f->nodes, (size_t)f->count, sizeof *f->nodes, by_place);
}

static bool is_branch_mode(const char *mode)
{
    static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"};
    for (int i = 0; i < 4; i++)
        if (strcmp(mode, modes[i]) == 0) return true;
    return false;
}

static bool read_lists(itg_ml *m, forest *f)
{
    int64_t n[7];
    const int64_t *tree = itg_ml_get_ints(m, "nodes_treeids", &n[0]);
    const int64_t *id = itg_ml_get_ints(m, "nodes_nodeids", &n[1]);
    const int64_t *feature = itg_ml_get_ints(m, "nodes_featureids", &n[2]);
    const int64_t *yes = itg_ml_get_ints(m, "nodes_truenodeids", &n[3]);
    const int64_t *no = itg_ml_get_ints(m, "nodes_falsenodeids", &n[4]);
    const float *value = itg_ml_get_floats(m, "nodes_values", &n[5]);
    const char *const *mode = itg_ml_get_strings(m, "nodes_modes", &n[6]);
    for (int i = 1; i < 7; i++)
        if (n[i] != n[0] || n[0] < 1) {
            itg_ml_fail(m, ITG_BAD_FILE, "lists of nodes_* are of different lengths, or empty");
            return false;
        }
    f->count = n[0];
    f->nodes = itg_arena_array(m->file->arena, (size_t)f->count, sizeof *f->nodes);
    f->leaf_of = itg_arena_array(m->file->arena, (size_t)f->count, sizeof *f->leaf_of);
    f->made = itg_arena_array(m->file->arena, (size_t)f->count, sizeof *f->made);
    if (!f->nodes || !f->leaf_of || !f->made) {
        itg_ml_fail(m, ITG_NO_MEMORY, "out of memory");
        return false;
    }
    for (int64_t i = 0; i < f->count; i++)
        f->nodes[i] = (tree_node){.tree = tree[i],
                                  .id = id[i],
                                  .feature = feature[i],
                                  .yes = yes[i],
                                  .no = no[i],
                                  .threshold = value[i],
                                  .mode = mode[i],
                                  .is_leaf = strcmp(mode[i], "LEAF") == 0};
    return m->status == ITG_OK;
}

static void check_node(itg_ml *m, forest *f, int64_t index)
{
    enum { MOST_FEATURES = 1 << 20 };
    const tree_node *n = &f->nodes[index];
    if (index > 0 && by_place(n - 1, n) == 0)
        itg_ml_fail(m, ITG_BAD_FILE, "tree %d has two nodes %d", (int)n->tree, (int)n->id);
    if (n->is_leaf) return;
    tree_node *yes = find(f, n->tree, n->yes), *no = find(f, n->tree, n->no);
    if (!is_branch_mode(n->mode))
        itg_ml_fail(m, ITG_UNSUPPORTED,
                    "nodes_modes '%.40s'; LEAF, BRANCH_LEQ, _LT, _GTE and _GT are supported",
                    n->mode);
    if (!yes || !no || yes == no || n->feature < 0 || n->feature >= MOST_FEATURES ||
        !isfinite(n->threshold))
        itg_ml_fail(m, ITG_BAD_FILE, "tree %d, node %d: its feature, value or nodes are no such",
                    (int)n->tree, (int)n->id);
    if (m->status != ITG_OK) return;
    yes->is_child = no->is_child = true;
    if (n->feature >= f->features) f->features = n->feature + 1;
}

static void read_nodes(itg_ml *m, forest *f)
{
    if (!read_lists(m, f)) return;
    qsort(f->nodes, (size_t)f->count, sizeof *f->nodes, by_place);
    for (int64_t i = 0; i < f->count && m->status == ITG_OK; i++) {
        check_node(m, f, i);
        f->trees += i == 0 || f->nodes[i].tree != f->nodes[i - 1].tree;
        f->leaf_of[i] = -1;
    }
}

/* ---- one tree ---- */

typedef struct one_tree {
    forest *f;
    int64_t first, end; /* its nodes */
    int64_t branches, leaves, first_leaf;
    float *path;  /* [branches]: to the visited node: 1 for true, -1 for false, 0: not on it */
    float *paths; /* [leaves, branches] */
    float *bias;  /* [leaves] */
} one_tree;

static void walk(itg_ml *m, one_tree *t, tree_node *n, int64_t trues, int depth)
{
    forest *f = t->f;
    if (n->is_seen || depth > MOST_DEPTH)
        itg_ml_fail(m, n->is_seen ? ITG_BAD_FILE : ITG_LIMIT,
                    "tree %d, node %d: reached twice, or deeper than %d", (int)n->tree, (int)n->id,
                    MOST_DEPTH);
    if (m->status != ITG_OK) return;
    n->is_seen = true;
    if (n->is_leaf) {
        const int64_t leaf = f->leaf_of[n - f->nodes] - t->first_leaf;
        memcpy(t->paths + leaf * t->branches, t->path, (size_t)t->branches * sizeof *t->path);
        t->bias[leaf] = (float)(1 - trues);
        return;
    }
    t->path[n->branch] = 1;
    walk(m, t, find(f, n->tree, n->yes), trues + 1, depth + 1);
    t->path[n->branch] = -1;
    walk(m, t, find(f, n->tree, n->no), trues, depth + 1);
    t->path[n->branch] = 0;
}

/* Returns the number next to the threshold, at least 2^-MOST_SHIFT away. */
static float behind(float threshold, float sign)
{
    const float next = nextafterf(threshold, sign * HUGE_VALF);
    const float least = ldexpf(1, -MOST_SHIFT);
    return fabsf(next - threshold) < least ? threshold + sign * least : next;
}

/* Fills row and bias so that K * (threshold - x) is at least 1 where the branch's condition is
 * true, else at most 0. If the condition includes equality, the threshold is the next number. */
static void fill_bit(const tree_node *n, float *row, float *bias)
{
    const bool is_less = n->mode[7] == 'L', with_equal = strlen(n->mode) > 9;
    const float sign = is_less ? 1.0f : -1.0f;
    const float threshold = with_equal ? behind(n->threshold, sign) : n->threshold;
    int exponent = 0;
    (void)frexpf(threshold, &exponent);
    if (threshold == 0 || exponent < 25 - MOST_SHIFT) exponent = 25 - MOST_SHIFT;
    const float factor = ldexpf(sign, 25 - exponent);
    row[n->feature] = -factor;
    *bias = factor * threshold;
}

static const char *clip(itg_ml *m, const forest *f, const char *x)
{
    return itg_ml_add(m, &(itg_ml_new){.op = "Clip", .in = {x, f->zero, f->one}});
}

static void write_tree(itg_ml *m, one_tree *t, const char *x)
{
    const forest *f = t->f;
    float *rows = itg_ml_array(m, t->branches * f->features), *bias = itg_ml_array(m, t->branches);
    for (int64_t i = t->first; rows && bias && i < t->end; i++) {
        const tree_node *n = &f->nodes[i];
        if (!n->is_leaf) fill_bit(n, rows + n->branch * f->features, bias + n->branch);
    }
    const char *bits = clip(m, f, itg_ml_gemm(m, x, t->branches, f->features, rows, bias, NULL));
    t->f->made[t->f->made_count++] =
        clip(m, f, itg_ml_gemm(m, bits, t->leaves, t->branches, t->paths, t->bias, NULL));
}

/* Numbers the tree's leaves and branches. Returns its root; NULL after a failure. */
static tree_node *number_nodes(itg_ml *m, one_tree *t)
{
    tree_node *root = NULL;
    int64_t roots = 0;
    for (int64_t i = t->first; i < t->end; i++) {
        tree_node *n = &t->f->nodes[i];
        if (!n->is_leaf)
            n->branch = t->branches++;
        else if (t->end - t->first > 1)
            t->f->leaf_of[i] = t->first_leaf + t->leaves++;
        if (n->is_child) continue;
        root = n;
        roots++;
    }
    if (roots == 1) return root;
    itg_ml_fail(m, ITG_BAD_FILE, "tree %d has %d roots", (int)t->f->nodes[t->first].tree,
                (int)roots);
    return NULL;
}

static void add_tree(itg_ml *m, forest *f, int64_t first, int64_t end, const char *x)
{
    one_tree t = {.f = f, .first = first, .end = end, .first_leaf = f->leaves};
    tree_node *root = number_nodes(m, &t);
    if (!root || t.branches == 0) return;
    f->leaves += t.leaves;
    t.path = itg_ml_array(m, t.branches);
    t.bias = itg_ml_array(m, t.leaves);
    t.paths = itg_ml_array(m, t.leaves * t.branches);
    if (m->status == ITG_OK) walk(m, &t, root, 0, 0);
    for (int64_t i = first; i < end; i++)
        if (!f->nodes[i].is_seen)
            itg_ml_fail(m, ITG_BAD_FILE, "tree %d, node %d: not reached from its root",
                        (int)f->nodes[i].tree, (int)f->nodes[i].id);
    if (m->status == ITG_OK) write_tree(m, &t, x);
}

/* Returns the width of input 0 as the file states it; 0: it does not. */
static int64_t stated_width(const itg_ml *m)
{
    for (int32_t i = 0; i < m->file->input_count; i++) {
        const itg_onnx_value *input = &m->file->inputs[i];
        if (strcmp(input->name, m->node->inputs[0]) == 0 && input->shape.rank == 2)
            return input->shape.dims[1] > 0 ? input->shape.dims[1] : 0;
    }
    return 0;
}

/* Returns the columns of x that trees read: all if the width is known, else the first ones. */
static const char *columns(itg_ml *m, forest *f)
{
    const int64_t width = stated_width(m);
    const char *x = itg_ml_input(m);
    if (width > 0 && width < f->features)
        itg_ml_fail(m, ITG_BAD_FILE, "feature %d of an input of %d", (int)f->features - 1,
                    (int)width);
    if (width > 0) f->features = width;
    int64_t *all =
        width > 0 ? NULL : itg_arena_array(m->file->arena, (size_t)f->features, sizeof *all);
    if (!all) return x;
    for (int64_t i = 0; i < f->features; i++)
        all[i] = i;
    const itg_tensor t = {ITG_S64, {.rank = 1, .dims = {f->features}}, all};
    const char *index = itg_ml_constant(m, &t);
    return itg_ml_add(
        m, &(itg_ml_new){.op = "Gather", .in = {x, index}, .attr = {"axis"}, .value = {1}});
}

static void add_trees(itg_ml *m, forest *f)
{
    const char *x = columns(m, f);
    f->zero = itg_ml_scalar(m, 0);
    f->one = itg_ml_scalar(m, 1);
    for (int64_t first = 0, end; first < f->count && m->status == ITG_OK; first = end) {
        end = first + 1;
        while (end < f->count && f->nodes[end].tree == f->nodes[first].tree)
            end++;
        add_tree(m, f, first, end, x);
    }
}

/* ---- weights of leaves ---- */

typedef struct leaf_names {
    const char *trees, *nodes, *ids, *weights;
} leaf_names;

static void add_weight(itg_ml *m, forest *f, int64_t tree, int64_t id, int64_t target, float weight)
{
    const tree_node *n = find(f, tree, id);
    if (!n || !n->is_leaf || target < 0 || target >= f->targets) {
        itg_ml_fail(m, ITG_BAD_FILE, "a weight of tree %d, node %d, result %d: there is no such",
                    (int)tree, (int)id, (int)target);
        return;
    }
    const int64_t leaf = f->leaf_of[n - f->nodes];
    if (leaf < 0)
        f->base[target] += weight;
    else
        f->weights[target * f->leaves + leaf] += weight;
}

static void read_weights(itg_ml *m, forest *f, const leaf_names *names, float factor)
{
    int64_t n[4];
    const int64_t *tree = itg_ml_get_ints(m, names->trees, &n[0]);
    const int64_t *node = itg_ml_get_ints(m, names->nodes, &n[1]);
    const int64_t *target = itg_ml_get_ints(m, names->ids, &n[2]);
    const float *weight = itg_ml_get_floats(m, names->weights, &n[3]);
    if (n[1] != n[0] || n[2] != n[0] || n[3] != n[0])
        itg_ml_fail(m, ITG_BAD_FILE, "lists of weights are of different lengths");
    f->weights = itg_ml_array(m, f->targets * f->leaves);
    for (int64_t i = 0; i < n[0] && m->status == ITG_OK; i++)
        add_weight(m, f, tree[i], node[i], target[i], factor * weight[i]);
}

static void read_base(itg_ml *m, forest *f, int64_t targets)
{
    enum { MOST_TARGETS = 1 << 20 };
    int64_t count;
    const float *base = itg_ml_get_floats(m, "base_values", &count);
    if (targets < 1 || targets > MOST_TARGETS || (count != 0 && count != targets)) {
        itg_ml_fail(m, ITG_BAD_FILE, "%d base_values for %d results", (int)count, (int)targets);
        return;
    }
    f->targets = targets;
    f->base = itg_ml_array(m, targets);
    if (f->base && count > 0) memcpy(f->base, base, (size_t)count * sizeof *base);
}

/* Returns the scores [N, targets]. */
static const char *write_scores(itg_ml *m, forest *f, int64_t targets, const leaf_names *names,
                                bool is_mean)
{
    read_nodes(m, f);
    if (m->status == ITG_OK) read_base(m, f, targets);
    if (m->status == ITG_OK) add_trees(m, f);
    if (m->status == ITG_OK && f->leaves == 0)
        itg_ml_fail(m, ITG_UNSUPPORTED, "no tree has a branch");
    if (m->status == ITG_OK) read_weights(m, f, names, is_mean ? 1.0f / (float)f->trees : 1.0f);
    if (m->status != ITG_OK) return "";
    const char *leaves = f->made_count > 1 ? itg_ml_concat(m, f->made, f->made_count) : *f->made;
    return itg_ml_gemm(m, leaves, targets, f->leaves, f->weights, f->base, NULL);
}

static void write_regressor(itg_ml *m)
{
    static const leaf_names names = {"target_treeids", "target_nodeids", "target_ids",
                                     "target_weights"};
    forest f = {0};
    const char *function = itg_ml_get_string(m, "aggregate_function", "SUM");
    const bool is_mean = strcmp(function, "AVERAGE") == 0;
    if (!is_mean && strcmp(function, "SUM") != 0) {
        itg_ml_fail(m, ITG_UNSUPPORTED, "aggregate_function '%.40s'; SUM and AVERAGE are supported",
                    function);
        return;
    }
    const int64_t targets = itg_ml_get_int(m, "n_targets", 1);
    const char *scores = write_scores(m, &f, targets, &names, is_mean);
    itg_ml_transform(m, scores, itg_ml_output(m, 0));
}

/* Whether there are two classes and all weights are of class 0. There is then one score. The second
 * class wins if it is positive, or, where no weight is negative (*is_share), above 1/2. */
static bool is_binary(itg_ml *m, const itg_ml_classes *classes, bool *is_share)
{
    int64_t count, weights;
    const int64_t *ids = itg_ml_get_ints(m, "class_ids", &count);
    const float *weight = itg_ml_get_floats(m, "class_weights", &weights);
    bool binary = classes->count == 2;
    *is_share = true;
    for (int64_t i = 0; i < count; i++)
        binary &= ids[i] == 0;
    for (int64_t i = 0; i < weights; i++)
        *is_share &= weight[i] >= 0;
    return binary;
}

static void write_classifier(itg_ml *m)
{
    static const leaf_names names = {"class_treeids", "class_nodeids", "class_ids",
                                     "class_weights"};
    forest f = {0};
    bool is_share;
    const itg_ml_classes classes = itg_ml_get_classes(m, "classlabels_int64s");
    const bool logistic = strcmp(itg_ml_get_string(m, "post_transform", "NONE"), "LOGISTIC") == 0;
    const bool binary = is_binary(m, &classes, &is_share);
    const char *scores = write_scores(m, &f, binary ? 1 : classes.count, &names, false);
    if (binary)
        itg_ml_write_binary(m, &classes, scores, is_share, is_share && !logistic);
    else
        itg_ml_write_classes(m, &classes, scores, scores);
}

static void write_ensemble(itg_ml *m)
{
    itg_ml_ensemble_lists(m);
    if (m->status == ITG_OK) write_regressor(m);
}

static const itg_ml_rule rules[] = {
    {"TreeEnsembleRegressor", write_regressor},
    {"TreeEnsembleClassifier", write_classifier},
    {"TreeEnsemble", write_ensemble},
};

const itg_ml_family itg_ml_trees = {rules, (int32_t)(sizeof rules / sizeof rules[0]),
                                    ITG_ML_DOMAIN};
