"""The shared library, its errors as exceptions, and small helpers for calls of C."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar

from ._declarations import ffi

lib = ffi.dlopen(str(Path(__file__).with_name("libintaglio.so")))
Result = TypeVar("Result")


class Error(Exception):
    """A call of the library failed. The text is the C error's: file, place, what was expected.

    status: its code, as "BAD_FILE"."""

    def __init__(self, message: str, status: str = "FAILURE"):
        super().__init__(message)
        self.status = status


class BadArgument(Error, ValueError):
    """An argument that the library does not take."""


class BadFile(Error, ValueError):
    """A malformed file."""


class InputOutputError(Error, OSError):
    """A file could not be read or written."""


class NoMemory(Error, MemoryError):
    """Out of memory."""


class LimitExceeded(Error, ValueError):
    """A stated limit is exceeded."""


class Unsupported(Error):
    """The library does not support this; the text says what."""


class Infeasible(Error):
    """The hardware cannot do this."""


class Unbounded(Error):
    """An accumulator's bound exceeds its width."""


class Mismatch(Error, ValueError):
    """Two things do not belong together, such as a strategy and another model."""


class Cancelled(Error):
    """The work was given up because that was asked for."""


_EXCEPTIONS = {
    "BAD_ARGUMENT": BadArgument,
    "BAD_FILE": BadFile,
    "IO": InputOutputError,
    "NO_MEMORY": NoMemory,
    "LIMIT": LimitExceeded,
    "UNSUPPORTED": Unsupported,
    "INFEASIBLE": Infeasible,
    "UNBOUNDED": Unbounded,
    "MISMATCH": Mismatch,
    "CANCELLED": Cancelled,
}


def text(pointer: Any) -> str:
    """A C string; NULL is ""."""
    return ffi.string(pointer).decode("utf-8", "replace") if pointer else ""


def check(status: int, err: Any) -> None:
    """Raises the exception of a status that is not ITG_OK."""
    if status == lib.ITG_OK:
        return
    name = text(lib.itg_status_name(status))
    message = text(err.message) or text(lib.itg_status_text(status))
    raise _EXCEPTIONS.get(name, Error)(message, name)


def call(function: Callable[..., int], *arguments: Any) -> None:
    """function(*arguments, err)."""
    err = ffi.new("itg_error *")
    check(function(*arguments, err), err)


class _Life:
    """Destroys a C object when nothing refers to it, and no object is left that borrows from it: Python's collector ends the
    objects of a cycle in any order."""

    _by_address: dict[int, "_Life"] = {}
    _lock = threading.RLock()

    def __init__(self, pointer: Any, destroy: Callable[[Any], None], borrows_from: tuple[Any, ...]):
        self._destroy, self._users = destroy, 1
        self._address = self._address_of(pointer)
        self._kind = ffi.typeof(pointer)
        with self._lock:
            found = (self._by_address.get(self._address_of(lender)) for lender in borrows_from)
            self._lenders = [life for life in found if life is not None]
            for life in self._lenders:
                life._users += 1
            self._by_address[self._address] = self

    @staticmethod
    def _address_of(value: Any) -> int:
        is_pointer = isinstance(value, ffi.CData) and ffi.typeof(value).kind == "pointer"
        return int(ffi.cast("uintptr_t", value)) if is_pointer else 0

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            del self._by_address[self._address]
            lenders, self._lenders = self._lenders, []
        self._destroy(ffi.cast(self._kind, self._address))
        for life in lenders:
            life.release()


def make(
    kind: str, destroy: Callable[[Any], None], function: Callable[..., int], *arguments: Any, borrows_from: tuple[Any, ...] = ()
) -> Any:
    """The object of function(*arguments, out, err), which is destroyed when nothing refers to it. Others, which it borrows from,
    live until then."""
    out = ffi.new(kind + " **")
    call(function, *arguments, out)
    life = _Life(out[0], destroy, borrows_from)
    return ffi.gc(out[0], lambda _: life.release())


def make_text(function: Callable[..., int], *arguments: Any) -> str:
    """The text of function(*arguments, char **out, err)."""
    out = ffi.new("char **")
    call(function, *arguments, out)
    try:
        return text(out[0])
    finally:
        lib.itg_free(out[0])


def options(kind: str, **members: Any) -> Any:
    """A struct of options with its version; members None keep their defaults."""
    out = ffi.new(kind + " *")
    out.version = getattr(lib, kind.upper() + "_VERSION")
    for name, value in members.items():
        if value is not None:
            setattr(out, name, value)
    return out


def path_bytes(path: Any) -> bytes:
    return os.fsencode(path)


def fields_of(struct: Any) -> dict[str, Any]:
    """The members of a struct, or of what a pointer points to."""
    kind = ffi.typeof(struct)
    return dict(kind.fields if kind.kind == "struct" else kind.item.fields)


def set_text(struct: Any, member: str, value: str, what: str) -> None:
    """Sets a member that is an array of char."""
    data = value.encode("utf-8")
    room = fields_of(struct)[member].type.length
    if len(data) >= room:
        raise BadArgument(f"{what}: expected at most {room - 1} bytes, found {len(data)}", "BAD_ARGUMENT")
    setattr(struct, member, data)


def hex_of_pointer(digest: Any) -> str:
    """A SHA-256, 32 bytes, in hexadecimal."""
    return bytes(ffi.buffer(digest, 32)).hex()


def take_buffer(buffer: Any) -> Optional[bytes]:
    """The bytes of an itg_buffer, which is freed; None: there are none."""
    if not buffer.data:
        return None
    try:
        return bytes(ffi.buffer(buffer.data, buffer.bytes))
    finally:
        lib.itg_free(buffer.data)


def enum_value(value: str, convert: Callable[..., bool], kind: str, what: str) -> int:
    """The number of an enumeration's name; convert(name, out) is the library's function for it."""
    out = ffi.new(kind + " *")
    if not convert(str(value).encode("utf-8"), out):
        raise BadArgument(f"{what}: {value!r} is not known", "BAD_ARGUMENT")
    return out[0]


class Callbacks:
    """Python functions that C calls. The first exception in one of them is kept in `failure`."""

    def __init__(self) -> None:
        self._alive: list[Any] = []
        self.failure: Optional[BaseException] = None

    def set(self, struct: Any, member: str, function: Callable[..., Any], on_error: Any = None) -> None:
        """Sets a member of a struct, a pointer to a function. It returns on_error where the function raises."""
        kind = fields_of(struct)[member].type
        setattr(struct, member, self.pointer(kind, function, on_error))

    def pointer(self, kind: Any, function: Callable[..., Any], on_error: Any = None) -> Any:
        callback = ffi.callback(kind, function, error=on_error, onerror=self._keep)
        self._alive.append(callback)
        return callback

    def _keep(self, kind: Any, value: BaseException, trace: Any) -> None:
        if self.failure is None:
            self.failure = value

    def run(self, work: Callable[[], Result]) -> Result:
        """work(); if one of the functions raised, its exception in place of what C says about that."""
        try:
            result = work()
        except Error:
            if self.failure is not None:
                raise self.failure
            raise
        if self.failure is not None:
            raise self.failure
        return result


class Interrupt:
    """Whether Ctrl-C was pressed since the work began, and for how long (seconds)."""

    PATIENCE_S = 2.0  # then a search does not evaluate its best on the hold-out either

    def __init__(self) -> None:
        self._since: Optional[float] = None

    def press(self) -> None:
        self._since = self._since or time.monotonic()

    def asked(self, context: Any = None) -> bool:
        return self._since is not None

    def hurry(self, context: Any = None) -> bool:
        return self._since is not None and time.monotonic() - self._since >= self.PATIENCE_S


def run_interruptibly(work: Callable[[], Result], interrupt: Interrupt) -> Result:
    """work() in a thread of its own, so that Ctrl-C is seen while C computes. It tells `interrupt`, and waits."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: list[Any] = []
    ended = threading.Event()

    def target() -> None:
        try:
            outcome.extend([work(), None])
        except BaseException as failure:  # raised again by the caller's thread
            outcome.extend([None, failure])
        finally:
            ended.set()

    threading.Thread(target=target, name="intaglio", daemon=True).start()
    while not ended.is_set():
        try:
            ended.wait()
        except KeyboardInterrupt:
            interrupt.press()
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]


def run_or_interrupt(work: Callable[[Interrupt], Result]) -> Result:
    """The same for work that has no result when it is interrupted: KeyboardInterrupt."""
    interrupt = Interrupt()
    try:
        result = run_interruptibly(lambda: work(interrupt), interrupt)
    except Cancelled:
        if interrupt.asked():
            raise KeyboardInterrupt from None
        raise
    if interrupt.asked():
        raise KeyboardInterrupt
    return result
