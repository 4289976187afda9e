"""The data of a fit, and models that ``thinrank fit`` saved with the record of the fit."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import thinrank as tr
from thinrank.cli.options import Reading, option_error
from thinrank.cli.running import Output, UnusableArgumentError
from thinrank.persistence import ModelFileError, read_extra
from thinrank.persistence.files import ARRAYS, DOCUMENT
from thinrank.tables import TableError, checksum, read_pair
from thinrank.tables.columns import (
    check_predictors,
    check_responses,
    key_of,
    missing_entries,
    to_frame,
)
from thinrank.tables.encoding import encoded_frame
from thinrank.tables.errors import check_names, did_you_mean, listed
from thinrank.tables.read import read_cells
from thinrank.tables.write import as_written, write_table

FORMAT = "thinrank fit"  # key of what the command stores with a model


@dataclass(frozen=True)
class DataRequest:
    """Which files and columns to read, and how."""

    x: str  # file of the predictors
    y: str | None  # file of the responses; None if they are columns of ``x``
    responses: list[str]  # the responses; all columns of ``y`` if empty
    join: str | None  # column by whose values rows belong together
    categories: list[str]  # columns of categories, even if they are numbers
    drop: list[str]  # columns to leave out
    impute: bool  # whether missing predictors are replaced by means
    family: str  # A family for all responses, or ``response=family`` for some, separated by commas
    reading: Reading

    def to_json(self, folder: Path) -> dict[str, Any]:
        """A dictionary for the model in a folder; paths are relative to that folder."""
        content: dict[str, Any] = {**asdict(self), "sha256": {"x": None, "y": None}}
        for name in ("x", "y"):
            if content[name] is not None:
                content["sha256"][name] = checksum(content[name])
                content[name] = str(Path(content[name]).resolve())
                with contextlib.suppress(ValueError):  # there is no path to another drive
                    content[name] = os.path.relpath(content[name], folder.resolve())
        return content

    @classmethod
    def from_json(cls, content: dict[str, Any], folder: Path) -> DataRequest:
        """The inverse of :meth:`to_json`."""
        known = {name: value for name, value in content.items() if name != "sha256"}
        for name in ("x", "y"):
            if known[name] is not None:
                known[name] = os.path.normpath(folder.resolve() / known[name])
        return cls(**{**known, "reading": Reading(**known["reading"])})


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Predictors and responses of a fit."""

    X: pd.DataFrame  # (n_samples, n_columns), with columns of categories
    Y: pd.DataFrame  # (n_samples, n_responses)
    families: dict[str, str]  # family of each response
    pairing: str  # how rows were paired
    names: list[str]  # names of the predictors

    @property
    def sample_names(self) -> list[str] | None:
        """Names of the rows, if they have any."""
        numbered = isinstance(self.X.index, pd.RangeIndex)
        return None if numbered else self.X.index.tolist()


def load_data(request: DataRequest, output: Output) -> TrainingData:
    """Read the files, bring the rows together and make predictors and responses."""
    options = request.reading.options(
        categories=request.categories, drop=request.drop, impute=request.impute
    )
    responses = tuple(request.responses)
    X, Y, pairing = read_pair(request.x, request.y, options, responses=responses, join=request.join)
    output.show(pairing)
    families = _families(request.family, list(Y.columns))
    Y = check_responses(Y, families)
    for text in [*X.attrs["source"].notes, *Y.attrs["source"].notes]:
        output.note(text)
    names = encoded_frame(X)[0].columns.tolist()
    return TrainingData(X, Y, families, pairing, names)


def _families(given: str, names: list[str]) -> dict[str, str]:
    """The family of each response."""
    from thinrank.losses.families import FAMILIES

    chosen: dict[str, str] = {}
    rest = "gaussian"
    for part in filter(None, map(str.strip, given.split(","))):
        name, separator, family = part.rpartition("=")
        if family not in FAMILIES:
            told = f"must be one of {', '.join(FAMILIES)}, or response=family, got {part!r}"
            raise option_error("--family", told)
        if separator:
            chosen[name] = family
        else:
            rest = family
    check_names("--family", chosen, names, "the table of responses")
    return {name: chosen.get(name, rest) for name in names}


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model and what was stored with it."""

    folder: Path  # the folder
    estimator: Any  # the fitted estimator
    # what ``thinrank fit`` stored; None if the model was saved by ``tr.save``
    record: dict[str, Any] | None
    request: DataRequest | None  # the data of the fit

    @property
    def categories(self) -> dict[str, list[str]]:
        """The categories of each column that has some."""
        return getattr(self.estimator, "feature_categories_", {})

    @property
    def names(self) -> list[str]:
        """Names of the predictors; made up if there are none."""
        names = getattr(self.estimator, "feature_names_in_", None)
        made_up = (f"x{j}" for j in range(self.estimator.n_features_in_))
        return list(made_up if names is None else map(str, names))

    def predictors(self, file: Path, reading: Reading) -> pd.DataFrame:
        """The predictors in a file; those that are not in use are 0.

        Columns are matched by name, or by position if the fit had no names. The file may lack
        columns that are not in use, and have others.
        """
        est, categories, names = self.estimator, self.categories, self.names
        owners = {f"{name}={each}": name for name, own in categories.items() for each in own[1:]}
        columns = list(dict.fromkeys(owners.get(name, name) for name in names))
        used = {owners.get(names[j], names[j]) for j in (*est.row_support_, *est.kept_)}
        needed = [name for name in columns if name in used]
        named = hasattr(est, "feature_names_in_") if self.record is None else self.record["named"]
        options = reading.options(
            categories=categories,
            only=needed if named else None,
            fitted=categories,
            impute=getattr(est, "impute", None) is not None,
        )
        table = read_cells(file, options)
        known = None if self.record is None or options.index is not None else self.record["key"]
        key = table.position(known) if known in table.names else key_of(table, options)
        frame = to_frame(table, options, key)
        source = frame.attrs["source"]
        if named and not source.named:
            told = "has no names of columns, but the model was fitted to columns with names"
            raise source.error(told)
        if not named:
            if frame.shape[1] != len(columns):
                raise source.error(
                    f"has {frame.shape[1]} columns, but the model was fitted to {len(columns)} "
                    "columns without names",
                )
            frame.columns = columns
        absent = [name for name in needed if name not in frame]
        if absent:
            raise source.error(
                f"lacks {len(absent)} of the {len(needed)} columns that the model uses: "
                f"{listed(absent)}{did_you_mean(absent, table.names)}",
            )
        frame = frame[needed]
        check_predictors(frame, options)
        own = {name: each for name, each in categories.items() if name in used}
        X = encoded_frame(frame, own)[0].reindex(columns=names, fill_value=0.0).astype(np.float64)
        X.attrs["source"] = source
        others = {*columns, "", frame.index.name}
        extra = [name for name in table.names if name not in others]
        if extra:
            told = f"columns that the model does not have were ignored: {listed(extra)}"
            source.notes.append(told)
        if len(needed) < len(columns):
            source.notes.append(
                f"the model uses {len(needed)} of the {len(columns)} columns that it was fitted to"
            )
        return X


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
    if record is None:
        return SavedModel(folder, estimator, None, None)
    try:
        version, request = record["version"], DataRequest.from_json(record["data"], folder)
    except (AttributeError, LookupError, TypeError):
        version = None
    if version != 2:
        raise ModelFileError(
            f"{folder} has an invalid record of thinrank fit, or one of an earlier version; fit "
            "again"
        )
    return SavedModel(folder, estimator, record, request)


def save_model(
    estimator: Any,
    folder: Path,
    overwrite: bool,
    data: TrainingData,
    request: DataRequest,
    **rest: Any,
) -> None:
    """Save a model with the record of the fit."""
    record = {
        "version": 2,
        "thinrank": tr.__version__,
        "responses": list(data.Y.columns),
        "families": data.families,
        "missing_entries": missing_entries(data.Y),
        "imputed_cells": sum(missing_entries(data.X).values()),
        "pairing": data.pairing,
        "key": data.X.index.name,
        "named": data.X.attrs["source"].named,
        "data": request.to_json(folder),
        **rest,
    }
    tr.save(estimator, folder, overwrite=overwrite, extra={FORMAT: record})


def reread_data(model: SavedModel, x: Path | None, y: Path | None) -> TrainingData | str:
    """The data that a model was fitted to."""
    request = model.request
    if model.record is None or request is None:
        return "the model was not fitted by thinrank fit"
    if x is not None:
        request = replace(request, x=str(x), y=None if y is None else str(y))
    else:
        known = model.record["data"]["sha256"]
        for path, former in ((request.x, known["x"]), (request.y, known["y"])):
            if path is not None and not Path(path).is_file():
                return f"{Path(path).name} is not where it was"
            if path is not None and checksum(path) != former:
                return f"{Path(path).name} has changed since the fit"
    data = load_data(request, Output(quiet=True))
    if data.names != model.names or list(data.Y.columns) != model.record["responses"]:
        raise TableError("has other columns than the data of the fit", file=request.x)
    return data


def check_not_data(out: Path, model: SavedModel, *files: Path | None) -> None:
    """Raise an error if an output would replace an input, the data of the fit, or the model."""
    stored = [getattr(model.request, name, None) for name in ("x", "y")]
    for name in (model.folder / DOCUMENT, model.folder / ARRAYS, *stored, *files):
        file = None if name is None else Path(name)
        if file is not None and out.exists() and file.exists() and out.samefile(file):
            raise UnusableArgumentError(
                f"{out} is a file of the data or of the model, which is never replaced"
            )


def as_json(estimator: Any) -> dict[str, Any]:
    """The findings of a fitted estimator; numbers that are not finite are None."""
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
        "held_out_r2": held_out
        if held_out is None
        else finite(dict(zip(responses, held_out, strict=True))),
        # baselines have none
        "status": str(estimator.status_) if hasattr(estimator, "status_") else None,
        "sentences": list(summary.sentences),
        "cautions": list(summary.cautions),
    }


def finite(value: Any) -> Any:
    """A value as JSON can hold it: lists for arrays, and None in place of NaN and infinity."""
    text = json.dumps(value, default=lambda each: each.tolist())  # arrays and numbers of NumPy
    return json.loads(text, parse_constant=lambda name: None)


FILE = "stability.csv"
_ABOUT = ("threshold", "n_resamples", "model")  # the same value in every row
_NAMES = ("name", "predictor", "response")
_TEXTS = ("axis", *_NAMES, "model")


def write_stability(table: pd.DataFrame, folder: Path) -> Path:
    """Write a table into the folder of a model, with a checksum of the model it is about."""
    about = [table.attrs["threshold"], table.attrs["n_resamples"], _identity(folder)]
    path = folder / FILE
    write_table(path, table.assign(**dict(zip(_ABOUT, about, strict=True))))
    return path


def read_stability(folder: Path) -> pd.DataFrame | str | None:
    """Read the table of a model; None if there is no file, a sentence if it is of another model."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        full = pd.read_csv(
            path, dtype=dict.fromkeys(_TEXTS, "object"), keep_default_na=False, na_values=[""]
        )
        full[list(_NAMES)] = full[list(_NAMES)].map(as_written)
        about = {name: full[name].iloc[0] for name in _ABOUT}
        table = full.drop(columns=list(_ABOUT)).astype({"stable": bool, "frequency": float})
    except (ValueError, KeyError, IndexError) as error:
        raise TableError(
            f"is not a file that thinrank stability wrote ({error}); delete it", file=str(path)
        ) from None
    if about["model"] != _identity(folder):
        return f"{path} is about another model"
    table.attrs["threshold"] = float(about["threshold"])
    table.attrs["n_resamples"] = int(about["n_resamples"])
    return table


def _identity(folder: Path) -> str:
    """What tells a model from another one: its coefficients and scores."""
    return checksum(folder / ARRAYS)[:16]
