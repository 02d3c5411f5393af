"""Top-1 of narrow weights: the float network, nearest codes and reconstructed ones, as exact integer programs, for all labelled pairs.

Usage: low_bits.py PROGRAM DATA [--hw cortex-m] [--bits 4,3,2] [--only NAME]... [--threads N] [-- OPTION...]
PROGRAM is the intaglio program, DATA the folder that holds models/, mnist/, cifar10/...; OPTIONs go to `intaglio simulate`.
Activations have 8 bits. Seconds are those of `simulate` with reconstruction: calibration, codes, comparison. Thresholds and codes are
made from the pairs' calibration samples; the figures are of their test samples, which choose nothing.
Prints a Markdown table, with AIMET's figures beside the networks for which they are known. Standard library only.
"""
import argparse
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "pairs"))
import check_pairs  # noqa: E402

# AIMET 2.42 on the same files: float fake quantization, 8 bits of activations, weights per channel; top-1 and seconds (busy machine).
AIMET = {
    ("resnet8", 4): "SeqMSE 78.57, AdaRound 79.57 (1143 s)",
    ("resnet8", 3): "SeqMSE 75.57 (7 s), AdaRound 78.06 (48 s)",
    ("mbv2", 4): "SeqMSE 80.06, AdaRound 80.77 (203 s)",
}


def measure(options, pair, files, folder, bits, recover):
    """(top-1 in percent, seconds of simulate)."""
    strategy, artefact = os.path.join(folder, "strategy.json"), os.path.join(folder, "program.itg")
    threads = ["--threads", str(options.threads)]
    begun = time.monotonic()
    check_pairs.call(options.program, "simulate", files.model, "--uniform", "8", "--weight-bits", str(bits), "--hw", options.hw,
                     "--recover", recover, "--calib", files.calibration, *pair.preprocessing, "--data", files.samples, "--limit", "1",
                     *threads, *options.words, "-o", strategy)
    seconds = time.monotonic() - begun
    check_pairs.call(options.program, "realize", files.model, strategy, "-o", artefact)
    run = check_pairs.call(options.program, "run", artefact, "--data", files.samples, "--labels", files.labels, *threads)
    return check_pairs.points(run["top1"]), seconds


def row(options, pair):
    files = check_pairs.Files(os.path.join(options.data, "models", pair.model + ".onnx"),
                              *(os.path.join(options.data, file) for file in pair.data))
    cells = [pair.name, f"{pair.float_top1:.2f}"]
    for bits in options.bits:
        with tempfile.TemporaryDirectory() as folder:
            try:
                nearest, _ = measure(options, pair, files, folder, bits, "none")
                auto, seconds = measure(options, pair, files, folder, bits, "auto")
                cells.append(f"{nearest:.2f}, {auto:.2f} ({auto - pair.float_top1:+.2f}; {seconds:.1f} s)")
            except check_pairs.Failed as failure:
                cells.append(f"failed: {failure}")
    cells.append("; ".join(f"{bits} bits: {AIMET[pair.name, bits]}" for bits in options.bits if (pair.name, bits) in AIMET))
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--hw", default="cortex-m")
    parser.add_argument("--bits", default="4,3,2", type=lambda text: [int(word) for word in text.split(",")])
    parser.add_argument("--only", action="append", choices=[pair.name for pair in check_pairs.PAIRS])
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args(words[:split])
    options.words = words[split + 1:]
    widths = [f"{bits} bits: nearest, reconstructed" for bits in options.bits]
    print("| " + " | ".join(["pair", "float", *widths, "AIMET"]) + " |")
    print("|" + "---|" * (len(widths) + 3))
    for pair in check_pairs.PAIRS:
        if not options.only or pair.name in options.only:
            row(options, pair)


if __name__ == "__main__":
    main()
