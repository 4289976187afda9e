"""Estimates and standard errors of coefficients, of predictors inside and outside of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.inference.fitted_supports import FittedSupports, residual_columns


def coefficient_estimates(
    found: FittedSupports, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimates, standard errors and degrees of freedom of coefficients.

    A predictor that is not adjusted for is added to those that are, one at a time. If neither the
    predictor nor the response is in the model, the estimate is that of least squares, since the
    low rank says nothing about the coefficient to first order.

    Shapes: ``pairs`` (m, 2), ``estimate``, ``standard_error``, ``df`` (m,).
    """
    model, k = found.model, len(found.response_names)
    needed, place = np.unique(pairs[:, 0], return_inverse=True)
    inside = np.isin(needed, found.adjusted)
    estimate, variance = np.empty((len(needed), k)), np.empty((len(needed), k))
    df = np.where(inside, model.df, model.df - 1)
    position = np.searchsorted(found.adjusted, needed[inside])
    estimate[inside] = model.estimate[position]
    variance[inside] = model.variances(np.eye(len(found.adjusted))[position])
    beyond = np.ix_(~np.isin(needed, found.rows) & inside, _beyond(found))
    plain = np.searchsorted(found.adjusted, needed[beyond[0].ravel()])
    estimate[beyond] = model.least_squares[plain][:, _beyond(found)]
    variance[beyond] = np.outer(np.diag(model.inverse)[plain], np.diag(model.noise)[_beyond(found)])
    estimate[~inside], variance[~inside] = _outside(found, needed[~inside])
    rows = place.reshape(-1)
    at = rows, pairs[:, 1]
    return estimate[at], np.sqrt(variance[at]), df[rows]


def _beyond(found: FittedSupports) -> np.ndarray:
    """Responses that are not in the model."""
    return np.setdiff1d(np.arange(len(found.response_names)), found.columns)


def _outside(found: FittedSupports, predictors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    model = found.model
    rest, squares = residual_columns(found.X[:, predictors], model.A)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(squares > 0, 1 / squares, np.nan)[:, None]
        plain = rest.T @ found.Y * spread
    df = model.df

    def without(noise: np.ndarray, part: np.ndarray) -> np.ndarray:
        """Variances of the noise with this predictor in the model, too."""
        return np.maximum(df * noise - part**2 / spread, 0.0) / (df - 1)

    projected = plain @ model.row_projection
    within = without(np.diag(model.row_noise), projected)
    beside = without(model.noise_beside, plain - projected)
    whole = without(np.diag(model.noise), plain)
    low_rank = np.isin(np.arange(len(model.noise)), found.columns)
    estimate = np.where(low_rank, projected, plain)
    variance = np.where(low_rank, within + model.second_order * beside, whole)
    return estimate, variance * spread


def chosen_pairs(found: FittedSupports, pairs: Any, predictors: Any, responses: Any) -> np.ndarray:
    """Positions of the pairs that were asked for; by default those of the model.

    Shapes: result (m, 2).
    """
    names_x, names_y = found.predictor_names, found.response_names
    if pairs is not None:
        if predictors is not None or responses is not None:
            raise ValueError("pass either pairs, or predictors and responses, not both")
        if isinstance(pairs, str):
            if pairs != "all":
                raise ValueError(f'pairs must be "all" or a list of pairs, got {pairs!r}')
            predictors = responses = "all"
        else:
            listed = [tuple(pair) for pair in pairs]
            if not listed or any(len(pair) != 2 for pair in listed):
                raise ValueError(
                    "pairs must be a list of (predictor, response) with at least one, "
                    f"got {pairs!r}"
                )
            chosen = [
                (_position("pairs", i, names_x), _position("pairs", j, names_y)) for i, j in listed
            ]
            return _without_kept(found, np.asarray(chosen, dtype=np.int64))
    rows = chosen_positions("predictors", predictors, names_x, found.rows)
    columns = chosen_positions("responses", responses, names_y, found.columns)
    if isinstance(predictors, str) and predictors == "all":
        rows = np.setdiff1d(rows, np.flatnonzero(found.constant))
    grid = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    return _without_kept(found, grid)


def _without_kept(found: FittedSupports, pairs: np.ndarray) -> np.ndarray:
    wrong = np.intersect1d(pairs[:, 0], np.flatnonzero(found.constant))
    if len(wrong):
        raise ValueError(
            f"predictor {found.predictor_names[wrong[0]]!r} is constant or always kept; intervals "
            "are for predictors that are selected"
        )
    return pairs


def chosen_positions(
    argument: str, given: Any, names: list[str], default: np.ndarray
) -> np.ndarray:
    """Positions of predictors or responses.

    ``given``: None for the default.
    """
    if given is None:
        return default
    if isinstance(given, str) and given == "all":
        return np.arange(len(names))
    if isinstance(given, (str, int, np.integer)):
        given = [given]
    return np.asarray([_position(argument, item, names) for item in given], dtype=np.int64)


def _position(argument: str, item: Any, names: list[str]) -> int:
    """Position of a predictor or response that is given by its name or position."""
    if isinstance(item, str):
        if item not in names:
            raise ValueError(f"{argument} has the unknown name {item!r}")
        return names.index(item)
    whole = isinstance(item, (int, np.integer)) and not isinstance(item, bool)
    if not whole or not 0 <= int(item) < len(names):
        raise ValueError(
            f"{argument} must have names or positions from 0 to {len(names) - 1}, got {item!r}"
        )
    return int(item)
