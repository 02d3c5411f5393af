/* The test of a kernel set. The set and the reference compute layers drawn from a fixed seed, and
 * every bit is compared. Winograd's tiles run wherever they are possible. In half of the cases all
 * codes are extremes, so that sums of two and four products reach values at which saturating
 * instructions fail. Accumulators reach their limits, and sizes leave tails of every length in
 * rows, columns and depth. */
#include "kernels/accel_parts.h"
#include "kernels/requant.h"
#include <stdlib.h>
#include <string.h>

enum {
    CASES = 60,
    DEEP_EVERY = 14,
    THREE_EVERY = 5,
    DEEP_THREE_EVERY = 30,
    NEIGHBOURS_EVERY = 7,
    DEEPEST = 65536,
    SAMPLES = 2,
    MOST_OUTPUTS = 3
};

static int64_t between(itg_rng *rng, int64_t lo, int64_t hi)
{
    return lo + (int64_t)itg_rng_below(rng, (uint64_t)(hi - lo) + 1);
}

static itg_window draw_window(itg_rng *rng)
{
    itg_window w = {.group = 1};
    const bool depthwise = itg_rng_below(rng, 4) == 0;
    if (depthwise) {
        w.group = w.channels = between(rng, 2, 80);
        w.out_channels = w.group * between(rng, 1, 2);
    } else {
        w.group = itg_rng_below(rng, 4) == 0 ? 2 : 1;
        w.channels = w.group * between(rng, 1, 100);
        w.out_channels = w.group * between(rng, 1, 40);
    }
    for (int d = 0; d < 2; d++) {
        w.kernel[d] = between(rng, 1, 3);
        w.stride[d] = between(rng, 1, 2);
        w.dilation[d] = between(rng, 1, 2);
    }
    w.height = between(rng, 5, 9);
    w.width = between(rng, 5, 12);
    w.pad_top = between(rng, 0, 2);
    w.pad_left = between(rng, 0, 2);
    w.out_height =
        (w.height + 2 * w.pad_top - (w.kernel[0] - 1) * w.dilation[0] - 1) / w.stride[0] + 1;
    w.out_width =
        (w.width + 2 * w.pad_left - (w.kernel[1] - 1) * w.dilation[1] - 1) / w.stride[1] + 1;
    return w;
}

/* Draws a depthwise convolution whose outputs share three neighbours each (`threes`). */
static itg_window draw_neighbours(itg_rng *rng)
{
    itg_window w = {.channels = between(rng, 2, 130),
                    .height = between(rng, 5, 9),
                    .width = between(rng, 3, 12),
                    .kernel = {between(rng, 1, 5), 3},
                    .stride = {between(rng, 1, 2), 1},
                    .dilation = {1, 1},
                    .pad_top = between(rng, 0, 2),
                    .pad_left = between(rng, 0, 2)};
    w.group = w.out_channels = w.channels;
    w.out_height = (w.height + 2 * w.pad_top - w.kernel[0]) / w.stride[0] + 1;
    w.out_width = w.width + 2 * w.pad_left - 2;
    return w;
}

static bool is_deep_three(int index)
{
    return index % DEEP_THREE_EVERY == 1;
}

/* Draws a 3x3 convolution for Winograd's tiles of both heights; `deep`: with the most channels that
 * they support, and no padding, so that inputs of a tile may all be extremes. */
static itg_window draw_three(itg_rng *rng, bool deep)
{
    const int64_t pad = deep ? 0 : between(rng, 0, 2), height = between(rng, 4, 9);
    itg_window w = {.channels = deep ? 910 : between(rng, 16, 50),
                    .height = deep ? 4 : height,
                    .width = deep ? 8 : between(rng, 4, 9),
                    .out_channels = between(rng, 16, deep ? 17 : 24),
                    .kernel = {3, 3},
                    .stride = {1, 1},
                    .dilation = {1, 1},
                    .pad_top = pad,
                    .pad_left = pad,
                    .group = 1};
    w.out_height = w.height + 2 * pad - 2;
    w.out_width = w.width + 2 * pad - 2;
    return w;
}

/* Draws a product so deep that sums of extreme codes come close to 2^31. */
static itg_window draw_deep(itg_rng *rng)
{
    return itg_accel_matmul_window(between(rng, 1, 3), between(rng, 1, 3), DEEPEST);
}

/* Draws any codes of the storage: all bits are random. */
static void draw_any(itg_rng *rng, size_t bytes, unsigned char *out)
{
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        const uint64_t bits = itg_rng_next(rng);
        memcpy(out + i, &bits, bytes - i < sizeof bits ? bytes - i : sizeof bits);
    }
}

/* Draws extremes: `mostly`, and about every 64th code either of the two. */
static void draw_ends(itg_rng *rng, itg_dtype storage, int64_t mostly, int64_t n, void *out)
{
    const int64_t lo = itg_dtype_min(storage), hi = itg_dtype_max(storage);
    const size_t size = itg_dtype_size(storage), bytes = (size_t)n * size;
    itg_store(storage, out, 0, mostly);
    for (size_t done = size; done < bytes; done *= 2)
        memcpy((char *)out + done, out, done < bytes - done ? done : bytes - done);
    for (int64_t i = between(rng, 0, 127); i < n; i += between(rng, 1, 127))
        itg_store(storage, out, i, itg_rng_below(rng, 2) > 0 ? lo : hi);
}

static void draw_codes(itg_rng *rng, itg_dtype storage, bool ends, int64_t mostly, int64_t n,
                       void *out)
{
    if (ends)
        draw_ends(rng, storage, mostly, n, out);
    else
        draw_any(rng, (size_t)n * itg_dtype_size(storage), out);
}

/* Derives constants of the form for a ratio that maps sums of `bound` to about a thousand codes. */
static itg_requant draw_requant(itg_rng *rng, itg_requant_form form, itg_rounding rounding,
                                int64_t bound)
{
    itg_requant_spec spec = {.form = form,
                             .multiplier_bits = 16,
                             .multiply_shift = 15,
                             .pre_shift_bits = 24,
                             .pre_rounding = rounding,
                             .multiply_rounding = rounding,
                             .shift_rounding = rounding};
    double ratio = 1000.0 * (0.5 + itg_rng_unit(rng)) / (double)(bound + 1);
    if (form == ITG_REQUANT_SHIFT)
        for (ratio = 0.5; ratio * (double)bound > 1000.0;)
            ratio /= 2;
    itg_requant r;
    memset(&r, 0, sizeof r);
    (void)itg_requant_derive(&spec, ratio, (float)ratio, bound, &r); /* infeasible: the identity */
    return r;
}

typedef struct trial {
    itg_accel_problem p;
    itg_epilogue out[MOST_OUTPUTS];
    int64_t samples;
    int64_t inputs, weights, outputs; /* elements; inputs and outputs of one sample */
    void *x, *w;
    void *y[2][MOST_OUTPUTS]; /* the set's, the reference's */
} trial;

static void draw_problem(itg_rng *rng, int index, trial *t)
{
    static const itg_dtype storages[] = {ITG_U8, ITG_S8, ITG_U8, ITG_S8, ITG_S16, ITG_U16};
    itg_accel_problem *p = &t->p;
    const bool deep = index % DEEP_EVERY == 0;
    const bool three = index % THREE_EVERY == 1, neighbours = index % NEIGHBOURS_EVERY == 2;
    p->window = deep         ? draw_deep(rng)
                : three      ? draw_three(rng, is_deep_three(index))
                : neighbours ? draw_neighbours(rng)
                             : draw_window(rng);
    const itg_window *w = &p->window;
    const int64_t depth = w->channels / w->group * w->kernel[0] * w->kernel[1];
    const bool bytes = deep || three || neighbours;
    p->x.storage = storages[itg_rng_below(rng, bytes ? 4 : 6)];
    p->w.storage = !bytes && index % 8 == 7 ? ITG_S16 : ITG_S8;
    p->x.zero_point = between(rng, itg_dtype_min(p->x.storage), itg_dtype_max(p->x.storage));
    int64_t x_most = itg_dtype_max(p->x.storage) - itg_dtype_min(p->x.storage);
    p->mac.acc = (itg_accumulator){32, ITG_OVERFLOW_WRAP};
    p->mac.acc_bound = depth * x_most * -itg_dtype_min(p->w.storage);
    p->mac.may_overflow = !deep && index % 8 == 3;
    if (p->mac.may_overflow) p->mac.acc.bits = (int32_t)between(rng, 16, 48);
    t->samples = deep || is_deep_three(index) ? 1 : SAMPLES;
    t->inputs = w->channels * w->height * w->width;
    t->weights = w->out_channels * depth;
    t->outputs = w->out_channels * w->out_height * w->out_width;
}

static void draw_epilogues(itg_rng *rng, int index, trial *t, itg_requant *requant)
{
    static const itg_dtype codes[] = {ITG_U8, ITG_S8, ITG_S16, ITG_S32};
    static const float dequant = 0.37F;
    const itg_requant_form form = (itg_requant_form)(index % ITG_REQUANT_FORM_COUNT);
    const itg_rounding rounding = (itg_rounding)itg_rng_below(rng, ITG_ROUNDING_COUNT);
    for (int64_t c = 0; c < t->p.window.out_channels; c++)
        requant[c] = draw_requant(rng, form, rounding, t->p.mac.acc_bound);
    const bool neighbours = index % NEIGHBOURS_EVERY == 2;
    const itg_dtype storage = codes[itg_rng_below(rng, neighbours ? 2 : 4)];
    const bool narrow = itg_dtype_size(storage) == 1, whole = itg_rng_below(rng, 2) > 0;
    const int64_t cut = whole ? 0 : between(rng, 1, 90);
    t->out[0] = (itg_epilogue){.storage = storage,
                               .requant = requant,
                               .requant_count = (int32_t)t->p.window.out_channels,
                               .zero_point = itg_rng_below(rng, 2) > 0 ? between(rng, 0, 100) : 0,
                               .lo = narrow ? itg_dtype_min(storage) + cut : -900,
                               .hi = narrow ? itg_dtype_max(storage) - cut : 900};
    t->out[1] =
        (itg_epilogue){.storage = ITG_S64, .lo = INT64_MIN, .hi = INT64_MAX}; /* the sum itself */
    t->out[2] = (itg_epilogue){.storage = ITG_F32,
                               .dequant = &dequant,
                               .dequant_count = 1,
                               .float_lo = -1e5F,
                               .float_hi = 1e5F};
    t->p.out = t->out;
    t->p.out_count = neighbours || (narrow && index % 4 == 0) ? 1 : MOST_OUTPUTS;
}

/* Fills the inputs with stripes of two columns at each extreme. This maximizes the transformed
 * inputs of Winograd's tiles: sums of products exceed 32 bits although the outputs do not. */
static void draw_stripes(trial *t)
{
    const itg_window *w = &t->p.window;
    const int64_t lo = itg_dtype_min(t->p.x.storage), hi = itg_dtype_max(t->p.x.storage);
    for (int64_t i = 0; i < t->samples * t->inputs; i++) {
        const int64_t column = i / w->channels % w->width + w->pad_left;
        itg_store(t->p.x.storage, t->x, i, (column + 3) / 2 % 2 ? hi : lo);
    }
}

static void draw_operands(itg_rng *rng, int index, trial *t)
{
    const bool deep = index % DEEP_EVERY == 0;
    const bool ends = deep || is_deep_three(index) || itg_rng_below(rng, 2) > 0;
    const bool up = deep ? index / DEEP_EVERY % 2 > 0 : itg_rng_below(rng, 2) > 0;
    const itg_dtype x = t->p.x.storage, w = t->p.w.storage;
    int64_t x_mostly = deep || itg_rng_below(rng, 4) > 0 ? itg_dtype_max(x) : itg_dtype_min(x);
    draw_codes(rng, x, ends, x_mostly, t->samples * t->inputs, t->x);
    draw_codes(rng, w, ends, up ? itg_dtype_max(w) : itg_dtype_min(w), t->weights, t->w);
    if (is_deep_three(index) && index / DEEP_THREE_EVERY % 2 > 0) draw_stripes(t);
    t->p.w.data = t->w;
}

/* Allocates the buffers of a trial. A set is not proven if this fails. */
static bool allocate(trial *t)
{
    const size_t samples = (size_t)t->samples;
    t->x = malloc(samples * (size_t)t->inputs * itg_dtype_size(t->p.x.storage));
    t->w = malloc((size_t)t->weights * itg_dtype_size(t->p.w.storage));
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < MOST_OUTPUTS; j++) {
            t->y[i][j] = calloc(samples * (size_t)t->outputs, sizeof(int64_t));
            if (!t->y[i][j]) return false;
        }
    return t->x && t->w;
}

static void release(trial *t)
{
    free(t->x);
    free(t->w);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < MOST_OUTPUTS; j++)
            free(t->y[i][j]);
}

/* Runs the trial with one set into y. The arena holds the layer and its scratch. */
static bool run_by(const itg_accel_kernels *kernels, const trial *t, itg_arena *arena,
                   void *const *y)
{
    void *packed = NULL;
    if (kernels != &itg_accel_reference) {
        packed = itg_arena_alloc(arena, itg_accel_packed_bytes(kernels, &t->p));
        if (!packed) return false;
        itg_accel_pack(kernels, &t->p, packed);
    }
    itg_accel_layer *layer;
    if (itg_accel_layer_create(kernels, &t->p, packed, arena, &layer, NULL) != ITG_OK) return false;
    void *scratch = itg_arena_alloc(arena, itg_accel_scratch(layer, t->samples));
    if (!scratch) return false;
    itg_accel_run(layer, t->x, y, t->samples, scratch);
    return true;
}

static bool agrees(const itg_accel_kernels *kernels, const trial *t, itg_arena *arena)
{
    if (!run_by(kernels, t, arena, t->y[0]) || !run_by(&itg_accel_reference, t, arena, t->y[1]))
        return false;
    for (int j = 0; j < t->p.out_count; j++) {
        size_t bytes = (size_t)(t->samples * t->outputs) * itg_dtype_size(t->out[j].storage);
        if (memcmp(t->y[0][j], t->y[1][j], bytes) != 0) return false;
    }
    return true;
}

static bool prove_one(const itg_accel_kernels *kernels, itg_rng *rng, int index)
{
    trial t;
    memset(&t, 0, sizeof t);
    draw_problem(rng, index, &t);
    itg_arena *arena = itg_arena_create(0);
    itg_requant *requant =
        arena ? itg_arena_array(arena, (size_t)t.p.window.out_channels, sizeof *requant) : NULL;
    bool proven = false;
    if (requant && allocate(&t)) {
        draw_epilogues(rng, index, &t, requant);
        draw_operands(rng, index, &t);
        proven = agrees(kernels, &t, arena);
    }
    release(&t);
    itg_arena_destroy(arena);
    return proven;
}

/* ---- sums of bytes ---- */
enum { BYTES = 256, PAIRS = BYTES * BYTES, SUMS = 4 };

typedef struct sums {
    itg_byte_table table[2];
    itg_requant requant;
    itg_epilogue e;
    itg_lanes lanes;
    int32_t none[ITG_MAX_COLUMNS];
    uint8_t a[PAIRS], b[PAIRS], out[PAIRS];
} sums;

/* Checks every pair of bytes with tables of random values. */
static bool prove_sums(const itg_accel_kernels *kernels, itg_rng *rng, int index, itg_arena *arena)
{
    const int64_t bound = (int64_t)1 << 29;
    sums *t = itg_arena_alloc(arena, sizeof *t);
    if (!t) return false;
    for (int i = 0; i < 2; i++)
        for (int q = 0; q < BYTES; q++)
            itg_byte_table_set(&t->table[i], (uint8_t)q,
                               (int32_t)between(rng, -bound / 2, bound / 2));
    const itg_requant_form form = index % 2 ? ITG_REQUANT_F32 : ITG_REQUANT_TFLITE_DOUBLE;
    t->requant = draw_requant(rng, form, ITG_ROUND_HALF_UP, bound);
    t->e = (itg_epilogue){.storage = index / 2 % 2 ? ITG_S8 : ITG_U8,
                          .requant = &t->requant,
                          .requant_count = 1,
                          .zero_point = 7,
                          .lo = index / 2 % 2 ? -100 : 0,
                          .hi = index / 2 % 2 ? 99 : 255};
    if (!itg_lanes_init(&t->lanes, &t->e, ITG_MAX_COLUMNS, bound, false, arena)) return false;
    for (int i = 0; i < PAIRS; i++) {
        t->a[i] = (uint8_t)(i % BYTES);
        t->b[i] = (uint8_t)(i / BYTES);
    }
    const bool subtracts = itg_rng_below(rng, 2) > 0;
    const itg_byte_sum s = {&t->table[0], &t->table[1], t->a,    t->b,  PAIRS - index,
                            subtracts,    &t->lanes,    t->none, t->out};
    bool same = true;
    if (!kernels->sum_bytes(&s)) return true; /* the set does not support this sum */
    for (int64_t i = 0; i < s.n; i++) {
        const int64_t x = t->table[0].value[t->a[i]], y = t->table[1].value[t->b[i]];
        const int64_t v = itg_requant_apply(&t->requant, subtracts ? x - y : x + y);
        const int64_t code = itg_clamp(itg_clamp(v, -bound, bound) + 7, t->e.lo, t->e.hi);
        same = same && itg_load(t->e.storage, t->out, i) == code;
    }
    return same;
}

static bool proves_sums(const itg_accel_kernels *kernels, itg_rng *rng)
{
    bool proven = true;
    for (int i = 0; i < SUMS && kernels->sum_bytes && proven; i++) {
        itg_arena *arena = itg_arena_create(0);
        proven = arena && prove_sums(kernels, rng, i, arena);
        itg_arena_destroy(arena);
    }
    return proven;
}

/* Checks every byte, at every place of a vector, with a table of random values. */
static bool proves_look_up(const itg_accel_kernels *kernels, itg_rng *rng)
{
    enum { COUNT = 65 * BYTES - 7 };
    uint8_t entry[BYTES], x[COUNT], out[COUNT];
    for (int q = 0; q < BYTES; q++)
        entry[q] = (uint8_t)itg_rng_below(rng, BYTES);
    for (int i = 0; i < COUNT; i++)
        x[i] = (uint8_t)(i + i / BYTES);
    if (!kernels->look_up || !kernels->look_up(entry, x, COUNT, out)) return true;
    bool same = true;
    for (int i = 0; i < COUNT; i++)
        same = same && out[i] == entry[x[i]];
    return same;
}

bool itg_accel_proves(const itg_accel_kernels *kernels)
{
    itg_rng rng;
    itg_rng_init(&rng, 1);
    itg_accel_kernels eager = *kernels;
    eager.eager = true;
    for (int i = 0; i < CASES; i++)
        if (!prove_one(&eager, &rng, i)) return false;
    return proves_sums(kernels, &rng) && proves_look_up(kernels, &rng);
}
