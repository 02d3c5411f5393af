"""Trials on other machines (docs/scale.md): the side of the search, which `intaglio worker` serves."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Optional

from ._library import Callbacks, call, ffi, lib, path_bytes, text
from ._model import Model

PASSWORD = "INTAGLIO_REDIS_PASSWORD"  # of the environment, where the address has none


class Coordinator:
    """Hands the trials of one search out through a Redis server."""

    def __init__(self, address: str, recheck: float, model: Model, threads: int):
        self._pointer: Any = None
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None
        out = self._options = ffi.new("itg_coordinator_options *")
        password = os.environ.get(PASSWORD)
        call(lib.itg_remote_parse, address.encode("utf-8"), password.encode("utf-8") if password else ffi.NULL,
             ffi.addressof(out, "address"))
        self._model, out.model = model, model._model
        out.recheck, out.threads = recheck, threads

    def open(self, callbacks: Callbacks, stops: Callable[[Any], bool], note: Callable[[str], None]) -> Any:
        """Connects. Returns the evaluator, which lives until close()."""
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        path = ffi.new("char[]", path_bytes(folder / self._model._file(folder)))
        hooks = ffi.addressof(self._options, "hooks")
        callbacks.set(hooks, "clock", lambda _: time.monotonic(), 0.0)
        callbacks.set(hooks, "stops", stops, True)
        callbacks.set(hooks, "note", lambda _, words: note(text(words)))
        self._options.model_path = self._path = path
        out = ffi.new("itg_coordinator **")
        call(lib.itg_coordinator_open, self._options, out)
        self._pointer = out[0]
        return lib.itg_coordinator_evaluator(self._pointer)

    def close(self) -> None:
        if self._pointer:
            lib.itg_coordinator_close(self._pointer)
            self._pointer = None
        if self._folder:
            self._folder.cleanup()
