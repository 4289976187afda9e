"""The six rivals of the paper, and simpler ones, in the same interface.

Each is a scikit-learn regressor that tunes itself: ``Rival().fit(X, Y)``. NumPy only; X is made
dense. ``best_params_`` holds what was chosen, and ``Rival(**best_params_)`` fits that to other
rows.
"""

from thinrank.baselines.double_projected import DoubleProjectedPenalization
from thinrank.baselines.exclusive_extraction import ExclusiveExtraction
from thinrank.baselines.joint_rank_row import JointRankRowSelection
from thinrank.baselines.multi_task import MultiTaskGroupLasso
from thinrank.baselines.null import NullRegressor
from thinrank.baselines.rank_constrained import RankConstrainedGroupLasso
from thinrank.baselines.reduced_rank import ReducedRankRegression
from thinrank.baselines.separate_lassos import SeparateLassos
from thinrank.baselines.separate_ridges import SeparateRidges
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
