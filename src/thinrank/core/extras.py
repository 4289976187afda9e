"""Optional libraries, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["require"]

# What needs a library, and the extra of this package that brings it.
_EXTRAS = {
    "pandas": ("Data frames", "frames"),
    "matplotlib": ("Pages and plots", "report"),
    "jinja2": ("Pages and plots", "report"),
    "markupsafe": ("Pages and plots", "report"),
    "tifffile": ("TIFF files", "calcium"),
    "h5py": ("HDF5 and NWB files", "calcium"),
    "pynwb": ("NWB files to be written", "nwb"),
    "gymnasium": ("Environments by name", "rl"),
}


def require(module: str) -> Any:
    """Import a module of an optional library.

    Parameters
    ----------
    module : str
        Such as ``"matplotlib.figure"``.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    ImportError
        If the library is not installed. The message names the extra.
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        purpose, extra = _EXTRAS[library]
        raise ImportError(
            f"{purpose} need {library}, which is not installed; "
            f"install it with: pip install 'thinrank[{extra}]'"
        ) from error
