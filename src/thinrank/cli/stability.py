"""``thinrank stability``: how often random halves of the data select the same predictors."""

from __future__ import annotations

import math
import shlex
import textwrap
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer
from sklearn.base import clone

import thinrank as tr
from thinrank.cli.exit_codes import Output, UnusableArgumentError
from thinrank.cli.findings import finite
from thinrank.cli.fit_files import reread_data
from thinrank.cli.output_place import check_output_file
from thinrank.cli.saved_model import SavedModel, load_model
from thinrank.cli.stability_file import FILE, write_stability
from thinrank.cli.training_data import TrainingData
from thinrank.core.imports import import_optional
from thinrank.core.warnings import SelectionWarning
from thinrank.selection.stability import AxisSummary, stable_sentences, unstable_sentences
from thinrank.tables.responses import ResponseColumns

_WIDTH = 79  # of printed lines


@dataclass(frozen=True)
class StabilityRequest:
    """The arguments of the command."""

    folder: Path  # the model
    x: Path | None  # the data of the fit, if they are not where they were
    y: Path | None
    resamples: int  # number of pairs of halves
    predictors: int | None  # number of predictors of each fit; None for that of the model
    threshold: float  # frequency from which a predictor is stable
    seed: int  # seed of the halves
    jobs: int  # number of threads


def run_stability(request: StabilityRequest, output: Output) -> dict[str, Any]:
    """Fit to random halves, write the frequencies, and return what ``--json`` prints."""
    import_optional("pandas")
    model = load_model(request.folder)
    check_output_file(request.folder / FILE, "MODEL")
    estimator = _estimator(model, request.predictors)
    data = reread_data(model, request.x, request.y)
    if isinstance(data, str):
        remedy = "; use tr.selection.stability in Python"
        if model.record is not None:
            folder = shlex.quote(str(request.folder))
            remedy = f"; give the files: thinrank stability {folder} X Y"
        raise UnusableArgumentError(data + remedy)
    X, Y = _frames(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)  # the remarks are printed
        table = tr.selection.stability(
            estimator,
            X,
            Y,
            request.resamples,
            threshold=request.threshold,
            pairs=True,
            random_state=request.seed,
            n_jobs=request.jobs,
            verbose=int(output.progress),
        )
    _name_responses(table, [str(name) for name in model.estimator.summary().response_names])
    path = write_stability(table, request.folder)
    sentences = [
        *stable_sentences(table),
        *unstable_sentences(table, np.asarray(model.estimator.row_support_)),
    ]
    sentences += [text for text in table.attrs["remarks"] if "selected no predictor" in text]
    hint = _smaller(table, request.threshold)
    for sentence in [*sentences, *([hint] if hint else [])]:
        output.show(textwrap.fill(sentence, _WIDTH, break_long_words=False, break_on_hyphens=False))
    output.show(f"\nAll frequencies are in {path}; thinrank report includes them.")
    return {"model": str(request.folder), "stability": str(path), **_as_json(table, sentences)}


def _estimator(model: SavedModel, predictors: int | None) -> Any:
    """An estimator with the sizes of the model, or with fewer predictors."""
    estimator = model.estimator
    if not hasattr(estimator, "column_sparsity"):
        raise UnusableArgumentError(
            f"{model.folder}: stability is for models with given sizes, such as those of thinrank "
            f"fit; use tr.selection.stability in Python for a {type(estimator).__name__}"
        )
    count = len(estimator.row_support_)
    if estimator.rank_ == 0 or count == 0:
        raise UnusableArgumentError(
            f"{model.folder}: the model selects no predictor, so there is no selection to examine"
        )
    if predictors is not None and predictors > count:
        raise typer.BadParameter(
            f"must be at most the number of predictors of the model, {count}, got {predictors}",
            param_hint="--predictors",
        )
    rows = count if predictors is None else predictors
    chosen = {name: estimator.best_params_[name] for name in ("column_sparsity", "ridge")}
    sizes = {"rank": min(int(estimator.rank_), rows), "row_sparsity": rows, **chosen}
    return clone(estimator).set_params(**sizes, verbose=0, n_jobs=1)


def _frames(data: TrainingData) -> tuple[Any, Any]:
    """Predictors and responses with their names, whose rows can be taken."""
    pandas = import_optional("pandas")
    X = pandas.DataFrame(data.X, columns=data.encoding.names)
    if isinstance(data.Y, ResponseColumns):
        return X, pandas.DataFrame({name: data.Y[name] for name in data.Y.columns})
    return X, pandas.DataFrame(data.Y, columns=data.response_names)


def _name_responses(table: Any, names: list[str]) -> None:
    """Give the columns of categories their names, which the responses of the data do not have."""
    columns, pairs = table["axis"] == "column", table["axis"] == "pair"
    if np.count_nonzero(columns) != len(names):
        return
    table.loc[columns, "name"] = names
    table.loc[pairs, "response"] = [names[j % len(names)] for j in table.loc[pairs, "index"]]
    table.loc[pairs, "name"] = table.loc[pairs, "predictor"] + " → " + table.loc[pairs, "response"]


def _smaller(table: Any, threshold: float) -> str:
    """The number of predictors with which the bound is about one; empty if that is no help."""
    summary = AxisSummary.of_table(table, "row")
    few = max(math.isqrt(int((2 * threshold - 1) * summary.among)), 1)
    if summary.bound < max(summary.stable, 1) or few >= summary.mean:
        return ""
    return (
        f"With --predictors {few} each fit selects {few} of {summary.among:,}, and the bound is "
        f"{few**2 / summary.among / (2 * threshold - 1):.2g}."
    )


def _as_json(table: Any, sentences: list[str]) -> dict[str, Any]:
    rows = table[table["axis"] == "row"]
    pairs = table[(table["axis"] == "pair") & table["stable"]]
    stable = rows[rows["stable"]]
    summary = AxisSummary.of_table(table, "row")
    selected = rows[rows["frequency"] > 0]
    return {
        "resamples": int(table.attrs["n_resamples"]),
        "threshold": float(table.attrs["threshold"]),
        "predictors_per_fit": round(summary.mean, 6),
        "stable": [str(name) for name in stable["name"]],
        "bound": finite(summary.bound),
        "unimodal_bound": finite(summary.unimodal_bound),
        "frequencies": {
            str(name): finite(float(value))
            for name, value in zip(selected["name"], selected["frequency"], strict=True)
        },
        "stable_pairs": [
            {
                "predictor": str(pair.predictor),
                "response": str(pair.response),
                "frequency": float(pair.frequency),
                "sign": int(pair.sign),
            }
            for pair in pairs.itertuples()
        ],
        "sentences": sentences,
        "remarks": list(table.attrs["remarks"]),
    }
