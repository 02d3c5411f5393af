#include "search/point_space.h"
#include "base/json_write.h"
#include "search/point_patterns.h"
#include "sim/sim.h"
#include <stdlib.h>
#include <string.h>

/* ---- methods ---- */

static itg_status check_methods(const char *what, const itg_threshold_methods *list, itg_error *err)
{
    const itg_threshold_method *methods = list->values;
    if (list->count < 0 || list->count > ITG_MAX_METHODS)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "%d threshold methods of %s; at most %d can be given", list->count, what,
                        ITG_MAX_METHODS);
    for (int32_t i = 0; i < list->count; i++) {
        if ((int)methods[i] < 0 || methods[i] >= ITG_THRESHOLD_METHOD_COUNT)
            return itg_fail(err, ITG_BAD_ARGUMENT, "there is no threshold method %d",
                            (int)methods[i]);
        for (int32_t k = 0; k < i; k++)
            if (methods[k] == methods[i])
                return itg_fail(err, ITG_BAD_ARGUMENT, "threshold method %s of %s is given twice",
                                itg_threshold_name(methods[i]), what);
    }
    return ITG_OK;
}

/* The default first, where it is named, then the others in an order of their own: a search does not
 * depend on the order in which they are given. */
static void copy_methods(const itg_threshold_methods *from, itg_threshold_method *to,
                         int32_t *count)
{
    int32_t copied = 0;
    to[0] = ITG_THRESHOLD_DEFAULT;
    *count = from->count > 1 ? from->count : 1;
    for (int m = -1; m < ITG_THRESHOLD_METHOD_COUNT; m++) {
        itg_threshold_method method = m < 0 ? ITG_THRESHOLD_DEFAULT : (itg_threshold_method)m;
        for (int32_t i = 0; i < from->count; i++)
            if (from->values[i] == method && (m < 0 || method != ITG_THRESHOLD_DEFAULT))
                to[copied++] = method;
    }
}

static bool is_estimated(const itg_point_space *p, const itg_choice_group *group)
{
    for (int32_t i = 0; i < group->edge_count; i++) {
        const itg_edge_ref *edge = &p->groups->edges[group->edges[i]];
        if (edge->node == ITG_NONE) continue;
        if (group->is_weight || !itg_graph_is_constant(p->graph, edge->value)) return true;
    }
    return false;
}

/* ---- dimensions ---- */

static void add_dim(itg_point_space *p, int32_t group, itg_dim dim)
{
    p->dim_group[p->space.dim_count] = group;
    p->dims[p->space.dim_count++] = dim;
}

/* The last dimension is the method of this group: its width, if it has one, says so. */
static void link_width(itg_point_space *p, int32_t group)
{
    for (int32_t d = 0; d < p->space.dim_count; d++)
        if (p->dim_group[d] == group && p->dims[d].ordered) p->dims[d].method = p->space.dim_count;
}

static itg_status reserve_dims(itg_point_space *p, itg_error *err)
{
    size_t groups = (size_t)p->groups->group_count;
    int32_t alternatives = 1;
    p->dims = calloc(2 * groups + 1, sizeof *p->dims);
    p->dim_group = calloc(2 * groups + 1, sizeof *p->dim_group);
    p->held = calloc(groups + 1, sizeof *p->held);
    for (size_t i = 0; i < groups; i++)
        if (p->groups->groups[i].alternatives > alternatives)
            alternatives = p->groups->groups[i].alternatives;
    const int32_t ways = alternatives * ITG_MAX_METHODS;
    p->ways = calloc((size_t)ways, sizeof *p->ways);
    for (int32_t i = 0; p->ways && i < ways; i++)
        p->ways[i] = i;
    if (!p->dims || !p->dim_group || !p->held || !p->ways)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the choice space");
    p->space.dims = p->dims;
    return ITG_OK;
}

static int32_t method_count(const itg_point_space *p, int32_t group)
{
    const itg_choice_group *g = &p->groups->groups[group];
    return !is_estimated(p, g) ? 1
           : g->is_weight      ? p->weight_method_count
                               : p->activation_method_count;
}

static void make_dims(itg_point_space *p)
{
    int32_t groups = p->groups->group_count;
    for (int32_t i = 0; i < groups; i++) {
        const itg_choice_group *g = &p->groups->groups[i];
        if (g->bits_count > 1)
            add_dim(p, i, (itg_dim){.count = g->bits_count, .values = g->bits, .ordered = true});
    }
    for (int32_t i = 0; i < groups; i++) {
        const int32_t count = method_count(p, i) * p->groups->groups[i].alternatives;
        if (count <= 1 || p->held[i]) continue;
        add_dim(p, i, (itg_dim){.count = count, .values = p->ways});
        link_width(p, i);
    }
}

itg_status itg_point_space_create(const itg_hardware *hw, const itg_graph *graph,
                                  const itg_search_options *o, itg_point_space **out,
                                  itg_error *err)
{
    itg_space_options widths = {o->weight_bits, o->activation_bits, o->input_bits, o->output_bits};
    itg_status status = check_methods("weights", &o->weight_methods, err);
    if (status == ITG_OK) status = check_methods("activations", &o->activation_methods, err);
    if (status != ITG_OK) return status;
    itg_point_space *p = calloc(1, sizeof *p);
    if (!p) return itg_fail(err, ITG_NO_MEMORY, "no memory for the choice space");
    p->graph = graph;
    copy_methods(&o->weight_methods, p->weight_methods, &p->weight_method_count);
    copy_methods(&o->activation_methods, p->activation_methods, &p->activation_method_count);
    status = itg_choice_space_create(hw, graph, &widths, &p->groups, err);
    if (status == ITG_OK) status = reserve_dims(p, err);
    if (status == ITG_OK) status = itg_point_patterns_apply(p, o, err);
    if (status == ITG_OK) make_dims(p);
    if (status != ITG_OK)
        itg_point_space_destroy(p);
    else
        *out = p;
    return status;
}

void itg_point_space_destroy(itg_point_space *points)
{
    if (!points) return;
    itg_choice_space_destroy(points->groups);
    free(points->held);
    free(points->ways);
    free(points->dims);
    free(points->dim_group);
    free(points);
}

/* ---- points ---- */

static const itg_threshold_method *methods_of(const itg_point_space *p, int32_t group)
{
    return p->groups->groups[group].is_weight ? p->weight_methods : p->activation_methods;
}

void itg_point_space_apply(const itg_point_space *points, const int32_t *point, int32_t *bits,
                           itg_threshold_method *methods, int32_t *passed_over)
{
    for (int32_t i = 0; i < points->groups->group_count; i++) {
        bits[i] = points->groups->groups[i].bits[0];
        methods[i] = methods_of(points, i)[0];
        passed_over[i] = 0;
    }
    for (int32_t d = 0; d < points->space.dim_count; d++) {
        int32_t group = points->dim_group[d];
        if (points->dims[d].ordered) {
            bits[group] = point[d];
            continue;
        }
        methods[group] = methods_of(points, group)[point[d] % method_count(points, group)];
        passed_over[group] = point[d] / method_count(points, group);
    }
}

int32_t itg_point_space_way(const itg_point_space *points, int32_t dim, itg_threshold_method method,
                            int32_t passed_over)
{
    const int32_t group = points->dim_group[dim], count = method_count(points, group);
    for (int32_t m = 0; m < count; m++)
        if ((count == 1 || methods_of(points, group)[m] == method) &&
            passed_over < points->groups->groups[group].alternatives)
            return m + passed_over * count;
    return -1;
}

void itg_point_space_corner(const itg_point_space *points, bool narrowest, int32_t *point)
{
    for (int32_t d = 0; d < points->space.dim_count; d++) {
        const itg_dim *dim = &points->dims[d];
        point[d] = dim->values[dim->ordered && !narrowest ? dim->count - 1 : 0];
    }
}

void itg_point_space_leave_float(const itg_point_space *points, int32_t *point)
{
    for (int32_t d = 0; d < points->space.dim_count; d++) {
        const itg_dim *dim = &points->dims[d];
        if (dim->ordered && dim->count > 1 &&
            itg_choice_is_float(&points->groups->groups[points->dim_group[d]], point[d]))
            point[d] = dim->values[dim->count - 2];
    }
}

/* ---- text ---- */

static void put_edge(itg_json_writer *w, const itg_point_space *p, const itg_edge_ref *edge)
{
    itg_strbuf name = {0};
    itg_strbuf_format(&name, "%s -> %s.%d", p->graph->values[edge->value].name,
                      edge->node == ITG_NONE ? "output" : p->graph->nodes[edge->node].name,
                      edge->slot);
    itg_json_put_text(w, NULL, name.text);
    w->text.failed |= name.failed;
    itg_strbuf_deinit(&name);
}

/* "mse"; with a dtype or spec passed over "mse:1". */
static void put_way(itg_json_writer *w, const itg_point_space *p, int32_t group, int32_t way)
{
    const int32_t count = method_count(p, group);
    char text[64];
    snprintf(text, sizeof text, way < count ? "%s" : "%s:%d",
             itg_threshold_name(methods_of(p, group)[way % count]), (int)(way / count));
    itg_json_put_text(w, NULL, text);
}

static void put_dim(itg_json_writer *w, const itg_point_space *p, int32_t d)
{
    const itg_choice_group *group = &p->groups->groups[p->dim_group[d]];
    const itg_dim *dim = &p->dims[d];
    itg_json_begin(w, NULL, '{');
    itg_json_put_text(w, "kind", dim->ordered ? "bits" : "threshold");
    itg_json_begin(w, "edges", '[');
    for (int32_t i = 0; i < group->edge_count; i++)
        put_edge(w, p, &p->groups->edges[group->edges[i]]);
    itg_json_end(w, ']');
    itg_json_begin(w, "values", '[');
    for (int32_t i = 0; i < dim->count; i++)
        if (dim->ordered)
            itg_json_put_int(w, NULL, dim->values[i]);
        else
            put_way(w, p, p->dim_group[d], i);
    itg_json_end(w, ']');
    itg_json_end(w, '}');
}

itg_status itg_search_space_text(const itg_model *model, const itg_hardware *hw,
                                 const itg_search_options *options, char **out, itg_error *err)
{
    itg_point_space *points = NULL;
    itg_json_writer w = {0};
    itg_status status =
        itg_check_version("itg_search_options", options->version, ITG_SEARCH_OPTIONS_VERSION, err);
    if (status == ITG_OK) status = itg_point_space_create(hw, model, options, &points, err);
    if (status != ITG_OK) return status;
    itg_json_begin(&w, NULL, '[');
    for (int32_t d = 0; d < points->space.dim_count; d++)
        put_dim(&w, points, d);
    itg_json_end(&w, ']');
    itg_point_space_destroy(points);
    if (!itg_strbuf_ok(&w.text)) {
        itg_strbuf_deinit(&w.text);
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the choice space as text");
    }
    *out = w.text.text;
    return ITG_OK;
}
