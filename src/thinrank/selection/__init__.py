"""Choosing the rank, the sparsities and the ridge."""

from thinrank.selection.rank import estimate_rank

__all__ = ["estimate_rank"]
