/* Metrics that the calling program brings (itg_user_info): their facts, and as JSON. */
#ifndef ITG_USER_METRIC_H
#define ITG_USER_METRIC_H
#include "base/json_take.h"
#include "base/json_write.h"

/* As itg_metric_about; user: what is known of a user's metric, or NULL. */
itg_metric_info itg_metric_of(itg_metric metric, const itg_user_info *user);
/* ITG_BAD_ARGUMENT: a name or a unit that is none. */
itg_status itg_user_check(const itg_user_info *user, itg_error *err);
/* Up to the last that has a name. */
int itg_user_count(const itg_user_info *users);

/* The member "user_metrics" of a JSON object: [{"name": "map", "unit": "share", "better": "up",
 * "value": 0.5}, ...], by place, null where there is none; no member where no metric has a name.
 * values[ITG_USER_METRICS]: those that are not finite are left out; NULL: no values. */
void itg_user_metrics_write(itg_json_writer *w, const itg_user_info *users, const double *values);
/* From that member, where the object has it. values as before; those that are absent stay as they
 * are. */
void itg_user_metrics_read(itg_json_taker *t, const itg_json_value *object, itg_user_info *users,
                           double *values);
#endif
