/* Tensor data in other files (onnx.proto, TensorProto.external_data): keys location (a path within
 * the model's folder), offset (default 0) and length (default: to the file's end); checksum is
 * ignored. A location must not be absolute, contain ".." or pass a symbolic link, so that a model
 * reads nothing outside its folder. */
#ifndef ITG_EXTERNAL_DATA_H
#define ITG_EXTERNAL_DATA_H
#include "graph/onnx/budget.h"
#include "onnx.pb-c.h"

typedef struct itg_external_data {
    size_t bytes;    /* read so far */
    itg_sha256 hash; /* of the model's bytes, followed by these data in order */
    char **paths;    /* of the files, each listed once; malloc'd */
    int32_t path_count;
} itg_external_data;

/* Reads the data of initializers and of nodes' tensors into raw_data. The limit of the budget grows
 * by their size. Reads at most ITG_WIRE_MAX_BYTES. An error names the tensor and the file. */
itg_status itg_external_data_read(ItgOnnx__ModelProto *model, const char *model_path,
                                  itg_budget *budget, itg_external_data *data, itg_error *err);
void itg_external_data_deinit(itg_external_data *data);
#endif
