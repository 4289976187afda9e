"""Damage to the bytes of a file."""

from __future__ import annotations

from fuzz_trial import Trial

_TEXTS = (
    b"\x00",
    b"\xff\xff\xff\xff",
    b"\n",
    b'"',
    b"NaN",
    b"1e999",
    b"\xef\xbb\xbf",
    b"-1",
    b"9" * 30,
)


def damaged(trial: Trial, data: bytes) -> bytes:
    """The data after one to four changes: other bits, missing, added or repeated parts."""
    for _ in range(trial.number(1, 4)):
        data = _changed_once(trial, data)
    return data


def _changed_once(trial: Trial, data: bytes) -> bytes:
    if not data:
        return trial.choice(_TEXTS)
    first = trial.number(0, len(data) - 1)
    last = min(first + trial.number(1, 16), len(data))
    match trial.number(0, 6):
        case 0:  # other bits
            part = bytes(byte ^ (1 << trial.number(0, 7)) for byte in data[first : first + 1])
            return data[:first] + part + data[first + 1 :]
        case 1:  # cut off
            return data[:first]
        case 2:  # left out
            return data[:first] + data[last:]
        case 3:  # repeated
            return data[:last] + data[first:]
        case 4:  # zeros
            return data[:first] + b"\x00" * (last - first) + data[last:]
        case 5:  # other bytes
            return data[:first] + trial.rng.bytes(last - first) + data[last:]
    return data[:first] + trial.choice(_TEXTS) + data[first:]
