"""Models that ``thinrank fit`` saved: the record, the data of the fit, findings and stability."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import thinrank as tr
from thinrank.cli.running import Output, UnusableArgumentError
from thinrank.cli.training_data import DataRequest, TrainingData, load_data
from thinrank.core.files import atomic_file
from thinrank.core.imports import import_optional
from thinrank.persistence import ModelFileError, read_extra
from thinrank.persistence.files import ARRAYS, DOCUMENT
from thinrank.selection.stability import AxisSummary, remark
from thinrank.tables import Encoding, TableError, checksum
from thinrank.tables.write import as_written, plain_text

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "thinrank fit"
"""Key of what the command stores with a model."""


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


def reread_data(model: SavedModel, x: Path | None, y: Path | None) -> TrainingData | str:
    """The data that a model was fitted to."""
    if model.record is None:
        return "the model was not fitted by thinrank fit"
    stored = model.record["data"]
    request = DataRequest.from_json(stored, model.folder)
    if x is not None:
        files = {"x": str(x), "y": None if y is None else str(y)}
        request = DataRequest(**{**request.__dict__, **files})
    else:
        reason = _changed(request, stored["sha256"])
        if reason is not None:
            return reason
    data = load_data(request, Output(quiet=True))
    if (
        data.encoding.names != model.encoding.names
        or data.response_names != model.record["responses"]
    ):
        raise TableError("has other columns than the data of the fit", file=request.x)
    return data


def _changed(request: DataRequest, checksums: dict[str, str | None]) -> str | None:
    """Why the files are not those of the fit; None if they are."""
    for path, known in ((request.x, checksums["x"]), (request.y, checksums["y"])):
        if path is None:
            continue
        if not Path(path).is_file():
            return f"{Path(path).name} is not where it was"
        if checksum(path) != known:
            return f"{Path(path).name} has changed since the fit"
    return None


def check_not_data(out: Path, model: SavedModel, *files: Path | None) -> None:
    """Raise an error if an output would replace an input, the data of the fit, or the model."""
    data = {} if model.record is None else model.record["data"]
    names = [DOCUMENT, ARRAYS, *(data[name] for name in ("x", "y") if data.get(name))]
    for file in (*(model.folder / name for name in names), *files):
        if file is not None and out.exists() and file.exists() and out.samefile(file):
            raise UnusableArgumentError(
                f"{out} is a file of the data or of the model, which is never replaced"
            )


def as_json(estimator: Any) -> dict[str, Any]:
    """The findings of a fitted estimator.

    Numbers that are not finite are None.
    """
    summary = estimator.summary()
    predictors, responses = list(summary.predictor_names), list(summary.response_names)
    held_out = estimator.held_out_r2_
    return {
        "estimator": type(estimator).__name__,
        "n_samples": int(summary.n_samples),
        "n_predictors": len(predictors),
        "n_responses": len(responses),
        "rank": int(estimator.rank_),
        "predictors": [str(predictors[j]) for j in estimator.row_support_],
        "responses": [str(responses[j]) for j in estimator.column_support_],
        "kept": [str(predictors[j]) for j in estimator.kept_],
        "parameters": finite(estimator.best_params_),
        "explained_variance_ratio": finite(estimator.explained_variance_ratio_),
        "r2": finite(dict(zip(responses, estimator.r2_, strict=True))),
        "held_out_r2": None
        if held_out is None
        else finite(dict(zip(responses, held_out, strict=True))),
        # baselines have none
        "status": str(estimator.status_) if hasattr(estimator, "status_") else None,
        "sentences": list(summary.sentences),
        "cautions": list(summary.cautions),
    }


def finite(value: Any) -> Any:
    """A value as JSON can hold it: no arrays, and None in place of NaN and infinity."""
    if isinstance(value, dict):
        return {str(name): finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    if isinstance(value, np.ndarray):
        return finite(value.tolist())
    if isinstance(value, np.generic):
        return finite(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


FILE = "stability.csv"
"""Name of the file."""

_ABOUT = ("threshold", "n_resamples", "model")  # the same value in every row
_NAMES = ("name", "predictor", "response")
_TEXTS = ("axis", *_NAMES, "model")


def write_stability(table: pd.DataFrame, folder: Path) -> Path:
    """Write a table into the folder of a model, with a checksum of the model it is about."""
    about = [table.attrs["threshold"], table.attrs["n_resamples"], _identity(folder)]
    full = table.assign(**dict(zip(_ABOUT, about, strict=True)))
    full[list(_NAMES)] = full[list(_NAMES)].map(plain_text)
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
        full[list(_NAMES)] = full[list(_NAMES)].map(as_written)
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
