"""The log of runs (docs/log-schema.md) as a search writes it: what cli/recorder.c and cli/holder.c do for the program.

A thread commits ten times a second what waits, and renews the lease of the run; a lock keeps it and the search apart."""

from __future__ import annotations

import datetime
import os
import socket
import threading
import time
from typing import Any, Callable, Optional

from ._library import BadArgument, Callbacks, Error, call, ffi, lib, make, make_text, path_bytes, text

_TICK_S = 0.1


def _read_line(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\n")
    except OSError:
        return ""


def _place() -> str:
    """This start of this machine, and the namespace that process numbers belong to."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{_read_line('/proc/sys/kernel/random/boot_id')} {space}"


def _look_at(process: int) -> Optional[tuple[str, str]]:
    """State and start (in ticks since the machine's) of a process; None: there is none, or no /proc."""
    fields = _read_line(f"/proc/{process}/stat").rpartition(")")[2].split()
    return (fields[0], fields[19]) if len(fields) > 19 else None


def _state_of(other: Any) -> int:
    place = _place()
    if len(place) < 2 or place != text(other.place):
        return lib.ITG_HOLDER_UNKNOWN
    found = _look_at(other.process)
    lives = found is not None and found[0] not in "ZX" and found[1] == text(other.started)
    return lib.ITG_HOLDER_LIVES if lives else lib.ITG_HOLDER_GONE


def _utc() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class _Texts:
    """C strings that live as long as this does."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def add(self, value: str) -> Any:
        self._kept.append(ffi.new("char[]", value.encode("utf-8")))
        return self._kept[-1]


def _describe(out: Any, name: Any, data: Any) -> None:
    if data:
        out.name, out.samples = name, lib.itg_data_samples(data)
        ffi.memmove(out.hash, lib.itg_data_hash(data), 32)


class RunInfo:
    """What a search is about, as the log keeps it. struct: an itg_run_info, whose texts live as long as this does."""

    def __init__(self, work: Any):
        texts = self._texts = _Texts()
        info = self.struct = ffi.new("itg_run_info *")
        info.model_name = texts.add(work.model.name)
        info.hardware_name = texts.add(work.hardware.name)
        info.searcher = texts.add(text(work.options.searcher))
        info.options_json = texts.add(make_text(lib.itg_search_options_text, work.options))
        info.hardware_json = texts.add(text(lib.itg_hardware_json(work.hardware._hardware)))
        info.preprocess_json = texts.add(make_text(lib.itg_preprocess_text, work.preprocess))
        info.engine_version = texts.add(text(lib.itg_engine_version()))
        info.started = texts.add(_utc())
        space = (lib.itg_search_space_text, work.model._model, work.hardware._hardware, work.options)
        info.space_json = texts.add(make_text(*space))
        info.seed = work.options.seed
        ffi.memmove(info.model_hash, lib.itg_model_hash(work.model._model), 32)
        for member in ("data", "labels", "holdout", "holdout_labels"):
            _describe(getattr(info, member), texts.add(work.names[member]), getattr(work.data, member))


def _open_reader(path: Any) -> Any:
    return make("itg_run_log", lambda log: lib.itg_run_log_close(log, ffi.NULL), lib.itg_run_log_open_reader, path_bytes(path))


# ---- earlier trials ----


def read_past(path: Any, work: Any, what: str) -> Any:
    """The itg_run_past of earlier runs: "all", or "3:120,7"."""
    log, wanted = _open_reader(path), RunInfo(work)
    return make("itg_run_past", lib.itg_run_past_destroy, lib.itg_run_log_past, log, wanted.struct, what.encode("utf-8"))


class Earlier:
    """A run of the log that a search goes on with: its trials, which are not evaluated again."""

    def __init__(self, path: Any, run: int):
        self._log, self.run, self.path = _open_reader(path), run, path
        self.record = make("itg_run_record", lib.itg_run_record_destroy, lib.itg_run_log_read_run, self._log, run)
        out, count = ffi.new("itg_trial **"), ffi.new("int64_t *")
        call(lib.itg_run_log_load_trials, self._log, run, out, count)
        self.count = count[0]
        self.trials = ffi.gc(out[0], lambda trials, count=count[0]: lib.itg_run_log_free_trials(trials, count))

    @property
    def is_complete(self) -> bool:
        """It ended by itself, so that nothing is left to be added."""
        return lib.itg_run_record_is_complete(self.record)

    def take_start_and_past(self, work: Any) -> None:
        """Where the run began, and what it learned from before, are not said again."""
        options, source = self.record.info.options_json, b"its options"
        start, name = ffi.new("itg_search_start **"), ffi.new("char **")
        call(lib.itg_search_start_from_text, options, source, start)
        if start[0]:
            work.kept.append(ffi.gc(start[0], lib.itg_search_start_destroy))
            work.options.start = work.kept[-1]
        call(lib.itg_search_past_from_text, options, source, name)
        if name[0]:
            what = text(name[0])
            lib.itg_free(name[0])
            work.kept.append(read_past(self.path, work, what))
            work.options.past = lib.itg_run_past_trials(work.kept[-1])

    def check(self, work: Any, kept: Callable[[Any, Any], None]) -> None:
        """Raises unless the search is the run's, but for how long it lasts. kept: copies what may differ between two
        itg_search_options."""
        place = f"run {self.run} of {os.fspath(self.path)}"
        info, logged = RunInfo(work), self.record.info
        difference = text(lib.itg_run_info_difference(ffi.addressof(self.record[0], "info"), info.struct))
        for member in ("holdout", "holdout_labels"):
            pair = (ffi.addressof(logged, member), ffi.addressof(info.struct, member))
            if not difference and not lib.itg_run_data_equal(*pair):
                difference = "another hold-out"
        if difference:
            raise BadArgument(f"{place} has {difference}, and cannot go on with this one", "BAD_ARGUMENT")
        before = ffi.new("itg_search_options *")
        call(lib.itg_search_options_from_text, logged.options_json, b"its options", before)
        kept(before, work.options)
        before.start, before.past = work.options.start, work.options.past
        if make_text(lib.itg_search_options_text, before) != make_text(lib.itg_search_options_text, work.options):
            raise BadArgument(f"{place} has other options: {text(logged.options_json)}", "BAD_ARGUMENT")
        if 0 < work.options.trials < self.count:
            raise BadArgument(f"trials: {place} has {self.count} already", "BAD_ARGUMENT")
        work.options.replay, work.options.replay_count = self.trials, self.count


# ---- writing ----


class Recorder:
    """Writes one run of a search, or goes on with it; what fails is kept in `failure` and ends the search."""

    def __init__(self, path: Any, work: Any, earlier: Optional[Earlier] = None):
        self.failure: Optional[Error] = None
        self.path = os.path.abspath(path)
        self._lock, self._stops = threading.Lock(), threading.Event()
        self._callbacks, self._renewed = Callbacks(), time.monotonic()
        out = ffi.new("itg_run_log **")
        call(lib.itg_run_log_open, path_bytes(path), out)
        self._log = out[0]
        try:
            self.run = self._begin(work) if earlier is None else self._go_on(earlier.run)
        except BaseException:
            lib.itg_run_log_close(self._log, ffi.NULL)
            raise
        self._thread = threading.Thread(target=self._tick, name="intaglio log", daemon=True)
        self._thread.start()

    def _begin(self, work: Any) -> int:
        texts, info, run = _Texts(), RunInfo(work), ffi.new("int64_t *")
        call(lib.itg_run_log_begin_run, self._log, info.struct, run)
        call(lib.itg_run_log_take, self._log, run[0], self._claim(texts))
        return run[0]

    def _go_on(self, run: int) -> int:
        texts = _Texts()
        call(lib.itg_run_log_take, self._log, run, self._claim(texts))
        call(lib.itg_run_log_reopen_run, self._log, run)
        return run

    def _claim(self, texts: _Texts) -> Any:
        claim, found = ffi.new("itg_run_claim *"), _look_at(os.getpid())
        claim.self.host = texts.add(socket.gethostname() or "an unnamed machine")
        claim.self.place = texts.add(_place())
        claim.self.process = os.getpid()
        claim.self.started = texts.add(found[1] if found else "")
        claim.self.since = texts.add(_utc())
        claim.now = int(time.time())
        self._callbacks.set(claim, "state", _state_of, lib.ITG_HOLDER_UNKNOWN)
        return claim

    def _tick(self) -> None:
        while not self._stops.wait(_TICK_S):
            with self._lock:
                self._guard(lib.itg_run_log_commit, self._log)
                if time.monotonic() - self._renewed >= lib.ITG_LOG_LEASE_S / 6:
                    self._renewed = time.monotonic()
                    self._guard(lib.itg_run_log_renew, self._log, int(time.time()))

    def _guard(self, function: Any, *arguments: Any) -> None:
        """Calls; the first failure is kept, and nothing is written after it."""
        if self.failure is None:
            try:
                call(function, *arguments)
            except Error as failure:
                self.failure = failure

    def trial(self, trial: Any) -> None:
        with self._lock:
            self._guard(lib.itg_run_log_trial, self._log, self.run, trial, time.monotonic())

    def end(self, end: Any) -> None:
        with self._lock:
            self._guard(lib.itg_run_log_end_run, self._log, self.run, end)

    def close(self) -> None:
        """Commits; raises what failed since the beginning."""
        self._stops.set()
        self._thread.join()
        try:
            call(lib.itg_run_log_close, self._log)
        finally:
            if self.failure is not None:
                raise self.failure
