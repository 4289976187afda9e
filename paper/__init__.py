"""The experiments of the paper, and others like them.

Each module holds one experiment, or several of the same kind: jobs, what a job computes, the page,
and the claims that it decides. To add one, write a module with a tuple ``STUDIES`` of
:class:`paper.study.Study` and name it below.
"""

from paper import (
    calcium,
    convergence,
    noise,
    norway,
    rl_blackjack,
    rl_sparse_family,
    sensitivity,
    tables,
    timing,
)

_MODULES = (
    tables,
    timing,
    norway,
    calcium,
    convergence,
    sensitivity,
    noise,
    rl_sparse_family,
    rl_blackjack,
)

STUDIES = {study.name: study for module in _MODULES for study in module.STUDIES}
"""All studies by name, in the order of the paper."""

__all__ = ["STUDIES"]
