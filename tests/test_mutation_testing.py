"""Mutation testing itself: which changes it makes, which it notices, what it records."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / ".ci"
MODULE = '''\
"""A module."""

from __future__ import annotations

import time

LIMIT = 3


def add(a: int = 7, b: int = 1) -> int:
    return a + b


def few(x: list) -> bool:
    """Whether there are few."""
    def longer(than):
        return len(x) > than
    return not longer(LIMIT)


def nobody_calls_this(x):
    return x * 2


class Base:
    def __init__(self):
        self.ready = True


class Derived(Base):
    def __init__(self):
        super().__init__()
'''
TESTS = """\
from thinrank.core.sums import Derived, add, few

def test_add():
    assert add(2, 3) == 5

def test_default():
    assert add(2) == 3

def test_few():
    assert few([1, 2, 3]) and not few([1, 2, 3, 4])

def test_derived():
    assert Derived().ready

def test_that_fails_anyway():
    assert few([1, 2, 3, 4])
"""
SURVIVE = {
    "10: 7  ->  8",
    "10: 7  ->  6",
    "22: x * 2  ->  x / 2",
    "22: 2  ->  3",
    "22: 2  ->  1",
    "22: return x * 2  ->  return None",
}


@pytest.fixture
def project(tmp_path):
    """A copy of the scripts beside a tiny package of the same name."""
    for script in ("mutants.py", "mutate.py", "processes.py", "warm_tests.py"):
        (tmp_path / ".ci").mkdir(exist_ok=True)
        shutil.copy(SCRIPTS / script, tmp_path / ".ci")
    core = tmp_path / "src" / "thinrank" / "core"
    core.mkdir(parents=True)
    for folder in (core.parent, core):
        (folder / "__init__.py").touch()
    (core / "sums.py").write_text(MODULE)
    (tmp_path / "tests" / "core").mkdir(parents=True)
    (tmp_path / "tests" / "core" / "test_sums.py").write_text(TESTS)
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\nmarkers = ["slow: slow", "browser: browser"]\n'
    )
    return tmp_path


def mutate(project, *options, environment=None):
    command = [sys.executable, ".ci/mutate.py", "--jobs", "2", "--record", "record.jsonl"]
    return subprocess.run(
        [*command, "--cover", "lines.jsonl", *options],
        cwd=project,
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
    )


@pytest.fixture
def mutants(project, monkeypatch):
    monkeypatch.syspath_prepend(project / ".ci")
    monkeypatch.delitem(sys.modules, "mutants", raising=False)
    yield importlib.import_module("mutants")
    sys.modules.pop("mutants")


def test_every_kind_of_change(mutants):
    path = mutants.PACKAGE / "core" / "sums.py"
    found = {
        f"{m.line}: {m.before}  ->  {m.after}" for m in mutants.mutants(mutants.candidates(path))
    }
    assert found >= SURVIVE
    assert {
        "7: 3  ->  4",
        "11: a + b  ->  a - b",
        "11: return a + b  ->  return None",
        "17: len(x) > than  ->  len(x) >= than",
        "18: not longer(LIMIT)  ->  longer(LIMIT)",
        "27: True  ->  False",
        "32: super().__init__()  ->  pass",
    } <= found


def test_the_draw_is_seeded_and_a_smaller_one_is_its_beginning(mutants):
    drawn = mutants.sample(12, 3, "")
    assert mutants.sample(12, 3, "") == drawn
    assert mutants.sample(5, 3, "") == drawn[:5]
    assert mutants.sample(12, 4, "") != drawn
    assert len({mutant.key for mutant in drawn}) == 12
    line = drawn[0].line
    only = mutants.sample(12, 3, f"core/sums.py:{line}")
    assert only
    assert {mutant.line for mutant in only} <= {line, *range(10 * line, 10 * line + 10)}


@pytest.mark.slow
def test_files_that_cannot_be_imported_and_tests_that_fail_later_are_left_out(project):
    """A package may be missing, and a map of lines may come from another machine."""
    tests = project / "tests" / "core"
    (tests / "test_missing.py").write_text("import no_such_package\n")
    (tests / "test_elsewhere.py").write_text(
        "import os\n"
        "from thinrank.core.sums import Derived, nobody_calls_this\n"
        "def test_there(tmp_path):\n"
        "    nobody_calls_this(1)\n"
        "    Derived()\n"
        "    assert 'HERE' not in os.environ\n"
    )
    learned = mutate(project, "--only", "core/sums.py:11")
    assert "left out, cannot be imported: tests/core/test_missing.py" in learned.stdout
    assert "No module named 'no_such_package'" in learned.stdout
    here = mutate(project, "--only", "core/sums.py:22", environment={"HERE": "1"})
    assert "left out, fails without a change: tests/core/test_elsewhere.py" in here.stdout
    assert "4 survived" in here.stdout, here.stdout


@pytest.mark.slow
def test_what_is_noticed_recorded_and_run_again(project):
    """Changes of functions, of nested ones, of constants and defaults; the rest survives."""
    first = mutate(project)
    record = project / "record.jsonl"
    entries = [json.loads(line) for line in record.read_text().splitlines()]
    survivors = {e["mutant"].split(":", 1)[1] for e in entries if e["outcome"] == "survived"}
    assert survivors == SURVIVE, first.stdout
    assert f"{len(entries)} mutants" in first.stdout
    assert first.returncode == 0
    assert (project / "src/thinrank/core/sums.py").read_text() == MODULE

    # A run that was cut off goes on where it was.
    lines = record.read_text().splitlines(keepends=True)
    record.write_text("".join(lines[:-2]))
    assert mutate(project, "--fail-under", "99").returncode == 1
    assert sorted(record.read_text().splitlines()[:-2]) == sorted(map(str.strip, lines[:-2]))
    assert len(record.read_text().splitlines()) == len(lines)

    # A new test is found, and the survivors that it reaches are noticed.
    with (project / "tests" / "core" / "test_sums.py").open("a") as file:
        file.write("\ndef test_both_defaults():\n    assert add() == 8\n")
    again = mutate(project, "--again")
    assert "4 survived" in again.stdout
