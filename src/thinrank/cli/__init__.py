"""The command line: parse, call, exit code."""

from thinrank.cli.main import app

__all__ = ["app"]
