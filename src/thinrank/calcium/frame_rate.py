"""The frame rate that a microscope wrote into a TIFF file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thinrank.calcium.errors import MovieError
from thinrank.calcium.readers import collected_log
from thinrank.core.imports import import_optional

# Names of the frame rate in ScanImage: since version 5 (2015), version 4, and version 3.
_NAMES = ("SI.hRoiManager.scanFrameRate", "scanimage.SI4.scanFrameRate", "state.acq.frameRate")
_SUFFIXES = (".tif", ".tiff")


def may_have_frame_rate(path: Path | str) -> bool:
    """Whether the kind of a file can have a frame rate that is read: TIFF."""
    return Path(path).suffix.lower() in _SUFFIXES


def read_frame_rate(path: Path | str) -> float | None:
    """The number of frames per second in the metadata of ScanImage.

    Parameters
    ----------
    path : path
        A TIFF file of ScanImage 3 or later. It is ``SI.hRoiManager.scanFrameRate`` or, in older
        versions, ``state.acq.frameRate``.

    Returns
    -------
    float or None
        None if the file has no such entry, or is no TIFF file.

    Raises
    ------
    MovieError
        If the file cannot be read.
    """
    path = Path(path)
    if not may_have_frame_rate(path):
        return None
    tifffile = import_optional("tifffile")
    try:
        with collected_log("tifffile"), tifffile.TiffFile(path) as tiff:
            if not len(tiff.pages):
                raise MovieError(str(path), "is corrupt or contains no image")
            return next(filter(None, map(_rate, _texts(tiff))), None)
    except (FileNotFoundError, MovieError):
        raise
    except Exception as error:  # tifffile raises many kinds, down to struct.error
        raise MovieError(
            str(path), f"is corrupt, truncated or not a TIFF file ({error})"
        ) from error


def _texts(tiff: Any) -> Iterator[str]:
    """The places where ScanImage writes metadata, as text."""
    data = tiff.scanimage_metadata or {}
    for values in data.values():
        if isinstance(values, dict):
            yield "\n".join(f"{name} = {value}" for name, value in values.items())
    page = tiff.pages.first
    yield str(page.software)
    yield str(page.description)


def _rate(text: str) -> float | None:
    """The frame rate in a text of lines ``name = value``."""
    text = text.replace("\r", "\n")  # version 3 ends lines with a carriage return
    for name in _NAMES:
        found = re.search(rf"^\s*{re.escape(name)}\s*=\s*(\S+)", text, re.MULTILINE)
        if found:
            try:
                value = float(found[1])
            except ValueError:
                continue
            if math.isfinite(value) and value > 0:
                return value
    return None
