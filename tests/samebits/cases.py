"""What is emitted: a network, a target, and a strategy whose widths follow a rule."""
import collections
import json
import os

from check_pairs import call

TARGETS = ("cortex-m", "vta", "cvm", "fpga")
# name; bits of activations; widths that weights take by turns, in the order of the edges (an empty tuple: 8, as activations); whether
# the target is changed so that weights have zero points.
Style = collections.namedtuple("Style", "name activation_bits weight_bits zero_points", defaults=(False,))
UNIFORM = Style("uniform 8", 8, ())
MIXED = Style("mixed", 7, tuple(range(2, 9)))
WIDE = Style("16-bit activations", 16, tuple(range(8, 1, -1)))
WIDER = Style("16-bit both", 16, tuple(range(16, 1, -1)))
SIGNS = Style("one bit", 8, (1, 3, 1, 1, 8))
ZEROS = Style("zero points", 7, tuple(range(2, 9)), True)
STYLES = {"cortex-m": (UNIFORM, MIXED, WIDE, ZEROS), "vta": (UNIFORM, MIXED), "cvm": (UNIFORM, MIXED, WIDER), "fpga": (SIGNS,)}
# Without --full every network takes the mixed strategy for cortex-m, and one of these by turns.
BY_TURNS = (("cortex-m", UNIFORM), ("cortex-m", ZEROS), ("vta", MIXED), ("cortex-m", WIDE), ("fpga", SIGNS), ("cvm", WIDER))
FOLDER = os.path.dirname(os.path.abspath(__file__))
CALIBRATION = 32  # samples

Case = collections.namedtuple("Case", "pair target style turn")


def cases_of(pair, turn, full):
    """The cases of one network, turn being its number. What check_pairs.py holds to other targets alone is for cortex-m here."""
    targets = [target for target in TARGETS if target in pair.targets] or ["cortex-m"]
    chosen = [(target, style) for target in targets for style in STYLES[target]] if full else [("cortex-m", MIXED), BY_TURNS[turn % len(BY_TURNS)]]
    return [Case(pair, target, style, 2 * turn + k) for k, (target, style) in enumerate(chosen) if target in targets]


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def hardware_of(case, folder):
    """The case's target: a name, or the file of a changed one."""
    if not case.style.zero_points:
        return case.target
    hardware = read_json(os.path.join(FOLDER, "..", "..", "hardware", "targets", case.target + ".json"))
    for name in ("w8", "w7"):
        hardware["dtypes"][name].update(zero_point=True, full_range=False)
    path = os.path.join(folder, "hardware.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(hardware, file)
    return path


def make_strategy(program, case, files, folder):
    """(path of the strategy, widths of the weights that it has). The k-th edge that takes the width of weights gets the style's width
    number k + turn."""
    style, path = case.style, os.path.join(folder, "strategy.json")
    options = ["--hw", hardware_of(case, folder), "--calib", files.calibration, "--calib-limit", str(CALIBRATION), *case.pair.preprocessing,
               "--data", files.samples, "--limit", "1", "--uniform", "8", "--activation-bits", str(style.activation_bits),
               "--recover", "none"]  # codes would be of 8 bits, whatever the widths become
    call(program, "simulate", files.model, *options, "--weight-bits", "8", "-o", path)
    strategy = read_json(path)
    other = os.path.join(folder, "other.json")
    call(program, "simulate", files.model, *options, "--weight-bits", "7", "-o", other)
    bits = strategy["strategy"]["bits"]
    weights = [i for i, (a, b) in enumerate(zip(bits, read_json(other)["strategy"]["bits"])) if a != b]
    for k, edge in enumerate(weights if style.weight_bits else []):
        bits[edge] = style.weight_bits[(k + case.turn) % len(style.weight_bits)]
        threshold = strategy["strategy"]["thresholds"][edge]
        if "zero_points" in threshold:  # they are codes: of 8 bits until here
            threshold["zero_points"] = [z * (2 ** bits[edge] - 1) // 255 for z in threshold["zero_points"]]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(strategy, file)
    return path, {bits[edge] for edge in weights}
