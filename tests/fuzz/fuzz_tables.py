"""Tables: text, NumPy and Parquet files, whole and damaged."""

from __future__ import annotations

import datetime
import decimal
import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fuzz_bytes import damaged
from fuzz_trial import Trial, unchanged

from thinrank.tables import ReadOptions, read_table, write_table

_CELLS = (
    "1", "-2.5", "3e2", "0", "1,5", "1.234,5", "1e400", "-1e-400", "inf", "-Inf", "nan", "NA", "",
    " ", "abc", "0x10", "1_000", "٣", "½", '"', '""', '"a,b"', '"a\nb"', "'", "\x00", "😀", "=1+1",
    "TRUE", "2020-01-01", "a" * 300, "9" * 400, "1;2", "\t", "\ufeff", "[red]", "--", "#", "1 2",
)  # fmt: skip
_NAMES = ("id", "a", "b", "a", "", " ", "x1", "1", "ä", '"q"', "<script>", "a,b", "\x00", "n" * 200)
_SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".dat", ".csv.gz", ".tsv.gz", ".npy", ".npz",
             ".parquet", ".pq", ".xlsx", ".CSV", "")  # fmt: skip
_ENCODINGS = ("utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-32", "cp1252")


def read_a_table(trial: Trial) -> None:
    """Write a table, damage it in a part of the cases, and read it."""
    path = write_some_table(trial, "table")
    options = _options(trial)
    trial.note(f"options: {options!r}")
    with unchanged(trial.folder):
        table = read_table(path, options, prefix=trial.choice("xy"))
    if trial.chance(0.3):
        place = trial.folder / ("copy" + trial.choice((".csv", ".tsv", ".parquet", ".npy")))
        index = table.index if trial.chance(0.5) else None
        write_table(place, table.names, list(table.numbers.T), index)


def write_some_table(trial: Trial, stem: str) -> Path:
    """Write a file with random content, whose suffix tells the truth in most cases."""
    suffix = trial.choice(_SUFFIXES)
    format_of = suffix if trial.chance(0.95) else trial.choice(_SUFFIXES)
    data = _content(trial, format_of.lower())
    if trial.chance(0.35):
        data = damaged(trial, data)
    path = trial.folder / (stem + suffix)
    path.write_bytes(data)
    trial.note(f"{path.name}: {data[:400]!r}")
    return path


def _content(trial: Trial, suffix: str) -> bytes:
    if suffix == ".npy":
        return _npy(trial)
    if suffix == ".npz":
        return _npz(trial)
    if suffix in (".parquet", ".pq"):
        return _parquet(trial)
    data = text_table(trial)
    return gzip.compress(data, 1) if suffix.endswith(".gz") else data


def text_table(trial: Trial) -> bytes:
    """A delimited text, most of it numbers."""
    delimiter, end = trial.choice(",,,;\t| "), trial.choice(("\n", "\n", "\r\n", "\r"))
    rows, columns = trial.number(0, 8), trial.number(0, 6)
    oddness = trial.choice((0.0, 0.02, 0.1, 0.5))
    lines = []
    if trial.chance(0.8):
        plain = [f"c{j}" for j in range(columns)]
        lines.append([trial.choice(_NAMES) if trial.chance(oddness) else name for name in plain])
    for i in range(rows):
        width = columns if trial.chance(0.97) else trial.number(0, 8)
        cells = [f"{trial.rng.standard_normal():.3g}" for _ in range(width)]
        cells = [trial.choice(_CELLS) if trial.chance(oddness) else cell for cell in cells]
        if cells and i % 2 == 0 and trial.chance(0.1):
            cells[0] = f"s{i}"
        lines.append(cells)
    text = end.join(delimiter.join(cells) for cells in lines) + (end if trial.chance(0.8) else "")
    encoding = "utf-8" if trial.chance(0.8) else trial.choice(_ENCODINGS)
    return text.encode(encoding, errors="replace")


def array_of_any_type(trial: Trial) -> np.ndarray:
    """A small array; most are matrices of floats."""
    shape = (trial.number(1, 6), trial.number(1, 5))
    if trial.chance(0.3):
        shape = trial.choice(((), (0,), (3,), (0, 2), (2, 0), (2, 2, 2), (1, 1, 1, 1), (3, 3)))
    values = np.asarray(trial.rng.standard_normal(shape))
    if trial.chance(0.1):
        values = np.where(trial.rng.random(shape) < 0.2, trial.choice((np.nan, np.inf)), values)
    if trial.chance(0.4):
        types = ("f2", "f4", ">f8", "i1", "i8", "u8", "?", "c16", "S3", "U4", "O", "M8[s]", "m8[D]",
                 "g", [("a", "f8"), ("b", "i4")], "V4")  # fmt: skip
        kind = trial.choice(types)
        if isinstance(kind, list):
            return np.zeros(shape, dtype=kind)
        if kind == "V4":
            return np.zeros(shape, dtype="V4")
        return np.nan_to_num(values).astype(kind)
    return np.asfortranarray(values) if trial.chance(0.2) else np.asarray(values)


def _npy(trial: Trial) -> bytes:
    out = io.BytesIO()
    np.save(out, array_of_any_type(trial), allow_pickle=True)
    return out.getvalue()


def _npz(trial: Trial) -> bytes:
    out = io.BytesIO()
    names = [trial.choice(("x", "y", "X", "Y", "data", "names", "index", "columns", "a/b", ""))
             for _ in range(trial.number(0, 3))]  # fmt: skip
    save = trial.choice((np.savez, np.savez_compressed))
    save(out, **{name: array_of_any_type(trial) for name in names})
    return out.getvalue()


def _parquet(trial: Trial) -> bytes:
    rows = trial.number(0, 6)
    frame = pd.DataFrame(
        {f"{trial.choice(_NAMES)}{j}": _column(trial, rows) for j in range(trial.number(0, 5))}
    )
    if trial.chance(0.3) and rows:
        frame.index = pd.Index([f"s{i}" for i in range(rows)], name=trial.choice(("id", None)))
    out = io.BytesIO()
    frame.to_parquet(out)
    return out.getvalue()


def _column(trial: Trial, rows: int) -> Any:
    numbers = trial.rng.standard_normal(rows)
    match trial.number(0, 13):
        case 0:
            return pd.Series([trial.choice(("a", "b", None)) for _ in range(rows)], dtype=object)
        case 1:
            return pd.Categorical([trial.choice(("u", "v")) for _ in range(rows)])
        case 2:
            return numbers > 0
        case 3:
            return pd.Series([datetime.datetime(2020, 1, 1)] * rows)
        case 4:
            return pd.Series([[1, 2]] * rows, dtype=object)
        case 5:
            return pd.Series([{"a": 1}] * rows, dtype=object)
        case 6:
            return pd.Series([decimal.Decimal("1.5")] * rows, dtype=object)
        case 7:
            return pd.Series([None] * rows, dtype=object)
        case 8:
            return pd.array([trial.choice((1, None)) for _ in range(rows)], dtype="Int64")
        case 9:
            return pd.Series([b"\xff"] * rows, dtype=object)
        case 10:
            return np.where(numbers > 0, np.inf, numbers)
        case 11:
            return np.full(rows, 2**63, dtype="u8")
    return numbers


def _options(trial: Trial) -> ReadOptions | None:
    if trial.chance(0.5):
        return None
    some = {"c0", "c1", "id", "a", ""}
    return ReadOptions(
        header=trial.choice((None, None, True, False)),
        index=trial.choice((None, None, False, "id", "c0", "missing", "")),
        index_required=trial.chance(0.7),
        categorical=frozenset(some if trial.chance(0.2) else ()),
        delimiter=trial.choice((None, None, ",", ";", "\t", "|")),
        decimal=trial.choice((None, None, ".", ",")),
        encoding=trial.choice((None, None, *_ENCODINGS, "ascii", "no such encoding")),
        wanted=None if trial.chance(0.8) else frozenset(some),
        dropped=frozenset(some if trial.chance(0.1) else ()),
        fitted=trial.chance(0.2),
    )
