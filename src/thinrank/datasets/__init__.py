"""Simulated data."""

from thinrank.datasets.simulate import make_two_way_sparse

__all__ = ["make_two_way_sparse"]
