"""What is loaded, and when; each case in a new process."""

import os
import pickle
import subprocess
import sys

import pytest

import thinrank as tr

LAZY = (
    "baselines",
    "calcium",
    "cli",
    "inference",
    "persistence",
    "plot",
    "report",
    "rl",
    "tables",
    "theory",
)


def loaded(code, *arguments):
    """Run code in a new process and return the thinrank modules and libraries that it loaded."""
    code += "\nimport sys; print('loaded:', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("loaded:")[2].split())


def command(*arguments):
    """Return what a command loads."""
    return loaded(
        "from thinrank.cli import app\ntry:\n    app()\nexcept SystemExit:\n    pass", *arguments
    )


def test_import_loads_no_heavy_subpackage():
    found = loaded("import thinrank")
    assert not found & {f"thinrank.{name}" for name in LAZY}
    # libraries that take long to import: Ctrl-C meanwhile would show a traceback
    assert not found & {"typer", "matplotlib", "numpy", "scipy", "sklearn"}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]])
def test_version_and_help_load_no_study(arguments):
    found = command(*arguments)
    assert "thinrank.cli" in found
    assert not found & {f"thinrank.{name}" for name in LAZY if name != "cli"}


FIRST_USE = """
import os, sys
import matplotlib.figure, sklearn.linear_model, thinrank as tr

tr.SparseReducedRankRegressor  # what all of them import is shared by the copies below
for name in sys.argv[1:]:
    assert f"thinrank.{name}" not in sys.modules
    if os.fork() == 0:
        module = getattr(tr, name)
        os._exit(not module.__name__ == f"thinrank.{name}" in sys.modules)
    if os.wait()[1]:
        print("failed:", name)
import thinrank.minimize  # the function is not replaced by its module
assert callable(tr.minimize)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="copies of the process are made by fork")
def test_subpackages_load_on_first_use():
    """Each in a copy of a process in which no other one was used."""
    names = sorted({*tr.__all__} & {*LAZY, "datasets"})
    assert len(names) > 9
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE, *names], capture_output=True, text=True, check=True
    )
    assert done.stdout == "", done.stderr


def test_the_package_is_pickled_by_name():
    """joblib pickles functions of a script together with the modules that they use."""
    assert pickle.loads(pickle.dumps(tr)) is tr
    assert len(pickle.dumps(tr)) < 200
