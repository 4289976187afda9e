"""Sphinx configuration. The build needs no network."""

from importlib.metadata import version as installed_version

project = "thinrank"
author = "The thinrank developers"
copyright = "2026, The thinrank developers"
release = version = installed_version("thinrank")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "benchmarks"]  # benchmarks: included in a page of the guide
default_role = "code"
smartquotes = False  # values such as "auto" are to be copied as they stand

html_theme = "furo"
html_title = f"thinrank {release}"
html_static_path = ["_static"]
html_show_sourcelink = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# The class template lists the members; numpydoc renders the docstrings only.
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types and shapes

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "within_subsection_order": "ExampleTitleSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "doc_module": ("thinrank",),
    "backreferences_dir": None,
}


def _skip_foreign(app, what, name, obj, skip, options):
    """Leave out what classes inherit from scikit-learn: it refers to pages that are not here."""
    return True if (getattr(obj, "__module__", None) or "").startswith("sklearn.") else None


def setup(app):
    """Connect the hook above."""
    app.connect("autodoc-skip-member", _skip_foreign)
