"""Libraries for files of movies and results, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["require"]

_EXTRAS = {
    "tifffile": ("TIFF files", "calcium"),
    "h5py": ("HDF5 and NWB files", "calcium"),
    "pynwb": ("writing NWB files", "nwb"),
}


def require(library: str) -> Any:
    """Import an optional library, or raise an ImportError that names the extra.

    Parameters
    ----------
    library : {"tifffile", "h5py", "pynwb"}
    """
    try:
        return import_module(library)
    except ImportError as error:
        purpose, extra = _EXTRAS[library]
        raise ImportError(
            f"{purpose} need {library}, which is not installed; "
            f"install it with: pip install 'thinrank[{extra}]'"
        ) from error
