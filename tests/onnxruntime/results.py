"""Random models whose results are real numbers: of every operator as integers, read by a float operator, and of every operator as a
float island between codes. The exporter's word for each is held against ONNX Runtime (exported.py)."""
import json
import os
import re

import numpy as np
from onnx import helper, numpy_helper

from cases import FAMILIES, Builder, bias_of, weights

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OPERATORS = os.path.join(ROOT, "include", "intaglio", "ops.def")
NOTES = os.path.join(ROOT, "realize", "emit", "qdq_notes.c")
TARGET = os.path.join(ROOT, "hardware", "targets", "x86-vnni.json")
# Folded, left off or replaced by others before anything is exported.
NEVER_EXPORTED = {"BatchNormalization", "Constant", "ConstantOfShape", "Identity", "Dropout", "CastLike", "Scatter", "Einsum"}
# Tables here and float32 there, like the functions below, which are measured.
NOT_MEASURED = {"Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Celu", "Cos", "Cosh", "Mish", "Power", "Selu", "Sin", "Sinh", "Softsign",
                "Swish", "Tan"}


def not_compared():
    """What QDQ models are said to have never been compared in, and what preparation replaces."""
    with open(OPERATORS, encoding="utf-8") as file, open(NOTES, encoding="utf-8") as notes:
        names = dict(re.findall(r'^ITG_OP\((\w+), "(\w+)"', (text := file.read()), re.M))
        ids = re.findall(r"ITG_OP_(\w+)", re.search(r"not_compared\[\] = \{(.*?)\}", notes.read(), re.S)[1])
        replaced = re.findall(r'^ITG_OP\(\w+, "(\w+)", [^,]*(?:ITG_IS_COMPOSITE|ITG_READS_SHAPE)', text, re.M)
        return {names[i] for i in ids} | set(replaced) | NOT_MEASURED


def operators():
    with open(OPERATORS, encoding="utf-8") as file:
        return re.findall(r'^ITG_OP\(\w+, "(\w+)"', file.read(), re.M)


def functions():
    """Univariate operators that have no table on x86-vnni."""
    with open(OPERATORS, encoding="utf-8") as file, open(TARGET, encoding="utf-8") as target:
        named = json.load(target)["operators"]
        return [op for op in re.findall(r'^ITG_OP\(\w+, "(\w+)", ITG_IS_UNIVARIATE', file.read(), re.M)
                if op not in named and op not in not_compared()]


def write_target(path):
    """x86-vnni with a table for every function, and ReduceMean; nodes called island... stay float."""
    with open(TARGET, encoding="utf-8") as file:
        target = json.load(file)
    target["operators"]["univariate"] = target["operators"]["Sigmoid"]
    target["operators"]["ReduceMean"] = target["operators"]["GlobalAveragePool"]
    target["overrides"] = [{"node": "island*", "float": True}]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(target, file)


def write_zeros(path):
    """x86-vnni whose weights have zero points, where it has weights. Returns the path."""
    with open(TARGET, encoding="utf-8") as file:
        target = json.load(file)
    weights_of = [spec for entry in target["operators"].values() for spec in (entry if isinstance(entry, list) else entry["specs"])
                  if "weights" in spec]
    target["dtypes"]["zeros"] = {"storage": "u8", "bits": [2, 8], "zero_point": True}
    for spec in weights_of:
        spec["weights"] = ["zeros"]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(target, file)
    return path


def read_as_floats(make, also_codes):
    """The model of a family with a float operator behind it; also_codes: and an integer one."""
    def made(rng):
        case = make(rng)
        graph = case.model.graph
        last = graph.output[0].name
        graph.node.append(helper.make_node("Neg", [last], ["negated"], name="island"))
        graph.output[0].name = "negated"
        if also_codes:
            graph.node.append(helper.make_node("LeakyRelu", [last], ["codes"], alpha=0.5))
            graph.output.append(helper.make_tensor_value_info("codes", graph.output[0].type.tensor_type.elem_type, None))
        case.never = case.kernels = set()
        return case
    return made


def behind(case, activation):
    """The case with an activation as its last node."""
    graph, bounds = case.model.graph, []
    if activation == "Clip":
        for name, value in (("low", -0.4), ("high", 0.9)):
            graph.initializer.append(numpy_helper.from_array(np.float32(value * np.std(case.data)), name))
            bounds.append(name)
    graph.node.append(helper.make_node(activation, [graph.output[0].name, *bounds], ["activated"]))
    graph.output[0].name = "activated"
    return case


# ---- float islands ----

class Islands(Builder):
    """All nodes but the first stay float."""
    def node(self, op, *inputs, **attributes):
        return super().node(op, *inputs, **attributes, **({"name": f"island{len(self.nodes)}"} if self.nodes else {}))


def start(rng, shape, spread=None, kind=Islands):
    """A builder whose last value are codes."""
    b = kind(rng, shape, spread if spread is not None else 10.0 ** rng.uniform(-1, 1))
    b.rescaled("x")
    return b


def image(rng):
    return [1, *(int(v) for v in rng.integers(2, 12, 3))]


def one_input(op, spread=None, positive=False, attributes=None, opset_inputs=()):
    def made(rng):
        b = start(rng, image(rng), spread)
        if positive:
            b.node("Clip", b.last, b.constant(np.float32(0.25)), b.constant(np.float32(40)))
        for _ in range(rng.integers(1, 3)):  # -0 comes of one
            b.node("Neg", b.last)
        b.node(op, b.last, *(b.constant(v) for v in opset_inputs), **(attributes(rng) if attributes else {}))
        return b.case(set())
    return made


def two_inputs(op, bounded=None, second=None):
    def made(rng):
        shape = image(rng)
        b = start(rng, shape)
        left = b.node("Neg", b.last)
        if bounded is not None:
            left = b.node("Clip", left, *(b.constant(np.float32(v)) for v in bounded))
        if second is None:
            right = b.node("Neg", b.rescaled("x"))
            if bounded is not None:
                right = b.node("Clip", right, *(b.constant(np.float32(v)) for v in bounded))
        else:
            right = b.constant(second(rng, shape))
        b.node(op, left, right)
        return b.case(set())
    return made


def channel_constant(rng, shape):
    return rng.uniform(0.3, 3, [shape[1], 1, 1]).astype(np.float32)


def float_conv(rng):
    b = start(rng, [1, 3, 9, 9])
    b.node("Conv", b.node("Neg", b.last), b.node("Neg", b.constant(weights(rng, [4, 3, 3, 3], 0))), kernel_shape=[3, 3])
    return b.case(set())


def float_gemm(rng):
    b = start(rng, [1, 40])
    b.node("Gemm", b.node("Neg", b.last), b.constant(weights(rng, [40, 7], 1)), b.constant(bias_of(rng, 1.0, 7)))
    return b.case(set())


def float_matmul(rng):
    b = start(rng, [1, 12, 20])
    b.node("MatMul", b.node("Neg", b.last), b.constant(weights(rng, [20, 7], 1)))
    return b.case(set())


def float_pool(op, **attributes):
    def made(rng):
        b = start(rng, [1, 3, *(int(v) for v in rng.integers(5, 15, 2))])
        b.node(op, b.node("Neg", b.last), **attributes)
        return b.case(set())
    return made


def one_divided(rng):
    """Two roundings that ONNX Runtime makes one."""
    b = start(rng, image(rng))
    x = b.node("Clip", b.node("Neg", b.last), b.constant(np.float32(0.25)), b.constant(np.float32(30)))
    b.node("Mul", b.node("Div", b.constant(np.float32(1)), x), b.node("Neg", b.rescaled("x")))
    return b.case(set())


def where(rng):
    b = start(rng, image(rng))
    x = b.node("Neg", b.last)
    equal = b.node("Equal", b.node("Floor", x), x)
    b.node("Where", equal, x, b.node("Ceil", x))
    return b.case(set())


def cast(rng):
    b = start(rng, image(rng))
    b.node("Cast", b.node("Cast", b.node("Floor", b.node("Neg", b.last)), to=7), to=1)
    return b.case(set())


def arg_max(rng):
    b = start(rng, image(rng))
    b.node("Cast", b.node("ArgMax", b.node("Neg", b.last), axis=1), to=1)
    return b.case(set())


def moved(rng, kind=Islands):
    """Everything that moves numbers."""
    b = start(rng, [1, 4, 6, 5], None, kind)
    x = b.node("Neg", b.last)
    fill = 0.7 if kind is Islands else 0.0

    def ints(*values):
        return b.constant(np.asarray(values, np.int64))

    x = b.node("Transpose", b.node("Concat", x, x, axis=1), perm=[0, 2, 3, 1])
    x = b.node("Gather", b.node("Slice", x, ints(1), ints(5), ints(1)), ints(2, 0, 1), axis=1)
    x = b.node("Pad", x, ints(0, 1, 0, 2, 0, 0, 1, 0), b.constant(np.float32(fill)))
    x = b.node("Unsqueeze", b.node("Squeeze", b.node("Unsqueeze", x, ints(1)), ints(1)), ints(2))
    x = b.node("Expand", x, ints(1, 1, 2, 1, 1))
    x = b.node("Reshape", x, ints(1, 2, -1))
    b.nodes.append(helper.make_node("Split", [x], ["first", "second"], axis=1, **({"name": "island"} if kind is Islands else {})))
    b.node("Flatten", b.node("Sub", "first", "second"))
    return b.case(set())


def function(op):
    """As a table."""
    def made(rng):
        b = start(rng, image(rng), 1.0 if op == "Exp" else None, Builder)
        if op in ("Log", "Sqrt", "Reciprocal"):
            b.node("Clip", b.last, b.constant(np.float32(0.25)), b.constant(np.float32(40)))
        b.node(op, b.last)
        return b.case(set())
    return made


def integer_mean(rng):
    b = start(rng, image(rng), None, Builder)
    b.node("ReduceMean", b.last, axes=[2, 3])
    return b.case(set())


def integer_maximum(rng):
    b = start(rng, image(rng), None, Builder)
    b.node("Cast", b.node("ArgMax", b.last, axis=1), to=1, name="island")
    return b.case(set())


def product_and_matrix(rng):
    """What ONNX Runtime may make one Gemm of, whose sum is float32."""
    b = start(rng, [1, 6, 20], None, Builder)
    x = b.node("Reshape", b.last, b.constant(np.asarray([6, 20], np.int64)))
    x = b.node("MatMul", x, b.constant(weights(rng, [20, 7], 1)))
    b.node("Add", x, b.constant(rng.standard_normal([6, 7]).astype(np.float32)), name="island")
    b.node("Reshape", b.last, b.constant(np.asarray([1, -1], np.int64)), name="island_flat")
    return b.case(set())


def images(rng):
    """Several images in one tensor: nodes mix the samples of a batch, so that the model takes one."""
    b = start(rng, [1, 4, 8, 6], None, Builder)
    x = b.node("Reshape", b.last, b.constant(np.asarray([2, 4, 4, 6], np.int64)))
    x = b.node("Concat", x, b.node("LeakyRelu", x, alpha=0.5), axis=0)
    x = b.node("Conv", x, b.constant(weights(rng, [6, 2, 3, 3], 0)), group=2, pads=[1, 1, 1, 1])
    x = b.node("Add", b.node("MaxPool", x, kernel_shape=[2, 2]), b.node("AveragePool", x, kernel_shape=[2, 2]))
    x = b.node("Mul", x, b.constant(rng.uniform(-1, 1, [4, 1, 1, 1]).astype(np.float32)))
    x = b.node("Flatten", b.node("GlobalAveragePool", b.node("Transpose", x, perm=[1, 0, 2, 3])))
    b.node("Gemm", x, b.constant(weights(rng, [5, 4], 0)), b.constant(bias_of(rng, 1.0, 5)), transB=1)
    b.node("Reshape", b.last, b.constant(np.asarray([1, -1], np.int64)))
    return b.case(set())


def reduced(op):
    def made(rng):
        b = start(rng, image(rng))
        x = b.node("Neg", b.last)
        if op == "ReduceSum":
            b.node(op, x, b.constant(np.asarray([2, 3], np.int64)))
        else:
            b.node(op, x, axes=[2, 3])
        return b.case(set())
    return made


def layer_normalization(rng):
    b = start(rng, [1, 6, 32])
    b.node("LayerNormalization", b.node("Neg", b.last), b.constant(rng.uniform(0.5, 2, 32).astype(np.float32)),
           b.constant(rng.uniform(-1, 1, 32).astype(np.float32)))
    return b.case(set())


def not_last(op):
    """A Softmax at the end would be left off."""
    def made(rng):
        b = start(rng, [1, 6, 32])
        b.node("Neg", b.node(op, b.node("Neg", b.last), axis=-1))
        return b.case(set())
    return made


MOVERS = ("Concat", "Split", "Reshape", "Flatten", "Transpose", "Slice", "Gather", "Squeeze", "Unsqueeze", "Expand", "Pad")

ISLANDS = {
    "Conv": float_conv, "Gemm": float_gemm, "MatMul": float_matmul,
    "Add": two_inputs("Add"), "Sub": two_inputs("Sub"), "Mul": two_inputs("Mul"),
    "Div": two_inputs("Div", (0.25, 30)), "Pow": two_inputs("Pow", (0.25, 3)),
    "Min": two_inputs("Min"), "Max": two_inputs("Max"), "PRelu": two_inputs("PRelu", second=channel_constant),
    "Relu": one_input("Relu"), "LeakyRelu": one_input("LeakyRelu", attributes=lambda rng: {"alpha": float(np.float32(rng.uniform(0.01, 1)))}),
    "Elu": one_input("Elu"), "Clip": one_input("Clip", opset_inputs=(np.float32(-0.3), np.float32(0.9))),
    "Sigmoid": one_input("Sigmoid"), "Tanh": one_input("Tanh"), "HardSigmoid": one_input("HardSigmoid"),
    "HardSwish": one_input("HardSwish"), "Softplus": one_input("Softplus"), "Exp": one_input("Exp", 1.0),
    "Log": one_input("Log", positive=True), "Sqrt": one_input("Sqrt", positive=True),
    "Reciprocal": one_input("Reciprocal", positive=True), "Erf": one_input("Erf"),
    "Gelu": one_input("Gelu", attributes=lambda rng: {"approximate": str(rng.choice(["none", "tanh"]))}), "Abs": one_input("Abs"),
    "Neg": one_input("Neg"), "Floor": one_input("Floor"), "Ceil": one_input("Ceil"),
    "MaxPool": float_pool("MaxPool", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 1, 1, 0]),
    "AveragePool": float_pool("AveragePool", kernel_shape=[3, 2], strides=[2, 1], pads=[1, 1, 1, 0]),
    "GlobalAveragePool": float_pool("GlobalAveragePool"), "GlobalMaxPool": float_pool("GlobalMaxPool"),
    "ReduceMean": reduced("ReduceMean"), "ReduceSum": reduced("ReduceSum"), "ReduceMax": reduced("ReduceMax"),
    "LayerNormalization": layer_normalization, "Softmax": not_last("Softmax"), "LogSoftmax": not_last("LogSoftmax"),
    "ArgMax": arg_max, "Cast": cast, "Equal": where, "Where": where, **{op: moved for op in MOVERS},
}

INTEGERS = {**{op: function(op) for op in functions()}, "ReduceMean": integer_mean, "ArgMax": integer_maximum,
            "movers": lambda rng: moved(rng, Builder)}

ACTIVATED = {
    f"{name} + {activation}": lambda rng, make=FAMILIES[name], activation=activation: behind(make(rng), activation)
    for name in ("Gemm", "MatMul", "Mul", "Sub", "GlobalAveragePool") for activation in ("Relu", "Clip")
}

RESULTS = {
    **{f"{name}, as floats": read_as_floats(make, False) for name, make in ACTIVATED.items()},
    "float Div of one": one_divided,
    "several images": images,
    "MatMul and a float Add": product_and_matrix,
    **{f"{name}, as codes": make for name, make in INTEGERS.items()},
    **{f"{name}, as floats": read_as_floats(make, False) for name, make in INTEGERS.items()},
    **{f"{name}, as floats": read_as_floats(make, False) for name, make in FAMILIES.items()},
    **{f"{name}, both": read_as_floats(make, True) for name, make in FAMILIES.items()},
    **{f"float {op}": make for op, make in ISLANDS.items()},
}

missing = set(operators()) - NEVER_EXPORTED - not_compared() - set(ISLANDS)
if missing:
    raise SystemExit(f"no case for {', '.join(sorted(missing))}: add one to results.py")
