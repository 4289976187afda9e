"""Errors that are not normal: sub-Gaussian ones, and heavy tails."""

from __future__ import annotations

from thinrank.studies.contestants import compete
from thinrank.studies.judge import judge
from thinrank.studies.simulation import DISTRIBUTIONS, draw
from thinrank.studies.spec import Job, Record, Study
from thinrank.studies.task import simulated_task

__all__ = ["NOISE"]

_FIRST_SEED = 62_000
_REPLICATIONS, _QUICK_REPLICATIONS = 20, 3
_METHODS = ("GDT", "pursuit", "MTL")


def jobs(quick: bool) -> list[Job]:
    """One job a setting, distribution and replication; X and Θ* are the same for all of them."""
    count = _QUICK_REPLICATIONS if quick else _REPLICATIONS
    settings = ("twoway_strong",) if quick else ("twoway_strong", "twoway_weak")
    return [
        Job("noise", {"setting": setting, "distribution": distribution}, _FIRST_SEED + i)
        for setting in settings
        for distribution in DISTRIBUTIONS
        for i in range(count)
    ]


def run(job: Job) -> list[Record]:
    """Three methods, tuned as in the tables."""
    sample = draw(job.cell["setting"], job.seed, job.cell["distribution"])
    answers = compete(simulated_task(sample), _METHODS)
    return [
        {
            "method": name,
            **judge(answer.theta, sample.truth, sample.X),
            "seconds": answer.seconds,
        }
        for name, answer in answers.items()
    ]


NOISE = Study(
    name="noise",
    title="Errors that are not normal",
    claim="The theory covers sub-Gaussian errors: uniform and Rademacher errors change nothing.",
    jobs=jobs,
    run=run,
)
