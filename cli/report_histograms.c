/* Writes the section of a report that shows where the values of each edge lie. */
#include "cli/report.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORDS = 400, MOST_DRAWN = 120 };

/* Returns the share of the values that lie beyond the codes. */
static double beyond(const itg_edge_histogram *h)
{
    int64_t all = 0, outside = 0;
    for (int32_t i = 0; i < h->count; i++) {
        const bool is_outside = i < ITG_EDGE_MARGIN || i >= h->count - ITG_EDGE_MARGIN;
        all += h->floats[i];
        outside += is_outside ? h->floats[i] : 0;
    }
    return all > 0 ? (double)outside / (double)all : 0;
}

static void put_edge(itg_page *page, const itg_edge_report *e, const itg_edge_histogram *h)
{
    char words[WORDS], name[WORDS];
    snprintf(name, sizeof name, "%.120s -> %.120s", e->value, e->node ? e->node : "(output)");
    snprintf(words, sizeof words, "%.250s: %d bits, %.3f %% beyond the codes", name, (int)e->bits,
             100 * beyond(h));
    if (isfinite(e->sqnr_db)) itg_cli_append(words, sizeof words, ", SQNR %.1f dB", e->sqnr_db);
    itg_plot_histograms(page, name, words, h->floats, h->codes, h->count);
}

/* As CSV alone, all bins of all edges. */
static void put_table(itg_page *page, const itg_inspection *inspection)
{
    itg_cli_table table;
    itg_cli_table_init(&table, "llrrrr");
    itg_cli_table_texts(&table, "value", "node", "from code", "to code", "float", "simulated",
                        NULL);
    for (int32_t i = 0; i < itg_inspection_count(inspection); i++) {
        const itg_edge_report *e = itg_inspection_edge(inspection, i);
        const itg_edge_histogram *h = itg_inspection_histogram(inspection, i);
        for (int32_t b = 0; b < h->count; b++) {
            const long long from = h->first + b * h->width;
            itg_cli_table_texts(&table, e->value, e->node ? e->node : "", NULL);
            itg_cli_table_cell(&table, "%lld", from);
            itg_cli_table_cell(&table, "%lld", from + (long long)h->width - 1);
            itg_cli_table_cell(&table, "%lld", (long long)h->floats[b]);
            itg_cli_table_cell(&table, "%lld", (long long)h->codes[b]);
        }
    }
    itg_report_table(page, &table, "Histograms", true);
}

void itg_report_histograms(itg_page *page, const itg_inspection *inspection)
{
    int32_t drawn = 0, left = 0;
    char words[WORDS];
    itg_page_section(page, "histograms", "Where the values lie",
                     "Of each edge, what loses most first: the float network's values (area) and "
                     "the codes (line), from the lowest code to the highest with some room on "
                     "either side, whose ends hold all beyond. Heights are logarithms.");
    itg_page_markup(page, "<div class=\"smalls\">\n");
    for (int32_t i = 0; i < itg_inspection_count(inspection); i++) {
        const itg_edge_histogram *h = itg_inspection_histogram(inspection, i);
        if (h->count == 0) continue;
        if (drawn < MOST_DRAWN) put_edge(page, itg_inspection_edge(inspection, i), h);
        *(drawn < MOST_DRAWN ? &drawn : &left) += 1;
    }
    itg_page_markup(page, "</div>\n");
    snprintf(words, sizeof words, "%d more edge%s not drawn.", (int)left,
             left == 1 ? " is" : "s are");
    if (left > 0) itg_page_paragraph(page, words);
    if (page->form == ITG_PAGE_CSV) put_table(page, inspection);
    itg_page_section_end(page);
}

static void json_counts(itg_json_writer *json, const char *key, const int64_t *counts,
                        int32_t count)
{
    itg_json_begin(json, key, '[');
    for (int32_t i = 0; i < count; i++)
        itg_json_put_int(json, NULL, counts[i]);
    itg_json_end(json, ']');
}

void itg_report_histograms_json(itg_json_writer *json, const itg_inspection *inspection)
{
    itg_json_begin(json, "histograms", '[');
    for (int32_t i = 0; i < itg_inspection_count(inspection); i++) {
        const itg_edge_histogram *h = itg_inspection_histogram(inspection, i);
        if (h->count == 0) continue;
        itg_json_begin(json, NULL, '{');
        itg_json_put_int(json, "edge", itg_inspection_edge(inspection, i)->index);
        itg_json_put_int(json, "first", h->first);
        itg_json_put_int(json, "width", h->width);
        json_counts(json, "float", h->floats, h->count);
        json_counts(json, "codes", h->codes, h->count);
        itg_json_end(json, '}');
    }
    itg_json_end(json, ']');
}
