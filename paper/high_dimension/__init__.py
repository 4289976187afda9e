"""The figures in high dimension: estimation error and objective from the lasso start on."""

from paper.high_dimension.page import CLAIMS, make_page
from paper.high_dimension.study import STUDIES

__all__ = ["CLAIMS", "STUDIES", "make_page"]
