"""A search goes on with a run of the log, or learns from others, as the program does."""

import shutil

import pytest

import intaglio


def search(digits, trials, **how):
    arguments = {"preprocess": digits.preprocess, "progress": False, "searcher": "surrogate", "recover": "none", **how}
    return intaglio.search(digits.model(), "cortex-m", digits.search_images, digits.search_labels, trials=trials, **arguments)


def points(result):
    return [(trial["trial"], trial["point"], trial["digest"]) for trial in result.trials]


@pytest.fixture(scope="module")
def whole(digits, tmp_path_factory):
    return search(digits, 24, db=tmp_path_factory.mktemp("log") / "runs.db")


@pytest.fixture
def begun(digits, tmp_path):
    search(digits, 10, db=tmp_path / "runs.db")
    return tmp_path / "runs.db"


def test_a_resumed_search_is_the_whole_one(digits, program, whole, begun, tmp_path):
    shutil.copy(begun, tmp_path / "theirs.db")
    result = search(digits, 24, db=begun, resume=1)
    assert points(result) == points(whole) and result.run == 1
    assert result.best.to_bytes() == whole.best.to_bytes()
    result.best.save(tmp_path / "ours.json")
    assert "24 trials" in program("runs", "show", 1, "--db", begun)
    words = [digits.path, "--data", digits.paths["search_images"], "--labels", digits.paths["search_labels"]]
    program("search", *words, "--resume", 1, "--trials", 24, "-q", "--db", tmp_path / "theirs.db", "-o", tmp_path / "theirs.json")
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()


def test_a_run_that_ended_by_itself_is_read_again(digits, tmp_path):
    log = tmp_path / "runs.db"
    ended = search(digits, None, searcher="greedy", patience=3, db=log)
    before = log.read_bytes()
    again = search(digits, None, searcher="greedy", patience=3, db=log, resume=1)
    assert points(again) == points(ended) and log.read_bytes() == before and again.run == 1
    assert again.report().startswith("<!DOCTYPE html>")


def test_what_differs_is_refused(digits, begun):
    cases = [
        ({"seed": 1}, "other options"),
        ({"max_drop": 0.02}, "other options"),
        ({"preprocess": None}, "another preprocessing"),
        ({"weight_bits": (4, 8)}, "other choices"),
        ({"holdout": digits.test_images, "holdout_labels": digits.test_labels}, "another hold-out"),
        ({"trials": 5}, "has 10 already"),
        ({"resume": 2}, "holds no run 2"),
        ({"db": None}, "resume goes with db"),
    ]
    for how, words in cases:
        how = {"trials": 24, "db": begun, "resume": 1, **how}
        with pytest.raises(intaglio.Error, match=words):
            search(digits, how.pop("trials"), **how)
    with pytest.raises(intaglio.BadArgument, match="other data"):
        intaglio.search(digits.model(), "cortex-m", digits.test_images, digits.test_labels, preprocess=digits.preprocess, trials=24,
                        searcher="surrogate", recover="none", progress=False, db=begun, resume=1)


def test_a_searcher_learns_from_earlier_runs(digits, program, begun, tmp_path):
    shutil.copy(begun, tmp_path / "theirs.db")
    result = search(digits, 6, db=begun, past="all", seed=5)
    same = search(digits, 6, db=begun, past=[1], seed=5)
    assert points(result) == points(same) != points(search(digits, 6, seed=5))
    words = [digits.path, "--hw", "cortex-m", "--scale", "1/255", "--data", digits.paths["search_images"], "--labels",
             digits.paths["search_labels"], "--searcher", "surrogate", "--recover", "none", "--seed", 5, "--trials", 6, "-q"]
    program("search", *words, "--past", "all", "--db", tmp_path / "theirs.db", "-o", tmp_path / "theirs.json",
            expected=0 if result.goal_holds else 3)
    result.best.save(tmp_path / "ours.json")
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()
    # it goes on with what it had learned, though the log has more runs now
    resumed = search(digits, 12, db=begun, resume=2, seed=5)
    assert points(resumed)[:6] == points(result)
    with pytest.raises(intaglio.BadArgument, match="expected numbers of runs"):
        search(digits, 6, db=begun, past="x")
    with pytest.raises(intaglio.BadArgument, match="past goes with db"):
        search(digits, 6, past="all")
