"""Sphinx configuration. Neither the build nor the pages need a network."""

import re
from importlib.metadata import version as installed_version
from importlib.resources import files

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

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
# STIX Two Math, for systems that have no font with what mathematics needs; ziamath contains it.
math_font = files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"
html_static_path = ["_static", str(math_font)]
html_show_sourcelink = False
toc_object_entries_show_parents = "hide"
html_css_files = ["math.css"]
# Formulas become MathML when the pages are built: all current browsers show it without scripts,
# and docutils, on which Sphinx depends anyway, has the converter.
html_math_renderer = "mathml"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_dmath_double_inline = True
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
    "parallel": True,  # as many processes as Sphinx has
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "doc_module": ("thinrank",),
    "backreferences_dir": None,
}


def _skip_foreign(app, what, name, obj, skip, options):
    """Leave out what classes inherit from scikit-learn: it refers to pages that are not here."""
    return True if (getattr(obj, "__module__", None) or "").startswith("sklearn.") else None


def _mathml(translator, node, as_block):
    """The MathML of a formula. One that cannot be converted is a warning, and so an error."""
    try:
        mathml = tex2mathml(node.astext(), as_block=as_block)
        # docutils keeps parentheses at the height of the line, but neither bars nor angle brackets
        return re.sub(">([‖⟨⟩])<", r' stretchy="false">\1<', mathml)
    except MathError as error:
        logging.getLogger(__name__).warning("formula %r: %s", node.astext(), error, location=node)
        return translator.encode(node.astext())


def _inline_formula(translator, node):
    translator.body.append(_mathml(translator, node, as_block=False))
    raise SkipNode


def _displayed_formula(translator, node):
    translator.body.append(f'<div class="math">{_mathml(translator, node, as_block=True)}</div>')
    raise SkipNode


def setup(app):
    """Connect the hooks above."""
    app.connect("autodoc-skip-member", _skip_foreign)
    app.add_html_math_renderer("mathml", (_inline_formula, None), (_displayed_formula, None))
