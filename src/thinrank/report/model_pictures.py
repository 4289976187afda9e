"""Plots of a fitted model as pictures of a page, each with a text and a table in its place."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from thinrank import arrays, plot
from thinrank.core.imports import import_optional
from thinrank.plot.observed_points import Pairs, prediction_pairs
from thinrank.report.document import WIDTH, Cell, Picture, Table
from thinrank.report.model_tables import ModelTables, as_cell, search_table, shown_name

_ROWS = 200  # of the table in place of a picture; the tables of the page hold more
_TALLEST = 9.0  # inches, about the height of a printed page
_NAMES = 40  # names along an axis, as many as the plots show by default
_MOST_SEPARATE = 4  # responses with a plot of their own where they cannot share one


def coefficient_picture(tables: ModelTables) -> Picture:
    """The heat map of the strongest coefficients."""
    rows, columns, values = tables.selected
    height = 1.6 + 0.2 * min(len(rows), _NAMES)
    table = tables.coefficients(_ROWS, sortable=False)
    kind = "" if len(rows) <= _NAMES and len(columns) <= _NAMES else "the strongest of "
    words = f"Heat map of the standardized coefficients of {kind}{_count(len(rows), 'predictor')} "
    words += f"and {_count(len(columns), 'response')}"
    if values.size:
        i, j = np.unravel_index(int(np.argmax(np.abs(values))), values.shape)
        words += (
            f"; the largest is {values[i, j]:.2g}, for {tables.model.predictor_names[rows[i]]} and "
            f"{tables.model.response_names[columns[j]]}"
        )
    caption = (
        "Coefficients in standard deviations of predictor and response. Red: the response rises "
        "with the predictor; blue: it falls. Similar predictors and responses are next to each "
        "other."
    )
    draw = partial(plot.coefficients, tables.est)
    return _picture("coefficients", draw, caption, words, table, height)


def network_picture(tables: ModelTables) -> Picture:
    """Predictors and responses, connected through the factors."""
    rows, columns, _ = tables.selected
    height = 1.2 + 0.25 * min(max(len(rows), len(columns)), 25)
    words = (
        f"Network of {_count(len(rows), 'predictor')} on the left, "
        f"{_count(tables.model.rank, 'factor')} in the middle and "
        f"{_count(len(columns), 'response')} on the right"
    )
    caption = (
        "The strongest predictors and responses, connected through the factors. Wide edges are "
        "strong. A path of two edges of the same color raises the response, one of two colors "
        "lowers it."
    )
    table = tables.loadings(_ROWS, sortable=False)
    draw = partial(plot.network, tables.est)
    return _picture("network", draw, caption, words, table, height)


def factor_picture(tables: ModelTables) -> Picture:
    """Loadings of the factors as bars."""
    left, right = tables.model.predictor_loadings, tables.model.response_loadings
    used = [min(int(np.count_nonzero(s.any(axis=1))), n) for s, n in ((left, 20), (right, 15))]
    words = f"Bars: loadings of the strongest predictors and responses on {tables.model.rank} "
    words += "factors" if tables.model.rank != 1 else "factor"
    caption = (
        "Loadings of predictors (top) and responses (bottom) on each factor. A response rises with "
        "a predictor if their bars for a factor point to the same side."
    )
    table = tables.loadings(_ROWS, sortable=False)
    height = 1.4 + 0.2 * (sum(used) + 2)
    draw = partial(plot.factors, tables.est)
    return _picture("factors", draw, caption, words, table, height)


def selection_picture(est: Any) -> Picture:
    """Scores of the models that were compared."""
    caption = (
        "Scores against the number of predictors, one line per rank. Large points are the models "
        "that were compared, which the table has. The rest of the lines, and all of a dashed line, "
        "are scores that these models give for other ranks, on the predictors that they selected. "
        "The star is the chosen model, the ring the smallest one within one standard error of the "
        "least score."
    )
    words = "Lines: score of the compared models against the number of predictors, for each rank"
    table = search_table(est, _ROWS, sortable=False)
    return _picture("selection", partial(plot.selection, est), caption, words, table, 3.8)


def prediction_pictures(est: Any, X: Any, Y: Any, names: list[str] | None = None) -> list[Picture]:
    """Observations against predictions; one plot per response where some are probabilities."""
    pairs = prediction_pairs(est, X, Y)
    if pairs.probability.all() or not pairs.probability.any():
        return [_prediction_picture(est, X, Y, pairs, None, names)]
    return [
        _prediction_picture(est, X, Y, pairs.only(i), i, names)
        for i in range(min(len(pairs.names), _MOST_SEPARATE))
    ]


def _prediction_picture(
    est: Any, X: Any, Y: Any, pairs: Pairs, response: int | None, names: list[str] | None
) -> Picture:
    cells: list[tuple[Cell, ...]] = []
    for i, j in np.argwhere(np.isfinite(pairs.observed))[:_ROWS]:
        observed, predicted = float(pairs.observed[i, j]), float(pairs.predicted[i, j])
        name = shown_name(pairs.names[j])
        cells.append((name, _sample(int(i), names), as_cell(observed), as_cell(predicted)))
    total = int(np.count_nonzero(np.isfinite(pairs.observed)))
    note = "" if len(cells) == total else f"The first {len(cells):,} of {total:,} entries."
    header = ("response", _sample_header(names), "observed", "predicted")
    left = 1 if names is None else 2
    table = Table(header, cells, left, "Observed and predicted", note, literal=True)
    of = "all responses" if response is None else shown_name(pairs.names[0])
    caption = (
        f"Observed against predicted, {of}, for the data given to the report; optimistic if the "
        "model was fitted to the same rows. On the dashed line both are equal."
    )
    words = f"Observed against predicted values of {of}, {total:,} entries"
    name = "predictions" if response is None else f"predictions_{response + 1}"
    draw = partial(plot.observed_predicted, est, X, Y, response)
    return _picture(name, draw, caption, words, table, 4.6, width=5.2)


def sample_picture(est: Any, X: Any, names: list[str] | None = None) -> Picture:
    """Samples by their scores on the first two factors."""
    scores = arrays.to_numpy(est.transform(X))
    header = (_sample_header(names), *(f"factor {i + 1}" for i in range(min(scores.shape[1], 6))))
    cells = [
        (_sample(i, names), *(as_cell(float(value)) for value in row[:6]))
        for i, row in enumerate(scores[:_ROWS])
    ]
    note = "" if len(scores) <= _ROWS else f"The first {_ROWS} of {len(scores):,} samples."
    left = 0 if names is None else 1
    table = Table(header, list(cells), left, "Scores of the samples", note, literal=True)
    caption = (
        "Samples by their scores on the first two factors, in standard deviations. Arrows point to "
        "where a response is large."
        + ("" if names is None else " Samples far from the center have their names.")
    )
    words = f"Scores of {len(scores):,} samples on factors 1 and 2, with responses as arrows"
    draw = partial(plot.biplot, est, X, labels=names)
    return _picture("samples", draw, caption, words, table, 4.8, width=5.8)


def stability_picture(table: Any) -> Picture:
    """Selection frequencies of the predictors."""
    part = table[table["axis"] == "row"]
    some = part.sort_values("frequency", ascending=False, kind="stable")[:_ROWS]
    cells: list[tuple[Cell, ...]] = [
        (shown_name(name), "stable" if stable else "", as_cell(float(frequency)))
        for name, stable, frequency in zip(
            some["name"], some["stable"], some["frequency"], strict=True
        )
    ]
    header = ("predictor", "stable", "selection frequency")
    note = "" if len(some) == len(part) else f"The first {_ROWS} of {len(part):,} predictors."
    shown = Table(header, cells, 2, "Selection frequencies", note, literal=True)
    selected = min(int((part["frequency"] > 0).sum()), _NAMES)
    caption = (
        "How often each predictor was selected when the model was fitted to random halves of the "
        "data."
    )
    words = f"Bars: selection frequencies of the {selected} predictors that were selected most"
    height = 1.2 + 0.2 * max(selected, 4)
    return _picture("stability", partial(plot.stability, table), caption, words, shown, height)


def convergence_picture(est: Any) -> Picture:
    """The objective after each iteration of the final fit."""
    history = est.history_
    cells: list[tuple[Cell, ...]] = [
        (as_cell(record.iteration), as_cell(record.objective, 6), as_cell(record.change))
        for record in history[:_ROWS]
    ]
    header = ("iteration", "objective", "relative change")
    note = "" if len(history) <= _ROWS else f"The first {_ROWS} of {len(history):,} iterations."
    table = Table(header, cells, 0, "Iterations of the fit", note, literal=True)
    caption = "Objective after each iteration of the final fit."
    words = f"Line: objective over {_count(len(history), 'iteration')}"
    return _picture("convergence", partial(plot.convergence, est), caption, words, table, 3.2)


def _sample_header(names: list[str] | None) -> str:
    return "row" if names is None else "sample"


def _sample(index: int, names: list[str] | None) -> Cell:
    """The name of a sample, or its position."""
    return as_cell(index) if names is None else names[index]


def _picture(
    name: str,
    draw: Callable[..., Any],
    caption: str,
    words: str,
    table: Table,
    height: float,
    width: float = WIDTH,
) -> Picture:
    """Draw on a new figure that pyplot does not know, so that nothing is left open."""
    figure = import_optional("matplotlib.figure").Figure(
        (width, min(max(height, 2.6), _TALLEST)), layout="constrained"
    )
    draw(ax=figure.add_subplot())
    return Picture(name, figure, caption, f"{words}.", table, literal=True)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
