"""Checks of parameters that all estimators have."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.core.checks import check_callback, is_auto
from thinrank.core.contracts import Design
from thinrank.estimators.sizes import check_criterion
from thinrank.estimators.validation import (
    check_automatic_sizes,
    check_ridge,
    is_nothing,
    rows_of_data,
)
from thinrank.selection.choice import check_refit_rule


def check_parameters(
    estimator: Any, design: Design, targets: int, weight: Any, kept: np.ndarray
) -> None:
    """Check the callback, sizes, ridge and how they are chosen, before any computation."""
    check_callback(estimator.callback)
    check_criterion(estimator.criterion)
    check_refit_rule(estimator.refit_rule)
    check_exchange(estimator.exchange)
    if not is_auto(estimator.ridge):
        check_ridge("ridge", estimator.ridge, 'a finite non-negative number or "auto"')
    sizes = estimator.rank, estimator.row_sparsity, estimator.column_sparsity
    if is_nothing(*sizes):
        return
    shape, samples = (design.shape[1] - len(kept), targets), rows_of_data(design, weight)
    check_automatic_sizes(shape, samples, *sizes)


def check_exchange(exchange: Any) -> None:
    """Raise a ValueError unless the parameter is True, False or "auto"."""
    if not is_auto(exchange) and not isinstance(exchange, (bool, np.bool_)):
        raise ValueError(f'exchange must be True, False or "auto", got {exchange!r}')
