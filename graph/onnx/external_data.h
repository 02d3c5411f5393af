/* Data of tensors that lies in other files (onnx.proto, TensorProto.external_data): keys location
 * (a path within the model's folder), offset (0) and length (to the file's end); checksum is not
 * looked at. No absolute location, no "..", no symbolic link on the way: a model reaches nothing
 * outside its folder. */
#ifndef ITG_EXTERNAL_DATA_H
#define ITG_EXTERNAL_DATA_H
#include "graph/onnx/budget.h"
#include "onnx.pb-c.h"

typedef struct itg_external_data {
    size_t bytes;    /* read in all */
    itg_sha256 hash; /* of the model's bytes and then of what was read, in order */
    char **paths;    /* of the files, each once; malloc'd */
    int32_t path_count;
} itg_external_data;

/* Reads the data of initializers, and of the tensors of nodes, into raw_data, by the budget, whose
 * limit grows by it. At most ITG_WIRE_MAX_BYTES. What is told names the tensor and the file. */
itg_status itg_external_data_read(ItgOnnx__ModelProto *model, const char *model_path,
                                  itg_budget *budget, itg_external_data *data, itg_error *err);
void itg_external_data_deinit(itg_external_data *data);
#endif
