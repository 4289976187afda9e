"""What a fit can be trusted for: predictors with a controlled rate of false discoveries."""

from thinrank.inference.discoveries import Discoveries
from thinrank.inference.mirror import MirrorRecord
from thinrank.inference.select import select_predictors

__all__ = [
    "Discoveries",
    "MirrorRecord",
    "select_predictors",
]
