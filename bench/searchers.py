"""Compares searchers: pairs of networks and data, equal numbers of evaluations, several seeds. searchers.py --help

Each run is a line of JSON in a file, and a run that is there is not run again: the comparison can be made in pieces, and a new
searcher is compared with the old lines. scripts/bench_search.sh makes the environment."""

import argparse
import collections
import importlib.util
import json
import math
import os
import statistics
import sys

import intaglio

# name: model, search data and labels, hold-out and its labels, preprocessing (below ../shared/data)
CIFAR = intaglio.Preprocess(scale=1 / 255, mean=[0.4914, 0.4822, 0.4465], std=[0.2470, 0.2435, 0.2616])
CIFAR_FILES = tuple(f"cifar10/{part}.npy" for part in ("search_images_u8", "search_labels", "test_images_u8", "test_labels"))
MNIST_FILES = tuple(
    f"{{}}/{part}-ubyte.gz" for part in ("calib-images-idx3", "calib-labels-idx1", "test-images-idx3", "test-labels-idx1")
)
PAIRS = {
    "resnet8": ("resnet8_cifar10", CIFAR_FILES, CIFAR),
    "mbv2": ("mbv2_cifar10", CIFAR_FILES, CIFAR),
    "fashion": ("fashion_shahjahan", [name.format("fashion_mnist") for name in MNIST_FILES],
                intaglio.Preprocess(scale=1 / 255, mean=[0.5], std=[0.5])),
}
# For one cost; exhaustive has too many points, sweep and evolve are for fronts, sensitivity searches nothing.
BUILT_IN = [n for n in intaglio.searchers() if n not in ("exhaustive", "sensitivity", "sweep", "evolve")]
UNIFORM = {f"uniform-{bits}": bits for bits in (8, 6, 5, 4)}


class Amp:
    """As AIMET's automatic mixed precision: a pass over each choice alone, a list of all of them from what loses least to what
    loses most, and bisection for the longest beginning of this list that keeps the floor. The pass has as many of the widths
    6, 4, 5, 3 of each group as the evaluations are enough for. Widths whose first change saves nothing are left alone."""

    outstanding = 1

    def begin(self, space):
        self.space, self.top = space, [len(d.values) - 1 if d.ordered else 0 for d in space.dimensions]
        self.groups = [d for d, dim in enumerate(space.dimensions) if dim.ordered and dim.values[-1] <= 8]
        self.plan, self.moves, self.script = [], [], self.run()
        self.asked = next(self.script)

    def run(self):
        """Yields points, and is sent outcomes."""
        widest = yield self.top
        room = (self.space.trials or 200) - 2 - math.ceil(math.log2(4 * len(self.groups) + 1))
        idle = set()
        for bits in (6, 4, 5, 3)[: max(1, room // max(1, len(self.groups)))]:
            for d in self.groups:
                if d in idle or bits not in self.space.dimensions[d].values:
                    continue
                levels = list(self.top)
                levels[d] = self.space.dimensions[d].values.index(bits)
                outcome = yield levels
                if not outcome.feasible or outcome.cost >= widest.cost:
                    idle.add(d)
                    continue
                self.moves.append((widest.quality - outcome.quality, outcome.distortion or 0, -bits, d, levels[d]))
        self.moves.sort()
        good, bad = 0, len(self.moves) + 1
        while bad - good > 1:
            middle = (good + bad) // 2
            outcome = yield self.after(middle)
            if outcome.feasible and outcome.quality >= self.space.quality_floor:
                good = middle
            else:
                bad = middle

    def after(self, count):
        levels = list(self.top)
        for _, _, _, d, level in self.moves[:count]:
            levels[d] = min(levels[d], level)
        return levels

    def ask(self):
        if self.asked is None:
            raise StopIteration
        return self.asked

    def tell(self, levels, outcome):
        try:
            self.asked = self.script.send(outcome)
        except StopIteration:
            self.asked = None


class OptunaTpe:
    """Optuna's TPE with its defaults: an integer a width, a category a method, the floor and the limits as constraints."""

    outstanding = 1

    def __init__(self, seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.optuna = optuna
        sampler = optuna.samplers.TPESampler(seed=seed, constraints_func=lambda trial: trial.user_attrs["constraints"])
        self.study = optuna.create_study(sampler=sampler)

    def begin(self, space):
        self.space = space
        self.study.enqueue_trial({str(d): len(dim.values) - 1 if dim.ordered else 0 for d, dim in enumerate(space.dimensions)})

    def ask(self):
        self.trial = self.study.ask()
        return [
            self.trial.suggest_int(str(d), 0, len(dim.values) - 1)
            if dim.ordered
            else self.trial.suggest_categorical(str(d), range(len(dim.values)))
            for d, dim in enumerate(self.space.dimensions)
        ]

    def tell(self, levels, outcome):
        if not outcome.feasible:
            self.trial.set_user_attr("constraints", (1.0, 1.0))
            self.study.tell(self.trial, state=self.optuna.trial.TrialState.FAIL)
            return
        self.trial.set_user_attr("constraints", (self.space.quality_floor - outcome.quality, outcome.violation))
        self.study.tell(self.trial, outcome.cost)


def hypervolume(result):
    """Of top-1 and weight bytes on the search samples: the share of the box from the float network's top-1 and no bytes to ten
    points less and 1.1 times the bytes of uniform 8 bits, as `intaglio runs front` has it."""
    floats, most = result.search_float_score["top1"], 1.1 * result.uniform8_score["weight_bytes"]
    points = sorted(
        (t["weight_bytes"] / most, min(1.0, (floats - t["top1"]) / 0.1)) for t in result.trials if t["feasible"] and "top1" in t
    )
    area, lost = 0.0, 1.0
    for size, loss in points:
        if size < 1 and max(loss, 0.0) < lost:
            area += (1 - size) * (lost - max(loss, 0.0))
            lost = max(loss, 0.0)
    return area


def run(pair, name, evaluations, seed, options):
    model, files, preprocess = PAIRS[pair]
    data, labels, holdout, holdout_labels = (os.path.join(options.data, file) for file in files)
    bits = UNIFORM.get(name)
    own = Amp() if name == "amp" else OptunaTpe(seed) if name == "optuna-tpe" else "greedy" if bits else name
    widths = {"weight_bits": bits, "activation_bits": 8} if bits else {}
    if bits:
        evaluations = 1
    result = intaglio.search(
        intaglio.Model(os.path.join(options.data, "models", model + ".onnx")), "cortex-m", data, labels, holdout=holdout,
        holdout_labels=holdout_labels, preprocess=preprocess, searcher=own, trials=evaluations, seed=seed, max_drop=0.01,
        no_racing=True, threads=options.threads, progress=False, **widths,
    )
    score, floats = result.best_score, result.float_score
    return {
        "pair": pair, "searcher": name, "evaluations": evaluations, "seed": seed, "trials": len(result.trials),
        "bytes": score["weight_bytes"], "drop": 100 * (floats["top1"] - score["top1"]), "met": result.goal_met,
        "hypervolume": hypervolume(result), "uniform8_bytes": result.uniform8_score["weight_bytes"],
    }


def known_runs(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def key_of(row):
    return row["pair"], row["searcher"], row["evaluations"], row["seed"]


def cell(rows):
    """Mean bytes and mean drop on the hold-out over the seeds; how many seeds met the goal, where not all did."""
    met = sum(row["met"] for row in rows)
    text = f"{statistics.mean(row['bytes'] for row in rows):,.0f} / {statistics.mean(row['drop'] for row in rows):.2f}"
    return text if met == len(rows) else f"{text} ({met} of {len(rows)} met)"


def table(rows):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["pair"], row["searcher"], row["evaluations"]].append(row)
    counts = sorted({row["evaluations"] for row in rows if row["evaluations"] > 1})
    for pair in sorted({row["pair"] for row in rows}):
        names = {row["searcher"] for row in rows if row["pair"] == pair}
        print(f"\n**{pair}**\n")
        print("| searcher | seeds | " + " | ".join(f"{count}" for count in counts) + f" | hypervolume at {counts[-1]} |")
        print("|---|---|" + "---|" * (len(counts) + 1))
        for name in sorted(names, key=lambda name: (*UNIFORM, "amp", "optuna-tpe", *BUILT_IN).index(name)):
            known = [groups[pair, name, n] for n in ([1] if name in UNIFORM else counts)]
            cells = [cell(group) if group else "" for group in known] + [""] * (len(counts) - len(known))
            last = [] if name in UNIFORM else known[-1]
            volume = f"{statistics.mean(row['hypervolume'] for row in last):.3f}" if last else ""
            print(f"| {name} | {min(len(group) for group in known)} | " + " | ".join(cells) + f" | {volume} |")


def main():
    named = [*UNIFORM, "amp", *["optuna-tpe"] * (importlib.util.find_spec("optuna") is not None), *BUILT_IN]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="../shared/data", help="the folder of networks and data")
    parser.add_argument("--pair", nargs="+", default=["resnet8", "mbv2"], choices=PAIRS)
    parser.add_argument("--searcher", nargs="+", default=named, help=", ".join(named))
    parser.add_argument("--evaluations", type=int, nargs="+", default=[25, 50, 100, 200])
    parser.add_argument("--seed", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--out", default="build/bench/searchers.jsonl", help="the file of all runs")
    parser.add_argument("--table", action="store_true", help="only print the table of the runs that are there")
    options = parser.parse_args()
    if not options.table:
        done = {key_of(row) for row in known_runs(options.out)}
        for seed in options.seed:
            for pair in options.pair:
                for name in options.searcher:
                    for evaluations in [1] if name in UNIFORM else options.evaluations:
                        if (pair, name, evaluations, seed) in done:
                            continue
                        row = run(pair, name, evaluations, seed, options)
                        with open(options.out, "a", encoding="utf-8") as file:
                            print(json.dumps(row), file=file)
                        print(row, file=sys.stderr)
    table(known_runs(options.out))


if __name__ == "__main__":
    main()
