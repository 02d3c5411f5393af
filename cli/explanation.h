/* Where the loss of a strategy comes from, for the commands that show it. */
#ifndef ITG_CLI_EXPLANATION_H
#define ITG_CLI_EXPLANATION_H
#include "cli/common.h"
#include "cli/table.h"
#include <intaglio/explain.h>

enum { ITG_CLI_EXPLAINED_SAMPLES = 256 }; /* without --limit */

/* Explains with progress on stderr, unless --quiet is given; Ctrl-C ends it with what is known by
 * then. calibration NULL: the data. */
itg_status itg_cli_explain_strategy(const itg_cli_args *args, const itg_model *model,
                                    const itg_strategy_file *file, const itg_cli_data *data,
                                    const itg_dataset *calibration, itg_explanation **out,
                                    itg_error *err);
/* The members of the open object. */
void itg_cli_json_explanation(itg_json_writer *json, const itg_explanation *e);
/* At most `most` effects that were measured; with_changes: also what would lessen each. */
void itg_cli_effects_table(itg_cli_table *table, const itg_explanation *e, int32_t most,
                           bool with_changes);
/* Writes the sentences on sums and on the bisection, in lines. */
void itg_cli_explanation_words(const itg_explanation *e, itg_strbuf *out);
/* Writes what a change gains: "threshold max for mse: SQNR 9.8 dB to 16.0 dB, at no cost". */
void itg_cli_gain_words(itg_strbuf *out, const char *change, const itg_score *before,
                        const itg_score *after);
/* Writes "conv3 -> add and 2 more", or the node's name. */
const char *itg_cli_effect_place(const itg_effect_report *r, char *text, size_t size);
#endif
