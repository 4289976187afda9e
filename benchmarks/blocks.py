"""Data larger than memory: time and memory of a fit to row blocks, beside what they must take.

    python benchmarks/blocks.py --folder /path/with/space --rows 400000   # X has 16 GB

X (rows × 10,000, float32) and Y (200 responses) are written to NPY files in the folder, unless they
are there already, and fitted with given sizes in a process of its own, of which the peak of the
resident memory is measured. The floor of the time is the number of passes times the time to read X
without computing anything, plus the time of the products XᵀY and XᵀX_A for the predictors A whose
inner products were computed, which is that of one block times the number of blocks.

With ``--repeat 8`` every pass reads the files eight times, as if they were eight times as long,
which needs less space.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from output import arguments_of, how, in_own_process, publish, table

import thinrank as tr
from thinrank.designs import Blocks

RANK, USED = 5, 50


def write(folder: Path, rows: int, columns: int, targets: int) -> tuple[Path, Path]:
    """Write X and Y, a block at a time; the first 50 predictors determine Y by 5 factors."""
    paths = tuple(folder / f"{name}_{rows}_{columns}_{targets}.npy" for name in "xy")
    if all(path.exists() for path in paths):
        return paths[0], paths[1]
    rng = np.random.default_rng(700_000)
    left = rng.standard_normal((USED, RANK), dtype=np.float32)
    theta = left @ rng.standard_normal((RANK, targets), dtype=np.float32) / 5
    X = np.lib.format.open_memmap(paths[0], "w+", np.float32, (rows, columns))
    Y = np.lib.format.open_memmap(paths[1], "w+", np.float32, (rows, targets))
    for first in range(0, rows, 2000):
        part = slice(first, min(first + 2000, rows))
        X[part] = rng.standard_normal((part.stop - part.start, columns), dtype=np.float32)
        noise = rng.standard_normal((part.stop - part.start, targets), dtype=np.float32)
        Y[part] = X[part, :USED] @ theta + 3 * noise
    return paths[0], paths[1]


class Repeated:
    """The blocks of a file, again and again."""

    def __init__(self, path: Path, times: int) -> None:
        self.path, self.times = path, times

    def __iter__(self) -> Iterator[np.ndarray]:
        for _ in range(self.times):
            yield from Blocks(self.path)


def blocks_of(path: Path, repeat: int) -> Blocks:
    return Blocks(path) if repeat == 1 else Blocks(Repeated(path, repeat))


def estimator() -> tr.SparseReducedRankRegressor:
    return tr.SparseReducedRankRegressor(RANK, USED, None)


def fit(x: Path, y: Path, repeat: int) -> dict[str, Any]:
    """A fit, with its time, peak of memory, passes and numbers of predictors computed."""
    computed: list[int] = []
    reduce = Blocks.reduce

    def counted(self: Blocks, function: Any, *arguments: Any, **options: Any) -> Any:
        if function.__name__ == "gram_rows":
            computed.append(len(arguments[1]))
        return reduce(self, function, *arguments, **options)

    Blocks.reduce = counted  # type: ignore[method-assign]
    estimator().fit(np.eye(60), np.eye(60))  # imports that are deferred
    X, Y = blocks_of(x, repeat), blocks_of(y, repeat)
    began = time.perf_counter()
    est = estimator().fit(X, Y)
    return {
        "seconds": time.perf_counter() - began,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,  # GiB
        "passes": est.n_passes_,
        "computed": computed,
        "found": est.row_support_.tolist() == list(range(USED)),
    }


def floors(x: Path, y: Path, repeat: int, computed: list[int]) -> dict[str, float]:
    """Time to read X once, and time of the products."""
    blocks = Blocks(x)
    began = time.perf_counter()
    for _ in blocks:
        pass
    reading = time.perf_counter() - began
    block = next(iter(blocks))
    target = next(iter(Blocks(y, block_rows=len(block))))
    products = 0.0
    for other in (target, *(block[:, :count].copy() for count in computed)):
        times = []
        for _ in range(3):
            began = time.perf_counter()
            block.T @ other
            times.append(time.perf_counter() - began)
        products += min(times) * blocks.shape[0] / len(block)
    return {"reading": repeat * reading, "products": repeat * products}


def main() -> None:
    parser = arguments_of(__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--targets", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    shape = arguments.rows, arguments.columns, arguments.targets
    # a new process begins with the peak of the one that starts it
    x, y = in_own_process(write, arguments.folder, *shape)
    found = in_own_process(fit, x, y, arguments.repeat)
    floor = floors(x, y, arguments.repeat, found["computed"])
    least = found["passes"] * floor["reading"] + floor["products"]
    size = arguments.repeat * x.stat().st_size / 1e9
    times = "" if arguments.repeat == 1 else f"{arguments.repeat} × "
    row = [
        f"{times}{arguments.rows:,} × {arguments.columns:,} → {arguments.targets} ({size:.1f} GB)",
        found["passes"],
        sum(found["computed"]),
        f"{found['seconds']:.1f}",
        f"{floor['reading']:.1f}",
        f"{floor['products']:.1f}",
        f"{found['seconds'] / least:.2f}",
        f"{found['peak']:.2f}",
        "yes" if found["found"] else "no",
    ]
    headings = ["X, float32", "passes", "predictors in XᵀX", "seconds", "reading once", "products"]
    headings += ["seconds / floor", "peak, GiB", "true predictors"]
    publish([*table(headings, [row]), *how()], arguments.markdown)


if __name__ == "__main__":
    main()
