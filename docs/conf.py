"""Sphinx configuration. Neither the build nor the pages need a network."""

import re
from importlib.metadata import version as installed_version
from importlib.resources import files
from pathlib import Path

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
    "sphinx.ext.viewcode",
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
html_css_files = ["pages.css"]
html_js_files = ["copy.js"]
# Formulas become MathML when the pages are built: all current browsers show it without scripts,
# and docutils, on which Sphinx depends anyway, has the converter.
html_math_renderer = "mathml"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_dmath_double_inline = True
myst_heading_anchors = 4

# The class template lists the members; numpydoc renders the docstrings only.
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give types and shapes

# of the gallery, in their order
SECTIONS = "start", "real_data", "understand", "kinds_of_data", "matrices", "applications"
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "subsection_order": [f"../examples/{name}" for name in SECTIONS],
    "within_subsection_order": "ExampleTitleSortKey",
    "thumbnail_size": (640, 448),  # sharp at the width that pages.css gives them
    "abort_on_example_error": True,
    "parallel": True,  # as many processes as Sphinx has
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "doc_module": ("thinrank",),
    "backreferences_dir": None,
}


# Pages that became a part of another one: their addresses lead there.
REDIRECTS = {
    "guide/how_sure_intervals": "how_sure.html#intervals-and-the-error-on-new-data",
    "guide/report": "plots.html#a-report-to-send",
    "guide/matrices_pca": "bare_matrices.html#sparse-principal-components",
    "guide/matrices_completion": "bare_matrices.html#matrices-with-missing-cells",
    "guide/matrices_graphs": "bare_matrices.html#graphs-and-covariance-matrices",
    "guide/gpu": "large_data.html#on-a-gpu",
    "guide/genotypes": "large_data.html#genotypes-in-plink-files",
    "guide/long_fits": "large_data.html#long-fits-interruptions-memory-and-threads",
    "guide/coming_from_r": "questions.html#coming-from-r-or-from-scikit-learn",
    "guide/pursuit": "algorithm.html#pursuit",
    "guide/baselines": "benchmarks.html#baselines",
    "guide/architecture": "../contribute/architecture.html",
    "guide/reproduce": "../contribute/reproduce.html",
    "guide/glossary": "../glossary.html",
    "api/minimising": "minimizing.html",
}


def _write_redirects(app, error):
    """Write a page for every old address, which sends the browser to the new one."""
    if error or app.builder.format != "html":
        return
    # examples had no sections
    examples = Path(app.srcdir, "../examples").glob("*/*.py")
    moved = {f"auto_examples/{p.stem}": f"{p.parent.name}/{p.stem}.html" for p in examples}
    for old, new in (REDIRECTS | moved).items():
        page = Path(app.outdir) / f"{old}.html"
        page.write_text(
            f'<!DOCTYPE html><meta charset="utf-8"><title>This page has moved</title>'
            f'<meta http-equiv="refresh" content="0; url={new}"><link rel="canonical" href="{new}">'
            f'<p>This page has moved: <a href="{new}">{new}</a></p>',
            encoding="utf-8",
        )


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
    app.connect("build-finished", _write_redirects)
    app.add_html_math_renderer("mathml", (_inline_formula, None), (_displayed_formula, None))
