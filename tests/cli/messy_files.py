"""Small files for tests of the command line, and ways to run it."""

import io
import json
import os
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
from typer.main import get_command

import thinrank
from thinrank.cli import app

SIZES = ("--rank", "1", "--predictors", "2", "--responses", "2")
"""Given sizes, so that a fit takes milliseconds."""


def numbers(n=40, p=6, seed=0):
    """Predictors, and three responses of which two depend on the first and the fourth."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)).round(4)
    effects = np.zeros((p, 3))
    effects[[0, 3]] = [[2.0, 1.0, 0.0], [-1.0, -0.5, 0.0]]
    return X, (X @ effects + 0.2 * rng.standard_normal((n, 3))).round(4)


def csv_text(matrix, names, index=True, *, delimiter=",", decimal=".", end="\n", corner="id"):
    """A matrix as the text of a CSV file; ``index``: names of rows, True for s0, s1, …."""
    if index is True:
        index = [f"s{i}" for i in range(len(matrix))]
    header = delimiter.join(names if index is None else [corner, *names])
    lines = [header]
    for i, row in enumerate(matrix):
        cells = [repr(float(value)).replace(".", decimal) for value in row]
        lines.append(delimiter.join(cells if index is None else [index[i], *cells]))
    return end.join(lines) + end


def write_pair(folder, n=40, index=True):
    """X.csv and Y.csv in a folder; the numbers in them."""
    X, Y = numbers(n)
    (folder / "X.csv").write_text(csv_text(X, list("abcdef"), index or None))
    (folder / "Y.csv").write_text(csv_text(Y, ["u", "v", "w"], index or None))
    return X, Y


class Ran:
    """What a command did."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def error(self):
        """The error; checks that it is one line without traceback."""
        assert "Traceback" not in self.err
        lines = [line for line in self.err.splitlines() if not line.startswith("note: ")]
        assert len(lines) == 1, self.err
        return lines[0]


COMMAND = get_command(app)


def run(*arguments):
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = exit_code(*arguments)
    return Ran(code, out.getvalue(), err.getvalue())


def exit_code(*arguments):
    """Run a command in this process with the standard streams as they are."""
    try:
        return COMMAND.main([str(each) for each in arguments], prog_name="thinrank")
    except SystemExit as end:
        return end.code


def in_child(work):
    """Run something in a copy of this process, and return how that ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of the linear algebra
        child = os.fork()
    if child == 0:
        try:
            os._exit(work())
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def environment():
    """The environment of a new process, which finds this package from any folder."""
    source = str(Path(thinrank.__file__).parents[1])
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": source}


def contents(folder):
    """Names of all files below a folder, hidden ones too."""
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())
