/* The origin of a program or a QDQ model: metadata that both files hold. */
#ifndef ITG_ORIGIN_H
#define ITG_ORIGIN_H
#include "realize/realize.h"
#include "sim/strategy_file.h"

#define ITG_PREPROCESS_KEY "intaglio.preprocessing"
#define ITG_HARDWARE_KEY "intaglio.hardware"
enum { ITG_ORIGIN_COUNT = 6 };

typedef struct itg_origin {
    itg_metadata metadata[ITG_ORIGIN_COUNT]; /* texts belong to the origin and to the file */
    char model_hash[65], graph_hash[65], strategy_hash[65];
    itg_strbuf preprocess;
} itg_origin;

/* out must not move, because its metadata points into it. */
itg_status itg_origin_make(const itg_graph *model, const itg_strategy_file *file, itg_origin *out,
                           itg_error *err);
void itg_origin_deinit(itg_origin *origin);
#endif
