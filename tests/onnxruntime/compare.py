#!/usr/bin/env python3
"""Target x86-vnni against ONNX Runtime, output code by output code. Random models of one operator are quantized by intaglio; the
integer program's own scales, zero points, weights and biases become a QDQ model, which ONNX Runtime fuses into its integer
kernels (the optimized model is read to make sure); every output code must then be the same. docs/arithmetic.md, section
"Agreement with ONNX Runtime", lists the operators that may differ, and by how much."""
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

from cases import FAMILIES
from qdq import Unsupported, translate

# Share of outputs that may differ, by at most one code: ONNX Runtime computes these functions in float32 approximations.
TOLERATED = {"Sigmoid": 1e-3, "Tanh": 1e-3, "HardSigmoid": 1e-3, "HardSwish": 1e-3}


class Failure(Exception):
    pass


def run_tool(binary, *arguments):
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{os.path.basename(binary)} {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def find_digest(text):
    """The digest wherever it stands in a command's JSON."""
    def search(value):
        if isinstance(value, dict):
            if isinstance(value.get("digest"), str):
                return value["digest"]
            value = list(value.values())
        if isinstance(value, list):
            return next((d for d in map(search, value) if d), None)
        return None
    return search(json.loads(text))


def run_intaglio(binary, case, folder):
    """The artefact's path and the output codes of all samples."""
    model, calib, data, strategy, program, out = (
        os.path.join(folder, n) for n in ("m.onnx", "c.npy", "x.npy", "s.json", "p.itg", "o.npy"))
    onnx.save(case.model, model)
    np.save(calib, case.data[:max(2, len(case.data) // 2)])
    np.save(data, case.data)
    extra = ["--threshold", case.threshold] if case.threshold else []
    simulated = run_tool(binary, "simulate", model, "--uniform", "8", "--hw", "x86-vnni", "--calib", calib, "--data", data,
                         "-o", strategy, "--json", *extra)
    run_tool(binary, "realize", model, strategy, "-o", program)
    ran = run_tool(binary, "run", program, "--data", data, "-o", out, "--json")
    if find_digest(simulated) is None or find_digest(simulated) != find_digest(ran):
        raise Failure("simulate and run differ")
    return program, np.load(out)


def run_onnxruntime(model, case, folder):
    """Output codes of all samples and the operators of the optimized model."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    codes = np.concatenate([session.run(None, {name: sample[None]})[0] for sample in case.data])
    return codes, {node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node}


def compare_case(binary, case, folder):
    """(outputs, differing, largest difference)"""
    program, ours = run_intaglio(binary, case, folder)
    model = translate(program, case.float_activation, case.prefer_gemm)
    theirs, operators = run_onnxruntime(model, case, folder)
    if not case.kernels <= operators or case.never & operators:
        raise Failure(f"ONNX Runtime chose other kernels: {', '.join(sorted(operators))}")
    if ours.dtype != theirs.dtype or ours.size != theirs.size:
        raise Failure(f"shapes differ: {ours.shape} {ours.dtype}, {theirs.shape} {theirs.dtype}")
    distance = np.abs(ours.reshape(-1).astype(np.int64) - theirs.reshape(-1).astype(np.int64))
    return distance.size, int(np.count_nonzero(distance)), int(distance.max(initial=0))


def has_vnni():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return "vnni" in file.read()
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("intaglio", help="the command-line tool")
    parser.add_argument("--cases", type=int, default=12, help="random models an operator")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="operators whose name contains this")
    parser.add_argument("--keep", help="keep the files of failing cases in this folder")
    args = parser.parse_args()
    print(f"onnxruntime {onnxruntime.__version__}, {platform.machine()}, {args.cases} models an operator, seed {args.seed}")
    if platform.machine() not in ("x86_64", "AMD64") or not has_vnni():
        print("no x86 with VNNI: ONNX Runtime computes u8 by s8 otherwise here (docs/arithmetic.md)")
        print(f"0 passed, 0 failed, {len(FAMILIES)} skipped")
        return 0
    passed = failed = skipped = 0
    for family, (name, make) in enumerate(FAMILIES.items()):
        if args.only and args.only not in name:
            continue
        total = differing = largest = unsupported = 0
        problems = []
        for index in range(args.cases):
            case = make(np.random.default_rng([args.seed, family, index]))
            with tempfile.TemporaryDirectory() as folder:
                if args.keep:
                    folder = os.path.join(args.keep, f"{name.replace(' ', '_')}-{index}")
                    os.makedirs(folder, exist_ok=True)
                try:
                    outputs, wrong, distance = compare_case(args.intaglio, case, folder)
                except Unsupported as reason:
                    unsupported += 1
                    problems.append(f"case {index} skipped: {reason}")
                    continue
                except Failure as reason:
                    problems.append(f"case {index}: {reason}")
                    failed += 1
                    continue
            total, differing, largest = total + outputs, differing + wrong, max(largest, distance)
            if wrong and name not in TOLERATED:
                problems.append(f"case {index}: {wrong} of {outputs} outputs differ, by up to {distance}")
                failed += 1
            else:
                passed += 1
        skipped += unsupported
        if name in TOLERATED and (differing > TOLERATED[name] * total or largest > 1):
            problems.append(f"more differences than the {TOLERATED[name]:g} documented, or larger ones")
            failed += 1
        print(f"{name:24} {total:8} outputs, {differing:6} differ" + (f", by up to {largest}" if differing else ""))
        for line in problems:
            print(f"    {line}")
        sys.stdout.flush()
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
