"""Pages made from fitted models; nothing is fitted here. Only writing one imports matplotlib."""

from thinrank.report.calcium_movie import MovieAnalysis, write_movie_page
from thinrank.report.graphml import write_graphml
from thinrank.report.model_page import write

__all__ = ["MovieAnalysis", "write", "write_graphml", "write_movie_page"]
