"""Predictors of a table as a matrix: indicators of categories, and means for missing cells."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.tables.cells import canonical
from thinrank.tables.errors import did_you_mean, listed, typed_name
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
        matrix = plain._matrix(table, set(table.names))
        names = plain.names
        if not names:
            raise table.error("has no predictors: every column has a single category")
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise table.error(f"{listed(repeated)} would be the name of two predictors")
        if not impute:
            remedy = "--impute mean replaces them by means, --drop leaves columns out"
            _check_complete(table, table.names, remedy)
            return plain, matrix
        empty = [names[j] for j in np.flatnonzero(np.isnan(matrix).all(axis=0))]
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
        """Columns of which at least one of the predictors in a mask is in use."""
        owners = [column for column in self.columns for _ in self.predictors_of(column)]
        return list(dict.fromkeys(compress(owners, used)))

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
            remedy = "fill them in, or fit again with --impute mean, which uses means"
            _check_complete(table, needed, remedy)
        matrix = self._matrix(table, set(needed))
        matrix[:, ~used] = 0.0
        return matrix if self.means is None else _filled(matrix, self.means)

    def missing_cells(self, table: Table, used: np.ndarray) -> dict[str, int]:
        """How many cells of another table are missing in each column in use that has any."""
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
            return replace(table, names=list(self.columns))
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

    def _matrix(self, table: Table, wanted: set[str]) -> np.ndarray:
        """The predictors, NaN where a cell is missing; 0 for columns that are not wanted."""
        places = {name: j for j, name in enumerate(table.names)}
        ends = np.cumsum([len(self.predictors_of(column)) for column in self.columns])
        matrix = np.zeros((table.shape[0], ends[-1]))
        for column, end in zip(self.columns, ends.tolist(), strict=True):
            if column not in wanted:
                continue
            j = places[column]
            if column not in self.categories:
                if j in table.texts:
                    row = next(i for i, text in enumerate(table.texts[j]) if text is not None)
                    wrong = table.texts[j][row]
                    raise table.error(f"expected a number, got {wrong!r}", row, column)
                matrix[:, end - 1] = table.numbers[:, j]
                continue
            categories = self.categories[column]
            block, strange = indicators(table.column(j), categories)
            if strange is not None:
                raise table.error(
                    f"the category {table.column(j)[strange]!r} is not one of the fit, which had "
                    f"{listed(categories)} (correct the cell, or fit again without the column: "
                    f"--drop {typed_name(column)})",
                    strange,
                    column,
                )
            matrix[:, end - block.shape[1] : end] = block
        return matrix


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
    written = defaultdict(list)
    for value in sorted(counts):
        written[canonical(value)].append(value)
    alike = next((values for values in written.values() if len(values) > 1), [])
    if alike and name not in declared:
        raise table.error(
            f"has {listed(alike)}, which are different categories only if you say so (--categories "
            f"{typed_name(name)}); write them in one way",
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


def indicators(values: np.ndarray, categories: list[str]) -> tuple[np.ndarray, int | None]:
    """Indicators of all categories but the first, NaN for missing cells; a row of no category."""
    pandas = import_optional("pandas")
    codes, missing = pandas.Index(categories).get_indexer(values), pandas.isna(values)
    block = np.where(missing[:, None], np.nan, codes[:, None] == np.arange(1, len(categories)))
    strange = np.flatnonzero((codes < 0) & ~missing)
    return block, int(strange[0]) if len(strange) else None


def _check_complete(table: Table, wanted: Collection[str], remedy: str) -> None:
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


def _missing_rows(table: Table, wanted: Collection[str]) -> dict[str, np.ndarray]:
    """Rows with missing cells of each of the wanted columns that has any."""
    holes, names = table.missing, set(wanted)
    return {
        table.names[j]: np.flatnonzero(holes[:, j])
        for j in np.flatnonzero(holes.any(axis=0)).tolist()
        if table.names[j] in names
    }


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
        block, strange = indicators(values.to_numpy(), categories)
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
