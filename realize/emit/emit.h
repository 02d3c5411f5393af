/* A program as freestanding C99 (docs/emit-c.md). Private to realize/emit.
 *
 * Buffers hold codes: a program's value has one, and another where a step needs its other layout.
 * Channels lie innermost ("last") where a window operator reads or writes them, else row-major.
 * Layers are the functions of the C source: steps in order, and the conversions between layouts.
 */
#ifndef ITG_EMIT_H
#define ITG_EMIT_H
#include "realize/geometry.h"
#include "graph/names.h"

#define ITG_EMIT_NAME 64 /* bytes of an identifier, terminator included */

typedef enum itg_emit_place { ITG_EMIT_ARENA, ITG_EMIT_INPUT, ITG_EMIT_OUTPUT } itg_emit_place;

typedef struct itg_emit_buffer {
    int32_t value;        /* of the program: type, shape, quantizer */
    bool last;            /* channels innermost */
    int32_t root;         /* the buffer whose memory it is: itself, but for reshapes */
    itg_emit_place place; /* of roots */
    int32_t index;        /* of the argument, for inputs and outputs */
    size_t offset;        /* bytes into the arena */
} itg_emit_buffer;

typedef struct itg_emit_layer {
    const itg_step *step; /* NULL: a copy of input 0 into output 0 in another layout */
    char name[ITG_EMIT_NAME];
    int32_t *inputs, *outputs; /* buffers; ITG_NONE: a constant */
    int32_t input_count, output_count;
    size_t scratch_bytes, scratch_offset; /* itg_emit_measure's, and the plan's */
    int64_t macs, weight_bytes, constant_bytes;
} itg_emit_layer;

/* One argument of NAME_run: codes. */
typedef struct itg_emit_argument {
    int32_t value, buffer;
    int32_t model_input; /* inputs: of the program */
    char name[ITG_EMIT_NAME], upper[2 * ITG_EMIT_NAME];
} itg_emit_argument;

typedef struct itg_emitter {
    const itg_program *p;
    itg_arena *arena; /* what lives as long as the emitter */
    char name[ITG_EMIT_NAME], upper[ITG_EMIT_NAME];
    itg_emit_buffer *buffers;
    int32_t buffer_count, buffer_capacity;
    int32_t *buffer_of; /* [value]: its own, ITG_NONE */
    int32_t *other_of;  /* [value]: in the other layout */
    itg_emit_layer *layers;
    int32_t layer_count;
    itg_emit_argument *inputs, *outputs;
    int32_t input_count, output_count;
    size_t arena_bytes;
    /* Text */
    itg_names needed;    /* helpers and arrays that are there already */
    itg_names constants; /* packed ones and their numbers */
    int32_t constant_count;
    itg_names cores; /* signatures of requantizations and their numbers */
    int32_t core_count;
    itg_strbuf data, helpers, body;
    itg_emit_layer *layer; /* being written */
    size_t scratch_taken;  /* of the layer's */
    bool failed;           /* no memory */
    bool wide_windows;     /* some window does not fit 16 bits */
    itg_error *err;
} itg_emitter;

/* ---- naming and text (text.c) ---- */
/* Formatted text in the arena; "" without memory, which is remembered. */
const char *itg_emit_text(itg_emitter *e, const char *format, ...) ITG_PRINTF(2, 3);
void *itg_emit_alloc(itg_emitter *e, size_t count, size_t size); /* zeroed; NULL is remembered */
/* A C identifier from a name: at most ITG_EMIT_NAME - 16 characters. */
void itg_emit_identifier(const char *name, char out[ITG_EMIT_NAME]);
void itg_emit_upper(const char *name, char out[ITG_EMIT_NAME]);
bool itg_emit_needs(itg_emitter *e, const char *helper); /* true: write it now */
const char *itg_emit_ctype(itg_dtype type);              /* "int8_t" */
const char *itg_emit_short(itg_dtype type);              /* "s8" */
/* text with every $1..$9 replaced by its argument; NULL-terminated list. */
void itg_emit_template(itg_strbuf *out, const char *text, ...);
/* The smallest type that holds them all: "int8_t"...; *size: its bytes. */
const char *itg_emit_smallest(const int64_t *values, int64_t count, size_t *size);
/* static const TYPE name[count] = {...}; into e->data; counts its bytes with the layer. */
void itg_emit_array(itg_emitter *e, const char *name, const int64_t *values, int64_t count);
/* "name[index]" of such an array; the number itself where all are equal. */
const char *itg_emit_channel(itg_emitter *e, const char *what, const int64_t *values, int64_t count,
                             const char *index);
const char *itg_emit_number(itg_emitter *e, int64_t v); /* a literal of any int64 */
const char *itg_emit_member(itg_dtype type);            /* of the arena: "s8" */
/* Room in the layer's scratch; returns the text of a pointer to it: "arena.s16 + 12". */
const char *itg_emit_scratch(itg_emitter *e, itg_dtype type, int64_t count);
/* Bytes that it takes there. */
size_t itg_emit_room(itg_dtype type, int64_t count);
/* Nested loops over dims (those of extent 1 left out, neighbours merged), and the index text of
 * each of `count` operands with its strides. Returns the number of braces to close. */
typedef struct itg_emit_loops {
    int32_t rank;
    int64_t dims[ITG_MAX_RANK], stride[3][ITG_MAX_RANK];
} itg_emit_loops;
int32_t itg_emit_open(itg_emitter *e, const itg_emit_loops *loops, int32_t operands, char tag,
                      int32_t indent, const char *index[3]);
void itg_emit_close(itg_emitter *e, int32_t braces, int32_t indent);
/* Loops over a shape in the order in which it lies (`last`); strides of the operands by logical
 * dim. */
itg_emit_loops itg_emit_loops_over(const itg_shape *shape, bool last,
                                   int64_t strides[3][ITG_MAX_RANK]);

/* ---- layout (c_plan.c) ---- */
/* Arguments, layers, and the places of all buffers and scratch, without a line of text: the size of
 * the arena. ITG_UNSUPPORTED: C source cannot hold the program. */
itg_status itg_emit_lay_out(itg_emitter *e); /* c_layout.c */
itg_status itg_emit_plan(itg_emitter *e);
itg_status itg_emit_place_all(itg_emitter *e); /* after every layer's scratch is known */
/* Strides in elements of the logical dims of a buffer. */
void itg_emit_strides(const itg_shape *shape, bool last, int64_t stride[ITG_MAX_RANK]);
const char *itg_emit_pointer(itg_emitter *e, int32_t buffer);

/* ---- operands ---- */
/* What a layer reads: the name of a pointer, its element type, what is to be subtracted. */
typedef struct itg_emit_operand {
    const char *name;
    itg_dtype type;
    int64_t zero;
    int64_t lo, hi; /* of code - zero as the layer computes it */
    bool last;
    const itg_shape *shape;
} itg_emit_operand;
/* Constants are unpacked into scratch first, with the zero point taken off where `centered`. */
itg_emit_operand itg_emit_read(itg_emitter *e, const itg_emit_layer *l, int32_t slot,
                               bool centered);
const char *itg_emit_output(itg_emitter *e, const itg_emit_layer *l, int32_t slot);
bool itg_emit_output_last(const itg_emitter *e, const itg_emit_layer *l, int32_t slot);
/* How the function of a layer names an argument: "x", or "x0", "x1"... */
const char *itg_emit_input_name(itg_emitter *e, const itg_emit_layer *l, int32_t slot);

/* ---- packed constants (c_pack.c) ---- */
/* Writes the codes of a constant, once: element i is code order[i] (NULL: i); `tag` names the
 * order: 'n' as they are, 'r' filter, tap, channel, 'd' tap, filter, 't' transposed. Returns the
 * array's name. */
const char *itg_emit_packed(itg_emitter *e, int32_t value, const int64_t *order, char tag);
int64_t itg_emit_packed_bytes(const itg_pvalue *v);
/* A call that unpacks codes [first, first + count) of it, less `subtract`, into `out`. */
void itg_emit_unpack(itg_emitter *e, int32_t indent, int32_t value, const char *name,
                     const char *first, const char *count, int64_t subtract, itg_dtype type,
                     const char *out);

/* ---- requantization (c_requant.c) ---- */
typedef struct itg_emit_requant {
    const char *function;  /* name of the helper */
    const char *constants; /* ", m, s, zero, lo, hi": arguments behind the sum */
} itg_emit_requant;
typedef struct itg_emit_sets {
    const itg_step *step;       /* for messages */
    const char *suffix;         /* of the names of arrays */
    const itg_requant *requant; /* [count] */
    int64_t count;
    const char *index;   /* how the text names the one at hand */
    int64_t least, most; /* of the sums */
    itg_dtype sum, code; /* S32 or S64 */
    int64_t zero, lo, hi;
} itg_emit_sets;
itg_status itg_emit_sets_text(itg_emitter *e, const itg_emit_sets *sets, itg_emit_requant *out);
/* The same for an output of a step and its own range of sums: constants [first, first + sets), or
 * the only ones. */
itg_status itg_emit_requantize(itg_emitter *e, const itg_step *s, int32_t output, int64_t first,
                               int64_t sets, itg_dtype sum, const char *index,
                               itg_emit_requant *out);
/* Range of a step's native result after its accumulator. */
void itg_emit_native_range(const itg_step *s, int64_t *lo, int64_t *hi);
/* "fit(v)" text around an expression where the accumulator may overflow by wrapping. */
const char *itg_emit_fit(itg_emitter *e, const itg_step *s, itg_dtype sum, const char *v);
const char *itg_emit_rounding(itg_emitter *e, itg_rounding rounding, bool wide);

/* ---- windows (c_window.c) ---- */
/* Writes `static const window NAME_window = {...}` and returns its name. */
const char *itg_emit_window(itg_emitter *e, const itg_window *w);
/* Opens a loop over images where there are several; the offsets of input and output, to be put
 * behind pointers. Returns the braces to close. */
int32_t itg_emit_images(itg_emitter *e, const itg_window_view *v, const char **in,
                        const char **out);

/* ---- scratch (c_layout.c): what the bodies below will ask for ---- */
itg_status itg_emit_measure(itg_emitter *e, itg_emit_layer *l);
itg_status itg_emit_mac_scratch(itg_emitter *e, const itg_emit_layer *l, size_t *out);
itg_dtype itg_emit_constant_type(const itg_pvalue *v, bool centered);  /* once unpacked */
itg_dtype itg_emit_mean_type(const itg_program *p, const itg_step *s); /* of its sums */

/* ---- layers: the text of a function's body ---- */
itg_status itg_emit_mac(itg_emitter *e, const itg_emit_layer *l);
itg_status itg_emit_binary(itg_emitter *e, const itg_emit_layer *l);
itg_status itg_emit_clip(itg_emitter *e, const itg_emit_layer *l);
itg_status itg_emit_lut(itg_emitter *e, const itg_emit_layer *l);
itg_status itg_emit_mean(itg_emitter *e, const itg_emit_layer *l);
itg_status itg_emit_max(itg_emitter *e, const itg_emit_layer *l);
itg_status itg_emit_arg_max(itg_emitter *e, const itg_emit_layer *l);
itg_status itg_emit_move(itg_emitter *e, const itg_emit_layer *l);
itg_status itg_emit_copy(itg_emitter *e, const itg_emit_layer *l);

/* ---- files ---- */
/* NAME.c and NAME.h, as itg_program_emit_c writes them. */
itg_status itg_program_source(const itg_program *p, const char *name, itg_strbuf *source,
                              itg_strbuf *header, itg_error *err);
/* certify.c: the certificate's text, of the files in the folder as they are. */
itg_status itg_source_certificate(const itg_verification *v, const char *directory,
                                  const char *name, itg_strbuf *out, itg_error *err);
/* "void NAME_run(inputs, outputs)", of the declaration and the definition alike. */
void itg_emit_prototype(itg_emitter *e, itg_strbuf *out);
void itg_emit_header(itg_emitter *e, itg_strbuf *out);
void itg_emit_report(itg_emitter *e, itg_strbuf *out);
itg_status itg_emit_selftest(itg_emitter *e, const itg_emit_vectors *vectors, itg_strbuf *out);

#define ITG_EMIT_FORMAT(e, ...) itg_strbuf_format(&(e)->body, __VA_ARGS__)
#endif
