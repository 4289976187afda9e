"""The data of a fit: two files, or one, as the options say."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer

from thinrank.cli.running import Output, UnusableArgumentError
from thinrank.tables import (
    Encoding,
    ReadOptions,
    Table,
    TableError,
    checksum,
    pair,
    read_cells,
)
from thinrank.tables.errors import counted, did_you_mean, listed
from thinrank.tables.responses import check_responses, missing_entries, response_notes
from thinrank.tables.types import key_of, typed


@dataclass(frozen=True)
class DataRequest:
    """Which files and columns to read, and how."""

    x: str  # file of the predictors
    y: str | None  # file of the responses; None if they are columns of ``x``
    responses: list[str]  # the responses; all columns of ``y`` if empty
    join: str | None  # column by whose values rows belong together
    index: str | bool | None  # column with the names of the rows; False for none, None to find out
    header: bool | None  # whether the files have a header; None to find out
    categorical: list[str]  # columns of categories, even if they are numbers
    drop: list[str]  # columns to leave out
    delimiter: str | None  # of text files
    decimal: str | None
    encoding: str | None
    impute: bool  # whether missing predictors are replaced by means
    family: str  # A family for all responses, or ``response=family`` for some, separated by commas
    missing: list[str] = field(default_factory=list)  # more marks of missing cells

    def options(self, responses: bool = False) -> ReadOptions:
        """How to read the file of the predictors, or of the responses."""
        encodings = (self.encoding or "").split(",")
        return ReadOptions(
            header=self.header,
            index=self.index,
            categorical=frozenset(self.categorical),
            delimiter=self.delimiter,
            decimal=self.decimal,
            encoding=encodings[-1 if responses else 0].strip() or None,
            missing=frozenset(self.missing),
            wanted=(frozenset(self.responses) or None) if responses else None,
            dropped=frozenset(self.drop),
        )

    def to_json(self, folder: Path) -> dict[str, Any]:
        """A dictionary for the model in a folder; paths are relative to that folder."""
        content = asdict(self)
        content["sha256"] = {"x": checksum(self.x), "y": self.y and checksum(self.y)}
        for name in ("x", "y"):
            if content[name] is not None:
                content[name] = _relative(content[name], folder)
        return content

    @classmethod
    def from_json(cls, content: dict[str, Any], folder: Path) -> DataRequest:
        """The inverse of :meth:`to_json`."""
        known = {name: value for name, value in content.items() if name != "sha256"}
        for name in ("x", "y"):
            if known[name] is not None:
                known[name] = os.path.normpath(folder.resolve() / known[name])
        return cls(**known)


def _relative(path: str, folder: Path) -> str:
    """A path seen from a folder; absolute where there is no such path (other drives)."""
    try:
        return os.path.relpath(Path(path).resolve(), folder.resolve())
    except ValueError:
        return str(Path(path).resolve())


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Predictors and responses of a fit."""

    X: np.ndarray  # (n_samples, n_predictors) predictors
    Y: Any  # (n_samples, n_responses) responses; a data frame if some are categories
    encoding: Encoding  # how the predictors were made
    response_names: list[str]  # names of the responses
    families: dict[str, str]  # family of each response
    index: list[str] | None  # names of the rows
    n_imputed: int  # number of cells that were missing
    missing_entries: dict[str, int]  # number of missing entries of each response that has any
    pairing: str  # how rows were paired
    key: str  # column of X with the names of the rows; empty if there is none


def check_files(request: DataRequest) -> None:
    """Raise a usage error unless the files exist."""
    for path in (request.x, request.y):
        if path is None:
            continue
        if not Path(path).exists():
            raise UnusableArgumentError(f"{path}: there is no such file")
        if Path(path).is_dir():
            raise UnusableArgumentError(f"{path}: is a folder, expected a file")


def load_data(request: DataRequest, output: Output) -> TrainingData:
    """Read the files, bring the rows together and make predictors and responses."""
    check_files(request)
    options = request.options()
    x = read_cells(request.x, options)
    if request.y is None:
        both = typed(x, options, key_of(x, options), request.responses)
        predictors, responses = _split(both, request.responses)
        pairing = f"Predictors and responses are columns of {request.x}"
        notes: list[str] = []
    else:
        own = request.options(responses=True)
        y = read_cells(request.y, own, "y")
        _check_names("--responses", request.responses, y.names, request.y)
        if isinstance(request.index, str):
            _check_names("--index", [request.index], [*x.names, *y.names], f"{x.file} or {y.file}")
        predictors, responses, pairing, notes = pair(
            x, y, options, own, join=request.join, by_position=request.index is False
        )
    output.show(pairing)
    for text in dict.fromkeys([*predictors.notes, *responses.notes, *notes]):
        output.note(text)
    unknown = [n for n in request.drop if n not in (*predictors.ignored, *responses.ignored)]
    if unknown:
        near = did_you_mean(unknown, [*predictors.names, *responses.names])
        raise typer.BadParameter(f"there is no column {listed(unknown)}{near}", param_hint="--drop")
    _check_no_copies(predictors, responses)
    n_missing = int(predictors.missing.sum())
    encoding, X = Encoding.learn(predictors, impute=request.impute, declared=[*request.categorical])
    for name, categories in encoding.categories.items():
        others = listed(categories[1:]) or "no other"
        output.note(f"{name!r} is categorical: {others} compared with {categories[0]!r}")
    if request.impute and n_missing:
        output.note(
            f"{counted(n_missing, 'missing cell')} of predictors "
            f"{'was' if n_missing == 1 else 'were'} replaced by the mean of the column"
        )
    families = _families(request.family, responses.names)
    Y, pairs = check_responses(responses, families)
    for name, (_, one) in pairs.items():
        output.note(f"{name!r}: the prediction is the probability of {one!r}")
    for text in response_notes(responses, families):
        output.note(text)
    return TrainingData(
        X,
        Y,
        encoding,
        responses.names,
        families,
        predictors.index,
        n_missing,
        missing_entries(responses),
        pairing,
        predictors.index_name,
    )


def _split(table: Table, responses: list[str]) -> tuple[Table, Table]:
    """Predictors and responses from one table."""
    _check_names("--responses", responses, table.names, table.file)
    wanted = set(responses)
    X = table.take_columns(j for j, name in enumerate(table.names) if name not in wanted)
    if not X.names:
        raise TableError("all columns are responses; none is left as predictor", file=table.file)
    return X, table.take_columns(table.names.index(name) for name in responses)


def _check_names(option: str, given: list[str], known: list[str], file: str) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise typer.BadParameter(
            f"{file} has no column {listed(unknown)}"
            + (did_you_mean(unknown, known) or f"; it has {listed(known)}"),
            param_hint=option,
        )


def _check_no_copies(X: Table, Y: Table) -> None:
    """Raise an error if a response is among the predictors, which would predict it perfectly."""
    copies = [name for j, name in enumerate(Y.names) if _is_among(X, Y.column(j), name)]
    if copies:
        raise TableError(
            f"{listed(copies)} in {X.file} and in {Y.file} have the same values: a response "
            "cannot be a predictor of itself; leave the column out of one file, or name the "
            "responses of a single file with --responses"
        )


def _is_among(X: Table, column: np.ndarray, name: str) -> bool:
    """Whether X has the values of a column; if they are all equal, it must have the name, too."""
    if column.dtype.kind != "f":
        return any(np.array_equal(column, texts) for texts in X.texts.values())
    same = np.arange(X.shape[1])
    for value, others in zip(column, X.numbers, strict=True):
        found = others[same]
        same = same[(found == value) | (np.isnan(found) & np.isnan(value))]
    observed = column[~np.isnan(column)]
    varies = bool((observed[1:] != observed[:-1]).any())
    return any(varies or X.names[j] == name for j in same.tolist() if j not in X.texts)


def _families(given: str, names: list[str]) -> dict[str, str]:
    """The family of each response."""
    from thinrank.losses.families import FAMILIES

    parts = [part.strip() for part in given.split(",") if part.strip()]
    chosen: dict[str, str] = {}
    rest = "gaussian"
    for part in parts:
        name, separator, family = part.rpartition("=")
        if family not in FAMILIES:
            raise typer.BadParameter(
                f"must be one of {', '.join(FAMILIES)}, or response=family, got {part!r}",
                param_hint="--family",
            )
        if separator:
            chosen[name] = family
        else:
            rest = family
    _check_names("--family", list(chosen), names, "the table of responses")
    return {name: chosen.get(name, rest) for name in names}
