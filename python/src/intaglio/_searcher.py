"""Searchers of the caller's own, by ask and tell."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Protocol, Sequence

from ._library import BadArgument, Callbacks, lib, options


class Dimension(NamedTuple):
    """A choice: values are widths, ascending, or (not ordered) the places of threshold methods in SearchResult.space."""

    values: tuple[int, ...]
    ordered: bool


class Space(NamedTuple):
    """What a search chooses in, and what it wants: a point is good where it is feasible, its quality reaches quality_floor
    (-inf: none), its violation is 0 and, where quality is improved, cost <= cost_limit. trials: at most; None: not known.
    start: the point that the search is to begin with; None: the searcher's own."""

    dimensions: tuple[Dimension, ...]
    maximize_quality: bool
    quality_floor: float
    cost_limit: float
    trials: Optional[int]
    start: Optional[tuple[int, ...]] = None


class Outcome(NamedTuple):
    """What became of a point. Where it is not feasible (the hardware cannot run it), nothing else is known.
    quality: larger is better; cost: smaller is better; violation: by how much limits are exceeded, a share; distortion: of the
    outputs, finer than quality, None: not known; objectives: all of the goal's, less is better."""

    feasible: bool
    quality: float
    cost: float
    violation: float
    distortion: Optional[float]
    objectives: tuple[float, ...]


class Searcher(Protocol):
    """An object that proposes points. A point is a level for each dimension: an index into its values.

    outstanding (1 where it is not there): the most points that are asked and not told, up to 64; they are evaluated together.
    begin(space): called once, before the first ask; it need not be there.
    ask(): the next point; None: tell me first; StopIteration ends the search.
    tell(levels, outcome): each point, in the order of the asks.

    The same answers must give the same points: take random numbers from a generator with a seed."""

    def ask(self) -> Optional[Sequence[int]]: ...

    def tell(self, levels: tuple[int, ...], outcome: Outcome) -> None: ...


def is_searcher(value: Any) -> bool:
    return hasattr(value, "ask") and hasattr(value, "tell")


def _space_of(given: Any) -> Space:
    dims = [given.dims[index] for index in range(given.dim_count)]
    return Space(
        tuple(Dimension(tuple(dim.values[0 : dim.count]), bool(dim.ordered)) for dim in dims),
        bool(given.maximize_quality),
        given.quality_floor,
        given.cost_limit,
        given.trials if 0 < given.trials < 2**63 - 1 else None,
        tuple(given.start[0 : given.dim_count]) if given.start else None,
    )


def _outcome_of(told: Any) -> Outcome:
    objectives = tuple(told.objectives[0 : told.objective_count])
    distortion = told.distortion if told.distortion >= 0 else None
    return Outcome(bool(told.feasible), told.quality, told.cost, told.violation, distortion, objectives)


def user_searcher(searcher: Searcher, callbacks: Callbacks) -> Any:
    """An itg_user_searcher that asks a Python object. An exception in it ends the search, and is raised there."""
    space: list[Space] = []

    def begin(context: Any, given: Any, err: Any) -> int:
        space.append(_space_of(given))
        getattr(searcher, "begin", lambda _: None)(space[0])
        return lib.ITG_OK

    def ask(context: Any, levels: Any) -> int:
        try:
            point = searcher.ask()
        except StopIteration:
            return lib.ITG_END
        if point is None:
            return lib.ITG_WAIT
        sizes = [len(dim.values) for dim in space[0].dimensions]
        if len(point) != len(sizes) or any(not 0 <= level < size for level, size in zip(point, sizes)):
            raise BadArgument(f"searcher: {list(point)} is no point; expected a level below each of {sizes}", "BAD_ARGUMENT")
        levels[0 : len(sizes)] = [int(level) for level in point]
        return lib.ITG_OK

    def tell(context: Any, levels: Any, told: Any) -> int:
        searcher.tell(tuple(levels[0 : len(space[0].dimensions)]), _outcome_of(told))
        return lib.ITG_OK

    out = options("itg_user_searcher", outstanding=int(getattr(searcher, "outstanding", 1)))
    callbacks.set(out, "begin", begin, lib.ITG_FAILURE)
    callbacks.set(out, "ask", ask, lib.ITG_FAILURE)
    callbacks.set(out, "tell", tell, lib.ITG_FAILURE)
    return out
