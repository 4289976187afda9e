"""Tables in plain text, for terminals of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence

# Columns of a terminal.
WIDTH = 80


def text_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()
) -> list[str]:
    """Lines of a table with aligned columns, at most 80 characters wide."""
    table = [list(headers), *(list(row) for row in rows)]
    wide = [max(len(row[j]) for row in table) for j in range(len(headers))]
    texts = [j for j in range(len(headers)) if j not in numbers]
    room = WIDTH - 2 - 2 * (len(headers) - 1) - sum(wide[j] for j in numbers)
    for j in sorted(texts, key=lambda j: wide[j]):
        # narrow columns leave their space to the others
        share = room // sum(1 for i in texts if wide[i] >= wide[j])
        if wide[j] > share:
            for i in texts:
                if wide[i] >= wide[j]:
                    wide[i] = max(share, 4)
            break
        room -= wide[j]
        texts = [i for i in texts if i != j]
    return [_line(row, wide, numbers) for row in table]


def _line(row: Sequence[str], wide: Sequence[int], numbers: Sequence[int]) -> str:
    cells = [
        cell.rjust(width) if j in numbers else shortened(cell, width).ljust(width)
        for j, (cell, width) in enumerate(zip(row, wide, strict=True))
    ]
    return f"  {'  '.join(cells)}".rstrip()


def shortened(text: str, width: int) -> str:
    """The text, with its middle replaced by "…" if it is longer than ``width``."""
    text = " ".join(text.split())  # names may contain line breaks
    if len(text) <= width:
        return text
    left = width // 2
    return f"{text[:left]}…{text[len(text) - (width - left - 1) :]}"
