"""Responses of a table: numbers, two categories for "bernoulli", several for "multinomial"."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.tables.cells import number_of
from thinrank.tables.errors import TableError, counted, listed, typed_name
from thinrank.tables.table import Table

CATEGORIES = "multinomial"
"""The family of responses that are categories."""
_COUNTS = ("poisson", "negative_binomial")
_YES = ("yes", "y", "true", "t", "1", "positive", "pos", "+", "case", "present")


def check_responses(
    table: Table, families: Mapping[str, str]
) -> tuple[np.ndarray | Any, dict[str, list[str]]]:
    """The responses of a table, as an array, or as a data frame if some are categories.

    And the texts that stand for 0 and 1 of those of the family "bernoulli".
    """
    numbers, pairs = table.numbers.copy(), {}
    for j, (name, missing) in enumerate(zip(table.names, table.missing.T, strict=True)):
        if missing.all():
            raise table.error(
                f"has no observed entry; leave it out with --drop {typed_name(name)}", column=name
            )
        if j in table.texts and families[name] == "bernoulli":
            pairs[name] = _two_texts(table, j)
            numbers[~missing, j] = table.texts[j][~missing] == pairs[name][1]
        elif j in table.texts and families[name] != CATEGORIES:
            raise _text_error(table, j, np.flatnonzero(~missing).tolist())
    if CATEGORIES not in families.values():
        return numbers, pairs
    pandas = import_optional("pandas")
    columns = {}
    for j, name in enumerate(table.names):
        column = table.texts[j] if name not in pairs and j in table.texts else numbers[:, j]
        if families[name] == CATEGORIES and column.dtype.kind == "f":
            column = np.array([None if v != v else f"{v:g}" for v in column], dtype=object)
        columns[name] = column
    return pandas.DataFrame(columns), pairs


def _text_error(table: Table, j: int, observed: list[int]) -> TableError:
    """The error about the first text of a response in the file; rows may be in another order."""
    name, texts = table.names[j], table.texts[j]
    family = shlex.quote(f"{name}=multinomial")
    order = sorted(observed, key=lambda i: int(table.rows[i]))
    wrong = [i for i in order if number_of(texts[i], "," if "," in texts[i] else ".") is None]
    if not wrong:
        return table.error(
            f"has numbers as categories, which need --family {family}; leave out --categories "
            f"{typed_name(name)} if they are numbers",
            column=name,
        )
    return table.error(
        f"expected a number, got {texts[wrong[0]]!r} (for categories give --family {family}; for "
        f"two, such as yes and no, --family {shlex.quote(f'{name}=bernoulli')})",
        wrong[0],
        name,
    )


def missing_entries(table: Table) -> dict[str, int]:
    """The number of missing entries of each response that has any."""
    counts = {
        name: int(count) for name, count in zip(table.names, table.missing.sum(0), strict=True)
    }
    return {name: count for name, count in counts.items() if count}


def response_notes(table: Table, families: Mapping[str, str]) -> list[str]:
    """What a user should know about the entries of the responses, in sentences."""
    notes = []
    missing = missing_entries(table)
    if missing:
        cells = sum(missing.values())
        notes.append(
            f"{counted(cells, 'missing cell')} of responses {'is' if cells == 1 else 'are'} left "
            f"out: {listed(missing)}; the other cells of these rows are used"
        )
    columns = {name: _observed(table, j) for j, name in enumerate(table.names)}
    for family in _COUNTS:
        fractions = {
            name: column[column % 1 != 0]
            for name, column in columns.items()
            if families[name] == family and (column % 1 != 0).any()
        }
        if fractions:
            have = "has" if len(fractions) == 1 else "have"
            notes.append(
                f"{listed(list(fractions))} {have} values that are not whole numbers, such as "
                f"{next(iter(fractions.values()))[0]:g}, but the family {family} is for counts"
            )
    gaussian = [column for name, column in columns.items() if families[name] == "gaussian"]
    whole = all(((column >= 0) & (column % 1 == 0)).all() for column in gaussian)
    if gaussian and whole and max(column.max(initial=0) for column in gaussian) > 1:
        notes.append("responses look like counts: --family poisson fits their logarithm")
    return notes


def _observed(table: Table, j: int) -> np.ndarray:
    column = table.numbers[:, j]
    return column[~np.isnan(column)]


def _two_texts(table: Table, j: int) -> list[str]:
    """The texts that stand for 0 and 1."""
    texts = sorted({text for text in table.texts[j] if text is not None})
    if len(texts) != 2:
        raise table.error(
            f"must have two different texts for the family bernoulli, got {listed(texts)}",
            column=table.names[j],
        )
    return texts[::-1] if texts[0].lower() in _YES else texts
