"""Tables 1 to 4: the specification."""

from __future__ import annotations

from functools import partial

from paper.methods import METHODS, fit_methods
from paper.simulation import draw, simulated_task
from paper.studies import Job, Study, StudyRecord
from paper.studies.judge import score_coefficients

_FIRST_SEED = 60_000
_REPLICATIONS, _QUICK_REPLICATIONS = 50, 3
_TITLES = {
    "row_strong": "strong signal, row sparse",
    "twoway_strong": "strong signal, row and column sparse",
    "row_weak": "weak signal, row sparse",
    "twoway_weak": "weak signal, row and column sparse",
}


def jobs(name: str, setting: str, quick: bool) -> list[Job]:
    """Return one job per replication."""
    count = _QUICK_REPLICATIONS if quick else _REPLICATIONS
    return [Job(name, {"setting": setting}, _FIRST_SEED + i) for i in range(count)]


def run(job: Job) -> list[StudyRecord]:
    """Fit all methods to one draw."""
    sample = draw(job.cell["setting"], job.seed)
    answers = fit_methods(simulated_task(sample), METHODS)
    return [
        {
            "method": name,
            **score_coefficients(answer.theta, sample.truth, sample.X),
            **{f"chosen_{key}": value for key, value in answer.chosen.items()},
            "seconds": answer.seconds,
        }
        for name, answer in answers.items()
    ]


STUDIES = tuple(
    Study(
        name=f"table{number}",
        title=f"Table {number}: {title}",
        claim="GDT has the lowest estimation error and prediction error.",
        jobs=partial(jobs, f"table{number}", setting),
        run=run,
    )
    for number, (setting, title) in enumerate(_TITLES.items(), 1)
)
