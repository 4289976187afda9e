"""Warnings that users may want to filter."""

from __future__ import annotations

__all__ = ["SelectionWarning"]


class SelectionWarning(UserWarning):
    """The result of an automatic choice of sizes should be checked."""
