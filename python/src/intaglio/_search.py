"""Searches: the bit width of every edge, for a goal."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

from . import _html
from ._data import Labels, Samples, Source, name_of
from ._goal import Goal, copy_free_options, default_searcher, set_options
from ._library import (
    BadArgument,
    Callbacks,
    Cancelled,
    Error,
    Interrupt,
    call,
    ffi,
    lib,
    make,
    make_text,
    options,
    run_interruptibly,
    take_buffer,
    text,
)
from ._log import Earlier, Recorder, read_past
from ._model import Hardware, HardwareLike, Model, as_hardware
from ._remote import Coordinator
from ._report import make_report
from ._searcher import Searcher, is_searcher, user_searcher
from ._strategy import Strategy
from ._values import Metric, Preprocess, Score, known_score, preprocess_struct

Trial = dict[str, Any]
# Called after each trial with its dict, the best's so far (None: none could be run), and how many are planned (None: not known).
Progress = Callable[[Trial, Optional[Trial], Optional[int]], None]


class Trials(list):  # of dicts
    """Trials of a search in order, a dict each: "trial" (its number), "point" (what was chosen in each dimension of
    SearchResult.space), "feasible", "meets_goal", "duplicate", "error", "seconds", "samples", "digest", and every
    metric that is known."""

    def to_pandas(self) -> Any:
        """A pandas.DataFrame, one row a trial."""
        import pandas

        return pandas.DataFrame(list(self))

    def _repr_html_(self) -> str:
        names = list(dict.fromkeys(name for trial in self for name in trial if name not in ("point", "digest")))
        return _html.table(f"{len(self)} trials", names, ([trial.get(name) for name in names] for trial in self))


def _trial_dict(t: Any) -> Trial:
    score = Score(t.score)
    return {
        "trial": t.index,
        "round": t.round,
        "point": tuple(t.point[0 : t.dim_count]),
        "feasible": bool(t.feasible),
        "meets_goal": bool(t.meets_goal),
        "duplicate": bool(t.duplicate),
        "error": text(t.error),
        "seconds": t.seconds,
        "samples": score.samples,
        "stopped_at": score.stopped_at,
        "digest": score.digest,
        **score,
    }


class _Work(NamedTuple):
    """What a search is about; also keeps alive what its structs point to."""

    model: Model
    hardware: Hardware
    preprocess: Any
    data: Any
    names: Mapping[str, str]
    options: Any
    kept: Any

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.model._model, self.hardware._hardware, self.preprocess, self.data, self.options


class SearchResult:
    """What a search found.

    best: the strategy of the best trial that meets the goal, or the nearest to it; None: none could be run.
    front: the trials that are not dominated in the objectives; trials: all of them.
    Scores named search_* are on the search samples, the others on the hold-out; None: not known."""

    def __init__(self, work: _Work, pointer: Any, logged: Union[Recorder, Earlier, None], notes: Sequence[str]):
        self._work, self._pointer = work, pointer
        self._db = os.path.abspath(logged.path) if logged else None
        self.run = logged.run if logged else None  # its number in the log; None: nothing is logged
        self.notes = list(notes)  # what the goal cannot achieve, and the like
        self._best: Optional[Strategy] = None

    def report(
        self,
        path: Union[str, "os.PathLike[str]", None] = None,
        *,
        pareto: Union[str, Sequence[str], None] = None,
        peers: Union[str, "os.PathLike[str]", None] = None,
        part: Optional[str] = None,
        format: Optional[str] = None,
    ) -> Union[str, Path]:
        """Writes a report of a search that is in a log (search(db=...)) as one HTML file (docs/report.md): results, its course,
        the front with intervals, what the best chose, sensitivities where the log has them. pareto: costs of the front's plots,
        as of search(). peers: a .csv file of what others reached. part: "front", "course"...: that part alone. format: "html",
        "md", "csv" or "svg" (default: as the path ends). Returns the path, or without one the text."""
        if self.run is None:
            raise BadArgument("a report takes a search that is logged: search(..., db=PATH)")
        costs = [pareto] if isinstance(pareto, str) else list(pareto or ())
        arguments = [str(self.run), "--db", self._db, *(["--pareto", ",".join(costs)] if costs else [])]
        if peers is not None:
            arguments += ["--peers", os.path.abspath(peers)]
        return make_report(lambda _: arguments, path, part, format)

    @property
    def best(self) -> Optional[Strategy]:
        if self._best is None and lib.itg_search_best(self._pointer):
            self._best = Strategy(self._work.model, lib.itg_search_strategy(self._pointer), self._pointer)
        return self._best

    @property
    def best_trial(self) -> Optional[Trial]:
        found = lib.itg_search_best(self._pointer)
        return _trial_dict(found) if found else None

    @property
    def trials(self) -> Trials:
        count = lib.itg_search_trial_count(self._pointer)
        return Trials(_trial_dict(lib.itg_search_trial_at(self._pointer, index)) for index in range(count))

    @property
    def front(self) -> Trials:
        """The Pareto front: trials that meet the goal and are not dominated in the objectives; with one objective the best."""
        count = lib.itg_search_front_count(self._pointer)
        return Trials(_trial_dict(lib.itg_search_front_at(self._pointer, index)) for index in range(count))

    def strategy(self, trial: int) -> Strategy:
        """The strategy of any trial by its number, evaluated on the search samples and the hold-out."""
        count = lib.itg_search_trial_count(self._pointer)
        if not 0 <= trial < count:
            raise IndexError(f"trial {trial}: there are {count}")
        trials = ffi.new("itg_trial[]", [lib.itg_search_trial_at(self._pointer, index)[0] for index in range(count)])
        arguments = (lib.itg_search_strategy_at, *self._work.arguments, trials, trial)
        file = make("itg_strategy_file", lib.itg_strategy_close, *arguments)
        return Strategy(self._work.model, file)

    @property
    def space(self) -> list[dict[str, Any]]:
        """The dimensions of a trial's point: {"kind": "bits" | "threshold", "edges": [...], "values": [...]}."""
        model, hardware, _, _, how = self._work.arguments
        return json.loads(make_text(lib.itg_search_space_text, model, hardware, how))

    @property
    def options(self) -> dict[str, Any]:
        """All options that influence the result, as the log has them."""
        return json.loads(make_text(lib.itg_search_options_text, self._work.options))

    @property
    def goal_met(self) -> bool:
        """On the search samples."""
        return bool(lib.itg_search_goal_met(self._pointer))

    @property
    def goal_holds(self) -> bool:
        """Also on the hold-out."""
        return bool(lib.itg_search_goal_holds(self._pointer))

    @property
    def selection(self) -> dict[str, float | int | bool]:
        """The final choice: `samples` set aside for it (0: none), candidates `tested`, whether the best is `certified` to meet
        the goal with the confidence, or `passed` by what is expected; `bound`: the least quality that can be claimed (a share,
        or dB; NaN: none), beside the `float` network's; `samples_wanted`: so many would certify it (0: these, or none)."""
        s = lib.itg_search_selection(self._pointer)
        return {"samples": s.samples, "tested": s.tested, "certified": bool(s.certified), "passed": bool(s.passed),
                "bound": s.bound, "float": s.floats, "samples_wanted": s.wanted}

    @property
    def forecast(self) -> dict[str, float | int]:
        """How well the searcher's model told what points lose before they were evaluated (allocate, surrogate): of so many
        `trials` (0: it has none), the `correlation` of predicted and measured loss; `gap`: of allocate's last choice, the share
        by which it may be above the model's optimum."""
        f = lib.itg_search_forecast(self._pointer)
        return {"trials": f.count, "correlation": f.correlation if f.count else float("nan"), "gap": f.gap}

    @property
    def limited_by(self) -> str:
        """Why the goal is not met, or not on the hold-out: a sentence. Else ""."""
        return text(lib.itg_search_limited_by(self._pointer))

    @property
    def stop_reason(self) -> str:
        """ "exhausted", "trials", "seconds", "patience" or "cancelled"."""
        return text(lib.itg_search_stop_reason(self._pointer))

    @property
    def float_score(self) -> Optional[Score]:
        return known_score(lib.itg_search_float(self._pointer, True))

    @property
    def search_float_score(self) -> Optional[Score]:
        return known_score(lib.itg_search_float(self._pointer, False))

    @property
    def uniform8_score(self) -> Optional[Score]:
        """Of 8 bits everywhere."""
        return known_score(lib.itg_search_uniform8(self._pointer, True))

    @property
    def hago_score(self) -> Optional[Score]:
        """Of baseline=True."""
        return known_score(lib.itg_search_hago(self._pointer, True))

    @property
    def best_score(self) -> Optional[Score]:
        return known_score(lib.itg_search_best_holdout(self._pointer))

    def __repr__(self) -> str:
        met = "met and holds" if self.goal_holds else "met on the search samples only" if self.goal_met else "not met"
        count = lib.itg_search_trial_count(self._pointer)
        return f"<SearchResult {self._work.model.name} on {self._work.hardware.name}: {count} trials, goal {met}>"

    def _repr_html_(self) -> str:
        scores = {"float": self.float_score, "8 bits": self.uniform8_score, "best": self.best_score}
        known = {name: score for name, score in scores.items() if score}
        metrics = list(dict.fromkeys(metric for score in known.values() for metric in score))
        rows = ([metric, *(score.get(metric) for score in known.values())] for metric in metrics)
        return _html.table(repr(self).strip("<>") + ", on the hold-out", ["metric", *known], rows)


# ---- progress ----


def _figures(trial: Optional[Trial], quality: str) -> str:
    if trial is None:
        return "none could be run yet"
    lead = "best" if trial["meets_goal"] else "goal not met yet, nearest"
    value = f"{trial[quality]:.4g}" if quality in trial else "-"
    return f"{lead} {trial.get('weight_bytes', 0):,} bytes at {quality} {value} (trial {trial['trial']})"


class _Lines:
    """A line on stderr for each better trial, where tqdm is not there."""

    def __init__(self, quality: str) -> None:
        self._quality = quality
        self._best: Optional[int] = None

    def __call__(self, trial: Trial, best: Optional[Trial], planned: Optional[int]) -> None:
        if best is not None and best["trial"] != self._best:
            self._best = best["trial"]
            print(f"{trial['trial'] + 1} of {planned or '?'} trials, {_figures(best, self._quality)}", file=sys.stderr)

    def close(self) -> None:
        pass


class _Bar:
    """tqdm's, in a terminal or a notebook."""

    def __init__(self, tqdm: Any, quality: str):
        self._quality = quality
        self._bar = tqdm(unit=" trials", desc="search")

    def __call__(self, trial: Trial, best: Optional[Trial], planned: Optional[int]) -> None:
        if planned is not None:
            self._bar.total = planned
        self._bar.set_postfix_str(_figures(best, self._quality), refresh=False)
        self._bar.update(trial["trial"] + 1 - self._bar.n)

    def close(self) -> None:
        self._bar.close()


class _Called:
    def __init__(self, function: Progress):
        self._function = function

    def __call__(self, trial: Trial, best: Optional[Trial], planned: Optional[int]) -> None:
        self._function(trial, best, planned)

    def close(self) -> None:
        pass


def _progress(wanted: Union[bool, Progress], goal: Any) -> Any:
    if callable(wanted):
        return _Called(wanted)
    if not wanted:
        return None
    quality = text(lib.itg_goal_about(goal, lib.itg_goal_quality_metric(goal)).name)
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines(quality)
    return _Bar(tqdm, quality)


# ---- the search ----


class _Hooks:
    """What the library calls while it searches."""

    MOST = 2**63 - 1  # planned, where it is not known

    def __init__(
        self,
        callbacks: Callbacks,
        interrupt: Interrupt,
        progress: Any,
        recorder: Optional[Recorder],
        searcher: Any = None,
        coordinator: Optional[Coordinator] = None,
    ):
        self._callbacks, self._interrupt = callbacks, interrupt
        self._progress, self._recorder = progress, recorder
        self.notes: list[str] = []
        self.struct = options("itg_search_hooks")
        callbacks.set(self.struct, "clock", lambda _: time.monotonic(), 0.0)
        callbacks.set(self.struct, "cancelled", self._cancelled, True)
        callbacks.set(self.struct, "hurry", interrupt.hurry, True)
        callbacks.set(self.struct, "note", lambda _, note: self.notes.append(text(note)))
        if searcher is not None:
            self._searcher = user_searcher(searcher, callbacks)
            self.struct.searcher = self._searcher
        if recorder:
            callbacks.set(self.struct, "trial", self._trial, lib.ITG_OK)
        if coordinator:
            self.struct.evaluator = coordinator.open(callbacks, self._cancelled, self.notes.append)
        if progress:
            callbacks.set(self.struct, "progress", self._show)

    def _cancelled(self, context: Any) -> bool:
        lost = self._recorder is not None and self._recorder.failure is not None
        return self._interrupt.asked() or self._callbacks.failure is not None or lost

    def _trial(self, context: Any, trial: Any, err: Any) -> int:
        """A log that cannot be written, or a metric that raised, ends the search, but does not cost what it has found."""
        if self._recorder and self._callbacks.failure is None:
            self._recorder.trial(trial)
        return lib.ITG_OK

    def _show(self, context: Any, trial: Any, best: Any, planned: int) -> None:
        known = planned if planned != self.MOST else None
        self._progress(_trial_dict(trial), _trial_dict(best) if best else None, known)


def _check_labels(given: Mapping[str, Any]) -> None:
    has_labels, has_others = given["labels"] is not None, given["holdout_labels"] is not None
    if given["holdout"] is not None and has_labels and not has_others:
        raise BadArgument("holdout_labels is missing: labels judge trials, and so the hold-out", "BAD_ARGUMENT")
    if has_others and (not has_labels or given["holdout"] is None):
        raise BadArgument("holdout_labels goes with labels and holdout", "BAD_ARGUMENT")


def _open(
    model: Model, hw: HardwareLike, given: Mapping[str, Any], limit: Optional[int], preprocess: Optional[Preprocess]
) -> _Work:
    """given: data, labels, holdout, holdout_labels."""
    _check_labels(given)
    data = ffi.new("itg_search_data *")
    kept: list[Any] = []
    for samples, labels, most in (("data", "labels", limit), ("holdout", "holdout_labels", None)):
        if given[samples] is not None:
            source = Source(given[samples], given[labels], model, most)
            parts = source.samples(), source.labels()
            kept.extend(parts)
            setattr(data, samples, parts[0])
            setattr(data, labels, parts[1])
    names = {what: name_of(value) for what, value in given.items()}
    how = options("itg_search_options")
    how.model = lib.itg_model_options_of(model._model)[0]
    return _Work(model, as_hardware(hw), preprocess_struct(preprocess), data, names, how, kept)


def _start_of(start: Any, work: _Work) -> Any:
    """The itg_search_start of what a search is to begin with."""
    model, hardware, _, _, how = work.arguments
    if not isinstance(start, (Strategy, Model)):
        path = os.fspath(start)
        start = Model(path) if path.endswith(".onnx") else Strategy.load(work.model, path)
    if isinstance(start, Model):
        function, given = lib.itg_search_start_quantized, start._model
    else:
        function, given = lib.itg_search_start_strategy, start._file
    return make("itg_search_start", lib.itg_search_start_destroy, function, model, hardware, how, given)


def _take_log(db: Any, resume: Optional[int], past: Any, work: _Work) -> Optional[Earlier]:
    """Has the search go on with an earlier run, or learn from others. Returns the run that it goes on with."""
    if db is None and (resume is not None or past is not None):
        raise BadArgument(f"{'past' if resume is None else 'resume'} goes with db, the log of the run", "BAD_ARGUMENT")
    if resume is not None:
        earlier = Earlier(db, resume)
        earlier.take_start_and_past(work)
        earlier.check(work, copy_free_options)
        return earlier
    if past is not None and (past != "all" or os.path.exists(db)):
        what = past if isinstance(past, str) else ",".join(map(str, [past] if isinstance(past, int) else past))
        work.kept.append(read_past(db, work, what))
        work.options.past = lib.itg_run_past_trials(work.kept[-1])
    return None


def _end_log(recorder: Recorder, work: _Work, pointer: Any) -> None:
    end, best, kept = ffi.new("itg_run_end *"), lib.itg_search_best(pointer), []
    end.stop_reason, end.best_trial = lib.itg_search_stop_reason(pointer), best.index if best else -1
    end.goal_met = bool(best) and lib.itg_search_goal_met(pointer)
    if best:
        data, codes = ffi.new("itg_buffer *"), ffi.new("itg_buffer *")
        call(lib.itg_strategy_save_memory, lib.itg_search_strategy(pointer), work.model._model, data, codes)
        for member, found in (("strategy_json", take_buffer(data)), ("codes", take_buffer(codes))):
            if found is not None:
                kept.append(ffi.new("char[]", found if member == "strategy_json" else found.hex().encode()))
                setattr(end, member, kept[-1])
        end.result[lib.ITG_RESULT_BEST] = lib.itg_search_best_holdout(pointer)
    end.result[lib.ITG_RESULT_FLOAT] = lib.itg_search_float(pointer, True)
    end.result[lib.ITG_RESULT_UNIFORM8] = lib.itg_search_uniform8(pointer, True)
    end.result[lib.ITG_RESULT_HAGO] = lib.itg_search_hago(pointer, True)
    end.result[lib.ITG_RESULT_SEARCH_FLOAT] = lib.itg_search_float(pointer, False)
    end.selection = lib.itg_search_selection(pointer)
    recorder.end(end)


def _fail_log(recorder: Recorder, failure: Error) -> None:
    reason = "cancelled" if isinstance(failure, Cancelled) else str(failure)
    why = ffi.new("char[]", reason.encode("utf-8"))
    recorder.end(ffi.new("itg_run_end *", {"stop_reason": why, "best_trial": -1}))


def _run(
    work: _Work,
    callbacks: Callbacks,
    progress: Any,
    recorder: Optional[Recorder],
    searcher: Any,
    coordinator: Optional[Coordinator],
    earlier: Optional[Earlier],
) -> SearchResult:
    interrupt = Interrupt()
    try:
        hooks = _Hooks(callbacks, interrupt, progress, recorder, searcher, coordinator)
        arguments = (lib.itg_search, *work.arguments, hooks.struct)
        pointer = run_interruptibly(
            lambda: make("itg_search_result", lib.itg_search_result_destroy, *arguments), interrupt
        )
    except Error as failure:
        if recorder:
            _fail_log(recorder, failure)
        if callbacks.failure is not None:
            raise callbacks.failure from None
        if interrupt.asked():
            raise KeyboardInterrupt from None
        raise
    if recorder:
        _end_log(recorder, work, pointer)
    if callbacks.failure is not None:
        raise callbacks.failure
    misfits = text(lib.itg_search_start_misfits(work.options.start)) if work.options.start else ""
    return SearchResult(work, pointer, recorder or earlier, [misfits] * bool(misfits) + hooks.notes)


def search(
    model: Model,
    hw: HardwareLike,
    data: Samples,
    labels: Optional[Labels] = None,
    *,
    holdout: Optional[Samples] = None,
    holdout_labels: Optional[Labels] = None,
    limit: Optional[int] = None,
    preprocess: Optional[Preprocess] = None,
    metric: Union[str, Metric, None] = None,
    larger_is_better: bool = True,
    max_drop: Optional[float] = None,
    min_sqnr: Optional[float] = None,
    minimize: Union[str, Sequence[str], None] = None,
    pareto: Union[str, Sequence[str], None] = None,
    max_size: Optional[float] = None,
    max_ram: Optional[float] = None,
    max_flash: Optional[float] = None,
    max_cycles: Optional[float] = None,
    max_bops: Optional[float] = None,
    searcher: Union[str, Searcher, None] = None,
    seed: int = 0,
    trials: Optional[int] = None,
    seconds: Optional[float] = None,
    patience: Optional[int] = None,
    tolerance: float = 0.0,
    confidence: float = 0.95,
    weight_bits: Union[int, str, tuple[int, int], None] = None,
    activation_bits: Union[int, str, tuple[int, int], None] = None,
    input_bits: Union[int, str, tuple[int, int], None] = None,
    output_bits: Union[int, str, tuple[int, int], None] = None,
    threshold: Union[str, Sequence[str], None] = None,
    weight_threshold: Union[str, Sequence[str], None] = None,
    only: Union[str, Sequence[str], None] = None,
    skip: Union[str, Sequence[str], None] = None,
    fix: Union[str, Mapping[str, int], None] = None,
    allow_float: Union[str, Sequence[str], None] = None,
    calibration_samples: int = 512,
    search_samples: int = 1024,
    selection_samples: Optional[int] = None,
    float_kernels: str = "reference",
    baseline: bool = False,
    recover: str = "auto",
    no_racing: bool = False,
    start: Union[Strategy, Model, str, "os.PathLike[str]", None] = None,
    threads: int = 0,
    cache_mb: int = 256,
    progress: Union[bool, Progress] = True,
    db: Union[str, "os.PathLike[str]", None] = None,
    resume: Optional[int] = None,
    past: Union[str, int, Sequence[int], None] = None,
    workers: Optional[str] = None,
    recheck: float = 0.02,
) -> SearchResult:
    """Searches the bit width of every edge. The same arguments give the same strategy as the program `intaglio search`,
    byte for byte, on any machine and any number of threads.

    Data. data: samples [samples, ...]; labels: classes [samples], or targets (what the first output should be). The seed
    divides them into calibration_samples, search_samples (which trials are judged on), selection_samples (which the best is
    chosen on; None: up to 1024, where the goal has a floor and 512 are left) and, without holdout, a hold-out.
    limit: only so many samples from the start.

    Goal. Without limits, the fewest bytes of weights (or the least of what minimize names) that keep the floor. With limits
    alone: the best quality within them. With both: the least cost that keeps the floor and the limits.
      metric: the quality. None: top-1 of classifiers (without labels, agreement with float), SQNR of other networks.
        "sqnr": the SQNR of the outputs against float. A name of docs/metrics.md. Or a function (outputs, labels) -> float,
        which gets the outputs of all samples, float32 [samples, ...] (of several outputs a list), and the labels or None.
      larger_is_better: of a function.
      max_drop: floor: how much worse than float the quality may be, a share (0.01: one point) or in the metric's unit.
      min_sqnr: floor in dB. Without either: 0.01 of classifiers, 30 dB of other networks.
      minimize, pareto: "size", "ram", "flash", "cycles", "bops" or several; pareto: the whole front of quality and costs.
      max_size, max_ram, max_flash (bytes), max_cycles, max_bops (a sample): limits.
      confidence: with which the floor holds, 0.5 to 0.9999.

    Search. searcher: its name and parameters, "anneal:t0=0.5" (searchers() lists them; default hybrid, for fronts sweep or
    evolve), or an object with ask and tell (Searcher). seed: any whole number. trials, seconds, patience: when it
    ends; tolerance: see the program's help. *_bits: widths to try, (min, max). threshold, weight_threshold: methods to
    choose among. only, skip: patterns of names of values, nodes or edges; fix: {pattern: bits};
    allow_float: patterns of layers that may run in float, where the hardware has it (32 is then a width of their weights).
    recover: codes of weights (docs/recover.md). baseline: also search with hago-greedy. no_racing: do not stop trials that cannot matter any more.
    start: begin at the widths of a Strategy of this model (or its file), or of a Model that is quantized already (or its
    .onnx file); what does not fit is among the result's notes.

    threads: 0: all of the machine. cache_mb: memory for shared activations. Neither changes a result.
    progress: True: a bar of tqdm where it is there, else lines on stderr; or a function of (trial, best, planned).
    db: path of a SQLite log (docs/log-schema.md), which `intaglio runs` shows.
    resume: the number of a run of db that this search goes on with, from where it was interrupted or from where trials or
    seconds ended it; the other arguments are what they were (start and past need not be said again). past: numbers of runs of db,
    or "all", whose trials hybrid or surrogate learns from before it begins.
    workers: "redis://[:PASSWORD@]HOST[:PORT]/NAME" (rediss:// for TLS; docs/scale.md): `intaglio worker` evaluates the trials on
    other machines. recheck: the share of trials that two of them compute. Neither changes a result.

    Ctrl-C ends the search with what it has found (stop_reason "cancelled"); KeyboardInterrupt where that is nothing."""
    words = dict(locals())
    goal = Goal(
        metric,
        larger_is_better,
        max_drop,
        min_sqnr,
        minimize,
        pareto,
        {name: words[name] for name in ("max_size", "max_ram", "max_flash", "max_cycles", "max_bops")},
    )
    given = {name: words[name] for name in ("data", "labels", "holdout", "holdout_labels")}
    work, callbacks = _open(model, hw, given, limit, preprocess), Callbacks()
    work.kept.append(callbacks)
    goal.set(ffi.addressof(work.options[0], "goal"), model, callbacks)
    own = searcher if is_searcher(searcher) else None
    words["searcher"] = "user" if own is not None else searcher or default_searcher(work.options.goal)
    set_options(work.options, words)
    work.options.threads, work.options.cache_bytes = threads, cache_mb << 20
    if start is not None:
        work.kept.append(_start_of(start, work))
        work.options.start = work.kept[-1]
    earlier = _take_log(db, resume, past, work)
    coordinator = Coordinator(workers, recheck, work.model, threads) if workers is not None else None
    recorder = Recorder(db, work, earlier) if db is not None and not (earlier and earlier.is_complete) else None
    bar = _progress(progress, ffi.addressof(work.options[0], "goal"))
    try:
        return _run(work, callbacks, bar, recorder, own, coordinator, earlier)
    finally:
        if bar:
            bar.close()
        if coordinator:
            coordinator.close()
        if recorder:
            recorder.close()
