"""What the columns of a table are: names of the rows, numbers or categories; and responses."""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thinrank.tables.encoding import most_frequent_first
from thinrank.tables.errors import counted, listed, typed_name
from thinrank.tables.read import (
    DECIMALS,
    LIKE_NUMBER,
    THOUSANDS,
    ReadOptions,
    Source,
    Table,
    as_text,
    canonical,
    is_inexact,
    is_name_of_rows,
    number_of,
    read_cells,
)

CATEGORIES = "multinomial"  # the family of responses that are categories
# A column with more categories, or fewer rows for each, must be called categorical by the user.
_MANY, _ROWS_PER_CATEGORY = 20, 3
_YES = ("yes", "y", "true", "t", "1", "positive", "pos", "+", "case", "present")
_SUMMARIES = ("total", "totals", "sum", "mean", "average", "median", "all", "grand total")
_SENTINELS = [sign * (10.0**digits - 1) for digits in (2, 3, 4, 5) for sign in (-1, 1)]


def read_table(path: str | Path, options: ReadOptions | None = None, *, prefix: str = "x") -> Any:
    r"""Read a data frame from a CSV, TSV, Excel, Parquet, NPY or NPZ file.

    Parameters
    ----------
    path : path
        The file. The suffix tells the format; text files may be compressed (``.csv.gz``).
    options : ReadOptions, default=None
        What is known about the file; the rest is detected.
    prefix : {"x", "y"}, default="x"
        Whether the file has predictors or responses: first letter of the names of columns that
        have none, and name of the array in an NPZ file.

    Returns
    -------
    DataFrame
        Columns of numbers, and of the dtype ``category``; the index has the names of the rows.
        ``attrs["source"]`` has ``notes`` on what the reader decided, and ``lines`` of the file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    TableError
        If the file cannot be used. The message names the file, the row and the column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from thinrank.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "X.csv")
    ...     _ = path.write_text("id;age;sex\na;61,5;f\nb;NA;m\nc;47;f\n")
    ...     table = read_table(path)
    >>> table["age"].to_dict()
    {'a': 61.5, 'b': nan, 'c': 47.0}
    """
    options = options or ReadOptions()
    table = read_cells(path, options, prefix)
    return to_frame(table, options, key_of(table, options))


def key_of(table: Table, options: ReadOptions) -> int | None:
    """The column with the names of the rows of a table that is alone.

    It is the one that was given, or the first one if its cells are complete and all different,
    and it has no name, a name such as "id" or "sample", or consists of texts.
    """
    if isinstance(options.index, str):
        return table.position(options.index)
    name, cells = table.names[0], table.text(0).tolist()
    known = name in options.categories or (options.only is not None and name in options.only)
    if known or len(table.names) == 1 or len(set(cells)) < len(cells) or "" in cells:
        return None
    if table.source.named and is_name_of_rows(name):
        whole = bool((table.numbers[:, 0] % 1 == 0).all())
        if (whole and options.index is None) or not name:
            return 0
    return 0 if table.is_text(0).all() and len(cells) > 1 else None  # one may be a category


def to_frame(table: Table, options: ReadOptions, key: int | None = None) -> pd.DataFrame:
    """Columns of numbers and of categories; an error for what is neither.

    ``key``: the column with the names of the rows.
    """
    source = table.source
    own = [
        j
        for j, name in enumerate(table.names)
        if j != key and (options.keeps(name) if name else _is_data(table, j))
    ]
    if not own and options.only is None:
        raise source.error("has no columns to use")
    names = [table.names[j] for j in own]
    frame = pd.DataFrame(table.numbers[:, own], columns=names)
    texts = []
    for j, name in zip(own, names, strict=True):
        if name in options.categories or table.is_text(j).any():
            if name not in options.categories:
                _check_texts(table, j, options)
            cells = pd.Series([cell or None for cell in table.text(j).tolist()], dtype="object")
            frame[name] = cells.astype("category")
            texts.append(name)
        elif j in table.texts and next(filter(None, table.texts[j]), "").endswith("%"):
            source.notes.append(f"{source.file}: {name!r} has percent signs: 12 % is read as 12")
    _check_numbers(source, frame.drop(columns=texts))
    if key is not None:
        rows = table.text(key).tolist()
        frame.index = pd.Index(rows, name=(table.names[key] if source.named else "") or None)
        if len(rows) > 2 and rows[-1].lower() in _SUMMARIES and table.is_text(key).any():
            told = f"the last row is named {rows[-1]!r}; if it is no sample, leave it out"
            source.notes.append(f"{source.file}: {told}")
    frame.attrs["source"] = source
    return frame


def take_rows(frame: pd.DataFrame, rows: Sequence[int]) -> pd.DataFrame:
    """Some of the rows of a table, in the given order."""
    taken, source = frame.iloc[rows], frame.attrs["source"]
    taken.attrs["source"] = replace(source, lines=source.lines[rows])
    return taken


def _is_data(table: Table, j: int) -> bool:
    """Whether a column without name is data, which is an error; empty ones and row numbers not."""
    numbers, no_text = table.numbers[:, j], not table.is_text(j).any()
    if no_text and np.isnan(numbers).all():
        return False
    if no_text and (np.diff(numbers) == 1).all():
        told = f"column {j + 1} has row numbers and no name, and was left out"
        table.source.notes.append(f"{table.source.file}: {told}")
        return False
    raise table.source.error(f"column {j + 1} has no name in the header")


def _check_texts(table: Table, j: int, options: ReadOptions) -> None:
    """Raise an error if a column has numbers and texts, or texts that look like numbers."""
    where = np.flatnonzero(table.is_text(j)).tolist()
    cells = {i: str(table.texts[j][i]) for i in where}
    mixed = options.fitted is not None or not np.isnan(table.numbers[:, j]).all()
    like = set(filter(LIKE_NUMBER.match, cells.values()))
    if not mixed and 2 * len(like) < len(set(cells.values())):
        return
    row, wrong = next((i, text) for i, text in cells.items() if mixed or text in like)
    remedy = "correct the cell"
    if options.fitted is None:
        option = typed_name(table.names[j])
        remedy += (
            f" or leave it empty; {_remedy(wrong)} (--drop {option} leaves the column out; for "
            f"categories give --categories {option})"
        )
    raise table.source.error(f"expected a number, got {wrong!r}; {remedy}", row, table.names[j])


def _remedy(cell: str) -> str:
    """What may make a number of a text."""
    if is_inexact(cell.replace(",", "")):
        return "whole numbers of 2^53 and above would be rounded; write 1.2e17 if that does no harm"
    if cell.endswith("%"):
        return "give percent signs in all cells of the column or in none"
    if any(marks[mark].fullmatch(cell) for marks in (DECIMALS, THOUSANDS) for mark in ".,"):
        return (
            "give --decimal point if commas separate thousands, --decimal comma if a comma is the "
            "decimal mark"
        )
    return f"if it marks missing cells, give --missing {typed_name(cell)}"


def _check_numbers(source: Source, numbers: pd.DataFrame) -> None:
    """Raise an error about infinity; a note on numbers such as -999, far from all others."""
    for row, j in np.argwhere(np.isinf(numbers.to_numpy())).tolist():
        told = f"expected a finite number, got {numbers.iat[row, j]}"
        raise source.error(told, row, numbers.columns[j])
    numbers = numbers.loc[:, numbers.min().isin(_SENTINELS) | numbers.max().isin(_SENTINELS)]
    for mark in _SENTINELS:
        rest = numbers[numbers != mark]
        far = (rest - mark).abs().min() > 2 * (rest.max() - rest.min()) + abs(mark) / 2
        names = numbers.columns[far & (numbers == mark).any()]
        if len(names):
            source.notes.append(
                f"{source.file}: {mark:g} in {listed(names)} is far from the other numbers; if it "
                f"marks missing cells, give --missing={mark:g}"
            )


# --------------------------------------------------------------------- predictors and responses


def text_columns(frame: pd.DataFrame) -> list[str]:
    """The columns of categories."""
    return list(frame.select_dtypes("category"))


def missing_entries(frame: pd.DataFrame) -> dict[str, int]:
    """The number of missing entries of each column that has any."""
    counts = frame.isna().sum()
    return {str(name): int(count) for name, count in counts[counts > 0].items()}


def check_predictors(frame: pd.DataFrame, options: ReadOptions) -> None:
    """Check the predictors of a fit, or of other rows: categories and missing cells."""
    source, known, texts = frame.attrs["source"], options.fitted, text_columns(frame)
    for name in texts:
        column = frame[name].astype("object")
        if known is None:
            _check_categories(frame, name, options)
            first, *others = most_frequent_first(column.dropna()) or [""]
            told = f"{listed(others) or 'no other'} compared with {first!r}"
            source.notes.append(f"{name!r} is categorical: {told}")
            continue
        strange = np.flatnonzero(column.notna() & ~column.isin(known[name])).tolist()
        if strange:
            raise source.error(
                f"the category {column.iloc[strange[0]]!r} is not one of the fit, which had "
                f"{listed(known[name])} (correct the cell, or fit again without the column: "
                f"--drop {typed_name(name)})",
                strange[0],
                name,
            )
    if known is None and all(name in texts and frame[name].nunique() < 2 for name in frame):
        raise source.error("has no predictors: every column has a single category")
    missing = wrong = missing_entries(frame)
    remedy = "--impute mean replaces them by means, --drop leaves columns out"
    if known is not None:
        remedy = "fill them in, or fit again with --impute mean"
    if options.impute:  # the mean of a fit needs a cell
        wrong = {n: cells for n, cells in missing.items() if known is None and cells == len(frame)}
        remedy = "--drop leaves columns out"
    if wrong:
        first = next(iter(wrong))
        raise source.error(
            f"cell is missing; {counted(len(wrong), 'column')} with missing cells: "
            f"{listed(wrong)}. Predictors must be complete: {remedy}",
            int(np.argmax(frame[first].isna())),
            first,
        )
    if not missing:
        return
    count = sum(missing.values())
    where = "of the column" if known is None else f"of the column in the fit: {listed(missing)}"
    source.notes.append(
        f"{counted(count, 'missing cell')} of predictors {'was' if count == 1 else 'were'} "
        f"replaced by the mean {where}"
    )


def _check_categories(frame: pd.DataFrame, name: str, options: ReadOptions) -> None:
    """Raise an error about a column of texts that are hardly categories."""
    counts, source = Counter(frame[name].dropna()), frame.attrs["source"]
    if name in options.categories:
        return
    option = typed_name(name)
    written = defaultdict(list)
    for value in sorted(counts):
        written[canonical(value)].append(value)
    alike = next((each for each in written.values() if len(each) > 1), None)
    if alike:
        raise source.error(
            f"has {listed(alike)}, which are different categories only if you say so "
            f"(--categories {option}); write them in one way",
            column=name,
        )
    if len(counts) > _MANY or counts.total() < _ROWS_PER_CATEGORY * len(counts):
        raise source.error(
            f"has {len(counts)} texts in {counts.total()} rows, such as {min(counts)!r}: leave it "
            f"out (--drop {option}), or say that they are categories (--categories {option}) or "
            f"names of the rows (--index {shlex.quote(name)})",
            column=name,
        )


def check_responses(frame: pd.DataFrame, families: Mapping[str, str]) -> pd.DataFrame:
    """The responses as their families need them, with notes on what a user should know."""
    source, checked = frame.attrs["source"], frame.copy()
    for name, column in frame.items():
        if column.isna().all():
            told = f"has no observed entry; leave it out with --drop {typed_name(name)}"
            raise source.error(told, column=name)
        if str(column.dtype) == "category":
            checked[name] = _of_texts(source, column.astype("object"), families[name])
        elif families[name] == CATEGORIES:
            checked[name] = column.map(as_text, na_action="ignore").astype("object")
    missing = missing_entries(frame)
    if missing:
        cells = sum(missing.values())
        source.notes.append(
            f"{counted(cells, 'missing cell')} of responses {'is' if cells == 1 else 'are'} left "
            f"out: {listed(missing)}; the other cells of these rows are used"
        )
    numbers = checked[[name for name in checked if families[name] == "gaussian"]]
    whole = ((numbers % 1 == 0) & (numbers >= 0) | numbers.isna()).all(axis=None)
    if numbers.size and whole and numbers.max(axis=None) > 1:
        source.notes.append("responses look like counts: --family poisson fits their logarithm")
    return checked


def _of_texts(source: Source, column: pd.Series, family: str) -> pd.Series:
    """A response of texts for its family; yes and no are 1 and 0."""
    texts = sorted(set(column.dropna()))
    if family == CATEGORIES:
        return column
    name = str(column.name)
    if family != "bernoulli":
        # a text if there is one, and the first of the file, whose rows may be in another order
        rows = np.flatnonzero(column.notna()).tolist()
        row = min(rows, key=lambda i: (number_of(column.iloc[i]) is not None, source.lines[i]))
        raise source.error(
            f"expected numbers, got the category {column.iloc[row]!r} (for categories give "
            f"--family {shlex.quote(f'{name}={CATEGORIES}')}; for two, such as yes and no, "
            f"--family {shlex.quote(f'{name}=bernoulli')})",
            row,
            name,
        )
    if len(texts) != 2:
        told = f"must have two different texts for the family bernoulli, got {listed(texts)}"
        raise source.error(told, column=name)
    zero, one = texts[::-1] if texts[0].lower() in _YES else texts
    source.notes.append(f"{name!r}: the prediction is the probability of {one!r}")
    return column.map({zero: 0.0, one: 1.0}).astype(float)
