"""Intaglio: from a float ONNX network to an integer program with proven bounds and reproducible bits.

    model = intaglio.Model("net.onnx")
    result = intaglio.search(model, "cortex-m", x, y, max_drop=0.01)
    program = result.best.realize()
    program.emit_c("firmware")

Arrays are [samples, ...], as the network's inputs without their batch axis of 1. Results do not depend on the number of threads
or the machine. docs/python.md is the guide."""

from ._library import (
    BadArgument,
    BadFile,
    Cancelled,
    Error,
    Infeasible,
    InputOutputError,
    LimitExceeded,
    Mismatch,
    NoMemory,
    Unbounded,
    Unsupported,
    lib as _lib,
    text as _text,
)
from ._model import Check, CheckedNode, Hardware, Model, Refusal, Value, targets
from ._program import EmittedC, EmittedQdq, Output, Program
from ._goal import searchers
from ._search import SearchResult, Trials, search
from ._searcher import Dimension, Outcome, Searcher, Space
from ._strategy import Edge, EdgeReport, Effect, Explanation, Inspection, Strategy, uniform
from ._values import Preprocess, Score

__version__ = _text(_lib.itg_engine_version())

__all__ = [
    "BadArgument",
    "BadFile",
    "Cancelled",
    "Check",
    "CheckedNode",
    "Dimension",
    "Edge",
    "EdgeReport",
    "Effect",
    "EmittedC",
    "EmittedQdq",
    "Error",
    "Explanation",
    "Hardware",
    "Infeasible",
    "InputOutputError",
    "Inspection",
    "LimitExceeded",
    "Mismatch",
    "Model",
    "NoMemory",
    "Outcome",
    "Output",
    "Preprocess",
    "Program",
    "Refusal",
    "Score",
    "SearchResult",
    "Searcher",
    "Space",
    "Strategy",
    "Trials",
    "Unbounded",
    "Unsupported",
    "Value",
    "search",
    "searchers",
    "targets",
    "uniform",
]
