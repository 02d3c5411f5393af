/* The options only, skip, fix and allow_float: which groups of edges a search may change, and how.
 */
#ifndef ITG_POINT_PATTERNS_H
#define ITG_POINT_PATTERNS_H
#include "search/point_space.h"

/* Before the dimensions are made. A group that skip matches, or only does not, is held: it keeps
 * its widest integer width (or the one that fix gives it) and its first method. allow_float adds
 * ITG_FLOAT_BITS to the widths of weights that may be float (hardware.h). fix takes the other
 * widths away; the method may still be chosen. A pattern matches a group by the name of a value, a
 * node or an edge ("value -> node.slot") of any of its edges. ITG_BAD_ARGUMENT: a pattern that
 * matches nothing (the error has a near name), a width that a group does not have, or a list that
 * is none.
 */
itg_status itg_point_patterns_apply(itg_point_space *points, const itg_search_options *options,
                                    itg_error *err);
#endif
