/* Goals and their metrics as text and as JSON. */
#ifndef ITG_CLI_GOAL_H
#define ITG_CLI_GOAL_H
#include "cli/common.h"

/* "top-1", "agreement", "SQNR". */
const char *itg_cli_quality_name(const itg_goal *goal, bool labelled);
bool itg_cli_same_quality(const itg_goal *a, const itg_goal *b); /* by name */
bool itg_cli_knows_quality(const itg_goal *goal, const itg_score *score);
/* Returns the metric that reports show for the goal's quality: the counted one if the goal holds a
 * bound of it. */
itg_metric itg_cli_counted(const itg_goal *goal, const itg_score *score);
/* "98.90 %", "31.25 dB", "exact" (200 dB and more); "-": not known. */
const char *itg_cli_quality_text(const itg_goal *goal, const itg_score *score, char *out,
                                 size_t size);
/* "met on the search samples and on the hold-out", "..., NOT on the hold-out", "NOT met". */
const char *itg_cli_held_words(bool met, bool holds);
/* Whether the goal has a front of costs and quality (--pareto). */
bool itg_cli_goal_has_front(const itg_goal *goal);
/* "fewest weight bytes, top-1 at most 1 point below float". */
void itg_cli_goal_words(const itg_goal *goal, bool labelled, char *out, size_t size);
/* "3,495 bytes at 98.90 %": what the goal optimizes, and the quality. */
void itg_cli_goal_figures(const itg_goal *goal, const itg_score *score, char *out, size_t size);
/* Writes an object with optimize, quality, max_drop, min_sqnr, max_size, max_bops, max_cycles and
 * max_ram; members are null where the goal has none. */
void itg_cli_json_goal(itg_json_writer *json, const char *key, const itg_goal *goal);
/* Writes member "limits": those that a search keeps, each with its origin, "goal" or "hardware". */
void itg_cli_json_limits(itg_json_writer *json, const itg_goal *goal, const itg_hardware *hw);
/* Writes the limits that the hardware sets: "32,768 bytes of parameters, 2,048 bytes of RAM"; "" if
 * there are none. */
void itg_cli_hardware_limits(const itg_goal *goal, const itg_hardware *hw, char *out, size_t size);

/* ---- the final choice (itg_selection); its samples must be > 0 ---- */
/* "of 5 candidates on 4,096 selection samples: a drop of at most 0.9 points with 95 % confidence".
 */
const char *itg_cli_selection_words(const itg_search_options *options, const itg_selection *s,
                                    char *out, size_t size);
/* Returns text on how many samples the goal would need; s->wanted must be > 0. */
const char *itg_cli_selection_wanted(const itg_search_options *options, const itg_selection *s,
                                     char *out, size_t size);
#endif
