"""Table 5: running times as the problem grows."""

from thinrank.paper.timing.page import CLAIMS, make_page
from thinrank.paper.timing.study import STUDIES

__all__ = ["CLAIMS", "STUDIES", "make_page"]
