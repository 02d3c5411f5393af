"""docs/arithmetic.md 3 to 7: native results of integer nodes, their epilogues, float nodes. Arrays are [samples, ...]."""
import math

import numpy as np

import float_ops as f
import norms
import requant
from annotate import split_sums
from infer import align, arg_max, evaluate, mean_axes, move
from requant import Requant, clip_range, fit, limits, round_divide

F32, F64 = np.float32, np.float64


def activate(activation, v):
    if activation is None:
        return v
    if activation.op == "Relu":
        return np.where(v < 0, F32(0), v)
    return f.clip(v, activation.attrs["min"], activation.attrs["max"])


class Program:
    def __init__(self, plan):
        self.plan, self.g = plan, plan.g
        self.epilogues = {}

    # ---- running ----

    def run(self, inputs):
        """Outputs of a batch of samples: codes in their storage dtype, float32, or int64."""
        self.codes, self.native = {}, {}
        for value, data in zip(self.g.inputs, inputs):
            self.native[value] = data
        for node in self.g.nodes:
            self.run_node(node)
        outputs = []
        from annotate import STORAGE
        for edge in [e for e in self.plan.edges if e.node is None]:
            if edge.kind == "activation":
                outputs.append(self.read(edge).astype(STORAGE[edge.q.storage]))
            else:
                outputs.append(self.real(edge.value))
        return outputs

    def real(self, value):
        return value.data[None] if value.is_constant else self.native[value]

    def read(self, edge):
        """Codes of an edge; values that are floats are quantized on first use."""
        key = edge.value, edge.q.key
        if key not in self.codes:
            self.codes[key] = edge.q.codes(self.real(edge.value))
        return self.codes[key]

    def store(self, value, key, data):
        shape = data.shape[:1] + value.shape
        if key is None:
            self.native[value] = data.reshape(shape)
        else:
            self.codes[value, key] = data.reshape(shape)

    def run_node(self, node):
        if node in self.plan.host:
            return
        if node not in self.plan.specs:
            held = self.plan.float_weights.get(node)
            results = evaluate(node, [held.numbers[None] if held and i == 1 else self.real(v) for i, v in enumerate(node.inputs)])
            for value, data in zip(node.outputs, results if isinstance(results, list) else [results]):
                self.native[value] = np.ascontiguousarray(data)
            return
        form = self.plan.specs[node]["arithmetic"]
        if form == "lut":
            self.lookup(node)
        elif form == "keep_scale":
            self.keep(node)
        elif form == "f32" and node.op not in ("GlobalAveragePool", "ReduceMean"):
            self.in_float32(node)
        else:
            self.epilogue(node, self.accumulate(node))

    # ---- native results ----

    def edge(self, node, slot):
        return next(e for e in self.plan.edges_of[node] if e.slot == slot)

    def centred(self, node, slot):
        e = self.edge(node, slot)
        return self.read(e) - e.q.zero

    def accumulate(self, node):
        accumulator = self.plan.accumulator(node)
        if node.op == "Softmax":
            return self.norm(node).rows(self.read(self.edge(node, 0)), node.attrs["axis"] + 1)
        if node.op == "LayerNormalization":
            return norms.layer_norm(self.centred(node, 0), node.attrs["axis"] + 1, self.norm(node))
        if node.op == "Conv":
            return self.convolve(node)
        if node in self.plan.macs:
            return self.multiply(node)
        if node.op == "MatMul":
            return self.multiply_two(node)
        if node.op in ("Relu", "Clip"):
            return fit(accumulator, self.centred(node, 0))
        if node.op in ("AveragePool", "GlobalAveragePool", "ReduceMean"):
            return self.pool_sums(node, self.centred(node, 0), accumulator)
        x, y = align([self.centred(node, 0), self.centred(node, 1)])
        if node.op == "Mul":
            return fit(accumulator, x * y)
        if self.plan.specs[node]["arithmetic"] == "rescale":
            x, y = self.rescale(node, x, y)
        return fit(accumulator, x + y if node.op == "Add" else x - y)

    def norm(self, node):
        if self.plan.specs[node]["arithmetic"] == "tflite_softmax" and norms.TfliteSoftmax.takes(node, self.edge(node, 0).q):
            outputs = self.plan.versions.get(self.plan.out_value(node), {}).values()
            return norms.TfliteSoftmax(self.edge(node, 0).q, outputs)
        made = norms.Softmax if node.op == "Softmax" else norms.LayerNorm
        return made(node, self.edge(node, 0).q, self.plan.accumulator(node), self.plan.power)

    def product(self, accumulator, w, x, bias, reach, split=None, shift=None):
        """bias + w x for w [.., R, D], x [.., D, P], bias [.., R, 1] in the stated order of D; reach: of |x|. shift: as bias."""
        if split:
            acc = requant.round_shift(np.array(bias, np.int64), shift, split.rounding)
            for i, j in zip([0] + split.ends[:-1], split.ends):
                part = np.matmul(w[..., i:j].astype(F64), x[..., i:j, :].astype(F64)).astype(np.int64)
                acc = acc + requant.round_shift(part, shift, split.rounding)
            return acc
        sums = np.abs(w).sum(-1, keepdims=True).astype(object) * reach + np.abs(bias)
        bound = max(int(v) for v in np.asarray(sums).flat)
        lo, hi = limits(accumulator)
        if bound > hi and accumulator.get("overflow", "wrap") == "saturate":
            shape = np.broadcast_shapes(w.shape[:-2], x.shape[:-2]) + (w.shape[-2], x.shape[-1])
            acc = np.clip(np.zeros(shape, np.int64) + bias, lo, hi)
            for d in range(w.shape[-1]):
                acc = np.clip(acc + w[..., d:d + 1] * x[..., d:d + 1, :], lo, hi)
            return acc
        if bound < 1 << 53:
            acc = np.matmul(w.astype(F64), x.astype(F64)).astype(np.int64) + bias
        elif bound < 1 << 62:
            acc = np.matmul(w, x) + bias
        else:
            acc = np.matmul(w.astype(object), x.astype(object)) + bias
        return fit(accumulator, acc)

    def convolve(self, node):
        mac, a = self.plan.macs[node], node.attrs
        codes = self.centred(node, 0)
        x = f.as_image(codes)
        groups, out = a["group"], a["out"]
        kernel = a["kernel"]
        columns = np.zeros(x.shape[:2] + tuple(kernel) + tuple(out), np.int64)
        for r, t, ((oy, iy), (ox, ix)) in f.taps(a, x.shape[2:], out):
            columns[:, :, r, t, oy, ox] = x[:, :, iy, ix]
        columns = columns.reshape(len(x), groups, -1, math.prod(out))
        w = mac.codes.reshape(groups, mac.channels // groups, -1)
        bias = mac.bias.reshape(groups, -1, 1)
        shift = self.shifts(mac).reshape(groups, -1, 1)
        acc = self.product(self.plan.accumulator(node), w, columns, bias, mac.x.reach, mac.split, shift)
        return f.by_sample(acc.reshape(len(x), mac.channels, *out), codes)

    @staticmethod
    def shifts(mac):
        return np.array([mac.shift(c) for c in range(mac.channels)], np.int64)

    def multiply(self, node):
        mac = self.plan.macs[node]
        x = self.centred(node, 0)
        acc = self.product(self.plan.accumulator(node), mac.codes, x.swapaxes(-1, -2), mac.bias[:, None], mac.x.reach, mac.split,
                           self.shifts(mac)[:, None])
        return acc.swapaxes(-1, -2)

    def multiply_two(self, node):
        x, y = align([self.centred(node, 0), self.centred(node, 1)])
        split = self.pair_split(node)
        return self.product(self.plan.accumulator(node), x, y, np.int64(0), self.edge(node, 1).q.reach, split,
                            np.int64(split.shift[0] if split else 0))

    def pair_split(self, node):
        """The split of a product of two activations, or None."""
        if not self.plan.accumulator(node).get("split"):
            return None
        a, b = (self.edge(node, i).q for i in range(2))
        corners = [(p - a.zero) * (q - b.zero) for p in (a.qmin, a.qmax) for q in (b.qmin, b.qmax)]
        terms = np.ones((1, node.inputs[0].shape[-1]), np.int64)
        return split_sums(self.plan.accumulator(node), terms * min(corners), terms * max(corners), [0])

    def pool_sums(self, node, x, accumulator):
        """Every single addition meets the accumulator's width; only saturation tells."""
        parts = self.window_parts(node, x)
        total = np.zeros(1, np.int64)
        for part in parts:
            total = fit(accumulator, total + part)
        return total

    def window_parts(self, node, x):
        """The addends of every window, in row-major order, 0 in the padding."""
        if node.op == "ReduceMean" or node.op == "GlobalAveragePool":
            axes = mean_axes(node, x)
            moved = np.moveaxis(x, axes, range(len(axes)))
            return moved.reshape((-1,) + moved.shape[len(axes):])
        image, out = f.as_image(x), node.attrs["out"]
        parts = []
        for _, _, ((oy, iy), (ox, ix)) in f.taps(node.attrs, image.shape[2:], out):
            part = np.zeros(image.shape[:2] + tuple(out), np.int64)
            part[:, :, oy, ox] = image[:, :, iy, ix]
            parts.append(f.by_sample(part, x))
        return parts

    def counts(self, node, inside=False):
        """Elements of each window (or of them, those inside the input): one number, or an array like the output's plane."""
        x, y = node.inputs[0].shape, node.outputs[0].shape
        if node.op != "AveragePool":
            return np.array(math.prod(x) // math.prod(y))
        size = (1, x[2]) if len(x) == 3 else x[2:]
        attrs = {**node.attrs, "count_include_pad": node.attrs["count_include_pad"] and not inside}
        return np.maximum(f.window_counts(attrs, size, node.attrs["out"]), 0 if inside else 1).reshape(y[2:])

    # ---- epilogues ----

    def rescale(self, node, x, y):
        spec, form = self.plan.specs[node], self.plan.requantization(node)
        shift, results = spec.get("left_shift", 0), []
        q = [self.edge(node, i).q for i in range(2)]
        total = 2 * max(float(q[0].scale), float(q[1].scale))
        for operand, own in ((x, q[0]), (y, q[1])):
            ratio = float(own.scale) / total
            made = Requant([requant.derive(form, ratio, F32(ratio), own.reach << shift)], ())
            results.append(made(operand << shift))
        return results

    def rescale_bound(self, node, form, scales, total):
        shift, bound = self.plan.specs[node].get("left_shift", 0), 0
        for i in range(2):
            ratio = scales[i] / total
            reach = self.edge(node, i).q.reach << shift
            bound += int(Requant([requant.derive(form, ratio, F32(ratio), reach)], ())(np.array(reach))) + 1
        return bound

    def native_scales(self, node):
        """S in binary64 and fl(S) for every channel or count, whether f32 uses fl(fl(S)/s), bounds of |acc|, layout."""
        form = self.plan.requantization(node)
        q = self.edge(node, 0).q
        if node in self.plan.macs:
            mac = self.plan.macs[node]
            channels = range(mac.channels)
            rank = len(node.outputs[0].shape)
            shape = (-1,) + (1,) * (rank - 2) if node.op == "Conv" else (-1,)
            scales = [math.ldexp(float(q.scale) * float(mac.scale_of(c)), mac.shift(c)) for c in channels]
            return scales, [mac.joined_unit(c) for c in channels], True, [mac.bound(c) for c in channels], shape
        if node.op in ("Mul", "MatMul"):
            other = self.edge(node, 1).q
            bound, shift = q.reach * other.reach * (node.inputs[0].shape[-1] if node.op == "MatMul" else 1), 0
            split = self.pair_split(node) if node.op == "MatMul" else None
            if split:
                bound, shift = split.bound[0], split.shift[0]
            scale = math.ldexp(float(q.scale) * float(other.scale), shift)
            return [scale], [F32(math.ldexp(float(q.scale * other.scale), shift))], True, [bound], ()
        if node.op in ("Relu", "Clip"):
            return [float(q.scale)], [q.scale], False, [q.reach], ()
        if node.op in ("Add", "Sub"):
            if self.plan.specs[node]["arithmetic"] == "equal_scale":
                return [float(q.scale)], [q.scale], False, [2 * q.reach], ()
            both = [float(q.scale), float(self.edge(node, 1).q.scale)]
            total = 2 * max(both)
            scale = math.ldexp(total, -self.plan.specs[node].get("left_shift", 0))
            return [scale], [F32(scale)], False, [self.rescale_bound(node, form, both, total)], ()
        if node.op in ("Softmax", "LayerNormalization"):
            norm = self.norm(node)
            return [norm.unit], [F32(norm.unit)], False, [norm.bound], ()
        counts = self.counts(node)
        scales = [float(q.scale) / int(n) for n in counts.flat]
        return scales, [F32(s) for s in scales], False, [q.reach * int(n) for n in counts.flat], counts.shape

    def make_epilogue(self, node, q):
        scales, reals, is_product, bounds, shape = self.native_scales(node)
        if q is None:
            return np.array(reals, F32).reshape(shape)
        form, derived = self.plan.requantization(node), []
        for scale, real, bound in zip(scales, reals, bounds):
            ratio = scale / float(q.scale)
            ratio32 = real / q.scale if is_product else F32(ratio)
            derived.append(requant.derive(form, ratio, ratio32, bound))
        if self.plan.specs[node]["arithmetic"] == "f32":
            x = self.edge(node, 0).q
            derived = [requant.derive(form, 0.0, x.scale / (q.scale * F32(n)), 0) for n in self.counts(node).flat]
        return Requant(derived, shape)

    def activation_of(self, node):
        return node if node.op in ("Relu", "Clip") else self.plan.activation.get(node)

    def epilogue(self, node, acc):
        value, activation = self.plan.out_value(node), self.activation_of(node)
        acc = acc.reshape(acc.shape[:1] + value.shape)
        for key, q in self.plan.versions.get(value, {}).items():
            if (node, key) not in self.epilogues:
                self.epilogues[node, key] = self.make_epilogue(node, q)
            constants = self.epilogues[node, key]
            if q is None:
                self.store(value, None, activate(activation, acc.astype(F32) * constants))
            else:
                self.store(value, key, np.clip(constants(acc) + q.zero, *clip_range(q, activation)))

    # ---- forms without an accumulator ----

    def in_float32(self, node):
        """The float32 forms of Add, Sub, Mul and AveragePool."""
        value, activation = self.plan.out_value(node), self.plan.activation.get(node)
        compute = self.mean_in_float32 if node.op == "AveragePool" else self.pair_in_float32
        real, code = compute(node)
        for key, q in self.plan.versions.get(value, {}).items():
            if q is None:
                self.store(value, None, activate(activation, real))
            else:
                codes = np.clip(code(q), -2.0 ** 40, 2.0 ** 40).astype(np.int64)
                self.store(value, key, np.clip(codes, *clip_range(q, activation)))

    def pair_in_float32(self, node):
        edges = self.edge(node, 0), self.edge(node, 1)
        (x, y), (qx, qy) = align([self.read(e) for e in edges]), [e.q for e in edges]
        a, b = qx.reals(x), qy.reals(y)
        if node.op == "Sub":
            return a - b, lambda q: np.rint(((a - b) / q.scale).astype(F64)) + q.zero
        if node.op == "Mul":
            v = ((x - qx.zero) * (y - qy.zero)).astype(F32)
            return a * b, lambda q: np.rint((v * (qx.scale * qy.scale / q.scale) + F32(q.zero)).astype(F64))
        if self.changes_places(edges, node.outputs[0].shape):
            x, y, qx, qy = y, x, qy, qx

        def add(q):
            rp, rq = qx.scale / q.scale, qy.scale / q.scale
            fixed = F32(q.zero) - f.fma(rp, F32(qx.zero), rq * F32(qy.zero))
            return np.rint(f.fma(x.astype(F32), rp, f.fma(y.astype(F32), rq, fixed)).astype(F64))
        return a + b, add

    @staticmethod
    def changes_places(edges, out):
        """Whether slot 0 alone broadcasts along the innermost axis of the output that is not 1."""
        for d in range(1, len(out) + 1):
            if out[-d] != 1:
                first, second = (e.value.shape[-d] if d <= len(e.value.shape) else 1 for e in edges)
                return first == 1 and second != 1
        return False

    def mean_in_float32(self, node):
        edge = self.edge(node, 0)
        real, out = edge.q.reals(self.read(edge)), node.attrs["out"]
        total = f.window_sums(node.attrs, f.as_image(real), out, F32)
        counts = self.counts(node).astype(F32)
        mean = total.reshape((len(real),) + node.outputs[0].shape) / counts
        return mean, lambda q: np.rint((mean / q.scale + F32(q.zero)).astype(F64))

    def lookup(self, node):
        edge, value = self.edge(node, 0), node.outputs[0]
        table = f.univariate(node.op, node.attrs, edge.q.reals(np.arange(edge.q.qmin, edge.q.qmax + 1)))
        x = self.read(edge)
        step = 1 << max(edge.bits - self.plan.specs[node].get("table_bits", 16), 0)
        for key, q in self.plan.versions.get(value, {}).items():
            if step == 1 or q is None:
                self.store(value, key, (table if q is None else q.codes(table))[x - edge.q.qmin])
                continue
            first = edge.q.qmin // step
            nodes = np.arange(first, edge.q.qmax // step + 2) * step
            entries = q.codes(f.univariate(node.op, node.attrs, edge.q.reals(nodes)))
            left = x // step - first
            rise = (entries[left + 1] - entries[left]) * (x % step)
            self.store(value, key, entries[left] + (2 * rise + step) // (2 * step))

    def keep(self, node):
        edges = self.plan.edges_of[node]
        q = self.edge(node, 0).q
        xs = [self.read(e) if e.kind == "activation" else self.real(e.value) for e in edges]
        x = xs[0]
        if node.op == "ArgMax":
            self.native[node.outputs[0]] = arg_max(node, x).reshape((len(x),) + node.outputs[0].shape).astype(np.int64)
            return
        results = move(node, xs, q.zero)
        if results is None and node.op == "MaxPool":
            results = f.by_sample(f.max_pool(node.attrs, f.as_image(x), node.attrs["out"], np.iinfo(np.int64).min), x)
        elif results is None and node.op == "GlobalMaxPool":
            results = x.max(tuple(range(3, x.ndim)))
        elif results is None:
            total = sum(self.window_parts(node, x), np.zeros(1, np.int64))
            total = total.reshape((len(x),) + node.outputs[0].shape)
            rounding = self.plan.specs[node].get("rounding", "half_away")
            counts = self.counts(node).astype(np.int64)
            total = total + (counts - self.counts(node, inside=True).astype(np.int64)) * q.zero
            results = np.clip(round_divide(total, counts, rounding), q.qmin, q.qmax)
        for value, data in zip(node.outputs, results if isinstance(results, list) else [results]):
            data = np.ascontiguousarray(data)
            self.store(value, q.key, data)
            if None in self.plan.versions.get(value, {}):
                self.store(value, None, q.reals(data))
