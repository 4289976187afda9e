"""Table 5: running times as the problem grows."""

from paper.timing.page import CLAIMS, make_page
from paper.timing.study import STUDIES

__all__ = ["CLAIMS", "STUDIES", "make_page"]
