"""The form in which all data sets are returned: scikit-learn's Bunch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

from thinrank.core.extras import import_optional, is_installed

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

    Parameters
    ----------
    data : ndarray of shape (n_samples, n_features)
        Predictors.
    target : ndarray of shape (n_samples, n_targets)
        Responses.
    feature_names, target_names : sequence of str
        Names of the predictors and of the responses.
    description : str
        The text ``DESCR``.
    as_frame : bool or "auto"
        Whether to return data frames; "auto" if pandas is installed.
    index : sequence of str, default=None
        Names of the samples, the index of the data frames.
    **more : object
        Further entries.

    Returns
    -------
    Bunch
        With ``data``, ``target``, ``frame`` (None for arrays), ``feature_names``,
        ``target_names``, ``DESCR`` and the further entries.
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
