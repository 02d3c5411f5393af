/* The native results of IntSoftmax, IntTfliteSoftmax and IntLayerNormalization at v->node, as
 * itg_sums_derive wants them. false: a problem was noted. */
#ifndef ITG_VERIFY_NORMS_H
#define ITG_VERIFY_NORMS_H
#include "realize/verify/sums.h"

bool itg_norms_softmax(itg_view *v, itg_sums *out);
bool itg_norms_tflite_softmax(itg_view *v, itg_sums *out);
bool itg_norms_layer(itg_view *v, itg_sums *out);
#endif
