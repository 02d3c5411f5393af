/* TreeEnsemble (ai.onnx.ml 5) in the lists of TreeEnsembleRegressor: branch i is node i of its
 * tree, leaf k node branches + k. */
#include "graph/onnx/ml_write.h"

enum { MOST_ATTRS = 14, NONE = -1 };

typedef struct ensemble {
    int64_t branches, leaves, roots;
    const int64_t *feature, *yes, *no, *yes_leaf, *no_leaf, *target, *root;
    const float *split, *weight;
    const uint8_t *mode;
    int64_t *branch_tree, *leaf_tree; /* NONE: not reached yet */
} ensemble;

static int64_t *make_ints(itg_ml *m, int64_t count)
{
    int64_t *out = itg_arena_array(m->file->arena, (size_t)count + 1, sizeof *out);
    if (!out) itg_ml_fail(m, ITG_NO_MEMORY, "out of memory");
    return out;
}

/* A tensor of rank 1, of float32 or (bytes) uint8. */
static const void *get_tensor(itg_ml *m, const char *name, bool bytes, int64_t *count)
{
    const itg_onnx_attr *attr = itg_onnx_attr_find(m->node, name);
    *count = 0;
    if (!attr) return NULL;
    if (attr->type != ITG_ATTR_TENSOR || attr->tensor.shape.rank != 1 ||
        attr->tensor.dtype != (bytes ? ITG_U8 : ITG_F32)) {
        itg_ml_fail(m, ITG_UNSUPPORTED, "attribute '%s' is no vector of %s", name,
                    bytes ? "uint8" : "float32");
        return NULL;
    }
    *count = attr->tensor.shape.dims[0];
    return attr->tensor.data;
}

static bool read_ensemble(itg_ml *m, ensemble *e)
{
    int64_t n[6], leaves;
    e->feature = itg_ml_get_ints(m, "nodes_featureids", &e->branches);
    e->yes = itg_ml_get_ints(m, "nodes_truenodeids", &n[0]);
    e->no = itg_ml_get_ints(m, "nodes_falsenodeids", &n[1]);
    e->yes_leaf = itg_ml_get_ints(m, "nodes_trueleafs", &n[2]);
    e->no_leaf = itg_ml_get_ints(m, "nodes_falseleafs", &n[3]);
    e->split = get_tensor(m, "nodes_splits", false, &n[4]);
    e->mode = get_tensor(m, "nodes_modes", true, &n[5]);
    e->target = itg_ml_get_ints(m, "leaf_targetids", &e->leaves);
    e->weight = get_tensor(m, "leaf_weights", false, &leaves);
    e->root = itg_ml_get_ints(m, "tree_roots", &e->roots);
    for (int i = 0; i < 6; i++)
        if (n[i] != e->branches || e->branches < 1 || leaves != e->leaves || e->roots < 1)
            itg_ml_fail(m, ITG_BAD_FILE,
                        "lists of nodes_* or leaf_* are of different lengths, or empty");
    e->branch_tree = make_ints(m, e->branches);
    e->leaf_tree = make_ints(m, e->leaves);
    for (int64_t i = 0; m->status == ITG_OK && i < e->branches; i++)
        e->branch_tree[i] = NONE;
    for (int64_t i = 0; m->status == ITG_OK && i < e->leaves; i++)
        e->leaf_tree[i] = NONE;
    return m->status == ITG_OK;
}

/* ---- which tree a node is of ---- */

/* Whether the branch stands for a tree of one leaf. */
static bool is_leaf(const ensemble *e, int64_t i)
{
    return e->yes_leaf[i] && e->no_leaf[i] && e->yes[i] == e->no[i];
}

/* Enters a node; returns false after a failure. */
static bool enter(itg_ml *m, int64_t *tree_of, int64_t count, int64_t index, int64_t tree)
{
    if (index >= 0 && index < count && tree_of[index] == NONE) {
        tree_of[index] = tree;
        return true;
    }
    itg_ml_fail(m, ITG_BAD_FILE, "tree %d: node %d is no such, or reached twice", (int)tree,
                (int)index);
    return false;
}

static bool enter_child(itg_ml *m, const ensemble *e, bool leaf, int64_t index, int64_t tree,
                        int64_t *stack, int64_t *waiting)
{
    if (!enter(m, leaf ? e->leaf_tree : e->branch_tree, leaf ? e->leaves : e->branches, index,
               tree))
        return false;
    if (!leaf) stack[(*waiting)++] = index;
    return true;
}

static void find_trees(itg_ml *m, const ensemble *e)
{
    int64_t *stack = make_ints(m, e->branches), waiting = 0;
    for (int64_t tree = 0; tree < e->roots && m->status == ITG_OK; tree++) {
        bool good = enter_child(m, e, false, e->root[tree], tree, stack, &waiting);
        while (good && waiting > 0) {
            const int64_t i = stack[--waiting];
            good = enter_child(m, e, e->yes_leaf[i] != 0, e->yes[i], tree, stack, &waiting);
            if (good && !is_leaf(e, i))
                good = enter_child(m, e, e->no_leaf[i] != 0, e->no[i], tree, stack, &waiting);
        }
    }
    for (int64_t i = 0; m->status == ITG_OK && i < e->branches + e->leaves; i++)
        if ((i < e->branches ? e->branch_tree[i] : e->leaf_tree[i - e->branches]) == NONE)
            itg_ml_fail(m, ITG_BAD_FILE, "%s %d is in no tree", i < e->branches ? "node" : "leaf",
                        (int)(i < e->branches ? i : i - e->branches));
}

/* ---- the lists ---- */

typedef struct lists {
    itg_onnx_attr attrs[MOST_ATTRS];
    const itg_onnx_attr *sorted[MOST_ATTRS];
    int32_t count;
} lists;

/* Names are added in the order of the alphabet. */
static itg_onnx_attr *add_attr(lists *l, const char *name, int64_t count)
{
    itg_onnx_attr *attr = &l->attrs[l->count];
    *attr = (itg_onnx_attr){.name = name, .count = (int32_t)count};
    l->sorted[l->count++] = attr;
    return attr;
}

static void add_ints(lists *l, const char *name, const int64_t *ints, int64_t count)
{
    itg_onnx_attr *attr = add_attr(l, name, count);
    attr->type = ITG_ATTR_INTS;
    attr->ints = ints;
}

/* The text for the node's number of the same name. */
static void add_text(itg_ml *m, lists *l, const char *name, const char *const *texts, int64_t count,
                     int64_t preset)
{
    const int64_t i = itg_ml_get_int(m, name, preset);
    itg_onnx_attr *attr = add_attr(l, name, 0);
    attr->type = ITG_ATTR_STRING;
    attr->s = i >= 0 && i < count ? texts[i] : "?";
}

typedef struct node_lists {
    int64_t *tree, *id, *feature, *yes, *no;
    float *value;
    const char **mode;
} node_lists;

/* Returns how many there are: a branch that stands for a leaf is none, and its leaf the tree's only
 * node. */
static int64_t fill_nodes(const ensemble *e, node_lists *n)
{
    static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",   "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER"};
    int64_t count = 0;
    for (int64_t i = 0; i < e->branches; i++) {
        if (is_leaf(e, i)) continue;
        n->tree[count] = e->branch_tree[i];
        n->id[count] = i;
        n->mode[count] = e->mode[i] < 7 ? modes[e->mode[i]] : "?";
        n->feature[count] = e->feature[i];
        n->value[count] = e->split[i];
        n->yes[count] = e->yes[i] + (e->yes_leaf[i] ? e->branches : 0);
        n->no[count++] = e->no[i] + (e->no_leaf[i] ? e->branches : 0);
    }
    for (int64_t k = 0; k < e->leaves; k++) {
        n->tree[count] = e->leaf_tree[k];
        n->id[count] = e->branches + k;
        n->mode[count++] = "LEAF";
    }
    return count;
}

static void write_lists(itg_ml *m, const ensemble *e)
{
    static const char *const functions[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    static const char *const transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                             "PROBIT"};
    const int64_t all = e->branches + e->leaves;
    node_lists n = {make_ints(m, all),
                    make_ints(m, all),
                    make_ints(m, all),
                    make_ints(m, all),
                    make_ints(m, all),
                    itg_ml_array(m, all),
                    itg_arena_array(m->file->arena, (size_t)all, sizeof *n.mode)};
    lists *l = itg_arena_array(m->file->arena, 1, sizeof *l);
    if (!l || !n.mode) itg_ml_fail(m, ITG_NO_MEMORY, "out of memory");
    if (m->status != ITG_OK) return;
    const int64_t count = fill_nodes(e, &n); /* the leaves are last */
    add_text(m, l, "aggregate_function", functions, 4, 1);
    itg_onnx_attr *targets = add_attr(l, "n_targets", 0);
    targets->i = itg_ml_get_int(m, "n_targets", 1);
    add_ints(l, "nodes_falsenodeids", n.no, count);
    add_ints(l, "nodes_featureids", n.feature, count);
    itg_onnx_attr *modes = add_attr(l, "nodes_modes", count);
    modes->type = ITG_ATTR_STRINGS;
    modes->strings = n.mode;
    add_ints(l, "nodes_nodeids", n.id, count);
    add_ints(l, "nodes_treeids", n.tree, count);
    add_ints(l, "nodes_truenodeids", n.yes, count);
    itg_onnx_attr *values = add_attr(l, "nodes_values", count);
    values->type = ITG_ATTR_FLOATS;
    values->floats = n.value;
    add_text(m, l, "post_transform", transforms, 5, 0);
    add_ints(l, "target_ids", e->target, e->leaves);
    add_ints(l, "target_nodeids", n.id + count - e->leaves, e->leaves);
    add_ints(l, "target_treeids", e->leaf_tree, e->leaves);
    itg_onnx_attr *weights = add_attr(l, "target_weights", e->leaves);
    weights->type = ITG_ATTR_FLOATS;
    weights->floats = e->weight;
    itg_onnx_node *node = itg_arena_copy(m->file->arena, m->node, sizeof *node);
    if (!node) itg_ml_fail(m, ITG_NO_MEMORY, "out of memory");
    if (m->status != ITG_OK) return;
    node->attrs = l->attrs;
    node->sorted = l->sorted;
    node->attr_count = l->count;
    m->node = node;
}

void itg_ml_ensemble_lists(itg_ml *m)
{
    ensemble e = {0};
    if (read_ensemble(m, &e)) find_trees(m, &e);
    if (m->status == ITG_OK) write_lists(m, &e);
}
