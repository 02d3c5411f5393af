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


def softplus(x):
    u = exp(-np.abs(x))
    w = 1 + u
    one = w == 1
    l = np.where(one, u, log(w) * (u / np.where(one, 1.0, w - 1)))
    return np.where(x > 0, x, 0.0) + l


def elu(x, a):
    t = tanh(0.5 * np.where(x < 0, x, 0.0))
    return np.where(x < 0, F64(a["alpha"]) * ((t + t) / (1 - t)), x)


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
            y[:, :, :, oy, ox] += w[:, :, c, r, t][None, :, :, None, None] * x[:, :, c, iy, ix][:, :, None]
    return y.reshape(x.shape[0], -1, *out)


def matrix(a, b, start):
    """float32 [.., M, K] x [.., K, N], k ascending; start broadcasts to the result."""
    y = np.zeros(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1]), F32)
    y += start
    for k in range(a.shape[-1]):
        y += a[..., k:k + 1] * b[..., k:k + 1, :]
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
