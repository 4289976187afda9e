"""The solvers, the loop that drives them, and the step rules of gradient descent."""

from __future__ import annotations

from typing import Any

from thinrank.core.checks import is_auto
from thinrank.core.contracts import Solver
from thinrank.solvers.gdt import GDT, Constant, Safeguarded, Theory
from thinrank.solvers.pursuit import Pursuit

__all__ = ["GDT", "Constant", "Pursuit", "Safeguarded", "Theory", "as_solver"]

_CLASSES: list[Any] = [globals().get(name) for name in __all__]
_NAMED = {each.name: each for each in _CLASSES if hasattr(each, "sized")}


def as_solver(solver: Any, max_iter: Any = None, tol: Any = None, loss: Any = None) -> Solver:
    """Turn the ``solver`` parameter of the public interface into a solver.

    ``max_iter``: None for its default. ``tol``: None for its default. ``loss``: None is treated
    as a loss with a majorizer.
    """
    if isinstance(solver, str):
        name = solver
        if is_auto(name):
            name = "pursuit" if loss is None or "majorizer" in loss.capabilities else "gdt"
        if name not in _NAMED:
            names = ", ".join(f'"{name}"' for name in ("auto", *_NAMED))
            raise ValueError(f"solver must be {names} or an object of tr.solvers, got {solver!r}")
        own = {"max_iter": max_iter, "tol": tol}
        return _NAMED[name](**{key: value for key, value in own.items() if value is not None})
    if isinstance(solver, type) or not hasattr(solver, "sized"):
        raise TypeError(f"solver must be a name or an object of tr.solvers, got {solver!r}")
    if max_iter is not None:
        raise ValueError(
            f"max_iter must be None when solver is an object, which has its own; got {max_iter!r}"
        )
    return solver
