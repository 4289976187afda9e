"""The experiments of the paper, and others like them.

Each module holds one experiment, or several of the same kind: jobs, what a job computes, the page,
and the claims that it decides. To add one, write a module with a tuple ``STUDIES`` of
:class:`paper.study.Study` and name it below.
"""

from paper import calcium, convergence, norway, rl_blackjack, rl_sparse_family, simulations, timing

_MODULES = (simulations, timing, norway, calcium, convergence, rl_sparse_family, rl_blackjack)

STUDIES = {study.name: study for module in _MODULES for study in module.STUDIES}
"""All studies by name."""

__all__ = ["STUDIES"]
