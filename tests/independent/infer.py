"""Shapes, version-free attributes and constant folding (docs/preparation.md 3.2), and the evaluation of float nodes."""
import math

import numpy as np

import composite
import float_ops as f

DEFAULTS = {
    "Conv": {"group": 1}, "AveragePool": {"count_include_pad": 0}, "MaxPool": {},
    "Gemm": {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0},
    "LeakyRelu": {"alpha": 0.01}, "Elu": {"alpha": 1.0}, "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
    "Clip": {"min": -np.inf, "max": np.inf}, "Concat": {}, "Gather": {"axis": 0}, "Flatten": {"axis": 1},
    "Softmax": {"axis": -1}, "LogSoftmax": {"axis": -1}, "ArgMax": {"axis": 0, "keepdims": 1, "select_last_index": 0},
    "ReduceMean": {"keepdims": 1, "noop_with_empty_axes": 0}, "ReduceSum": {"keepdims": 1, "noop_with_empty_axes": 0},
    "ReduceMax": {"keepdims": 1, "noop_with_empty_axes": 0}, "Split": {"axis": 0},
    "BatchNormalization": {"epsilon": 1e-5, "axis": 1}, "LayerNormalization": {"axis": -1, "epsilon": 1e-5},
    "Reshape": {"allowzero": 0}, "Pad": {"mode": "constant"}, "Gelu": {"approximate": "none"},
    "Selu": {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}, "Celu": {"alpha": 1.0},
    "ThresholdedRelu": {"alpha": 1.0}, "Shrink": {"lambd": 0.5, "bias": 0.0}, "Swish": {"alpha": 1.0},
}
FLOATS = ("alpha", "beta", "gamma", "lambd", "bias", "epsilon", "min", "max", "value")
WINDOWS = ("Conv", "MaxPool", "AveragePool")
SAME = set(f.UNIVARIATE) | {"Identity", "Dropout", "BatchNormalization", "LayerNormalization", "Softmax", "LogSoftmax"}
BROADCAST = ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Equal", "Where", "PRelu")


class Unsupported(Exception):
    pass


def make_attrs(op, attrs, opset):
    """ONNX's defaults, then what the file says."""
    made = dict(DEFAULTS.get(op, {}))
    if op in composite.SHAPES:
        return composite.make_attrs(op, attrs)
    if op in ("Softmax", "LogSoftmax") and opset < 13:
        made["axis"] = 1
    made.update(attrs)
    if op in WINDOWS:
        flat = [key for key in ("kernel_shape", "strides", "dilations") if len(attrs.get(key, [])) == 1]
        two = lambda key: tuple(([1] if flat else []) + list(attrs.get(key, [1] if flat else [1, 1])))
        made["kernel"] = two("kernel_shape") if "kernel_shape" in attrs else None
        made["stride"], made["dilation"] = two("strides"), two("dilations")
        pads = attrs.get("pads", [0, 0] if flat else [0, 0, 0, 0])
        made["pad"] = tuple([0, pads[0], 0, pads[1]] if len(pads) == 2 else pads)
        made.setdefault("count_include_pad", 0)
    for key in FLOATS:
        if isinstance(made.get(key), float):
            made[key] = np.float32(made[key])
    return made


def ints(value):
    if not value.is_constant:
        raise Unsupported("'%s' is not constant" % value.name)
    return [int(v) for v in np.atleast_1d(value.data)]


def slot(node, i):
    return node.inputs[i] if i < len(node.inputs) else None


def window_shape(node, x, channels):
    a = node.attrs
    size = (1, x[2]) if len(x) == 3 else x[2:]
    extent = [(a["kernel"][i] - 1) * a["dilation"][i] + 1 for i in range(2)]
    auto, ceil = a.pop("auto_pad", "NOTSET"), a.get("ceil_mode", 0)
    if auto != "NOTSET":
        pad = [0, 0, 0, 0]
        for i in range(2):
            if auto != "VALID":
                total = max(0, (-(-size[i] // a["stride"][i]) - 1) * a["stride"][i] + extent[i] - size[i])
                pad[i] = total - total // 2 if auto == "SAME_LOWER" else total // 2
                pad[2 + i] = total - pad[i]
        a["pad"] = tuple(pad)
        if auto != "VALID":
            ceil = a["ceil_mode"] = 0
    out = []
    for i in range(2):
        room = size[i] + a["pad"][i] + a["pad"][2 + i] - extent[i]
        count = (-(-room // a["stride"][i]) if ceil else room // a["stride"][i]) + 1
        if ceil and (count - 1) * a["stride"][i] >= size[i] + a["pad"][i]:
            count -= 1
        out.append(count)
    a["out"] = tuple(out)
    return x[:1] + (channels,) + (tuple(out[1:]) if len(x) == 3 else tuple(out))


def take_axes(node, rank, last_attribute_opset):
    """Axes from the attribute or input 1, which goes."""
    a = node.attrs
    if slot(node, 1) is not None:
        a["axes"] = ints(node.inputs[1])
    node.inputs = node.inputs[:1]
    a["axes"] = tuple(sorted(axis + rank if axis < 0 else axis for axis in a.get("axes", ())))
    return a["axes"]


def reshape_target(node, x):
    if "target" in node.attrs:
        return node.attrs["target"]
    target = ints(node.inputs[1])
    if not node.attrs.get("allowzero"):
        target = [x[i] if d == 0 else d for i, d in enumerate(target)]
    if -1 in target:
        known = -math.prod(target)
        target[target.index(-1)] = math.prod(x) // known if known else 0
    return tuple(target)


def keep_target(node, shape):
    """What only changes a shape forgets how, and keeps the target."""
    node.attrs["target"] = tuple(shape)
    node.inputs = node.inputs[:1]
    return tuple(shape)


def slice_shape(node, x):
    a = node.attrs
    if "cut" not in a:
        if node.opset >= 10:
            starts, ends = ints(node.inputs[1]), ints(node.inputs[2])
            axes = ints(node.inputs[3]) if slot(node, 3) is not None else list(range(len(starts)))
            steps = ints(node.inputs[4]) if slot(node, 4) is not None else [1] * len(starts)
        else:
            starts, ends = a["starts"], a["ends"]
            axes, steps = a.get("axes", list(range(len(starts)))), [1] * len(starts)
        cut = [slice(None)] * len(x)
        for start, end, axis, step in zip(starts, ends, axes, steps):
            cut[axis % len(x)] = slice(start, None if step < 0 and end < -x[axis] else end, step)
        a["cut"], a["axes"], a["steps"] = tuple(cut), [axis % len(x) for axis in axes], steps
        a["starts"] = [max(cut[axis].indices(x[axis])[0], 0) for axis in a["axes"]]
        node.inputs = node.inputs[:1]
    return tuple(len(range(*c.indices(d))) for c, d in zip(a["cut"], x))


def pad_shape(node, x):
    a = node.attrs
    if "begin" not in a:
        pads = ints(node.inputs[1]) if node.opset >= 11 else a["pads"]
        axes = ints(node.inputs[3]) if slot(node, 3) is not None else range(len(x))
        value = np.float32(node.inputs[2].data.reshape(-1)[0]) if slot(node, 2) is not None else a.get("value", np.float32(0))
        a["value"], a["begin"], a["end"] = value, [0] * len(x), [0] * len(x)
        for i, axis in enumerate(axes):
            a["begin"][axis], a["end"][axis] = pads[i], pads[len(axes) + i]
        node.inputs = node.inputs[:1]
    return tuple(d + b + e for d, b, e in zip(x, a["begin"], a["end"]))


def split_shapes(node, x):
    a = node.attrs
    a["axis"] %= len(x)
    if "sizes" not in a:
        parts, total = len(node.outputs), x[a["axis"]]
        share = -(-total // parts)
        a["sizes"] = (ints(node.inputs[1]) if slot(node, 1) is not None else
                      a.get("split") or [min(share, total - i * share) for i in range(parts)])
        node.inputs = node.inputs[:1]
    return [x[:a["axis"]] + (size,) + x[a["axis"] + 1:] for size in a["sizes"]]


def reduce_shape(node, x):
    a = node.attrs
    axes = take_axes(node, len(x), 17)
    if not axes and not a["noop_with_empty_axes"]:
        axes = a["axes"] = tuple(range(len(x)))
    return tuple(1 if i in axes else d for i, d in enumerate(x) if a["keepdims"] or i not in axes)


def softmax_axis(node, x):
    a = node.attrs
    a["axis"] %= len(x)
    if 0 < node.opset < 13:
        wide = [i for i in range(a["axis"], len(x)) if x[i] != 1]
        if len(wide) <= 1:
            a["axis"] = wide[0] if wide else a["axis"]
            node.opset = 0


def shape_of(node):
    """Shapes of the outputs; attributes and inputs of the node become version-free."""
    op, a = node.op, node.attrs
    shapes = [v.shape if v is not None else None for v in node.inputs]
    x = shapes[0]
    if op in composite.SHAPES:
        return composite.SHAPES[op](node, x)
    if op == "Conv":
        w = shapes[1]
        a["kernel"] = (1, w[2]) if len(w) == 3 else tuple(w[2:])
        if len(x) == 3:
            a["stride"], a["dilation"] = (1, a["stride"][-1]), (1, a["dilation"][-1])
        return [window_shape(node, x, w[0])]
    if op in ("MaxPool", "AveragePool"):
        return [window_shape(node, x, x[1])]
    if op in ("GlobalAveragePool", "GlobalMaxPool"):
        return [x[:2] + (1,) * (len(x) - 2)]
    if op == "Gemm":
        return [(x[a["transA"]], shapes[1][1 - a["transB"]])]
    if op == "MatMul":
        y = np.matmul(np.broadcast_to(np.int8(0), x), np.broadcast_to(np.int8(0), shapes[1]))
        return [y.shape]
    if op in BROADCAST:
        return [np.broadcast_shapes(*shapes)]
    if op == "Clip":
        for key, i in (("min", 1), ("max", 2)):
            if slot(node, i) is not None:
                a[key] = np.float32(node.inputs[i].data.reshape(-1)[0])
        node.inputs = node.inputs[:1]
        a["min"] = min(a["min"], a["max"])
        return [x]
    if op in ("Softmax", "LogSoftmax"):
        softmax_axis(node, x)
        return [x]
    if op == "LayerNormalization":
        a["axis"] %= len(x)
        return [x]
    if op == "Dropout":
        node.inputs = node.inputs[:1]
        return [x] * len(node.outputs)
    if op in SAME or op == "Cast":
        return [x]
    if op == "Reshape":
        return [keep_target(node, reshape_target(node, x))]
    if op == "Flatten":
        axis = a["axis"] + len(x) if a["axis"] < 0 else a["axis"]
        return [keep_target(node, (math.prod(x[:axis]), math.prod(x[axis:])))]
    if op == "Squeeze":
        if "target" in a:
            return [a["target"]]
        axes = take_axes(node, len(x), 12) or tuple(i for i, d in enumerate(x) if d == 1)
        return [keep_target(node, [d for i, d in enumerate(x) if i not in axes])]
    if op == "Unsqueeze":
        if "target" in a:
            return [a["target"]]
        count = len(ints(node.inputs[1])) if slot(node, 1) is not None else len(a["axes"])
        axes, rest = take_axes(node, len(x) + count, 12), list(x)
        return [keep_target(node, [1 if i in axes else rest.pop(0) for i in range(len(x) + count)])]
    if op == "Transpose":
        a.setdefault("perm", list(reversed(range(len(x)))))
        return [tuple(x[p] for p in a["perm"])]
    if op == "Expand":
        if "target" not in a:
            keep_target(node, np.broadcast_shapes(x, tuple(ints(node.inputs[1]))))
        return [a["target"]]
    if op == "Concat":
        a["axis"] %= len(x)
        return [x[:a["axis"]] + (sum(s[a["axis"]] for s in shapes),) + x[a["axis"] + 1:]]
    if op == "Split":
        return split_shapes(node, x)
    if op == "Slice":
        return [slice_shape(node, x)]
    if op == "Gather":
        a["axis"] %= len(x)
        return [x[:a["axis"]] + tuple(shapes[1]) + x[a["axis"] + 1:]]
    if op == "Pad":
        return [pad_shape(node, x)]
    if op in ("ReduceMean", "ReduceSum", "ReduceMax"):
        return [reduce_shape(node, x)]
    if op == "ArgMax":
        a["axis"] %= len(x)
        return [tuple(1 if i == a["axis"] else d for i, d in enumerate(x) if a["keepdims"] or i != a["axis"])]
    if op == "Shape":
        rank = len(x)
        a["part"] = slice(a.get("start", 0), a.get("end", rank))
        return [(len(range(rank)[a["part"]]),)]
    raise Unsupported("operator " + op)


def result_dtype(node):
    if node.op == "Cast":
        return np.dtype(node.attrs["numpy"])
    if node.op in ("Shape", "ArgMax"):
        return np.dtype(np.int64)
    if node.op == "Equal":
        return np.dtype(np.bool_)
    return node.inputs[1 if node.op == "Where" else 0].dtype


def infer(node):
    shapes, dtype = shape_of(node), result_dtype(node)
    for value, shape in zip(node.outputs, shapes):
        if value is not None:
            value.shape, value.dtype = tuple(shape), dtype
    if node.op not in ("Softmax", "LogSoftmax"):
        node.opset = 0
    elif node.opset >= 13:
        node.opset = 0


# ---- evaluation: arrays [samples, ...] ----

def align(arrays):
    """Leading ones behind the axis of samples, so that arrays of different rank broadcast."""
    rank = max(x.ndim for x in arrays)
    return [x.reshape(x.shape[:1] + (1,) * (rank - x.ndim) + x.shape[1:]) for x in arrays]


def move(node, xs, fill):
    """Data movement; xs are arrays [samples, ...]."""
    op, a, x = node.op, node.attrs, xs[0]
    if op in ("Reshape", "Flatten", "Squeeze", "Unsqueeze"):
        return x.reshape(x.shape[:1] + a["target"])
    if op in ("Identity", "Dropout"):
        return x
    if op == "Transpose":
        return x.transpose([0] + [p + 1 for p in a["perm"]])
    if op == "Expand":
        return np.broadcast_to(align([x, np.zeros((1,) + a["target"])])[0], x.shape[:1] + a["target"])
    if op == "Concat":
        samples = max(len(v) for v in xs)
        return np.concatenate([np.broadcast_to(v, (samples,) + v.shape[1:]) for v in xs], a["axis"] + 1)
    if op == "Split":
        return np.split(x, np.cumsum(a["sizes"])[:-1], a["axis"] + 1)
    if op == "Slice":
        return x[(slice(None),) + a["cut"]]
    if op == "Gather":
        if len(xs[1]) == 1:
            return np.take(x, xs[1][0], a["axis"] + 1)
        return np.stack([np.take(x[i if len(x) > 1 else 0], index, a["axis"]) for i, index in enumerate(xs[1])])
    if op == "Pad":
        begin, end = [max(b, 0) for b in a["begin"]], [max(e, 0) for e in a["end"]]
        keys = {"constant_values": fill} if a["mode"] == "constant" else {}
        x = np.pad(x, [(0, 0)] + list(zip(begin, end)), a["mode"], **keys)
        cut = [slice(-b if b < 0 else 0, e if e < 0 else None) for b, e in zip(a["begin"], a["end"])]
        return x[(slice(None),) + tuple(cut)]
    return None


def mean_axes(node, x):
    if node.op == "GlobalAveragePool":
        return tuple(range(3, x.ndim))
    return tuple(axis + 1 for axis in node.attrs["axes"])


def evaluate(node, xs):
    """A float node (or one on integers, for folding): arrays [samples, ...] in, one array or a list of them out."""
    op, a, x = node.op, node.attrs, xs[0]
    rest = node.outputs[0].shape
    moved = move(node, xs, a.get("value", 0))
    if moved is not None:
        return moved
    if op == "Conv":
        y = f.by_sample(f.conv(a, f.as_image(x), xs[1][0], xs[2][0] if len(xs) > 2 else None, a["out"]), x)
    elif op == "Gemm":
        left = x.swapaxes(1, 2) if a["transA"] else x
        right = xs[1].swapaxes(1, 2) if a["transB"] else xs[1]
        start = np.float32(0)
        if len(xs) > 2:
            start = align([xs[2], left])[0] * np.float32(a["beta"]) + np.float32(0)
        y = f.matrix(left * np.float32(a["alpha"]), right, start)
    elif op == "MatMul":
        left, right = align(xs[:2])
        y = f.matrix(left, right, xs[2][0] + np.float32(0) if len(xs) > 2 else np.float32(0))
    elif op in f.UNIVARIATE:
        y = f.univariate(op, a, x)
    elif op in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Equal", "Where", "PRelu"):
        y = elementwise(op, align(xs))
    elif op == "MaxPool":
        y = f.by_sample(f.max_pool(a, f.as_image(x), a["out"], -np.inf), x)
    elif op == "AveragePool":
        image = f.as_image(x)
        counts = f.window_counts(a, image.shape[2:], a["out"])
        sums = f.window_sums(a, image, a["out"], np.float64)
        y = f.by_sample(np.where(counts > 0, sums / np.maximum(counts, 1), 0.0).astype(np.float32), x)
    elif op in ("GlobalAveragePool", "ReduceMean", "ReduceSum"):
        axes = mean_axes(node, x)
        count = math.prod(x.shape[i] for i in axes) if op != "ReduceSum" else 1
        y = (f.ordered_sum(x, axes) / count).astype(np.float32)
    elif op in ("GlobalMaxPool", "ReduceMax"):
        axes = tuple(range(3, x.ndim)) if op == "GlobalMaxPool" else mean_axes(node, x)
        y = x.max(axes, initial=-np.inf)
    elif op in ("Softmax", "LogSoftmax"):
        y = f.softmax(op, x, a["axis"] + 1)
    elif op == "LayerNormalization":
        y = f.layer_norm(x, xs[1][0], xs[2][0] if len(xs) > 2 else None, a["axis"] + 1, a["epsilon"])
    elif op == "ArgMax":
        y = arg_max(node, x)
    elif op == "Cast":
        y = cast(x, a["numpy"])
    else:
        raise Unsupported("evaluation of " + op)
    return y.reshape(y.shape[:1] + rest)


def elementwise(op, xs):
    x, y = xs[0], xs[1]
    if op == "Div" and x.dtype.kind == "i":
        return (np.sign(x) * np.sign(y) * (abs(x) // abs(y))).astype(x.dtype)
    if op == "PRelu":
        return np.where(x < 0, x * y, x)
    if op == "Where":
        return np.where(x, y, xs[2])
    if op in ("Min", "Max"):
        for other in xs[1:]:
            x = np.minimum(x, other) if op == "Min" else np.maximum(x, other)
        return x
    with np.errstate(all="ignore"):
        return {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Equal": np.equal}[op](x, y)


def arg_max(node, x):
    axis = node.attrs["axis"] + 1
    if node.attrs["select_last_index"]:
        return x.shape[axis] - 1 - np.flip(x, axis).argmax(axis)
    return x.argmax(axis)


def cast(x, dtype):
    if x.dtype.kind == "f" and np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return np.clip(np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0)), info.min, info.max).astype(dtype)
    return x.astype(dtype)
