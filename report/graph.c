#include "report/graph.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 400, MOST_CELLS = 4000, SWEEPS = 8, LONGEST_LINE = 24 };
/* In pixels. */
enum { BOX_WIDTH = 156, BOX_HEIGHT = 50, NODE_ROOM = 190, PASS_ROOM = 84, ROW = 100, MARGIN = 12 };

/* A place in a row: a node, or an edge that passes. */
typedef struct cell {
    int32_t row, node; /* node -1: it passes */
    double x, wanted;
} cell;
/* Joins cells of neighbouring rows. */
typedef struct segment {
    int32_t upper, lower, edge;
    bool is_first;
} segment;

typedef struct layout {
    const itg_drawing *drawing;
    cell *cells;
    segment *segments;
    int32_t *order; /* cells row by row, from left to right */
    int32_t cell_count, segment_count, capacity, rows;
    double width;
} layout;

static bool is_drawn(const itg_drawing *d, const itg_drawn_edge *e)
{
    return e->from >= 0 && e->from < e->to && e->to < d->node_count;
}

/* ---- rows ---- */

static void find_rows(layout *l)
{
    const itg_drawing *d = l->drawing;
    for (int32_t n = 0; n < d->node_count; n++) {
        cell *c = &l->cells[n];
        *c = (cell){.node = n};
        for (int32_t e = 0; e < d->edge_count; e++)
            if (d->edges[e].to == n && is_drawn(d, &d->edges[e]) &&
                l->cells[d->edges[e].from].row >= c->row)
                c->row = l->cells[d->edges[e].from].row + 1;
        if (c->row >= l->rows) l->rows = c->row + 1;
    }
    l->cell_count = d->node_count;
}

/* Adds the cells and segments of one edge. False: there are too many. */
static bool add_edge(layout *l, int32_t index)
{
    const itg_drawn_edge *e = &l->drawing->edges[index];
    int32_t upper = e->from;
    for (int32_t row = l->cells[e->from].row + 1; row <= l->cells[e->to].row; row++) {
        const bool ends = row == l->cells[e->to].row;
        if (l->cell_count == l->capacity || l->segment_count == l->capacity) return false;
        const int32_t lower = ends ? e->to : l->cell_count++;
        if (!ends) l->cells[lower] = (cell){.row = row, .node = -1};
        l->segments[l->segment_count++] = (segment){upper, lower, index, upper == e->from};
        upper = lower;
    }
    return true;
}

static bool add_edges(layout *l)
{
    for (int32_t e = 0; e < l->drawing->edge_count; e++)
        if (is_drawn(l->drawing, &l->drawing->edges[e]) && !add_edge(l, e)) return false;
    return true;
}

/* ---- places in rows ---- */

static double room_of(const cell *c)
{
    return c->node >= 0 ? NODE_ROOM : PASS_ROOM;
}

/* Sorts the cells by row, and within a row by their wanted place; ties keep their order. */
static void sort_cells(layout *l)
{
    for (int32_t i = 1; i < l->cell_count; i++) {
        const int32_t moved = l->order[i];
        const cell *c = &l->cells[moved];
        int32_t to = i;
        for (; to > 0; to--) {
            const cell *before = &l->cells[l->order[to - 1]];
            if (before->row < c->row || (before->row == c->row && before->wanted <= c->wanted))
                break;
            l->order[to] = l->order[to - 1];
        }
        l->order[to] = moved;
    }
}

/* Places the cells; rows are centred. */
static void place_cells(layout *l)
{
    for (int32_t begin = 0, end; begin < l->cell_count; begin = end) {
        double width = 0, x;
        for (end = begin;
             end < l->cell_count && l->cells[l->order[end]].row == l->cells[l->order[begin]].row;
             end++)
            width += room_of(&l->cells[l->order[end]]);
        x = -width / 2;
        for (int32_t i = begin; i < end; i++) {
            cell *c = &l->cells[l->order[i]];
            c->x = x + room_of(c) / 2;
            x += room_of(c);
        }
        if (width > l->width) l->width = width;
    }
}

/* Sets each cell's wanted place to the mean of the cells that it is joined with above, or below. */
static void want_means(layout *l, bool above)
{
    for (int32_t i = 0; i < l->cell_count; i++) {
        double sum = 0;
        int32_t count = 0;
        for (int32_t s = 0; s < l->segment_count; s++) {
            const segment *at = &l->segments[s];
            if ((above ? at->lower : at->upper) != i) continue;
            sum += l->cells[above ? at->upper : at->lower].x;
            count++;
        }
        l->cells[i].wanted = count > 0 ? sum / count : l->cells[i].x;
    }
}

static void find_places(layout *l)
{
    for (int32_t i = 0; i < l->cell_count; i++)
        l->order[i] = i;
    sort_cells(l);
    place_cells(l);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        want_means(l, sweep % 2 == 0);
        sort_cells(l);
        place_cells(l);
    }
}

/* ---- drawing ---- */

static double left_of(const layout *l, const cell *c)
{
    return c->x + l->width / 2 + MARGIN;
}

static double top_of(const cell *c)
{
    return (double)c->row * ROW + MARGIN;
}

static void put_title(itg_page *page, const char *words)
{
    itg_page_markup(page, "<title>");
    itg_page_text(page, words);
    itg_page_markup(page, "</title>");
}

static void put_line(itg_page *page, const char *class, double x, double y, const char *text)
{
    itg_page_markup(page, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
    itg_page_short_text(page, text, LONGEST_LINE);
    itg_page_markup(page, "</text>");
}

static void draw_node(const layout *l, itg_page *page, const cell *c)
{
    const itg_drawn_node *n = &l->drawing->nodes[c->node];
    const double x = left_of(l, c), y = top_of(c);
    itg_page_markup(page, "<g class=\"node\">");
    put_title(page, n->words);
    itg_page_markup(page, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"5\"/>",
                    x - BOX_WIDTH / 2.0, y, BOX_WIDTH, BOX_HEIGHT);
    put_line(page, "op", x, y + (n->figures ? 15 : 22), n->title);
    put_line(page, "mid", x, y + (n->figures ? 29 : 38), n->name);
    if (n->figures) put_line(page, "mid", x, y + 43, n->figures);
    itg_page_markup(page, "</g>\n");
}

static void draw_segment(const layout *l, itg_page *page, const segment *s)
{
    const itg_drawn_edge *e = &l->drawing->edges[s->edge];
    const cell *a = &l->cells[s->upper], *b = &l->cells[s->lower];
    const double x = left_of(l, a), y = top_of(a) + BOX_HEIGHT, to_x = left_of(l, b),
                 to_y = top_of(b), middle = (y + to_y) / 2;
    itg_page_markup(page, "<path class=\"%s\" d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f",
                    e->accent ? "edge accent" : "edge", x, y, x, middle, to_x, middle, to_x, to_y);
    if (b->node < 0) itg_page_markup(page, "v%d", BOX_HEIGHT);
    itg_page_markup(page, "\"><title>");
    itg_page_text(page, e->words);
    itg_page_markup(page, "</title></path>\n");
}

static void draw_label(const layout *l, itg_page *page, const segment *s)
{
    const itg_drawn_edge *e = &l->drawing->edges[s->edge];
    const cell *a = &l->cells[s->upper], *b = &l->cells[s->lower];
    if (!s->is_first || !e->label) return;
    /* nearer to the lower end, where edges of one value lie apart */
    put_line(page, e->accent ? "note mid accent" : "note mid",
             0.25 * left_of(l, a) + 0.75 * left_of(l, b),
             0.3 * (top_of(a) + BOX_HEIGHT) + 0.7 * top_of(b) + 2, e->label);
    itg_page_markup(page, "\n");
}

static void draw(const layout *l, itg_page *page)
{
    const int width = (int)l->width + 2 * MARGIN,
              height = l->rows * ROW - ROW + BOX_HEIGHT + 2 * MARGIN;
    itg_page_markup(page, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                          "aria-label=\"Drawing\">\n");
    itg_page_drawing(page, "network", l->drawing->label, width, height);
    for (int32_t s = 0; s < l->segment_count; s++)
        draw_segment(l, page, &l->segments[s]);
    for (int32_t i = 0; i < l->drawing->node_count; i++)
        draw_node(l, page, &l->cells[i]);
    for (int32_t s = 0; s < l->segment_count; s++)
        draw_label(l, page, &l->segments[s]);
    itg_page_drawing_end(page);
    itg_page_markup(page, "</div>\n");
}

bool itg_graph_draw(itg_page *page, const itg_drawing *drawing)
{
    layout l = {.drawing = drawing, .capacity = MOST_CELLS};
    bool fits = drawing->node_count > 0 && drawing->node_count <= MOST_NODES;
    if (!fits) return false;
    l.cells = calloc(MOST_CELLS, sizeof *l.cells);
    l.segments = calloc(MOST_CELLS, sizeof *l.segments);
    l.order = calloc(MOST_CELLS, sizeof *l.order);
    if (l.cells && l.segments && l.order) {
        find_rows(&l);
        fits = add_edges(&l);
        if (fits) find_places(&l);
        if (fits) draw(&l, page);
    } else {
        page->text.failed = true;
    }
    free(l.cells);
    free(l.segments);
    free(l.order);
    return fits;
}
