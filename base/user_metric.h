/* Metrics of the calling program (itg_user_info), and their JSON. */
#ifndef ITG_USER_METRIC_H
#define ITG_USER_METRIC_H
#include "base/json_take.h"
#include "base/json_write.h"

/* As itg_metric_about. user: describes a user's metric, or NULL. */
itg_metric_info itg_metric_of(itg_metric metric, const itg_user_info *user);
/* Checks a metric. ITG_BAD_ARGUMENT: its name or unit is invalid. */
itg_status itg_user_check(const itg_user_info *user, itg_error *err);
/* Returns the number of metrics up to the last one with a name. */
int itg_user_count(const itg_user_info *users);

/* Writes the member "user_metrics": [{"name": "map", "unit": "share", "better": "up", "value":
 * 0.5}, ...], by place, null for none; nothing if no metric has a name. values[ITG_USER_METRICS]:
 * only finite ones are written; NULL: no values. */
void itg_user_metrics_write(itg_json_writer *w, const itg_user_info *users, const double *values);
/* Reads that member, if the object has it. Absent values stay as they are. */
void itg_user_metrics_read(itg_json_taker *t, const itg_json_value *object, itg_user_info *users,
                           double *values);
#endif
