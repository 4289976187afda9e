"""Matrix sensing through tr.losses.Custom.from_torch: how often and how well Θ is recovered.

Every run draws a 50 × 40 matrix Θ* of rank 2 with 8 non-zero rows and 8 non-zero columns and
Gaussian matrices Aᵢ, and minimizes a loss of ⟨Aᵢ, Θ⟩ by

    tr.minimize(loss, rank=2, row_sparsity=8, column_sparsity=8)

where the loss is a function written in PyTorch, without derivatives. The errors are
‖Θ̂ − Θ*‖/‖Θ*‖. The oracle minimizes the same loss over the matrices of rank 2 on the true rows and
columns, from Θ* as the start. Needs the extra ``torch``.
"""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import torch
from output import arguments_of, how, publish, runs_of_all, table

import thinrank as tr

SHAPE, RANK, SPARSITY = (50, 40), 2, 8
SIZES = {"rank": RANK, "row_sparsity": SPARSITY, "column_sparsity": SPARSITY}
ENTRIES = {
    "standard normal": lambda rng, size: rng.standard_normal(size),
    "±uniform on [0.5, 1]": lambda rng, size: rng.uniform(0.5, 1, size) * rng.choice([-1, 1], size),
}
RECOVERED = 1e-6


def random_truth(rng: np.random.Generator, entries: str) -> tr.Factors:
    """Θ* with factors whose non-zero entries have the named distribution."""
    factors = []
    for size in SHAPE:
        factor = np.zeros((size, RANK))
        support = rng.choice(size, SPARSITY, replace=False)
        factor[support] = ENTRIES[entries](rng, (SPARSITY, RANK))
        factors.append(factor)
    return tr.Factors(*factors).balanced()


def half_squares(A: torch.Tensor, y: torch.Tensor, of: str = "theta") -> tr.losses.Custom:
    """½·mean of (⟨Aᵢ, Θ⟩ − yᵢ)², as a function of Θ or of (U, V)."""

    def of_theta(theta: torch.Tensor) -> torch.Tensor:
        return 0.5 * torch.mean((torch.tensordot(A, theta) - y) ** 2)

    def of_factors(U: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
        return 0.5 * torch.mean((torch.sum((A @ V) * U, dim=(1, 2)) - y) ** 2)

    function = of_theta if of == "theta" else of_factors
    return tr.losses.Custom.from_torch(function, tuple(A.shape[1:]), of=of)


def logistic(A: torch.Tensor, y: torch.Tensor) -> tr.losses.Custom:
    """The mean of log(1 + exp(−yᵢ⟨Aᵢ, Θ⟩)) for y = ±1, which is not quadratic."""

    def of_theta(theta: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.softplus(-y * torch.tensordot(A, theta)).mean()

    return tr.losses.Custom.from_torch(of_theta, tuple(A.shape[1:]))


def relative_error(factors: tr.Factors, truth: np.ndarray) -> float:
    return float(np.linalg.norm(np.asarray(factors.theta) - truth) / np.linalg.norm(truth))


def measure(truth: tr.Factors, count: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    A = rng.standard_normal((count, *SHAPE))
    return A, np.tensordot(A, truth.theta)


def noiseless(setting: tuple[str, int, str], seed: int) -> float:
    """The error of one run without noise."""
    entries, count, of = setting
    rng = np.random.default_rng(seed)
    truth = random_truth(rng, entries)
    A, y = map(torch.from_numpy, measure(truth, count, rng))
    answer = tr.minimize(half_squares(A, y, of), **SIZES)
    return relative_error(answer.factors, truth.theta)


def against_oracle(setting: tuple[str, int, float], seed: int) -> dict:
    """One run with noise, or with one bit per measurement, and the oracle's."""
    kind, count, noise = setting
    rng = np.random.default_rng(seed)
    truth = random_truth(rng, "standard normal")
    if kind == "signs":  # ⟨Aᵢ, Θ*⟩ with standard deviation 1/noise
        truth = truth.scaled(factor=1 / (noise * truth.norm()))
    A, signal = measure(truth, count, rng)
    if kind == "signs":
        y = np.where(rng.random(count) < 1 / (1 + np.exp(-signal)), 1.0, -1.0)
    else:
        y = signal + noise * rng.standard_normal(count)
    make = logistic if kind == "signs" else half_squares
    rows, columns = truth.row_support, truth.column_support
    inner = A[:, rows[:, None], columns]
    known = truth.theta[np.ix_(rows, columns)]
    oracle = tr.minimize(
        make(torch.from_numpy(inner), torch.from_numpy(y)), rank=RANK, start=torch.from_numpy(known)
    )
    answer = tr.minimize(make(torch.from_numpy(A), torch.from_numpy(y)), **SIZES)
    supports = np.array_equal(answer.factors.row_support, rows) and np.array_equal(
        answer.factors.column_support, columns
    )
    return {
        "error": relative_error(answer.factors, truth.theta),
        "oracle": relative_error(oracle.factors, known),
        "supports": supports,
    }


EXACT = [(entries, 600, of) for entries in ENTRIES for of in ("theta", "factors")]
EXACT += [("standard normal", count, "theta") for count in (300, 200, 150)]
NOISY = {
    "noise of standard deviation 1": ("squares", 600, 1.0),
    "noise of standard deviation 4": ("squares", 600, 4.0),
    "one bit, logistic": ("signs", 2000, 0.5),
}


def main() -> None:
    parser = arguments_of(__doc__, repetitions=20)
    parser.add_argument("--seed", type=int, default=600_000)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.repetitions)
    exact, noisy = [], []
    for (entries, count, of), errors in zip(
        EXACT, runs_of_all(noiseless, EXACT, seeds, options), strict=True
    ):
        found = f"{np.sum(np.array(errors) <= RECOVERED)} of {len(errors)}"
        sizes = f"{np.median(errors):.1e}", f"{max(errors):.1e}"
        exact.append([entries, "(U, V)" if of == "factors" else "Θ", count, found, *sizes])
    measured = runs_of_all(against_oracle, NOISY.values(), seeds, options)
    for (label, (_, count, _)), runs in zip(NOISY.items(), measured, strict=True):
        errors, oracles = (np.array([run[key] for run in runs]) for key in ("error", "oracle"))
        ratios = errors / oracles
        medians = (
            f"{np.median(errors):.3f}",
            f"{np.median(oracles):.3f}",
            f"{np.median(ratios):.2f}",
        )
        supports = f"{sum(run['supports'] for run in runs)} of {len(runs)}"
        noisy.append([label, count, *medians, f"{ratios.max():.2f}", supports])
    headings = ["non-zero entries of U\\*, V\\*", "function of", "measurements"]
    headings += [f"error ≤ {RECOVERED:.0e}", "median error", "largest error"]
    lines = ["Without noise:", "", *table(headings, exact, text=2), "", "With noise:", ""]
    headings = ["measurements", "number", "error", "error of the oracle", "ratio"]
    lines += table([*headings, "largest ratio", "both supports exact"], noisy)
    lines += ["", "Errors and ratios are medians over the runs unless they are called largest."]
    publish([*lines, *how(), f"PyTorch {version('torch')}."], options.markdown)


if __name__ == "__main__":
    main()
