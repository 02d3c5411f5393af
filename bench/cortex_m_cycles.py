"""What each operator costs on a Cortex-M: instructions of emitted C, counted in an emulator, and the speeds that describe them.

Usage: cortex_m_cycles.py PROGRAM [--cpu m4] [--level=-O3] [--network MODEL STRATEGY]...
PROGRAM is the intaglio program. Needs the Python packages onnx and numpy, gcc-arm-none-eabi, libnewlib-arm-none-eabi, qemu-system-arm, cc.

Two networks of random weights, made here, have every operator of target cortex-m, convolutions and products in many shapes. Their C source
runs under QEMU, which counts the instructions of each layer. The speeds are fitted by least squares of the relative error: those of
layers with weights are macs_per_cycle and output_cycles (a layer takes its multiply-accumulates by the one, and its outputs times the
other), those of the others elements a cycle. An instruction is taken for a cycle. Printed are the speeds, as they stand in
hardware/targets/cortex-m.json, with the largest error of a layer; and for these networks, and for each --network, what the description
in the strategy says of the whole, and what was counted. Exit status 1: of one of its own networks it says less than 80 % or more than
125 % (on the M4 at -O3).
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "samebits"))
import builds  # noqa: E402

MARK = "void itg_mark(void);\n"
MARK_SOURCE = '__attribute__((noinline)) void itg_mark(void) { __asm volatile("" ::: "memory"); }\n'


# ---- networks ----

class Network:
    """An ONNX graph that grows node by node. A value is its name; work counts what a layer does."""

    def __init__(self, shape):
        self.random = np.random.default_rng(1)
        self.nodes, self.constants, self.outputs = [], [], []
        self.input = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)

    def constant(self, shape=None, values=None):
        name = f"c{len(self.constants)}"
        if values is None:
            values = (self.random.normal(size=shape) / math.sqrt(math.prod(shape[1:]))).astype(np.float32)
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def add(self, op, *inputs, outputs=1, keep=True, **attributes):
        """Adds a node whose results are outputs of the network too, so that nothing is fused into it."""
        name = f"{op.lower()}{len(self.nodes)}"
        values = [f"{name}_y{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), values, name=name, **attributes))
        if keep:
            self.outputs += values
        return values[0] if outputs == 1 else values

    def conv(self, x, inputs, outputs, kernel, group=1, **attributes):
        weights = self.constant((outputs, inputs // group, kernel, kernel))
        return self.add("Conv", x, weights, self.constant((outputs,)), keep=False, group=group,
                        pads=[kernel // 2] * 4, kernel_shape=[kernel, kernel], **attributes)

    def model(self):
        outputs = [helper.make_tensor_value_info(name, TensorProto.INT64 if "argmax" in name else TensorProto.FLOAT, None)
                   for name in self.outputs]
        graph = helper.make_graph(self.nodes, "cycles", [self.input], outputs, self.constants)
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


def convolutions():
    n = Network([1, 3, 24, 24])
    x = n.conv("x", 3, 16, 3)
    x = n.conv(x, 16, 16, 3)
    for inputs, outputs, kernel, stride in ((16, 32, 3, 2), (32, 32, 3, 1), (32, 24, 1, 1), (24, 144, 1, 1), (144, 32, 1, 1),
                                            (32, 32, 5, 1), (32, 64, 3, 2), (64, 64, 3, 1), (64, 128, 1, 1)):
        x = n.conv(x, inputs, outputs, kernel, strides=[stride, stride])
    for kernel, stride in ((3, 1), (5, 1), (3, 2), (3, 1), (5, 1)):
        x = n.conv(x, 128, 128, kernel, group=128, strides=[stride, stride])
    n.outputs.append(x)
    return n.model()


def others():
    n = Network([1, 16, 16, 16])
    x = n.conv("x", 16, 16, 1)
    y = n.conv("x", 16, 16, 1)
    for op in ("Add", "Sub", "Mul", "Concat"):
        n.add(op, x, y, **({"axis": 1} if op == "Concat" else {}))
    pooled = n.add("MaxPool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    n.add("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])
    n.add("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
    for op in ("GlobalMaxPool", "GlobalAveragePool"):
        n.add(op, y)
    n.add("ReduceMean", x, axes=[2, 3], keepdims=1)
    for op in ("Relu", "Sigmoid"):
        n.add(op, pooled)
    n.add("Clip", pooled, n.constant(values=np.float32(-0.5)), n.constant(values=np.float32(0.5)))
    n.add("Split", x, n.constant(values=np.array([4, 12])), axis=1, outputs=2)
    n.add("Transpose", y, perm=[0, 2, 3, 1])
    n.add("Slice", x, *(n.constant(values=np.array(v)) for v in ([2, 2], [14, 14], [2, 3])))
    n.add("Gather", y, n.constant(values=np.array([3, 1, 2])), axis=1)
    n.add("Pad", x, n.constant(values=np.array([0, 0, 1, 1, 0, 0, 1, 1])))
    n.add("ArgMax", y, axis=1)
    n.add("Expand", n.add("GlobalAveragePool", x), n.constant(values=np.array([1, 16, 8, 8])))
    rows = n.add("Reshape", x, n.constant(values=np.array([1, 64, 64])))
    n.add("Softmax", rows, axis=-1)
    n.add("LayerNormalization", rows, n.constant((64,)), n.constant((64,)), axis=-1)
    for count, terms in ((256, 16), (64, 64), (16, 256)):
        rows = n.add("Reshape", x, n.constant(values=np.array([1, count, terms])))
        for outputs in (16, 96):
            n.add("MatMul", rows, n.constant((terms, outputs)))
    for count, side in ((16, 16), (4, 32), (1, 64)):
        heads = n.add("Reshape", y, n.constant(values=np.array([1, count, side, side])))
        n.add("MatMul", heads, heads)
    for side in (16, 4, 2):
        flat = n.add("Flatten", n.add("MaxPool", x, kernel_shape=[side, side], strides=[side, side]))
        for outputs in (10, 64):
            n.add("Gemm", flat, n.constant((outputs, 16 * (16 // side) ** 2)), n.constant((outputs,)), transB=1)
    return n.model()


def work_of(model):
    """name -> (operator, multiply-accumulates, outputs, elements) of each node."""
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
              for v in (*model.graph.value_info, *model.graph.input, *model.graph.output)}
    shapes.update({c.name: list(c.dims) for c in model.graph.initializer})
    work = {}
    for node in model.graph.node:
        result, first = (math.prod(shapes[name]) for name in (node.output[0], node.input[0]))
        macs, op = 0, node.op_type
        if op == "Conv":
            macs = result * math.prod(shapes[node.input[1]][1:])
            if shapes[node.input[1]][1] == 1:
                op = "depthwise Conv"
        elif op in ("Gemm", "MatMul"):
            macs = result * shapes[node.input[0]][-1]
            if op == "MatMul" and node.input[1] not in {c.name for c in model.graph.initializer}:
                op = "MatMul of two activations"
        elements = max(result, first)
        if op in ("MaxPool", "AveragePool"):
            elements = result * math.prod(helper.get_node_attr_value(node, "kernel_shape"))
        work[node.name] = (op, macs, result, elements)
    return work


# ---- counting ----

def call(*words):
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(" ".join(words)[:300] + "\n" + done.stderr[-2000:])
    return done


def count(options, folder, model, strategy):
    """layer -> instructions of the emitted C of a strategy."""
    call(options.program, "realize", model, strategy, "--emit", "c", "--name", "net", "-o", f"{folder}/c", "--samples", "1")
    with open(f"{folder}/c/net.c", encoding="utf-8") as file:
        source = file.read()
    begin = source.index("void net_run(")
    body = source[begin:]
    layers = re.findall(r"^    layer_(\w+)\(", body, re.M)
    body = re.sub(r"^    layer_", "    itg_mark();\n    layer_", body, flags=re.M)
    end = body.rindex("}")
    with open(f"{folder}/c/net.c", "w", encoding="utf-8") as file:
        file.write(MARK + source[:begin] + body[:end] + "    itg_mark();\n}\n")
    with open(f"{folder}/c/mark.c", "w", encoding="utf-8") as file:
        file.write(MARK_SOURCE)
    machine = next(m for m in builds.MACHINES if m.name == "cortex-" + options.cpu)
    program = f"{folder}/net.elf"
    call(*machine.compiler, "-std=c99", "-w", options.level, *(f"{folder}/c/{name}.c" for name in ("net", "net_selftest", "mark")),
         "-o", program)
    address = re.search(r"^([0-9a-f]+) T itg_mark$", call("arm-none-eabi-nm", program).stdout, re.M)[1]
    plugin = f"{folder}/instructions.so"
    call("cc", "-O2", "-shared", "-fPIC", f"{HERE}/instructions.c", "-o", plugin)
    emulator = [*machine.backend[:1], "-plugin", f"{plugin},mark={int(address, 16) & ~1:x}", *machine.backend[1:]]
    marks = [int(m) for m in re.findall(r"^mark (\d+)$", call(*emulator, program).stderr, re.M)][:len(layers) + 1]
    counts = {}
    for layer, before, after in zip(layers, marks, marks[1:]):
        counts[layer] = counts.get(layer, 0) + after - before
    return counts


# ---- fitting ----

def fit_two(rows):
    """(cycles a multiply-accumulate, cycles an output) of the least squares of the relative error."""
    equations = np.array([[macs / counted, outputs / counted] for macs, outputs, counted in rows])
    a, b = np.linalg.lstsq(equations, np.ones(len(rows)), rcond=None)[0]
    return (a, b) if b > 0 else (fit_one([(macs, counted) for macs, _, counted in rows]), 0)


def fit_one(rows):
    shares = np.array([work / counted for work, counted in rows])
    return float(shares.sum() / (shares * shares).sum())


def errors(predicted, counted):
    return f"largest error of a layer {max(abs(p / c - 1) for p, c in zip(predicted, counted)):.0%}"


def report(rows):
    """rows: (operator, multiply-accumulates, outputs, elements, instructions)."""
    output = {}
    for op in sorted({row[0] for row in rows}, key=lambda op: (op.startswith("depthwise"), op)):
        mine = [row[1:] for row in rows if row[0] == op]
        counted = [row[3] for row in mine]
        if op.startswith("depthwise"):  # outputs cost what they cost in other convolutions
            cost = fit_one([(macs, instructions - output["Conv"] * outputs) for macs, outputs, _, instructions in mine])
            predicted = [macs * cost + outputs * output["Conv"] for macs, outputs, _, _ in mine]
            text = f"depthwise_macs_per_cycle {1 / cost:.3g}"
        elif mine[0][0]:
            cost, output[op] = fit_two([(macs, outputs, instructions) for macs, outputs, _, instructions in mine])
            predicted = [macs * cost + outputs * output[op] for macs, outputs, _, _ in mine]
            text = f"macs_per_cycle {1 / cost:.3g}, output_cycles {output[op]:.3g}"
        else:
            cost = fit_one([(elements, instructions) for _, _, elements, instructions in mine])
            predicted = [elements * cost for _, _, elements, _ in mine]
            text = f"macs_per_cycle {1 / cost:.3g}"
        print(f"  {op}: {text} ({len(mine)} layer{'s' if len(mine) > 1 else ''}, {errors(predicted, counted)})")


def compare(options, name, model, strategy, counts):
    """Prints and returns what the strategy's description says, as a share of what was counted."""
    costs = json.loads(call(options.program, "diff", strategy, strategy, "--model", model, "--all", "--json").stdout)
    total, said = sum(counts.values()), costs["a"]["cycles"]
    print(f"{name}: {said:,.0f} cycles by the description, {total:,} instructions, ratio {said / total:.2f}")
    return said / total


def measure(options, folder, bits):
    """Returns whether the description says about what was counted."""
    rows, close = [], True
    print(f"activations of {bits} bits:")
    for k, model in enumerate((convolutions(), others())):
        path, data, strategy = f"{folder}/net{k}.onnx", f"{folder}/data.npy", f"{folder}/s.json"
        onnx.save(model, path)
        shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
        np.save(data, np.random.default_rng(2).normal(size=[8, *shape[1:]]).astype(np.float32))
        work = work_of(model)
        for weight_bits in (8, 4):
            call(options.program, "simulate", path, "--uniform", str(bits), "--weight-bits", str(weight_bits), "--hw", "cortex-m", "--data",
                 data, "--calib", data, "--recover", "none", "-o", strategy)
            counts = count(options, folder, path, strategy)
            ratio = compare(options, f"  network {k}, weights of {weight_bits} bits", path, strategy, counts)
            close = close and 0.8 < ratio < 1.25
            for layer, instructions in counts.items():
                name = layer.removeprefix("n_")
                if name in work and work[name][0] not in ("Reshape", "Flatten"):
                    rows.append((*work[name], instructions))
    report(rows)
    return close


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--cpu", default="m4", choices=("m3", "m4", "m7", "m55"))
    parser.add_argument("--level", default="-O3")
    parser.add_argument("--network", nargs=2, action="append", default=[], metavar=("MODEL", "STRATEGY"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        close = [measure(options, folder, bits) for bits in (8, 16)]
        for model, strategy in options.network:
            name = f"{os.path.basename(model)}, {os.path.basename(strategy)}"
            compare(options, name, model, strategy, count(options, folder, model, strategy))
    return 0 if all(close) or (options.cpu, options.level) != ("m4", "-O3") else 1


if __name__ == "__main__":
    sys.exit(main())
