/* The public interface of programs: saving with what a later run needs, opening, running over a
 * data set (intaglio.h). */
#include "search/engine.h"
#include "search/evaluator.h"
#include "search/portrait.h"
#include "realize/realize.h"
#include <stdlib.h>
#include <string.h>

#define KEY_PREPROCESS "intaglio.preprocessing"
#define KEY_ENGINE "intaglio.engine"
#define KEY_MODEL_HASH "intaglio.model_hash"
#define KEY_GRAPH_HASH "intaglio.graph_hash"
#define KEY_STRATEGY_HASH "intaglio.strategy_hash"
#define KEY_HARDWARE "intaglio.hardware"
#define KEY_SPLIT "intaglio.split"
#define KEY_WEIGHT_BYTES "intaglio.weight_bytes"
#define KEY_PARAMETER_BYTES "intaglio.parameter_bytes"

/* What 'diff' reads of the file, within its limits. */
static itg_status check_portrait(const itg_strbuf *text, const char *path, itg_error *err)
{
    itg_portrait *portrait = NULL;
    itg_status status = itg_portrait_read(text->text, text->length, path, true, &portrait, err);
    itg_portrait_destroy(portrait);
    return status == ITG_OK ? ITG_OK
                            : itg_prefix_error(err, status, "what is written cannot be read");
}

itg_status itg_program_save(const itg_program *program, const itg_model *model,
                            const itg_strategy_file *file, const char *path, itg_error *err)
{
    if (model == NULL || file == NULL) return itg_artefact_write(program, NULL, 0, path, err);
    itg_strbuf preprocess = {0}, split = {0}, portrait = {0};
    char model_hash[65], graph_hash[65], strategy[65], weight_bytes[32], parameter_bytes[32];
    unsigned char hash[32];
    itg_annotated *annotated = NULL;
    itg_score costs = {0};
    itg_status status = itg_annotate(model->graph, file->hardware, file->strategy, &annotated, err);
    if (status != ITG_OK) return status;
    status = itg_score_costs(file->hardware, annotated, &costs, err);
    if (status == ITG_OK) status = itg_portrait_write(annotated, program, file, &portrait, err);
    if (status == ITG_OK) status = check_portrait(&portrait, path, err);
    itg_annotated_destroy(annotated);
    if (status == ITG_OK) status = itg_strategy_file_hash(file, model->graph, hash, err);
    if (status != ITG_OK) {
        itg_strbuf_deinit(&portrait);
        return status;
    }
    itg_preprocess_write(&file->preprocess, &preprocess);
    if (file->split.samples > 0) itg_split_info_write(&file->split, &split);
    itg_sha256_hex(hash, strategy);
    itg_sha256_hex(model->graph->source_hash, model_hash);
    itg_sha256_hex(file->strategy->graph_hash, graph_hash);
    snprintf(weight_bytes, sizeof weight_bytes, "%lld", (long long)costs.weight_bytes);
    snprintf(parameter_bytes, sizeof parameter_bytes, "%lld", (long long)costs.parameter_bytes);
    if (!itg_strbuf_ok(&preprocess) || !itg_strbuf_ok(&split))
        status = itg_fail(err, ITG_NO_MEMORY, "no memory for the artefact's metadata");
    itg_metadata metadata[] = {
        {KEY_PREPROCESS, preprocess.text}, {KEY_ENGINE, ITG_VERSION},
        {KEY_MODEL_HASH, model_hash},      {KEY_GRAPH_HASH, graph_hash},
        {KEY_STRATEGY_HASH, strategy},     {KEY_HARDWARE, file->hardware->json},
        {KEY_WEIGHT_BYTES, weight_bytes},  {KEY_PARAMETER_BYTES, parameter_bytes},
        {ITG_PORTRAIT_KEY, portrait.text}, {KEY_SPLIT, split.text}};
    int32_t count = (int32_t)(sizeof metadata / sizeof *metadata) - (split.text == NULL);
    if (status == ITG_OK) status = itg_artefact_write(program, metadata, count, path, err);
    itg_strbuf_deinit(&preprocess);
    itg_strbuf_deinit(&split);
    itg_strbuf_deinit(&portrait);
    return status;
}

itg_status itg_program_open(const char *path, itg_program **out, itg_error *err)
{
    return itg_artefact_read(path, out, err);
}

itg_status itg_program_preprocess(const itg_program *program, itg_preprocess *out, itg_error *err)
{
    const char *text = itg_program_metadata(program, KEY_PREPROCESS);
    itg_json *json = NULL;
    itg_preprocess read = itg_preprocess_default();
    if (!text) {
        *out = read;
        return ITG_OK;
    }
    itg_status status =
        itg_json_parse(text, strlen(text), "the artefact's preprocessing", &json, err);
    if (status == ITG_OK) status = itg_preprocess_read(json, itg_json_root(json), &read, err);
    itg_json_destroy(json);
    if (status == ITG_OK) *out = read;
    return status;
}

itg_status itg_program_target(const itg_program *program, itg_hardware **hw, itg_score *out,
                              itg_error *err)
{
    const char *text = itg_program_metadata(program, KEY_HARDWARE);
    const char *bytes = itg_program_metadata(program, KEY_PARAMETER_BYTES);
    itg_hardware *made = NULL;
    itg_score score = itg_score_unknown();
    long long known = 0;
    itg_status status = ITG_OK;
    if (text)
        status = itg_hardware_parse(text, strlen(text), "the artefact's hardware", &made, err);
    if (status == ITG_OK)
        status = itg_program_ram_bytes(program, &score.peak_activation_bytes, err);
    if (status != ITG_OK) {
        itg_hardware_destroy(made);
        return status;
    }
    if (bytes && sscanf(bytes, "%18lld", &known) == 1 && known >= 0) score.parameter_bytes = known;
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
    if (!itg_strbuf_ok(&text) || !text.text) {
        itg_strbuf_deinit(&text);
        return itg_fail(err, ITG_NO_MEMORY, "no memory to print the program");
    }
    *out = text.text;
    return ITG_OK;
}

/* ---- outputs as .npy ---- */

typedef struct npy_output {
    itg_strbuf bytes;
} npy_output;

typedef struct npy_sink {
    int64_t samples;
    int32_t count;
    npy_output *outputs;
} npy_sink;

static const char *npy_type(itg_dtype dtype)
{
    switch (dtype) {
    case ITG_F32:
        return "<f4";
    case ITG_F64:
        return "<f8";
    case ITG_S8:
        return "|i1";
    case ITG_U8:
        return "|u1";
    case ITG_BOOL:
        return "|b1";
    case ITG_S16:
        return "<i2";
    case ITG_U16:
        return "<u2";
    case ITG_S32:
        return "<i4";
    case ITG_U32:
        return "<u4";
    default:
        return "<i8";
    }
}

/* Format 1.0: magic, version, header length, a Python dict padded with spaces to a multiple of 64,
 * then the elements. Samples take the place of a batch dimension of 1; outputs without one keep all
 * their dimensions behind it. */
static void npy_header(itg_strbuf *out, const itg_tensor *t, int64_t samples)
{
    itg_strbuf dict = {0};
    itg_strbuf_format(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (%lld,",
                      npy_type(t->dtype), (long long)samples);
    for (int32_t d = t->shape.rank > 0 && t->shape.dims[0] == 1; d < t->shape.rank; d++)
        itg_strbuf_format(&dict, " %lld,", (long long)t->shape.dims[d]);
    itg_strbuf_add(&dict, "), }");
    while ((10 + dict.length + 1) % 64)
        itg_strbuf_add(&dict, " ");
    itg_strbuf_add(&dict, "\n");
    unsigned char head[10] = {0x93,
                              'N',
                              'U',
                              'M',
                              'P',
                              'Y',
                              1,
                              0,
                              (unsigned char)(dict.length & 255),
                              (unsigned char)(dict.length >> 8)};
    itg_strbuf_bytes(out, head, sizeof head);
    if (dict.text) itg_strbuf_bytes(out, dict.text, dict.length);
    out->failed |= dict.failed;
    itg_strbuf_deinit(&dict);
}

static itg_status npy_sample(void *context, int64_t sample, const itg_tensor *outputs,
                             int32_t output_count, itg_error *err)
{
    npy_sink *sink = context;
    for (int32_t i = 0; i < output_count; i++) {
        itg_strbuf *out = &sink->outputs[i].bytes;
        size_t size = itg_dtype_size(outputs[i].dtype), bytes = itg_tensor_bytes(&outputs[i]);
        if (sample == 0) npy_header(out, &outputs[i], sink->samples);
        unsigned char *copy = malloc(bytes + 1);
        if (!copy) return itg_fail(err, ITG_NO_MEMORY, "no memory for the outputs");
        itg_copy_little_endian(copy, outputs[i].data, bytes / size, size);
        itg_strbuf_bytes(out, copy, bytes);
        free(copy);
        if (!itg_strbuf_ok(out)) return itg_fail(err, ITG_NO_MEMORY, "no memory for the outputs");
    }
    return ITG_OK;
}

char *itg_program_npy_path(const char *npy_path, int32_t output)
{
    size_t length = strlen(npy_path);
    if (length > 4 && strcmp(npy_path + length - 4, ".npy") == 0) length -= 4;
    itg_strbuf name = {0};
    if (output == 0)
        itg_strbuf_add(&name, npy_path);
    else
        itg_strbuf_format(&name, "%.*s.%d.npy", (int)length, npy_path, (int)output);
    if (itg_strbuf_ok(&name)) return name.text;
    itg_strbuf_deinit(&name);
    return NULL;
}

static itg_status npy_write(const npy_sink *sink, const char *path, itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < sink->count && status == ITG_OK; i++) {
        char *name = itg_program_npy_path(path, i);
        const itg_strbuf *bytes = &sink->outputs[i].bytes;
        status = name ? itg_file_write(name, bytes->text ? bytes->text : "", bytes->length, err)
                      : itg_fail(err, ITG_NO_MEMORY, "no memory for a file name");
        free(name);
    }
    return status;
}

static int64_t metadata_int(const itg_program *program, const char *key)
{
    const char *text = itg_program_metadata(program, key);
    return text ? strtoll(text, NULL, 10) : -1;
}

static itg_status evaluate_fast(const itg_program *program, const itg_evaluate_options *options,
                                int64_t block, itg_evaluation *out, itg_error *err)
{
    itg_batch_options batch = {.block = block};
    itg_batch_plan *plan = NULL;
    itg_status status = itg_batch_plan_create(program, &batch, &plan, err);
    if (status != ITG_OK) return status;
    itg_fast_program fast = {.program = program, .plan = plan};
    itg_runner runner = itg_runner_program(&fast);
    status = itg_evaluate(&runner, options, out, err);
    itg_batch_plan_destroy(plan);
    return status;
}

itg_status itg_program_run(const itg_program *program, const itg_preprocess *p,
                           const itg_dataset *data, const int64_t *labels, int threads,
                           int64_t block, const char *npy_path, itg_score *out, itg_error *err)
{
    npy_sink sink = {.samples = itg_data_samples(data), .count = itg_program_output_count(program)};
    itg_evaluate_options options = {
        .data = data, .preprocess = p, .labels = labels, .threads = threads};
    itg_evaluation evaluation = {0};
    if (npy_path) {
        sink.outputs = calloc((size_t)sink.count + 1, sizeof *sink.outputs);
        if (!sink.outputs) return itg_fail(err, ITG_NO_MEMORY, "no memory for the outputs");
        options.sink = npy_sample;
        options.sink_context = &sink;
    }
    itg_status status = evaluate_fast(program, &options, block, &evaluation, err);
    if (status == ITG_OK && npy_path) status = npy_write(&sink, npy_path, err);
    if (status == ITG_OK) {
        itg_score score = {.peak_activation_bytes = -1};
        itg_score_quality(&evaluation, &score);
        score.weight_bytes = metadata_int(program, KEY_WEIGHT_BYTES);
        score.parameter_bytes = metadata_int(program, KEY_PARAMETER_BYTES);
        *out = score;
    }
    itg_evaluation_deinit(&evaluation);
    for (int32_t i = 0; sink.outputs && i < sink.count; i++)
        itg_strbuf_deinit(&sink.outputs[i].bytes);
    free(sink.outputs);
    return status;
}
