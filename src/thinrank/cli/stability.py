"""``thinrank stability``: how often random halves of the data select the same predictors."""

from __future__ import annotations

import math
import shlex
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import thinrank as tr
from thinrank.cli.options import CORES, FitX, FitY, Folder, Jobs, Seed, check_output_file
from thinrank.cli.running import JsonOutput, UnusableArgumentError

if TYPE_CHECKING:
    from thinrank.cli.models import SavedModel


def stability(
    model: Folder,
    x: FitX = None,
    y: FitY = None,
    resamples: Annotated[
        int, typer.Option(min=1, help="Number of pairs of random halves; each takes two fits.")
    ] = 50,
    predictors: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of predictors of each fit; fewer give a smaller bound on wrong ones.",
            show_default="that of the model",
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Frequency from which a predictor is stable, above 0.5.")
    ] = 0.75,
    seed: Seed = 0,
    jobs: Jobs = CORES,
    *,
    output: JsonOutput,
) -> dict[str, Any]:
    """Examine how often random halves of the data select the same predictors.

    Writes stability.csv into the folder of the model; an earlier one is replaced.
    """
    from thinrank.cli.models import FILE, load_model, reread_data, write_stability
    from thinrank.core.warnings import SelectionWarning
    from thinrank.estimators.summary import wrapped
    from thinrank.selection.stability import stable_sentences, unstable_sentences

    saved = load_model(model)
    check_output_file(model / FILE, option="MODEL")
    estimator = _estimator(saved, predictors)
    data = reread_data(saved, x, y)
    if isinstance(data, str):
        remedy = "use tr.selection.stability in Python"
        if saved.record is not None:
            remedy = f"give the files: thinrank stability {shlex.quote(str(model))} X Y"
        raise UnusableArgumentError(f"{data}; {remedy}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)  # the remarks are printed
        table = tr.selection.stability(
            estimator,
            data.X,
            data.Y,
            pairs=True,
            n_resamples=resamples,
            threshold=threshold,
            random_state=seed,
            n_jobs=jobs,
            verbose=int(output.progress),
        )
    _name_responses(table, [str(name) for name in saved.estimator.summary().response_names])
    path = write_stability(table, model)
    sentences = [
        *stable_sentences(table),
        *unstable_sentences(table, np.asarray(saved.estimator.row_support_)),
    ]
    sentences += [text for text in table.attrs["remarks"] if "selected no predictor" in text]
    for line in wrapped([*sentences, *_smaller(table, threshold)]):
        output.show(line)
    output.show(f"\nAll frequencies are in {path}; thinrank report includes them.")
    return {"model": str(model), "stability": str(path), **_as_json(table, sentences)}


def _estimator(model: SavedModel, predictors: int | None) -> Any:
    """An estimator with the sizes of the model, or with fewer predictors."""
    from sklearn.base import clone

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
        told = f"must be at most the number of predictors of the model, {count}, got {predictors}"
        raise typer.BadParameter(told, param_hint="--predictors")
    rows = count if predictors is None else predictors
    chosen = {name: estimator.best_params_[name] for name in ("column_sparsity", "ridge")}
    sizes = {"rank": min(int(estimator.rank_), rows), "row_sparsity": rows, **chosen}
    kept = [model.names[j] for j in estimator.kept_] or None  # of a category, its predictors
    return clone(estimator).set_params(**sizes, always_keep=kept, verbose=0, n_jobs=1)


def _name_responses(table: Any, names: list[str]) -> None:
    """Give the columns of categories their names, which the responses of the data do not have."""
    columns, pairs = table["axis"] == "column", table["axis"] == "pair"
    if np.count_nonzero(columns) != len(names):
        return
    table.loc[columns, "name"] = names
    table.loc[pairs, "response"] = [names[j % len(names)] for j in table.loc[pairs, "index"]]
    table.loc[pairs, "name"] = table.loc[pairs, "predictor"] + " → " + table.loc[pairs, "response"]


def _smaller(table: Any, threshold: float) -> list[str]:
    """The number of predictors with which the bound is about one; nothing if that is no help."""
    from thinrank.selection.stability import AxisSummary

    summary = AxisSummary.of_table(table, "row")
    few = max(math.isqrt(int((2 * threshold - 1) * summary.among)), 1)
    if summary.bound < max(summary.stable, 1) or few >= summary.mean:
        return []
    bound = few**2 / summary.among / (2 * threshold - 1)
    each = f"With --predictors {few} each fit selects {few} of {summary.among:,}"
    return [f"{each}, and the bound is {bound:.2g}."]


def _as_json(table: Any, sentences: list[str]) -> dict[str, Any]:
    from thinrank.cli.models import finite
    from thinrank.selection.stability import AxisSummary

    rows = table[table["axis"] == "row"]
    pairs = table[(table["axis"] == "pair") & table["stable"]].astype({"sign": int})
    summary = AxisSummary.of_table(table, "row")
    selected = rows[rows["frequency"] > 0]
    return {
        "resamples": int(table.attrs["n_resamples"]),
        "threshold": float(table.attrs["threshold"]),
        "predictors_per_fit": round(summary.mean, 6),
        "stable": rows["name"][rows["stable"]].tolist(),
        "bound": finite(summary.bound),
        "unimodal_bound": finite(summary.unimodal_bound),
        "frequencies": dict(zip(selected["name"], selected["frequency"], strict=True)),
        "stable_pairs": pairs[["predictor", "response", "frequency", "sign"]].to_dict("records"),
        "sentences": sentences,
        "remarks": list(table.attrs["remarks"]),
    }
