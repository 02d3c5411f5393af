"""All ways to give samples are one: the same statistics, so the same strategy."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import intaglio


def strategy(digits, data, **how):
    how = {"preprocess": digits.preprocess, "recover": "none", "calibration_samples": 100, **how}
    return intaglio.uniform(digits.model(), "cortex-m", 8, data, **how).to_bytes()


class Reader:
    """As onnxruntime.quantization.CalibrationDataReader."""

    def __init__(self, images, batch):
        self._batches = iter(np.split(images, range(batch, len(images), batch)))

    def get_next(self):
        batch = next(self._batches, None)
        return None if batch is None else {"image": batch}


class Tensor:
    """As far as a torch tensor is looked at."""

    def __init__(self, array):
        self._array = array

    def detach(self):
        return self

    def cpu(self):
        return self

    def __array__(self, dtype=None, copy=None):
        return self._array


def batches(images, labels, size=16):
    for start in range(0, len(images), size):
        yield [Tensor(images[start : start + size]), Tensor(labels[start : start + size])]


def test_one_strategy_of_all_kinds_of_data(digits, tmp_path):
    images, labels = digits.search_images[:100], digits.search_labels[:100]
    expected = strategy(digits, digits.paths["search_images"])
    np.savez(tmp_path / "images.npz", image=digits.search_images)
    for data in [
        digits.search_images,
        str(digits.paths["search_images"]),
        f"{tmp_path}/images.npz:image",
        {"image": digits.search_images},
        list(images),  # samples
        [images[:30], images[30:]],  # batches
        (image for image in images),
        batches(images, labels),
        Reader(images, 1),
        Reader(images, 7),
        np.asfortranarray(images),
        images[::-1][::-1],
    ]:
        assert strategy(digits, data) == expected


def test_endless_iterables_are_read_as_far_as_needed(digits):
    read = []

    def endless():
        while True:
            read.append(1)
            yield digits.search_images[len(read) % 100]

    strategy(digits, endless(), calibration_samples=20)
    assert len(read) == 20 + 64


def test_labels_of_a_loader(digits, eight):
    images, labels = digits.test_images[:100], digits.test_labels[:100]
    expected = eight.simulate(images, labels)
    assert eight.simulate(batches(images, labels)) == expected and "top1" in expected
    assert eight.simulate(zip(images, labels))["top1"] == expected["top1"]
    assert eight.simulate(images, list(labels))["top1"] == expected["top1"]
    assert eight.simulate(images, iter(labels))["top1"] == expected["top1"]


def test_search_on_a_loader(digits):
    how = {"preprocess": digits.preprocess, "progress": False, "trials": 6, "recover": "none"}
    whole = intaglio.search(digits.model(), "cortex-m", digits.search_images, digits.search_labels, **how)
    parts = intaglio.search(digits.model(), "cortex-m", batches(digits.search_images, digits.search_labels), **how)
    assert parts.best.to_bytes() == whole.best.to_bytes()
    few = intaglio.search(digits.model(), "cortex-m", batches(digits.search_images, digits.search_labels), limit=400, **how)
    sliced = intaglio.search(digits.model(), "cortex-m", digits.search_images[:400], digits.search_labels[:400], **how)
    assert few.best.to_bytes() == sliced.best.to_bytes() != whole.best.to_bytes()


def test_types(digits):
    images = digits.search_images[:100]
    expected = strategy(digits, images.astype(np.float32))
    assert strategy(digits, images.astype(np.float16)) == expected
    assert strategy(digits, images.astype(">f4")) == expected


def two_inputs():
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in ("left", "right", "sum")]
    node = helper.make_node("Add", ["left", "right"], ["sum"], name="add")
    graph = helper.make_graph([node], "two", values[:2], values[2:])
    return intaglio.Model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


def test_several_inputs(tmp_path):
    model, generator = two_inputs(), np.random.default_rng(0)
    left, right = generator.normal(size=(2, 80, 4)).astype(np.float32)
    data = {"left": left, "right": right}
    np.savez(tmp_path / "both.npz", **data)
    made = [intaglio.uniform(model, "cortex-m", 8, source, recover="none").to_bytes() for source in (
        data, tmp_path / "both.npz", [{"left": a, "right": b} for a, b in zip(left, right)],
    )]
    assert made[0] == made[1] == made[2]
    real = intaglio.Strategy.from_bytes(model, *made[0]).realize()(data)
    assert real.shape == (80, 4) and np.abs(real - (left + right)).max() < 0.1
    with pytest.raises(intaglio.Error, match="right"):
        intaglio.uniform(model, "cortex-m", 8, {"left": left})
    with pytest.raises(intaglio.Error, match="samples"):
        intaglio.uniform(model, "cortex-m", 8, {"left": left, "right": right[:9]})


def test_several_outputs(digits):
    model = intaglio.Model(digits.path, outputs=["logits", "conv4_relu"])
    program = intaglio.uniform(model, "cortex-m", 8, digits.search_images, preprocess=digits.preprocess).realize()
    logits, maps = program(digits.test_images[:5])
    assert logits.shape == (5, 10) and maps.shape[0] == 5 and maps.ndim == 4


def test_what_is_no_data(digits, eight):
    for data, words in [
        (None, "NoneType; expected"),
        (b"bytes", "bytes; expected"),
        ([], "gave no sample"),
        ([np.zeros((1, 1, 16, 16)), np.zeros((1, 1, 8, 8))], "do not fit together"),
        (np.float32(3), "single number"),
        ("nowhere.npy", "nowhere.npy"),
        (np.array(["a"]), "elements of type"),
    ]:
        with pytest.raises(intaglio.Error, match=words):
            eight.simulate(data)


def test_torch(digits):
    torch = pytest.importorskip("torch")
    pairs = torch.utils.data.TensorDataset(torch.from_numpy(digits.search_images), torch.from_numpy(digits.search_labels))
    loader = torch.utils.data.DataLoader(pairs, batch_size=32)
    assert strategy(digits, loader) == strategy(digits, digits.search_images)
    assert strategy(digits, torch.from_numpy(digits.search_images)) == strategy(digits, digits.search_images)
