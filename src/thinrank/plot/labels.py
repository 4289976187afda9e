"""Names as labels: the strongest ones, shortened, never read as formulas, never overlapping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.text import Text

WIDTH = 28
"""Largest number of characters of a label."""


def shorten(name: object, width: int = WIDTH) -> str:
    """A name in one line, with its middle replaced by "…" if it is long.

    Both ends are kept, since long names often share a beginning and differ at the end.

    Examples
    --------
    >>> shorten("expression of the ribosomal protein L7", width=20)
    'expression…rotein L7'
    """
    text = " ".join(str(name).split())
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def names_at(names: Sequence[object], index: Iterable[int], width: int = WIDTH) -> list[str]:
    """Short names of some positions; those that became equal have their position added."""
    index = list(index)
    short = [shorten(names[i], width) for i in index]
    times = Counter(short)
    return [
        text if times[text] == 1 else f"{shorten(names[i], width - len(f' [{i}]'))} [{i}]"
        for i, text in zip(index, short, strict=True)
    ]


def strongest(strength: np.ndarray, most: int) -> np.ndarray:
    """Positions of the largest values, at most ``most``, the largest first; zeros are left out.

    Shapes: ``strength`` (n,).
    """
    order = np.argsort(-strength, kind="stable")[:most]
    return order[strength[order] > 0]


def shown_of(kind: str, shown: int, total: int) -> str:
    """The label of an axis of names, which says when some are not shown.

    Examples
    --------
    >>> shown_of("predictor", 40, 812)
    'predictor (strongest 40 of 812 shown)'
    >>> shown_of("predictor", 12, 12)
    'predictor'
    """
    return kind if shown >= total else f"{kind} (strongest {shown:,} of {total:,} shown)"


def plural(noun: str) -> str:
    """The plural of "predictor", "response" or "class"."""
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def as_written(texts: Iterable[Text]) -> None:
    """Show texts as they are: a name with dollar signs is not a formula."""
    for text in texts:
        text.set_parse_math(False)


def apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions at least a gap apart and close to the given ones, in the same order.

    Labels that would overlap are spread around their mean and moved inside the limits. If they
    do not fit, they are spaced evenly over the whole range.

    Examples
    --------
    >>> apart([1.0, 5.0, 1.0], gap=1.0, low=0.0, high=6.0)
    [0.5, 5.0, 1.5]
    """
    count = len(places)
    order = sorted(range(count), key=lambda i: places[i])
    if count > 1 and (count - 1) * gap >= high - low:
        even = np.linspace(low, high, count)
        return [float(even[order.index(i)]) for i in range(count)]
    groups: list[tuple[float, list[int]]] = []  # lowest position, members from low to high
    for i in order:
        groups.append((_lowest([places[i]], gap, low, high), [i]))
        while len(groups) > 1:
            (first, below), (second, above) = groups[-2:]
            if first + gap * len(below) <= second:
                break
            both = [*below, *above]
            groups[-2:] = [(_lowest([places[j] for j in both], gap, low, high), both)]
    found = [0.0] * count
    for lowest, members in groups:
        for step, i in enumerate(members):
            found[i] = lowest + step * gap
    return found


def _lowest(places: Sequence[float], gap: float, low: float, high: float) -> float:
    """The lowest position of a group that is centred at its mean, inside the limits."""
    span = gap * (len(places) - 1)
    return float(min(max(sum(places) / len(places) - span / 2, low), max(high - span, low)))
