"""The file ``model.json``: its keys, its checksum and its version."""

from __future__ import annotations

import hashlib
import json
import math
import re
from importlib.metadata import version
from typing import Any, NoReturn

from thinrank.persistence.encode import MOST_NESTED
from thinrank.persistence.errors import ModelFileError, as_model_file_error

FORMAT = "thinrank-model"
# Increased when older versions of thinrank could no longer read the files.
FORMAT_VERSION = 1
# Largest size of model.json in bytes. Arrays are not in it; a model with 1,000,000 named
# predictors needs about 20 MB.
MOST_BYTES = 1 << 28
# The checksum is that of the file with these digits in its place.
_NO_CHECKSUM = "0" * 64
_CHECKSUM = re.compile(r"[0-9a-f]{64}")
# Keys of a document and the types of their values.
_KEYS: dict[str, type] = {
    "format": str,
    "format_version": int,
    "thinrank_version": str,
    "checksum": str,
    "arrays": dict,
    "class": str,
    "extra": dict,
}


def write_document(contents: dict[str, Any], arrays: dict[str, Any], extra: Any) -> bytes:
    """The bytes of ``model.json``."""
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "thinrank_version": version("thinrank"),
        "checksum": _NO_CHECKSUM,
        "arrays": arrays,
        **contents,
        "extra": extra,
    }
    lines = [f'"{key}": {json.dumps(value, allow_nan=False)}' for key, value in document.items()]
    text = ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")
    if len(text) > MOST_BYTES:
        raise ValueError(
            f"the model cannot be saved: model.json would have {len(text)} bytes, and at most "
            f"{MOST_BYTES} are allowed"
        )
    digest = hashlib.sha256(text).hexdigest()
    return text.replace(_NO_CHECKSUM.encode(), digest.encode(), 1)


def read_document(text: bytes) -> dict[str, Any]:
    """Parse and check the bytes of ``model.json``."""
    with as_model_file_error("model.json is not valid JSON"):
        document = json.loads(
            text.decode("ascii"), parse_constant=_no_constant, object_pairs_hook=_unique_keys
        )
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelFileError(f"model.json is not a model of thinrank: its format is not {FORMAT!r}")
    _check_version(document)
    for key, kind in _KEYS.items():
        if type(document.get(key)) is not kind:
            raise ModelFileError(f"model.json: {key!r} is missing or is not a {kind.__name__}")
    _check_checksum(document["checksum"], text)
    with as_model_file_error("model.json has invalid values in 'extra'"):
        checked_json(document["extra"], "extra")
    return document


def checked_json(value: Any, path: str, depth: int = 0) -> Any:
    """Check that JSON has a form for a value."""
    if depth > MOST_NESTED:
        raise ValueError(f"{path[:80]} is nested too deeply")
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        if not math.isfinite(value):
            raise ValueError(f"{path} is {value}, which JSON does not have; use None or a string")
        return value
    if kind in (list, tuple):
        return [checked_json(each, f"{path}[{i}]", depth + 1) for i, each in enumerate(value)]
    if kind is dict:
        for key in value:
            if type(key) is not str:
                raise TypeError(f"{path} must have strings as keys, got {key!r}")
        return {k: checked_json(each, f"{path}[{k!r}]", depth + 1) for k, each in value.items()}
    raise TypeError(
        f"{path} must be None, a bool, a number, a string, a list or a dict of these, got "
        f"{kind.__name__}"
    )


def _check_version(document: dict[str, Any]) -> None:
    number, maker = document.get("format_version"), document.get("thinrank_version")
    if type(number) is not int or number < 1:
        raise ModelFileError(f"model.json has an invalid format_version, {str(number)[:80]!r}")
    if number > FORMAT_VERSION:
        raise ModelFileError(
            f"the model was made by thinrank {str(maker)[:80]} (format version {number}); this is "
            f"thinrank {version('thinrank')}, which reads format versions up to {FORMAT_VERSION}: "
            "upgrade thinrank"
        )


def _check_checksum(checksum: str, text: bytes) -> None:
    if _CHECKSUM.fullmatch(checksum) and text.count(checksum.encode()) == 1:
        plain = text.replace(checksum.encode(), _NO_CHECKSUM.encode())
        if hashlib.sha256(plain).hexdigest() == checksum:
            return
    raise ModelFileError(
        "model.json does not match its checksum: it is damaged or was edited. Save the model again"
    )


def _no_constant(name: str) -> NoReturn:
    raise ModelFileError(f"model.json has {name}, which is not JSON")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    answer = dict(pairs)
    if len(answer) != len(pairs):
        raise ModelFileError("model.json has an object in which a key occurs twice")
    return answer
