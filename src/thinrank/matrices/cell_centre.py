"""Row and column means of the observed cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.matrices.observed_cells import ObservedCells

CENTRES = (None, "columns", "rows", "both")
# The means of both converge linearly, and slowly only if few cells connect rows and columns.
_MAX_TURNS = 1000
_TOL = 1e-10


@dataclass(frozen=True, eq=False)
class Centre:
    """The matrix with entries rows[i] + columns[j]."""

    rows: np.ndarray  # (n_rows,) zeros, or means of the rows
    columns: np.ndarray  # (n_columns,) zeros, or means of the columns

    @classmethod
    def of(cls, cells: ObservedCells, kind: str | None) -> Centre:
        """Least-squares fit of the observed cells; with "both" an additive model.

        Rows without observed cells have the mean of the other rows, and likewise columns.
        """
        rows, columns = np.zeros(cells.shape[0]), np.zeros(cells.shape[1])
        if kind in ("columns", "both"):
            columns = means(cells.transposed)
        if kind == "rows":
            rows = means(cells)
        if kind == "both":
            rows, columns = _additive(cells, columns)
        return cls(rows, columns)

    def at(self, cells: ObservedCells) -> np.ndarray:
        """Entries at the positions of some cells."""
        return self.rows[cells.rows] + self.columns[cells.columns]

    def removed(self, cells: ObservedCells) -> ObservedCells:
        """The cells minus the centre."""
        return cells.replaced(cells.values - self.at(cells))


def means(cells: ObservedCells) -> np.ndarray:
    """Mean of the observed cells of each row; the mean of these for a row without any."""
    found = cells.row_sums(cells.values) / np.maximum(cells.counts, 1)
    seen = cells.counts > 0
    return np.where(seen, found, np.mean(found[seen]) if seen.any() else 0.0)


def _additive(cells: ObservedCells, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row and column effects by alternating means; the row effects have mean zero."""
    rows = np.zeros(cells.shape[0])
    scale = float(np.max(np.abs(cells.values), initial=0.0))
    for _ in range(_MAX_TURNS):
        before = rows
        rows = means(cells.replaced(cells.values - columns[cells.columns]))
        columns = means(cells.replaced(cells.values - rows[cells.rows]).transposed)
        if float(np.max(np.abs(rows - before), initial=0.0)) <= _TOL * scale:
            break
    shift = float(np.mean(rows))
    return rows - shift, columns + shift
