/* The graph as text: inputs and constants, one line a node with its name behind '#', outputs. Flags
 * that are false and modes in their plain form are left out. */
#include "attr_list.h"
#include <string.h>

static void print_ref(const itg_graph *g, itg_id value, itg_strbuf *out)
{
    if (value == ITG_NONE)
        itg_strbuf_add(out, "-");
    else
        itg_strbuf_format(out, "%%%d %s", (int)value, g->values[value].name);
}

static void print_type(const itg_graph *g, itg_id value, itg_strbuf *out)
{
    char text[200];
    if (value == ITG_NONE) {
        itg_strbuf_add(out, "-");
        return;
    }
    const itg_value *v = &g->values[value];
    itg_strbuf_add(out, itg_dtype_name(v->dtype));
    itg_strbuf_add(out, v->shape.rank < 0 ? "[?]" : itg_shape_text(&v->shape, text, sizeof text));
}

/* Nine digits tell every float32 apart; the decimal point is one in every locale. */
static void print_float(float value, itg_strbuf *out)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", (double)value);
    char *comma = strchr(text, ',');
    if (comma) *comma = '.';
    itg_strbuf_add(out, text);
}

static bool is_plain(const itg_attr_view *attr)
{
    if (attr->type == ITG_FIELD_BOOL) return !attr->flag;
    return attr->type == ITG_FIELD_NAME && strcmp(attr->text, "explicit") == 0;
}

static void print_attr(const itg_attr_view *attr, itg_strbuf *out)
{
    itg_strbuf_format(out, "%s=", attr->name);
    switch (attr->type) {
    case ITG_FIELD_INTS:
        if (attr->is_list) itg_strbuf_add(out, "[");
        for (int32_t i = 0; i < attr->count; ++i)
            itg_strbuf_format(out, "%s%lld", i ? "," : "", (long long)attr->ints[i]);
        if (attr->is_list) itg_strbuf_add(out, "]");
        break;
    case ITG_FIELD_BOOL:
        itg_strbuf_add(out, attr->flag ? "1" : "0");
        break;
    case ITG_FIELD_FLOAT:
        print_float(attr->number, out);
        break;
    case ITG_FIELD_NAME:
        itg_strbuf_add(out, attr->text);
        break;
    }
}

static void print_node(const itg_graph *g, itg_id id, itg_strbuf *out)
{
    const itg_node *n = &g->nodes[id];
    itg_attr_view attr;
    bool any = false;
    for (int32_t i = 0; i < n->output_count; ++i) {
        if (i) itg_strbuf_add(out, ", ");
        print_ref(g, n->outputs[i], out);
    }
    itg_strbuf_format(out, " = %s(", itg_op_name(n->op));
    for (int32_t i = 0; i < n->input_count; ++i) {
        if (i) itg_strbuf_add(out, ", ");
        print_ref(g, n->inputs[i], out);
    }
    itg_strbuf_add(out, ")");
    for (int32_t i = 0; itg_attr_at(g, id, i, &attr); ++i) {
        if (is_plain(&attr)) continue;
        itg_strbuf_add(out, any ? " " : " {");
        print_attr(&attr, out);
        any = true;
    }
    itg_strbuf_add(out, any ? "} : " : " : ");
    for (int32_t i = 0; i < n->output_count; ++i) {
        if (i) itg_strbuf_add(out, ", ");
        print_type(g, n->outputs[i], out);
    }
    itg_strbuf_format(out, "  # %s\n", n->name);
}

static void print_value_line(const itg_graph *g, const char *what, itg_id value, itg_strbuf *out)
{
    itg_strbuf_format(out, "%s ", what);
    print_ref(g, value, out);
    itg_strbuf_add(out, " : ");
    print_type(g, value, out);
    itg_strbuf_add(out, "\n");
}

void itg_graph_print(const itg_graph *g, itg_strbuf *out)
{
    itg_strbuf_format(out, "graph %s\n", g->name);
    for (int32_t i = 0; i < g->input_count; ++i)
        print_value_line(g, "input", g->inputs[i], out);
    for (itg_id v = 0; v < g->value_count; ++v)
        if (itg_graph_is_constant(g, v)) print_value_line(g, "constant", v, out);
    for (itg_id n = 0; n < g->node_count; ++n)
        print_node(g, n, out);
    for (int32_t i = 0; i < g->output_count; ++i)
        print_value_line(g, "output", g->outputs[i], out);
}
