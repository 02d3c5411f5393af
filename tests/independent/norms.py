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


def softmax(x, axis, made):
    d = x.max(axis, keepdims=True) - x
    e = (made.table(d % 256) * made.table(d - d % 256) + (1 << (made.k - 1))) >> made.k
    total = e.sum(axis, keepdims=True)
    return (e * (1 << 30) + total // 2) // total


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
