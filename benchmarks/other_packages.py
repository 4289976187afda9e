"""thinrank compared with other packages for row-sparse regression with several responses.

Run:  OMP_NUM_THREADS=1 python benchmarks/other_packages.py [--runs 5] [--markdown F]

The paper's strong and weak settings with sparse rows and columns. Packages are those of
other_packages_requirements.txt. Each estimator is tuned in its own way, on the given data only;
thinrank is given the rank and both sparsities, which its name in the table says. None fits an
intercept: the data have none. An estimator that is not installed, or fails, is left out and the
reason is printed. The first fit of each, which may compile code, is not counted.
"""

from __future__ import annotations

import importlib
import itertools
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from output import arguments_of, how, publish, quiet, table
from rich.progress import track

import thinrank as tr

PACKAGES = "scikit-learn", "celer", "skglm", "numba", "abess", "adelie"
SETTINGS = {"strong": 1.0, "weak": 0.2}
SIZES = {
    "n_samples": 50,
    "n_features": 100,
    "n_targets": 50,
    "rank": 8,
    "row_sparsity": 10,
    "column_sparsity": 10,
}
SPARSITY = 12  # 1.2 × the true 10
FOLDS = 5
FRESH_ROWS = 1000
METRICS = {
    "error": "relative error",
    "rmse": "RMSE, fresh rows",
    "rows": "rows",
    "columns": "columns",
    "rank": "rank",
    "seconds": "seconds",
}
Fit = Callable[[np.ndarray, np.ndarray], np.ndarray]


def nothing(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.zeros((X.shape[1], Y.shape[1]))


def thinrank(solver: str) -> Fit:
    def fit(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        sizes = SIZES["rank"], SPARSITY, SPARSITY
        est = tr.SparseReducedRankRegressor(*sizes, solver=solver, fit_intercept=False)
        return est.fit(X, Y).coef_.T

    return fit


def lasso(module: str) -> Fit:
    def fit(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        model = importlib.import_module(module).MultiTaskLassoCV(cv=FOLDS, fit_intercept=False)
        return model.fit(X, Y).coef_.T

    return fit


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


GIVEN = f"given rank {SIZES['rank']}, s1 = s2 = {SPARSITY}"
ESTIMATORS: dict[str, Fit] = {
    "nothing (zero coefficients)": nothing,
    f"thinrank pursuit ({GIVEN})": thinrank("pursuit"),
    f"thinrank gdt ({GIVEN})": thinrank("gdt"),
    "scikit-learn MultiTaskLassoCV": lasso("sklearn.linear_model"),
    "celer MultiTaskLassoCV": lasso("celer"),
    "skglm block MCP, hold-out": skglm_mcp,
    "abess, EBIC": abess(ic_type="ebic"),
    "abess, 5-fold CV": abess(cv=FOLDS),
    "adelie group lasso, 5-fold CV": adelie_lasso,
}
# Why one may be missing.
NOTES = {
    "celer MultiTaskLassoCV": "celer 0.7.4 needs scikit-learn < 1.7",
    "adelie group lasso, 5-fold CV": "adelie 1.1.52: no wheel for Linux on aarch64, and its source "
    "archive lacks *.ipp files",
}


def measure(fit: Fit, setting: str, seed: int) -> dict[str, float]:
    """Errors against the truth and on fresh noisy rows, and the shape of the answer."""
    X, Y, factors = tr.datasets.make_two_way_sparse(
        **SIZES, signal=SETTINGS[setting], random_state=seed
    )
    truth = factors.theta
    began = time.perf_counter()
    theta = np.asarray(quiet(fit, X, Y))
    seconds = time.perf_counter() - began
    if theta.shape != truth.shape or not np.isfinite(theta).all():
        raise ValueError(f"want {truth.shape} finite coefficients, got {theta.shape}")
    rng = np.random.default_rng([seed, FRESH_ROWS])
    X = rng.standard_normal((FRESH_ROWS, len(truth)))
    Y = X @ truth + rng.standard_normal((FRESH_ROWS, truth.shape[1]))
    return {
        "error": float(np.linalg.norm(theta - truth) / np.linalg.norm(truth)),
        "rmse": float(np.sqrt(np.mean((Y - X @ theta) ** 2))),
        "rows": int(np.count_nonzero(theta.any(axis=1))),
        "columns": int(np.count_nonzero(theta.any(axis=0))),
        "rank": int(np.linalg.matrix_rank(theta)),
        "seconds": seconds,
    }


def versions() -> str:
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def main() -> None:
    options = arguments_of(__doc__, repetitions=5).parse_args()
    rows, left_out = {}, []
    for name, fit in track(ESTIMATORS.items(), "estimators"):
        try:
            measure(fit, "strong", 10_000)  # not counted
            for setting in SETTINGS:
                runs = [measure(fit, setting, seed) for seed in range(options.repetitions)]
                mean = {metric: np.mean([run[metric] for run in runs]) for metric in METRICS}
                counts = ("rows", "columns", "rank")
                cells = (f"{v:.1f}" if m in counts else f"{v:.3f}" for m, v in mean.items())
                rows[setting, name] = [setting, name, *cells]
        except Exception as error:
            note = f" ({NOTES[name]})" if name in NOTES else ""
            first = (str(error).splitlines() or [""])[0]
            left_out.append(f"Left out: {name}: {type(error).__name__}: {first}{note}\n")
    every = itertools.product(SETTINGS, ESTIMATORS)
    headings = ["setting", "estimator", *METRICS.values()]
    lines = [
        f"Means over {options.repetitions} seeds. n = {SIZES['n_samples']}, "
        f"p = {SIZES['n_features']}, k = {SIZES['n_targets']}; the true Θ has rank "
        f"{SIZES['rank']}, {SIZES['row_sparsity']} non-zero rows and {SIZES['column_sparsity']} "
        f"non-zero columns; signal {', '.join(f'{v} ({k})' for k, v in SETTINGS.items())}. The "
        f"RMSE is on {FRESH_ROWS} fresh rows with noise of standard deviation 1, the smallest RMSE "
        "to expect. Seconds include the tuning of each estimator, but not compilation; thinrank "
        "is given its sizes and needs no tuning.",
        "",
        *table(headings, [rows[key] for key in every if key in rows], text=2),
        "",
        *left_out,
        f"Versions: {versions()}",
    ]
    publish([*lines, *how()], options.markdown)


if __name__ == "__main__":
    main()
