r"""Fits of given sizes with and without the margin of exchanges: errors on new rows.

    THINRANK_DATA=... python benchmarks/exchange_margin.py \
        --markdown docs/benchmarks/exchange_margin.md

Pursuit exchanges a predictor for another only if that lowers the deviance by AIC's penalty
(`exchange_penalty=2`); with 0 it makes every exchange that fits the training rows better. Errors
are mean squared differences on rows that no fit has seen; a positive change means that the fit
without margin is worse. The margin stays: with more predictors than the true ones the fit is up to
2 % worse without it. On real data nothing is certain, except that the smallest set, 15 rows, is a
quarter better without the margin; the others differ by −0.4 % on average, either way.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np
from output import arguments_of, how, publish, runs_of_all, table
from real_data import FOLDS, find_sets, read, standardised
from sklearn.model_selection import KFold

import thinrank as tr

PENALTIES = (2.0, 0.0)
# Numbers of samples, predictors and responses.
SHAPES = ((50, 100, 50), (100, 200, 20), (200, 50, 10))
CORRELATIONS = (0.0, 0.7, 0.95)
SIGNALS = {"strong": 1.0, "weak": 0.2}
# Given numbers of predictors, as multiples of the true one.
MULTIPLES = (0.5, 1.0, 2.0)
RANK, ROWS, NEW_ROWS, SEED = 3, 10, 1000, 820_000
HEADINGS = ["change of the error in %", "other predictors", "worse by 1 %", "better by 1 %"]
REAL_ROWS, MOST_ENTRIES = (5, 10, 20), 1_000_000

Pair = tuple[float, float, bool]  # errors with and without margin, whether predictors differ


def errors(
    X: np.ndarray, Y: np.ndarray, train: np.ndarray, test: np.ndarray, rank: int, rows: int
) -> Pair:
    found, supports = [], []
    for penalty in PENALTIES:
        solver = tr.solvers.Pursuit(exchange_penalty=penalty)
        sizes = rank, rows, None
        est = tr.SparseReducedRankRegressor(*sizes, ridge=0.01, exchange=True, solver=solver)
        est.fit(X[train], Y[train])
        found.append(float(np.mean((Y[test] - est.predict(X[test])) ** 2)))
        supports.append(set(est.row_support_))
    return found[0], found[1], supports[0] != supports[1]


def simulated(setting: tuple[float, str, float, tuple[int, int, int]], seed: int) -> Pair:
    correlation, signal, multiple, (n, p, k) = setting
    X, Y, _ = tr.datasets.make_two_way_sparse(
        n + NEW_ROWS, n_features=p, n_targets=k, rank=RANK, row_sparsity=ROWS, column_sparsity=k,
        signal=SIGNALS[signal], correlation=correlation, random_state=SEED + seed,
    )  # fmt: skip
    train, test = np.arange(n), np.arange(n, n + NEW_ROWS)
    return errors(X, Y, train, test, RANK, int(multiple * ROWS))


def real(setting: tuple[Path, int], fold: int) -> Pair:
    path, rows = setting
    X, Y = read(path)
    train, test = list(KFold(FOLDS, shuffle=True, random_state=SEED).split(X))[fold]
    X, Y = standardised(X, train), standardised(Y, np.arange(len(Y)))
    return errors(X, Y, train, test, min(RANK, rows, *Y.shape), rows)


def cells(pairs: Iterable[Pair]) -> list[str]:
    """Mean of the logarithms of the ratios of errors, in percent, and where predictors differ."""
    numbers = np.array(list(pairs), dtype=float)
    change = 100 * np.log(numbers[:, 1] / numbers[:, 0])
    spread = change.std(ddof=1) / len(change) ** 0.5
    shares = numbers[:, 2], change > 1, change < -1
    return [f"{change.mean():+.2f} ± {spread:.2f}", *(f"{100 * np.mean(x):.0f} %" for x in shares)]


def main() -> None:
    given = arguments_of(__doc__, repetitions=10).parse_args()
    settings = list(product(CORRELATIONS, SIGNALS, MULTIPLES, SHAPES))
    runs = runs_of_all(simulated, settings, range(given.repetitions), given)
    pairs: dict[tuple, list[Pair]] = {}
    for (*key, _), found in zip(settings, runs, strict=True):
        pairs.setdefault(tuple(key), []).extend(found)
    rows = [[*key, *cells(found)] for key, found in pairs.items()]
    rows.append(["all", "", "", *cells(pair for found in runs for pair in found)])
    lines = ["# The margin of exchanges with given sizes", "", *__doc__.split("\n")[5:]]
    lines += ["## Simulated data", ""]
    lines += table(["correlation", "signal", "predictors over true", *HEADINGS], rows, text=3)
    rows = []
    for name, path in find_sets().items():
        n, p = read(path)[0].shape
        sizes = [(path, s) for s in REAL_ROWS if 2 * s <= p]
        if sizes and n * p <= MOST_ENTRIES:
            runs = runs_of_all(real, sizes, range(FOLDS), given)
            rows.append([name, n, p, *cells(pair for found in runs for pair in found)])
    lines += ["", "## Real data", "", *table(["set", "rows", "predictors", *HEADINGS], rows)]
    publish([*lines, *how()], given.markdown)


if __name__ == "__main__":
    main()
