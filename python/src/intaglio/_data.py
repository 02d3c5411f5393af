"""Samples and labels as the library takes them: from files, arrays, iterables, torch DataLoaders and ONNX Runtime's
CalibrationDataReaders."""

from __future__ import annotations

import itertools
import os
from typing import Any, Iterable, Iterator, Mapping, Optional, Union

import numpy as np

from ._library import BadArgument, call, ffi, lib, make, path_bytes
from ._values import as_array, tensor_of

# Samples: a path (.npy, .npz, IDX, .csv), an array [samples, ...], a mapping of input names to arrays, an iterable of
# samples or batches (each alone, or with its label as a pair), a torch DataLoader, a CalibrationDataReader.
Samples = Union[str, "os.PathLike[str]", np.ndarray, Mapping[str, Any], Iterable[Any]]
# Labels: a path or an array [samples, ...].
Labels = Union[str, "os.PathLike[str]", np.ndarray, Iterable[Any]]
Arrays = dict[Optional[str], np.ndarray]


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__")


def _reader_items(reader: Any) -> Iterator[Any]:
    while True:
        item = reader.get_next()
        if item is None:
            return
        yield item


def _split_pair(item: Any) -> tuple[Any, Any]:
    """What a loader gives: samples, or samples and labels."""
    is_pair = isinstance(item, (tuple, list)) and len(item) == 2
    if is_pair and (_is_array(item[0]) or isinstance(item[0], Mapping)):
        return item[0], item[1]
    if isinstance(item, (tuple, list)) and len(item) == 1:
        return item[0], None
    return item, None


def _ranks(model: Any) -> dict[Optional[str], int]:
    ranks: dict[Optional[str], int] = {value.name: len(value.shape) for value in model.inputs}
    ranks[None] = len(model.inputs[0].shape)
    return ranks


def _as_batch(value: Any, rank: Optional[int], what: str) -> tuple[np.ndarray, bool]:
    """A batch, and whether it is one sample without its axis of samples: it has an axis less than the model's input."""
    array = as_array(value, what)
    is_sample = rank is not None and array.ndim == rank - 1
    return (array[np.newaxis] if is_sample else array), is_sample


def _gather(items: Iterable[Any], model: Any, most: Optional[int]) -> tuple[Arrays, Optional[np.ndarray]]:
    """All items of an iterable, at most `most` samples, as one array for each input, and their labels."""
    parts: dict[Optional[str], list[np.ndarray]] = {}
    labels: list[np.ndarray] = []
    ranks, count = _ranks(model), 0
    for index, item in enumerate(items):
        samples, label = _split_pair(item)
        named = samples if isinstance(samples, Mapping) else {None: samples}
        for name, value in named.items():
            batch, is_sample = _as_batch(value, ranks.get(name), f"data: item {index}")
            parts.setdefault(name, []).append(batch)
        if label is not None:
            array = as_array(label, f"labels: item {index}")
            labels.append(array[np.newaxis] if is_sample or array.ndim == 0 else array)
        count += len(batch)
        if most is not None and count >= most:
            break
    if not parts:
        raise BadArgument("data: the iterable gave no sample", "BAD_ARGUMENT")
    try:
        joined = {name: np.concatenate(batches)[:most] for name, batches in parts.items()}
        return joined, np.concatenate(labels)[:most] if labels else None
    except ValueError as failure:
        raise BadArgument(f"data: the items do not fit together: {failure}", "BAD_ARGUMENT") from failure


def _first(array: np.ndarray, most: Optional[int]) -> np.ndarray:
    return array[:most] if array.ndim else array  # of a single number _from_memory complains


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def name_of(value: Any) -> str:
    """What a log calls data: its path, or what it is."""
    return os.fspath(value) if _is_path(value) else f"({type(value).__name__} of a Python program)"


def _arrays(data: Any, model: Any, most: Optional[int]) -> tuple[Arrays, Optional[np.ndarray]]:
    if _is_array(data):
        return {None: _first(as_array(data, "data"), most)}, None
    if isinstance(data, Mapping):
        return {name: _first(as_array(value, f"data[{name!r}]"), most) for name, value in data.items()}, None
    if hasattr(data, "get_next"):
        return _gather(_reader_items(data), model, most)
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):
        return _gather(data, model, most)
    raise BadArgument(
        f"data: found {type(data).__name__}; expected a path, an array, a mapping of arrays, or an iterable", "BAD_ARGUMENT"
    )


def _from_memory(array: np.ndarray, name: str) -> Any:
    """An itg_dataset that nobody destroys yet."""
    if array.ndim == 0:
        raise BadArgument(f"{name}: expected an array of shape [samples, ...], found a single number", "BAD_ARGUMENT")
    out = ffi.new("itg_dataset **")
    call(lib.itg_data_from_memory, tensor_of(array), name.encode(), out)
    return out[0]


def _join(arrays: Arrays) -> Any:
    names = [ffi.new("char[]", str(name).encode()) for name in arrays]
    parts: list[Any] = []
    out = ffi.new("itg_dataset **")
    try:
        for name, array in arrays.items():
            parts.append(_from_memory(array, f"data[{name!r}]"))
        call(lib.itg_data_join, parts, names, len(parts), out)
    except BaseException:
        for part in parts:
            lib.itg_data_close(part)
        raise
    return ffi.gc(out[0], lib.itg_data_close)


def _open_path(path: Any, most: Optional[int]) -> Any:
    return make("itg_dataset", lib.itg_data_close, lib.itg_data_open, path_bytes(path), most or 0)


def _dataset(arrays: Arrays) -> Any:
    if list(arrays) == [None]:
        return ffi.gc(_from_memory(arrays[None], "data"), lib.itg_data_close)
    return _join(arrays)


def _label_dataset(labels: Any, most: Optional[int]) -> Any:
    if labels is None:
        return ffi.NULL
    if _is_path(labels):
        return _open_path(labels, most)
    if not _is_array(labels) and not isinstance(labels, (list, tuple)):
        labels = list(labels if most is None else itertools.islice(labels, most))
    return ffi.gc(_from_memory(_first(as_array(labels, "labels"), most), "labels"), lib.itg_data_close)


class Source:
    """Samples and labels that have been read from iterables, and become an itg_dataset as often as one is asked for."""

    def __init__(self, data: Samples, labels: Optional[Labels], model: Any, most: Optional[int] = None):
        self._path = data if _is_path(data) else None
        self._arrays, own = ({}, None) if self._path is not None else _arrays(data, model, most)
        self._labels, self._most = own if labels is None else labels, most

    def samples(self, most: Optional[int] = None) -> Any:
        """The first `most` samples; None: all."""
        most = self._most if most is None else most
        if self._path is not None:
            return _open_path(self._path, most)
        return _dataset({name: _first(array, most) for name, array in self._arrays.items()})

    def labels(self) -> Any:
        """NULL: there are none."""
        return _label_dataset(self._labels, self._most)


def open_data(data: Samples, labels: Optional[Labels], model: Any, most: Optional[int] = None) -> tuple[Any, Any]:
    """itg_dataset of the samples and of the labels (NULL: there are none); most: only so many from the start."""
    source = Source(data, labels, model, most)
    return source.samples(), source.labels()
