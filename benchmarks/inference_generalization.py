"""Coverage of tr.inference.generalization with sparse reduced-rank regression.

Run:  OMP_NUM_THREADS=1 python benchmarks/inference.py generalization [--runs 200]
          [--auto-runs 40] [--markdown docs/benchmarks/inference_generalization.md]

The error of the fit to all rows is known: predictors are independent with variance 1, and so is
the noise. The table for ridge regression is made by inference_intervals.py.
"""

from __future__ import annotations

import warnings

import numpy as np
from output import arguments_of, machine, publish, table

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

ROWS, PREDICTORS, RESPONSES, RANK, EFFECTS = 90, 30, 5, 2, 4


def one(run: int, seed: int, automatic: bool, repeats: int) -> tuple[float, ...]:
    """Hits of both intervals, the ratio of their widths, and errors of both estimates."""
    rng = np.random.default_rng(seed + run)
    B = np.zeros((PREDICTORS, RESPONSES))
    B[:EFFECTS] = rng.standard_normal((EFFECTS, RANK)) @ rng.standard_normal((RANK, RESPONSES)) / 2
    X = rng.standard_normal((ROWS, PREDICTORS))
    Y = X @ B + rng.standard_normal((ROWS, RESPONSES))
    sizes = () if automatic else (RANK, EFFECTS, None)
    est = tr.SparseReducedRankRegressor(*sizes)
    found = tr.inference.generalization(
        est, X, Y, n_repeats=repeats, metric="mse", random_state=run
    )
    est.fit(X, Y)
    own = 1 + np.mean(np.sum((est.coef_.T - B) ** 2, axis=0) + est.intercept_**2)
    return (
        found.lower <= own <= found.upper,
        found.cv_lower <= own <= found.cv_upper,
        (found.upper - found.lower) / (found.cv_upper - found.cv_lower),
        found.estimate - own,
        found.cv_estimate - own,
    )


def main() -> None:
    parser = arguments_of(__doc__, repetitions=200)
    parser.add_argument("--auto-runs", type=int, default=40)
    parser.add_argument("--first-seed", type=int, default=600_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore", SelectionWarning)
    rows = []
    for name, runs, automatic, repeats in (
        ("sizes given", options.repetitions, False, 2),
        ("sizes chosen", options.auto_runs, True, 1),
    ):
        found = np.array([one(run, options.first_seed, automatic, repeats) for run in range(runs)])
        means = found.mean(axis=0)
        errors = found[:, :2].std(axis=0) / np.sqrt(runs)
        shares = [f"{100 * m:.1f} ± {100 * e:.1f}" for m, e in zip(means[:2], errors, strict=True)]
        biases = [f"{value:+.3f}" for value in means[3:]]
        rows.append([name, repeats, runs, *shares, f"{means[2]:.2f}", *biases])
    lines = [
        "Coverage of the mean squared error of this fit by 95 % intervals (percent ± standard "
        f"error), sparse reduced-rank regression, n = {ROWS}, p = {PREDICTORS}, k = {RESPONSES}, "
        f"rank {RANK}, {EFFECTS} predictors with effects, 5 folds:",
        "",
        *table(
            [
                "sizes",
                "n_repeats",
                "runs",
                "nested",
                "ordinary CV",
                "width ratio",
                "bias",
                "bias of CV",
            ],
            rows,
        ),
        "",
        f"Machine: {machine()}",
    ]
    publish(lines, options.markdown)


if __name__ == "__main__":
    main()
