/* The public interface of emitting C: samples of a data set become those of the self-test
 * (intaglio.h). */
#include "search/evaluator.h"
#include "realize/realize.h"
#include <stdlib.h>

/* The first samples as the program's only input takes them, one after another. */
static itg_status make_inputs(const itg_program *program, const itg_emit_options *options,
                              int32_t count, float **values, const float ***inputs, itg_error *err)
{
    const itg_preprocess fallback = itg_preprocess_default();
    const itg_preprocess *p = options->preprocess != NULL ? options->preprocess : &fallback;
    int64_t elements = 0;
    if (itg_program_input_count(program) != 1)
        return itg_fail(err, ITG_UNSUPPORTED, "a data set for a program of %d inputs",
                        (int)itg_program_input_count(program));
    itg_tensor input = itg_program_input(program, 0);
    if (input.dtype != ITG_F32)
        return itg_fail(err, ITG_UNSUPPORTED,
                        "C source takes float32 data as codes, but the program's input is %s",
                        itg_dtype_name(input.dtype));
    itg_status status = itg_preprocess_check(p, options->data, &input, err);
    if (status != ITG_OK) return status;
    if (!itg_shape_elements(&input.shape, &elements) || elements > ITG_MAX_ELEMENTS / count)
        return itg_fail(err, ITG_LIMIT, "%d samples of the self-test are too large", (int)count);
    *values = malloc((size_t)(elements * count) * sizeof **values);
    *inputs = malloc((size_t)count * sizeof **inputs);
    if (*values == NULL || *inputs == NULL)
        return itg_fail(err, ITG_NO_MEMORY, "no memory for the self-test");
    for (int32_t i = 0; i < count && status == ITG_OK; i++) {
        (*inputs)[i] = input.data = *values + i * elements;
        status = itg_preprocess_sample(p, options->data, i, &input, err);
    }
    return status;
}

itg_status itg_emit_c(const itg_program *program, const itg_emit_options *options,
                      const char *directory, itg_emit_sizes *out, itg_error *err)
{
    const itg_emit_options none = ITG_EMIT_OPTIONS_INIT;
    if (options == NULL) options = &none;
    int32_t count = options->samples > 0 ? options->samples : 4;
    itg_emit_vectors vectors = {.count = count};
    float *values = NULL;
    const float **inputs = NULL;
    itg_status status =
        itg_check_version("itg_emit_options", options->version, ITG_EMIT_OPTIONS_VERSION, err);
    if (status == ITG_OK && options->data != NULL) {
        int64_t there = itg_data_samples(options->data);
        if (there < count) vectors.count = count = (int32_t)there;
        if (count < 1) return itg_fail(err, ITG_BAD_ARGUMENT, "the data holds no sample");
        status = make_inputs(program, options, count, &values, &inputs, err);
        vectors.inputs = inputs;
    }
    if (status == ITG_OK)
        status = itg_program_emit_c(program, options->name, &vectors, directory, out, err);
    free(values);
    free(inputs);
    return status;
}
