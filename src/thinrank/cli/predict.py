"""``thinrank predict``: predictions of a saved model for the rows of a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from thinrank.cli.exit_codes import Output, UnusableArgumentError
from thinrank.cli.output_place import check_new_file
from thinrank.cli.saved_model import SavedModel, load_model
from thinrank.tables import ReadOptions, read_table, write_table
from thinrank.tables.errors import counted, listed, listed_counts
from thinrank.tables.write import OUTPUT_SUFFIXES


def run_predict(
    folder: Path, file: Path, options: ReadOptions, out: Path, overwrite: bool, output: Output
) -> dict[str, Any]:
    """Write predictions, and return what ``--json`` prints."""
    if out.suffix.lower() not in OUTPUT_SUFFIXES:
        raise typer.BadParameter(f"must end in {', '.join(OUTPUT_SUFFIXES)}", param_hint="--out")
    check_new_file(out, overwrite)
    model = load_model(folder)
    if not file.is_file():
        raise UnusableArgumentError(f"{file}: there is no such file")
    encoding = model.encoding
    needed = encoding.columns_in_use(model.used)
    if encoding.named:
        options = replace(options, wanted=frozenset(needed))
    options = replace(
        options,
        categorical=frozenset(encoding.categories),
        fitted=True,
        **_index(model, options),
    )
    table = read_table(file, options)
    for text in table.notes:
        output.note(text)
    X = encoding.apply(table, model.used)
    filled = encoding.missing_cells(table, model.used)
    if filled:
        cells = sum(filled.values())
        output.note(
            f"{counted(cells, 'missing cell')} {'was' if cells == 1 else 'were'} replaced by the "
            f"mean of the column in the fit: {listed_counts(filled)}"
        )
    _tell_columns(table.ignored, encoding.columns, len(needed), output)
    names, columns = _predictions(model.estimator, X)
    write_table(out, names, columns, table.index, table.index_name, table.style)
    output.show(f"Predictions of {len(X)} samples are in {out}")
    return {"predictions": str(out), "rows": len(X), "columns": names}


def _index(model: SavedModel, options: ReadOptions) -> dict[str, Any]:
    """The column with the names of the rows: as in the fit, if the file has it."""
    if options.index is not None or model.record is None:
        return {}
    data = model.record["data"]
    name = data["join"] if data["join"] is not None else data["index"]
    return {"index": name, "index_required": False}


def _tell_columns(ignored: list[str], columns: list[str], needed: int, output: Output) -> None:
    known = set(columns)
    extra = [name for name in ignored if name not in known]
    if extra:
        output.note(f"columns that the model does not have were ignored: {listed(extra)}")
    if needed < len(columns):
        output.note(f"the model uses {needed} of the {len(columns)} columns that it was fitted to")


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
