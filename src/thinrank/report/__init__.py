"""Pages made from fitted models and from records; nothing is fitted here.

matplotlib and Jinja2 come with ``pip install thinrank[report]``. They are imported when a page is
written, so this package can be imported without them.
"""

from thinrank.report.calcium_movie import MovieAnalysis, write_movie_page
from thinrank.report.model_page import write

__all__ = ["MovieAnalysis", "write", "write_movie_page"]
