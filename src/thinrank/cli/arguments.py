"""Values of options: numbers or words, lists of names, and the command as typed."""

from __future__ import annotations

import csv
import shlex
import sys

import typer


def number(text: str, kind: type, words: tuple[str, ...], option: str) -> object:
    """Parse an option that is a number or one of some words."""
    if text in words:
        return text
    try:
        return kind(text)
    except ValueError as error:
        expected = " or ".join(("a whole number" if kind is int else "a number", *words))
        raise typer.BadParameter(f"must be {expected}, not {text!r}", param_hint=option) from error


def size(text: str, option: str, *, unlimited: bool = True) -> int | str | None:
    """Parse a size of the model: a positive whole number, "auto", or "all" for no limit."""
    value = number(text, int, ("auto", "all") if unlimited else ("auto",), option)
    if isinstance(value, int) and value < 1:
        raise typer.BadParameter(f"must be at least 1, got {value}", param_hint=option)
    return None if value == "all" else value  # type: ignore[return-value]


def word(text: str, words: tuple[str, ...], option: str) -> str:
    """Parse an option that is one of some words."""
    if text not in words:
        raise typer.BadParameter(
            f"must be one of {', '.join(words)}, got {text!r}", param_hint=option
        )
    return text


def names_of(texts: list[str] | None) -> list[str]:
    """Parse names that are separated by commas; a name with a comma is put in quotes.

    Examples
    --------
    >>> from thinrank.cli.arguments import names_of
    >>> names_of(["age,sex", '"a, b"'])
    ['age', 'sex', 'a, b']
    """
    cells = [cell for record in csv.reader(texts or [], skipinitialspace=True) for cell in record]
    return list(dict.fromkeys(cell.strip() for cell in cells if cell.strip()))


def typed_command() -> str:
    """The command as the user typed it."""
    return shlex.join(["thinrank", *sys.argv[1:]])
