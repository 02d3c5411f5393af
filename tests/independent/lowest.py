"""Codes at the end of their range: half of all weight codes are -2^(bits - 1), all of the first channel. Simulation, the integer program
and its C give one digest, and the program's bounds are verified.

Usage: lowest.py PROGRAM EXAMPLES. Standard library and numpy."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from codes import open_plan, rewrite

WIDTHS = {"cortex-m": (2, 4, 7), "x86-vnni": (3, 5)}
SAMPLES = "16"


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words[:3])}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def force(model, path):
    """Gives every weight codes of which half are the lowest; returns how many are, of how many."""
    (made, plan), random, counts = open_plan(model, path), np.random.default_rng(1), [0, 0]

    def lowest_half(edge, mac):
        lowest = -(1 << (edge.bits - 1))
        if mac.q.qmin != lowest:
            sys.exit(f"{edge}: the lowest code is {mac.q.qmin}, not {lowest}")
        codes = np.where(random.random(mac.codes.shape) < 0.5, lowest, mac.codes)
        codes[0] = lowest
        counts[0] += int((codes == lowest).sum())
        counts[1] += codes.size
        return codes, None

    rewrite(path, made, plan, lowest_half)
    return counts


def check(program, examples, target, bits, folder):
    model, images = os.path.join(examples, "digits.onnx"), os.path.join(examples, "digits_search_images.npy")
    strategy, artefact, source = (os.path.join(folder, name) for name in ("s.json", "p.itg", "c"))
    data = ["--data", images, "--limit", SAMPLES]
    call(program, "simulate", model, "--uniform", "8", "--weight-bits", str(bits), "--hw", target, "--recover", "none", "--scale", "1/255",
         "--calib", images, "--calib-limit", "50", *data, "-o", strategy)
    lowest, all_codes = force(model, strategy)
    expected = json.loads(call(program, "simulate", model, strategy, "--definition", *data, "--json"))["digest"]
    call(program, "realize", model, strategy, "-o", artefact)
    call(program, "verify", artefact)
    found = json.loads(call(program, "run", artefact, *data, "--json"))["digest"]
    if found != expected:
        sys.exit(f"{target}, {bits} bits: simulate gives {expected}, run {found}")
    line = f"{target}, {bits} bits: {lowest} of {all_codes} codes are the lowest; simulation and program agree"
    if target != "x86-vnni":  # its requantization is float
        call(program, "realize", artefact, "--emit", "c", "-o", source, "--data", images, "--samples", SAMPLES)
        files = [os.path.join(source, name) for name in os.listdir(source) if name.endswith(".c")]
        call("cc", "-std=c99", "-O2", *files, "-o", os.path.join(folder, "selftest"))
        if expected not in call(os.path.join(folder, "selftest")):
            sys.exit(f"{target}, {bits} bits: the C source gives another digest than {expected}")
        line += ", and C"
    print(line)


def main():
    program, examples = sys.argv[1:]
    for target, widths in WIDTHS.items():
        for bits in widths:
            with tempfile.TemporaryDirectory() as folder:
                check(program, examples, target, bits, folder)


main()
