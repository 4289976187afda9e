"""Tables of a fitted model: coefficients, predictors, responses and factors.

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

from thinrank.estimators.findings import Findings
from thinrank.estimators.summary import Summary, percent
from thinrank.plot.fitted_model import fitted_model, selected
from thinrank.plot.labels import shorten
from thinrank.report.page import Cell, Number, Table

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


def listed(names: Sequence[str], total: int | None = None) -> str:
    """Names separated by commas, and the number of those left out."""
    more = (len(names) if total is None else total) - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more > 0 else "")


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
        """Selected predictors, selected responses and standardised coefficients."""
        return selected(self.model)

    def coefficients(self, most: int = MOST_ROWS, *, sortable: bool = True) -> Table:
        """One row per predictor and response with a coefficient, the largest first."""
        found = self.summary.table("coefficients", most)
        cells: list[tuple[Cell, ...]] = [
            (shown_name(predictor), shown_name(response), as_cell(standardized), as_cell(raw))
            for predictor, response, raw, standardized in zip(
                found["predictor"],
                found["response"],
                found["coefficient"],
                found["standardized"],
                strict=True,
            )
        ]
        header = ("predictor", "response", "standardised coefficient", "coefficient")
        total = int(np.count_nonzero(self.model.coefficients))
        return _table(header, cells, 2, "Coefficients", total, "coefficients", sortable)

    def predictors(self) -> Table:
        """One row per selected predictor, the strongest first."""
        rows, columns, values = self.selected
        strength = np.linalg.norm(values, axis=1)
        cells: list[tuple[Cell, ...]] = []
        for i in np.argsort(-strength, kind="stable")[:MOST_ROWS]:
            main = _largest(np.abs(values[i]), _NAMED)
            acted_on = int(np.count_nonzero(values[i]))
            known = [shown_name(self.model.response_names[columns[j]]) for j in main]
            cells.append(
                (
                    shown_name(self.model.predictor_names[rows[i]]),
                    listed(known, acted_on),
                    as_cell(float(strength[i])),
                    as_cell(acted_on),
                    *([] if self.frequency is None else [as_cell(float(self.frequency[rows[i]]))]),
                )
            )
        header = ["predictor", "strongest responses", "strength", "responses"]
        header += [] if self.frequency is None else ["selection frequency"]
        return _table(tuple(header), cells, 2, "Selected predictors", len(rows), "predictors")

    def responses(self) -> Table:
        """One row per response, those that are explained best first."""
        rows, columns, values = self.selected
        count = len(self.model.response_names)
        place = {int(column): j for j, column in enumerate(columns)}
        r2, held_out = self.model.r2, self.model.held_out_r2
        key = np.nan_to_num(r2 if held_out is None else held_out, nan=-np.inf)
        cells: list[tuple[Cell, ...]] = []
        for column in np.argsort(-key, kind="stable")[:MOST_ROWS]:
            own = values[:, place[int(column)]] if int(column) in place else values[:, :0].sum(1)
            main = _largest(np.abs(own), _NAMED)
            acting = int(np.count_nonzero(own))
            known = [shown_name(self.model.predictor_names[rows[i]]) for i in main]
            cells.append(
                (
                    shown_name(self.model.response_names[column]),
                    listed(known, acting) or "none",
                    as_cell(float(r2[column])),
                    *([] if held_out is None else [as_cell(float(held_out[column]))]),
                    as_cell(acting),
                )
            )
        kind = self.summary.measure
        header = ["response", "strongest predictors", f"{kind} training"]
        header += [] if held_out is None else [f"{kind} held out"]
        return _table((*header, "predictors"), cells, 2, "Responses", count, "responses")

    def factors(self) -> Table:
        """One row per factor: what it explains, and what it connects."""
        found = self.summary.table("factors")
        cells: list[tuple[Cell, ...]] = [
            (str(number), shown_name(left), shown_name(right), _percent(share))
            for number, share, left, right in zip(
                found["factor"],
                found["share"],
                found["predictors"],
                found["responses"],
                strict=True,
            )
        ]
        header = ("factor", "strongest predictors", "strongest responses", "share")
        total = self.model.rank
        return _table(header, cells, 3, "Factors", total, "factors", sortable=False)

    def loadings(self, most: int = MOST_ROWS, *, sortable: bool = True) -> Table:
        """One row per loading that is not zero, the largest of each factor first."""
        each = max(most // max(2 * self.model.rank, 1), 1)
        found = self.summary.table("loadings", each)
        cells: list[tuple[Cell, ...]] = [
            (side, shown_name(name), as_cell(factor), as_cell(loading))
            for side, name, factor, loading in zip(
                found["side"], found["name"], found["factor"], found["loading"], strict=True
            )
        ]
        sides = (self.model.predictor_loadings, self.model.response_loadings)
        total = sum(int(np.count_nonzero(side)) for side in sides)
        header = ("side", "name", "factor", "loading")
        return _table(header, cells, 2, "Loadings", total, "loadings", sortable)


def _largest(values: np.ndarray, most: int) -> np.ndarray:
    """Positions of the largest values, the largest first; zeros are left out."""
    if len(values) > most:
        some = np.sort(np.argpartition(-values, most - 1)[:most])
    else:
        some = np.arange(len(values))
    order = some[np.argsort(-values[some], kind="stable")]
    return order[values[order] > 0]


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
        if sortable:
            note += " All are in `est.summary().to_frame()`."
    return Table(header, list(cells), left, caption, note, sortable=sortable, literal=True)
