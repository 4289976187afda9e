"""Automatic sizes in the paper's four settings, compared with an oracle that knows the truth.

    python benchmarks/selection.py --seed 40000 --markdown docs/benchmarks/selection.md

Each replication draws n = 50 training rows and as many validation rows. "validation" is
``SparseReducedRankRegressorCV(cv=PredefinedSplit)`` followed by
``SparseReducedRankRegressor(**best_params_)`` on the training rows; "auto" is the regressor's
default and "pic" is criterion="pic", both on the training rows alone. The oracle is least squares
of rank 8 on the true rows and columns. In the row settings column_sparsity is None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from output import arguments_of, how, publish, runs_of_all, table
from paper.statistics import printed
from sklearn.model_selection import PredefinedSplit

import thinrank as tr
from thinrank.solvers.reduced_rank import reduced_rank_regression

# signal, column sparsity, and the table of the paper
SETTINGS = {
    "row, strong": (1.0, None, "table1"),
    "two-way, strong": (1.0, 10, "table2"),
    "row, weak": (0.2, None, "table3"),
    "two-way, weak": (0.2, 10, "table4"),
}
RANK, ROWS = 8, 10


@dataclass(frozen=True)
class Data:
    """One replication."""

    X: np.ndarray
    Y: np.ndarray
    X_validation: np.ndarray
    Y_validation: np.ndarray
    truth: tr.Factors
    columns: int | None


def draw(signal: float, columns: int | None, seed: int) -> Data:
    X, Y, truth = tr.datasets.make_two_way_sparse(
        50, 100, 50, RANK, ROWS, columns, signal=signal, random_state=seed
    )
    rng = np.random.default_rng([seed, 1])
    X_new = rng.standard_normal((50, 100))
    Y_new = X_new @ truth.theta + rng.standard_normal((50, 50))
    return Data(X, Y, X_new, Y_new, truth, columns)


def oracle(data: Data) -> np.ndarray:
    rows, columns = data.truth.row_support, data.truth.column_support
    X, Y = data.X[:, rows], data.Y[:, columns]
    theta = np.zeros(data.truth.shape)
    theta[np.ix_(rows, columns)] = reduced_rank_regression(X, Y, RANK).theta
    return theta


def validated(data: Data, options: dict) -> tr.SparseReducedRankRegressor:
    n = len(data.X)
    split = PredefinedSplit(np.r_[np.full(n, -1), np.zeros(len(data.X_validation))])
    search = tr.SparseReducedRankRegressorCV(
        column_sparsities=None if data.columns else [None], cv=split, **options
    ).fit(np.r_[data.X, data.X_validation], np.r_[data.Y, data.Y_validation])
    return tr.SparseReducedRankRegressor(**search.best_params_, **options).fit(data.X, data.Y)


def automatic(data: Data, options: dict, **sizes: object) -> tr.SparseReducedRankRegressor:
    columns = "auto" if data.columns else None
    est = tr.SparseReducedRankRegressor(column_sparsity=columns, **sizes, **options)
    return est.fit(data.X, data.Y)


def by_criterion(data: Data, options: dict) -> tr.SparseReducedRankRegressor:
    return automatic(data, options, criterion="pic")


METHODS: dict[str, Callable] = {
    "validation": validated,
    "auto": automatic,
    "pic": by_criterion,
}


def judge(theta: np.ndarray, intercept: np.ndarray | float, truth: tr.Factors) -> tuple:
    """Spectral error ratio, and root mean squared error on fresh rows with unit noise."""
    error = theta - truth.theta
    spectral = np.linalg.norm(error, 2) / np.linalg.norm(truth.theta, 2)
    # for standard normal rows the mean over fresh data is known exactly
    k = truth.shape[1]
    excess = (np.sum(error**2) + np.sum(np.asarray(intercept) ** 2)) / k
    return float(spectral), float(np.sqrt(1.0 + excess))


def replicate(name: str, seed: int, options: dict) -> dict:
    signal, columns, *_ = SETTINGS[name]
    data = draw(signal, columns, seed)
    record = {"oracle": judge(oracle(data), 0.0, data.truth)}
    for method, fit in METHODS.items():
        est = fit(data, options)
        exact = np.array_equal(est.row_support_, data.truth.row_support) and np.array_equal(
            est.column_support_, data.truth.column_support
        )
        record[method] = judge(est.factors_.theta, est.intercept_, data.truth)
        record[method + "_exact"] = exact
        record[method + "_rank"] = est.rank_
    return record


def ratio_and_error(values: np.ndarray, reference: np.ndarray) -> tuple[float, float]:
    """Ratio of means, and its standard error by linearization."""
    ratio = values.mean() / reference.mean()
    spread = (values - ratio * reference) / reference.mean()
    return float(ratio), float(spread.std(ddof=1) / len(values) ** 0.5)


def report(records: dict[str, list[dict]]) -> list[str]:
    rows = []
    for name, mine in records.items():
        figures = printed()["tables"][SETTINGS[name][2]]["methods"]["GDT"]
        stated, stated_rmse = figures["estimation"][0], figures["prediction"][0]
        spectral = {m: np.array([r[m][0] for r in mine]) for m in ("oracle", *METHODS)}
        rmse = {m: np.mean([r[m][1] for r in mine]) for m in spectral}
        oracle, tuned = spectral["oracle"], spectral["validation"]
        rows.append([name, "paper's GDT", f"{stated:.4f}", "", "", "", f"{stated_rmse:.4f}"])
        rows.append(["", "oracle", f"{oracle.mean():.4f}", "", "", "", f"{rmse['oracle']:.4f}"])
        for method in METHODS:
            ratio, error = ratio_and_error(spectral[method], oracle)
            against = spectral[method].mean() / tuned.mean()
            exact = np.mean([r[method + "_exact"] for r in mine])
            ratios = (f"{ratio:.3f} ± {error:.3f}", f"{against:.2f}")
            found = (f"{100 * exact:.0f} %", f"{rmse[method]:.4f}")
            rows.append(["", method, f"{spectral[method].mean():.4f}", *ratios, *found])
    headings = ["setting", "sizes", "estimation error", "ratio to oracle", "to validation"]
    return table([*headings, "exact supports", "prediction RMSE"], rows, text=2)


def main() -> None:
    parser = arguments_of(__doc__, repetitions=50)
    parser.add_argument("--seed", type=int, default=30000, help="of the first replication")
    parser.add_argument(
        "--plain", action="store_true", help="neither intercept nor standardisation, as the paper"
    )
    given = parser.parse_args()
    options = {"fit_intercept": False, "standardize": False} if given.plain else {}
    seeds = range(given.seed, given.seed + given.repetitions)
    records = runs_of_all(partial(replicate, options=options), SETTINGS, seeds, given)
    lines = report(dict(zip(SETTINGS, records, strict=True)))
    publish([*lines, *how()], given.markdown)


if __name__ == "__main__":
    main()
