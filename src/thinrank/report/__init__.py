"""Pages made from fitted models; nothing is fitted here.

matplotlib comes with the extra ``report``. It is imported when a page is written, so this package
can be imported without it.
"""

from thinrank.report.calcium_movie import MovieAnalysis, write_movie_page
from thinrank.report.graphml import write_graphml
from thinrank.report.model_page import write

__all__ = ["MovieAnalysis", "write", "write_graphml", "write_movie_page"]
