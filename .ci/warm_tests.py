"""Tests that are imported and collected once, and then run in forks of that process.

A fork gets the functions of a changed module by exchange of their code, so that a mutant costs the
time of its tests and nothing else. What only takes effect while a module is imported (constants,
default arguments) cannot be exchanged; such mutants run in a new process on a copy of the tree.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import importlib.util
import json
import math
import multiprocessing
import os
import shutil
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from multiprocessing.connection import wait
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import coverage
import coverage.exceptions
import pytest
from mutants import PACKAGE, PACKAGES, ROOT, Mutant
from processes import OPTIONS, PATIENCE, alone, in_a_copy, kill_own, passed, temporary_folder

TESTS = (
    *(f"tests/{package}" for package in PACKAGES),
    *(f"src/thinrank/{package}" for package in PACKAGES),  # their doctests
    *(
        f"tests/{name}"
        for name in (
            "contracts",
            "estimators",
            "inference",
            "matrices",
            "oracles",
            "persistence",
            "starts",
            "theory",
            "test_minimize.py",
        )
    ),
)
LONGEST = 4.0  # seconds of processor time; tests that take longer are left out
CHUNK = 10  # tests that one process runs to learn their lines: so that many processes have work
_fork = multiprocessing.get_context("fork")


class Cover(NamedTuple):
    """What one test runs of the packages, and how long it takes."""

    digest: str  # of the sources and of its file: another one makes it run again
    seconds: float
    passed: bool
    lines: dict[str, list[int]]  # by file below src/thinrank


class Result(NamedTuple):
    """What became of a mutant: killed, survived or timeout, and the test that failed."""

    outcome: str
    test: str | None
    count: int


class WarmTests:
    """A pytest plugin: takes the place of the loop over tests, and calls ``work`` instead."""

    def __init__(self, cover_file: Path, folder: Path, seconds: float, jobs: int = 1) -> None:
        self.cover_file, self.folder, self.seconds = cover_file, folder, seconds
        self.jobs = jobs
        self.sound: set[str] = set()  # tests that pass without a change, after one has failed
        self.work: Callable[[], None] = lambda: None
        self.items: dict[str, pytest.Item] = {}
        self.covers: dict[str, Cover] = {}
        self.functions: dict[str, list[FunctionType]] = {}

    def run(self, work: Callable[[], None], tests: Iterable[str] = TESTS) -> int:
        """Collect the tests, learn which lines they run, and call ``work``."""
        self.work = work
        options = [*OPTIONS, "-p", "no:cacheprovider", "-m", "not slow and not browser"]
        options.append("--continue-on-collection-errors")
        there = [test for test in tests if (ROOT / test).exists()]
        return int(pytest.main([*options, *there], plugins=[self]))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Name the files that cannot be imported, mostly because a package is missing."""
        if report.failed:
            print(f"\nleft out, cannot be imported: {report.nodeid}", flush=True)
            print(f"    {str(report.longrepr).strip().splitlines()[-1]}", flush=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Called by pytest after the collection."""
        self.items = {item.nodeid: item for item in session.items}
        if not self.items:
            raise session.Interrupted("no tests could be collected")
        session.testsfailed = 0  # files that cannot be imported are left out
        # Libraries may have threads that wait; forks do not touch them.
        warnings.filterwarnings("ignore", message=".*multi-threaded, use of fork")
        warnings.simplefilter("ignore", coverage.exceptions.CoverageWarning)  # no line was run
        _import_everything(self.items)
        self.functions = _functions_by_file()
        gc.collect()
        gc.freeze()  # forks share this memory as long as nobody touches it
        self._learn()
        self.work()
        return True

    def chosen(self, mutant: Mutant) -> list[str]:
        """The tests that run the changed lines, or else the module; quick ones first."""
        own = set(range(mutant.line, mutant.last_line + 1))
        reached = {name: cover.lines.get(mutant.path, []) for name, cover in self.covers.items()}
        found = [name for name, lines in reached.items() if not own.isdisjoint(lines)]
        # What takes effect at import is noticed by tests of the module, or of declarations.
        nothing = {name for name, cover in self.covers.items() if not cover.lines}
        found = found or [name for name, lines in reached.items() if lines or name in nothing]
        order = {name: place for place, name in enumerate(self.items)}
        near = f"tests/{mutant.path.split('/')[0]}/"

        def key(name: str) -> tuple[int, bool, int]:
            # Of tests of about the same duration those of the package come first; then they are
            # in the order of their files, which share fixtures.
            duration = math.ceil(math.log2(self.covers[name].seconds))
            return duration, not name.startswith(near), order[name]

        found.sort(key=key)
        return list(_first(found, self.seconds, lambda name: self.covers[name].seconds))

    def outcome(self, mutant: Mutant, tree: Path) -> Result:
        """Run one mutant; ``tree`` is a copy of the sources that no other process uses."""
        while names := self.chosen(mutant):
            result, sound = self._outcome(mutant, tree, names)
            if sound:
                return result
            print(f"left out, fails without a change: {result.test}", flush=True)
            del self.covers[result.test]
        return Result("survived", None, 0)

    def _outcome(self, mutant: Mutant, tree: Path, names: list[str]) -> tuple[Result, bool]:
        """The outcome with some tests, and whether the one that fails passes without a change."""
        limit = 10 + 3 * sum(self.covers[name].seconds for name in names)
        new = _codes(compile(mutant.source, str(PACKAGE / mutant.path), "exec"))
        changed = [
            (function, new[_place(function.__code__)])
            for function in self.functions.get(mutant.path, ())
            if new.get(_place(function.__code__), function.__code__) != function.__code__
        ]
        if changed and all(code.co_freevars == f.__code__.co_freevars for f, code in changed):
            run, change, nothing = self._in_a_fork, changed, []
        else:
            run, change, nothing = partial(in_a_copy, tree), mutant, None
        success, test = run(names, change, limit)
        sound = test not in self.covers or test in self.sound or bool(run([test], nothing, 60.0)[0])
        if sound and test:
            self.sound.add(test)
        outcome = {True: "survived", False: "killed", None: "timeout"}[success]
        return Result(outcome, test, len(names)), sound

    def _in_a_fork(
        self, names: list[str], changed: list[tuple[FunctionType, CodeType]], limit: float
    ) -> tuple[bool | None, str | None]:
        """Whether the tests pass (None after the limit), and the first that fails."""
        receiver, sender = _fork.Pipe(duplex=False)
        temporary = temporary_folder(self.folder)

        def child() -> None:
            alone(limit, temporary)
            os.kill = kill_own
            for function, code in changed:
                function.__code__ = code
            for name, following in _pairs(names):
                if not self._run(name, following):
                    sender.send(name)
                    os._exit(1)
            os._exit(0)

        process = _fork.Process(target=child)
        process.start()
        process.join(PATIENCE * limit)
        if process.is_alive():
            os.killpg(process.pid, signal.SIGKILL)  # with the processes that a test has started
            process.join()
        shutil.rmtree(temporary, ignore_errors=True)
        return passed(process.exitcode), receiver.recv() if receiver.poll() else None

    def _run(self, name: str, following: str | None) -> bool:
        """Run one test; whether it passes."""
        item = self.items[name]
        before = item.session.testsfailed
        item.config.hook.pytest_runtest_protocol(
            item=item, nextitem=self.items[following] if following else None
        )
        return item.session.testsfailed == before

    def _learn(self) -> None:
        """Run tests that are new or changed once, with a record of the lines that they run."""
        known = _read_covers(self.cover_file)
        digests = _digests({name.split("::")[0] for name in self.items})
        digest = {name: digests[name.split("::")[0]] for name in self.items}
        kept = {n: c for n, c in known.items() if n in digest and c.digest == digest[n]}
        _write_covers(kept, self.cover_file, "w")
        unknown = [name for name in self.items if name not in kept]
        if unknown:
            print(f"\nwhich lines {len(unknown)} tests run, {self.jobs} at a time", flush=True)
        running: dict[int, tuple[Any, Path]] = {}
        waiting = list(_chunks(unknown))
        while waiting or running:
            while waiting and len(running) < self.jobs:
                folder = temporary_folder(self.folder)
                process = _fork.Process(target=self._measure, args=(waiting.pop(0), digest, folder))
                process.start()
                running[process.sentinel] = process, folder
            for ended in wait(list(running)):
                process, folder = running.pop(ended)
                process.join()
                new = _read_covers(folder / "lines.jsonl")
                kept |= new
                _write_covers(new, self.cover_file, "a")
                shutil.rmtree(folder, ignore_errors=True)
        self.covers = {name: cover for name, cover in kept.items() if cover.passed}
        print(
            f"{len(self.covers)} of {len(self.items)} tests, "
            f"{sum(c.seconds for c in self.covers.values()):.0f} s",
            flush=True,
        )

    def _measure(self, names: list[str], digest: dict[str, str], folder: Path) -> None:
        alone(math.inf, folder)
        signal.signal(signal.SIGPROF, _too_long)
        include = [str(PACKAGE / package / "*") for package in PACKAGES]
        measure = coverage.Coverage(data_file=None, include=include, config_file=False)
        times: dict[str, tuple[float, bool]] = {}
        measure.start()
        for name, following in _pairs(names):
            measure.switch_context(name)
            start = _processor_time()
            signal.setitimer(signal.ITIMER_PROF, LONGEST)
            try:
                passed = self._run(name, following)
            except TimeoutError:  # between the parts of a test
                passed = False
            signal.setitimer(signal.ITIMER_PROF, 0)
            times[name] = _processor_time() - start, passed
        measure.stop()
        data, lines = measure.get_data(), {name: {} for name in names}
        for file in data.measured_files():
            path = Path(file).relative_to(PACKAGE).as_posix()
            for line, tests in data.contexts_by_lineno(file).items():
                for name in filter(None, tests):
                    lines[name].setdefault(path, []).append(line)
        new = {name: Cover(digest[name], *times[name], lines[name]) for name in names}
        _write_covers(new, folder / "lines.jsonl", "w")
        os._exit(0)


def _read_covers(file: Path) -> dict[str, Cover]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return {name: Cover(*entry) for name, entry in map(json.loads, lines)}


def _write_covers(covers: dict[str, Cover], file: Path, mode: str) -> None:
    with file.open(mode, encoding="utf-8") as out:
        out.writelines(json.dumps(entry) + "\n" for entry in covers.items())


def _chunks(names: list[str]) -> Iterator[list[str]]:
    """A few tests at a time, of one file: a test that ends its process spoils few others."""
    for _, group in groupby(names, key=lambda name: name.split("::")[0]):
        own = list(group)
        yield from (own[i : i + CHUNK] for i in range(0, len(own), CHUNK))


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"more than {LONGEST} s")


def _pairs(names: list[str]) -> Iterator[tuple[str, str | None]]:
    """Every name with the next one."""
    return zip(names, [*names[1:], None], strict=True)


def _processor_time() -> float:
    """Seconds, with those of processes that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _first(names: Iterable[str], total: float, size: Callable[[str], float]) -> Iterator[str]:
    """The first names, until their sizes exceed the total; one at least."""
    for name in names:
        yield name
        total -= size(name)
        if total <= 0:
            return


def _import_everything(names: Iterable[str]) -> None:
    """Modules that are imported late: no function of theirs could be exchanged before.

    The array libraries of the tests too, since every fork would import them again.
    """
    for library in ("torch", "array_api_strict"):
        if any(library in name for name in names) and importlib.util.find_spec(library):
            importlib.import_module(library)
    for package in PACKAGES:
        for path in sorted((PACKAGE / package).rglob("*.py")):
            parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
            importlib.import_module(".".join(p for p in parts if p != "__init__"))


def _functions_by_file() -> dict[str, list[FunctionType]]:
    """All living functions of the package, by file below src/thinrank."""
    found: dict[str, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if type(thing) is FunctionType and thing.__code__.co_filename.startswith(f"{PACKAGE}/"):
            path = Path(thing.__code__.co_filename).relative_to(PACKAGE).as_posix()
            found.setdefault(path, []).append(thing)
    if not found:
        raise SystemExit(f"the tests import another copy of thinrank than {PACKAGE}")
    return found


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> dict[tuple[str, int], CodeType]:
    """Every piece of code within another, by name and first line."""
    found = {_place(code): code}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _codes(constant)
    return found


def _digests(files: Iterable[str]) -> dict[str, str]:
    """A digest of each file of tests together with the sources of the package."""
    sources = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        sources.update(path.read_bytes())
    found = {}
    for file in files:
        own = sources.copy()
        own.update((ROOT / file).read_bytes())
        found[file] = own.hexdigest()
    return found
