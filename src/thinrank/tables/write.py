"""Tables to files, which are complete or absent."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thinrank.core.files import atomic_file
from thinrank.core.imports import import_optional
from thinrank.tables.text_style import TextStyle

OUTPUT_SUFFIXES = (".csv", ".tsv", ".parquet", ".npy")
"""Suffixes of the files that a table can be written to."""


def write_table(
    path: str | Path,
    names: Sequence[str],
    columns: Sequence[np.ndarray],
    index: Sequence[str] | None = None,
    index_name: str = "",
    style: TextStyle | None = None,
) -> None:
    """Write columns of numbers or texts to a CSV, TSV, Parquet or NPY file.

    Parameters
    ----------
    path : path
        The file; the suffix tells the format. NPY has the columns of numbers only, without names.
    names : sequence of str
        Names of the columns.
    columns : sequence of ndarray of shape (n_rows,)
        The columns.
    index : sequence of str, default=None
        Names of the rows.
    index_name : str, default=""
        Name of their column.
    style : TextStyle, default=None
        How a text file is written; None for commas and decimal points. A TSV file has tabs.
    """
    if not columns:
        raise ValueError("columns must contain at least one column, got none")
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in OUTPUT_SUFFIXES:
        raise ValueError(f"path must end in {', '.join(OUTPUT_SUFFIXES)}, got {str(path)!r}")
    numbers = [column for column in columns if column.dtype.kind in "biuf"]
    if suffix == ".npy" and not numbers:
        raise ValueError(
            "an NPY file has numbers only, but all columns are texts; write a CSV file"
        )
    own = (style or TextStyle()).for_suffix(suffix)
    with atomic_file(path) as place:
        if suffix == ".npy":
            with place.open("wb") as file:  # np.save appends .npy to other names
                np.save(file, np.column_stack(numbers), allow_pickle=False)
        elif suffix == ".parquet":
            _write_parquet(place, names, columns, index, index_name)
        else:
            _write_text(place, names, columns, index, index_name, own)


def _write_text(
    place: Path,
    names: Sequence[str],
    columns: Sequence[np.ndarray],
    index: Sequence[str] | None,
    index_name: str,
    style: TextStyle,
) -> None:
    cells: list[Sequence[object]] = [_cells(column, style.decimal) for column in columns]
    header = list(names)
    if index is not None:
        cells.insert(0, index)
        header.insert(0, index_name)
    encoding = "utf-8-sig" if style.marked else "utf-8"
    with place.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=style.delimiter, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(zip(*cells, strict=True))


def _cells(column: np.ndarray, decimal: str) -> list[object]:
    """The cells of a column; ten digits of a number are more than a prediction has."""
    if column.dtype.kind != "f":
        return list(column.tolist())
    return [
        "" if value != value else f"{value:.10g}".replace(".", decimal) for value in column.tolist()
    ]


def _write_parquet(
    place: Path,
    names: Sequence[str],
    columns: Sequence[np.ndarray],
    index: Sequence[str] | None,
    index_name: str,
) -> None:
    import_optional("pyarrow")
    pandas = import_optional("pandas")
    frame = pandas.DataFrame(dict(zip(names, columns, strict=True)))
    if index is not None:
        frame.index = pandas.Index(index, name=index_name or None)
    frame.to_parquet(place, engine="pyarrow")
