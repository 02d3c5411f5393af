#!/usr/bin/env python3
"""Networks whose input is no float32, or that have several, against ONNX Runtime: every output of the float network within its rounding, integer outputs
exactly, and on x86-vnni one digest from simulation and program, and a QDQ model near the float network. Usage: inputs.py INTAGLIO."""
import json
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from compare import Failure, find_digest, run_tool
from session import exact_options, exact_session

SAMPLES = 40


def build(kind, shape, nodes, constants, outputs, others=()):
    """others: further inputs, (name, type, shape) each."""
    infos = [helper.make_tensor_value_info(*value) for value in (("x", kind, shape), *others)]
    graph = helper.make_graph(nodes, "network", infos,
                              [helper.make_tensor_value_info(name, dtype, None) for name, dtype in outputs],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    return model


def normal(rng, *shape):
    return rng.normal(0, 0.4, shape).astype(np.float32)


def words(rng, kind):
    nodes = [helper.make_node("Gather", ["table", "x"], ["e"]), helper.make_node("MatMul", ["e", "v"], ["m"]),
             helper.make_node("Relu", ["m"], ["r"]), helper.make_node("ReduceMean", ["r"], ["p"], axes=[1], keepdims=0),
             helper.make_node("MatMul", ["p", "w"], ["y"])]
    return build(kind, [1, 7], nodes, {"table": normal(rng, 20, 8), "v": normal(rng, 8, 5), "w": normal(rng, 5, 30)},
                 [("y", TensorProto.FLOAT)])


def image(rng, kind):
    nodes = [helper.make_node("Cast", ["x"], ["f"], to=1), helper.make_node("Mul", ["f", "s"], ["t"]),
             helper.make_node("Conv", ["t", "k"], ["c"]), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("GlobalAveragePool", ["r"], ["p"]), helper.make_node("Flatten", ["p"], ["q"]),
             helper.make_node("MatMul", ["q", "v"], ["y"])]
    return build(kind, [1, 3, 8, 8], nodes, {"s": np.float32(1 / 255), "k": normal(rng, 4, 3, 3, 3), "v": normal(rng, 4, 5)},
                 [("y", TensorProto.FLOAT)])


def sums(rng, kind):
    """Integer arithmetic, beyond what a float holds, and an integer output."""
    constant = np.array([2 ** 60 + 1 if kind == TensorProto.INT64 else 7], helper.tensor_dtype_to_np_dtype(kind))
    nodes = [helper.make_node("Sub", ["x", "k"], ["a"]), helper.make_node("Cast", ["a"], ["f"], to=1),
             helper.make_node("MatMul", ["f", "v"], ["y"]), helper.make_node("Identity", ["a"], ["ids"])]
    return build(kind, [1, 6], nodes, {"k": constant, "v": normal(rng, 6, 5)}, [("y", TensorProto.FLOAT), ("ids", kind)])


def choices(rng, kind):
    nodes = [helper.make_node("Where", ["x", "a", "b"], ["w"]), helper.make_node("MatMul", ["w", "v"], ["y"])]
    return build(kind, [1, 6], nodes, {"a": normal(rng, 1, 6), "b": normal(rng, 1, 6), "v": normal(rng, 6, 5)},
                 [("y", TensorProto.FLOAT)])


def pair(rng, kind):
    """An image, a vector, and a vector without a batch."""
    nodes = [helper.make_node("Conv", ["x", "k"], ["c"]), helper.make_node("GlobalAveragePool", ["c"], ["p"]),
             helper.make_node("Flatten", ["p"], ["q"]), helper.make_node("Add", ["q", "v"], ["a"]),
             helper.make_node("Mul", ["a", "g"], ["m"]), helper.make_node("MatMul", ["m", "w"], ["y"])]
    return build(kind, ["N", 3, 8, 8], nodes, {"k": normal(rng, 4, 3, 3, 3), "w": normal(rng, 4, 5)}, [("y", TensorProto.FLOAT)],
                 [("v", kind, ["N", 4]), ("g", kind, [4])])


def masked(rng, kind):
    """The sum of the embeddings that a mask keeps."""
    nodes = [helper.make_node("Gather", ["table", "x"], ["e"]), helper.make_node("Cast", ["mask"], ["f"], to=1),
             helper.make_node("Unsqueeze", ["f", "last"], ["m"]), helper.make_node("Mul", ["e", "m"], ["k"]),
             helper.make_node("ReduceMean", ["k"], ["p"], axes=[1], keepdims=0), helper.make_node("MatMul", ["p", "w"], ["y"])]
    return build(kind, [1, 7], nodes, {"table": normal(rng, 20, 8), "last": np.array([2]), "w": normal(rng, 8, 5)},
                 [("y", TensorProto.FLOAT)], [("mask", kind, [1, 7])])


def cases(rng):
    t = TensorProto
    several = {"x": (SAMPLES, 3, 8, 8), "v": (SAMPLES, 4), "g": (SAMPLES, 4)}
    yield "pair", pair(rng, t.FLOAT), {name: rng.normal(0, 1, shape).astype(np.float32) for name, shape in several.items()}
    yield "masked words", masked(rng, t.INT64), {"x": rng.integers(-20, 20, (SAMPLES, 7)),
                                                 "mask": rng.integers(0, 2, (SAMPLES, 7))}
    for kind in (t.INT64, t.INT32):
        yield "words", words(rng, kind), rng.integers(-20, 20, (SAMPLES, 7))
        yield "sums", sums(rng, kind), rng.integers(-9, 9, (SAMPLES, 6)) + (2 ** 60 if kind == t.INT64 else 0)
    yield "words from bytes", words(rng, t.INT64), rng.integers(0, 20, (SAMPLES, 7)).astype(np.uint8)
    for kind in (t.UINT8, t.INT8, t.UINT16, t.INT16, t.UINT32, t.INT32):
        limits = np.iinfo(helper.tensor_dtype_to_np_dtype(kind))
        yield "image", image(rng, kind), rng.integers(limits.min, limits.max, (SAMPLES, 3, 8, 8), endpoint=True)
    yield "image", image(rng, t.BOOL), rng.integers(0, 2, (SAMPLES, 3, 8, 8)).astype(bool)
    yield "choices", choices(rng, t.BOOL), rng.integers(0, 2, (SAMPLES, 6)).astype(bool)


def run_session(model, data):
    """data: arrays by input."""
    session = exact_session(model, exact_options())
    batched = {i.name: len(i.shape) == data[i.name].ndim for i in session.get_inputs()}
    runs = [session.run(None, {name: array[k:k + 1] if batched[name] else array[k] for name, array in data.items()})
            for k in range(SAMPLES)]
    return [np.concatenate(outputs) for outputs in zip(*runs)]


def check(binary, folder, model, data):
    paths = {n: os.path.join(folder, n) for n in ("m.onnx", "x.npy", "s.json", "p.itg", "y.npy", "q.onnx")}
    onnx.save(model, paths["m.onnx"])
    kind = helper.tensor_dtype_to_np_dtype(model.graph.input[0].type.tensor_type.elem_type)
    if isinstance(data, dict):
        paths["x.npy"] = os.path.join(folder, "x.npz")
        np.savez(paths["x.npy"], **data)
    else:
        np.save(paths["x.npy"], data if data.dtype.itemsize < 8 or data.dtype == np.float64 else data.astype(kind))
        data = {"x": data.astype(kind)}
    wanted = run_session(model, data)
    for target in ("float", "x86-vnni"):
        made = run_tool(binary, "simulate", paths["m.onnx"], "--definition", "--uniform", "8", "--hw", target, "--calib", paths["x.npy"],
                        "--data", paths["x.npy"], "-o", paths["s.json"], "--json")
        run_tool(binary, "inspect", paths["m.onnx"], paths["s.json"], "--data", paths["x.npy"])
        run_tool(binary, "realize", paths["m.onnx"], paths["s.json"], "-o", paths["p.itg"])
        run_tool(binary, "verify", paths["p.itg"])
        ran = run_tool(binary, "run", paths["p.itg"], "--data", paths["x.npy"], "-o", paths["y.npy"], "--json")
        if find_digest(json.loads(made)) != find_digest(json.loads(ran)):
            raise Failure(f"{target}: simulate and run differ")
        run_tool(binary, "realize", paths["m.onnx"], paths["s.json"], "--emit", "qdq", "-o", paths["q.onnx"])
        exported = run_session(onnx.load(paths["q.onnx"]), data)
        for i, want in enumerate(wanted):
            got = np.load(paths["y.npy"] if i == 0 else os.path.join(folder, f"y.{i}.npy")).reshape(want.shape)
            scale = np.abs(want.astype(np.float64)).max()
            exact = want.dtype != np.float32
            for what, y, limit in (("program", got, 1e-6), ("QDQ model", exported[i], 1e-6 if target == "float" else 0.1)):
                if what == "program" and target != "float" and not exact:
                    continue  # codes
                distance = np.abs(y.astype(np.float64) - want.astype(np.float64)).max()
                if y.dtype != want.dtype or (exact and (y != want).any()) or distance > limit * scale:
                    raise Failure(f"{target}: output {i} of the {what} differs by {distance} of {scale}")


def main():
    failed = 0
    for name, model, data in cases(np.random.default_rng(11)):
        kind = TensorProto.DataType.Name(model.graph.input[0].type.tensor_type.elem_type)
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(sys.argv[1], folder, model, data)
                print(f"equal   {name} of {kind}")
            except Failure as reason:
                failed += 1
                print(f"FAILED  {name} of {kind}: {reason}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
