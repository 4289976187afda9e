"""Checks, before any work, that results can be written where the user wants them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import typer


def check_output_folder(folder: Path, option: str = "--out") -> None:
    """Raise a usage error unless files can be written to a folder, which need not exist."""
    place = folder.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise typer.BadParameter(f"{place} is a file, not a folder", param_hint=option)
    try:
        # asks the file system, which may be read-only whatever the permissions say
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise typer.BadParameter(
            f"cannot write to {place}: {error.strerror}", param_hint=option
        ) from error


def check_output_file(path: Path, option: str = "--out") -> None:
    """Raise a usage error unless a file can be written or replaced."""
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder, expected a file", param_hint=option)
    if not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {path.parent}", param_hint=option)
    check_output_folder(path.absolute().parent, option)


def check_new_file(path: Path, overwrite: bool, option: str = "--out") -> None:
    """Raise a usage error unless a file can be written, or replaced if it exists."""
    check_output_file(path, option)
    if path.exists() and not overwrite:
        raise typer.BadParameter(f"{path} exists; use --overwrite to replace it", param_hint=option)
