"""The commands about models, such as ``fit``: their arguments and options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thinrank.cli.arguments import names_of, number, size, typed_command, word
from thinrank.cli.exit_codes import Output, carry_out
from thinrank.cli.option_types import (
    CORES,
    MODEL,
    READING,
    Debug,
    Decimal,
    Delimiter,
    Encoding,
    FitX,
    FitY,
    Folder,
    Header,
    Index,
    Jobs,
    Json,
    NoIndex,
    Overwrite,
    Quiet,
    Seed,
)

_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
_CRITERIA = ("auto", "cv", "pic", "aic", "bic", "gic", "ebic", "gcv")


def add_model_commands(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for command in (fit, predict, inspect, stability, report):
        app.command()(command)


def fit(
    x: Annotated[
        str, typer.Argument(metavar="X", help="Predictors: CSV, TSV, Parquet, NPY or NPZ.")
    ],
    y: Annotated[
        str | None,
        typer.Argument(metavar="[Y]", help="Responses, one column each.", show_default=False),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the model; must be new.")
    ] = Path("model"),
    responses: Annotated[
        list[str] | None,
        typer.Option(help="Columns that are responses: y1,y2. Without Y, columns of X."),
    ] = None,
    join: Annotated[
        str | None,
        typer.Option(
            help="Column by whose values rows of X and Y belong together; others are left out.",
            rich_help_panel=READING,
        ),
    ] = None,
    rank: Annotated[
        str, typer.Option(help="Number of factors: a number or auto.", rich_help_panel=MODEL)
    ] = "auto",
    rows: Annotated[
        str,
        typer.Option(
            "--rows",
            "--predictors",
            help="Largest number of predictors (rows of the coefficients): a number, auto or all.",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    columns: Annotated[
        str,
        typer.Option(
            help="Largest number of predicted responses: a number, auto or all.",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    ridge: Annotated[
        str, typer.Option(help="Shrinkage: a number or auto.", rich_help_panel=MODEL)
    ] = "auto",
    criterion: Annotated[
        str,
        typer.Option(help=f"How sizes are chosen: {', '.join(_CRITERIA)}.", rich_help_panel=MODEL),
    ] = "auto",
    cv: Annotated[int, typer.Option(min=2, help="Number of folds.", rich_help_panel=MODEL)] = 5,
    refit_rule: Annotated[
        str,
        typer.Option(
            help="Which model is chosen: best, one_se or thinnest.", rich_help_panel=MODEL
        ),
    ] = "best",
    family: Annotated[
        str,
        typer.Option(
            help="Of the responses: gaussian, bernoulli, poisson, negative_binomial, multinomial, "
            "huber; or response=family,…",
            rich_help_panel=MODEL,
        ),
    ] = "gaussian",
    loss: Annotated[
        str, typer.Option(help="squared, or huber for outliers.", rich_help_panel=MODEL)
    ] = "squared",
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Predictors in every model: age,sex.", rich_help_panel=MODEL),
    ] = None,
    impute: Annotated[
        str | None,
        typer.Option(
            help="Replace missing predictors: mean.",
            show_default="an error",
            rich_help_panel=MODEL,
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = CORES,
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns of categories that are numbers: site,batch.", rich_help_panel=READING
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="Columns to leave out: a,b.", rich_help_panel=READING),
    ] = None,
    index: Index = None,
    no_index: NoIndex = False,
    header: Header = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Fit a model to the predictors X and the responses Y, and save it.

    Rank, numbers of predictors and responses, and ridge are chosen by the error on held-out
    samples unless they are given. Text columns of X are categories.
    """
    settings = {
        "rank": size(rank, "--rank", unlimited=False),
        "row_sparsity": size(rows, "--rows"),
        "column_sparsity": size(columns, "--columns"),
        "ridge": number(ridge, float, ("auto",), "--ridge"),
        "criterion": word(criterion, _CRITERIA, "--criterion"),
        "cv": cv,
        "refit_rule": word(refit_rule, ("best", "one_se", "thinnest"), "--refit-rule"),
        "random_state": seed,
        "n_jobs": jobs,
    }
    word(loss, ("squared", "huber"), "--loss")
    if impute is not None:
        word(impute, ("mean",), "--impute")
    chosen = names_of(responses)
    if y is None and not chosen:
        raise typer.BadParameter("give a file Y, or columns of X: --responses y1,y2")
    if join is not None and (y is None or no_index or index is not None):
        raise typer.BadParameter(
            "needs two files, and takes the place of --index", param_hint="--join"
        )
    from thinrank.cli.fit import FitRequest, run_fit
    from thinrank.cli.training_data import DataRequest

    data = DataRequest(
        x=x,
        y=y,
        responses=chosen,
        join=join,
        index=_index(index, no_index),
        header=header,
        categorical=names_of(categorical),
        drop=names_of(drop),
        delimiter=_delimiter(delimiter),
        decimal=_decimal(decimal),
        encoding=encoding,
        impute=impute is not None,
        family=family,
    )
    request = FitRequest(data, out, settings, loss, names_of(keep), overwrite, typed_command())
    output = Output(json, quiet, debug)
    raise typer.Exit(carry_out("fit", output, lambda: run_fit(request, output)))


def predict(
    model: Folder,
    x: Annotated[
        Path, typer.Argument(metavar="X", help="Predictors: CSV, TSV, Parquet, NPY or NPZ.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File to write: .csv, .tsv, .parquet or .npy.")
    ] = Path("predictions.csv"),
    index: Index = None,
    no_index: NoIndex = False,
    header: Header = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    overwrite: Overwrite = False,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Predict the responses of other samples.

    Columns are matched by name. Only those that the model uses must be there.
    """
    where = _index(index, no_index)
    separator, point = _delimiter(delimiter), _decimal(decimal)
    from thinrank.cli.predict import run_predict
    from thinrank.tables import ReadOptions

    options = ReadOptions(
        header=header, index=where, delimiter=separator, decimal=point, encoding=encoding
    )
    output = Output(json, quiet, debug)
    raise typer.Exit(
        carry_out("predict", output, lambda: run_predict(model, x, options, out, overwrite, output))
    )


def inspect(model: Folder, json: Json = False, quiet: Quiet = False, debug: Debug = False) -> None:
    """Show what a model found, and which data and options it was fitted with."""
    from thinrank.cli.inspect_model import run_inspect

    output = Output(json, quiet, debug)
    raise typer.Exit(carry_out("inspect", output, lambda: run_inspect(model, output)))


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
            "--predictors",
            "--rows",
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
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Examine how often random halves of the data select the same predictors.

    Writes stability.csv into the folder of the model; an earlier one is replaced.
    """
    if not 0.5 < threshold <= 1:
        raise typer.BadParameter(
            f"must be above 0.5 and at most 1, got {threshold}", param_hint="--threshold"
        )
    from thinrank.cli.stability import StabilityRequest, run_stability

    request = StabilityRequest(model, x, y, resamples, predictors, threshold, seed, jobs)
    output = Output(json, quiet, debug)
    raise typer.Exit(carry_out("stability", output, lambda: run_stability(request, output)))


def report(
    model: Folder,
    x: FitX = None,
    y: FitY = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="File of the page.", show_default="report.html in the folder"
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace the file of --out; report.html in the folder is always replaced.",
        ),
    ] = False,
    title: Annotated[str | None, typer.Option("--title", help="Title of the page.")] = None,
    graphml: Annotated[
        Path | None,
        typer.Option("--graphml", help="Also write the network to this file, for Cytoscape."),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a page about a model: what was found, tables, figures, and what to distrust."""
    from thinrank.cli.report_page import run_report

    output = Output(json, quiet, debug)
    raise typer.Exit(
        carry_out(
            "report",
            output,
            lambda: run_report(model, x, y, out, overwrite, output, title=title, graphml=graphml),
        )
    )


def _index(index: str | None, no_index: bool) -> str | bool | None:
    if index is not None and no_index:
        raise typer.BadParameter("give either --index or --no-index", param_hint="--index")
    return False if no_index else index


def _delimiter(name: str | None) -> str | None:
    if name is None or name in _DELIMITERS.values():
        return name
    return _DELIMITERS[word(name, tuple(_DELIMITERS), "--delimiter")]


def _decimal(name: str | None) -> str | None:
    named = {"point": ".", "comma": ","}
    if name is None or name in named.values():
        return name
    return named[word(name, tuple(named), "--decimal")]
