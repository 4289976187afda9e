"""Memory and time of automatic sizes with many predictors.

    python benchmarks/selection_memory.py --markdown docs/benchmarks/selection_memory.md

Each case runs in a separate process; "peak" is the memory beyond that of the data and the imports.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
import warnings

import numpy as np
from output import arguments_of, publish, table
from scipy import sparse

import thinrank as tr

MIB = 2**20


def factor_structure() -> tuple[np.ndarray, np.ndarray]:
    """100 × 40,000 with five factors, ten responses."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((100, 5))
    X = scores @ rng.standard_normal((5, 40_000))
    X += rng.standard_normal(X.shape)
    Y = scores @ rng.standard_normal((5, 10)) + rng.standard_normal((100, 10))
    return X, Y


def sparse_counts() -> tuple[sparse.csr_array, np.ndarray]:
    """20,000 × 100,000 of density 1e-4, twenty responses of ten predictors."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((20_000, 100_000), density=1e-4, format="csr", rng=rng)
    theta = np.zeros((100_000, 20))
    theta[:10] = 30 * rng.standard_normal((10, 20))
    return X, X @ theta + rng.standard_normal((20_000, 20))


CASES = {
    "dense 100 × 40,000 → 10, five factors": factor_structure,
    "sparse 20,000 × 100,000 → 20, density 1e-4": sparse_counts,
}


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str) -> tuple[float, float, float, dict]:
    warnings.simplefilter("ignore")
    tr.SparseReducedRankRegressor(1, 1, 1).fit(np.eye(5), np.eye(5))  # imports that are deferred
    X, Y = CASES[name]()
    stored = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
    before, began = peak(), time.perf_counter()
    est = tr.SparseReducedRankRegressor().fit(X, Y)
    seconds = time.perf_counter() - began
    return stored / MIB, peak() - before, seconds, est.best_params_


def main() -> None:
    parser = arguments_of(__doc__)
    arguments = parser.parse_args()
    rows = []
    for name in CASES:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            stored, used, seconds, params = pool.apply(measure, (name,))
        found = f"rank {params['rank']}, {params['row_sparsity']} predictors"
        rows.append([name, f"{stored:.0f}", f"{used:.0f}", f"{seconds:.1f}", found])
    publish(table(["X", "MiB", "peak, MiB", "seconds", "chosen"], rows), arguments.markdown)


if __name__ == "__main__":
    main()
