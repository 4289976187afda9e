"""The solvers, and the step rules of gradient descent."""

from thinrank.solvers.gdt import GDT, Constant, Safeguarded, Theory
from thinrank.solvers.pursuit import Pursuit

__all__ = ["GDT", "Constant", "Pursuit", "Safeguarded", "Theory"]
