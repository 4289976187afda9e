"""``thinrank fit``: read two tables, fit a model, show what was found and save the model."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

import thinrank as tr
from thinrank.cli.exit_codes import Output
from thinrank.cli.findings import as_json
from thinrank.cli.option_names import in_options
from thinrank.cli.output_place import check_output_folder
from thinrank.cli.progress_lines import ProgressLines
from thinrank.cli.training_data import DataRequest, TrainingData, check_files, load_data
from thinrank.tables.errors import did_you_mean, listed
from thinrank.tables.responses import ResponseColumns

FORMAT = "thinrank fit"
"""Key of what the command stores with a model."""
_MANY = 20  # more predictors than this are hard to read as a selection


@dataclass(frozen=True)
class FitRequest:
    """The arguments of the command."""

    data: DataRequest  # the files
    out: Path  # folder of the model
    settings: dict[str, Any]  # arguments of the estimator
    loss: str  # the loss of responses that are numbers
    keep: list[str]  # columns or predictors that are in every model
    overwrite: bool  # whether to replace a model
    command: str  # the command as typed


def run_fit(request: FitRequest, output: Output) -> dict[str, Any]:
    """Fit and save a model, and return what ``--json`` prints."""
    check_files(request.data)
    _check_out(request.out, request.overwrite)
    data = load_data(request.data, output.note)
    n, p = data.X.shape
    output.show(f"{n} samples, {p} predictors, {len(data.response_names)} responses")
    estimator = _estimator(request, data, output.progress)
    if not output.progress:
        estimator.callback = ProgressLines(output.remark)
    began = time.perf_counter()
    estimator.fit(data.X, _responses(estimator, data))
    seconds = time.perf_counter() - began
    estimator.callback = None  # it belongs to this command, not to the model
    _name(estimator, data)
    stale = [request.out / name for name in ("stability.csv", "report.html")]
    tr.save(
        estimator,
        request.out,
        overwrite=request.overwrite,
        extra={FORMAT: _record(request, data, output, seconds)},
    )
    output.kept = f"the model is in {request.out}"
    for file in stale:
        if file.exists():
            output.note(f"{file} is about the model that was replaced")
    output.show(in_options(f"\n{estimator.summary()}\n"))
    output.show(f"The model is in {request.out}. Next:")
    for line in _next_steps(request.out, estimator.rank_):
        output.show(line)
    for line in _thinner(estimator):
        output.show(line)
    return {
        "model": str(request.out),
        "command": request.command,
        "seconds": round(seconds, 3),
        **as_json(estimator),
    }


def _next_steps(folder: Path, rank: int) -> list[str]:
    """Commands that use the model, and what they do."""
    name = shlex.quote(str(folder))
    steps = [(f"report {name}", "a page with tables and figures")]
    if rank:
        steps.append((f"stability {name}", "how stable the selection is"))
    steps.append((f"predict {name} NEW.csv", "predictions for other samples"))
    width = max(len(command) for command, _ in steps)
    return [f"  thinrank {command:<{width}}    {what}" for command, what in steps]


def _thinner(estimator: Any) -> list[str]:
    """How to get a model that people can read, if this one has many predictors."""
    count = len(estimator.row_support_)
    if count <= _MANY:
        return []
    return [
        f"\n{count} predictors are in use. For fewer, fit again with --refit-rule thinnest, or",
        "with a limit such as --rows 10. Of predictors that are correlated, one can take the",
        "place of another: see the page about correlated predictors in the documentation.",
    ]


def _check_out(out: Path, overwrite: bool) -> None:
    """Raise a usage error before the fit, which may take long, if the model cannot be saved."""
    from thinrank.persistence.files import check_free

    try:
        check_free(out, overwrite)
    except FileExistsError as error:
        text = str(error).replace("use overwrite=True", "use --overwrite")
        raise typer.BadParameter(text, param_hint="--out") from None
    check_output_folder(out.absolute().parent)


def _estimator(request: FitRequest, data: TrainingData, progress: bool) -> Any:
    """The estimator for the families of the responses."""
    settings = {
        **request.settings,
        "always_keep": _kept(request.keep, data),
        "verbose": int(progress),
    }
    families = set(data.families.values())
    if families == {"gaussian"}:
        return tr.SparseReducedRankRegressor(loss=request.loss, **settings)
    if request.loss != "squared":
        raise typer.BadParameter(
            "is for responses of the family gaussian; give --family huber", param_hint="--loss"
        )
    chosen = [data.families[name] for name in data.response_names]
    family: Any = chosen[0] if len(families) == 1 else chosen
    return tr.SparseReducedRankGLM(family, **settings)


def _kept(keep: list[str], data: TrainingData) -> list[int] | None:
    """Positions of the predictors that are always kept; a column of categories means all of its."""
    if not keep:
        return None
    names = data.encoding.names
    places = {name: j for j, name in enumerate(names)}
    wanted: list[str] = []
    for name in keep:
        if name in data.encoding.columns:
            wanted += data.encoding.predictors_of(name)
        elif name in places:
            wanted.append(name)
        else:
            raise typer.BadParameter(
                f"there is no predictor {name!r}"
                + (
                    did_you_mean([name], data.encoding.columns)
                    or did_you_mean([name], names)
                    or f"; there are {listed(names)}"
                ),
                param_hint="--keep",
            )
    return sorted({places[name] for name in wanted})


def _responses(estimator: Any, data: TrainingData) -> np.ndarray | ResponseColumns:
    """The responses; with their names for models of families, which keep those of columns."""
    if isinstance(data.Y, ResponseColumns) or isinstance(estimator, tr.SparseReducedRankRegressor):
        return data.Y
    return ResponseColumns(data.response_names, list(data.Y.T))


def _name(estimator: Any, data: TrainingData) -> None:
    """Give the fitted estimator the names, which the matrices do not have."""
    if data.encoding.named:
        estimator.feature_names_in_ = np.asarray(data.encoding.names, dtype=object)
    if isinstance(estimator, tr.SparseReducedRankRegressor):
        estimator.target_names_in_ = np.asarray(data.response_names, dtype=object)


def _record(
    request: FitRequest, data: TrainingData, output: Output, seconds: float
) -> dict[str, Any]:
    """What is stored with the model."""
    return {
        "version": 1,
        "thinrank": tr.__version__,
        "command": request.command,
        "seconds": round(seconds, 3),
        "encoding": data.encoding.to_json(),
        "responses": data.response_names,
        "families": data.families,
        "imputed_cells": data.n_imputed,
        "missing_entries": data.missing_entries,
        "data": request.data.to_json(request.out),
        "notes": list(output.notes),
    }
