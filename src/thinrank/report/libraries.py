"""The libraries that pages need, checked before work that would be lost without them."""

from __future__ import annotations

from thinrank.core.imports import import_optional

_LIBRARIES = ("matplotlib", "jinja2")


def check_libraries() -> None:
    """Raise an ImportError that names the extra ``report`` if a library of pages is missing.

    matplotlib alone comes with the extra ``plot`` too, which would not be enough for a page.
    """
    for library in _LIBRARIES:
        try:
            import_optional(library)
        except ImportError as error:
            raise ImportError(
                f"Pages need {library}, which is not installed; "
                "install it with: pip install 'thinrank[report]'"
            ) from error
