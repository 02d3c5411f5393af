/* Codes of constants. Only the annotated graph determines them. */
#include "sim/annotate.h"
#include "base/packed.h"
#include <inttypes.h>
#include <stdlib.h>

itg_status itg_constants_create(const itg_graph *g, itg_cache *cache, itg_constants *out,
                                itg_error *err)
{
    itg_key *content = calloc((size_t)g->value_count + 1, sizeof *content);
    if (!content) return itg_fail(err, ITG_NO_MEMORY, "no memory to name the constants");
    for (itg_id v = 0; v < g->value_count; v++) {
        if (!itg_graph_is_constant(g, v)) continue;
        itg_tensor t = itg_graph_tensor(g, v);
        content[v] = itg_content_key(t.data, itg_tensor_bytes(&t));
    }
    *out = (itg_constants){cache, content};
    return ITG_OK;
}

void itg_constants_deinit(itg_constants *constants)
{
    free((void *)(uintptr_t)constants->content);
}

const itg_constant *annotate_take_codes(annotate *x, itg_id value,
                                        const itg_constant_source *source)
{
    const itg_key *content = x->a->content ? &x->a->content[value] : NULL;
    const itg_constant *codes = itg_constant_take(x->a->cache, content, source);
    if (!codes)
        itg_fail(x->err, ITG_NO_MEMORY, "no memory for the codes of '%s'",
                 x->g->values[value].name);
    return codes;
}

itg_status annotate_constants(annotate *x)
{
    for (itg_id v = 0; v < x->g->value_count; v++)
        for (int32_t i = 0; i < x->a->values[v].encoding_count; i++) {
            itg_encoding *encoding = &x->a->values[v].encodings[i];
            const itg_value *value = &x->g->values[v];
            if (encoding->is_float || !value->data) continue;
            const itg_constant_source nearest = {
                .data = value->data, .shape = value->shape, .q = &encoding->q};
            encoding->constant = annotate_take_codes(x, v, &nearest);
            if (!encoding->constant) return ITG_NO_MEMORY;
        }
    return ITG_OK;
}

static itg_status fail_codes(annotate *x, itg_id node, const char *text)
{
    return annotate_fail(x, node, ITG_MISMATCH, text ? text : "the strategy's codes do not fit");
}

itg_status annotate_check_codes(annotate *x, itg_id node, const itg_edge_choice *choice,
                                const itg_constant_source *source)
{
    const itg_quantizer *q = source->q;
    int64_t elements = 0;
    if (!itg_shape_elements(&source->shape, &elements) || elements != choice->code_count)
        return fail_codes(x, node,
                          itg_arena_format(x->a->arena,
                                           "strategy: %" PRId64 " codes of its weights, expected "
                                           "%" PRId64,
                                           choice->code_count, elements));
    for (int64_t i = 0; i < elements && !source->least; i++) {
        int64_t code = itg_packed_get(choice->codes, q->bits, q->is_signed, i);
        if (code < q->qmin || code > q->qmax)
            return fail_codes(x, node,
                              itg_arena_format(x->a->arena,
                                               "strategy: code %" PRId64
                                               " of its weights is %" PRId64 ", expected %" PRId64
                                               " to %" PRId64,
                                               i, code, q->qmin, q->qmax));
    }
    return ITG_OK;
}
