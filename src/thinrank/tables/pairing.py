"""Rows of two files that belong together: which columns have the names of the rows, and how."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from thinrank.tables.columns import check_predictors, key_of, take_rows, to_frame
from thinrank.tables.errors import TableError, check_names, listed
from thinrank.tables.read import ReadOptions, Table, canonical, read_cells

_UNIQUE = 0.8  # smallest share of different cells in a column that can be a key
_SHARED = 0.5  # smallest share of them that the other file has
_FEW = 20  # columns of X; quantiles of a distribution may be the cells of all columns
# levels of keys
_TEXTS, _EQUAL_NAMES, _OTHERS, _COUNTERS, _PERHAPS_RANKS = range(5)


class _Key(NamedTuple):
    """A column of each table that have the same cells."""

    level: int  # earlier ones are trusted more
    x: int
    y: int


def read_pair(
    x: str | Path,
    y: str | Path | None = None,
    options: ReadOptions | None = None,
    *,
    responses: tuple[str, ...] = (),
    join: str | None = None,
) -> tuple[Any, Any, str]:
    """Read predictors and responses, with the rows of Y in the order of X.

    The key is a column whose cells are (nearly) all different and that both files have, whatever
    its name and type.

    Parameters
    ----------
    x : path
        File of the predictors.
    y : path, default=None
        File of the responses; None if they are columns of ``x``.
    options : ReadOptions, default=None
        What is known about the files. ``index`` is the name of the key in one of them or both;
        False if rows belong together by position.
    responses : tuple of str, default=()
        Columns of the responses; all of ``y`` if empty.
    join : str, default=None
        Name of the key in both files, of which rows that only one has are left out.

    Returns
    -------
    tuple of (DataFrame, DataFrame, str)
        Predictors, with columns of the dtype ``category``; responses; how rows were paired.
    """
    options = options or ReadOptions()
    encodings = [each.strip() or None for each in (options.encoding or "").split(",")]
    left = replace(options, encoding=encodings[0])
    right = replace(options, encoding=encodings[-1], only=responses or None)
    X = read_cells(x, left)
    Y = X if y is None else read_cells(y, right, "y")
    files = X.source.file if y is None else f"{X.source.file} or {Y.source.file}"
    check_names("--responses", responses, Y.names, Y.source.file)
    check_names("--drop", options.drop, [*X.names, *Y.names], files)
    if isinstance(options.index, str):
        check_names("--index", [options.index], [*X.names, *Y.names], files)
    if y is None:
        key, own = key_of(X, options), replace(left, drop={*options.drop, *responses})
        predictors, answers = to_frame(X, own, key), to_frame(X, right, key)
        if not predictors.shape[1]:
            raise X.source.error("all columns are responses; none is left as predictor")
        how = f"Predictors and responses are columns of {files}"
    else:
        predictors, answers, how = _paired(X, Y, left, right, join)
    absent = [name for name in responses if name not in answers]
    if absent:
        raise ValueError(f"--responses: {listed(absent)} left out, or used as names of the rows")
    answers = answers[list(responses)] if y is None else answers
    _check_no_copies(predictors, answers)
    check_predictors(predictors, options)
    return predictors, answers.set_axis(predictors.index), how


def _paired(
    X: Table, Y: Table, left: ReadOptions, right: ReadOptions, join: str | None
) -> tuple[Any, Any, str]:
    if join is not None:
        keys = [_Key(0, X.position(join), Y.position(join))]
    else:
        keys = _keys(X, Y, left.index)
    kept = [key for key in keys if not {X.names[key.x], Y.names[key.y]}.intersection(left.drop)]
    keys = kept or ([] if left.index is False else keys)
    keys = [key for key in keys if key.level == keys[0].level or keys[0].level == _COUNTERS]
    arrays = all(table.source.file.lower().endswith((".npy", ".npz")) for table in (X, Y))
    if not keys or left.index is False:
        _check_length(X, Y)
    if left.index is False or (not keys and arrays and not X.texts and not Y.texts):
        _check_order(X, Y, keys)
        own, other = key_of(X, replace(left, index=False)), key_of(Y, replace(right, index=False))
        how = "Rows are paired by position"
        return to_frame(X, left, own), to_frame(Y, right, other), how
    if not keys:
        raise TableError(
            f"no column has the same values in {X.source.file} and in {Y.source.file}, so it is "
            "not known which rows belong together: put names of the rows into both files, or give "
            "--no-index if the rows of both are in the same order"
        )
    key, x_rows, y_rows = _best(X, Y, keys, inner=join is not None)
    predictors = take_rows(to_frame(X, left, key.x), x_rows)
    responses = take_rows(to_frame(Y, right, key.y), y_rows)
    a, b = X.names[key.x] or "1", Y.names[key.y] or "1"
    where = f"column {a!r}" if a == b else f"columns {a!r} and {b!r}"
    order = "" if x_rows == y_rows else f"; {Y.source.file} is in another order"
    return predictors, responses, f"Rows are paired by {where}{order}"


def _check_order(X: Table, Y: Table, keys: list[_Key]) -> None:
    """Raise an error if a key tells that the rows are not in the same order."""
    keys = [key for key in keys if key.level == keys[0].level]
    cells = [(_names(X, key.x), _names(Y, key.y)) for key in keys]
    if any(x.equals(y) for x, y in cells):
        return
    for key, (x, y) in zip(keys, cells, strict=True):
        if key.level < _COUNTERS or sorted(x) == sorted(y):
            raise TableError(
                f"rows are not in the same order: {_columns(X, Y, key)} have the same values in "
                "different rows; leave out --no-index to pair the rows by them, or leave the "
                "columns out with --drop"
            )


def _columns(X: Table, Y: Table, key: _Key) -> str:
    """The columns of a key, for messages."""
    pair = ((X, key.x), (Y, key.y))
    return " and ".join(f"{table.names[j] or '1'!r} of {table.source.file}" for table, j in pair)


def _check_length(X: Table, Y: Table) -> None:
    n, m = len(X.numbers), len(Y.numbers)
    if n == m:
        return
    longer = (X if n > m else Y).source
    near = abs(n - m) == 1 and longer.style and not longer.named
    question = f"; is the first row of {longer.file} a header? Then give --header" if near else ""
    raise TableError(
        f"{X.source.file} has {n} rows and {Y.source.file} has {m}; rows must belong together by "
        f"a column that both files have (--join COLUMN), or by position{question}"
    )


def _best(X: Table, Y: Table, keys: list[_Key], inner: bool) -> tuple[_Key, list[int], list[int]]:
    """The first key that pairs all rows; an error if none does, or another in a different way."""
    found, errors = [], []
    for key in keys:
        try:
            found.append((key, *_places(X, Y, key, inner)))
        except TableError as error:
            errors.append(error)
    if not found or (errors and keys[0].level == _COUNTERS < found[0][0].level):
        raise errors[0]
    first, x_rows, y_rows = found[0]
    for key, *rows in found[1:]:
        twice = key.level > first.level and (key.x == first.x or key.y == first.y)
        if rows != [x_rows, y_rows] and not twice:  # a response may have the ranks of the ids
            raise TableError(
                f"columns {_columns(X, Y, first)} would pair other rows than "
                f"{_columns(X, Y, key)}; give the one that has the names of the rows: "
                "--index COLUMN"
            )
    cells = zip(X.text(first.x)[x_rows], Y.text(first.y)[y_rows], strict=True)
    different = next((pair for pair in cells if pair[0] != pair[1]), None)
    if different is not None:
        pair = f"{different[0]!r} and {different[1]!r}"
        Y.source.notes.append(f"names of rows are written differently in the files, such as {pair}")
    for table in (X, Y):
        count = len(table.numbers)
        if count > len(x_rows):
            told = f"{count - len(x_rows)} of {count} rows of {table.source.file} were left out"
            Y.source.notes.append(told)
    return found[0]


def _places(X: Table, Y: Table, key: _Key, inner: bool) -> tuple[list[int], list[int]]:
    """Rows of X and of Y that have the same names; ``inner``: others are left out."""
    raw_x, raw_y = X.text(key.x).astype(object), Y.text(key.y).astype(object)
    x, y = _names(X, key.x), _names(Y, key.y)
    if x.nunique() < len(set(raw_x)) or y.nunique() < len(set(raw_y)):
        x, y = pd.Index(raw_x), pd.Index(raw_y)  # 1 and 01 are different names
    _check_unique(X, key.x, x)
    _check_unique(Y, key.y, y)
    both = x[x.isin(y)]
    if len(both) < (1 if inner else max(len(x), len(y))):
        only = [
            f"{len(lost)} only in {table.source.file}: {listed(lost.tolist())}"
            for table, lost in ((X, raw_x[~x.isin(y)]), (Y, raw_y[~y.isin(x)]))
            if len(lost)
        ]
        remedy = "" if inner else "; use --join COLUMN for the rows that both files have"
        raise TableError(f"names of rows differ ({'; '.join(only)}){remedy}")
    return x.get_indexer(both).tolist(), y.get_indexer(both).tolist()


def _names(table: Table, place: int) -> pd.Index:
    """The cells of a column without what files write differently."""
    return pd.Index([canonical(cell) for cell in table.text(place).tolist()], dtype=object)


def _check_unique(table: Table, place: int, names: pd.Index) -> None:
    """Raise an error about the first name of a row that is repeated or missing."""
    for name in names[names.duplicated(keep=False) | (names == "")][:1]:
        first, *others = np.flatnonzero(names == name).tolist()
        told = "the name of this row is missing"
        if name:
            lines = table.source.lines[[first, others[0]]]
            told = f"names of rows must be different: {name!r} is in rows {lines[0]} and {lines[1]}"
        raise table.source.error(told, first, table.names[place])


def _keys(X: Table, Y: Table, index: str | bool | None) -> list[_Key]:
    """Columns that can be the key, those that are trusted most first."""
    a, b = _codes(X), _codes(Y)
    a_count, b_count = _count_different(a), _count_different(b)
    a_dense, b_dense = _are_dense(a), _are_dense(b)
    # a column of X is looked at if a column of Y has its values in a quarter of sixteen rows
    probes = a[np.unique(np.linspace(0, len(a) - 1, 16).astype(int))]
    order = np.argsort(probes, axis=None)
    ordered, owners = probes.ravel()[order], order % a.shape[1]
    keys: list[_Key] = []
    for dense in (False, True):
        for k in np.flatnonzero(b_count > 1).tolist() if not keys else ():
            values = np.unique(b[~np.isnan(b[:, k]), k])
            ends = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
            met = [owners[low:high] for low, high in zip(*ends, strict=True) if low < high]
            hits = np.bincount(np.concatenate([owners[:0], *met]), minlength=a.shape[1])
            unique = (a_count >= _UNIQUE * len(a)) | (b_count[k] >= _UNIQUE * len(b))
            enough = _SHARED * np.maximum(a_count, b_count[k])
            near = unique & (4 * hits >= len(probes)) & (np.minimum(a_count, b_count[k]) >= enough)
            found = np.flatnonzero(near & ((a_dense | b_dense[k]) == dense)).tolist()
            if len(found) > _FEW:
                found = [j for j in found if X.names[j] == Y.names[k]]
            for j in found:
                # the given column, in every table that has it
                pair = ((X.names, j), (Y.names, k))
                given = all(names[i] == index or index not in names for names, i in pair)
                if given and np.isin(np.unique(a[:, j]), values).sum() >= enough[j]:
                    keys.append(_Key(_level(X, Y, j, k, dense), j, k))
    return sorted(keys)


def _codes(table: Table) -> np.ndarray:
    """A number for each cell: its own, or one that stands for its text; NaN where it is missing."""
    codes = table.numbers.copy()
    for j, texts in table.texts.items():
        for i in np.flatnonzero(table.is_text(j)).tolist():
            codes[i, j] = hash(canonical(texts[i])) * 1e200
    return codes


def _count_different(codes: np.ndarray) -> np.ndarray:
    """The number of different cells of each column."""
    ordered = np.sort(codes, axis=0)
    there = ~np.isnan(ordered)
    return there[0] + ((ordered[1:] != ordered[:-1]) & there[1:]).sum(axis=0)


def _level(X: Table, Y: Table, j: int, k: int, dense: bool) -> int:
    if not dense and (X.is_text(j).any() or Y.is_text(k).any()):
        return _TEXTS
    named = X.source.named and Y.source.named
    equal = named and canonical(X.names[j]) == canonical(Y.names[k])
    if dense:
        return _COUNTERS if equal else _PERHAPS_RANKS
    return _EQUAL_NAMES if equal else _OTHERS


def _are_dense(codes: np.ndarray) -> np.ndarray:
    """Which columns have numbers with few gaps, as row numbers have, but also ranks."""
    with np.errstate(invalid="ignore"):
        return np.fmax.reduce(codes, axis=0) - np.fmin.reduce(codes, axis=0) < 2 * len(codes)


def _check_no_copies(X: Any, Y: Any) -> None:
    """Raise an error if a response is among the predictors, which would predict it perfectly."""
    known = {name: _content(column) for name, column in X.items()}
    contents = set(known.values())
    own = {name: _content(column) for name, column in Y.items()}
    copies = [
        name
        for name, content in own.items()
        if known.get(name) == content or (content in contents and Y[name].nunique() > 1)
    ]  # equal constants need equal names
    if copies:
        files = X.attrs["source"].file, Y.attrs["source"].file
        raise TableError(
            f"{listed(copies)} in {files[0]} and in {files[1]} have the same values: a response "
            "cannot be a predictor of itself; leave the column out of one file, or name the "
            "responses of a single file with --responses"
        )


def _content(column: Any) -> object:
    """What tells the cells of a column from those of others."""
    if str(column.dtype) == "category":
        return tuple(column.astype("object").fillna(""))
    return (column.to_numpy() + 0.0).tobytes()  # no negative zeros
