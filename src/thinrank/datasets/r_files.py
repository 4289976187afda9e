"""Reading the data files of R packages (.rda, .RData)."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thinrank.core.imports import import_optional


class NamedMatrix(NamedTuple):
    """A numeric matrix or data frame of R."""

    values: np.ndarray  # (n_rows, n_columns) the numbers; NaN for NA
    rows: list[str] | None  # names of the rows
    columns: list[str]  # names of the columns


def read_r_file(path: Path) -> dict[str, Any]:
    """Read all objects of an R data file."""
    rdata = import_optional("rdata")
    with warnings.catch_warnings():
        # Old files do not state the encoding of names; those read here are ASCII.
        warnings.filterwarnings("ignore", "Unknown encoding")
        # Classes of other R packages: the underlying lists are what is needed.
        warnings.filterwarnings("ignore", "Missing constructor")
        objects: dict[str, Any] = rdata.read_rda(str(path))
    return objects


def named_matrix(found: Any) -> NamedMatrix:
    """Convert a matrix (a DataArray of xarray) or a data frame (of pandas)."""
    if hasattr(found, "columns"):
        values = found.to_numpy(dtype=float, na_value=np.nan)
        return NamedMatrix(values, _texts(found.index), _texts(found.columns))
    rows = _texts(found.coords["dim_0"].values) if "dim_0" in found.coords else None
    return NamedMatrix(
        np.array(found.values, dtype=float), rows, _texts(found.coords["dim_1"].values)
    )


def _texts(names: Any) -> list[str]:
    return [str(name) for name in names]
