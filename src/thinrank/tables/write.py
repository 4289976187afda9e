"""Tables to files, which are complete or absent."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from thinrank.core.files import atomic_file
from thinrank.core.imports import import_optional

OUTPUT_SUFFIXES = (".csv", ".tsv", ".xlsx", ".parquet", ".npy")
_FORMULA = re.compile(r"[=+\-@\t\r](?![\d.,]*$)")


def plain_text(text: object) -> object:
    """A text that spreadsheets do not take for a formula: '=1+1 for =1+1, but -5 and gene."""
    return f"'{text}" if isinstance(text, str) and _FORMULA.match(text) else text


def as_written(text: object) -> object:
    """The inverse of :func:`plain_text`."""
    quoted = isinstance(text, str) and text.startswith("'") and plain_text(text[1:]) == text
    return str(text)[1:] if quoted else text


def write_table(
    path: str | Path,
    frame: Any,
    *,
    delimiter: str = ",",
    decimal: str = ".",
    byte_order_mark: bool = False,
) -> None:
    """Write a data frame to a CSV, TSV, Excel, Parquet or NPY file.

    Parameters
    ----------
    path : path
        The file; the suffix tells the format. NPY has the columns of numbers only, without names.
    frame : DataFrame
        Columns of numbers or texts. The index is written if it has names of rows.
    delimiter, decimal : str
        How a text file is written. A TSV file has tabs.
    byte_order_mark : bool, default=False
        Whether a text file begins with the mark of UTF-8 that spreadsheets write.
    """
    if not frame.shape[1]:
        raise ValueError("frame must have at least one column, got none")
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in OUTPUT_SUFFIXES:
        raise ValueError(f"path must end in {', '.join(OUTPUT_SUFFIXES)}, got {str(path)!r}")
    frame, index = frame.copy(), not isinstance(frame.index, pd.RangeIndex)
    frame.attrs = {}
    numbers = frame.select_dtypes(["number", "bool"], exclude="timedelta")
    if suffix == ".npy" and not numbers.shape[1]:
        raise ValueError("an NPY file has numbers only, but all columns are texts")
    if suffix in (".xlsx", ".parquet"):
        import_optional("openpyxl" if suffix == ".xlsx" else "pyarrow")
    if suffix not in (".npy", ".parquet"):
        if index:
            frame = frame.reset_index(names=frame.index.name or "")
        frame = frame.rename(columns=plain_text)
        texts = frame.select_dtypes(exclude=["number", "bool"])
        frame[texts.columns] = texts.map(plain_text)
    if suffix == ".tsv":
        delimiter = "\t"
    elif delimiter in ("\t", decimal):
        delimiter = ";" if decimal == "," else ","
    with atomic_file(path) as place, place.open("wb") as file:
        match suffix:
            case ".npy":
                np.save(file, numbers.to_numpy(), allow_pickle=False)
            case ".parquet":
                frame.to_parquet(file, engine="pyarrow", index=index)
            case ".xlsx":
                frame.to_excel(file, index=False, engine="openpyxl")
            case _:
                frame.to_csv(
                    file,
                    index=False,
                    sep=delimiter,
                    decimal=decimal,
                    float_format="%.10g",
                    encoding="utf-8-sig" if byte_order_mark else "utf-8",
                    lineterminator="\n",
                )
