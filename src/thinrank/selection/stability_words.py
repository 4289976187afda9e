"""What a table of selection frequencies says, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thinrank.selection.stability_table import AxisSummary, remark

__all__ = ["stable_sentences", "unstable_sentences"]

_NAMED = 12  # names in a sentence
# Fits that select less than this share of the predictors of a model select far fewer: predictors
# of the model then are not stable because there is no place for them.
_FAR_FEWER = 0.8


def stable_sentences(table: Any, shown: Callable[[str], str] = str) -> list[str]:
    """Which predictors and pairs are stable, how many a fit selects, and the bounds.

    Parameters
    ----------
    table : DataFrame
        From :func:`thinrank.selection.stability`.
    shown : callable, default=str
        Shortens a name.

    Returns
    -------
    list of str
    """
    sentences = []
    for axis, kind in (("row", "predictor"), ("pair", "pair")):
        summary = AxisSummary.of_table(table, axis)
        if summary is None:
            continue
        sentences.append(_which(table, summary, kind, shown))
        if axis == "row":
            sentences.append(
                f"A fit selected {summary.mean:.3g} of {summary.among:,} predictors on average."
            )
        told = remark(summary) if summary.says_nothing else _bound(summary, kind)
        sentences += [told] if told else []
    return sentences


def unstable_sentences(
    table: Any, selected: np.ndarray, shown: Callable[[str], str] = str
) -> list[str]:
    """Which predictors of a model are not stable.

    Parameters
    ----------
    table : DataFrame
        From :func:`thinrank.selection.stability`.
    selected : ndarray of int
        Positions of the predictors of the model.
    shown : callable, default=str
        Shortens a name.

    Returns
    -------
    list of str
        Empty if all are stable.
    """
    part = table[table["axis"] == "row"]
    stable = part["stable"].to_numpy(dtype=bool)
    frequency = part["frequency"].to_numpy(dtype=float)
    names = list(part["name"])
    doubtful = selected[~stable[selected]]
    if not len(doubtful):
        return []
    if frequency.sum() < _FAR_FEWER * len(selected):
        return [
            f"The fits to random halves selected {frequency.sum():.3g} of {len(part):,} predictors "
            f"on average, and the model has {len(selected):,}: those that are not stable had few "
            "places to be selected for, so this does not say that they are wrong."
        ]
    doubtful = doubtful[np.argsort(frequency[doubtful], kind="stable")]
    listed = _listed([f"{shown(str(names[i]))} ({frequency[i]:.2f})" for i in doubtful])
    verb = "is" if len(doubtful) == 1 else "are"
    return [
        f"{len(doubtful):,} of the {len(selected):,} predictors of the model {verb} not stable: "
        f"random halves of the data often do not select them (with the frequency): {listed}."
    ]


def _which(table: Any, summary: AxisSummary, kind: str, shown: Callable[[str], str]) -> str:
    """The stable names, the most frequent first, and what stable means."""
    attributes = getattr(table, "attrs", {})
    threshold, resamples = attributes.get("threshold"), attributes.get("n_resamples")
    fits = "the fits to random halves of the data"
    if resamples is not None:
        pairs = "1 pair" if resamples == 1 else f"{resamples:,} pairs"
        fits = f"the {2 * resamples:,} fits to {pairs} of random halves of the data"
    share = "" if threshold is None else f"at least {100 * threshold:g} % of "
    meaning = f"selected in {share}{fits}"
    if summary.stable == 0:
        return f"No {kind} is stable ({meaning})."
    part = table[(table["axis"] == summary.axis) & table["stable"]]
    part = part.sort_values("frequency", ascending=False, kind="stable")
    names = [
        f"{shown(str(name))} ({frequency:.2f})"
        for name, frequency in zip(part["name"], part["frequency"], strict=True)
    ]
    title = f"Stable {kind}{'' if summary.stable == 1 else 's'}"
    meaning = meaning if summary.axis == "row" else "with the frequency"
    return f"{title} ({meaning}): {_listed(names)}."


def _bound(summary: AxisSummary, kind: str) -> str:
    """The bound on wrong ones, if it says something."""
    if summary.stable == 0 or np.isnan(summary.bound):
        return ""
    text = (
        f"Expected number of wrong {kind}s among the {summary.stable:,} stable: at most "
        f"{summary.bound:.2g}"
    )
    if summary.unimodal_bound < summary.bound:
        text += f", or {summary.unimodal_bound:.2g} under the unimodal assumption"
    return f"{text}."


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
