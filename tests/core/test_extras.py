"""Optional libraries: the message about a missing one names the extra that installs it."""

import importlib
import re
import sys
import tomllib
from pathlib import Path

import pytest

from thinrank.core import extras
from thinrank.core.extras import import_optional, is_installed, missing_message

ROOT = Path(__file__).parents[2]


def test_installed_library_is_imported():
    assert import_optional("pandas") is sys.modules["pandas"]
    assert import_optional("matplotlib.figure") is sys.modules["matplotlib.figure"]


@pytest.mark.parametrize("library", sorted(extras._EXTRAS))
def test_message_names_library_and_extra(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    extra = extras._EXTRAS[library][1]
    command = f"pip install 'thinrank[{extra}]'"
    expected = rf"need {library}, which is not installed; .*{re.escape(command)}"
    with pytest.raises(ImportError, match=expected) as caught:
        import_optional(library)
    assert isinstance(caught.value.__cause__, ImportError)
    assert str(caught.value) == missing_message(library)


def test_every_extra_exists():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for _, extra in extras._EXTRAS.values():
        assert extra in project["optional-dependencies"]


def test_is_installed(monkeypatch):
    assert is_installed("numpy")
    assert not is_installed("a_library_that_nobody_wrote")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert not is_installed("numpy")


def test_nothing_else_imports_optional_libraries():
    """Imports for annotations, under TYPE_CHECKING, are allowed."""
    libraries = "|".join(extras._EXTRAS)
    at_run_time = re.compile(rf"^ *(?:import|from) ({libraries})\b", re.MULTILINE)
    for path in (ROOT / "src" / "thinrank").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        text = re.sub(r"if TYPE_CHECKING:\n(?:    .*\n|\n)+", "", text)
        assert not at_run_time.search(text), path
        if path.name != "extras.py":
            assert "find_spec(" not in text, path
