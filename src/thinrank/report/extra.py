"""The libraries of the extra ``report``, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["require"]


def require(module: str) -> Any:
    """Import a library of the extra ``report``.

    Parameters
    ----------
    module : str
        Its name, such as ``"matplotlib"``.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    ImportError
        If it is not installed. The message names the extra.
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ImportError(
            f"Pages and plots need {library}, which is not installed; "
            "install it with: pip install 'thinrank[report]'"
        ) from error
