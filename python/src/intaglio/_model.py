"""Networks, hardware, and what a hardware makes of a network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

import json

from . import _html
from ._library import call, ffi, hex_of_pointer, lib, make, make_text, options, path_bytes, set_text, text
from ._values import Score, known_score, shape_of


class Value(NamedTuple):
    """An input or an output of a network. shape: of one sample, with the batch axis (1). dtype: "f32", "s64"..."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class Refusal(NamedTuple):
    """Why a model cannot be opened: one kind of problem, and how often it occurs."""

    what: str
    why: str
    first: str
    help: str
    times: int


def _shapes_text(shapes: Any) -> str:
    """ "x=1,3,224,224" from a text, a shape, or a mapping of names to shapes."""
    if shapes is None or isinstance(shapes, str):
        return shapes or ""
    if isinstance(shapes, Mapping):
        return ",".join(f"{name}=" + ",".join(str(size) for size in shape) for name, shape in shapes.items())
    return ",".join(str(size) for size in shapes)


def _names_text(names: Any) -> str:
    return names if isinstance(names, str) else ",".join(names or ())


def _model_options(input_shape: Any, outputs: Any, keep_softmax: bool, no_equalize: bool) -> Any:
    out = options("itg_model_options", keep_softmax=keep_softmax, no_equalize=no_equalize)
    set_text(out, "input_shapes", _shapes_text(input_shape), "input_shape")
    set_text(out, "outputs", _names_text(outputs), "outputs")
    return out


Shapes = Union[str, Sequence[int], Mapping[str, Sequence[int]]]


class Model:
    """A float network, prepared for quantization (docs/preparation.md).

    source: a path, the bytes of a file, or an onnx.ModelProto.
    name: what messages and strategies call it, where the source is no path.
    input_shape: sizes of inputs that the file leaves open: (1, 3, 224, 224), {"x": (1, 3, 224, 224)} or "x=1,3,224,224".
    outputs: names of values that become the outputs, in this order; what lies behind them is left out.
    keep_softmax: keep a Softmax at the end, which is left off otherwise.
    no_equalize: without cross-layer equalization, to compare.

    A strategy fits only a model that was opened with the same options."""

    def __init__(
        self,
        source: Any,
        *,
        name: Optional[str] = None,
        input_shape: Optional[Shapes] = None,
        outputs: Union[str, Sequence[str], None] = None,
        keep_softmax: bool = False,
        no_equalize: bool = False,
    ):
        how = _model_options(input_shape, outputs, keep_softmax, no_equalize)
        if hasattr(source, "SerializeToString"):
            name = name or (source.graph.name or "model") + ".onnx"
            source = source.SerializeToString()
        if isinstance(source, (bytes, bytearray, memoryview)):
            source = bytes(source)
            data = ffi.from_buffer(source)
            arguments: tuple[Any, ...] = (lib.itg_model_open_memory, data, len(data), (name or "model.onnx").encode(), how)
        else:
            arguments = (lib.itg_model_open, path_bytes(source), how)
        self._model = make("itg_model", lib.itg_model_close, *arguments)
        self._source = source

    def _file(self, folder: Path) -> str:
        """The path that it was opened from, or of a copy of its bytes in the folder."""
        if not isinstance(self._source, bytes):
            return os.path.abspath(self._source)
        (folder / self.name).write_bytes(self._source)
        return self.name

    @staticmethod
    def survey(path: Union[str, "os.PathLike[str]"], **how: Any) -> list[Refusal]:
        """All problems of a file that cannot be opened; none: it can be. Options as of Model()."""
        how = {"input_shape": None, "outputs": None, "keep_softmax": False, "no_equalize": False, **how}
        found = make("itg_refusals", lib.itg_refusals_destroy, lib.itg_model_survey, path_bytes(path), _model_options(**how))
        rows = [lib.itg_refusals_at(found, index) for index in range(lib.itg_refusals_count(found))]
        return [Refusal(text(r.what), text(r.why), text(r.first), text(r.help), r.count) for r in rows]

    @property
    def name(self) -> str:
        """The file name without folders."""
        return text(lib.itg_model_name(self._model))

    @property
    def hash(self) -> str:
        """SHA-256 of the file, and of the data that it has in other files, in hexadecimal."""
        return hex_of_pointer(lib.itg_model_hash(self._model))

    @property
    def inputs(self) -> list[Value]:
        return self._values("input")

    @property
    def outputs(self) -> list[Value]:
        return self._values("output")

    @property
    def is_classifier(self) -> bool:
        """Whether the output says one class of several; the quality of other networks is their SQNR."""
        return bool(lib.itg_model_is_classifier(self._model))

    def text(self) -> str:
        """The prepared graph as text, which does not change between runs and machines."""
        return make_text(lib.itg_model_print, self._model)

    def check(self, hw: "HardwareLike", bits: int = 8) -> "Check":
        """How a hardware runs each node, and what the network costs where all widths are `bits`, or the nearest there are."""
        return Check(self, as_hardware(hw), bits)

    def _values(self, side: str) -> list[Value]:
        def get(what: str, index: int) -> Any:
            return getattr(lib, f"itg_model_{side}_{what}")(self._model, index)

        count = getattr(lib, f"itg_model_{side}_count")(self._model)
        return [Value(text(get("name", i)), shape_of(get("shape", i)), text(get("type", i))) for i in range(count)]

    def __repr__(self) -> str:
        return f"<Model {self.name}: {len(self.inputs)} input(s), {len(self.outputs)} output(s)>"

    def _repr_html_(self) -> str:
        rows = [("input", *value) for value in self.inputs] + [("output", *value) for value in self.outputs]
        return _html.table(self.name, ["", "name", "shape", "type"], rows)


# ---- hardware ----


class Hardware:
    """A target: the name of a built-in one (targets()), a path, or its description as a dict (docs/adding-a-target.md)."""

    def __init__(self, description: Union[str, "os.PathLike[str]", Mapping[str, Any]]):
        if isinstance(description, Mapping):
            data = json.dumps(description).encode()
            self._hardware = make(
                "itg_hardware", lib.itg_hardware_destroy, lib.itg_hardware_parse, data, len(data), b"hardware"
            )
        else:
            self._hardware = make("itg_hardware", lib.itg_hardware_destroy, lib.itg_hardware_load, path_bytes(description))

    @property
    def name(self) -> str:
        return text(lib.itg_hardware_name(self._hardware))

    @property
    def description(self) -> dict[str, Any]:
        """As it is embedded in strategies."""
        return json.loads(text(lib.itg_hardware_json(self._hardware)))

    @property
    def is_all_float(self) -> bool:
        """Whether it quantizes nothing."""
        return bool(lib.itg_hardware_all_float(self._hardware))

    def measure(self, model: Model) -> tuple[Hardware, float]:
        """The same hardware with the speeds of this machine's kernels on the model's operators (one thread), and the seconds
        that a sample took at 8 bits. A cycle of it is a nanosecond; no two measurements are alike."""
        out, time = ffi.new("char **"), ffi.new("double *")
        call(lib.itg_hardware_measure, self._hardware, model._model, out, time)
        try:
            return Hardware(json.loads(text(out[0]))), time[0] * 1e-9
        finally:
            lib.itg_free(out[0])

    def __repr__(self) -> str:
        return f"<Hardware {self.name}: {text(lib.itg_hardware_description(self._hardware))}>"


HardwareLike = Union[str, "os.PathLike[str]", Mapping[str, Any], Hardware]


def as_hardware(hw: HardwareLike) -> Hardware:
    return hw if isinstance(hw, Hardware) else Hardware(hw)


def targets() -> list[str]:
    """The names of the built-in targets."""
    return [text(lib.itg_hardware_builtin_name(index)) for index in range(lib.itg_hardware_builtin_count())]


class CheckedNode(NamedTuple):
    """A node of the prepared graph. placement: "integer", "fused", "float" or "refused"; reason: why, where it is not integer.
    macs: multiply-accumulates of one sample."""

    name: str
    op: str
    placement: str
    reason: str
    macs: int
    weights: int


_PLACEMENTS = {
    lib.ITG_PLACE_INTEGER: "integer",
    lib.ITG_PLACE_FUSED: "fused",
    lib.ITG_PLACE_FLOAT: "float",
    lib.ITG_PLACE_REFUSED: "refused",
}


class Check(Sequence[CheckedNode]):
    """How a hardware runs each node of a network: a sequence of CheckedNode.

    costs: of the network with all widths as asked for; None where the hardware cannot run it.
    no_c: why it cannot be C source; "": it can, or that is not known.
    notes: what stands in the hardware's description without any effect."""

    def __init__(self, model: Model, hw: Hardware, bits: int):
        found = make("itg_check", lib.itg_check_destroy, lib.itg_check_model, model._model, hw._hardware)
        reports = [lib.itg_check_node(found, index) for index in range(lib.itg_check_count(found))]
        self._nodes = [
            CheckedNode(text(r.name), text(r.op), _PLACEMENTS[r.placement], text(r.reason), r.macs, r.weight_elements)
            for r in reports
        ]
        self._caption = f"{model.name} on {hw.name}"
        score, no_c = ffi.new("itg_score *"), ffi.new("char[512]")
        call(lib.itg_check_costs, model._model, hw._hardware, bits, score, no_c)
        self.costs: Optional[Score] = known_score(score)
        self.no_c = text(no_c)
        self.notes = make_text(lib.itg_hardware_notes_text, hw._hardware, model._model).splitlines()

    @property
    def runs(self) -> bool:
        """Whether no node is refused."""
        return all(node.placement != "refused" for node in self._nodes)

    def __getitem__(self, index: Any) -> Any:
        return self._nodes[index]

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[CheckedNode]:
        return iter(self._nodes)

    def __repr__(self) -> str:
        count = sum(node.placement in ("integer", "fused") for node in self._nodes)
        return f"<Check {self._caption}: {count} of {len(self)} nodes in integers>"

    def _repr_html_(self) -> str:
        return _html.table(self._caption, CheckedNode._fields, self._nodes)
