import inspect
import json
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import intaglio
from intaglio._goal import option_names


def find(digits, **how):
    arguments = {"preprocess": digits.preprocess, "progress": False, "trials": 30, **how}
    return intaglio.search(digits.model(), "cortex-m", digits.search_images, digits.search_labels, **arguments)


@pytest.fixture(scope="module")
def found(digits):
    return find(digits, max_drop=0.01)


def words_of(digits, *more):
    paths = digits.paths
    words = ["search", digits.path, "--hw", "cortex-m", "--scale", "1/255", "--data", paths["search_images"], "-q"]
    return [*words, "--labels", paths["search_labels"], "--trials", "30", *more]


HITS = "import sys, numpy; y = numpy.load(sys.argv[2]); o = numpy.load(sys.argv[1])['logits']"
HITS += "; print(repr(float(numpy.mean(o.reshape(len(y), -1).argmax(1) == y))))"


def hits(outputs, labels):
    return np.mean(outputs.reshape(len(labels), -1).argmax(1) == labels)


CASES = {
    "default": ({}, []),
    "floor and seed": (
        {"max_drop": 0.02, "seed": 7, "confidence": 0.5, "searcher": "anneal:t0=0.5"},
        ["--max-drop", "0.02", "--seed", "7", "--confidence", "0.5", "--searcher", "anneal:t0=0.5"],
    ),
    "limit alone": ({"max_size": 4000}, ["--max-size", "4000"]),
    "sqnr": ({"metric": "sqnr", "min_sqnr": 20, "minimize": "bops"}, ["--min-sqnr", "20dB", "--minimize", "bops"]),
    "best sqnr": ({"metric": "sqnr", "max_size": 4000}, ["--metric", "sqnr_db", "--max-size", "4000"]),
    "named metric": ({"metric": "f1_macro", "max_drop": 0.02}, ["--metric", "f1_macro", "--max-drop", "0.02"]),
    "front": ({"pareto": ["size", "cycles"]}, ["--pareto", "size,cycles"]),
    "space": (
        {"weight_bits": (3, 8), "threshold": ["mse", "kl"], "fix": {"conv1.weight": 8}, "recover": "none", "trials": 12},
        ["--weight-bits", "3:8", "--threshold", "mse,kl", "--fix", "conv1.weight=8", "--recover", "none", "--trials", "12"],
    ),
    "own metric": (
        {"metric": hits, "max_drop": 0.02, "trials": 4, "recover": "none"},
        ["--metric-command", f"{sys.executable} -c \"{HITS}\" {{outputs}} {{labels}}", "--metric-name", "hits"]
        + ["--max-drop", "0.02", "--trials", "4", "--recover", "none"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_strategy_is_the_programs_byte_for_byte(digits, program, tmp_path, case):
    own, theirs = CASES[case]
    words = words_of(digits, *theirs, "-o", tmp_path / "best.json")
    if "--trials" in theirs:
        del words[words.index("--trials") : words.index("--trials") + 2]
    result = find(digits, **own)
    program(*words, expected=0 if result.goal_holds else 3 if result.goal_met else 1)
    (tmp_path / "own").mkdir()
    result.best.save(tmp_path / "own" / "best.json")
    names = sorted(path.name for path in (tmp_path / "own").iterdir())
    assert names == sorted(path.name for path in tmp_path.iterdir() if path.is_file())
    for name in names:
        assert (tmp_path / name).read_bytes() == (tmp_path / "own" / name).read_bytes(), name


def test_signature_has_every_option(digits):
    search = inspect.signature(intaglio.search).parameters
    for name, preset in option_names().items():
        assert name in search, name
        default = search[name].default
        assert default in (None, False) or str(default) == preset or default == float(preset.rstrip("%")) / 100, name
    model = inspect.signature(intaglio.Model).parameters
    assert {"input_shape", "outputs", "keep_softmax", "no_equalize"} <= set(model)


def test_layers_may_stay_in_float(digits):
    how = {"preprocess": digits.preprocess, "progress": False, "trials": 6, "recover": "none"}
    data = digits.model(), "x86-vnni", digits.search_images, digits.search_labels
    best = intaglio.search(*data, allow_float=["conv1", "conv2"], fix={"conv2": 32}, **how).best
    bits = {edge.value: edge.bits for edge in best.edges}
    assert bits["conv2.weight"] == 0 and bits["conv3.weight"] > 0
    with pytest.raises(intaglio.BadArgument, match="allow-float: 'conv1' matches no Conv"):
        find(digits, allow_float="conv1")


def test_the_best_is_chosen_on_samples_of_its_own(digits):
    chosen = find(digits, max_drop=0.02, search_samples=100, selection_samples=300, recover="none").selection
    assert chosen["samples"] == 300 and chosen["tested"] > 1 and chosen["certified"] and chosen["passed"]
    assert chosen["float"] - 0.02 <= chosen["bound"] < chosen["float"] and chosen["samples_wanted"] == 0
    assert find(digits, max_drop=0.02, trials=2).selection["samples"] == 0  # trials take all that are left


def test_result(digits, found):
    assert found.goal_met and found.limited_by == "" or not found.goal_holds
    assert found.stop_reason in ("trials", "exhausted") and len(found.trials) <= 30
    assert found.best_trial in found.front and found.best_trial["meets_goal"]
    assert found.best_trial["weight_bytes"] < 7224 == found.uniform8_score["weight_bytes"]
    assert [trial["trial"] for trial in found.trials] == list(range(len(found.trials)))
    assert len(found.best_trial["point"]) == len(found.space)
    assert found.options["seed"] in (0, "0")
    assert found.float_score.samples == found.best_score.samples > 0
    table = found.trials.to_pandas()
    assert len(table) == len(found.trials) and table["weight_bytes"].min() <= found.best_trial["weight_bytes"]


def test_best_is_what_was_scored(digits, found):
    best = found.best
    assert best is found.best and best.realize().score(digits.test_images, digits.test_labels)["top1"] > 0.97
    assert best.weight_bits[1] <= 8


def test_strategy_of_any_trial(digits, found):
    number = found.best_trial["trial"]
    assert found.strategy(number).weight_bits == found.best.weight_bits  # its codes may have been made once more
    nearest = find(digits, max_drop=0.01, recover="none")
    assert nearest.strategy(nearest.best_trial["trial"]).to_bytes() == nearest.best.to_bytes()
    other = next(trial for trial in found.trials if trial["feasible"] and trial["trial"] != number and not trial["duplicate"])
    assert found.strategy(other["trial"]).to_bytes() != found.best.to_bytes()
    with pytest.raises(IndexError, match="trial 99"):
        found.strategy(99)


def test_threads_do_not_matter(digits, found):
    assert find(digits, max_drop=0.01, threads=1, cache_mb=0).best.to_bytes() == found.best.to_bytes()


def test_progress(digits, capsys):
    calls = []
    find(digits, trials=5, progress=lambda *what: calls.append(what))
    assert [trial["trial"] for trial, _, _ in calls] == list(range(len(calls))) and {planned for _, _, planned in calls} == {5}
    assert calls[-1][1]["feasible"]
    find(digits, trials=5, progress=True)
    assert "trials" in capsys.readouterr().err


def test_exceptions_of_callbacks_arrive(digits):
    def broken(*what):
        raise RuntimeError("the screen is gone")

    with pytest.raises(RuntimeError, match="the screen is gone"):
        find(digits, progress=broken)
    with pytest.raises(ZeroDivisionError):
        find(digits, metric=lambda outputs, labels: 1 / 0, max_drop=0.1)


def test_smaller_is_better(digits):
    def misses(outputs, labels):
        return 1 - hits(outputs, labels)

    result = find(digits, metric=misses, larger_is_better=False, max_drop=0.02, trials=6)
    assert result.goal_met and 0 <= result.best_score["misses"] <= result.float_score["misses"] + 0.05


def test_log_is_the_programs(digits, program, tmp_path):
    result = find(digits, db=tmp_path / "runs.db", seed=3, selection_samples=300)
    shown = json.loads(program("runs", "show", result.run, "--db", tmp_path / "runs.db", "--trials", "--json"))
    assert shown["trials"] == len(result.trials) and shown["goal_met"] == result.goal_met
    assert shown["selection"] == {name: None if value != value else value for name, value in result.selection.items()}
    assert shown["selection"]["samples"] == 300
    program("runs", "best", "--db", tmp_path / "runs.db", "-o", tmp_path / "best.json")
    assert (tmp_path / "best.json").read_bytes() == result.best.to_bytes()[0]
    with sqlite3.connect(tmp_path / "runs.db") as log:
        assert log.execute("select count(*) from leases").fetchone() == (0,)
    log.close()


def test_log_that_cannot_be_written(digits, tmp_path):
    (tmp_path / "runs.db").write_text("this is no database, but a text that is long enough to be looked at " * 9)
    with pytest.raises(intaglio.Error, match="runs.db"):
        find(digits, db=tmp_path / "runs.db")


def test_bad_arguments(digits):
    for how, words in [
        ({"max_drop": 0.01, "min_sqnr": 30}, "max_drop and min_sqnr"),
        ({"minimize": "size", "pareto": "ram"}, "pareto and minimize"),
        ({"metric": hits}, "metric needs a goal"),
        ({"metric": "sqnr", "max_drop": 1}, "give min_sqnr"),
        ({"metric": "beauty", "max_drop": 1}, "'beauty': expected one of"),
        ({"minimize": "money"}, "minimize: 'money'"),
        ({"searcher": "luck"}, "luck"),
        ({"weight_bits": (9, 4)}, "weight_bits: expected"),
        ({"threshold": "mse,mse"}, "threshold: expected each method once"),
        ({"trials": -1}, "trials: expected"),
        ({"confidence": 1.5}, "confidence: expected"),
        ({"only": "nothing*"}, "nothing"),
        ({"only": "x" * 512}, "only: expected at most 511 bytes, found 512"),
        ({"holdout": digits.test_images}, "holdout_labels is missing"),
    ]:
        with pytest.raises(intaglio.Error, match=words):
            find(digits, **how)


def test_network_that_is_no_classifier(digits):
    model = intaglio.Model(digits.path, outputs=["conv4_relu"])
    how = {"preprocess": digits.preprocess, "progress": False, "trials": 6, "recover": "none"}
    result = intaglio.search(model, "cortex-m", digits.search_images, **how)
    assert result.best_score["sqnr_db"] > 25 and "top1" not in result.best_score
    with pytest.raises(intaglio.BadArgument, match="max_drop counts points of a classifier"):
        intaglio.search(model, "cortex-m", digits.search_images, max_drop=0.01, **how)


INTERRUPTED = """
    import signal, sys, numpy as np, intaglio
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs begin with it ignored
    folder, db = sys.argv[1:]
    x, y = (np.load(f"{folder}/digits_search_{name}.npy") for name in ("images", "labels"))
    def show(trial, best, planned):
        print(trial["trial"], flush=True)
    result = intaglio.search(intaglio.Model(f"{folder}/digits.onnx"), "cortex-m", x, y, searcher="random", trials=10**6,
                             preprocess=intaglio.Preprocess(scale=1 / 255), progress=show, db=db)
    print("ended", result.stop_reason, result.best is not None, len(result.trials) > 0, flush=True)
"""


def test_ctrl_c_keeps_what_was_found(digits, program, tmp_path):
    words = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(digits.path.parent), str(tmp_path / "runs.db")]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        for line in child.stdout:
            if line.strip() == "3":
                break
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=120)
    finally:
        child.kill()
    assert child.returncode == 0 and "ended cancelled True True" in out
    assert "interrupted" in program("runs", "show", "1", "--db", tmp_path / "runs.db")


def test_ctrl_c_in_a_simulation(digits):
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent("""
            import signal, sys, numpy as np, intaglio
            signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs begin with it ignored
            folder = sys.argv[1]
            x = np.tile(np.load(f"{folder}/digits_test_images.npy"), (400, 1, 1, 1))
            model = intaglio.Model(f"{folder}/digits.onnx")
            strategy = intaglio.uniform(model, "cortex-m", 8, x[:64])
            print("begins", flush=True)
            try:
                strategy.simulate(x)
                print("finished")
            except KeyboardInterrupt:
                print("stopped")
        """), str(digits.path.parent)],
        stdout=subprocess.PIPE, text=True,
    )
    try:
        assert child.stdout.readline() == "begins\n"
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=120)
    finally:
        child.kill()
    assert out == "stopped\n" and child.returncode == 0


def test_a_search_begins_where_it_is_told(digits, program, found, tmp_path):
    """At a strategy, its file, or the model of its codes; as the program does, byte for byte."""
    best = found.best_trial["point"]
    found.best.save(tmp_path / "first.json")
    starts = [found.best, tmp_path / "first.json"]
    for start in starts:
        result = find(digits, max_drop=0.01, trials=6, start=start)
        assert result.trials[0]["point"] == best
        assert result.options["start"]["point"] == list(best)
    words = words_of(digits, "--max-drop", "1%", "--start", tmp_path / "first.json", "-o", tmp_path / "second.json")
    words[words.index("30")] = "6"
    program(*words, expected=0 if result.goal_holds else 3)
    assert (tmp_path / "second.json").read_bytes() == result.best.to_bytes()[0]
    narrow = find(digits, max_drop=0.01, trials=1, weight_bits=8, start=found.best)
    assert any("do not fit" in note for note in narrow.notes)


def test_what_the_model_of_a_searcher_is_worth(digits):
    forecast = find(digits, searcher="surrogate", trials=20).forecast
    assert forecast["trials"] > 3 and -1 <= forecast["correlation"] <= 1
    assert find(digits, searcher="random", trials=5).forecast["trials"] == 0
