/* The graph as text: inputs and constants, one line a node with its name behind '#', outputs. False
 * flags and default modes are left out. */
#include "internal.h"
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

/* Nine digits distinguish all float32 numbers. The decimal point does not depend on the locale. */
static void print_float(float value, itg_strbuf *out)
{
    char text[40];
    snprintf(text, sizeof text, "%.9g", (double)value);
    char *comma = strchr(text, ',');
    if (comma) *comma = '.';
    itg_strbuf_add(out, text);
}

static bool is_plain(const itg_attr *attr, const itg_attrs *attrs)
{
    const void *value = itg_attr_value(attr, attrs);
    if (attr->field->kind == ITG_KIND_BOOL) return !*(const bool *)value;
    return attr->field->kind == ITG_KIND_AUTO_PAD &&
           *(const itg_auto_pad *)value == ITG_PAD_EXPLICIT;
}

static void print_numbers(const itg_attr *attr, const int64_t *numbers, int32_t count,
                          itg_strbuf *out)
{
    bool is_list = attr->field->kind != ITG_KIND_INT && attr->field->kind != ITG_KIND_AXIS;
    if (is_list) itg_strbuf_add(out, "[");
    for (int32_t i = 0; i < count; ++i)
        itg_strbuf_format(out, "%s%lld", i ? "," : "", (long long)numbers[i]);
    if (is_list) itg_strbuf_add(out, "]");
}

static void print_attr(const itg_attr *attr, const itg_attrs *attrs, int32_t rank, itg_strbuf *out)
{
    const void *value = itg_attr_value(attr, attrs);
    itg_strbuf_format(out, "%s=", attr->field->name);
    switch (attr->field->kind) {
    case ITG_KIND_BOOL:
        itg_strbuf_add(out, *(const bool *)value ? "1" : "0");
        break;
    case ITG_KIND_FLOAT:
    case ITG_KIND_BOUND:
    case ITG_KIND_FLOATS:
        for (size_t i = 0; i < attr->field->size / sizeof(float); ++i) {
            if (i) itg_strbuf_add(out, ",");
            print_float(((const float *)value)[i], out);
        }
        break;
    case ITG_KIND_DTYPE:
    case ITG_KIND_NAME:
    case ITG_KIND_AUTO_PAD:
        itg_strbuf_add(out, itg_attr_word(attr, attrs));
        break;
    default:
        print_numbers(attr, value, itg_attr_count(attr, attrs, rank), out);
    }
}

static void print_node(const itg_graph *g, itg_id id, itg_strbuf *out)
{
    const itg_node *n = &g->nodes[id];
    int32_t count;
    const itg_attr *attr = itg_op_attrs(n->op, &count);
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
    for (int32_t i = 0; i < count; ++i) {
        if (!attr[i].in_graph || is_plain(&attr[i], &n->attrs)) continue;
        itg_strbuf_add(out, any ? " " : " {");
        print_attr(&attr[i], &n->attrs, itg_input_rank(g, id), out);
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
