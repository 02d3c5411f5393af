/* Private to kernels/: how accel.h divides a problem into tiles, what a kernel set computes, and
 * how sums become codes.
 *
 * Inputs become unsigned bytes in padded planes ("digits": code + shift, least significant first);
 * weights minus their zero point become signed bytes (balanced digits). Then sum (x - zx)(w - zw) =
 * sum_ij 256^(i+j) sum x_i w_j - (zx + shift) sum (w - zw). The last term is constant, because
 * padding holds the zero point, and is added to the bias. */
#ifndef ITG_ACCEL_PARTS_H
#define ITG_ACCEL_PARTS_H
#include "kernels/accel.h"

/* Defined if the kernel sets of x86-64 are compiled. */
#if defined(__x86_64__) && defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 11)
#define ITG_ACCEL_X86 1
#endif

/* Defined if those of aarch64 are, little-endian (CMakeLists.txt gives their files the flags). */
#if defined(__aarch64__) && defined(__GNUC__) && !defined(__AARCH64EB__)
#define ITG_ACCEL_NEON 1
#endif

/* A tile of sums is `rows` (up to ITG_TILE_ROWS) pixels by up to ITG_TILE_COLUMNS channels, made of
 * panels of 16 weight columns. A step is 64 values of depth: panel[step][depth / 4][column][4], or
 * panel[step][depth / 8][column][8] where the set has `eights`. */
enum {
    ITG_TILE_ROWS = 128,
    ITG_BLOCK_ROWS = 32, /* a set may sum rows up to a multiple of this */
    ITG_TILE_COLUMNS = 32,
    ITG_TILE_SUMS = ITG_TILE_ROWS * ITG_TILE_COLUMNS, /* at most, DEPTHWISE too */
    ITG_PANEL_COLUMNS = 16,
    ITG_STEP_DEPTH = 64,
    ITG_STEP_BYTES = ITG_STEP_DEPTH * ITG_PANEL_COLUMNS,
    ITG_DEPTHWISE_COLUMNS = 64, /* channels of a depthwise tile; a step is 4 taps of each */
    ITG_DEPTHWISE_ROWS = ITG_TILE_SUMS / ITG_DEPTHWISE_COLUMNS,
    ITG_DEPTHWISE_TAPS = 4,
    ITG_DEPTHWISE_STEP_BYTES = ITG_DEPTHWISE_COLUMNS * ITG_DEPTHWISE_TAPS,
    ITG_MAX_COLUMNS = ITG_DEPTHWISE_COLUMNS,
    ITG_MAX_PHASES = 8 /* of an axis; strides above it take patches */
};

/* ---- shape (accel_shape.c): everything that follows from the problem alone ---- */
typedef enum itg_accel_scheme {
    ITG_SCHEME_REFERENCE,
    /* A plane is split by the phases of the strides, or by those of the rows alone. Row m of a tile
     * is pixel m * apart of a plane, so pixels beyond a row's outputs are summed too and then
     * dropped. A step reads 64 bytes at its offset, from one pixel or adjacent ones. */
    ITG_SCHEME_DIRECT,
    /* A pixel's window is copied to one row of a buffer. */
    ITG_SCHEME_PATCHES,
    ITG_SCHEME_DEPTHWISE, /* planes as in DIRECT; a pixel holds the input of every output channel */
    ITG_SCHEME_WINOGRAD   /* accel_winograd.c; no planes */
} itg_accel_scheme;

typedef struct itg_accel_axis {
    int64_t size, pad, outputs, kernel, stride, dilation;
    int64_t step;  /* padded pixels between neighbours in a plane: the stride, or 1 */
    int64_t reach; /* the last tap's distance from the first, in neighbours */
    int32_t phases;
    int64_t phase[ITG_MAX_PHASES];
} itg_accel_axis;

typedef struct itg_accel_shape {
    itg_accel_scheme scheme;
    itg_window w;
    itg_accel_axis y, x;
    bool folded;               /* 1x1: samples are further rows of one image */
    int64_t channels, filters; /* of a group */
    int64_t pixel, pitch;      /* bytes of a plane's pixel; pixels of a plane's row */
    int64_t apart;             /* DIRECT: pixels between two rows of a tile; divides the pitch */
    int64_t shared;            /* right padding shared with the next row's left padding */
    int64_t run_taps, runs;    /* taps with contiguous bytes; the number of such runs */
    int64_t run_steps, steps;
    int64_t columns, panel_columns, panels; /* of a tile; panels of a group */
    int64_t panel_bytes;                    /* of one digit of the weights */
    int64_t adjacent; /* values of depth that are adjacent in a panel's column: 4 or 8 */
    bool threes;      /* DEPTHWISE: a step is three neighbours of a row, and weights of zero */
    int32_t x_digits, w_digits;
    int64_t x_shift; /* code + shift is unsigned */
    bool wide;       /* sums in 64 bits */
    /* WINOGRAD: output rows of a tile, products of a tile; a step is two channels. */
    int64_t tile_rows, positions;
} itg_accel_shape;
itg_accel_shape itg_accel_shape_of(const itg_accel_kernels *kernels, const itg_accel_problem *p);
/* Whether a tile's sums are complete without joining digits. */
static inline bool itg_accel_is_single(const itg_accel_shape *t)
{
    return !t->wide && t->x_digits * t->w_digits == 1;
}
/* Values of depth up to the last that is not filling. */
int64_t itg_accel_depth(const itg_accel_shape *t);
/* Plane rows that `outputs` output rows read. */
int64_t itg_accel_rows(const itg_accel_axis *y, int64_t outputs);
/* Byte offset in a plane of `rows` rows at which tap (r, s) of output 0 lies. */
int64_t itg_accel_tap_offset(const itg_accel_shape *t, int64_t rows, int64_t r, int64_t s);
/* Number of rows in the buffer of patches. */
int64_t itg_accel_patch_rows(const itg_accel_shape *t);
/* Bytes of the weight sums in front of the packed digits (accel_pack.c). */
int64_t itg_accel_sums_bytes(const itg_accel_shape *t);
/* Bytes of one digit's plane, including the bytes that a tile reads beyond its end. */
int64_t itg_accel_plane_bytes(const itg_accel_shape *t, int64_t rows);

/* ---- lanes (accel_lanes.c): an epilogue as vectors of constants, one lane a channel ---- */
typedef enum itg_lanes_kind {
    ITG_LANES_GENERIC, /* itg_epilogue_row64 */
    ITG_LANES_STAGES,  /* v << left, shift[0], multiplier and shift[1], shift[2] */
    ITG_LANES_RATIO,
    ITG_LANES_DEQUANT
} itg_lanes_kind;

/* Arrays have one element a channel and ITG_MAX_COLUMNS more. NULL: the stage is absent. In narrow
 * lanes (32-bit sums) every value except the product fits 32 bits; in wide lanes every value fits
 * 63. */
typedef struct itg_lanes {
    itg_lanes_kind kind;
    itg_epilogue e;
    const int32_t *left, *multiplier, *shift[3];
    /* The constants of itg_round_shift_by for each shift: compilers vectorize loops over them. */
    const int64_t *by[3], *half[3], *keep[3];
    itg_rounding rounding[3];
    const float *ratio;
    int64_t low, high; /* of a code less its zero point */
    bool bytes;        /* codes, lo and hi are of 8 bits, and the zero point is small */
    /* Narrow STAGES to byte codes as accel_fuse.c defines them; NULL: not possible. */
    const int64_t *addend;
    bool doubling; /* shift[1] is 31 in all channels */
    bool tame;     /* RATIO: no |sum * ratio| reaches 2^30 */
} itg_lanes;

/* Input: sums of a tile. Output: codes. */
typedef struct itg_lanes_args {
    const itg_lanes *lanes;
    const int32_t *acc32; /* [rows][acc_stride]; NULL: acc64 */
    const int64_t *acc64;
    int64_t acc_stride, rows, columns;
    const int32_t *bias32; /* of the first channel */
    const int64_t *bias64;
    bool parts;         /* 64 columns, in parts: place 16 i + 4 j + k has column 16 j + 4 i + k */
    int32_t fit;        /* 32 (64) minus the accumulator's bits if it wraps, else 0 */
    int64_t channel;    /* of column 0 */
    unsigned char *out; /* of row 0, column 0 */
    int64_t out_stride; /* elements */
} itg_lanes_args;

/* Borrows the constants of e. bound: of |sum|. False: no memory. */
bool itg_lanes_init(itg_lanes *lanes, const itg_epilogue *e, int64_t channels, int64_t bound,
                    bool wide, itg_arena *arena);
/* Sets addend and doubling of narrow lanes of STAGES. product_bound: of every |v * multiplier|.
 * False: no memory. */
bool itg_lanes_fuse(itg_lanes *lanes, int64_t channels, uint64_t product_bound, itg_arena *arena);
/* True if 32-bit sums become byte codes as accel_bytes.h has it. */
bool itg_lanes_are_bytes(const itg_lanes *lanes);
void itg_lanes_generic(const itg_lanes_args *a);
void itg_lanes_portable(const itg_lanes_args *a);

/* ---- sums of bytes by tables ---- */
typedef struct itg_byte_table {
    int32_t value[256];
    uint8_t plane[4][256]; /* byte i of every value, least significant first */
} itg_byte_table;
static inline void itg_byte_table_set(itg_byte_table *t, uint8_t code, int32_t value)
{
    t->value[code] = value;
    for (int i = 0; i < 4; i++)
        t->plane[i][code] = (uint8_t)((uint32_t)value >> (8 * i));
}

/* out[i] = the code of table_a[a[i]] + (or -) table_b[b[i]], which fits 32 bits. */
typedef struct itg_byte_sum {
    const itg_byte_table *table_a, *table_b;
    const uint8_t *a, *b;
    int64_t n;
    bool subtracts;
    const itg_lanes *lanes; /* every column alike */
    const int32_t *none;    /* [ITG_MAX_COLUMNS] zeros */
    uint8_t *out;
} itg_byte_sum;

/* ---- products of 16 bits (accel_madd.h) ---- */
enum { ITG_PRODUCT_ROWS = 8 }; /* rows are read and written up to a multiple of this */

/* m[row][ITG_TILE_COLUMNS] = (adds ? m : 0) + sums of v[row][step][2] * u[step][column][2], modulo
 * 2^32. u is an array of panels. */
typedef struct itg_product {
    const int16_t *v, *u;
    int64_t v_stride, u_stride;
    int64_t rows, steps, panels;
    int32_t *m;
    bool adds;
} itg_product;

/* ---- Winograd (accel_winograd.c) ---- */
enum {
    ITG_WINOGRAD_COLUMNS = 4, /* outputs of a tile's row */
    ITG_WINOGRAD_POSITIONS = 36
};

/* Transforms one tile's inputs. Position i is written to v + i * stride, an even number of
 * channels. */
typedef struct itg_winograd_input {
    const uint8_t *pixel[ITG_WINOGRAD_POSITIONS]; /* row by row */
    int64_t channels, rows;                       /* rows: of outputs, 2 or 4 */
    bool flip;                                    /* codes are unsigned and get 128 subtracted */
    int16_t *v;
    int64_t stride;
} itg_winograd_input;

/* Transforms one tile's sums to outputs. Position i is read from m + i * stride. */
typedef struct itg_winograd_output {
    const int32_t *m;
    int64_t stride, panels, rows;
    int32_t *out[4 * ITG_WINOGRAD_COLUMNS]; /* pixels, row by row */
} itg_winograd_output;

typedef struct itg_winograd_kernels {
    void (*input)(const itg_winograd_input *a);
    void (*multiply)(const itg_product *a);
    void (*output)(const itg_winograd_output *a);
} itg_winograd_kernels;

/* Selects Winograd if it is possible and faster. most_weight: the maximum of |w - zero point|. */
bool itg_winograd_choose(itg_accel_shape *t, const itg_accel_kernels *kernels,
                         const itg_accel_problem *p, int64_t most_weight);
void itg_winograd_pack(const itg_accel_shape *t, const itg_accel_problem *p, int64_t *sums,
                       int8_t *panels);
size_t itg_winograd_scratch(const itg_accel_layer *layer);
void itg_winograd_run(const itg_accel_layer *layer, const void *x, void *const *y, int64_t samples,
                      void *scratch);

/* ---- kernel sets ---- */
typedef struct itg_accel_tile {
    const uint8_t *a;      /* row 0 */
    int64_t a_stride;      /* bytes between rows */
    const int64_t *offset; /* [steps], DEPTHWISE [steps * 4]: bytes from a row */
    int64_t steps, depth;  /* weights beyond this depth are zero */
    int64_t run_steps;     /* of a run, whose bytes lie one behind the other */
    const int8_t *b;       /* the first panel */
    int64_t b_stride;      /* bytes between panels */
    int64_t rows, panels;  /* rows up to a multiple of ITG_BLOCK_ROWS may be read and written */
    int32_t *c;            /* [ITG_TILE_SUMS], rows of all columns: set, modulo 2^32 */
    /* DEPTHWISE: rows are pixels of lines of `width`, the first `left` of one line; from one line
     * to the next it is `gap` bytes more than from pixel to pixel. */
    int64_t width, left, gap;
    int64_t columns; /* DEPTHWISE: those that are wanted; further ones may be set, too */
    bool threes;     /* as the shape's */
    bool parts;      /* sums are wanted in parts (itg_lanes_args) */
} itg_accel_tile;
/* Runs a function for each ITG_BLOCK_ROWS rows of a tile that is not DEPTHWISE. */
static inline void itg_accel_by_blocks(const itg_accel_tile *t,
                                       void (*run)(const itg_accel_tile *block))
{
    itg_accel_tile block = *t;
    for (int64_t left = t->rows; left > 0; left -= ITG_BLOCK_ROWS) {
        block.rows = left < ITG_BLOCK_ROWS ? left : ITG_BLOCK_ROWS;
        run(&block);
        block.a += ITG_BLOCK_ROWS * block.a_stride;
        block.c += ITG_BLOCK_ROWS * ITG_TILE_COLUMNS;
    }
}
/* A row of a depthwise tile, and how many the line has from it on. */
typedef struct itg_accel_row {
    const uint8_t *a;
    int64_t left;
} itg_accel_row;
static inline void itg_accel_next_row(const itg_accel_tile *t, itg_accel_row *row)
{
    row->a += t->a_stride;
    if (--row->left > 0) return;
    row->a += t->gap;
    row->left = t->width;
}
/* Values of a run that are not filling. */
static inline int64_t itg_accel_run_depth(const itg_accel_tile *t)
{
    return t->depth - (t->steps - t->run_steps) * ITG_STEP_DEPTH;
}

struct itg_accel_kernels {
    const char *name;
    bool (*usable)(void); /* by processor and system */
    void (*begin)(void);  /* NULL: nothing to do before and after tiles on a thread */
    void (*end)(void);
    bool eights;         /* see ITG_TILE_ROWS */
    int64_t granule;     /* a run is summed up to a multiple of so many values; divides a step */
    int64_t step_cycles; /* of a row by a panel, about */
    bool words; /* panels of tile() are words: [step][depth / 2][column][2], sign-extended */
    void (*tile)(const itg_accel_tile *t);
    void (*depthwise)(const itg_accel_tile *t); /* panels 1, c [ITG_DEPTHWISE_ROWS][64] */
    bool parts; /* depthwise() gives parts if asked, and lanes() makes bytes of them */
    const itg_winograd_kernels *winograd; /* NULL: it is not faster */
    bool eager; /* Winograd wherever it is possible, as the proof wants it */
    void (*lanes)(const itg_lanes_args *a);   /* not GENERIC */
    bool (*sum_bytes)(const itg_byte_sum *s); /* false: does not support it; NULL: none */
    /* out[i] = entry[x[i]]; false: the processor does not support it; NULL: none */
    bool (*look_up)(const uint8_t entry[256], const uint8_t *x, int64_t n, uint8_t *out);
    int64_t (*peak)(int64_t rounds); /* NULL: none */
};
extern const itg_accel_kernels itg_accel_reference, itg_accel_portable;
void itg_depthwise_portable(const itg_accel_tile *t);
#if defined(ITG_ACCEL_NEON)
extern const itg_accel_kernels itg_accel_neon, itg_accel_dotprod, itg_accel_i8mm;
void itg_depthwise_neon(const itg_accel_tile *t);
void itg_lanes_neon(const itg_lanes_args *a);
bool itg_accel_has_dotprod(void);
bool itg_accel_has_i8mm(void);
#endif
#if defined(ITG_ACCEL_X86)
extern const itg_accel_kernels itg_accel_avx2, itg_accel_avx512, itg_accel_avxvnni, itg_accel_vnni,
    itg_accel_amx;
extern const itg_winograd_kernels itg_winograd_avx2, itg_winograd_avx512, itg_winograd_avxvnni,
    itg_winograd_vnni;
void itg_winograd_input_avx2(const itg_winograd_input *a);
void itg_winograd_output_avx2(const itg_winograd_output *a);
void itg_winograd_input_avx512(const itg_winograd_input *a);
void itg_winograd_output_avx512(const itg_winograd_output *a);
void itg_lanes_avx2(const itg_lanes_args *a);
void itg_lanes_avx512(const itg_lanes_args *a);
/* Writes 32-bit sums as byte codes, 32 columns (or 16 of two rows) at once. False: the lanes are
 * not supported. */
bool itg_lanes_bytes_avx512(const itg_lanes_args *a);
bool itg_sum_bytes_vbmi(const itg_byte_sum *s);
bool itg_look_up_vbmi(const uint8_t entry[256], const uint8_t *x, int64_t n, uint8_t *out);
void itg_depthwise_avx2(const itg_accel_tile *t);
void itg_depthwise_vnni(const itg_accel_tile *t);
int64_t itg_peak_avx2(int64_t rounds);
int64_t itg_peak_avx512(int64_t rounds);
int64_t itg_peak_avxvnni(int64_t rounds);
int64_t itg_peak_vnni(int64_t rounds);
bool itg_accel_has_vnni(void);
#endif
/* Compares the set with the reference (accel_proof.c). False if a result differs or memory runs
 * out. */
bool itg_accel_proves(const itg_accel_kernels *kernels);

/* ---- a layer ---- */
struct itg_accel_layer {
    const itg_accel_kernels *kernels;
    itg_accel_problem problem; /* bias and constants: copies; w.data borrowed */
    itg_accel_shape shape;
    const int8_t *packed;
    int64_t band;  /* output rows of a plane */
    int64_t plane; /* bytes of its planes, all digits */
    /* PATCHES: bytes of a patch, how many at once, and the runs of bytes that make one. */
    int64_t patch_row, patch_rows, patch_runs;
    const int64_t *patch_offset;
    const int64_t *offset;
    bool parts; /* of depthwise tiles: sums are in parts */
    const int32_t *bias32;
    const int64_t *bias64;
    int32_t fit;
    itg_lanes lanes[ITG_ACCEL_OUTPUTS];
};
/* Sums of a strip of channels, [rows][stride]. */
typedef struct itg_sums {
    const int32_t *narrow; /* NULL: wide */
    const int64_t *wide;
    int64_t stride, rows;
} itg_sums;
/* Writes the codes of sums: rows are consecutive pixels from `pixel` of the first sample on,
 * columns are channels from `channel` on. */
void itg_accel_emit(const itg_accel_layer *layer, void *const *y, const itg_sums *sums,
                    int64_t pixel, int64_t channel, int64_t columns);
size_t itg_accel_reference_scratch(const itg_accel_layer *layer);
void itg_accel_reference_run(const itg_accel_layer *layer, const void *x, void *const *y,
                             int64_t samples, void *scratch);

/* ---- planes (accel_plane.c) ---- */
/* Fills the planes (all digits) that output rows [first, first + count) of image x need. */
void itg_accel_plane_fill(const itg_accel_layer *layer, const void *x, int64_t height,
                          int64_t first, int64_t count, uint8_t *plane);
/* Copies the patches of pixels [first, first + count) of that plane, for a group's channels; digit
 * d goes to out + d * patch_rows * patch_row. */
void itg_accel_patches(const itg_accel_layer *layer, const uint8_t *plane, int64_t group,
                       int64_t first, int64_t count, uint8_t *out);
#endif
