/* Lookup tables: entries for every code of the input, or for multiples of 2^table_shift around
 * them. Each entry is one of the output's codes; interpolated results lie between two entries. */
#include "realize/verify/certificate.h"
#include <string.h>

static bool table_of(itg_view *v, int32_t k, const itg_view_codes *x, itg_span *out, int64_t *count)
{
    const itg_view_value *value = itg_view_input(v, k + 1);
    itg_view_codes y;
    bool codes = itg_view_output_codes(v, k, &y);
    int64_t entries = x->qmax - x->qmin + 1, shift = itg_view_int(v, "", "table_shift");
    if (codes && (shift < 0 || shift > 14)) {
        itg_view_problem(v, "a table_shift of %lld, expected 0 to 14", (long long)shift);
        return false;
    }
    if (codes && shift > 0) entries = (x->qmax >> shift) - (x->qmin >> shift) + 2;
    if (value == NULL || value->constant == NULL || value->shape.rank != 1 ||
        value->shape.dims[0] != entries || value->constant->dtype != (codes ? ITG_S32 : ITG_F32)) {
        itg_view_problem(v, "table %d does not have %lld entries of the right type", (int)k,
                         (long long)entries);
        return false;
    }
    *count = entries;
    if (!codes) return false;
    for (int64_t i = 0; i < entries; i++) {
        int64_t code = itg_load(value->constant->dtype, value->constant->data, i);
        itg_span entry = itg_span_of(code, code);
        *out = i == 0 ? entry : itg_span_hull(*out, entry);
        if (code < y.qmin || code > y.qmax)
            itg_view_problem(v, "table %d: entry %lld is %lld, outside of [%lld,%lld]", (int)k,
                             (long long)i, (long long)code, (long long)y.qmin, (long long)y.qmax);
    }
    return true;
}

static void add_node(itg_certificate *c, int32_t *count)
{
    itg_view *v = &c->view;
    const itg_onnx_node *node = itg_view_node(v);
    itg_view_codes x;
    if (strncmp(node->op_type, "Lut", 3) != 0) return;
    if (!itg_view_input_codes(v, 0, &x)) {
        itg_view_problem(v, "input 0 has no codes");
        return;
    }
    for (int32_t k = 0; k < node->output_count; k++) {
        itg_span range;
        int64_t entries;
        if (!table_of(v, k, &x, &range, &entries)) continue;
        itg_strbuf_add(&c->text, (*count)++ > 0 ? ",\n {\"node\": " : "\n {\"node\": ");
        itg_strbuf_json_string(&c->text, node->name);
        itg_strbuf_format(&c->text, ", \"output\": %d, \"entries\": %lld, \"codes\": ", (int)k,
                          (long long)entries);
        itg_certificate_span(&c->text, range);
        itg_strbuf_add(&c->text, "}");
    }
}

void itg_certificate_tables(itg_certificate *c)
{
    int32_t count = 0;
    itg_strbuf_add(&c->text, "\"tables\": [");
    for (c->view.node = 0; c->view.node < c->file->node_count; c->view.node++)
        add_node(c, &count);
    c->view.node = -1;
    itg_strbuf_add(&c->text, "\n],\n");
}
