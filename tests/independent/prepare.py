"""docs/preparation.md: from a file's graph to the prepared graph, pass by pass."""
import math

import numpy as np

import composite
import onnx_file
import expand
from float_ops import UNIVARIATE, univariate
from graph import Graph, Node, Value
from infer import Unsupported, evaluate, infer, make_attrs

F32, F64 = np.float32, np.float64
RESHAPES = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")


# ---- 1. import ----

def load(path):
    file, g, known = onnx_file.read(path), Graph(), {}

    def add(value):
        known[value.name] = value
        g.values.append(value)
        return value

    for name, data in file["constants"].items():
        add(Value(name, data=data))
    for name, shape, dtype in file["inputs"]:
        if name not in known:
            value = add(Value(name, tuple(shape), dtype=np.dtype(dtype)))
            value.is_input = True
            g.inputs.append(value)
    for node in file["nodes"]:
        if node["op"] == "Constant":
            (key, data), = node["attrs"].items()
            kinds = {"value_float": F32, "value_floats": F32, "value_int": np.int64, "value_ints": np.int64}
            add(Value(node["outputs"][0], data=np.asarray(data, kinds.get(key))))
        else:
            for name in node["outputs"]:
                if name:
                    add(Value(name))
    taken = set()
    for i, node in enumerate(file["nodes"]):
        if node["op"] != "Constant":
            g.nodes.append(import_node(node, i, file["opset"], known, taken))
    g.outputs = [known[name] for name in file["outputs"]]
    return g


def import_node(node, i, opset, known, taken):
    name = node["name"] or "%s_%d" % (node["op"], i)
    while name in taken:
        name = "%s_%d" % (name, i)
    taken.add(name)
    inputs, outputs = ([known[v] if v else None for v in node[key]] for key in ("inputs", "outputs"))
    for values in (inputs, outputs):
        while values and values[-1] is None:
            values.pop()
    op = composite.operator(node["op"], node["attrs"])
    attrs = make_attrs(op, node["attrs"], opset)
    if op == "Cast":
        attrs["numpy"] = onnx_file.DTYPES[attrs["to"]]
    if op == "ConstantOfShape":
        op, scalar = "Expand", np.asarray(attrs.pop("value", F32(0))).reshape(())
        inputs = [Value(name + "/value", data=scalar)] + inputs
    if op == "Dropout":
        inputs = inputs[:1]
    return Node(name, op, inputs, outputs, attrs, opset)


# ---- 3. once ----

def batch(g):
    old = 1
    fixed = all(v.shape[0] > 1 for v in g.inputs if v.shape)
    for value in g.inputs:
        if value.shape and (fixed or value.shape[0] <= 1):
            old = max(old, value.shape[0])
            value.shape = (1,) + tuple(value.shape[1:])
        if min(value.shape, default=1) < 1:
            raise Unsupported("input '%s' has no fixed shape" % value.name)
    return old


def infer_rebatched(node, old):
    """Reshape's constant target that begins with the old batch is read with 1 there, if that fits."""
    target = node.inputs[1] if node.op == "Reshape" and len(node.inputs) > 1 else None
    if old > 1 and target is not None and target.is_constant and not node.inputs[0].is_constant \
            and target.data.ndim == 1 and len(target.data) and target.data[0] == old:
        changed = target.data.copy()
        changed[0] = 1
        x = node.inputs[0].shape
        wanted = [x[i] if d == 0 else d for i, d in enumerate(changed) if d != 0 or i < len(x)]
        known = math.prod(d for d in wanted if d != -1)
        fits = math.prod(x) % known == 0 if -1 in wanted else math.prod(x) == known
        if fits:
            node.inputs[1] = Value(target.name, data=changed)
    infer(node)


def fold(g, old=1):
    left = 512 << 20
    g.sort()
    for node in g.nodes:
        infer_rebatched(node, old)
        if node.op == "Shape":
            node.outputs[0].set(np.array(node.inputs[0].shape, np.int64)[node.attrs["part"]])
            g.kill(node)
            continue
        if all(v is not None and math.prod(v.shape) == 0 for v in node.outputs):
            for value in node.outputs:
                value.set(np.zeros(value.shape, value.dtype))
            g.kill(node)
            continue
        if node.op == "Mul" and node.outputs[0].dtype.kind != "f" and any(v.is_constant and not v.data.any() for v in node.inputs):
            node.outputs[0].set(np.zeros(node.outputs[0].shape, node.outputs[0].dtype))
            g.kill(node)
            continue
        if not node.inputs or not all(v is None or v.is_constant for v in node.inputs):
            continue
        if node.op in ("Softmax", "LogSoftmax") and 0 < node.opset < 13:
            continue
        sizes = [math.prod(v.shape) * v.dtype.itemsize for v in node.outputs]
        if max(sizes) > 64 << 20 or sum(sizes) > left:
            continue
        left -= sum(sizes)
        results = evaluate(node, [v.data[None] for v in node.inputs])
        for value, data in zip(node.outputs, results if isinstance(results, list) else [results]):
            value.set(np.array(data[0], order="C"))
        g.kill(node)
    g.sort()


def drop_unused_outputs(g):
    for node in g.nodes:
        while node.op != "Split" and len(node.outputs) > 1 and (node.outputs[-1] is None or not g.uses(node.outputs[-1])):
            node.outputs.pop()


def trailing_softmax(g):
    for output in list(g.outputs):
        value = output
        while value.producer is not None and len(g.uses(value)) == 1:
            node = value.producer
            if node.op in ("Softmax", "LogSoftmax"):
                g.dropped_softmax |= g.bypass(node)
                break
            if node.op not in RESHAPES + ("Identity",):
                break
            value = node.inputs[0]
    return True


def old_softmax(g):
    for node in list(g.nodes):
        if node.op not in ("Softmax", "LogSoftmax") or not 0 < node.opset < 13:
            continue
        x, y, axis = node.inputs[0], node.outputs[0], node.attrs["axis"]
        rows = (math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
        flat = g.new_value(y.name, "rows", shape=rows, dtype=x.dtype)
        g.new_node(y.name, "rows", "Reshape", [x], [flat], {"target": rows})
        result = g.new_value(y.name, "softmax", shape=rows, dtype=x.dtype)
        g.new_node(y.name, "softmax", node.op, [flat], [result], {"axis": 1})
        node.op, node.attrs, node.inputs, node.opset = "Reshape", {"target": y.shape}, [result], 0


# ---- 3.6 compose ----

def one_number(value):
    return float(value.data.reshape(-1)[0]) if value is not None and value.is_float_constant and value.data.size == 1 else None


def maker(value, op):
    node = value.producer if value is not None else None
    return node if node is not None and node.op == op else None


def beside_scalar(node):
    """The operand of an Add or Mul that is no scalar constant, and that constant."""
    for one, other in (node.inputs, node.inputs[::-1]):
        if one_number(one) is not None:
            return other, one_number(one)
    return None, None


def mean_axis(node):
    rank = len(node.inputs[0].shape)
    axes = sorted(node.attrs["axes"])
    first = rank - len(axes)
    return first if axes and node.attrs["keepdims"] and axes == list(range(first, rank)) else None


def find_layer_norm(node):
    d = maker(node.inputs[0], "Sub") if node.op == "Div" else None
    mean = maker(d.inputs[1], "ReduceMean") if d else None
    root = maker(node.inputs[1], "Sqrt") if mean else None
    total = maker(root.inputs[0], "Add") if root else None
    if total is None or mean.inputs[0] is not d.inputs[0] or mean_axis(mean) is None:
        return None
    variance, epsilon = beside_scalar(total)
    second = maker(variance, "ReduceMean")
    if second is None or mean_axis(second) != mean_axis(mean):
        return None
    square, value = second.inputs[0].producer, node.inputs[0]
    if square is None or square.op not in ("Pow", "Mul") or square.inputs[0] is not value:
        return None
    if (one_number(square.inputs[1]) != 2) if square.op == "Pow" else (square.inputs[1] is not value):
        return None
    return d.inputs[0], mean_axis(mean), epsilon


def take_parameter(g, node, op, row):
    user = g.only_user(node.outputs[0])
    if user is None or user.op != op:
        return None, node
    p = user.inputs[1] if user.inputs[0] is node.outputs[0] else user.inputs[0]
    if not p.is_float_constant or len(p.shape) > len(row):
        return None, node
    if any(a not in (1, b) for a, b in zip(p.shape[::-1], row[::-1])):
        return None, node
    return p, user


def find_gelu(node):
    for side in (0, 1):
        inner = maker(node.inputs[side], "Mul") if node.op == "Mul" else None
        if inner is None:
            continue
        factors = [node.inputs[1 - side]] + inner.inputs
        for i in range(3):
            for half in range(3):
                if i == half or one_number(factors[half]) != 0.5:
                    continue
                x, total = factors[i], maker(factors[3 - i - half], "Add")
                term, one = beside_scalar(total) if total else (None, None)
                erf = maker(term, "Erf")
                if one != 1 or erf is None or erf.inputs[0].producer is None:
                    continue
                u = erf.inputs[0].producer
                if u.op == "Div" and u.inputs[0] is x:
                    c, wanted = one_number(u.inputs[1]), math.sqrt(2)
                elif u.op == "Mul" and beside_scalar(u)[0] is x:
                    c, wanted = beside_scalar(u)[1], math.sqrt(0.5)
                else:
                    continue
                if c is not None and abs(c - wanted) <= 1e-5 * wanted:
                    return x
    return None


def compose(g):
    for node in list(g.nodes):
        if len(node.inputs) != 2:
            continue
        found = find_layer_norm(node)
        if found:
            x, axis, epsilon = found
            first = node
            scale, node = take_parameter(g, node, "Mul", x.shape[axis:])
            bias, node = take_parameter(g, node, "Add", x.shape[axis:])
            if scale is None:
                scale = g.new_value(first.name, "scale", data=np.ones(1, F32))
            node.op, node.attrs = "LayerNormalization", {"axis": axis, "epsilon": epsilon}
            node.inputs = [x, scale] + ([bias] if bias is not None else [])
            continue
        if node.op == "Mul":
            for x, share in (node.inputs, node.inputs[::-1]):
                if maker(share, "Sigmoid") and maker(share, "Sigmoid").inputs[0] is x:
                    node.op, node.attrs, node.inputs = "Swish", {"alpha": F32(1)}, [x]
                    break
        x = find_gelu(node)
        if x is not None and x.shape == node.outputs[0].shape:
            node.op, node.attrs, node.inputs = "Gelu", {"approximate": "none"}, [x]


# ---- 4. simplify: each pass says whether it changed something ----

def is_identity(node):
    op, a = node.op, node.attrs
    same = node.inputs[0].shape == node.outputs[0].shape
    if op in ("Identity", "Dropout"):
        return True
    if op == "Cast":
        return node.inputs[0].dtype == np.dtype(a["numpy"])
    if op == "Clip":
        return a["min"] == -np.inf and a["max"] == np.inf
    if op in ("Min", "Max", "Concat"):
        return len(node.inputs) == 1
    if op == "Split":
        return len(node.outputs) == 1
    if op == "Expand":
        return same
    if op == "Slice":
        return same and all((c.step or 1) > 0 for c in a["cut"])
    if op == "Pad":
        return same and not any(a["begin"])
    return op in ("ReduceMean", "ReduceSum", "ReduceMax") and not a["axes"] and same


def identity(g):
    changed = False
    for node in g.nodes:
        if node.inputs and node.inputs[0] is not None and is_identity(node):
            changed |= g.bypass(node)
    return changed


POWERS = {2.0: "Mul", 0.5: "Sqrt", -1.0: "Reciprocal"}


def arithmetic(g):
    changed = False
    for node in g.nodes:
        if len(node.inputs) != 2:
            continue
        a, b = node.inputs
        power = float(b.data.ravel()[0]) if node.op == "Pow" and b.is_float_constant and b.data.size == 1 else None
        if power in POWERS and len(a.shape) == len(node.outputs[0].shape):
            node.op, node.inputs = POWERS[power], [a, a] if power == 2 else [a]
            node.attrs = {}
            changed = True
            continue
        if node.op in ("Add", "Mul") and a.is_constant and not b.is_constant:
            node.inputs = [b, a]
            changed = True
        c = node.inputs[1]
        if node.op not in ("Sub", "Div") or not c.is_float_constant:
            continue
        if node.op == "Div":
            mantissa, exponent = np.frexp(c.data)
            if not np.all((np.abs(mantissa) == 0.5) & (exponent - 1 >= -126) & (exponent - 1 <= 126)):
                continue
        g.own(node, 1, -c.data if node.op == "Sub" else F32(1) / c.data)
        node.op = "Add" if node.op == "Sub" else "Mul"
        changed = True
    return changed


def reshape(g):
    changed = False
    for node in g.nodes:
        if node.op not in RESHAPES or node.dead:
            continue
        changed |= node.op != "Reshape"
        node.op, node.attrs = "Reshape", {"target": node.outputs[0].shape}
        before = node.inputs[0].producer
        if before is not None and before.op in RESHAPES:
            node.inputs[0] = before.inputs[0]
            changed = True
        if node.inputs[0].shape == node.outputs[0].shape:
            changed |= g.bypass(node)
    return changed


def aligned(shape, rank):
    return (1,) * (rank - len(shape)) + tuple(shape)


def lets_pass(g, transpose, user):
    """How `user` lets a Transpose's output pass: a word, or None."""
    y, z, perm = transpose.outputs[0], user.outputs[0], transpose.attrs["perm"]
    if user.op in UNIVARIATE:
        return "univariate"
    if user.op == "BatchNormalization":
        return "norm" if user.inputs[0] is y else None
    if user.op not in ("Add", "Sub", "Mul", "Div", "Pow", "PRelu") or len(user.inputs) != 2 or z.dtype != F32:
        return None
    at = 0 if user.inputs[0] is y else 1
    other = user.inputs[1 - at]
    if (user.op == "PRelu" and at != 0) or y.shape != z.shape:
        return None
    if other.is_float_constant:
        if len(other.shape) > len(y.shape):
            return None
        return "constant" if sum(d > 1 for d in aligned(other.shape, len(y.shape))) <= 1 else None
    second = other.producer
    if user.op == "PRelu" or second is None or second.op != "Transpose" or g.only_user(other) is not user:
        return None
    return "pair" if other.shape == y.shape and second.attrs["perm"] == perm else None


def move_down(g, node, user, how):
    x, y, z, perm = node.inputs[0], node.outputs[0], user.outputs[0], node.attrs["perm"]
    at = [i for i, v in enumerate(user.inputs) if v is y][0]
    if how == "constant":
        c = user.inputs[1 - at]
        shape = aligned(c.shape, len(perm))
        moved = [0] * len(perm)
        for i, p in enumerate(perm):
            moved[p] = shape[i]
        g.own(user, 1 - at, c.data.reshape(moved))
    w = g.new_value(z.name, "before_transpose", shape=x.shape, dtype=z.dtype)
    if how == "pair":
        second = user.inputs[1 - at].producer
        user.inputs[1 - at] = second.inputs[0]
        g.kill(second)
    if how == "norm":
        user.attrs["axis"] = perm[user.attrs["axis"]]
    user.inputs[at] = x
    user.outputs[0], w.producer = w, user
    node.inputs[0] = w
    node.outputs[0], z.producer = z, node


def transpose(g):
    changed = False
    for node in list(g.nodes):
        while node.op == "Transpose" and not node.dead:
            before, perm = node.inputs[0].producer, node.attrs["perm"]
            if before is not None and before.op == "Transpose":
                perm = node.attrs["perm"] = [before.attrs["perm"][p] for p in perm]
                node.inputs[0] = before.inputs[0]
                changed = True
            x = node.inputs[0].shape
            if list(perm) == list(range(len(x))):
                changed |= g.bypass(node)
                break
            large = [p for p in perm if x[p] != 1]
            if large == sorted(large):
                node.op, node.attrs = "Reshape", {"target": node.outputs[0].shape}
                changed = True
                break
            user = g.only_user(node.outputs[0])
            how = lets_pass(g, node, user) if user is not None else None
            if how is None:
                break
            move_down(g, node, user, how)
            changed = True
    return changed


class Chain:
    """y = s * (w x) + t, one pair a channel, in binary64."""

    def __init__(self, g, node):
        self.g, self.node, self.end = g, node, node.outputs[0]
        w = node.inputs[1].data
        self.axis = 0 if node.op == "Conv" or (node.op == "Gemm" and node.attrs["transB"]) else 1
        self.channels = w.shape[self.axis]
        alpha, beta = (F64(node.attrs[k]) if node.op == "Gemm" else F64(1) for k in ("alpha", "beta"))
        self.scaled, self.shifted, self.fits = alpha != 1, False, True
        self.s, self.t = np.full(self.channels, alpha), np.zeros(self.channels)
        bias = node.inputs[2] if len(node.inputs) > 2 else None
        if bias is not None:
            shape = (1, self.channels) if node.op == "Gemm" else (self.channels,)
            self.fits = self.per_channel(bias, shape, len(shape) - 1)
            if self.fits:
                self.t = np.broadcast_to(beta * bias.data.reshape(-1).astype(F64), self.channels).copy()
                self.shifted = beta != 1 or bias.shape != (self.channels,)

    @staticmethod
    def per_channel(value, shape, axis):
        if not value.is_float_constant or len(value.shape) > len(shape):
            return False
        return all(d == 1 or (i == axis and d == shape[i]) for i, d in enumerate(aligned(value.shape, len(shape))))

    def extend(self):
        user = self.g.only_user(self.end)
        if user is None:
            return False
        axis = 1 if self.node.op == "Conv" else len(self.end.shape) - 1
        at = [i for i, v in enumerate(user.inputs) if v is self.end][0]
        with np.errstate(all="ignore"):
            if user.op == "BatchNormalization":
                if at != 0 or user.attrs["axis"] != axis or not all(v.is_float_constant for v in user.inputs[1:]):
                    return False
                gamma, beta, mean, variance = (v.data.astype(F64) for v in user.inputs[1:])
                k = gamma / np.sqrt(variance + F64(user.attrs["epsilon"]))
                self.s, self.t = self.s * k, (self.t - mean) * k + beta
                self.scaled = True
            elif user.op in ("Add", "Sub", "Mul", "Div") and not (user.op == "Div" and at != 0):
                other = user.inputs[1 - at]
                if not self.per_channel(other, self.end.shape, axis):
                    return False
                k = other.data.reshape(-1).astype(F64)
                if user.op == "Mul":
                    self.s, self.t = self.s * k, self.t * k
                elif user.op == "Div":
                    self.s, self.t = self.s / k, self.t / k
                elif user.op == "Add":
                    self.t = self.t + k
                elif at == 0:
                    self.t = self.t - k
                else:
                    self.s, self.t = -self.s, k - self.t
                self.scaled |= user.op in ("Mul", "Div") or (user.op == "Sub" and at == 1)
            else:
                return False
        self.shifted, self.end = True, user.outputs[0]
        return True

    def write(self):
        g, node = self.g, self.node
        w = node.inputs[1].data
        shape = [1] * w.ndim
        shape[self.axis] = self.channels
        with np.errstate(all="ignore"):
            weights, bias = (w.astype(F64) * self.s.reshape(shape)).astype(F32), self.t.astype(F32)
        if not (np.isfinite(weights).all() and np.isfinite(bias).all() and np.isfinite(self.s).all()):
            return False
        has_bias = len(node.inputs) > 2
        if self.scaled:
            g.own(node, 1, weights)
        if self.shifted or (self.scaled and has_bias):
            if has_bias:
                g.own(node, 2, bias)
            else:
                node.inputs = node.inputs[:2] + [g.new_value(node.name, "bias", data=bias)]
        if node.op == "Gemm":
            node.attrs["alpha"] = node.attrs["beta"] = F32(1)
        while node.outputs[0] is not self.end:
            user = g.only_user(node.outputs[0])
            result = user.outputs[0]
            g.kill(user)
            node.outputs[0], result.producer = result, node
        return True


def has_weights(node):
    return node.op in ("Conv", "Gemm", "MatMul") and len(node.inputs) > 1 and node.inputs[1].is_float_constant


def affine(g):
    changed = False
    for node in list(g.nodes):
        if not has_weights(node) or (node.op != "Conv" and node.inputs[1].data.ndim != 2):
            continue
        chain = Chain(g, node)
        while chain.fits and chain.extend():
            pass
        if chain.fits and (chain.scaled or chain.shifted):
            changed |= chain.write()
    return changed


def gemm(g):
    changed = False
    for node in g.nodes:
        if node.op not in ("MatMul", "Gemm") or not has_weights(node):
            continue
        if node.op == "MatMul":
            w = node.inputs[1].data
            if w.ndim >= 3 and len(node.inputs[0].shape) >= w.ndim and all(d == 1 for d in w.shape[:-2]):
                w = w.reshape(w.shape[-2:])
                g.own(node, 1, w)
                changed = True
            if len(node.inputs[0].shape) == 2 and w.ndim == 2:
                g.own(node, 1, np.ascontiguousarray(w.T))
                node.op, node.attrs = "Gemm", {"alpha": F32(1), "beta": F32(1), "transA": 0, "transB": 1}
                changed = True
        elif not node.attrs["transB"]:
            g.own(node, 1, np.ascontiguousarray(node.inputs[1].data.T))
            node.attrs["transB"] = 1
            changed = True
    return changed


def pad(g):
    changed = False
    for node in g.nodes:
        if node.op != "Pad" or node.dead or node.attrs["mode"] != "constant" or node.attrs["value"] != 0:
            continue
        begin, end = node.attrs["begin"], node.attrs["end"]
        if len(begin) not in (3, 4) or min(begin + end) < 0 or any(begin[:2] + end[:2]):
            continue
        conv = g.only_user(node.outputs[0])
        if conv is None or conv.op != "Conv" or conv.inputs[0] is not node.outputs[0]:
            continue
        flat = [0] * (4 - len(begin))
        more = flat + begin[2:] + flat + end[2:]
        conv.attrs["pad"] = tuple(a + b for a, b in zip(conv.attrs["pad"], more))
        changed |= g.bypass(node)
    return changed


def simplify(g):
    for _ in range(64):
        changed = False
        for step in (identity, arithmetic, reshape, transpose, affine, gemm, pad):
            g.sort()
            changed |= step(g)
        if not changed:
            return


# ---- 5. once more ----

def division(g):
    for node in g.nodes:
        if node.op != "Div" or not node.inputs[1].is_float_constant or node.inputs[0].is_constant:
            continue
        c = node.inputs[1].data
        if np.all((np.abs(c) >= 2.0 ** -126) & (np.abs(c) <= 2.0 ** 126)):
            g.own(node, 1, F32(1) / c)
            node.op = "Mul"


def reduce_mean(g):
    for node in list(g.nodes):
        x, y = node.inputs[0] if node.inputs else None, node.outputs[0]
        if node.op != "ReduceMean" or x.is_constant or len(x.shape) != 4 or sorted(node.attrs["axes"]) != [2, 3]:
            continue
        node.op, node.attrs, node.opset = "GlobalAveragePool", {}, 0
        if len(y.shape) == 4:
            continue
        mean = g.new_value(y.name, "mean", shape=(*x.shape[:2], 1, 1), dtype=x.dtype)
        g.new_node(y.name, "mean", "GlobalAveragePool", [x], [mean], {})
        node.op, node.attrs, node.inputs = "Reshape", {"target": y.shape}, [mean]


def batch_norm(g):
    for node in list(g.nodes):
        if node.op != "BatchNormalization":
            continue
        x, axis = node.inputs[0], node.attrs["axis"]
        if not all(v.is_float_constant for v in node.inputs[1:]):
            raise Unsupported("BatchNormalization whose parameters are not constant")
        gamma, beta, mean, variance = (v.data.astype(F64) for v in node.inputs[1:])
        k = gamma / np.sqrt(variance + F64(node.attrs["epsilon"]))
        shape = [d if i == axis else 1 for i, d in enumerate(x.shape)]
        scale = g.new_value(node.name, "scale", data=k.astype(F32).reshape(shape))
        shift = g.new_value(node.name, "shift", data=(beta - mean * k).astype(F32).reshape(shape))
        product = g.new_value(node.name, "mul", shape=x.shape, dtype=x.dtype)
        g.new_node(node.name, "mul", "Mul", [x, scale], [product], {})
        node.op, node.attrs, node.inputs = "Add", {}, [product, shift]


POOLS = ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool")


class Channels:
    """How a value holds channels: their count, indices a channel, image or not."""

    def __init__(self, count, block, image):
        self.count, self.block, self.image = count, block, image

    @property
    def indices(self):
        return self.count * self.block


def weighs(node):
    if not has_weights(node):
        return False
    if node.op == "Conv":
        return True
    a = node.attrs
    plain = node.op == "MatMul" or (a["transB"] and not a["transA"] and a["alpha"] == 1 and a["beta"] == 1)
    return node.inputs[1].data.ndim == 2 and plain


def bias_of(node):
    return node.inputs[2] if len(node.inputs) > 2 else None


def made_by(node):
    if not weighs(node):
        return None
    count, bias = node.inputs[1].shape[1 if node.op == "MatMul" else 0], bias_of(node)
    if bias is not None and not (bias.is_float_constant and bias.shape == (count,)):
        return None
    return Channels(count, 1, node.op == "Conv")


def handed_on(node, c):
    if len(node.inputs) != 1 or len(node.outputs) != 1:
        return None
    x, y = node.inputs[0].shape, node.outputs[0].shape
    if node.op in POOLS:
        return c if c.image else None
    if node.op == "Reshape":
        flattens = c.image and len(x) >= 3 and len(y) == 2 and x[0] == y[0]
        return Channels(c.count, c.block * (y[1] // x[1]), False) if flattens else None
    return c if node.op in UNIVARIATE else None


def reads(node, value, c):
    if not node.inputs or node.inputs[0] is not value or not weighs(node):
        return False
    w = node.inputs[1].shape
    if node.op == "Conv":
        return c.image and node.attrs["group"] in (1, c.indices)
    return not c.image and w[1 if node.op == "Gemm" else 0] == c.indices


def made_index(node):
    """Output channel of every weight."""
    shape = node.inputs[1].shape
    return np.indices(shape)[1 if node.op == "MatMul" else 0]


def read_index(node, c):
    """Channel that every weight is multiplied with."""
    shape = node.inputs[1].shape
    at = np.indices(shape)
    if node.op == "Conv" and node.attrs["group"] > 1:
        return at[0] // (shape[0] // c.indices) // c.block
    return at[0 if node.op == "MatMul" else 1] // c.block


def sums_in_order(start, index, terms):
    """start[k] plus all terms whose index is k, one after the other."""
    out = start.astype(F64)
    for k in range(len(out)):
        out[k] = np.add.accumulate(np.concatenate([out[k:k + 1], terms[index == k]]))[-1]
    return out


# ---- 5.3 ----

def padded(node):
    return bool(node.attrs.get("ceil_mode")) or any(node.attrs.get("pad") or ())


def own_bias(g, node, data):
    if bias_of(node) is not None:
        g.own(node, 2, data)
    else:
        node.inputs = node.inputs[:2] + [g.new_value(node.name, "bias", data=data)]


def constants_of(g, node):
    c = made_by(node)
    if c is None:
        return None
    w, index = node.inputs[1].data, made_index(node)
    total = sums_in_order(np.zeros(c.count), index, np.abs(w.astype(F64)))
    bias = bias_of(node).data if bias_of(node) is not None else np.zeros(c.count, F32)
    dead = (total > 0) & (total < np.abs(bias.astype(F64)) * 2.0 ** -57)
    if dead.any():
        g.own(node, 1, np.where(dead[index], F32(0), w))
    return c, bias.copy(), ((total == 0) | dead) & np.isfinite(bias)


def hand_constants_on(node, c, constant, known):
    after = handed_on(node, c)
    if after is None:
        return None
    if node.op in UNIVARIATE:
        constant = univariate(node.op, node.attrs, constant)
    known = known & np.isfinite(constant)
    if node.op == "AveragePool" and node.attrs["count_include_pad"] and padded(node):
        known = known & (constant == 0)
    return node.outputs[0], after, constant, known


def take_constants(g, node, value, c, constant, known):
    made = made_by(node)
    if made is None or not reads(node, value, c):
        return
    known = known & np.isfinite(constant)
    if node.op == "Conv" and padded(node):
        known = known & (constant == 0)
    w, index = node.inputs[1].data, read_index(node, c)
    if not (known[index] & (w != 0)).any():
        return
    old = bias_of(node).data if bias_of(node) is not None else np.zeros(made.count, F32)
    products = np.where(known, constant, F32(0)).astype(F64)[index] * w.astype(F64)
    with np.errstate(over="ignore"):
        new = sums_in_order(old, made_index(node), products).astype(F32)
    if not np.isfinite(new).all():
        return
    g.own(node, 1, np.where(known[index], F32(0), w))
    if (new != old).any():
        own_bias(g, node, new)


def constant_channels(g):
    for a in g.nodes:
        found = constants_of(g, a)
        if found is None or not found[2].any():
            continue
        queue = [(a.outputs[0],) + found]
        for value, c, constant, known in queue:
            for user in [n for n in g.nodes if n.inputs and n.inputs[0] is value]:
                take_constants(g, user, value, c, constant, known)
                after = hand_constants_on(user, c, constant, known)
                if after is not None:
                    queue.append(after)


# ---- 5.4 ----

def followed(g, a, c):
    """(node, kind, channels read, channels behind) of all users; None: some may read every channel."""
    out, queue = [], [(a.outputs[0], c)]
    for value, now in queue:
        if value in g.outputs:
            return None
        for n in [n for n in g.nodes if any(v is value for v in n.inputs)]:
            after, made = handed_on(n, now), made_by(n)
            if after is not None:
                out.append((n, "hands on", now, after))
            elif made is None or not reads(n, value, now):
                return None
            elif n.op == "Conv" and n.attrs["group"] > 1:
                after = Channels(now.count, made.count // now.count, now.image)
                out.append((n, "depthwise", now, after))
            else:
                out.append((n, "reader", now, None))
            if out[-1][1] != "reader":
                queue.append((n.outputs[0], after))
    return out


def shrink_made(g, node, keep, block):
    keep, axis = np.repeat(keep, block), 1 if node.op == "MatMul" else 0
    g.own(node, 1, np.compress(keep, node.inputs[1].data, axis=axis))
    if bias_of(node) is not None:
        g.own(node, 2, bias_of(node).data[keep])


def shrink_value(value, c, left):
    axis = 1 if c.image else len(value.shape) - 1
    value.shape = tuple(left * c.block if i == axis else d for i, d in enumerate(value.shape))


def unread_channels(g):
    for a in reversed(g.nodes):
        c = made_by(a)
        if c is None or (a.op == "Conv" and a.attrs["group"] != 1):
            continue
        users = followed(g, a, c)
        if users is None:
            continue
        keep = np.zeros(c.count, bool)
        for node, kind, now, _ in users:
            if kind == "reader":
                keep[read_index(node, now)[node.inputs[1].data != 0]] = True
        if not keep.any():
            keep[0] = True
        if keep.all():
            continue
        left = int(keep.sum())
        shrink_made(g, a, keep, 1)
        shrink_value(a.outputs[0], c, left)
        for node, kind, now, behind in users:
            if kind == "reader":
                axis = 0 if node.op == "MatMul" else 1
                g.own(node, 1, np.compress(np.repeat(keep, now.block), node.inputs[1].data, axis=axis))
                continue
            if kind == "depthwise":
                shrink_made(g, node, keep, behind.block)
                node.attrs["group"] = left * now.block
            shrink_value(node.outputs[0], behind, left)
            if node.op == "Reshape":
                node.attrs["target"] = node.outputs[0].shape


# ---- 5.5 ----

def partner(g, a, c):
    """B, and the channels of what it reads."""
    value = a.outputs[0]
    while True:
        user = g.only_user(value)
        if user is None:
            return None
        if reads(user, value, c):
            return user, c
        c = handed_on(user, c)
        if c is None or (user.op in UNIVARIATE and user.op not in ("Relu", "LeakyRelu")):
            return None
        value = user.outputs[0]


def largest(count, index, w):
    out = np.zeros(count)
    np.maximum.at(out, index.ravel(), np.abs(w.astype(F64)).ravel())
    return out


def with_biases(r1, r2, bias):
    b = np.abs(bias.astype(F64))
    energy = r1 * r2
    use = np.isfinite(energy) & np.isfinite(b)
    above = below = 0.0
    for c in np.flatnonzero(use):
        above += float(b[c] * r2[c] * energy[c])
        below += float(energy[c] * energy[c])
    out = r1.copy()
    for c in range(len(b)):
        with np.errstate(divide="ignore", invalid="ignore"):
            u = F64(b[c]) * F64(below) / F64(above) if b[c] != 0 else F64(0)
        if not u <= out[c] * 16:
            out[c] = u / 4
    return out


def exponents(r1, r2, parts):
    e = np.zeros(len(r1), np.int64)
    for c in range(len(r1)):
        if r1[c] > 0 and r2[c] > 0 and math.isfinite(r1[c]) and math.isfinite(r2[c]):
            trial = math.frexp(r1[c] / r2[c])[1] // 2
            if all(stays_normal(w[index == c], by * trial) for w, index, by in parts):
                e[c] = trial
    return e


def equalize_pair(g, a, b, made, read):
    wa, wb, bias = a.inputs[1].data, b.inputs[1].data, bias_of(a)
    at_a, at_b = made_index(a), read_index(b, read)
    r1, r2 = largest(made.count, at_a, wa), largest(made.count, at_b, wb)
    parts = [(wa, at_a, -1), (wb, at_b, 1)]
    if bias is not None:
        r1 = with_biases(r1, r2, bias.data)
        parts.append((bias.data, np.arange(made.count), -1))
    e = exponents(r1, r2, parts)
    if not e.any():
        return
    scale = lambda w, by: np.ldexp(w.astype(F64), by).astype(F32)
    g.own(a, 1, scale(wa, -e[at_a]))
    if bias is not None:
        g.own(a, 2, scale(bias.data, -e))
    g.own(b, 1, scale(wb, e[at_b]))


def stays_normal(w, exponent):
    scaled = np.abs(np.ldexp(w.astype(F64), exponent))
    info = np.finfo(F32)
    return bool(np.all((w == 0) | ((scaled >= F64(info.tiny)) & (scaled <= F64(info.max)))))


def equalize(g):
    for a in g.nodes:
        made = made_by(a)
        found = partner(g, a, made) if made is not None else None
        if found is not None:
            equalize_pair(g, a, found[0], made, found[1])


def prepare(path):
    g = load(path)
    g.sort()
    fold(g, batch(g))
    drop_unused_outputs(g)
    for step in (expand.expand, identity, trailing_softmax, old_softmax, compose):
        g.sort()
        step(g)
    simplify(g)
    g.sort()
    batch_norm(g)
    g.sort()
    division(g)
    reduce_mean(g)
    simplify(g)
    for step in (constant_channels, unread_channels, equalize):
        g.sort()
        step(g)
    fold(g)
    return g
