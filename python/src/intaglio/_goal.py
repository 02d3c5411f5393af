"""What a search looks for, and its options, as the program's command line takes them (`intaglio help search`)."""

from __future__ import annotations

import math
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from ._declarations import SEARCH_OPTIONS
from ._library import BadArgument, Callbacks, enum_value, ffi, lib, set_text, text
from ._values import Metric, fill_user_metric, metric_number

DEFAULT_DROP = 0.01  # of classifiers
DEFAULT_SQNR_DB = 30.0  # of all other networks
COSTS = {"max_size": "size", "max_bops": "bops", "max_cycles": "cycles", "max_ram": "ram", "max_flash": "flash"}


def _bad(message: str) -> BadArgument:
    return BadArgument(message, "BAD_ARGUMENT")


def _cost(name: str, what: str) -> int:
    return enum_value(name.strip(), lib.itg_metric_from_goal, "itg_metric", what)


def _costs(value: Union[str, Sequence[str]], what: str, most: int) -> list[int]:
    names = value.split(",") if isinstance(value, str) else list(value)
    if not 1 <= len(names) <= most:
        raise _bad(f"{what}: expected 1 to {most} costs, found {len(names)}")
    return [_cost(name, what) for name in names]


class Goal:
    """What is wanted, in words; set() writes it into an itg_goal. The rules are those of the program's command line."""

    def __init__(
        self,
        metric: Union[str, Metric, None],
        larger_is_better: bool,
        max_drop: Optional[float],
        min_sqnr: Optional[float],
        minimize: Union[str, Sequence[str], None],
        pareto: Union[str, Sequence[str], None],
        limits: Mapping[str, Optional[float]],
    ):
        self.function = metric if callable(metric) else None
        self.larger_is_better = larger_is_better
        self.max_drop, self.min_sqnr, self.minimize, self.pareto = max_drop, min_sqnr, minimize, pareto
        self.limits = {COSTS[name]: value for name, value in limits.items() if value is not None}
        self.named = None if callable(metric) else metric
        self._settle_sqnr()
        self._check()

    def _settle_sqnr(self) -> None:
        """metric "sqnr" is a floor of SQNR, or within limits alone the best SQNR."""
        if self.named not in ("sqnr", "sqnr_db"):
            return
        self.named = "sqnr_db"
        if self.max_drop is not None:
            raise _bad("max_drop: SQNR says itself how far the outputs are from float; give min_sqnr, in dB")
        if self.min_sqnr is not None or not self.limits:
            self.min_sqnr = DEFAULT_SQNR_DB if self.min_sqnr is None else self.min_sqnr
            self.named = None

    def _check(self) -> None:
        if self.max_drop is not None and self.min_sqnr is not None:
            raise _bad("max_drop and min_sqnr are floors of two kinds of quality: give one of them")
        if self.minimize is not None and self.pareto is not None:
            raise _bad("pareto and minimize are two goals: give one of them")
        if self.min_sqnr is not None and (self.named or self.function):
            raise _bad("metric and min_sqnr are two qualities: give one of them")
        if (self.named or self.function) and not self.limits and self.max_drop is None:
            raise _bad(
                "metric needs a goal: max_drop, how much worse than float it may be in its own unit, or a limit such as max_size"
            )
        if self.max_drop is not None and not 0 <= self.max_drop < math.inf:
            raise _bad(f"max_drop: expected a number from 0 on, found {self.max_drop}")

    @property
    def _maximizes(self) -> bool:
        """Limits alone: the best quality within them."""
        floor = self.max_drop is not None or self.min_sqnr is not None
        return bool(self.limits) and not floor and self.minimize is None and self.pareto is None

    def _quality(self) -> int:
        if self.function:
            return lib.ITG_METRIC_USER1
        return metric_number(self.named) if self.named else lib.ITG_METRIC_ACCURACY

    def set(self, goal: Any, model: Any, callbacks: Callbacks) -> None:
        """Fills an itg_goal (a pointer) for a model."""
        quality, counts_hits = self._quality(), not (self.function or self.named)
        if self.function:
            fill_user_metric(ffi.addressof(goal[0], "user", 0), self.function, self.larger_is_better, callbacks)
        if counts_hits and not self._maximizes and self.min_sqnr is None:
            self._constrain(goal, quality, DEFAULT_DROP, True)
        if self.max_drop is not None:
            self._constrain(goal, quality, self.max_drop, True)
        if self.min_sqnr is not None:
            self._constrain(goal, lib.ITG_METRIC_SQNR, self.min_sqnr, False)
        self._set_objectives(goal, quality)
        for name, value in self.limits.items():
            self._constrain(goal, _cost(name, "limit"), float(value), False)
        if counts_hits and not model.is_classifier and lib.itg_goal_counts_classes(goal):
            self._settle(goal, model)

    def _set_objectives(self, goal: Any, quality: int) -> None:
        if self.minimize is not None:
            costs = _costs(self.minimize, "minimize", lib.ITG_MOST_OBJECTIVES)
            goal.objectives[0 : len(costs)] = costs
            goal.objective_count = len(costs)
        if self.pareto is not None:
            costs = _costs(self.pareto, "pareto", lib.ITG_MOST_OBJECTIVES - 1)
            lib.itg_goal_set_front(goal, ffi.new("itg_metric[]", costs), len(costs))
        if self._maximizes:
            goal.objectives[0], goal.objective_count = quality, 1

    def _settle(self, goal: Any, model: Any) -> None:
        """The network is no classifier: its quality is the SQNR of its outputs."""
        if self.max_drop is not None:
            raise _bad(
                f"max_drop counts points of a classifier, and {model.name} is none: give min_sqnr, in dB, the least SQNR of "
                "all its outputs, or a metric"
            )
        lib.itg_goal_release(goal, lib.ITG_METRIC_ACCURACY)
        for index in range(goal.objective_count):
            if not lib.itg_metric_is_cost(goal.objectives[index]):
                goal.objectives[index] = lib.ITG_METRIC_SQNR
        if not lib.itg_goal_maximizes_quality(goal):
            self._constrain(goal, lib.ITG_METRIC_SQNR, DEFAULT_SQNR_DB, False)

    @staticmethod
    def _constrain(goal: Any, metric: int, bound: float, below_float: bool) -> None:
        if not lib.itg_goal_constrain(goal, metric, bound, below_float):
            raise _bad(f"at most {lib.ITG_MOST_CONSTRAINTS} limits")


# ---- options of search_options.def, by their kind ----


def _range(value: Any, what: str) -> Any:
    if value is None:
        return (0, 0)
    if isinstance(value, int):
        return (value, value)
    low, high = (int(part) for part in (value.split(":") if isinstance(value, str) else value))
    if not 1 <= low <= high <= 32:
        raise _bad(f"{what}: expected (min, max) within 1 to 32, found {value}")
    return (low, high)


def _methods(value: Any, what: str) -> Any:
    names = [] if value is None else value.split(",") if isinstance(value, str) else list(value)
    if len(names) > lib.ITG_MAX_METHODS or len(set(names)) < len(names):
        raise _bad(f"{what}: expected each method once, found {value}")
    numbers = [enum_value(name.strip(), lib.itg_threshold_from_name, "itg_threshold_method", what) for name in names]
    return {"values": numbers, "count": len(numbers)}


def _patterns(value: Any) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{pattern}={bits}" for pattern, bits in value.items())
    return value if isinstance(value, str) else ",".join(value or ())


def _whole(value: Any, what: str) -> int:
    if value is None:
        return 0
    if value != int(value) or value < 0:
        raise _bad(f"{what}: expected a whole number from 0 on, found {value}")
    return int(value)


def _fraction(value: Any, what: str) -> float:
    if value is None:
        return 0.0
    if not 0 <= value <= 1:
        raise _bad(f"{what}: expected a number from 0 to 1, found {value}")
    return float(value)


_KINDS: dict[str, Callable[[Any, str], Any]] = {
    "INTEGER": _whole,
    "SEED": _whole,
    "SECONDS": lambda value, what: float(value or 0),
    "FRACTION": _fraction,
    "RANGE": _range,
    "METHODS": _methods,
    "KERNELS": lambda value, what: enum_value(value, lib.itg_float_kernels_from_name, "itg_float_kernels", what),
    "RECOVER": lambda value, what: enum_value(value, lib.itg_recover_mode_from_name, "itg_recover_mode", what),
    "FLAG": lambda value, what: bool(value),
    "BASELINE": lambda value, what: bool(value),
}


def option_names() -> dict[str, str]:
    """The options of search_options.def, but for those of the model: {keyword of search(): default, "" where it is none}."""
    return {
        name.replace("-", "_"): preset or "" for name, member, _, _, preset, _ in SEARCH_OPTIONS if not member.startswith("model.")
    }


def set_options(out: Any, values: Mapping[str, Any]) -> None:
    """Sets the members of an itg_search_options (a pointer) that search_options.def lists, but for the model's."""
    for name, member, kind, _, _, _ in SEARCH_OPTIONS:
        keyword = name.replace("-", "_")
        if member.startswith("model."):
            continue
        if kind in ("SEARCHER", "MODEL_TEXT"):
            set_text(out, member, _patterns(values[keyword]), keyword)
        else:
            setattr(out, member, _KINDS[kind](values[keyword], keyword))


def copy_free_options(out: Any, source: Any) -> None:
    """Copies what may differ when a run is resumed."""
    for _, member, _, resume, _, _ in SEARCH_OPTIONS:
        if resume == "FREE" and not member.startswith("model."):
            setattr(out, member, getattr(source, member))


def default_searcher(goal: Any) -> str:
    """As the program chooses where none is named."""
    count = goal.objective_count
    is_front = count > 1 and not lib.itg_metric_is_cost(goal.objectives[count - 1])
    return text(lib.itg_searcher_name(0)) if not is_front else "evolve" if count > 2 else "sweep"


def searchers() -> dict[str, str]:
    """The searchers of the library, and what each does."""
    count = lib.itg_searcher_count()
    return {text(lib.itg_searcher_name(index)): text(lib.itg_searcher_help(index)) for index in range(count)}
