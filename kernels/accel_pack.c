/* Packed weights: the sum of (w - zero point) of each channel as int64, then the digits,
 * [group][panel][digit][step][...] with steps as in accel_parts.h, or the weights of Winograd's
 * tiles. Filling is zero. */
#include "kernels/accel_parts.h"
#include "kernels/clones.h"
#include "kernels/int_parts.h"
#include <string.h>

static int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

int64_t itg_accel_sums_bytes(const itg_accel_shape *t)
{
    return round_up(t->w.out_channels * (int64_t)sizeof(int64_t), 64);
}

static int64_t groups_of(const itg_accel_shape *t)
{
    return t->scheme == ITG_SCHEME_DEPTHWISE ? 1 : t->w.group;
}

static size_t packed_bytes(const itg_accel_shape *t)
{
    if (t->scheme == ITG_SCHEME_REFERENCE) return 0;
    size_t panels, bytes, all;
    if (!itg_mul_size((size_t)groups_of(t), (size_t)t->panels, &panels) ||
        !itg_mul_size(panels, (size_t)(t->w_digits * t->panel_bytes), &bytes) ||
        !itg_add_size(bytes, (size_t)itg_accel_sums_bytes(t), &all))
        return SIZE_MAX;
    return all;
}

size_t itg_accel_packed_bytes(const itg_accel_kernels *kernels, const itg_accel_problem *p)
{
    const itg_accel_shape t = itg_accel_shape_of(kernels, p);
    return packed_bytes(&t);
}

/* The position in a panel's digit of one tap's weights: value c of the run is at place(run + c). */
typedef struct tap_place {
    int64_t base, run;
} tap_place;

static tap_place place_of(const itg_accel_shape *t, int64_t tap)
{
    if (t->scheme == ITG_SCHEME_DEPTHWISE) {
        const int64_t taps = t->threes ? 3 : ITG_DEPTHWISE_TAPS;
        return (tap_place){tap / taps * ITG_DEPTHWISE_STEP_BYTES + tap % taps, 0};
    }
    return (tap_place){tap / t->run_taps * t->run_steps * ITG_STEP_BYTES,
                       tap % t->run_taps * t->channels};
}

/* adjacent: a power of two. */
static int64_t offset_in_run(int64_t i, int64_t adjacent)
{
    const int64_t within = i & (adjacent - 1);
    return (i - within) * ITG_PANEL_COLUMNS + within;
}

/* Whether codes and zero point are bytes: their difference has two digits. */
static bool has_bytes(const itg_int_operand *w)
{
    return itg_is_byte(w->storage) && w->zero_point >= -128 && w->zero_point <= 255;
}

/* The two digits of bytes less a zero point; returns their sum. */
ITG_CLONES static int64_t digits_of(const uint8_t *x, int64_t n, uint8_t flip, int32_t zero,
                                    int8_t *low, int8_t *high)
{
    int32_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const int32_t v = (int32_t)(uint8_t)(x[i] ^ flip) - zero;
        low[i] = (int8_t)v;
        high[i] = (int8_t)((v - (int8_t)v) >> 8);
        sum += v;
    }
    return sum;
}

/* Writes n values from the i-th of a run on. */
static void put(const itg_accel_shape *t, const int8_t *v, int64_t n, int64_t i, int8_t *out)
{
    const int64_t adjacent = t->adjacent;
    int64_t k = 0;
    for (; i % adjacent == 0 && k + adjacent <= n; k += adjacent)
        memcpy(out + offset_in_run(i + k, adjacent), v + k, (size_t)adjacent);
    for (; k < n; k++)
        out[offset_in_run(i + k, adjacent)] = v[k];
}

/* pack_tap of bytes whose zero point is a byte, too. */
static int64_t pack_tap_bytes(const itg_accel_shape *t, const itg_int_operand *w, int64_t first,
                              int64_t stride, tap_place place, int8_t *column)
{
    const uint8_t flip = w->storage == ITG_S8 ? 0x80 : 0;
    const int32_t zero = (int32_t)w->zero_point + flip;
    uint8_t line[ITG_STEP_DEPTH];
    int8_t digits[2][ITG_STEP_DEPTH];
    int64_t sum = 0;
    for (int64_t c = 0; c < t->channels; c += ITG_STEP_DEPTH) {
        const int64_t left = t->channels - c, n = left < ITG_STEP_DEPTH ? left : ITG_STEP_DEPTH;
        const uint8_t *from = (const uint8_t *)w->data + first + c * stride;
        for (int64_t i = 0; i < n && stride > 1; i++)
            line[i] = from[i * stride];
        sum += digits_of(stride > 1 ? line : from, n, flip, zero, digits[0], digits[1]);
        for (int32_t d = 0; d < t->w_digits && d < 2; d++)
            put(t, digits[d], n, place.run + c, column + place.base + d * t->panel_bytes);
    }
    return sum;
}

/* Packs the weights of one filter and tap, from `first` on `stride` apart; returns their sum. */
static int64_t pack_tap(const itg_accel_shape *t, const itg_accel_problem *p, int64_t first,
                        int64_t stride, tap_place place, int8_t *column)
{
    int64_t sum = 0, v[ITG_STEP_DEPTH];
    if (has_bytes(&p->w)) return pack_tap_bytes(t, &p->w, first, stride, place, column);
    for (int64_t c = 0; c < t->channels; c++) {
        const int64_t i = c % ITG_STEP_DEPTH, left = t->channels - c;
        if (i == 0)
            itg_widen_row(&p->w, first + c * stride, left < ITG_STEP_DEPTH ? left : ITG_STEP_DEPTH,
                          stride, v);
        int8_t *to = column + place.base + offset_in_run(place.run + c, t->adjacent);
        sum += v[i];
        for (int32_t d = 0; d < t->w_digits; d++) { /* least significant first, balanced */
            to[d * t->panel_bytes] = (int8_t)v[i];
            v[i] = (v[i] - (int8_t)v[i]) >> 8;
        }
    }
    return sum;
}

/* Packs filter k into its column of a panel; returns its sum. */
static int64_t pack_filter(const itg_accel_shape *t, const itg_accel_problem *p, int64_t k,
                           int8_t *column)
{
    const int64_t taps = t->w.kernel[0] * t->w.kernel[1];
    int64_t sum = 0;
    for (int64_t tap = 0; tap < taps; tap++) {
        int64_t first = p->w_rows ? k : k * t->channels * taps + tap;
        sum +=
            pack_tap(t, p, first, p->w_rows ? t->w.out_channels : taps, place_of(t, tap), column);
    }
    return sum;
}

/* Packs columns of rows of bytes as a panel of four adjacent values; high: NULL where there is one
 * digit. */
ITG_CLONES static void pack_panel_of_rows(const uint8_t *x, int64_t stride, int64_t depth,
                                          int64_t columns, uint8_t flip, int32_t zero, int8_t *low,
                                          int8_t *high, int64_t *sums)
{
    enum { N = ITG_PANEL_COLUMNS };
    int32_t sum[N] = {0};
    for (int64_t c = 0; c < depth; c += 4, low += 4 * N, high += high ? 4 * N : 0) {
        int16_t v[4][N];
        memset(v, 0, sizeof v);
        for (int64_t j = 0; j < 4 && c + j < depth; j++) {
            uint8_t line[N] = {0};
            if (columns >= N)
                memcpy(line, x + (c + j) * stride, N);
            else
                memcpy(line, x + (c + j) * stride, (size_t)columns);
            for (int64_t k = 0; k < N; k++) {
                v[j][k] = (int16_t)((uint8_t)(line[k] ^ flip) - zero);
                sum[k] += v[j][k];
            }
            for (int64_t k = columns; k < N; k++)
                v[j][k] = 0;
        }
        for (int64_t k = 0; k < N; k++)
            for (int64_t j = 0; j < 4; j++)
                low[4 * k + j] = (int8_t)v[j][k];
        for (int64_t k = 0; k < N && high; k++)
            for (int64_t j = 0; j < 4; j++)
                high[4 * k + j] = (int8_t)((v[j][k] - (int8_t)v[j][k]) >> 8);
    }
    for (int64_t k = 0; k < columns && k < N; k++)
        sums[k] = sum[k];
}

/* Whether rows of weights become panels by pack_rows. */
static bool are_rows(const itg_accel_shape *t, const itg_accel_problem *p)
{
    return p->w_rows && t->scheme == ITG_SCHEME_DIRECT && t->adjacent == 4 && t->w_digits <= 2 &&
           has_bytes(&p->w);
}

static void pack_rows(const itg_accel_shape *t, const itg_int_operand *w, int64_t *sums,
                      int8_t *panels)
{
    const uint8_t flip = w->storage == ITG_S8 ? 0x80 : 0;
    const int64_t columns = t->w.out_channels;
    for (int64_t k = 0; k < columns; k += ITG_PANEL_COLUMNS) {
        int8_t *panel = panels + k / ITG_PANEL_COLUMNS * t->w_digits * t->panel_bytes;
        pack_panel_of_rows((const uint8_t *)w->data + k, columns, t->channels, columns - k, flip,
                           (int32_t)w->zero_point + flip, panel,
                           t->w_digits > 1 ? panel + t->panel_bytes : NULL, sums + k);
    }
}

static void pack_bytes(const itg_accel_shape *t, const itg_accel_problem *p, int64_t *sums,
                       int8_t *panels)
{
    const int64_t groups = groups_of(t), filters = t->w.out_channels / groups;
    if (are_rows(t, p)) {
        pack_rows(t, &p->w, sums, panels);
        return;
    }
    for (int64_t k = 0; k < t->w.out_channels; k++) {
        int64_t in_group = k % filters;
        int64_t panel = k / filters * t->panels + in_group / t->panel_columns;
        sums[k] = pack_filter(t, p, k,
                              panels + panel * t->w_digits * t->panel_bytes +
                                  in_group % t->panel_columns * t->adjacent);
    }
}

/* Turns bytes [quad][column][4] at out + n into words [quad][2][column][2] at out. Writes only what
 * was read before. */
static void widen(int8_t *out, int64_t n)
{
    enum { QUAD = 4 * ITG_PANEL_COLUMNS };
    for (int64_t i = 0; i < n; i += QUAD) {
        int16_t words[QUAD];
        const int8_t *in = out + n + i;
        for (int64_t pair = 0; pair < 2; pair++)
            for (int64_t c = 0; c < ITG_PANEL_COLUMNS; c++)
                for (int64_t j = 0; j < 2; j++)
                    words[(pair * ITG_PANEL_COLUMNS + c) * 2 + j] = in[c * 4 + pair * 2 + j];
        memcpy(out + 2 * i, words, sizeof words);
    }
}

void itg_accel_pack(const itg_accel_kernels *kernels, const itg_accel_problem *p, void *packed)
{
    itg_accel_shape t = itg_accel_shape_of(kernels, p);
    const size_t bytes = packed_bytes(&t);
    if (bytes == 0) return;
    int64_t *sums = packed;
    int8_t *panels = (int8_t *)packed + itg_accel_sums_bytes(&t);
    if (t.scheme == ITG_SCHEME_WINOGRAD) {
        itg_winograd_pack(&t, p, sums, panels);
        return;
    }
    memset(packed, 0, bytes);
    const size_t digits = bytes - (size_t)itg_accel_sums_bytes(&t);
    if (!kernels->words || t.scheme == ITG_SCHEME_DEPTHWISE) {
        pack_bytes(&t, p, sums, panels);
        return;
    }
    t.panel_bytes /= 2;
    pack_bytes(&t, p, sums, panels + digits / 2);
    widen(panels, (int64_t)digits / 2);
}
