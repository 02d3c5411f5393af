"""Writes small networks that have the operators which the examples lack, with data: python3 make_models.py FOLDER (needs numpy)."""
import os
import struct
import sys

import numpy as np


# ---- protobuf ----

def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(name, array):
    kind = {"float32": 1, "int64": 7}[str(array.dtype)]
    dims = b"".join(field(1, d) for d in array.shape)
    return dims + field(2, kind) + field(8, name) + field(9, array.astype(array.dtype.newbyteorder("<")).tobytes())


def attribute(name, value):
    if isinstance(value, float):
        return field(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, str):
        return field(1, name) + field(4, value) + field(20, 3)
    return field(1, name) + b"".join(field(8, v) for v in value) + field(20, 7)


def value_info(name, shape, kind=1):
    dims = b"".join(field(1, field(1, d)) for d in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


class Net:
    def __init__(self, name, shape, opset=13, seed=1):
        self.name, self.shape, self.opset, self.rng = name, shape, opset, np.random.default_rng(seed)
        self.nodes, self.constants, self.count = b"", b"", 0
        self.others = {}  # inputs besides x: data of 60 samples, and shape in the model

    def constant(self, array):
        self.count += 1
        name = "c%d" % self.count
        self.constants += field(5, tensor(name, array))
        return name

    def input(self, name, data, batch=(1,)):
        """Another input; data: its samples, or the shape of normal float32 ones."""
        data = self.rng.normal(0, 1, (60,) + data).astype(np.float32) if isinstance(data, tuple) else data
        self.others[name] = data, batch + data.shape[1:]
        return name

    def weights(self, *shape, spread=True):
        w = self.rng.normal(0, 1 / np.sqrt(np.prod(shape[1:]) or 1), shape)
        if spread:
            w = w * np.exp2(self.rng.integers(-3, 4, shape[:1] + (1,) * (len(shape) - 1)))
        return self.constant(w.astype(np.float32))

    def vector(self, n, low=-0.5, high=0.5):
        return self.constant(self.rng.uniform(low, high, n).astype(np.float32))

    def __call__(self, op, *inputs, name="", **attrs):
        self.count += 1
        out = "v%d" % self.count
        body = b"".join(field(1, v) for v in inputs) + field(2, out) + (field(3, name) if name else b"") + field(4, op)
        self.nodes += field(1, body + b"".join(field(5, attribute(k, v)) for k, v in attrs.items()))
        return out

    def save(self, folder, *outputs, data=None):
        kinds = {"float32": 1, "int64": 7, "uint8": 2}
        kind = 1 if data is None else kinds[str(data.dtype)]
        graph = self.nodes + field(2, self.name) + self.constants + field(11, value_info("x", self.shape, kind))
        graph += b"".join(field(11, value_info(v, shape, kinds[str(d.dtype)])) for v, (d, shape) in self.others.items())
        graph += b"".join(field(12, value_info(v, [])) for v in outputs)
        model = field(1, 8) + field(7, graph) + field(8, field(2, self.opset))
        with open(os.path.join(folder, self.name + ".onnx"), "wb") as file:
            file.write(model)
        if data is None:
            rng = np.random.default_rng(99)
            data = rng.normal(0, 1, (60,) + tuple(self.shape[1:])) + rng.normal(0, 0.5, (60,) + (1,) * (len(self.shape) - 1))
            data = data.astype(np.float32)
        if self.others:
            np.savez_compressed(os.path.join(folder, self.name + ".npz"), x=data, **{v: d for v, (d, _) in self.others.items()})
        else:
            np.save(os.path.join(folder, self.name + ".npy"), data)


# ---- networks ----

def windows(folder):
    """Groups, depthwise, dilation, strides, pads on one side, ceil_mode, average pools with and without counted pads, BN, Pad."""
    n = Net("windows", [1, 4, 11, 9])
    x = n("Pad", "x", n.constant(np.array([0, 0, 1, 0, 0, 0, 0, 2], np.int64)), name="pad")
    x = n("Conv", x, n.weights(8, 2, 3, 3), group=2, strides=[1, 1], pads=[1, 1, 0, 1])
    x = n("BatchNormalization", x, n.vector(8, 0.5, 2.0), n.vector(8), n.vector(8), n.vector(8, 0.5, 2.0))
    x = n("Relu", x, name="relu")
    y = n("Conv", x, n.weights(16, 1, 3, 2), n.vector(16), group=8, dilations=[2, 1], pads=[2, 0, 2, 1])
    y = n("Clip", y, n.constant(np.array(-0.7, np.float32)), n.constant(np.array(1.3, np.float32)))
    y = n("AveragePool", y, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = n("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    y = n("Conv", y, n.weights(6, 16, 1, 1), n.vector(6), auto_pad="SAME_UPPER")
    y = n("AveragePool", y, kernel_shape=[2, 2], pads=[1, 0, 0, 1], count_include_pad=1)
    y = n("Conv", y, n.weights(5, 6, 2, 2), auto_pad="SAME_LOWER", strides=[2, 1])
    n.save(folder, n("Softmax", n("Flatten", n("GlobalAveragePool", y))))


def elements(folder):
    """Branches: Concat, Add, Sub, Mul with constants and each other, functions of one value; two outputs."""
    n = Net("elements", [1, 3, 6, 6], opset=11, seed=2)
    x = n("Conv", "x", n.weights(6, 3, 3, 3), n.vector(6), pads=[1, 1, 1, 1])
    a, b, c = n("Sigmoid", x), n("Tanh", x), n("LeakyRelu", x, alpha=0.125)
    d = n("Concat", a, b, n.constant(np.linspace(-1, 1, 36, dtype=np.float32).reshape(1, 1, 6, 6)), axis=1)
    d = n("Conv", d, n.weights(6, 13, 1, 1))
    e = n("Add", d, c)
    e = n("Relu", e)
    m = n("Mul", e, a)
    s = n("Sub", m, b)
    s = n("Mul", s, n.constant(n.rng.uniform(-1, 1, (6, 6)).astype(np.float32)))
    t = n("Transpose", s, perm=[0, 2, 3, 1])
    t = n("Tanh", t)
    t = n("Transpose", t, perm=[0, 3, 1, 2])
    p = n("Conv", t, n.weights(4, 6, 6, 6), n.vector(4))
    n.save(folder, n("Flatten", p), n("MaxPool", e, kernel_shape=[6, 6]))


def functions(folder):
    """Operators of opset 24: Gelu in both forms, and functions of one value within their domains."""
    n = Net("functions", [1, 3, 6, 6], opset=24, seed=5)
    x = n("Gelu", n("Conv", "x", n.weights(6, 3, 3, 3), n.vector(6), pads=[1, 1, 1, 1]))
    half = n("Mul", n("Tanh", x), n.constant(np.array(0.75, np.float32)))
    more = n("Add", n("Softplus", x), n.constant(np.array(1.25, np.float32)))
    inside = [n(op, half) for op in ("Asin", "Acos", "Atanh")] + [n("Acosh", more)]
    every = [n(op, x) for op in ("Round", "Sign", "Mish", "Softsign", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh")]
    stated = [n("Selu", x), n("Selu", x, alpha=1.5, gamma=0.75), n("Celu", x, alpha=0.5), n("ThresholdedRelu", x, alpha=0.25),
              n("Shrink", x, lambd=0.25, bias=0.125), n("Swish", x, alpha=1.5)]
    x = n("Conv", n("Concat", *inside, *every, *stated, axis=1), n.weights(6, 126, 1, 1), n.vector(6))
    x = n("Mul", n("Sigmoid", x), x)
    number = lambda v: n.constant(np.array(v, np.float32))
    share = n("Add", n("Erf", n("Div", x, number(2 ** 0.5))), number(1))
    x = n("Mul", n("Mul", x, share), number(0.5))
    x = n("Gelu", n("Conv", x, n.weights(4, 6, 6, 6), n.vector(4)), approximate="tanh")
    n.save(folder, n("Flatten", x))


def attention(folder):
    """Softmax along two axes; LayerNormalization taken apart, with parameters and without, over one dimension and over two."""
    n = Net("attention", [1, 6, 8], seed=11)
    number = lambda v: n.constant(np.array(v, np.float32))

    def norm(x, axes):
        d = n("Sub", x, n("ReduceMean", x, axes=axes))
        return n("Div", d, n("Sqrt", n("Add", n("ReduceMean", n("Pow", d, number(2)), axes=axes), number(1e-3))))

    x = n("Add", "x", n.constant(n.rng.normal(0, 1, (6, 8)).astype(np.float32)))
    y = n("Add", n("Mul", norm(x, [-1]), n.vector(8, 0.5, 1.5)), n.vector(8))
    q, k, v = (n("MatMul", y, n.weights(8, 8)) for _ in range(3))
    scores = n("Div", n("MatMul", q, n("Transpose", k, perm=[0, 2, 1])), number(8 ** 0.5))
    x = n("Add", x, n("MatMul", n("Softmax", scores, axis=-1), v))
    y = n("Softmax", norm(x, [1, 2]), axis=1)
    n.save(folder, n("MatMul", n("Flatten", n("Add", x, y)), n.weights(48, 5)))


def branches(folder):
    """What decides topology: a value read by a Relu and by another node, a Relu behind a pool, producers of one class of codes."""
    n = Net("branches", [1, 3, 8, 8], seed=4)
    a = n("Conv", "x", n.weights(4, 3, 3, 3), n.vector(4), name="split")
    r = n("Relu", a)
    s = n("Sigmoid", n("Conv", r, n.weights(4, 4, 1, 1), n.vector(4)))
    m = n("Mul", s, r)
    t = n("Add", m, a)
    p = n("MaxPool", t, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    q = n("AveragePool", p, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    c = n("Conv", q, n.weights(8, 4, 2, 2), n.vector(8))
    g = n("Relu", n("GlobalAveragePool", c))
    b = n("Relu", n("Conv", n("Relu", n("Conv", t, n.weights(6, 4, 6, 6))), n.weights(8, 6, 1, 1), n.vector(8)))
    n.save(folder, n("Flatten", n("Conv", n("Add", g, b), n.weights(5, 8, 1, 1), n.vector(5))))


def means(folder):
    """Squeeze and excite: means of planes as ReduceMean, with and without their dimensions, and a product that broadcasts."""
    n = Net("means", [1, 3, 9, 8], seed=29)
    x = n("Relu", n("Conv", "x", n.weights(8, 3, 3, 3), n.vector(8), pads=[1, 1, 1, 1]))
    s = n("Relu", n("Conv", n("ReduceMean", x, axes=[2, 3]), n.weights(4, 8, 1, 1), n.vector(4)))
    x = n("Mul", x, n("Relu", n("Conv", s, n.weights(8, 4, 1, 1), n.vector(8))))
    n.save(folder, n("Gemm", n("ReduceMean", x, axes=[-1, 2], keepdims=0), n.weights(5, 8), n.vector(5), transB=1))


def volumes(folder):
    """Three spatial dimensions, which only the global pools take."""
    n = Net("volumes", [1, 2, 3, 4, 3], seed=5)
    n.save(folder, n("GlobalAveragePool", "x"), n("GlobalMaxPool", "x"))


def images(folder):
    """Several images in one tensor, made of one: by Reshape and Concat along the first dimension, and one again. The sum of no
    rows is added to the input."""
    n = Net("images", [1, 4, 8, 6], seed=6)
    two, along = (n.constant(np.array([v], np.int64)) for v in (2, 1))
    x = n("Sub", "x", n("ReduceSum", n("Slice", "x", two, two, along), along))
    x = n("Reshape", x, n.constant(np.array([2, 4, 4, 6], np.int64)))
    x = n("Concat", x, n("Relu", x), axis=0)
    y = n("Relu", n("Conv", x, n.weights(6, 2, 3, 3), n.vector(6), group=2, pads=[1, 1, 1, 1]))
    y = n("Conv", y, n.weights(6, 1, 2, 2), group=6)
    y = n("AveragePool", y, kernel_shape=[2, 2], pads=[0, 1, 1, 0], count_include_pad=1)
    y = n("Add", y, n("MaxPool", y, kernel_shape=[3, 3], pads=[1, 1, 1, 1]))
    y = n("Mul", y, n.constant(n.rng.uniform(-1, 1, (4, 1, 1, 1)).astype(np.float32)))
    z = n("MatMul", y, n("Transpose", y, perm=[0, 1, 3, 2]))
    z = n("Gemm", n("Flatten", n("GlobalAveragePool", z)), n.weights(5, 6), n.vector(5), transB=1)
    w = n("ReduceMean", n("Transpose", y, perm=[1, 0, 2, 3]), axes=[1, 3])
    w = n("Conv", n("Reshape", w, n.constant(np.array([3, 2, -1], np.int64))), n.weights(4, 2, 3), n.vector(4))
    n.save(folder, n("Reshape", z, n.constant(np.array([1, -1], np.int64))), n("Reshape", w, n.constant(np.array([1, -1], np.int64))))


def matrices(folder):
    """MatMul of weights and of two activations, Gemm with alpha and beta, ReduceMean, Transpose, Reshape with a fixed batch."""
    n = Net("matrices", [5, 8, 10], opset=13, seed=3)
    w, v = (n.constant(n.rng.normal(0, 0.3, (10, 12)).astype(np.float32)) for _ in range(2))
    q = n("Add", n("MatMul", "x", w), n.vector(12))
    k = n("Mul", n("MatMul", "x", v), n.constant(np.array(0.7, np.float32)))
    s = n("MatMul", q, n("Transpose", k, perm=[0, 2, 1]))
    s = n("Tanh", n("Div", s, n.constant(np.array(4.0, np.float32))))
    y = n("MatMul", s, k)
    y = n("Relu", y)
    z = n("ReduceMean", y, axes=[1], keepdims=0)
    z = n("Gemm", z, n.weights(12, 7, spread=False), n.vector(7), alpha=0.5, beta=2.0)
    f = n("Reshape", y, n.constant(np.array([5, 96], np.int64)))
    f = n("Gemm", f, n.weights(7, 96), transB=1)
    n.save(folder, n("LogSoftmax", n("Add", z, f)))


def lost(folder):
    """Channels without weights, with biases on both sides of 0: what hands them on, what reads them, what keeps them."""
    n = Net("lost", [1, 3, 12, 12], seed=6)

    def losing(*shape, share=0.5):
        w = n.rng.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape)
        few = n.rng.random(shape[0])
        for limit, factor in ((share, 1e-30), (share / 2, 0), (share / 4, 1e-9)):
            w[few < limit] *= factor
        return n.constant(w.astype(np.float32))

    x = n("Relu", n("Conv", "x", losing(12, 3, 3, 3), n.vector(12, -1, 1.5), pads=[1, 1, 1, 1]))
    x = n("Relu", n("Conv", x, losing(24, 1, 3, 3, share=0.2), n.vector(24, -1, 1), group=12, pads=[1, 1, 1, 1]))
    x = n("LeakyRelu", n("Conv", x, losing(16, 24, 1, 1), n.vector(16, -1, 1.5)), alpha=0.25)
    x = n("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    y = n("Conv", x, losing(16, 16, 1, 1), n.vector(16, -1, 1.5))
    z = n("Relu", n("Conv", n("Add", n("Conv", y, n.weights(16, 16, 1, 1)), x), losing(10, 16, 3, 3), n.vector(10, -1, 1.5)))
    z = n("Clip", z, n.constant(np.array(0, np.float32)), n.constant(np.array(6, np.float32)))
    z = n("MaxPool", z, kernel_shape=[2, 2], strides=[2, 2])
    z = n("Relu", n("Gemm", n("Flatten", z), losing(14, 40), n.vector(14, -1, 1.5), transB=1))
    n.save(folder, n("Gemm", z, n.weights(5, 14), transB=1))


def words(folder):
    """Token numbers, some counted from the end, into a table."""
    n = Net("words", [1, 7], seed=7)
    x = n("Gather", n.weights(20, 8, spread=False), "x")
    x = n("Relu", n("MatMul", x, n.weights(8, 6, spread=False)))
    x = n("Flatten", x)
    n.save(folder, n("Gemm", x, n.weights(5, 42), transB=1), data=n.rng.integers(-20, 20, (60, 7)))


def pixels(folder):
    """Bytes that become floats inside; the samples are NHWC."""
    n = Net("pixels", [1, 3, 10, 9], seed=8)
    x = n("Mul", n("Cast", "x", to=1), n.constant(np.array(1 / 255, np.float32)))
    x = n("Relu", n("Conv", x, n.weights(6, 3, 3, 3), n.vector(6)))
    x = n("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    n.save(folder, n("Gemm", n("Flatten", x), n.weights(5, 72), transB=1),
           data=n.rng.integers(0, 256, (60, 10, 9, 3)).astype(np.uint8))


def pair(folder):
    """Two inputs: an image and a vector, which join by a sum, a product and a Concat."""
    n = Net("pair", [1, 3, 8, 8], seed=9)
    v = n.input("v", (6,))
    x = n("Relu", n("Conv", "x", n.weights(6, 3, 3, 3), n.vector(6), strides=[2, 2]))
    x = n("GlobalAveragePool", x)
    x = n("Flatten", x)
    g = n("Sigmoid", n("Gemm", v, n.weights(6, 6), n.vector(6), transB=1))
    y = n("Concat", n("Mul", x, g), n("Add", x, v), v, axis=1)
    n.save(folder, n("Gemm", n("Relu", n("Gemm", y, n.weights(12, 18), n.vector(12), transB=1)), n.weights(5, 12), transB=1))


def gains(folder):
    """Inputs without a batch: a scalar, and vectors that broadcast along the channels before and behind a Conv."""
    n = Net("gains", [1, 6, 5, 5], seed=11)
    g, k, s = n.input("g", (6,), ()), n.input("k", (6, 1, 1), ()), n.input("s", (), ())
    x = n("Relu", n("Mul", "x", k))
    x = n("GlobalAveragePool", n("Conv", x, n.weights(6, 6, 3, 3), n.vector(6)))
    x = n("Add", n("Mul", n("Flatten", x), g), s)
    n.save(folder, n("Gemm", x, n.weights(5, 6), n.vector(5), transB=1), n("Relu", g))


def tokens(folder):
    """Token numbers and a mask of the same shape, both int64: the mean of the embeddings that the mask keeps."""
    n = Net("tokens", [1, 7], seed=10)
    mask = n.input("mask", (n.rng.random((60, 7)) < 0.7).astype(np.int64))
    x = n("Gather", n.weights(20, 8, spread=False), "x")
    m = n("Unsqueeze", n("Cast", mask, to=1), n.constant(np.array([2], np.int64)))
    x = n("Mul", x, m)
    x = n("Flatten", n("ReduceMean", x, axes=[1]))
    x = n("Relu", n("Gemm", x, n.weights(9, 8), n.vector(9), transB=1))
    n.save(folder, n("Gemm", x, n.weights(5, 9), transB=1), data=n.rng.integers(0, 20, (60, 7)))


def idle(folder):
    """A whole number that nothing needs, kept as x + 0 * rate; functions far out, where they are flat."""
    n = Net("idle", [1, 9], seed=15)
    rate = n.input("rate", n.rng.integers(1, 9, (60, 1)))
    x = n("Gemm", "x", n.constant(n.rng.normal(0, 20, (8, 9)).astype(np.float32)), n.vector(8), transB=1)
    y, z = n("Tanh", n("Slice", x, *[n.constant(np.array([i], np.int64)) for i in (0, 4, 1)])), n("Elu", x)
    z = n("Add", n("Gemm", z, n.weights(4, 8), transB=1), n("Cast", n("Mul", rate, n.constant(np.array([0], np.int64))), to=1))
    n.save(folder, n("Gemm", n("Concat", y, n("Sigmoid", z), axis=1), n.weights(5, 8), transB=1))


def composed(folder):
    """Operators that preparation writes out: Resize in both forms, a transposed convolution, an LSTM over the rows."""
    n = Net("composed", [1, 3, 6, 5], seed=12)
    x = n("Relu", n("Conv", "x", n.weights(4, 3, 3, 3), n.vector(4), pads=[1, 1, 1, 1]))
    scales = n.constant(np.array([1, 1, 2, 1], np.float32))
    x = n("Resize", x, "", scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    x = n("Conv", x, n.weights(4, 4, 3, 3), n.vector(4))
    x = n("ConvTranspose", x, n.weights(4, 2, 3, 4), n.vector(4), group=2, strides=[2, 3], pads=[1, 0, 1, 2],
          dilations=[1, 2], output_padding=[1, 0], name="grown")
    sizes = n.constant(np.array([1, 4, 7, 6], np.int64))
    x = n("Resize", n("Relu", x), "", "", sizes, mode="linear", name="shrunk")
    x = n("Transpose", n("Reshape", x, n.constant(np.array([1, 4, 42], np.int64))), perm=[1, 0, 2])
    x = n("LSTM", x, n.weights(1, 20, 42, spread=False), n.weights(1, 20, 5, spread=False), n.vector((1, 40)), hidden_size=5, name="cell")
    n.save(folder, n("Gemm", n("Reshape", x, n.constant(np.array([1, 20], np.int64))), n.weights(3, 20), n.vector(3), transB=1))


def boxes(folder):
    """Convolutions and pools of volumes: padded, strided, dilated, in groups."""
    n = Net("boxes", [1, 2, 5, 6, 7], seed=21)
    x = n("Relu", n("Conv", "x", n.weights(4, 2, 3, 3, 2), n.vector(4), pads=[1, 1, 0, 1, 0, 1], strides=[1, 1, 2], name="first"))
    x = n("MaxPool", x, kernel_shape=[2, 3, 2], strides=[1, 2, 1], pads=[1, 1, 0, 0, 1, 0], name="most")
    x = n("Conv", x, n.weights(6, 2, 2, 2, 2), group=2, dilations=[2, 1, 1], name="groups")
    x = n("AveragePool", x, kernel_shape=[2, 1, 2], pads=[1, 0, 0, 0, 0, 1], name="mean")
    n.save(folder, n("Gemm", n("Flatten", x), n.weights(4, 72), n.vector(4), transB=1))


def mobilenet(folder, name, seed, factor):
    """Depthwise blocks in which three of five channels of the 1x1 Convs have normal weights times factor, and biases of up to 1.5."""
    n, channels = Net(name, [1, 3, 32, 32], seed=seed), 16

    def conv(x, outputs, inputs, kernel, group, stride, lose):
        w = n.rng.normal(0, np.sqrt(2 * group / inputs) / kernel, (outputs, inputs // group, kernel, kernel))
        b = n.rng.normal(0, 0.5, outputs)
        if lose:
            chosen = n.rng.random(outputs) < 0.6
            w[chosen] *= factor
            b[chosen] = n.rng.uniform(-1.5, 1.5, outputs)[chosen]
        pad = kernel // 2
        return n("Relu", n("Conv", x, n.constant(w.astype(np.float32)), n.constant(b.astype(np.float32)), group=group,
                           strides=[stride] * 2, pads=[pad] * 4, kernel_shape=[kernel] * 2))

    x = conv("x", channels, 3, 3, 1, 2, False)
    for outputs, stride in ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (128, 1)):
        x = conv(x, channels, channels, 3, channels, stride, False)
        x, channels = conv(x, outputs, channels, 1, 1, 1, True), outputs
    n.save(folder, n("Gemm", n("Flatten", n("GlobalAveragePool", x)), n.weights(10, channels), n.vector(10), transB=1))


if __name__ == "__main__":
    for make in (windows, elements, functions, attention, branches, means, volumes, images, matrices, lost, words, pixels, pair, gains, tokens, composed, idle, boxes):
        make(sys.argv[1])
