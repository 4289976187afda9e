"""The report of a fitted model: what was found, what to distrust, how the model was chosen."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from thinrank import plot
from thinrank.core.files import write_text
from thinrank.core.imports import import_optional
from thinrank.estimators.summary import Findings, Summary, percent, score_name
from thinrank.plot.canvas import fitted_model, shorten
from thinrank.plot.curves import chosen_record
from thinrank.plot.name_bars import part_of
from thinrank.plot.observed_points import draw_pairs, prediction_pairs
from thinrank.report.document import (
    Block,
    Cell,
    Number,
    Page,
    Points,
    Section,
    Table,
    Text,
    drawing,
    picture,
)
from thinrank.selection.choice import last_search, standard_error
from thinrank.selection.stability import AxisSummary, remark, stable_sentences, unstable_sentences

MOST_ROWS = 5000  # of a table on the page
_NAME_WIDTH = 120  # characters; longer names lose their middle
_MOST_SEPARATE = 4  # responses with a plot of their own where they cannot share one
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "matplotlib")

# Headings of the columns of a summary that are not their names.
_HEADINGS = {
    "standardized": "standardized coefficient",
    "frequency": "selection frequency",
    "r2": "{} training",
    "held_out_r2": "{} held out",
}


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
    data_files: Mapping[str, int] | None = None,
) -> Path:
    """Write the report of a fitted model as one HTML file.

    The file needs no other file and no network, so it can be sent. It has what was found in words,
    tables that the reader can sort, filter and download, plots with captions, how the model was
    chosen, what to distrust, and the versions. Nothing is fitted. A table has at most 5,000 rows,
    and plots show the strongest names; both say where there are more, so that the file stays below
    about 10 MB.

    Parameters
    ----------
    est : estimator
        A fitted estimator, such as :class:`thinrank.SparseReducedRankRegressor`.
    path : path
        The file to write. It is complete or absent; an earlier one is replaced.
    X : array, data frame or sparse matrix of shape (n_samples, n_features), default=None
        Predictors, for the plot of the samples. The file shows scores of samples, not X itself.
    Y : array or data frame of shape (n_samples, n_targets) or (n_samples,), default=None
        Responses of the same rows, for observed against predicted values; needs ``X``.
    stability : DataFrame, default=None
        What :func:`thinrank.selection.stability` returned for the same data.
    command : str, default=None
        The command that made the model, to be shown.
    title : str, default=None
        Title of the report.
    sample_names : sequence of n_samples names or None, default=None
        Names of the rows of ``X`` and ``Y``; None for the index of ``X`` or ``Y`` if one is a
        pandas object.
    data_files : mapping of file name to number of rows, default=None
        The files of the data, to be shown below the title.

    Returns
    -------
    path : Path
        The file.

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
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; path must name a file such as report.html")
    import_optional("matplotlib")
    if Y is not None and X is None:
        raise ValueError("Y was given without X; predictions need both")
    model, summary = fitted_model(est), est.summary()
    frequency = _frequency(stability, len(model.predictor_names))
    records: list[Any] = last_search(getattr(est, "search_", []))
    records = sorted(records, key=lambda record: record.objective)
    with drawing():
        page = Page(title or "What predicts what", origin=_below_title(est, data_files))
        page.add(
            Section("What was found"),
            Points(tuple(summary.sentences)),
            Section("What to distrust"),
            Points(tuple(_cautions(est, model, summary, stability, records)), caution=True),
            *_coefficients(est, model, summary, frequency),
            *_responses(model, summary),
            *_factors(est, model, summary),
            *_data(est, model, X, Y, sample_names),
            *_choice(est, records),
            *_stability(stability, model.used),
            *_origin(est, command),
        )
        content = page.html()
    write_text(path, content)
    return Path(path)


def _below_title(est: Any, data_files: Mapping[str, int] | None) -> str:
    """Data with their sizes, the date and the version."""
    parts = [f"{name} ({rows:,} rows)" for name, rows in (data_files or {}).items()]
    parts += [f"n = {est.n_samples_:,} samples"] if hasattr(est, "n_samples_") else []
    return " · ".join([*parts, f"{date.today():%d %B %Y}", f"thinrank {version('thinrank')}"])


def _cautions(
    est: Any, model: Findings, summary: Summary, stability: Any, records: list[Any]
) -> list[str]:
    """What to distrust: the cautions of the summary, and those that need more than a fit."""
    found = [*summary.cautions, *_no_better_than_nothing(est, records)]
    if stability is not None:
        found += unstable_sentences(stability, model.used, _shown)
        axis = AxisSummary.of_table(stability, "row")
        found += [remark(axis)] if axis.says_nothing else []
    said = any("selection.stability" in sentence for sentence in found)
    if stability is None and not said and len(model.used):
        found.append(
            "Whether other samples would select the same predictors was not checked; "
            "tr.selection.stability does that, or thinrank stability on the command line."
        )
    found.append(
        "Coefficients are shrunk and selected with the same data, and a predictor may stand for "
        "others that it is correlated with; they are not effects of interventions."
    )
    return list(dict.fromkeys(found))


def _no_better_than_nothing(est: Any, records: list[Any]) -> list[str]:
    """A sentence if a model without predictors scores about as well as the chosen one."""
    null = next((r for r in records if r.sizes.rank == 0), None)
    chosen = chosen_record(records, est.best_params_)
    if null is None or chosen is None or null is chosen:
        return []
    # the chosen model may have scores on further splits
    common = min(len(null.split_scores), len(chosen.split_scores))
    if common < 2:
        return []
    first, second = (np.asarray(r.split_scores[:common]) for r in (null, chosen))
    gains = first - second  # by split: what is common to both models cancels
    error = float(np.std(gains, ddof=1)) / len(gains) ** 0.5
    if gains.mean() > error:
        return []
    return [
        f"The score without predictors, {null.objective:.3g}, is within one standard error "
        f"({error:.2g}) of that of the chosen model, {chosen.objective:.3g}: the model may be "
        "no better than the mean."
    ]


def _coefficients(
    est: Any, model: Findings, summary: Summary, frequency: np.ndarray | None
) -> list[Block]:
    total = int(np.count_nonzero(model.coefficients))
    if not total:
        return []
    return [
        Section("Coefficients"),
        picture(
            "coefficients",
            partial(plot.coefficients, est),
            "Map of the coefficients in standard deviations of predictor and response. Red: the "
            "response rises with the predictor; blue: it falls. Similar predictors and responses "
            "are next to each other.",
        ),
        _summary_table(summary, "coefficients", total),
        Text(
            "A standardized coefficient is the change of the response, in its standard deviations, "
            "for one standard deviation of the predictor; the other is in the units of the data."
        ),
        Section("Predictors"),
        _summary_table(summary, "predictors", len(model.used), frequency),
        Text(
            "Strength: root of the sum of the squared standardized coefficients. Importance: how "
            "much a predictor contributes to the factors, weighted by what these explain, as the "
            "VIP of partial least squares; the mean of its squares over all predictors is 1."
        ),
    ]


def _responses(model: Findings, summary: Summary) -> list[Block]:
    about = (
        f"{summary.measure} held out: for rows that were left out of the fit, of the model that "
        "was best for these rows. It is therefore optimistic, most of all with few samples; "
        "cross_val_score repeats the choice in every fold."
    )
    table = _summary_table(summary, "responses", len(model.r2))
    return [Section("Responses"), table, *([] if model.held_out_r2 is None else [Text(about)])]


def _factors(est: Any, model: Findings, summary: Summary) -> list[Block]:
    if model.rank == 0:
        return []
    sides = model.predictor_loadings, model.response_loadings
    return [
        Section("Factors"),
        Text(
            "The predictors act on the responses through a few factors, each a weighted sum of "
            "predictors. The share is that of the total variance or deviance of the responses in "
            "the training data. Plus and minus: the factor rises or falls with a predictor, and a "
            "response with the factor."
        ),
        _summary_table(summary, "factors", model.rank),
        picture(
            "network",
            partial(plot.network, est),
            "Network of the strongest predictors and responses, connected through the factors. "
            "Wide edges are strong. A path of two edges of the same color raises the response, one "
            "of two colors lowers it.",
        ),
        picture(
            "factors",
            partial(plot.factors, est),
            "Loadings of predictors (top) and responses (bottom) on each factor. A response rises "
            "with a predictor if their bars for a factor point to the same side.",
        ),
        _summary_table(summary, "loadings", sum(int(np.count_nonzero(side)) for side in sides)),
        Text(
            "Loading of a predictor: change of the factor per standard deviation of the predictor. "
            "Loading of a response: its change, in standard deviations, per standard deviation of "
            "the factor."
        ),
    ]


def _data(est: Any, model: Findings, X: Any, Y: Any, given: Sequence[object] | None) -> list[Block]:
    names = None if X is None else _names_of_samples(X, Y, given)
    blocks: list[Block] = [] if Y is None else _predictions(est, X, Y)
    if X is not None and model.rank >= 2:
        caption = (
            "Samples by their scores on the first two factors, in standard deviations. Arrows point"
            " to where a response is large."
        )
        if names is not None:
            caption += " Samples far from the center have their names."
        blocks.append(picture("samples", partial(plot.biplot, est, X, labels=names), caption, 5.8))
    return [Section("Samples and predictions"), *blocks] if blocks else []


def _predictions(est: Any, X: Any, Y: Any) -> list[Block]:
    """Observations against predictions; one plot per response where some are probabilities."""
    pairs = prediction_pairs(est, X, Y)
    shown = {"all responses": pairs}
    if pairs.probability.any() and not pairs.probability.all():
        few = range(min(len(pairs.names), _MOST_SEPARATE))
        shown = {_shown(pairs.names[i]): pairs.only(i) for i in few}
    return [
        picture(
            f"predictions_{i}",
            partial(draw_pairs, each),
            f"Observed against predicted, {name}, for the data given to the report. They are "
            "optimistic if the model was fitted to the same rows. On the dashed line both are "
            "equal.",
            5.2,
        )
        for i, (name, each) in enumerate(shown.items(), start=1)
    ]


def _names_of_samples(X: Any, Y: Any, given: Sequence[object] | None) -> list[str] | None:
    """Names of the samples; None if they have none but their positions."""
    n = int(X.shape[0])
    if given is not None:
        if len(given) != n:
            raise ValueError(f"sample_names must have {n} names, one per row, got {len(given)}")
        return [_shown(name) for name in given]
    for data in (X, Y):
        if hasattr(data, "iloc"):  # a pandas data frame or series
            names = list(data.index)
            if names != list(range(n)):
                return [_shown(name) for name in names]
    return None


def _choice(est: Any, records: list[Any]) -> list[Block]:
    """How many models were compared, what was chosen, and the scores of the last search."""
    tried, sizes = getattr(est, "search_", []), _size_words(est.best_params_)
    words = [f"All sizes were given, so nothing was compared: {sizes}."]
    if tried:
        words = [
            f"{len(tried):,} models were compared by their {score_name(est)}; less is better.",
            f"Chosen: {sizes}.",
        ]
    if len({record.search_round for record in tried}) > 1:
        words.append(
            f"{len(records):,} of them belong to the last search, whose scores can be compared: "
            "the noise in the responses was estimated again before it."
        )
    blocks: list[Block] = [Section("How the model was chosen"), Points(tuple(words))]
    if records:
        caption = (
            "Scores against the number of predictors, one line per rank. Large points are the "
            "models that were compared, which the table has. The rest of the lines, and all of a "
            "dashed line, are scores that these models give for other ranks, on the predictors "
            "that they selected. The star is the chosen model, the ring the smallest one within "
            "one standard error of the least score."
        )
        figure = picture("selection", partial(plot.selection, est), caption)
        blocks += [figure, _search_table(est, records)]
    if records and score_name(est) == "held-out error":
        blocks.append(
            Text(
                "The error is the mean of the squares over held-out rows and responses. With "
                "standardize=True every response is in units of its noise, so that 1 is an "
                "error as large as the noise; otherwise in the units of the data, squared."
            )
        )
    return blocks


def _size_words(params: dict[str, Any]) -> str:
    rank, rows, columns = (params.get(n) for n in ("rank", "row_sparsity", "column_sparsity"))
    if rank == 0:
        return "rank 0, no predictor"
    parts = [
        f"rank {rank}",
        "all predictors" if rows is None else f"at most {rows:,} predictors",
        "all responses" if columns is None else f"at most {columns:,} responses",
    ]
    if params.get("ridge") is not None:
        parts.append(f"ridge {params['ridge']:.3g}")
    return ", ".join(parts)


def _stability(table: Any, used: np.ndarray) -> list[Block]:
    if table is None:
        return []
    sentences = *stable_sentences(table, _shown), *unstable_sentences(table, used, _shown)
    caption = "How often each predictor was selected in fits to random halves of the data."
    return [
        Section("What would change with other samples"),
        Points(sentences),
        picture("stability", partial(plot.stability, table), caption),
    ]


def _origin(est: Any, command: str | None) -> list[Block]:
    names = ("thinrank", *_LIBRARIES)
    versions = [f"Python {platform.python_version()}", *(f"{n} {version(n)}" for n in names)]
    rows: list[tuple[Cell, ...]] = [
        *([("command", command)] if command else []),
        ("estimator", " ".join(repr(est).split())),
        ("end of the fit", str(getattr(est, "status_", ""))),
        ("versions", ", ".join(versions)),
    ]
    return [Section("How this was made"), Table(("item", "value"), rows, left=2)]


def _frequency(table: Any, count: int) -> np.ndarray | None:
    """The selection frequencies of all predictors, after a check of the table."""
    if table is None:
        return None
    part = part_of(table, "row", "stability")
    if len(part) != count:
        raise ValueError(
            f"stability has {len(part)} predictors, but the model has {count}; it belongs to other "
            "data"
        )
    return part["frequency"].to_numpy(dtype=np.float64)


def _shown(name: object) -> str:
    """A name in one line, without its middle if it is very long."""
    return shorten(name, _NAME_WIDTH)


def _as_cell(value: Any, digits: int = 3) -> Cell:
    """A number with significant digits, empty if it is missing; a short name as it is."""
    if isinstance(value, Number):
        return value
    if isinstance(value, str):
        return _shown(value)
    if value is None or math.isnan(value):
        return Number(math.nan, "")
    size = abs(value)
    if isinstance(value, (int, np.integer)) or not math.isfinite(value):
        return Number(float(value), str(value))
    if size == 0 or not 1e-4 <= size < 1e6:
        return Number(float(value), f"{value:.{digits}g}")
    decimals = max(digits - 1 - math.floor(math.log10(size)), 0)
    return Number(float(value), f"{value:.{decimals}f}")


def _summary_table(
    summary: Summary, name: str, total: int, frequency: np.ndarray | None = None
) -> Table:
    """A table of the summary, with ``total`` rows in full, and how often names were selected."""
    most = MOST_ROWS // max(2 * summary.rank, 1) if name == "loadings" else MOST_ROWS
    found = summary.table(name, most)
    if frequency is not None:
        of = dict(zip(summary.predictor_names, frequency.tolist(), strict=True))
        found["frequency"] = [of[each] for each in found["predictor"]]
    found.pop("always_kept", None)
    if name == "factors":
        found["factor"] = list(map(str, found["factor"]))
        for side in ("predictors", "responses"):
            found[f"strongest {side}"] = found.pop(side)
        found["share"] = [Number(share, percent(share)) for share in found["share"]]
    if np.isnan(found.get("held_out_r2", 0.0)).all():
        found.pop("held_out_r2", None)
    texts = [key for key, column in found.items() if column and isinstance(column[0], str)]
    keys = sorted(found, key=lambda key: key not in texts)  # texts first, else in their order
    rows = [tuple(map(_as_cell, row)) for row in zip(*map(found.get, keys), strict=True)]
    note = ""
    if len(rows) < total:
        note = f"The strongest {len(rows):,} of {total:,} {name}; est.summary().to_frame() has all."
    header = tuple(_HEADINGS.get(key, key).format(summary.measure) for key in keys)
    return Table(header, rows, len(texts), name.capitalize(), note, sortable=name != "factors")


def _search_table(est: Any, records: list[Any]) -> Table:
    """The models of the last search, the best first."""
    chosen = chosen_record(records, est.best_params_)
    rows = [
        (
            "chosen" if record is chosen else "",
            *map(_as_cell, record.sizes[:4]),
            _as_cell(record.objective, 5),
            _as_cell(standard_error(record)),
            _as_cell(record.objective - records[0].objective),
        )
        for record in records[:MOST_ROWS]
    ]
    header = ("choice", "rank", "predictors", "responses", "ridge", "score", "standard error")
    note = "" if len(rows) == len(records) else f"The best {len(rows):,} of {len(records):,}."
    caption = f"Models that were compared; score: {score_name(est)}"
    return Table((*header, "above the least"), rows, 1, caption, note, sortable=True)
