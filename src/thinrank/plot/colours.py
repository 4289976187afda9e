"""Colours that colour-blind readers can tell apart and that stay readable in print."""

from __future__ import annotations

INK = "#1d1d1f"
"""Text and the most important marks."""
GREY = "#6b6b6b"
"""Reference lines and remarks."""
QUIET = "#c4c4c4"
"""Marks that only give the context of others."""
ACCENT = "#0072b2"
"""Marks of a single kind."""
POSITIVE = "#b2182b"
"""Positive values: an end of :data:`DIVERGING`."""
NEGATIVE = "#2166ac"
"""Negative values: the other end of :data:`DIVERGING`."""
DIVERGING = "RdBu_r"
"""Colour map of signed values, from negative (blue) over zero (white) to positive (red)."""

# The palette of Okabe and Ito (2008) without its yellow, which is hard to see on white paper.
CATEGORIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
"""Colours of categories."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""Markers of categories, in the order of :data:`CATEGORIES`, for print without colour."""
LINE_STYLES = ("-", "--", ":")
"""Styles of lines when there are more lines than colours."""

# Five steps of the map viridis from dark to light; the lightest yellow is left out.
_ORDINAL = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (189, 203, 39))


def ordinal(count: int) -> list[str]:
    """Colours of an ordered quantity, from dark to light."""
    places = [0.0] if count == 1 else [4 * i / (count - 1) for i in range(count)]
    return [
        _between(_ORDINAL[int(place)], _ORDINAL[min(int(place) + 1, 4)], place % 1)
        for place in places
    ]


def by_sign(value: float) -> str:
    """The colour of a positive or negative value."""
    return POSITIVE if value >= 0 else NEGATIVE


def _between(first: tuple[int, ...], second: tuple[int, ...], share: float) -> str:
    mixed = [round(a + share * (b - a)) for a, b in zip(first, second, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed)
