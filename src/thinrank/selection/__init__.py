"""Choice of the rank, the numbers of rows and columns, and the ridge."""

from thinrank.core.result import Sizes
from thinrank.selection.criteria import Criterion
from thinrank.selection.predictor_path import PredictorPath, path
from thinrank.selection.rank import estimate_rank
from thinrank.selection.stability import StabilityRecord, stability

__all__ = [
    "Criterion",
    "PredictorPath",
    "Sizes",
    "StabilityRecord",
    "estimate_rank",
    "path",
    "stability",
]
