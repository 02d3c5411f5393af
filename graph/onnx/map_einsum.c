/* Einsum: the equation becomes a constant, the last input (base/einsum.h). */
#include <string.h>
#include "base/einsum.h"
#include "graph/onnx/map.h"

enum { MOST_LABELS = 128 };

typedef struct equation {
    int64_t labels[MOST_LABELS];
    int32_t count, lists;              /* count: of labels; lists: of finished lists */
    int32_t seen[ITG_EINSUM_REST + 1]; /* how often the operands have the label */
} equation;

static bool add(equation *e, int64_t label)
{
    if (e->count == MOST_LABELS) return false;
    e->labels[e->count++] = label;
    e->lists += label == -1;
    return true;
}

/* Returns the number of a letter, a..z before A..Z; -1: not a letter. */
static int64_t letter(char c)
{
    if (c >= 'a' && c <= 'z') return c - 'a';
    return c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

/* Reads lists separated by commas up to an arrow or the end, and moves *text behind it. */
static bool read_lists(const char **text, equation *e, bool *arrow)
{
    *arrow = false;
    for (const char *c = *text;; c++) {
        if (*c == '\0' || strncmp(c, "->", 2) == 0) {
            *arrow = *c != '\0';
            *text = c + (*arrow ? 2 : 0);
            return add(e, -1);
        }
        const bool rest = strncmp(c, "...", 3) == 0;
        const int64_t label = rest ? ITG_EINSUM_REST : letter(*c);
        if (*c == ' ') continue;
        if (*c != ',' && label < 0) return false;
        if (!add(e, *c == ',' ? -1 : label)) return false;
        if (label >= 0) e->seen[label]++;
        if (rest) c += 2;
    }
}

/* Adds the output if there is no arrow: "..." and the letters that occur once, capitals first. */
static bool add_implicit_output(equation *e)
{
    if (e->seen[ITG_EINSUM_REST] > 0 && !add(e, ITG_EINSUM_REST)) return false;
    for (int i = 0; i < ITG_EINSUM_LETTERS; i++) {
        const int label = (i + 26) % ITG_EINSUM_LETTERS;
        if (e->seen[label] == 1 && !add(e, label)) return false;
    }
    return add(e, -1);
}

static itg_status map_einsum(itg_map_node *node, itg_error *err)
{
    equation e = {.count = 0};
    const char *text = NULL;
    bool arrow, legal = true;
    itg_status status = itg_map_string(node, "equation", &text, err);
    if (status != ITG_OK) return status;
    legal = text != NULL && read_lists(&text, &e, &arrow) && e.lists == node->input_count;
    if (legal) legal = arrow ? read_lists(&text, &e, &arrow) && !arrow : add_implicit_output(&e);
    if (!legal || e.lists != node->input_count + 1)
        return itg_map_fail(node, err, ITG_BAD_FILE,
                            "attribute 'equation' is missing or does not fit its %d inputs",
                            (int)node->input_count);
    itg_tensor labels = {
        .dtype = ITG_S64, .shape = {.rank = 1, .dims = {e.count}}, .data = e.labels};
    return itg_map_add_input(node, node->input_count, "equation", &labels, err);
}

static const itg_op_rule rules[] = {
    {ITG_OP_EINSUM, map_einsum, {{"equation", ITG_FILE_MAPPED, 0, 0}}},
};

const itg_op_family itg_map_einsum = {rules, (int32_t)(sizeof rules / sizeof rules[0])};
