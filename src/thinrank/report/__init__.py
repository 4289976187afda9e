"""Pages and plots, made from records and fitted models; nothing is fitted here.

matplotlib and Jinja2 come with ``pip install thinrank[report]`` and are imported when a page is
written, not before.
"""

from thinrank.report.calcium_movie import MovieStory, write_movie_page
from thinrank.report.index import write_index
from thinrank.report.study import write_study

__all__ = ["MovieStory", "write_index", "write_movie_page", "write_study"]
