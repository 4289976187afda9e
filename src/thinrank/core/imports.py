"""What is imported on first use: public names of packages, and optional libraries.

Every import of an optional library goes through :func:`import_optional`, so that the message of a
missing one always names the extra that installs it.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

# For each optional library: what needs it (a plural), and the extra of this package in
# pyproject.toml that installs it.
_EXTRAS = {
    "pandas": ("Data frames", "frames"),
    "polars": ("Data frames of polars", "frames"),
    "openpyxl": ("Excel files", "excel"),
    "pyarrow": ("Parquet files", "parquet"),
    "matplotlib": ("Plots", "plot"),
    "tifffile": ("TIFF files", "calcium"),
    "h5py": ("HDF5 and NWB files", "calcium"),
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


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package with lazy names (PEP 562)."""

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(modules[name])
        value = module if modules[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get, names


def keep_function(package: str, name: str) -> None:
    """Let ``package.name`` be a function, imported on first use, of the module of the same name.

    The import of a module sets an attribute of its package, which would replace the function. A
    property of the package's class is not replaced.
    """

    def get(self: ModuleType) -> object:
        return getattr(import_module(f"{package}.{name}"), name)

    def ignore(self: ModuleType, value: object) -> None:
        """Called when the module is imported."""

    def by_name(self: ModuleType) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        """How to pickle the package, as joblib does with the modules that a script uses."""
        return import_module, (package,)

    module = sys.modules[package]
    kind = type(module)
    members = {name: property(get, ignore), "__reduce__": by_name}
    module.__class__ = type(kind.__name__, (kind,), members)


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
    return f"{purpose} need {library}, which is not installed; {how_to_install(extra)}"


def how_to_install(extra: str) -> str:
    """How to install an extra. On release this becomes ``pip install 'thinrank[…]'``."""
    return f"install it in a clone of thinrank with: python -m pip install '.[{extra}]'"
