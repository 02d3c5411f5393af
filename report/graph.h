/* A network drawn from top to bottom: nodes in rows, each below all that it reads; edges that pass
 * rows keep a place in them (Sugiyama, Tagawa, Toda 1981, Methods for Visual Understanding of
 * Hierarchical System Structures; rows are ordered by the mean of their neighbours' places). */
#ifndef ITG_REPORT_GRAPH_H
#define ITG_REPORT_GRAPH_H
#include "report/page.h"

typedef struct itg_drawn_node {
    const char *title, *name, *figures; /* three lines; figures may be NULL */
    const char *words;                  /* what a pointer over it shows */
} itg_drawn_node;
typedef struct itg_drawn_edge {
    int32_t from, to;  /* nodes; from < to */
    const char *label; /* NULL: none */
    const char *words;
    bool accent;
} itg_drawn_edge;
typedef struct itg_drawing {
    const char *label; /* what it shows, for screen readers */
    const itg_drawn_node *nodes;
    const itg_drawn_edge *edges;
    int32_t node_count, edge_count;
} itg_drawing;

/* False: it is too large to be looked at, and nothing was written. */
bool itg_graph_draw(itg_page *page, const itg_drawing *drawing);
#endif
