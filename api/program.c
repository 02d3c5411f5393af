/* The public functions of programs (intaglio.h): saving with all data for later runs, opening,
 * running over a data set. */
#include <intaglio/intaglio.h>
#include "base/base.h"
#include "api/npy.h"
#include "api/origin.h"
#include "api/summary.h"
#include "kernels/requant.h"
#include "realize/realize.h"
#include "search/evaluator.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEY_SPLIT "intaglio.split"
#define KEY_WEIGHT_BYTES "intaglio.weight_bytes"
#define KEY_PARAMETER_BYTES "intaglio.parameter_bytes"

itg_status itg_realize_strategy(const itg_model *model, const itg_strategy_file *file,
                                const itg_realize_options *options, itg_program **out,
                                itg_error *err)
{
    itg_annotated *annotated = NULL;
    itg_status status = itg_annotate_strategy(model, file, &annotated, err);
    if (status == ITG_OK) status = itg_realize_program(annotated, options, out, err);
    itg_annotated_destroy(annotated);
    return status;
}

/* Writes the summary for 'diff', and checks that it can be read within the limits. */
static itg_status write_summary(const itg_summary *summary, const char *path, itg_strbuf *out,
                                itg_error *err)
{
    itg_summary *again = NULL;
    itg_summary_write(summary, out);
    if (!itg_strbuf_ok(out)) return itg_fail(err, ITG_NO_MEMORY, "no memory for a summary");
    itg_status status = itg_summary_read(out->text, out->length, path, &again, err);
    itg_summary_destroy(again);
    return status == ITG_OK ? ITG_OK
                            : itg_prefix_error(err, status, "what is written cannot be read");
}

/* Computes the costs and the summary of the strategy, which the program file keeps. */
static itg_status describe(const itg_program *program, const itg_model *model,
                           const itg_strategy_file *file, const char *path, itg_score *costs,
                           itg_strbuf *text, itg_error *err)
{
    itg_annotated *annotated = NULL;
    itg_summary *summary = NULL;
    itg_status status = itg_annotate(model, file->hardware, file->strategy, &annotated, err);
    if (status == ITG_OK) status = itg_summary_make(annotated, program, file, &summary, err);
    if (status == ITG_OK) status = write_summary(summary, path, text, err);
    if (status == ITG_OK) *costs = itg_summary_info_of(summary)->score;
    itg_summary_destroy(summary);
    itg_annotated_destroy(annotated);
    return status;
}

static itg_status pack(const itg_program *program, const itg_model *model,
                       const itg_strategy_file *file, const char *name, itg_buffer *out,
                       itg_error *err)
{
    if (model == NULL || file == NULL) return itg_artefact_pack(program, NULL, 0, name, out, err);
    itg_origin origin;
    itg_strbuf split = {0}, summary = {0};
    itg_score costs = itg_score_unknown();
    char weight_bytes[32], parameter_bytes[32];
    itg_status status = itg_origin_make(model, file, &origin, err);
    if (status != ITG_OK) return status;
    status = describe(program, model, file, name, &costs, &summary, err);
    if (file->split.samples > 0) itg_split_info_write(&file->split, &split);
    if (status == ITG_OK && !itg_strbuf_ok(&split))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the program's metadata");
    snprintf(weight_bytes, sizeof weight_bytes, "%.0f", costs.value[ITG_METRIC_WEIGHT_BYTES]);
    snprintf(parameter_bytes, sizeof parameter_bytes, "%.0f",
             costs.value[ITG_METRIC_PARAMETER_BYTES]);
    itg_metadata metadata[ITG_ORIGIN_COUNT + 4];
    int32_t count = ITG_ORIGIN_COUNT;
    memcpy(metadata, origin.metadata, sizeof origin.metadata);
    metadata[count++] = (itg_metadata){KEY_WEIGHT_BYTES, weight_bytes};
    metadata[count++] = (itg_metadata){KEY_PARAMETER_BYTES, parameter_bytes};
    metadata[count++] = (itg_metadata){ITG_SUMMARY_KEY, summary.text};
    if (split.text != NULL) metadata[count++] = (itg_metadata){KEY_SPLIT, split.text};
    if (status == ITG_OK) status = itg_artefact_pack(program, metadata, count, name, out, err);
    itg_origin_deinit(&origin);
    itg_strbuf_deinit(&split);
    itg_strbuf_deinit(&summary);
    return status;
}

itg_status itg_program_save_memory(const itg_program *program, const itg_model *model,
                                   const itg_strategy_file *file, itg_buffer *out, itg_error *err)
{
    return pack(program, model, file, "the program", out, err);
}

itg_status itg_program_save(const itg_program *program, const itg_model *model,
                            const itg_strategy_file *file, const char *path, itg_error *err)
{
    itg_buffer packed = {0};
    itg_status status = pack(program, model, file, path, &packed, err);
    if (status == ITG_OK) status = itg_file_write(path, packed.data, packed.bytes, err);
    free(packed.data);
    return status;
}

itg_status itg_program_preprocess(const itg_program *program, itg_preprocess *out, itg_error *err)
{
    const char *text = itg_program_metadata(program, ITG_PREPROCESS_KEY);
    if (text) return itg_preprocess_from_text(text, "the artefact's preprocessing", out, err);
    *out = itg_preprocess_default();
    return ITG_OK;
}

/* Returns the saved number of bytes; NaN: not known. */
static double metadata_bytes(const itg_program *program, const char *key)
{
    const char *text = itg_program_metadata(program, key);
    long long bytes = 0;
    return text && sscanf(text, "%15lld", &bytes) == 1 && bytes >= 0 ? (double)bytes : (double)NAN;
}

itg_status itg_program_target(const itg_program *program, itg_hardware **hw, itg_score *out,
                              itg_error *err)
{
    const char *text = itg_program_metadata(program, ITG_HARDWARE_KEY);
    itg_hardware *made = NULL;
    itg_score score = itg_score_unknown();
    int64_t ram = 0;
    itg_status status = ITG_OK;
    if (text)
        status = itg_hardware_parse(text, strlen(text), "the artefact's hardware", &made, err);
    if (status == ITG_OK) status = itg_program_ram_bytes(program, &ram, err);
    if (status != ITG_OK) {
        itg_hardware_destroy(made);
        return status;
    }
    score.value[ITG_METRIC_PEAK_ACTIVATION_BYTES] = (double)ram;
    score.value[ITG_METRIC_PARAMETER_BYTES] = metadata_bytes(program, KEY_PARAMETER_BYTES);
    *hw = made;
    *out = score;
    return ITG_OK;
}

itg_split_info itg_program_split(const itg_program *program)
{
    const char *text = itg_program_metadata(program, KEY_SPLIT);
    itg_split_info split = {0};
    itg_json *json = NULL;
    if (!text || itg_json_parse(text, strlen(text), "the artefact's split", &json, NULL) != ITG_OK)
        return split;
    if (itg_split_info_read(json, itg_json_root(json), &split, NULL) != ITG_OK)
        split = (itg_split_info){0};
    itg_json_destroy(json);
    return split;
}

itg_status itg_program_text(const itg_program *program, char **out, itg_error *err)
{
    itg_strbuf text = {0};
    itg_program_print(program, &text);
    return itg_take_text(&text, out, err);
}

itg_output_info itg_program_output(const itg_program *program, int32_t index)
{
    itg_output_info info = {.name = itg_program_output_name(program, index)};
    const itg_quantizer *q = NULL;
    itg_dtype dtype;
    itg_program_output_info(program, index, &dtype, &info.shape, &q);
    info.type = itg_dtype_name(dtype);
    if (!q) return info;
    info.bits = q->bits;
    info.scale = q->scale[0];
    info.zero_point = q->zero_point;
    return info;
}

/* The receivers of outputs: the caller, its buffer, .npy files. */
typedef struct sinks {
    const itg_run_options *options;
    const itg_program *program;
    int64_t samples;
    itg_npy_sink *npy;
} sinks;

static itg_status fill_buffer(const sinks *s, int64_t sample, const itg_tensor *output,
                              itg_error *err)
{
    size_t bytes = itg_tensor_bytes(output), wanted = 0;
    if (!itg_mul_size(bytes, (size_t)s->samples, &wanted) || wanted != s->options->buffer_bytes)
        return itg_fail(err, ITG_BAD_ARGUMENT,
                        "the buffer has %zu bytes, the first output of %lld samples %zu",
                        s->options->buffer_bytes, (long long)s->samples, wanted);
    memcpy((unsigned char *)s->options->buffer + (size_t)sample * bytes, output->data, bytes);
    return ITG_OK;
}

static itg_status give(const sinks *s, int64_t sample, const itg_tensor *outputs, int32_t count,
                       itg_error *err)
{
    const itg_run_options *o = s->options;
    itg_status status = s->npy ? itg_npy_add(s->npy, outputs, count, err) : ITG_OK;
    if (status == ITG_OK && o->buffer) status = fill_buffer(s, sample, &outputs[0], err);
    return status == ITG_OK && o->outputs ? o->outputs(o->context, sample, outputs, count, err)
                                          : status;
}

static bool dequantize(const sinks *s, const itg_tensor *outputs, int32_t count, itg_arena *arena,
                       itg_tensor *reals)
{
    for (int32_t i = 0; i < count; i++) {
        const itg_output_info info = itg_program_output(s->program, i);
        reals[i] = outputs[i];
        if (info.bits == 0) continue;
        reals[i].dtype = ITG_F32;
        float *out = itg_arena_alloc(arena, itg_tensor_bytes(&reals[i]));
        if (!out) return false;
        for (size_t k = 0; k < itg_tensor_bytes(&reals[i]) / sizeof *out; k++)
            out[k] = itg_dequantize_f32(itg_load(outputs[i].dtype, outputs[i].data, (int64_t)k),
                                        info.scale, info.zero_point);
        reals[i].data = out;
    }
    return true;
}

static itg_status take_outputs(void *context, int64_t sample, const itg_tensor *outputs,
                               int32_t count, itg_error *err)
{
    const sinks *s = context;
    if (!s->options->dequantize) return give(s, sample, outputs, count, err);
    itg_arena *arena = itg_arena_create(0);
    itg_tensor *reals = arena ? itg_arena_array(arena, (size_t)count, sizeof *reals) : NULL;
    itg_status status = reals && dequantize(s, outputs, count, arena, reals)
                            ? give(s, sample, reals, count, err)
                            : itg_fail(err, ITG_NO_MEMORY, "no memory for the outputs");
    itg_arena_destroy(arena);
    return status;
}

itg_status itg_program_run(const itg_program *program, const itg_dataset *data,
                           const itg_run_options *run, itg_score *out, itg_error *err)
{
    const itg_run_options none = ITG_RUN_OPTIONS_INIT;
    itg_preprocess saved;
    itg_evaluation evaluation = {0};
    sinks to = {run ? run : &none, program, itg_data_samples(data), NULL};
    run = to.options;
    itg_status status =
        itg_check_version("itg_run_options", run->version, ITG_RUN_OPTIONS_VERSION, err);
    itg_evaluate_options options = {.data = data,
                                    .preprocess = run->preprocess,
                                    .labels = run->labels,
                                    .user = run->user,
                                    .measures = run->measures,
                                    .threads = run->threads};
    if (status == ITG_OK && !run->preprocess) {
        status = itg_program_preprocess(program, &saved, err);
        options.preprocess = &saved;
    }
    if (status == ITG_OK && run->npy_path)
        status =
            itg_npy_create(itg_data_samples(data), itg_program_output_count(program), &to.npy, err);
    if (run->npy_path || run->outputs || run->buffer) {
        options.sink = take_outputs;
        options.sink_context = &to;
    }
    if (status == ITG_OK)
        status = itg_evaluate_program(program, run->block, &options, &evaluation, err);
    if (status == ITG_OK && to.npy) status = itg_npy_write(to.npy, run->npy_path, err);
    if (status == ITG_OK) {
        itg_score score = itg_score_unknown();
        itg_score_quality(&evaluation, &score);
        score.value[ITG_METRIC_WEIGHT_BYTES] = metadata_bytes(program, KEY_WEIGHT_BYTES);
        score.value[ITG_METRIC_PARAMETER_BYTES] = metadata_bytes(program, KEY_PARAMETER_BYTES);
        *out = score;
    }
    itg_evaluation_deinit(&evaluation);
    itg_npy_destroy(to.npy);
    return status;
}
