#include "graph/onnx/outputs.h"
#include <string.h>
#include "graph/names.h"
#include "graph/onnx/file_read.h"

typedef struct search {
    const itg_onnx_file *file;
    itg_names makers; /* of values: the node's index, or node_count + the input's index */
    int32_t *open;    /* nodes whose inputs have not been visited */
    int32_t open_count;
    itg_onnx_outputs *out;
} search;

static bool index_values(search *s)
{
    const itg_onnx_file *file = s->file;
    for (int32_t i = 0; i < file->input_count; i++)
        if (!itg_names_put(&s->makers, file->inputs[i].name, file->node_count + i)) return false;
    for (int32_t n = 0; n < file->node_count; n++)
        for (int32_t i = 0; i < file->nodes[n].output_count; i++)
            if (!itg_names_put(&s->makers, file->nodes[n].outputs[i], n)) return false;
    return true;
}

/* Marks the maker of a value as needed. False: it is neither a node nor an input. */
static bool need(search *s, const char *value)
{
    const int32_t maker = *value ? itg_names_find(&s->makers, value) : -1;
    if (maker < 0) return false;
    if (maker >= s->file->node_count) {
        s->out->idle_inputs[maker - s->file->node_count] = false;
    } else if (s->out->idle_nodes[maker]) {
        s->out->idle_nodes[maker] = false;
        s->open[s->open_count++] = maker;
    }
    return true;
}

static void follow(search *s)
{
    while (s->open_count > 0) {
        const itg_onnx_node *node = &s->file->nodes[s->open[--s->open_count]];
        for (int32_t i = 0; i < node->input_count; i++)
            (void)need(s, node->inputs[i]); /* may be a constant or undefined: import checks it */
    }
}

/* ---- names ---- */

static itg_status split(const itg_onnx_file *file, const char *wanted, itg_arena *arena,
                        itg_onnx_outputs *out, itg_error *err)
{
    const char **names = itg_arena_array(arena, strlen(wanted) + 1, sizeof *names);
    char *rest = itg_arena_strdup(arena, wanted);
    if (!names || !rest) return itg_onnx_file_no_memory(file, err);
    for (char *name = rest; name; name = rest) {
        rest = strchr(name, ',');
        if (rest) *rest++ = 0;
        for (int32_t i = 0; i < out->count; i++)
            if (strcmp(names[i], name) == 0)
                return itg_fail(err, ITG_BAD_ARGUMENT, "%s: output '%.100s' is wanted twice",
                                file->source, name);
        names[out->count++] = name;
    }
    out->names = names;
    return ITG_OK;
}

static itg_status need_all(search *s, itg_error *err)
{
    for (int32_t n = 0; n < s->file->node_count; n++)
        s->out->idle_nodes[n] = true;
    for (int32_t i = 0; i < s->file->input_count; i++)
        s->out->idle_inputs[i] = true;
    for (int32_t i = 0; i < s->out->count; i++)
        if (!need(s, s->out->names[i]))
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "%s: output '%.100s' is wanted, and no node makes a value of that name",
                            s->file->source, s->out->names[i]);
    follow(s);
    return ITG_OK;
}

static itg_status use_own(const itg_onnx_file *file, itg_arena *arena, itg_onnx_outputs *out,
                          itg_error *err)
{
    const char **names = itg_arena_array(arena, (size_t)file->output_count, sizeof *names);
    if (!names) return itg_onnx_file_no_memory(file, err);
    for (int32_t i = 0; i < file->output_count; i++)
        names[i] = file->outputs[i].name;
    out->names = names;
    out->count = file->output_count;
    return ITG_OK;
}

itg_status itg_onnx_find_outputs(const itg_onnx_file *file, const char *wanted, itg_arena *arena,
                                 itg_onnx_outputs *out, itg_error *err)
{
    const size_t nodes = (size_t)file->node_count;
    search s = {.file = file, .makers.arena = arena, .out = out};
    *out = (itg_onnx_outputs){0};
    out->idle_nodes = itg_arena_array(arena, nodes, sizeof *out->idle_nodes);
    out->idle_inputs = itg_arena_array(arena, (size_t)file->input_count, sizeof *out->idle_inputs);
    if (!out->idle_nodes || !out->idle_inputs) return itg_onnx_file_no_memory(file, err);
    if (!*wanted && file->labels_left_out == 0) return use_own(file, arena, out, err);
    s.open = itg_arena_array(arena, nodes, sizeof *s.open);
    if (!s.open || !index_values(&s)) return itg_onnx_file_no_memory(file, err);
    itg_status status =
        *wanted ? split(file, wanted, arena, out, err) : use_own(file, arena, out, err);
    return status == ITG_OK ? need_all(&s, err) : status;
}
