/* Which groups a search may change, and how, as the options only, skip, fix and allow_float say. */
#include "search/point_patterns.h"
#include "base/nearest.h"
#include "hardware/glob.h"
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 300 };

typedef struct patterns {
    const itg_point_space *p;
    const char *option; /* "only", for errors */
    char text[LONGEST_NAME];
    int32_t bits; /* of fix */
} patterns;

/* ---- names ---- */

static const itg_edge_ref *edge_of(const patterns *x, const itg_choice_group *group, int32_t i)
{
    return &x->p->groups->edges[group->edges[i]];
}

static const char *value_name(const patterns *x, const itg_edge_ref *edge)
{
    return x->p->graph->values[edge->value].name;
}

static const char *node_name(const patterns *x, const itg_edge_ref *edge)
{
    return edge->node == ITG_NONE ? "output" : x->p->graph->nodes[edge->node].name;
}

/* As itg_search_space_text has it. */
static const char *edge_name(const patterns *x, const itg_edge_ref *edge, char *out, size_t size)
{
    snprintf(out, size, "%.120s -> %.120s.%d", value_name(x, edge), node_name(x, edge),
             (int)edge->slot);
    return out;
}

static bool matches(const patterns *x, const itg_choice_group *group)
{
    char name[LONGEST_NAME];
    bool found = false;
    for (int32_t i = 0; i < group->edge_count && !found; i++) {
        const itg_edge_ref *edge = edge_of(x, group, i);
        found = itg_hw_glob(x->text, value_name(x, edge)) ||
                itg_hw_glob(x->text, node_name(x, edge)) ||
                itg_hw_glob(x->text, edge_name(x, edge, name, sizeof name));
    }
    return found;
}

/* Names of the edges, the value's, then the node's; "" where nothing can be chosen. */
static const char *name_at(void *context, int index)
{
    const patterns *x = context;
    const itg_edge_ref *edge = &x->p->groups->edges[index / 2];
    if (x->p->groups->edge_group[index / 2] < 0) return "";
    return index % 2 == 0 ? value_name(x, edge) : node_name(x, edge);
}

static itg_status refuse_unmatched(const patterns *x, itg_error *err)
{
    patterns names = *x;
    char bare[LONGEST_NAME];
    size_t length = 0;
    for (const char *at = x->text; *at; at++)
        if (*at != '*' && *at != '?') bare[length++] = *at;
    bare[length] = '\0';
    const char *near = itg_nearest_name(bare, 2 * x->p->groups->edge_count, name_at, &names);
    return itg_fail(
        err, ITG_BAD_ARGUMENT,
        "%s: '%.100s' matches no node, value or edge whose width can be chosen%s%.100s%s",
        x->option, x->text, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* ---- what patterns do ---- */

typedef itg_status (*act_fn)(const patterns *x, itg_choice_group *group, bool *mark,
                             itg_error *err);

static itg_status mark_group(const patterns *x, itg_choice_group *group, bool *mark, itg_error *err)
{
    (void)x;
    (void)group;
    (void)err;
    *mark = true;
    return ITG_OK;
}

static void hold(itg_choice_group *group, int32_t bits)
{
    group->bits[0] = bits;
    group->bits_count = 1;
}

/* Groups that cannot be float, as what the node reads, stay as they are. */
static itg_status allow_float(const patterns *x, itg_choice_group *group, bool *mark,
                              itg_error *err)
{
    (void)x;
    (void)err;
    if (group->may_be_float && !*mark) group->bits[group->bits_count++] = ITG_FLOAT_BITS;
    *mark = group->may_be_float;
    return ITG_OK;
}

static itg_status fix_group(const patterns *x, itg_choice_group *group, bool *mark, itg_error *err)
{
    char name[LONGEST_NAME], widths[128] = "";
    for (int32_t i = 0; i < group->bits_count; i++) {
        size_t used = strlen(widths);
        if (group->bits[i] == x->bits) {
            hold(group, x->bits);
            *mark = true;
            return ITG_OK;
        }
        snprintf(widths + used, sizeof widths - used, "%s%d", i > 0 ? ", " : "", group->bits[i]);
    }
    if (x->bits == ITG_FLOAT_BITS && !group->is_weight) return ITG_OK; /* what a float node reads */
    return itg_fail(err, ITG_BAD_ARGUMENT, "%s: '%.100s=%d': %.200s may have %s bits%s", x->option,
                    x->text, (int)x->bits, edge_name(x, edge_of(x, group, 0), name, sizeof name),
                    widths, *mark ? ", which another pattern fixed" : "");
}

static itg_status act_on_all(const patterns *x, act_fn act, bool *marks, itg_error *err)
{
    itg_status status = ITG_OK;
    bool any = false;
    for (int32_t i = 0; i < x->p->groups->group_count && status == ITG_OK; i++) {
        itg_choice_group *group = &x->p->groups->groups[i];
        if (!matches(x, group)) continue;
        status = act(x, group, &marks[i], err);
        any = any || marks[i];
    }
    if (status == ITG_OK && !any && act == allow_float)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "%s: '%.100s' matches no Conv, Gemm or MatMul with constant weights that "
                        "could be integers or float",
                        x->option, x->text);
    return status == ITG_OK && !any ? refuse_unmatched(x, err) : status;
}

/* Takes "=BITS" off the end of the text. */
static itg_status take_bits(patterns *x, itg_error *err)
{
    char *equals = strrchr(x->text, '='), *end = NULL;
    long bits = equals && equals[1] >= '0' && equals[1] <= '9' ? strtol(equals + 1, &end, 10) : 0;
    if (!end || *end != '\0' || bits < 1 || bits > 32 || equals == x->text)
        return itg_fail(err, ITG_BAD_ARGUMENT, "%s: '%.100s': expected PATTERN=BITS, 1 to 32 bits",
                        x->option, x->text);
    *equals = '\0';
    x->bits = (int32_t)bits;
    return ITG_OK;
}

static itg_status take_list(patterns *x, const char *list, act_fn act, bool *marks, itg_error *err)
{
    itg_status status = ITG_OK;
    while (status == ITG_OK && *list) {
        size_t length = strcspn(list, ",");
        if (length == 0 || length >= sizeof x->text)
            return itg_fail(err, ITG_BAD_ARGUMENT,
                            "%s: expected patterns of 1 to %d characters with commas between",
                            x->option, (int)sizeof x->text - 1);
        snprintf(x->text, sizeof x->text, "%.*s", (int)length, list);
        if (act == fix_group) status = take_bits(x, err);
        if (status == ITG_OK) status = act_on_all(x, act, marks, err);
        list += length + (list[length] == ',');
    }
    return status;
}

static void hold_integer(itg_choice_group *group)
{
    while (group->bits_count > 1 && itg_choice_is_float(group, group->bits[group->bits_count - 1]))
        group->bits_count--;
    hold(group, group->bits[group->bits_count - 1]);
}

/* Every group that may not change keeps its widest integer width, unless it is fixed. */
static void hold_widest(itg_point_space *p, const bool *only, const bool *fixed, bool has_only)
{
    for (int32_t i = 0; i < p->groups->group_count; i++) {
        itg_choice_group *group = &p->groups->groups[i];
        if (has_only && !only[i]) p->held[i] = true;
        if (p->held[i] && !fixed[i]) hold_integer(group);
    }
}

itg_status itg_point_patterns_apply(itg_point_space *points, const itg_search_options *options,
                                    itg_error *err)
{
    size_t count = (size_t)points->groups->group_count + 1;
    bool *only = calloc(count, sizeof *only), *fixed = calloc(count, sizeof *fixed);
    bool *in_float = calloc(count, sizeof *in_float);
    patterns x = {points, "allow-float", "", 0};
    itg_status status =
        only && fixed && in_float ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for patterns");
    if (status == ITG_OK) status = take_list(&x, options->allow_float, allow_float, in_float, err);
    x.option = "only";
    if (status == ITG_OK) status = take_list(&x, options->only, mark_group, only, err);
    x.option = "skip";
    if (status == ITG_OK) status = take_list(&x, options->skip, mark_group, points->held, err);
    x.option = "fix";
    if (status == ITG_OK) status = take_list(&x, options->fix, fix_group, fixed, err);
    if (status == ITG_OK) hold_widest(points, only, fixed, *options->only != '\0');
    free(only);
    free(fixed);
    free(in_float);
    return status;
}
