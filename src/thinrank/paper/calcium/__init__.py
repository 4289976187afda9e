"""Calcium imaging: the paper's setting on a labelled movie, and movies with known neurons."""

from thinrank.paper.calcium.page import CLAIMS, make_page
from thinrank.paper.calcium.study import STUDIES

__all__ = ["CLAIMS", "STUDIES", "make_page"]
