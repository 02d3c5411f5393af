"""Composite operators (docs/preparation.md 3.6): attributes and shapes of those that the models have."""
import math

import numpy as np

F32 = np.float32


def make_attrs(op, attrs):
    made = dict(attrs)
    if op == "ConvTranspose":
        made = {"group": attrs.get("group", 1), "stride": attrs.get("strides", [1, 1]),
                "dilation": attrs.get("dilations", [1, 1]), "pad": attrs.get("pads", [0, 0, 0, 0]),
                "more": attrs.get("output_padding", [0, 0])}
    if op in VOLUMES:
        made = {key: list(attrs.get(name, [1, 1, 1])) for key, name in (("stride", "strides"), ("dilation", "dilations"))}
        made.update(kernel=attrs.get("kernel_shape"), pad=list(attrs.get("pads", [0] * 6)), group=attrs.get("group", 1))
    return made


def operator(op, attrs):
    """The operator's name here: windows with three numbers are those of volumes."""
    lists = [attrs[key] for key in ("kernel_shape", "strides", "dilations") if key in attrs]
    return op + "3D" if op + "3D" in VOLUMES and lists and len(lists[0]) == 3 else op


def resize(node, x):
    if len(node.inputs) > 3 and node.inputs[3] is not None:
        out = [int(v) for v in node.inputs[3].data]
        node.attrs["scales"] = [o / i for o, i in zip(out, x)]
    else:
        scales = node.inputs[2].data
        out = [math.floor(F32(s) * F32(d)) for s, d in zip(scales, x)]
        node.attrs["scales"] = [float(s) for s in scales]
    return [tuple(out)]


def conv_transpose(node, x):
    w, a = node.inputs[1].shape, node.attrs
    out = [a["stride"][i] * (x[2 + i] - 1) + a["more"][i] + (w[2 + i] - 1) * a["dilation"][i] + 1 - a["pad"][i] - a["pad"][2 + i]
           for i in range(2)]
    return [(x[0], w[1] * a["group"]) + tuple(out)]


def volume(node, x):
    a, is_conv = node.attrs, node.op == "Conv3D"
    if is_conv:
        a["kernel"] = node.inputs[1].shape[2:]
    out = [(x[2 + i] + a["pad"][i] + a["pad"][3 + i] - (a["kernel"][i] - 1) * a["dilation"][i] - 1) // a["stride"][i] + 1
           for i in range(3)]
    return [(x[0], node.inputs[1].shape[0] if is_conv else x[1]) + tuple(out)]


def lstm(node, x):
    size = node.inputs[2].shape[2]
    return [(x[0], 1, x[1], size), (1, x[1], size), (1, x[1], size)]


VOLUMES = ("Conv3D", "MaxPool3D", "AveragePool3D")
SHAPES = {**{op: volume for op in VOLUMES}, "Resize": resize, "ConvTranspose": conv_transpose, "LSTM": lstm}
