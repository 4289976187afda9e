"""Whether the parts of a loaded model fit together.

A file with valid checksums can still come from somebody who made it by hand. These checks find
arrays of shapes that do not match before a prediction fails with an obscure message.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from thinrank.core.factors import Factors
from thinrank.core.result import Solution
from thinrank.estimators.base import FactorModel
from thinrank.persistence.decomposition_consistency import (
    check_completion,
    check_components,
    check_graph,
    check_svd,
)
from thinrank.persistence.errors import ModelFileError, as_model_file_error
from thinrank.persistence.parts import check_factors, has_shape
from thinrank.persistence.registry import name_of


def check_consistency(model: Any) -> None:
    """Raise a ModelFileError if the parts of a model do not fit together."""
    if isinstance(model, Factors):
        check_factors(model)
    elif isinstance(model, Solution):
        check_factors(model.factors)
    elif isinstance(model, FactorModel):
        if _is_fitted(model, "factors_"):
            _check_factor_model(model)
            _check_prediction(model)
    elif name_of(type(model)) in _CHECKS:  # others only have parameters
        check, attribute = _CHECKS[name_of(type(model))]
        if _is_fitted(model, attribute):
            check(model)


def _is_fitted(model: Any, attribute: str) -> bool:
    return attribute in vars(model)


def _check_factor_model(model: FactorModel) -> None:
    check_factors(model.factors_)
    m1, m2 = model.factors_.shape
    single = vars(model).get("_single_target")
    if type(single) is not bool or (single and m2 != 1):
        raise ModelFileError("_single_target must say whether there is a single response")
    features = vars(model).get("n_features_in_")
    if type(features) is not int or features != m1:
        raise ModelFileError(f"n_features_in_ is {str(features)[:80]}, but the factors have {m1}")
    intercept = vars(model).get("intercept_")
    if not (isinstance(intercept, float) if single else has_shape(intercept, (m2,))):
        raise ModelFileError(f"intercept_ must have one number for each of {m2} responses")
    if "kept_" in vars(model):
        _check_kept(model, m1, () if single else (m2,))
    if "feature_names_in_" in vars(model):
        names = model.feature_names_in_
        if not isinstance(names, np.ndarray) or names.shape != (m1,):
            raise ModelFileError(f"feature_names_in_ must have {m1} names, one per predictor")


def _check_kept(model: FactorModel, features: int, targets: tuple[int, ...]) -> None:
    kept = model.kept_
    valid = isinstance(kept, np.ndarray) and kept.ndim == 1 and kept.dtype.kind == "i"
    if not valid or (kept.size and not 0 <= kept.min() <= kept.max() < features):
        raise ModelFileError("kept_ must contain indices of predictors")
    if not has_shape(getattr(model, "kept_coef_", None), (*targets, len(kept))):
        raise ModelFileError("kept_coef_ must have the coefficients of the predictors in kept_")


def _check_prediction(model: Any) -> None:
    """Predict for a row of zeros: this uses everything that predictions need."""
    row = scipy.sparse.csr_array((1, model.n_features_in_), dtype=np.float64)
    with as_model_file_error("its parts do not fit together"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zeros have no names of predictors
        model.predict(row)
        model.transform(row)


def _check_action_values(model: Any) -> None:
    values = model.values_
    if name_of(type(values)) != "rl.action_values.LinearValues":
        raise ModelFileError("values_ must be linear action values")
    check_factors(values.factors)
    with as_model_file_error("its parts do not fit together"):
        shape = model.n_actions * model.n_features_, model.n_tasks_
        if values.factors.shape != shape or not callable(values.features):
            raise ModelFileError(f"the factors must have the shape {shape}")
        if not has_shape(values.intercept, (model.n_actions, model.n_tasks_)):
            raise ModelFileError("the intercepts must have one entry per action and task")


def _check_imaging(model: Any) -> None:
    check_factors(model.factors_)
    with as_model_file_error("its parts do not fit together"):
        frames, height, width = model.shape_
        pixels = height * width
        neurons = len(model.traces_)
        expected = {
            "traces_": (neurons, frames),
            "spike_trains_": (neurons, frames),
            "sparse_footprints_": (neurons, pixels),
            "regions_": (height, width),
            "mean_image_": (height, width),
            "_scale": (pixels,),
            "_baseline": (len(model._knots), pixels),
        }
        if model.factors_.shape != (frames, pixels) or not math.isfinite(model.decay_):
            raise ModelFileError(f"the factors must have the shape {(frames, pixels)}")
        for name, shape in expected.items():
            if getattr(model, name).shape != shape:
                raise ModelFileError(f"{name} must have the shape {shape}")
        if len(model.region_coordinates_) != neurons:
            raise ModelFileError(f"region_coordinates_ must have {neurons} regions")
        _check_measures(model, neurons, frames)


def _check_measures(model: Any, neurons: int, frames: int) -> None:
    """Check what is measured in the raw frames; models of earlier versions do not have it."""
    expected = {
        "fluorescence_": (("raw", "neuropil", "baseline", "deconvolved"), (neurons, frames)),
        "quality_": (("snr", "correlation"), (neurons,)),
    }
    for attribute, (names, shape) in expected.items():
        measure = getattr(model, attribute, None)
        for name in names if measure is not None else ():
            if np.shape(getattr(measure, name)) != shape:
                raise ModelFileError(f"{attribute}.{name} must have the shape {shape}")


# The check of each class of models, and the attribute that a fitted one has.
_CHECKS: dict[str | None, tuple[Callable[[Any], None], str]] = {
    "rl.MultiTaskFQI": (_check_action_values, "values_"),
    "calcium.CalciumImaging": (_check_imaging, "factors_"),
    "SparseSVD": (check_svd, "factors_"),
    "SparsePCA": (check_components, "factors_"),
    "SparseMatrixCompletion": (check_completion, "factors_"),
    "SparseLowRankGraph": (check_graph, "factors_"),
}
