"""The paper's tables and figures as declarative studies, which write records and no pictures."""

from __future__ import annotations

from pathlib import Path

from thinrank.studies.calcium import CALCIUM
from thinrank.studies.convergence import CONVERGENCE
from thinrank.studies.executors import EXECUTORS
from thinrank.studies.high_dimension import HIGH_DIMENSION
from thinrank.studies.noise import NOISE
from thinrank.studies.norway import NORWAY
from thinrank.studies.rl_blackjack import RL_BLACKJACK
from thinrank.studies.rl_sparse_family import RL_SPARSE_FAMILY
from thinrank.studies.runner import StudyError, read_records, run_jobs
from thinrank.studies.sensitivity import SENSITIVITY
from thinrank.studies.spec import VOLATILE, Job, Record, Study, stable
from thinrank.studies.tables import TABLES
from thinrank.studies.timing import TIMING

__all__ = [
    "EXECUTORS",
    "STUDIES",
    "VOLATILE",
    "Job",
    "Record",
    "Study",
    "StudyError",
    "find_study",
    "load_records",
    "run_study",
    "stable",
]

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        *TABLES,
        TIMING,
        NORWAY,
        CALCIUM,
        *CONVERGENCE,
        HIGH_DIMENSION,
        SENSITIVITY,
        NOISE,
        RL_SPARSE_FAMILY,
        RL_BLACKJACK,
    )
}
"""All studies by name, in the order of the paper."""


def find_study(name: str) -> Study:
    """A study by its name."""
    if name not in STUDIES:
        raise ValueError(f"there is no study {name!r}; there are {', '.join(STUDIES)}")
    return STUDIES[name]


def run_study(
    name: str | Study,
    out: Path | str,
    jobs: int = 1,
    quick: bool = False,
    executor: str = "processes",
    *,
    limit: float | None = None,
    address: str | None = None,
    command: str | None = None,
    progress: bool = False,
) -> list[Record]:
    """Run what is not finished of a study, and return its records.

    Every job that finishes is on disk at once, as OUT/<study>/records/<key>.json; after a stop of
    any kind the same call goes on from there. ``records.csv`` and ``summary.json`` are written at
    the end.

    Parameters
    ----------
    name : str or Study
        A key of :data:`STUDIES`, or a study of one's own.
    out : path
        Folder of the results.
    jobs : int
        Processes. Timing studies take no notice: they run alone.
    quick : bool
        Whether to run the small version.
    executor : {"processes", "serial", "dask"}
        The records do not depend on it, but for the fields in :data:`VOLATILE`.
    limit : float, optional
        Seconds for each cell of a timing study.
    address : str, optional
        Of a Dask scheduler.
    command : str, optional
        For the summary: what the user typed.
    progress : bool
        Whether to show a bar with the time left.

    Returns
    -------
    list of dict
    """
    study = find_study(name) if isinstance(name, str) else name
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    if executor not in EXECUTORS:
        raise ValueError(f"executor must be one of {EXECUTORS}, got {executor!r}")
    todo = study.jobs(quick)
    if limit is not None:
        todo = [job.with_cell(limit=limit) if "limit" in job.cell else job for job in todo]
    typed = command or f"thinrank reproduce {study.name}" + (" --quick" if quick else "")
    return run_jobs(
        study,
        todo,
        Path(out) / study.name,
        workers=jobs,
        executor=executor,
        address=address,
        about={"command": typed, "quick": quick},
        progress=progress,
    )


def load_records(out: Path | str, name: str) -> list[Record]:
    """The records of a study's last run in a folder; empty when there are none."""
    return read_records(Path(out) / name)
