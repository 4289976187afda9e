"""What the columns of a table are: names of the rows, numbers or categories; and responses."""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.tables.cells import canonical, looks_like_number, number_of
from thinrank.tables.encoding import most_frequent_first
from thinrank.tables.errors import TableError, counted, listed, typed_name
from thinrank.tables.read import ReadOptions, Table, read_cells

if TYPE_CHECKING:
    import pandas as pd

CATEGORIES = "multinomial"
"""The family of responses that are categories."""
# A column with more categories, or fewer rows for each, must be called categorical by the user.
_MANY, _ROWS_PER_CATEGORY = 20, 3
_YES = ("yes", "y", "true", "t", "1", "positive", "pos", "+", "case", "present")
_ROW_NAMES = re.compile(
    r"(unnamed:.*|ids?|index|idx|key|names?|row ?names?|row|samples?|subject|patient|participant)?"
    r"(?: ?(?:ids?|names?))?"
)
_SUMMARIES = ("total", "totals", "sum", "mean", "average", "median", "all", "grand total")
_SENTINELS = [sign * (10.0**digits - 1) for digits in (2, 3, 4, 5) for sign in (-1, 1)]


@dataclass(frozen=True, eq=False)
class Source:
    """Where a data frame comes from, in its ``attrs``."""

    file: str  # as the user named it
    lines: np.ndarray  # rows of the file, counted from 1
    named: bool  # whether the file has the names of the columns
    notes: list[str]  # what was decided on the way
    ignored: list[str]  # columns that were left out
    style: dict[str, Any]  # of text files: arguments of write_table

    def __deepcopy__(self, memo: object) -> Source:
        return self  # pandas copies attrs with every column


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
    return as_categories(to_frame(table, options, key_of(table, options)))


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
    if table.named and _ROW_NAMES.fullmatch(re.sub("[_.-]", " ", name.lower())):
        whole = bool((table.numbers[:, 0] % 1 == 0).all())
        if (whole and options.index is None) or not name:
            return 0
    return 0 if table.is_text(0).all() and len(cells) > 1 else None  # one may be a category


def to_frame(
    table: Table, options: ReadOptions, key: int | None = None, responses: Collection[str] = ()
) -> pd.DataFrame:
    """Columns of numbers and of texts, None where missing; an error for what is neither.

    ``key``: the column with the names of the rows. ``responses``: for the remedies of errors.
    """
    pandas = import_optional("pandas")
    numbers, texts, own = table.numbers, {}, []
    for j, name in enumerate(table.names):
        if j == key or not (options.keeps(name) if name else _is_data(table, j)):
            continue
        own.append(j)
        if name in options.categories or table.is_text(j).any():
            found = None if name in options.categories else _percentages(table, j)
            if found is not None:
                numbers[:, j] = found
                table.notes.append(f"{table.file}: {name!r} has percent signs: 12 % is read as 12")
                continue
            if name not in options.categories:
                _check_texts(table, j, options, name in responses)
            texts[name] = [cell or None for cell in table.text(j).tolist()]
    if not own and options.only is None:
        raise table.error("has no columns to use")
    frame = pandas.DataFrame(numbers[:, own], columns=[table.names[j] for j in own])
    for name, cells in texts.items():
        frame[name] = pandas.Series(cells, dtype=object)
    if key is not None:
        names = table.text(key).tolist()
        frame.index = pandas.Index(names, name=(table.names[key] if table.named else "") or None)
        if len(names) > 2 and names[-1].lower() in _SUMMARIES and table.is_text(key).any():
            told = f"the last row is named {names[-1]!r}; if it is no sample, leave it out"
            table.notes.append(f"{table.file}: {told}")
    _check_numbers(table, frame.drop(columns=list(texts)).reset_index(drop=True))
    kept = set(frame.columns) | {frame.index.name}
    ignored = [name for name in table.names if name and name not in kept]
    source = Source(table.file, table.lines, table.named, table.notes, ignored, table.style)
    frame.attrs["source"] = source
    return frame


def take_rows(frame: pd.DataFrame, rows: Sequence[int]) -> pd.DataFrame:
    """Some of the rows of a table, in the given order."""
    taken, source = frame.iloc[rows], frame.attrs["source"]
    taken.attrs["source"] = replace(source, lines=source.lines[rows])
    return taken


def fault(
    frame: pd.DataFrame, message: str, row: int | None = None, column: str | None = None
) -> TableError:
    """An error about a table; ``row`` is a position in it."""
    source = frame.attrs["source"]
    line = None if row is None else int(source.lines[row])
    return TableError(message, file=source.file, row=line, column=column)


def _is_data(table: Table, j: int) -> bool:
    """Whether a column without name is data, which is an error; empty ones and row numbers not."""
    numbers, no_text = table.numbers[:, j], not table.is_text(j).any()
    if no_text and np.isnan(numbers).all():
        return False
    if no_text and (np.diff(numbers) == 1).all():
        told = f"column {j + 1} has row numbers and no name, and was left out"
        table.notes.append(f"{table.file}: {told}")
        return False
    raise table.error(f"column {j + 1} has no name in the header")


def _percentages(table: Table, j: int) -> np.ndarray | None:
    """The numbers of a column of which every cell has a percent sign; None for other columns."""
    cells, decimal = table.text(j).tolist(), table.style.get("decimal", ".")
    if not all(cell == "" or cell.endswith("%") for cell in cells):
        return None
    found = [number_of(cell[:-1].strip(), decimal) if cell else np.nan for cell in cells]
    return None if None in found else np.array(found, dtype=np.float64)


def _check_texts(table: Table, j: int, options: ReadOptions, is_response: bool) -> None:
    """Raise an error if a column has numbers and texts, or texts that look like numbers."""
    where = np.flatnonzero(table.is_text(j)).tolist()
    cells = {i: str(table.texts[j][i]) for i in where}
    mixed = options.fitted is not None or not np.isnan(table.numbers[:, j]).all()
    like = {text for text in cells.values() if looks_like_number(text)}
    if not mixed and 2 * len(like) < len(set(cells.values())):
        return
    row, wrong = next((i, text) for i, text in cells.items() if mixed or text in like)
    option = typed_name(table.names[j])
    remedy = "correct the cell"
    if options.fitted is None:
        family = f" --family {shlex.quote(f'{table.names[j]}={CATEGORIES}')}" * is_response
        remedy += (
            f" or leave it empty{_remedy(wrong)} (--drop {option} leaves the column out; for "
            f"categories give --categories {option}{family})"
        )
    raise table.error(f"expected a number, got {wrong!r}; {remedy}", row, table.names[j])


def _remedy(cell: str) -> str:
    """The option that may make a number of a text."""
    if cell.endswith("%"):
        return ", with percent signs in all cells of the column or in none"
    if "," in cell and number_of(cell.replace(",", "").replace(".", "")) is not None:
        return (
            "; give --decimal point if its comma separates thousands, --decimal comma if it is a "
            "decimal comma"
        )
    if "." in cell and number_of(cell.replace(".", "")) is not None:
        return "; give --decimal comma if its points separate thousands"
    return f"; if it marks missing cells, give --missing {typed_name(cell)}"


def _check_numbers(table: Table, numbers: pd.DataFrame) -> None:
    """Raise an error about infinity; a note on numbers such as -999, far from all others."""
    for row, j in np.argwhere(np.isinf(numbers.to_numpy())).tolist():
        told = f"expected a finite number, got {numbers.iat[row, j]}"
        raise table.error(told, row, numbers.columns[j])
    low, high = numbers.min(), numbers.max()
    found: dict[str, float] = {}
    for name in numbers.columns[low.isin(_SENTINELS) | high.isin(_SENTINELS)]:
        for mark in {low[name], high[name]}.intersection(_SENTINELS):
            rest = numbers[name][numbers[name] != mark].dropna()
            if len(rest) and (rest - mark).abs().min() > 2 * np.ptp(rest) + abs(mark) / 2:
                found[name] = mark
    for mark in list(found.values())[:1]:
        table.notes.append(
            f"{table.file}: {mark:g} in {listed(list(found))} is far from the other numbers; if it "
            f"marks missing cells, give --missing={mark:g}"
        )


# --------------------------------------------------------------------- predictors and responses


def text_columns(frame: pd.DataFrame) -> list[str]:
    """The columns that are no numbers."""
    return list(frame.columns[[kind.kind == "O" for kind in frame.dtypes]])


def as_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with texts as categories, which estimators encode."""
    encoded = frame.copy()
    for name in text_columns(frame):  # astype of the frame takes seconds for 20,000 columns
        encoded[name] = frame[name].astype("category")
    return encoded


def check_predictors(frame: pd.DataFrame, options: ReadOptions) -> pd.DataFrame:
    """The predictors of a fit, or of other rows, with their categories; an error for missing cells.

    A column with many categories must be called categorical by the user.
    """
    known, texts = options.fitted, text_columns(frame)
    for name in texts:
        if known is None:
            _check_categories(frame, name, options)
            first, *others = most_frequent_first(frame[name].dropna()) or [""]
            told = f"{listed(others) or 'no other'} compared with {first!r}"
            frame.attrs["source"].notes.append(f"{name!r} is categorical: {told}")
            continue
        strange = frame[name].notna() & ~frame[name].isin(known[name])
        for row in np.flatnonzero(strange).tolist():
            raise fault(
                frame,
                f"the category {frame[name].iloc[row]!r} is not one of the fit, which had "
                f"{listed(known[name])} (correct the cell, or fit again without the column: "
                f"--drop {typed_name(name)})",
                row,
                name,
            )
    holes = frame.isna().to_numpy()
    missing = {frame.columns[j]: int(holes[:, j].sum()) for j in np.flatnonzero(holes.any(axis=0))}
    empty = [name for name, count in missing.items() if count == len(frame)]
    if missing and not options.impute:
        name = next(iter(missing))
        if known is None:
            remedy = "--impute mean replaces them by means, --drop leaves columns out"
        else:
            remedy = "fill them in, or fit again with --impute mean, which uses means"
        raise fault(
            frame,
            f"cell is missing; {counted(len(missing), 'column')} with missing cells: "
            f"{listed(missing)}. Predictors must be complete: {remedy}",
            int(np.argmax(frame[name].isna())),
            name,
        )
    if empty and known is None:
        told = (
            f"{listed(empty)} cannot be imputed: all cells are missing; leave them out with --drop"
        )
        raise fault(frame, told, column=empty[0])
    if missing:
        one = sum(missing.values()) == 1
        frame.attrs["source"].notes.append(
            f"{counted(sum(missing.values()), 'missing cell')} "
            + ("" if known is not None else "of predictors ")
            + f"{'was' if one else 'were'} replaced by the mean of the column"
            + ("" if known is None else f" in the fit: {listed(missing)}")
        )
    if known is None and all(name in texts and frame[name].nunique() < 2 for name in frame):
        raise fault(frame, "has no predictors: every column has a single category")
    return as_categories(frame)


def _check_categories(frame: pd.DataFrame, name: str, options: ReadOptions) -> None:
    """Raise an error about a column of texts that are hardly categories."""
    counts = Counter(frame[name].dropna())
    option = typed_name(name)
    if len(counts) == len(frame) > 2:
        raise fault(
            frame,
            f"has a different text in each of the {len(frame)} rows; use it as names of the rows "
            f"(--index {shlex.quote(name)}) or leave it out (--drop {option})",
            column=name,
        )
    if name in options.categories:
        return
    written = defaultdict(list)
    for value in sorted(counts):
        written[canonical(value)].append(value)
    for alike in written.values():
        if len(alike) > 1:
            raise fault(
                frame,
                f"has {listed(alike)}, which are different categories only if you say so "
                f"(--categories {option}); write them in one way",
                column=name,
            )
    if len(counts) > _MANY or counts.total() < _ROWS_PER_CATEGORY * len(counts):
        raise fault(
            frame,
            f"has {len(counts)} texts in {counts.total()} rows, such as {min(counts)!r}; leave it "
            f"out (--drop {option}), or say that they are categories (--categories {option})",
            column=name,
        )


def check_responses(frame: pd.DataFrame, families: Mapping[str, str]) -> pd.DataFrame:
    """The responses as their families need them, with notes on what a user should know."""
    notes, done = frame.attrs["source"].notes, {}
    for name in frame:
        column, family, texts = frame[name], families[name], frame[name].dtype == object
        if column.isna().all():
            told = f"has no observed entry; leave it out with --drop {typed_name(name)}"
            raise fault(frame, told, column=name)
        if texts and family == "bernoulli":
            _, one = pair = _two_texts(frame, name)
            notes.append(f"{name!r}: the prediction is the probability of {one!r}")
            column = column.map({text: float(i) for i, text in enumerate(pair)}).astype(float)
        elif texts and family != CATEGORIES:
            raise _text_error(frame, name)
        elif family == CATEGORIES and not texts:
            column = column.map("{:g}".format, na_action="ignore").astype(object)
        done[name] = column
    missing = missing_entries(frame)
    if missing:
        cells = sum(missing.values())
        notes.append(
            f"{counted(cells, 'missing cell')} of responses {'is' if cells == 1 else 'are'} left "
            f"out: {listed(missing)}; the other cells of these rows are used"
        )
    numbers = {name: column.dropna() for name, column in done.items() if column.dtype != object}
    for family in ("poisson", "negative_binomial"):
        broken = {
            name: column[column % 1 != 0].iloc[0]
            for name, column in numbers.items()
            if families[name] == family and (column % 1 != 0).any()
        }
        if broken:
            notes.append(
                f"{listed(list(broken))} {'has' if len(broken) == 1 else 'have'} values that are "
                f"not whole numbers, such as {next(iter(broken.values())):g}, but the family "
                f"{family} is for counts"
            )
    gaussian = [column for name, column in numbers.items() if families[name] == "gaussian"]
    whole = all(((column >= 0) & (column % 1 == 0)).all() for column in gaussian)
    if gaussian and whole and max(column.max() for column in gaussian) > 1:
        notes.append("responses look like counts: --family poisson fits their logarithm")
    checked = import_optional("pandas").DataFrame(done)
    checked.attrs = frame.attrs
    return checked


def missing_entries(frame: pd.DataFrame) -> dict[str, int]:
    """The number of missing entries of each column that has any."""
    counts = frame.isna().sum()
    return {str(name): int(count) for name, count in counts[counts > 0].items()}


def _text_error(frame: pd.DataFrame, name: str) -> TableError:
    """The error about the first text of a response in the file; rows may be in another order."""
    texts, lines = frame[name].dropna(), frame.attrs["source"].lines
    rows = sorted(np.flatnonzero(frame[name].notna()).tolist(), key=lines.__getitem__)
    cells = [(i, str(frame[name].iloc[i])) for i in rows]
    wrong = [(i, c) for i, c in cells if number_of(c, "," if "," in c else ".") is None]
    family = shlex.quote(f"{name}={CATEGORIES}")
    if not wrong or texts.empty:
        return fault(
            frame,
            f"has numbers as categories, which need --family {family}; leave out --categories "
            f"{typed_name(name)} if they are numbers",
            column=name,
        )
    row, text = wrong[0]
    return fault(
        frame,
        f"expected a number, got {text!r} (for categories give --family {family}; for two, such as "
        f"yes and no, --family {shlex.quote(f'{name}=bernoulli')})",
        row,
        name,
    )


def _two_texts(frame: pd.DataFrame, name: str) -> list[str]:
    """The texts that stand for 0 and 1."""
    texts = sorted(set(frame[name].dropna()))
    if len(texts) != 2:
        told = f"must have two different texts for the family bernoulli, got {listed(texts)}"
        raise fault(frame, told, column=name)
    return texts[::-1] if texts[0].lower() in _YES else texts
