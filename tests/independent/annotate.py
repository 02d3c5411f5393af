"""docs/arithmetic.md 2: from a strategy to specs, edges, quantizers, weight codes and requantization constants."""
import fnmatch
import math
from fractions import Fraction

import numpy as np

import codes
import requant
from float_ops import UNIVARIATE

F32, F64 = np.float32, np.float64
MAC = ("Conv", "Gemm", "MatMul")
STORAGE = {"s8": np.int8, "u8": np.uint8, "s16": np.int16, "u16": np.uint16, "s32": np.int32}
EMPTY, WIDEST = F32(2.0 ** -64), F32(2.0 ** 64)


class Mismatch(Exception):
    pass


class Quantizer:
    def __init__(self, dtype, bits):
        self.bits, self.storage = bits, dtype["storage"]
        self.signed = self.storage[0] == "s"
        steps = 1 << (bits - 1)
        self.qmax = steps - 1 if self.signed else 2 * steps - 1
        full = dtype.get("zero_point") or dtype.get("full_range")
        self.qmin = 0 if not self.signed else -steps if full else -(steps - 1)
        if bits == 1:
            self.qmin, self.qmax = -1, 1
        self.scale, self.zero = F32(1), 0

    @property
    def key(self):
        return self.storage, self.bits, self.qmin, self.qmax, self.zero, self.scale.tobytes()

    @property
    def reach(self):
        """The largest distance of a code from the zero point."""
        return max(self.qmax - self.zero, self.zero - self.qmin)

    def codes(self, x, scale=None):
        if self.bits == 1:
            return np.where(x < 0, -1, 1)
        with np.errstate(all="ignore"):
            y = np.rint((x / (self.scale if scale is None else scale)).astype(F64))
        y = np.clip(np.nan_to_num(y, nan=0.0), -2.0 ** 40, 2.0 ** 40).astype(np.int64)
        return np.clip(y + self.zero, self.qmin, self.qmax)

    def reals(self, codes):
        return (codes - self.zero).astype(F32) * self.scale


def power_of_two(r, d):
    """The smallest 2^k with 2^k * d >= r; 0 for an empty range."""
    if not r > 0:
        return 0.0
    k = math.frexp(r / d)[1] + 1
    while Fraction(2) ** (k - 1) * Fraction(d) >= Fraction(r):
        k -= 1
    return math.ldexp(1.0, k)


def range_quantizer(dtype, bits, lo, hi, power):
    q = Quantizer(dtype, bits)
    lo, hi = min(lo, 0.0), max(hi, 0.0)
    n, steps, zero_point = float(q.qmax - q.qmin), 1 << (bits - 1), dtype.get("zero_point", False)
    if zero_point:
        r, d, d_power = hi - lo, n, n
    elif q.signed:
        r, d, d_power = max(-lo, hi), float(steps - 1), float(steps)
    else:
        r, d, d_power = hi, float(2 * steps - 1), float(2 * steps - 1)
    with np.errstate(over="ignore"):
        scale = F32(power_of_two(r, d_power) if power else r / d)
    if not scale <= WIDEST:
        raise Mismatch("a range is too wide")
    if scale < EMPTY:
        q.scale, q.zero = F32(1), min(max(0, q.qmin), q.qmax)
        return q
    q.scale = scale
    if zero_point:
        q.zero = int(min(max(float(np.rint(q.qmin - lo / float(scale))), q.qmin), q.qmax))
    return q


class Edge:
    def __init__(self, value, node, slot):
        self.value, self.node, self.slot = value, node, slot
        self.kind, self.bits, self.threshold, self.q, self.codes = "float", 0, None, None, None


class Plan:
    """What every node and edge is. specs[node]: None for float and fused nodes."""

    def __init__(self, g, strategy, folder):
        self.g, self.hw = g, strategy["hardware"]
        self.power = self.hw.get("power_of_two_scales", False)
        self.dtypes = self.hw.get("dtypes", {})
        made = strategy["strategy"]
        self.quantized = dict(zip(g.nodes, made["topology"]["node_conds"]))
        if len(made["topology"]["node_conds"]) != len(g.nodes) or strategy["nodes"] != [n.name for n in g.nodes]:
            raise Mismatch("nodes differ: %s here, %s in the strategy" % ([n.name for n in g.nodes], strategy["nodes"]))
        self.fuse()
        self.make_edges(strategy)
        for e, given in codes.read(strategy, folder, self.edges).items():
            self.edges[e].codes = given
        self.specs = {n: self.choose_spec(n) for n in g.nodes if self.quantized[n] and n not in self.host}
        self.quantize_activations()
        self.versions = {}
        for edge in self.edges:
            if edge.kind == "activation":
                self.versions.setdefault(edge.value, {})[edge.q.key] = edge.q
            elif edge.kind == "float":
                self.versions.setdefault(edge.value, {})[None] = None
        self.macs = {n: Mac(self, n) for n in self.specs if self.has_weights(n)}
        self.float_weights = {e.node: FloatWeights(self, e) for e in self.edges if e.kind == "weight" and e.node not in self.macs}

    # ---- nodes ----

    @staticmethod
    def has_weights(node):
        return node.op in MAC and node.inputs[1].is_constant

    def entries(self, node):
        """The hardware's entries for the operator that fit it with its weights, or without."""
        operators = self.hw.get("operators", {})
        listed = operators.get(node.op, operators.get("univariate", []) if node.op in UNIVARIATE else [])
        listed = listed["specs"] if isinstance(listed, dict) else listed
        return [e for e in listed if bool(e.get("weights")) == self.has_weights(node)]

    def fuse(self):
        self.activation, self.host = {}, {}
        pairs = [tuple(p) for p in self.hw.get("fuse", [])]
        for node in self.g.nodes:
            before = node.inputs[0].producer if node.inputs else None
            if node.op not in ("Relu", "Clip") or before is None or before.outputs[0] is not node.inputs[0]:
                continue
            entries = self.entries(before)
            if (len(self.g.uses(node.inputs[0])) == 1 and self.quantized[before] and self.quantized[node]
                    and (before.op, node.op) in pairs and entries
                    and not any(e["arithmetic"] in ("keep_scale", "lut") for e in entries)):
                self.activation[before], self.host[node] = node, before

    def out_value(self, node):
        return self.activation.get(node, node).outputs[0]

    def admits(self, name, bits):
        low, high = self.dtypes[name]["bits"]
        return low <= bits <= high

    def choose_spec(self, node):
        edges = self.edges_of[node]
        fitting = [entry for entry in self.entries(node)
                   if all(any(self.admits(name, e.bits) for name in entry["weights" if e.kind == "weight" else "inputs"])
                          for e in edges if e.kind in ("weight", "activation"))]
        passed_over = sum(e.threshold.get("passed_over", 0) for e in edges if e.kind == "weight")
        return self.passing(fitting, passed_over, "spec for " + node.name)

    @staticmethod
    def passing(fitting, passed_over, what):
        """The one behind so many, or the last."""
        if not fitting:
            raise Mismatch("no " + what)
        return fitting[min(passed_over, len(fitting) - 1)]

    # ---- edges ----

    def make_edges(self, strategy):
        g, made = self.g, strategy["strategy"]
        self.edges = [Edge(v, n, i) for n in g.nodes for i, v in enumerate(n.inputs) if v is not None]
        self.edges += [Edge(v, None, i) for i, v in enumerate(g.outputs)]
        names = [{"value": e.value.name, "node": e.node.name if e.node else None, "slot": e.slot} for e in self.edges]
        if names != strategy["edges"]:
            raise Mismatch("edges differ: %s here, %s in the strategy" % (names, strategy["edges"]))
        self.edges_of = {n: [] for n in g.nodes}
        for edge, bits, threshold in zip(self.edges, made["bits"], made["thresholds"]):
            edge.bits, edge.threshold = bits, threshold
            edge.kind = self.kind_of(edge)
            if edge.node is not None:
                self.edges_of[edge.node].append(edge)
            if (bits == 0) != (edge.kind in ("float", "fused")):
                raise Mismatch("bits of edge '%s'" % edge.value.name)

    def holds_codes(self, edge):
        """Whether the edge's weights may be codes though its node runs in float."""
        node = edge.node
        if not self.hw.get("float_weights") or self.quantized[node] or edge.slot != 1 or node.op not in MAC or not edge.value.is_constant:
            return False
        stated = [o["float"] for o in self.hw.get("overrides", []) if "float" in o and fnmatch.fnmatchcase(node.name, o["node"])]
        return edge.value.data.ndim >= 2 and not (stated and stated[-1]) and (node.op != "Gemm" or bool(node.attrs["transB"]))

    def kind_of(self, edge):
        if edge.value.dtype != F32:
            return "float"
        if edge.node is None:
            return "activation" if edge.bits else "float"
        if edge.node in self.host:
            return "fused"
        if self.holds_codes(edge):
            return "weight" if edge.bits else "float"
        parameter = edge.node.op == "LayerNormalization" and edge.slot > 0
        if not self.quantized[edge.node] or (edge.node.op in MAC and edge.slot == 2) or parameter:
            return "float"
        return "weight" if edge.slot == 1 and self.has_weights(edge.node) else "activation"

    def groups(self):
        parent = {}

        def root(e):
            while parent.get(e, e) is not e:
                e = parent[e]
            return e

        def tie(edges):
            for e in edges[1:]:
                a, b = root(edges[0]), root(e)
                if a is not b:
                    parent[b] = a

        active = [e for e in self.edges if e.kind == "activation"]
        for node, spec in self.specs.items():
            own = [e for e in self.edges_of[node] if e.kind == "activation"]
            if spec["arithmetic"] == "keep_scale":
                tie(own + [e for e in active if e.value.producer is node])
            elif spec["arithmetic"] == "equal_scale":
                tie(own)
        repeats = {}
        for e in active:
            if e.node is not None and e.value.repeat is not None:
                repeats.setdefault(e.value.repeat, []).append(e)
        for edges in repeats.values():
            tie(edges)
        found = {}
        for e in active:
            found.setdefault(root(e), []).append(e)
        return found.values()

    def lists_of(self, edge):
        """The lists of dtype names that an edge's dtype must be in."""
        lists = []
        if edge.node is not None:
            lists.append(self.specs[edge.node]["inputs"])
        elif self.hw.get("model_outputs"):
            lists.append(self.hw["model_outputs"])
        if edge.value.is_input and self.hw.get("model_inputs"):
            lists.append(self.hw["model_inputs"])
        maker = edge.value.producer
        spec = self.specs.get(self.host.get(maker, maker)) if maker is not None else None
        if spec is not None and spec["arithmetic"] != "keep_scale":
            lists.append(spec["outputs"])
        return lists

    def quantize_activations(self):
        for group in self.groups():
            bits = {e.bits for e in group}
            if len(bits) != 1:
                raise Mismatch("tied edges of different bits")
            bits = bits.pop()
            lo = min(float.fromhex(e.threshold["lo"]) for e in group)
            hi = max(float.fromhex(e.threshold["hi"]) for e in group)
            lists = [names for e in group for names in self.lists_of(e)]
            passed_over = {e.threshold.get("passed_over", 0) for e in group}
            if len(passed_over) != 1:
                raise Mismatch("tied edges that pass over different dtypes")
            fitting = [dtype for name, dtype in self.dtypes.items()
                       if all(name in names for names in lists) and self.admits(name, bits)
                       and (lo >= 0 or dtype.get("zero_point") or dtype["storage"][0] == "s")]
            dtype = self.passing(fitting, passed_over.pop(), "dtype for '%s'" % group[0].value.name)
            q = range_quantizer(dtype, bits, lo, hi, self.power)
            for e in group:
                e.q = q

    def requantization(self, node):
        spec = self.specs[node]
        return {"form": "f32"} if spec["arithmetic"] == "f32" else self.hw["requantize"][spec["requantize"]]

    def accumulator(self, node):
        return self.specs[node].get("accumulator", {"bits": 32, "overflow": "wrap"})


def within(lo, hi, width):
    return lo >= -(1 << (width - 1)) and hi < 1 << (width - 1)


def products(codes, down, up):
    """The least and greatest w * x for every weight code w and x in [down, up]."""
    return np.minimum(codes * down, codes * up), np.maximum(codes * down, codes * up)


class Split:
    def __init__(self, ends, shift, bound, rounding):
        self.ends, self.shift, self.bound, self.rounding = ends, shift, bound, rounding


def split_sums(accumulator, lo, hi, bias):
    """docs/arithmetic.md 3.3. lo, hi: [channels, terms], the ends of every product; None: the sums fit."""
    width = accumulator["bits"]
    if all(within(int(l.sum()) + int(b), int(h.sum()) + int(b), width) for l, h, b in zip(lo, hi, bias)):
        return None
    lows, highs = np.cumsum(lo, 1), np.cumsum(hi, 1)
    ends, first, k, terms = [], 0, 0, lo.shape[1]
    while first < terms:
        before = (lows[:, first - 1], highs[:, first - 1]) if first else (0, 0)
        k = first
        while k < terms and within(int((lows[:, k] - before[0]).min()), int((highs[:, k] - before[1]).max()), width):
            k += 1
        if k == first:
            raise Mismatch("a product leaves its accumulator")
        ends.append(k)
        first = k
    starts = [0] + ends[:-1]
    rounding, join = accumulator.get("join_rounding", "half_up"), accumulator.get("join_bits", width)
    shifts, bounds = [], []
    for l, h, b in zip(lo, hi, bias):
        parts = [np.array([int(b)] + [int(e[i:j].sum()) for i, j in zip(starts, ends)]) for e in (l, h)]
        for shift in range(63):
            low, high = (int(requant.round_shift(p, np.int64(shift), rounding).sum()) for p in parts)
            if within(low, high, join):
                break
        else:
            raise Mismatch("parts of a sum cannot be added")
        shifts.append(shift)
        bounds.append(max(high, -low))
    return Split(ends, shifts, bounds, rounding)


class Mac:
    """Weights, bias and requantization of a Conv, Gemm or MatMul with constant weights."""

    def __init__(self, plan, node):
        self.plan, self.node = plan, node
        self.spec, self.form = plan.specs[node], plan.requantization(node)
        first, edge = plan.edges_of[node][:2]
        self.x = first.q
        self.read_weights(edge, self.spec["weights"], self.spec.get("per_channel", False))
        bias = node.inputs[2] if len(node.inputs) > 2 else None
        self.real_bias = bias.data.astype(F64) if bias is not None else np.zeros(self.channels)
        if "bias" in edge.threshold:
            self.real_bias = np.array([float.fromhex(b) for b in edge.threshold["bias"]])
        self.versions = [q for q in plan.versions.get(plan.out_value(node), {}).values() if q is not None]
        self.needs_bound = self.form.get("pre_shift_bits", 0) > 0
        self.split = None
        self.choose_scales()
        self.read_codes(edge)
        self.bias = np.array([int(self.bias_code(c)) for c in range(self.channels)], np.int64)
        if self.spec["accumulator"].get("split"):
            lo, hi = products(self.codes, self.x.qmin - self.x.zero, self.x.qmax - self.x.zero)
            self.split = split_sums(self.spec["accumulator"], lo, hi, self.bias)

    def by_rows(self, array):
        return array.reshape(-1, array.shape[-1]).T if self.node.op == "MatMul" else array.reshape(len(array), -1)

    def read_weights(self, edge, names, per_channel):
        self.rows, self.given = self.by_rows(edge.value.data).astype(F32), None
        self.channels, self.per_channel = len(self.rows), per_channel
        dtype = next(d for name, d in self.plan.dtypes.items() if name in names and self.plan.admits(name, edge.bits))
        self.q, self.below = Quantizer(dtype, edge.bits), None
        if dtype.get("zero_point"):
            self.q = self.offset_codes(edge, dtype)
        self.scale = self.first_scales([float.fromhex(t) for t in edge.threshold["channels"]])

    def offset_codes(self, edge, dtype):
        """Codes less their zero points; `below`: how many of a scale's lie below 0."""
        q, most = Quantizer(dtype, edge.bits), (1 << edge.bits) - 1
        q.signed, q.qmin, q.qmax, self.below = True, -most, most, edge.threshold["zero_points"]
        if not all(0 <= z <= most for z in self.below) or len(self.below) != len(edge.threshold["channels"]):
            raise Mismatch("zero points of " + self.node.name)
        return q

    def span(self, c):
        """The least and the greatest code of a channel."""
        if self.below is None:
            return self.q.qmin, self.q.qmax
        least = -self.below[c if self.per_channel else 0]
        return least, least + self.q.qmax

    def counted(self, codes):
        """The codes of all channels as a strategy has them."""
        if self.below is None:
            return codes
        least = np.array([self.span(c)[0] for c in range(self.channels)])
        return codes - least.reshape(-1, 1) - (1 << (self.q.bits - 1))

    def read_codes(self, edge):
        if edge.codes is not None:
            self.given = self.by_rows(edge.codes.reshape(edge.value.data.shape))
            self.given = self.given - self.counted(np.zeros_like(self.given))
            if self.given.min() < self.q.qmin or self.given.max() > self.q.qmax or (self.q.bits == 1 and not self.given.all()):
                raise Mismatch("codes of " + self.node.name)
        self.codes = np.stack([self.row_codes(c) for c in range(self.channels)])

    def first_scales(self, thresholds):
        steps = 1 << (self.q.bits - 1)
        if self.below is not None:
            half = self.q.qmax / 2
            scale = np.array([power_of_two(t, half) if self.plan.power else t / half for t in thresholds]).astype(F32)
        elif self.plan.power:
            scale = np.array([power_of_two(t, steps) for t in thresholds]).astype(F32)
        else:
            scale = (np.array(thresholds) / float(max(steps - 1, 1))).astype(F32)
        scale[scale < EMPTY] = 0
        scale[scale == 0] = scale.max() if scale.max() > 0 else F32(1)
        return scale

    def scale_of(self, c):
        return self.scale[c if self.per_channel else 0]

    def unit(self, c):
        return self.x.scale * self.scale_of(c)

    def joined_unit(self, c):
        return F32(math.ldexp(float(self.unit(c)), self.shift(c)))

    def bias_code(self, c):
        if self.real_bias[c] == 0:
            return 0.0
        unit, limit = float(self.unit(c)), self.bias_limit()
        exact = float(np.rint(self.real_bias[c] / unit)) if unit > 0 else math.copysign(math.inf, self.real_bias[c])
        return max(-limit, min(limit, exact))

    def bias_fits(self, c):
        unit = float(self.unit(c))
        return self.real_bias[c] == 0 or (unit > 0 and abs(np.rint(self.real_bias[c] / unit)) <= self.bias_limit())

    def takes_bias(self, c, bias):
        """Whether it changes no scale."""
        unit = float(self.unit(c))
        return unit > 0 and abs(bias / unit) < self.bias_limit() / 2

    def bias_limit(self):
        accumulator = self.spec["accumulator"]
        width = accumulator["bits"]
        if accumulator.get("split"):
            width = accumulator.get("join_bits", width)
        return 2.0 ** (min(width, self.spec.get("bias_bits", min(width, 32))) - 2)

    def row_codes(self, c):
        return np.clip(self.q.codes(self.rows[c], self.scale_of(c)), *self.span(c)) if self.given is None else self.given[c]

    def interval(self, c):
        codes, bias = self.row_codes(c), int(self.bias_code(c))
        up, down = self.x.qmax - self.x.zero, self.x.qmin - self.x.zero
        positive, negative = int(codes[codes > 0].sum()), int(codes[codes < 0].sum())
        return bias + positive * down + negative * up, bias + positive * up + negative * down

    def shift(self, c):
        return self.split.shift[c] if self.split else 0

    def bound(self, c):
        if self.split:
            return self.split.bound[c]
        if not self.needs_bound:
            return 0
        lo, hi = self.interval(c)
        return max(hi, -lo)

    def derive(self, c, q):
        ratio = math.ldexp(float(self.x.scale) * float(self.scale_of(c)) / float(q.scale), self.shift(c))
        return requant.derive(self.form, ratio, self.joined_unit(c) / q.scale, self.bound(c))

    def ratio_is_legal(self, c):
        accumulator = self.spec["accumulator"]
        if accumulator.get("split"):
            lo, hi = products(self.row_codes(c), self.x.qmin - self.x.zero, self.x.qmax - self.x.zero)
            if not within(int(lo.min()), int(hi.max()), accumulator["bits"]):
                return False
        try:
            for q in self.versions:
                self.derive(c, q)
        except requant.Refused:
            return False
        return True

    def choose_scales(self):
        for i in range(len(self.scale)):
            channels = [i] if self.per_channel else range(self.channels)
            legal = lambda: all(self.bias_fits(c) and self.ratio_is_legal(c) for c in channels)
            doublings = 0
            while not legal() and doublings < 200 and self.scale[i] < 2.0 ** 127:
                self.scale[i] *= F32(2)
                doublings += 1
            if legal():
                continue
            while not all(self.ratio_is_legal(c) for c in channels):
                self.scale[i] /= F32(2)
                if self.scale[i] < 2.0 ** -126:
                    raise Mismatch("no legal weight scale in " + self.node.name)


class FloatWeights(Mac):
    """Codes of the weights of a node that runs in float."""

    def __init__(self, plan, edge):
        self.plan, self.node, self.shape = plan, edge.node, edge.value.data.shape
        described = plan.hw["float_weights"]
        self.read_weights(edge, described["dtypes"], described.get("per_channel", False))
        self.real_bias = np.zeros(self.channels)
        self.read_codes(edge)
        numbers = self.codes.astype(F32) * self.scale.reshape(-1, 1)
        self.numbers = np.ascontiguousarray(numbers.T if self.node.op == "MatMul" else numbers).reshape(self.shape)

    def takes_bias(self, c, bias):
        return False
