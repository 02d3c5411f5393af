import gc
import subprocess

import numpy as np
import pytest

import intaglio


@pytest.fixture
def eight(digits):
    """Of this test alone: results of another test would be in its files."""
    return digits.eight()


@pytest.fixture
def realized(eight):
    return eight.realize()


def test_codes_and_real_numbers(digits, realized):
    images = digits.test_images[:20]
    codes, real = realized(images, codes=True), realized(images)
    (output,) = realized.outputs
    assert codes.dtype == np.int8 and real.dtype == np.float32 and codes.shape == real.shape == (20, 10)
    assert np.array_equal(real, np.float32(output.scale) * (codes.astype(np.float32) - output.zero_point))


def test_same_bits_as_the_simulation(digits, eight, realized):
    simulated = eight.simulate(digits.test_images, digits.test_labels, definition=True)
    ran = realized.score(digits.test_images, digits.test_labels)
    assert ran.digest == simulated.digest == realized.digest(digits.test_images, threads=1)
    assert ran["top1"] == simulated["top1"] == np.mean(realized(digits.test_images).argmax(1) == digits.test_labels)


def test_save_and_load(digits, realized, program, tmp_path):
    path = realized.save(tmp_path / "digits.itg")
    for again in (intaglio.Program.load(path), intaglio.Program.load(path.read_bytes())):
        assert np.array_equal(again(digits.test_images[:9]), realized(digits.test_images[:9]))
        assert again.preprocess == realized.preprocess and again.ram_bytes == realized.ram_bytes == 3512
    assert max(place["offset"] + place["bytes"] for place in realized.memory) in range(3505, 3513)
    assert realized.to_bytes() == path.read_bytes()
    assert "verified" in program("verify", path)
    program("run", path, "--data", digits.paths["test_images"], "-o", tmp_path / "out.npy")
    assert np.array_equal(np.load(tmp_path / "out.npy").reshape(2000, 10), realized(digits.test_images, codes=True))


def test_damaged_program(realized):
    with pytest.raises(intaglio.Error, match="program"):
        intaglio.Program.load(realized.to_bytes()[:-40])


def test_c_source_is_the_programs(digits, eight, realized, program, tmp_path):
    eight.save(tmp_path / "eight.json")
    program("realize", digits.path, tmp_path / "eight.json", "--emit", "c", "-o", tmp_path / "theirs")
    emitted = realized.emit_c(tmp_path / "own")
    names = sorted(path.name for path in (tmp_path / "theirs").iterdir())
    assert names == sorted(path.name for path in emitted.folder.iterdir())
    assert {"digits.c", "digits.h", "digits_selftest.c"} < set(names)
    for name in names:
        own, theirs = ((tmp_path / folder / name).read_bytes() for folder in ("own", "theirs"))
        assert own == theirs, name
    assert emitted.name == "digits" and emitted.weight_bytes == 7224


def test_c_source_of_own_samples_passes_its_test(digits, realized, tmp_path):
    emitted = realized.emit_c(tmp_path, name="net", data=digits.test_images, samples=3)
    sources = [tmp_path / "net.c", tmp_path / "net_selftest.c"]
    subprocess.run(["cc", "-std=c99", "-O1", "-I", tmp_path, *sources, "-o", tmp_path / "selftest"], check=True)
    assert "3" in subprocess.run([tmp_path / "selftest"], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert emitted.name == "net"


def test_less_memory_gives_the_same_codes(digits, realized, tmp_path):
    most = realized.ram_bytes - 100
    tiled = realized.tile(most)
    assert tiled.ram_bytes <= most and tiled.digest(digits.test_images) == realized.digest(digits.test_images)
    assert tiled.emit_c(tmp_path).arena_bytes == tiled.ram_bytes
    assert realized.tile(realized.ram_bytes) is realized
    with pytest.raises(intaglio.Infeasible, match="100 are allowed"):
        realized.tile(100)


def test_qdq(eight, realized, digits, program, tmp_path):
    eight.save(tmp_path / "eight.json")
    program("realize", digits.path, tmp_path / "eight.json", "--emit", "qdq", "-o", tmp_path / "theirs.onnx")
    report = realized.emit_qdq(tmp_path / "own.onnx")
    assert (tmp_path / "own.onnx").read_bytes() == (tmp_path / "theirs.onnx").read_bytes()
    assert report.opset >= 10 and all(len(note) == 3 for note in report.notes)
    with pytest.raises(intaglio.BadArgument, match="Strategy.realize"):
        intaglio.Program.load(realized.to_bytes()).emit_qdq(tmp_path / "x.onnx")


def test_metric_of_ones_own(digits, realized):
    def hits(outputs, labels):
        return np.mean(outputs.reshape(len(labels), -1).argmax(1) == labels)

    score = realized.score(digits.test_images, digits.test_labels, metric=hits)
    assert score["hits"] == score["top1"]


def test_metric_by_name(digits, realized):
    by_strategy = digits.eight().simulate(digits.test_images, digits.test_labels, metric="f1_macro", agreement=False)
    score = realized.score(digits.test_images, digits.test_labels, metric="f1_macro")
    assert score["f1_macro"] == by_strategy["f1_macro"] and "f1_macro" not in realized.score(digits.test_images, digits.test_labels)
    with pytest.raises(intaglio.BadArgument, match="metric kl: not known of this program"):
        realized.score(digits.test_images, digits.test_labels, metric="kl")


def test_exception_in_the_data(realized):
    def broken():
        yield np.zeros((1, 1, 16, 16), np.uint8)
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        realized(broken())


def test_wrong_shape(realized):
    with pytest.raises(intaglio.Error, match="data"):
        realized(np.zeros((2, 3), np.float32))


def test_objects_of_a_cycle_end_in_any_order(digits):
    """The collector ends them in an order of its own; each may borrow from others."""
    for _ in range(8):
        model = digits.model()
        strategy = intaglio.uniform(model, "cortex-m", 8, digits.search_images[:20], recover="none")
        cycle = [strategy.realize(), strategy, model, strategy.explain(digits.search_images[:2], most_changes=1)]
        cycle.insert(0, cycle)
        del model, strategy, cycle
        gc.collect()
    from intaglio._library import _Life

    assert all(life._users > 0 for life in _Life._by_address.values())


def test_nothing_is_left(digits):
    from intaglio._library import _Life

    gc.collect()
    before = len(_Life._by_address)
    program = digits.eight(recover="none").realize()
    assert len(_Life._by_address) > before
    del program
    gc.collect()
    assert len(_Life._by_address) == before
