/* A program as stable text: one line a value of the ends, one a step. */
#include "realize/fields.h"

static void print_value(const itg_pvalue *v, itg_strbuf *out)
{
    char shape[128];
    itg_strbuf_format(out, "%s : %s%s", v->name, itg_dtype_name(v->dtype),
                      itg_shape_text(&v->shape, shape, sizeof shape));
}

static void print_operands(const itg_program *p, const int32_t *values, int32_t count,
                           itg_strbuf *out)
{
    for (int32_t i = 0; i < count; i++)
        itg_strbuf_format(out, "%s%s", i > 0 ? ", " : "",
                          values[i] == ITG_NONE ? "-" : p->values[values[i]].name);
}

static void print_step(itg_program *p, itg_step *s, itg_strbuf *out)
{
    char type[48];
    itg_fields f = {.mode = ITG_FIELDS_PRINT, .text = out};
    print_operands(p, s->outputs, s->output_count, out);
    itg_strbuf_format(out, " = %s(", itg_step_type(s, type, sizeof type));
    print_operands(p, s->inputs, s->input_count, out);
    itg_strbuf_add(out, ")");
    itg_visit_step(&f, p, s);
    itg_strbuf_add(out, "\n");
}

void itg_program_print(const itg_program *p, itg_strbuf *out)
{
    itg_program view =
        *p; /* visiting takes a program that may be changed; printing changes nothing */
    itg_strbuf_format(out, "program %s: %d nodes\n", p->name, (int)p->step_count);
    for (int32_t i = 0; i < p->input_count; i++) {
        itg_strbuf_add(out, "input ");
        print_value(&p->values[p->inputs[i]], out);
        itg_strbuf_add(out, "\n");
    }
    for (int32_t i = 0; i < p->step_count; i++)
        print_step(&view, &p->steps[i], out);
    for (int32_t i = 0; i < p->output_count; i++) {
        itg_strbuf_add(out, "output ");
        print_value(&p->values[p->outputs[i]], out);
        itg_strbuf_add(out, "\n");
    }
}
