"""One small adaptor per estimator, for other_packages.py.

``fit(X, Y)`` returns the coefficient matrix, of shape (n_features, n_targets). Each estimator is
tuned in its own way, on the given data only; thinrank is given the rank and both sparsities, which
its name in the table says. No estimator fits an intercept: the data have none, and predictions are
made without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

RANK = 8
SPARSITY = 12  # 1.2 × the true 10
FOLDS = 5

Fit = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Adaptor:
    """A name for the table, the package that is needed, the fit, and why it may be missing."""

    name: str
    package: str
    fit: Fit
    note: str = ""


def nothing(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.zeros((X.shape[1], Y.shape[1]))


def thinrank(solver: str) -> Fit:
    def fit(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        from thinrank import SparseReducedRankRegressor

        estimator = SparseReducedRankRegressor(
            RANK, SPARSITY, SPARSITY, solver=solver, fit_intercept=False
        )
        return estimator.fit(X, Y).coef_.T

    return fit


def sklearn_lasso(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import MultiTaskLassoCV

    return MultiTaskLassoCV(cv=FOLDS, fit_intercept=False).fit(X, Y).coef_.T


def celer_lasso(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    from celer import MultiTaskLassoCV

    return MultiTaskLassoCV(cv=FOLDS, fit_intercept=False).fit(X, Y).coef_.T


def skglm_mcp(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Block MCP with γ = 3; λ is chosen from a path of 20 by the error on a held-out fifth."""
    from skglm.datafits import QuadraticMultiTask
    from skglm.penalties import BlockMCPenalty
    from skglm.solvers import MultiTaskBCD
    from sklearn.model_selection import train_test_split

    def along(X: np.ndarray, Y: np.ndarray, path: np.ndarray) -> np.ndarray:
        solver = MultiTaskBCD(fit_intercept=False, max_epochs=1000, tol=1e-4)
        penalty = BlockMCPenalty(path[0], 3.0)
        _, coefficients, _ = solver.path(X, Y, QuadraticMultiTask(), penalty, path)
        return np.moveaxis(coefficients, -1, 0).swapaxes(1, 2)

    largest = np.linalg.norm(X.T @ Y, axis=1).max() / len(X)
    path = largest * np.geomspace(1, 0.03, 20)
    X_train, X_held, Y_train, Y_held = train_test_split(X, Y, test_size=0.2, random_state=0)
    errors = [np.linalg.norm(Y_held - X_held @ theta) for theta in along(X_train, Y_train, path)]
    return along(X, Y, path[: int(np.argmin(errors)) + 1])[-1]


def abess(**choice: object) -> Fit:
    """Up to n/2 rows: abess's own limit, n/(log log n·log p), is below the true 10 here."""

    def fit(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        from abess import MultiTaskRegression

        sizes = range(min(len(X) // 2, X.shape[1]) + 1)
        model = MultiTaskRegression(support_size=sizes, fit_intercept=False, **choice)
        return model.fit(X, Y).coef_

    return fit


def adelie_lasso(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    import adelie as ad

    X = np.asfortranarray(X)
    glm = ad.glm.multigaussian(np.ascontiguousarray(Y), dtype=np.float64)
    options = {"intercept": False, "progress_bar": False}
    chosen = ad.cv_grpnet(X, glm, n_folds=FOLDS, seed=0, **options)
    path = chosen.fit(X, glm, **options)
    return path.betas[-1].toarray().reshape(X.shape[1], Y.shape[1])


GIVEN = f"given rank {RANK}, s1 = s2 = {SPARSITY}"
ADAPTORS = (
    Adaptor("nothing (zero coefficients)", "numpy", nothing),
    Adaptor(f"thinrank pursuit ({GIVEN})", "thinrank", thinrank("pursuit")),
    Adaptor(f"thinrank gdt ({GIVEN})", "thinrank", thinrank("gdt")),
    Adaptor("scikit-learn MultiTaskLassoCV", "sklearn", sklearn_lasso),
    Adaptor("celer MultiTaskLassoCV", "celer", celer_lasso, "celer 0.7.4 needs scikit-learn < 1.7"),
    Adaptor("skglm block MCP, hold-out", "skglm", skglm_mcp),
    Adaptor("abess, EBIC", "abess", abess(ic_type="ebic")),
    Adaptor("abess, 5-fold CV", "abess", abess(cv=FOLDS)),
    Adaptor(
        "adelie group lasso, 5-fold CV",
        "adelie",
        adelie_lasso,
        "adelie 1.1.52: no wheel for Linux on aarch64, and its source archive lacks *.ipp files",
    ),
)
