"""Low-rank matrices with few rows and columns from observed cells: sizes chosen, factors fitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thinrank.designs import as_design
from thinrank.matrices.cell_centre import Centre
from thinrank.matrices.completion_search import Candidate, Limits, choose
from thinrank.matrices.further_rows import further_rows
from thinrank.matrices.given_sizes import nearest
from thinrank.matrices.masked_factors import alternate, best_rows, regressions
from thinrank.matrices.observed_cells import ObservedCells
from thinrank.matrices.ridge_path import fit_sizes

# Precision of the last fit.
_TOL = 1e-9
_MAX_ITER = 1000
# Rounds in which further rows and columns are looked for.
_EXTENSIONS = 3
# Rows of fit that are given again count as in use in spite of rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Completion:
    """A fit."""

    U: np.ndarray  # (n_rows, rank) factors. U has the ridge regressions on V
    V: np.ndarray
    ridge: float  # ridge of the fit
    least_gain: float  # the smallest gain of a row in use; 0 if all rows are in use
    tried: list[Candidate]  # candidates of the search


def complete(
    cells: ObservedCells,
    limits: Limits,
    *,
    centre: str | None,
    cv: int,
    seed: int,
    report: Callable[[Candidate], None],
) -> Completion:
    """Choose what ``limits`` leaves open, and fit the deviations from the centre."""
    tried: list[Candidate] = []
    given = limits
    if not limits.complete:
        chosen, tried = choose(cells, limits, centre=centre, cv=cv, seed=seed, report=report)
        limits = Limits(*chosen.sizes, chosen.ridge)
    rank, rows, columns, ridge = limits.values
    centred = Centre.of(cells, centre).removed(cells)
    V = np.zeros((cells.shape[1], 0)) if rank == 0 else _right(centred, rank, rows, columns, ridge)
    if not V.any():
        nothing = np.zeros((cells.shape[0], 0)), np.zeros((cells.shape[1], 0))
        return Completion(*nothing, ridge, 0.0, tried)
    V, rows = _extended(centred, V, limits, given)
    U, gains = best_rows(centred, V, rows, ridge)
    limited = rows < cells.shape[0]
    return Completion(U, V, ridge, float(np.min(gains[U.any(axis=1)])) if limited else 0.0, tried)


def _extended(
    cells: ObservedCells, V: np.ndarray, chosen: Limits, given: Limits
) -> tuple[np.ndarray, int]:
    """Right factor and number of rows, with the rows and columns that only all cells confirm."""
    _, rows, columns, ridge = chosen.values
    for _ in range(_EXTENSIONS):
        U, _ = best_rows(cells, V, rows, ridge)
        in_rows, in_columns = (np.asarray(W.any(axis=1)) for W in (U, V))
        more_rows = further_rows(cells, V, in_rows, ridge) if given.rows is None else 0
        more_columns = 0
        if given.columns is None:
            more_columns = further_rows(cells.transposed, U, in_columns, ridge)
        if not more_rows and not more_columns:
            break
        rows, columns = rows + more_rows, columns + more_columns
        V = alternate(cells, V, rows, columns, ridge, tol=_TOL, max_iter=_MAX_ITER).V
    return V, rows


def scores_of_rows(
    cells: ObservedCells, V: np.ndarray, ridge: float, least_gain: float
) -> np.ndarray:
    """Ridge regressions of the observed cells of rows on V; zero for rows that gain too little."""
    if not V.shape[1]:
        return np.zeros((cells.shape[0], 0))
    support = np.flatnonzero(V.any(axis=1))
    U, gains = regressions(cells.in_columns(support), V[support], ridge)
    U[gains < least_gain * (1 - _ROUNDING)] = 0.0
    return U


def _right(cells: ObservedCells, rank: int, rows: int, columns: int, ridge: float) -> np.ndarray:
    """Right factor of the fit."""
    if cells.complete and ridge == 0:  # the sparse SVD
        return np.asarray(nearest(as_design(cells.by_row.values), rank, rows, columns).V)
    return fit_sizes(cells, rank, rows, columns, ridge, tol=_TOL, max_iter=_MAX_ITER).V


def table_of(tried: list[Candidate], cells: int) -> dict[str, np.ndarray]:
    """Sizes, ridges and mean squared errors of the candidates, as columns."""
    return {
        "rank": np.array([each.rank for each in tried], dtype=np.int64),
        "row_sparsity": np.array([each.rows for each in tried], dtype=np.int64),
        "column_sparsity": np.array([each.columns for each in tried], dtype=np.int64),
        "ridge": np.array([each.ridge for each in tried], dtype=np.float64),
        "error": np.array([each.error / cells for each in tried], dtype=np.float64),
    }
