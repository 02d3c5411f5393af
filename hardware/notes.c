/* Lists the parts of a description that have no effect. They are not errors: a pattern may be meant
 * for another network. */
#include "keys.h"

static bool has_weights(const itg_graph *g, itg_id node)
{
    for (int32_t i = 0; i < g->nodes[node].input_count; i++)
        if (g->nodes[node].inputs[i] != ITG_NONE &&
            itg_hardware_slot_role(g, node, i) == ITG_SLOT_WEIGHT)
            return true;
    return false;
}

static void note_overrides(const itg_hardware *hw, const itg_graph *g, itg_strbuf *out)
{
    for (int32_t i = 0; i < hw->override_count; i++) {
        const itg_hw_override *o = &hw->overrides[i];
        int32_t nodes = 0, weights = 0;
        for (itg_id n = 0; n < g->node_count; n++) {
            if (!itg_hw_glob(o->pattern, g->nodes[n].name)) continue;
            nodes++;
            weights += has_weights(g, n);
        }
        if (nodes == 0)
            itg_strbuf_format(out, "overrides[%d].node: no node of %s is named '%s'\n", (int)i,
                              g->name, o->pattern);
        else if (weights == 0 && o->weight_bits_max != 0)
            itg_strbuf_format(
                out, "overrides[%d].weight_bits: no node of %s that '%s' names has weights\n",
                (int)i, g->name, o->pattern);
    }
}

/* Notes that a saturating accumulator never saturates, because sums are split until they fit. */
static void note_split(const itg_hardware *hw, itg_strbuf *out)
{
    for (int op = 0; op < ITG_OP_COUNT; op++)
        for (int32_t i = 0; i < hw->ops[op].spec_count; i++) {
            const itg_hw_spec *spec = &hw->ops[op].specs[i];
            if (spec->split.allowed && spec->weight_mask != 0 &&
                spec->acc.overflow == ITG_OVERFLOW_SATURATE)
                itg_strbuf_format(
                    out,
                    "operators.%s[%d].accumulator.overflow: \"saturate\" does nothing "
                    "beside 'split': true, with which no sum overflows\n",
                    itg_op_name((itg_op)op), (int)i);
        }
}

static uint32_t graph_mask(uint32_t stated)
{
    return stated ? stated : UINT32_MAX;
}

static void note_dtypes(const itg_hardware *hw, itg_strbuf *out)
{
    uint32_t read = 0, read_or_float = 0, weights = hw->float_weight_mask, results = 0;
    uint32_t written = graph_mask(hw->graph_input_mask);
    for (int op = 0; op < ITG_OP_COUNT; op++)
        for (int32_t i = 0; i < hw->ops[op].spec_count; i++) {
            const itg_hw_spec *spec = &hw->ops[op].specs[i];
            read |= spec->input_mask;
            weights |= spec->weight_mask;
            /* KEEP writes codes of its input, so it adds no dtype */
            if (spec->form != ITG_FORM_KEEP) results |= spec->output_mask;
        }
    written |= results;
    if (hw->float_allowed) read_or_float = written = UINT32_MAX;
    for (int32_t i = 0; i < hw->dtype_count; i++) {
        const uint32_t bit = 1u << i;
        const char *name = hw->dtypes[i].name;
        if (!((read | weights | results) & bit))
            itg_strbuf_format(out, "dtypes.%s: no operator reads or writes it\n", name);
        else if ((read & bit) && !(written & bit))
            itg_strbuf_format(
                out,
                "dtypes.%s: operators read it, but none writes it, and 'model_inputs' "
                "leaves it out\n",
                name);
        else if (!((read_or_float | read | weights | graph_mask(hw->graph_output_mask)) & bit))
            itg_strbuf_format(out,
                              "dtypes.%s: operators write it, but none reads it, and "
                              "'model_outputs' leaves it out\n",
                              name);
    }
}

void itg_hardware_notes(const itg_hardware *hw, const itg_graph *g, itg_strbuf *out)
{
    if (g) note_overrides(hw, g, out);
    note_split(hw, out);
    note_dtypes(hw, out);
}
