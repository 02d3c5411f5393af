"""Changes one line of the sources at a time and runs the tests that know it: a change that no test notices is a hole in the tests.

Usage: mutate.py SOURCES BUILD --seed N --count N [options]
Mutants are drawn at random (sources.py), stratified by folder: the same seed and index give the same mutant of the same sources.
Works on a copy of the tree in BUILD; never on SOURCES. Once, each test runs in a build that counts the lines that it executes
(coverage.py).
Of each mutant, its file is compiled: what does not compile is replaced by another, and what compiles to the same object code is counted
as equivalent. Then the tests that execute its line run, those of its folder first, then cheap ones first, until one fails or exceeds its
time (30 seconds, or twenty times what the processor took with the counters). A line that no test executes survives at once. Programs are
linked with the leak sanitizer where the machine has it.

Results are kept in BUILD/results.json: a mutant that was judged before is not built again, so a long run may be done in pieces
(--seconds); survivors are judged again when tests have changed. Standard library only. Status 1 if any mutant survived.
"""
import argparse
import collections
import hashlib
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import coverage
import sources
from check_mutants import Failed, need, run

LEAST_SECONDS = 30 # of a test before it counts as hanging
MOST_BYTES = 4 << 30 # of memory that a test may use
LEAK_FLAG = "-fsanitize=leak"


def copy_tree(origin, tree):
    """What git knows, and what lies new beside it; files that are equal keep their time."""
    files = need(run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], origin), "git").split("\0")
    files = [file for file in files if file and os.path.exists(os.path.join(origin, file))]
    for file in files:
        source, copy = os.path.join(origin, file), os.path.join(tree, file)
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        if not os.path.exists(copy) or open(source, "rb").read() != open(copy, "rb").read():
            shutil.copyfile(source, copy)
            shutil.copymode(source, copy)
    kept = set(files)
    for folder in (*sources.FOLDERS, "tests", "include"):
        for where, _, names in os.walk(os.path.join(tree, folder)):
            for name in names:
                path = os.path.join(where, name)
                if os.path.relpath(path, tree) not in kept:
                    os.remove(path)
    data, link = os.path.join(origin, "..", "shared"), os.path.join(tree, "..", "shared")
    if os.path.isdir(data) and not os.path.lexists(link):
        os.symlink(os.path.realpath(data), link)
    return files


def digest(tree, files):
    hashed = hashlib.sha256()
    for file in sorted(files):
        hashed.update(file.encode() + b"\0" + open(os.path.join(tree, file), "rb").read())
    return hashed.hexdigest()


def finds_leaks(folder, compiler):
    """Whether the leak sanitizer works here: neither a leak passes, nor does anything else fail."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "leaks")
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write("#include <stdlib.h>\nint main(int n, char **a)\n{\n    (void)a;\n    void *volatile p = malloc(9);\n"
                   "    if (n > 1) free(p);\n    p = NULL;\n    return 0;\n}\n")
    if run([compiler, LEAK_FLAG, path + ".c", "-o", path], folder).returncode != 0:
        return False
    return run([path], folder).returncode != 0 and run([path, "free"], folder).returncode == 0


def resident_bytes(process):
    try:
        with open(f"/proc/{process}/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError): # gone, or no such file system here
        return 0


class Build:
    """One build of the copy, and its tests."""

    def __init__(self, tree, name, jobs, flags):
        self.tree, self.folder, self.jobs = tree, os.path.join(tree, "build", name), jobs
        need(run(["cmake", "-S", tree, "-B", self.folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DITG_BUILD_TESTS=ON",
                  "-DITG_BUILD_BENCH=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *flags], tree), "cmake")
        need(self.build(["all"]), "the build")
        self.tests = self.list_tests()

    def build(self, targets):
        return run(["cmake", "--build", self.folder, "-j", str(self.jobs), "--target", *targets], self.tree)

    def list_tests(self):
        listed = json.loads(need(run(["ctest", "--test-dir", self.folder, "--show-only=json-v1"], self.tree), "ctest"))
        tests = {}
        for test in listed["tests"]:
            properties = {item["name"]: item["value"] for item in test.get("properties", [])}
            tests[test["name"]] = {"command": test["command"], "folder": properties.get("WORKING_DIRECTORY", self.folder),
                                   "skip": properties.get("SKIP_RETURN_CODE", 0)}
        return tests

    def run_test(self, name, limit, environment=None):
        """Whether it passed, and the processor's seconds: on a busy machine the clock says little. A test that hangs did not pass, and none
        that takes all memory: a loop that no longer ends may allocate."""
        test = self.tests[name]
        child = subprocess.Popen(test["command"], cwd=test["folder"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, start_new_session=True, env={**os.environ, **(environment or {})})
        until, pause = time.monotonic() + limit, 0.001
        while time.monotonic() < until and resident_bytes(child.pid) < MOST_BYTES:
            ended, status, used = os.wait4(child.pid, os.WNOHANG)
            if ended:
                child.returncode = os.waitstatus_to_exitcode(status)
                return child.returncode in (0, test["skip"]), used.ru_utime + used.ru_stime
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        return False, limit

    def targets_of(self, name):
        """What a test needs built: the programs that it is, or is given."""
        words = [word.removeprefix("-DPROGRAM=") for word in self.tests[name]["command"]]
        return sorted({os.path.basename(word) for word in words if os.path.dirname(word) == self.folder})


class Project:
    """The copy, and its build without counters, in which mutants are judged."""

    def __init__(self, origin, folder, jobs, slowest):
        self.tree, self.jobs = os.path.join(folder, "tree"), jobs
        self.files = copy_tree(origin, self.tree)
        self.sources_digest = digest(self.tree, [file for file in self.files if file.split("/")[0] in sources.FOLDERS])
        counted = Build(self.tree, "coverage", jobs, coverage.FLAGS)
        self.coverage = coverage.Coverage(counted, self.sources_digest, os.path.join(folder, "coverage"), slowest)
        leaks = LEAK_FLAG if finds_leaks(folder, os.environ.get("CC", "cc")) else ""
        self.plain = Build(self.tree, "mutants", jobs, [f"-DCMAKE_EXE_LINKER_FLAGS={leaks}"])
        with open(os.path.join(self.plain.folder, "compile_commands.json"), encoding="utf-8") as file:
            commands = {os.path.relpath(entry["file"], self.tree): entry["command"] for entry in json.load(file)}
        self.commands = {file: shlex.split(command) for file, command in commands.items()}

    def object_of(self, file):
        """The object code of a file as it stands; None: it does not compile."""
        words = list(self.commands[file])
        words[words.index("-o") + 1] = os.path.join(self.plain.folder, "mutant.o")
        if run(words, self.plain.folder).returncode != 0:
            return None
        with open(os.path.join(self.plain.folder, "mutant.o"), "rb") as made:
            return made.read()

    def passes(self, name):
        return self.plain.run_test(name, max(LEAST_SECONDS, 20 * self.coverage.seconds(name)))[0]

    def first_failing(self, names):
        """The first test that notices, or False; None: their programs cannot be built. As many as there are jobs run side by side."""
        with ThreadPoolExecutor(self.jobs) as pool:
            for at in range(0, len(names), self.jobs):
                some = names[at:at + self.jobs]
                if self.plain.build(sorted({target for name in some for target in self.plain.targets_of(name)})).returncode != 0:
                    return None
                passed = list(pool.map(self.passes, some))
                if not all(passed):
                    return some[passed.index(False)]
        return False

    def judge(self, mutant):
        """Its verdict, and by whom; None: it does not compile."""
        path = os.path.join(self.tree, mutant.file)
        with open(path, encoding="utf-8") as file:
            before = file.read()
        lines = before.split("\n")
        if lines[mutant.line - 1] != mutant.old:
            raise Failed(f"{mutant.file}:{mutant.line} is another line than the one that was drawn")
        lines[mutant.line - 1] = mutant.new
        compiled = mutant.file in self.commands
        original, times, built = self.object_of(mutant.file) if compiled else None, os.stat(path), False
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
            if compiled:
                made = self.object_of(mutant.file)
                if made is None:
                    return None
                if made == original:
                    return "equivalent", "object code"
            names = self.coverage.tests_of(mutant.file, mutant.line)
            if not names:
                return "survived", "not covered"
            built = True
            failing = self.first_failing(names)
            return None if failing is None else ("killed", failing) if failing else ("survived", f"{len(names)} tests")
        finally:
            with open(path, "w", encoding="utf-8") as file:
                file.write(before)
            if not built: # else what was built of it must be built again
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


class Results:
    """What was found, by seed, index, and the mutant itself."""

    def __init__(self, path, tests):
        self.path, self.tests, self.found = path, tests, {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.found = json.load(file)

    @staticmethod
    def key(seed, index, sources_digest):
        return f"{seed}/{index}/{sources_digest[:16]}"

    def known(self, key):
        entry = self.found.get(key)
        return entry if entry and (entry["verdict"] != "survived" or entry["tests"] == self.tests) else None

    def add(self, key, mutant, verdict, by):
        self.found[key] = {**mutant._asdict(), "verdict": verdict, "by": by, "tests": self.tests}
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.found, file, indent=1)
        os.replace(self.path + ".new", self.path)
        return self.found[key]


def describe(index, entry):
    text = f"{entry['verdict']:11}{index:4}  {entry['file']}:{entry['line']}  ({entry['operator']})"
    if entry["by"]:
        text += f"  {entry['by']}"
    return text if entry["verdict"] != "survived" else text + f"\n    -{entry['old'].strip()}\n    +{entry['new'].strip()}"


def summary(entries):
    counts = {folder: collections.Counter() for folder in sources.FOLDERS}
    for entry in entries:
        counts[entry["folder"]][entry["verdict"]] += 1
    counts["all"] = sum(counts.values(), collections.Counter())
    rows = ["folder      killed survived equivalent   rate"]
    for folder, count in counts.items():
        judged = count["killed"] + count["survived"]
        if sum(count.values()):
            rate = f"{100 * count['killed'] / judged:5.1f} %" if judged else "      -"
            rows.append(f"{folder:10}{count['killed']:8}{count['survived']:9}{count['equivalent']:11}{rate:>9}")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", help="the source tree")
    parser.add_argument("build", help="a folder for the copy, its build and the results")
    parser.add_argument("--seed", type=int, required=True, help="of the draw")
    parser.add_argument("--count", type=int, required=True, help="mutants of the list")
    parser.add_argument("--first", type=int, default=0, help="index to begin with")
    parser.add_argument("--seconds", type=float, default=0, help="begin no further mutant after this time; the next call goes on")
    parser.add_argument("--folder", action="append", choices=sources.FOLDERS, help="draw from this folder alone (repeatable)")
    parser.add_argument("--slowest", type=float, default=60, help="leave out tests of more seconds of the processor (default 60)")
    parser.add_argument("--list", action="store_true", help="show what would be drawn first, without compiling anything")
    parser.add_argument("--again", action="store_true", help="judge survivors again although no test changed")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="of compilers and tests at a time (default 1)")
    options = parser.parse_args()
    origin, folder, begun = os.path.abspath(options.sources), os.path.abspath(options.build), time.monotonic()
    folders = tuple(name for name in sources.FOLDERS if not options.folder or name in options.folder)
    indices = range(options.first, options.first + options.count)
    os.makedirs(folder, exist_ok=True)
    if options.list:
        drawn = sources.Sources(origin, need(run(["git", "ls-files"], origin), "git").split("\n"))
        for index in indices:
            mutant = next(drawn.draw(options.seed, index, folders))
            print(describe(index, {**mutant._asdict(), "verdict": "survived", "by": ""}).replace("survived", "drawn   ", 1))
        return 0
    project = Project(origin, folder, options.jobs, options.slowest)
    drawn = sources.Sources(project.tree, project.files)
    tests = [file for file in project.files if file.startswith("tests/") and not file.startswith("tests/mutants/")]
    results, of_sources = Results(os.path.join(folder, "results.json"), digest(project.tree, tests)), project.sources_digest
    entries, prefix = [], "+".join(options.folder) + "/" if options.folder else ""
    for index in indices:
        key = results.key(f"{prefix}{options.seed}", index, of_sources)
        entry = results.known(key)
        if not entry or (options.again and entry["verdict"] == "survived"):
            if options.seconds and time.monotonic() - begun > options.seconds:
                print(f"stopped before index {index}: {options.seconds:g} seconds are over")
                break
            for mutant in drawn.draw(options.seed, index, folders):
                verdict = project.judge(mutant)
                if verdict:
                    break
            entry = results.add(key, mutant, *verdict)
        entries.append(entry)
        print(describe(index, entry), flush=True)
    print(summary(entries))
    return 1 if any(entry["verdict"] == "survived" for entry in entries) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        sys.exit(f"mutate.py: {failure}")
