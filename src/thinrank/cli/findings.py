"""What a fitted model found, as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_json(estimator: Any) -> dict[str, Any]:
    """The findings of a fitted estimator.

    Numbers that are not finite are None.
    """
    summary = estimator.summary()
    predictors, responses = list(summary.predictor_names), list(summary.response_names)
    held_out = estimator.held_out_r2_
    return {
        "estimator": type(estimator).__name__,
        "n_samples": int(summary.n_samples),
        "n_predictors": len(predictors),
        "n_responses": len(responses),
        "rank": int(estimator.rank_),
        "predictors": [str(predictors[j]) for j in estimator.row_support_],
        "responses": [str(responses[j]) for j in estimator.column_support_],
        "kept": [str(predictors[j]) for j in estimator.kept_],
        "parameters": finite(estimator.best_params_),
        "explained_variance_ratio": finite(estimator.explained_variance_ratio_),
        "r2": finite(dict(zip(responses, estimator.r2_, strict=True))),
        "held_out_r2": None
        if held_out is None
        else finite(dict(zip(responses, held_out, strict=True))),
        # baselines have none
        "status": str(estimator.status_) if hasattr(estimator, "status_") else None,
        "sentences": list(summary.sentences),
        "cautions": list(summary.cautions),
    }


def finite(value: Any) -> Any:
    """A value as JSON can hold it: no arrays, and None in place of NaN and infinity."""
    if isinstance(value, dict):
        return {str(name): finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    if isinstance(value, np.ndarray):
        return finite(value.tolist())
    if isinstance(value, np.generic):
        return finite(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
