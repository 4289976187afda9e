"""Pages and plots, made from records; nothing is fitted here.

matplotlib and Jinja2 come with ``pip install thinrank[report]`` and are imported when a page is
written, not before.
"""

from thinrank.report.index import write_index
from thinrank.report.study import write_study

__all__ = ["write_index", "write_study"]
