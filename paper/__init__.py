"""The experiments of the paper, and others like them.

Each module or subpackage holds one experiment: its specification (``STUDIES``), its page
(``make_page``) and the claims that it decides (``CLAIMS``). :mod:`paper.registry` lists
them by name and imports an experiment when it is needed.
"""

from paper.index import write_index
from paper.pages import write_study
from paper.registry import find_study, study_names

__all__ = ["find_study", "study_names", "write_index", "write_study"]
