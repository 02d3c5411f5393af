"""Labelled pairs of model and data: float accuracy, loss at 8 bits, and equal digests of simulation and integer program.

Usage: check_pairs.py PROGRAM DATA [--full | --limit N] [--only NAME]...
PROGRAM is the intaglio program, DATA the folder that holds models/, mnist/, cifar10/...
A pair takes a part of its targets, by turns, or all of them with --full.
Accuracies, where they are judged, are those of the float network and of the integer program on all samples. Simulation is slow, so its digest is compared
with the program's on the first 64 samples, or on all of them with --full. With --limit nothing but the first N samples runs, and
digests alone are checked: accuracies are stated for all samples.
Standard library only. Ends with "N passed, M failed, K skipped"; status 1 if anything failed.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

UNIT = ["--scale", "1/255"]
CIFAR_MEAN = "0.4914,0.4822,0.4465"


def normalized(mean, std):
    return [*UNIT, "--mean", mean, "--std", std]


def idx(folder, split):
    return (f"{folder}/{split}-images-idx3-ubyte.gz", f"{folder}/{split}-labels-idx1-ubyte.gz")


# Samples, labels, samples to calibrate on.
MNIST = (*idx("mnist", "test"), idx("mnist", "calib")[0])
FASHION = (*idx("fashion_mnist", "test"), idx("fashion_mnist", "calib")[0])
CIFAR10 = ("cifar10/test_images_u8.npy", "cifar10/test_labels.npy", "cifar10/calib_images_u8.npy")
IC01 = ("cifar10_lossless_ic01/images_nchw_u8.npy", "cifar10_lossless_ic01/labels_u8.npy", CIFAR10[2])
IMAGENET = ("imagenet_sample/images224_u8.npy", "imagenet_sample/labels.npy", "imagenet_sample/images224_u8.npy")
IRIS = ("iris/x_f32.npy", "iris/y_u8.npy", "iris/x_f32.npy")

TRAINED = normalized(CIFAR_MEAN, "0.2470,0.2435,0.2616")
VNN = normalized(CIFAR_MEAN, "0.2471,0.2435,0.2616")
# A target may name the bits of its weights: 16-bit sums are what narrow ones are for.
ALL = ("x86-vnni", "cortex-m", "vta", "cvm", "avr", "avr:4", "armv8-dot", "esp32", "tensorrt-int8", "fpga", "tlu", "nic")
# Power-of-two scales lose what they lose: accuracy is printed with --full, not judged. Digests are, and realize refuses what it
# cannot bound.
DIGESTS_ALONE = ("vta", "cvm", "avr", "avr:4", "fpga", "tlu", "nic")
VNNI = ("x86-vnni",)

Files = collections.namedtuple("Files", "model samples labels calibration")
# float_top1 in percent; may_lose: points at 8 bits.
Pair = collections.namedtuple("Pair", "name model data preprocessing float_top1 may_lose targets")
# The vits take long, so one target is all that they are tried on here; cortex-m and cvm run them as integers alone.
PAIRS = [Pair(*row) for row in [
    ("mnist_onnxjs", "mnist_onnxjs_7", MNIST, [], 98.91, 0.1, ALL),
    ("mnist_256x2", "vnn_mnist-net_256x2", MNIST, UNIT, 98.08, 0.1, ALL),
    ("mnist_lenet", "lenet_ccoltong_custom", MNIST, normalized("0.1307", "0.3081"), 97.08, 0.1, ALL),
    ("mnist_wuhan", "mnist_wuhan_lg", MNIST, UNIT, 90.32, 0.5, ALL),
    ("fashion", "fashion_shahjahan", FASHION, normalized("0.5", "0.5"), 87.40, 0.5, ALL),
    ("resnet8", "resnet8_cifar10", CIFAR10, TRAINED, 79.69, 0.5, ALL),
    ("resnet8_skewed", "resnet8_skewed", CIFAR10, TRAINED, 79.69, 0.5, ALL),
    ("mbv2", "mbv2_cifar10", CIFAR10, TRAINED, 80.97, 1.0, ALL),
    ("vnn_resnet_4b", "vnn_resnet_4b", CIFAR10, VNN, 77.66, 0.5, ALL),
    ("vnn_resnet_2b", "vnn_resnet_2b", CIFAR10, VNN, 69.00, 0.5, ALL),
    ("mlperf_ic01", "mlperf_pretrainedResnet", IC01, [], 85.50, 0.5, ALL),
    ("mlperf", "mlperf_pretrainedResnet", CIFAR10, [], 75.51, 0.5, ALL),
    ("yashraj", "cifar_yashraj", CIFAR10, [*UNIT, "--nhwc"], 70.66, 0.5, ALL),
    ("winml_cifar", "cifar10_winml_imageclassifier", CIFAR10, normalized("0.5", "0.5"), 64.77, 0.5, ALL),
    ("vit_ibp", "vit_cifar_ibp_3_3_8", CIFAR10, normalized(CIFAR_MEAN, "0.2023,0.1994,0.2010"), 61.29, 1.0, VNNI),
    ("vit_ln", "vit_ln_cifar10", CIFAR10, TRAINED, 72.23, 1.0, VNNI),
    ("squeezenet", "imagenet_squeezenet_fp32_from_fp16", IMAGENET, ["--bgr", "--mean", "103.94,116.78,123.68"], 65.00, 0.5, ALL),
    ("iris", "iris_winml_network", IRIS, [], 98.00, 0.5, ALL),
]]
ALWAYS = ("x86-vnni", "cortex-m")  # targets that every pair takes
TURNS = 3  # a pair takes one in so many of the others
FLOAT_TOLERANCE = 0.1  # points
SIMULATED_SAMPLES = 64  # of each pair, without --full
LARGE, LARGE_SAMPLES = ("squeezenet",), 32  # without --full; calibrated on as many
FEW_SAMPLES, FEW_IMAGES = 200, 3  # so few samples may lose so many images, whatever that is in points


def targets_of(pair, full):
    """Every target occurs with a third of the pairs, and every two pairs in a row differ."""
    if full:
        return pair.targets
    place = PAIRS.index(pair)
    others = [name for name in pair.targets if name not in ALWAYS]
    return [name for name in pair.targets if name in ALWAYS or others.index(name) % TURNS == place % TURNS]


class Failed(Exception):
    pass


def call(program, *words):
    result = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    # 3: a search whose goal does not hold on the hold-out
    if result.returncode not in ((0, 3) if words[0] == "search" else (0,)):
        raise Failed(f"intaglio {words[0]} ended with {result.returncode}: {result.stderr.strip()[-300:]}")
    return json.loads(result.stdout)


def points(share):
    return round(100 * share, 6)


def check_float(program, pair, files):
    """(float top-1 as a share, text); raises Failed if it is not the reference's."""
    score = call(program, "simulate", files.model, "--uniform", "8", "--hw", "float", *pair.preprocessing, "--data", files.samples,
                 "--labels", files.labels)
    found = points(score["top1"])
    if abs(found - pair.float_top1) > FLOAT_TOLERANCE + 1e-9:
        raise Failed(f"top-1 {found:.2f}, expected {pair.float_top1:.2f} +- {FLOAT_TOLERANCE}")
    return score["top1"], f"top-1 {found:.2f} of {score['samples']} (reference {pair.float_top1:.2f})"


def check_target(program, pair, files, target, folder, simulated_samples, float_top1):
    """Text. simulated_samples 0: all. float_top1 None: accuracy is not checked. Raises Failed."""
    strategy, artefact = os.path.join(folder, "strategy.json"), os.path.join(folder, "program.itg")
    data = ["--data", files.samples, "--labels", files.labels]
    limit = ["--limit", str(simulated_samples)] if simulated_samples else []
    name, _, bits = target.partition(":")
    weights = ["--weight-bits", bits] if bits else []
    calibration = ["--calib", files.calibration]
    if pair.name in LARGE and limit:
        calibration += ["--calib-limit", *limit[1:]]
    simulated = call(program, "simulate", files.model, "--definition", "--uniform", "8", *weights, "--hw", name, *calibration,
                     *pair.preprocessing, *data, *limit, "-o", strategy)
    call(program, "realize", files.model, strategy, "-o", artefact)
    run = call(program, "run", artefact, *data, *limit)
    if simulated["digest"] != run["digest"] or simulated["top1"] != run["top1"] or simulated["samples"] != run["samples"]:
        raise Failed(f"simulate gives {simulated['digest']}, run {run['digest']}")
    text = f"digest {run['digest'][:12]} of {run['samples']}"
    judged = target not in DIGESTS_ALONE
    if float_top1 is None or (limit and not judged):
        return text
    if limit:
        run = call(program, "run", artefact, *data)
    samples, lost = run["samples"], float_top1 - run["top1"]
    allowed = FEW_IMAGES / samples if samples <= FEW_SAMPLES else pair.may_lose / 100
    if not judged:
        return text + f", top-1 {points(run['top1']):.2f}, lost {points(lost):+.2f}"
    text += f", top-1 {points(run['top1']):.2f}, lost {points(lost):+.2f} of at most {points(allowed):.2f}"
    if lost > allowed + 1e-9:
        raise Failed(text)
    return text


class Report:
    def __init__(self):
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self._lock = threading.Lock()

    def line(self, verdict, name, text, seconds=0.0):
        with self._lock:
            self.counts[verdict] += 1
            print(f"{verdict:8}{name:28}{text}" + (f" ({seconds:.1f} s)" if seconds else ""), flush=True)

    def attempt(self, name, check):
        """The check's result, or None if it failed."""
        start = time.monotonic()
        try:
            result = check()
        except Failed as failure:
            self.line("failed", name, str(failure), time.monotonic() - start)
            return None
        self.line("passed", name, result if isinstance(result, str) else result[-1], time.monotonic() - start)
        return result


def check_pair(report, program, root, pair, limit, full):
    files = Files(os.path.join(root, "models", pair.model + ".onnx"), *(os.path.join(root, file) for file in pair.data))
    for file in files:
        if not os.path.exists(file):
            report.line("skipped", pair.name, f"{file} is absent")
            return
    float_top1 = None
    if limit:
        report.line("skipped", f"{pair.name} float", "accuracies are stated for all samples; --limit was given")
    else:
        result = report.attempt(f"{pair.name} float", lambda: check_float(program, pair, files))
        float_top1 = result[0] if result else pair.float_top1 / 100
    simulated_samples = limit or (0 if full else LARGE_SAMPLES if pair.name in LARGE else SIMULATED_SAMPLES)
    for target in targets_of(pair, full):
        with tempfile.TemporaryDirectory() as folder:
            report.attempt(f"{pair.name} {target}", lambda: check_target(program, pair, files, target, folder,
                                                                         simulated_samples, float_top1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    for path in (options.program, options.data):
        if not os.path.exists(path):
            parser.error(f"{path} is absent")
    unknown = set(options.only) - {pair.name for pair in PAIRS}
    if unknown:
        parser.error(f"unknown pair {', '.join(sorted(unknown))}; there are {', '.join(pair.name for pair in PAIRS)}")
    report = Report()
    pairs = [pair for pair in PAIRS if not options.only or pair.name in options.only]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # most of the programs that they run use one thread
        for job in [pool.submit(check_pair, report, options.program, options.data, pair, options.limit, options.full)
                    for pair in sorted(pairs, key=lambda pair: pair.name not in LARGE)]:
            job.result()
    print(", ".join(f"{count} {verdict}" for verdict, count in report.counts.items()))
    return 1 if report.counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
