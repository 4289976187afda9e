"""Saved models with damaged bytes, other values or other arrays, and correct checksums."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_bytes import damaged
from fuzz_tables import array_of_any_type
from fuzz_trial import Trial, unchanged

import thinrank as tr

_MODELS = Path(__file__).parents[1] / "persistence" / "golden" / "0.1"
_ODD: tuple[Any, ...] = (
    None, True, 0, -1, 3, 2**70, 1.5, -0.0, 1e308, "", "auto", "text", "\x00", [], [1], [[[]]], {},
    {"$type": "array", "name": "nothing"}, {"$type": "array"}, {"$type": "object"}, {"$type": 3},
    {"$type": "object", "class": "Factors", "fields": {}}, {"$type": "float", "value": "nan"},
    {"$type": "tuple", "items": []}, {"$type": "code", "value": "print(1)"}, "SparseSVD",
    "os.system",
)  # fmt: skip


def golden_models() -> list[Path]:
    """The folders of the saved models that the tests of persistence have."""
    return sorted(each for each in _MODELS.iterdir() if each.is_dir())


def load_a_model(trial: Trial) -> None:
    """Damage a saved model, load it and, where that succeeds, use it."""
    original = trial.choice(golden_models())
    folder = trial.folder / "model"
    shutil.copytree(original, folder)
    trial.note(original.name)
    match trial.number(0, 9):
        case 0 | 1 | 2:
            _damage(trial, folder)
        case 3 | 4 | 5 | 6:
            for _ in range(trial.number(1, 2)):
                change_value(trial, folder)
        case _:
            _change_array(trial, folder)
    with unchanged(trial.folder):
        model = tr.load(folder)
        if trial.chance(0.3):
            tr.persistence.read_extra(folder)
    _use(model)


def _use(model: Any) -> None:
    repr(model)
    if hasattr(model, "predict") and hasattr(model, "n_features_in_"):
        model.predict(np.zeros((2, model.n_features_in_)))


def _damage(trial: Trial, folder: Path) -> None:
    file = folder / trial.choice(("model.json", "arrays.npz"))
    if trial.chance(0.05):
        file.unlink()
        return
    data = damaged(trial, file.read_bytes())
    file.write_bytes(data)
    if trial.chance(0.7) and file.name == "arrays.npz":
        _sign(folder, json.loads((folder / "model.json").read_text()))


def change_value(trial: Trial, folder: Path) -> None:
    """Put another value at a random place of the document, or take one away."""
    document = json.loads((folder / "model.json").read_text())
    holder: Any = document
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = trial.choice(keys)
        inner = holder[key]
        if not isinstance(inner, (dict, list)) or not inner or trial.chance(0.1):
            break
        holder = inner
    if key == "checksum":
        return
    new = trial.choice(_ODD)
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
    if not members:
        return
    name = trial.choice(sorted(members))
    members[name] = _other(trial, members[name])
    trial.note(f"array {name}: {members[name][:150]!r}")
    with zipfile.ZipFile(path, "w", trial.choice((0, 0, 8))) as archive:
        for each, data in members.items():
            archive.writestr(each, data)
    _sign(folder, json.loads((folder / "model.json").read_text()))


def _other(trial: Trial, data: bytes) -> bytes:
    if trial.chance(0.2):
        return damaged(trial, data)
    array = np.load(io.BytesIO(data), allow_pickle=False)
    match trial.number(0, 7):
        case 0:
            array = array_of_any_type(trial)
        case 1:
            array = array[..., None]
        case 2:
            array = array.ravel()[: trial.number(0, 3)]
        case 3:
            array = np.concatenate([array.ravel(), array.ravel()])
        case 4 if array.dtype.kind == "f":
            array = np.full_like(array, trial.choice((np.nan, np.inf, 1e308, 0.0, -1.0)))
        case 5 if array.dtype.kind in "iu":
            array = np.full_like(array, trial.choice((-1, 0, 99, 2**31 - 1)))
        case 6 if array.dtype.kind in "fiub":
            array = array.astype(trial.choice(("f4", "i8", "U8", "?")))
        case _:
            array = array.T.copy(order="F")
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=True)
    return out.getvalue()


def _sign(folder: Path, document: Any) -> None:
    """Write the document with valid checksums."""
    about, file = document.get("arrays"), folder / "arrays.npz"
    if isinstance(about, dict) and file.exists():
        data = file.read_bytes()
        if about.get("file") == "arrays.npz":
            about |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    document["checksum"] = "0" * 64
    text = json.dumps(document)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "model.json").write_text(text.replace("0" * 64, digest, 1))
