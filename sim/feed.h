/* Assigns samples to the inputs of a network, and preprocesses them. */
#ifndef ITG_FEED_H
#define ITG_FEED_H
#include "sim/backend.h"

typedef struct itg_feed_input {
    const char *name;          /* of the network's input; borrowed */
    itg_tensor tensor;         /* its dtype and shape [1, ...]; no data */
    const itg_dataset *data;   /* one part of the data; borrowed */
    itg_preprocess preprocess; /* of this input */
} itg_feed_input;
typedef struct itg_feed {
    int32_t count;
    itg_feed_input *inputs; /* [count], in the network's order */
} itg_feed;

/* Gives each input its part of the data by name; data of one array without a name belongs to the
 * only input. Checks parts and preprocessing as itg_preprocess_check does. It reads only shapes and
 * dtypes, so the elements may come later. ITG_MISMATCH: an input without data, or data without an
 * input. Nothing is to be freed on failure. */
itg_status itg_feed_init(const itg_input_list *list, const itg_dataset *data,
                         const itg_preprocess *p, itg_feed *out, itg_error *err);
void itg_feed_deinit(itg_feed *feed);
/* Writes a sample of the data into x, in the dtype of the input. */
itg_status itg_feed_fill(const itg_feed *feed, int32_t index, int64_t sample, void *x,
                         itg_error *err);
/* The same of all inputs of a float network. */
itg_status itg_feed_fill_all(const itg_feed *feed, int64_t sample, itg_float_exec *exec,
                             itg_error *err);
#endif
