"""The sizes of an estimator, with those that are "auto" chosen by a search."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from thinrank.core.checks import is_auto
from thinrank.core.contracts import Solver
from thinrank.core.warnings import SelectionWarning
from thinrank.estimators.progress import searching
from thinrank.estimators.search_setup import Found
from thinrank.minimize import seed_from
from thinrank.selection.choice import check_refit_rule
from thinrank.starts import as_start

__all__ = ["chosen_sizes"]


def chosen_sizes(
    estimator: Any, search: Callable[..., Found], solver: Solver
) -> tuple[dict[str, Any], Found | None]:
    """The sizes as given, with those that are "auto" chosen.

    Parameters
    ----------
    estimator : estimator
        With parameters that have been checked.
    search : callable
        ``search(ranks, rows, columns, ridges, **options) -> Found``.
    solver : Solver
        Of the final fit.

    Returns
    -------
    params : dict
        The sizes and the ridge.
    found : Found or None
        The result of the search; None if all sizes were given.
    """
    given = {
        name: getattr(estimator, name)
        for name in ("rank", "row_sparsity", "column_sparsity", "ridge")
    }
    sizes = list(given.values())[:3]
    if not any(is_auto(value) for value in sizes):
        if is_auto(estimator.ridge):
            given["ridge"] = 0.0
        return given, None
    with searching(estimator.callback, estimator.verbose) as callback:
        found = search(
            *(None if is_auto(value) else [value] for value in given.values()),
            criterion=estimator.criterion,
            cv=estimator.cv,
            rule=check_refit_rule(estimator.refit_rule),
            center=estimator.fit_intercept,
            scale=estimator.standardize,
            seed=seed_from(estimator.random_state),
            solver=solver,
            start=as_start(estimator.start, solver.exchanges_rows),
            n_jobs=estimator.n_jobs,
            callback=callback,
        )
    for message in found.warnings:
        warnings.warn(message, SelectionWarning, stacklevel=4)
    return found.params, found
