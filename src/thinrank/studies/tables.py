"""Tables 1 to 4: estimation and prediction error in four simulated settings."""

from __future__ import annotations

from functools import partial

from thinrank.studies.contestants import METHODS, compete
from thinrank.studies.judge import judge
from thinrank.studies.simulation import draw
from thinrank.studies.spec import Job, Record, Study
from thinrank.studies.task import simulated_task

__all__ = ["TABLES"]

_FIRST_SEED = 60_000
_REPLICATIONS, _QUICK_REPLICATIONS = 50, 3
_TITLES = {
    "row_strong": "strong signal, row sparse",
    "twoway_strong": "strong signal, row and column sparse",
    "row_weak": "weak signal, row sparse",
    "twoway_weak": "weak signal, row and column sparse",
}


def jobs(name: str, setting: str, quick: bool) -> list[Job]:
    """One job a replication."""
    count = _QUICK_REPLICATIONS if quick else _REPLICATIONS
    return [Job(name, {"setting": setting}, _FIRST_SEED + i) for i in range(count)]


def run(job: Job) -> list[Record]:
    """All methods on one draw."""
    sample = draw(job.cell["setting"], job.seed)
    answers = compete(simulated_task(sample), METHODS)
    return [
        {
            "method": name,
            **judge(answer.theta, sample.truth, sample.X),
            **{f"chosen_{key}": value for key, value in answer.chosen.items()},
            "seconds": answer.seconds,
        }
        for name, answer in answers.items()
    ]


TABLES = [
    Study(
        name=f"table{number}",
        title=f"Table {number}: {title}",
        claim="GDT has the lowest estimation error and prediction error.",
        jobs=partial(jobs, f"table{number}", setting),
        run=run,
    )
    for number, (setting, title) in enumerate(_TITLES.items(), 1)
]
