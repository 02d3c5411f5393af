"""Rounding is written once: a changed constant in kernels/ must break the published vectors, simulation and program alike.

Usage: check_mutants.py SOURCES BUILD [--only NAME]...
       check_mutants.py SOURCES --places: nothing is built; each replaced text must stand once in its file.
Each mutant is the source tree with one text replaced, built in BUILD. Of each: the tests that know the right results must fail
(CMSIS-NN's published vectors where they lie beside the sources, and the requantization tests); the digest of the embedded example
must change on the mutant's target; and simulation and integer program, with every kernel set, must still give one digest.
Standard library only. Ends with "N passed, M failed"; status 1 if anything failed.
"""
import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys

BUILD = "/build/release"  # ccache, where it is used, knows files by their paths from there
KERNEL_SETS = ("", "reference", "portable")
# bits: --uniform and --activation-bits of the example. vectors: the published ones see it; they state multipliers and shifts, so they
# do not see how those are derived.
Mutant = collections.namedtuple("Mutant", "name file old new target bits vectors")
MUTANTS = [Mutant(*row) for row in [
    ("half", "kernels/rounding.h", "(((one) << (s)) >> 1)", "(((one) << (s)) >> 2)", "cortex-m", (8, 8), True),
    ("half_up", "kernels/rounding.h", "? (half) ^ (half) : (half))", "? (half) ^ (half) : (half) + (half))", "cvm", (8, 8), True),
    ("half_away", "kernels/rounding.h", "? (keep) & (sign)", "? -((keep) & (sign))", "cortex-m", (8, 8), True),
    ("doubling", "kernels/requant.c", "add_stage(out, m, 31, ITG_ROUND_HALF_UP)", "add_stage(out, m, 30, ITG_ROUND_HALF_UP)", "cortex-m",
     (8, 8), False),
    ("reduced", "kernels/requant.c", "(m + (1 << 15)) >> 16", "(m + (3 << 15)) >> 16", "cortex-m", (8, 16), False),
]]
EXAMPLE = ["--scale", "1/255", "--data", "examples/digits_test_images.npy", "--labels", "examples/digits_test_labels.npy", "--limit", "64"]


# The verifier rounds by code of its own and may well see a mutant; a program that it refuses is not written. Here it is.
UNCERTIFIED = [Mutant("uncertified", "cli/staging.c", old, new, None, None, False) for old, new in (
    ("return status == ITG_OK ? itg_certify(path, certificate, err) : status;",
     "if (status == ITG_OK) (void)itg_certify(path, certificate, NULL);\n    return status;"),
    ("(const char *const[]){certificate, name}, 2, err)", "(const char *const[]){name}, 1, err)"))]


class Failed(Exception):
    pass


def run(words, cwd, environment=None):
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True,
                          env={**os.environ, "CCACHE_BASEDIR": cwd, **(environment or {})})


def need(result, what):
    if result.returncode != 0:
        raise Failed(f"{what} ended with {result.returncode}: {(result.stderr or result.stdout).strip()[-400:]}")
    return result.stdout


def build(tree, targets):
    need(run(["cmake", "-S", tree, "-B", tree + BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DITG_BUILD_TESTS=ON"], tree),
         "cmake")
    need(run(["cmake", "--build", tree + BUILD, "--target", *targets], tree), "the build")


def digests(tree, target, bits):
    """Of simulation, and of the program by each kernel set."""
    program, made = tree + BUILD + "/intaglio", tree + BUILD + "/mutant"
    simulated = need(run([program, "simulate", "examples/digits.onnx", "--definition", "--uniform", str(bits[0]),
                          "--activation-bits", str(bits[1]), "--hw", target, "--calib", "examples/digits_search_images.npy",
                          "--calib-limit", "64", *EXAMPLE, "-o", made + ".json", "--json"], tree), "simulate")
    need(run([program, "realize", "examples/digits.onnx", made + ".json", "-o", made + ".itg"], tree), "realize")
    found = {"simulate": json.loads(simulated)["digest"]}
    for name in KERNEL_SETS:
        ran = need(run([program, "run", made + ".itg", *EXAMPLE[2:], "--json"], tree, {"INTAGLIO_KERNELS": name} if name else {}), "run")
        found["run, " + (name or "fastest") + " kernels"] = json.loads(ran)["digest"]
    return found


def one_digest(found):
    if len(set(found.values())) != 1:
        raise Failed("; ".join(f"{what}: {digest[:12]}" for what, digest in found.items()))
    return next(iter(found.values()))


def read_place(tree, file, old):
    """The file's text, in which the old text stands once."""
    with open(os.path.join(tree, file), encoding="utf-8") as opened:
        text = opened.read()
    if text.count(old) != 1:
        raise Failed(f"{file} has {text.count(old)} places with {old!r}, expected one: say anew what this mutant changes")
    return text


def mutate(tree, mutant, undo=False):
    old, new = (mutant.new, mutant.old) if undo else (mutant.old, mutant.new)
    text = read_place(tree, mutant.file, old)
    with open(os.path.join(tree, mutant.file), "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


def broken_tests(tree, vectors):
    """What noticed. Vectors that are absent notice nothing."""
    noticed = []
    if run([tree + BUILD + "/test_kernels_requant"], tree).returncode != 0:
        noticed.append("requantization tests")
    if vectors:
        result = run([tree + BUILD + "/cmsis_vectors", vectors], tree)
        counts = re.search(r"(\d+) passed, (\d+) failed", result.stdout)
        if result.returncode != 0 and counts:
            noticed.append(f"{counts.group(2)} of {int(counts.group(1)) + int(counts.group(2))} published vectors")
    return noticed


def check(tree, mutant, expected, vectors):
    mutate(tree, mutant)
    try:
        build(tree, ["intaglio", "test_kernels_requant", "cmsis_vectors"])
        noticed = broken_tests(tree, vectors)
        digest = one_digest(digests(tree, mutant.target, mutant.bits))
    finally:
        mutate(tree, mutant, undo=True)
    if digest == expected[mutant.target, mutant.bits]:
        raise Failed(f"the digest on {mutant.target} is still {digest[:12]}")
    if not noticed or (vectors and mutant.vectors and not any("vectors" in text for text in noticed)):
        raise Failed(f"noticed by {', '.join(noticed) or 'no test'}")
    return f"breaks {', '.join(noticed)}; one new digest {digest[:12]} by simulate and run"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources")
    parser.add_argument("build", nargs="?")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--places", action="store_true")
    options = parser.parse_args()
    if options.places:
        for mutant in MUTANTS + UNCERTIFIED:
            read_place(options.sources, mutant.file, mutant.old)
        return 0
    if not options.build:
        parser.error("expected BUILD")
    sources, tree = os.path.abspath(options.sources), os.path.abspath(options.build)
    folder = os.path.join(sources, "..", "shared", "data", "cmsis_nn_vectors")
    vectors = os.path.abspath(folder) if os.path.isdir(folder) else None
    if not vectors:
        print(f"skipped: the published vectors; {folder} is absent")
    files = need(run(["git", "ls-files", "-z"], sources), "git").split("\0")
    for file in filter(None, files):
        source, copy = os.path.join(sources, file), os.path.join(tree, file)
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        if not os.path.exists(copy) or open(source, "rb").read() != open(copy, "rb").read():
            shutil.copyfile(source, copy)
    for edit in UNCERTIFIED:
        mutate(tree, edit)
    chosen = [mutant for mutant in MUTANTS if not options.only or mutant.name in options.only]
    build(tree, ["intaglio"])
    expected = {key: one_digest(digests(tree, *key)) for key in {(mutant.target, mutant.bits) for mutant in chosen}}
    counts = {"passed": 0, "failed": 0}
    for mutant in chosen:
        try:
            verdict, text = "passed", check(tree, mutant, expected, vectors)
        except Failed as failure:
            verdict, text = "failed", str(failure)
        counts[verdict] += 1
        print(f"{verdict:8}{mutant.name:12}{text}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
