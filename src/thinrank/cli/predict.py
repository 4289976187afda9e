"""``thinrank predict``: predictions of a saved model for the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from thinrank.cli.options import Folder, Overwrite, Reading, check_output_file, option_error
from thinrank.cli.running import JsonOutput


def predict(
    model: Folder,
    x: Annotated[
        Path, typer.Argument(metavar="X", help="Predictors: CSV, TSV, Excel, Parquet, NPY or NPZ.")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="File to write: .csv, .tsv, .xlsx, .parquet or .npy."),
    ] = Path("predictions.csv"),
    *,
    reading: Reading,
    overwrite: Overwrite = False,
    output: JsonOutput,
) -> dict[str, Any]:
    """Predict the responses of other samples.

    Columns are matched by name. Only those that the model uses must be there.
    """
    import pandas as pd

    from thinrank.cli.models import check_not_data, load_model
    from thinrank.tables import write_table
    from thinrank.tables.errors import counted
    from thinrank.tables.write import OUTPUT_SUFFIXES

    if out.suffix.lower() not in OUTPUT_SUFFIXES:
        raise option_error("--out", f"must end in {', '.join(OUTPUT_SUFFIXES)}")
    check_output_file(out, overwrite)
    saved = load_model(model)
    check_not_data(out, saved, x)
    X = saved.predictors(x, reading)
    for text in X.attrs["source"].notes:
        output.note(text)
    has_names = hasattr(saved.estimator, "feature_names_in_")
    columns = _predictions(saved.estimator, X if has_names else X.to_numpy())
    write_table(out, pd.DataFrame(columns, index=X.index), **X.attrs["source"].style)
    output.show(f"Predictions of {counted(len(X), 'sample')} are in {out}")
    return {"predictions": str(out), "rows": len(X), "columns": list(columns)}


def _predictions(estimator: Any, X: Any) -> dict[str, np.ndarray]:
    """The predicted columns by name; of categories the most probable one, and all probabilities."""
    if hasattr(estimator, "predict_proba"):  # a classifier that was saved by ``tr.save``
        probabilities = np.asarray(estimator.predict_proba(X))
        titles = [f"probability={each}" for each in estimator.classes_]
        predicted = np.asarray(estimator.predict(X))
        own = {"class": predicted} if predicted.ndim == 1 else {}
        return own | dict(zip(titles, probabilities.T, strict=True))
    values = np.asarray(estimator.predict(X))
    values = values[:, None] if values.ndim == 1 else values
    categories = getattr(estimator, "categories_", None)
    if categories is None:
        names = [str(name) for name in estimator.summary().response_names]
        return dict(zip(names, values.T, strict=True))
    columns: dict[str, np.ndarray] = {}
    first = 0
    for own in categories:
        titles = estimator.target_columns_[first : first + (1 if own is None else len(own))]
        block = values[:, first : first + len(titles)]
        if own is not None:
            best = np.asarray(own)[np.argmax(block, axis=1)].astype(object)
            columns[titles[0].removesuffix(f"={own[0]}")] = best
        columns |= dict(zip(titles, block.T, strict=True))
        first += len(titles)
    return columns
