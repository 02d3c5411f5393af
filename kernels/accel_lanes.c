/* Epilogues as lanes. The stages of all channels are brought to one pattern (left shift, right
 * shift, multiplication with a right shift, right shift), so that a vector runs the same operations
 * for all its channels. A channel without a stage has the identity there. Where that is impossible,
 * or a value might not fit its lane, the epilogue stays GENERIC, which is exact for every value. */
#include "kernels/accel_parts.h"
#include "kernels/clones.h"
#include "kernels/int_parts.h"
#include "kernels/rounding.h"
#include <string.h>

static const uint64_t WIDE_LIMIT = (uint64_t)1 << 62;
static const int64_t FLOAT_LIMIT = (int64_t)1 << 22; /* as ITG_NO_FRACTION_F32 requires */

/* ---- one channel on the pattern ---- */
typedef struct pattern {
    int32_t left, multiplier, shift[3];
    itg_rounding rounding[3]; /* where shift > 0 */
} pattern;

/* Assigns the stages to slots: 0 right shift, 1 multiplication, 2 right shift. */
static bool set_pattern(const itg_requant *r, pattern *out)
{
    memset(out, 0, sizeof *out);
    if (r->is_f32) return false;
    out->multiplier = 1;
    int next = 0; /* the first free slot */
    for (int32_t i = 0; i < r->stage_count; i++) {
        const itg_requant_stage *stage = &r->stage[i];
        int slot = stage->multiplier != 1 ? 1 : next == 1 ? 2 : next;
        if (slot < next || slot > 2 || stage->multiplier <= 0 || stage->multiplier > INT32_MAX)
            return false;
        if (stage->shift < 0) { /* exact: comes first, or is folded into the multiplier */
            int64_t m = stage->multiplier;
            if (m == 1 && i == 0 && stage->shift >= -30) {
                out->left = -stage->shift;
                continue;
            }
            if (slot != 1 || stage->shift < -30 || m > (INT32_MAX >> -stage->shift)) return false;
            out->multiplier = (int32_t)(m << -stage->shift);
        } else {
            out->multiplier = slot == 1 ? (int32_t)stage->multiplier : out->multiplier;
            out->shift[slot] = stage->shift;
            out->rounding[slot] = stage->rounding;
        }
        next = slot + 1;
    }
    return true;
}

/* Whether a right shift of |v| <= *bound stays below `limit`; *bound becomes that of the result. */
static bool shift_fits(uint64_t *bound, int32_t shift, uint64_t limit)
{
    uint64_t half = ITG_ROUND_HALF((uint64_t)1, shift);
    if (half > limit || *bound > limit - half) return false;
    *bound = shift > 0 ? (*bound >> shift) + 1 : *bound;
    return true;
}

/* Whether all values of |sum| <= bound fit their lanes. *product is raised to every |product|. */
static bool pattern_fits(const pattern *p, uint64_t bound, bool wide, uint64_t *product)
{
    const uint64_t lane = wide ? WIDE_LIMIT : INT32_MAX;
    if (bound > (lane >> p->left)) return false;
    bound <<= p->left;
    if (!wide && (p->shift[0] > 31 || p->shift[2] > 31)) return false;
    if (!shift_fits(&bound, p->shift[0], lane)) return false;
    if (bound > WIDE_LIMIT / (uint64_t)p->multiplier) return false;
    bound *= (uint64_t)p->multiplier;
    if (bound > *product) *product = bound;
    if (!shift_fits(&bound, p->shift[1], WIDE_LIMIT + (WIDE_LIMIT - 1)) || bound > lane)
        return false;
    return shift_fits(&bound, p->shift[2], lane);
}

/* ---- all channels ---- */
typedef struct arrays {
    int32_t *left, *multiplier, *shift[3];
} arrays;

static int32_t *array_of(itg_arena *arena, int64_t channels)
{
    return itg_arena_array(arena, (size_t)(channels + ITG_MAX_COLUMNS), sizeof(int32_t));
}

/* Fills the stages of all channels. False: a channel does not fit, or stages round differently. */
static bool fill_stages(itg_lanes *lanes, const arrays *to, int64_t channels, int64_t bound,
                        bool wide, uint64_t *product)
{
    const itg_epilogue *e = &lanes->e;
    bool rounds[3] = {false, false, false};
    for (int64_t c = 0; c < channels; c++) {
        pattern p;
        if (!set_pattern(&e->requant[c % e->requant_count], &p) ||
            !pattern_fits(&p, (uint64_t)bound, wide, product))
            return false;
        to->left[c] = p.left;
        to->multiplier[c] = p.multiplier;
        for (int i = 0; i < 3; i++) {
            to->shift[i][c] = p.shift[i];
            if (p.shift[i] == 0) continue;
            if (rounds[i] && lanes->rounding[i] != p.rounding[i]) return false;
            rounds[i] = true;
            lanes->rounding[i] = p.rounding[i];
        }
    }
    return true;
}

static const int32_t *unless_all(const int32_t *v, int64_t n, int32_t identity)
{
    for (int64_t i = 0; i < n; i++)
        if (v[i] != identity) return v;
    return NULL;
}

/* Fills the constants of a shift. False: no memory. */
static bool init_shift(itg_lanes *lanes, int stage, int64_t channels, itg_arena *arena)
{
    const size_t n = (size_t)(channels + ITG_MAX_COLUMNS);
    const int32_t *shift = lanes->shift[stage];
    if (!shift) return true;
    int64_t *by = itg_arena_array(arena, n, sizeof *by),
            *half = itg_arena_array(arena, n, sizeof *by);
    int64_t *keep = itg_arena_array(arena, n, sizeof *by);
    if (!by || !half || !keep) return false;
    for (int64_t c = 0; c < channels; c++) {
        by[c] = shift[c];
        half[c] = ITG_ROUND_HALF((int64_t)1, shift[c]);
        keep[c] = shift[c] > 0 ? -1 : 0;
    }
    lanes->by[stage] = by;
    lanes->half[stage] = half;
    lanes->keep[stage] = keep;
    return true;
}

static bool init_stages(itg_lanes *lanes, int64_t channels, int64_t bound, bool wide,
                        itg_arena *arena)
{
    arrays to = {array_of(arena, channels),
                 array_of(arena, channels),
                 {array_of(arena, channels), array_of(arena, channels), array_of(arena, channels)}};
    if (!to.left || !to.multiplier || !to.shift[0] || !to.shift[1] || !to.shift[2]) return false;
    uint64_t product = 0;
    if (!fill_stages(lanes, &to, channels, bound, wide, &product)) return true;
    lanes->kind = ITG_LANES_STAGES;
    lanes->left = unless_all(to.left, channels, 0);
    lanes->shift[0] = unless_all(to.shift[0], channels, 0);
    lanes->shift[2] = unless_all(to.shift[2], channels, 0);
    if (unless_all(to.multiplier, channels, 1) || unless_all(to.shift[1], channels, 0)) {
        lanes->multiplier = to.multiplier;
        lanes->shift[1] = to.shift[1];
    }
    return init_shift(lanes, 0, channels, arena) && init_shift(lanes, 1, channels, arena) &&
           init_shift(lanes, 2, channels, arena) &&
           (wide || itg_lanes_fuse(lanes, channels, product, arena));
}

static bool init_ratios(itg_lanes *lanes, int64_t channels, int64_t bound, itg_arena *arena)
{
    const float limit = 1 << 30;
    const itg_epilogue *e = &lanes->e;
    const bool codes = e->storage != ITG_F32;
    float *ratio = itg_arena_array(arena, (size_t)(channels + ITG_MAX_COLUMNS), sizeof *ratio);
    if (!ratio) return false;
    lanes->tame = true;
    for (int64_t c = 0; c < channels; c++) {
        if (codes && !e->requant[c % e->requant_count].is_f32) return true;
        ratio[c] = codes                  ? e->requant[c % e->requant_count].ratio
                   : e->dequant_count > 0 ? e->dequant[c % e->dequant_count]
                                          : 1.0F;
        lanes->tame = lanes->tame && (float)bound * ratio[c] < limit;
    }
    lanes->kind = codes ? ITG_LANES_RATIO : ITG_LANES_DEQUANT;
    lanes->ratio = ratio;
    return true;
}

bool itg_lanes_init(itg_lanes *lanes, const itg_epilogue *e, int64_t channels, int64_t bound,
                    bool wide, itg_arena *arena)
{
    memset(lanes, 0, sizeof *lanes);
    lanes->e = *e;
    if (e->storage == ITG_F32) return init_ratios(lanes, channels, bound, arena);
    bool narrow = e->zero_point >= INT32_MIN / 4 && e->zero_point <= INT32_MAX / 4 &&
                  e->lo <= e->hi && e->lo >= INT32_MIN / 4 && e->hi <= INT32_MAX / 4;
    if (e->requant_count == 0 || !narrow || itg_dtype_size(e->storage) > 4) return true;
    lanes->low = e->lo - e->zero_point;
    lanes->high = e->hi - e->zero_point;
    lanes->bytes = itg_dtype_size(e->storage) == 1 && e->lo >= itg_dtype_min(e->storage) &&
                   e->hi <= itg_dtype_max(e->storage) && e->zero_point >= -255 &&
                   e->zero_point <= 255;
    if (!e->requant[0].is_f32) return init_stages(lanes, channels, bound, wide, arena);
    bool exact = lanes->low >= -FLOAT_LIMIT && lanes->high <= FLOAT_LIMIT;
    return !exact || init_ratios(lanes, channels, bound, arena);
}

/* ---- value by value ---- */

ITG_CLONES
static void sums32(const int32_t *acc, const int32_t *bias, int32_t fit, int64_t n, int64_t *sum)
{
    for (int64_t j = 0; j < n; j++)
        sum[j] = (int32_t)(((uint32_t)acc[j] + (uint32_t)bias[j]) << fit) >> fit;
}

ITG_CLONES
static void sums64(const int64_t *acc, const int64_t *bias, int32_t fit, int64_t n, int64_t *sum)
{
    for (int64_t j = 0; j < n; j++)
        sum[j] = (int64_t)(((uint64_t)acc[j] + (uint64_t)bias[j]) << fit) >> fit;
}

static void sums_of(const itg_lanes_args *a, int64_t row, int64_t *sum)
{
    const int64_t first = row * a->acc_stride;
    if (a->acc32)
        sums32(a->acc32 + first, a->bias32, a->fit, a->columns, sum);
    else
        sums64(a->acc64 + first, a->bias64, a->fit, a->columns, sum);
}

void itg_lanes_generic(const itg_lanes_args *a)
{
    itg_epilogue e = a->lanes->e;
    for (int64_t r = 0; r < a->rows; r++) {
        int64_t sum[ITG_MAX_COLUMNS];
        sums_of(a, r, sum);
        e.out = a->out + (size_t)(r * a->out_stride) * itg_dtype_size(e.storage);
        itg_epilogue_row64(sum, a->columns, 0, a->channel, 1, &e);
    }
}

/* ---- rows of lanes in plain C ---- */

ITG_INLINE void shift_row(int64_t *restrict v, int64_t n, const int64_t *restrict by,
                          const int64_t *restrict half, const int64_t *restrict keep,
                          itg_rounding rounding)
{
    for (int64_t j = 0; j < n; j++)
        v[j] = itg_round_shift_by(v[j], by[j], half[j], keep[j], rounding);
}

/* Each rounding has its own loop, in which it is a constant. */
ITG_INLINE void shift_lanes(int64_t *v, int64_t n, const itg_lanes *l, int stage, int64_t c)
{
    const int64_t *by = l->by[stage] + c, *half = l->half[stage] + c, *keep = l->keep[stage] + c;
    switch (l->rounding[stage]) {
    case ITG_ROUND_HALF_EVEN:
        shift_row(v, n, by, half, keep, ITG_ROUND_HALF_EVEN);
        break;
    case ITG_ROUND_HALF_UP:
        shift_row(v, n, by, half, keep, ITG_ROUND_HALF_UP);
        break;
    case ITG_ROUND_HALF_AWAY:
        shift_row(v, n, by, half, keep, ITG_ROUND_HALF_AWAY);
        break;
    default:
        shift_row(v, n, by, half, keep, ITG_ROUND_FLOOR);
    }
}

ITG_INLINE void left_row(int64_t *restrict v, int64_t n, const int32_t *restrict left)
{
    for (int64_t j = 0; j < n; j++)
        v[j] *= (int64_t)1 << left[j];
}

/* Multiplies. In narrow lanes both factors fit 32 bits, so a product is a single instruction. */
ITG_INLINE void multiply_row(int64_t *restrict v, int64_t n, const int32_t *restrict m, bool wide)
{
    if (wide)
        for (int64_t j = 0; j < n; j++)
            v[j] *= m[j];
    else
        for (int64_t j = 0; j < n; j++)
            v[j] = (int64_t)(int32_t)v[j] * m[j];
}

ITG_CLONES
static void stages_row(const itg_lanes *l, int64_t c, int64_t n, bool wide, int64_t *restrict v,
                       int32_t *restrict q)
{
    const int64_t low = l->low, high = l->high, zero = l->e.zero_point;
    if (l->left) left_row(v, n, l->left + c);
    if (l->shift[0]) shift_lanes(v, n, l, 0, c);
    if (l->multiplier) {
        multiply_row(v, n, l->multiplier + c, wide);
        shift_lanes(v, n, l, 1, c);
    }
    if (l->shift[2]) shift_lanes(v, n, l, 2, c);
    for (int64_t j = 0; j < n; j++) {
        int64_t code = v[j] < low ? low : v[j];
        code = code > high ? high : code;
        q[j] = (int32_t)(code + zero);
    }
}

ITG_CLONES
static void ratio_row(const itg_lanes *l, int64_t c, int64_t n, const int64_t *restrict v,
                      int32_t *restrict q)
{
    const float low = (float)l->low, high = (float)l->high, *restrict ratio = l->ratio + c;
    const int32_t zero = (int32_t)l->e.zero_point;
    for (int64_t j = 0; j < n; j++) {
        float p = (float)v[j] * ratio[j];
        q[j] = itg_nearest_f32(p, low, high) + zero;
    }
}

ITG_CLONES
static void float_row(const itg_lanes *l, int64_t c, int64_t n, const int64_t *v, float *out)
{
    const float low = l->e.float_lo, high = l->e.float_hi;
    for (int64_t j = 0; j < n; j++) {
        float p = l->e.dequant_count > 0 ? (float)v[j] * l->ratio[c + j] : (float)v[j];
        out[j] = p < low ? low : p > high ? high : p;
    }
}

void itg_lanes_portable(const itg_lanes_args *a)
{
    const itg_lanes *l = a->lanes;
    const itg_dtype storage = l->e.storage;
    for (int64_t r = 0; r < a->rows; r++) {
        int64_t sum[ITG_MAX_COLUMNS];
        int32_t q[ITG_MAX_COLUMNS];
        unsigned char *out = a->out + (size_t)(r * a->out_stride) * itg_dtype_size(storage);
        sums_of(a, r, sum);
        if (l->kind == ITG_LANES_DEQUANT) {
            float_row(l, a->channel, a->columns, sum, (float *)(void *)out);
            continue;
        }
        if (l->kind == ITG_LANES_STAGES)
            stages_row(l, a->channel, a->columns, !a->acc32, sum, q);
        else
            ratio_row(l, a->channel, a->columns, sum, q);
        itg_store_row(storage, out, 0, a->columns, q);
    }
}
