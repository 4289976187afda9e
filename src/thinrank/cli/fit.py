"""``thinrank fit``: read two tables, fit a model, show what was found and save the model."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import thinrank as tr
from thinrank.cli.options import (
    CORES,
    Jobs,
    Overwrite,
    Reading,
    Seed,
    check_before_fit,
    in_options,
    model_option,
    names_of,
    number,
    option_error,
    reading_option,
    size,
    typed_command,
)
from thinrank.cli.running import JsonOutput

if TYPE_CHECKING:
    from thinrank.cli.models import TrainingData

_MANY = 20  # more predictors than this are hard to read as a selection


def fit(
    x: Annotated[
        str, typer.Argument(metavar="X", help="Predictors: CSV, TSV, Excel, Parquet, NPY or NPZ.")
    ],
    y: Annotated[
        str | None,
        typer.Argument(metavar="[Y]", help="Responses, one column each.", show_default=False),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the model; must be new.")
    ] = Path("model"),
    join: Annotated[
        str | None,
        reading_option(
            help="Column by whose values rows of X and Y belong together; others are left out."
        ),
    ] = None,
    rank: Annotated[str, model_option(help="Number of factors: a number or auto.")] = "auto",
    predictors: Annotated[
        str, model_option(help="Largest number of predictors: a number, auto or all.")
    ] = "auto",
    responses: Annotated[
        list[str] | None,
        model_option(
            help="Largest number of predicted responses: a number, auto or all. Or the columns "
            "that are responses, if X has them too or Y has others: y1,y2.",
            show_default="auto",
        ),
    ] = None,
    ridge: Annotated[str, model_option(help="Shrinkage: a number or auto.")] = "auto",
    criterion: Annotated[
        Literal["auto", "cv", "pic", "aic", "bic", "gic", "ebic", "gcv"],
        model_option(help="How sizes are chosen."),
    ] = "auto",
    cv: Annotated[int, model_option(min=2, help="Number of folds.")] = 5,
    refit_rule: Annotated[
        Literal["best", "one_se", "thinnest"], model_option(help="Which model is chosen.")
    ] = "best",
    family: Annotated[
        str,
        model_option(
            help="Of the responses: gaussian, bernoulli, poisson, negative_binomial, multinomial, "
            "huber; or response=family,…"
        ),
    ] = "gaussian",
    loss: Annotated[
        Literal["squared", "huber"], model_option(help="huber for outliers.")
    ] = "squared",
    keep: Annotated[
        list[str] | None, model_option(help="Predictors in every model: age,sex.")
    ] = None,
    impute: Annotated[
        Literal["mean"] | None,
        model_option(help="Replace missing predictors.", show_default="an error"),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = CORES,
    categories: Annotated[
        list[str] | None,
        reading_option(
            "--categories",
            help="Columns of categories, also of numbers, or of more than 20: site,batch.",
        ),
    ] = None,
    drop: Annotated[list[str] | None, reading_option(help="Columns to leave out: a,b.")] = None,
    *,
    reading: Reading,
    overwrite: Overwrite = False,
    output: JsonOutput,
) -> dict[str, Any]:
    """Fit a model to the predictors X and the responses Y, and save it.

    Rank, numbers of predictors and responses, and ridge are chosen by the error on held-out
    samples unless they are given. Text columns of X are categories.
    """
    from thinrank.cli.models import DataRequest, as_json, load_data, save_model
    from thinrank.persistence.files import check_free
    from thinrank.tables.errors import check_names, counted

    names, sizes = _columns_and_size(responses or [])
    settings = {
        "rank": size(rank, "--rank", unlimited=False),
        "row_sparsity": size(predictors, "--predictors"),
        "column_sparsity": size(sizes, "--responses"),
        "ridge": number(ridge, float, ("auto",), "--ridge"),
        "criterion": criterion,
        "cv": cv,
        "refit_rule": refit_rule,
        "random_state": seed,
        "n_jobs": jobs,
        "always_keep": names_of(keep) or None,
        "impute": impute,
        "verbose": int(output.progress),
        "callback": None if output.progress else progress_lines(output.remark),
    }
    if y is None and not names:
        raise typer.BadParameter("give a file Y, or columns of X: --responses y1,y2")
    if join is not None and (y is None or reading.no_index or reading.index is not None):
        raise option_error("--join", "needs two files, and takes the place of --index")
    request = DataRequest(
        x=x,
        y=y,
        responses=names,
        join=join,
        categories=names_of(categories),
        drop=names_of(drop),
        impute=impute is not None,
        family=family,
        reading=reading,
    )
    check_before_fit(check_free, out, overwrite)
    data = load_data(request, output)
    n = len(data.X)
    check_names("--keep", names_of(keep), [*data.X.columns, *data.names], x, "predictor")
    if cv > max(n, 5):
        raise option_error("--cv", f"must be at most the number of samples, {n}, got {cv}")
    counts = {"sample": n, "predictor": len(data.names), "response": data.Y.shape[1]}
    output.show(", ".join(counted(count, what) for what, count in counts.items()))
    estimator = _estimator(settings, loss, data)
    began = time.perf_counter()
    estimator.fit(data.X, data.Y)
    seconds = round(time.perf_counter() - began, 3)
    estimator.callback = None  # it belongs to this command, not to the model
    about = {"command": typed_command(), "seconds": seconds, "notes": list(output.notes)}
    save_model(estimator, out, overwrite, data, request, **about)
    output.kept = f"the model is in {out}"
    for file in (out / "stability.csv", out / "report.html"):
        if file.exists():
            output.note(f"{file} is about the model that was replaced")
    output.show(in_options(f"\n{estimator.summary()}\n"))
    output.show(f"The model is in {out}. Next:")
    name = shlex.quote(str(out))
    steps = {f"report {name}": "a page with tables and figures"}
    if estimator.rank_:
        steps[f"stability {name}"] = "how stable the selection is"
    steps[f"predict {name} NEW.csv"] = "predictions for other samples"
    for command, what in steps.items():
        output.show(f"  thinrank {command:<{len(name) + 16}}    {what}")
    count = len(estimator.row_support_)
    if count > _MANY:
        output.show(
            f"\n{count} predictors are in use. For fewer, fit again with --refit-rule thinnest, or"
            "\nwith a limit such as --predictors 10. Of predictors that are correlated, one can"
            " take the\nplace of another: see the page about correlated predictors in the"
            " documentation."
        )
    return {"model": str(out), **about, "pairing": data.pairing, **as_json(estimator)}


def _columns_and_size(given: list[str]) -> tuple[list[str], str]:
    """The names of responses, and how many may be predicted, both of which --responses may give."""
    sizes = [text for text in given if text in ("auto", "all") or text.lstrip("+-").isdigit()]
    if len(sizes) > 1:
        raise option_error("--responses", "gives several numbers")
    return names_of([text for text in given if text not in sizes]), (sizes or ["auto"])[0]


def _estimator(settings: dict[str, Any], loss: str, data: TrainingData) -> Any:
    """The estimator for the families of the responses."""
    chosen = [data.families[name] for name in data.Y]
    families = set(chosen)
    if families == {"gaussian"}:
        return tr.SparseReducedRankRegressor(loss=loss, **settings)
    if loss != "squared":
        raise option_error("--loss", "is for responses of the family gaussian; give --family huber")
    family: Any = chosen[0] if len(families) == 1 else chosen
    return tr.SparseReducedRankGLM(family, **settings)


def progress_lines(
    write: Callable[[str], object],
    first: float = 5.0,
    clock: Callable[[], float] = time.perf_counter,
) -> Callable[[Any], None]:
    """A callback of an estimator that writes after ``first`` seconds, and each time they double."""
    from thinrank.tables.errors import counted

    began, pause, models = clock(), first, 0

    def count(record: Any) -> None:
        nonlocal pause, models
        searching = record.stage == "search"
        models += searching
        seconds = clock() - began
        if seconds >= pause:
            pause = 2 * seconds
            what = "searching for the sizes" if searching else "fitting the chosen sizes"
            write(f"{what}: {counted(models, 'model')} tried in {seconds:.0f} s")

    return count
