"""docs/strategy-file.md, Weight codes. As a program: gives a strategy codes that are not the nearest.

Usage: codes.py MODEL STRATEGY SEED: moves codes of the strategy's weights to a neighbour, and their biases a little, and writes
           both files again.
       codes.py MODEL STRATEGY PROGRAM.itg: compares the program's weights (docs/artefact.md) with the strategy's.
"""
import hashlib
import json
import os
import sys

import numpy as np


def held(made):
    """The edges whose codes are in the file, in order."""
    return [e for e, t in enumerate(made["strategy"]["thresholds"]) if t and t.get("codes")]


def unpack(packed, bits, count):
    flat = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little")
    codes = flat[:count * bits].reshape(count, bits).astype(np.int64) << np.arange(bits)
    codes = codes.sum(1)
    if flat[count * bits:].any():
        raise ValueError("bits behind the last code")
    if bits == 1:
        return 1 - 2 * codes
    return np.where(codes >= 1 << (bits - 1), codes - (1 << bits), codes)


def pack(codes, bits):
    if bits == 1:
        codes = codes < 0
    return np.packbits((codes[:, None] >> np.arange(bits) & 1).astype(np.uint8).reshape(-1), bitorder="little").tobytes()


def read(made, folder, edges):
    """{edge number: codes of the weight, in the order of its elements}"""
    numbers, given, at = held(made), {}, 0
    if not numbers and "codes" not in made["strategy"]:
        return given
    about = made["strategy"]["codes"]
    with open(os.path.join(folder, about["file"]), "rb") as file:
        packed = file.read()
    if hashlib.sha256(packed).hexdigest() != about["sha256"]:
        raise ValueError("the file of codes has another hash")
    for e in numbers:
        bits, count = edges[e].bits, edges[e].value.data.size
        size = (count * bits + 7) // 8
        given[e] = unpack(packed[at:at + size], bits, count)
        at += size
    if at != len(packed):
        raise ValueError("the file of codes has another length")
    return given


def weights(node, constants):
    """What slot 1 of an artefact's node reads: docs/artefact.md, packed constants."""
    array, attrs = constants[node["inputs"][1]], node["attrs"]
    if "x1_dtype" not in attrs:
        return array
    count = int(np.prod(attrs["x1_shape"]))
    if array.dtype != np.uint8 or array.shape != ((count * attrs["x1_bits"] + 7) // 8,):
        raise ValueError("packed weights of another length")
    return unpack(array.tobytes(), attrs["x1_bits"], count).reshape(attrs["x1_shape"])


def compare(plan, program):
    import onnx_file
    file = onnx_file.read(program)
    nodes = {n["name"]: n for n in file["nodes"] if n["op"] in ("IntConv", "IntMatMul", "FloatConv", "FloatMatMul", "FloatGemm")}
    for node, mac in [*plan.macs.items(), *plan.float_weights.items()]:
        found = weights(nodes[node.name], file["constants"])
        if nodes[node.name]["op"] == "FloatMatMul":
            found = mac.by_rows(found)
        if not np.array_equal(found.reshape(mac.codes.shape), mac.codes):
            sys.exit("codes.py: weights of %s differ" % node.name)
        if mac.q.bits < 8 and mac.below is None and "x1_dtype" not in nodes[node.name]["attrs"]:
            sys.exit("codes.py: weights of %s are not packed" % node.name)


def rewrite(strategy, made, plan, choose):
    """Gives every weight the codes that choose(edge, mac) returns, [channels][depth], with biases or None; writes both files again."""
    packed = b""
    for e, edge in enumerate(plan.edges):
        if edge.kind != "weight":
            continue
        mac = plan.macs.get(edge.node) or plan.float_weights[edge.node]
        codes, bias = choose(edge, mac)
        made["strategy"]["thresholds"][e]["codes"] = True
        if bias is not None:
            made["strategy"]["thresholds"][e]["bias"] = [float(b).hex() for b in bias]
        codes = mac.counted(codes)
        packed += pack((codes.T if edge.node.op == "MatMul" else codes).reshape(-1).astype(np.int64), edge.bits)
    made["strategy"]["codes"] = {"file": os.path.basename(strategy) + ".codes", "sha256": hashlib.sha256(packed).hexdigest()}
    with open(strategy + ".codes", "wb") as file:
        file.write(packed)
    with open(strategy, "w", encoding="utf-8") as file:
        json.dump(made, file)


def open_plan(model, strategy):
    from annotate import Plan
    from prepare import prepare
    with open(strategy, encoding="utf-8") as file:
        made = json.load(file)
    return made, Plan(prepare(model), made, os.path.dirname(strategy))


def main():
    model, strategy = sys.argv[1:3]
    made, plan = open_plan(model, strategy)
    if not sys.argv[3].isdigit():
        return compare(plan, sys.argv[3])
    rng = np.random.default_rng(int(sys.argv[3]))

    def moved(edge, mac):
        moves = rng.integers(-1, 2, mac.codes.shape)
        codes = np.stack([np.clip(mac.codes[c] + moves[c], *mac.span(c)) for c in range(mac.channels)])
        if mac.q.bits == 1:
            codes = np.where(moves > 0, -mac.codes, mac.codes)
        bias = (mac.real_bias + rng.normal(0, 0.05, mac.channels)).astype(np.float32)
        fits = np.abs(bias).max() < 100 and all(mac.takes_bias(c, float(bias[c])) for c in range(mac.channels))
        return codes, bias if fits else None

    rewrite(strategy, made, plan, moved)


if __name__ == "__main__":
    main()
