"""The engine that runs experiments: specification, runner, cache, executors and scoring.

A :class:`Study` lists jobs, and the engine runs them, keeps their records on disk and resumes after
an interruption. It knows no particular study and draws nothing: the paper's experiments are in
:mod:`paper`, and pages are made from the records by :mod:`thinrank.report`.
"""

from paper.studies.executors import EXECUTORS
from paper.studies.runner import StudyError, load_records, run_study
from paper.studies.spec import VOLATILE, Job, Study, StudyRecord, stable

__all__ = [
    "EXECUTORS",
    "VOLATILE",
    "Job",
    "Study",
    "StudyError",
    "StudyRecord",
    "load_records",
    "run_study",
    "stable",
]
