/* The final choice of a search (itg_selection), as logs, reports and files have it. */
#ifndef ITG_SELECTION_H
#define ITG_SELECTION_H
#include <intaglio/intaglio.h>
#include "base/json_write.h"

itg_selection itg_selection_none(void); /* of no samples */
/* Of one with samples: its numbers can be true. */
bool itg_selection_fits(const itg_selection *selection);
/* The member "selection" of a JSON object; null: not known, or infinite. */
void itg_selection_write(itg_json_writer *w, const itg_selection *selection);
#endif
