"""A figure as bytes for a page: SVG, or PNG where that is smaller by far."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

from thinrank.report.style import as_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A plot of thousands of points takes more as SVG than the rest of a page; as PNG it does not.
_MOST_BYTES = 300_000
_DPI = 160  # sharp at the width of the page on a screen with two pixels per CSS pixel


def drawn(figure: Figure) -> bytes:
    """Return a figure as SVG, or as PNG if the SVG would be large.

    Characters that matplotlib's font does not have are drawn as boxes without a warning: the
    table beside each figure has the names.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        svg = as_svg(figure)
        if len(svg) <= _MOST_BYTES:
            return svg
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    return buffer.getvalue()
