#!/usr/bin/env python3
"""QDQ models that `intaglio realize --emit qdq` writes, run by ONNX Runtime, against the integer programs of the same strategies:
labelled pairs of real models and data, and the embedded example. A line each: the share of equal outputs and the largest distance in
quantization steps with graph optimizations on and off, top-1 of both, and what the exporter says of the arithmetic. A model that the
exporter calls equal fails unless every output is. Where it names nodes that differ, every tensor of codes is made from the program's
own codes: one that differs without such a node on its way fails as well."""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime

from cases import FAMILIES, MORE
from networks import DIGITS, ROOT, SHARED, column, read_idx
from results import RESULTS, write_target, write_zeros
from session import Inexact, exact_options, exact_session

sys.path.insert(0, os.path.join(ROOT, "tests", "pairs"))
from check_pairs import PAIRS  # noqa: E402

FEW, BLOCK = 64, 32  # samples of a pair without --full; at once, where the model takes any number
FLOAT_KERNELS = {"Conv", "FusedConv", "Gemm", "MatMul", "Add", "AveragePool", "GlobalAveragePool"}
LEVELS = onnxruntime.GraphOptimizationLevel


class Failure(Exception):
    """A program that does not run, or a model that is not what it should be."""


@dataclass
class Case:
    """A model, its data, and how its strategy is made."""
    name: str
    model: str
    data: str
    labels: str
    calibration: str
    preprocessing: list
    how: list  # options of simulate, or of search where it names a searcher
    target: str = "x86-vnni"  # zeros: as write_zeros has it
    noise: tuple = ()  # shape of a sample of noise, in place of data

    def present(self):
        return all(os.path.exists(path) for path in (self.model, self.data, self.labels, self.calibration) if path)

    def make_noise(self, folder):
        if self.noise:
            self.data = self.calibration = os.path.join(folder, "noise.npy")
            np.save(self.data, np.random.default_rng(3).normal(size=(6, *self.noise)).astype(np.float32))


def uniform(weights, activations=8):
    return ["--uniform", "8", "--weight-bits", str(weights), "--activation-bits", str(activations), "--calib-limit", "256"]


def at_random(seed):
    """The smallest of three points of the choice space: every edge has a width of its own."""
    return ["--searcher", "random", "--trials", "3", "--seed", str(seed), "--limit", "640", "--min-sqnr", "0.01dB"]


def pair_case(pair, suffix, how, target="x86-vnni"):
    paths = [os.path.join(SHARED, path) for path in (f"models/{pair.model}.onnx", *pair.data)]
    return Case(f"{pair.name} {suffix}", *paths, pair.preprocessing, how, target)


# Networks without labels, on noise: (model, shape of a sample).
UNLABELLED = [("ultraface_slim320", (3, 240, 320)), ("super_resolution_subpixel", (1, 224, 224)), ("kws_micro_m_fp32", (1960,))]


def cases(full):
    digits = [os.path.join(ROOT, "examples", name) for name in ("digits.onnx", DIGITS[1], "digits_test_labels.npy", DIGITS[0])]
    out = [Case(f"digits {suffix}", *digits, ["--scale", "1/255"], how) for suffix, how in
           [("w8", uniform(8)), ("w4", uniform(4)), ("w3 a5", uniform(3, 5)),
            *((f"random {seed}", at_random(seed)) for seed in range(4))]]
    out += [Case(f"digits zeros {suffix}", *digits, ["--scale", "1/255"], how, "zeros") for suffix, how in
            [("w8", uniform(8)), ("w4", uniform(4)), ("w2", uniform(2)), ("random", at_random(1))]]
    out += [pair_case(pair, "w8", uniform(8)) for pair in PAIRS]
    out += [Case(f"{name} w8", os.path.join(SHARED, "models", f"{name}.onnx"), "", "", "", [], uniform(8), noise=shape)
            for name, shape in UNLABELLED]
    varied = [pair for pair in PAIRS if full or pair.name in ("resnet8", "mbv2", "mnist_onnxjs")]
    for pair in varied:
        out += [pair_case(pair, "w5", uniform(5)), pair_case(pair, "w4", uniform(4)), pair_case(pair, "w3 a6", uniform(3, 6)),
                *(pair_case(pair, f"zeros w{bits}", uniform(bits), "zeros") for bits in (8, 4)),
                *(pair_case(pair, f"random {seed}", at_random(seed)) for seed in range(2))]
        # The exporter promises nothing of tensorrt-int8: of products whose activation cuts signed codes.
        named = [target for target in pair.targets[1:] if ":" not in target and target != "tensorrt-int8"]  # ":4": widths of weights, which follow below
        out += [pair_case(pair, f"{target} w8", uniform(8), target) for target in named]
        if "cortex-m" in pair.targets:
            out.append(pair_case(pair, "cortex-m a16", uniform(8, 16), "cortex-m"))
    return out


# ---- data ----

def open_array(path, limit):
    if path.endswith(".gz"):
        return read_idx(path)[:limit]
    array = np.load(path, mmap_mode="r")
    return np.array(array[:limit])


def numbers(text):
    above, _, below = text.partition("/")
    return np.float32(float(above) / float(below or 1))


def samples(case, limit, shape):
    """What the network reads (docs/strategy-file.md, Preprocessing)."""
    x = open_array(case.data, limit)
    words = dict(zip(case.preprocessing, case.preprocessing[1:]))
    if "--bgr" in case.preprocessing:
        x = x[:, ::-1]
    x = x.astype(np.float32)
    if "--scale" in words:
        x = x * numbers(words["--scale"])
    if "--mean" in words:
        x = x - column([float(v) for v in words["--mean"].split(",")]).reshape((1, -1) + (1,) * (x.ndim - 2))
    if "--std" in words:
        x = x / column([float(v) for v in words["--std"].split(",")]).reshape((1, -1) + (1,) * (x.ndim - 2))
    if "--nhwc" in case.preprocessing:
        x = np.moveaxis(x, 1, -1)
    return np.ascontiguousarray(x).reshape(len(x), *shape[1:])


# ---- intaglio ----

def call(binary, *words, may_miss=False):
    done = subprocess.run([binary, *words, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0 and not (may_miss and done.returncode in (1, 3) and done.stdout.strip()):
        raise Failure(f"intaglio {words[0]}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def make(binary, case, folder, limit):
    """Paths of the QDQ model and the program, the exporter's report, and the program's outputs, a list of arrays."""
    strategy, model, program, out = (os.path.join(folder, n) for n in ("strategy.json", "qdq.onnx", "program.onnx", "out.npy"))
    data = ["--data", case.data, "--limit", str(limit)]
    target = write_zeros(os.path.join(folder, "zeros.json")) if case.target == "zeros" else case.target
    if "--searcher" in case.how:
        call(binary, "search", case.model, "--hw", target, "--data", case.calibration, *case.preprocessing, *case.how, "-o",
             strategy, may_miss=True)
    else:
        call(binary, "simulate", case.model, *case.how, "--hw", target, "--calib", case.calibration, *case.preprocessing,
             "--data", case.data, "--limit", "1", "-o", strategy)
    call(binary, "realize", case.model, strategy, "-o", program)
    report = call(binary, "realize", case.model, strategy, "--emit", "qdq", "-o", model)
    again = model + ".again"
    call(binary, "realize", case.model, strategy, "--emit", "qdq", "-o", again)
    with open(model, "rb") as first, open(again, "rb") as second:
        if first.read() != second.read():
            raise Failure("two exports differ")
    call(binary, "run", program, *data, "-o", out)
    count = len(onnx.load(program).graph.output)
    return model, program, report, [np.load(out if i == 0 else out.replace(".npy", f".{i}.npy")) for i in range(count)]


def output_quantizer(program, output):
    """(scale, zero point) of an output; None: it is no code."""
    name = program.graph.output[output].name
    text = next((p.value for p in program.metadata_props if p.key == f"intaglio.output.{name}"), None)
    if text is None:
        return None
    for node in program.graph.node:
        if name in node.output:
            index = list(node.output).index(name)
            a = {x.name: onnx.helper.get_attribute_value(x) for x in node.attribute}
            return np.float32(a[f"y{index}_scale"][0]), a.get(f"y{index}_zero_point", 0)
    raise Failure(f"output {name} is not made")


# ---- ONNX Runtime ----

def check_kernels(model, folder):
    """Fails unless integer kernels were chosen for all that has one."""
    options = exact_options()
    options.graph_optimization_level = LEVELS.ORT_ENABLE_ALL
    options.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
    exact_session(model, options)
    left = [n.name for n in onnx.load(options.optimized_model_filepath).graph.node if n.op_type in FLOAT_KERNELS]
    if left:
        raise Failure(f"{len(left)} nodes in float32: {', '.join(left[:3])}")


def run_onnxruntime(model, x, level, names=None, feeds=None):
    """Outputs of all samples, [samples, ...] flattened. feeds: further inputs, with as many samples, which then run one by one
    because not all of them hold the samples along dimension 0."""
    options = exact_options()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 2
    session = exact_session(model, options)
    given = session.get_inputs()
    block = BLOCK if isinstance(given[0].shape[0], str) and not feeds else 1
    names = names or [output.name for output in session.get_outputs()]
    feeds = {given[0].name: x, **(feeds or {})}
    parts = []
    for first in range(0, len(x), block):
        count = min(block, len(x) - first)
        shaped = {i.name: feeds[i.name][first:first + count].reshape([d if isinstance(d, int) else -1 for d in i.shape])
                  for i in given}
        parts.append([y.reshape(count, -1) for y in session.run(names, shaped)])
    return [np.concatenate(columns) for columns in zip(*parts)]


def same_bits(ours, theirs):
    """Of every element; all NaN are one, the zeros are two."""
    return (ours.view(np.int32) == theirs.view(np.int32)) | (np.isnan(ours) & np.isnan(theirs))


def distances(ours, theirs, quantizer):
    """Of every element, in steps of the quantizer."""
    ours, theirs = ours.reshape(len(ours), -1), theirs.reshape(len(theirs), -1)
    if ours.shape != theirs.shape:
        raise Failure(f"shapes differ: {ours.shape}, {theirs.shape}")
    if quantizer is None:
        return np.where(same_bits(ours, theirs), 0, np.maximum(np.abs(ours.astype(np.float64) - theirs), np.finfo(np.float32).tiny))
    scale, zero = quantizer
    codes = np.rint(theirs / scale).astype(np.int64) + zero
    if np.any((codes - zero).astype(np.float32) * scale != theirs):
        raise Failure("outputs that are no multiples of the output's scale")
    return np.abs(codes - ours.astype(np.int64))


def differences(program_path, ours, theirs):
    """(number of outputs, of different ones, largest distance), all outputs of the model together."""
    program = onnx.load(program_path)
    each = [distances(a, b, output_quantizer(program, i)) for i, (a, b) in enumerate(zip(ours, theirs, strict=True))]
    return sum(d.size for d in each), sum(np.count_nonzero(d) for d in each), max(float(d.max()) for d in each)


# ---- node by node ----

TYPES = {"u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s16": np.int16}
SUFFIX = re.compile(r"(:(u8|s8|u16|s16|s32|f32)|/(codes|clipped))(_\d+)?$")


def by_value(names):
    """Names of codes by the value that they are versions of, in order."""
    groups = {}
    for name in names:
        groups.setdefault(SUFFIX.sub("", name), []).append(name)
    return groups


def code_tensors(model):
    """Names of the codes in a QDQ model as their readers find them, in the order in which they are made."""
    behind = {n.input[0]: n.output[0] for n in model.graph.node if n.op_type in ("Clip", "Reshape") and SUFFIX.search(n.output[0])}
    names = []
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear":
            name = node.output[0]
            while name in behind:
                name = behind[name]
            names.append(name)
    return names


def program_codes(binary, case, program, folder, limit):
    """The program's tensors of codes: {name: codes of all samples}."""
    model = onnx.load(program)
    there = [o.name for o in model.graph.output]
    found = []
    for node in model.graph.node:
        a = {x.name: onnx.helper.get_attribute_value(x) for x in node.attribute}
        for i, name in enumerate(node.output):
            dtype = a.get(f"y{i}_dtype", b"f32").decode()
            if f"y{i}_bits" in a and dtype in TYPES:
                found.append(name)
                if name not in there:
                    there.append(name)
                    model.graph.output.append(onnx.helper.make_tensor_value_info(
                        name, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[dtype])), a.get(f"y{i}_shape", [])))
    path = os.path.join(folder, "all.onnx")
    onnx.save(model, path)
    call(binary, "run", path, "--data", case.data, "--limit", str(limit), "-o", os.path.join(folder, "all.npy"))
    return {name: np.load(os.path.join(folder, "all.npy" if i == 0 else f"all.{i}.npy"))
            for i, name in enumerate(there) if name in found}


def cut_at_codes(model, names):
    """A model where every reader of codes reads an input of its own instead, and the codes are outputs."""
    shapes = {v.name: v.type.tensor_type.shape for v in onnx.shape_inference.infer_shapes(model).graph.value_info}
    zeros = {i.name: i.data_type for i in model.graph.initializer}
    types = {}
    made = set()
    for node in model.graph.node:
        if node.op_type == "QuantizeLinear":
            dtype = zeros[node.input[2]]
        for i, name in enumerate(node.input):
            if name in made:
                node.input[i] = name + "/given"
        for name in node.output:
            if name in names:
                made.add(name)
                types[name] = dtype
    del model.graph.output[:]
    for name in names:
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, types[name], None))
        given = onnx.helper.make_tensor_value_info(name + "/given", types[name], None)
        given.type.tensor_type.shape.CopyFrom(shapes[name])
        model.graph.input.append(given)
    return types


def makers(model, name):
    """Names of the nodes between the codes that are read and these."""
    producers = {output: node for node in model.graph.node for output in node.output}
    found, left = set(), [name]
    while left:
        node = producers.get(left.pop())
        if node is not None and node.name not in found:
            found.add(node.name)
            left.extend(node.input)
    return found


def node_by_node(binary, case, model_path, program, folder, limit, said):
    """Each tensor of codes, made by ONNX Runtime from the program's own codes: those that differ, as text. Fails where no node on
    the way is among those that the exporter says differ."""
    ours = program_codes(binary, case, program, folder, limit)
    model = onnx.load(model_path)
    groups = by_value(ours)
    pairs = {}
    for value, names in by_value(code_tensors(model)).items():
        if len(names) == len(groups.get(value, [])):
            pairs.update(zip(names, groups[value]))
    types = cut_at_codes(model, list(pairs))
    x = samples(case, limit, input_shape(model))
    dtypes = {name: onnx.helper.tensor_dtype_to_np_dtype(t) for name, t in types.items()}
    feeds = {name + "/given": ours[value].astype(dtypes[name]) for name, value in pairs.items()}
    all_theirs = run_onnxruntime(model, x, LEVELS.ORT_ENABLE_ALL, list(pairs), feeds)
    lines, equal = [], 0
    for (name, value), theirs in zip(pairs.items(), all_theirs):
        distance = np.abs(ours[value].reshape(-1).astype(np.int64) - theirs.reshape(-1).astype(np.int64))
        equal += distance.max(initial=0) == 0
        if distance.max(initial=0) == 0:
            continue
        blamed = sorted(n for n in makers(model, name) if n in said or n.rpartition("/")[0] in said)
        text = f"{value}: {np.count_nonzero(distance)} of {distance.size} codes differ, by up to {distance.max()}"
        if not blamed:
            raise Failure(f"{text}, and no node says why")
        reasons = sorted({said.get(n) or said[n.rpartition("/")[0]] for n in blamed})
        lines.append(f"{text}; {', '.join(blamed[:3])}: {'; '.join(reasons)}")
    return [f"from the program's own codes {equal} of {len(pairs)} tensors are equal"] + lines


# ---- random models of one operator ----

def check_random(binary, name, index, folder):
    """(outputs, differing, whether the exporter calls them equal) of one random model (cases.py)."""
    families = FAMILIES if name in FAMILIES else RESULTS
    case = families[name](np.random.default_rng([7, list(families).index(name), index]))
    model, calibration, data = (os.path.join(folder, n) for n in ("model.onnx", "calibration.npy", "data.npy"))
    onnx.save(case.model, model)
    np.save(calibration, case.data[:max(2, len(case.data) // 2)])
    np.save(data, case.data)
    made = Case(name, model, data, data, calibration, [], [*case.options, "--calib-limit", "256"])
    if name in RESULTS:
        made.target = os.path.join(folder, "target.json")
        write_target(made.target)
    qdq, program, report, ours = make(binary, made, folder, len(case.data))
    exported = check_form(qdq)
    if not report["onnxruntime_differs"] and name in FAMILIES:
        check_kernels(exported, folder)
    theirs = run_onnxruntime(exported, case.data.reshape(-1, *input_shape(exported)[1:]), LEVELS.ORT_ENABLE_ALL)
    return *differences(program, ours, theirs), not report["onnxruntime_differs"]


def check_family(binary, name, count):
    total = differing = largest = 0
    all_equal = True
    for index in range(count * MORE.get(name, 1)):
        with tempfile.TemporaryDirectory() as folder:
            outputs, wrong, distance, says_equal = check_random(binary, name, index, folder)
        if wrong and says_equal:
            raise Failure(f"model {index}: {wrong} of {outputs} outputs differ, and the exporter says they are equal")
        total, differing, largest = total + outputs, differing + wrong, max(largest, distance)
        all_equal = all_equal and says_equal
    return (f"{name:28}{total:9} outputs, {differing} differ" + (f", by up to {largest:g}" if differing else "") +
            ("" if all_equal else "; the exporter says that some may"))


def check_form(path):
    """The model, once onnx accepts it whole."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    return model


def input_shape(model):
    return [d.dim_value or 1 for d in model.graph.input[0].type.tensor_type.shape.dim]


# ---- the table ----

def check(binary, case, folder, limit, steps):
    case.make_noise(folder)
    model_path, program_path, report, ours = make(binary, case, folder, limit)
    model = check_form(model_path)
    count = len(ours[0])
    x = samples(case, count, input_shape(model))
    on, off = (run_onnxruntime(model, x, level) for level in (LEVELS.ORT_ENABLE_ALL, LEVELS.ORT_DISABLE_ALL))
    columns = []
    for theirs in (on, off):
        outputs, wrong, distance = differences(program_path, ours, theirs)
        columns.append(f"{100 * (1 - wrong / outputs):10.3f}{distance:7.4g}")
        if theirs is on:
            equal = wrong == 0
    top = ["", ""]
    if case.labels:
        labels = open_array(case.labels, count).reshape(-1)
        top = [f"{100 * np.mean(np.argmax(y[0].reshape(count, -1), axis=1) == labels):.2f}" for y in (ours, on)]
    differs = report["onnxruntime_differs"]
    print(f"{case.name:28}{report['opset']:6}{count:8}{columns[0]}{columns[1]}{top[0]:>8}{top[1]:>8}   " +
          (f"{len(differs)} nodes differ" if differs else "equal"), flush=True)
    if differs:
        said = {note["node"]: note["reason"] for note in differs}
        for line in node_by_node(binary, case, model_path, program_path, folder, min(count, FEW), said)[:1 + steps]:
            print(f"    {line}")
    elif not equal:
        raise Failure("the exporter says that all outputs are equal")
    else:
        check_kernels(model, folder)


class Tally:
    def __init__(self):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self._lock = threading.Lock()

    def add(self, result, line):
        with self._lock:
            self.counts[result] += 1
            if line:
                print(line, flush=True)

    def attempt(self, name, check_it):
        """check_it returns a line to print, if it has not printed."""
        try:
            self.add("passed", check_it())
        except Inexact as reason:
            self.add("skipped", f"{name:28}skipped: {reason}")
        except Failure as failure:
            self.add("failed", f"{name:28}FAILED: {failure}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("intaglio", help="the command-line tool")
    parser.add_argument("--full", action="store_true", help="all samples, all pairs with all variants")
    parser.add_argument("--samples", type=int, default=FEW)
    parser.add_argument("--models", type=int, default=2, help="random models of each operator")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--steps", type=int, default=1, help="tensors that differ to be named, of each model")
    args = parser.parse_args()
    print(f"onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}; outputs equal to the integer program's, %, and the "
          "largest distance in steps (real numbers where outputs are float)")
    print(f"{'':28}{'opset':>6}{'samples':>8}{'optimized':>10}{'':7}{'as it is':>10}{'':7}{'top-1':>8}{'there':>8}   exporter")
    tally = Tally()
    for case in cases(args.full):
        if args.only not in case.name:
            continue
        if not case.present():
            tally.add("skipped", f"{case.name:28}skipped: its files are not here")
            continue
        with tempfile.TemporaryDirectory() as folder:
            tally.attempt(case.name, lambda: check(args.intaglio, case, folder, 1 << 30 if args.full else args.samples, args.steps))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        names = [name for name in [*FAMILIES, *RESULTS] if args.only in name]
        list(pool.map(lambda name: tally.attempt(name, lambda: check_family(args.intaglio, name, args.models)), names))
    print(", ".join(f"{count} {result}" for result, count in tally.counts.items()))
    return 1 if tally.counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
