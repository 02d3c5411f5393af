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
    return made


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


def lstm(node, x):
    size = node.inputs[2].shape[2]
    return [(x[0], 1, x[1], size), (1, x[1], size), (1, x[1], size)]


SHAPES = {"Resize": resize, "ConvTranspose": conv_transpose, "LSTM": lstm}
