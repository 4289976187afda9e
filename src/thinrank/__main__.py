"""The command line as ``python -m thinrank``."""

from thinrank.cli import app

if __name__ == "__main__":
    app(prog_name="thinrank")
