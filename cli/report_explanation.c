/* Writes the section of a report that says where the loss comes from. */
#include "cli/explanation.h"
#include "cli/report.h"
#include <string.h>

enum { SHOWN = 100 };

void itg_report_explanation(itg_page *page, const itg_explanation *e)
{
    itg_cli_table table;
    itg_strbuf words = {0};
    itg_page_section(page, "explanation", "Where the loss comes from",
                     "The loss is the distortion of the outputs against the float network. Each "
                     "effect was measured by taking it away while all else computes as in the "
                     "program; each change was evaluated.");
    itg_cli_explanation_words(e, &words);
    page->text.failed |= !itg_strbuf_ok(&words);
    if (itg_strbuf_ok(&words))
        for (char *rest, *line = strtok_r(words.text, "\n", &rest); line;
             line = strtok_r(NULL, "\n", &rest))
            itg_page_paragraph(page, line);
    itg_strbuf_deinit(&words);
    itg_cli_effects_table(&table, e, SHOWN, true);
    itg_report_table(page, &table, "Effects, the largest first", true);
    itg_page_section_end(page);
}
