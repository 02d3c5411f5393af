"""docs/arithmetic.md 4 and 5: requantization constants from real ratios, and their exact application to arrays."""
import math

import numpy as np

F32 = np.float32


class Refused(Exception):
    pass


# ---- constants ----

def normalized(ratio, bits):
    """m(bits) and e."""
    f, e = math.frexp(ratio)
    m = (int(math.ldexp(f, 53)) + (1 << (52 - bits))) >> (53 - bits)
    return (m // 2, e + 1) if m == 1 << bits else (m, e)


def round_shift_int(v, shift, rounding):
    return int(round_shift(np.array(v, object), np.array(shift, object), rounding))


def pre_shift(spec, bound):
    bits, rounding = spec.get("pre_shift_bits", 0), pre_rounding(spec)
    if bits == 0:
        return 0
    limit = 1 << (bits - 1)
    p = 0
    while p < 62 and (round_shift_int(bound, p, rounding) >= limit or round_shift_int(-bound, p, rounding) <= -limit):
        p += 1
    return p


def named(spec, key, default):
    return spec.get(key, spec.get("rounding", default))


def pre_rounding(spec):
    return named(spec, "pre_rounding", "floor")


def derive(spec, ratio, ratio32, bound):
    """Stages (multiplier, shift, rounding), as many for every ratio; or ("f32", c)."""
    form = spec["form"]
    if form == "f32":
        if not np.finfo(F32).tiny <= ratio32 <= np.finfo(F32).max:
            raise Refused("float32 ratio")
        return [("f32", ratio32, None)]
    if not 2.0 ** -1022 <= ratio < math.inf:
        raise Refused("ratio")
    if form == "tflite_double":
        m, e = normalized(ratio, 31)
        if not -31 <= e <= 30:
            raise Refused("ratio")
        stages = [(1, -max(e, 0), "half_up"), (m, 31, "half_up"), (1, max(-e, 0), "half_away")]
    elif form == "s64_reduced":
        m, e = normalized(ratio, 31)
        stages = [((m + (1 << 15)) >> 16 if m < 0x7FFF0000 else 0x7FFF, 15 - e, "half_up")]
    elif form == "shift":
        f, e = math.frexp(ratio)
        if f != 0.5:
            raise Refused("no power of two")
        stages = [(1, 1 - e, named(spec, "shift_rounding", "half_up"))]
    else:
        n = spec.get("multiplier_bits", 32) - 1
        p = pre_shift(spec, bound)
        m, e = normalized(ratio, n)
        k = n - e - p
        last = named(spec, "shift_rounding", "half_up")
        stages = [(1, p, pre_rounding(spec))]
        if form == "preshift":
            stages += [(m, k, last)]
        else:
            d = spec.get("multiply_shift", -1)
            first = d if 0 <= d < k else k
            stages += [(m, first, named(spec, "multiply_rounding", "half_up")), (1, k - first, last)]
    if any(shift > spec.get("max_shift", 62) or shift < -62 for _, shift, _ in stages):
        raise Refused("shift")
    return stages


class Requant:
    """Constants of several channels (or counts), laid out to broadcast against the accumulators."""

    def __init__(self, derived, shape):
        self.f32 = derived[0][0][0] == "f32"
        if self.f32:
            self.ratio = np.array([d[0][1] for d in derived], F32).reshape(shape)
            return
        self.stages = []
        for i in range(len(derived[0])):
            multiplier, shift = (np.array([d[i][k] for d in derived], np.int64).reshape(shape) for k in (0, 1))
            self.stages.append((multiplier, shift, derived[0][i][2]))

    def __call__(self, acc):
        if self.f32:
            with np.errstate(over="ignore"):
                y = np.rint((acc.astype(F32) * self.ratio).astype(np.float64))
            return np.clip(y, -2.0 ** 62, 2.0 ** 62).astype(np.int64)
        v = acc
        for multiplier, shift, rounding in self.stages:
            v = one_stage(v, multiplier, shift, rounding)
        return np.clip(v, -2 ** 62, 2 ** 62).astype(np.int64)


def largest(v):
    return max(abs(int(v.max())), abs(int(v.min()))) if v.size else 0


def one_stage(v, multiplier, shift, rounding):
    left, right = np.maximum(-shift, 0), np.maximum(shift, 0)
    if v.dtype == object or largest(v) * largest(multiplier) << int(left.max()) >= 1 << 62:
        v, multiplier, left, right = (x.astype(object) for x in (v, multiplier, left, right))
    v = round_shift((v * multiplier) << left, right, rounding)
    if v.dtype == object and largest(v) < 1 << 62:
        v = v.astype(np.int64)
    return v


def round_shift(v, shift, rounding):
    one = np.array(1, v.dtype)
    return rounded(v, v >> shift, one << shift, rounding)


def round_divide(v, divisor, rounding):
    return rounded(v, v // divisor, divisor, rounding)


def rounded(v, floor, divisor, rounding):
    if rounding == "floor":
        return floor
    twice = 2 * (v - floor * divisor)
    if rounding == "half_up":
        up = twice >= divisor
    elif rounding == "half_away":
        up = (twice > divisor) | ((twice == divisor) & (v >= 0))
    else:
        up = (twice > divisor) | ((twice == divisor) & (floor % 2 == 1))
    return floor + up


# ---- accumulators ----

def limits(accumulator):
    bits = accumulator["bits"]
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def fit(accumulator, v):
    lo, hi = limits(accumulator)
    if v.size == 0 or (lo <= int(v.min()) and int(v.max()) <= hi):
        return v.astype(np.int64)
    if accumulator.get("overflow", "wrap") == "saturate":
        return np.clip(v, lo, hi).astype(np.int64)
    return ((v.astype(object) - lo) % (hi - lo + 1) + lo).astype(np.int64)


# ---- clips ----

def bound_code(q, bound):
    if math.isinf(bound):
        return q.qmin if bound < 0 else q.qmax
    return int(min(max(float(np.rint(float(bound) / float(q.scale))) + q.zero, q.qmin), q.qmax))


def clip_range(q, activation):
    """[lo, hi] under a Relu or Clip node; None: the quantizer's own."""
    if activation is None:
        return q.qmin, q.qmax
    if activation.op == "Relu":
        return min(max(q.zero, q.qmin), q.qmax), q.qmax
    lo = bound_code(q, float(activation.attrs["min"]))
    return lo, max(lo, bound_code(q, float(activation.attrs["max"])))
