/* Finds the encodings that share a quantizer (relax.h). */
#include "sim/relax.h"
#include <stdlib.h>
#include <string.h>

static int32_t root_of(int32_t *parent, int32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static void join(int32_t *parent, int32_t a, int32_t b)
{
    a = root_of(parent, a);
    b = root_of(parent, b);
    parent[a > b ? a : b] = a < b ? a : b;
}

/* Joins the encodings that the node reads with `other` (-1: none). Returns the last of them. */
static int32_t join_inputs(const itg_sites *s, const itg_annotated *a, itg_id n, int32_t other)
{
    for (int32_t e = a->edge_of_node[n]; e < a->edge_of_node[n + 1]; e++) {
        const itg_edge *edge = &a->edges[e];
        if (edge->kind != ITG_EDGE_QUANT) continue;
        int32_t own = s->first[edge->value] + edge->encoding;
        if (other >= 0) join(s->of, other, own);
        other = own;
    }
    return other;
}

static void join_outputs(const itg_sites *s, const itg_annotated *a, itg_id n, int32_t input)
{
    const itg_node *node = &a->graph->nodes[n];
    for (int32_t i = 0; i < node->output_count; i++) {
        itg_id v = node->outputs[i];
        for (int32_t k = 0; v != ITG_NONE && k < a->values[v].encoding_count; k++)
            if (!a->values[v].encodings[k].is_float) join(s->of, input, s->first[v] + k);
    }
}

static void join_tied(const itg_sites *s, const itg_annotated *a)
{
    for (itg_id n = 0; n < a->graph->node_count; n++) {
        itg_form form = a->nodes[n].form;
        if (form != ITG_FORM_KEEP && form != ITG_FORM_EQUAL) continue;
        int32_t input = join_inputs(s, a, n, -1);
        if (form == ITG_FORM_KEEP && input >= 0) join_outputs(s, a, n, input);
    }
}

/* Replaces roots by numbers, in the order of the encodings. */
static itg_status number_sites(itg_sites *s, const itg_annotated *a, itg_error *err)
{
    int32_t encodings = s->first[a->graph->value_count];
    int32_t *number = malloc(sizeof *number * ((size_t)encodings + 1));
    if (!number) return itg_fail(err, ITG_NO_MEMORY, "no memory for quantizers");
    for (itg_id v = 0; v < a->graph->value_count; v++)
        for (int32_t i = s->first[v]; i < s->first[v + 1]; i++) {
            int32_t root = root_of(s->of, i);
            bool is_float = a->values[v].encodings[i - s->first[v]].is_float;
            number[i] = is_float ? -1 : root == i ? s->count++ : number[root];
        }
    memcpy(s->of, number, sizeof *number * (size_t)encodings);
    free(number);
    return ITG_OK;
}

itg_status itg_sites_create(const itg_annotated *a, itg_sites *out, itg_error *err)
{
    itg_sites s = {0};
    int32_t encodings = 0;
    s.first = calloc((size_t)a->graph->value_count + 1, sizeof *s.first);
    for (itg_id v = 0; s.first && v < a->graph->value_count; v++)
        s.first[v + 1] = encodings += a->values[v].encoding_count;
    s.of = calloc((size_t)encodings + 1, sizeof *s.of);
    itg_status status =
        s.first && s.of ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for quantizers");
    for (int32_t i = 0; status == ITG_OK && i < encodings; i++)
        s.of[i] = i;
    if (status == ITG_OK) {
        join_tied(&s, a);
        status = number_sites(&s, a, err);
    }
    if (status != ITG_OK)
        itg_sites_deinit(&s);
    else
        *out = s;
    return status;
}

void itg_sites_deinit(itg_sites *sites)
{
    free(sites->first);
    free(sites->of);
    *sites = (itg_sites){0};
}

int32_t itg_site_of_edge(const itg_sites *sites, const itg_annotated *a, int32_t edge)
{
    const itg_edge *e = &a->edges[edge];
    return e->kind == ITG_EDGE_QUANT ? sites->of[sites->first[e->value] + e->encoding] : -1;
}
