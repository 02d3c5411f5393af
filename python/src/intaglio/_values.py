"""Plain values: arrays as tensors, preprocessing, scores, metrics of the caller's own."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

import numpy as np

from . import _html
from ._library import BadArgument, Callbacks, ffi, hex_of_pointer, lib, set_text, text

DTYPES: dict[int, np.dtype[Any]] = {
    lib.ITG_F32: np.dtype(np.float32),
    lib.ITG_F64: np.dtype(np.float64),
    lib.ITG_S8: np.dtype(np.int8),
    lib.ITG_U8: np.dtype(np.uint8),
    lib.ITG_S16: np.dtype(np.int16),
    lib.ITG_U16: np.dtype(np.uint16),
    lib.ITG_S32: np.dtype(np.int32),
    lib.ITG_U32: np.dtype(np.uint32),
    lib.ITG_S64: np.dtype(np.int64),
    lib.ITG_BOOL: np.dtype(np.bool_),
}
_NUMBERS = {dtype: number for number, dtype in DTYPES.items()}


def as_array(value: Any, what: str) -> np.ndarray:
    """An array of a type that the library has, row-major. float16 becomes float32, which is exact."""
    if hasattr(value, "detach"):  # a tensor of torch, also one with gradients or on a device
        value = value.detach().cpu()
    array = np.asarray(value)
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).reshape(array.shape)
    if array.dtype not in _NUMBERS:
        names = ", ".join(str(dtype) for dtype in DTYPES.values())
        raise BadArgument(f"{what}: elements of type {array.dtype}; expected one of {names} or float16", "BAD_ARGUMENT")
    if array.ndim > lib.ITG_MAX_RANK:
        raise BadArgument(f"{what}: {array.ndim} axes; expected at most {lib.ITG_MAX_RANK}", "BAD_ARGUMENT")
    return array


def tensor_of(array: np.ndarray) -> Any:
    """An itg_tensor on the array's memory, which must outlive it."""
    out = ffi.new("itg_tensor *")
    out.dtype = _NUMBERS[array.dtype]
    out.shape.rank = array.ndim
    for axis, size in enumerate(array.shape):
        out.shape.dims[axis] = size
    out.data = ffi.cast("void *", array.ctypes.data)
    return out


def shape_of(shape: Any) -> tuple[int, ...]:
    return tuple(shape.dims[0 : shape.rank])


def array_of(tensor: Any) -> np.ndarray:
    """A copy of an itg_tensor."""
    shape, dtype = shape_of(tensor.shape), DTYPES[tensor.dtype]
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    data = ffi.buffer(tensor.data, size) if size else b""
    return np.frombuffer(data, dtype=dtype).reshape(shape).copy()


def digest_of(digest: Any) -> str:
    """32 bytes in hexadecimal; "" where all are 0: not known."""
    digits = hex_of_pointer(digest)
    return digits if digits.strip("0") else ""


# ---- preprocessing ----


@dataclasses.dataclass(frozen=True)
class Preprocess:
    """What is done to samples before the network, in this order: reverse the channels (bgr);
    (x * scale - mean) / std in float32; change the layout; reshape.

    bgr: reverse the channels.
    scale: factor, as 1/255.
    mean, std: one number, or one for each channel (at most 16); none: ().
    layout: "same", or how the samples lie where the model takes the other: "nchw", "nhwc".
    inputs: names of the inputs that this is for, where the model has several.
    allow_nonfinite: compute also with elements that are NaN or infinite."""

    bgr: bool = False
    scale: float = 1.0
    mean: Union[float, Sequence[float]] = ()
    std: Union[float, Sequence[float]] = ()
    layout: str = "same"
    inputs: Union[str, Sequence[str]] = ""
    allow_nonfinite: bool = False

    def _struct(self) -> Any:
        out = ffi.new("itg_preprocess *", lib.itg_preprocess_default())
        out.bgr, out.scale, out.allow_nonfinite = self.bgr, self.scale, self.allow_nonfinite
        layout = ffi.new("itg_sample_layout *")
        if not lib.itg_sample_layout_from_name(self.layout.encode(), layout):
            raise BadArgument(f"layout {self.layout!r}: expected same, nchw or nhwc", "BAD_ARGUMENT")
        out.layout = layout[0]
        set_text(out, "inputs", self.inputs if isinstance(self.inputs, str) else ",".join(self.inputs), "inputs")
        for name in ("mean", "std"):
            values = np.atleast_1d(np.asarray(getattr(self, name), dtype=np.float32))
            if len(values) > lib.ITG_MAX_CHANNELS:
                raise BadArgument(f"{name}: {len(values)} values; expected at most {lib.ITG_MAX_CHANNELS}", "BAD_ARGUMENT")
            setattr(out, name + "_count", len(values))
            getattr(out, name)[0 : len(values)] = values.tolist()
        return out


def preprocess_of(struct: Any) -> Preprocess:
    return Preprocess(
        bool(struct.bgr),
        struct.scale,
        tuple(struct.mean[0 : struct.mean_count]),
        tuple(struct.std[0 : struct.std_count]),
        text(lib.itg_sample_layout_name(struct.layout)),
        text(struct.inputs),
        bool(struct.allow_nonfinite),
    )


def preprocess_struct(value: Optional[Preprocess]) -> Any:
    return (value or Preprocess())._struct()


# ---- scores ----


class Score(Mapping[str, float]):
    """What is known of a strategy or a program on some samples: metrics by their names (docs/metrics.md).

    Shares are from 0 to 1, sqnr_db is in dB, weight_bytes and the like in bytes; what is not known is not there.
    samples: how many were seen. stopped_at: > 0 where a trial of a search was stopped after so many samples.
    digest: SHA-256 of all outputs in hexadecimal; "" where it is not known."""

    def __init__(self, struct: Any):
        self.samples: int = struct.samples
        self.stopped_at: int = struct.stopped_at
        self.digest: str = digest_of(struct.digest)
        self._values: dict[str, float] = {}
        pointer = ffi.new("itg_score *", struct[0] if ffi.typeof(struct).kind == "pointer" else struct)
        for metric in range(lib.ITG_METRIC_ALL):
            if lib.itg_score_knows(pointer, metric):
                about = lib.itg_score_about(pointer, metric)
                value = lib.itg_score_get(pointer, metric)
                self._values[text(about.name)] = int(value) if about.unit == lib.ITG_UNIT_BYTES else value

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.6g}" for name, value in self._values.items())
        return f"Score(samples={self.samples}, {values})"

    def _repr_html_(self) -> str:
        return _html.table(f"{self.samples} samples", ["metric", "value"], self._values.items())


def known_score(struct: Any) -> Optional[Score]:
    """None where nothing is known: NULL, or no metric."""
    if not struct:
        return None
    score = Score(struct)
    return score if score.samples or len(score) else None


def metric_number(name: str) -> int:
    out = ffi.new("itg_metric *")
    if not lib.itg_metric_from_name(name.encode(), out):
        names = ", ".join(text(lib.itg_metric_about(metric).name) for metric in range(lib.ITG_METRIC_USER1))
        raise BadArgument(f"metric {name!r}: expected one of {names}, sqnr_db, or a function", "BAD_ARGUMENT")
    return out[0]


# ---- metrics of the caller's own ----

Metric = Callable[[Any, Optional[np.ndarray]], float]
MetricLike = Union[str, Metric]


def metric_name(function: Any) -> str:
    """The function's name in the letters that names of metrics have; no name of the library's list."""
    name = re.sub(r"[^a-z0-9_]+", "_", getattr(function, "__name__", "metric").lower()).strip("_")
    name = "metric" if not name or name == "lambda" else name
    if lib.itg_metric_from_name(name.encode(), ffi.new("itg_metric *")):
        name = "user_" + name
    return name[: lib.ITG_METRIC_NAME - 1]


def fill_user_metric(user: Any, function: Metric, larger_is_better: bool, callbacks: Callbacks) -> None:
    """Fills an itg_user_metric (a pointer) with a Python function of (outputs, labels)."""
    set_text(ffi.addressof(user[0].info), "name", metric_name(function), "name of the metric")
    user.info.unit, user.info.up = lib.ITG_UNIT_NUMBER, larger_is_better

    def score(context: Any, outputs: Any) -> float:
        if callbacks.failure is not None:
            return float("nan")
        arrays = [array_of(outputs.outputs[index]) for index in range(outputs.count)]
        labels = array_of(outputs.labels[0]) if outputs.labels else None
        return float(function(arrays[0] if len(arrays) == 1 else arrays, labels))

    callbacks.set(user, "score", score, float("nan"))


def set_metrics(out: Any, metric: Any, larger_is_better: bool, callbacks: Callbacks) -> list[Any]:
    """The metrics that options of a simulation or a run measure beside those they always do; what must outlive the call."""
    wanted = [] if metric is None else [metric] if isinstance(metric, str) or callable(metric) else list(metric)
    measures = ffi.new("bool[]", lib.ITG_METRIC_ALL)
    users, count = ffi.new("itg_user_metric[]", lib.ITG_USER_METRICS), 0
    measures[lib.ITG_METRIC_ACCURACY] = True
    for one in wanted:
        if isinstance(one, str):
            measures[lib.ITG_METRIC_SQNR if one == "sqnr" else metric_number(one)] = True
        elif count == lib.ITG_USER_METRICS:
            raise BadArgument(f"metric: at most {lib.ITG_USER_METRICS} functions", "BAD_ARGUMENT")
        else:
            fill_user_metric(users + count, one, larger_is_better, callbacks)
            count += 1
    out.measures = measures
    if count:
        out.user = users
    return [measures, users]


def expect_metric(score: Score, metric: Any, of: str) -> None:
    """Where one metric was asked for by its name, the score must have it."""
    if isinstance(metric, str) and ("sqnr_db" if metric == "sqnr" else metric) not in score:
        raise BadArgument(f"metric {metric}: not known of {of} on this data (docs/metrics.md)", "BAD_ARGUMENT")


