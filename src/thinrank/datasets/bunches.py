"""The form in which all data sets are returned: scikit-learn's Bunch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

from thinrank.core.imports import import_optional, is_installed

AsFrame = bool | Literal["auto"]


def make_bunch(
    data: np.ndarray,
    target: np.ndarray,
    feature_names: Sequence[str],
    target_names: Sequence[str],
    description: str,
    *,
    as_frame: AsFrame,
    index: Sequence[str] | None = None,
    **more: Any,
) -> Bunch:
    """Put predictors, responses and their names together.

    Shapes: ``data`` (n_samples, n_features).
    """
    if as_frame not in (True, False, "auto"):
        raise ValueError(f"as_frame must be True, False or 'auto', got {as_frame!r}")
    features, targets = [str(name) for name in feature_names], [str(name) for name in target_names]
    bunch = Bunch(
        data=data,
        target=target,
        frame=None,
        feature_names=features,
        target_names=targets,
        DESCR=description,
        **more,
    )
    if as_frame is True or (as_frame == "auto" and is_installed("pandas")):
        pandas = import_optional("pandas")
        bunch.data = pandas.DataFrame(data, columns=features, index=index)
        bunch.target = pandas.DataFrame(target, columns=targets, index=index)
        bunch.frame = pandas.concat([bunch.data, bunch.target], axis=1)
    return bunch
