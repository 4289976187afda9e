"""A study that takes no time, in a module that other processes can import."""

import os
import time
from pathlib import Path

import numpy as np
from paper.study import Job, Study


def jobs(quick):
    return [Job({"size": size}, seed) for size in (40, 150) for seed in range(4)]


def run(job):
    """Numbers that depend on every bit of the linear algebra; each run leaves a line in a log."""
    time.sleep(float(os.environ.get("TINY_SECONDS", "0")))
    rng = np.random.default_rng(job.seed)
    A = rng.standard_normal((job.cell["size"], job.cell["size"]))
    values = np.linalg.svd(A @ A.T @ A, compute_uv=False)
    log = os.environ.get("TINY_LOG")
    if log:
        with Path(log).open("a") as file:
            file.write(f"{job.key('tiny')}\n")
    return [
        {"method": "svd", "largest": values[0], "values": values[:5], "seconds": time.time()},
        {"method": "sum", "total": float(np.sum(A @ A))},
    ]


def fails(job):
    if job.seed == 2:
        raise ZeroDivisionError("seed 2 is not welcome")
    return run(job)


def page(records):
    return []


TINY = Study("tiny", "A tiny study", jobs, run, page)
FAILING = Study("tiny", "A tiny study", jobs, fails, page)
