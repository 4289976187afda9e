"""The tables of a summary, as lists of rows or columns of plain numbers and names."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.estimators.findings import Findings

Columns = dict[str, Any]

# Names in the short text of a factor, and the least loading that is named, as a fraction of the
# largest.
_MOST_NAMED = 4
_LEAST_NAMED = 0.25


def table(name: str, found: Findings, most: int | None = None) -> Columns:
    """One of the tables, as columns.

    Parameters
    ----------
    name : str
        One of ``TABLES``.
    found : Findings
        The model.
    most : int, default=None
        Number of rows; None for all.

    Returns
    -------
    dict of (str to sequence)
    """
    if name not in TABLES:
        known = ", ".join(repr(each) for each in TABLES)
        raise ValueError(f"table must be one of {known}; got {name!r}")
    return TABLES[name](found, most)


def strongest(loadings: np.ndarray, names: list[str]) -> list[tuple[str, float]]:
    """The few names of largest loading, with their loadings, in decreasing order of size."""
    sizes = np.abs(loadings)
    largest = float(sizes.max(initial=0.0))
    order = np.argsort(-sizes, kind="stable")[:_MOST_NAMED]
    return [
        (names[i], float(loadings[i]))
        for i in order
        if largest > 0 and sizes[i] >= _LEAST_NAMED * largest
    ]


def _coefficients(found: Findings, most: int | None) -> Columns:
    """One row per pair with a coefficient that is not zero, in order of standardised size."""
    sizes = np.abs(np.nan_to_num(found.standardized))
    pairs = np.flatnonzero(found.coefficients)
    order = pairs[_decreasing(sizes.ravel()[pairs], most)]
    rows, columns = np.unravel_index(order, found.coefficients.shape)
    return {
        "predictor": _named(found.predictor_names, found.used[rows]),
        "response": _named(found.response_names, columns),
        "coefficient": found.coefficients[rows, columns],
        "standardized": found.standardized[rows, columns],
    }


def _predictors(found: Findings, most: int | None) -> Columns:
    """The predictors in use: those that are always kept, then the others, the strongest first."""
    strength = np.sqrt(np.sum(found.standardized**2, axis=1))
    kept = np.isin(found.used, found.kept)
    order = np.lexsort((-np.nan_to_num(strength), ~kept))[:most]
    return {
        "predictor": _named(found.predictor_names, found.used[order]),
        "strength": strength[order],
        "responses": np.count_nonzero(found.coefficients[order], axis=1),
        "always_kept": kept[order],
    }


def _responses(found: Findings, most: int | None) -> Columns:
    """All responses, in order of R²."""
    held_out = found.held_out_r2
    counts = np.count_nonzero(found.coefficients, axis=0)
    quality = np.nan_to_num(found.r2 if held_out is None else held_out, nan=-np.inf)
    used = counts > 0
    # responses that are not predicted come last, in their own order
    order = np.lexsort((np.where(used, -quality, 0.0), ~used))[:most]
    missing = np.full(len(found.r2), np.nan)
    return {
        "response": _named(found.response_names, order),
        "r2": found.r2[order],
        "held_out_r2": (missing if held_out is None else held_out)[order],
        "predictors": counts[order],
    }


def _factors(found: Findings, most: int | None) -> Columns:
    """One row per factor, with its strongest predictors and responses as text."""
    few = range(found.rank)[:most]
    selected = _named(found.predictor_names, found.selected)
    return {
        "factor": [j + 1 for j in few],
        "share": found.shares[: len(few)],
        "predictors": [_text(found.predictor_loadings[:, j], selected) for j in few],
        "responses": [_text(found.response_loadings[:, j], found.response_names) for j in few],
    }


def _loadings(found: Findings, most: int | None) -> Columns:
    """One row per factor and predictor or response that is not zero in it."""
    columns: Columns = {"factor": [], "side": [], "name": [], "loading": []}
    sides = [
        ("predictor", found.predictor_loadings, _named(found.predictor_names, found.selected)),
        ("response", found.response_loadings, found.response_names),
    ]
    for j in range(found.rank):
        for side, loadings, names in sides:
            live = np.flatnonzero(loadings[:, j])
            live = live[_decreasing(np.abs(loadings[live, j]), most)]
            columns["factor"] += [j + 1] * len(live)
            columns["side"] += [side] * len(live)
            columns["name"] += _named(names, live)
            columns["loading"] += loadings[live, j].tolist()
    return columns


TABLES = {
    "coefficients": _coefficients,
    "predictors": _predictors,
    "responses": _responses,
    "factors": _factors,
    "loadings": _loadings,
}


def _decreasing(sizes: np.ndarray, most: int | None) -> np.ndarray:
    """Positions of the largest numbers, the largest first; of equal ones the first comes first."""
    if most is not None and 2 * most < len(sizes):
        # sorting millions of coefficients would take seconds
        least = np.partition(sizes, len(sizes) - most)[len(sizes) - most] if most else np.inf
        few = np.flatnonzero(sizes >= least)
        return few[np.argsort(-sizes[few], kind="stable")][:most]
    return np.argsort(-sizes, kind="stable")[:most]


def _named(names: list[str], index: np.ndarray) -> list[str]:
    return [names[i] for i in index]


def _text(loadings: np.ndarray, names: list[str]) -> str:
    """The strongest names with the signs of their loadings, and how many more there are."""
    named = strongest(loadings, names)
    more = int(np.count_nonzero(loadings)) - len(named)
    text = ", ".join(f"{'+' if loading > 0 else '−'}{name}" for name, loading in named)
    return f"{text}, {more} more" if more else text
