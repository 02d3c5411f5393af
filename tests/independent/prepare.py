"""docs/preparation.md: from a file's graph to the prepared graph, pass by pass."""
import math

import numpy as np

import onnx_file
from graph import Graph, Node, Value
from infer import Unsupported, evaluate, infer, make_attrs

F32, F64 = np.float32, np.float64
RESHAPES = ("Reshape", "Flatten", "Squeeze", "Unsqueeze")
UNIVARIATE = ("Relu", "LeakyRelu", "Elu", "Clip", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "Softplus", "Exp", "Log",
              "Sqrt", "Reciprocal", "Erf", "Abs", "Neg", "Floor", "Ceil")


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
    op, attrs = node["op"], make_attrs(node["op"], node["attrs"], opset)
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
    for value in g.inputs:
        if value.shape:
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


def arithmetic(g):
    changed = False
    for node in g.nodes:
        if len(node.inputs) != 2:
            continue
        a, b = node.inputs
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


class Pair:
    """A and B of cross-layer equalization."""

    def __init__(self, g, a):
        self.g, self.a, self.b, self.block = g, a, None, 1
        self.channels = a.inputs[1].shape[1 if a.op == "MatMul" else 0]

    @staticmethod
    def meets(node):
        if not has_weights(node):
            return False
        if node.op == "Conv":
            return True
        return node.inputs[1].data.ndim == 2 and (node.op == "MatMul" or (node.attrs["transB"] and not node.attrs["transA"]))

    @staticmethod
    def is_front(node):
        if not Pair.meets(node):
            return False
        bias = node.inputs[2] if len(node.inputs) > 2 else None
        channels = node.inputs[1].shape[1 if node.op == "MatMul" else 0]
        return bias is None or (bias.is_float_constant and bias.shape == (channels,))

    def is_back(self, node, value, image):
        if not self.meets(node) or node.inputs[0] is not value:
            return False
        w = node.inputs[1].shape
        if node.op == "Conv":
            return image and node.attrs["group"] in (1, self.channels)
        if node.op == "Gemm":
            return not image and w[1] == self.channels * self.block
        return not image and self.block == 1 and w[0] == self.channels

    def find_back(self):
        value, image = self.a.outputs[0], self.a.op == "Conv"
        while True:
            user = self.g.only_user(value)
            if user is None:
                return False
            if self.is_back(user, value, image):
                self.b = user
                return True
            x, y = user.inputs[0].shape, user.outputs[0].shape
            if user.op in ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"):
                if not image or len(user.outputs) != 1:
                    return False
            elif user.op == "Reshape":
                if not image or len(x) < 3 or len(y) != 2 or x[0] != y[0]:
                    return False
                self.block, image = y[1] // x[1], False
            elif user.op not in ("Relu", "LeakyRelu"):
                return False
            value = user.outputs[0]

    def views(self):
        """A's and B's weights as [channels, everything else], and the way back."""
        a, b = self.a.inputs[1].data, self.b.inputs[1].data
        front = a.T if self.a.op == "MatMul" else a.reshape(self.channels, -1)
        if self.b.op == "MatMul":
            back = b
        elif self.b.op == "Gemm":
            back = b.reshape(len(b), self.channels, self.block).transpose(1, 0, 2)
        elif self.b.attrs["group"] == 1:
            back = np.moveaxis(b, 1, 0)
        else:
            back = b.reshape((self.channels, -1) + b.shape[1:])
        return front, back

    def restore(self, front, back):
        a, b = self.a.inputs[1].shape, self.b.inputs[1].shape
        front = front.T if self.a.op == "MatMul" else front.reshape(a)
        if self.b.op == "Gemm":
            back = back.transpose(1, 0, 2).reshape(b)
        elif self.b.op == "Conv" and self.b.attrs["group"] == 1:
            back = np.moveaxis(back, 0, 1)
        return np.ascontiguousarray(front), np.ascontiguousarray(back.reshape(b))

    def exponents(self, front, bias, back):
        e = np.zeros(self.channels, np.int64)
        for c in range(self.channels):
            r1, r2 = float(np.abs(front[c]).max()), float(np.abs(back[c]).max())
            if r1 > 0 and r2 > 0 and math.isfinite(r1) and math.isfinite(r2):
                trial = math.frexp(r1 / r2)[1] // 2
                parts = [(front[c], -trial), (back[c], trial)] + ([(bias[c], -trial)] if bias is not None else [])
                if all(stays_normal(w, by) for w, by in parts):
                    e[c] = trial
        return e

    def equalize(self):
        front, back = self.views()
        bias = self.a.inputs[2].data if len(self.a.inputs) > 2 else None
        e = self.exponents(front, bias, back)
        if not e.any():
            return
        scale = lambda w, by: np.ldexp(w.astype(F64), by.reshape((-1,) + (1,) * (w.ndim - 1))).astype(F32)
        front, back = self.restore(scale(front, -e), scale(back, e))
        self.g.own(self.a, 1, front)
        if bias is not None:
            self.g.own(self.a, 2, scale(bias, -e))
        self.g.own(self.b, 1, back)


def stays_normal(w, exponent):
    scaled = np.abs(np.ldexp(w.astype(F64), exponent))
    info = np.finfo(F32)
    return bool(np.all((w == 0) | ((scaled >= F64(info.tiny)) & (scaled <= F64(info.max)))))


def equalize(g):
    for node in g.nodes:
        if Pair.is_front(node):
            pair = Pair(g, node)
            if pair.find_back():
                pair.equalize()


def prepare(path):
    g = load(path)
    g.sort()
    fold(g, batch(g))
    drop_unused_outputs(g)
    for step in (identity, trailing_softmax, old_softmax):
        g.sort()
        step(g)
    simplify(g)
    g.sort()
    batch_norm(g)
    simplify(g)
    g.sort()
    equalize(g)
    fold(g)
    return g
