"""Write a file completely or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

__all__ = ["check_file", "write_whole"]


def check_file(path: Path | str) -> Path:
    """Raise an OSError unless a file can be written at a path; return the path."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; path must name a file such as report.html")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {path.parent}")
    return path


def write_whole(path: Path | str, text: str) -> Path:
    """Write text to a file; after an error or Ctrl-C the path is as it was.

    Parameters
    ----------
    path : path
        The file, in an existing folder. An earlier one is replaced.
    text : str
        Contents, written as UTF-8.

    Returns
    -------
    path : Path
    """
    path = check_file(path)
    handle, name = tempfile.mkstemp(
        prefix=f".{path.name}.", suffix=".partial", dir=path.absolute().parent
    )
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # mkstemp allows access by the owner only
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    return path
