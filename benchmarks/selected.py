"""What is selected where the truth is known: the table of the README.

    python benchmarks/selected.py

Each draw has 50 samples, 100 predictors and 50 responses; 10 predictors act on 10 responses
through 3 factors. "weak" has effects of a third of the size, and predictors with correlation 0.5 to
their neighbors. Every method chooses its settings by 5-fold cross-validation. PLS keeps all
predictors; here it selects those with VIP > 1, as its users do. Sparse PLS is that of mixOmics
(``spls``, regression mode): the largest loadings of each component are kept, soft-thresholded.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import numpy as np
from output import arguments_of, how, publish, runs_of_all, table
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import MultiTaskLassoCV
from sklearn.model_selection import GridSearchCV, KFold

import thinrank as tr

SETTINGS = {"strong": {"signal": 1.0}, "weak": {"signal": 1 / 3, "correlation": 0.5}}
SIZES = {"n_samples": 50, "n_features": 100, "n_targets": 50}
TRUTH = {"rank": 3, "row_sparsity": 10, "column_sparsity": 10}
COMPONENTS = 6
KEPT = list(itertools.product((5, 10, 20, 50, 100), (5, 10, 25, 50)))  # predictors, responses

Theta = np.ndarray


def thinrank(X: np.ndarray, Y: np.ndarray) -> Theta:
    return tr.SparseReducedRankRegressor().fit(X, Y).coef_.T


def lasso(X: np.ndarray, Y: np.ndarray) -> Theta:
    return MultiTaskLassoCV(cv=5).fit(X, Y).coef_.T


def pls(X: np.ndarray, Y: np.ndarray) -> Theta:
    """Coefficients of PLS, zero where VIP is at most 1."""
    grid = {"n_components": range(1, COMPONENTS + 1)}
    folds = KFold(5, shuffle=True, random_state=0)
    found = GridSearchCV(PLSRegression(), grid, cv=folds).fit(X, Y).best_estimator_
    weights, scores, loadings = found.x_weights_, found.x_scores_, found.y_loadings_
    explained = (scores**2).sum(axis=0) * (loadings**2).sum(axis=0)
    vip = np.sqrt(len(weights) * (weights**2 @ explained) / explained.sum())
    return found.coef_.T * (vip > 1)[:, None]


def sparse_pls(X: np.ndarray, Y: np.ndarray) -> Theta:
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))

    def errors(kept: tuple[int, int]) -> np.ndarray:
        """Held-out errors with 1, 2, … components."""
        total = np.zeros(COMPONENTS)
        for train, test in splits:
            center_x, center_y = X[train].mean(axis=0), Y[train].mean(axis=0)
            fits = components(X[train] - center_x, Y[train] - center_y, *kept)
            predicted = [center_y + (X[test] - center_x) @ theta for theta in fits]
            total += [np.sum((Y[test] - each) ** 2) for each in predicted]
        return total

    scores = np.array([errors(kept) for kept in KEPT])
    which, count = np.unravel_index(np.argmin(scores), scores.shape)
    return components(X - X.mean(axis=0), Y - Y.mean(axis=0), *KEPT[which])[count]


def components(X: np.ndarray, Y: np.ndarray, rows: int, columns: int) -> list[Theta]:
    """Coefficients of sparse PLS with 1, 2, … components, in the units of the data."""
    scale = X.std(axis=0)
    left = X = X / scale
    weights, loadings, responses, found = [], [], [], []
    for _ in range(COMPONENTS):
        cross = left.T @ Y
        v = np.linalg.svd(cross, full_matrices=False)[2][0]
        for _ in range(50):
            u = largest(cross @ v, rows)
            v, before = largest(cross.T @ u, columns), v
            if np.abs(v - before).max() < 1e-6:
                break
        score = left @ u
        size = float(score @ score) or 1.0
        loading = left.T @ score / size
        weights.append(u)
        loadings.append(loading)
        responses.append(Y.T @ score / size * (v != 0))
        left = left - np.outer(score, loading)
        W, P, Q = (np.column_stack(part) for part in (weights, loadings, responses))
        rotation = W @ np.linalg.pinv(P.T @ W)
        found.append(rotation @ Q.T / scale[:, None])
        Y = Y - np.outer(score, responses[-1])
    return found


def largest(vector: np.ndarray, count: int) -> np.ndarray:
    """The vector with its largest entries, soft-thresholded, of length 1."""
    sizes = np.abs(vector)
    limit = np.sort(sizes)[-count - 1] if count < len(sizes) else 0.0
    cut = np.sign(vector) * np.maximum(sizes - limit, 0)
    return cut / (np.linalg.norm(cut) or 1.0)


METHODS: dict[str, Callable[[np.ndarray, np.ndarray], Theta]] = {
    "thinrank": thinrank,
    "MultiTaskLassoCV": lasso,
    "PLS, VIP > 1": pls,
    "sparse PLS": sparse_pls,
}


def measure(case: tuple[str, str], seed: int) -> list[float]:
    """Predictors found and false, responses found and false, rank, seconds of the processor."""
    setting, method = case
    X, Y, truth = tr.datasets.make_two_way_sparse(
        **SIZES, **TRUTH, **SETTINGS[setting], random_state=seed
    )
    begin = time.process_time()
    theta = METHODS[method](X, Y)
    seconds = time.process_time() - begin
    counts = []
    for axis, support in ((1, truth.row_support), (0, truth.column_support)):
        chosen = np.flatnonzero(np.any(theta != 0, axis=axis))
        found = len(np.intersect1d(chosen, support))
        counts += [found, len(chosen) - found]
    return [*counts, np.linalg.matrix_rank(theta), seconds]


def main() -> None:
    given = arguments_of(__doc__, repetitions=10).parse_args()
    thinrank(*tr.datasets.make_two_way_sparse(random_state=0)[:2])  # imports take time, too
    cases, rows = list(itertools.product(SETTINGS, METHODS)), []
    runs = runs_of_all(measure, cases, range(1, given.repetitions + 1), given)
    for (setting, method), records in zip(cases, runs, strict=True):
        found, false, responses, wrong, rank, seconds = np.mean(records, axis=0)
        counts = f"{found:.1f}, {false:.1f}", f"{responses:.1f}, {wrong:.1f}"
        rows.append((setting, method, *counts, f"{rank:.1f}", f"{seconds:.2f}"))
    headings = ("effects", "method", "predictors: found, false", "responses: found, false", "rank")
    lines = table((*headings, "CPU s"), rows, text=2)
    publish([*lines, "", f"Means of {given.repetitions} draws.", *how()], given.markdown)


if __name__ == "__main__":
    main()
