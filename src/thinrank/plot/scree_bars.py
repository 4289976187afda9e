"""Singular values of a matrix and of its decomposition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank import linalg
from thinrank.plot.canvas import axes_of, check_count, open_frame, whole_numbers
from thinrank.plot.colours import ACCENT, GREY, QUIET
from thinrank.plot.decomposition import decomposition, matrix_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def scree(est: Any, X: Any, *, max_values: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the largest singular values of a matrix, with those of the decomposition.

    Parameters
    ----------
    est : estimator
        A fitted :class:`thinrank.SparseSVD`, :class:`thinrank.SparsePCA` or another decomposition
        of a bare matrix.
    X : array, data frame or sparse matrix of shape (n_rows, n_columns)
        The matrix of fit. The means are subtracted if the estimator did so (``mean_``); missing
        cells are replaced by those of the decomposition.
    max_values : int, default=20
        Largest number of singular values shown.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes. Bars are the singular values of the decomposition, points those of the matrix; a
        line shows the rank. A value of the decomposition is smaller than that of the matrix by what
        the rows and columns left out contribute.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> X = np.random.default_rng(0).standard_normal((60, 50))
    >>> X[::6, ::5] += 4
    >>> ax = tr.plot.scree(tr.SparseSVD().fit(X), X)
    >>> ax.get_title()
    'rank 1'
    """
    max_values = check_count("max_values", max_values)
    parts = decomposition(est)
    matrix = matrix_of(X, (len(parts.left), parts.components.shape[1])).astype(float)
    matrix = matrix - np.asarray(getattr(est, "mean_", 0.0))
    fitted = (parts.left / np.maximum(np.linalg.norm(parts.left, axis=0), 1e-300)) * parts.values
    matrix = np.where(np.isnan(matrix), fitted @ parts.components, matrix)
    values = linalg.truncated_svd(matrix, max_values)[1]
    ax = axes_of(ax)
    own = np.sort(parts.values)[::-1][:max_values]
    ax.bar(np.arange(1, len(own) + 1), own, color=ACCENT, width=0.6, label="decomposition")
    places = np.arange(1, len(values) + 1)
    ax.plot(places, values, "o-", color=GREY, markersize=4, lw=1, label="matrix")
    ax.axvline(parts.rank + 0.5, color=QUIET, lw=1.5, ls="--")
    ax.set_title(f"rank {parts.rank}", fontsize=10)
    ax.set_xlabel("component")
    ax.set_ylabel("singular value")
    ax.set_xlim(0.4, len(values) + 0.6)
    ax.set_ylim(bottom=0)
    whole_numbers(ax, "x")
    open_frame(ax)
    ax.legend(frameon=False)
    return ax
