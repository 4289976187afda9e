"""What a fit can be trusted for: intervals, p-values and errors on new data."""

from thinrank.inference.generalization import GeneralizationRecord, generalization
from thinrank.inference.generalization_result import Generalization
from thinrank.inference.interval_table import Intervals
from thinrank.inference.intervals import confidence_intervals

__all__ = [
    "Generalization",
    "GeneralizationRecord",
    "Intervals",
    "confidence_intervals",
    "generalization",
]
