"""The console of the commands that draw tables."""

from __future__ import annotations

from rich.console import Console


def plain_console() -> Console:
    """A console that prints text as it is: ``[red]`` may be part of a path or of a name."""
    return Console(markup=False, highlight=False, emoji=False)
