/* Checks the wire format (https://protobuf.dev/programming-guides/encoding/). The generated
 * descriptors are the schema. Invariant: position <= end of the innermost frame <= end of every
 * outer one. */
#include "graph/onnx/wire_scan.h"
#include "base/utf8.h"
#include "onnx.pb-c.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

typedef struct frame {
    const ProtobufCMessageDescriptor *type;
    size_t end;
    uint64_t seen; /* bit i: the single embedded message at field index i was read */
} frame;

typedef struct scan {
    const unsigned char *data;
    const char *source;
    size_t position;
    int32_t depth;
    int64_t messages, fields;
    frame stack[ITG_WIRE_MAX_DEPTH];
} scan;

typedef struct field {
    size_t start; /* of its tag */
    uint32_t number, wire;
    uint64_t length; /* WIRE_BYTES only */
    const ProtobufCFieldDescriptor *known;
} field;

static bool read_varint(scan *s, uint64_t *out)
{
    size_t end = s->stack[s->depth - 1].end;
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && s->position < end; shift += 7) {
        unsigned char byte = s->data[s->position++];
        if (shift == 63 && byte > 1) return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *out = value;
            return true;
        }
    }
    return false;
}

static itg_status bad_field(const scan *s, const field *f, itg_error *err, const char *problem)
{
    const char *type = s->stack[s->depth - 1].type->short_name;
    return itg_fail(err, ITG_BAD_FILE, "%s: byte %zu: field %u of %s %s", s->source, f->start,
                    (unsigned)f->number, type, problem);
}

/* Whether bytes are UTF-8 without NUL, which would end the C string early. */
static bool is_text(const unsigned char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes;) {
        size_t length = text[i] ? itg_utf8_length(text + i, bytes - i) : 0;
        if (length == 0) return false;
        i += length;
    }
    return true;
}

static uint32_t declared_wire(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return WIRE_BYTES;
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return WIRE_FIXED32;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return WIRE_FIXED64;
    default:
        return WIRE_VARINT;
    }
}

/* Reads a tag and, for scalars, the value. For WIRE_BYTES the position is left at the payload,
 * which lies within the frame. */
static itg_status read_field(scan *s, field *f, itg_error *err)
{
    const frame *top = &s->stack[s->depth - 1];
    uint64_t tag = 0, skipped;
    *f = (field){.start = s->position};
    if (!read_varint(s, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
        return itg_fail(err, ITG_BAD_FILE,
                        "%s: byte %zu: not a field of %s (not an ONNX file, or damaged)", s->source,
                        f->start, top->type->short_name);
    f->number = (uint32_t)tag >> 3;
    f->wire = (uint32_t)tag & 7;
    f->known = protobuf_c_message_descriptor_get_field(top->type, f->number);
    if (++s->fields > ITG_WIRE_MAX_FIELDS)
        return itg_fail(err, ITG_LIMIT, "%s: more than %lld fields", s->source,
                        (long long)ITG_WIRE_MAX_FIELDS);
    bool fits = true;
    if (f->wire == WIRE_VARINT) {
        fits = read_varint(s, &skipped);
    } else if (f->wire == WIRE_BYTES) {
        fits = read_varint(s, &f->length) && f->length <= top->end - s->position;
    } else if (f->wire == WIRE_FIXED32 || f->wire == WIRE_FIXED64) {
        size_t width = f->wire == WIRE_FIXED32 ? 4 : 8;
        fits = width <= top->end - s->position;
        if (fits) s->position += width;
    } else {
        return bad_field(s, f, err, "has a wire type that ONNX does not use");
    }
    return fits ? ITG_OK
                : bad_field(s, f, err,
                            "does not end within its message (file cut short or damaged)");
}

static itg_status enter_message(scan *s, const field *f, itg_error *err)
{
    frame *top = &s->stack[s->depth - 1];
    uint64_t bit = (uint64_t)1 << ((size_t)(f->known - top->type->fields) & 63);
    if (f->known->label != PROTOBUF_C_LABEL_REPEATED && top->seen & bit)
        return bad_field(s, f, err, "is there twice");
    top->seen |= bit;
    if (s->depth == ITG_WIRE_MAX_DEPTH)
        return itg_fail(err, ITG_LIMIT, "%s: byte %zu: nested deeper than %d messages", s->source,
                        f->start, ITG_WIRE_MAX_DEPTH);
    if (++s->messages > ITG_WIRE_MAX_MESSAGES)
        return itg_fail(err, ITG_LIMIT, "%s: more than %lld nodes, attributes and tensors",
                        s->source, (long long)ITG_WIRE_MAX_MESSAGES);
    s->stack[s->depth++] =
        (frame){.type = f->known->descriptor, .end = s->position + (size_t)f->length};
    return ITG_OK;
}

static itg_status scan_field(scan *s, itg_error *err)
{
    field f;
    itg_status status = read_field(s, &f, err);
    if (status != ITG_OK) return status;
    if (f.known) {
        bool is_packed = f.known->label == PROTOBUF_C_LABEL_REPEATED && f.wire == WIRE_BYTES;
        if (f.wire != declared_wire(f.known->type) && !is_packed)
            return bad_field(s, &f, err, "has the wrong wire type");
        if (f.known->type == PROTOBUF_C_TYPE_MESSAGE) return enter_message(s, &f, err);
        if (f.known->type == PROTOBUF_C_TYPE_STRING) {
            if (f.length > ITG_WIRE_MAX_STRING)
                return bad_field(s, &f, err, "is a string longer than 256 MiB");
            if (!is_text(s->data + s->position, (size_t)f.length))
                return bad_field(s, &f, err, "is not UTF-8 text");
        }
    }
    if (f.wire == WIRE_BYTES) s->position += (size_t)f.length;
    return ITG_OK;
}

itg_status itg_wire_scan(const unsigned char *data, size_t bytes, itg_wire_root root,
                         const char *source, itg_error *err)
{
    if (bytes > ITG_WIRE_MAX_BYTES)
        return itg_fail(err, ITG_LIMIT, "%s: %zu bytes; ONNX files have at most 2 GiB", source,
                        bytes);
    scan s = {.data = data, .source = source, .depth = 1};
    s.stack[0].type = root == ITG_WIRE_MODEL ? &itg_onnx__model_proto__descriptor
                                             : &itg_onnx__tensor_proto__descriptor;
    s.stack[0].end = bytes;
    while (s.depth > 0) {
        if (s.position == s.stack[s.depth - 1].end) {
            s.depth--;
            continue;
        }
        itg_status status = scan_field(&s, err);
        if (status != ITG_OK) return status;
    }
    return ITG_OK;
}
