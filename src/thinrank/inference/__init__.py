"""What a fit can be trusted for: false discovery rates, intervals, p-values, errors on new data."""

from thinrank.inference.discoveries import Discoveries
from thinrank.inference.generalization import GeneralizationRecord, generalization
from thinrank.inference.generalization_result import Generalization
from thinrank.inference.interval_table import Intervals
from thinrank.inference.intervals import confidence_intervals
from thinrank.inference.mirror import MirrorRecord
from thinrank.inference.select import select_predictors

__all__ = [
    "Discoveries",
    "Generalization",
    "GeneralizationRecord",
    "Intervals",
    "MirrorRecord",
    "confidence_intervals",
    "generalization",
    "select_predictors",
]
