"""The example network and its data, and the program `intaglio` to compare with: build/release/intaglio, or $INTAGLIO_PROGRAM."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import intaglio

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PROGRAM = Path(os.environ.get("INTAGLIO_PROGRAM", ROOT / "build/release/intaglio"))


class Digits:
    """examples/: a small residual network for drawn digits. Images [samples, 1, 16, 16], u8."""

    path = EXAMPLES / "digits.onnx"
    paths = {name: EXAMPLES / f"digits_{name}.npy" for name in ("search_images", "search_labels", "test_images", "test_labels")}
    preprocess = intaglio.Preprocess(scale=1 / 255)

    def __init__(self):
        for name, path in self.paths.items():
            setattr(self, name, np.load(path))

    def model(self):
        return intaglio.Model(self.path)

    def eight(self, **how):
        return intaglio.uniform(self.model(), "cortex-m", 8, self.search_images, preprocess=self.preprocess, **how)


@pytest.fixture(scope="session")
def digits():
    return Digits()


@pytest.fixture(scope="session")
def eight(digits):
    return digits.eight()


@pytest.fixture(scope="session")
def program():
    """Runs the program with words; its exit status must be `expected`."""
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")

    def run(*words, expected=0):
        done = subprocess.run([str(PROGRAM), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert done.returncode == expected, done.stderr
        return done.stdout

    return run
