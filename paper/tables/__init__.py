"""Tables 1 to 4: estimation and prediction error in four simulated settings."""

from paper.tables.claims import CLAIMS
from paper.tables.page import make_page
from paper.tables.study import STUDIES

__all__ = ["CLAIMS", "STUDIES", "make_page"]
