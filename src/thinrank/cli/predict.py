"""``thinrank predict``: predictions of a saved model for the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from thinrank.cli.options import (
    Debug,
    Decimal,
    Delimiter,
    Encoding,
    Folder,
    Header,
    Index,
    Json,
    Missing,
    NoIndex,
    Overwrite,
    Quiet,
    check_new_file,
    decimal_mark,
    delimiter_mark,
    index_choice,
    names_of,
)
from thinrank.cli.running import UnusableArgumentError, output_of


def predict(
    context: typer.Context,
    model: Folder,
    x: Annotated[
        Path, typer.Argument(metavar="X", help="Predictors: CSV, TSV, Excel, Parquet, NPY or NPZ.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="File to write: .csv, .tsv, .xlsx, .parquet or .npy."),
    ] = Path("predictions.csv"),
    missing: Missing = None,
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
) -> dict[str, Any]:
    """Predict the responses of other samples.

    Columns are matched by name. Only those that the model uses must be there.
    """
    from thinrank.cli.saved_model import check_not_data, load_model
    from thinrank.tables import ReadOptions, read_cells, write_table
    from thinrank.tables.errors import counted, listed
    from thinrank.tables.types import key_of, typed
    from thinrank.tables.write import OUTPUT_SUFFIXES

    output = output_of(context, json, quiet, debug)
    if out.suffix.lower() not in OUTPUT_SUFFIXES:
        raise typer.BadParameter(f"must end in {', '.join(OUTPUT_SUFFIXES)}", param_hint="--out")
    check_new_file(out, overwrite)
    saved = load_model(model)
    if not x.is_file():
        raise UnusableArgumentError(f"{x}: there is no such file")
    check_not_data(out, saved, x)
    learned = saved.encoding
    needed = learned.columns_in_use(saved.used)
    options = ReadOptions(
        header=header,
        index=index_choice(index, no_index),
        categorical=frozenset(learned.categories),
        delimiter=delimiter_mark(delimiter),
        decimal=decimal_mark(decimal),
        encoding=encoding,
        missing=frozenset(names_of(missing)),
        wanted=frozenset(needed) if learned.named else None,
        fitted=True,
    )
    cells = read_cells(x, options)
    name = "" if saved.record is None else saved.record.get("key", "")
    found = options.index is None and name and name in cells.names
    table = typed(cells, options, cells.names.index(name) if found else key_of(cells, options))
    X, filled = learned.apply(table, saved.used), learned.missing_cells(table, saved.used)
    for text in table.notes:
        output.note(text)
    if filled:
        total = sum(filled.values())
        output.note(
            f"{counted(total, 'missing cell')} {'was' if total == 1 else 'were'} replaced by the "
            f"mean of the column in the fit: {listed(filled)}"
        )
    extra = [name for name in table.ignored if name not in set(learned.columns)]
    if extra:
        output.note(f"columns that the model does not have were ignored: {listed(extra)}")
    if len(needed) < len(learned.columns):
        output.note(
            f"the model uses {len(needed)} of the {len(learned.columns)} columns that it was "
            "fitted to"
        )
    names, columns = _predictions(saved.estimator, X)
    write_table(out, names, columns, table.index, table.index_name, table.style)
    output.show(f"Predictions of {counted(len(X), 'sample')} are in {out}")
    return {"predictions": str(out), "rows": len(X), "columns": names}


def _predictions(estimator: Any, X: np.ndarray) -> tuple[list[str], list[np.ndarray]]:
    """Names and values of the predicted columns.

    A response with categories has one column with the most probable category, and one column with
    the probability of each.
    """
    if hasattr(estimator, "predict_proba"):
        return _classes(estimator, X)
    values = np.asarray(estimator.predict(X))
    values = values[:, None] if values.ndim == 1 else values
    categories = getattr(estimator, "categories_", None)
    if categories is None:
        return [str(name) for name in estimator.summary().response_names], list(values.T)
    names: list[str] = []
    columns: list[np.ndarray] = []
    first = 0
    for own in categories:
        titles = estimator.target_columns_[first : first + (1 if own is None else len(own))]
        block = values[:, first : first + len(titles)]
        if own is not None:
            names.append(titles[0].removesuffix(f"={own[0]}"))
            columns.append(np.asarray(own)[np.argmax(block, axis=1)].astype(object))
        names += titles
        columns += list(block.T)
        first += len(titles)
    return names, columns


def _classes(estimator: Any, X: np.ndarray) -> tuple[list[str], list[np.ndarray]]:
    """Predictions of a classifier that was saved by ``tr.save``."""
    probabilities = np.asarray(estimator.predict_proba(X))
    names = [f"probability={each}" for each in estimator.classes_]
    predicted = np.asarray(estimator.predict(X))
    if predicted.ndim == 1:
        return ["class", *names], [predicted, *probabilities.T]
    return names, list(probabilities.T)
