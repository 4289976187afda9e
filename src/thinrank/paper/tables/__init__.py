"""Tables 1 to 4: estimation and prediction error in four simulated settings."""

from thinrank.paper.tables.claims import CLAIMS
from thinrank.paper.tables.page import make_page
from thinrank.paper.tables.study import STUDIES

__all__ = ["CLAIMS", "STUDIES", "make_page"]
