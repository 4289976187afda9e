"""Decisions of a person about neurons, which the page of a movie saves as ``decisions.json``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thinrank.calcium.regions import centres_of
from thinrank.core.files import read_json

DECISIONS = "thinrank decisions"
"""The entry "format" of a file of decisions."""
# Distance in pixels between the centers of a neuron in two fits to the same movie. Fits are
# reproducible up to rounding, and neurons are farther apart.
_NEAR = 1.0
# What an entry must be, and the test of it.
Rule = tuple[str, Callable[[Any], bool]]
_WHOLE: Rule = "a whole number of at least 1", lambda value: type(value) is int and value >= 1
_PLACE: Rule = "a number", lambda value: type(value) in (int, float) and abs(value) < 1e9
_YES_OR_NO: Rule = "true or false", lambda value: isinstance(value, bool)
_ENTRY = {"row": _PLACE, "column": _PLACE, "accepted": _YES_OR_NO, "id": _WHOLE}


@dataclass(frozen=True)
class Decisions:
    """Decisions about the neurons of a movie.

    Attributes
    ----------
    source : str
        The file.
    shape : tuple (n_frames, height, width)
        Shape of the movie.
    numbers : list of int
        Numbers of the neurons on the page, from 1.
    centres : ndarray of shape (n_neurons, 2)
        Row and column of the center of each region.
    accepted : ndarray of bool of shape (n_neurons,)
        Whether each neuron was accepted.
    """

    source: str
    shape: tuple[int, int, int]
    numbers: list[int]
    centres: np.ndarray
    accepted: np.ndarray


def read_decisions(path: Path | str) -> Decisions:
    """Read decisions from a JSON file that was saved on the page of a movie.

    The content is ``{"format": "thinrank decisions", "frames": …, "height": …, "width": …,
    "neurons": [{"id": 1, "row": 10.5, "column": 20.0, "accepted": true}, …]}``.

    Parameters
    ----------
    path : path

    Returns
    -------
    Decisions

    Raises
    ------
    ValueError
        If the file does not have this format. The message names the file and the entry.
    """
    path = Path(path)
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != DECISIONS:
        raise ValueError(
            f"{path}: expected the decisions that the page of a movie saves, with the entry "
            f'"format": "{DECISIONS}"'
        )
    _check(content, dict.fromkeys(("frames", "height", "width"), _WHOLE), str(path))
    entries = content.get("neurons")
    if not isinstance(entries, list):
        raise ValueError(f"{path}: the entry neurons must be a list")
    for i, entry in enumerate(entries):
        _check(entry, _ENTRY, f"{path}: neurons[{i}]")
    numbers = [entry["id"] for entry in entries]
    twice = sorted({number for number in numbers if numbers.count(number) > 1})
    if twice:
        raise ValueError(f"{path}: neuron {twice[0]} has more than one decision")
    centres = np.array([[entry["row"], entry["column"]] for entry in entries], dtype=float)
    accepted = np.array([entry["accepted"] for entry in entries], dtype=bool)
    shape = (content["frames"], content["height"], content["width"])
    return Decisions(str(path), shape, numbers, centres.reshape(-1, 2), accepted)


def _check(entry: Any, rules: dict[str, Rule], name: str) -> None:
    """Raise a ValueError if an entry of the file breaks a rule."""
    if not isinstance(entry, dict):
        raise ValueError(f"{name}: expected an object with id, row, column and accepted")
    for key, (what, good) in rules.items():
        if not good(entry.get(key)):
            raise ValueError(f"{name}: {key} must be {what}, got {entry.get(key)!r:.60}")


def accepted_neurons(
    decisions: Decisions, regions: list[np.ndarray], shape: tuple[int, int, int]
) -> np.ndarray:
    """Indices of the neurons of a fit that were accepted.

    Neurons are recognized by their centers, so that decisions stay valid if others are left out.

    Parameters
    ----------
    decisions : Decisions
        Made on a page of a fit to the same movie with the same settings.
    regions : list of ndarray of shape (n_pixels, 2)
        Rows and columns of the pixels of each neuron of the fit.
    shape : tuple (n_frames, height, width)
        Shape of the movie.

    Returns
    -------
    ndarray of int
        Sorted. Neurons without a decision are not accepted.

    Raises
    ------
    ValueError
        If the decisions are about another movie or another fit. The message names the file.
    """
    check_movie(decisions, shape)
    places = centres_of(regions)
    found: dict[int, bool] = {}
    for number, centre, accepted in zip(
        decisions.numbers, decisions.centres, decisions.accepted.tolist(), strict=True
    ):
        gaps = np.linalg.norm(places - centre, axis=1)
        nearest = int(np.argmin(gaps)) if len(gaps) else -1
        if nearest < 0 or gaps[nearest] > _NEAR or nearest in found:
            raise ValueError(
                f"{decisions.source}: there is no neuron {number} at row {centre[0]:.1f}, column "
                f"{centre[1]:.1f}; use the settings with which the page was made"
            )
        found[nearest] = accepted
    return np.array(sorted(i for i, accepted in found.items() if accepted), dtype=int)


def check_movie(decisions: Decisions, shape: tuple[int, int, int]) -> None:
    """Raise a ValueError if decisions are about a movie of another shape."""
    made, here = ("{} frames of {} × {} pixels".format(*each) for each in (decisions.shape, shape))
    if made != here:
        raise ValueError(f"{decisions.source}: made for a movie of {made}, but this one has {here}")
