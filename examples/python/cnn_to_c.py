"""From an exported network and arrays to C source: cnn_to_c.py [FOLDER]

examples/digits.onnx is a small residual CNN, as PyTorch exports one. The search looks for the smallest network that loses at most
one point of top-1; the program that comes out is written as C99 without floating point, and its self-test is compiled and run."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import intaglio

examples = Path(__file__).resolve().parents[1]
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="intaglio-"))
images, labels, test_images, test_labels = (
    np.load(examples / f"digits_{part}.npy") for part in ("search_images", "search_labels", "test_images", "test_labels")
)

# The whole way:
model = intaglio.Model(examples / "digits.onnx")
result = intaglio.search(
    model, "cortex-m", images, labels, max_drop=0.01, trials=60, preprocess=intaglio.Preprocess(scale=1 / 255)
)
program = result.best.realize()
source = program.emit_c(folder, data=test_images)

# What came of it:
eight = result.uniform8_score["weight_bytes"]
score = program.score(test_images, test_labels)
print(f"{model.name}: {eight:,} bytes of weights at 8 bits, {source.weight_bytes:,} after {len(result.trials)} trials")
print(f"top-1 of {score.samples} other samples: {score['top1']:.2%}; digest {score.digest[:16]}...")
print(f"{folder}/{source.name}.c: {source.arena_bytes:,} bytes of RAM, {source.macs:,} multiply-accumulates")
assert source.weight_bytes < eight and score["top1"] > 0.97

# The C source gives the same bits as the program here: its self-test compares.
sources = [folder / f"{source.name}.c", folder / f"{source.name}_selftest.c"]
subprocess.run(["cc", "-std=c99", "-O2", *sources, "-o", folder / "selftest"], check=True)
print(subprocess.run([folder / "selftest"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
