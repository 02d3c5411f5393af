/* Writes a program as an ONNX file of domain "ai.intaglio". Values become tensors with their names,
 * constants become initializers, steps become nodes. docs/artefact.md describes the operators. */
#include "realize/artefact.h"
#include "base/packed.h"
#include "realize/fields.h"
#include <stdlib.h>
#include <string.h>

/* A leading 1 becomes the symbolic batch "N". */
static itg_shape file_shape(const itg_shape *shape)
{
    itg_shape out = *shape;
    if (out.rank > 0 && out.dims[0] == 1) out.dims[0] = -1;
    return out;
}

bool itg_value_is_packed(const itg_program *p, int32_t value)
{
    const itg_pvalue *v = &p->values[value];
    const itg_quantizer *q = &v->q;
    if (v->data == NULL || !v->quantized || q->bits >= (int32_t)(8 * itg_dtype_size(v->dtype)))
        return false;
    for (int32_t i = 0; i < p->output_count; i++)
        if (p->outputs[i] == value) return false;
    int64_t end = (int64_t)1 << (q->bits - q->is_signed);
    return q->qmin >= (q->is_signed ? -end : 0) && (q->bits == 1 ? q->qmax <= 1 : q->qmax < end);
}

static itg_status write_packed(const itg_pvalue *v, itg_onnx_writer *w, itg_error *err)
{
    itg_tensor bytes = {ITG_U8, {1, {itg_packed_bytes(v->elements, v->q.bits)}}, NULL};
    bytes.data = calloc((size_t)bytes.shape.dims[0], 1);
    if (bytes.data == NULL) return itg_fail(err, ITG_NO_MEMORY, "no memory for packed codes");
    for (int64_t i = 0; i < v->elements; i++)
        itg_packed_put(bytes.data, v->q.bits, v->q.is_signed, i, itg_load(v->dtype, v->data, i));
    itg_onnx_writer_initializer(w, v->name, &bytes);
    free(bytes.data);
    return ITG_OK;
}

static itg_status write_constants(const itg_program *p, itg_onnx_writer *w, bool *used,
                                  itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < p->step_count; i++)
        for (int32_t k = 0; k < p->steps[i].input_count; k++)
            if (p->steps[i].inputs[k] != ITG_NONE) used[p->steps[i].inputs[k]] = true;
    for (int32_t i = 0; i < p->output_count; i++)
        used[p->outputs[i]] = true;
    for (int32_t i = 0; i < p->value_count && status == ITG_OK; i++) {
        itg_tensor t = itg_pvalue_tensor(&p->values[i]);
        if (!used[i] || t.data == NULL) continue;
        if (itg_value_is_packed(p, i))
            status = write_packed(&p->values[i], w, err);
        else
            itg_onnx_writer_initializer(w, p->values[i].name, &t);
    }
    return status;
}

static void write_ends(const itg_program *p, itg_onnx_writer *w)
{
    for (int32_t i = 0; i < p->input_count; i++) {
        const itg_pvalue *v = &p->values[p->inputs[i]];
        itg_shape shape = file_shape(&v->shape);
        itg_onnx_writer_input(w, v->name, v->dtype, &shape);
    }
    for (int32_t i = 0; i < p->output_count; i++) {
        const itg_pvalue *v = &p->values[p->outputs[i]];
        itg_shape shape = file_shape(&v->shape);
        itg_onnx_writer_output(w, v->name, v->dtype, &shape);
    }
}

/* Writes what a reader needs to dequantize outputs. It repeats attributes of the producing node. */
static itg_status write_output_keys(const itg_program *p, itg_onnx_writer *w, itg_error *err)
{
    itg_strbuf key = {0}, text = {0};
    bool ok = true;
    for (int32_t i = 0; i < p->output_count && ok; i++) {
        const itg_pvalue *v = &p->values[p->outputs[i]];
        if (!v->quantized) continue;
        key.length = text.length = 0;
        itg_strbuf_format(&key, "%s%s", ITG_ARTEFACT_OUTPUT_KEY, v->name);
        itg_strbuf_format(&text, "dtype=%s bits=%d zero_point=%d scale=%.9g",
                          itg_dtype_name(v->dtype), (int)v->q.bits, (int)v->q.zero_point,
                          (double)v->q.scale[0]);
        ok = itg_strbuf_ok(&key) && itg_strbuf_ok(&text);
        if (ok) itg_onnx_writer_metadata(w, key.text, text.text);
    }
    itg_strbuf_deinit(&key);
    itg_strbuf_deinit(&text);
    return ok ? ITG_OK : itg_fail(err, ITG_NO_MEMORY, "no memory for metadata");
}

static bool has_key(const itg_metadata *metadata, int32_t count, const char *key)
{
    for (int32_t i = 0; i < count; i++)
        if (strcmp(metadata[i].key, key) == 0) return true;
    return false;
}

/* Writes the caller's pairs, then the program's pairs with other keys. */
static void write_metadata(const itg_program *p, const itg_metadata *metadata, int32_t count,
                           itg_onnx_writer *w)
{
    for (int32_t i = 0; i < count; i++)
        itg_onnx_writer_metadata(w, metadata[i].key, metadata[i].value);
    for (int32_t i = 0; i < p->metadata_count; i++)
        if (!has_key(metadata, count, p->metadata_key[i]))
            itg_onnx_writer_metadata(w, p->metadata_key[i], p->metadata_value[i]);
}

static itg_status write_step(itg_program *p, itg_step *s, itg_onnx_writer *w, const char **names,
                             itg_error *err)
{
    char type[48];
    for (int32_t i = 0; i < s->input_count; i++)
        names[i] = s->inputs[i] == ITG_NONE ? "" : p->values[s->inputs[i]].name;
    for (int32_t i = 0; i < s->output_count; i++)
        names[s->input_count + i] = p->values[s->outputs[i]].name;
    itg_onnx_writer_node(w, ITG_ARTEFACT_DOMAIN, itg_step_type(s, type, sizeof type), s->name,
                         names, s->input_count, names + s->input_count, s->output_count);
    itg_fields f = {.mode = ITG_FIELDS_WRITE, .writer = w, .err = err};
    itg_visit_packed(&f, p, s);
    itg_visit_step(&f, p, s);
    return f.status == ITG_OK ? ITG_OK : itg_prefix_error(err, f.status, "node '%s'", s->name);
}

static itg_status write_steps(itg_program *p, itg_onnx_writer *w, const char **names,
                              itg_error *err)
{
    itg_status status = ITG_OK;
    for (int32_t i = 0; i < p->step_count && status == ITG_OK; i++)
        status = write_step(p, &p->steps[i], w, names, err);
    return status;
}

itg_status itg_artefact_pack(const itg_program *p, const itg_metadata *metadata, int32_t count,
                             const char *name, itg_buffer *out, itg_error *err)
{
    itg_program view =
        *p; /* visiting takes a program that may be changed; writing changes nothing */
    size_t most = 1;
    for (int32_t i = 0; i < p->step_count; i++) {
        size_t operands = (size_t)p->steps[i].input_count + (size_t)p->steps[i].output_count;
        if (operands > most) most = operands;
    }
    itg_onnx_writer *w = NULL;
    const char **names = calloc(most, sizeof *names);
    bool *used = calloc((size_t)p->value_count + 1, sizeof *used);
    itg_status status = ITG_OK;
    if (names == NULL || used == NULL)
        status = itg_fail(err, ITG_NO_MEMORY, "%s: no memory to write it", name);
    if (status == ITG_OK) status = itg_onnx_writer_create(p->name, ITG_VERSION, &w, err);
    if (status == ITG_OK) {
        itg_onnx_writer_opset(w, "", 17);
        itg_onnx_writer_opset(w, ITG_ARTEFACT_DOMAIN, ITG_ARTEFACT_VERSION);
        write_ends(p, w);
        write_metadata(p, metadata, count, w);
        status = write_constants(p, w, used, err);
        if (status == ITG_OK) status = write_output_keys(p, w, err);
        if (status == ITG_OK) status = write_steps(&view, w, names, err);
        if (status == ITG_OK)
            status = itg_onnx_writer_pack(w, name, out, err);
        else
            itg_prefix_error(err, status, "%s", name);
    }
    itg_onnx_writer_destroy(w);
    free(names);
    free(used);
    return status;
}

itg_status itg_artefact_write(const itg_program *p, const itg_metadata *metadata, int32_t count,
                              const char *path, itg_error *err)
{
    itg_buffer packed = {0};
    itg_status status = itg_artefact_pack(p, metadata, count, path, &packed, err);
    if (status == ITG_OK) status = itg_file_write(path, packed.data, packed.bytes, err);
    free(packed.data);
    return status;
}
