"""Seconds and memory of fits on a GPU, each checked against float64 on the processor.

Run:  python benchmarks/gpu.py [--cases NAME ...] [--seed 0] [--markdown F]

Needs PyTorch with CUDA; tests marked `arrays` compare libraries. Data are simulated
on the device in float32, with independent standard normal predictors, and are on the device when a
fit begins. A fit is timed from tensors to fitted estimator, warm: the median of at least five, and
of three seconds of fits, is reported, after a second of fits that are not counted. *Least* is the
time of the fastest of them: other work of the host slows down the others. *Floor* is the larger of
two times: operations that the fit cannot avoid over the rate of a large product in
float32, and bytes of X and Y, read once, over the bandwidth of a copy; both rates are measured.
*Waits* is the number of times that the host waited for the device in one fit. *Memory* is the peak
of what PyTorch allocated, data included.

Every fit is compared with float64 on the processor: for the smaller problems with the same fit
there, for the larger ones a fit without standardization with reduced-rank regression on supports
that it found. *Error* is the relative difference of the coefficients in Frobenius norm. The fits at
ζ = 100 have more rows than the truth; which superfluous ones they have may depend on rounding.
"""

from __future__ import annotations

import os
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from output import arguments_of, publish, table

import thinrank as tr
from thinrank.solvers.reduced_rank import reduced_rank_regression

GPU = "cuda"
# Seconds of calls that are not counted, since the clock of an idle processor takes time to rise,
# and least number of seconds of those that are.
WARM_UP, MEASURED = 1.0, 3.0


@dataclass(frozen=True)
class Problem:
    """Simulated data on the device, with the sizes to fit with."""

    X: torch.Tensor
    Y: torch.Tensor
    rows: np.ndarray
    sizes: dict[str, int]


def simulated(
    n: int, p: int, k: int, rank: int, rows: int, columns: int, excess: float, seed: int
) -> Problem:
    """Data of a matrix with ``rows`` rows and ``columns`` columns; noise and signal are equal."""
    draw = torch.Generator(GPU).manual_seed(seed)
    X = torch.randn(n, p, device=GPU, generator=draw)
    S = torch.sort(torch.randperm(p, device=GPU, generator=draw)[:rows]).values
    T = torch.sort(torch.randperm(k, device=GPU, generator=draw)[:columns]).values
    U = torch.randn(rows, rank, device=GPU, generator=draw)
    V = torch.randn(columns, rank, device=GPU, generator=draw) / (rank * rows) ** 0.5
    Y = torch.randn(n, k, device=GPU, generator=draw)
    Y[:, T] += (X[:, S] @ U) @ V.T
    sizes = {
        "rank": rank,
        "row_sparsity": int(excess * rows),
        "column_sparsity": min(int(excess * columns), k),
    }
    return Problem(X, Y, S.cpu().numpy(), sizes)


PROBLEMS = {
    # the paper's running-time table at ζ = 100
    "ζ = 100": (5000, 8000, 500, 40, 1000, 500, 1.2),
    "20,000 × 100,000 → 10,000": (20_000, 100_000, 10_000, 50, 1000, 500, 1.0),
    "3000 × 10,000 → 80,000": (3000, 10_000, 80_000, 20, 500, 80_000, 1.0),
    "2000 × 3000 → 100": (2000, 3000, 100, 5, 50, 50, 1.0),
}


# --------------------------------------------------------------------------- measurements


def seconds(work: Callable[[], Any], repetitions: int) -> tuple[float, float]:
    """Median and least time of some calls, after others that are not counted.

    Short ones are repeated more often, since other processes of the host disturb single ones.
    """
    first = time.perf_counter()
    times: list[float] = []
    while len(times) < repetitions or (repetitions > 1 and sum(times) < MEASURED):
        torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        if began - first > WARM_UP:
            times.append(time.perf_counter() - began)
    return statistics.median(times), min(times)


def waits(work: Callable[[], Any]) -> int:
    """Number of times that the host waits for the device."""
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            work()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchronizing" in str(warning.message) for warning in told)


def copy_rate() -> float:
    """Bytes per second of a copy within the device, read and written."""
    block = torch.randn(1 << 28, device=GPU)
    other = torch.empty_like(block)
    return 8 * block.numel() / seconds(lambda: other.copy_(block), 10)[0]


def product_rate() -> float:
    """Operations per second of a large product in float32."""
    a = torch.randn(8192, 8192, device=GPU)
    b = torch.randn(8192, 8192, device=GPU)
    return 2 * 8192**3 / seconds(lambda: a @ b, 5)[0]


def on_host(x: Any) -> np.ndarray:
    return torch.as_tensor(x).cpu().double().numpy()


def difference(est: Any, other: Any) -> str:
    """That of the coefficients, relative to those of a fit on the processor, and of supports."""
    found = on_host(est.coef_)
    relative = np.linalg.norm(found - other.coef_) / np.linalg.norm(other.coef_)
    same = np.array_equal(other.row_support_, on_host(est.row_support_))
    return f"{relative:.0e}, {'same' if same else 'other'} supports"


def error_on_supports(problem: Problem) -> str:
    """Reduced-rank regression on the supports that were found, in float64 on the processor.

    For a fit without standardization, which has this closed form.
    """
    est = regressor(standardize=False)(problem).fit(problem.X, problem.Y)
    S, T = (on_host(each).astype(int) for each in (est.row_support_, est.column_support_))
    X, Y = on_host(problem.X[:, S]), on_host(problem.Y[:, T])
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    reference = reduced_rank_regression(X, Y, est.rank_).theta
    error = np.linalg.norm(on_host(est.coef_[T][:, S]).T - reference) / np.linalg.norm(reference)
    return f"{error:.0e}, {true_rows(est, problem)}"


def true_rows(est: Any, problem: Problem) -> str:
    true = len(np.intersect1d(on_host(est.row_support_), problem.rows))
    return f"{true} of {len(problem.rows)} true rows"


# --------------------------------------------------------------------------- cases


@dataclass(frozen=True)
class Case:
    """A line of the table: a problem, what is said of the fit, how it is made and checked."""

    problem: str
    words: str
    make: Callable[[Problem], Any]
    repetitions: int = 5
    check: str = "same fit"
    change: Callable[[torch.Tensor], torch.Tensor] = lambda Y: Y
    products: int = 0  # with X, of r columns, beside XᵀY


def regressor(**options: Any) -> Callable[[Problem], Any]:
    return lambda problem: tr.SparseReducedRankRegressor(**problem.sizes, **options)


def chosen(**options: Any) -> Callable[[Problem], Any]:
    return lambda problem: tr.SparseReducedRankRegressor(**options)


def generalized(family: str) -> Callable[[Problem], Any]:
    return lambda problem: tr.SparseReducedRankGLM(family=family, **problem.sizes)


def four_models(problem: Problem) -> Any:
    return tr.SparseReducedRankRegressorCV(
        ranks=[3, 5], row_sparsities=[50, 80], column_sparsities=[50], ridges=[0.0]
    )


def missing(Y: torch.Tensor) -> torch.Tensor:
    draw = torch.Generator(GPU).manual_seed(1)
    return torch.where(torch.rand(Y.shape, device=GPU, generator=draw) < 0.15, torch.nan, Y)


def counts(Y: torch.Tensor) -> torch.Tensor:
    draw = torch.Generator(GPU).manual_seed(1)
    return torch.poisson(torch.exp(0.3 * Y).clamp(max=50.0), generator=draw)


PAPER, TALL, WIDE, MODERATE = PROBLEMS
DESCENT = {
    "solver": tr.solvers.GDT(max_iter=200, tol=0.0),
    "start": "screening",
    "standardize": False,  # one series of 200 iterations
}
CASES = {
    "given": Case(PAPER, "sizes given", regressor()),
    "TF32": Case(PAPER, "sizes given, products in TF32", regressor()),
    "unscaled": Case(PAPER, "sizes given, `standardize=False`", regressor(standardize=False)),
    "pic": Case(PAPER, '`criterion="pic"`', chosen(criterion="pic"), 3),
    "default": Case(PAPER, "default", chosen(), 1, "chosen sizes"),
    "predictors": Case(TALL, "sizes given", regressor(), 3, "supports"),
    "descent": Case(TALL, "200 GDT iterations", regressor(**DESCENT), 1, "none", products=200),
    "responses": Case(WIDE, "sizes given", regressor(), 3, "supports"),
    "missing": Case(MODERATE, "15 % missing", regressor(), 3, change=missing),
    "huber": Case(MODERATE, "Huber", regressor(loss="huber"), 3),
    "poisson": Case(MODERATE, "Poisson", generalized("poisson"), 3, change=counts),
    "bernoulli": Case(
        MODERATE, "Bernoulli", generalized("bernoulli"), 3, change=lambda Y: (Y > 0).to(Y.dtype)
    ),
    "cv": Case(MODERATE, "4 models by `RegressorCV`", four_models, 3),
}


def measure(case: Case, seed: int, rates: tuple[float, float]) -> list[object]:
    """One line of the table."""
    problem = simulated(*PROBLEMS[case.problem], seed)
    Y = case.change(problem.Y)
    estimators: list[Any] = []

    def work() -> None:
        estimators[:] = [case.make(problem).fit(problem.X, Y)]

    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    taken, least = seconds(work, case.repetitions)
    peak = torch.cuda.max_memory_allocated() / 1e9
    count = waits(work) if case.repetitions > 1 else "–"
    est = estimators[0]
    columns = problem.Y.shape[1] + case.products * problem.sizes["rank"]
    operations = 2.0 * problem.X.numel() * columns
    size = 4.0 * (problem.X.numel() + problem.Y.numel())
    floor = max(operations / rates[0], size / rates[1])
    product, _ = seconds(lambda: problem.X.T @ problem.Y, 3)
    predicted = est.predict(problem.X[:10])
    assert predicted.device.type == GPU, "predictions must stay on the device"
    found = f"{est.rank_}, {len(est.row_support_)}"
    return [
        f"{case.problem}, {case.words}",
        f"{1e3 * taken:.1f}",
        f"{1e3 * least:.1f}",
        f"{1e3 * product:.2f}",
        f"{1e3 * floor:.2f}",
        f"{taken / product:.1f}",
        count,
        f"{peak:.1f}",
        found,
        error(case, problem, est, Y),
    ]


def error(case: Case, problem: Problem, est: Any, Y: torch.Tensor) -> str:
    if case.check == "none":
        return true_rows(est, problem)
    if case.check == "supports":
        return error_on_supports(problem)
    same = case.make(problem)
    if case.check == "chosen sizes":  # a search on the processor would take minutes
        sizes = est.rank_, len(est.row_support_), len(est.column_support_)
        same = tr.SparseReducedRankRegressor(*sizes, ridge=est.best_params_["ridge"])
    return difference(est, same.fit(on_host(problem.X), on_host(Y)))


def main() -> None:
    parser = arguments_of(__doc__)
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("benchmarks/gpu.py needs a GPU that PyTorch can use; none was found")
    torch.set_float32_matmul_precision("highest")
    rates = product_rate(), copy_rate()
    lines = [
        f"{torch.cuda.get_device_name()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, PyTorch {torch.__version__}, NumPy {np.__version__}. "
        f"Products in float32: {rates[0] / 1e12:.0f} TFLOP/s; copies: {rates[1] / 1e12:.1f} TB/s.",
        "",
    ]
    rows = []
    for name in args.cases:
        if name == "TF32":
            torch.set_float32_matmul_precision("high")
        rows.append(measure(CASES[name], args.seed, rates))
        torch.set_float32_matmul_precision("highest")
        print(rows[-1], flush=True)
    headings = "fit", "ms", "least, ms", "XᵀY, ms", "floor, ms", "times XᵀY", "waits", "memory, GB"
    lines += table([*headings, "rank, rows", "error"], rows)
    publish(lines, args.markdown)


if __name__ == "__main__":
    main()
