"""Integer programs: they run, and become files, C source and QDQ models."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _html
from ._data import Labels, Samples, open_data
from ._library import (
    BadArgument,
    Callbacks,
    Error,
    Interrupt,
    call,
    ffi,
    lib,
    make,
    make_text,
    options,
    path_bytes,
    run_or_interrupt,
    take_buffer,
    text,
)
from ._report import make_report
from ._values import MetricLike, Preprocess, Score, array_of, expect_metric, preprocess_of, preprocess_struct, set_metrics, shape_of

PathLike = Union[str, "os.PathLike[str]"]


class Output(NamedTuple):
    """What a program gives: real = scale * (code - zero_point). bits 0: no codes. shape: of one sample."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bits: int
    scale: float
    zero_point: int


class EmittedC(NamedTuple):
    """C source that was written. name: how its names begin. arena_bytes: RAM beside inputs, outputs and stack."""

    folder: Path
    name: str
    macs: int
    weight_bytes: int
    constant_bytes: int
    arena_bytes: int


class EmittedQdq(NamedTuple):
    """A QDQ model that was written. notes: nodes (name, operator, reason) for which ONNX Runtime does not promise the bits of
    the integer program. any_batch: else it takes one sample at a time."""

    path: Path
    opset: int
    any_batch: bool
    notes: list[tuple[str, str, str]]


class _Inputs:
    """The inputs' names and shapes as iterables of samples need them (Source); a program does not say them."""

    class _Unknown(NamedTuple):
        name: Optional[str] = None
        shape: tuple[int, ...] = (-1,)

    inputs = [_Unknown()]


class _Collected:
    """The outputs of all samples, as the run gives them, in order."""

    def __init__(self, samples: int):
        self._samples = samples
        self.arrays: list[np.ndarray] = []

    def add(self, sample: int, outputs: Any, count: int) -> None:
        for index in range(count):
            one = array_of(outputs[index])
            if sample == 0:
                rows = one.shape[1:] if one.ndim and one.shape[0] == 1 else one.shape
                self.arrays.append(np.empty((self._samples, *rows), one.dtype))
            self.arrays[index][sample] = one.reshape(self.arrays[index].shape[1:])


class Program:
    """An integer program with proven bounds. Made by Strategy.realize(), or read by Program.load().

    p(x) runs it. Simulation, this program, and the C source that emit_c() writes give the same bits."""

    def __init__(self, program: Any, *, model: Any = None, strategy: Any = None, annotated: Any = None):
        self._program, self.model, self.strategy = program, model, strategy
        self._annotated = annotated

    @classmethod
    def load(cls, source: Union[PathLike, bytes]) -> "Program":
        """Reads a program from a path or from bytes; everything is checked."""
        if isinstance(source, (bytes, bytearray, memoryview)):
            data = ffi.from_buffer(source)
            arguments: tuple[Any, ...] = (lib.itg_program_open_memory, data, len(data), b"program")
        else:
            arguments = (lib.itg_program_open, path_bytes(source))
        return cls(make("itg_program", lib.itg_program_destroy, *arguments))

    # ---- running ----

    def __call__(
        self, x: Samples, *, codes: bool = False, preprocess: Optional[Preprocess] = None, threads: int = 0
    ) -> Union[np.ndarray, list[np.ndarray]]:
        """The outputs of samples x [samples, ...], [samples, ...] each; of several outputs a list, in their order.

        codes: integers in their storage type (outputs says scale and zero point); else real numbers, float32.
        preprocess: in place of what the program was made with (Program.preprocess)."""
        data, _ = open_data(x, None, self.model or _Inputs)
        found = _Collected(lib.itg_data_samples(data))
        how = options("itg_run_options", threads=threads, dequantize=not codes)
        self._run(data, how, preprocess, Callbacks(), collected=found)
        return found.arrays[0] if len(found.arrays) == 1 else found.arrays

    def score(
        self,
        x: Samples,
        y: Optional[Labels] = None,
        *,
        metric: Union[MetricLike, Sequence[MetricLike], None] = None,
        larger_is_better: bool = True,
        preprocess: Optional[Preprocess] = None,
        threads: int = 0,
    ) -> Score:
        """Quality on samples x with labels y, and the digest of all outputs, which is the same on every machine.
        metric: names and functions as of Strategy.simulate(); those that compare with the float network are not known
        here."""
        data, labels = open_data(x, y, self.model or _Inputs)
        callbacks = Callbacks()
        how = options("itg_run_options", labels=labels, threads=threads)
        kept = set_metrics(how, metric, larger_is_better, callbacks)
        score = self._run(data, how, preprocess, callbacks)
        del kept
        expect_metric(score, metric, "this program")
        return score

    def digest(self, x: Samples, **how: Any) -> str:
        """SHA-256 of the codes of all outputs, in hexadecimal: what any machine must give for samples x."""
        return self.score(x, **how).digest

    def _run(
        self,
        data: Any,
        how: Any,
        preprocess: Optional[Preprocess],
        callbacks: Callbacks,
        *,
        collected: Optional[_Collected] = None,
    ) -> Score:
        how.preprocess = p = preprocess_struct(preprocess or self.preprocess)
        out = ffi.new("itg_score *")

        def work(interrupt: Interrupt) -> None:
            def outputs(context: Any, sample: int, tensors: Any, count: int, err: Any) -> int:
                if collected is not None:
                    collected.add(sample, tensors, count)
                return lib.ITG_CANCELLED if interrupt.asked() or callbacks.failure is not None else lib.ITG_OK

            callbacks.set(how, "outputs", outputs, lib.ITG_CANCELLED)
            call(lib.itg_program_run, self._program, data, how, out)

        callbacks.run(lambda: run_or_interrupt(work))
        return Score(out)

    # ---- what it is ----

    @property
    def outputs(self) -> list[Output]:
        found = [lib.itg_program_output(self._program, i) for i in range(lib.itg_program_output_count(self._program))]
        return [Output(text(o.name), shape_of(o.shape), text(o.type), o.bits, o.scale, o.zero_point) for o in found]

    @property
    def preprocess(self) -> Preprocess:
        """What the program does to samples before it runs."""
        if self.strategy is not None:
            return self.strategy.preprocess
        out = ffi.new("itg_preprocess *")
        call(lib.itg_program_preprocess, self._program, out)
        return preprocess_of(out)

    @property
    def ram_bytes(self) -> int:
        """The memory that a device needs for activations (the metric peak_activation_bytes)."""
        out = ffi.new("int64_t *")
        call(lib.itg_program_ram_bytes, self._program, out)
        return out[0]

    @property
    def memory(self) -> list[dict[str, str | int | bool]]:
        """What lies where in that memory: `name` of a value (or of the step whose `scratch` it is), there from step `first` to step
        `last`, both included; `offset` and `bytes`."""
        plan = make("itg_memory_plan", lib.itg_memory_plan_destroy, lib.itg_program_memory, self._program)
        places = [lib.itg_memory_plan_at(plan, index) for index in range(lib.itg_memory_plan_count(plan))]
        return [{"name": text(p.name), "scratch": bool(p.scratch), "first": p.first, "last": p.last, "offset": p.offset,
                 "bytes": p.bytes} for p in places]

    @property
    def float_islands(self) -> list[str]:
        """Nodes that run in floating point, and why."""
        count = lib.itg_program_float_island_count(self._program)
        return [text(lib.itg_program_float_island(self._program, index)) for index in range(count)]

    def text(self) -> str:
        """The program, node by node."""
        return make_text(lib.itg_program_text, self._program)

    # ---- files ----

    def report(
        self, path: Optional[PathLike] = None, *, part: Optional[str] = None, format: Optional[str] = None
    ) -> Union[str, Path]:
        """Writes a report (docs/report.md) as one HTML file: the network drawn with bits and bytes, costs by layer, RAM over
        time. part and format as of Strategy.report(). Returns the path, or without one the text."""

        def words(folder: Path) -> list[str]:
            return [self.save(folder / "program.itg", certificate=False).name]

        return make_report(words, path, part, format)

    def save(self, path: PathLike, *, certificate: bool = True) -> Path:
        """Writes the program (docs/artefact.md), and its certificate beside it (docs/verify.md)."""
        call(lib.itg_program_save, self._program, *self._origin(), path_bytes(path))
        if certificate:
            beside = lib.itg_certificate_path(path_bytes(path))
            try:
                call(lib.itg_certify, path_bytes(path), beside)
            finally:
                lib.itg_free(beside)
        return Path(path)

    def to_bytes(self) -> bytes:
        """What save() writes, without the certificate."""
        out = ffi.new("itg_buffer *")
        call(lib.itg_program_save_memory, self._program, *self._origin(), out)
        return take_buffer(out) or b""

    def tile(self, max_ram: int) -> "Program":
        """Returns a program that takes at most max_ram bytes of RAM as C source and gives the same bits: its first layers are
        computed by stripes of rows (docs/emit-c.md, Stripes). Itself where it fits."""
        if self.ram_bytes <= max_ram:
            return self
        arguments = (lib.itg_program_tile, self._program, max_ram, ffi.new("itg_tiling *"))
        tiled = make("itg_program", lib.itg_program_destroy, *arguments, borrows_from=(self._program,))
        return Program(tiled, model=self.model, strategy=self.strategy)

    def emit_c(
        self,
        folder: PathLike,
        *,
        name: Optional[str] = None,
        data: Optional[Samples] = None,
        samples: int = 4,
        preprocess: Optional[Preprocess] = None,
    ) -> EmittedC:
        """Writes freestanding C99 without floating point into a folder, which is made if there is none: NAME.h, NAME.c and
        NAME_selftest.c (docs/emit-c.md), and the program they came from with certificates (docs/verify.md).

        name: how its names begin (default: the model's). samples: of the self-test, the first ones of data, or of random
        codes. preprocess: for data (default: as the program was made)."""
        folder = Path(folder)
        how = options("itg_emit_options", samples=samples)
        c_name = ffi.new("char[]", name.encode()) if name else ffi.NULL
        dataset = open_data(data, None, self.model or _Inputs, samples)[0] if data is not None else ffi.NULL
        p = (preprocess or self.preprocess)._struct()
        how.name, how.data, how.preprocess = c_name, dataset, p
        out = ffi.new("itg_emit_sizes *")
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        try:
            call(lib.itg_emit_c, self._program, how, path_bytes(folder), out)
        except Error:
            if is_new:
                folder.rmdir()
            raise
        written = text(out.name)
        self.save(folder / f"{written}.itg")
        call(lib.itg_certify_source, path_bytes(folder), written.encode())
        return EmittedC(folder, written, out.macs, out.weight_bytes, out.constant_bytes, out.arena_bytes)

    def emit_qdq(self, path: PathLike) -> EmittedQdq:
        """Writes an ONNX model with QuantizeLinear and DequantizeLinear (docs/qdq.md)."""
        if self._annotated is None:
            words = "a program that was read from a file has no strategy: make it with Strategy.realize()"
            raise BadArgument(words, "BAD_ARGUMENT")
        model, file = self._origin()
        arguments = (lib.itg_emit_qdq, self._annotated, model, file, path_bytes(path))
        report = make("itg_qdq_report", lib.itg_qdq_report_destroy, *arguments)
        rows = [lib.itg_qdq_report_note(report, index) for index in range(lib.itg_qdq_report_count(report))]
        notes = [(text(r.node), text(r.op), text(r.reason)) for r in rows]
        return EmittedQdq(Path(path), lib.itg_qdq_report_opset(report), bool(lib.itg_qdq_report_any_batch(report)), notes)

    def _origin(self) -> tuple[Any, Any]:
        """Model and strategy file that it was made from; NULL: it was opened."""
        if self.model is None:
            return ffi.NULL, ffi.NULL
        return self.model._model, self.strategy._file

    def __repr__(self) -> str:
        names = ", ".join(f"{o.name} {o.dtype} {list(o.shape)}" for o in self.outputs)
        return f"<Program: {self.ram_bytes:,} bytes of RAM, outputs {names}>"

    def _repr_html_(self) -> str:
        return _html.table(f"Integer program, {self.ram_bytes:,} bytes of RAM", Output._fields, self.outputs)
