"""Warnings that users may want to filter."""

from __future__ import annotations

__all__ = ["SelectionWarning"]


class SelectionWarning(UserWarning):
    """What automatic sizes came to should be looked at."""
