/* Writes the section of a report that shows the RAM of a device over time. */
#include "cli/report.h"
#include <stdio.h>

enum { WORDS = 320, MOST_PLACES = 2000 }; /* more are not drawn */

static const char *place_words(const itg_memory_place *p)
{
    return p->scratch ? "scratch" : "value";
}

static void put_places(itg_page *page, const itg_memory_plan *plan)
{
    const int32_t steps = itg_memory_plan_steps(plan);
    itg_axis x = {.title = "step", .lo = -0.5, .hi = steps - 0.5, .scale = 1}, y;
    char title[96], text[WORDS], number[32];
    itg_plot plot;
    y = itg_report_axis("address", ITG_UNIT_BYTES, (double)itg_memory_plan_bytes(plan), title);
    y.lo = 0;
    y.hi = 1.04 * (double)itg_memory_plan_bytes(plan);
    itg_plot_begin(&plot, page, "Plot: what lies where in RAM at each step", x, y);
    for (int32_t i = 0; i < itg_memory_plan_count(plan); i++) {
        const itg_memory_place *p = itg_memory_plan_at(plan, i);
        snprintf(text, sizeof text, "%s %.200s: %s bytes from %lld on, steps %d to %d",
                 place_words(p), p->name, itg_cli_count_text((long long)p->bytes, number),
                 (long long)p->offset, (int)p->first, (int)p->last);
        itg_plot_box(&plot, p->first - 0.5, p->last + 0.5, (double)p->offset,
                     (double)(p->offset + p->bytes), p->scratch, text);
    }
    itg_plot_end(&plot);
}

static void put_table(itg_page *page, const itg_memory_plan *plan)
{
    char text[32];
    itg_cli_table table;
    itg_cli_table_init(&table, "llllrr");
    itg_cli_table_texts(&table, "what", "name", "from step", "to step", "offset", "bytes", NULL);
    for (int32_t i = 0; i < itg_memory_plan_count(plan); i++) {
        const itg_memory_place *p = itg_memory_plan_at(plan, i);
        itg_cli_table_texts(&table, place_words(p), p->name, NULL);
        itg_cli_table_cell(&table, "%d, %s", (int)p->first, itg_memory_plan_step(plan, p->first));
        itg_cli_table_cell(&table, "%d, %s", (int)p->last, itg_memory_plan_step(plan, p->last));
        itg_cli_table_cell(&table, "%s", itg_cli_count_text((long long)p->offset, text));
        itg_cli_table_cell(&table, "%s", itg_cli_count_text((long long)p->bytes, text));
    }
    itg_report_table(page, &table, "What lies where in RAM", true);
}

void itg_report_memory(itg_page *page, const itg_memory_plan *plan)
{
    char words[WORDS], number[32];
    if (itg_memory_plan_count(plan) == 0) return;
    snprintf(
        words, sizeof words,
        "%s bytes for what is computed between input and output: each box is a value, from the "
        "step that writes it to the last that reads it, or (dashed) the scratch of one step. A "
        "result "
        "may lie over an operand that its step reads for the last time.",
        itg_cli_count_text((long long)itg_memory_plan_bytes(plan), number));
    itg_page_section(page, "memory", "RAM over time", words);
    if (itg_memory_plan_count(plan) <= MOST_PLACES) put_places(page, plan);
    itg_page_details(page, "All values");
    put_table(page, plan);
    itg_page_details_end(page);
    itg_page_section_end(page);
}

void itg_report_memory_json(itg_json_writer *json, const itg_memory_plan *plan)
{
    itg_json_begin(json, "memory", '{');
    itg_json_put_int(json, "bytes", itg_memory_plan_bytes(plan));
    itg_json_begin(json, "steps", '[');
    for (int32_t i = 0; i < itg_memory_plan_steps(plan); i++)
        itg_json_put_text(json, NULL, itg_memory_plan_step(plan, i));
    itg_json_end(json, ']');
    itg_json_begin(json, "places", '[');
    for (int32_t i = 0; i < itg_memory_plan_count(plan); i++) {
        const itg_memory_place *p = itg_memory_plan_at(plan, i);
        itg_json_begin(json, NULL, '{');
        itg_json_put_text(json, "name", p->name);
        itg_json_put_bool(json, "scratch", p->scratch);
        itg_json_put_int(json, "first", p->first);
        itg_json_put_int(json, "last", p->last);
        itg_json_put_int(json, "offset", p->offset);
        itg_json_put_int(json, "bytes", p->bytes);
        itg_json_end(json, '}');
    }
    itg_json_end(json, ']');
    itg_json_end(json, '}');
}
