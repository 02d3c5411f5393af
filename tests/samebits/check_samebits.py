"""Same bits everywhere: one digest from simulation, every executor, and the emitted C on every machine; and its flash.

Usage: check_samebits.py PROGRAM DATA [--full] [--only NAME]...
Cases: the networks of check_pairs.py that run on integer targets, with strategies whose weights have every width (cases.py). Of each
case, the digest of simulation is that of the executor with every kernel set and one and two threads; what the self-test expects; and of the self-test built by every compiler and run on every machine (builds.py), Cortex-M on emulated boards.
Without --full: networks of at most 5 million multiply-accumulates, and vit_ln on three machines; the mixed strategy for cortex-m and one other by turns; of each
machine one optimization level, by turns. With --full: all networks, targets and strategies, all levels. Of the smallest network, a
self-test that expects something else must fail on every machine.
Standard library only. Ends with "N passed, M failed, K skipped"; status 1 if anything failed.
"""
import argparse
import collections
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pairs"))
from builds import MACHINES, alarm, self_test  # noqa: E402
from cases import cases_of, make_strategy  # noqa: E402
from check_exactness import kernel_sets, output  # noqa: E402
from check_pairs import PAIRS, Failed, Files, call  # noqa: E402
from flash import check_flash  # noqa: E402

SAMPLES, NAME = 4, "net"
MOST_MACS = 5_000_000  # without --full
LARGER = {"vit_ln": ("cortex-m3", "cortex-m4", "cortex-m7")}  # but these on these machines: gcc 12 left out transpositions
HUGE_MACS = 100_000_000  # one sample must do: minutes in an emulator
ALARMED = "iris"
ALL_WIDTHS = set(range(2, 9))
COLUMNS = ("simulate", "executor", "expected", *(machine.name for machine in MACHINES))

# cells: text by column. failures: lines. widths: of weights. levels: (machine, level) pairs that ran. passed: comparisons.
Result = collections.namedtuple("Result", "case cells failures widths levels passed skipped")


def levels_of(number, machine, case, full):
    return machine.levels if full else [machine.levels[(case.turn + number) % len(machine.levels)]]


def executor_digests(program, artefact, data):
    """(what, digest) of each kernel set with one and two threads."""
    for kernels, threads in itertools.product(kernel_sets(program), (1, 2)):
        yield f"{kernels} kernels, {threads} threads", output(program, ["run", artefact, *data, "--threads", str(threads), "--json"],
                                                              kernels)["digest"]


def expected_digest(folder):
    """What the self-test expects: the executor's digest when the C was written."""
    with open(os.path.join(folder, NAME + "_selftest.c"), encoding="utf-8") as file:
        return re.search(r'expected\[\] = "([0-9a-f]{64})"', file.read())[1]


class Row:
    """One case's line of the table."""

    def __init__(self, expected):
        self.expected, self.failures, self.passed = expected, [], 0
        self.cells, self.levels = {"simulate": expected[:12]}, []

    def compare(self, what, digest, error=None):
        if digest == self.expected and not error:
            self.passed += 1
            return True
        self.failures.append(f"{what}: {error or 'another digest'}" + (f", {digest}" if digest else ""))
        return False

    def build(self, machine, levels, folder):
        cell = ""
        for level in levels:
            digest, error = self_test(machine, level, folder, NAME)
            cell += level[-1] if self.compare(f"{machine.name} {level}", digest, error) else "!"
            self.levels.append((machine.name, level))
        self.cells[machine.name] = cell


def run_case(program, case, files, folder, full):
    strategy, widths = make_strategy(program, case, files, folder)
    artefact = os.path.join(folder, "program.itg")
    macs = call(program, "realize", files.model, strategy, "--emit", "c", "-o", folder, "--name", NAME, "--samples", "1")["macs"]
    large = macs > MOST_MACS and not full
    names = LARGER.get(case.pair.name, ()) if large else [machine.name for machine in MACHINES]
    if not names:
        return Result(case, {}, [], set(), [], 0, f"{macs:,} multiply-accumulates: with --full")
    samples = ["--data", files.samples, "--limit", str(1 if large or macs > HUGE_MACS else SAMPLES)]
    call(program, "realize", files.model, strategy, "--emit", "c", "-o", folder, "--name", NAME, *samples[:2], "--samples", samples[3])
    call(program, "realize", files.model, strategy, "-o", artefact)
    row = Row(call(program, "simulate", files.model, strategy, "--definition", *samples)["digest"])
    runs = [row.compare(what, digest) for what, digest in executor_digests(program, artefact, samples)]
    if not runs:
        row.failures.append("no kernel set runs the program")
    row.cells["executor"] = f"{sum(runs)} of {len(runs)}"
    row.cells["expected"] = "yes" if row.compare("the self-test's digest", expected_digest(folder)) else "!"
    for number, machine in enumerate(MACHINES):
        if machine.name not in names:
            continue
        row.build(machine, levels_of(number, machine, case, full), folder)
        if case.pair.name == ALARMED:
            error = alarm(machine, folder, NAME)
            row.compare(machine.name, None if error else row.expected, error)
    return Result(case, row.cells, row.failures, widths, row.levels, row.passed, None)


def attempt(program, root, case, full):
    files = Files(os.path.join(root, "models", case.pair.model + ".onnx"), *(os.path.join(root, file) for file in case.pair.data))
    for file in files:
        if not os.path.exists(file):
            return Result(case, {}, [], set(), [], 0, f"{file} is absent")
    try:
        with tempfile.TemporaryDirectory() as folder:
            return run_case(program, case, files, folder, full)
    except Failed as failure:
        return Result(case, {}, [str(failure)], set(), [], 0, None)


def table_line(first, cells):
    widths = {"simulate": 12}
    return f"{first:50}" + " ".join(f"{cells.get(column, ''):{widths.get(column, max(4, len(column)))}}" for column in COLUMNS).rstrip()


def ranges(numbers):
    """1-3,7 of 1, 2, 3, 7."""
    numbers = sorted(numbers)
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    return ",".join(f"{a}-{b}" if a < b else str(a) for a, b in zip(starts, ends))


def print_case(result):
    case = result.case
    name = f"{case.pair.name} {case.target} {case.style.name}"
    if result.skipped:
        print(f"{name:50}skipped: {result.skipped}", flush=True)
        return
    print(table_line(f"{name}, w {ranges(result.widths)}", result.cells), flush=True)
    for failure in result.failures:
        print(f"  FAILED {failure}", flush=True)


def missing(results):
    """What the rules should have reached and did not."""
    widths = set().union(*(result.widths for result in results))
    levels = set().union(*(result.levels for result in results))
    for width in sorted(ALL_WIDTHS - widths):
        yield f"no weights of {width} bits"
    for machine in MACHINES:
        for level in machine.levels:
            if (machine.name, level) not in levels:
                yield f"no {machine.name} {level}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    options = parser.parse_args()
    unknown = set(options.only) - {pair.name for pair in PAIRS}
    if unknown:
        parser.error(f"unknown pair {', '.join(sorted(unknown))}; there are {', '.join(pair.name for pair in PAIRS)}")
    cases = [case for turn, pair in enumerate(PAIRS) if not options.only or pair.name in options.only
             for case in cases_of(pair, turn, options.full)]
    print("One digest each: columns are the digest, executor runs that gave it, and optimization levels at which the emitted C did.")
    print(table_line("network, target, strategy, bits of weights", {column: column for column in COLUMNS}))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = []
        for result in pool.map(lambda case: attempt(options.program, options.data, case, options.full), cases):
            print_case(result)
            results.append(result)
    passed, failed = sum(result.passed for result in results), sum(len(result.failures) for result in results)
    skipped = sum(result.skipped is not None for result in results)
    if not options.only:
        for text in missing(results) if skipped < len(results) else ():
            print(f"FAILED {text}")
            failed += 1
        a, b = check_flash(options.program, options.data)
        passed, failed = passed + a, failed + b
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
