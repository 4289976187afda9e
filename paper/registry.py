"""All experiments by name.

To add an experiment, write a module in this package with

- ``STUDIES``: a tuple of :class:`~paper.studies.Study`;
- ``make_page(name, records)``: returns the :class:`~thinrank.report.document.Page` of one of these
  studies, made from its records;
- ``CLAIMS``: a tuple of :class:`~paper.claims.Claim`, which may be empty,

and add one line per study to the table below. Names can be listed without importing an experiment.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from paper.studies import Study

# Name of each study and the module in this package that holds it, in the order of the paper.
_MODULES = {
    "table1": "tables",
    "table2": "tables",
    "table3": "tables",
    "table4": "tables",
    "table5": "timing",
    "norway": "norway",
    "calcium": "calcium",
    "figure-no-error": "convergence",
    "figure-no-sparsity": "convergence",
    "figure-high-dimension": "high_dimension",
    "sensitivity": "sensitivity",
    "noise": "noise",
    "rl-sparse-family": "rl_sparse_family",
    "rl-blackjack": "rl_blackjack",
}


def study_names() -> tuple[str, ...]:
    """Return the names of all studies, in the order of the paper."""
    return tuple(_MODULES)


def find_study(name: str) -> Study:
    """Return the study with the given name.

    Examples
    --------
    >>> from paper import find_study
    >>> find_study("table1").title
    'Table 1: strong signal, row sparse'
    """
    studies: dict[str, Study] = {study.name: study for study in _module(name).STUDIES}
    return studies[name]


def find_page(name: str) -> Any:
    """Return the function that makes the page of a study: ``make_page(name, records) -> Page``."""
    return _module(name).make_page


def claims() -> list[Any]:
    """Return the claims of all experiments, in the order of the registry."""
    modules = dict.fromkeys(_MODULES.values())
    return [claim for module in modules for claim in _import(module).CLAIMS]


def _module(name: str) -> Any:
    if name not in _MODULES:
        raise ValueError(f"there is no study {name!r}; choose from {', '.join(_MODULES)}")
    return _import(_MODULES[name])


def _import(module: str) -> Any:
    return import_module(f"paper.{module}")
