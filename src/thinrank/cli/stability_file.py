"""The file ``stability.csv`` in the folder of a model: selection frequencies of half-samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from thinrank.core.files import atomic_file
from thinrank.core.imports import import_optional
from thinrank.persistence.files import ARRAYS
from thinrank.selection.stability import AxisSummary, remark
from thinrank.tables import TableError, checksum

if TYPE_CHECKING:
    import pandas as pd

FILE = "stability.csv"
"""Name of the file."""

_ABOUT = ("threshold", "n_resamples", "model")  # the same value in every row
_TEXTS = ("axis", "name", "predictor", "response", "model")


def write_stability(table: pd.DataFrame, folder: Path) -> Path:
    """Write a table into the folder of a model, with a checksum of the model it is about."""
    about = [table.attrs["threshold"], table.attrs["n_resamples"], _identity(folder)]
    full = table.assign(**dict(zip(_ABOUT, about, strict=True)))
    path = folder / FILE
    with atomic_file(path) as place:
        full.to_csv(place, index=False, float_format="%.10g", lineterminator="\n")
    return path


def read_stability(folder: Path) -> pd.DataFrame | str | None:
    """Read the table of a model.

    Or None if there is no file.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    pandas = import_optional("pandas")
    try:
        full = pandas.read_csv(
            path, dtype=dict.fromkeys(_TEXTS, "object"), keep_default_na=False, na_values=[""]
        )
        about = {name: full[name].iloc[0] for name in _ABOUT}
        table = full.drop(columns=list(_ABOUT)).astype({"stable": bool})
        summaries = [AxisSummary.of_table(table, axis) for axis in ("row", "column", "pair")]
    except (ValueError, KeyError, IndexError) as error:
        raise TableError(
            f"is not a file that thinrank stability wrote ({error}); delete it", file=str(path)
        ) from None
    if about["model"] != _identity(folder):
        return f"{path} is about another model"
    table.attrs["threshold"] = float(about["threshold"])
    table.attrs["n_resamples"] = int(about["n_resamples"])
    remarks = [remark(summary) for summary in summaries]
    table.attrs["remarks"] = [text for text in remarks if text]
    return table


def _identity(folder: Path) -> str:
    """What tells a model from another one: its coefficients and scores."""
    return checksum(folder / ARRAYS)[:16]
