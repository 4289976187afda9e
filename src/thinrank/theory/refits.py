"""Objectives of the best fits on other supports, in batches."""

from __future__ import annotations

import numpy as np

from thinrank.solvers.exchanges import explained_squares, whitened_crosses
from thinrank.theory.fitted_problem import FittedProblem

# Numbers of a batch of whitened matrices: 32 MB.
_BATCH_NUMBERS = 4_000_000
# Alternations between columns and directions, from two starts, in a refit with limits on both.
_ALTERNATIONS = 16


def cost_of_refit(problem: FittedProblem, size: int) -> float:
    """Number of multiplications of one refit, up to constants near 1."""
    k = len(problem.responses)
    rounds = _ALTERNATIONS if problem.columns < k and problem.rank < size else 1
    return 10 * size**3 + rounds * 4 * size**2 * (size + k)


def objectives_on(
    problem: FittedProblem, rows: np.ndarray, supports: np.ndarray, *, relaxed: bool = False
) -> np.ndarray:
    """Objective of the best model with the rank and number of columns of a problem, per support.

    With limits on both rank and columns the columns are found by alternation from two starts, so
    that the result is that of a model, but perhaps not of the best. ``relaxed`` leaves out one of
    these two limits instead, whichever gives more, and so returns lower bounds.

    Shapes: ``supports`` (count, size), result (count,).
    """
    gram, cross = problem.gram(rows), problem.cross[rows]
    count, size = supports.shape
    total = cross.shape[1]
    both = problem.columns < total and problem.rank < size
    step = max(1, _BATCH_NUMBERS // max(size * total, 1))
    out = np.empty(count)
    for first in range(0, count, step):
        part = slice(first, first + step)
        whitened = whitened_crosses(gram, cross, supports[part])
        if both and relaxed:
            explained = np.minimum(
                explained_squares(whitened, problem.rank, total, None)[0],
                explained_squares(whitened, size, problem.columns, None)[0],
            )
        else:
            explained = explained_squares(whitened, problem.rank, problem.columns, None)[0]
        if both and not relaxed:
            mask = np.zeros((1, total))
            mask[0, problem.column_support] = 1
            again = explained_squares(whitened, problem.rank, problem.columns, mask)[0]
            explained = np.maximum(explained, again)
        out[part] = 0.5 * (problem.constant - explained)
    return out


def whitened_on(problem: FittedProblem, rows: np.ndarray) -> np.ndarray:
    """H_SS^(−½)C_S on one support, of shape (len(rows), k)."""
    index = np.arange(len(rows))[None, :]
    return np.asarray(whitened_crosses(problem.gram(rows), problem.cross[rows], index)[0])


def pseudo_inverse(symmetric: np.ndarray) -> np.ndarray:
    """Inverse of a positive semi-definite matrix, without directions that are zero by rounding."""
    values, vectors = np.linalg.eigh(symmetric)
    clear = values > 1e3 * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
    return (vectors[:, clear] / values[clear]) @ vectors[:, clear].T
