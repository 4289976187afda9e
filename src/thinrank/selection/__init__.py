"""Choosing the rank, the sparsities and the ridge."""

from thinrank.selection.criteria import Criterion
from thinrank.selection.evaluation import SearchRecord
from thinrank.selection.rank import estimate_rank
from thinrank.selection.samples import Sizes
from thinrank.selection.stability import stability

__all__ = ["Criterion", "SearchRecord", "Sizes", "estimate_rank", "stability"]
