"""Pages and plots, made from records and fitted models; nothing is fitted here.

matplotlib and Jinja2 come with ``pip install thinrank[report]``. They are imported when a page is
written, so this package can be imported without them.
"""

from thinrank.report.calcium_movie import MovieAnalysis, write_movie_page

__all__ = ["MovieAnalysis", "write_movie_page"]
