"""The hash of a prepared graph (docs/strategy-file.md): every name, shape, attribute and constant of it."""
import hashlib
import struct

import numpy as np

NAMES = {"float32": "f32", "float64": "f64", "int8": "s8", "uint8": "u8", "int16": "s16", "uint16": "u16", "int32": "s32",
         "uint32": "u32", "int64": "s64", "bool": "bool"}


def integer(value):
    return struct.pack("<q", int(value))


def ints(values):
    return integer(len(values)) + b"".join(map(integer, values))


def text(value):
    return integer(len(value.encode())) + value.encode()


def attributes(node):
    """(name, bytes) of a node's attributes, in order."""
    op, a = node.op, node.attrs
    listed, number = (lambda key: (key, ints(a[key]))), (lambda key: (key, ints([a[key]])))
    flag, real = (lambda key: (key, integer(a[key]))), (lambda key: (key, struct.pack("<f", a[key])))
    if op in ("Conv", "MaxPool", "AveragePool"):
        found = [listed(key) for key in ("kernel", "stride", "dilation", "pad")]
        if op == "Conv":
            return found + [number("group"), ("auto_pad", text("explicit"))]
        found += [("auto_pad", text("explicit")), ("ceil_mode", integer(a.get("ceil_mode", 0)))]
        return found + ([flag("count_include_pad")] if op == "AveragePool" else [])
    if op == "Gemm":
        return [flag("transA"), flag("transB"), real("alpha"), real("beta")]
    if op in ("LeakyRelu", "Elu", "Celu", "ThresholdedRelu", "Swish"):
        return [real("alpha")]
    if op == "Selu":
        return [real("alpha"), real("gamma")]
    if op == "Shrink":
        return [("threshold", real("lambd")[1]), real("bias")]
    if op == "HardSigmoid":
        return [real("alpha"), real("beta")]
    if op == "Gelu":
        return [("approximate", text(a["approximate"]))]
    if op == "Clip":
        return [real("min"), real("max")]
    if op in ("ReduceMean", "ReduceSum", "ReduceMax"):
        return [listed("axes"), flag("keepdims"), flag("noop_with_empty_axes")]
    if op in ("Softmax", "LogSoftmax", "Concat", "Split", "Gather"):
        return [number("axis")]
    if op == "ArgMax":
        return [number("axis"), flag("keepdims"), flag("select_last_index")]
    if op == "LayerNormalization":
        return [number("axis"), real("epsilon")]
    if op == "Cast":
        return [("to", text(NAMES[str(np.dtype(a["numpy"]))]))]
    if op == "Reshape":
        return [("allowzero", integer(0))]
    if op == "Transpose":
        return [listed("perm")]
    if op == "Slice":
        return [listed("axes"), listed("starts"), listed("steps")]
    if op == "Pad":
        return [("pads_begin", ints(a["begin"])), ("mode", text(a["mode"])), real("value")]
    return []


def constant(data):
    data = np.ascontiguousarray(data)
    return integer(data.size) + data.astype(data.dtype.newbyteorder("<")).tobytes()


def graph_hash(g):
    number = {value: i for i, value in enumerate(g.values)}
    numbers = lambda values: ints([-1 if v is None else number[v] for v in values])
    hashed = hashlib.sha256(text("intaglio graph 1") + integer(len(g.values)))
    for value in g.values:
        hashed.update(text(value.name) + text(NAMES[str(np.dtype(value.dtype))]) + ints(value.shape))
        hashed.update(integer(value.is_constant) + (constant(value.data) if value.is_constant else b""))
    hashed.update(integer(len(g.nodes)))
    for node in g.nodes:
        hashed.update(text(node.name) + text(node.op) + numbers(node.inputs) + numbers(node.outputs))
        for name, data in attributes(node):
            hashed.update(text(name) + data)
    hashed.update(numbers(g.inputs) + numbers(g.outputs) + integer(g.dropped_softmax))
    return hashed.hexdigest()
