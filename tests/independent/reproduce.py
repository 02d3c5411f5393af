"""Computes a strategy's outputs again, in a second implementation that follows docs/*.md and shares no code with Intaglio.

Usage: python3 reproduce.py MODEL STRATEGY DATA [LABELS] [--limit N]
Prints one JSON line: {"samples": .., "top1": .. (with LABELS), "digest": ".."}. Needs numpy only.
"""
import argparse
import gzip
import hashlib
import json
import os
import sys

import numpy as np

from annotate import Mismatch, Plan
from execute import Program
from graph_hash import graph_hash
from infer import Unsupported
from prepare import prepare

BATCH = 32


def read_data(text, limit):
    """Arrays by input: of an .npz with several, or of INPUT=FILE,INPUT=FILE; one array is for the only input, None."""
    if os.path.exists(text) and text.endswith(".npz") and len(np.load(text).files) > 1:
        made = dict(np.load(text))
    elif not os.path.exists(text) and "=" in text:
        made = {name: read_array(path) for name, _, path in (item.partition("=") for item in text.split(","))}
    else:
        made = {None: read_array(text)}
    return {name: array[:limit] for name, array in made.items()}


def read_array(path):
    """.npy, .npz ("file.npz:array"), IDX, plain or gzip."""
    path, _, name = path.partition(".npz:")
    with open(path + ".npz" if name else path, "rb") as file:
        head = file.read(4)
        file.seek(0)
        if head == b"\x93NUM":
            return np.load(file)
        if head[:2] == b"PK":
            arrays = np.load(file)
            return arrays[name or arrays.files[0]]
        data = gzip.decompress(file.read()) if head[:2] == b"\x1f\x8b" else file.read()
    kinds = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
    rank = data[3]
    shape = np.frombuffer(data, ">i4", rank, 4)
    return np.frombuffer(data, kinds[data[2]], -1, 4 + 4 * rank).reshape(shape)


def number(value):
    return np.float32(float.fromhex(value) if isinstance(value, str) else value)


def preprocess(p, x, value):
    """docs/strategy-file.md, Preprocessing."""
    layout = p.get("layout", "same")
    axis = x.ndim - 1 if layout == "nhwc" else 1
    if p.get("bgr"):
        x = np.flip(x, axis)
    channels = [-1 if i == axis else 1 for i in range(x.ndim)]
    if np.dtype(value.dtype) == np.float32:
        x = x.astype(np.float32) * number(p.get("scale", 1))
        if p.get("mean"):
            x = x - np.array([number(v) for v in p["mean"]]).reshape(channels)
        if p.get("std"):
            x = x / np.array([number(v) for v in p["std"]]).reshape(channels)
        if not p.get("allow_nonfinite") and not np.isfinite(x).all():
            raise Mismatch("the data has elements that are not finite")
    elif (x != x.astype(value.dtype)).any():
        raise Mismatch("the data does not fit an input of %s" % value.dtype)
    else:
        x = x.astype(value.dtype)
    if layout != "same":
        x = np.moveaxis(x, axis, 1 if layout == "nhwc" else -1)
    return np.ascontiguousarray(x).reshape((len(x),) + value.shape)


def samples_of(p, data, inputs, first):
    """The inputs' arrays of one batch."""
    names = p.get("inputs", "").split(",")
    rest = {key: value for key, value in p.items() if key == "allow_nonfinite"}
    for value in inputs:
        x = data[value.name if value.name in data else None][first:first + BATCH]
        yield preprocess(p if len(inputs) == 1 or value.name in names else rest, x, value)


def classes_of(output):
    flat = output.reshape(len(output), -1)
    return flat[:, 0] if output.dtype == np.int64 and flat.shape[1] == 1 else flat.argmax(1)


def reproduce(model, strategy, data, labels):
    with open(strategy, encoding="utf-8") as file:
        made = json.load(file)
    with open(model, "rb") as file:
        if hashlib.sha256(file.read()).hexdigest() != made["strategy"]["model_hash"]:
            raise Mismatch("the strategy was made for another model")
    g = prepare(model)
    if graph_hash(g) != made["strategy"]["graph_hash"]:
        raise Mismatch("the prepared graph differs")
    program, digest, classes = Program(Plan(g, made, os.path.dirname(strategy))), hashlib.sha256(), []
    count = len(next(iter(data.values())))
    for first in range(0, count, BATCH):
        samples = list(samples_of(made["preprocessing"], data, g.inputs, first))
        outputs = program.run(samples)
        classes.extend(classes_of(outputs[0]))
        for i in range(len(samples[0])):
            for output in outputs:
                digest.update(output[i].astype(output.dtype.newbyteorder("<")).tobytes())
    result = {"samples": count}
    if labels is not None:
        result["top1"] = float(np.mean(np.array(classes) == labels.reshape(-1)))
    result["digest"] = digest.hexdigest()
    return result


def main():
    parser = argparse.ArgumentParser()
    for name in ("model", "strategy", "data"):
        parser.add_argument(name)
    parser.add_argument("labels", nargs="?")
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    data = read_data(options.data, options.limit)
    labels = read_array(options.labels)[:options.limit] if options.labels else None
    try:
        print(json.dumps(reproduce(options.model, options.strategy, data, labels)))
    except (Mismatch, Unsupported) as error:
        sys.exit("reproduce.py: %s" % error)


if __name__ == "__main__":
    main()
