"""Reports (docs/report.md). The program `intaglio`, which stands in the package, writes them: the same file as on the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from ._library import BadArgument, Error

PathLike = Union[str, "os.PathLike[str]"]
PROGRAM = Path(__file__).with_name("bin") / "intaglio"


def main() -> None:
    """The command `intaglio`."""
    os.execv(PROGRAM, [str(PROGRAM), *sys.argv[1:]])


def make_report(
    words: Callable[[Path], Sequence[str]], path: Optional[PathLike], part: Optional[str], form: Optional[str]
) -> Union[str, Path]:
    """Writes a report, or one part of it, to path, or returns its text. words: writes what the report is of into a folder, and
    returns the arguments; files of the folder without it, so that no report names it."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.abspath(path) if path is not None else "report.html"
        command = [str(PROGRAM), "report", *words(Path(folder)), "-o", out]
        command += ["--part", part] if part is not None else []
        command += ["--format", form] if form is not None else []
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Error(done.stderr.strip().removeprefix("intaglio: "))
        return Path(path) if path is not None else Path(folder, out).read_text(encoding="utf-8")


def data_file(x: Any, folder: Path, name: str = "samples") -> str:
    """The path of samples: x, or a file in the folder with the array's elements, or with those of several inputs."""
    if isinstance(x, (str, os.PathLike)):
        return os.path.abspath(x)
    if isinstance(x, Mapping):
        np.savez(folder / f"{name}.npz", **{name: np.asarray(value) for name, value in x.items()})
        return f"{name}.npz"
    array = np.asarray(x)
    if array.dtype == object:
        raise BadArgument("a report takes samples as an array, as a dict of arrays, or as the path of a file")
    np.save(folder / f"{name}.npy", array)
    return f"{name}.npy"
