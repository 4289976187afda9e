"""The Norwegian paper quality data: 50 random splits, and the predictors that are discarded."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from sklearn.model_selection import KFold

from thinrank.datasets import load_norwegian_paper
from thinrank.estimators import SparseReducedRankRegressor
from thinrank.studies.contestants import METHODS, compete
from thinrank.studies.descent import Descent
from thinrank.studies.judge import root_mean_square, supports
from thinrank.studies.spec import Job, Record, Study
from thinrank.studies.task import Task

__all__ = ["NORWAY"]

_FIRST_SEED = 65_000
_SPLITS, _QUICK_SPLITS = 50, 3
_TRAINING_PART = 0.7
_FOLDS = 5
_RANKS = (1, 2, 3, 4)
# As in the paper: rank 3, six predictors, all responses.
_RANK, _ROWS = 3, 6
_METHODS = tuple(name for name in METHODS if name != "oracle")


def jobs(quick: bool) -> list[Job]:
    """One job a split, and one for the selection on the full data."""
    count = _QUICK_SPLITS if quick else _SPLITS
    splits = [Job("norway", {"kind": "error"}, _FIRST_SEED + i) for i in range(count)]
    return [*splits, Job("norway", {"kind": "selection"}, 0)]


def run(job: Job) -> list[Record]:
    """Errors on one split, or the predictors kept on the full data."""
    paper = load_norwegian_paper()
    if job.cell["kind"] == "selection":
        return _selection(paper.data, paper.target, paper.feature_names)
    return _errors(paper.data, paper.target, job.seed)


def _errors(X: np.ndarray, Y: np.ndarray, seed: int) -> list[Record]:
    """Everything is chosen by cross-validation inside the training part."""
    order = np.random.default_rng(seed).permutation(len(X))
    count = round(_TRAINING_PART * len(X))
    train, test = order[:count], order[count:]
    folds = KFold(_FOLDS, shuffle=True, random_state=seed)
    task = Task(
        X=X[train],
        Y=Y[train],
        pooled=(X[train], Y[train]),
        splits=list(folds.split(X[train])),
        ranks=_RANKS,
        row_sizes=tuple(range(1, X.shape[1] + 1)),
        column_sizes=(None,),
        intercept=True,
    )
    return [
        {
            "method": name,
            "rmse": root_mean_square(Y[test] - X[test] @ answer.theta - answer.intercept),
            "rows": len(supports(answer.theta)[0]),
            "rank": int(np.linalg.matrix_rank(answer.theta)),
            "seconds": answer.seconds,
        }
        for name, answer in compete(task, _METHODS).items()
    ]


def _selection(X: np.ndarray, Y: np.ndarray, names: list[str]) -> list[Record]:
    """Rank 3 and six predictors on all rows; beside the methods, the best of all 84 sets."""
    sizes = (_RANK, _ROWS, None)
    pursuit = SparseReducedRankRegressor(_RANK, _ROWS, None, standardize=False).fit(X, Y)
    found = {
        "GDT": supports(Descent(X, Y, True).fit(sizes)[0])[0],
        "GDT, spectral start": supports(Descent(X, Y, True, "spectral").fit(sizes)[0])[0],
        "pursuit": pursuit.row_support_,
        "exhaustive search": _best_set(X, Y),
    }
    centred = X - X.mean(axis=0), Y - Y.mean(axis=0)
    return [
        {
            "method": name,
            "kept": [names[i] for i in rows],
            "discarded": [x for i, x in enumerate(names) if i not in set(rows)],
            "rss": _residual(*centred, tuple(int(i) for i in rows)),
        }
        for name, rows in found.items()
    ]


def _best_set(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    centred = X - X.mean(axis=0), Y - Y.mean(axis=0)
    sets = combinations(range(X.shape[1]), _ROWS)
    return np.array(min(sets, key=lambda rows: _residual(*centred, rows)))


def _residual(X: np.ndarray, Y: np.ndarray, rows: tuple[int, ...]) -> float:
    """Least residual sum of squares of rank 3 on a set of predictors."""
    projected = np.linalg.qr(X[:, list(rows)])[0].T @ Y
    values = np.linalg.svd(projected, compute_uv=False)
    return float(np.sum(Y**2) - np.sum(values[:_RANK] ** 2))


NORWAY = Study(
    name="norway",
    title="Norwegian paper quality data",
    claim=(
        "GDT discards X1^2, X1*X2 and X2*X3, and its prediction error is competitive with the "
        "best method."
    ),
    jobs=jobs,
    run=run,
)
