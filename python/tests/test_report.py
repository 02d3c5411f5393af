"""Reports are the files that the program writes of the same run, strategy and program."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import intaglio


def search(digits, **how):
    return intaglio.search(digits.model(), "cortex-m", digits.search_images, digits.search_labels, preprocess=digits.preprocess,
                           trials=8, progress=False, **how)


def test_of_a_search(digits, program, tmp_path):
    result = search(digits, db=tmp_path / "runs.db")
    assert result.report(tmp_path / "ours.html") == tmp_path / "ours.html"
    program("report", result.run, "--db", tmp_path / "runs.db", "-o", tmp_path / "theirs.html")
    assert (tmp_path / "ours.html").read_bytes() == (tmp_path / "theirs.html").read_bytes()
    assert result.report() == (tmp_path / "ours.html").read_text(encoding="utf-8")
    assert result.report(pareto=["size", "ram"]) != result.report()


def test_of_a_search_without_a_log(digits):
    with pytest.raises(intaglio.BadArgument, match="db=PATH"):
        search(digits).report()


def test_of_a_strategy(digits, program, tmp_path, monkeypatch):
    strategy, samples = digits.eight(), digits.test_images[:32]
    plain, measured = strategy.report(), strategy.report(x=samples)
    assert plain.startswith("<!DOCTYPE html>") and "SQNR" in measured
    monkeypatch.chdir(tmp_path)
    strategy.save("strategy.json")
    np.save("samples.npy", samples)
    program("report", digits.path, "strategy.json", "--data", "samples.npy", "-o", "theirs.html")
    assert Path("theirs.html").read_text(encoding="utf-8") == measured
    assert strategy.report("ours.html", Path("samples.npy")) == Path("ours.html")


def test_of_a_strategy_of_a_model_in_memory(digits):
    model = intaglio.Model(Path(digits.path).read_bytes(), name="digits.onnx")
    strategy = intaglio.uniform(model, "cortex-m", 8, digits.search_images, preprocess=digits.preprocess)
    assert strategy.report() == digits.eight().report().replace(str(digits.path), "digits.onnx")


def test_of_a_program(digits, tmp_path):
    path = digits.eight().realize().report(tmp_path / "program.html")
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_into_a_folder_that_is_not_there(digits, tmp_path):
    with pytest.raises(intaglio.Error, match="nowhere"):
        digits.eight().report(tmp_path / "nowhere" / "report.html")


def test_the_command(tmp_path):
    command = Path(sys.executable).with_name("intaglio")
    assert subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.startswith("intaglio ")


def test_parts(digits, tmp_path):
    result = search(digits, db=tmp_path / "runs.db")
    assert result.report(part="course", format="csv").startswith("trial,quality,weight bytes")
    assert result.report(tmp_path / "front.svg", part="front").read_text(encoding="utf-8").startswith("<svg ")
    (tmp_path / "peers.csv").write_text("name,top1,weight_bytes\nothers,99.1%,3000\n")
    assert "others: 3,000 weight bytes" in result.report(peers=tmp_path / "peers.csv")
    strategy = digits.eight()
    assert strategy.report(format="md").startswith("# strategy.json on cortex-m")
    explained = strategy.report(x=digits.test_images[:32], y=digits.test_labels[:32], explain=True)
    assert "Where the loss comes from" in explained and "top-1" in explained
    assert "## Costs by layer" in strategy.realize().report(part="costs", format="md")
    with pytest.raises(intaglio.Error, match="there is no part 'none'"):
        result.report(part="none")
    with pytest.raises(intaglio.BadArgument, match="explain"):
        strategy.report(explain=True)
