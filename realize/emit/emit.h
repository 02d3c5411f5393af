/* Writes a program as freestanding C99 (docs/emit-c.md). Private to realize/emit.
 *
 * Buffers hold codes. A value has one buffer, and a second one if a step needs the other layout.
 * Buffers of window operators have channels innermost ("last"), others are row-major. A layer is a
 * function of the C source: a step of the program, or a conversion between layouts. */
#ifndef ITG_EMIT_H
#define ITG_EMIT_H
#include "base/flow.h"
#include "realize/geometry.h"
#include "graph/names.h"

#define ITG_EMIT_NAME 64 /* bytes of an identifier, terminator included */

typedef enum itg_emit_place { ITG_EMIT_ARENA, ITG_EMIT_INPUT, ITG_EMIT_OUTPUT } itg_emit_place;

typedef struct itg_emit_buffer {
    int32_t value;        /* of the program: type, shape, quantizer */
    bool last;            /* channels innermost */
    int32_t root;         /* the buffer whose memory it is: itself, but for reshapes, and for parts
                             of arguments */
    int64_t start;        /* elements into the root */
    itg_emit_place place; /* of roots */
    int32_t index;        /* of the argument, for inputs and outputs */
    size_t offset;        /* bytes into the arena */
} itg_emit_buffer;

typedef struct itg_emit_layer {
    const itg_step *step; /* NULL: a copy of input 0 into output 0 in another layout */
    char name[ITG_EMIT_NAME];
    int32_t first;             /* the first layer with the same function */
    bool free;                 /* its outputs are in place already: it has no function */
    int32_t *inputs, *outputs; /* buffers; ITG_NONE: a constant */
    int32_t input_count, output_count;
    size_t scratch_bytes, scratch_offset; /* as measured, and in the plan */
    /* Positions of a convolution (rows of a product) and filters at a time; 0: what is quickest.
     * held: filters unpacked at a time for all positions; 0: a tile of `rows` for each block. */
    int64_t block, rows, held;
    int64_t macs, weight_bytes, constant_bytes;
} itg_emit_layer;

/* One argument of NAME_run: codes. */
typedef struct itg_emit_argument {
    int32_t value, buffer;
    int32_t model_input; /* inputs: of the program */
    char name[ITG_EMIT_NAME], upper[2 * ITG_EMIT_NAME];
} itg_emit_argument;

/* Programs of fewer codes of weights are small beside code that is quicker but larger. Below
 * MEDIUM, loops of products are not unrolled, most of them where size counts; below SMALL, nothing
 * is taken a word at a time where size counts. */
enum { ITG_EMIT_SMALL = 8192, ITG_EMIT_MEDIUM = 32768 };

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
    itg_flow flow; /* what is in it: tensor i is buffer i, then one a layer for scratch */
    /* Text */
    itg_names needed;            /* helpers that are there already */
    itg_names arrays, functions; /* their texts, and the layers that wrote them */
    itg_names constants;         /* packed ones and their numbers */
    int32_t constant_count;
    itg_names cores; /* signatures of requantizations and their numbers */
    int32_t core_count;
    itg_strbuf data, helpers, body;
    itg_emit_layer *layer;  /* being written */
    size_t scratch_taken;   /* of the layer's */
    int64_t dense_codes[9]; /* by width: of layers that use each weight once (c_dense.c) */
    int64_t stay_codes[9];  /* of those of two positions at a time (c_in_place.c) */
    int64_t codes;          /* of all constant weights */
    bool spread;            /* some convolution's taps are apart, or see a group's channels alone */
    bool *unpacked;         /* [value]: of weights that some layer unpacks for its own use */
    bool failed;            /* no memory */
    itg_status status;      /* the first failure; ask itg_emit_status */
    bool wide_windows;      /* some window does not fit 16 bits */
    itg_error *err;
} itg_emitter;

/* ---- failures (text.c) ---- */
/* Records the failure "program: what 'name': why", if it is the first. */
void itg_emit_fail(itg_emitter *e, itg_status status, const char *what, const char *name,
                   const char *why);
itg_status itg_emit_status(itg_emitter *e); /* the first failure, or ITG_OK */

/* ---- naming and text (text.c) ---- */
/* Returns formatted text in the arena. Without memory, returns "" and sets e->failed. */
const char *itg_emit_text(itg_emitter *e, const char *format, ...) ITG_PRINTF(2, 3);
void *itg_emit_alloc(itg_emitter *e, size_t count, size_t size); /* zeroed; NULL is remembered */
/* Makes a C identifier of at most ITG_EMIT_NAME - 16 characters from a name. */
void itg_emit_identifier(const char *name, char out[ITG_EMIT_NAME]);
void itg_emit_upper(const char *name, char out[ITG_EMIT_NAME]);
bool itg_emit_needs(itg_emitter *e, const char *helper); /* true: write it now */
const char *itg_emit_ctype(itg_dtype type);              /* "int8_t" */
/* Appends text with $1 to $9 replaced by the arguments, a NULL-terminated list. */
void itg_emit_template(itg_strbuf *out, const char *text, ...);
/* Write helpers for CPUs that compute two products at once, and widen_TYPE (8 or 16 bits).
 * (c_rows.c) */
void itg_emit_pairs(itg_emitter *e);
void itg_emit_widen(itg_emitter *e, itg_dtype type);
void itg_emit_four(itg_emitter *e, itg_dtype type); /* four_TYPE, of a word of bytes */
/* Returns the layer, this one or an earlier one, that was first to write a text. */
int32_t itg_emit_first(itg_emitter *e, itg_names *texts, const char *text);
itg_dtype itg_emit_smallest(const int64_t *values, int64_t count); /* type that holds all */
/* Returns the name of an array of these values, of the smallest type. Writes it, as LAYER_what, to
 * e->data if no layer has such a `what`, and adds its bytes to the layer's. */
const char *itg_emit_array(itg_emitter *e, const char *what, const int64_t *values, int64_t count);
/* Returns the text "name[index]" of such an array; the number if all are equal. */
const char *itg_emit_channel(itg_emitter *e, const char *what, const int64_t *values, int64_t count,
                             const char *index);
const char *itg_emit_number(itg_emitter *e, int64_t v); /* a literal of any int64 */
/* Returns the numbers of a constant, in the arena; NULL if the emitter has failed. (c_norm.c) */
int64_t *itg_emit_numbers(itg_emitter *e, const itg_pvalue *v);
/* Reserves scratch of the layer and returns the text of its pointer: "arena.s16 + 12". */
const char *itg_emit_scratch(itg_emitter *e, itg_dtype type, int64_t count);
/* Returns the bytes that itg_emit_scratch reserves. */
size_t itg_emit_room(itg_dtype type, int64_t count);
/* Nested loops over dims. Dims of extent 1 are dropped and neighbours are merged. Opening them sets
 * the index text of each operand and returns the number of braces to close. */
typedef struct itg_emit_loops {
    int32_t rank;
    int64_t dims[ITG_MAX_RANK], stride[3][ITG_MAX_RANK];
} itg_emit_loops;
itg_emit_loops itg_emit_merged(const itg_emit_loops *loops, int32_t operands);
int32_t itg_emit_open(itg_emitter *e, const itg_emit_loops *loops, int32_t operands, char tag,
                      int32_t indent, const char *index[3]);
void itg_emit_close(itg_emitter *e, int32_t braces, int32_t indent);
/* Returns loops over a shape in memory order. Strides of the operands are by logical dim. */
itg_emit_loops itg_emit_loops_over(const itg_shape *shape, bool last,
                                   int64_t strides[3][ITG_MAX_RANK]);

/* ---- layout (c_plan.c) ---- */
/* Determines arguments, layers, the places of buffers and scratch, and the size of the arena,
 * without writing text. Returns ITG_UNSUPPORTED if C source cannot express the program. */
itg_status itg_emit_lay_out(itg_emitter *e); /* c_layout.c */
void itg_emit_plan(itg_emitter *e);
/* Places all buffers and chooses the positions at a time. Every layer's scratch must be known.
 * (c_place.c) */
void itg_emit_place_all(itg_emitter *e);
/* Computes the strides, in elements, of the logical dims of a buffer. */
void itg_emit_strides(const itg_shape *shape, bool last, int64_t stride[ITG_MAX_RANK]);
const char *itg_emit_pointer(itg_emitter *e, int32_t buffer);
/* Whether both layouts of the buffer are the same bytes. */
bool itg_emit_layouts_coincide(const itg_emitter *e, int32_t buffer);

/* ---- operands ---- */
/* An operand of a layer. */
typedef struct itg_emit_operand {
    const char *name;
    itg_dtype type;
    int64_t zero;
    int64_t lo, hi; /* of code - zero as the layer computes it */
    bool last;
    const itg_shape *shape;
} itg_emit_operand;
/* Returns an operand. Writes code that unpacks a constant into scratch; centered: minus its zero
 * point. */
itg_emit_operand itg_emit_read(itg_emitter *e, const itg_emit_layer *l, int32_t slot,
                               bool centered);
/* Computes the strides for reading the operand under the dims of `to`; 0 where it broadcasts. */
void itg_emit_broadcast_strides(const itg_emit_operand *x, const itg_shape *to,
                                int64_t out[ITG_MAX_RANK]);
const char *itg_emit_output(itg_emitter *e, const itg_emit_layer *l, int32_t slot);
bool itg_emit_output_last(const itg_emitter *e, const itg_emit_layer *l, int32_t slot);
/* Writes statements that compute a code of every output from `text`, a native result of type sum.
 */
void itg_emit_codes(itg_emitter *e, const itg_emit_layer *l, int32_t indent, itg_dtype sum,
                    const char *text, const char *index);
/* Returns the name of an argument in the layer's function: "x", or "x0", "x1"... */
const char *itg_emit_input_name(itg_emitter *e, const itg_emit_layer *l, int32_t slot);

/* ---- packed constants (c_pack.c) ---- */
/* Writes the codes of a constant once and returns the array's name. Element i is code order[i]
 * (NULL: i). tag names the order: 'n' unchanged, 'r' filter, tap, channel, 'd' tap, filter, 't'
 * transposed. */
const char *itg_emit_packed(itg_emitter *e, int32_t value, const int64_t *order, char tag);
/* Returns the name of an array of the constant; `how` is part of it. */
const char *itg_emit_constant_name(itg_emitter *e, int32_t value, char tag, const char *how);
/* Writes an array of the constant, which counts among the layer's weights. */
void itg_emit_bytes(itg_emitter *e, int32_t value, const char *name, const char *attribute,
                    const unsigned char *bytes, int64_t count);
/* Returns element i of the constant as it is stored: a code less the least one. */
uint64_t itg_emit_raw_code(const itg_pvalue *v, const int64_t *order, int64_t i);
/* Whether some constant has codes of `least` to `most` bits. */
bool itg_emit_has_bits(const itg_program *p, int32_t least, int32_t most);
/* Weights with zero points (itg_has_zero_points): how far each scale's least code, or 0, lies below
 * 0; codes are stored plus that. NULL: others. */
const int64_t *itg_emit_zero_points(itg_emitter *e, int32_t value);
/* The code that is stored as 0. */
int64_t itg_emit_least_code(const itg_pvalue *v);
/* Writes a call that unpacks codes [first, first + count), minus `subtract`, into `out`. */
void itg_emit_unpack(itg_emitter *e, int32_t indent, int32_t value, const char *name,
                     const char *first, const char *count, int64_t subtract, itg_dtype type,
                     const char *out);

/* ---- requantization (c_requant.c) ---- */
typedef struct itg_emit_sets {
    const itg_step *step;       /* for messages */
    const char *suffix;         /* of the names of arrays */
    const itg_requant *requant; /* [count] */
    int64_t count;
    const char *index;   /* how the text names the one at hand */
    const char *bias;    /* NULL: one sum; else v is a row of `count` S32 sums, which get this bias
                            first and become codes where they are */
    int64_t least, most; /* of the sums */
    itg_dtype sum, code; /* S32 or S64 */
    int64_t zero, lo, hi;
} itg_emit_sets;
/* Returns "requantize(v, m, s, zero, lo, hi)" for the text v of a sum. Writes the helper if needed.
 */
const char *itg_emit_sets_text(itg_emitter *e, const itg_emit_sets *sets, const char *v);
/* The same for an output of a step, with constants [first, first + sets) or its only set. */
const char *itg_emit_requantize(itg_emitter *e, const itg_step *s, int32_t output, int64_t first,
                                int64_t sets, itg_dtype sum, const char *index, const char *v,
                                const char *bias);
/* Computes the range of a step's native result after its accumulator. */
void itg_emit_native_range(const itg_step *s, int64_t *lo, int64_t *hi);
/* Returns "fit(v)" if the accumulator may wrap around, else v. */
const char *itg_emit_fit(itg_emitter *e, const itg_step *s, itg_dtype sum, const char *v);
const char *itg_emit_rounding(itg_emitter *e, itg_rounding rounding, bool wide);

/* ---- windows (c_window.c) ---- */
/* Writes `static const window shape = {...}` in the function, and returns its name. */
const char *itg_emit_window(itg_emitter *e, int32_t indent, const itg_window *w);
/* Opens a loop over images if there are several. Sets *in and *out to texts that are appended to
 * the pointers of input and output. Returns the number of braces to close. */
int32_t itg_emit_images(itg_emitter *e, const itg_window_view *v, const char **in,
                        const char **out);

/* ---- scratch (c_layout.c) ---- */
size_t itg_emit_mac_scratch(itg_emitter *e, const itg_emit_layer *l);
/* Chooses l->block and l->rows, and sets l->scratch_bytes, to at most `most` if possible. Leaves
 * layers of other kinds unchanged. (c_mac.c) */
void itg_emit_mac_fit(itg_emitter *e, itg_emit_layer *l, uint64_t most);
/* The same if `most` bytes are free anyway: chooses what takes the fewest instructions. again:
 * whether the input may be read again after an output was written. (c_spend.c) */
void itg_emit_mac_spend(itg_emitter *e, itg_emit_layer *l, uint64_t most, bool again);
/* Whether the layer takes fewer instructions with `behind` bytes of scratch and its output over its
 * input than with `apart` bytes (at most `behind`) and both apart. (c_spend.c) */
bool itg_emit_mac_overlap_helps(itg_emitter *e, const itg_emit_layer *l, uint64_t apart,
                                uint64_t behind);
/* An estimate of a layer's instructions, 0 for other kinds. Needs l->macs. (c_spend.c) */
double itg_emit_mac_work(itg_emitter *e, const itg_emit_layer *l);
/* Whether output 0 may overlap input 0 if it begins *bytes before it, so that no block overwrites
 * what is read later. (c_mac.c) */
bool itg_emit_mac_behind(itg_emitter *e, const itg_emit_layer *l, int64_t *bytes);
itg_dtype itg_emit_constant_type(const itg_pvalue *v, bool centered);  /* once unpacked */
itg_dtype itg_emit_mean_type(const itg_program *p, const itg_step *s); /* of its sums */

/* ---- layers: the text of a function's body ---- */
void itg_emit_mac(itg_emitter *e, const itg_emit_layer *l);
void itg_emit_binary(itg_emitter *e, const itg_emit_layer *l);
void itg_emit_clip(itg_emitter *e, const itg_emit_layer *l);
void itg_emit_lut(itg_emitter *e, const itg_emit_layer *l);
void itg_emit_mean(itg_emitter *e, const itg_emit_layer *l);
void itg_emit_max(itg_emitter *e, const itg_emit_layer *l); /* ArgMax too */
void itg_emit_softmax(itg_emitter *e, const itg_emit_layer *l);
void itg_emit_tflite_softmax(itg_emitter *e, const itg_emit_layer *l);
void itg_emit_layer_norm(itg_emitter *e, const itg_emit_layer *l);
void itg_emit_move(itg_emitter *e, const itg_emit_layer *l);
void itg_emit_copy(itg_emitter *e, const itg_emit_layer *l);

/* ---- files ---- */
/* Writes the text of NAME.c and NAME.h. */
itg_status itg_program_source(const itg_program *p, const char *name, itg_strbuf *source,
                              itg_strbuf *header, itg_error *err);
/* Writes the text of the certificate of the files in the folder. (certify.c) */
itg_status itg_source_certificate(const itg_verification *v, const char *directory,
                                  const char *name, itg_strbuf *out, itg_error *err);
/* Appends "void NAME_run(inputs, outputs)", for declaration and definition. */
void itg_emit_prototype(itg_emitter *e, itg_strbuf *out);
void itg_emit_run(itg_emitter *e, itg_strbuf *out); /* the definition (c_run.c) */
void itg_emit_header(itg_emitter *e, itg_strbuf *out);
void itg_emit_report(itg_emitter *e, itg_strbuf *out);
itg_status itg_emit_selftest(itg_emitter *e, const itg_emit_vectors *vectors, itg_strbuf *out);

#define ITG_EMIT_FORMAT(e, ...) itg_strbuf_format(&(e)->body, __VA_ARGS__)
#endif
