"""The report of a fitted model: what was found, what to distrust, how the model was chosen."""

from __future__ import annotations

import inspect
import platform
import reprlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core.files import write_text
from thinrank.plot.fitted_model import fitted_model
from thinrank.report.drawn_figure import drawn
from thinrank.report.html import render_html
from thinrank.report.libraries import check_libraries
from thinrank.report.model_cautions import cautions
from thinrank.report.model_pictures import (
    coefficient_picture,
    convergence_picture,
    factor_picture,
    network_picture,
    prediction_pictures,
    sample_picture,
    selection_picture,
    stability_picture,
)
from thinrank.report.model_search import chosen_words, search_table
from thinrank.report.model_tables import ModelTables, shown_name
from thinrank.report.page import Block, Page, Points, Section, Table, Text
from thinrank.report.sample_names import names_of_samples
from thinrank.report.style import drawing
from thinrank.selection.choice import last_search
from thinrank.selection.stability import stable_sentences, unstable_sentences

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "matplotlib")
_STABILITY_COLUMNS = ("axis", "index", "name", "frequency", "stable")


def write(
    est: Any,
    path: Path | str,
    *,
    X: Any = None,
    Y: Any = None,
    stability: Any = None,
    command: str | None = None,
    title: str | None = None,
    sample_names: Sequence[object] | None = None,
) -> Path:
    """Write the report of a fitted model as one HTML file.

    The file needs no other file and no network, so it can be sent. It has what was found in words,
    tables that the reader can sort and filter, plots with a text and a table in their place, how
    the model was chosen, what to distrust, and the versions. Nothing is fitted.

    Parameters
    ----------
    est : estimator
        A fitted estimator, such as :class:`thinrank.SparseReducedRankRegressor`.
    path : path
        The file to write, in an existing folder. It is complete or absent; an earlier one is
        replaced.
    X : array, data frame or sparse matrix of shape (n_samples, n_features), default=None
        Predictors, for the plot of the samples. The file shows scores of samples, not X itself.
    Y : array or data frame of shape (n_samples, n_targets) or (n_samples,), default=None
        Responses of the same rows, for observed against predicted values; needs ``X``. The first
        200 of these are in the file.
    stability : DataFrame, default=None
        What :func:`thinrank.selection.stability` returned for the same data.
    command : str, default=None
        The command that made the model, to be shown.
    title : str, default=None
        Title of the report.
    sample_names : sequence of n_samples names or None, default=None
        Names of the rows of ``X`` and ``Y``; None for the index of ``X`` or ``Y`` if one is a
        pandas object.

    Returns
    -------
    path : Path
        The file.

    Raises
    ------
    ImportError
        If matplotlib or Jinja2 is not installed.
    OSError
        If the file cannot be written.
    ValueError
        If ``X``, ``Y`` or ``stability`` do not belong to the model.

    Notes
    -----
    A table has at most 5,000 rows, the strongest ones, and plots show the strongest predictors and
    responses; both say so where there are more. A plot that would be large as SVG is a PNG. The
    file therefore stays below about 10 MB, whatever the size of the model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = tr.report.write(est, Path(folder) / "report.html", X=X, Y=Y)
    ...     path.read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    path = _check_file(path)
    check_libraries()
    with drawing():
        page = model_page(
            est,
            X=X,
            Y=Y,
            stability=stability,
            command=command,
            title=title,
            sample_names=sample_names,
        )
        drawings = {picture.name: drawn(picture.figure) for picture in page.pictures}
    write_text(path, render_html(page, drawings))
    return path


def model_page(
    est: Any,
    *,
    X: Any = None,
    Y: Any = None,
    stability: Any = None,
    command: str | None = None,
    title: str | None = None,
    sample_names: Sequence[object] | None = None,
) -> Page:
    """Return the report of a fitted model as a page; see :func:`write`."""
    if Y is not None and X is None:
        raise ValueError("Y was given without X; predictions need both")
    frequency = _frequency(stability, len(fitted_model(est).predictor_names))
    summary = est.summary()
    tables = ModelTables(est, summary, frequency)
    page = Page(title or "What predicts what", contents=True)
    page.add(
        Section("What was found"),
        Points(tuple(summary.sentences)),
        Section("What to distrust"),
        Points(tuple(cautions(tables, stability)), caution=True),
        *_coefficients(tables),
        Section("Responses"),
        tables.responses(),
        *_factors(tables),
        *_data(tables, X, Y, sample_names),
        *_choice(est),
        *_stability(stability, tables.selected[0]),
        *_fit(est),
        *_origin(est, command),
    )
    return page


def _coefficients(tables: ModelTables) -> list[Block]:
    if tables.is_empty:
        return []
    return [
        Section("Coefficients"),
        coefficient_picture(tables),
        tables.coefficients(),
        Text(
            "A standardised coefficient is the change of the response, in its standard deviations, "
            "for one standard deviation of the predictor; the last column is in the units of the "
            "data."
        ),
        Section("Predictors"),
        tables.predictors(),
        Text("Strength: root of the sum of the squared standardised coefficients."),
    ]


def _factors(tables: ModelTables) -> list[Block]:
    if tables.model.rank == 0:
        return []
    return [
        Section("Factors"),
        Text(
            "The predictors act on the responses through a few factors, each a weighted sum of "
            "predictors. The share is that of the total variance or deviance of the responses in "
            "the training data. Plus and minus: the factor rises or falls with a predictor, and a "
            "response with the factor."
        ),
        tables.factors(),
        network_picture(tables),
        factor_picture(tables),
        tables.loadings(),
        Text(
            "Loading of a predictor: change of the factor per standard deviation of the predictor. "
            "Loading of a response: its change, in standard deviations, per standard deviation of "
            "the factor."
        ),
    ]


def _data(tables: ModelTables, X: Any, Y: Any, given: Sequence[object] | None) -> list[Block]:
    names = None if X is None else names_of_samples(X, Y, given)
    blocks: list[Block] = []
    if Y is not None:
        blocks += prediction_pictures(tables.est, X, Y, names)
    if X is not None and tables.model.rank >= 2:
        blocks.append(sample_picture(tables.est, X, names))
    return [Section("Samples and predictions"), *blocks] if blocks else []


def _choice(est: Any) -> list[Block]:
    blocks: list[Block] = [
        Section("How the model was chosen"),
        Points(tuple(chosen_words(est))),
    ]
    if last_search(getattr(est, "search_", [])):
        blocks += [selection_picture(est), search_table(est)]
    return blocks


def _stability(table: Any, selected: np.ndarray) -> list[Block]:
    if table is None:
        return []
    return [
        Section("Stability"),
        Points(
            (*stable_sentences(table, shown_name), *unstable_sentences(table, selected, shown_name))
        ),
        stability_picture(table),
    ]


def _fit(est: Any) -> list[Block]:
    """Return how the final fit ended, and its course if it took several iterations."""
    status = str(getattr(est, "status_", ""))
    blocks: list[Block] = [Points((status,))] if status else []
    if len(getattr(est, "history_", [])) > 1:
        blocks.append(convergence_picture(est))
    return [Section("The fit"), *blocks] if blocks else []


def _origin(est: Any, command: str | None) -> list[Block]:
    names = ("thinrank", *_LIBRARIES)
    versions = [f"Python {platform.python_version()}", *(f"{n} {version(n)}" for n in names)]
    rows = [
        ("estimator", type(est).__name__),
        ("settings", _settings(est) or "defaults"),
        ("samples", f"{est.n_samples_:,}" if hasattr(est, "n_samples_") else "unknown"),
        ("versions", ", ".join(versions)),
    ]
    blocks: list[Block] = [
        Section("How this was made"),
        Table(("item", "value"), list(rows), left=2, literal=True),
    ]
    if command:
        blocks.insert(1, Text(f"Command: `{command}`"))
    return blocks


def _settings(est: Any) -> str:
    """Return the parameters that are not the defaults."""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(type(est).__init__).parameters.items()
    }
    given = est.get_params(deep=False)
    return ", ".join(
        f"{name}={reprlib.repr(value)}"
        for name, value in given.items()
        if reprlib.repr(value) != reprlib.repr(defaults.get(name))
    )


def _check_file(path: Path | str) -> Path:
    """Raise an OSError, before anything is drawn, unless a file can be written at a path."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; path must name a file such as report.html")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {path.parent}")
    return path


def _frequency(table: Any, count: int) -> np.ndarray | None:
    """Return the selection frequencies of all predictors, after a check of the table."""
    if table is None:
        return None
    known = getattr(table, "columns", ())
    for name in _STABILITY_COLUMNS:
        if name not in known:
            raise ValueError(
                "stability must be the data frame that tr.selection.stability returns; it has no "
                f"column {name!r}"
            )
    part = table[table["axis"] == "row"]
    if len(part) != count:
        raise ValueError(
            f"stability has {len(part)} predictors, but the model has {count}; it belongs to other "
            "data"
        )
    return arrays.to_numpy(part["frequency"].to_numpy()).astype(np.float64)
