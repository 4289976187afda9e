"""Models that ``thinrank fit`` saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import thinrank as tr
from thinrank.cli.exit_codes import UnusableArgumentError
from thinrank.cli.fit import FORMAT
from thinrank.persistence import ModelFileError, read_extra
from thinrank.tables import Encoding


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model and what was stored with it."""

    folder: Path  # the folder
    estimator: Any  # the fitted estimator
    # what ``thinrank fit`` stored; None if the model was saved by ``tr.save``
    record: dict[str, Any] | None

    @property
    def encoding(self) -> Encoding:
        """How columns of files become predictors."""
        if self.record is not None:
            return Encoding.from_json(self.record["encoding"])
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is not None:
            return Encoding([str(name) for name in names], True, {})
        return Encoding([f"x{j}" for j in range(self.estimator.n_features_in_)], False, {})

    @property
    def used(self) -> np.ndarray:
        """Which predictors the model uses, as a mask."""
        mask = np.zeros(self.estimator.n_features_in_, dtype=bool)
        mask[self.estimator.row_support_] = True
        mask[self.estimator.kept_] = True
        return mask


def load_model(folder: Path) -> SavedModel:
    """Load a model and what ``thinrank fit`` stored with it."""
    if not folder.exists():
        raise UnusableArgumentError(f"{folder}: there is no such folder")
    estimator = tr.load(folder)
    if not hasattr(estimator, "row_support_") or not hasattr(estimator, "summary"):
        raise ModelFileError(
            f"{folder} contains a {type(estimator).__name__}, not a regression or classifier"
        )
    record = read_extra(folder).get(FORMAT)
    if record is not None and type(record) is not dict:
        raise ModelFileError(f"{folder} has an invalid record of thinrank fit")
    if record is not None and record.get("version") != 1:
        raise ModelFileError(
            f"{folder} was fitted by a newer version of thinrank, {record.get('thinrank')}"
        )
    data = {} if record is None else record.get("data", {})
    if type(data) is not dict or not all(
        isinstance(data.get(name), (str, type(None))) for name in ("x", "y")
    ):
        raise ModelFileError(f"{folder} has an invalid record of the files that were fitted")
    return SavedModel(folder, estimator, record)
