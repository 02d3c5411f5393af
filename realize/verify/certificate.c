#include "realize/verify/certificate.h"
#include <stdlib.h>
#include <string.h>

/* Operators without accumulator (docs/artefact.md); Lut... and Float... are known by prefix. */
static const char *const others[] = {
    "Quantize",
    "Dequantize",
    "IntMaxPool",
    "IntGlobalMaxPool",
    "IntReduceMax",
    "IntArgMax",
    "IntReshape",
    "IntFlatten",
    "IntSqueeze",
    "IntUnsqueeze",
    "IntIdentity",
    "IntDropout",
    "IntTranspose",
    "IntSlice",
    "IntGather",
    "IntExpand",
    "IntConcat",
    "IntSplit",
    "IntPad",
    "IntConv",
    "IntMatMul",
    "IntAdd",
    "IntSub",
    "IntMul",
    "IntRelu",
    "IntClip",
    "IntAveragePool",
    "IntGlobalAveragePool",
    "IntReduceMean",
    "IntSoftmax",
    "IntLayerNormalization",
};

static bool is_known(const char *type)
{
    if (strncmp(type, "Lut", 3) == 0 || strncmp(type, "Float", 5) == 0) return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i], type) == 0) return true;
    return false;
}

/* Checks that every node's operator is known and its inputs were made before. */
static void check_nodes(itg_view *v)
{
    for (v->node = 0; v->node < v->file->node_count; v->node++) {
        const itg_onnx_node *node = itg_view_node(v);
        if (strcmp(node->domain, "ai.intaglio") != 0 || !is_known(node->op_type))
            itg_view_problem(v, "unknown operator %s.%s", node->domain, node->op_type);
        for (int32_t i = 0; i < node->input_count; i++)
            (void)itg_view_input(v, i);
    }
    v->node = -1;
}

/* Checks that constants that are read as codes are in their quantizer's range. */
static void check_constants(itg_view *v)
{
    for (v->node = 0; v->node < v->file->node_count; v->node++)
        for (int32_t i = 0; i < itg_view_node(v)->input_count; i++) {
            const itg_view_value *value = itg_view_input(v, i);
            itg_view_codes q;
            int64_t elements = 0;
            if (value == NULL || value->constant == NULL || !itg_view_input_codes(v, i, &q) ||
                !itg_shape_elements(&value->shape, &elements))
                continue;
            for (int64_t k = 0; k < elements; k++) {
                int64_t code = itg_load(value->constant->dtype, value->constant->data, k);
                if (code >= q.qmin && code <= q.qmax) continue;
                itg_view_problem(v,
                                 "constant '%.100s': element %lld is %lld, outside of [%lld,%lld]",
                                 value->name, (long long)k, (long long)code, (long long)q.qmin,
                                 (long long)q.qmax);
                break;
            }
        }
    v->node = -1;
}

static void check_version(itg_view *v)
{
    for (int32_t i = 0; i < v->file->opset_count; i++)
        if (strcmp(v->file->opset_domain[i], "ai.intaglio") == 0 && v->file->opset_version[i] == 1)
            return;
    itg_view_problem(v, "no artefact of version 1 of the domain ai.intaglio");
}

void itg_certificate_end(itg_strbuf *text)
{
    unsigned char hash[32];
    if (!itg_strbuf_ok(text)) return;
    itg_sha256_of(text->text, text->length, hash);
    itg_strbuf_add(text, "\"sha256\": ");
    itg_certificate_hash(text, hash);
    itg_strbuf_add(text, "\n}\n");
}

/* Returns the file's size, after checking that its hash is still the same. */
static itg_status size_of(const char *path, const unsigned char hash[32], size_t *out,
                          itg_error *err)
{
    unsigned char *data = NULL, again[32];
    itg_status status = itg_file_read(path, SIZE_MAX / 2, &data, out, err);
    if (status != ITG_OK) return status;
    itg_sha256_of(data, *out, again);
    free(data);
    if (memcmp(hash, again, sizeof again) != 0)
        return itg_fail(err, ITG_IO, "%s: it changed while it was read", path);
    return ITG_OK;
}

itg_status itg_certificate_derive(const char *artefact, itg_certificate *out, itg_error *err)
{
    size_t bytes = 0;
    itg_status status = itg_onnx_file_read(artefact, &out->file, err);
    if (status == ITG_OK) status = size_of(artefact, out->file->hash, &bytes, err);
    if (status == ITG_OK) status = itg_view_init(&out->view, out->file, err);
    if (status != ITG_OK) return status;
    check_version(&out->view);
    check_nodes(&out->view);
    check_constants(&out->view);
    itg_strbuf_add(&out->text, "{\n");
    itg_certificate_identity(out, bytes);
    itg_certificate_tables(out);
    itg_certificate_sums(out);
    itg_certificate_end(&out->text);
    if (out->view.failed || !itg_strbuf_ok(&out->text))
        return itg_fail(err, ITG_NO_MEMORY, "%s: no memory for its certificate", artefact);
    return ITG_OK;
}

void itg_certificate_deinit(itg_certificate *c)
{
    itg_view_deinit(&c->view);
    itg_onnx_file_destroy(c->file);
    itg_strbuf_deinit(&c->text);
    memset(c, 0, sizeof *c);
}
