"""Functions and float kernels as docs/arithmetic-math.md states them, over arrays with a leading axis of samples."""
import itertools
import math

import numpy as np

F32, F64 = np.float32, np.float64


def hexes(words):
    return [float.fromhex(word) for word in words.split()]


LOG2_E, LN2_HI, LN2_LO, SQRT_HALF = hexes("0x1.71547652b82fep+0 0x1.62e42feep-1 0x1.a39ef35793c76p-33 "
                                          "0x1.6a09e667f3bcdp-1")
EXP = hexes("""0x1p-1 0x1.5555555555555p-3 0x1.5555555555555p-5 0x1.1111111111111p-7 0x1.6c16c16c16c17p-10
    0x1.a01a01a01a01ap-13 0x1.a01a01a01a01ap-16 0x1.71de3a556c734p-19 0x1.27e4fb7789f5cp-22 0x1.ae64567f544e4p-26
    0x1.1eed8eff8d898p-29 0x1.6124613a86d09p-33""")
LOG = hexes("""0x1.5555555555555p-1 0x1.999999999999ap-2 0x1.2492492492492p-2 0x1.c71c71c71c71cp-3
    0x1.745d1745d1746p-3 0x1.3b13b13b13b14p-3 0x1.1111111111111p-3 0x1.e1e1e1e1e1e1ep-4 0x1.af286bca1af28p-4
    0x1.8618618618618p-4 0x1.642c8590b2164p-4""")
ERF = hexes("""0x1p+0 -0x1.5555555555555p-2 0x1.999999999999ap-4 -0x1.8618618618618p-6 0x1.2f684bda12f68p-8
    -0x1.8d3018d3018d3p-11 0x1.c01c01c01c01cp-14 -0x1.bbd779334ef0bp-17 0x1.87a00187a0018p-20 -0x1.3777c55568ccdp-23
    0x1.c2e3054870b38p-27 -0x1.2b67310aa9f3ap-30 0x1.6f448e13e85e1p-34 -0x1.a289ee7e40f74p-38 0x1.bd577e658d020p-42
    -0x1.bc6250fb14231p-46 0x1.a173a167fba4dp-50 -0x1.7271cbe5863ecp-54 0x1.377c2110f2083p-58 -0x1.f1b4073b34a68p-63""")
ERFC = hexes("""0x1.6e9827d229d2dp-3 -0x1.4e102b9cf8513p-2 0x1.f6ff204105976p-3 -0x1.336ffbef08b18p-3
    0x1.258b13b017934p-4 -0x1.8fa58eb5e1d42p-6 0x1.17c838eec7b56p-8 0x1.73101ea1b3803p-11 -0x1.39084c8034bb3p-11
    0x1.7ba0ce14ddbbep-15 0x1.0cac3a11fe28fp-14 -0x1.af7cf3e087bcfp-17 -0x1.0bafe44deb848p-17 0x1.1b86fc353f5b6p-19
    0x1.4e75dccc737abp-20 -0x1.20ffd2643b2abp-22 -0x1.b521f5e62b937p-23""")

TWO_OVER_PI = int("".join("""a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e006492eea09d1921c
    fe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f
    ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d08
    56033046""".split()), 16)
HALF_PI, LN2 = hexes("0x1.921fb54442d18p+0 0x1.62e42fefa39efp-1")
SIN = [(-1) ** n / math.factorial(2 * n + 1) for n in range(1, 9)]
COS = [(-1) ** n / math.factorial(2 * n) for n in range(2, 9)]
ATAN = [(-1) ** n / (2 * n + 1) for n in range(1, 22)]
ATAN_PARTS = [(limit, c, *hexes(words)) for limit, c, words in (
    (0.6875, 0.5, "0x1.dac670561bb4fp-2 0x1.a2b7f222f65e2p-56"),
    (1.1875, 1.0, "0x1.921fb54442d18p-1 0x1.1a62633145c07p-55"),
    (2.4375, 1.5, "0x1.f730bd281f69bp-1 0x1.007887af0cbbdp-56"),
    (math.inf, None, "0x1.921fb54442d18p+0 0x1.1a62633145c07p-54"))]


# ---- functions: binary64 arrays in, binary64 arrays out ----

def poly(x, terms):
    total = np.full_like(x, terms[-1])
    for term in reversed(terms[:-1]):
        total = total * x
        total = total + term
    return total


def exp(x):
    usual = (x <= 710) & (x >= -746)
    hi = np.where(usual, x, 0.0)
    t = hi * LOG2_E
    k = np.trunc(np.where(t < 0, t - 0.5, t + 0.5))
    r = (hi - k * LN2_HI) - k * LN2_LO + 0.0
    tail = (r * r) * poly(r, EXP)
    result = np.ldexp(1 + (r + tail), k.astype(np.int64))
    return np.where(np.isnan(x), np.nan, np.where(x > 710, np.inf, np.where(x < -746, 0.0, result)))


def log(x):
    usual = (x > 0) & (x < np.inf)
    m, k = np.frexp(np.where(usual, x, 1.0))
    low = m < SQRT_HALF
    m, k = np.where(low, m + m, m), np.where(low, k - 1, k).astype(F64)
    f = m - 1
    s = f / (2 + f)
    z = s * s
    series = z * poly(z, LOG)
    half = (0.5 * f) * f
    lower = s * (half + series) + k * LN2_LO
    result = k * LN2_HI - ((half - lower) - f)
    special = np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, np.nan))
    return np.where(usual, result, special)


def erf(x):
    a = np.abs(x)
    near = np.where(a < 1, x, 0.0)
    small = (near * poly(near * near, ERF)) * float.fromhex("0x1.20dd750429b6dp+0")
    b = np.where((a >= 1) & (a < 6), a, 1.0)
    e = 1 - exp(-(b * b)) * poly((b - 3) / (b + 3), ERFC)
    e = np.where(a < 6, e, 1.0)
    return np.where(np.isnan(x), np.nan, np.where(a < 1, small, np.where(x < 0, -e, e)))


def tanh(x):
    a = np.abs(x)
    near = np.where(a < 0.625, x, 0.0)
    z = near * near
    above = ((36 * z + 6930) * z + 270270) * z + 2027025
    below = (((z + 630) * z + 51975) * z + 945945) * z + 2027025
    t = np.where(a < 20, 1 - 2 / (exp(np.where(a < 20, a + a, 0.0)) + 1), 1.0)
    return np.where(np.isnan(x), np.nan, np.where(a < 0.625, near * (above / below), np.where(x < 0, -t, t)))


def sigmoid(x):
    e = exp(np.where(x >= 0, 0.0, x))
    return np.where(x >= 0, 1 / (1 + exp(-np.where(x >= 0, x, 0.0))), e / (1 + e))


def log1p(u):
    w = 1 + u
    one = w == 1
    return np.where(one, u, log(w) * (u / np.where(one, 1.0, w - 1)))


def angle(x):
    """x = r + q * pi/2 of one number."""
    if abs(x) <= HALF_PI / 2:
        return x, 0
    if not math.isfinite(x):
        return math.nan, 0
    m, e = math.frexp(abs(x))
    m, e = int(m * 2 ** 53), e - 53
    y = m * (TWO_OVER_PI >> (994 - e)) % 2 ** 192
    q = ((y + 2 ** 189) >> 190) % 4
    f = (y - (q << 190) + 2 ** 191) % 2 ** 192 - 2 ** 191
    cut = max(abs(f).bit_length() - 53, 0)
    r = math.ldexp(abs(f) >> cut, cut - 190) * HALF_PI
    r = -r if f < 0 else r
    return (-r, -q % 4) if x < 0 else (r, q)


def circle(x, turn):
    """sin(x + turn * pi/2), and cos with the same sign rule."""
    r, q = (np.array(part).reshape(x.shape) for part in zip(*map(angle, x.reshape(-1).tolist())))
    z = r * r
    s = r + r * (z * poly(z, SIN))
    c = 1 - (0.5 * z - z * (z * poly(z, COS)))
    at = (q + turn) % 4
    return np.where(at % 2 == 1, c, s) * np.where(at >= 2, -1.0, 1.0), s, c, q


def sin(x):
    return np.where(x == 0, x, circle(x, 0)[0])


def cos(x):
    return circle(x, 1)[0]


def tan(x):
    _, s, c, q = circle(x, 0)
    return np.where(x == 0, x, np.where(q % 2 == 1, -(c / s), s / c))


def atan(x):
    a = np.abs(x)
    t, hi, lo = a, np.zeros_like(a), np.zeros_like(a)
    for limit, c, high, low in reversed(ATAN_PARTS):
        here = (a > 0.4375) & (a <= limit)
        t = np.where(here, -1 / a if c is None else (a - c) / (1 + c * a), t)
        hi, lo = np.where(here, high, hi), np.where(here, low, lo)
    z = t * t
    return np.copysign(hi + (t + (t * (z * poly(z, ATAN)) + lo)), x)


def asin(x):
    return 2 * atan(x / (1 + np.sqrt((1 - x) * (1 + x))))


def acos(x):
    return 2 * atan(np.sqrt((1 - x) / (1 + x)))


def sinh(x):
    t, e = tanh(0.5 * x), exp(np.abs(x))
    return np.where(np.abs(x) < 1, (t + t) / ((1 - t) * (1 + t)), np.copysign(0.5 * e - 0.5 / e, x))


def cosh(x):
    e = exp(np.abs(x))
    return 0.5 * e + 0.5 / e


def asinh(x):
    a = np.abs(x)
    s = a * a
    return np.copysign(np.where(a > 2.0 ** 28, log(a) + LN2, log1p(a + s / (1 + np.sqrt(1 + s)))), x)


def acosh(x):
    t = np.where(x >= 1, x - 1, np.nan)
    return np.where(x > 2.0 ** 28, log(x) + LN2, log1p(t + np.sqrt(t * (2 + t))))


def atanh(x):
    a = np.abs(x)
    inside = np.where(a < 1, a, np.nan)
    return np.copysign(np.where(a == 1, np.inf, 0.5 * log1p((inside + inside) / (1 - inside))), x)


def softplus(x):
    return np.where(x > 0, x, 0.0) + log1p(exp(-np.abs(x)))


def exp_minus_one(x):
    t = tanh(0.5 * x)
    return (t + t) / (1 - t)


def elu(x, a):
    return np.where(x < 0, F64(a["alpha"]) * exp_minus_one(np.where(x < 0, x, 0.0)), x)


def selu(x, a):
    return F64(a["gamma"]) * np.where(x > 0, x, F64(a["alpha"]) * exp_minus_one(x))


def celu(x, a):
    return np.where(x < 0, F64(a["alpha"]) * exp_minus_one(x / F64(a["alpha"])), x)


def shrink(x, a):
    lambd, bias = F64(a["lambd"]), F64(a["bias"])
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, np.where(x == x, 0.0, x)))


def swish(x, a):
    s = sigmoid(F64(a["alpha"]) * x)
    return np.where(s == 0, np.where(x < 0, -0.0, 0.0), x * s)


def mish(x):
    e = exp(x)
    n = e * (e + 2)
    return np.where(x > 64, x, np.where(x < -746, -0.0, x * (n / (n + 2))))


def gelu(x, a):
    share = erf(x * F64(math.sqrt(0.5)))
    if a["approximate"] == "tanh":
        share = tanh(float.fromhex("0x1.9884533d43651p-1") * (x + F64(0.044715) * (x * x * x)))
    return np.where(x <= -64, -0.0, 0.5 * x * (1 + share))


UNIVARIATE = {
    "Relu": lambda x, a: np.where(x <= 0, 0.0, x),
    "LeakyRelu": lambda x, a: np.where(x < 0, F64(a["alpha"]) * x, x),
    "Elu": elu,
    "Clip": lambda x, a: clip(x, F64(a["min"]), F64(a["max"])),
    "Sigmoid": lambda x, a: sigmoid(x),
    "Tanh": lambda x, a: tanh(x),
    "HardSigmoid": lambda x, a: clip(F64(a["alpha"]) * x + F64(a["beta"]), 0.0, 1.0),
    "HardSwish": lambda x, a: np.where(x <= -3, 0.0, np.where(x >= 3, x, x * (x + 3) / 6)),
    "Softplus": lambda x, a: softplus(x),
    "Exp": lambda x, a: exp(x),
    "Log": lambda x, a: log(x),
    "Sqrt": lambda x, a: np.sqrt(x),
    "Reciprocal": lambda x, a: 1 / x,
    "Erf": lambda x, a: erf(x),
    "Gelu": gelu,
    "Abs": lambda x, a: np.where(x < 0, -x, x + 0.0),
    "Neg": lambda x, a: -x,
    "Floor": lambda x, a: np.floor(x),
    "Ceil": lambda x, a: np.ceil(x),
    "Round": lambda x, a: np.rint(x),
    "Sign": lambda x, a: np.where(x > 0, 1.0, np.where(x < 0, -1.0, x)),
    "Selu": selu,
    "Celu": celu,
    "ThresholdedRelu": lambda x, a: np.where(x <= F64(a["alpha"]), 0.0, x),
    "Shrink": shrink,
    "Swish": swish,
    "Mish": lambda x, a: mish(x),
    "Softsign": lambda x, a: x / (1 + np.abs(x)),
    "Sin": lambda x, a: sin(x),
    "Cos": lambda x, a: cos(x),
    "Tan": lambda x, a: tan(x),
    "Asin": lambda x, a: asin(x),
    "Acos": lambda x, a: acos(x),
    "Atan": lambda x, a: atan(x),
    "Sinh": lambda x, a: sinh(x),
    "Cosh": lambda x, a: cosh(x),
    "Asinh": lambda x, a: asinh(x),
    "Acosh": lambda x, a: acosh(x),
    "Atanh": lambda x, a: atanh(x),
}


def clip(x, lo, hi):
    raised = np.where(x < lo, lo, x)
    return np.where(raised > hi, hi, raised)


def univariate(op, attrs, x):
    """float32 in, float32 out."""
    with np.errstate(all="ignore"):
        return UNIVARIATE[op](x.astype(F64), attrs).astype(F32)


# ---- windows: arrays [samples, channels, height, width] ----

def as_image(x):
    """[S,N,C,W] or [S,N,C,H,W] as [S*N,C,H,W]."""
    return x.reshape(-1, x.shape[2], 1 if x.ndim == 4 else x.shape[3], x.shape[-1])


def by_sample(y, x):
    """[S*N,...] as [S,N,...], of what as_image made of x."""
    return y.reshape((len(x), -1) + y.shape[1:])


def taps(attrs, size, out):
    """For every kernel row and column: its slices of the input and of the output, where it lies inside."""
    (top, left), stride, dilation = attrs["pad"][:2], attrs["stride"], attrs["dilation"]
    for r, t in itertools.product(range(attrs["kernel"][0]), range(attrs["kernel"][1])):
        slices = []
        for first, step, n, m in ((r * dilation[0] - top, stride[0], size[0], out[0]),
                                  (t * dilation[1] - left, stride[1], size[1], out[1])):
            begin = max(0, -(first // step))
            end = min(m, (n - 1 - first) // step + 1)
            if begin >= end:
                break
            slices.append((slice(begin, end), slice(begin * step + first, (end - 1) * step + first + 1, step)))
        else:
            yield r, t, slices


def window_counts(attrs, size, out):
    """Elements of each window that count: inside the input, or with count_include_pad inside the padded input."""
    counts = []
    for d in range(2):
        low, high = (0, size[d]) if not attrs["count_include_pad"] else (-attrs["pad"][d], size[d] + attrs["pad"][d + 2])
        at = (np.arange(out[d])[:, None] * attrs["stride"][d] - attrs["pad"][d]
              + np.arange(attrs["kernel"][d]) * attrs["dilation"][d])
        counts.append(((at >= low) & (at < high)).sum(1))
    return counts[0][:, None] * counts[1]


def whole_window(x):
    return {"kernel": x.shape[2:], "stride": (1, 1), "dilation": (1, 1), "pad": (0, 0, 0, 0), "count_include_pad": False}


def window_sums(attrs, x, out, dtype):
    total = np.zeros(x.shape[:2] + tuple(out), dtype)
    for _, _, ((oy, iy), (ox, ix)) in taps(attrs, x.shape[2:], out):
        total[:, :, oy, ox] += x[:, :, iy, ix]
    return total


def max_pool(attrs, x, out, lowest):
    most = np.full(x.shape[:2] + tuple(out), lowest, x.dtype)
    for _, _, ((oy, iy), (ox, ix)) in taps(attrs, x.shape[2:], out):
        part = most[:, :, oy, ox]
        tap = x[:, :, iy, ix]
        most[:, :, oy, ox] = np.where((tap > part) | (tap != tap), tap, part)
    return most


def fma(a, b, c):
    """a*b + c of float32, rounded once: the binary64 sum is moved to an odd last bit where it is not exact."""
    product, c = F64(a) * F64(b), np.asarray(c, F64)
    total = np.asarray(product + c)
    part = total - product
    error = (product - (total - part)) + (c - part)
    bits = total.view(np.int64)
    step = np.where((error != 0) & (bits % 2 == 0), np.where((error > 0) == (total > 0), 1, -1), 0)
    return (bits + step).view(F64).astype(F32)


def conv(attrs, x, w, bias, out):
    """float32, in the stated order."""
    groups, rows, depth = attrs["group"], w.shape[0] // attrs["group"], w.shape[1]
    w = w.reshape(groups, rows, depth, *attrs["kernel"])
    start = np.zeros(w.shape[0] * rows, F32) if bias is None else bias + F32(0)
    y = np.empty((x.shape[0], groups, rows) + tuple(out), F32)
    y[:] = start.reshape(groups, rows, 1, 1)
    x = x.reshape(x.shape[0], groups, depth, *x.shape[2:])
    places = list(taps(attrs, x.shape[3:], out))
    for c in range(depth):
        for r, t, ((oy, iy), (ox, ix)) in places:
            y[:, :, :, oy, ox] = fma(w[:, :, c, r, t][None, :, :, None, None], x[:, :, c, iy, ix][:, :, None], y[:, :, :, oy, ox])
    return y.reshape(x.shape[0], -1, *out)


def matrix(a, b, start):
    """float32 [.., M, K] x [.., K, N], k ascending; start broadcasts to the result."""
    y = np.zeros(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1]), F32)
    y += start
    for k in range(a.shape[-1]):
        y = fma(a[..., k:k + 1], b[..., k:k + 1, :], y)
    return y


def ordered_sum(x, axes):
    """binary64 sum in row-major order of the input; axes are kept as 1."""
    moved = np.moveaxis(x.astype(F64), axes, range(len(axes)))
    flat = moved.reshape((-1,) + moved.shape[len(axes):])
    total = np.zeros(flat.shape[1:])
    for part in flat:
        total = total + part
    return np.expand_dims(total, axes)


def softmax(op, x, axis):
    x = np.moveaxis(x.astype(F64), axis, 0)
    shifted = x - x.max(0)
    terms = exp(shifted)
    total = np.zeros(terms.shape[1:])
    for term in terms:
        total = total + term
    y = terms / total if op == "Softmax" else shifted - log(total)
    return np.moveaxis(y, 0, axis).astype(F32)


def layer_norm(x, scale, bias, axis, epsilon):
    rows = x.astype(F64).reshape(x.shape[:axis] + (-1,))
    n = rows.shape[-1]
    last = (rows.ndim - 1,)
    centred = rows - ordered_sum(rows, last) / n
    y = centred / np.sqrt(ordered_sum(centred * centred, last) / n + F64(F32(epsilon)))
    tail = x.shape[axis:]
    y = y * np.broadcast_to(scale, tail).astype(F64).reshape(-1)
    y = y + (0.0 if bias is None else np.broadcast_to(bias, tail).astype(F64).reshape(-1))
    return y.astype(F32).reshape(x.shape)
