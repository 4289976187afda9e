"""Samples that a design names, and the row names of Y."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Names that a message lists.
_MOST_NAMED = 3


def check_sample_ids(X: Any, Y: Any) -> None:
    """Raise a ValueError if the row names of Y are not the samples of X, in the same order."""
    ids = getattr(X, "sample_ids", None)
    if ids is None or not hasattr(Y, "iloc"):
        return
    names = list(Y.index)
    if not names or not all(isinstance(name, str) for name in names) or names == list(ids):
        return
    known = set(ids)
    unknown = [name for name in names if name not in known]
    if not unknown:
        raise ValueError(
            f"the {len(names)} rows of Y are not the {len(ids)} samples of X in the same order; "
            "pass X.for_samples(Y.index)"
        )
    raise ValueError(
        f"{len(unknown)} of the {len(names)} rows of Y are not samples of X, such as "
        f"{_some(unknown)}; the samples of X are named like {_some(ids)}. Pass "
        "X.for_samples(names) and Y.loc[names] with the names that both have, or, if the rows are "
        "in the same order, Y.to_numpy()"
    )


def check_feature_names(X: Any, expected: Sequence[str] | None, estimator: str) -> None:
    """Raise a ValueError if a design names other predictors than those of the fit.

    ``expected``: None if they had none.
    """
    names = getattr(X, "feature_names", None)
    if names is None or expected is None:
        return
    for place, (name, wanted) in enumerate(zip(names, expected, strict=True)):
        if name != wanted:
            raise ValueError(
                f"X must have the predictors that {estimator} was fitted to, in the same order; "
                f"predictor {place} is {name!r} instead of {wanted!r}"
            )


def _some(names: Sequence[str]) -> str:
    return ", ".join(repr(str(name)) for name in names[:_MOST_NAMED])
