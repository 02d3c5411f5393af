/* What single choices lose, for the commands that show it: trials of the searcher `sensitivity`,
 * each of which differs from the widest point in the choices of one group of edges. */
#ifndef ITG_CLI_SENSITIVITIES_H
#define ITG_CLI_SENSITIVITIES_H
#include "cli/common.h"
#include "cli/table.h"

/* One trial: the group that differs from the widest point, and how. */
typedef struct itg_cli_loss {
    const itg_trial *trial;
    itg_run_choices *choices;
    const itg_run_choice *width, *method; /* of that group; NULL: there is nothing to choose */
    int32_t group;                        /* which of the groups with widths, from 0 */
} itg_cli_loss;
typedef struct itg_cli_sensitivities {
    const itg_goal *goal;
    const itg_trial *widest; /* NULL: interrupted before it */
    itg_cli_loss *rows;      /* the largest loss first */
    int64_t count;
    bool has_methods, is_labelled;
} itg_cli_sensitivities;

/* Reads `count` trials of a run, in order; what they borrow and the goal must outlive *s. Close *s
 * also after a failure. */
itg_status itg_cli_sensitivities_read(itg_cli_sensitivities *s, const itg_run_record *record,
                                      const itg_goal *goal, const itg_trial *const *trials,
                                      int64_t count, itg_error *err);
void itg_cli_sensitivities_close(itg_cli_sensitivities *s);
const itg_run_choice *itg_cli_loss_group(const itg_cli_loss *row);
/* Returns by how many dB the noise in the outputs exceeds that of the widest point; at least 0;
 * NaN: not known. */
double itg_cli_lost_db(const itg_cli_sensitivities *s, const itg_trial *trial);
/* Returns the goal's quality of a trial, and its change from the widest point; NaN: not known. */
double itg_cli_sensitivity_quality(const itg_cli_sensitivities *s, const itg_trial *trial);
double itg_cli_sensitivity_change(const itg_cli_sensitivities *s, const itg_trial *trial);
/* with_bars: the dB lost also as bars. */
void itg_cli_sensitivities_table(itg_cli_table *table, const itg_cli_sensitivities *s,
                                 bool with_bars);
#endif
