"""Constants and bounds of the paper's theorems for a given problem, and certificates of fits."""

from thinrank.theory.certificate import Certificate, Margins, certificate
from thinrank.theory.constants import Conditions, Constants, check_conditions, constants
from thinrank.theory.rates import Advice, corollary_rate, minimax_rate, sample_size_advice
from thinrank.theory.suprema import (
    Quantity,
    sparse_eigenvalues,
    statistical_error,
    statistical_error_bound,
)

__all__ = [
    "Advice",
    "Certificate",
    "Conditions",
    "Constants",
    "Margins",
    "Quantity",
    "certificate",
    "check_conditions",
    "constants",
    "corollary_rate",
    "minimax_rate",
    "sample_size_advice",
    "sparse_eigenvalues",
    "statistical_error",
    "statistical_error_bound",
]
