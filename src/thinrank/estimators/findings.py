"""The numbers and names of a fitted model that a summary is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core.checks import is_list
from thinrank.estimators.validation import check_criterion
from thinrank.losses.families import Gaussian
from thinrank.selection.choice import last_search, one_standard_error


@dataclass(frozen=True, eq=False)
class Findings:
    """What a fitted model found, as NumPy arrays."""

    title: str  # name of the class of the estimator
    predictor_names: list[str]  # names of all predictors, and of all responses or categories
    response_names: list[str]
    n_samples: int  # number of samples
    selected: np.ndarray  # predictors that were selected, and those that are always kept
    kept: np.ndarray
    responses: np.ndarray  # responses that are predicted by the selected predictors
    used: np.ndarray  # selected and kept predictors, sorted
    # (n_used, n_targets) coefficients of the predictors in use, and the same per standard deviation
    # of the predictor, in standard deviations of the response (not for counts and categories)
    coefficients: np.ndarray
    standardized: np.ndarray
    # (n_selected, rank) change of each factor, in its standard deviations, per standard deviation
    # of a predictor
    predictor_loadings: np.ndarray
    # (n_targets, rank) change of each response, in its standard deviations, per standard deviation
    # of a factor. The products with the predictor loadings add up to the standardized coefficients
    response_loadings: np.ndarray
    shares: np.ndarray  # (rank,) share of the variance that each factor explains
    r2: np.ndarray  # (n_targets,) R² in the training rows
    held_out_r2: np.ndarray | None  # (n_targets,) R² in held-out rows
    deviance: bool  # whether R² and shares are those of the deviance
    noun: str  # what a column of the coefficients is
    chosen: str  # how the sizes were chosen
    warnings: list[str]  # warnings of the fit
    # number of predictors of the thinnest model within one standard error of the best, if it is a
    # proper selection of fewer predictors
    fewer_predictors: int | None

    @property
    def rank(self) -> int:
        """Number of factors."""
        return len(self.shares)

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

    @property
    def measure(self) -> str:
        """Name of what ``r2`` measures."""
        return "deviance explained" if self.deviance else "R²"

    @property
    def share_of(self) -> str:
        """What shares are shares of."""
        return "deviance" if self.deviance else "variance"


def findings(estimator: Any, feature_names: Any = None, response_names: Any = None) -> Findings:
    """The numbers and names of a fitted model."""
    factors = estimator.factors_
    U, V = _numbers(factors.U), _numbers(factors.V)
    p, k = factors.shape
    kept = np.asarray(estimator.kept_, dtype=np.int64)
    selected, responses = estimator.row_support_, estimator.column_support_
    used = np.union1d(selected, kept).astype(np.int64)
    coefficients = U[used] @ V.T
    if len(kept):
        own = _numbers(estimator.kept_coef_).reshape(k, len(kept))
        coefficients[np.searchsorted(used, kept)] = own.T
    sd_x, sd_y = estimator.feature_scale_, estimator.target_scale_
    sd_t = estimator.factor_scale_
    inverse = np.divide(1.0, sd_t, out=np.zeros_like(sd_t), where=sd_t > 0)
    return Findings(
        type(estimator).__name__,
        _predictor_names(estimator, feature_names, p),
        _response_names(estimator, response_names, k),
        estimator.n_samples_,
        selected,
        kept,
        responses,
        used,
        coefficients,
        coefficients * sd_x[used][:, None] / sd_y,
        U[selected] * sd_x[selected][:, None] * inverse,
        V * sd_t / sd_y[:, None],
        estimator.explained_variance_ratio_,
        estimator.r2_,
        estimator.held_out_r2_,
        _by_deviance(estimator),
        "class" if _has_classes(estimator) else "response",
        _how_chosen(estimator),
        list(estimator.warnings_),
        _fewer_predictors(estimator),
    )


def _fewer_predictors(estimator: Any) -> int | None:
    thinner = one_standard_error(last_search(getattr(estimator, "search_", [])))
    if thinner is None or thinner.sizes is None:
        return None
    fewer = thinner.sizes.rows
    return fewer if 0 < fewer < len(estimator.row_support_) else None


def predicted_names(estimator: Any) -> list[str]:
    """Names of the columns of ``predict``; classes are predicted in one column."""
    if _has_classes(estimator):
        names = getattr(estimator, "target_names_in_", None)
        return ["y" if names is None else str(names[0])]
    return _response_names(estimator, None, estimator.factors_.shape[1])


def score_name(estimator: Any) -> str:
    """What the sizes of an estimator were chosen by, for figures and pages."""
    known = check_criterion(getattr(estimator, "criterion", "cv"))
    if known is not None:
        return known.name.upper()
    return "held-out deviance" if hasattr(estimator, "family_") else "held-out error"


def _numbers(x: Any) -> np.ndarray:
    return arrays.to_numpy(x).astype(np.float64)


def _predictor_names(estimator: Any, given: Any, count: int) -> list[str]:
    if given is not None:
        return _checked("feature_names", given, count, "predictors")
    names = getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(count)])
    return [str(name) for name in names]


def _response_names(estimator: Any, given: Any, count: int) -> list[str]:
    """Names of the responses; categories are named "response=category"."""
    if given is not None:
        return _checked("response_names", given, count, "responses")
    names = getattr(estimator, "target_names_in_", None)
    if _has_classes(estimator):
        prefix = "y" if names is None else str(names[0])
        # of two classes only the second has coefficients
        return [f"{prefix}={value}" for value in estimator.classes_[-count:]]
    columns = getattr(estimator, "target_columns_", None)
    if columns is not None:
        return [str(name) if names is not None else f"y{name}" for name in columns]
    if names is not None:
        return [str(name) for name in names]
    return ["y"] if count == 1 else [f"y{j}" for j in range(count)]


def _checked(argument: str, given: Any, count: int, what: str) -> list[str]:
    if not is_list(given):
        raise ValueError(f"{argument} must be a sequence of {count} names, got {given!r}")
    names = [str(name) for name in given]
    if len(names) != count:
        raise ValueError(
            f"{argument} must have one name for each of the {count} {what}, got {len(names)} names"
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


def _how_chosen(estimator: Any) -> str:
    if estimator.held_out_r2_ is not None:
        return "held out"
    return "criterion" if len(getattr(estimator, "search_", ())) else "given"


Columns = dict[str, Any]

# Names in the short text of a factor, and the least loading that is named, as a fraction of the
# largest.
_MOST_NAMED = 4
_LEAST_NAMED = 0.25


def table(name: str, found: Findings, most: int | None = None) -> Columns:
    """One of the tables, as columns; ``most`` is the number of rows, None for all."""
    if name not in TABLES:
        known = ", ".join(repr(each) for each in TABLES)
        raise ValueError(f"table must be one of {known}; got {name!r}")
    return TABLES[name](found, most)


def strongest(loadings: np.ndarray, names: list[str]) -> list[tuple[str, float]]:
    """The few names of largest loading, with their loadings, in decreasing order of size."""
    sizes = np.abs(loadings)
    largest = float(sizes.max(initial=0.0))
    order = np.argsort(-sizes, kind="stable")[:_MOST_NAMED]
    return [
        (names[i], float(loadings[i]))
        for i in order
        if largest > 0 and sizes[i] >= _LEAST_NAMED * largest
    ]


def _coefficients(found: Findings, most: int | None) -> Columns:
    """One row per pair with a coefficient that is not zero, in order of standardized size."""
    sizes = np.abs(np.nan_to_num(found.standardized))
    pairs = np.flatnonzero(found.coefficients)
    order = pairs[_decreasing(sizes.ravel()[pairs], most)]
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
            live = live[_decreasing(np.abs(loadings[live, j]), most)]
            columns["factor"] += [j + 1] * len(live)
            columns["side"] += [side] * len(live)
            columns["name"] += _named(names, live)
            columns["loading"] += loadings[live, j].tolist()
    return columns


TABLES = {
    "coefficients": _coefficients,
    "predictors": _predictors,
    "responses": _responses,
    "factors": _factors,
    "loadings": _loadings,
}


def _decreasing(sizes: np.ndarray, most: int | None) -> np.ndarray:
    """Positions of the largest numbers, the largest first; of equal ones the first comes first."""
    return np.argsort(-sizes, kind="stable")[:most]


def _named(names: list[str], index: np.ndarray) -> list[str]:
    return [names[i] for i in index]


def _text(loadings: np.ndarray, names: list[str]) -> str:
    """The strongest names with the signs of their loadings, and how many more there are."""
    named = strongest(loadings, names)
    more = int(np.count_nonzero(loadings)) - len(named)
    text = ", ".join(f"{'+' if loading > 0 else '−'}{name}" for name, loading in named)
    return f"{text}, {more} more" if more else text
