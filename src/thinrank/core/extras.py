"""Optional libraries, imported when they are needed.

Every import of an optional library goes through :func:`import_optional`, so that the message of a
missing one always names the extra that installs it.
"""

from __future__ import annotations

import importlib.util
from importlib import import_module
from typing import Any

# For each optional library: what needs it (a plural), and the extra of this package in
# pyproject.toml that installs it.
_EXTRAS = {
    "pandas": ("Data frames", "frames"),
    "polars": ("Data frames of polars", "frames"),
    "pyarrow": ("Parquet files", "parquet"),
    "matplotlib": ("Plots", "plot"),
    "jinja2": ("Pages", "report"),
    "markupsafe": ("Pages", "report"),
    "tifffile": ("TIFF files", "calcium"),
    "h5py": ("HDF5 and NWB files", "calcium"),
    "skimage": ("Motion corrections of movies", "register"),
    "pynwb": ("Exports to NWB files", "nwb"),
    "gymnasium": ("Gymnasium environments", "rl"),
    "minari": ("Datasets of Minari", "minari"),
    "dask": ("Arrays and data frames of Dask", "dask"),
    "zarr": ("Zarr arrays", "zarr"),
    "distributed": ("Studies run with Dask", "dask"),
    "pooch": ("Data sets that are downloaded", "data"),
    "torch": ("Fits on a GPU and losses that PyTorch differentiates", "torch"),
    "bed_reader": ("PLINK files", "genotypes"),
    "rdata": ("Data sets of R packages", "data"),
}


def import_optional(module: str) -> Any:
    """Import a module of an optional library."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(missing_message(module)) from error


def is_installed(library: str) -> bool:
    """Whether an optional library can be imported, without importing it."""
    return importlib.util.find_spec(library) is not None


def missing_message(module: str) -> str:
    """The message about a library that is not installed."""
    library = module.partition(".")[0]
    purpose, extra = _EXTRAS[library]
    return (
        f"{purpose} need {library}, which is not installed; "
        f"install it with: pip install 'thinrank[{extra}]'"
    )
