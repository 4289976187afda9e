"""Simulated data and a real data set."""

from thinrank.datasets.norwegian_paper import load_norwegian_paper
from thinrank.datasets.simulate import make_two_way_sparse

__all__ = ["load_norwegian_paper", "make_two_way_sparse"]
