"""One number per neuron, the same in every panel, table and file."""

from __future__ import annotations

from collections.abc import Iterable

EXPLANATION = (
    "A number stands for the same neuron in every panel, table and file. Labelled regions that "
    "were not found have letters."
)


_LETTERS = "abcdefghjkmnpqrstuvwxyz"  # without i, l and o, which look like digits


def neuron_names(count: int) -> list[str]:
    """Return the names of the estimated neurons: their numbers, from 1."""
    return [str(i + 1) for i in range(count)]


def label_names(matches: Iterable[tuple[int, int]], count: int) -> list[str]:
    """Return the names of the labelled regions.

    Examples
    --------
    >>> from thinrank.report.neuron_numbers import label_names
    >>> label_names([(4, 1)], 3)
    ['a', '5', 'b']
    """
    neurons = {label: neuron for neuron, label in matches}
    names, missed = [], 0
    for label in range(count):
        if label in neurons:
            names.append(str(neurons[label] + 1))
        else:
            names.append(_letters(missed))
            missed += 1
    return names


def _letters(index: int) -> str:
    """Return the letters of an index: a, b to z, then aa, ab and so on."""
    more, letter = divmod(index, len(_LETTERS))
    return (_letters(more - 1) if more else "") + _LETTERS[letter]
