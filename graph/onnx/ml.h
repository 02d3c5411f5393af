/* Operators of domain ai.onnx.ml, which scikit-learn's exporters write. They are replaced by
 * operators of ONNX itself before import, so that no later layer knows them. Formulas:
 * docs/preparation.md 1. */
#ifndef ITG_ONNX_ML_H
#define ITG_ONNX_ML_H
#include "graph/onnx/onnx_write.h"
#include "graph/onnx/refusals.h"

#define ITG_ML_DOMAIN "ai.onnx.ml"
/* The most bytes that the replacing nodes may take, besides what the file's size allows. The paths
 * of a tree take leaves times branches. */
#define ITG_ML_ROOM ((size_t)1 << 28)

/* Whether the file states an opset of the domain: its outputs may be strings and sequences. */
bool itg_ml_is_stated(const itg_onnx_file *file);
/* Replaces the nodes of the domain in place. Removes class labels from the outputs if there are
 * others, and counts them in file->labels_left_out. What is not supported goes to *refusals; NULL:
 * it fails. */
itg_status itg_ml_write_out(itg_onnx_file *file, itg_refusals *refusals, itg_error *err);
#endif
