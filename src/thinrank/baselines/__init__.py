"""The six other methods in the paper's comparison, and simpler ones, as baselines.

All have the same interface: scikit-learn regressors that choose their own tuning parameters, as in
``MultiTaskGroupLasso().fit(X, Y)``. They work on NumPy arrays; a sparse X is made dense. After a
fit, ``best_params_`` holds the chosen parameters, so that
``MultiTaskGroupLasso(**best_params_)`` fits the same model to other rows.
"""

from thinrank.baselines.double_projected import DoubleProjectedPenalization
from thinrank.baselines.exclusive_extraction import ExclusiveExtraction
from thinrank.baselines.group_lassos import (
    JointRankRowSelection,
    MultiTaskGroupLasso,
    RankConstrainedGroupLasso,
)
from thinrank.baselines.reduced_rank import NullRegressor, ReducedRankRegression
from thinrank.baselines.separate import SeparateLassos, SeparateRidges
from thinrank.baselines.thresholding_svd import ThresholdingSVD

__all__ = [
    "DoubleProjectedPenalization",
    "ExclusiveExtraction",
    "JointRankRowSelection",
    "MultiTaskGroupLasso",
    "NullRegressor",
    "RankConstrainedGroupLasso",
    "ReducedRankRegression",
    "SeparateLassos",
    "SeparateRidges",
    "ThresholdingSVD",
]
