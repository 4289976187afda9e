"""Processes for tests: with limits, with folders of their own, on a copy of the tree."""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mutants import ROOT, Mutant

PATIENCE = 10  # seconds by the clock for one second of processor time, on a busy machine
MEMORY = 8 * 2**30  # bytes; a mutant may ask for any amount
OPTIONS = ("-q", "-s", "-o", "tmp_path_retention_policy=none")


def temporary_folder(parent: Path) -> Path:
    """A new folder that no other process uses."""
    return Path(tempfile.mkdtemp(dir=parent))


def passed(code: int | None) -> bool | None:
    """What an exit code says: None if the process was ended because it took too long."""
    return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code == 0


def alone(seconds: float, temporary: Path) -> None:
    """A process group of its own, silent, with limited memory and processor time.

    Its temporary folders are its own: pytest would empty those of other processes.
    """
    os.setsid()
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(temporary)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it, tests may not
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    if seconds < math.inf:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), resource.RLIM_INFINITY))


_kill = os.kill


def kill_own(process: int, number: int) -> None:
    """A changed function may ask for a process to end: only for one of the tests."""
    if number and os.getpgid(process) != os.getpgrp():
        raise PermissionError(f"a signal to another process, {process}")
    _kill(process, number)


def copy_of_tree(folder: Path) -> Path:
    """A copy of what the tests need, in which one worker changes modules in turn."""
    folder.mkdir()
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    for part in ("docs", "benchmarks", "examples", "README.md", "CHANGELOG.md"):
        (folder / part).symlink_to(ROOT / part)
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def in_a_copy(
    tree: Path, names: list[str], mutant: Mutant | None, limit: float
) -> tuple[bool | None, str | None]:
    """Whether the tests pass in a new process with the changed module, and the first that fails.

    Without a mutant nothing is changed.
    """
    names = [name for name in names if "torch" not in name] or names  # seconds to import
    cache = tree / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    command = [sys.executable, "-m", "pytest", "-x", *OPTIONS, f"--basetemp={tree}/temp"]
    command += ["-o", f"cache_dir={cache}", *names]
    paths = [str(tree / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with _changed(tree, mutant):
        process = subprocess.Popen(
            command, cwd=tree, env=environment, preexec_fn=lambda: alone(limit, tree)
        )
        try:
            code = process.wait(PATIENCE * limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
    failed = cache / "v" / "cache" / "lastfailed"  # where pytest keeps names of tests
    names = list(json.loads(failed.read_text(encoding="utf-8"))) if failed.exists() else []
    return passed(code), names[0] if names else None


@contextlib.contextmanager
def _changed(tree: Path, mutant: Mutant | None) -> Iterator[None]:
    """A copy of the sources, with the changed module for a while."""
    if mutant is None:
        yield
        return
    module = tree / "src" / "thinrank" / mutant.path
    original = module.read_text(encoding="utf-8")
    module.write_text(mutant.source, encoding="utf-8")
    try:
        yield
    finally:
        module.write_text(original, encoding="utf-8")
