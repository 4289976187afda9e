"""The command line: parse arguments, call the library, return an exit code."""

from thinrank.cli.main import app

__all__ = ["app"]
