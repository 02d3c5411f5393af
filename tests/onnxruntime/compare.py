#!/usr/bin/env python3
"""Target x86-vnni against ONNX Runtime, output code by output code. Random models of one operator, and whole networks, are
quantized by intaglio; the integer program's own scales, zero points, weights and biases become a QDQ model, which ONNX Runtime
fuses into its integer kernels (the optimized model is read to make sure); every output code must then be the same.
docs/arithmetic.md, section "Agreement with ONNX Runtime", lists the operators that may differ, and by how much."""
import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

from cases import FAMILIES, MORE
from networks import NETWORKS
from qdq import Unsupported, translate
from session import exact_options, exact_session

# Share of outputs that may differ, by one code: functions that ONNX Runtime approximates in float32.
TOLERATED = {"Sigmoid": 1e-3, "Tanh": 3e-3, "HardSigmoid": 1e-3, "HardSwish": 1e-3}
NETWORK_SAMPLES = 100
FLOAT_KERNELS = {"Conv", "Gemm", "MatMul", "Add", "Mul", "AveragePool", "GlobalAveragePool", "DequantizeLinear"}


class Failure(Exception):
    """A program that does not run, or runs otherwise than it should."""


# ---- intaglio ----

def run_tool(binary, *arguments):
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"intaglio {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def find_digest(value):
    """The digest, wherever it stands in a command's JSON."""
    if isinstance(value, dict):
        if isinstance(value.get("digest"), str):
            return value["digest"]
        value = list(value.values())
    if isinstance(value, list):
        return next((d for d in map(find_digest, value) if d), None)
    return None


def run_intaglio(binary, folder, model, calibration, data, options, limit=()):
    """The program's path and its output codes of all samples."""
    strategy, program, out = (os.path.join(folder, n) for n in ("strategy.json", "program.onnx", "out.npy"))
    simulated = run_tool(binary, "simulate", model, "--definition", *options, "--hw", "x86-vnni", "--calib", calibration, "--data",
                         data, *limit, "-o", strategy, "--json")
    run_tool(binary, "realize", model, strategy, "-o", program)
    ran = run_tool(binary, "run", program, "--data", data, *limit, "-o", out, "--json")
    digests = [find_digest(json.loads(text)) for text in (simulated, ran)]
    if digests[0] is None or digests[0] != digests[1]:
        raise Failure("simulate and run differ")
    return program, np.load(out)


# ---- ONNX Runtime ----

def run_onnxruntime(model, samples, folder):
    """Output codes of all samples, and the operators of the optimized model."""
    options = exact_options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
    options.intra_op_num_threads = 1
    session = exact_session(model, options)
    name, shape = session.get_inputs()[0].name, session.get_inputs()[0].shape
    codes = np.concatenate([session.run(None, {name: x.reshape(shape)})[0].reshape(1, -1) for x in samples])
    return codes, {node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node}


def differences(ours, theirs):
    """(outputs, differing, largest difference)"""
    if ours.dtype != theirs.dtype or ours.size != theirs.size:
        raise Failure(f"shapes differ: {ours.shape} {ours.dtype}, {theirs.shape} {theirs.dtype}")
    distance = np.abs(ours.reshape(-1).astype(np.int64) - theirs.reshape(-1).astype(np.int64))
    return distance.size, int(np.count_nonzero(distance)), int(distance.max(initial=0))


def compare_case(binary, case, folder):
    model, calibration, data = (os.path.join(folder, n) for n in ("model.onnx", "calibration.npy", "data.npy"))
    onnx.save(case.model, model)
    np.save(calibration, case.data[:max(2, len(case.data) // 2)])
    np.save(data, case.data)
    program, ours = run_intaglio(binary, folder, model, calibration, data, case.options)
    attempts = [case.float_activation]
    if "Clip" in case.float_activation:
        attempts.append(())  # some releases see through a Clip only now and then; the codes have its bounds anyway
    for activation in attempts:
        theirs, operators = run_onnxruntime(translate(program, activation, case.prefer_gemm), case.data, folder)
        if case.kernels <= operators and not case.never & operators:
            return differences(ours, theirs)
    raise Failure(f"ONNX Runtime chose other kernels: {', '.join(sorted(operators))}")


def compare_network(binary, network, folder):
    program, ours = run_intaglio(binary, folder, network.model, network.calibration, network.data,
                                 ["--uniform", "8", "--calib-limit", "200", *network.options()], ["--limit", str(NETWORK_SAMPLES)])
    theirs, operators = run_onnxruntime(translate(program, prefer_gemm=True), network.samples(NETWORK_SAMPLES), folder)
    if operators & FLOAT_KERNELS:
        raise Failure(f"ONNX Runtime chose float kernels: {', '.join(sorted(operators))}")
    return differences(ours, theirs)


# ---- counting ----

class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def line(self, name, total, differing, largest, problems):
        print(f"{name:26} {total:8} outputs, {differing:6} differ" + (f", by up to {largest}" if differing else ""))
        for problem in problems:
            print(f"    {problem}")
        sys.stdout.flush()

    def family(self, binary, name, cases, keep):
        """All cases of one operator; each passes, fails or is skipped by itself."""
        total = differing = largest = 0
        problems = []
        for index, case in enumerate(cases):
            with tempfile.TemporaryDirectory() as temporary:
                folder = os.path.join(keep, f"{name.replace(' ', '_')}-{index}") if keep else temporary
                os.makedirs(folder, exist_ok=True)
                try:
                    outputs, wrong, distance = compare_case(binary, case, folder)
                except Unsupported as reason:
                    self.skipped += 1
                    problems.append(f"case {index} skipped: {reason}")
                    continue
                except Failure as reason:
                    self.failed += 1
                    problems.append(f"case {index}: {reason}")
                    continue
            total, differing, largest = total + outputs, differing + wrong, max(largest, distance)
            if wrong and name not in TOLERATED:
                self.failed += 1
                problems.append(f"case {index}: {wrong} of {outputs} outputs differ, by up to {distance}")
            else:
                self.passed += 1
        if name in TOLERATED and (differing > TOLERATED[name] * total or largest > 1):
            self.failed += 1
            problems.append(f"more than {TOLERATED[name]:g} of the outputs differ, or by more than one code")
        self.line(name, total, differing, largest, problems)

    def network(self, binary, network):
        if not network.present():
            self.skipped += 1
            print(f"{network.name():26} skipped: it is not here")
            return
        with tempfile.TemporaryDirectory() as folder:
            try:
                outputs, wrong, distance = compare_network(binary, network, folder)
            except (Failure, Unsupported) as reason:
                self.failed += 1
                self.line(network.name(), 0, 0, 0, [str(reason)])
                return
        self.passed += wrong == 0
        self.failed += wrong != 0
        self.line(network.name(), outputs, wrong, distance, [])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("intaglio", help="the command-line tool")
    parser.add_argument("--cases", type=int, default=16, help="random models an operator")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="operators and networks whose name contains this")
    parser.add_argument("--keep", help="keep all files in this folder")
    args = parser.parse_args()
    print(f"onnxruntime {onnxruntime.__version__}, {platform.machine()}, {args.cases} models an operator, seed {args.seed}")
    names = [n for n in FAMILIES if args.only in n]
    networks = [n for n in NETWORKS if args.only in n.name()]
    tally = Tally()
    if platform.machine() not in ("x86_64", "AMD64"):
        print("no x86: ONNX Runtime computes otherwise here (docs/arithmetic.md)")
        tally.skipped, names, networks = len(names) + len(networks), [], []
    for name in names:
        family = list(FAMILIES).index(name)
        rngs = [np.random.default_rng([args.seed, family, index]) for index in range(args.cases * MORE.get(name, 1))]
        tally.family(args.intaglio, name, [FAMILIES[name](rng) for rng in rngs], args.keep)
    for network in networks:
        tally.network(args.intaglio, network)
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
