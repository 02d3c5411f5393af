"""Which tests execute which lines: each test runs once with counters of its own, and gcov says what they counted.

The programs are compiled with --coverage. GCOV_PREFIX gives the processes of one test a folder for their counters, so that tests may
run side by side. What a test executed is kept in a file of its own, and measured anew when the sources or the test have changed.
Standard library and gcov.
"""
import bisect
import glob
import hashlib
import json
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor

from check_mutants import need, run
from sources import FOLDERS

# -frandom-seed: the same object code from the same source.
FLAGS = ["-DCMAKE_C_FLAGS=--coverage -frandom-seed=0", "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG"]


def read_counters(folder, tree):
    """Of each source file, the lines that have a counter, with whether it counted."""
    data = glob.glob(f"{glob.escape(folder)}/**/*.gcda", recursive=True)
    for path in data: # gcov looks for the notes beside the counters
        notes = path[len(folder):-len("gcda")] + "gcno"
        os.symlink(notes, path[:-len("gcda")] + "gcno")
    lines = {}
    text = need(run(["gcov", "--json-format", "--stdout", *data], folder), "gcov") if data else ""
    for document in map(json.loads, text.splitlines()):
        for file in document["files"]:
            name = os.path.relpath(os.path.join(document["current_working_directory"], file["file"]), tree)
            if name.split("/")[0] not in FOLDERS:
                continue
            known = lines.setdefault(name, {})
            for line in file["lines"]:
                number = str(line["line_number"]) # as in the files that keep them
                known[number] = known.get(number, False) or line["count"] > 0
    return lines


class Coverage:
    def __init__(self, build, sources_digest, folder, slowest):
        """Runs the tests that are not known. One that fails without a change says nothing about any change and is left out."""
        self.build, self.sources_digest, self.folder, self.slowest = build, sources_digest, folder, slowest
        os.makedirs(folder, exist_ok=True)
        with ThreadPoolExecutor(build.jobs) as pool:
            self.tests = {name: entry for name, entry in zip(build.tests, pool.map(self.of_test, build.tests))
                          if entry["passed"] and entry["seconds"] <= slowest}
        self.counted = {} # by file: the lines that have a counter, in order
        for entry in self.tests.values():
            for file, lines in entry["lines"].items():
                self.counted.setdefault(file, set()).update(int(line) for line in lines)
        self.counted = {file: sorted(lines) for file, lines in self.counted.items()}

    def inputs(self, name):
        """Hash of the test's programs and scripts, and of the sources: it may run more programs than it names."""
        hashed = hashlib.sha256(self.sources_digest.encode())
        for word in self.build.tests[name]["command"]:
            path = os.path.realpath(word.removeprefix("-DPROGRAM="))
            if path.startswith(self.build.tree) and os.path.isfile(path):
                with open(path, "rb") as file:
                    hashed.update(file.read())
        return hashed.hexdigest()

    def of_test(self, name):
        path, inputs = os.path.join(self.folder, name + ".json"), self.inputs(name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                entry = json.load(file)
            if entry["inputs"] == inputs and (entry["passed"] or entry["limit"] >= self.slowest):
                return entry
        with tempfile.TemporaryDirectory(dir=self.folder) as counters:
            passed, seconds = self.build.run_test(name, max(900, 4 * self.slowest), {"GCOV_PREFIX": counters})
            entry = {"inputs": inputs, "passed": passed, "seconds": round(seconds, 2), "limit": self.slowest,
                     "lines": read_counters(counters, self.build.tree) if passed else {}}
        if not passed:
            print(f"left out: {name} fails without any change, or takes too long", flush=True)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(entry, file)
        return entry

    def seconds(self, name):
        return self.tests[name]["seconds"]

    def tests_of(self, file, line):
        """The tests that execute a line: those of the file's folder, then the others, cheap ones first. A line without a counter is
        part of a statement that begins above."""
        counted = self.counted.get(file, [])
        place = bisect.bisect_right(counted, line)
        key = str(counted[place - 1]) if place else ""
        names = [name for name, entry in self.tests.items() if entry["lines"].get(file, {}).get(key)]
        return sorted(names, key=lambda name: (name.split("_")[0] != file.split("/")[0], self.seconds(name), name))
