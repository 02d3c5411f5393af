/* The hardware's choice groups as the dimensions of a search, and points back as strategies.
 *
 * Dimensions, in the order of itg_trial.point: the groups with more than one width, in their order,
 * a width each; then, where several threshold methods were given, the groups whose thresholds are
 * estimated, in their order, an index into the list of weights or of activations each. Groups of
 * one width have no dimension: there is nothing to choose. Thresholds of graph outputs are always
 * max, those of constants among activations, too. */
#ifndef ITG_POINT_SPACE_H
#define ITG_POINT_SPACE_H
#include "search/objective.h"
#include "sim/sim.h"

typedef struct itg_point_space {
    const itg_graph *graph; /* borrowed */
    itg_choice_space *groups;
    bool *held;         /* [groups]: they keep their width and method (point_patterns.h) */
    int32_t *dim_group; /* [space.dim_count] */
    itg_dim *dims;
    itg_search_space space; /* dims as searchers see them */
    itg_threshold_method weight_methods[ITG_MAX_METHODS], activation_methods[ITG_MAX_METHODS];
} itg_point_space;

/* ITG_BAD_ARGUMENT: a list of methods with too many, unknown or repeated ones. graph must outlive
 * it. cost_per_level is 0 everywhere until itg_point_space_measure. */
itg_status itg_point_space_create(const itg_hardware *hw, const itg_graph *graph,
                                  const itg_search_options *options, itg_point_space **out,
                                  itg_error *err);
void itg_point_space_destroy(itg_point_space *points);
/* Bits and methods of each group [groups->group_count] at a point. */
void itg_point_space_apply(const itg_point_space *points, const int32_t *point, int32_t *bits,
                           itg_threshold_method *methods);
/* The point with every width at its largest (narrowest: its smallest) and every method the first
 * of its list. [space.dim_count] */
void itg_point_space_corner(const itg_point_space *points, bool narrowest, int32_t *point);
#endif
