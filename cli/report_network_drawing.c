/* The drawing of a network: inputs, layers with what they are made of, outputs. */
#include "cli/report_network.h"
#include "report/graph.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 };

/* Nodes in this order: inputs of the network, layers, outputs. */
typedef struct drawing {
    const network_report *n;
    itg_drawn_node *nodes;
    itg_drawn_edge *edges;
    int32_t *place; /* of each layer: its node; of a fused layer that of the one before it */
    int32_t node_count, edge_count;
    char **texts; /* all that are owned */
    size_t text_count;
    bool failed;
} drawing;

static const char *keep(drawing *d, const char *text)
{
    char *copy = strdup(text);
    d->failed |= !copy;
    if (copy) d->texts[d->text_count++] = copy;
    return copy ? copy : "";
}

static void add_node(drawing *d, const char *title, const char *name, const char *figures,
                     const char *words)
{
    d->nodes[d->node_count++] = (itg_drawn_node){title, name, figures, keep(d, words)};
}

static int32_t find_layer(const network_report *n, const char *name)
{
    for (int32_t i = 0; name && i < n->info->layer_count; i++)
        if (strcmp(network_report_layer(n, i)->node, name) == 0) return i;
    return -1;
}

/* Returns the layer's weights; NULL if none are quantized. */
static const itg_summary_edge *weights_of(const network_report *n, const char *node)
{
    const itg_summary_edge *most = NULL;
    for (int32_t i = 0; i < n->info->edge_count; i++) {
        const itg_summary_edge *e = network_report_edge(n, i);
        if (e->node && e->bits > 0 && e->elements > 0 && strcmp(e->node, node) == 0 &&
            (!most || e->elements > most->elements))
            most = e;
    }
    return most;
}

static void add_layer(drawing *d, const itg_summary_layer *l)
{
    const itg_summary_edge *w = weights_of(d->n, l->node);
    char figures[LINE] = "", words[NETWORK_REPORT_WORDS], count[32];
    if (w)
        snprintf(figures, sizeof figures, "%d bits, %s bytes", (int)w->bits,
                 itg_cli_count_text((long long)l->weight_bytes, count));
    else if (l->macs > 0)
        snprintf(figures, sizeof figures, "%s MACs", itg_cli_count_text((long long)l->macs, count));
    snprintf(words, sizeof words, "%.150s: %s, %s", l->node, l->op, l->form);
    if (l->accumulator_bits > 0)
        itg_cli_append(words, sizeof words, ", accumulator of %d bits", (int)l->accumulator_bits);
    itg_cli_append(words, sizeof words, "; %s MACs, ",
                   itg_cli_count_text((long long)l->macs, count));
    itg_cli_append(words, sizeof words, "%s weight bytes, ",
                   itg_cli_count_text((long long)l->weight_bytes, count));
    itg_cli_append(words, sizeof words, "%s cycles", itg_cli_amount(l->cycles, count));
    add_node(d, l->op, l->node, *figures ? keep(d, figures) : NULL, words);
}

/* Adds an input once, however many layers read it. */
static void add_input(drawing *d, const itg_summary_edge *e)
{
    for (int32_t i = 0; i < d->node_count; i++)
        if (strcmp(d->nodes[i].name, e->value) == 0) return;
    add_node(d, "input", e->value, NULL, e->value);
}

static bool is_input(const itg_summary_edge *e)
{
    return !e->producer && e->elements == 0;
}

/* Returns the layer whose codes a fused layer reads: the producer of its first computed operand. */
static int32_t layer_before(const network_report *n, const char *node)
{
    for (int32_t i = 0; i < n->info->edge_count; i++)
        if (network_report_edge(n, i)->producer && network_report_edge(n, i)->node &&
            strcmp(network_report_edge(n, i)->node, node) == 0)
            return find_layer(n, network_report_edge(n, i)->producer);
    return -1;
}

static void add_layers(drawing *d)
{
    const network_report *n = d->n;
    for (int32_t i = 0; i < n->info->layer_count; i++) {
        const bool fused = strcmp(network_report_layer(n, i)->form, "fused") == 0;
        const int32_t before = fused ? layer_before(n, network_report_layer(n, i)->node) : -1;
        d->place[i] = before >= 0 && before < i ? d->place[before] : d->node_count;
        if (d->place[i] == d->node_count) add_layer(d, network_report_layer(n, i));
    }
}

static int32_t find_input(const drawing *d, const char *value)
{
    for (int32_t i = 0; i < d->node_count && strcmp(d->nodes[i].title, "input") == 0; i++)
        if (strcmp(d->nodes[i].name, value) == 0) return i;
    return -1;
}

static const char *edge_words(const network_report *n, int32_t i, char out[NETWORK_REPORT_WORDS])
{
    const itg_summary_edge *e = network_report_edge(n, i);
    const itg_edge_report *r = n->reports[i];
    snprintf(out, NETWORK_REPORT_WORDS, "%.120s -> %.120s: ", e->value,
             e->node ? e->node : "output");
    itg_cli_append(out, NETWORK_REPORT_WORDS, e->bits > 0 ? "%d bits%s%s" : "not quantized",
                   (int)e->bits, e->sign ? " " : "", e->sign ? e->sign : "");
    if (r && isfinite(r->sqnr_db))
        itg_cli_append(out, NETWORK_REPORT_WORDS, ", SQNR %.1f dB", r->sqnr_db);
    return out;
}

static void add_edge(drawing *d, int32_t i, int32_t from, int32_t to)
{
    const itg_summary_edge *e = network_report_edge(d->n, i);
    const itg_edge_report *r = d->n->reports[i];
    char label[LINE] = "", words[NETWORK_REPORT_WORDS];
    if (e->bits > 0) snprintf(label, sizeof label, "%d bits", (int)e->bits);
    if (e->bits > 0 && r && isfinite(r->sqnr_db))
        itg_cli_append(label, sizeof label, ", %.1f dB", r->sqnr_db);
    d->edges[d->edge_count++] =
        (itg_drawn_edge){from, to, *label ? keep(d, label) : NULL,
                         keep(d, edge_words(d->n, i, words)), r && r == d->n->worst};
}

static void add_edges(drawing *d)
{
    const network_report *n = d->n;
    for (int32_t i = 0; i < n->info->edge_count; i++) {
        const itg_summary_edge *e = network_report_edge(n, i);
        const int32_t from = find_layer(n, e->producer), to = find_layer(n, e->node);
        if (e->elements > 0 || (e->node && to < 0)) continue;
        const int32_t begin = from >= 0 ? d->place[from] : find_input(d, e->value);
        if (!e->node) add_node(d, "output", e->value, NULL, e->value);
        const int32_t end = e->node ? d->place[to] : d->node_count - 1;
        if (begin >= 0 && begin != end) add_edge(d, i, begin, end);
    }
}

static bool allocate(drawing *d)
{
    const size_t most = (size_t)d->n->info->edge_count + (size_t)d->n->info->layer_count + 1;
    d->nodes = calloc(2 * most, sizeof *d->nodes);
    d->edges = calloc(most, sizeof *d->edges);
    d->place = calloc(most, sizeof *d->place);
    d->texts = calloc(5 * most, sizeof *d->texts);
    return d->nodes && d->edges && d->place && d->texts;
}

static void release(drawing *d)
{
    for (size_t i = 0; i < d->text_count; i++)
        free(d->texts[i]);
    free(d->texts);
    free(d->place);
    free(d->edges);
    free(d->nodes);
}

/* Draws the network. Returns false if it is too large. */
static bool draw(const network_report *n)
{
    drawing d = {.n = n};
    bool drawn = n->info->layer_count <= NETWORK_REPORT_LAYERS;
    if (!drawn) return false;
    d.failed = !allocate(&d);
    if (!d.failed) {
        for (int32_t i = 0; i < n->info->edge_count; i++)
            if (is_input(network_report_edge(n, i))) add_input(&d, network_report_edge(n, i));
        add_layers(&d);
        add_edges(&d);
        drawn =
            itg_graph_draw(n->page, &(itg_drawing){"Drawing of the network: the tables below "
                                                   "have the same figures",
                                                   d.nodes, d.edges, d.node_count, d.edge_count});
    }
    n->page->text.failed |= d.failed;
    release(&d);
    return drawn;
}

void network_report_drawing(const network_report *n)
{
    itg_page_section(n->page, "network", "The network",
                     n->inspected.inspection
                         ? "Bits and SQNR of what flows, bits and bytes of weights. The edge that "
                           "loses most is marked. Fused nodes are part of the one before them."
                         : "Bits of what flows, bits and bytes of weights. Fused nodes are part of "
                           "the one before them.");
    if (!draw(n)) itg_page_paragraph(n->page, "It is too large to be drawn.");
    itg_page_section_end(n->page);
}
