"""What the package does not do: run text as code, unpickle, or use the network unasked."""

import ast
import socket
from functools import cache
from pathlib import Path

import pytest

import thinrank

SOURCE = Path(thinrank.__file__).parent
# Libraries that reach other machines or programs.
NETWORK = {
    "socket",
    "urllib",
    "http",
    "requests",
    "ftplib",
    "smtplib",
    "pooch",
    "ssl",
    "webbrowser",
}
PICKLE = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
FORBIDDEN = {"eval", "exec", "compile", "__import__"}


@cache
def modules():
    """The name and the syntax tree of every module."""
    return [
        (path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in SOURCE.rglob("*.py")
    ]


def imported(tree):
    """The libraries that a module imports, also by :func:`import_optional`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("import_optional", "import_module"):
                yield str(node.args[0].value)


def test_no_text_is_run_as_code():
    found = [
        (name, node.lineno, node.func.id)
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in FORBIDDEN
    ]
    assert found == []


def test_nothing_is_unpickled():
    libraries = [(name, each) for name, tree in modules() for each in imported(tree)]
    assert [pair for pair in libraries if pair[1].split(".")[0] in PICKLE] == []
    allowed = [
        (name, node.lineno)
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword)
        and node.arg == "allow_pickle"
        and not (isinstance(node.value, ast.Constant) and node.value.value is False)
    ]
    assert allowed == []


def test_only_the_download_of_data_sets_uses_the_network():
    users = {
        name for name, tree in modules() for each in imported(tree) if each.split(".")[0] in NETWORK
    }
    assert users == {"datasets/remote_files.py"}


@pytest.mark.parametrize("host", ["example.org", "192.0.2.1"])
def test_no_test_reaches_another_machine(host):
    """What all tests rely on: fits, pages and commands run in them without a network."""
    with pytest.raises(AssertionError, match=f"a connection to {host}"):
        socket.create_connection((host, 80), timeout=1)
