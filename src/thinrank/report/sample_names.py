"""Names of the samples that a report shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thinrank.report.model_tables import shown_name


def names_of_samples(X: Any, Y: Any, given: Sequence[object] | None) -> list[str] | None:
    """Names of the samples; None if they have none but their positions.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Predictors; the index of a pandas object has names.
    Y : array, data frame or None
        Responses; their index is used if that of the predictors has no names.
    given : sequence of n_samples names or None
        Names that are known from elsewhere.

    Returns
    -------
    list of str or None
    """
    n = int(X.shape[0])
    if given is not None:
        if len(given) != n:
            raise ValueError(f"sample_names must have {n} names, one per row, got {len(given)}")
        return [shown_name(name) for name in given]
    for data in (X, Y):
        if hasattr(data, "iloc"):  # a pandas data frame or series
            names = list(data.index)
            if names != list(range(n)):
                return [shown_name(name) for name in names]
    return None
