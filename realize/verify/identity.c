/* The certificate's hashes: of the file, of its sources, and of each of its parts, so that an edit
 * can be located. */
#include "realize/verify/certificate.h"
#include <string.h>

#define KEY_ENGINE "intaglio.engine"
#define KEY_MODEL "intaglio.model_hash"
#define KEY_GRAPH "intaglio.graph_hash"
#define KEY_STRATEGY "intaglio.strategy_hash"
#define KEY_HARDWARE "intaglio.hardware"

void itg_certificate_hash(itg_strbuf *out, const unsigned char hash[32])
{
    char hex[65];
    itg_sha256_hex(hash, hex);
    itg_strbuf_format(out, "\"%s\"", hex);
}

static const char *metadata(const itg_certificate *c, const char *key)
{
    for (int32_t i = 0; i < c->file->metadata_count; i++)
        if (strcmp(c->file->metadata_key[i], key) == 0) return c->file->metadata_value[i];
    return NULL;
}

/* Adds a line with a text of the metadata; null: absent. */
static void add_known(itg_certificate *c, const char *name, const char *key)
{
    const char *text = metadata(c, key);
    itg_strbuf_format(&c->text, "\"%s\": ", name);
    if (text == NULL)
        itg_strbuf_add(&c->text, "null");
    else
        itg_strbuf_json_string(&c->text, text);
    itg_strbuf_add(&c->text, ",\n");
}

static void hash_text(itg_sha256 *h, const char *text)
{
    uint64_t length = strlen(text);
    unsigned char bytes[8];
    itg_copy_little_endian(bytes, &length, 1, sizeof length);
    itg_sha256_update(h, bytes, sizeof bytes);
    itg_sha256_update(h, text, (size_t)length);
}

/* Hashes elements as little-endian bytes, in pieces. */
static void hash_elements(itg_sha256 *h, const void *data, int64_t count, size_t size)
{
    unsigned char piece[4096];
    const unsigned char *from = data;
    int64_t most = (int64_t)(sizeof piece / size);
    for (int64_t at = 0; at < count;) {
        int64_t now = count - at < most ? count - at : most;
        itg_copy_little_endian(piece, from + (size_t)at * size, (size_t)now, size);
        itg_sha256_update(h, piece, (size_t)now * size);
        at += now;
    }
}

static void finish(itg_strbuf *out, itg_sha256 *h)
{
    unsigned char hash[32];
    itg_sha256_final(h, hash);
    itg_strbuf_add(out, "\"sha256\": ");
    itg_certificate_hash(out, hash);
}

static void separate(itg_strbuf *out, int32_t index)
{
    itg_strbuf_add(out, index > 0 ? ",\n " : "\n ");
}

static void add_metadata(itg_certificate *c)
{
    itg_strbuf_add(&c->text, "\"metadata\": [");
    for (int32_t i = 0; i < c->file->metadata_count; i++) {
        itg_sha256 h;
        separate(&c->text, i);
        itg_strbuf_add(&c->text, "{\"key\": ");
        itg_strbuf_json_string(&c->text, c->file->metadata_key[i]);
        itg_strbuf_add(&c->text, ", ");
        itg_sha256_init(&h);
        itg_sha256_update(&h, c->file->metadata_value[i], strlen(c->file->metadata_value[i]));
        finish(&c->text, &h);
        itg_strbuf_add(&c->text, "}");
    }
    itg_strbuf_add(&c->text, "\n],\n");
}

/* Adds type and shape, without a closing brace. */
static void add_type(itg_strbuf *out, itg_dtype dtype, const itg_shape *shape)
{
    itg_strbuf_format(out, "\"dtype\": \"%s\", \"shape\": [", itg_dtype_name(dtype));
    for (int32_t d = 0; d < shape->rank; d++)
        itg_strbuf_format(out, "%s%lld", d ? "," : "", (long long)shape->dims[d]);
    itg_strbuf_add(out, "]");
}

static void add_ends(itg_certificate *c, const char *name, const itg_onnx_value *values,
                     int32_t count)
{
    itg_strbuf_format(&c->text, "\"%s\": [", name);
    for (int32_t i = 0; i < count; i++) {
        separate(&c->text, i);
        itg_strbuf_add(&c->text, "{\"name\": ");
        itg_strbuf_json_string(&c->text, values[i].name);
        itg_strbuf_add(&c->text, ", ");
        add_type(&c->text, values[i].dtype, &values[i].shape);
        itg_strbuf_add(&c->text, "}");
    }
    itg_strbuf_add(&c->text, "\n],\n");
}

/* Adds the SHA-256 of each tensor's elements, row-major, little-endian. */
static void add_tensors(itg_certificate *c)
{
    itg_strbuf_add(&c->text, "\"tensors\": [");
    for (int32_t i = 0; i < c->file->initializer_count; i++) {
        const itg_onnx_initializer *t = &c->file->initializers[i];
        int64_t elements = 0;
        itg_sha256 h;
        (void)itg_shape_elements(&t->tensor.shape, &elements);
        separate(&c->text, i);
        itg_strbuf_add(&c->text, "{\"name\": ");
        itg_strbuf_json_string(&c->text, t->name);
        itg_strbuf_add(&c->text, ", ");
        add_type(&c->text, t->tensor.dtype, &t->tensor.shape);
        itg_strbuf_add(&c->text, ", ");
        itg_sha256_init(&h);
        hash_elements(&h, t->tensor.data, elements, itg_dtype_size(t->tensor.dtype));
        finish(&c->text, &h);
        itg_strbuf_add(&c->text, "}");
    }
    itg_strbuf_add(&c->text, "\n],\n");
}

static void hash_number(itg_sha256 *h, int64_t v)
{
    hash_elements(h, &v, 1, sizeof v);
}

static void hash_attr(itg_sha256 *h, const itg_onnx_attr *a)
{
    hash_text(h, a->name);
    hash_number(h, (int64_t)a->type);
    switch (a->type) {
    case ITG_ATTR_INT:
        hash_number(h, a->i);
        break;
    case ITG_ATTR_FLOAT:
        hash_elements(h, &a->f, 1, sizeof a->f);
        break;
    case ITG_ATTR_STRING:
        hash_text(h, a->s);
        break;
    case ITG_ATTR_INTS:
        hash_number(h, a->count);
        hash_elements(h, a->ints, a->count, sizeof *a->ints);
        break;
    case ITG_ATTR_FLOATS:
        hash_number(h, a->count);
        hash_elements(h, a->floats, a->count, sizeof *a->floats);
        break;
    default: /* artefacts have no others; the file's hash covers them */
        break;
    }
}

static void hash_names(itg_sha256 *h, const char *const *names, int32_t count)
{
    hash_number(h, count);
    for (int32_t i = 0; i < count; i++)
        hash_text(h, names[i]);
}

/* Hashes domain, type, name, inputs, outputs and attributes of each node. A text is preceded by its
 * length; numbers are 8 bytes, little-endian. */
static void add_nodes(itg_certificate *c)
{
    itg_strbuf_add(&c->text, "\"nodes\": [");
    for (int32_t i = 0; i < c->file->node_count; i++) {
        const itg_onnx_node *n = &c->file->nodes[i];
        itg_sha256 h;
        separate(&c->text, i);
        itg_strbuf_add(&c->text, "{\"node\": ");
        itg_strbuf_json_string(&c->text, n->name);
        itg_strbuf_add(&c->text, ", \"type\": ");
        itg_strbuf_json_string(&c->text, n->op_type);
        itg_strbuf_add(&c->text, ", ");
        itg_sha256_init(&h);
        hash_text(&h, n->domain);
        hash_text(&h, n->op_type);
        hash_text(&h, n->name);
        hash_names(&h, n->inputs, n->input_count);
        hash_names(&h, n->outputs, n->output_count);
        for (int32_t k = 0; k < n->attr_count; k++)
            hash_attr(&h, &n->attrs[k]);
        finish(&c->text, &h);
        itg_strbuf_add(&c->text, "}");
    }
    itg_strbuf_add(&c->text, "\n],\n");
}

void itg_certificate_identity(itg_certificate *c, size_t bytes)
{
    itg_strbuf_format(&c->text, "\"kind\": \"intaglio-certificate\",\n\"version\": %d,\n",
                      ITG_CERTIFICATE_VERSION);
    add_known(c, "engine", KEY_ENGINE);
    itg_strbuf_format(&c->text, "\"artefact\": {\"bytes\": %zu, \"sha256\": ", bytes);
    itg_certificate_hash(&c->text, c->file->hash);
    itg_strbuf_add(&c->text, "},\n");
    add_known(c, "model_sha256", KEY_MODEL);
    add_known(c, "graph_sha256", KEY_GRAPH);
    add_known(c, "strategy_sha256", KEY_STRATEGY);
    const char *hardware = metadata(c, KEY_HARDWARE);
    itg_strbuf_add(&c->text, "\"hardware_sha256\": ");
    if (hardware != NULL) {
        unsigned char hash[32];
        itg_sha256_of(hardware, strlen(hardware), hash);
        itg_certificate_hash(&c->text, hash);
        itg_strbuf_add(&c->text, ",\n");
    } else {
        itg_strbuf_add(&c->text, "null,\n");
    }
    add_metadata(c);
    add_ends(c, "inputs", c->file->inputs, c->file->input_count);
    add_ends(c, "outputs", c->file->outputs, c->file->output_count);
    add_tensors(c);
    add_nodes(c);
}
