"""Strategies: bits and threshold of every edge, what they give, and why."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple, Optional, Sequence, Union

from . import _html
from ._data import Labels, Samples, Source, open_data
from ._library import (
    BadArgument,
    Callbacks,
    Interrupt,
    call,
    enum_value,
    ffi,
    lib,
    make,
    options,
    path_bytes,
    run_or_interrupt,
    take_buffer,
    text,
)
from ._model import Hardware, HardwareLike, Model, as_hardware
from ._program import Program
from ._report import data_file, make_report
from ._values import MetricLike, Preprocess, Score, expect_metric, preprocess_of, preprocess_struct, set_metrics



class Edge(NamedTuple):
    """An edge of the prepared graph. node: that reads the value; None: it is an output of the network.
    bits: 0: not quantized. method: of the threshold; "": none."""

    value: str
    node: Optional[str]
    slot: int
    bits: int
    method: str


class EdgeReport(NamedTuple):
    """An edge compared with the float network. sqnr_db: infinite where there is no error.
    saturated, overflowed: shares of the elements. edge: its place in Strategy.edges."""

    value: str
    node: Optional[str]
    slot: int
    bits: int
    edge: int
    sqnr_db: float
    saturated: float
    overflowed: float
    float_min: float
    float_max: float
    float_mean: float
    float_std: float
    sim_min: float
    sim_max: float
    sim_mean: float
    sim_std: float


class Effect(NamedTuple):
    """One thing that quantization does in one place.

    effect: "clipping" or "rounding" of an edge, "requantization" or "overflow" of a layer.
    share: of the loss (the squared error of the outputs) that goes when it is taken away.
    change: what would lessen the loss, as "threshold max for mse"; "": nothing that was tried.
    applied: the change also helps together with those before it."""

    effect: str
    value: Optional[str]
    node: Optional[str]
    bits: int
    samples: int
    share: float
    without: Score
    change: str
    changed: Optional[Score]
    applied: bool


class Report(Sequence[Any]):
    """Rows of one kind, named tuples, with a caption."""

    def __init__(self, caption: str, rows: Sequence[Any], fields: Sequence[str]):
        self._caption, self._rows, self._fields = caption, list(rows), tuple(fields)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, one row each."""
        import pandas

        return pandas.DataFrame(self._rows, columns=list(self._fields))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._caption}: {len(self)} rows>"

    def _html_rows(self) -> Iterator[Sequence[Any]]:
        return iter(self._rows)

    def _repr_html_(self) -> str:
        return _html.table(self._caption, self._fields, self._html_rows())


class Inspection(Report):
    """Every edge compared with the float network, the worst SQNR first: a sequence of EdgeReport."""


class Explanation(Report):
    """Where the loss of a strategy comes from: a sequence of Effect, the largest share first (docs/explain.md).

    score: of the strategy. sum: of all shares; the rest is due to several effects at once.
    last_good, first_bad: nodes between which half of the loss arises; None: not known.
    changed: quality and costs with all changes that help together (`better` makes that strategy)."""

    def __init__(self, strategy: "Strategy", pointer: Any):
        info = lib.itg_explanation_about(pointer)
        rows = [_effect_of(lib.itg_explanation_at(pointer, i)) for i in range(lib.itg_explanation_count(pointer))]
        super().__init__(f"{strategy.model.name} on {strategy.hardware.name}, {info.samples} samples", rows, Effect._fields)
        self._strategy, self._pointer = strategy, pointer
        self.score, self.changed = Score(info.score), Score(info.changed)
        self.sum: float = info.sum
        self.last_good, self.first_bad = _name_or_none(info.last_good), _name_or_none(info.first_bad)

    def better(self) -> "Strategy":
        """A copy of the strategy with the changes that help together."""
        out = self._strategy.copy()
        call(lib.itg_explanation_apply, self._pointer, out._file)
        return out

    def _html_rows(self) -> Iterator[Sequence[Any]]:
        for row in self._rows:
            yield [cell.get("sqnr_db") if isinstance(cell, Score) else cell for cell in row]


def _name_or_none(pointer: Any) -> Optional[str]:
    return text(pointer) if pointer else None


def _effect_of(r: Any) -> Effect:
    changed = Score(r.changed) if r.change else None
    return Effect(
        text(lib.itg_effect_name(r.effect)),
        _name_or_none(r.value),
        _name_or_none(r.node),
        r.bits,
        r.samples,
        r.share,
        Score(r.without),
        text(r.change),
        changed,
        bool(r.is_applied),
    )


class Strategy:
    """Bits and threshold of every edge of a network, with hardware, preprocessing, hashes and results
    (docs/strategy-file.md). Made by uniform() and search(), or read by Strategy.load()."""

    def __init__(self, model: Model, file: Any, owner: Any = None):
        self.model, self._file, self._owner = model, file, owner  # owner: what the file belongs to

    @classmethod
    def load(cls, model: Model, path: Union[str, "os.PathLike[str]"]) -> "Strategy":
        """Reads a strategy file, and the file of weight codes beside it where there is one."""
        arguments = (lib.itg_strategy_open, model._model, path_bytes(path))
        return cls(model, make("itg_strategy_file", lib.itg_strategy_close, *arguments))

    @classmethod
    def from_bytes(cls, model: Model, data: bytes, codes: Optional[bytes] = None, name: str = "strategy") -> "Strategy":
        """From the bytes of the two files, as to_bytes() gives them."""
        kept, buffers = [], []
        for part in (data, codes):
            kept.append(ffi.from_buffer(part or b""))
            buffers.append(ffi.new("itg_buffer *", (kept[-1], len(part)) if part is not None else (ffi.NULL, 0)))
        second = buffers[1] if codes is not None else ffi.NULL
        arguments = (lib.itg_strategy_open_memory, model._model, buffers[0], second, name.encode())
        return cls(model, make("itg_strategy_file", lib.itg_strategy_close, *arguments))

    def to_bytes(self) -> tuple[bytes, Optional[bytes]]:
        """What save() writes: the strategy file, and the file of weight codes (None: there are none)."""
        data, codes = ffi.new("itg_buffer *"), ffi.new("itg_buffer *")
        call(lib.itg_strategy_save_memory, self._file, self.model._model, data, codes)
        return take_buffer(data) or b"", take_buffer(codes)

    def copy(self) -> "Strategy":
        """The same bits, thresholds and codes, without the results of simulate()."""
        return Strategy.from_bytes(self.model, *self.to_bytes())

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the strategy file, and one of weight codes beside it where there are codes."""
        call(lib.itg_strategy_save, self._file, self.model._model, path_bytes(path))

    @property
    def hardware(self) -> Hardware:
        return Hardware(json.loads(text(lib.itg_hardware_json(lib.itg_strategy_hardware(self._file)))))

    @property
    def preprocess(self) -> Preprocess:
        return preprocess_of(lib.itg_strategy_preprocess(self._file))

    @property
    def edges(self) -> list[Edge]:
        """All edges, in the order of the strategy file."""
        found = json.loads(self.to_bytes()[0])
        rows = zip(found["edges"], found["strategy"]["bits"], found["strategy"]["thresholds"])
        return [Edge(e["value"], e["node"], e["slot"], bits, t["method"] if t else "") for e, bits, t in rows]

    @property
    def weight_bits(self) -> tuple[int, int]:
        """The narrowest and the widest width of weights; (0, 0): none is quantized."""
        found = lib.itg_strategy_bits(self._file, True)
        return found.min, found.max

    @property
    def activation_bits(self) -> tuple[int, int]:
        """The same of all other edges."""
        found = lib.itg_strategy_bits(self._file, False)
        return found.min, found.max

    def simulate(
        self,
        x: Samples,
        y: Optional[Labels] = None,
        *,
        metric: Union[MetricLike, Sequence[MetricLike], None] = None,
        larger_is_better: bool = True,
        agreement: bool = True,
        definition: bool = False,
        threads: int = 0,
    ) -> Score:
        """Runs the strategy on samples x, with the results that docs/arithmetic.md defines. The score is also kept in
        the strategy, and saved with it.

        x: samples [samples, ...]. y: labels, classes [samples] or targets (what the first output should be).
        metric: names of metrics that are measured only where they are asked for (docs/metrics.md), and functions
        (outputs, labels) -> float of your own, which get the outputs of all samples, float32 [samples, ...] (of several
        outputs a list), and the labels as they were given, or None.
        larger_is_better: of functions. agreement: also run the float network, for agreement and SQNR.
        definition: run the definition, operation by operation, in place of the executor: slow, the same result.
        threads: 0: all of the machine; no result depends on it."""
        data, labels = open_data(x, y, self.model)
        callbacks = Callbacks()
        how = options("itg_simulate_options", labels=labels, with_agreement=agreement, definition=definition,
                      threads=threads)
        kept = set_metrics(how, metric, larger_is_better, callbacks)
        out = ffi.new("itg_score *")

        def work(interrupt: Interrupt) -> None:
            callbacks.set(how.stop, "asked", lambda _: interrupt.asked() or callbacks.failure is not None, True)
            call(lib.itg_simulate, self.model._model, self._file, data, how, out)

        callbacks.run(lambda: run_or_interrupt(work))
        del kept
        score = Score(out)
        expect_metric(score, metric, self.model.name)
        return score

    def inspect(self, x: Samples, *, threads: int = 0) -> Inspection:
        """Every edge compared with the float network on samples x [samples, ...], the worst SQNR first."""
        data, _ = open_data(x, None, self.model)
        annotated = self._annotate()
        arguments = (lib.itg_inspect, self.model._model, self._file, annotated, data, threads)
        found = run_or_interrupt(lambda _: make("itg_inspection", lib.itg_inspection_destroy, *arguments))
        reports = [lib.itg_inspection_edge(found, index) for index in range(lib.itg_inspection_count(found))]
        members = ["index" if field == "edge" else field for field in EdgeReport._fields]
        rows = [EdgeReport(*(_plain(getattr(r, member)) for member in members)) for r in reports]
        return Inspection(f"{self.model.name} on {self.hardware.name}", rows, EdgeReport._fields)

    def report(
        self,
        path: Union[str, "os.PathLike[str]", None] = None,
        x: Optional[Samples] = None,
        y: Optional[Labels] = None,
        *,
        explain: bool = False,
        part: Optional[str] = None,
        format: Optional[str] = None,
    ) -> Union[str, Path]:
        """Writes a report (docs/report.md) as one HTML file: the network drawn with bits and bytes, costs by layer, RAM over
        time; with samples x [samples, ...] (an array, a dict of arrays or a file) also SQNR, ranges and histograms of each edge,
        with explain also where the loss comes from on the first 256 of them (and labels y). part: "network", "costs"...: that
        part alone. format: "html", "md", "csv" or "svg" (default: as the path ends). Returns the path, or without one the text."""
        if explain and x is None:
            raise BadArgument("explain: a report explains the loss on samples x", "BAD_ARGUMENT")

        def words(folder: Path) -> list[str]:
            self.save(folder / "strategy.json")
            data = [] if x is None else ["--data", data_file(x, folder)]
            data += ["--explain", "--quiet"] if explain else []
            data += ["--labels", data_file(y, folder, "labels")] if explain and y is not None else []
            return [self.model._file(folder), "strategy.json", *data]

        return make_report(words, path, part, format)

    def explain(
        self,
        x: Samples,
        y: Optional[Labels] = None,
        *,
        calibration: Optional[Samples] = None,
        most_changes: int = 6,
        progress: Optional[Callable[[str, int, int], None]] = None,
        threads: int = 0,
    ) -> Explanation:
        """Where the loss on samples x (labels y) comes from, and what would lessen it.

        calibration: samples for other thresholds and codes (default: x). most_changes: effects that changes are looked for.
        progress: called with ("effects" | "bisection" | "changes", done, planned)."""
        data, labels = open_data(x, y, self.model)
        other = open_data(calibration, None, self.model)[0] if calibration is not None else ffi.NULL
        how = options("itg_explain_options", labels=labels, calibration=other, most_changes=most_changes, threads=threads)
        callbacks = Callbacks()
        if progress:
            callbacks.set(how, "progress", lambda _, what, done, planned: progress(text(what), done, planned))

        def work(interrupt: Interrupt) -> Any:
            callbacks.set(how.stop, "asked", lambda _: interrupt.asked() or callbacks.failure is not None, True)
            arguments = (lib.itg_explain, self.model._model, self._file, data, how)
            return make("itg_explanation", lib.itg_explanation_destroy, *arguments, borrows_from=(*arguments, self._owner))

        return Explanation(self, callbacks.run(lambda: run_or_interrupt(work)))

    def realize(self, *, allow_overflow: bool = False) -> Program:
        """The integer program. Raises Unbounded where an accumulator might overflow, unless that is allowed."""
        annotated = self._annotate()
        how = options("itg_realize_options", allow_overflow=allow_overflow)
        arguments = (lib.itg_realize_program, annotated, how)
        program = make("itg_program", lib.itg_program_destroy, *arguments, borrows_from=arguments)
        return Program(program, model=self.model, strategy=self.copy(), annotated=annotated)

    def _annotate(self) -> Any:
        arguments = (lib.itg_annotate_strategy, self.model._model, self._file)
        return make("itg_annotated", lib.itg_annotated_destroy, *arguments, borrows_from=(*arguments, self._owner))

    def __repr__(self) -> str:
        return f"<Strategy {self.model.name} on {self.hardware.name}: {_widths(self)}>"

    def _repr_html_(self) -> str:
        return _html.table(f"{self.model.name} on {self.hardware.name}: {_widths(self)}", Edge._fields, self.edges)


def _widths(strategy: Strategy) -> str:
    def words(what: str, bits: tuple[int, int]) -> str:
        return f"{what} {bits[0]}" + (f" to {bits[1]}" if bits[1] != bits[0] else "") + " bits"

    return words("weights", strategy.weight_bits) + ", " + words("activations", strategy.activation_bits)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else _name_or_none(value)


def threshold_number(name: Optional[str], what: str) -> int:
    if name is None:
        return lib.itg_threshold_default()
    return enum_value(name, lib.itg_threshold_from_name, "itg_threshold_method", what)


def _width(what: str, bits: int, least: int = 2) -> int:
    if not least <= bits <= 32:
        raise BadArgument(f"{what}: expected {least} to 32, found {bits}", "BAD_ARGUMENT")
    return int(bits)


def uniform(
    model: Model,
    hw: HardwareLike,
    bits: int,
    data: Optional[Samples] = None,
    *,
    weight_bits: Optional[int] = None,
    activation_bits: Optional[int] = None,
    input_bits: Optional[int] = None,
    output_bits: Optional[int] = None,
    threshold: Optional[str] = None,
    weight_threshold: Optional[str] = None,
    recover: str = "auto",
    calibration_samples: Optional[int] = None,
    float_kernels: str = "reference",
    preprocess: Optional[Preprocess] = None,
    threads: int = 0,
) -> Strategy:
    """One width for all edges; where the hardware does not allow it, the next narrower one, else the next wider one.

    bits: of weights and activations, 2 to 32; weight_bits (1 to 32), activation_bits: others for one of the two;
    input_bits, output_bits: others for the network's inputs and outputs.
    data: samples to calibrate on, [samples, ...], the first calibration_samples of them (None: 1024, and up to 4096 for
    a small network); None only for hardware that quantizes nothing.
    threshold, weight_threshold: methods: "max", "avg", "percentile", "power2", "mse", "kl", "percentile99.9", "percentile99.999".
    recover: how codes of weights are chosen: "auto", "none", "scales" or "round" (docs/recover.md).
    float_kernels: that calibrate: "reference", or "onednn" where the build has it: quicker, and its statistics repeat on
    the same machine only. threads: 0: all of the machine; no result depends on it."""
    hardware = as_hardware(hw)
    how = options(
        "itg_uniform_options",
        weight_bits=_width("weight_bits", weight_bits, 1) if weight_bits is not None else _width("bits", bits),
        activation_bits=_width("activation_bits", activation_bits) if activation_bits is not None else _width("bits", bits),
        input_bits=_width("input_bits", input_bits) if input_bits is not None else 0,
        output_bits=_width("output_bits", output_bits) if output_bits is not None else 0,
        activation_method=threshold_number(threshold, "threshold"),
        weight_method=threshold_number(weight_threshold, "weight_threshold"),
    )
    mode = enum_value(recover, lib.itg_recover_mode_from_name, "itg_recover_mode", "recover")
    kernels = enum_value(float_kernels, lib.itg_float_kernels_from_name, "itg_float_kernels", "float_kernels")
    p, null = preprocess_struct(preprocess), ffi.NULL
    new = (lib.itg_uniform_strategy, model._model, hardware._hardware, p)
    if hardware.is_all_float:
        return Strategy(model, make("itg_strategy_file", lib.itg_strategy_close, *new, null, null, how))
    if data is None:
        raise BadArgument("data is missing: samples to find the ranges of values on", "BAD_ARGUMENT")
    if calibration_samples is None:
        calibration_samples = lib.itg_default_samples(model._model)
    source = Source(data, None, model, calibration_samples + lib.itg_compared_samples(calibration_samples))
    samples, part = source.samples(), source.samples(calibration_samples)
    callbacks = Callbacks()

    def work(interrupt: Interrupt) -> Strategy:
        calibration = options("itg_calibrate_options", kernels=kernels, threads=threads)
        callbacks.set(calibration.stop, "asked", interrupt.asked, True)
        arguments = (lib.itg_calibrate_data, model._model, part, p, calibration)
        stats = make("itg_stats", lib.itg_stats_destroy, *arguments)
        file = make("itg_strategy_file", lib.itg_strategy_close, *new, stats, null, how)
        recovery = options(
            "itg_recover_options", mode=mode, data=samples, most_samples=calibration_samples, threads=threads
        )
        callbacks.set(recovery.stop, "asked", interrupt.asked, True)
        call(lib.itg_strategy_recover, file, model._model, recovery, null)
        return Strategy(model, file)

    return callbacks.run(lambda: run_or_interrupt(work))
