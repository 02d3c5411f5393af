"""Composite operators become others (docs/preparation.md 3.6): Resize, ConvTranspose, windows of volumes, and an LSTM with default functions."""
import math

import numpy as np

from infer import infer, make_attrs

F32, F64 = np.float32, np.float64


class Expansion:
    def __init__(self, g, node):
        self.g, self.node, self.name = g, node, node.name

    def constant(self, suffix, data):
        return self.g.new_value(self.name, suffix, data=np.ascontiguousarray(data))

    def put(self, suffix, op, *inputs, count=1, **attrs):
        names = [suffix] if count == 1 else ["%s/%d" % (suffix, i) for i in range(count)]
        outputs = [self.g.new_value(self.name, name) for name in names]
        node = self.g.new_node(self.name, suffix, op, list(inputs), outputs, make_attrs(op, attrs, 0))
        node.attrs.update(attrs)
        infer(node)
        return outputs[0] if count == 1 else outputs

    def reshape(self, suffix, x, shape):
        return self.put(suffix, "Reshape", x, target=tuple(shape))

    def finish(self, value):
        maker, out = value.producer, self.node.outputs[0]
        self.g.replace_uses(value, out)
        maker.outputs[[v is value for v in maker.outputs].index(True)] = out
        value.producer = None
        self.node.name, maker.name = maker.name, self.node.name
        self.g.kill(self.node)
        out.producer = maker


# ---- Resize: half_pixel and asymmetric coordinates ----

def resize_axis(e, x, axis, out, scale):
    a, size = e.node.attrs, x.shape[axis]
    matrix = np.zeros((size, out))
    for i in range(out):
        asymmetric = a.get("coordinate_transformation_mode") == "asymmetric"
        at = i / scale if asymmetric else (i + 0.5) / scale - 0.5
        if a["mode"] == "nearest":
            chosen = math.floor(at) if a.get("nearest_mode") == "floor" else math.ceil(at - 0.5)
            matrix[min(max(chosen, 0), size - 1), i] = 1
            continue
        for k in range(math.floor(at - 1), math.floor(at + 1) + 1):
            matrix[min(max(k, 0), size - 1), i] += max(0, 1 - abs(k - at))
    matrix, name = matrix.astype(F32), "axis%d" % axis
    if np.all(np.count_nonzero(matrix, 0) == 1) and np.all(matrix.max(0) == 1):
        chosen = matrix.argmax(0).astype(np.int64)
        if list(chosen) == list(range(size)):
            return x
        indices = e.constant(name, chosen)
        return e.put(name, "Gather", x, indices, axis=axis)
    last = len(x.shape) - 1
    perm = list(range(last + 1))
    perm[axis], perm[last] = last, axis
    if axis != last:
        x = e.put(name, "Transpose", x, perm=perm)
    x = e.put(name, "MatMul", x, e.constant(name, matrix))
    return x if axis == last else e.put(name, "Transpose", x, perm=perm)


def resize(e):
    x, out = e.node.inputs[0], e.node.outputs[0].shape
    for axis in reversed(range(len(out))):
        scale = e.node.attrs["scales"][axis]
        if scale != 1 or out[axis] != x.shape[axis]:
            x = resize_axis(e, x, axis, out[axis], scale)
    return x


# ---- ConvTranspose ----

def conv_transpose(e):
    a, x, w = e.node.attrs, e.node.inputs[0], e.node.inputs[1].data
    y, stride, dilation, group = e.node.outputs[0].shape, a["stride"], a["dilation"], a["group"]
    phases, outputs, inputs = stride[0] * stride[1], w.shape[1], w.shape[0] // group
    unit, taps, pads, rows, begin = [], [], [], [], []
    for i in range(2):
        s, d, kernel, p = stride[i], dilation[i], w.shape[2 + i], a["pad"][i]
        unit.append(d if s == 1 else 1)
        reach = (kernel - 1) * d // s // unit[i] * unit[i]
        first, end = p // s, -(-(p + y[2 + i]) // s)
        before = max(reach - first, 0)
        f = reach - before
        behind = max(end - f - (x.shape[2 + i] + before - reach), 0)
        taps.append(reach // unit[i] + 1)
        pads.append((before, behind))
        rows.append(x.shape[2 + i] + before + behind - reach)
        begin.append(p - f * s)

    def element(i, phase, j):
        at = phase + (taps[i] - 1 - j) * unit[i] * stride[i]
        return at // dilation[i] if at % dilation[i] == 0 and at // dilation[i] < w.shape[2 + i] else None

    made = np.zeros((outputs * group * phases, inputs, taps[0], taps[1]), F32)
    for m in range(outputs * group):
        for phase in range(phases):
            for j in range(taps[0]):
                for k in range(taps[1]):
                    row, column = element(0, phase // stride[1], j), element(1, phase % stride[1], k)
                    if row is not None and column is not None:
                        first = m // outputs * inputs
                        made[m * phases + phase, :, j, k] = w[first:first + inputs, m % outputs, row, column]
    weights = e.constant("weights", made)
    operands = [x, weights]
    if len(e.node.inputs) > 2:
        operands.append(e.constant("bias", np.repeat(e.node.inputs[2].data, phases)))
    x = e.put("phases", "Conv", *operands, group=group, kernel=tuple(taps), stride=(1, 1), dilation=tuple(unit),
              pad=(pads[0][0], pads[1][0], pads[0][1], pads[1][1]))
    if phases > 1:
        x = e.reshape("apart", x, (y[0], y[1], stride[0], stride[1], rows[0], rows[1]))
        x = e.put("order", "Transpose", x, perm=[0, 1, 4, 2, 5, 3])
        x = e.reshape("image", x, (y[0], y[1], rows[0] * stride[0], rows[1] * stride[1]))
    axes = [i for i in range(2, 4) if x.shape[i] != y[i]]
    if axes:
        cut = [slice(None)] * 4
        for i in axes:
            cut[i] = slice(begin[i - 2], begin[i - 2] + y[i], 1)
        x = e.put("slice", "Slice", x, cut=tuple(cut), axes=axes, starts=[begin[i - 2] for i in axes], steps=[1] * len(axes))
    return x


# ---- volumes ----

def conv_3d(e):
    a, x, w = e.node.attrs, e.node.inputs[0], e.node.inputs[1]
    n, m, depths, high, wide = e.node.outputs[0].shape
    c, kernel = x.shape[1], a["kernel"][0]
    if a["pad"][0] or a["pad"][3]:
        begin, end = [0, 0, a["pad"][0], 0, 0], [0, 0, a["pad"][3], 0, 0]
        x = e.put("pad", "Pad", x, mode="constant", value=F32(0), begin=begin, end=end)
    chosen = [i * a["stride"][0] + j * a["dilation"][0] for i in range(depths) for j in range(kernel)]
    x = e.put("slices", "Gather", x, e.constant("depths", np.array(chosen, np.int64)), axis=2)
    size = x.shape[3:]
    x = e.put("order", "Transpose", e.reshape("apart", x, (n, c, depths, kernel) + size), perm=[0, 2, 1, 3, 4, 5])
    x = e.reshape("images", x, (n * depths, c * kernel) + size)
    weights = e.reshape("weights", w, (m, w.shape[1] * kernel) + tuple(w.shape[3:]))
    x = e.put("conv", "Conv", x, weights, *e.node.inputs[2:], group=a["group"], kernel=tuple(a["kernel"][1:]),
              stride=tuple(a["stride"][1:]), dilation=tuple(a["dilation"][1:]), pad=tuple(a["pad"][1:3] + a["pad"][4:]))
    return e.put("volume", "Transpose", e.reshape("depth", x, (n, depths, m, high, wide)), perm=[0, 2, 1, 3, 4])


def pool_3d(e):
    a, x, y = e.node.attrs, e.node.inputs[0], e.node.outputs[0].shape
    n, c, deep = x.shape[:3]
    pool = lambda suffix, x, **keys: e.put(suffix, e.node.op[:-2], x, ceil_mode=0, count_include_pad=0, **keys)
    x = pool("plane", e.reshape("planes", x, (n, c * deep) + tuple(x.shape[3:])), kernel=tuple(a["kernel"][1:]),
             stride=tuple(a["stride"][1:]), dilation=tuple(a["dilation"][1:]), pad=tuple(a["pad"][1:3] + a["pad"][4:]))
    x = pool("line", e.reshape("lines", x, (n, c, deep, y[3] * y[4])), kernel=(a["kernel"][0], 1), stride=(a["stride"][0], 1),
             dilation=(a["dilation"][0], 1), pad=(a["pad"][0], 0, a["pad"][3], 0))
    return e.reshape("volume", x, y)


# ---- LSTM: forward, from zeros, Y alone ----

def lstm(e):
    x, w, r, b = e.node.inputs[:4]
    steps, rows = x.shape[0], w.shape[1]
    weights = e.constant("W", w.data[0].T)
    bias = e.constant("B", (b.data[0, :rows].astype(F64) + b.data[0, rows:].astype(F64)).astype(F32))
    again = e.constant("R", r.data[0].T)
    parts = e.put("x", "Split", e.put("input", "MatMul", x, weights, bias), axis=0, count=steps)
    h = c = None
    hidden = []
    for t, total in enumerate(parts):
        first = len(e.g.values)
        step = lambda suffix, op, *inputs, **keys: e.put("step%d/%s" % (t, suffix), op, *inputs, **keys)
        if h is not None:
            total = step("sum", "Add", total, step("state", "MatMul", h, again))
        i, o, f, n = step("gates", "Split", total, axis=2, count=4)
        i, n = step("i", "Sigmoid", i), step("n", "Tanh", n)
        kept = step("kept", "Mul", step("f", "Sigmoid", f), c) if c is not None else None
        new = step("new", "Mul", i, n)
        c = new if kept is None else step("c", "Add", new, kept)
        o = step("o", "Sigmoid", o)
        h = step("h", "Mul", o, step("c/h", "Tanh", c))
        for value in e.g.values[first:]:
            if value.producer is not None:
                value.repeat = (e.node, value.name.rsplit("step%d/" % t, 1)[1])
        h.repeat, c.repeat = (e.node, "h"), (e.node, "c")
        hidden.append(h)
    y = e.put("forward", "Concat", *hidden, axis=0)
    return e.reshape("forward", y, e.node.outputs[0].shape)


RULES = {"Resize": resize, "ConvTranspose": conv_transpose, "LSTM": lstm, "Conv3D": conv_3d, "MaxPool3D": pool_3d,
         "AveragePool3D": pool_3d}


def expand(g):
    for node in list(g.nodes):
        if node.op in RULES:
            e = Expansion(g, node)
            e.finish(RULES[node.op](e))
