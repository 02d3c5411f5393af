import math
import random

import pytest

import intaglio


class RandomWalk:
    outstanding = 4

    def begin(self, space):
        self.space, self.random = space, random.Random(0)
        self.best, self.cost = [len(d.values) - 1 if d.ordered else 0 for d in space.dimensions], math.inf
        self.asked, self.told = [], []

    def ask(self):
        point = list(self.best)
        if self.asked:
            place = self.random.randrange(len(point))
            point[place] = self.random.randrange(len(self.space.dimensions[place].values))
        self.asked.append(tuple(point))
        return point

    def tell(self, levels, outcome):
        self.told.append((levels, outcome))
        if outcome.feasible and outcome.quality >= self.space.quality_floor and outcome.cost < self.cost:
            self.best, self.cost = levels, outcome.cost


def find(digits, searcher, **how):
    arguments = {"preprocess": digits.preprocess, "progress": False, "recover": "none", "trials": 40, **how}
    return intaglio.search(digits.model(), "cortex-m", digits.search_images, digits.search_labels, searcher=searcher, **arguments)


def test_points_are_evaluated_and_told(digits):
    walk = RandomWalk()
    result = find(digits, walk)
    assert len(result.trials) == len(walk.told) == 40 and [levels for levels, _ in walk.told] == walk.asked[:40]
    for trial, (levels, outcome) in zip(result.trials, walk.told):
        values = [dim.values[level] for dim, level in zip(walk.space.dimensions, levels)]
        assert list(trial["point"]) == values and trial["feasible"] == outcome.feasible
        assert not outcome.feasible or outcome.cost == trial["weight_bytes"] == outcome.objectives[0]
    assert result.goal_met and result.best_trial["weight_bytes"] == walk.cost < 7224
    assert walk.space.trials == 40 and 0.9 < walk.space.quality_floor < 1
    assert find(digits, RandomWalk(), threads=1).best.to_bytes() == result.best.to_bytes()
    assert b'"searcher": "user"' in result.best.to_bytes()[0]


def test_the_log_names_it(digits, program, tmp_path):
    find(digits, RandomWalk(), db=tmp_path / "runs.db", trials=5)
    assert "user, seed 0" in program("runs", "show", "1", "--db", tmp_path / "runs.db")


def test_end_and_wait(digits):
    class Two:
        outstanding = 3
        asks = tells = 0

        def begin(self, space):
            self.widest = [len(d.values) - 1 for d in space.dimensions]

        def ask(self):
            if self.tells == 2:
                raise StopIteration
            if self.asks == 2:
                return None
            self.asks += 1
            return [max(0, level - self.asks + 1) for level in self.widest]

        def tell(self, levels, outcome):
            self.tells += 1

    two = Two()
    result = find(digits, two, trials=None)
    assert result.stop_reason == "exhausted" and len(result.trials) == two.asks == two.tells == 2


def test_exceptions_arrive(digits):
    def broken(*what):
        raise RuntimeError("the idea is gone")

    for method in ("begin", "ask", "tell"):
        walk = RandomWalk()
        setattr(walk, method, broken)
        with pytest.raises(RuntimeError, match="the idea is gone"):
            find(digits, walk)


def test_what_is_no_point(digits):
    for point in ([0], [99] * 12, [-1] * 12):
        walk = RandomWalk()
        walk.ask = lambda point=point: point
        with pytest.raises(intaglio.BadArgument, match="is no point; expected a level below each of"):
            find(digits, walk)
    walk = RandomWalk()
    walk.outstanding = 65
    with pytest.raises(intaglio.BadArgument, match="65 points outstanding"):
        find(digits, walk)
    with pytest.raises(intaglio.BadArgument, match="there is none"):
        find(digits, "user")
