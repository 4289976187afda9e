"""How often estimate_rank is right, with a smallest singular value of twice the threshold of RSC.

python benchmarks/selection_rank.py --markdown docs/benchmarks/selection_rank.md
"""

from __future__ import annotations

import numpy as np
from output import arguments_of, publish, table
from rich.progress import track

from thinrank.selection import estimate_rank

# n, p, k, q = rank of X
CASES = [
    (200, 20, 50, 20),
    (200, 100, 50, 100),
    (100, 150, 50, 25),
    (200, 50, 50, 50),
    (400, 45, 50, 45),
    (50, 100, 50, 50),
    (60, 100, 50, 60),
    (50, 100, 25, 50),
    (30, 60, 60, 30),
]
RANKS = (1, 3, 8)
METHODS = {
    "rsc": {},
    "rsc, level=0.01": {"level": 0.01},
    "bcv": {"method": "bcv"},
    "gdt": {"method": "authors"},
}


def simulate(case: tuple[int, int, int, int], rank: int, seed: int) -> tuple:
    n, p, k, q = case
    rng = np.random.default_rng([seed, *case, rank])
    X = rng.standard_normal((n, p))
    if q < min(n, p):
        X = rng.standard_normal((n, q)) @ rng.standard_normal((q, p))
    signal = X @ rng.standard_normal((p, rank)) @ rng.standard_normal((rank, k))
    weakest = np.linalg.svd(signal, compute_uv=False)[rank - 1]
    signal *= 2 * np.sqrt(2 * (k + q)) / weakest
    return X, signal + rng.standard_normal((n, k))


def main() -> None:
    parser = arguments_of(__doc__)
    parser.add_argument("--simulations", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    rows = []
    for case in track(CASES, "cases"):
        hits = dict.fromkeys(((m, r) for m in METHODS for r in RANKS), 0)
        for rank in RANKS:
            for i in range(arguments.simulations):
                X, Y = simulate(case, rank, 1000 * arguments.seed + i)
                for method, options in METHODS.items():
                    hits[method, rank] += estimate_rank(X, Y, **options) == rank
        cells = [
            ", ".join(f"{100 * hits[m, r] / arguments.simulations:.0f}" for r in RANKS)
            for m in METHODS
        ]
        rows.append([", ".join(map(str, case)), *cells])
    headings = ["n, p, k, rank of X", *(f"{m}: r = 1, 3, 8" for m in METHODS)]
    publish(table(headings, rows), arguments.markdown)


if __name__ == "__main__":
    main()
