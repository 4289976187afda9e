"""Calcium imaging: the paper's setting on a labelled movie, and movies with known neurons."""

from paper.calcium.page import CLAIMS, make_page
from paper.calcium.study import STUDIES

__all__ = ["CLAIMS", "STUDIES", "make_page"]
