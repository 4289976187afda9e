"""What a fitted model found, and what to distrust in it: numbers, sentences and tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from thinrank.core.checks import check_choice, is_list, positive_integer
from thinrank.core.imports import import_optional
from thinrank.estimators.description import as_numbers
from thinrank.estimators.validation import criterion_of
from thinrank.losses.families import Gaussian
from thinrank.selection.choice import last_search, one_standard_error


class Findings:
    """What a fitted model found, as NumPy arrays, with the names of ``fit`` or those given."""

    def __init__(
        self, estimator: Any, feature_names: Any = None, response_names: Any = None
    ) -> None:
        U, V = as_numbers(estimator.factors_.U), as_numbers(estimator.factors_.V)
        p, k = estimator.factors_.shape
        known = getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(p)])
        self.title = type(estimator).__name__
        self.predictor_names = _names("feature_names", feature_names, known, "predictors")
        known = _response_names(estimator, k)
        # names of the responses, or of categories
        self.response_names = _names("response_names", response_names, known, "responses")
        self.noun = "class" if _has_classes(estimator) else "response"
        self.n_samples: int = estimator.n_samples_
        self.rank = U.shape[1]
        # predictors that were selected, those that are always kept, and both, sorted
        self.selected: np.ndarray = estimator.row_support_
        self.kept = np.asarray(estimator.kept_, dtype=np.int64)
        self.used: np.ndarray = np.union1d(self.selected, self.kept).astype(np.int64)
        # responses that are predicted by the selected predictors
        self.responses: np.ndarray = estimator.column_support_
        # (n_used, n_targets) coefficients of the predictors in use, and the same per standard
        # deviation of the predictor, in standard deviations of the response (not for counts and
        # categories)
        self.coefficients = U[self.used] @ V.T
        if len(self.kept):
            own = as_numbers(estimator.kept_coef_).reshape(k, len(self.kept))
            self.coefficients[np.searchsorted(self.used, self.kept)] = own.T
        sd_x, sd_y = estimator.feature_scale_[:, None], estimator.target_scale_
        sd_t = estimator.factor_scale_
        self.standardized = self.coefficients * sd_x[self.used] / sd_y
        # (n_selected, rank) change of each factor, in its standard deviations, per standard
        # deviation of a predictor
        inverse = np.divide(1.0, sd_t, out=np.zeros_like(sd_t), where=sd_t > 0)
        self.predictor_loadings = U[self.selected] * sd_x[self.selected] * inverse
        # (n_targets, rank) change of each response, in its standard deviations, per standard
        # deviation of a factor. The products with the predictor loadings add up to the standardized
        # coefficients
        self.response_loadings = V * sd_t / sd_y[:, None]
        # (rank,) and (n_targets,) shares explained by the factors and of the responses, the last
        # also in held-out rows, if there were any; all of the variance or of the deviance
        self.shares: np.ndarray = estimator.explained_variance_ratio_
        self.r2: np.ndarray = estimator.r2_
        self.held_out_r2: np.ndarray | None = estimator.held_out_r2_
        deviance = _by_deviance(estimator)
        self.share_of = "deviance" if deviance else "variance"
        self.measure = "deviance explained" if deviance else "R²"
        self.by_criterion = self.held_out_r2 is None and bool(getattr(estimator, "search_", ()))
        self.warnings = list(estimator.warnings_)
        # number of predictors of the thinnest model within one standard error of the best
        thinner = one_standard_error(last_search(getattr(estimator, "search_", [])))
        sizes = None if thinner is None else thinner.sizes
        self.fewer_predictors = len(self.selected) if sizes is None else sizes.rows

    @property
    def importance(self) -> np.ndarray:
        """What each predictor contributes to the factors, weighted by their shares; (n_features,).

        As the VIP of partial least squares: the mean of the squares over all predictors is 1.
        """
        squares = self.predictor_loadings**2
        total = squares.sum(axis=0)
        parts = np.divide(squares, total, out=np.zeros_like(squares), where=total > 0)
        shares = np.nan_to_num(np.maximum(self.shares, 0.0))
        explained = float(shares.sum())
        weight = shares / explained if explained > 0 else np.full(self.rank, 1 / max(self.rank, 1))
        out = np.zeros(len(self.predictor_names))
        out[self.selected] = np.sqrt(len(out) * (parts @ weight))
        return out


def predicted_names(estimator: Any) -> list[str]:
    """Names of the columns of ``predict``; classes are predicted in one column."""
    if _has_classes(estimator):
        return names_of_responses(getattr(estimator, "target_names_in_", None), 1)
    return _response_names(estimator, estimator.factors_.shape[1])


def score_name(estimator: Any) -> str:
    """What the sizes of an estimator were chosen by, for figures and pages."""
    known = criterion_of(estimator)
    if known is not None:
        return known.name.upper()
    return "held-out deviance" if hasattr(estimator, "family_") else "held-out error"


def _response_names(estimator: Any, count: int) -> list[str]:
    """Names of the responses; categories are named "response=category"."""
    names = getattr(estimator, "target_names_in_", None)
    if _has_classes(estimator):
        (prefix,) = names_of_responses(names, 1)
        # of two classes only the second has coefficients
        return [f"{prefix}={value}" for value in estimator.classes_[-count:]]
    columns = getattr(estimator, "target_columns_", None)
    if columns is not None:
        return [str(name) if names is not None else f"y{name}" for name in columns]
    return names_of_responses(names, count)


def names_of_responses(names: Any, count: int) -> list[str]:
    """Names of responses, made up if there are none."""
    if names is not None:
        return [str(name) for name in names]
    return ["y"] if count == 1 else [f"y{j}" for j in range(count)]


def _names(argument: str, given: Any, known: Sequence[Any], what: str) -> list[str]:
    """The names that are given, or those that are known."""
    if given is None:
        given = known
    if not is_list(given):
        raise ValueError(f"{argument} must be a sequence of {len(known)} names, got {given!r}")
    names = [str(name) for name in given]
    if len(names) != len(known):
        raise ValueError(
            f"{argument} must have one name for each of the {len(known)} {what}, got {len(names)} "
            "names"
        )
    return names


def _has_classes(estimator: Any) -> bool:
    """Whether the columns are the classes of one response."""
    return hasattr(estimator, "classes_") and not estimator._labels


def _by_deviance(estimator: Any) -> bool:
    family = getattr(estimator, "family_", None)
    if family is not None:
        return type(family) is not Gaussian
    loss = getattr(estimator, "loss", "squared")
    return not ((isinstance(loss, str) and loss == "squared") or type(loss) is Gaussian)


# ---------------------------------------------------------------------- tables

Columns = dict[str, Any]

# Number of factors that sentences describe, and of names that they list.
_MOST = 4
# The least loading that is named, as a fraction of the largest.
_LEAST_NAMED = 0.25


def strongest(loadings: np.ndarray, names: list[str]) -> list[tuple[str, float]]:
    """The few names of largest loading, with their loadings, in decreasing order of size."""
    sizes = np.abs(loadings)
    least = max(_LEAST_NAMED * sizes.max(initial=0.0), np.finfo(np.float64).tiny)
    order = np.argsort(-sizes, kind="stable")[:_MOST]
    return [(names[i], float(loadings[i])) for i in order if sizes[i] >= least]


def _coefficients(found: Findings, most: int | None) -> Columns:
    """One row per pair with a coefficient that is not zero, in order of standardized size."""
    sizes = np.abs(np.nan_to_num(found.standardized))
    pairs = np.flatnonzero(found.coefficients)
    order = pairs[np.argsort(-sizes.ravel()[pairs], kind="stable")[:most]]
    rows, columns = np.unravel_index(order, found.coefficients.shape)
    return {
        "predictor": _named(found.predictor_names, found.used[rows]),
        "response": _named(found.response_names, columns),
        "coefficient": found.coefficients[rows, columns],
        "standardized": found.standardized[rows, columns],
    }


def _predictors(found: Findings, most: int | None) -> Columns:
    """The predictors in use: those that are always kept, then the others, the strongest first."""
    strength = np.sqrt(np.sum(found.standardized**2, axis=1))
    kept = np.isin(found.used, found.kept)
    order = np.lexsort((-np.nan_to_num(strength), ~kept))[:most]
    return {
        "predictor": _named(found.predictor_names, found.used[order]),
        "strength": strength[order],
        "importance": found.importance[found.used[order]],
        "responses": np.count_nonzero(found.coefficients[order], axis=1),
        "always_kept": kept[order],
    }


def _responses(found: Findings, most: int | None) -> Columns:
    """All responses, in order of R²."""
    held_out = found.held_out_r2
    counts = np.count_nonzero(found.coefficients, axis=0)
    quality = np.nan_to_num(found.r2 if held_out is None else held_out, nan=-np.inf)
    used = counts > 0
    # responses that are not predicted come last, in their own order
    order = np.lexsort((np.where(used, -quality, 0.0), ~used))[:most]
    missing = np.full(len(found.r2), np.nan)
    return {
        "response": _named(found.response_names, order),
        "r2": found.r2[order],
        "held_out_r2": (missing if held_out is None else held_out)[order],
        "predictors": counts[order],
    }


def _factors(found: Findings, most: int | None) -> Columns:
    """One row per factor, with its strongest predictors and responses as text."""
    few = range(found.rank)[:most]
    selected = _named(found.predictor_names, found.selected)
    return {
        "factor": [j + 1 for j in few],
        "share": found.shares[: len(few)],
        "predictors": [_text(found.predictor_loadings[:, j], selected) for j in few],
        "responses": [_text(found.response_loadings[:, j], found.response_names) for j in few],
    }


def _loadings(found: Findings, most: int | None) -> Columns:
    """One row per factor and predictor or response that is not zero in it."""
    columns: Columns = {"factor": [], "side": [], "name": [], "loading": []}
    sides = [
        ("predictor", found.predictor_loadings, _named(found.predictor_names, found.selected)),
        ("response", found.response_loadings, found.response_names),
    ]
    for j in range(found.rank):
        for side, loadings, names in sides:
            live = np.flatnonzero(loadings[:, j])
            live = live[np.argsort(-np.abs(loadings[live, j]), kind="stable")[:most]]
            columns["factor"] += [j + 1] * len(live)
            columns["side"] += [side] * len(live)
            columns["name"] += _named(names, live)
            columns["loading"] += loadings[live, j].tolist()
    return columns


_TABLES = {
    "coefficients": _coefficients,
    "predictors": _predictors,
    "responses": _responses,
    "factors": _factors,
    "loadings": _loadings,
}


def _named(names: list[str], index: np.ndarray) -> list[str]:
    return [names[i] for i in index]


def _text(loadings: np.ndarray, names: list[str]) -> str:
    """The strongest names with the signs of their loadings, and how many more there are."""
    named = strongest(loadings, names)
    more = int(np.count_nonzero(loadings)) - len(named)
    text = ", ".join(f"{'+' if loading > 0 else '−'}{name}" for name, loading in named)
    return f"{text}, {more} more" if more else text


# ---------------------------------------------------------------------- text

# Columns of a terminal.
WIDTH = 80


def text_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[int] = (),
    *,
    lists: bool = False,
) -> list[str]:
    """Lines of an aligned table, 80 characters wide; ``lists``: cells are lists of names."""
    table = [list(headers), *(list(row) for row in rows)]
    wide = [max(len(row[j]) for row in table) for j in range(len(headers))]
    texts = [j for j in range(len(headers)) if j not in numbers]
    while sum(wide) > WIDTH - 2 * len(headers) and any(wide[j] > 4 for j in texts):
        wide[max(texts, key=wide.__getitem__)] -= 1
    lines, fitting = [], _fewer_names if lists else shortened
    for row in table:
        cells = [
            cell.rjust(width) if j in numbers else fitting(cell, width).ljust(width)
            for j, (cell, width) in enumerate(zip(row, wide, strict=True))
        ]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines


def shortened(text: str, width: int) -> str:
    """The text, with its middle replaced by "…" if it is longer than ``width``."""
    text = " ".join(text.split())  # names may contain line breaks
    if len(text) <= width:
        return text
    left = width // 2
    return f"{text[:left]}…{text[len(text) - (width - left - 1) :]}"


def _fewer_names(text: str, width: int) -> str:
    """A list of names, without those at its end that do not fit."""
    if len(text) <= width:
        return text
    names = text.split(", ")
    while len(names) > 1 and len(", ".join(names)) > width - 3:
        names.pop()
    return f"{shortened(', '.join(names), width - 3)}, …"


# Held-out R² is called much lower than R² in the training rows if it is lower by this much and
# less than this fraction of it. Rules of thumb.
_LOWER_BY = 0.1
_LOWER_THAN = 0.7
# Below this number of samples another sample often leads to other predictors. Rule of thumb.
_FEW_SAMPLES = 30
# Below this number of samples the held-out R² of the best of many models is noticeably too high: of
# the Linnerud data (20 samples) it is 0.17, where nested cross-validation has -0.2 to 0.0 depending
# on the seed (examples/real_data/plot_data_linnerud.py), of the concrete data 0.51, not 0.48.
_CHOSEN_BY_LUCK = 100
# ... unless it is as high as in the training rows, up to this. Rule of thumb.
_LUCK_MATTERS = 0.02


def sentences(found: Findings) -> Iterator[str]:
    """What was found."""
    kept = listed([found.predictor_names[i] for i in found.kept]) if len(found.kept) else ""
    if not found.rank:
        by_deviance = found.share_of == "deviance"
        null = "the same for all samples" if by_deviance else "the mean of each response"
        predicts = f"from {kept} only" if kept else null
        yield f"No predictor was selected: the model predicts {predicts}."
        return
    yield _sizes(found)
    if kept:
        verb = "is" if len(found.kept) == 1 else "are"
        yield f"In addition {kept} {verb} in the model in any case."
    if len(found.response_names) == 1:
        loadings = found.predictor_loadings[:, 0] * found.response_loadings[0, 0]
        yield f"{_relation(found, found.response_names, loadings)}."
    else:
        yield from (_factor(found, j) for j in range(min(found.rank, _MOST)))
        if found.rank > _MOST:
            rest = percent(float(found.shares[_MOST:].sum()))
            yield f"The rest of the {found.rank} factors explains {rest}."
    several = len(found.response_names) > 1 and found.noun != "class"
    held_out = ""
    if found.held_out_r2 is not None:
        held_out = (
            f" and {percent(_mean(found.held_out_r2))} in held-out rows, by which the sizes were "
            "chosen"
        )
    yield (
        f"The model explains {percent(_mean(found.r2))} of the {found.share_of}"
        f"{' of the responses' * several} in the training rows{held_out}."
    )
    if 0 < found.fewer_predictors < len(found.selected) > 2 * _MOST:
        yield (
            f"With {found.fewer_predictors} predictors the held-out error is larger by less than "
            'its standard error; refit_rule="thinnest" prefers such models.'
        )


def cautions(found: Findings) -> Iterator[str]:
    """What to distrust."""
    yield from found.warnings
    if found.rank:
        if found.held_out_r2 is None:
            how = "chosen by a criterion on the training rows" if found.by_criterion else "given"
            yield (
                f"The sizes were {how}, so that there is no held-out {found.measure}; new samples "
                "are predicted less well than the training rows. Use cross_val_score to see how "
                "much."
            )
        count = len(found.selected)
        said = any("more than half of the" in message for message in found.warnings)
        if 2 * count > found.n_samples and not said:
            yield (
                f"The model has {count} predictors for {found.n_samples} samples: do not read it "
                "as a selection of predictors."
            )
        yield from _too_optimistic(found)
    if found.n_samples < _FEW_SAMPLES:
        yield (
            f"There are only {found.n_samples} samples: with others the choice of predictors may "
            "be different. See thinrank.selection.stability."
        )


def listed(names: Sequence[str], most: int = _MOST) -> str:
    """Names as "a, b and c", the last of many as "3 more"."""
    few = list(names[:most])
    if len(names) > most:
        few.append(f"{len(names) - most} more")
    return few[0] if len(few) == 1 else f"{', '.join(few[:-1])} and {few[-1]}"


def percent(share: float) -> str:
    """A share as text, such as "21 %" or "0.3 %", "–" for nan."""
    if share != share:
        return "–"
    number = 100 * share
    digits = 1 if 0 < abs(number) < 1 else 0
    return f"{number:.{digits}f} %" if abs(number) >= 0.05 or number == 0 else "less than 0.1 %"


def number(x: float) -> str:
    """Two decimals, more just below 1; no sign for what is rounded to zero, "–" for nan."""
    if x != x:
        return "–"
    digits = 2
    while digits < 5 and abs(x) < 1 <= abs(round(x, digits)):
        digits += 1
    return f"{x if abs(x) >= 0.005 else 0.0:.{digits}f}"


def _mean(values: np.ndarray) -> float:
    """The mean of those that are not nan; nan if all are, as for constant responses."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _sizes(found: Findings) -> str:
    p, k = len(found.predictor_names) - len(found.kept), len(found.response_names)
    s1, s2 = len(found.selected), len(found.responses)
    who = f"{s1} of {p} predictors" if s1 < p else f"{'Both' if p == 2 else f'All {p}'} predictors"
    who = "The only predictor" if p == 1 else who
    verb = "predicts" if s1 == 1 else "predict"
    if k == 1:
        return f"{who} {verb} {found.response_names[0]}."
    many = f"{s2} of {k}" if s2 < k else "both" if k == 2 else f"all {k}"
    what = f"{many} {plural(found.noun)}"
    return f"{who} {verb} {what} through {found.rank} factor{'s' * (found.rank > 1)}."


def _factor(found: Findings, j: int) -> str:
    loadings = found.predictor_loadings[:, j]
    rises, falls = _signed(found.response_loadings[:, j], found.response_names)
    if len(falls) > len(rises):
        rises, falls, loadings = falls, rises, -loadings
    explained = f"Factor {j + 1} explains {percent(float(found.shares[j]))} of the {found.share_of}"
    if not rises:  # all loadings are rounding errors
        return f"{explained}."
    opposite = f"; the opposite holds for {listed(falls)}" if falls else ""
    return f"{explained}: {_relation(found, rises, loadings)}{opposite}."


def _relation(found: Findings, names: Sequence[str], loadings: np.ndarray) -> str:
    """What responses, or probabilities of classes, do as the selected predictors increase."""
    up, down = _signed(loadings, _named(found.predictor_names, found.selected))
    one, higher = len(names) == 1, ""
    more, less = f"increase{'s' * one}", f"decrease{'s' * one}"
    if found.noun == "class":
        verb, higher = "is" if one else "are", "higher "
        more, less = f"{verb} more likely", f"{verb} less likely"
    changes = ((more, up), (less, down))
    parts = [f"{change} with {higher}{listed(some)}" for change, some in changes if some]
    return f"{listed(names)} {(', and ' if len(up) > 1 else ' and ').join(parts)}"


def _signed(loadings: np.ndarray, names: list[str]) -> tuple[list[str], list[str]]:
    named = strongest(loadings, names)
    return [n for n, size in named if size > 0], [n for n, size in named if size < 0]


def _too_optimistic(found: Findings) -> Iterator[str]:
    """Held-out R² that is much lower than in the training rows, or negative."""
    if found.held_out_r2 is None:
        return
    outside, deviance = found.held_out_r2[found.responses], found.share_of == "deviance"
    mean, held_out = _mean(found.r2[found.responses]), _mean(outside)
    few = found.n_samples < _FEW_SAMPLES
    if few or (found.n_samples < _CHOSEN_BY_LUCK and mean - held_out > _LUCK_MATTERS):
        # with 40 samples it exceeds that on new rows by 0.03
        amount = ", by about 0.2 with 20 samples" if few and not deviance else ""
        yield (
            f"With {found.n_samples} samples the held-out {found.measure} is optimistic{amount}, "
            "because the sizes were chosen by the same errors. cross_val_score, which "
            "repeats the choice in every fold, has no such bias."
        )
    if mean - held_out > _LOWER_BY and held_out < _LOWER_THAN * mean:
        yield (
            f"In held-out rows the mean {found.measure} of the predicted responses is "
            f"{held_out:.2f}, much lower than {mean:.2f} in the training rows: the coefficients "
            "fit noise as well."
        )
    bad = found.responses[np.round(outside, 2) < 0]
    if len(bad):
        verb, null = ("is", "by its mean") if len(bad) == 1 else ("are", "by their means")
        null = "without predictors" if deviance else null
        names = listed(_named(found.response_names, bad))
        yield f"In held-out rows {names} {verb} predicted worse than {null}."


class Summary:
    """What a fitted model found, from :meth:`SparseReducedRankRegressor.summary`.

    ``print(summary)`` shows sentences, tables and what to distrust, with few rows of every table.
    :meth:`to_frame` returns a table in full.

    Parameters
    ----------
    found : Findings
        Numbers and names of the model.
    max_rows : int, default=10
        Largest number of rows of a table that is printed.

    Attributes
    ----------
    predictor_names, response_names : list of str
        Names of all predictors and responses; x0, x1, … and y0, y1, … if fit had no names.
    n_samples : int
        Number of samples.
    rank : int
        Number of factors.
    measure : str
        What ``r2`` in the tables is: "R²", or "deviance explained" for counts and classes.
    sentences : list of str
        What was found.
    cautions : list of str
        What to distrust; empty if nothing is known against the model.
    """

    def __init__(self, found: Findings, max_rows: int = 10) -> None:
        self._found = found
        self._max_rows = positive_integer("max_rows", max_rows)
        self.predictor_names = found.predictor_names
        self.response_names = found.response_names
        self.n_samples = found.n_samples
        self.rank = found.rank
        self.measure = found.measure
        self.sentences = list(sentences(found))
        self.cautions = list(cautions(found))

    def table(self, name: str = "coefficients", max_rows: int | None = None) -> dict[str, list]:
        """One of the tables as lists, without pandas.

        Parameters
        ----------
        name : {"coefficients", "predictors", "responses", "factors", "loadings"}, \
default="coefficients"
            The table; see :meth:`to_frame`.
        max_rows : int, default=None
            Number of rows, the strongest first (for "loadings": of each factor and side); None
            for all.

        Returns
        -------
        dict of (str to list)
            One list per column.
        """
        check_choice("table", name, _TABLES)
        columns = _TABLES[name](self._found, max_rows)
        return {key: getattr(x, "tolist", lambda x=x: x)() for key, x in columns.items()}

    def to_frame(self, table: str = "coefficients") -> Any:
        """One of the tables as a data frame; needs pandas.

        Parameters
        ----------
        table : {"coefficients", "predictors", "responses", "factors", "loadings"}, \
default="coefficients"
            - "coefficients": one row per pair with a coefficient that is not zero, with columns
              predictor, response, coefficient and standardized: the coefficient times the
              standard deviation of the predictor, divided by that of the response (not divided
              for counts and classes).
            - "predictors": the predictors in use, with columns predictor, strength (the root of
              the sum of squares of the standardized coefficients), importance (as the VIP of
              partial least squares: the contribution to the factors, weighted by what these
              explain; the mean of its squares over all predictors is 1), responses (their number)
              and always_kept.
            - "responses": all responses, with columns response, r2, held_out_r2 (nan if there is
              none) and predictors (their number).
            - "factors": one row per factor, with columns factor, share, predictors and responses,
              the last two as short text.
            - "loadings": columns factor, side ("predictor" or "response"), name and loading: the
              change of the factor per standard deviation of the predictor, and of the response,
              in its standard deviations, per standard deviation of the factor.

        Returns
        -------
        pandas.DataFrame
        """
        return import_optional("pandas").DataFrame(self.table(table))

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        return list(_TABLES)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        found = self._found
        counts = [
            (found.n_samples, "sample"),
            (len(self.predictor_names), "predictor"),
            (len(self.response_names), found.noun),
        ]
        shown = ", ".join(f"{n} {noun if n == 1 else plural(noun)}" for n, noun in counts)
        lines = [f"{found.title}: {shown}", "", *wrapped(self.sentences)]
        for table in self._shown_tables():
            lines += ["", *table]
        if self.cautions:
            lines += ["", "What to distrust", *wrapped(self.cautions, "- ")]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The text, for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"

    def _shown_tables(self) -> Iterator[list[str]]:
        """The lines of those tables that have something to say, each with its first rows."""
        found, several = self._found, len(self.response_names) > 1
        measure = f"{self.measure[0].upper()}{self.measure[1:]} of the {plural(found.noun)}"
        share = f"Factors, with the share of the {found.share_of} that each explains"
        pairs = int((found.coefficients != 0).sum())
        totals = {
            "factors": (share, found.rank * several),
            "responses": (measure, len(self.response_names)),
            "predictors": ("Predictors in use", len(found.used) * several),
            "coefficients": ("Coefficients, the largest (standardized) first", pairs),
        }
        for name, (title, total) in totals.items():
            if not total:
                continue
            columns = self.table(name, self._max_rows)
            if found.held_out_r2 is None:
                columns.pop("held_out_r2", None)
            columns.pop("importance", None)  # in data frames and reports
            kept = columns.pop("always_kept", None)
            if kept is not None:
                marks = [" (always kept)" * each for each in kept]
                columns["predictor"] = list(map(str.__add__, columns["predictor"], marks))
            numbers = [j for j, x in enumerate(columns.values()) if not isinstance(x[0], str)]
            cells = ([_cell(key, x) for x in column] for key, column in columns.items())
            rows = list(zip(*cells, strict=True))
            headers = [_HEADERS.get(key, key) for key in columns]
            lines = [title, *text_table(headers, rows, numbers, lists=name == "factors")]
            if more := total - len(rows):
                noun = "coefficient" if name == "coefficients" else headers[0]
                lines.append(f"  … and {more} more {noun}{'s' * (more > 1)}")
            yield lines


_HEADERS = {"r2": "training", "held_out_r2": "held out"}


def _cell(column: str, value: Any) -> str:
    if isinstance(value, float):
        if column == "coefficient":
            return f"{value:.4g}"
        return percent(value) if column == "share" else number(value)
    return str(value)


def plural(noun: str) -> str:
    """The plural of "predictor", "response", "sample" or "class"."""
    return "classes" if noun == "class" else f"{noun}s"


def wrapped(texts: Iterable[str], mark: str = "") -> list[str]:
    """Lines of some paragraphs, or of a list of them with a mark before each."""
    indents = {"initial_indent": mark, "subsequent_indent": " " * len(mark)}
    options: Any = {"break_on_hyphens": False, **indents}
    return [line for text in texts for line in textwrap.wrap(text, WIDTH, **options)]
