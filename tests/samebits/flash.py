"""Flash that a searched network takes beside its 8-bit form: code, weights and constants, linked for Cortex-M."""
import os
import tempfile

from builds import flash_bytes
from check_pairs import PAIRS, Failed, call

DROP = "1%"
NAME = "net"
# Share of the 8-bit form's flash that the searched one may take. Of mnist_onnxjs, a network of 5,960 weights, 2 kB are code either way.
MAY_TAKE = {"mnist_256x2": 0.5, "mnist_onnxjs": 0.71}
BUILDS = (("cortex-m3", "-Os"), ("cortex-m3", "-O2"), ("cortex-m4", "-Os"), ("cortex-m4", "-O2"))


def emit(program, pair, root, folder):
    """Folders of the searched and the 8-bit form, and the bits of the former's weights on average."""
    model = os.path.join(root, "models", pair.model + ".onnx")
    samples, labels, calibration = (os.path.join(root, file) for file in pair.data)
    searched, uniform = os.path.join(folder, "searched"), os.path.join(folder, "uniform")
    call(program, "search", model, "--hw", "cortex-m", "--max-drop", DROP, *pair.preprocessing, "--data", samples, "--labels", labels,
         "-o", searched + ".json", "-q")
    call(program, "simulate", model, "--hw", "cortex-m", "--uniform", "8", *pair.preprocessing, "--calib", calibration, "--data", samples,
         "--limit", "1", "-o", uniform + ".json")
    weight_bytes = [call(program, "realize", model, path + ".json", "--emit", "c", "-o", path, "--name", NAME)["weight_bytes"]
                    for path in (searched, uniform)]
    return searched, uniform, 8 * weight_bytes[0] / weight_bytes[1]


def check_flash(program, root):
    """(passed, failed). Prints a table."""
    passed = failed = 0
    print(f"\nFlash, searched with --max-drop {DROP} for cortex-m, and uniform 8 bits; bytes of code, weights and constants:")
    for pair in PAIRS:
        if pair.name not in MAY_TAKE or not os.path.exists(os.path.join(root, "models", pair.model + ".onnx")):
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                searched, uniform, bits = emit(program, pair, root, folder)
                for cpu, level in BUILDS:
                    a, b = (flash_bytes(cpu, level, path, NAME) for path in (searched, uniform))
                    good = a < MAY_TAKE[pair.name] * b
                    passed, failed = passed + good, failed + (not good)
                    print(f"  {pair.name:14}{cpu} {level}  {bits:.2f} bits {a:8,}  8 bits {b:8,}  {a / b:.3f}"
                          f"{'' if good else '  FAILED'}, may take {MAY_TAKE[pair.name]}", flush=True)
        except Failed as failure:
            failed += 1
            print(f"  {pair.name}: FAILED {failure}", flush=True)
    return passed, failed
