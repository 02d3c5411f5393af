import numpy as np
import pytest

import intaglio


def test_uniform_is_the_programs_strategy(digits, program, tmp_path):
    paths = digits.paths
    words = ["simulate", digits.path, "--hw", "cortex-m", "--scale", "1/255", "--calib", paths["search_images"]]
    words += ["--data", paths["test_images"], "--labels", paths["test_labels"]]
    for name, own, theirs in [
        ("eight", {}, ["--uniform", "8"]),
        ("three", {"weight_bits": 3, "threshold": "max", "calibration_samples": 100},
         ["--uniform", "8", "--weight-bits", "3", "--threshold", "max", "--calib-limit", "100"]),
        ("nearest", {"weight_bits": 2, "recover": "none"}, ["--uniform", "8", "--weight-bits", "2", "--recover", "none"]),
        ("ends", {"input_bits": 5, "output_bits": 6}, ["--uniform", "8", "--input-bits", "5", "--output-bits", "6"]),
    ]:
        program(*words, *theirs, "-o", tmp_path / f"{name}.theirs.json")
        strategy = digits.eight(**own)
        strategy.simulate(digits.test_images, digits.test_labels)
        (tmp_path / name).mkdir()
        own_path = tmp_path / name / f"{name}.theirs.json"  # the file of codes is named after it
        strategy.save(own_path)
        assert own_path.read_bytes() == (tmp_path / f"{name}.theirs.json").read_bytes()
        others = [p.name for p in (tmp_path / name).iterdir() if p != own_path]
        for other in others:
            assert (tmp_path / name / other).read_bytes() == (tmp_path / other).read_bytes()
        assert bool(others) == (name == "three")


def test_simulate(digits, eight):
    score = eight.simulate(digits.test_images, digits.test_labels)
    assert score.samples == 2000 and score["top1"] == 0.993 and score["weight_bytes"] == 7224
    assert score["sqnr_db"] == pytest.approx(29.10, abs=0.01) and len(score.digest) == 64
    assert eight.simulate(digits.test_images, digits.test_labels, threads=1).digest == score.digest
    assert "top1" not in eight.simulate(digits.test_images[:9])


def test_named_metrics(digits, eight):
    assert "f1_macro" not in eight.simulate(digits.test_images, digits.test_labels)
    score = eight.simulate(digits.test_images, digits.test_labels, metric="f1_macro")
    assert 0.98 < score["f1_macro"] < 1
    with pytest.raises(intaglio.BadArgument, match="'beauty': expected one of .*top1"):
        eight.simulate(digits.test_images, metric="beauty")
    with pytest.raises(intaglio.BadArgument, match="metric mse: not known"):
        eight.simulate(digits.test_images, digits.test_labels, metric="mse")


def test_metric_of_ones_own(digits, eight):
    seen = []

    def hits(outputs, labels):
        seen.append((outputs.shape, outputs.dtype, labels.shape))
        return np.mean(outputs.argmax(1) == labels)

    score = eight.simulate(digits.test_images, digits.test_labels, metric=[hits, "cosine"])
    assert score["hits"] == score["top1"] and score["cosine"] > 0.99
    assert set(seen) == {((2000, 10), np.dtype(np.float32), (2000,))}


def test_exception_of_a_metric_arrives(digits, eight):
    with pytest.raises(ZeroDivisionError):
        eight.simulate(digits.test_images, digits.test_labels, metric=lambda outputs, labels: 1 / 0)


def test_load_and_copy(digits, eight, tmp_path):
    strategy = digits.eight(weight_bits=3)
    strategy.save(tmp_path / "three.json")
    again = intaglio.Strategy.load(digits.model(), tmp_path / "three.json")
    assert again.to_bytes()[1] is not None and again.copy().to_bytes() == again.to_bytes()
    images = digits.test_images[:50]
    assert again.simulate(images).digest == strategy.simulate(images).digest != eight.simulate(images).digest
    assert again.weight_bits == (3, 3) and again.activation_bits == (8, 8)
    assert again.preprocess.scale == np.float32(1 / 255) and again.hardware.name == "cortex-m"


def test_other_model_is_refused(digits, eight):
    other = intaglio.Model(digits.path, outputs=["conv4_relu"])
    with pytest.raises(intaglio.Error):
        intaglio.Strategy.from_bytes(other, *eight.to_bytes())


def test_edges(eight):
    edges = eight.edges
    assert edges[0].value == "image" and edges[0].bits == 8 and edges[-1].node is None
    assert {edge.bits for edge in edges} == {0, 8}


def test_inspect(digits, eight):
    report = eight.inspect(digits.test_images[:100])
    edges = eight.edges
    assert [row[:3] for row in report] == [edges[row.edge][:3] for row in report]
    assert {row.edge for row in report} >= {index for index, edge in enumerate(edges) if edge.bits > 0}
    assert [row.sqnr_db for row in report] == sorted(row.sqnr_db for row in report)
    assert list(report.to_pandas()["value"]) == [row.value for row in report]


def test_explain(digits):
    strategy = digits.eight(weight_bits=3, recover="none")
    calls = []
    found = strategy.explain(
        digits.search_images[:40], digits.search_labels[:40], most_changes=2, progress=lambda *what: calls.append(what)
    )
    assert [row.share for row in found] == sorted((row.share for row in found), reverse=True)
    assert found.score.samples == 40 and {what for what, _, _ in calls} >= {"effects", "changes"}
    better = found.better()
    assert better.simulate(digits.search_images[:40])["sqnr_db"] == pytest.approx(found.changed["sqnr_db"])
    assert found.changed["sqnr_db"] > found.score["sqnr_db"]


def test_bad_arguments(digits):
    model, images = digits.model(), digits.search_images
    for how, words in [
        ({"bits": 99}, "bits: expected 2 to 32, found 99"),
        ({"threshold": "best"}, "threshold: 'best'"),
        ({"recover": "all"}, "recover: 'all'"),
        ({"data": None}, "data is missing"),
        ({"preprocess": intaglio.Preprocess(layout="hwc")}, "layout 'hwc'"),
        ({"data": images.astype(np.complex64)}, "complex64"),
        ({"data": images[:, :, :8]}, "data"),
        ({"hw": "nothing"}, "nothing"),
    ]:
        arguments = {"hw": "cortex-m", "bits": 8, "data": images, **how}
        with pytest.raises(intaglio.Error, match=words):
            intaglio.uniform(model, **arguments)


def test_pages(digits, eight):
    assert eight._repr_html_().count("<tr>") == 1 + len(eight.edges)
    assert "sqnr_db" in eight.simulate(digits.test_images[:9])._repr_html_()
    assert "float_min" in eight.inspect(digits.test_images[:9])._repr_html_()
