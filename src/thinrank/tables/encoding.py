"""Predictors of a table as a matrix: indicators of categories, and means for missing cells."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.tables.errors import TableError, did_you_mean, listed, typed_name
from thinrank.tables.table import Table

# A column with more categories, or fewer rows for each, must be called categorical by the user.
_MANY, _ROWS_PER_CATEGORY = 20, 3


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the columns of a table become predictors, learned from the table of a fit.

    A column of numbers is a predictor. A categorical column has one predictor per category
    except the most frequent one (of several, the first in the alphabet), with which the others
    are compared: ``name=category``, 1 in the rows of the category and 0 elsewhere.

    Attributes
    ----------
    columns : list of str
        Columns of the table.
    named : bool
        Whether the file has these names. If not, tables are matched by position.
    categories : dict of str to list of str
        Categories of each categorical column; the first is the one without predictor.
    means : ndarray of shape (n_predictors,) or None
        What missing cells are replaced by; None if they are an error.
    """

    columns: list[str]
    named: bool
    categories: dict[str, list[str]]
    means: np.ndarray | None = None

    @classmethod
    def learn(
        cls, table: Table, *, impute: bool, declared: Collection[str] = ()
    ) -> tuple[Encoding, np.ndarray]:
        """The encoding of a table, and its predictors.

        Parameters
        ----------
        table : Table
            The table.
        impute : bool
            Whether missing cells are replaced by means. Those of a categorical column are
            replaced by the fractions of its categories.
        declared : collection of str, default=()
            Columns that the user called categorical, which may have many categories.

        Returns
        -------
        tuple of (Encoding, ndarray of shape (n_rows, n_predictors))
        """
        categories = {
            table.names[j]: _categories(table, table.names[j], column, declared)
            for j, column in sorted(table.texts.items())
        }
        plain = cls(list(table.names), table.named, categories)
        matrix = plain._matrix(table, None)
        if matrix.shape[1] == 0:
            raise table.error("has no predictors: every column has a single category")
        _check_unique(table, plain.names)
        if not impute:
            _check_complete(
                table, None, "--impute mean replaces them by means, --drop leaves columns out"
            )
            return plain, matrix
        empty = [plain.names[j] for j in np.flatnonzero(np.isnan(matrix).all(axis=0))]
        if empty:
            raise table.error(
                f"{listed(empty)} cannot be imputed: all cells are missing; leave them out with "
                "--drop",
                column=empty[0],
            )
        means = np.nanmean(matrix, axis=0)
        return cls(plain.columns, plain.named, categories, means), _filled(matrix, means)

    @property
    def names(self) -> list[str]:
        """Names of the predictors."""
        return [name for column in self.columns for name in self.predictors_of(column)]

    def predictors_of(self, column: str) -> list[str]:
        """Names of the predictors that a column becomes."""
        if column not in self.categories:
            return [column]
        return [f"{column}={category}" for category in self.categories[column][1:]]

    def columns_in_use(self, used: np.ndarray) -> list[str]:
        """Columns of which at least one predictor is in use.

        Parameters
        ----------
        used : ndarray of bool of shape (n_predictors,)
            The predictors in use.

        Returns
        -------
        list of str
        """
        found, first = [], 0
        for column in self.columns:
            last = first + len(self.predictors_of(column))
            if used[first:last].any():
                found.append(column)
            first = last
        return found

    def apply(self, table: Table, used: np.ndarray) -> np.ndarray:
        """The predictors of another table.

        Parameters
        ----------
        table : Table
            The table. Columns are matched by name, or by position if the fit had no names. It may
            lack columns that are not in use, and have others.
        used : ndarray of bool of shape (n_predictors,)
            The predictors in use. The others are 0.

        Returns
        -------
        ndarray of shape (n_rows, n_predictors)
        """
        needed = self.columns_in_use(used)
        table = self._matched(table, needed)
        if self.means is None:
            _check_complete(
                table, needed, "fill them in, or fit again with --impute mean, which uses means"
            )
        matrix = self._matrix(table, set(needed))
        matrix[:, ~used] = 0.0
        return matrix if self.means is None else _filled(matrix, self.means)

    def missing_cells(self, table: Table, used: np.ndarray) -> dict[str, int]:
        """Missing cells of another table in the columns in use, which means replace.

        Parameters
        ----------
        table : Table
            A table as for :meth:`apply`.
        used : ndarray of bool of shape (n_predictors,)
            The predictors in use.

        Returns
        -------
        dict of str to int
            The number of cells of each column that has any.
        """
        needed = self.columns_in_use(used)
        missing = _missing_rows(self._matched(table, needed), needed)
        return {name: len(rows) for name, rows in missing.items()}

    def to_json(self) -> dict[str, Any]:
        """A dictionary that JSON can hold."""
        return {
            "columns": self.columns,
            "named": self.named,
            "categories": self.categories,
            "means": None if self.means is None else self.means.tolist(),
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Encoding:
        """The inverse of :meth:`to_json`."""
        means = content["means"]
        return cls(
            list(content["columns"]),
            bool(content["named"]),
            {name: list(values) for name, values in content["categories"].items()},
            None if means is None else np.asarray(means, dtype=np.float64),
        )

    def _matched(self, table: Table, needed: list[str]) -> Table:
        """The table with the columns of the fit that it has; an error if a needed one is not."""
        if not self.named:
            if table.shape[1] != len(self.columns):
                raise table.error(
                    f"has {table.shape[1]} columns, but the model was fitted to "
                    f"{len(self.columns)} columns without names"
                )
            return Table(**{**table.__dict__, "names": list(self.columns)})
        if not table.named:
            raise table.error(
                "has no names of columns, but the model was fitted to columns with names"
            )
        have = set(table.names)
        absent = [name for name in needed if name not in have]
        if absent:
            raise table.error(
                f"lacks {len(absent)} of the {len(needed)} columns that the model uses: "
                f"{listed(absent)}{did_you_mean(absent, table.names)}"
            )
        return table

    def _matrix(self, table: Table, wanted: set[str] | None) -> np.ndarray:
        """The predictors, NaN where a cell is missing; 0 for columns that are not wanted."""
        if not self.categories and table.names == self.columns:
            return np.array(table.numbers)
        places = {name: j for j, name in enumerate(table.names)}
        counts = [len(self.predictors_of(column)) for column in self.columns]
        matrix = np.zeros((table.shape[0], sum(counts)))
        first = 0
        sources, targets = [], []
        for column, count in zip(self.columns, counts, strict=True):
            if wanted is None or column in wanted:
                if column in self.categories:
                    matrix[:, first : first + count] = self._indicators(table, column)
                elif places[column] in table.texts:
                    raise _expected_numbers(table, column)
                else:
                    sources.append(places[column])
                    targets.append(first)
            first += count
        matrix[:, targets] = table.numbers[:, sources]
        return matrix

    def _indicators(self, table: Table, column: str) -> np.ndarray:
        categories = self.categories[column]
        values = table.column(table.position(column))
        block, strange = indicators(values, categories)
        if strange is not None:
            raise table.error(
                f"the category {values[strange]!r} is not one of the fit, which had "
                f"{listed(categories)} (correct the cell, or fit again without the column: --drop "
                f"{typed_name(column)})",
                strange,
                column,
            )
        return block


def _categories(
    table: Table, name: str, column: np.ndarray, declared: Collection[str]
) -> list[str]:
    """The categories of a column: the most frequent first, then the others sorted."""
    counts = Counter(value for value in column if value is not None)
    if not counts:
        return [""]
    if len(counts) == len(column) > 2:
        raise table.error(
            f"has a different text in each of the {len(column)} rows; use it as names of the rows "
            f"(--index {shlex.quote(name)}) or leave it out (--drop {typed_name(name)})",
            column=name,
        )
    many = len(counts) > _MANY or counts.total() < _ROWS_PER_CATEGORY * len(counts)
    if many and name not in declared:
        raise table.error(
            f"has {len(counts)} texts in {counts.total()} rows, such as {min(counts)!r}; leave it "
            f"out (--drop {typed_name(name)}), or say that they are categories (--categories "
            f"{typed_name(name)})",
            column=name,
        )
    return in_order(counts)


def in_order(counts: Mapping[str, int]) -> list[str]:
    """Categories with their numbers: the most frequent first, then the others sorted."""
    ordered = sorted(counts)
    first = max(ordered, key=lambda value: counts[value])
    return [first, *(value for value in ordered if value != first)]


def indicators(values: Iterable[Any], categories: Sequence[str]) -> tuple[np.ndarray, int | None]:
    """Indicators of all categories but the first, NaN for missing cells; a row of no category."""
    codes = {category: i for i, category in enumerate(categories)}
    rows, strange = [], None
    nothing, units = np.full(len(categories), np.nan), np.eye(len(categories))
    for i, value in enumerate(values):
        missing = value is None or value != value
        if not missing and value not in codes:
            strange = i if strange is None else strange
            missing = True
        rows.append(nothing if missing else units[codes[value]])
    return np.reshape(rows, (-1, len(categories)))[:, 1:], strange


def _check_unique(table: Table, names: list[str]) -> None:
    counts = Counter(names)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        raise table.error(f"{listed(repeated)} would be the name of two predictors")


def _check_complete(table: Table, wanted: list[str] | None, remedy: str) -> None:
    """Raise an error that names the columns with missing cells."""
    missing = _missing_rows(table, wanted)
    if not missing:
        return
    shown = listed({name: len(rows) for name, rows in missing.items()})
    columns = "column has" if len(missing) == 1 else "columns have"
    name, rows = next(iter(missing.items()))
    raise table.error(
        f"cell is missing; {len(missing)} {columns} missing cells: {shown}. Predictors must "
        f"be complete: {remedy}",
        int(rows[0]),
        name,
    )


def _missing_rows(table: Table, wanted: list[str] | None) -> dict[str, np.ndarray]:
    """Rows with missing cells of each of the wanted columns that has any."""
    holes = np.isnan(table.numbers)
    for place, column in table.texts.items():
        holes[:, place] = [value is None for value in column]
    names = set(table.names if wanted is None else wanted)
    return {
        table.names[j]: np.flatnonzero(holes[:, j])
        for j in np.flatnonzero(holes.any(axis=0)).tolist()
        if table.names[j] in names
    }


def _expected_numbers(table: Table, column: str) -> TableError:
    values = table.column(table.position(column))
    row = next((i for i, value in enumerate(values) if value is not None), 0)
    return table.error(f"expected a number, got {values[row]!r}", row, column)


def _filled(matrix: np.ndarray, means: np.ndarray) -> np.ndarray:
    rows, columns = np.nonzero(np.isnan(matrix))
    matrix[rows, columns] = means[columns]
    return matrix


def encoded_frame(X: Any, known: dict[str, list[str]] | None = None) -> tuple[Any, dict[str, Any]]:
    """A data frame of pandas with predictors "column=category" in place of its categories.

    Parameters
    ----------
    X : data frame, or anything else, which is returned as it is
        Columns of the dtype ``category`` are encoded.
    known : dict of str to list of str, default=None
        The categories of a fit; the columns may then have any dtype, or be encoded already. None
        to learn them.

    Returns
    -------
    tuple of (data frame, dict of str to list of str)
        The predictors and the categories of each column, the one without predictor first.
    """
    columns = {str(name): name for name in getattr(X, "columns", ())}
    if known is None:
        marked = [name for name in columns.values() if str(X.dtypes[name]) == "category"]
        known = {str(name): in_order(Counter(X[name].dropna().map(str))) for name in marked}
    if not (known and known.keys() <= columns.keys()):
        return X, known
    blocks = {}
    for name, categories in known.items():
        column = X[columns[name]].astype(object)
        values = column.where(column.isna(), column.map(str))
        block, strange = indicators(values, categories)
        if strange is not None:
            raise ValueError(
                f"X has the category {values.iloc[strange]!r} in row {strange} of the column "
                f"{name!r}, where fit had {listed(categories)}"
            )
        titles = [f"{name}={category}" for category in categories[1:]]
        blocks[name] = type(X)(block, index=X.index, columns=titles)
    plain = X.drop(columns=[columns[name] for name in known])
    pieces = [blocks[name].columns if name in blocks else [own] for name, own in columns.items()]
    joined = import_optional("pandas").concat([plain, *blocks.values()], axis=1)
    return joined[[name for piece in pieces for name in piece]], known
