"""docs/arithmetic.md 3.4, 3.5: Softmax and LayerNormalization in integers."""
import math

import numpy as np

import float_ops as f

F32, F64 = np.float32, np.float64


class Softmax:
    unit, bound = 2.0 ** -30, 1 << 30

    def __init__(self, node, q, accumulator, _):
        n = node.inputs[0].shape[node.attrs["axis"]]
        most = (1 << (accumulator["bits"] - 1)) - 1
        self.k = max(k for k in range(16, 31) if n << k <= most)
        self.scale = F64(q.scale)

    def table(self, j):
        return np.rint(np.ldexp(f.exp(-(self.scale * j.astype(F64))), self.k)).astype(np.int64)

    def rows(self, x, axis):
        d = x.max(axis, keepdims=True) - x
        e = (self.table(d % 256) * self.table(d - d % 256) + (1 << (self.k - 1))) >> self.k
        total = e.sum(axis, keepdims=True)
        return (e * (1 << 30) + total // 2) // total


def mul(a, b):
    return (a * b + (1 << 30)) >> 31


def away(v, n):
    half = 1 << (n - 1)
    return -((half - v) >> n) if v < 0 else (v + half) >> n


def fixed_exp(v):
    if v == 0:
        return (1 << 31) - 1
    part = v % (1 << 24) - (1 << 24)
    x = 32 * part + (1 << 28)
    x2 = mul(x, x)
    e = 1895147668
    e += mul(e, x + away(mul(away(mul(x2, x2), 2) + mul(x2, x), 715827883) + x2, 1))
    for i, factor in enumerate((1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)):
        if (part - v) >> (24 + i) & 1:
            e = mul(e, factor)
    return e


class TfliteSoftmax:
    @staticmethod
    def takes(node, q):
        return q.scale >= 2.0 ** -26 and node.inputs[0].shape[node.attrs["axis"]] <= 4095

    def __init__(self, q, outputs):
        f, self.e = math.frexp(float(q.scale) * 2.0 ** 26)
        self.m = math.floor(f * 2 ** 31 + 0.5)
        if self.m == 1 << 31:
            self.m, self.e = 1 << 30, self.e + 1
        if self.e > 31:
            self.m, self.e = (1 << 31) - 1, 31
        self.fraction = 8 if all(o is not None and float(o.scale) == 2.0 ** -8 for o in outputs) else 16
        self.unit, self.bound = 2.0 ** -self.fraction, 1 << self.fraction

    def term(self, d):
        return 0 if d > (31 << 26) >> self.e else fixed_exp(mul(-d << self.e, self.m))

    def row(self, x):
        t = [self.term(int(x.max()) - int(v)) for v in x]
        total = sum((v + (1 << 11)) >> 12 for v in t)
        h = 32 - total.bit_length()
        d = total << (h - 1)
        r = 1515870810 + mul(d, -1010580540)
        for _ in range(3):
            r += 4 * mul(r, (1 << 29) - mul(d, r))
        return [away(mul(min(2 * r, (1 << 31) - 1), v), 43 - self.fraction - h) for v in t]

    def rows(self, x, axis):
        return np.apply_along_axis(self.row, axis, x).astype(np.int64)


class LayerNorm:
    def __init__(self, node, q, accumulator, power):
        from annotate import Mismatch, power_of_two
        self.row = node.inputs[0].shape[node.attrs["axis"]:]
        self.n = math.prod(self.row)
        if self.n > 1 << 20 or self.n ** 2 * q.reach ** 2 > 1 << 61:
            raise Mismatch("a row is too long")
        s = float(q.scale)
        self.epsilon = max(1, round(float(F32(node.attrs["epsilon"])) * (self.n * self.n) / (s * s)))
        spread = lambda v: np.broadcast_to(v.data, self.row).reshape(-1)
        gamma = spread(node.inputs[1])
        t = float(np.abs(gamma).max())
        scale = F32(power_of_two(t, 1 << 15) if power else t / 32767)
        scale = F32(1) if scale < 2.0 ** -64 else scale
        self.gain = np.clip(np.rint((gamma / scale).astype(F64)), -32767, 32767).astype(np.int64)
        beta = spread(node.inputs[2]).astype(F64) if len(node.inputs) > 2 else np.zeros(self.n)
        for self.fraction in range(20, 7, -1):
            self.unit = math.ldexp(float(scale), -self.fraction)
            self.bias = np.rint(beta / self.unit).astype(np.int64)
            reach = math.isqrt(self.n << 2 * self.fraction) + 4
            self.bound = max(int(v) for v in np.abs(self.bias) + reach * np.abs(self.gain))
            if self.bound < 1 << (accumulator["bits"] - 1):
                return
        raise Mismatch("the accumulator is too narrow")


def layer_norm(x, axis, made):
    rows = x.reshape(-1, made.n)
    out = np.empty_like(rows)
    for row, acc in zip(rows, out):
        total = int(row.sum())
        square = made.n * int((row * row).sum()) - total * total + made.epsilon
        t = 0
        while square << 2 * t < 1 << 60:
            t += 1
        root = math.isqrt(square << 2 * t)
        d = (made.n * row - total) << (t + made.fraction)
        acc[:] = np.sign(d) * ((np.abs(d) + root // 2) // root) * made.gain + made.bias
    return out.reshape(x.shape)
