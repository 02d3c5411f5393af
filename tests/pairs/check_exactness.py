"""Nothing but the seed and the inputs decides: digests and trial lists on real networks, whatever computes them and however.

Usage: check_exactness.py PROGRAM DATA [--full] [--only NAME]...
Of every pair of model and data, on targets of its own: the program's digest with every kernel set of this machine, one and two
threads and odd block sizes is the digest of simulation; and a short search tries the same points with the same outcomes, and writes
the same strategy file, without racing, without kept activations, with each kernel set, with one thread and with odd blocks. Searchers
take turns. Without --full a pair takes some of its targets, a target two of the searches' variations, and every other pair recovers
weights on cortex-m, by turns, so that all occur.
Standard library only. Ends with "N passed, M failed, K skipped"; status 1 if anything failed.
"""
import argparse
import functools
import itertools
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from check_pairs import PAIRS, Failed, Files, Report, targets_of

ABSENT = "this machine does not run it"  # what doctor says of a kernel set
SEARCHERS = ("hybrid", "greedy", "anneal", "random", "hago-greedy", "exhaustive", "sweep", "evolve", "surrogate")
SAMPLES, SEARCH_SAMPLES, TRIALS = 24, 40, 14
EXHAUSTIVE = ["--weight-bits", "7:8", "--activation-bits", "8:8", "--input-bits", "8:8", "--output-bits", "8:8"]
# What an exhaustive search may refuse: too many points, or a target whose accumulators have no room for 8-bit activations somewhere.
TOO_NARROW_OR_WIDE = ("takes spaces of at most", "has no width within 8..8 bits")
LARGE = ("squeezenet",)  # networks that take a second an image in simulation
LARGE_SAMPLES, LARGE_TRIALS = 2, 4


def intaglio(program, words, kernels=None):
    environment = {**os.environ, **({"INTAGLIO_KERNELS": kernels} if kernels else {})}
    return subprocess.run([program, *words], capture_output=True, text=True, env=environment)


def output(program, words, kernels=None):
    result = intaglio(program, words, kernels)
    if result.returncode not in (0, 1, 3) or not result.stdout.lstrip().startswith("{"):
        raise Failed(f"intaglio {words[0]} ended with {result.returncode}: {result.stderr.strip()[-300:]}")
    return json.loads(result.stdout)


@functools.cache
def kernel_sets(program):
    """Those that this machine has, proven or not."""
    findings = output(program, ["doctor", "--json"])["findings"]
    sets = [finding["name"].removeprefix("kernels ") for finding in findings
            if finding["name"].startswith("kernels ") and finding["name"] != "kernels in use" and finding["found"] != ABSENT]
    if not {"reference", "portable"} < set(sets):
        raise Failed(f"doctor lists no kernel sets beside {', '.join(sets)}")
    return sets


def check_digests(program, pair, files, target, folder, samples):
    strategy, artefact = os.path.join(folder, "strategy.json"), os.path.join(folder, "program.itg")
    data = ["--data", files.samples, "--labels", files.labels, "--limit", str(samples)]
    expected = output(program, ["simulate", files.model, "--definition", "--uniform", "8", "--hw", target, "--calib",
                                files.calibration, "--calib-limit", "32", *pair.preprocessing, *data, "-o", strategy, "--json"])["digest"]
    output(program, ["realize", files.model, strategy, "-o", artefact, "--json"])
    sets, runs = kernel_sets(program), 0
    for name, (threads, block) in itertools.product(sets, ((1, 0), (2, 5), (2, 1))):
        found = output(program, ["run", artefact, *data, "--json", "--threads", str(threads), "--block", str(block)], name)["digest"]
        runs += 1
        if found != expected:
            raise Failed(f"simulate gives {expected[:12]}; {name} kernels, {threads} threads, blocks of {block or 'any size'}: {found[:12]}")
    return f"digest {expected[:12]} of {samples}, {runs} runs with {', '.join(sets)}"


def variations(sets):
    """(name, options, kernel set); the first is what the others are compared with."""
    two = ["--threads", "2"]
    yield "default", two, None
    yield "no racing", ["--no-racing", *two], None
    yield "nothing kept", ["--cache-mb", "0", *two], None
    yield "one thread", ["--threads", "1"], None
    yield "blocks of 3", ["--block", "3", *two], None
    for name in sets:
        yield name + " kernels", two, name


def search(program, pair, files, target, folder, searcher, small, recover, variation):
    """(trials, strategy file's bytes or None)"""
    name, options, kernels = variation
    strategy, database = os.path.join(folder, "found.json"), os.path.join(folder, "runs.db")
    for path in (strategy, database):
        if os.path.exists(path):
            os.remove(path)
    narrow = EXHAUSTIVE if searcher == "exhaustive" else ["--threshold", "max,mse"]
    samples, trials = (LARGE_SAMPLES, LARGE_TRIALS) if small else (SEARCH_SAMPLES, TRIALS)
    output(program, ["search", files.model, "--hw", target, *pair.preprocessing, "--data", files.samples, "--labels", files.labels, "--limit",
                     str(4 * samples), "--calibration-samples", str(samples), "--search-samples", str(samples), "--searcher", searcher,
                     "--trials", str(trials), "--recover", recover, *options, *narrow, "--db", database, "-o", strategy, "--json"], kernels)
    run = output(program, ["runs", "show", "1", "--trials", "--json", "--db", database])
    found = None
    if os.path.exists(strategy):
        with open(strategy, "rb") as file:
            found = file.read()
    return run["trial_list"], run["best_trial"], found


def same_trial(a, b):
    """What a trial that was stopped early leaves open (null) is not compared."""
    skip = {"seconds"}
    for trial in (a, b):
        if trial.get("stopped_at") is not None:
            skip |= {"samples", "stopped_at", "quality_at_most", *(key for key, value in trial.items() if value is None)}
    return {k: v for k, v in a.items() if k not in skip} == {k: v for k, v in b.items() if k not in skip}


def compare(name, expected, found):
    trials, best, strategy = expected
    if len(found[0]) != len(trials):
        raise Failed(f"{name}: {len(found[0])} trials, expected {len(trials)}")
    for a, b in zip(trials, found[0]):
        if not same_trial(a, b):
            raise Failed(f"{name}: trial {a['number']} differs: {json.dumps(a)} {json.dumps(b)}")
    if found[1] != best:
        raise Failed(f"{name}: best is trial {found[1]}, expected {best}")
    if found[2] != strategy:
        raise Failed(f"{name}: another strategy file")


def check_trials(program, pair, files, target, folder, turn, full):
    searcher, small = SEARCHERS[turn % len(SEARCHERS)], pair.name in LARGE
    recovers = target == "cortex-m" and not small and (full or PAIRS.index(pair) % 2 == 0)
    recover = "auto" if recovers else "none"
    default, *others = variations(kernel_sets(program))
    if not full:
        first = 2 * turn + turn // len(SEARCHERS)  # so that every searcher meets every variation in time
        others = [others[(first + k) % len(others)] for k in range(2)]
    try:
        expected = search(program, pair, files, target, folder, searcher, small, recover, default)
    except Failed as failure:
        if searcher != "exhaustive" or not any(cause in str(failure) for cause in TOO_NARROW_OR_WIDE):
            raise
        searcher = "random"
        expected = search(program, pair, files, target, folder, searcher, small, recover, default)
    for variation in others:
        compare(variation[0], expected, search(program, pair, files, target, folder, searcher, small, recover, variation))
    raced = sum(trial.get("stopped_at") is not None for trial in expected[0])
    return f"{searcher}: {len(expected[0])} trials, {raced} raced, also with {', '.join(name for name, *_ in others)}"


def check_target(report, options, pair, files, target, turn):
    with tempfile.TemporaryDirectory() as folder:
        samples = LARGE_SAMPLES if pair.name in LARGE else SAMPLES
        report.attempt(f"{pair.name} {target}", lambda: check_digests(options.program, pair, files, target, folder, samples))
        report.attempt(f"{pair.name} {target} trials",
                       lambda: check_trials(options.program, pair, files, target, folder, turn, options.full))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    report, turn, jobs = Report(), 0, []
    for pair in PAIRS:
        files = Files(os.path.join(options.data, "models", pair.model + ".onnx"), *(os.path.join(options.data, file) for file in pair.data))
        absent = [file for file in files if not os.path.exists(file)]
        for target in (name for name in targets_of(pair, options.full) if ":" not in name):  # the searches choose widths themselves
            turn += 1
            if options.only and pair.name not in options.only:
                continue
            if absent:
                report.line("skipped", f"{pair.name} {target}", f"{absent[0]} is absent")
                continue
            jobs.append((report, options, pair, files, target, turn))
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # most of the programs that they run use one thread
        for job in [pool.submit(check_target, *job) for job in jobs]:
            job.result()
    print(", ".join(f"{count} {verdict}" for verdict, count in report.counts.items()))
    return 1 if report.counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
