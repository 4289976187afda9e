"""Tables and plots of a fitted model, as blocks of a page.

A table has at most :data:`MOST_ROWS` rows, the strongest ones, and says when there are more, so
that the page of a model with thousands of responses stays small enough to send.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from thinrank import arrays, plot
from thinrank.estimators.findings import Findings, score_name
from thinrank.estimators.summary import Summary, percent
from thinrank.plot.canvas import shorten
from thinrank.plot.coefficient_map import map_height
from thinrank.plot.observed_points import Pairs, prediction_pairs
from thinrank.plot.search_curves import chosen_record
from thinrank.report.document import WIDTH, Cell, Number, Picture, Table, new_figure
from thinrank.selection.choice import last_search, standard_error

MOST_ROWS = 5000
"""Largest number of rows of a table on the page."""

_ROWS = 200  # of a table in place of a picture; the tables of the page hold more
_NAME_WIDTH = 120  # characters; longer names lose their middle
_TALLEST = 9.0  # inches, about the height of a printed page
_NAMES = 40  # names along an axis, as many as the plots show by default
_MOST_SEPARATE = 4  # responses with a plot of their own where they cannot share one

# Headings of the columns of a summary that are not their names.
_HEADINGS = {
    "standardized": "standardized coefficient",
    "frequency": "selection frequency",
    "r2": "{} training",
    "held_out_r2": "{} held out",
}


def as_cell(value: Any, digits: int = 3) -> Cell:
    """A number with significant digits, empty if it is missing; a short name as it is."""
    if isinstance(value, Number):
        return value
    if isinstance(value, str):
        return shown_name(value)
    if value is None or math.isnan(value):
        return Number(math.nan, "")
    size = abs(value)
    if isinstance(value, (int, np.integer)) or not math.isfinite(value):
        return Number(float(value), str(value))
    if size == 0 or not 1e-4 <= size < 1e6:
        return Number(float(value), f"{value:.{digits}g}")
    decimals = max(digits - 1 - math.floor(math.log10(size)), 0)
    return Number(float(value), f"{value:.{decimals}f}")


def shown_name(name: object) -> str:
    """A name in one line, without its middle if it is very long."""
    return shorten(name, _NAME_WIDTH)


def table_of(
    header: Sequence[str], rows: Sequence[Sequence[Any]], caption: str, note: str = "", **more: Any
) -> Table:
    """A table of names and numbers; the first columns with names are left-aligned."""
    cells = [tuple(map(as_cell, row)) for row in rows]
    words = [isinstance(cell, str) for cell in cells[0]] if cells else []
    left = (*words, False).index(False)
    return Table(tuple(header), list(cells), left, caption, note, literal=True, **more)


def summary_table(
    summary: Summary, name: str, total: int, frequency: np.ndarray | None = None
) -> Table:
    """A table of the summary, of which ``total`` is the number of rows in full.

    ``frequency``: how often each predictor was selected in half-samples.
    """
    most = MOST_ROWS // max(2 * summary.rank, 1) if name == "loadings" else MOST_ROWS
    found = summary.table(name, most)
    if frequency is not None and name == "predictors":
        of = dict(zip(summary.predictor_names, frequency.tolist(), strict=True))
        found["frequency"] = [of[each] for each in found["predictor"]]
    found.pop("always_kept", None)
    if name == "factors":
        found["factor"] = list(map(str, found["factor"]))
        for side in ("predictors", "responses"):
            found[f"strongest {side}"] = found.pop(side)
        found["share"] = [Number(share, percent(share)) for share in found["share"]]
    if np.isnan(found.get("held_out_r2", 0.0)).all():
        found.pop("held_out_r2", None)
    texts = {key for key, column in found.items() if column and isinstance(column[0], str)}
    keys = sorted(found, key=lambda key: key not in texts)  # texts first, else in their order
    rows = list(zip(*(found[key] for key in keys), strict=True))
    note = ""
    if len(rows) < total:
        note = f"The strongest {len(rows):,} of {total:,} {name}."
        note += " All are in `est.summary().to_frame()`."
    header = [_HEADINGS.get(key, key).format(summary.measure) for key in keys]
    return table_of(header, rows, name.capitalize(), note, sortable=name != "factors")


def search_table(est: Any) -> Table:
    """The models of the last search, the best first."""
    records = ordered_search(est)
    chosen = chosen_record(records, est.best_params_)
    rows = [
        (
            "chosen" if record is chosen else "",
            *record.sizes[:4],
            as_cell(record.objective, 5),
            standard_error(record),
            record.objective - records[0].objective,
        )
        for record in records[:MOST_ROWS]
    ]
    header = ("choice", "rank", "predictors", "responses", "ridge", "score", "standard error")
    note = "" if len(rows) == len(records) else f"The best {len(rows):,} of {len(records):,}."
    caption = f"Models that were compared; score: {score_name(est)}"
    return table_of((*header, "above the least"), rows, caption, note, sortable=True)


def ordered_search(est: Any) -> list[Any]:
    """The records of the last search, the best first."""
    records = last_search(getattr(est, "search_", []))
    return sorted((r for r in records if r.sizes is not None), key=lambda r: r.objective)


def coefficient_picture(est: Any, rows: int) -> Picture:
    """The heat map of the strongest coefficients, of so many predictors."""
    caption = (
        "Map of the coefficients in standard deviations of predictor and response. Red: the "
        "response rises with the predictor; blue: it falls. Similar predictors and responses are "
        "next to each other."
    )
    height = map_height(min(rows, _NAMES), est.summary().response_names) + 0.4
    return _picture("coefficients", partial(plot.coefficients, est), caption, height)


def network_picture(est: Any, rows: int, columns: int) -> Picture:
    """So many predictors and responses, connected through the factors."""
    caption = (
        "Network of the strongest predictors and responses, connected through the factors. Wide "
        "edges are strong. A path of two edges of the same color raises the response, one of two "
        "colors lowers it."
    )
    height = 1.2 + 0.25 * min(max(rows, columns), 25)
    return _picture("network", partial(plot.network, est), caption, height)


def factor_picture(est: Any, model: Findings) -> Picture:
    """Loadings of the factors as bars."""
    sides = (model.predictor_loadings, 20), (model.response_loadings, 15)
    bars = sum(min(int(np.count_nonzero(side.any(axis=1))), most) for side, most in sides)
    caption = (
        "Loadings of predictors (top) and responses (bottom) on each factor. A response rises with "
        "a predictor if their bars for a factor point to the same side."
    )
    return _picture("factors", partial(plot.factors, est), caption, 1.4 + 0.2 * (bars + 2))


def selection_picture(est: Any) -> Picture:
    """Scores of the models that were compared."""
    caption = (
        "Scores against the number of predictors, one line per rank. Large points are the models "
        "that were compared, which the table has. The rest of the lines, and all of a dashed line, "
        "are scores that these models give for other ranks, on the predictors that they selected. "
        "The star is the chosen model, the ring the smallest one within one standard error of the "
        "least score."
    )
    return _picture("selection", partial(plot.selection, est), caption, 3.8)


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
    places = np.argwhere(np.isfinite(pairs.observed))
    rows = [
        (
            pairs.names[j],
            int(i) if names is None else names[i],
            float(pairs.observed[i, j]),
            float(pairs.predicted[i, j]),
        )
        for i, j in places[:_ROWS]
    ]
    header = ("response", _sample_header(names), "observed", "predicted")
    note = _first(len(rows), len(places), "entries")
    table = table_of(header, rows, "Observed and predicted", note)
    of = "all responses" if response is None else shown_name(pairs.names[0])
    caption = (
        f"Observed against predicted, {of}, for the data given to the report; optimistic if the "
        "model was fitted to the same rows. On the dashed line both are equal."
    )
    name = "predictions" if response is None else f"predictions_{response + 1}"
    draw = partial(plot.observed_predicted, est, X, Y, response)
    return _picture(name, draw, caption, 4.6, table, width=5.2)


def sample_picture(est: Any, X: Any, names: list[str] | None = None) -> Picture:
    """Samples by their scores on the first two factors."""
    scores = arrays.to_numpy(est.transform(X))
    header = [_sample_header(names), *(f"factor {i + 1}" for i in range(min(scores.shape[1], 6)))]
    rows = [
        (i if names is None else names[i], *map(float, row[:6]))
        for i, row in enumerate(scores[:_ROWS])
    ]
    note = _first(len(rows), len(scores), "samples")
    table = table_of(header, rows, "Scores of the samples", note)
    caption = (
        "Samples by their scores on the first two factors, in standard deviations. Arrows point to "
        "where a response is large."
        + ("" if names is None else " Samples far from the center have their names.")
    )
    draw = partial(plot.biplot, est, X, labels=names)
    return _picture("samples", draw, caption, 4.8, table, width=5.8)


def stability_picture(table: Any) -> Picture:
    """Selection frequencies of the predictors."""
    part = table[table["axis"] == "row"]
    some = part.sort_values("frequency", ascending=False, kind="stable")[:_ROWS]
    marks = np.where(some["stable"], "stable", "").tolist()
    rows = list(zip(map(str, some["name"]), marks, map(float, some["frequency"]), strict=True))
    header = ("predictor", "stable", "selection frequency")
    note = _first(len(some), len(part), "predictors")
    shown = table_of(header, rows, "Selection frequencies", note)
    selected = min(int((part["frequency"] > 0).sum()), _NAMES)
    caption = (
        "How often each predictor was selected when the model was fitted to random halves of the "
        "data."
    )
    height = 1.2 + 0.2 * max(selected, 4)
    return _picture("stability", partial(plot.stability, table), caption, height, shown)


def _sample_header(names: list[str] | None) -> str:
    return "row" if names is None else "sample"


def _first(shown: int, total: int, noun: str) -> str:
    return "" if shown == total else f"The first {shown:,} of {total:,} {noun}."


def _picture(
    name: str,
    draw: Callable[..., Any],
    caption: str,
    height: float,
    table: Table | None = None,
    width: float = WIDTH,
) -> Picture:
    """Draw a plot; ``table``: its numbers, if it is not followed by a table of the page."""
    figure = new_figure(min(max(height, 2.6), _TALLEST), width)
    draw(ax=figure.add_subplot())
    return Picture(name, figure, caption, table=table, literal=True)
