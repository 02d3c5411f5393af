/* The public function that emits C (intaglio.h). Samples of a data set become those of the
 * self-test. */
#include "search/evaluator.h"
#include "realize/realize.h"
#include "sim/feed.h"
#include <stdlib.h>

/* The samples of the self-test in the format of the program's inputs. */
typedef struct test_samples {
    char *values;        /* samples of each input in turn */
    const void **inputs; /* [samples][inputs]: pointers into values */
} test_samples;

/* Sets begin to where the samples of each input begin in `values`, in bytes, and the last end. */
static itg_status lay_out(const itg_feed *feed, int32_t count, int64_t *begin, itg_error *err)
{
    begin[0] = 0;
    for (int32_t k = 0; k < feed->count; k++) {
        const itg_tensor *t = &feed->inputs[k].tensor;
        int64_t elements = 0;
        if (!itg_shape_elements(&t->shape, &elements) ||
            elements > (ITG_MAX_ELEMENTS - begin[k]) / count)
            return itg_fail(err, ITG_LIMIT, "%d samples of the self-test are too large",
                            (int)count);
        /* aligned for any dtype that follows */
        begin[k + 1] = begin[k] + ((int64_t)itg_tensor_bytes(t) + 7) / 8 * 8 * count;
    }
    return ITG_OK;
}

static itg_status fill(const itg_feed *feed, int32_t count, const int64_t *begin, test_samples *out,
                       itg_error *err)
{
    itg_status status = ITG_OK;
    out->values = malloc((size_t)begin[feed->count] + 1);
    out->inputs = calloc((size_t)count * (size_t)feed->count + 1, sizeof *out->inputs);
    if (!out->values || !out->inputs)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the self-test");
    for (int32_t k = 0; k < feed->count; k++)
        for (int32_t i = 0; i < count && status == ITG_OK; i++) {
            char *x = out->values + begin[k] + (begin[k + 1] - begin[k]) / count * i;
            out->inputs[i * feed->count + k] = x;
            status = itg_feed_fill(feed, k, i, x, err);
        }
    return status;
}

static itg_status make_inputs(const itg_program *program, const itg_emit_options *options,
                              int32_t count, test_samples *out, itg_error *err)
{
    const itg_preprocess fallback = itg_preprocess_default();
    const itg_input_list inputs = itg_program_inputs(program);
    itg_feed feed = {0};
    itg_status status = itg_feed_init(
        &inputs, options->data, options->preprocess ? options->preprocess : &fallback, &feed, err);
    if (status != ITG_OK) return status;
    int64_t *begin = calloc((size_t)feed.count + 1, sizeof *begin);
    status = begin ? lay_out(&feed, count, begin, err)
                   : itg_fail(err, ITG_NO_MEMORY, "no memory for the self-test");
    if (status == ITG_OK) status = fill(&feed, count, begin, out, err);
    free(begin);
    itg_feed_deinit(&feed);
    return status;
}

itg_status itg_emit_c(const itg_program *program, const itg_emit_options *options,
                      const char *directory, itg_emit_sizes *out, itg_error *err)
{
    const itg_emit_options none = ITG_EMIT_OPTIONS_INIT;
    if (options == NULL) options = &none;
    int32_t count = options->samples > 0 ? options->samples : 4;
    itg_emit_vectors vectors = {.count = count};
    test_samples made = {0};
    itg_status status =
        itg_check_version("itg_emit_options", options->version, ITG_EMIT_OPTIONS_VERSION, err);
    if (status == ITG_OK && options->data != NULL) {
        int64_t there = itg_data_samples(options->data);
        if (there < count) vectors.count = count = (int32_t)there;
        if (count < 1) return itg_fail(err, ITG_BAD_ARGUMENT, "the data holds no sample");
        status = make_inputs(program, options, count, &made, err);
        vectors.inputs = made.inputs;
    }
    if (status == ITG_OK)
        status = itg_program_emit_c(program, options->name, &vectors, directory, out, err);
    free(made.values);
    free(made.inputs);
    return status;
}
