/* Replaces calls of functions, depth first, by the nodes of the functions. */
#include "graph/onnx/inline.h"
#include <string.h>
#include "graph/names.h"
#include "graph/onnx/file_read.h"
#include "graph/onnx/file_nodes.h"

/* The call of a function, or branch of an If, that is being written out. NULL: the graph itself. */
typedef struct call {
    const struct call *outer;
    const itg_onnx_function *function; /* NULL: a branch, which also reads values of `outer` */
    const itg_onnx_node *node;         /* the caller, already renamed for the graph */
    const char *prefix;                /* of names in a function */
    const char **made; /* a branch's values, as renamed for the graph; indexed by `bound` */
    itg_names bound;   /* names of a function's inputs, then outputs, or of a branch's values */
    bool in_branch;
} call;

typedef struct inliner {
    itg_onnx_file *file;
    itg_names functions; /* "domain\1name\1overload" */
    itg_names prefixes;  /* of calls */
    itg_names values;    /* of the graph */
    itg_onnx_node *nodes;
    int32_t count, room;
    itg_error *err;
} inliner;

static itg_status no_memory(const inliner *in)
{
    return itg_onnx_file_no_memory(in->file, in->err);
}

/* ---- which function ---- */

static const char *key_of(const inliner *in, const char *domain, const char *name,
                          const char *overload)
{
    if (strcmp(domain, "ai.onnx") == 0) domain = "";
    return itg_arena_format(in->file->arena, "%s\1%s\1%s", domain, name, overload);
}

static itg_status index_functions(inliner *in)
{
    for (int32_t i = 0; i < in->file->function_count; i++) {
        const itg_onnx_function *f = &in->file->functions[i];
        const char *key = key_of(in, f->domain, f->name, f->overload);
        if (!key) return no_memory(in);
        if (itg_names_find(&in->functions, key) >= 0)
            return itg_fail(in->err, ITG_BAD_FILE, "%s: function '%.100s' is defined twice",
                            in->file->source, f->name);
        if (!itg_names_put(&in->functions, key, i)) return no_memory(in);
    }
    return ITG_OK;
}

/* Finds the function that a node calls; *out NULL: none. */
static itg_status function_of(const inliner *in, const itg_onnx_node *node,
                              const itg_onnx_function **out)
{
    const char *key = key_of(in, node->domain, node->op_type, node->overload);
    if (!key) return no_memory(in);
    int32_t number = itg_names_find(&in->functions, key);
    *out = number < 0 ? NULL : &in->file->functions[number];
    return ITG_OK;
}

/* ---- names ---- */

static itg_status bind(inliner *in, call *c)
{
    const itg_onnx_function *f = c->function;
    c->bound.arena = in->file->arena;
    for (int32_t i = 0; i < f->input_count + f->output_count; i++) {
        const char *name = i < f->input_count ? f->inputs[i] : f->outputs[i - f->input_count];
        if (*name && itg_names_find(&c->bound, name) >= 0)
            return itg_fail(in->err, ITG_UNSUPPORTED,
                            "%s: function '%.100s': '%.100s' stands twice among its inputs and "
                            "outputs",
                            in->file->source, f->name, name);
        if (!itg_names_put(&c->bound, name, i)) return no_memory(in);
    }
    return ITG_OK;
}

/* Returns the name in the graph of a name within a call; NULL: no memory. */
static const char *outer_name(const inliner *in, const call *c, const char *name)
{
    if (!c || !*name) return name;
    const int32_t number = itg_names_find(&c->bound, name);
    if (!c->function) return number < 0 ? outer_name(in, c->outer, name) : c->made[number];
    const int32_t inputs = c->function->input_count;
    const itg_onnx_node *node = c->node;
    if (number >= 0 && number < inputs)
        return number < node->input_count ? node->inputs[number] : "";
    if (number >= inputs && number - inputs < node->output_count && *node->outputs[number - inputs])
        return node->outputs[number - inputs];
    return itg_arena_format(in->file->arena, "%s/%s", c->prefix, name);
}

static const char *const *outer_names(const inliner *in, const call *c, const char *const *names,
                                      int32_t count)
{
    const char **out = itg_arena_array(in->file->arena, (size_t)count, sizeof *out);
    for (int32_t i = 0; out && i < count; i++) {
        out[i] = outer_name(in, c, names[i]);
        if (!out[i]) return NULL;
    }
    return out;
}

/* ---- attributes ---- */

/* Returns the attribute that `attr`, of a node within a call, refers to; NULL: it is left out. */
static const itg_onnx_attr *referred(const call *c, const itg_onnx_attr *attr)
{
    if (attr->type != ITG_ATTR_REFERENCE) return attr;
    while (c && !c->function)
        c = c->outer;
    if (!c) return attr;
    const itg_onnx_attr *given = itg_onnx_attr_find(c->node, attr->s);
    return given ? given : itg_onnx_attr_find(&c->function->presets, attr->s);
}

static itg_status write_attributes(const inliner *in, const call *c, itg_onnx_node *node)
{
    const itg_onnx_attr *from = node->attrs;
    itg_onnx_attr *to = itg_arena_array(in->file->arena, (size_t)node->attr_count, sizeof *to);
    int32_t count = 0;
    if (!to) return no_memory(in);
    for (int32_t i = 0; i < node->attr_count; i++) {
        const itg_onnx_attr *value = referred(c, &from[i]);
        if (!value) continue;
        to[count] = *value;
        to[count++].name = from[i].name;
    }
    node->attrs = to;
    node->attr_count = count;
    return itg_onnx_index_attributes(in->file->arena, node, in->err);
}

/* ---- nodes ---- */

static itg_status write_out(inliner *in, const call *c, const itg_onnx_node *nodes, int32_t count);
static itg_status add_node(inliner *in, const itg_onnx_node *node);

static itg_status check_call(const inliner *in, const call *c)
{
    const itg_onnx_function *f = c->function;
    for (const call *o = c->outer; o; o = o->outer)
        if (o->function == f)
            return itg_fail(in->err, ITG_BAD_FILE, "%s: function '%.100s' calls itself",
                            in->file->source, f->name);
    if (c->node->input_count > f->input_count || c->node->output_count > f->output_count)
        return itg_fail(in->err, ITG_BAD_FILE,
                        "%s: node '%.80s' (%.60s): %d inputs and %d outputs; its function has %d "
                        "and %d",
                        in->file->source, c->node->name, c->node->op_type,
                        (int)c->node->input_count, (int)c->node->output_count, (int)f->input_count,
                        (int)f->output_count);
    return ITG_OK;
}

static itg_status write_call(inliner *in, const call *outer, const itg_onnx_node *node,
                             const itg_onnx_function *function)
{
    call c = {.outer = outer, .function = function, .node = node};
    c.in_branch = outer && outer->in_branch;
    itg_status status = check_call(in, &c);
    if (status == ITG_OK) status = bind(in, &c);
    if (status != ITG_OK) return status;
    c.prefix = itg_names_unique(&in->prefixes, *node->name ? node->name : node->op_type, 0);
    if (!c.prefix) return no_memory(in);
    return write_out(in, &c, function->nodes, function->node_count);
}

static itg_status add_node(inliner *in, const itg_onnx_node *node)
{
    if (in->count == ITG_MOST_NODES)
        return itg_fail(in->err, ITG_LIMIT, "%s: more than %d nodes, with those of its functions",
                        in->file->source, ITG_MOST_NODES);
    if (in->count == in->room) {
        const int32_t room = in->room ? 2 * in->room : 64;
        itg_onnx_node *larger = itg_arena_array(in->file->arena, (size_t)room, sizeof *larger);
        if (!larger) return no_memory(in);
        if (in->count > 0) memcpy(larger, in->nodes, (size_t)in->count * sizeof *larger);
        in->nodes = larger;
        in->room = room;
    }
    in->nodes[in->count++] = *node;
    return ITG_OK;
}

/* ---- If ---- */

/* Finds both branches of an If; false: it cannot be written out. */
static bool has_branches(const itg_onnx_node *node, const itg_onnx_branch *branches[2])
{
    static const char *const names[] = {"then_branch", "else_branch"};
    if (*node->domain || strcmp(node->op_type, "If") != 0 || node->input_count != 1 ||
        node->refused)
        return false;
    for (int i = 0; i < 2; i++) {
        const itg_onnx_attr *attr = itg_onnx_attr_find(node, names[i]);
        if (!attr || attr->type != ITG_ATTR_GRAPH || attr->graph->input_count > 0 ||
            attr->graph->output_count != node->output_count)
            return false;
        branches[i] = attr->graph;
    }
    return true;
}

/* Names the values of a branch: they keep their names unless these are taken. */
static bool name_values(inliner *in, call *c, const itg_onnx_branch *branch)
{
    int32_t count = 0;
    for (int32_t n = 0; n < branch->node_count; n++)
        count += branch->nodes[n].output_count;
    c->bound.arena = in->file->arena;
    c->made = itg_arena_array(in->file->arena, (size_t)count, sizeof *c->made);
    count = 0;
    for (int32_t n = 0; c->made && n < branch->node_count; n++)
        for (int32_t i = 0; i < branch->nodes[n].output_count; i++) {
            const char *name = branch->nodes[n].outputs[i];
            const char *wanted = *name ? outer_name(in, c->outer, name) : name;
            if (!wanted || !itg_names_put(&c->bound, name, count)) return false;
            c->made[count] = *name ? itg_names_unique(&in->values, wanted, 0) : name;
            if (!c->made[count++]) return false;
        }
    return c->made != NULL;
}

/* Writes the nodes of a branch. *outputs: its outputs' names in the graph. */
static itg_status write_branch(inliner *in, const call *outer, const itg_onnx_node *node,
                               const itg_onnx_branch *branch, const char *const **outputs)
{
    call c = {.outer = outer, .node = node, .in_branch = true};
    if (!name_values(in, &c, branch)) return no_memory(in);
    *outputs = outer_names(in, &c, branch->outputs, branch->output_count);
    if (!*outputs) return no_memory(in);
    return write_out(in, &c, branch->nodes, branch->node_count);
}

/* Writes an If of one output, which chooses between the values of the two branches. */
static itg_status write_choice(inliner *in, const itg_onnx_node *node, int32_t output,
                               const char *yes, const char *no)
{
    itg_onnx_node choice = *node;
    const char **inputs = itg_arena_array(in->file->arena, 3, sizeof *inputs);
    if (!inputs) return no_memory(in);
    inputs[0] = node->inputs[0];
    inputs[1] = yes;
    inputs[2] = no;
    choice.inputs = inputs;
    choice.input_count = 3;
    choice.outputs = &node->outputs[output];
    choice.output_count = 1;
    choice.attr_count = 0;
    return add_node(in, &choice);
}

static itg_status write_if(inliner *in, const call *outer, const itg_onnx_node *node,
                           const itg_onnx_branch *const branches[2])
{
    const char *const *outputs[2];
    itg_status status = write_branch(in, outer, node, branches[0], &outputs[0]);
    if (status == ITG_OK) status = write_branch(in, outer, node, branches[1], &outputs[1]);
    for (int32_t i = 0; i < node->output_count && status == ITG_OK; i++)
        if (*node->outputs[i]) status = write_choice(in, node, i, outputs[0][i], outputs[1][i]);
    return status;
}

/* ---- all nodes ---- */

static int64_t opset_of(const call *c)
{
    while (c && !c->function)
        c = c->outer;
    return c ? c->function->opset : 0;
}

/* Renames a node of a call for the graph and resolves its attributes. */
static itg_status written(const inliner *in, const call *c, itg_onnx_node *node)
{
    if (!c) return ITG_OK;
    if (c->function)
        node->name = itg_arena_format(in->file->arena, "%s/%s", c->prefix,
                                      *node->name ? node->name : node->op_type);
    node->inputs = outer_names(in, c, node->inputs, node->input_count);
    node->outputs = outer_names(in, c, node->outputs, node->output_count);
    node->in_branch = c->in_branch;
    node->opset = opset_of(c);
    if (!node->name || !node->inputs || !node->outputs) return no_memory(in);
    return node->refused ? ITG_OK : write_attributes(in, c, node);
}

static itg_status write_out(inliner *in, const call *c, const itg_onnx_node *nodes, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        itg_onnx_node node = nodes[i];
        const itg_onnx_function *function = NULL;
        const itg_onnx_branch *branches[2];
        itg_status status = written(in, c, &node);
        if (status == ITG_OK) status = function_of(in, &node, &function);
        if (status == ITG_OK && function && !node.refused)
            status = write_call(in, c, &node, function);
        else if (status == ITG_OK && has_branches(&node, branches))
            status = write_if(in, c, &node, branches);
        else if (status == ITG_OK)
            status = add_node(in, &node);
        if (status != ITG_OK) return status;
    }
    return ITG_OK;
}

static bool index_values(inliner *in)
{
    const itg_onnx_file *file = in->file;
    for (int32_t i = 0; i < file->input_count; i++)
        if (!itg_names_put(&in->values, file->inputs[i].name, 0)) return false;
    for (int32_t i = 0; i < file->initializer_count; i++)
        if (!itg_names_put(&in->values, file->initializers[i].name, 0)) return false;
    for (int32_t n = 0; n < file->node_count; n++)
        for (int32_t i = 0; i < file->nodes[n].output_count; i++)
            if (!itg_names_put(&in->values, file->nodes[n].outputs[i], 0)) return false;
    return true;
}

static bool has_if(const itg_onnx_file *file)
{
    const itg_onnx_branch *branches[2];
    int32_t n = 0;
    while (n < file->node_count && !has_branches(&file->nodes[n], branches))
        n++;
    return n < file->node_count;
}

itg_status itg_onnx_inline(itg_onnx_file *file, itg_error *err)
{
    if (file->function_count == 0 && !has_if(file)) return ITG_OK;
    inliner in = {.file = file, .err = err};
    in.functions.arena = in.prefixes.arena = in.values.arena = file->arena;
    itg_status status = index_functions(&in);
    if (status == ITG_OK && !index_values(&in)) status = no_memory(&in);
    if (status == ITG_OK) status = write_out(&in, NULL, file->nodes, file->node_count);
    if (status != ITG_OK) return status;
    file->nodes = in.nodes;
    file->node_count = in.count;
    return ITG_OK;
}
