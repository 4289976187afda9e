"""Tables and saved models, whole and damaged."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from fuzz_trial import Trial, unchanged

import thinrank as tr
from thinrank.tables import ReadOptions, read_table, write_table

_TEXTS = (b"\x00", b"\xff\xff\xff\xff", b"\n", b'"', b"NaN", b"1e999", b"\xef\xbb\xbf", b"9" * 30)


def damaged(trial: Trial, data: bytes) -> bytes:
    """The data after one to four changes: other bits, missing, added or repeated parts."""
    for _ in range(trial.number(1, 4)):
        first = trial.number(0, max(len(data) - 1, 0))
        last = min(first + trial.number(1, 16), len(data))
        middle, rest = data[first:last], data[last:]
        data = data[:first] + trial.choice((
            bytes(byte ^ (1 << trial.number(0, 7)) for byte in middle[:1]) + middle[1:] + rest,
            b"",  # cut off
            rest,  # left out
            middle + middle + rest,
            b"\x00" * len(middle) + rest,
            trial.rng.bytes(len(middle)) + rest,
            trial.choice(_TEXTS) + middle + rest,
        ))  # fmt: skip
    return data


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
        if isinstance(kind, list) or kind == "V4":
            return np.zeros(shape, dtype=kind)
        return np.asarray(np.nan_to_num(values)).astype(kind)
    return np.asfortranarray(values) if trial.chance(0.2) else values


def _npz(trial: Trial, arrays: dict[str, np.ndarray]) -> bytes:
    out = io.BytesIO()
    trial.choice((np.savez, np.savez_compressed))(out, **arrays)
    return out.getvalue()


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=True)
    return out.getvalue()


# ------------------------------------------------------------------------------------- tables

_CELLS = (
    "1", "-2.5", "3e2", "1,5", "1.234,5", "1e400", "-1e-400", "inf", "nan", "NA", "", " ", "abc",
    "0x10", "1_000", "٣", "½", '"', '""', '"a,b"', '"a\nb"', "'", "\x00", "😀", "=1+1", "TRUE",
    "2020-01-01", "a" * 300, "9" * 400, "1;2", "\t", "\ufeff", "[red]", "--", "#", "1 2",
)  # fmt: skip
_NAMES = ("id", "a", "b", "a", "", " ", "1", "ä", '"q"', "<script>", "a,b", "\x00", "n" * 200)
_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".npy", ".npz", ".parquet", ".xlsx", ".CSV", "")
_ENCODINGS = ("utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-32", "cp1252")


def read_a_table(trial: Trial) -> None:
    """Write a table, damage it in a part of the cases, read it, and write it again."""
    suffix = trial.choice(_SUFFIXES)
    data = _table(trial, suffix if trial.chance(0.95) else trial.choice(_SUFFIXES))
    if trial.chance(0.35):
        data = damaged(trial, data)
    path = trial.folder / ("table" + suffix)
    path.write_bytes(data)
    options = _read_options(trial)
    trial.note(f"{path.name}: {data[:400]!r}, options: {options!r}")
    with unchanged(trial.folder):
        table = read_table(path, options, prefix=trial.choice("xy"))
    if trial.chance(0.3):
        place = trial.folder / ("copy" + trial.choice((".csv", ".tsv", ".parquet", ".npy")))
        write_table(place, table.select_dtypes("number"))


def _table(trial: Trial, suffix: str) -> bytes:
    if suffix == ".npy":
        return _npy(array_of_any_type(trial))
    if suffix == ".npz":
        names = [trial.choice(("x", "y", "X", "data", "names", "index", "a/b", ""))
                 for _ in range(trial.number(0, 3))]  # fmt: skip
        return _npz(trial, {name: array_of_any_type(trial) for name in names})
    if suffix == ".parquet":
        return _parquet(trial)
    data = _text_table(trial)
    return gzip.compress(data, 1) if suffix.endswith(".gz") else data


def _text_table(trial: Trial) -> bytes:
    """A delimited text, most of it numbers."""
    delimiter, end = trial.choice(",,,;\t| "), trial.choice(("\n", "\n", "\r\n", "\r"))
    columns, oddness = trial.number(0, 6), trial.choice((0.0, 0.02, 0.1, 0.5))
    lines = []
    if trial.chance(0.8):
        plain = [f"c{j}" for j in range(columns)]
        lines.append([trial.choice(_NAMES) if trial.chance(oddness) else name for name in plain])
    for _ in range(trial.number(0, 8)):
        width = columns if trial.chance(0.97) else trial.number(0, 8)
        cells = [f"{trial.rng.standard_normal():.3g}" for _ in range(width)]
        lines.append([trial.choice(_CELLS) if trial.chance(oddness) else cell for cell in cells])
    text = end.join(delimiter.join(cells) for cells in lines) + (end if trial.chance(0.8) else "")
    encoding = "utf-8" if trial.chance(0.8) else trial.choice(_ENCODINGS)
    return text.encode(encoding, errors="replace")


def _parquet(trial: Trial) -> bytes:
    numbers = trial.rng.standard_normal(trial.number(0, 6))
    odd = ("a", None, [1, 2], {"a": 1}, b"\xff", pd.Timestamp("2020-01-01"), np.inf, True)
    columns = {}
    for j in range(trial.number(0, 5)):
        column = pd.Series([trial.choice(odd)] * len(numbers)) if trial.chance(0.2) else numbers
        columns[f"{trial.choice(_NAMES)}{j}"] = column
    out = io.BytesIO()
    pd.DataFrame(columns).to_parquet(out)
    return out.getvalue()


def _read_options(trial: Trial) -> ReadOptions | None:
    if trial.chance(0.5):
        return None
    return ReadOptions(
        header=trial.choice((None, None, True, False)),
        index=trial.choice((None, None, False, "id", "c0", "missing", "")),
        delimiter=trial.choice((None, None, ",", ";", "\t", "|")),
        decimal=trial.choice((None, None, ".", ",")),
        encoding=trial.choice((None, None, *_ENCODINGS, "ascii", "no such encoding")),
    )


# ------------------------------------------------------------------------------- saved models

_MODELS = Path(__file__).parents[1] / "persistence" / "golden" / "0.1"
_ODD_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 3, 2**70, 1.5, -0.0, 1e308, "", "auto", "text", "\x00", [], [1], [[[]]], {},
    {"$type": "array", "name": "nothing"}, {"$type": "array"}, {"$type": "object"}, {"$type": 3},
    {"$type": "object", "class": "Factors", "fields": {}}, {"$type": "float", "value": "nan"},
    {"$type": "tuple", "items": []}, {"$type": "code", "value": "print(1)"}, "SparseSVD",
    "os.system",
)  # fmt: skip


def load_a_model(trial: Trial) -> None:
    """Damage a saved model, load it and, where that succeeds, use it."""
    original = trial.choice(sorted(each for each in _MODELS.iterdir() if each.is_dir()))
    folder = Path(shutil.copytree(original, trial.folder / "model"))
    trial.note(original.name)
    trial.choice((_damage, _change_value, _change_array))(trial, folder)
    with unchanged(trial.folder):
        model = tr.load(folder)
        tr.persistence.read_extra(folder)
    repr(model)
    if hasattr(model, "predict") and hasattr(model, "n_features_in_"):
        model.predict(np.zeros((2, model.n_features_in_)))


def _damage(trial: Trial, folder: Path) -> None:
    file = folder / trial.choice(("model.json", "arrays.npz"))
    if trial.chance(0.05):
        file.unlink()
        return
    file.write_bytes(damaged(trial, file.read_bytes()))
    if trial.chance(0.7) and file.name == "arrays.npz":
        _sign(folder, json.loads((folder / "model.json").read_text()))


def _change_value(trial: Trial, folder: Path) -> None:
    """Put another value at a random place of the document, or take one away."""
    document = json.loads((folder / "model.json").read_text())
    holder: Any = document
    while True:
        key = trial.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        inner = holder[key]
        if not isinstance(inner, (dict, list)) or not inner or trial.chance(0.1):
            break
        holder = inner
    new = trial.choice(_ODD_VALUES)
    trial.note(f"{key!r}: {inner!r} -> {new!r}"[:200])
    if trial.chance(0.15):
        del holder[key]
    elif isinstance(holder, dict) and trial.chance(0.1):
        holder[trial.choice(("more", "__class__", "coef_", "", "predict"))] = new
    else:
        holder[key] = new
    _sign(folder, document)


def _change_array(trial: Trial, folder: Path) -> None:
    """Replace an array by one of another shape or type, or with other numbers."""
    path = folder / "arrays.npz"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = trial.choice(sorted(members))
    array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    other = trial.choice((
        array_of_any_type(trial), array[..., None], array.ravel()[: trial.number(0, 3)],
        np.concatenate([array.ravel(), array.ravel()]), array.T.copy(order="F"),
    ))  # fmt: skip
    if array.dtype.kind in "fiu" and trial.chance(0.5):
        values = (np.nan, np.inf, 1e308, 0.0, -1.0) if array.dtype.kind == "f" else (0, 1, 99)
        other = np.full_like(array, trial.choice(values))
    members[name] = damaged(trial, members[name]) if trial.chance(0.2) else _npy(other)
    trial.note(f"array {name}: {members[name][:150]!r}")
    with zipfile.ZipFile(path, "w", trial.choice((0, 0, 8))) as archive:
        for each, data in members.items():
            archive.writestr(each, data)
    _sign(folder, json.loads((folder / "model.json").read_text()))


def _sign(folder: Path, document: Any) -> None:
    """Write the document with valid checksums."""
    about, file = document.get("arrays"), folder / "arrays.npz"
    if isinstance(about, dict) and file.exists() and about.get("file") == "arrays.npz":
        data = file.read_bytes()
        about |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    document["checksum"] = "0" * 64
    text = json.dumps(document)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "model.json").write_text(text.replace("0" * 64, digest, 1))


FILES = {
    "tables": read_a_table,
    "load": load_a_model,
}
"""Attempts for readers of files."""
