/* Metrics that the calling program brings (itg_user_info): their facts, and as JSON. */
#ifndef ITG_USER_METRIC_H
#define ITG_USER_METRIC_H
#include "base/json.h"

/* As itg_metric_about; user: what is known of a user's metric, or NULL. */
itg_metric_info itg_metric_of(itg_metric metric, const itg_user_info *user);
/* ITG_BAD_ARGUMENT: a name or a unit that is none. */
itg_status itg_user_check(const itg_user_info *user, itg_error *err);
/* Up to the last that has a name. */
int itg_user_count(const itg_user_info *users);

/* [{"name": "map", "unit": "share", "better": "up", "value": 0.5}, ...]: by place, null where there
 * is none. values[ITG_USER_METRICS]: those that are not finite are left out; NULL: no values. */
void itg_user_metrics_write(const itg_user_info *users, const double *values, itg_strbuf *out);
/* , "user_metrics": such a list, where the score has any. */
void itg_user_results_write(const itg_score *score, itg_strbuf *out);
/* From such a list. values as before; those that are absent stay as they are. */
itg_status itg_user_metrics_read(const itg_json *json, const itg_json_value *list,
                                 itg_user_info *users, double *values, itg_error *err);
#endif
