"""Reads ONNX files: the few protobuf messages that networks need, into plain dictionaries and numpy arrays."""
import struct

import numpy as np

DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
          10: np.float16, 11: np.float64, 12: np.uint32}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """Every field of a message: number -> list of raw values (int for varints, bytes otherwise)."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at:at + size], at + size
        else:
            raise ValueError("wire type %d" % kind)
        found.setdefault(key >> 3, []).append(value)
    return found


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def integers(values):
    """A repeated integer field, packed or not."""
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(signed(value))
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            out.append(signed(number))
    return out


def floats(values):
    data = b"".join(values)
    return list(struct.unpack("<%df" % (len(data) // 4), data))


def text(message, number, default=""):
    return message[number][-1].decode() if number in message else default


def tensor(data):
    message = fields(data)
    dims = integers(message.get(1, []))
    dtype = np.dtype(DTYPES[message[2][-1]])
    if 9 in message:
        array = np.frombuffer(message[9][-1], dtype.newbyteorder("<"))
    elif 4 in message:
        array = np.array(floats(message[4]), np.float32)
    elif 10 in message:
        array = np.frombuffer(b"".join(message[10]), "<f8")
    elif 7 in message:
        array = np.array(integers(message[7]), np.int64)
    elif dtype == np.float16:
        array = np.array(integers(message.get(5, [])), np.uint16).view(np.float16)
    else:
        array = np.array(integers(message.get(5, [])), np.int64)
    array = array.astype(np.float32 if dtype == np.float16 else dtype.newbyteorder("="))
    return text(message, 8), array.reshape(dims)


def attribute(data):
    message = fields(data)
    kind = message.get(20, [0])[-1]
    if kind == 1:
        return text(message, 1), struct.unpack("<f", message[2][-1])[0]
    if kind == 2:
        return text(message, 1), signed(message.get(3, [0])[-1])
    if kind == 3:
        return text(message, 1), text(message, 4)
    if kind == 4:
        return text(message, 1), tensor(message[5][-1])[1]
    if kind == 6:
        return text(message, 1), floats(message.get(7, []))
    if kind == 7:
        return text(message, 1), integers(message.get(8, []))
    raise ValueError("attribute of type %d" % kind)


def value_shape(data):
    """Name and dimensions of an input; -1 where a dimension is a name."""
    message = fields(data)
    kind = fields(fields(message[2][-1])[1][-1])
    dims = [fields(dim) for dim in fields(kind[2][-1]).get(1, [])] if 2 in kind else []
    return text(message, 1), [signed(dim[1][-1]) if 1 in dim else -1 for dim in dims], DTYPES[kind[1][-1]]


def read(path):
    with open(path, "rb") as file:
        model = fields(file.read())
    graph = fields(model[7][-1])
    opset = 0
    for entry in map(fields, model.get(8, [])):
        if text(entry, 1) in ("", "ai.onnx"):
            opset = entry[2][-1]
    nodes = []
    for node in map(fields, graph.get(1, [])):
        nodes.append({"op": text(node, 4), "name": text(node, 3), "inputs": [v.decode() for v in node.get(1, [])],
                      "outputs": [v.decode() for v in node.get(2, [])], "attrs": dict(map(attribute, node.get(5, [])))})
    return {"opset": opset, "nodes": nodes, "constants": dict(map(tensor, graph.get(5, []))),
            "inputs": [value_shape(v) for v in graph.get(11, [])],
            "outputs": [text(fields(v), 1) for v in graph.get(12, [])]}
