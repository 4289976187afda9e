"""How much it costs to ask for more rows and columns than there are."""

from __future__ import annotations

import time
from typing import Any

from thinrank.losses import LeastSquares
from thinrank.minimize import minimize
from thinrank.starts import Lasso
from thinrank.studies.judge import judge
from thinrank.studies.simulation import draw
from thinrank.studies.spec import Job, Record, Study

__all__ = ["SENSITIVITY"]

_FIRST_SEED = 61_000
_REPLICATIONS, _QUICK_REPLICATIONS = 20, 3
_FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0)
_RANK, _ROWS, _COLUMNS = 8, 10, 10


def jobs(quick: bool) -> list[Job]:
    """One job a factor and replication; the same draws for every factor."""
    count = _QUICK_REPLICATIONS if quick else _REPLICATIONS
    return [
        Job("sensitivity", {"setting": "twoway_strong", "factor": factor}, _FIRST_SEED + i)
        for factor in _FACTORS
        for i in range(count)
    ]


def run(job: Job) -> list[Record]:
    """GDT from the lasso and pursuit, told the true rank and sizes too large by a factor."""
    sample = draw(job.cell["setting"], job.seed)
    rows, columns = round(job.cell["factor"] * _ROWS), round(job.cell["factor"] * _COLUMNS)
    solvers: dict[str, dict[str, Any]] = {
        "GDT": {"solver": "gdt", "start": Lasso()},
        "pursuit": {"solver": "pursuit"},
    }
    records = []
    for method, options in solvers.items():
        began = time.perf_counter()
        loss = LeastSquares(sample.X, sample.Y)
        sizes = {"rank": _RANK, "row_sparsity": rows, "column_sparsity": columns}
        theta = minimize(loss, **sizes, **options).factors.theta
        seconds = time.perf_counter() - began
        marks = judge(theta, sample.truth, sample.X)
        records.append({"method": method, **sizes, **marks, "seconds": seconds})
    return records


SENSITIVITY = Study(
    name="sensitivity",
    title="Sensitivity to the sizes asked for",
    claim="s1 and s2 of one to four times the true sizes hurt little.",
    jobs=jobs,
    run=run,
)
