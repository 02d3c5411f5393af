"""Random float models of one operator (and what it takes to feed it two activations), with data of random scale."""
from dataclasses import dataclass, field

import numpy as np
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 6


@dataclass
class Case:
    """A model and its data. kernels: what ONNX Runtime must have chosen. never: what it must not have kept."""
    model: object
    data: np.ndarray
    kernels: set
    never: set = field(default_factory=set)
    float_activation: tuple = ()  # a float node that ONNX Runtime has to see through, before QuantizeLinear
    options: tuple = ("--uniform", "8")
    prefer_gemm: bool = False


class Builder:
    def __init__(self, rng, shape, spread=None):
        self.rng, self.nodes, self.initializers, self.shape = rng, [], [], list(shape)
        spread = spread if spread is not None else 10.0 ** rng.uniform(-3, 3)
        offset = spread * rng.choice([0.0, 0.0, rng.uniform(-1, 1)])
        self.data = (rng.standard_normal([SAMPLES, *shape[1:]]) * spread + offset).astype(np.float32)
        self.last = "x"

    def constant(self, array):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def node(self, op, *inputs, **attributes):
        self.last = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [self.last], **attributes))
        return self.last

    def part(self, value, axis, start, end):
        lists = [self.constant(np.asarray([v], np.int64)) for v in (start, end, axis)]
        return self.node("Slice", value, *lists)

    def rescaled(self, value):
        """The same signs under another scale."""
        return self.node("LeakyRelu", value, alpha=float(np.float32(self.rng.uniform(0.05, 2))))

    def case(self, kernels, never=(), **more):
        graph = helper.make_graph(
            self.nodes, "case", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(self.last, TensorProto.FLOAT, None)], self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        return Case(model, self.data, set(kernels), set(never), **more)


def weights(rng, shape, channel_axis, zero_channels=True):
    """Channels of very different size; some are zero."""
    w = rng.standard_normal(shape)
    size = [1] * len(shape)
    size[channel_axis] = shape[channel_axis]
    w = w * 10.0 ** rng.uniform(-2, 1, size)
    if zero_channels:
        w = w * (rng.random(size) > 0.15)
    return w.astype(np.float32)


def bias_of(rng, spread, count):
    return (rng.standard_normal(count) * spread * rng.choice([0.1, 1.0, 10.0]) * (rng.random(count) > 0.2)).astype(np.float32)


# ---- operators; each function is one kind of case ----

def window_attributes(rng, size, rank, dilated=True):
    """Kernel, strides, dilations and padding that leave at least one output."""
    kernel = [int(rng.integers(1, 5)) for _ in range(rank)]
    dilation = [int(rng.integers(1, 3)) if dilated else 1 for _ in range(rank)]
    for i in range(rank):
        if dilation[i] * (kernel[i] - 1) + 1 > size[i]:
            kernel[i] = dilation[i] = 1
    attributes = {"kernel_shape": kernel, "strides": [int(rng.integers(1, 4)) for _ in range(rank)]}
    if dilated:
        attributes["dilations"] = dilation
    choice = rng.integers(0, 4)
    if choice == 0 and max(dilation) == 1:
        attributes["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    elif choice != 1:
        attributes["pads"] = [int(rng.integers(0, max(kernel[i % rank], 1))) for i in range(2 * rank)]
    return attributes


def conv_case(rng, depthwise=False, activation=None, rank=2):
    group = int(rng.choice([1, 1, 2, 3]))
    channels = int(rng.integers(2, 24)) if depthwise else group * int(rng.integers(1, 12))
    if depthwise:
        group = channels
    out_channels = group * int(rng.integers(1, 3 if depthwise else 12))
    size = [int(rng.integers(5, 18)) for _ in range(rank)]
    b = Builder(rng, [1, channels, *size])
    attributes = window_attributes(rng, size, rank)
    w = weights(rng, [out_channels, channels // group, *attributes["kernel_shape"]], 0)
    inputs = ["x", b.constant(w)]
    if rng.random() < 0.8:
        inputs.append(b.constant(bias_of(rng, float(np.std(b.data)), out_channels)))
    b.node("Conv", *inputs, group=group, **attributes)
    bounds = ()
    if activation == "Clip":
        size = float(np.std(b.data)) * rng.uniform(0.5, 3)
        bounds = (-size * rng.choice([0, 0.3]), size)
    if activation:
        b.node(activation, b.last, *[b.constant(np.float32(v)) for v in bounds])
    return b.case({"QLinearConv"}, {"Conv"}, float_activation=(activation, *bounds) if activation else ())


def gemm_case(rng):
    rows, depth, columns = int(rng.integers(1, 4)), int(rng.integers(1, 200)), int(rng.integers(1, 70))
    if rng.random() < 0.5:
        rows = 1
    b = Builder(rng, [1, depth])
    transposed = bool(rng.integers(0, 2))
    w = weights(rng, [columns, depth] if transposed else [depth, columns], 0 if transposed else 1)
    b.node("Gemm", "x", b.constant(w), b.constant(bias_of(rng, float(np.std(b.data)), columns)), transB=int(transposed),
           alpha=float(rng.choice([1.0, 0.5])), beta=float(rng.choice([1.0, 2.0])))
    if rng.random() < 0.3:
        b.node("Relu", b.last)
    b.data = np.concatenate([b.data * s for s in (1, 0.5, 2, 1.5, 0.1, 1.1, 0.7, 0.9)])
    return b.case({"QGemm"}, {"Gemm"}, prefer_gemm=True)


def matmul_case(rng):
    rows, depth, columns = (int(v) for v in rng.integers(1, 40, 3))
    b = Builder(rng, [1, rows, depth])
    b.node("MatMul", "x", b.constant(weights(rng, [depth, columns], 1)))
    return b.case({"QLinearMatMul"}, {"MatMul"})


def matmul_activations_case(rng):
    rows, depth, columns = (int(v) for v in rng.integers(1, 30, 3))
    heads = int(rng.integers(1, 4))
    b = Builder(rng, [1, heads, rows + columns, depth])
    left, right = b.part("x", 2, 0, rows), b.part("x", 2, rows, rows + columns)
    if rng.random() < 0.8:
        left, right = b.rescaled(left), b.rescaled(right)
    b.node("MatMul", left, b.node("Transpose", right, perm=[0, 1, 3, 2]))
    return b.case({"QLinearMatMul"}, {"MatMul"})


def binary_case(rng, op, kernels, never):
    channels, height, width = (int(v) for v in rng.integers(1, 14, 3))
    if rng.random() < 0.4:  # one operand is a constant that broadcasts
        b = Builder(rng, [1, channels, height, width])
        shape = [[channels, 1, 1], [1, channels, height, width], [width], [1]][rng.integers(0, 4)]
        constant = b.constant((rng.standard_normal(shape) * 10.0 ** rng.uniform(-1, 1) * np.std(b.data)).astype(np.float32))
        b.node(op, *(("x", constant) if rng.random() < 0.5 else (constant, "x")))
    else:
        b = Builder(rng, [1, 2 * channels, height, width])
        left, right = b.part("x", 1, 0, channels), b.part("x", 1, channels, 2 * channels)
        for axis in (1, 2, 3):  # either operand may broadcast along any axis, or both be of extent 1
            if rng.random() < 0.2:
                left = b.part(left, axis, 0, 1)
            if rng.random() < 0.2:
                right = b.part(right, axis, 0, 1)
        if rng.random() < 0.7:
            left = b.rescaled(left)
        if rng.random() < 0.7:
            right = b.rescaled(right)
        b.node(op, *((left, right) if rng.random() < 0.5 else (right, left)))
    activation = ()
    if op == "Add" and rng.random() < 0.3:
        b.node("Relu", b.last)
        activation = ("Relu",)
    return b.case(kernels, never, float_activation=activation)


def all_pairs_case(rng, op, kernels, never):
    """All pairs of codes under random scales: where a rounding is done otherwise, one pair in 100,000 shows it."""
    b = Builder(rng, [1, 2, 256, 256])
    lo, hi = np.sort(rng.uniform(-1, 1, 2)) * 10.0 ** rng.uniform(-2, 2)
    codes = np.linspace(min(lo, 0), max(hi, 0), 256)
    sample = np.stack([np.repeat(codes, 256).reshape(256, 256), np.tile(codes, 256).reshape(256, 256)])
    b.data = sample[None].astype(np.float32)
    left, right = b.rescaled(b.part("x", 1, 0, 1)), b.rescaled(b.part("x", 1, 1, 2))
    b.node(op, left, right)
    return b.case(kernels, never)


def pool_case(rng, op, kernels, never, include_pad=None):
    rank = int(rng.choice([1, 2, 2, 2]))
    channels, size = int(rng.integers(1, 20)), [int(rng.integers(4, 20)) for _ in range(rank)]
    b = Builder(rng, [1, channels, *size])
    attributes = window_attributes(rng, size, rank, dilated=op == "MaxPool")
    attributes["kernel_shape"] = [max(2, k) for k in attributes["kernel_shape"]]
    attributes.pop("dilations", None)
    if include_pad is not None:
        attributes["count_include_pad"] = int(include_pad)
    # Releases of ONNX Runtime differ about windows that begin behind the input.
    inside = all(t <= k for t, k in zip(attributes["strides"], attributes["kernel_shape"]))
    if "auto_pad" not in attributes and not include_pad and inside:
        attributes["ceil_mode"] = int(rng.integers(0, 2))
        if "pads" in attributes:
            attributes["pads"][rank:] = [0] * rank
    # Whole windows of the least and the greatest value: input and output then share their scale, and halves are common.
    options = ("--uniform", "8")
    if rng.random() < 0.5:
        lo, hi = b.data.min(), b.data.max()
        b.data[0, :] = lo
        b.data[1, :] = hi
        options += ("--threshold", "max")
    b.node(op, "x", **attributes)
    return b.case(kernels, never, options=options)


def global_pool_case(rng, op, kernels, never):
    channels, size = int(rng.integers(1, 400)), [int(v) for v in rng.integers(1, 12, 2)]
    b = Builder(rng, [1, channels, *size])
    options = ("--uniform", "8")
    if rng.random() < 0.5:
        b.data[0, :], b.data[1, :] = b.data.min(), b.data.max()
        options += ("--threshold", "max")
    b.node(op, "x")
    return b.case(kernels, never, options=options)


def concat_case(rng):
    channels, height, width = (int(v) for v in rng.integers(2, 14, 3))
    b = Builder(rng, [1, 2 * channels, height, width])
    left, right = b.part("x", 1, 0, channels), b.part("x", 1, channels, 2 * channels)
    b.node("Concat", b.rescaled(left), b.rescaled(right), axis=int(rng.integers(1, 4)))
    return b.case(set(), set())


def function_case(rng, op, kernels, never, spread=None):
    b = Builder(rng, [1, int(rng.integers(200, 2000))], spread)
    inputs, attributes = ["x"], {}
    if op == "LeakyRelu":
        attributes["alpha"] = float(np.float32(rng.uniform(0.001, 1.5)))
    if op == "HardSigmoid":
        attributes = {"alpha": float(np.float32(rng.uniform(0.1, 0.3))), "beta": float(np.float32(rng.uniform(0.3, 0.6)))}
    if op == "Clip":
        size = float(np.std(b.data))
        inputs += [b.constant(np.float32(-size * rng.uniform(0, 1.5))), b.constant(np.float32(size * rng.uniform(0.2, 1.5)))]
    b.node(op, *inputs, **attributes)
    return b.case(kernels, never)


def function_spread(rng):
    """Where the functions bend."""
    return 10.0 ** rng.uniform(-1, 1)


def narrow_case(rng):
    """Fewer bits than the storage has: codes are clipped to them."""
    case = conv_case(rng, depthwise=rng.random() < 0.3)
    case.options = ("--uniform", str(rng.integers(2, 9)), "--weight-bits", str(rng.integers(2, 9)))
    return case


MORE = {"Add of all codes": 5, "Mul of all codes": 3}  # times as many models

FAMILIES = {
    "Conv": lambda rng: conv_case(rng),
    "Conv 1-D": lambda rng: conv_case(rng, rank=1),
    "Conv depthwise": lambda rng: conv_case(rng, depthwise=True),
    "Conv + Relu": lambda rng: conv_case(rng, depthwise=rng.random() < 0.3, activation="Relu"),
    "Conv + Clip": lambda rng: conv_case(rng, depthwise=rng.random() < 0.3, activation="Clip"),
    "Conv of 2 to 8 bits": narrow_case,
    "Gemm": gemm_case,
    "MatMul": matmul_case,
    "MatMul of activations": matmul_activations_case,
    "Add": lambda rng: binary_case(rng, "Add", {"QLinearAdd"}, {"Add"}),
    "Sub": lambda rng: binary_case(rng, "Sub", set(), set()),
    "Add of all codes": lambda rng: all_pairs_case(rng, "Add", {"QLinearAdd"}, {"Add"}),
    "Mul of all codes": lambda rng: all_pairs_case(rng, "Mul", {"QLinearMul"}, {"Mul"}),
    "Mul": lambda rng: binary_case(rng, "Mul", {"QLinearMul"}, {"Mul"}),
    "MaxPool": lambda rng: pool_case(rng, "MaxPool", {"MaxPool"}, {"DequantizeLinear"}),
    "AveragePool": lambda rng: pool_case(rng, "AveragePool", {"QLinearAveragePool"}, {"AveragePool"}, False),
    "AveragePool with pads": lambda rng: pool_case(rng, "AveragePool", {"QLinearAveragePool"}, {"AveragePool"}, True),
    "GlobalAveragePool": lambda rng: global_pool_case(rng, "GlobalAveragePool", {"QLinearGlobalAveragePool"}, set()),
    "GlobalMaxPool": lambda rng: global_pool_case(rng, "GlobalMaxPool", set(), set()),
    "Concat": concat_case,
    "Relu": lambda rng: function_case(rng, "Relu", set(), set()),
    "Clip": lambda rng: function_case(rng, "Clip", set(), set()),
    "LeakyRelu": lambda rng: function_case(rng, "LeakyRelu", {"QLinearLeakyRelu"}, {"LeakyRelu"}),
    "Sigmoid": lambda rng: function_case(rng, "Sigmoid", {"QLinearSigmoid"}, {"Sigmoid"}, function_spread(rng)),
    "Tanh": lambda rng: function_case(rng, "Tanh", {"Tanh"}, set(), function_spread(rng)),
    "HardSigmoid": lambda rng: function_case(rng, "HardSigmoid", {"HardSigmoid"}, set(), function_spread(rng)),
    "HardSwish": lambda rng: function_case(rng, "HardSwish", set(), set(), function_spread(rng)),
}
