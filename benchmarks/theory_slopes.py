"""Error of gradient descent against n, s and r, and the slopes of the corollary.

Run:  python benchmarks/theory_slopes.py [--runs 20] [--seed 600000]

Y = XΘ* + E with independent standard normal X and E; Θ* has r equal singular values, s rows and s
columns. Algorithm 1 (simultaneous updates, safeguarded step) starts from the screening start with
supports of c·s rows and columns. One size varies at a time; the slope is that of the logarithm of
the root mean squared error ‖Θ̂ − Θ*‖ on the logarithm of the quantity in the third column.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

import numpy as np
from output import arguments_of, how, publish, runs_of_all, table

import thinrank as tr

# Rows and columns of the gradients of the third table.
GRADIENT_SIZE = 300
# Singular values of Θ*: large enough for every true row and column to be found.
STRENGTH = 200.0


@dataclass(frozen=True)
class Setting:
    """Sizes of a problem and of the fit."""

    n: int
    p: int
    k: int
    r: int
    s: int
    c: int = 1


@dataclass(frozen=True)
class Sweep:
    """One size that varies, and what the corollary says about it."""

    name: str
    settings: tuple[Setting, ...]
    against: str
    expected: float

    def abscissae(self) -> list[float]:
        """The quantity that errors are plotted against."""
        of = {
            "n": lambda x: x.n,
            "s₁ + s₂": lambda x: 2 * x.s,
            "r": lambda x: x.r,
            "r + log(p ∨ k)": lambda x: x.r + math.log(max(x.p, x.k)),
        }
        return [of[self.against](setting) for setting in self.settings]


def sweeps() -> list[Sweep]:
    """The sweeps of the page."""
    narrow = Setting(n=800, p=100, k=100, r=2, s=5)
    wide = Setting(n=1600, p=200, k=200, r=2, s=40)
    dense = Setting(n=2000, p=200, k=200, r=16, s=100)
    over_n = tuple(replace(narrow, n=n) for n in (400, 800, 1600, 3200))
    over_s = tuple(replace(wide, s=s) for s in (8, 16, 32, 48))
    over_r = tuple(replace(wide, r=r) for r in (1, 2, 4, 8))
    high_r = tuple(replace(dense, r=r) for r in (16, 32, 48))
    return [
        Sweep("n", over_n, "n", -0.5),
        Sweep("n, c = 2", tuple(replace(x, c=2) for x in over_n), "n", -0.5),
        Sweep("s", over_s, "s₁ + s₂", 0.5),
        Sweep("s, c = 2", tuple(replace(x, c=2) for x in over_s), "s₁ + s₂", 0.5),
        Sweep("r, small", over_r, "r", 0.5),
        Sweep("r, small", over_r, "r + log(p ∨ k)", 0.5),
        Sweep("r, small, c = 2", tuple(replace(x, c=2) for x in over_r), "r + log(p ∨ k)", 0.5),
        Sweep("r, large", high_r, "r + log(p ∨ k)", 0.5),
    ]


def error(setting: Setting, seed: int) -> float:
    """‖Θ̂ − Θ*‖² of one run."""
    x = setting
    rng = np.random.default_rng([seed, x.n, x.p, x.k, x.r, x.s])
    X = rng.standard_normal((x.n, x.p))
    U, V = _rows(x.p, x.s, x.r, rng), _rows(x.k, x.s, x.r, rng)
    theta = STRENGTH * U @ V.T
    Y = X @ theta + rng.standard_normal((x.n, x.k))
    found = tr.minimize(
        tr.losses.LeastSquares(X, Y),
        rank=x.r,
        row_sparsity=min(x.c * x.s, x.p),
        column_sparsity=min(x.c * x.s, x.k),
        start="screening",
        solver=tr.solvers.GDT(max_iter=3000, tol=1e-7),
    )
    return float(np.sum((found.factors.theta - theta) ** 2))


def _rows(total: int, size: int, rank: int, rng: np.random.Generator) -> np.ndarray:
    """Orthonormal columns on some rows, which have about the same norm."""
    out = np.zeros((total, rank))
    out[rng.permutation(total)[:size]] = np.linalg.qr(rng.standard_normal((size, rank)))[0]
    return out


def lemma_ratio(rank: int, size: int, seed: int) -> float:
    """e_stat over the rate of the lemma; the gradient √n·XᵀE/n has standard normal entries."""
    total = 0.0
    for i in range(5):
        G = np.random.default_rng([seed, i]).standard_normal((GRADIENT_SIZE, GRADIENT_SIZE))
        found = tr.theory.statistical_error(G, 2 * rank, size, size, method="search")
        total += found.value / 5
    return total / math.sqrt(2 * size * (rank + math.log(GRADIENT_SIZE)))


def slope(x: list[float], y: list[float]) -> float:
    """Slope of log y on log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def main() -> None:
    parser = arguments_of(__doc__, repetitions=20)
    parser.add_argument("--seed", type=int, default=600_000)
    options = parser.parse_args()
    every = sorted({x for sweep in sweeps() for x in sweep.settings}, key=lambda x: str(asdict(x)))
    seeds = range(options.seed, options.seed + options.repetitions)
    squares = runs_of_all(error, every, seeds, options)
    errors = {x: math.sqrt(np.mean(part)) for x, part in zip(every, squares, strict=True)}
    publish(report(errors, options.seed), options.markdown)


def report(errors: dict[Setting, float], seed: int) -> list[str]:
    rows = []
    for sweep in sweeps():
        found = slope(sweep.abscissae(), [errors[x] for x in sweep.settings])
        off = abs(found / sweep.expected - 1)
        shown = ", ".join(f"{errors[x]:.3f}" for x in sweep.settings)
        ok = "yes" if off <= 0.1 else f"no ({off:.0%} off)"
        rows.append([sweep.name, shown, sweep.against, sweep.expected, f"{found:.3f}", ok])
    headings = ["what varies", "errors", "against", "slope expected", "measured", "within 10 %"]
    lines = [*table(headings, rows, text=3), ""]
    lines += [
        "The sizes, with the error that `sample_size_advice` expects if the supports are found:",
        "",
    ]
    rows = []
    for x in errors:
        if x.c > 1:
            continue
        expected = tr.theory.sample_size_advice(x.n, x.p, x.k, x.r, x.s, x.s).expected_error
        ratio = errors[x] / expected
        rows.append([x.n, x.p, x.r, x.s, f"{expected:.3f}", f"{errors[x]:.3f}", f"{ratio:.2f}"])
    headings = ["n", "p = k", "r", "s₁ = s₂", "expected", "measured", "ratio"]
    lines += [*table(headings, rows, text=0), ""]
    lines += [
        "The statistical error over √((s₁ + s₂)(r + log(p ∨ k))/n), the rate of the lemma: means",
        f"of 5 local searches for p = k = {GRADIENT_SIZE} and XᵀX/n = I, over matrices of rank",
        "2r with s rows and s columns:",
        "",
    ]
    ranks = (1, 2, 4, 8)
    rows = [[s, *(f"{lemma_ratio(r, s, seed):.2f}" for r in ranks)] for s in (10, 20, 40)]
    return [*lines, *table(["s₁ = s₂", *(f"r = {r}" for r in ranks)], rows, text=0), *how()]


if __name__ == "__main__":
    main()
