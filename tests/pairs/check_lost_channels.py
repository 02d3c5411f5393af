"""MobileNets most of whose 1x1 channels have lost their weights and kept their biases: 8 bits must do for them what they do for the
same network with these weights set to 0. check_lost_channels.py INTAGLIO FOLDER (needs numpy; exit 77 without it)."""
import json
import os
import subprocess
import sys

try:
    import numpy  # noqa: F401
except ImportError:
    print("skipped: numpy is needed")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "independent"))
from make_models import mobilenet  # noqa: E402

TARGETS = ("x86-vnni", "cortex-m", "vta", "cvm", "avr")
LEAST_DB = 25  # with the weights set to 0, 31 to 44 were seen


def command(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip()}


def quality(intaglio, folder, name, target):
    model, data, strategy = (os.path.join(folder, name + end) for end in (".onnx", ".npy", ".json"))
    program = os.path.join(folder, name + ".itg")
    scored = command(intaglio, "simulate", model, "--definition", "--uniform", "8", "--hw", target, "--calib", data, "--data", data,
                     "-o", strategy, "--json")
    if "error" in scored:
        return scored["error"]
    made = command(intaglio, "realize", model, strategy, "-o", program, "--json")
    if "error" in made:
        return made["error"]
    ran = command(intaglio, "run", program, "--data", data, "--json")
    return scored["sqnr_db"] if ran.get("digest") == scored["digest"] else "run gives another digest than simulate"


def check(intaglio, folder, seed, target):
    """Lines that say what is wrong. Weights of 1e-30 are lost for float32 too; at 1e-9 they are only far too small to matter."""
    names = {factor: "mobilenet_%d_%s" % (seed, factor) for factor in ("0", "1e-30", "1e-9")}
    found = {factor: quality(intaglio, folder, name, target) for factor, name in names.items()}
    print("seed %d on %-8s  %s" % (seed, target, "  ".join("%s: %s" % (f, q if isinstance(q, str) else "%.2f dB" % q) for f, q in found.items())))
    wrong = [q for q in found.values() if isinstance(q, str)]
    if wrong:
        return wrong
    bounds = {"0": LEAST_DB, "1e-30": found["0"] - 1, "1e-9": LEAST_DB}
    return ["weights times %s: %.2f dB, at least %.2f expected" % (f, found[f], least) for f, least in bounds.items() if not found[f] >= least]


def main():
    intaglio, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    wrong = []
    for seed in (1, 2):
        for factor in ("0", "1e-30", "1e-9"):
            mobilenet(folder, "mobilenet_%d_%s" % (seed, factor), seed, float(factor))
        for target in TARGETS:
            wrong += check(intaglio, folder, seed, target)
    print("\n".join(wrong))
    print("%d failed" % len(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
