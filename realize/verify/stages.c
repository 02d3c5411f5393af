#include "realize/verify/stages.h"

static const int64_t *list(const itg_view *v, const char *prefix, const char *name, int64_t *count)
{
    char text[64];
    snprintf(text, sizeof text, "%s_%s", prefix, name);
    return itg_view_ints(v, "", text, count);
}

static bool stage_is_legal(const itg_stage_sets *s, int64_t i)
{
    return s->multiplier[i] >= 0 && s->multiplier[i] <= INT32_MAX && s->shift[i] >= -62 &&
           s->shift[i] <= 62 && s->rounding[i] >= 0 && s->rounding[i] < ITG_ROUNDING_COUNT;
}

static bool read_stages(itg_view *v, const char *prefix, itg_stage_sets *s)
{
    int64_t multipliers, shifts, roundings, total = 0;
    s->stages = list(v, prefix, "stages", &s->count);
    s->multiplier = list(v, prefix, "multiplier", &multipliers);
    s->shift = list(v, prefix, "shift", &shifts);
    s->rounding = list(v, prefix, "rounding", &roundings);
    s->first = itg_view_array(v, s->count, sizeof *s->first);
    if (s->first == NULL) return false;
    for (int64_t i = 0; i < s->count; i++) {
        if (s->stages[i] < 0 || s->stages[i] > 3) {
            itg_view_problem(v, "%s: set %lld has %lld stages; 0 to 3 are allowed", prefix,
                             (long long)i, (long long)s->stages[i]);
            return false;
        }
        s->first[i] = total;
        total += s->stages[i];
    }
    if (multipliers != total || shifts != total || roundings != total) {
        itg_view_problem(v, "%s: %lld multipliers, %lld shifts and %lld roundings for %lld stages",
                         prefix, (long long)multipliers, (long long)shifts, (long long)roundings,
                         (long long)total);
        return false;
    }
    for (int64_t i = 0; i < total; i++)
        if (!stage_is_legal(s, i)) {
            itg_view_problem(v,
                             "%s: stage %lld: multiplier %lld, shift %lld, rounding %lld are not"
                             " legal (below 2^31, -62..62, 0..3)",
                             prefix, (long long)i, (long long)s->multiplier[i],
                             (long long)s->shift[i], (long long)s->rounding[i]);
            return false;
        }
    return true;
}

bool itg_stage_sets_read(itg_view *v, const char *prefix, itg_stage_sets *out)
{
    char name[64];
    itg_stage_sets s = {0};
    snprintf(name, sizeof name, "%s_ratio", prefix);
    s.ratio = itg_view_floats(v, "", name, &s.count);
    for (int64_t i = 0; i < s.count; i++)
        if (!(s.ratio[i] > 0) || s.ratio[i] > 3.4e38f) {
            itg_view_problem(v, "%s: entry %lld is not positive and finite", name, (long long)i);
            return false;
        }
    if (s.ratio == NULL && !read_stages(v, prefix, &s)) return false;
    *out = s;
    return true;
}

/* Rounds half to even and saturates. From 2^52 on, doubles are integers. */
static int64_t nearest(double x)
{
    if (x >= 9223372036854775808.0) return INT64_MAX;
    if (x < -9223372036854775808.0) return INT64_MIN;
    int64_t whole = (int64_t)x;
    double rest = x - (double)whole, size = rest < 0 ? -rest : rest;
    if (size > 0.5 || (size == 0.5 && whole % 2 != 0)) whole += x < 0 ? -1 : 1;
    return whole;
}

static int64_t scaled(itg_wide v, float ratio)
{
    float product = (float)itg_wide_saturated(v) * ratio; /* rounded twice, by definition */
    return nearest((double)product);
}

static bool apply(itg_wide v, const itg_stage_sets *s, int64_t i, itg_wide *product, itg_wide *out)
{
    if (!itg_wide_multiply(v, s->multiplier[i], product)) return false;
    if (s->shift[i] < 0) return itg_wide_shift_left(*product, (int32_t)-s->shift[i], out);
    *out = itg_wide_round_shift(*product, (int32_t)s->shift[i], (itg_rounding)s->rounding[i]);
    return true;
}

bool itg_stage_sets_trace(itg_view *v, const itg_stage_sets *sets, int64_t channel, itg_span in,
                          itg_stage_trace *out)
{
    int64_t set = sets->count == 1 ? 0 : channel;
    *out = (itg_stage_trace){.result = in};
    if (sets->ratio != NULL) {
        float ratio = sets->ratio[set];
        out->result = itg_span_of(scaled(in.lo, ratio), scaled(in.hi, ratio));
        out->step[out->count++] = (itg_stage_step){in, out->result};
        return true;
    }
    for (int64_t i = 0; i < sets->stages[set]; i++) {
        itg_stage_step *step = &out->step[out->count++];
        int64_t at = sets->first[set] + i;
        if (!apply(out->result.lo, sets, at, &step->product.lo, &step->result.lo) ||
            !apply(out->result.hi, sets, at, &step->product.hi, &step->result.hi)) {
            itg_view_problem(v, "channel %lld: requantization stage %lld leaves 128 bits",
                             (long long)channel, (long long)i);
            return false;
        }
        out->result = step->result;
    }
    out->result = itg_span_saturated(out->result, 64);
    return true;
}
