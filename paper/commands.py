"""The command that reproduces one study, from a command that may have run several."""

from __future__ import annotations

import shlex

from paper.registry import study_names

_START = ["python", "-m", "paper"]
# Options that are followed by a value, which may look like a study.
_WITH_VALUE = ("--jobs", "--executor", "--out", "--limit", "--scheduler")


def own_command(name: str, typed: str = "") -> str:
    """Return the command for one study, with the options that were typed.

    Examples
    --------
    >>> from paper.commands import own_command
    >>> own_command("noise", "python -m paper table1 noise --out results")
    'python -m paper noise --out results'
    """
    words = _words(typed) or _START
    if words[: len(_START)] != _START:
        return typed
    studies = {"all", *study_names()}
    options, is_value = [], False
    for word in words[len(_START) :]:
        if is_value or word not in studies:
            options.append(word)
        is_value = word in _WITH_VALUE and not is_value
    return shlex.join([*_START, name, *options])


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quotation mark without a partner: recorded before words were quoted
        return command.split()
