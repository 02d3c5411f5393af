/* Native results of IntSoftmax and IntLayerNormalization at v->node, for itg_sums_derive. false: a
 * problem was recorded. */
#ifndef ITG_VERIFY_NORMS_H
#define ITG_VERIFY_NORMS_H
#include "realize/verify/sums.h"

bool itg_norms_softmax(itg_view *v, itg_sums *out);
bool itg_norms_layer(itg_view *v, itg_sums *out);
#endif
