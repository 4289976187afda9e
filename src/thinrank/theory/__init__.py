"""Constants and bounds of the paper's theorems for a given problem, and certificates of fits."""

from thinrank.theory.advice import Advice, sample_size_advice
from thinrank.theory.certificate import Certificate, certificate
from thinrank.theory.conditions import Condition, Conditions, check_conditions
from thinrank.theory.constants import Constants, constants
from thinrank.theory.lower_bounds import LowerBound
from thinrank.theory.margins import Margins
from thinrank.theory.quantity import Quantity
from thinrank.theory.rates import corollary_rate, minimax_rate, prediction_rate
from thinrank.theory.sparse_eigenvalues import SparseEigenvalues, sparse_eigenvalues
from thinrank.theory.statistical_error import statistical_error, statistical_error_bound

__all__ = [
    "Advice",
    "Certificate",
    "Condition",
    "Conditions",
    "Constants",
    "LowerBound",
    "Margins",
    "Quantity",
    "SparseEigenvalues",
    "certificate",
    "check_conditions",
    "constants",
    "corollary_rate",
    "minimax_rate",
    "prediction_rate",
    "sample_size_advice",
    "sparse_eigenvalues",
    "statistical_error",
    "statistical_error_bound",
]
