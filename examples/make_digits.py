"""Draws the embedded example's data and trains its network: small images of digits, a residual convolutional network.

Usage: python3 make_digits.py [FOLDER]   (needs numpy and onnx; about half a minute on one core)
Writes digits.onnx, digits_{search,test}_{images,labels}.npy into FOLDER (default: this file's). Everything follows from one
seed; the images are drawn from strokes by this program, nothing comes from elsewhere.
"""
import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE, CLASSES = 16, 10

# Strokes of each digit as polylines in the unit square, x to the right, y down.
RING = [(0.5 + 0.33 * np.cos(t), 0.5 + 0.45 * np.sin(t)) for t in np.linspace(0, 2 * np.pi, 13)]
STROKES = [
    [RING],
    [[(0.35, 0.25), (0.55, 0.05), (0.55, 0.95)]],
    [[(0.2, 0.25), (0.35, 0.07), (0.65, 0.07), (0.8, 0.27), (0.7, 0.5), (0.2, 0.93), (0.82, 0.93)]],
    [[(0.2, 0.1), (0.75, 0.1), (0.48, 0.42), (0.75, 0.55), (0.78, 0.78), (0.55, 0.95), (0.2, 0.87)]],
    [[(0.65, 0.95), (0.65, 0.05), (0.15, 0.65), (0.85, 0.65)]],
    [[(0.78, 0.07), (0.27, 0.07), (0.24, 0.45), (0.6, 0.4), (0.8, 0.62), (0.7, 0.88), (0.4, 0.95), (0.2, 0.85)]],
    [[(0.7, 0.07), (0.35, 0.35), (0.22, 0.68), (0.4, 0.93), (0.68, 0.9), (0.77, 0.68), (0.6, 0.5), (0.27, 0.6)]],
    [[(0.18, 0.08), (0.82, 0.08), (0.42, 0.95)]],
    [[(0.5, 0.5), (0.25, 0.3), (0.35, 0.08), (0.65, 0.08), (0.75, 0.3), (0.5, 0.5), (0.22, 0.7), (0.33, 0.93), (0.67, 0.93),
      (0.78, 0.7), (0.5, 0.5)]],
    [[(0.75, 0.35), (0.55, 0.5), (0.28, 0.42), (0.25, 0.18), (0.5, 0.05), (0.73, 0.15), (0.75, 0.35), (0.7, 0.7), (0.5, 0.95)]],
]


def draw(digit, rng):
    """One image, uint8 [SIZE, SIZE]: jittered strokes under a random affine map, uneven ink, noise."""
    angle, shear = rng.normal(0, 0.16), rng.normal(0, 0.16)
    scale = rng.uniform(0.62, 0.92, 2)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ np.array([[1, shear], [0, 1]]) * scale
    shift = 0.5 + rng.normal(0, 0.05, 2)
    y, x = np.mgrid[0:SIZE, 0:SIZE]
    grid = np.stack([(x + 0.5) / SIZE, (y + 0.5) / SIZE], -1).reshape(-1, 2)
    distance = np.full(len(grid), 9.0)
    for line in STROKES[digit]:
        points = (np.array(line) - 0.5 + rng.normal(0, 0.03, (len(line), 2))) @ turn.T + shift
        for a, b in zip(points[:-1], points[1:]):
            along = np.clip(((grid - a) @ (b - a)) / max((b - a) @ (b - a), 1e-9), 0, 1)
            distance = np.minimum(distance, np.linalg.norm(grid - a - along[:, None] * (b - a), axis=1))
    ink = np.clip((rng.uniform(0.035, 0.07) - distance) * SIZE + 0.5, 0, 1) * rng.uniform(0.45, 1.0)
    image = ink.reshape(SIZE, SIZE) * 255 + rng.normal(0, rng.uniform(5, 34), (SIZE, SIZE)) + rng.uniform(0, 40)
    return np.clip(image, 0, 255).astype(np.uint8)


def make_data(count, rng):
    labels = rng.integers(0, CLASSES, count)
    return np.stack([draw(d, rng) for d in labels])[:, None], labels.astype(np.uint8)


# ---- a network of convolutions, forward and backward, in numpy ----

def columns(x, stride):
    """[N,C,H,W] -> [N,P,Q,C*9] patches of 3x3 with padding 1."""
    x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    v = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride]
    return np.ascontiguousarray(v.transpose(0, 2, 3, 1, 4, 5)).reshape(v.shape[0], v.shape[2], v.shape[3], -1)


def conv(x, w, b, stride):
    cols = columns(x, stride)
    return (cols @ w.reshape(len(w), -1).T + b).transpose(0, 3, 1, 2), cols


def conv_back(dy, x_shape, cols, w, stride):
    d = dy.transpose(0, 2, 3, 1)
    dw = (d.reshape(-1, len(w)).T @ cols.reshape(-1, cols.shape[-1])).reshape(w.shape)
    dcols = (d @ w.reshape(len(w), -1)).reshape(*d.shape[:3], w.shape[1], 3, 3)
    dx = np.zeros((x_shape[0], x_shape[1], x_shape[2] + 2, x_shape[3] + 2), np.float32)
    for i in range(3):
        for j in range(3):
            dx[:, :, i:i + dy.shape[2] * stride:stride, j:j + dy.shape[3] * stride:stride] += dcols[..., i, j].transpose(0, 3, 1, 2)
    return dw, d.sum((0, 1, 2)), dx[:, :, 1:-1, 1:-1]


LAYERS = [("conv1", 1, 8, 1), ("conv2", 8, 16, 2), ("conv3", 16, 16, 1), ("conv4", 16, 24, 2)]  # name, in, out, stride


def initial(rng):
    p = {}
    for name, cin, cout, _ in LAYERS:
        p[name + ".weight"] = rng.normal(0, np.sqrt(2 / (cin * 9)), (cout, cin, 3, 3)).astype(np.float32)
        p[name + ".bias"] = np.zeros(cout, np.float32)
    p["fc.weight"] = rng.normal(0, 0.2, (CLASSES, 24)).astype(np.float32)
    p["fc.bias"] = np.zeros(CLASSES, np.float32)
    return p


def forward(p, x):
    """conv1, conv2, conv3 with a residual around it, conv4, global average, fully connected."""
    keep, h = {}, x
    for name, _, _, stride in LAYERS:
        keep[name + ".in"] = h
        y, keep[name + ".cols"] = conv(h, p[name + ".weight"], p[name + ".bias"], stride)
        if name == "conv3":
            y = y + h
        h = np.maximum(y, 0)
        keep[name + ".out"] = h
    keep["mean"] = h.mean((2, 3))
    return keep["mean"] @ p["fc.weight"].T + p["fc.bias"], keep


def backward(p, keep, d):
    g = {"fc.weight": d.T @ keep["mean"], "fc.bias": d.sum(0)}
    out = keep["conv4.out"]
    d = np.broadcast_to((d @ p["fc.weight"])[:, :, None, None] / (out.shape[2] * out.shape[3]), out.shape)
    for name, _, _, stride in reversed(LAYERS):
        d = d * (keep[name + ".out"] > 0)
        skip = d if name == "conv3" else 0
        g[name + ".weight"], g[name + ".bias"], d = conv_back(d, keep[name + ".in"].shape, keep[name + ".cols"], p[name + ".weight"], stride)
        d = d + skip
    return g


def train(images, labels, rng, epochs=14, batch=64, rate=4e-3):
    p = initial(rng)
    m, v = ({k: np.zeros_like(a) for k, a in p.items()} for _ in range(2))
    x = images.astype(np.float32) / np.float32(255)
    steps, t = epochs * (len(x) // batch), 0
    for epoch in range(epochs):
        order, total = rng.permutation(len(x)), 0.0
        for i in range(len(x) // batch):
            pick = order[i * batch:(i + 1) * batch]
            z, keep = forward(p, x[pick])
            e = np.exp(z - z.max(1, keepdims=True))
            e /= e.sum(1, keepdims=True)
            total -= np.log(e[np.arange(batch), labels[pick]] + 1e-9).mean()
            e[np.arange(batch), labels[pick]] -= 1
            grads, t = backward(p, keep, e / batch), t + 1
            now = rate * 0.5 * (1 + np.cos(np.pi * t / steps))
            for k, g in grads.items():
                m[k] = 0.9 * m[k] + 0.1 * g
                v[k] = 0.999 * v[k] + 0.001 * g * g
                p[k] = (p[k] - now * (m[k] / (1 - 0.9 ** t)) / (np.sqrt(v[k] / (1 - 0.999 ** t)) + 1e-8)).astype(np.float32)
        print(f"epoch {epoch + 1}: loss {total / (len(x) // batch):.4f}", flush=True)
    return p


def save_model(p, path):
    node, nodes, h = helper.make_node, [], "image"
    for name, _, _, stride in LAYERS:
        y = name + "_out"
        nodes.append(node("Conv", [h, name + ".weight", name + ".bias"], [y], name=name, kernel_shape=[3, 3], pads=[1] * 4, strides=[stride] * 2))
        if name == "conv3":
            nodes.append(node("Add", [y, h], ["add_out"], name="add"))
            y = "add_out"
        nodes.append(node("Relu", [y], [name + "_relu"], name=name + "/relu"))
        h = name + "_relu"
    nodes += [node("GlobalAveragePool", [h], ["pooled"], name="pool"), node("Flatten", ["pooled"], ["flat"], name="flatten"),
              node("Gemm", ["flat", "fc.weight", "fc.bias"], ["logits"], name="fc", transB=1)]
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, SIZE, SIZE])],
                              [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", CLASSES])],
                              [numpy_helper.from_array(a, k) for k, a in p.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7, producer_name="make_digits.py"), path)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    rng = np.random.default_rng(20240229)
    images, labels = make_data(12000, rng)
    p = train(images, labels, rng)
    save_model(p, os.path.join(folder, "digits.onnx"))
    for part, count in (("search", 1500), ("test", 2000)):
        x, y = make_data(count, rng)
        z, _ = forward(p, x.astype(np.float32) / np.float32(255))
        print(part, "accuracy", (z.argmax(1) == y).mean())
        np.save(os.path.join(folder, f"digits_{part}_images.npy"), x)
        np.save(os.path.join(folder, f"digits_{part}_labels.npy"), y)
        q = {k: a if a.ndim == 1 else np.round(a / (s := np.abs(a).max(tuple(range(1, a.ndim)), keepdims=True) / 3)) * s for k, a in p.items()}
        print(part, "with 3-bit weights", (forward(q, x.astype(np.float32) / np.float32(255))[0].argmax(1) == y).mean())


if __name__ == "__main__":
    main()
