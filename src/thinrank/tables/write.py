"""Tables to files, which are complete or absent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from thinrank.core.files import atomic_file
from thinrank.core.imports import import_optional
from thinrank.tables.table import TextStyle

OUTPUT_SUFFIXES = (".csv", ".tsv", ".xlsx", ".parquet", ".npy")
"""Suffixes of the files that a table can be written to."""
_FORMULA = re.compile(r"[=+\-@\t\r](?![\d.,]*$)")


def plain_text(text: object) -> object:
    """A text that spreadsheets do not take for a formula: with an apostrophe if it looks like one.

    Examples
    --------
    >>> from thinrank.tables.write import plain_text
    >>> plain_text("=1+1"), plain_text("-5"), plain_text("gene")
    ("'=1+1", '-5', 'gene')
    """
    return f"'{text}" if isinstance(text, str) and _FORMULA.match(text) else text


def as_written(text: object) -> object:
    """The inverse of :func:`plain_text`."""
    quoted = isinstance(text, str) and text.startswith("'") and plain_text(text[1:]) == text
    return str(text)[1:] if quoted else text


def write_table(
    path: str | Path,
    names: Sequence[str],
    columns: Sequence[np.ndarray],
    index: Sequence[str] | None = None,
    index_name: str = "",
    style: TextStyle | None = None,
) -> None:
    """Write columns of numbers or texts to a CSV, TSV, Excel, Parquet or NPY file.

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
    if suffix == ".npy":
        numbers = [column for column in columns if column.dtype.kind in "biuf"]
        if not numbers:
            raise ValueError("an NPY file has numbers only, but all columns are texts")
        with atomic_file(path) as place, place.open("wb") as file:
            np.save(file, np.column_stack(numbers), allow_pickle=False)
        return
    pandas = import_optional("pandas")
    frame = pandas.DataFrame(dict(zip(names, columns, strict=True)))
    if index is not None:
        frame.index = pandas.Index(index, name=index_name or None)
    if suffix == ".parquet":
        import_optional("pyarrow")
        with atomic_file(path) as place:
            frame.to_parquet(place, engine="pyarrow")
        return
    if index is not None:
        frame = frame.reset_index(names=index_name)
    frame = frame.rename(columns=plain_text)
    texts = [name for name in frame if frame[name].dtype.kind not in "biuf"]
    frame[texts] = frame[texts].map(plain_text)
    if suffix == ".xlsx":
        import_optional("openpyxl")
        with atomic_file(path) as place, place.open("wb") as file:
            frame.to_excel(file, index=False, engine="openpyxl")
        return
    own = style or TextStyle()
    delimiter = own.delimiter
    if suffix == ".tsv":
        delimiter = "\t"
    elif delimiter in ("\t", own.decimal):
        delimiter = ";" if own.decimal == "," else ","
    with atomic_file(path) as place:
        frame.to_csv(
            place,
            index=False,
            sep=delimiter,
            decimal=own.decimal,
            float_format="%.10g",
            encoding="utf-8-sig" if own.marked else "utf-8",
            lineterminator="\n",
        )
