/* The hardware's choice groups as the dimensions of a search, and points back as strategies.
 *
 * Dimensions, in the order of itg_trial.point: the groups with more than one width, in their order,
 * a width each; then the groups with several ways, in their order, a number each. Ways are the
 * threshold methods that were given for weights or for activations, where the group's thresholds
 * are estimated, each with each of the group's alternatives (hardware.h): method + alternative *
 * methods. Groups of one width, or one way, have no dimension: there is nothing to choose.
 * Thresholds of graph outputs are always max, those of constants among activations, too. */
#ifndef ITG_POINT_SPACE_H
#define ITG_POINT_SPACE_H
#include "search/objective.h"
#include "sim/sim.h"

typedef struct itg_point_space {
    const itg_graph *graph; /* borrowed */
    itg_choice_space *groups;
    bool *held;         /* [groups]: they keep their width and way (point_patterns.h) */
    int32_t *ways;      /* 0, 1, ...: as many as the group with the most has */
    int32_t *dim_group; /* [space.dim_count] */
    itg_dim *dims;
    itg_search_space space; /* dims as searchers see them */
    itg_threshold_method weight_methods[ITG_MAX_METHODS], activation_methods[ITG_MAX_METHODS];
    int32_t weight_method_count, activation_method_count; /* at least 1 */
} itg_point_space;

/* ITG_BAD_ARGUMENT: a list of methods with too many, unknown or repeated ones. graph must outlive
 * it. cost_per_level is 0 everywhere until itg_point_space_measure. */
itg_status itg_point_space_create(const itg_hardware *hw, const itg_graph *graph,
                                  const itg_search_options *options, itg_point_space **out,
                                  itg_error *err);
void itg_point_space_destroy(itg_point_space *points);
/* Bits, methods and what is passed over of each group [groups->group_count] at a point. */
void itg_point_space_apply(const itg_point_space *points, const int32_t *point, int32_t *bits,
                           itg_threshold_method *methods, int32_t *passed_over);
/* Takes weights that are float to their widest integers, where they have any. */
void itg_point_space_leave_float(const itg_point_space *points, int32_t *point);
/* The way of a dimension that is a method and an alternative; -1: it has none. */
int32_t itg_point_space_way(const itg_point_space *points, int32_t dim, itg_threshold_method method,
                            int32_t passed_over);
/* The point with every width at its largest (narrowest: its smallest) and every method the first
 * of its list. [space.dim_count] */
void itg_point_space_corner(const itg_point_space *points, bool narrowest, int32_t *point);
#endif
