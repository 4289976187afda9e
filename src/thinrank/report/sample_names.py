"""Names of the samples that a report shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thinrank.report.model_tables import shown_name


def names_of_samples(X: Any, Y: Any, given: Sequence[object] | None) -> list[str] | None:
    """Names of the samples; None if they have none but their positions."""
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
