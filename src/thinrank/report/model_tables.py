"""Tables of a fitted model: coefficients, predictors, responses, factors and the search.

A table has at most :data:`MOST_ROWS` rows, the strongest ones, and says when there are more, so
that the page of a model with thousands of responses stays small enough to send.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thinrank.estimators.findings import Findings, score_name
from thinrank.estimators.summary import Summary, percent
from thinrank.plot.canvas import fitted_model, selected, shorten, strongest
from thinrank.plot.search_curves import chosen_record
from thinrank.report.document import Cell, Number, Table
from thinrank.selection.choice import last_search, standard_error

MOST_ROWS = 5000
"""Largest number of rows of a table on the page."""

_NAME_WIDTH = 120  # characters; longer names lose their middle
_NAMED = 3  # names in a cell that lists the strongest


def as_cell(value: float | None, digits: int = 3) -> Number:
    """A number with significant digits; an empty cell if it is missing."""
    if value is None or math.isnan(value):
        return Number(math.nan, "")
    if not math.isfinite(value):
        return Number(float(value), str(value))
    if isinstance(value, (int, np.integer)):
        return Number(float(value), str(value))
    size = abs(value)
    if size == 0 or not 1e-4 <= size < 1e6:
        return Number(float(value), f"{value:.{digits}g}")
    decimals = max(digits - 1 - math.floor(math.log10(size)), 0)
    return Number(float(value), f"{value:.{decimals}f}")


def shown_name(name: object) -> str:
    """A name in one line, without its middle if it is very long."""
    return shorten(name, _NAME_WIDTH)


@dataclass(frozen=True, eq=False)
class ModelTables:
    """The tables of one fitted estimator."""

    est: Any  # A fitted estimator of this package
    summary: Summary  # its summary, ``est.summary()``
    # (n_features,) how often each predictor was selected in half-samples, for the table of
    # predictors
    frequency: np.ndarray | None = None

    @cached_property
    def model(self) -> Findings:
        """Names, coefficients and loadings."""
        return fitted_model(self.est)

    @property
    def is_empty(self) -> bool:
        """Whether all coefficients are zero."""
        return not np.any(self.model.coefficients)

    @cached_property
    def selected(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Selected predictors, selected responses and standardized coefficients."""
        return selected(self.model)

    def coefficients(self, most: int = MOST_ROWS, *, sortable: bool = True) -> Table:
        """One row per predictor and response with a coefficient, the largest first."""
        header = ("predictor", "response", "standardized coefficient", "coefficient")
        total = int(np.count_nonzero(self.model.coefficients))
        columns = ("predictor", "response", "standardized", "coefficient")
        cells = self._cells("coefficients", columns, 2, most)
        return _table(header, cells, 2, "Coefficients", total, "coefficients", sortable)

    def predictors(self) -> Table:
        """One row per selected predictor, the strongest first."""
        rows, columns, values = self.selected
        strength = np.linalg.norm(values, axis=1)
        numbers = {"strength": strength, "importance": self.model.importance[rows]}
        if self.frequency is not None:
            numbers["selection frequency"] = self.frequency[rows]
        cells: list[tuple[Cell, ...]] = []
        for i in np.argsort(-strength, kind="stable")[:MOST_ROWS]:
            acting, main = _main(values[i], [self.model.response_names[j] for j in columns])
            name = shown_name(self.model.predictor_names[rows[i]])
            own = [as_cell(float(each[i])) for each in numbers.values()]
            cells.append((name, main, *own, as_cell(acting)))
        header = ("predictor", "strongest responses", *numbers, "responses")
        return _table(header, cells, 2, "Selected predictors", len(rows), "predictors")

    def responses(self) -> Table:
        """One row per response, those that are explained best first."""
        rows, columns, values = self.selected
        names = [self.model.predictor_names[i] for i in rows]
        place = {int(column): j for j, column in enumerate(columns)}
        r2, held_out = self.model.r2, self.model.held_out_r2
        kind = self.summary.measure
        numbers = {f"{kind} training": r2}
        if held_out is not None:
            numbers[f"{kind} held out"] = held_out
        key = np.nan_to_num(r2 if held_out is None else held_out, nan=-np.inf)
        cells: list[tuple[Cell, ...]] = []
        for column in np.argsort(-key, kind="stable")[:MOST_ROWS]:
            own = values[:, place[int(column)]] if int(column) in place else np.zeros(len(rows))
            acting, main = _main(own, names)
            name = shown_name(self.model.response_names[column])
            quality = [as_cell(float(each[column])) for each in numbers.values()]
            cells.append((name, main or "none", *quality, as_cell(acting)))
        header = ("response", "strongest predictors", *numbers, "predictors")
        return _table(header, cells, 2, "Responses", len(r2), "responses")

    def factors(self) -> Table:
        """One row per factor: what it explains, and what it connects."""
        found = self._cells("factors", ("predictors", "responses", "share"), 2, None)
        cells: list[tuple[Cell, ...]] = [
            (str(i + 1), *row[:2], _percent(float(share)))
            for i, (row, share) in enumerate(zip(found, self.model.shares, strict=True))
        ]
        header = ("factor", "strongest predictors", "strongest responses", "share")
        return _table(header, cells, 3, "Factors", self.model.rank, "factors", sortable=False)

    def loadings(self, most: int = MOST_ROWS, *, sortable: bool = True) -> Table:
        """One row per loading that is not zero, the largest of each factor first."""
        each = max(most // max(2 * self.model.rank, 1), 1)
        header = ("side", "name", "factor", "loading")
        cells = self._cells("loadings", header, 2, each)
        sides = (self.model.predictor_loadings, self.model.response_loadings)
        total = sum(int(np.count_nonzero(side)) for side in sides)
        return _table(header, cells, 2, "Loadings", total, "loadings", sortable)

    def _cells(
        self, name: str, columns: Sequence[str], texts: int, most: int | None
    ) -> list[tuple[Cell, ...]]:
        """Columns of a table of the summary as cells, the first ``texts`` of them words."""
        found = self.summary.table(name, most)
        cells = [
            list(map(shown_name if j < texts else as_cell, found[column]))
            for j, column in enumerate(columns)
        ]
        return list(zip(*cells, strict=True))


def search_table(est: Any, most: int = MOST_ROWS, *, sortable: bool = True) -> Table:
    """The models of the last search, the best first."""
    records = ordered_search(est)
    chosen = chosen_record(records, est.best_params_)
    best = records[0].objective if records else math.nan
    cells: list[tuple[Cell, ...]] = []
    for record in records[:most]:
        error, above = standard_error(record), record.objective - best
        sizes = map(as_cell, record.sizes[:4])
        score = as_cell(record.objective, 5), as_cell(error), as_cell(above)
        cells.append(("chosen" if record is chosen else "", *sizes, *score))
    header = ("choice", "rank", "predictors", "responses", "ridge", "score", "standard error")
    note = "" if len(cells) == len(records) else f"The best {len(cells):,} of {len(records):,}."
    caption = f"Models that were compared; score: {score_name(est)}"
    return Table((*header, "above the least"), cells, 1, caption, note, sortable, literal=True)


def ordered_search(est: Any) -> list[Any]:
    """The records of the last search, the best first."""
    records = last_search(getattr(est, "search_", []))
    return sorted((r for r in records if r.sizes is not None), key=lambda r: r.objective)


def _main(values: np.ndarray, names: Sequence[str]) -> tuple[int, str]:
    """How many values are not zero, and the names of the largest."""
    count = int(np.count_nonzero(values))
    some = [shown_name(names[j]) for j in strongest(np.abs(values), _NAMED)]
    more = count - len(some)
    return count, ", ".join(some) + (f" and {more:,} more" if more > 0 else "")


def _percent(share: float) -> Number:
    return Number(share, "" if math.isnan(share) else percent(share))


def _table(
    header: tuple[str, ...],
    cells: Sequence[tuple[Cell, ...]],
    left: int,
    caption: str,
    total: int,
    noun: str,
    sortable: bool = True,
) -> Table:
    note = ""
    if len(cells) < total:
        note = f"The strongest {len(cells):,} of {total:,} {noun}."
        note += " All are in `est.summary().to_frame()`." if sortable else ""
    return Table(header, list(cells), left, caption, note, sortable=sortable, literal=True)
