"""What a fit can be trusted for: false discovery rates, intervals, p-values, errors on new data."""

from thinrank.inference.generalization import GeneralizationRecord, generalization
from thinrank.inference.intervals import confidence_intervals
from thinrank.inference.results import Discoveries, Generalization, Intervals
from thinrank.inference.select import select_predictors

__all__ = [
    "Discoveries",
    "Generalization",
    "GeneralizationRecord",
    "Intervals",
    "confidence_intervals",
    "generalization",
    "select_predictors",
]
