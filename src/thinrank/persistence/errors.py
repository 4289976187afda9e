"""The error about files that are not a valid model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ModelFileError(ValueError):
    """A model cannot be loaded: its files are damaged, incomplete, unsafe or too new.

    The message names the file and the reason.
    """

    names_place = False  # whether the message says where in the file the error is


class NotStorableError(TypeError):
    """A value that the format has no form for; the message names it."""


@contextmanager
def as_model_file_error(what: str) -> Iterator[None]:
    """Turn every error in a block into a :class:`ModelFileError`.

    Damaged files make the libraries that read them raise errors of many kinds: those of zip
    files and of NumPy, MemoryError and RecursionError among them.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, ModelFileError) and error.names_place:
            raise
        reason = str(error) or type(error).__name__
        placed = ModelFileError(f"{what}: {reason}")
        placed.names_place = True
        raise placed from error
