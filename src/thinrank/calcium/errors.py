"""The error about movies that cannot be used."""

from __future__ import annotations


class MovieError(ValueError):
    """A movie cannot be used.

    The message begins with the name of the file, or "movie" for an array.
    """

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(f"{name}: {fault}")
        self.name = name
        self.fault = fault

    def __reduce__(self) -> tuple[type[MovieError], tuple[str, str]]:
        return type(self), (self.name, self.fault)  # exceptions are rebuilt from one argument
