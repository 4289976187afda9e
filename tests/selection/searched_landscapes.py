"""Searches over scores that a formula gives, without data and fits: every point that they try.

A search has limits that small data hardly ever reach. On these landscapes, which have several
minima and predictions that are partly wrong, it reaches all of them in milliseconds. The record
changes with every change of a search. Then look at what changed, and write it again:

    python tests/selection/searched_landscapes.py
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from thinrank.core.sizes import Sizes
from thinrank.selection.criterion_search import CriterionSearch
from thinrank.selection.evaluation import HeldOutErrors
from thinrank.selection.held_out_search import HeldOutSearch
from thinrank.selection.space import Space, make_space

FILE = Path(__file__).parent / "recorded" / "landscapes.json"
P, K, N, SPLITS = 120, 6, 60, 4
RULES = ("best", "one_se", "thinnest")


class Landscape:
    """Scores of all sizes: valleys over the rows, with noise that depends on the point."""

    def __init__(self, seed: int, ridges: tuple[float, ...]) -> None:
        rng = np.random.default_rng([30_501, seed])
        self.seed, self.ridges = seed, ridges
        self._rows = np.exp(rng.uniform(0.5, 4.6, 3)).tolist()
        self._depth = rng.uniform(0.05, 0.3, 3).tolist()
        self._width = float(rng.uniform(1, 12))
        self._rank, self._columns = int(rng.integers(1, 5)), int(rng.integers(1, K + 1))
        self._ridge = int(rng.integers(0, len(ridges)))
        self._noise, self._wrong = (10 ** rng.uniform([-4, -4], [-1, -1.5])).tolist()

    def noise(self, *key: int) -> float:
        """A number between −√3 and √3 that the key determines, on every machine the same."""
        number = self.seed + 1
        for part in key:
            number = ((number ^ (part + 0x9E37)) * 0x5BD1E9955BD1E995) & (2**64 - 1)
            number ^= number >> 29
        return 3**0.5 * (2 * number / 2**64 - 1)

    def score(self, rank: int, rows: int, columns: int, ridge: float, split: int) -> float:
        place = self.ridges.index(ridge)
        valleys = sum(
            depth * math.exp(-self._width * math.log(rows / bottom) ** 2)
            for depth, bottom in zip(self._depth, self._rows, strict=True)
        )
        smooth = 1.0 - valleys + 0.002 * math.log(rows)
        smooth += 0.03 * abs(rank - self._rank) / rank + 0.02 * abs(columns - self._columns)
        smooth += 0.01 * abs(place - self._ridge)
        return max(smooth + self._noise * self.noise(rank, rows, columns, place, split), 0.01)

    def predicted(self, rank: int, rows: int, columns: int, ridge: float, split: int) -> float:
        key = rank, rows, columns, self.ridges.index(ridge), 1000 + split
        return self.score(rank, rows, columns, ridge, split) + self._wrong * self.noise(*key)


class Fit:
    """A fit to one split: its sizes, and what it leaves."""

    def __init__(self, sizes: Sizes, objective: float) -> None:
        self.sizes, self.objective = sizes, objective
        self.rows = np.arange(sizes.rows)

    def without_root(self) -> Fit:
        """Without coefficients there are worse forecasts."""
        return Fit(self.sizes, self.objective + 1)

    def changed(self, **changes: object) -> Fit:
        """Costs and gains, which a fit may have, are not used here."""
        assert changes == {"prospects": None}
        return self


class Sample:
    """One split: what a search asks of a sample."""

    def __init__(self, land: Landscape, split: int, held_out: bool) -> None:
        self.land, self.split, self.held_out = land, split, held_out
        self.form = SimpleNamespace(shape=(P, K), samples=float(N), observations=float(N * K))
        self.index = np.arange(split % SPLITS, N, SPLITS)
        self.weight, self.entries = float(len(self.index)), float(len(self.index) * K)
        self.total_errors = np.full(K, self.weight)

    def null(self) -> float:
        return 1.0 if self.held_out else 0.0

    def fit(self, sizes: Sizes, solver: Any) -> Any:
        objective = 1 + self.land.noise(*sizes[:3], self.split)
        return Fit(sizes, objective)

    def grow(self, sizes: Sizes, solver: Any, near: Any) -> Any:
        grown = self.fit(sizes, solver)
        grown.objective += 0.5 * self.land.noise(*near.sizes[:3], 7 + self.split)
        return grown

    def refit(self, fit: Any, ridge: float) -> Any:
        return Fit(fit.sizes._replace(ridge=ridge), fit.objective)

    def score(self, fit: Any, sizes: Sizes) -> float:
        if fit is None:
            return self.null()
        return self.land.score(*sizes, self.split) - 1.05 + 1e-3 * fit.objective

    def errors(self, fit: Any) -> HeldOutErrors:
        mean = 1.0 if fit is None else self.land.score(*fit.sizes, self.split)
        count = len(self.index)
        spread = 0.2 * np.random.default_rng(self.land.seed).standard_normal(count)
        return HeldOutErrors(K * mean * (1 + spread - spread.mean()), np.full(K, count * mean))

    def score_of(self, errors: HeldOutErrors) -> float:
        return float(np.sum(errors.rows)) / self.entries

    def table(self, fit: Any, ridge: float, most: int) -> np.ndarray:
        rows = fit.sizes.rows
        scores = [
            [self.land.predicted(r, rows, s, ridge, self.split) for s in range(1, K + 1)]
            for r in range(1, most + 1)
        ]
        return np.array(scores) - (0.0 if self.held_out else 1.05)

    def rows_forecast(self, fit: Any, sizes: Sizes, rows: np.ndarray) -> np.ndarray:
        rank, here, columns, ridge = sizes
        scores = [self.land.predicted(rank, int(m), columns, ridge, self.split) for m in rows]
        most = here if self.held_out else P
        far = 0.1 * (1 + 0.1 * fit.objective) * np.abs(np.log(rows / here))
        scores = np.array(scores) + far - (0.0 if self.held_out else 1.05)
        return np.where(rows <= most, scores, np.inf)


class HeldOut(HeldOutSearch):
    """The search by held-out error, with tables and forecasts of the landscape."""

    def _tables(self, group, fits, ridges, most):
        return [
            self._samples[i].table(fit, ridge, most)
            for i, fit, ridge in zip(group, fits, ridges, strict=True)
        ]

    def _forecasts(self, fitted, sizes):
        rows = self._space.rows
        return np.array([sample.rows_forecast(fit, sizes, rows) for sample, fit in fitted])


def space_of(number: int) -> Space:
    """Spaces of several kinds: with and without ridges, ranks or rows given, more rows than N."""
    ridges = [(0.0,), (0.0, 0.1), tuple(np.r_[0.0, np.geomspace(1e-3, 10, 15)].tolist())]
    return make_space(
        (P, K),
        0.75 * N,
        ranks=[None, None, [2, 3]][number % 3],
        rows=[None, None, None, [2, 3, 5, 9, 16, 40, 90]][number % 4],
        columns=[None, [None], [2, 4, 6]][number // 2 % 3],
        ridges=ridges[number % 3],
        thick=number % 2 == 0,
    )


def steps_of(search: Any) -> list[list[float]]:
    ridges = search._space.ridges
    return [
        [*record.sizes[:3], ridges.index(record.sizes.ridge), round(record.objective, 9)]
        for record in search.records
    ]


def held_out(number: int, **options: Any) -> dict[str, Any]:
    space = space_of(number)
    land = Landscape(number, space.ridges)
    samples = [Sample(land, i, True) for i in range(SPLITS)]
    rule = RULES[number % 3]
    search = HeldOut(samples, space, rule=rule, rows=N, **options)
    coarse = [space.like(rows, None)._replace(ridge=few[0]) for rows, few in space.coarse_grid()]
    first = search.first_look(coarse[:2])
    search.run_from(coarse[:: 1 + number % 3])
    search.look_thinner()
    before = len(search.records)
    search.confirm([Sample(land, 10 * j + i, True) for i in range(SPLITS)] for j in (1, 2, 3))
    return {
        "steps": steps_of(search),
        "first": list(first.sizes[:3]),
        "before": before,
        "parts": [len(e.parts) for e in search._finalists],
        "chosen": [*search.chosen.sizes[:3], round(search.chosen.score, 9)],
    }


def criterion(number: int, **options: Any) -> dict[str, Any]:
    space = space_of(number)
    sample = Sample(Landscape(100 + number, space.ridges), 0, False)
    search = CriterionSearch([sample], space, rough=number % 4 == 1, **options)
    best = search.run()
    return {"steps": steps_of(search), "chosen": [*best.sizes[:3], round(best.score, 9)]}


RUNS = {f"held out {i}": (held_out, i) for i in range(24)} | {
    f"criterion {i}": (criterion, i) for i in range(16)
}

if __name__ == "__main__":
    found = {name: run(number) for name, (run, number) in RUNS.items()}
    FILE.parent.mkdir(exist_ok=True)
    lines = [f"{json.dumps(name)}: {json.dumps(run)}" for name, run in found.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
